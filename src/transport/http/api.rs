//! The API: the output of commands as JSON, and edits for callers who may edit. It takes only JSON,
//! which no form of another web page sends.
//!
//! Names of the server, tokens and rate limits are checked as for MCP.

use super::app::{App, Exchange};
use super::auth::require;
use super::headers;
use super::metrics::HandledMessage;
use super::proxy::Client;
use super::refusal::{HttpResult, JSON, Refusal};
use crate::api::{self, CallRequest, HistoryAnswer, Me};
use crate::input;
use crate::library::{Authorship, CompletedWrite, Editor, HOW_TO_ALLOW_EDITS, Role, View, hunks};
use crate::prompt::{Diagnostic, Kind, Revision};
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use axum::http::{self, HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodFilter;
use axum::{Router, routing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

/// An address of the API, and its handler.
struct Route {
    method: MethodFilter,
    path: &'static str,
    /// The name in the metrics.
    name: &'static str,
    purpose: Purpose,
    handler: ApiHandler,
}

/// What a route is for.
#[derive(Clone, Copy)]
enum Purpose {
    Read,
    List,
    /// Reading what only callers who may edit prompts may see.
    ReadAsEditor,
    /// An edit, which rate limits count as this method of MCP.
    Edit(&'static str),
}

impl Purpose {
    /// Returns the method of MCP as which rate limits count a request.
    fn counted_as(self) -> &'static str {
        match self {
            Purpose::Read | Purpose::ReadAsEditor => "prompts/get",
            Purpose::List => "prompts/list",
            Purpose::Edit(method) => method,
        }
    }
}

type ApiHandler = fn(&ApiRequest) -> JsonResult;

/// The JSON of an answer.
type JsonResult = Result<Bytes, Refusal>;

/// A request of a caller who has the role that its route needs.
struct ApiRequest {
    exchange: Exchange,
    uri: Uri,
    /// The name of the prompt in the path; empty if the route has none.
    name: String,
    body: Bytes,
}

const PROMPT: &str = "/api/prompts/{*name}";

static ROUTES: [Route; 11] = [
    Route::new(MethodFilter::GET, "/api/me", "api/me", Purpose::Read, me),
    Route::new(
        MethodFilter::GET,
        "/api/prompts",
        "api/prompts",
        Purpose::List,
        list,
    ),
    Route::new(
        MethodFilter::GET,
        PROMPT,
        "api/prompts/NAME",
        Purpose::Read,
        show,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/expand",
        "api/expand",
        Purpose::Read,
        expand,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/explain",
        "api/explain",
        Purpose::Read,
        explain,
    ),
    // A caller who may write a prompt may see what it would include and attach.
    Route::new(
        MethodFilter::POST,
        "/api/check",
        "api/check",
        Purpose::ReadAsEditor,
        check,
    ),
    Route::new(
        MethodFilter::POST,
        PROMPT,
        "api/create",
        Purpose::Edit("prompts/create"),
        create,
    ),
    Route::new(
        MethodFilter::PUT,
        PROMPT,
        "api/update",
        Purpose::Edit("prompts/update"),
        update,
    ),
    Route::new(
        MethodFilter::DELETE,
        PROMPT,
        "api/delete",
        Purpose::Edit("prompts/delete"),
        delete,
    ),
    Route::new(
        MethodFilter::GET,
        "/api/history/{*name}",
        "api/history",
        Purpose::ReadAsEditor,
        history,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/restore",
        "api/restore",
        Purpose::Edit("prompts/update"),
        restore,
    ),
];

impl Route {
    const fn new(
        method: MethodFilter,
        path: &'static str,
        name: &'static str,
        purpose: Purpose,
        handler: ApiHandler,
    ) -> Route {
        Route {
            method,
            path,
            name,
            purpose,
            handler,
        }
    }
}

pub(super) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new().route("/api/{*path}", routing::any(not_found));
    for route in &ROUTES {
        let method = routing::on(route.method, move |exchange, name, request| {
            answer(route, exchange, name, request)
        });
        router = router.route(route.path, method);
    }
    router
}

async fn not_found(_: Exchange) -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "the API has nothing at this address")
}

/// Answers a request to a route. `name` is the name of a prompt in the path.
async fn answer(
    route: &'static Route,
    exchange: Exchange,
    name: Option<Path<String>>,
    request: http::Request<Body>,
) -> HttpResult {
    let Exchange { app, client, .. } = &exchange;
    let (head, body) = request.into_parts();
    check_purpose(&exchange, route.purpose)?;
    if head.method != Method::GET {
        headers::check_content_type(&head.headers)?;
    }
    let received = app.requests.read(client, body).await?;
    let name = match name {
        Some(Path(name)) => name,
        None => String::new(),
    };
    let request = ApiRequest {
        exchange: exchange.clone(),
        uri: head.uri,
        name,
        body: received.bytes.clone(),
    };
    request.record(&head.method);
    exchange.take(&[route.purpose.counted_as()])?;
    let started = Instant::now();
    let result = run(route, request).await;
    app.metrics.count_message(&HandledMessage {
        transport: "http",
        method: route.name,
        is_error: result.is_err(),
        duration: started.elapsed(),
    });
    let answer = app.requests.memory.count(result?)?;
    if head.method == Method::GET {
        Ok(response_with_tag(client, &head.headers, answer))
    } else {
        client.sent(&answer);
        Ok((ANSWER_HEADERS, answer).into_response())
    }
}

