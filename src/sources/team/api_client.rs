//! The team's server over HTTP: what its API answers, within limits of time and size. No redirect
//! is followed.

use crate::library::{ServiceRequest, TEAM_HEADER};
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::sources::openapi::{
    ReplyLimits, SecretHeader, ServiceReply, bundled_certificates, client_config, exchange,
    exchange_error, read_secrets,
};
use crate::wording::{encoded_path, printable, shortened};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::OnceLock;
use std::time::Duration;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::tls::RootCerts;

/// How long an answer may take for which nobody in a chat waits.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The longest answer, in bytes: 64 MiB, which is a list of some 200,000 prompts.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// The longest error, in bytes.
const MAX_ERROR: usize = 64 * 1024;

/// The longest part of a message of a server that is shown, in characters.
const MAX_SHOWN: usize = 300;

/// How many connections are kept open for later requests.
const IDLE_CONNECTIONS: usize = 2;

/// The media type of all that the API answers.
const JSON: &str = "application/json";

/// The team's server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) url: String,
    /// The header with the token of the user, if there is one.
    token: Vec<SecretHeader>,
    /// The client with the certificates of [`bundled_certificates`], which are usually enough.
    agent: OnceLock<Agent>,
    /// The client with all certificates of the system.
    system_agent: OnceLock<Agent>,
}

/// What the server made of a request.
pub(super) enum RequestOutcome {
    Reply(TeamReply),
    /// The token is missing or not valid.
    TokenRefused(Diagnostic),
}

/// What the server has sent.
pub(super) struct TeamReply {
    /// The ETag of the body.
    pub(super) tag: String,
    /// JSON; empty if the server still has what has the ETag of the request.
    pub(super) body: Vec<u8>,
}

impl Server {
    /// Returns a client for the server at this address. Its two agents are built when they are
    /// first used: one trusts the bundled certificates, the other those of the system.
    pub(super) fn new(url: String, token: Vec<SecretHeader>) -> Server {
        Server {
            url,
            token,
            agent: OnceLock::new(),
            system_agent: OnceLock::new(),
        }
    }

    /// Returns the hash of the token, if there is one that can be read.
    pub(super) fn token_hash(&self) -> Option<Revision> {
        let secrets = read_secrets(&self.token).ok()?;
        Some(Revision::of_contents(secrets.first()?.text.as_bytes()))
    }

    /// Returns an address at the server: `path`, and after that the name of a prompt, which may be
    /// empty.
    pub(super) fn address(&self, path: &str, name: &str) -> String {
        format!("{}{path}{}", self.url, encoded_path(name))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`Kind::Service`]: the server cannot be reached, or something else answers in its place.
    /// Other kinds: the API refuses the request.
    pub(super) fn send(
        &self,
        request: &ServiceRequest,
        within: Duration,
    ) -> Result<RequestOutcome, Diagnostic> {
        self.exchange(request, within)
            .and_then(outcome_of)
            .map_err(|error| Diagnostic {
                message: format!("the team's server {}", error.message),
                ..error
            })
    }

    /// Sends a request, and returns whatever is answered.
    fn exchange(
        &self,
        request: &ServiceRequest,
        within: Duration,
    ) -> Result<ServiceReply, Diagnostic> {
        let limits = ReplyLimits {
            time: within,
            body: MAX_ANSWER,
        };
        let secrets = read_secrets(&self.token)?;
        let agent = self
            .agent
            .get_or_init(|| new_agent(bundled_certificates(&self.url)));
        let mut reply = exchange(agent, request, &secrets, limits);
        if let Err(ureq::Error::Io(error)) = &reply
            && error.kind() == ErrorKind::InvalidData
        {
            // Perhaps only the folder of the system has the certificate. Nothing was sent.
            let agent = self
                .system_agent
                .get_or_init(|| new_agent(RootCerts::PlatformVerifier));
            reply = exchange(agent, request, &secrets, limits);
        }
        reply.map_err(|error| exchange_error(error, &self.url, limits))
    }
}

/// Returns a client that trusts these certificates.
fn new_agent(certificates: RootCerts) -> Agent {
    client_config(IDLE_CONNECTIONS, certificates).new_agent()
}

