//! The API of the command line with `--http`: what `list`, `show`, `expand`, `explain` and `hook` print, as JSON.
//!
//! The same checks as for MCP come first: names of the server, tokens, rate limits.

use super::operate::Exchange;
use super::refusal::Refusal;
use super::shared_answers::{AddressKey, in_turns};
use super::{App, STOPPED, Stage, endpoint, headers, limits, origin, reached};
use crate::jsonrpc;
use crate::library::View;
use crate::report::{self, Call, Failure, Filter, Found, List};
use crate::wording::quoted;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::{Extension, Router, routing};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// What all paths begin with.
const PREFIX: &str = "/api/";

const LIST: &str = "prompts";
const SHOW: &str = "prompts/";
const EXPAND: &str = "expand";
const EXPLAIN: &str = "explain";
const HOOK: &str = "hook";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/{*path}", routing::any(answer))
}

async fn answer(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    let (head, body) = request.into_parts();
    let (answered, of_page) = match app.sites.check(&head, exchange.client()) {
        Ok(of_page) => (app.answer(&head, body, &exchange).await, of_page),
        Err(refusal) => (Err(refusal), HeaderMap::new()),
    };
    let mut response = answered.unwrap_or_else(refused);
    response.headers_mut().extend(of_page);
    app.recorded(&exchange, response)
}

impl App {
    async fn answer(
        self: &Arc<Self>,
        head: &http::request::Parts,
        body: Body,
        exchange: &Exchange,
    ) -> Result<http::Response<Body>, Refusal> {
        if head.method == Method::OPTIONS {
            let mut response = json(StatusCode::NO_CONTENT, Body::empty()); // a browser asks without a token
            response.headers_mut().extend(origin::preflight());
            return Ok(response);
        }
        let caller = self.access.authorize(&head.headers, exchange.client().address)?;
        let path = head.uri.path().strip_prefix(PREFIX).unwrap_or_default();
        // The method of HTTP, the name in the metrics, and the method of MCP as which rate limits count it.
        let (allowed, name, counted_as) = match path {
            LIST => (Method::GET, "api/prompts", "prompts/list"),
            EXPAND => (Method::POST, "api/expand", "prompts/get"),
            EXPLAIN => (Method::POST, "api/explain", "prompts/get"),
            HOOK => (Method::POST, "api/hook", "prompts/get"),
            _ if path.starts_with(SHOW) => (Method::GET, "api/prompts/NAME", "prompts/get"),
            _ => {
                let message = format!("there is nothing at {}", quoted(head.uri.path()));
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
        let mut stage = self.stage.clone();
        let (body, _held) = tokio::select! {
            body = endpoint::read(body, &head.headers, self.max_body, &self.bodies) => body?,
            () = reached(&mut stage, Stage::Ending) => {
                return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, STOPPED));
            }
        };
        let _permit = self.requests.try_acquire().map_err(|_| limits::too_busy())?;
        self.received(exchange, &[format!("{} {} ", head.method, head.uri).as_bytes(), &body].concat());
        self.rate_limits.take_one(&caller, exchange.client().address, counted_as)?;
        let (server, uri, started) = (Arc::clone(&self.server), head.uri.clone(), Instant::now());
        let key = AddressKey::of(&caller, &uri);
        let work = move || report_of(&server.library().view_for(&caller), &uri, &body);
        let answered = match path {
            LIST => self.in_time(self.reports.get(key, work)).await,
            _ => self.in_background(work).await,
        };
        self.metrics.answered("http", name, !matches!(answered, Ok(Ok(_))), started.elapsed());
        match answered {
            // What is recorded is one piece.
            Ok(Ok(report)) if self.tap.is_some() => Ok(json(StatusCode::OK, report.into())),
            Ok(Ok(report)) => Ok(json(StatusCode::OK, in_turns(report))),
            Ok(Err(Mistake::InRequest(why))) => Err(Refusal::new(StatusCode::BAD_REQUEST, why)),
            Ok(Err(Mistake::NoReport(failure))) => Ok(match failure.is_not_found {
                true => error(StatusCode::NOT_FOUND, &failure),
                false => error(StatusCode::UNPROCESSABLE_ENTITY, &failure),
            }),
            Err(error) => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.message)),
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

/// The report that a path of the API has, as JSON.
fn report_of(view: &View, uri: &Uri, body: &[u8]) -> Answered {
    match uri.path().strip_prefix(PREFIX).unwrap_or_default() {
        LIST => to_json(&List::of(view, &filter(uri.query().unwrap_or_default())?)),
        EXPAND => {
            let call: Call = read(body)?;
            to_json(&report::expand(view, &Found::named(view, &call.command)?, &call)?)
        }
        EXPLAIN => {
            let call: Call = read(body)?;
            to_json(&report::explain(view, &Found::named(view, &call.command)?, &call)?)
        }
        HOOK => to_json(&report::hook(view, &read(body)?)?),
        path => {
            let name = percent_decode_str(path.strip_prefix(SHOW).unwrap_or(path)).decode_utf8();
            let name = name.map_err(|_| Mistake::InRequest("the name in the path is not UTF-8".to_owned()))?;
            to_json(&report::show(view, &name)?)
        }
    }
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
                let message = format!("there is no {}; a list has `query`, `tag` and `mine`", quoted(&key));
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
