//! The API of the command line with `--http`: what `list`, `show`, `expand`, `explain` and `hook` print, as JSON.
//!
//! The same checks as for MCP come first: names of the server, tokens, rate limits.

use super::operate::Exchange;
use super::refusal::Refusal;
use super::{App, STOPPED, Stage, endpoint, headers, limits, origin, reached};
use crate::library::{Caller, View};
use crate::report::{self, Call, Failure, Filter, Found, HookCall, List};
use crate::wording::quoted;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode};
use axum::{Extension, Router, routing};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;

/// What all paths begin with.
const PREFIX: &str = "/api/";

const LIST: &str = "prompts";
const SHOW: &str = "prompts/";

/// What is requested.
enum Question {
    List(Filter),
    Show(String),
    Expand(Call),
    Explain(Call),
    Hook(HookCall),
}

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/{*path}", routing::any(answer))
}

async fn answer(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    let (head, body) = request.into_parts();
    let (answered, of_page) = match app.sites.check(head.version, &head.uri, &head.headers) {
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
            let mut response = json(StatusCode::NO_CONTENT, String::new()); // a browser asks without a token
            response.headers_mut().extend(origin::preflight());
            return Ok(response);
        }
        let caller = self.access.authorize(&head.headers, exchange.address())?;
        let path = head.uri.path().strip_prefix(PREFIX).unwrap_or_default();
        let allowed = match path {
            "expand" | "explain" | "hook" => Method::POST,
            _ if path == LIST || path.starts_with(SHOW) => Method::GET,
            _ => {
                return Err(Refusal::new(
                    StatusCode::NOT_FOUND,
                    format!("there is nothing at {}", quoted(head.uri.path())),
                ));
            }
        };
        if head.method != allowed {
            let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("this path has {allowed} only"));
            let allowed = HeaderValue::from_str(allowed.as_str()).unwrap_or(HeaderValue::from_static("GET"));
            return Err(refusal.with_header(ALLOW, allowed));
        }
        let body = if allowed == Method::POST {
            headers::check_content_type(&head.headers).map(|()| body)?
        } else {
            Body::empty()
        };
        let mut stage = self.stage.clone();
        let (body, _held) = tokio::select! {
            body = endpoint::read(body, &head.headers, self.max_body, &self.bodies) => body?,
            () = reached(&mut stage, Stage::Ending) => return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, STOPPED)),
        };
        let _permit = self.requests.try_acquire().map_err(|_| limits::too_busy())?;
        let line = format!("{} {}", head.method, head.uri);
        self.received(exchange, &[line.trim_end().as_bytes(), b" ", &body].concat());
        let query = head.uri.query().unwrap_or_default();
        let question = Question::of(path, query, &body).map_err(|why| Refusal::new(StatusCode::BAD_REQUEST, why))?;
        drop(body);
        let (name, counted_as) = question.names();
        self.rate_limits.take_one(&caller, exchange.address(), counted_as)?;
        let started = Instant::now();
        let answered = self.answer_to(question, caller).await;
        let is_error = answered.as_ref().map_or(true, |response| !response.status().is_success());
        self.metrics.answered("http", name, is_error, started.elapsed());
        answered
    }

    async fn answer_to(self: &Arc<Self>, question: Question, caller: Caller) -> Result<http::Response<Body>, Refusal> {
        let server = Arc::clone(&self.server);
        let work = move || question.answer(&server.library().view_for(&caller));
        match self.in_background(work).await {
            Ok(Ok(report)) => Ok(json(StatusCode::OK, report)),
            Ok(Err(failure)) => {
                let status =
                    if failure.is_not_found { StatusCode::NOT_FOUND } else { StatusCode::UNPROCESSABLE_ENTITY };
                Ok(error(status, &failure))
            }
            Err(error) => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.message)),
        }
    }
}

impl Question {
    /// The question of a path that exists.
    ///
    /// # Errors
    /// What is wrong with it.
    fn of(path: &str, query: &str, body: &Bytes) -> Result<Question, String> {
        Ok(match path {
            LIST => Question::List(filter(query)?),
            "expand" => Question::Expand(read(body)?),
            "explain" => Question::Explain(read(body)?),
            "hook" => Question::Hook(read(body)?),
            _ => {
                let name = percent_decode_str(path.strip_prefix(SHOW).unwrap_or(path)).decode_utf8();
                Question::Show(name.map_err(|_| "the name in the path is not UTF-8")?.into_owned())
            }
        })
    }

    /// Its name in the metrics, and the method as which rate limits count it.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Question::List(_) => ("api/prompts", "prompts/list"),
            Question::Show(_) => ("api/prompts/NAME", "prompts/get"),
            Question::Expand(_) => ("api/expand", "prompts/get"),
            Question::Explain(_) => ("api/explain", "prompts/get"),
            Question::Hook(_) => ("api/hook", "prompts/get"),
        }
    }

    /// The report, as JSON.
    fn answer(self, view: &View) -> Result<String, Failure> {
        match self {
            Question::List(filter) => to_json(&List::of(view, &filter)),
            Question::Show(name) => to_json(&report::show(view, &name)?),
            Question::Expand(call) => to_json(&report::expand(view, &Found::named(view, &call.command)?, &call)?),
            Question::Explain(call) => to_json(&report::explain(view, &Found::named(view, &call.command)?, &call)?),
            Question::Hook(call) => to_json(&report::hook(view, &call)?),
        }
    }
}

fn to_json(report: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(report).map_err(|error| Failure::new(error.to_string()))
}

/// Which prompts the query of a list selects.
fn filter(query: &str) -> Result<Filter, String> {
    let mut filter = Filter::default();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match (&*key, &*value) {
            ("query", _) => filter.query = Some(value.into_owned()),
            ("tag", _) => filter.tag = Some(value.into_owned()),
            ("mine", "true" | "false") => filter.mine = value == "true",
            ("mine", _) => return Err("`mine` must be `true` or `false`".to_owned()),
            _ => return Err(format!("there is no {}; a list has `query`, `tag` and `mine`", quoted(&key))),
        }
    }
    Ok(filter)
}

/// Reads an object. An array for it, which serde would accept, is an error.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let object: Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| format!("the body must be a JSON object: {error}"))?;
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| format!("in the body: {error}"))
}

fn refused(refusal: Refusal) -> http::Response<Body> {
    let Refusal { status, headers, error: why } = refusal;
    let mut response = error(status, &Failure::new(why.message));
    response.headers_mut().extend(*headers);
    response
}

fn error(status: StatusCode, failure: &Failure) -> http::Response<Body> {
    json(status, serde_json::json!({ "error": failure }).to_string())
}

fn json(status: StatusCode, body: String) -> http::Response<Body> {
    let mut response = http::Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(headers::JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
