//! A client of a server over HTTP: the same reports as from a library on this machine, and an MCP conversation for `doctor`.
//!
//! It blocks, and follows no redirects, so that a token is sent to the host of the URL only. Certificates are checked as the system
//! does it; on Linux, the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.

use crate::agents::{MCP_PATH, endpoint, is_on_this_machine};
use crate::report::{Call, Expansion, Explanation, Failure, Filter, HookCall, HookContext, List, Shown};
use crate::wording::{printable, quoted};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::CertificateError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Proxy};

/// The environment variable with the token, unless another one is named.
pub const TOKEN_VARIABLE: &str = "PROMPT_EXPANDER_TOKEN";

/// How long it may take to connect, and a request in all.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes: above that of the longest expansion.
const MAX_ANSWER: u64 = 160 * 1024 * 1024;

/// A server that closes the connection during a longer body probably finds it too long, in bytes.
const LONG_BODY: usize = 64 * 1024;

/// What stays as it is in a path.
const OF_PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');

const OF_QUERY: AsciiSet = OF_PATH.add(b'/');

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A server over HTTP.
pub struct Remote {
    agent: Agent,
    /// With `/mcp`, as agents need it.
    url: String,
    authorization: Option<HeaderValue>,
    timeout: Duration,
    /// The host and port of the proxy through which it is reached.
    proxy: Option<String>,
    /// When all requests must have been answered.
    end: Option<Instant>,
}

/// Why a server gives no answer that can be used. Its `Display` is one line for a person.
#[derive(Debug)]
pub struct Error {
    /// What to distinguish.
    pub kind: ErrorKind,
    /// What is wrong: one line, lowercase, without a final stop.
    pub message: String,
    /// What to do about it, in the imperative.
    pub fix: String,
}

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no such host, or nothing listens there.
    Unreachable,
    /// There was no answer in time.
    TimedOut,
    /// Its certificate is not accepted, or there is no TLS at all.
    Tls,
    /// A token is needed, or the one that was sent is not accepted.
    Token,
    /// The server refuses the request: for example, it does not go by this name.
    Refused,
    /// It has too much to do, or is being stopped; the same request may work later.
    Busy,
    /// It is another program, or not the right path.
    NotThisProgram,
    /// It is this program, but does not answer as this version does.
    OtherVersion,
    /// The answer is too long, or is not what it should be.
    Invalid,
}

/// Why a server made no report.
#[derive(Debug)]
pub enum NoReport {
    /// It says why, as the library on this machine would.
    Failure(Failure),
    /// There is no usable answer.
    Error(Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.fix)
    }
}

impl std::error::Error for Error {}

impl From<Error> for NoReport {
    fn from(error: Error) -> NoReport {
        NoReport::Error(error)
    }
}

