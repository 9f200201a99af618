//! The team's server over HTTP: what its API answers, within limits of time and size. No redirect is followed.

use super::super::caller::TEAM_HEADER;
use super::super::openapi::{SecretHeader, client_settings, no_answer, respond, secrets};
use super::super::source::ServiceRequest;
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::wording::{printable, shortened};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;
use ureq::Agent;
use ureq::http::header::{CONTENT_TYPE, ETAG};

/// How long an answer may take for which nobody in a chat waits.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The longest answer, in bytes: 64 MiB, which is a list of some 200,000 prompts.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// How much is shown of what a server says, in characters.
const MAX_SHOWN: usize = 300;

const JSON: &str = "application/json";

/// The team's server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) url: String,
    /// The header with the token of the user, if there is one.
    token: Vec<SecretHeader>,
    agent: OnceLock<Agent>,
}

/// What a server answers.
pub(super) struct Answer {
    pub(super) tag: String,
    /// `None` if it still has the tag of the request.
    pub(super) body: Option<Vec<u8>>,
}

/// Why there is no answer to use.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server cannot be reached, or something else answers in its place.
    Gone(Diagnostic),
    /// The token is not valid.
    Refused(Diagnostic),
    /// What the API says of the request, with its status; 0: nothing was asked.
    Error(u16, Box<Value>, Diagnostic),
}

impl From<Trouble> for Diagnostic {
    fn from(trouble: Trouble) -> Diagnostic {
        match trouble {
            Trouble::Gone(why) | Trouble::Refused(why) | Trouble::Error(.., why) => why,
        }
    }
}

impl Server {
    pub(super) fn new(url: String, token: Vec<SecretHeader>) -> Server {
        Server { url, token, agent: OnceLock::new() }
    }

    /// Distinguishes one token from another, without the token.
    pub(super) fn revision_of_token(&self) -> Revision {
        let token = secrets(&self.token).ok().and_then(|mut secrets| secrets.pop());
        Revision::of(token.map(|token| token.text).unwrap_or_default().as_bytes())
    }

    /// Sends a request to the API. `tag`: what is known already.
    pub(super) fn send(
        &self,
        method: &str,
        url: &str,
        tag: Option<&str>,
        body: Option<&Value>,
        within: Duration,
    ) -> Result<Answer, Trouble> {
        let body = body.map(Value::to_string);
        let mut headers = BTreeMap::from([(TEAM_HEADER.to_owned(), "1".to_owned())]);
        headers.extend(tag.map(|tag| ("if-none-match".to_owned(), tag.to_owned())));
        headers.extend(body.as_ref().map(|_| ("content-type".to_owned(), JSON.to_owned())));
        let secrets = secrets(&self.token).map_err(|why| Trouble::Error(0, Box::default(), that(why)))?;
        let request = ServiceRequest { method: method.to_owned(), url: url.to_owned(), headers, body };
        let agent = self.agent.get_or_init(|| client_settings(2).new_agent());
        let gone = |error| Trouble::Gone(that(no_answer(error, &self.url, MAX_ANSWER)));
        let mut response = respond(agent, &request, &secrets, within).map_err(gone)?;
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (tag, content_type) = (header(ETAG).to_owned(), header(CONTENT_TYPE).to_owned());
        if status.as_u16() == 304 {
            return Ok(Answer { tag, body: None });
        }
        if !content_type.starts_with(JSON) {
            let what = format!("answered {status} with {} instead of JSON", printable(&shortened(&content_type, 80)));
            let fix = "correct `team` in the settings file: the address of `prompt-expander serve --http`, without a redirect";
            return Err(Trouble::Gone(that(Diagnostic::new(Kind::Service, what, fix))));
        }
        let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().map_err(gone)?;
        if status.is_success() {
            return Ok(Answer { tag, body: Some(body) });
        }
        let mut error = serde_json::from_slice::<Value>(&body).unwrap_or_default()["error"].take();
        let message = error["message"].take();
        let message = printable(&shortened(message.as_str().unwrap_or_default(), MAX_SHOWN));
        let why = that(Diagnostic::new(Kind::Service, format!("answered {status}: {message}"), ""));
        Err(match status.as_u16() {
            401 => Trouble::Refused(why),
            300..=399 | 408 | 429 | 500.. => Trouble::Gone(why),
            status => Trouble::Error(status, Box::new(error), why),
        })
    }
}

/// A clause about the server as a sentence.
fn that(why: Diagnostic) -> Diagnostic {
    Diagnostic { message: format!("the team's server {}", why.message), ..why }
}

/// Reads an answer.
pub(super) fn read<T: for<'d> Deserialize<'d>>(answer: Answer) -> Result<T, Diagnostic> {
    serde_json::from_slice(&answer.body.unwrap_or_default()).map_err(unexpected)
}

/// A member of the object that the server answers with.
pub(super) fn member<T: for<'d> Deserialize<'d>>(answer: Answer, name: &str) -> Result<T, Diagnostic> {
    let member = read::<Map<String, Value>>(answer)?.remove(name).unwrap_or_default();
    T::deserialize(member).map_err(unexpected)
}

fn unexpected(error: serde_json::Error) -> Diagnostic {
    let what = format!("answered with what this program cannot read: {error}");
    that(Diagnostic::new(Kind::Service, what, "update both programs"))
}
