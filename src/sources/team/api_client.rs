//! A client for the API of the team's server. It limits the duration and the size of every reply,
//! and follows no redirects.

use crate::library::{ServiceRequest, TEAM_HEADER};
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::sources::openapi::{
    ReplyLimits, SecretHeader, ServiceReply, bundled_certificates, client_config, exchange,
    exchange_error, read_secrets,
};
use crate::wording::{encoded_path, in_backticks, printable, truncate_at_word};
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

/// The timeout of a request that doesn't delay a chat.
pub(super) const API_TIMEOUT: Duration = Duration::from_secs(10);

/// The ETag to pass for an unconditional request, whose reply always has a body.
pub(super) const NO_ETAG: &str = "";

/// What the messages of all errors start with.
const SUBJECT: &str = "the team's server";

/// The maximum size of a reply, in bytes. A list of about 200,000 prompts has 64 MiB.
const MAX_REPLY: u64 = 64 * 1024 * 1024;

/// The maximum size of an error reply, in bytes.
const MAX_ERROR_REPLY: usize = 64 * 1024;

/// The maximum length of a server's error message, in characters. The rest is cut off.
const MAX_MESSAGE_CHARS: usize = 300;

/// The maximum number of idle connections that are kept open for later requests.
const MAX_IDLE_CONNECTIONS: usize = 2;

/// The media type of all requests to the API and all its replies.
const JSON: &str = "application/json";

/// The team's server.
#[derive(Debug)]
pub(super) struct TeamServer {
    /// The base URL, without a trailing slash.
    pub(super) url: String,
    /// The header with the user's token. Empty if the user has no token.
    token: Vec<SecretHeader>,
    /// An HTTP client that trusts the [`bundled_certificates`], which usually suffice.
    agent: OnceLock<Agent>,
    /// An HTTP client that trusts the system's certificates.
    system_agent: OnceLock<Agent>,
}

/// How the server responded to a request. Other responses are errors.
pub(super) enum RequestOutcome {
    Reply(TeamReply),
    /// The token is missing or invalid.
    TokenRejected(Diagnostic),
}

/// A successful reply of the API.
pub(super) struct TeamReply {
    /// The ETag of the body.
    pub(super) tag: String,
    /// JSON. `None` if the resource still has the ETag in the request.
    pub(super) body: Option<Vec<u8>>,
}

impl TeamServer {
    /// Returns a client for the server at a base URL.
    pub(super) fn new(url: String, token: Vec<SecretHeader>) -> TeamServer {
        TeamServer {
            url,
            token,
            agent: OnceLock::new(),
            system_agent: OnceLock::new(),
        }
    }

    /// Returns the hash of the token, or `None` if there is no token or it cannot be read.
    pub(super) fn token_hash(&self) -> Option<Revision> {
        let secrets = read_secrets(&self.token).ok()?;
        Some(Revision::of_contents(secrets.first()?.text.as_bytes()))
    }

    /// Returns the URL of a path on the server. A query may be part of `path`.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Returns the URL of a prompt: `path`, which ends with a slash, followed by its encoded name.
    pub(super) fn prompt_url(&self, path: &str, name: &str) -> String {
        format!("{}{path}{}", self.url, encoded_path(name))
    }

    /// Sends a request and interprets its reply.
    ///
    /// # Errors
    /// Returns [`Kind::Service`] if the server is unreachable or something else answers in its
    /// place, e.g. a proxy. Returns any other kind if the API rejects the request.
    pub(super) fn send(
        &self,
        request: &ServiceRequest,
        timeout: Duration,
    ) -> Result<RequestOutcome, Diagnostic> {
        classify_reply(self.exchange(request, timeout)?, &self.url)
    }

    /// Sends a request and returns the reply, whatever its status.
    fn exchange(
        &self,
        request: &ServiceRequest,
        timeout: Duration,
    ) -> Result<ServiceReply, Diagnostic> {
        let limits = ReplyLimits {
            timeout,
            body_bytes: MAX_REPLY,
        };
        let secrets = read_secrets(&self.token).map_err(with_subject)?;
        let agent = self
            .agent
            .get_or_init(|| new_agent(bundled_certificates(&self.url)));
        let mut reply = exchange(agent, request, &secrets, limits);
        if let Err(ureq::Error::Io(error)) = &reply
            && error.kind() == ErrorKind::InvalidData
        {
            // The TLS handshake failed, so nothing was sent yet, and even a write can be sent
            // again. Perhaps the server's certificate is only trusted by the system.
            let agent = self
                .system_agent
                .get_or_init(|| new_agent(RootCerts::PlatformVerifier));
            reply = exchange(agent, request, &secrets, limits);
        }
        reply.map_err(|error| with_subject(exchange_error(error, &self.url, limits)))
    }
}

/// Completes the message of an error that starts with a verb, because the caller knows what failed:
/// "did not answer in time" becomes "the team's server did not answer in time".
fn with_subject(error: Diagnostic) -> Diagnostic {
    Diagnostic {
        message: format!("{SUBJECT} {}", error.message),
        ..error
    }
}

/// Returns an HTTP client that trusts these certificates.
fn new_agent(certificates: RootCerts) -> Agent {
    client_config(MAX_IDLE_CONNECTIONS, certificates).new_agent()
}