impl Remote {
    /// A server, with or without `/mcp` at the end of its URL. Nothing is sent yet.
    ///
    /// # Errors
    /// It is not the URL of a server, or the token can be in no header: a clause that says what to do.
    pub fn new(url: &str, token: Option<&str>) -> Result<Remote, String> {
        let url = endpoint(url.trim()).map_err(|why| format!("it {why}"))?;
        let token = token.map(str::trim).filter(|token| !token.is_empty());
        let authorization = token.map(|token| {
            let is_valid = token.bytes().all(|byte| byte.is_ascii_graphic());
            let header = HeaderValue::try_from(format!("Bearer {token}")).ok().filter(|_| is_valid);
            header.ok_or("the token contains invalid characters, such as spaces")
        });
        let mut authorization = authorization.transpose()?;
        authorization.iter_mut().for_each(|header| header.set_sensitive(true));
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let is_direct =
            |proxy: &Proxy| is_on_this_machine(&url) || url.parse().is_ok_and(|uri| proxy.is_no_proxy(&uri));
        let proxy = Proxy::try_from_env().filter(|proxy| !is_direct(proxy));
        let shown_proxy = proxy.as_ref().map(|proxy| format!("{}:{}", proxy.host(), proxy.port()));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_WITHIN))
            .user_agent(concat!("prompt-expander/", env!("CARGO_PKG_VERSION")))
            .proxy(proxy)
            .tls_config(tls.build());
        Ok(Remote {
            agent: config.build().into(),
            url,
            authorization,
            timeout: ANSWER_WITHIN,
            proxy: shown_proxy,
            end: None,
        })
    }

    /// The same with another time limit for each request, in all.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Remote {
        Remote { timeout, ..self }
    }

    /// The same with a time limit for all requests together, from now on.
    #[must_use]
    pub fn within(self, time: Duration) -> Remote {
        Remote { end: Some(Instant::now() + time), ..self }
    }

    /// The prompts that match.
    ///
    /// # Errors
    /// There is no usable answer.
    pub fn list(&self, filter: &Filter) -> Result<List, NoReport> {
        let pairs = [("query", filter.query.as_deref()), ("tag", filter.tag.as_deref())];
        let pairs = pairs.into_iter().chain([("mine", filter.mine.then_some("true"))]);
        let encoded = |(key, value): (&str, Option<&str>)| Some(format!("{key}={}", encode(value?, &OF_QUERY)));
        let query: Vec<String> = pairs.filter_map(encoded).collect();
        self.report(Method::GET, &format!("/api/prompts?{}", query.join("&")), "")
    }

    /// The file of a prompt.
    ///
    /// # Errors
    /// There is no such prompt, or no usable answer.
    pub fn show(&self, command: &str) -> Result<Shown, NoReport> {
        self.report(Method::GET, &format!("/api/prompts/{}", encode(command, &OF_PATH)), "")
    }

    /// What an agent gets for a call.
    ///
    /// # Errors
    /// The prompt cannot be called like this; there is no usable answer.
    pub fn expand(&self, call: &Call) -> Result<Expansion, NoReport> {
        self.report(Method::POST, "/api/expand", &json!(call).to_string())
    }

    /// Explains a call.
    ///
    /// # Errors
    /// The prompt cannot be called like this; there is no usable answer.
    pub fn explain(&self, call: &Call) -> Result<Explanation, NoReport> {
        self.report(Method::POST, "/api/explain", &json!(call).to_string())
    }

    /// What a hook adds to a message; `None` if it names no prompt.
    ///
    /// # Errors
    /// The agent is unknown to the server; there is no usable answer.
    pub fn hook(&self, agent: &str, message: &str) -> Result<Option<String>, NoReport> {
        let call = HookCall { agent: agent.to_owned(), message: message.to_owned() };
        let HookContext { context } = self.report(Method::POST, "/api/hook", &json!(call).to_string())?;
        Ok(context)
    }

    /// A conversation over MCP. Nothing is sent yet.
    pub fn conversation(&self) -> Conversation<'_> {
        Conversation { remote: self, headers: HeaderMap::new() }
    }

    fn report<T: DeserializeOwned>(&self, method: Method, path: &str, body: &str) -> Result<T, NoReport> {
        #[derive(Deserialize)]
        struct Refused {
            error: Failure,
        }
        let url = format!("{}{path}", self.base());
        let response = self.send(method, &url, &HeaderMap::new(), body)?;
        let (status, is_json) = (response.status(), is_json(&response));
        let text = Some(self.body(response)?).filter(|_| is_json).unwrap_or_default();
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|_| self.not_an_answer(status).into());
        }
        let Ok(Refused { error: failure }) = serde_json::from_str(&text) else {
            return Err(self.not_an_answer(status).into());
        };
        Err(self.refusal(status, &failure.message).map_or(NoReport::Failure(failure), Into::into))
    }

    /// The error that a status means, whatever it was that was requested. `reason` is what the server says.
    fn refusal(&self, status: StatusCode, reason: &str) -> Option<Error> {
        let reason = printable(reason.trim());
        let (kind, message, fix) = match status {
            StatusCode::UNAUTHORIZED if self.authorization.is_none() => (
                ErrorKind::Token,
                format!("{} needs a token", self.shown()),
                format!(
                    "set it in the environment variable {TOKEN_VARIABLE}, or name another variable with --token-env"
                ),
            ),
            StatusCode::UNAUTHORIZED => {
                // What follows says how agents are configured.
                let reason = reason.split(';').next().unwrap_or_default().trim_end().to_owned();
                let fix = "ask for another token, and set it in the environment variable";
                (ErrorKind::Token, format!("{} refuses the token: {reason}", self.shown()), fix.to_owned())
            }
            StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST | StatusCode::REQUEST_TIMEOUT => {
                let fix = "correct that, or ask those who operate the server";
                (ErrorKind::Refused, format!("{} refuses the request: {reason}", self.shown()), fix.to_owned())
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let message = format!("{} refuses the request for now: {reason}", self.shown());
                (ErrorKind::Busy, message, "if this happens often, ask those who operate the server".to_owned())
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                let message = format!("{} cannot answer now: {reason}", self.shown());
                (ErrorKind::Busy, message, "if this happens often, ask those who operate the server".to_owned())
            }
            _ => return None,
        };
        Some(Error { kind, message, fix })
    }

    /// Why an answer was not one of a server that has reports.
    fn not_an_answer(&self, status: StatusCode) -> Error {
        if let Some(error) = self.refusal(status, status.canonical_reason().unwrap_or("no reason given")) {
            return error;
        }
        let initialize = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-11-25", "capabilities": {},
                        "clientInfo": { "name": "prompt-expander", "version": env!("CARGO_PKG_VERSION") } }
        });
        let answer = self.conversation().send(&initialize);
        match answer {
            Ok(Some(answer)) if answer["result"]["serverInfo"]["name"] == "prompt-expander" => {
                let version = answer["result"]["serverInfo"]["version"].as_str().unwrap_or_default();
                let (message, fix) = if version == env!("CARGO_PKG_VERSION") {
                    let message =
                        format!("{} answers to {MCP_PATH}, but with status {} to /api", self.shown(), status.as_u16());
                    (message, "have the proxy in front of it pass on all paths")
                } else {
                    let message = format!("{} has another version, {}", self.shown(), quoted(version));
                    (message, "update the server, or this program")
                };
                Error { kind: ErrorKind::OtherVersion, message, fix: fix.to_owned() }
            }
            _ => self.another_program(&format!("it answers with status {}", status.as_u16())),
        }
    }

    fn another_program(&self, how: &str) -> Error {
        Error {
            kind: ErrorKind::NotThisProgram,
            message: format!("{} is not a prompt-expander server: {how}", self.shown()),
            fix: "correct the URL; `prompt-expander serve --http` prints that of a server".to_owned(),
        }
    }

    /// Sends a request.
    fn send(&self, method: Method, url: &str, headers: &HeaderMap, body: &str) -> Result<Response<Body>, Error> {
        let mut request = Request::builder().method(&method).uri(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if !headers.contains_key(ACCEPT) {
            request = request.header(ACCEPT, "application/json");
        }
        let response = match body.is_empty() {
            true => request.body(()).map_err(ureq::Error::from).and_then(|request| self.run(request)),
            false => request.body(body).map_err(ureq::Error::from).and_then(|request| self.run(request)),
        };
        let response = response.map_err(|error| match error {
            ureq::Error::Io(error) if body.len() > LONG_BODY && is_closed(&error) => Error {
                kind: ErrorKind::Refused,
                message: format!("{} closed the connection while receiving {} bytes", self.shown(), body.len()),
                fix: "shorten the input, or start the server with a greater --max-body".to_owned(),
            },
            error => self.error(error),
        })?;
        if response.status().is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok()).unwrap_or_default();
            return Err(Error {
                kind: ErrorKind::NotThisProgram,
                message: format!("{} redirects to {}, which is not followed", self.shown(), quoted(target)),
                fix: "use that URL if it is the right one".to_owned(),
            });
        }
        Ok(response)
    }

    fn run<B: ureq::AsSendBody>(&self, request: Request<B>) -> Result<Response<Body>, ureq::Error> {
        let left = self.end.map_or(self.timeout, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(ureq::Error::Timeout(ureq::Timeout::Global));
        }
        let request = self.agent.configure_request(request).timeout_global(Some(self.timeout.min(left))).build();
        self.agent.run(request)
    }

    /// The body of an answer.
    fn body(&self, mut response: Response<Body>) -> Result<String, Error> {
        let read = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
        let invalid = |message: String| Error {
            kind: ErrorKind::Invalid,
            message,
            fix: "check that it is the right URL, and update the server".to_owned(),
        };
        let bytes = read.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => {
                invalid(format!("{} sends an answer of more than {MAX_ANSWER} bytes", self.shown()))
            }
            error => self.error(error),
        })?;
        String::from_utf8(bytes).map_err(|_| invalid(format!("{} sends an answer that is not UTF-8", self.shown())))
    }

    fn error(&self, error: ureq::Error) -> Error {
        let shown = self.shown();
        let (way, fix) = match &self.proxy {
            Some(proxy) => (
                format!(" through the proxy {}", quoted(proxy)),
                "check the address, and the proxy in the variable HTTPS_PROXY, HTTP_PROXY or ALL_PROXY; NO_PROXY names hosts without it",
            ),
            None => (String::new(), "check the address and the network, and whether the server is running"),
        };
        let new = |kind, message: String| Error { kind, message, fix: fix.to_owned() };
        let unreachable = |reason: &dyn fmt::Display| {
            new(ErrorKind::Unreachable, format!("{shown} cannot be reached{way}: {}", printable(&reason.to_string())))
        };
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                let seconds = self.timeout.min(CONNECT_WITHIN).as_secs_f32();
                let message = format!("{shown} cannot be reached{way}: no answer within {seconds} s");
                new(ErrorKind::TimedOut, message)
            }
            ureq::Error::Timeout(_) => {
                let message = format!("{shown} does not answer within {} s", self.timeout.as_secs_f32());
                new(ErrorKind::TimedOut, message)
            }
            ureq::Error::Rustls(error) => self.tls_error(&error),
            ureq::Error::Tls(reason) => Error { kind: ErrorKind::Tls, ..unreachable(&reason) },
            ureq::Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(error) => self.tls_error(error),
                None if error.kind() == io::ErrorKind::ConnectionRefused => unreachable(&"nothing listens there"),
                None if is_closed(&error) => unreachable(&"the connection was closed without an answer"),
                None => unreachable(&error),
            },
            ureq::Error::HostNotFound => unreachable(&"there is no such host"),
            ureq::Error::ConnectProxyFailed(reason) => unreachable(&reason),
            ureq::Error::Protocol(_) if self.url.starts_with("http:") => {
                let error = self.another_program("its answer is not HTTP");
                Error { fix: "write `https://` if it uses TLS, or correct the URL".to_owned(), ..error }
            }
            error => unreachable(&error),
        }
    }

    fn tls_error(&self, error: &rustls::Error) -> Error {
        let of_certificate = |reason: &str, fix: &str| {
            (format!("the certificate of {} is not accepted: {reason}", self.shown()), fix.to_owned())
        };
        let (message, fix) = match error {
            rustls::Error::InvalidCertificate(error) => match error {
                CertificateError::UnknownIssuer => of_certificate(
                    "its issuer is unknown",
                    "add the issuer's certificate to those of the system, or name its file in the variable SSL_CERT_FILE",
                ),
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    of_certificate("it has expired", "renew it, and check the clock of this machine")
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    of_certificate("it is not valid yet", "check the clock of this machine")
                }
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => of_certificate(
                    "it is for another name",
                    "use that name in the URL, or have a certificate made for this one",
                ),
                other => of_certificate(&other.to_string(), "ask those who operate the server to correct it"),
            },
            rustls::Error::InvalidMessage(_) => {
                (format!("{} does not use TLS", self.shown()), "write `http://` instead of `https://`".to_owned())
            }
            other => {
                let message = format!("{} cannot be reached by TLS: {other}", self.shown());
                (message, "ask those who operate the server to correct it".to_owned())
            }
        };
        Error { kind: ErrorKind::Tls, message, fix }
    }

    fn shown(&self) -> String {
        format!("`{}`", self.base())
    }

    /// The URL without `/mcp`.
    fn base(&self) -> &str {
        self.url.strip_suffix(MCP_PATH).unwrap_or(&self.url)
    }
}