/// Classifies a reply by its status.
///
/// # Errors
/// The API reports an error, or the reply does not come from the API but from a proxy, for example.
/// The message is a clause about the team's server.
fn outcome_of(reply: ServiceReply) -> Result<RequestOutcome, Diagnostic> {
    let status = reply.status;
    if status == StatusCode::NOT_MODIFIED {
        return Ok(RequestOutcome::Reply(TeamReply {
            tag: reply.tag,
            body: Vec::new(),
        }));
    }
    if status.is_success() && reply.content_type.starts_with(JSON) {
        return Ok(RequestOutcome::Reply(TeamReply {
            tag: reply.tag,
            body: reply.body,
        }));
    }
    let Some(error) = api_error(&reply) else {
        return Err(foreign_answer_error(status));
    };
    if status == StatusCode::UNAUTHORIZED {
        return Ok(RequestOutcome::TokenRefused(token_error(status)));
    }
    let message = error["message"].as_str().unwrap_or_default();
    let message = printable(&shortened(message, MAX_SHOWN));
    let message = format!("answered {status}: {message}");
    Err(Diagnostic::new(error_kind(status, &error), message, ""))
}

/// Returns the error object of the API in a reply, `{"error": {"message": …}}`; null if there is
/// none, and `None` if the reply is not JSON.
fn api_error(reply: &ServiceReply) -> Option<Value> {
    if !reply.content_type.starts_with(JSON) || reply.body.len() > MAX_ERROR {
        return None;
    }
    let body: Value = serde_json::from_slice(&reply.body).ok()?;
    Some(body["error"].clone())
}

/// Returns the error for an answer that the API does not give, such as a page of a proxy.
fn foreign_answer_error(status: StatusCode) -> Diagnostic {
    let fix = if status.is_server_error() {
        "try again later"
    } else {
        "write the address of `prompt-expander serve --http` into the settings file, without a redirect"
    };
    let message = format!("answered {status}, and not with JSON");
    Diagnostic::new(Kind::Service, message, fix)
}

/// Returns the error for a token that the server refuses.
fn token_error(status: StatusCode) -> Diagnostic {
    let message = format!("the team's server answered {status}: the token is missing or not valid");
    let fix =
        "put the token that you were given into the file `team-token` beside the settings file";
    Diagnostic::new(Kind::Unreadable, message, fix)
}

/// Maps an error that the API reports to its kind.
fn error_kind(status: StatusCode, error: &Value) -> Kind {
    match status.as_u16() {
        300..=399 | 408 | 429 | 500.. => Kind::Service,
        403 => Kind::NotWritable,
        404 => Kind::NoSuchPrompt {
            closest: Vec::new(),
        },
        409 => match error.get("current") {
            Some(current) => Kind::Conflict {
                current: Option::deserialize(current).unwrap_or_default(),
                diff: String::new(),
            },
            None => Kind::AlreadyExists,
        },
        _ => Kind::Invalid,
    }
}

/// Returns a request to the API, without the token. If `body` is null, it has no body.
pub(super) fn request(method: &str, url: String, body: &Value) -> ServiceRequest {
    let headers = BTreeMap::from([
        (TEAM_HEADER.to_owned(), "1".to_owned()),
        ("content-type".to_owned(), JSON.to_owned()),
    ]);
    let body = if body.is_null() {
        None
    } else {
        Some(body.to_string())
    };
    ServiceRequest {
        method: method.to_owned(),
        url,
        headers,
        body,
    }
}

impl TeamReply {
    /// Returns whether the server still has what has the ETag of the request.
    pub(super) fn is_unmodified(&self) -> bool {
        self.body.is_empty()
    }

    /// Returns a member of the object in the body. A member that is missing counts as null.
    pub(super) fn member<T: DeserializeOwned>(&self, name: &str) -> Result<T, Diagnostic> {
        let members: BTreeMap<&str, &RawValue> = parse(&self.body)?;
        let json = members.get(name).map_or("null", |member| member.get());
        parse(json.as_bytes())
    }
}

/// Parses JSON that the server has sent.
pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Diagnostic> {
    serde_json::from_slice(json).map_err(|error| {
        let message =
            format!("the team's server answered with what this program cannot read: {error}");
        Diagnostic::new(Kind::Service, message, "update both programs")
    })
}