/// Classifies a reply by its status. `server_url` is the address in the settings file.
///
/// # Errors
/// Fails if the API reports an error, or if something else has replied in its place, e.g. a proxy.
fn classify_reply(reply: ServiceReply, server_url: &str) -> Result<RequestOutcome, Diagnostic> {
    let status = reply.status;
    if status == StatusCode::NOT_MODIFIED {
        return Ok(RequestOutcome::Reply(TeamReply {
            tag: reply.tag,
            body: None,
        }));
    }
    if status.is_success() && reply.content_type.starts_with(JSON) {
        return Ok(RequestOutcome::Reply(TeamReply {
            tag: reply.tag,
            body: Some(reply.body),
        }));
    }
    // Check this before the 401: a proxy that wants a login says nothing about our token.
    let Some(error) = api_error(&reply) else {
        return Err(not_from_api_error(status, server_url));
    };
    if status == StatusCode::UNAUTHORIZED {
        let error = token_error(status, server_url);
        return Ok(RequestOutcome::TokenRejected(error));
    }
    Err(reported_error(status, &error))
}

/// Returns the `error` object from a reply such as `{"error": {"message": …}}`, or JSON `null` if
/// it has none. Returns `None` if the reply isn't JSON, and so doesn't come from the API.
fn api_error(reply: &ServiceReply) -> Option<Value> {
    if !reply.content_type.starts_with(JSON) || reply.body.len() > MAX_ERROR_REPLY {
        return None;
    }
    let body: Value = serde_json::from_slice(&reply.body).ok()?;
    Some(body["error"].clone())
}

/// Converts the `error` object of a reply to a diagnostic. The server's message says what to do, so
/// there is no separate fix.
fn reported_error(status: StatusCode, error: &Value) -> Diagnostic {
    let reason = error["message"].as_str().unwrap_or_default();
    let reason = printable(&truncate_at_word(reason, MAX_MESSAGE_CHARS));
    let message = format!("{SUBJECT} answered {status}: {reason}");
    Diagnostic::new(error_kind(status, error), message, "")
}

/// Returns the error for a reply that doesn't come from the API, such as a proxy's error page or a
/// redirect. `server_url` is the address in the settings file, perhaps with a wrong path.
fn not_from_api_error(status: StatusCode, server_url: &str) -> Diagnostic {
    let origin = url_without_path(server_url);
    let fix = if status.is_server_error() {
        "try again later".to_owned()
    } else if status.is_redirection() {
        "in the settings file, use the address of `prompt-expander serve --http` itself, not one \
         that redirects to it"
            .to_owned()
    } else if status == StatusCode::NOT_FOUND && origin != server_url {
        format!("in the settings file, use {}", in_backticks(origin))
    } else {
        "in the settings file, use the address of `prompt-expander serve --http`".to_owned()
    };
    let message = format!("{SUBJECT} answered {status}, but not with JSON");
    Diagnostic::new(Kind::Service, message, fix)
}

/// Returns a URL without its path: `http://a.example:80` for `http://a.example:80/ws`.
fn url_without_path(url: &str) -> &str {
    let host_start = url.find("://").map_or(0, |colon| colon + "://".len());
    match url[host_start..].find('/') {
        Some(host_length) => &url[..host_start + host_length],
        None => url,
    }
}

/// Returns the error for a token that the server rejects.
fn token_error(status: StatusCode, server_url: &str) -> Diagnostic {
    let message = format!("{SUBJECT} answered {status}: the token is missing or not valid");
    let fix =
        format!("run `prompt-expander team join {server_url}` with the token that you were given");
    Diagnostic::new(Kind::Unreadable, message, fix)
}

/// Returns the kind of an error that the API reports.
fn error_kind(status: StatusCode, error: &Value) -> Kind {
    match status.as_u16() {
        // The request may succeed later, or elsewhere, so the caller may use the cache instead.
        300..=399 | 408 | 429 | 500.. => Kind::Service,
        403 => Kind::NotWritable,
        404 => Kind::NoSuchPrompt {
            closest: Vec::new(),
        },
        409 => match error.get("current") {
            // `current` is null if the prompt was deleted.
            Some(current) => Kind::Conflict {
                current: Option::deserialize(current).unwrap_or_default(),
                diff: String::new(),
            },
            None => Kind::AlreadyExists,
        },
        _ => Kind::Invalid,
    }
}

/// Returns a request to the API, to which [`TeamServer::send`] adds the token. If `body` is JSON
/// `null`, the request has no body.
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
    /// Parses one member of the JSON object in the body. A missing member counts as `null`. Fails
    /// if there is no body, which is only possible with an ETag in the request.
    pub(super) fn member<T: DeserializeOwned>(&self, name: &str) -> Result<T, Diagnostic> {
        let body = self.body.as_deref().unwrap_or_default();
        let members: BTreeMap<&str, &RawValue> = parse(body)?;
        let json = members.get(name).map_or("null", |member| member.get());
        parse(json.as_bytes())
    }
}

/// Parses JSON from the server.
pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Diagnostic> {
    serde_json::from_slice(json).map_err(|error| {
        let message = format!("{SUBJECT} sent a reply that this program cannot read: {error}");
        Diagnostic::new(Kind::Service, message, "update both programs")
    })
}