/// An MCP conversation of the versions that have `initialize`, over HTTP.
pub struct Conversation<'r> {
    remote: &'r Remote,
    /// The session and the protocol version, once they are known.
    headers: HeaderMap,
}

impl Conversation<'_> {
    /// Sends a message, and returns the response; `None` after a notification.
    ///
    /// # Errors
    /// There is no usable answer. A JSON-RPC error is one.
    pub fn send(&mut self, message: &Value) -> Result<Option<Value>, Error> {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let response = self.remote.send(Method::POST, &self.remote.url, &headers, &message.to_string())?;
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION_ID) {
            self.headers.insert(SESSION_ID, session.clone());
        }
        let is_json = is_json(&response);
        let text = self.remote.body(response)?;
        let answer = serde_json::from_str::<Value>(&text).ok().filter(|_| is_json);
        let reason = answer.as_ref().and_then(|answer| answer["error"]["message"].as_str());
        if let Some(error) =
            self.remote.refusal(status, reason.unwrap_or(status.canonical_reason().unwrap_or_default()))
        {
            return Err(error);
        }
        let Some(answer) = answer.filter(|answer| answer["jsonrpc"] == "2.0") else {
            return match status {
                StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(None),
                status => Err(self.remote.another_program(&format!("it answers with status {}", status.as_u16()))),
            };
        };
        let version =
            answer["result"]["protocolVersion"].as_str().and_then(|version| HeaderValue::try_from(version).ok());
        if let Some(version) = version.filter(|_| message["method"] == "initialize") {
            self.headers.insert(PROTOCOL_VERSION, version);
        }
        Ok(Some(answer))
    }

    /// Ends the session, if there is one.
    pub fn end(self) {
        if self.headers.contains_key(SESSION_ID) {
            // It takes nothing of the server, and may end by itself.
            let _ = self.remote.send(Method::DELETE, &self.remote.url, &self.headers, "");
        }
    }
}

fn encode(text: &str, set: &'static AsciiSet) -> String {
    utf8_percent_encode(text, set).to_string()
}

/// Whether the other side has closed the connection.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

fn is_json(response: &Response<Body>) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.split(';').next().is_some_and(|value| value.trim() == "application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word() {
        assert!(Remote::new("http://localhost", Some(" pe_abc\n")).unwrap().authorization.is_some());
        assert!(Remote::new("http://localhost", Some(" ")).unwrap().authorization.is_none());
        assert!(Remote::new("http://localhost", Some("a\r\nX: y")).is_err());
        assert!(Remote::new("http://localhost", Some("a b")).is_err());
    }
}
