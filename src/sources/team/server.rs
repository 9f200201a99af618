//! The team's server over HTTP: what its API answers, within limits of time and size. No redirect
//! is followed.

use crate::library::{ServiceRequest, TEAM_HEADER};
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::sources::openapi::{
    ReplyLimits, SecretHeader, ServiceReply, bundled_certificates, client_config, exchange,
    exchange_error, read_secrets,
};
use crate::wording::{printable, shortened};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::OnceLock;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::RootCerts;

/// How long an answer may take for which nobody in a chat waits.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The longest answer, in bytes: 64 MiB, which is a list of some 200,000 prompts.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// The longest error, in bytes.
const MAX_ERROR: usize = 64 * 1024;

/// How much is shown of what a server says, in characters.
const MAX_SHOWN: usize = 300;

const JSON: &str = "application/json";

/// All characters except `/` and the unreserved ones of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// The team's server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) url: String,
    /// The header with the token of the user, if there is one.
    token: Vec<SecretHeader>,
    /// The client with the certificates of [`bundled_certificates`], which are usually enough.
    first: OnceLock<Agent>,
    /// The one with all certificates of the system.
    second: OnceLock<Agent>,
}

/// What a server answers.
pub(super) struct Answer {
    pub(super) tag: String,
    /// JSON; empty if the server still has the tag of the request.
    pub(super) body: Vec<u8>,
}

/// What a server answers, or that it refuses the token.
pub(super) type Answered = Result<Answer, Diagnostic>;

impl Server {
    pub(super) fn new(url: String, token: Vec<SecretHeader>) -> Server {
        Server {
            url,
            token,
            first: OnceLock::new(),
            second: OnceLock::new(),
        }
    }

    /// Returns the hash of the token, if there is one that can be read.
    pub(super) fn token_hash(&self) -> Option<Revision> {
        let secrets = read_secrets(&self.token).ok()?;
        Some(Revision::of(secrets.first()?.text.as_bytes()))
    }

    /// The address of something at the server, perhaps of a prompt: what is before its name is
    /// `path`.
    pub(super) fn address(&self, path: &str, name: &str) -> String {
        format!("{}{path}{}", self.url, utf8_percent_encode(name, ENCODED))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`Kind::Service`]: the server cannot be reached, or something else answers in its place. Otherwise, what the API says of the
    /// request.
    pub(super) fn send(
        &self,
        request: &ServiceRequest,
        within: Duration,
    ) -> Result<Answered, Diagnostic> {
        let limits = ReplyLimits {
            time: within,
            body: MAX_ANSWER,
        };
        let agent = |roots| client_config(2, roots).new_agent();
        let answered = read_secrets(&self.token).and_then(|secrets| {
            let ask = |agent: &Agent| exchange(agent, request, &secrets, limits);
            let mut asked = ask(self
                .first
                .get_or_init(|| agent(bundled_certificates(&self.url))));
            // Perhaps only the folder of the system has the certificate. Nothing was sent.
            if matches!(&asked, Err(ureq::Error::Io(why)) if why.kind() == ErrorKind::InvalidData) {
                asked = ask(self
                    .second
                    .get_or_init(|| agent(RootCerts::PlatformVerifier)));
            }
            answer(asked.map_err(|error| exchange_error(error, &self.url, limits))?)
        });
        answered.map_err(|why| Diagnostic {
            message: format!("the team's server {}", why.message),
            ..why
        })
    }
}

fn answer(
    ServiceReply {
        status,
        content_type,
        tag,
        body,
    }: ServiceReply,
) -> Result<Answered, Diagnostic> {
    if status.as_u16() == 304 {
        return Ok(Ok(Answer {
            tag,
            body: Vec::new(),
        }));
    }
    if status.is_success() && content_type.starts_with(JSON) {
        return Ok(Ok(Answer { tag, body }));
    }
    let error: Option<Value> = serde_json::from_slice(&body)
        .ok()
        .filter(|_| content_type.starts_with(JSON) && body.len() <= MAX_ERROR);
    let Some(error) = error else {
        let what = format!("answered {status}, and not with JSON");
        let fix = match status.is_server_error() {
            true => "try again later",
            false => {
                "write the address of `prompt-expander serve --http` into the settings file, without a redirect"
            }
        };
        return Err(Diagnostic::new(Kind::Service, what, fix));
    };
    if status.as_u16() == 401 {
        let what =
            format!("the team's server answered {status}: the token is missing or not valid");
        let fix =
            "put the token that you were given into the file `team-token` beside the settings file";
        return Ok(Err(Diagnostic::new(Kind::Unreadable, what, fix)));
    }
    let error = &error["error"];
    let message = printable(&shortened(
        error["message"].as_str().unwrap_or_default(),
        MAX_SHOWN,
    ));
    let kind = match status.as_u16() {
        300..=399 | 408 | 429 | 500.. => Kind::Service,
        403 => Kind::NotWritable,
        404 => Kind::NoSuchPrompt {
            closest: Vec::new(),
        },
        409 if error.get("current").is_some() => Kind::Conflict {
            current: Option::deserialize(&error["current"]).unwrap_or_default(),
            diff: String::new(),
        },
        409 => Kind::Exists,
        _ => Kind::Invalid,
    };
    Err(Diagnostic::new(
        kind,
        format!("answered {status}: {message}"),
        "",
    ))
}

/// A request to the API, without the token.
pub(super) fn request(method: &str, url: String, body: &Value) -> ServiceRequest {
    let headers = [(TEAM_HEADER, "1"), ("content-type", JSON)];
    let headers = headers
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    ServiceRequest {
        method: method.to_owned(),
        url,
        headers,
        body: (!body.is_null()).then(|| body.to_string()),
    }
}

impl Answer {
    /// A member of the object that it is.
    pub(super) fn member<T: DeserializeOwned>(&self, name: &str) -> Result<T, Diagnostic> {
        let members: BTreeMap<&str, &RawValue> = read(&self.body)?;
        let member = members.get(name).map_or("null", |member| member.get());
        read(member.as_bytes())
    }
}

/// Reads what a server has answered.
pub(super) fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Diagnostic> {
    serde_json::from_slice(json).map_err(|error| {
        let what =
            format!("the team's server answered with what this program cannot read: {error}");
        Diagnostic::new(Kind::Service, what, "update both programs")
    })
}
