//! The API of the command line with `--http`: what `list`, `show`, `expand`, `explain` and `hook` print, as JSON.
//!
//! The same checks as for MCP come first: names of the server, tokens, rate limits.

mod editing_routes;

use super::exchange::Exchange;
use super::refusal::Refusal;
use super::shared_answers::in_turns;
use super::{App, headers};
use crate::jsonrpc;
use crate::library::{Caller, Editor, View};
use crate::report::{self, Call, Failure, Filter, Found, List};
use crate::wording::quoted;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{self, HeaderValue, Method, StatusCode, Uri};
use axum::{Extension, Router, routing};
pub(super) use editing_routes::status_of;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// What is at an address.
struct Route {
    method: &'static str,
    /// The whole path; or, if it ends in a slash, what the name of a prompt follows.
    path: &'static str,
    /// The name in the metrics.
    name: &'static str,
    /// The method of MCP as which rate limits count it.
    counted_as: &'static str,
    is_for_editors: bool,
    work: Work,
}

/// What a request does.
enum Work {
    /// The same for all who may see the same.
    List(Report),
    Report(Report),
    /// May call a service.
    Expand,
    Edit(editing_routes::Handler),
}

pub(super) const PROMPT: &str = "/api/prompts/";
const HISTORY: &str = "/api/history/";

static ROUTES: [Route; 11] = [
    Route::read("GET", "/api/prompts", "api/prompts", "prompts/list", Work::List(list)),
    Route::read("GET", PROMPT, "api/prompts/NAME", "prompts/get", Work::Report(show)),
    Route::read("POST", "/api/expand", "api/expand", "prompts/get", Work::Expand),
    Route::read("POST", "/api/explain", "api/explain", "prompts/get", Work::Report(explain)),
    Route::read("POST", "/api/hook", "api/hook", "prompts/get", Work::Report(hook)),
    // Whoever may write a prompt may see what it would include and attach.
    Route::for_editors("POST", "/api/check", "api/check", "prompts/get", Work::Report(check)),
    Route::for_editors("POST", PROMPT, "api/create", "prompts/create", Work::Edit(editing_routes::create)),
    Route::for_editors("PUT", PROMPT, "api/update", "prompts/update", Work::Edit(editing_routes::update)),
    Route::for_editors("DELETE", PROMPT, "api/delete", "prompts/delete", Work::Edit(editing_routes::delete)),
    Route::for_editors("GET", HISTORY, "api/history", "prompts/get", Work::Edit(editing_routes::history)),
    Route::for_editors("POST", "/api/restore", "api/restore", "prompts/update", Work::Edit(editing_routes::restore)),
];

impl Route {
    const fn read(
        method: &'static str,
        path: &'static str,
        name: &'static str,
        counted_as: &'static str,
        work: Work,
    ) -> Route {
        Route { method, path, name, counted_as, is_for_editors: false, work }
    }

    const fn for_editors(
        method: &'static str,
        path: &'static str,
        name: &'static str,
        counted_as: &'static str,
        work: Work,
    ) -> Route {
        Route { is_for_editors: true, ..Route::read(method, path, name, counted_as, work) }
    }

    fn is_at(&self, path: &str) -> bool {
        path == self.path || (self.path.ends_with('/') && path.starts_with(self.path))
    }
}

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
        let routes: Vec<&Route> = ROUTES.iter().filter(|route| route.is_at(path)).collect();
        if routes.is_empty() {
            return Err(Refusal::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", quoted(path))));
        }
        let Some(route) = routes.iter().find(|route| route.method == head.method) else {
            let methods: Vec<&str> = routes.iter().map(|route| route.method).collect();
            let message = format!("this path has {} only", methods.join(", "));
            let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message);
            return Err(match HeaderValue::try_from(methods.join(", ")) {
                Ok(methods) => refusal.with_header(ALLOW, methods),
                Err(_) => refusal,
            });
        };
        if route.is_for_editors {
            self.check_may_edit(&caller)?;
        }
        if head.method != Method::GET {
            headers::check_content_type(&head.headers)?;
        }
        let (body, _held) = self.read(body, &head.headers, self.max_body).await?;
        self.received(exchange, &[format!("{} {} ", head.method, head.uri).as_bytes(), &body].concat());
        let names = (route.name, route.counted_as);
        let answered = match route.work {
            Work::List(list) => {
                let address = head.uri.clone();
                let read = move |view: &View| list(view, &head.uri, &body);
                self.read_library_once(&self.reports, (caller, &address), exchange, names, read).await?
            }
            Work::Report(report) => {
                let read = move |view: &View| report(view, &head.uri, &body);
                self.read_library(caller, exchange, names, None, read).await?
            }
            Work::Expand => {
                let expanded = read::<Call>(&body).ok().map(|call| call.command);
                let read = move |view: &View| expand(view, &body);
                self.read_library(caller, exchange, names, expanded, read).await?
            }
            Work::Edit(edit) => {
                let who = caller.clone();
                let threads = if head.method == Method::GET { &self.blocking } else { &self.edits };
                let edit = move |editor: &Editor<'_>| edit(editor, &who, &head.uri, &body);
                let done = self.edit_library(caller, exchange, names, threads, edit).await?;
                return Ok(done.map_or_else(editing_routes::refused, |done| json(StatusCode::OK, done.into())));
            }
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
    to_json(&report::show(view, &name_in(uri, PROMPT).map_err(Mistake::InRequest)?)?)
}

/// The name that follows the beginning of a path.
fn name_in<'u>(uri: &'u Uri, path: &str) -> Result<Cow<'u, str>, String> {
    let name = percent_decode_str(uri.path().strip_prefix(path).unwrap_or_default()).decode_utf8();
    name.map_err(|_| "the name in the path is not UTF-8".to_owned())
}

fn expand(view: &View, body: &[u8]) -> Answered {
    let call: Call = read(body).map_err(Mistake::InRequest)?;
    to_json(&report::expand(view, &Found::named(view, &call.command)?, &call)?)
}

fn explain(view: &View, _: &Uri, body: &[u8]) -> Answered {
    let call: Call = read(body).map_err(Mistake::InRequest)?;
    to_json(&report::explain(view, &Found::named(view, &call.command)?, &call)?)
}

fn hook(view: &View, _: &Uri, body: &[u8]) -> Answered {
    to_json(&report::hook(view, &read(body).map_err(Mistake::InRequest)?)?)
}

fn check(view: &View, _: &Uri, body: &[u8]) -> Answered {
    to_json(&report::check(view, &read(body).map_err(Mistake::InRequest)?)?)
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
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let text = str::from_utf8(body).map_err(|error| error.to_string());
    let value = text.and_then(|text| jsonrpc::parse_value(text).map_err(|error| error.to_string()));
    let value = value.map_err(|error| format!("the body is not JSON: {error}"))?;
    let Value::Object(object) = value else {
        return Err("the body must be a JSON object".to_owned());
    };
    jsonrpc::read(&object).map_err(|mismatch| format!("in the body, {mismatch}"))
}

fn refused(refusal: Refusal) -> http::Response<Body> {
    let Refusal { status, headers, error: why } = refusal;
    let mut response = error(status, &Failure::new(why.message));
    response.headers_mut().extend(*headers);
    response
}

fn error(status: StatusCode, failure: &Failure) -> http::Response<Body> {
    error_json(status, &serde_json::json!(failure))
}

fn error_json(status: StatusCode, error: &Value) -> http::Response<Body> {
    json(status, serde_json::json!({ "error": error }).to_string().into())
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
