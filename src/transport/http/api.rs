//! The API of the command line with `--http`: what `list`, `show`, `expand`, `explain` and `hook` print, as JSON.
//!
//! The same checks as for MCP come first: names of the server, tokens, rate limits.

use super::operate::Exchange;
use super::refusal::Refusal;
use super::shared_answers::in_turns;
use super::{App, headers};
use crate::jsonrpc;
use crate::library::{Caller, View};
use crate::report::{self, Call, Failure, Filter, Found, List};
use crate::wording::quoted;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{self, HeaderValue, Method, StatusCode, Uri};
use axum::{Extension, Router, routing};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// The path of a prompt without its name, which follows.
const SHOW: &str = "/api/prompts/";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/{*path}", routing::any(answer))
}

async fn answer(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    app.respond(&exchange, request, |head, body, caller| app.report(head, body, caller, &exchange), refused).await
}

impl App {
    /// The report that a request is for.
    async fn report(
        self: &Arc<Self>,
        head: Parts,
        body: Body,
        caller: Caller,
        exchange: &Exchange,
    ) -> Result<http::Response<Body>, Refusal> {
        let path = head.uri.path();
        // The method of HTTP, the name in the metrics, and the method of MCP as which rate limits count it.
        let (allowed, name, counted_as, report): (_, _, _, Report) = match path {
            "/api/prompts" => (Method::GET, "api/prompts", "prompts/list", list),
            "/api/expand" => (Method::POST, "api/expand", "prompts/get", expand),
            "/api/explain" => (Method::POST, "api/explain", "prompts/get", explain),
            "/api/hook" => (Method::POST, "api/hook", "prompts/get", hook),
            "/api/check" => (Method::POST, "api/check", "prompts/get", check),
            _ if path.starts_with(SHOW) => (Method::GET, "api/prompts/NAME", "prompts/get", show),
            _ => {
                let message = format!("there is nothing at {}", quoted(path));
                return Err(Refusal::new(StatusCode::NOT_FOUND, message));
            }
        };
        if head.method != allowed {
            let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("this path has {allowed} only"));
            let allowed = if allowed == Method::GET { "GET" } else { "POST" };
            return Err(refusal.with_header(ALLOW, HeaderValue::from_static(allowed)));
        }
        if allowed == Method::POST {
            headers::check_content_type(&head.headers)?;
        }
        if path == "/api/check" {
            // Whoever may write a prompt may see what it would include and attach.
            self.check_may_edit(&caller)?;
        }
        let (body, _held) = self.read(body, &head.headers, self.max_body).await?;
        self.received(exchange, &[format!("{} {} ", head.method, head.uri).as_bytes(), &body].concat());
        let (names, address) = ((name, counted_as), head.uri.clone());
        let read = move |view: &View| report(view, &head.uri, &body);
        let answered = match name {
            "api/prompts" => self.read_library_once(&self.reports, (caller, &address), exchange, names, read).await?,
            _ => self.read_library(caller, exchange, names, read).await?,
        };
        match answered {
            // What is recorded is one piece.
            Ok(report) if self.tap.is_some() => Ok(json(StatusCode::OK, report.into())),
            Ok(report) => Ok(json(StatusCode::OK, in_turns(report))),
            Err(Mistake::InRequest(why)) => Err(Refusal::new(StatusCode::BAD_REQUEST, why)),
            Err(Mistake::NoReport(failure)) => Ok(match failure.is_not_found {
                true => error(StatusCode::NOT_FOUND, &failure),
                false => error(StatusCode::UNPROCESSABLE_ENTITY, &failure),
            }),
        }
    }
}

/// A report as JSON, or why there is none.
pub(super) type Answered = Result<Bytes, Mistake>;

/// Why there is no report.
#[derive(Clone)]
pub(super) enum Mistake {
    /// The request is not as it must be.
    InRequest(String),
    NoReport(Failure),
}

impl From<Failure> for Mistake {
    fn from(failure: Failure) -> Mistake {
        Mistake::NoReport(failure)
    }
}

/// Makes the report for the address and the body of a request, as JSON.
type Report = fn(&View, &Uri, &[u8]) -> Answered;

fn list(view: &View, uri: &Uri, _: &[u8]) -> Answered {
    to_json(&List::of(view, &filter(uri.query().unwrap_or_default())?))
}

fn show(view: &View, uri: &Uri, _: &[u8]) -> Answered {
    let name = percent_decode_str(uri.path().strip_prefix(SHOW).unwrap_or_default()).decode_utf8();
    let name = name.map_err(|_| Mistake::InRequest("the name in the path is not UTF-8".to_owned()))?;
    to_json(&report::show(view, &name)?)
}

fn expand(view: &View, _: &Uri, body: &[u8]) -> Answered {
    let call: Call = read(body)?;
    to_json(&report::expand(view, &Found::named(view, &call.command)?, &call)?)
}

fn explain(view: &View, _: &Uri, body: &[u8]) -> Answered {
    let call: Call = read(body)?;
    to_json(&report::explain(view, &Found::named(view, &call.command)?, &call)?)
}

fn hook(view: &View, _: &Uri, body: &[u8]) -> Answered {
    to_json(&report::hook(view, &read(body)?)?)
}

fn check(view: &View, _: &Uri, body: &[u8]) -> Answered {
    to_json(&report::check(view, &read(body)?)?)
}

fn to_json(report: &impl Serialize) -> Answered {
    serde_json::to_vec(report).map(Bytes::from).map_err(|error| Failure::new(error.to_string()).into())
}

/// Which prompts the query of a list selects.
fn filter(query: &str) -> Result<Filter, Mistake> {
    let mut filter = Filter::default();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match (&*key, &*value) {
            ("query", _) => filter.query = Some(value.into_owned()),
            ("tag", _) => filter.tag = Some(value.into_owned()),
            ("mine", "true" | "false") => filter.mine = value == "true",
            ("mine", _) => return Err(Mistake::InRequest("`mine` must be `true` or `false`".to_owned())),
            _ => {
                let message = format!("unknown parameter {}; a list takes `query`, `tag` and `mine`", quoted(&key));
                return Err(Mistake::InRequest(message));
            }
        }
    }
    Ok(filter)
}

/// Reads the object of a body, within the limits of a message of MCP.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Mistake> {
    let text = str::from_utf8(body).map_err(|error| error.to_string());
    let value = text.and_then(|text| jsonrpc::parse_value(text).map_err(|error| error.to_string()));
    let value = value.map_err(|error| Mistake::InRequest(format!("the body is not JSON: {error}")))?;
    let Value::Object(object) = value else {
        return Err(Mistake::InRequest("the body must be a JSON object".to_owned()));
    };
    jsonrpc::read(&object).map_err(|mismatch| Mistake::InRequest(format!("in the body, {mismatch}")))
}

fn refused(refusal: Refusal) -> http::Response<Body> {
    let Refusal { status, headers, error: why } = refusal;
    let mut response = error(status, &Failure::new(why.message));
    response.headers_mut().extend(*headers);
    response
}

fn error(status: StatusCode, failure: &Failure) -> http::Response<Body> {
    json(status, serde_json::json!({ "error": failure }).to_string().into())
}

fn json(status: StatusCode, body: Body) -> http::Response<Body> {
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(headers::JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