/// Checks that a caller may use a route. Every authenticated caller may read.
fn check_purpose(exchange: &Exchange, purpose: Purpose) -> Result<(), Refusal> {
    let Exchange { app, caller, .. } = exchange;
    let is_for_readers = matches!(purpose, Purpose::Read | Purpose::List);
    if is_for_readers || app.server.may_edit(caller) {
        return Ok(());
    }
    require(caller, Role::Write)?;
    let message = format!("this server does not let anyone edit prompts; {HOW_TO_ALLOW_EDITS}");
    Err(Refusal::new(StatusCode::FORBIDDEN, message))
}

/// Runs the handler of a route on a thread that may wait as long as the request needs.
async fn run(route: &'static Route, request: ApiRequest) -> JsonResult {
    let app = Arc::clone(&request.exchange.app);
    let caller = request.exchange.key();
    let threads = if matches!(route.purpose, Purpose::Edit(_)) {
        &app.threads.writes
    } else if waits_for_server(&request).await? {
        &app.threads.services
    } else {
        &app.threads.files
    };
    let handler = route.handler;
    threads.run(caller, move || handler(&request)).await?
}

/// Returns whether a request is about a prompt that may wait for a service or the team's server.
/// Such requests have threads of their own, so that no other prompt waits for them.
async fn waits_for_server(request: &ApiRequest) -> Result<bool, Refusal> {
    let view = request.view();
    if !view.waits_for_servers() {
        return Ok(false);
    }
    let (name, body) = (request.name.clone(), request.body.clone());
    let threads = &request.exchange.app.threads.files;
    threads
        .run(request.exchange.key(), move || {
            let found = match input::parse_json_bytes::<CallRequest>(&body) {
                Ok(call) if name.is_empty() => view.find(&call.command),
                _ => view.find(&name),
            };
            found.is_ok_and(|found| found.layer.waits_for_server())
        })
        .await
}

const ANSWER_HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, JSON),
    (CACHE_CONTROL, "no-store"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// Returns the response to a GET. A client that has the same answer already gets only its tag: a
/// team layer asks again and again.
fn response_with_tag(client: &Client, headers: &HeaderMap, answer: Bytes) -> Response {
    let tag = format!("\"{}\"", Revision::of_contents(&answer));
    if headers::has_tag(headers, &tag) {
        client.sent(b"");
        let status = StatusCode::NOT_MODIFIED;
        return (status, ANSWER_HEADERS, [(ETAG, tag)]).into_response();
    }
    client.sent(&answer);
    (ANSWER_HEADERS, [(ETAG, tag)], answer).into_response()
}

impl ApiRequest {
    /// Records the request: its method, its address and its body.
    fn record(&self, method: &Method) {
        let line = format!("{method} {} ", self.uri);
        let message = [line.as_bytes(), &self.body].concat();
        self.exchange.client.received(&message);
    }

    fn view(&self) -> View {
        self.exchange.app.server.view(&self.exchange.caller)
    }

    fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        let library = self.exchange.app.server.library();
        library.editor(&self.exchange.caller)
    }

    fn query<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        match Query::try_from_uri(&self.uri) {
            Ok(Query(query)) => Ok(query),
            Err(error) => Err(bad_request(error.body_text())),
        }
    }

    fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        input::parse_json_bytes(&self.body)
            .map_err(|error| bad_request(format!("the body cannot be read: {error}")))
    }

    /// Returns the author of an edit, with the note on it.
    fn authorship(&self, note: Option<String>) -> Result<Authorship, Diagnostic> {
        let token = self.exchange.caller.token.as_ref();
        Authorship::new(token.map(|token| Arc::clone(&token.name)), note)
    }
}

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Refusal {
        let status = match diagnostic.kind {
            Kind::NoSuchPrompt { .. }
            | Kind::Ambiguous
            | Kind::TextInName { .. }
            | Kind::NotACommand
            | Kind::EditorsOnly
            | Kind::NoSuchVersion => StatusCode::NOT_FOUND,
            Kind::Conflict { .. } | Kind::AlreadyExists => StatusCode::CONFLICT,
            Kind::Unreadable | Kind::Busy => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let message = diagnostic.to_string();
        let details = match diagnostic.kind {
            Kind::Conflict { current, diff } => json!({ "current": current, "diff": diff }),
            Kind::Invalid | Kind::TooLong if diagnostic.file.is_some() => {
                json!({ "problem": diagnostic })
            }
            _ => json!({}),
        };
        Refusal {
            details,
            ..Refusal::new(status, message)
        }
    }
}

