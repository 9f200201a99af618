//! The API: what commands print, as JSON, and edits for those who may edit. Only JSON is taken, which no form of another web page sends.
//!
//! Names of the server, tokens and rate limits are checked as for MCP.

use super::app::{App, on_thread};
use super::auth::require;
use super::headers;
use super::proxy::Client;
use super::refusal::{JSON, Refusal};
use crate::api::{self, Call, History, Me};
use crate::library::{self, About, Caller, Editor, Layer, Role, View, hunks};
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::server::Server;
use crate::wording::quoted;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{self, HeaderValue, Method, StatusCode, Uri};
use axum::{Extension, Router, routing};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Instant;

/// What is at an address.
struct Route {
    method: &'static str,
    /// The whole path; or, if it ends in a slash, what the name of a prompt follows.
    path: &'static str,
    /// The name in the metrics.
    name: &'static str,
    /// The method of MCP as which rate limits count it.
    counted_as: &'static str,
    role: Role,
    answer: fn(&Request<'_>) -> Answer,
}

const EXPAND: &str = "/api/expand";
const PROMPT: &str = "/api/prompts/";
const HISTORY: &str = "/api/history/";

static ROUTES: [Route; 11] = [
    Route::new("GET", "/api/me", "api/me", "prompts/get", Role::Read, me),
    Route::new("GET", "/api/prompts", "api/prompts", "prompts/list", Role::Read, list),
    Route::new("GET", PROMPT, "api/prompts/NAME", "prompts/get", Role::Read, show),
    Route::new("POST", EXPAND, "api/expand", "prompts/get", Role::Read, expand),
    Route::new("POST", "/api/explain", "api/explain", "prompts/get", Role::Read, explain),
    // Whoever may write a prompt may see what it would include and attach.
    Route::new("POST", "/api/check", "api/check", "prompts/get", Role::Write, check),
    Route::new("POST", PROMPT, "api/create", "prompts/create", Role::Write, create),
    Route::new("PUT", PROMPT, "api/update", "prompts/update", Role::Write, update),
    Route::new("DELETE", PROMPT, "api/delete", "prompts/delete", Role::Write, delete),
    Route::new("GET", HISTORY, "api/history", "prompts/get", Role::Write, history),
    Route::new("POST", "/api/restore", "api/restore", "prompts/update", Role::Write, restore),
];

impl Route {
    const fn new(
        method: &'static str,
        path: &'static str,
        name: &'static str,
        counted_as: &'static str,
        role: Role,
        answer: fn(&Request<'_>) -> Answer,
    ) -> Route {
        Route { method, path, name, counted_as, role, answer }
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
    Extension(client): Extension<Arc<Client>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: http::Request<Body>,
) -> Result<http::Response<Body>, Refusal> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let routes: Vec<&'static Route> = ROUTES.iter().filter(|route| route.is_at(path)).collect();
    if routes.is_empty() {
        return Err(Refusal::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", quoted(path))));
    }
    let Some(route) = routes.iter().copied().find(|route| route.method == head.method) else {
        let methods = routes.iter().map(|route| route.method).collect::<Vec<_>>().join(", ");
        let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("this path has {methods} only"));
        return Err(
            refusal.with_header(ALLOW, HeaderValue::try_from(methods).unwrap_or(HeaderValue::from_static("GET")))
        );
    };
    if route.role == Role::Write && !app.server.may_edit(&caller) {
        require(&caller, Role::Write)?;
        let message = "this server does not let anyone edit prompts; start it with `--edit`";
        return Err(Refusal::new(StatusCode::FORBIDDEN, message));
    }
    if head.method != Method::GET {
        headers::check_content_type(&head.headers)?;
    }
    let (body, _held) = app.requests.read(&head.headers, body).await?;
    app.received(&client, &[format!("{} {} ", head.method, head.uri).as_bytes(), &body].concat());
    app.rate_limits.take_all(&caller, client.address, &[route.counted_as])?;
    let threads = match route.role {
        Role::Write if head.method != Method::GET => &app.writes,
        _ if route.path == EXPAND && calls_service(&app, &caller, &body).await? => &app.services,
        _ => &app.files,
    };
    let (server, started) = (Arc::clone(&app.server), Instant::now());
    let work = move || (route.answer)(&Request { server: &server, caller: &caller, uri: &head.uri, body: &body });
    let answered = on_thread(threads, work).await.flatten();
    app.metrics.answered("http", route.name, answered.is_err(), started.elapsed());
    let answer = answered?;
    app.sent(&client, &answer);
    let mut response = http::Response::new(Body::from(answer));
    response.headers_mut().extend([
        (CONTENT_TYPE, HeaderValue::from_static(JSON)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]);
    Ok(response)
}

/// Whether the prompt that a body expands is rendered by a service. A local one never waits for those that wait for services.
async fn calls_service(app: &App, caller: &Arc<Caller>, body: &Bytes) -> Result<bool, Refusal> {
    if !app.server.library().view().calls_services() {
        return Ok(false);
    }
    let (server, caller, body) = (Arc::clone(&app.server), Arc::clone(caller), body.clone());
    let find = move || {
        serde_json::from_slice::<Call>(&body).ok().and_then(|call| server.view(&caller).find(&call.command).ok())
    };
    Ok(on_thread(&app.files, find).await?.is_some_and(|found| found.layer == Layer::SERVICE))
}

/// JSON.
type Answer = Result<Bytes, Refusal>;

/// A request to a route, which its role admits.
struct Request<'r> {
    server: &'r Server,
    caller: &'r Caller,
    uri: &'r Uri,
    body: &'r [u8],
}

impl Request<'_> {
    fn view(&self) -> View {
        self.server.view(self.caller)
    }

    fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        self.server.library().editor(self.caller)
    }

    /// The name that follows the beginning of the path.
    fn name(&self, start: &str) -> Result<String, Refusal> {
        let name = percent_decode_str(self.uri.path().strip_prefix(start).unwrap_or_default()).decode_utf8();
        name.map(Into::into).map_err(|_| bad_request("the name in the path is not UTF-8"))
    }

    fn query<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        Query::try_from_uri(self.uri).map(|Query(query)| query).map_err(|error| bad_request(error.body_text()))
    }

    fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let object: Map<String, Value> = serde_json::from_slice(self.body)
            .map_err(|error| bad_request(format!("the body cannot be read: {error}")))?;
        serde_json::from_value(Value::Object(object))
            .map_err(|error| bad_request(format!("the body cannot be read: {error}")))
    }

    /// Who writes, and why.
    fn about(&self, note: Option<String>) -> Result<About, Diagnostic> {
        About::new(self.caller.token.as_ref().map(|token| Arc::clone(&token.name)), note)
    }
}

fn bad_request(why: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}

impl From<Diagnostic> for Refusal {
    fn from(why: Diagnostic) -> Refusal {
        let status = match why.kind {
            Kind::NoSuchPrompt { .. } | Kind::Ambiguous { .. } | Kind::TextInName { .. } | Kind::NotACommand => {
                StatusCode::NOT_FOUND
            }
            Kind::EditorsOnly | Kind::NoVersion => StatusCode::NOT_FOUND,
            Kind::Conflict { .. } | Kind::Exists => StatusCode::CONFLICT,
            Kind::Unreadable | Kind::Busy | Kind::Bug => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let mut refusal = Refusal::new(status, why.to_string());
        match &why.kind {
            Kind::Conflict { current, diff } => {
                refusal.details.insert("current".to_owned(), json!(current));
                refusal.details.insert("diff".to_owned(), json!(diff));
            }
            Kind::Invalid | Kind::TooLong if why.file.is_some() => {
                refusal.details.insert("problem".to_owned(), json!(why));
            }
            _ => {}
        }
        refusal
    }
}

fn to_json(answer: &impl Serialize) -> Answer {
    serde_json::to_vec(answer).map(Bytes::from).map_err(|_| Refusal::bug())
}

fn me(request: &Request<'_>) -> Answer {
    let caller = request.caller;
    to_json(&Me {
        name: caller.token.as_ref().map(|token| &*token.name),
        role: caller.role.as_str(),
        prefix: caller.prefix.as_ref().map(ToString::to_string),
        may_edit: request.server.may_edit(caller),
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn list(request: &Request<'_>) -> Answer {
    to_json(&api::list(&request.view(), &request.query()?))
}

fn show(request: &Request<'_>) -> Answer {
    to_json(&api::file(&request.view(), &request.name(PROMPT)?)?)
}

fn expand(request: &Request<'_>) -> Answer {
    let call: Call = request.body()?;
    to_json(&api::expand(&request.view().find(&call.command)?, &call)?)
}

fn explain(request: &Request<'_>) -> Answer {
    let (view, call) = (request.view(), request.body::<Call>()?);
    to_json(&api::preview(&view, &view.find(&call.command)?, &call)?)
}

fn check(request: &Request<'_>) -> Answer {
    to_json(&api::check(&request.view(), &request.body()?)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    file: String,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    file: String,
    expected: Revision,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    expected: Revision,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    command: String,
    /// `None`: the version before the current one, or the one that was deleted.
    revision: Option<Revision>,
    /// `None`: the prompt was deleted.
    expected: Option<Revision>,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Version {
    revision: Option<Revision>,
}

fn create(request: &Request<'_>) -> Answer {
    let Create { file, note } = request.body()?;
    written(request.editor()?.create(&request.name(PROMPT)?, &file, &request.about(note)?)?)
}

fn update(request: &Request<'_>) -> Answer {
    let Update { file, expected, note } = request.body()?;
    written(request.editor()?.update(&request.name(PROMPT)?, expected, &file, &request.about(note)?)?)
}

fn delete(request: &Request<'_>) -> Answer {
    let Delete { expected, note } = request.body()?;
    written(request.editor()?.delete(&request.name(PROMPT)?, expected, &request.about(note)?)?)
}

fn restore(request: &Request<'_>) -> Answer {
    let Restore { command, revision, expected, note } = request.body()?;
    written(request.editor()?.restore(&command, expected, revision, &request.about(note)?)?)
}

fn written(written: library::Written) -> Answer {
    tracing::debug!(name = %written.name, revision = %written.revision, "a prompt was changed");
    to_json(&written)
}

fn history(request: &Request<'_>) -> Answer {
    let (editor, name) = (request.editor()?, request.name(HISTORY)?);
    let Version { revision } = request.query()?;
    let versions = editor.history(&name)?;
    let current = versions.iter().find(|version| version.is_current).map(|version| version.revision);
    let revision = revision.or(current);
    let text = |revision: Option<Revision>| revision.map(|revision| editor.version(&name, revision)).transpose();
    let (file, now) = (text(revision)?, text(current.filter(|current| Some(*current) != revision))?);
    let changes = now.as_ref().zip(file.as_ref()).map(|(now, file)| hunks(now, file));
    to_json(&History { revision, file: file.as_deref(), versions, changes })
}