fn to_json(answer: &impl Serialize) -> JsonResult {
    match serde_json::to_vec(answer) {
        Ok(json) => Ok(Bytes::from(json)),
        Err(_) => Err(Refusal::bug()),
    }
}

fn me(request: &ApiRequest) -> JsonResult {
    let Exchange { app, caller, .. } = &request.exchange;
    to_json(&Me {
        name: caller.token.as_ref().map(|token| &*token.name),
        role: caller.role.as_str(),
        prefix: caller.prefix.as_ref().map(ToString::to_string),
        may_edit: app.server.may_edit(caller),
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn list(request: &ApiRequest) -> JsonResult {
    let mut list = api::list(&request.view(), &request.query()?);
    match api::list_json(&mut list) {
        Ok(json) => Ok(Bytes::from(json)),
        Err(_) => Err(Refusal::bug()),
    }
}

fn show(request: &ApiRequest) -> JsonResult {
    to_json(&api::file(&request.view(), &request.name)?)
}

fn expand(request: &ApiRequest) -> JsonResult {
    let call: CallRequest = request.body()?;
    let found = request.view().find(&call.command)?;
    to_json(&api::expand(&found, &call)?)
}

fn explain(request: &ApiRequest) -> JsonResult {
    let view = request.view();
    let call: CallRequest = request.body()?;
    let found = view.find(&call.command)?;
    to_json(&api::preview(&view, &found, &call)?)
}

fn check(request: &ApiRequest) -> JsonResult {
    to_json(&api::check(&request.view(), &request.body()?)?)
}

/// The body of an edit, or the query of a history. Each route uses some of the members.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EditBody {
    command: Option<String>,
    file: Option<String>,
    /// The revision that the caller expects the prompt to have; `None` if it was deleted.
    expected: Option<Revision>,
    /// The version to restore. `None` for the version before the current one, or for the deleted
    /// one.
    revision: Option<Revision>,
    note: Option<String>,
}

/// Returns the value of a member that the route needs.
fn needed<T>(member: &str, value: Option<T>) -> Result<T, Refusal> {
    value.ok_or_else(|| bad_request(format!("the body has no `{member}`")))
}

fn create(request: &ApiRequest) -> JsonResult {
    let params: EditBody = request.body()?;
    let editor = request.editor()?;
    let file = needed("file", params.file)?;
    let authorship = request.authorship(params.note)?;
    written(editor.create(&request.name, &file, &authorship)?)
}

fn update(request: &ApiRequest) -> JsonResult {
    let params: EditBody = request.body()?;
    let file = needed("file", params.file)?;
    let expected = needed("expected", params.expected)?;
    let editor = request.editor()?;
    let authorship = request.authorship(params.note)?;
    written(editor.update(&request.name, expected, &file, &authorship)?)
}

fn delete(request: &ApiRequest) -> JsonResult {
    let params: EditBody = request.body()?;
    let editor = request.editor()?;
    let expected = needed("expected", params.expected)?;
    let authorship = request.authorship(params.note)?;
    written(editor.delete(&request.name, expected, &authorship)?)
}

fn restore(request: &ApiRequest) -> JsonResult {
    let params: EditBody = request.body()?;
    let editor = request.editor()?;
    let command = needed("command", params.command)?;
    let authorship = request.authorship(params.note)?;
    written(editor.restore(&command, params.expected, params.revision, &authorship)?)
}

fn written(written: CompletedWrite) -> JsonResult {
    tracing::debug!(name = %written.name, revision = %written.revision, "a prompt was changed");
    to_json(&written)
}

/// Returns the versions of a prompt, the text of one of them, and its differences from the current
/// text. Without a `revision` in the query, it is the current version.
fn history(request: &ApiRequest) -> JsonResult {
    let editor = request.editor()?;
    let params: EditBody = request.query()?;
    let versions = editor.history(&request.name)?;
    let current = versions
        .iter()
        .find(|version| version.is_current)
        .map(|version| version.revision);
    let revision = params.revision.or(current);
    let file = version_text(&editor, &request.name, revision)?;
    let compared = current.filter(|current| Some(*current) != revision);
    let current_file = version_text(&editor, &request.name, compared)?;
    let changes = match (&current_file, &file) {
        (Some(current_file), Some(file)) => Some(hunks(current_file, file)),
        _ => None,
    };
    to_json(&HistoryAnswer {
        revision,
        file: file.as_deref(),
        versions,
        changes,
    })
}

fn version_text(
    editor: &Editor<'_>,
    name: &str,
    revision: Option<Revision>,
) -> Result<Option<String>, Diagnostic> {
    match revision {
        Some(revision) => Ok(Some(editor.version(name, revision)?)),
        None => Ok(None),
    }
}
