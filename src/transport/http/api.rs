//! The JSON API: the output of commands as JSON, and edits for callers who may edit prompts.
//!
//! Requests must have JSON bodies, which the forms of other web pages can't send. Hosts, tokens and
//! rate limits are checked as for MCP.

use super::app::{App, FairThreads, RequestContext, ThreadLimits};
use super::auth::require;
use super::headers;
use super::metrics::HandledMessage;
use super::proxy::Client;
use super::refusal::{HttpResult, JSON, Refusal};
use crate::agents::Agent;
use crate::api::{self, CallRequest, HistoryResponse, Me};
use crate::hook::Event;
use crate::input;
use crate::library::{
    Authorship, CompletedWrite, Editor, HOW_TO_ALLOW_EDITS, Role, View, current_version, hunks,
};
use crate::prompt::{Diagnostic, Kind, Revision};
use crate::wording::or_list;
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
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A method and path of the API, and how its requests are handled.
struct Route {
    method: MethodFilter,
    path: &'static str,
    /// The label in the metrics.
    label: &'static str,
    purpose: RoutePurpose,
    handler: ApiHandler,
}

/// What a route does. This determines who may use it, its rate limit, and its threads.
#[derive(Clone, Copy)]
enum RoutePurpose {
    /// Reads one prompt.
    Read,
    /// Lists prompts.
    List,
    /// Reads something that only callers who may edit prompts may see.
    ReadAsEditor,
    /// Answers the hook of an agent, with a message that somebody has just submitted there.
    Hook,
    /// Edits a prompt. Rate limits count the request as this MCP method.
    Edit(&'static str),
}

impl RoutePurpose {
    /// Returns the MCP method as which rate limits count a request.
    fn rate_limited_as(self) -> &'static str {
        match self {
            RoutePurpose::Read | RoutePurpose::Hook | RoutePurpose::ReadAsEditor => "prompts/get",
            RoutePurpose::List => "prompts/list",
            RoutePurpose::Edit(method) => method,
        }
    }
}

/// Handles a request. May block.
type ApiHandler = fn(&ApiRequest) -> JsonResult;

/// The JSON of a successful response.
type JsonResult = Result<Bytes, Refusal>;

/// A request whose caller may use its route.
struct ApiRequest {
    context: RequestContext,
    uri: Uri,
    /// The name of the prompt or the agent in the path, or `None` if the path of the route has
    /// none.
    name: Option<String>,
    body: Bytes,
}

const PROMPT_PATH: &str = "/api/prompts/{*name}";

static ROUTES: [Route; 12] = [
    Route::new(
        MethodFilter::GET,
        "/api/me",
        "api/me",
        RoutePurpose::Read,
        get_caller,
    ),
    Route::new(
        MethodFilter::GET,
        "/api/prompts",
        "api/prompts",
        RoutePurpose::List,
        list_prompts,
    ),
    Route::new(
        MethodFilter::GET,
        PROMPT_PATH,
        "api/prompts/NAME",
        RoutePurpose::Read,
        get_prompt,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/expand",
        "api/expand",
        RoutePurpose::Read,
        expand_prompt,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/explain",
        "api/explain",
        RoutePurpose::Read,
        explain_prompt,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/hook/{*name}",
        "api/hook",
        RoutePurpose::Hook,
        answer_hook,
    ),
    // Only for editors: the result shows files that the checked prompt includes or attaches.
    Route::new(
        MethodFilter::POST,
        "/api/check",
        "api/check",
        RoutePurpose::ReadAsEditor,
        check_prompt,
    ),
    Route::new(
        MethodFilter::POST,
        PROMPT_PATH,
        "api/create",
        RoutePurpose::Edit("prompts/create"),
        create_prompt,
    ),
    Route::new(
        MethodFilter::PUT,
        PROMPT_PATH,
        "api/update",
        RoutePurpose::Edit("prompts/update"),
        update_prompt,
    ),
    Route::new(
        MethodFilter::DELETE,
        PROMPT_PATH,
        "api/delete",
        RoutePurpose::Edit("prompts/delete"),
        delete_prompt,
    ),
    Route::new(
        MethodFilter::GET,
        "/api/history/{*name}",
        "api/history",
        RoutePurpose::ReadAsEditor,
        get_history,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/restore",
        "api/restore",
        RoutePurpose::Edit("prompts/update"),
        restore_prompt,
    ),
];

impl Route {
    const fn new(
        method: MethodFilter,
        path: &'static str,
        label: &'static str,
        purpose: RoutePurpose,
        handler: ApiHandler,
    ) -> Route {
        Route {
            method,
            path,
            label,
            purpose,
            handler,
        }
    }
}

/// Returns the router of the API, including the response for unknown paths.
pub(super) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new().route("/api/{*path}", routing::any(not_found));
    for route in &ROUTES {
        let method = routing::on(route.method, move |context, name, request| {
            handle(route, context, name, request)
        });
        router = router.route(route.path, method);
    }
    router
}

/// Takes a context, so that only authenticated callers learn which paths exist.
async fn not_found(_: RequestContext) -> Refusal {
    Refusal::wrong_address(StatusCode::NOT_FOUND, "the API has nothing at this address")
}

/// Checks a request, runs the handler of its route, and returns the response. The caller's access
/// is checked before the body is read.
async fn handle(
    route: &'static Route,
    context: RequestContext,
    name: Option<Path<String>>,
    request: http::Request<Body>,
) -> HttpResult {
    let RequestContext { app, client, .. } = &context;
    let (parts, body) = request.into_parts();
    check_access(&context, route.purpose)?;
    if parts.method != Method::GET {
        headers::check_body_format(&parts.headers)?;
    }
    let received = app.request_limits.read_body(client, body).await?;
    let api_request = ApiRequest {
        context: context.clone(),
        uri: parts.uri,
        name: name.map(|Path(name)| name),
        body: received.bytes.clone(),
    };
    let is_hook = matches!(route.purpose, RoutePurpose::Hook);
    if !is_hook {
        api_request.record(&parts.method);
    }
    context.admit(&[route.purpose.rate_limited_as()])?;
    let result = run_counted(route, api_request).await;
    let json = app.request_limits.memory.reserve(result?)?;
    if is_hook {
        return Ok(hook_response(json));
    }
    if parts.method == Method::GET {
        Ok(cacheable_response(client, &parts.headers, json))
    } else {
        client.record_sent(&json);
        Ok((JSON_HEADERS, json).into_response())
    }
}

/// Checks that the caller may use routes with this purpose. Any authenticated caller may read.
///
/// # Errors
/// Fails with 401 or 403 if the caller's role is too low, and 403 if the server allows no edits.
fn check_access(context: &RequestContext, purpose: RoutePurpose) -> Result<(), Refusal> {
    let RequestContext { app, caller, .. } = context;
    let is_for_readers = matches!(
        purpose,
        RoutePurpose::Read | RoutePurpose::List | RoutePurpose::Hook
    );
    if is_for_readers || app.server.may_edit(caller) {
        return Ok(());
    }
    require(caller, Role::Write)?;
    let message = format!("this server does not let anyone edit prompts; {HOW_TO_ALLOW_EDITS}");
    Err(Refusal::new(StatusCode::FORBIDDEN, message))
}

/// Runs the handler of a route, and counts the request in the metrics.
async fn run_counted(route: &'static Route, request: ApiRequest) -> JsonResult {
    let app = Arc::clone(&request.context.app);
    let started = Instant::now();
    let result = run_handler(route, request).await;
    app.metrics.count_message(&HandledMessage {
        transport: "http",
        method: route.label,
        is_error: result.is_err(),
        duration: started.elapsed(),
    });
    result
}

/// How long an agent's hook waits for its answer. Debug builds, which the tests use, are slower.
const HOOK_TIMEOUT: Duration =
    Duration::from_millis(if cfg!(debug_assertions) { 10_000 } else { 300 });

/// Runs the handler of a route. If an agent waits for too long, answers that there is nothing to
/// add to the message, so that the chat goes on.
async fn run_handler(route: &'static Route, request: ApiRequest) -> JsonResult {
    if !matches!(route.purpose, RoutePurpose::Hook) {
        return run_on_threads(route, request).await;
    }
    let result = timeout(HOOK_TIMEOUT, run_on_threads(route, request)).await;
    result.unwrap_or(Ok(Bytes::new()))
}

/// Runs the handler of a route on the threads for what it may wait for.
async fn run_on_threads(route: &'static Route, request: ApiRequest) -> JsonResult {
    let app = Arc::clone(&request.context.app);
    let caller_key = request.context.caller_key();
    let threads = match route.purpose {
        RoutePurpose::Edit(_) => &app.threads.writes,
        RoutePurpose::Hook => threads_for_hook(&app.threads, &request.view()),
        RoutePurpose::Read | RoutePurpose::List | RoutePurpose::ReadAsEditor => {
            threads_for_read(&app.threads, &request).await?
        }
    };
    let handler = route.handler;
    threads.run(caller_key, move || handler(&request)).await?
}

/// Returns the threads for an agent's hook. It never calls a service, but if there are prompts of a
/// team, the message may name one, and then the hook waits for the team's server.
fn threads_for_hook<'t>(threads: &'t ThreadLimits, view: &View) -> &'t FairThreads {
    if view.has_team() {
        &threads.services
    } else {
        &threads.reads
    }
}

/// Returns the threads for a request that reads: those for services if it is about a prompt that
/// may come from a server.
async fn threads_for_read<'t>(
    threads: &'t ThreadLimits,
    request: &ApiRequest,
) -> Result<&'t FairThreads, Refusal> {
    let view = request.view();
    if !view.has_prompts_from_servers() {
        return Ok(&threads.reads);
    }
    let name = request.name.clone();
    let body = request.body.clone();
    let caller_key = request.context.caller_key();
    // On a thread, because parsing the body and finding the prompt take a while.
    let is_on_server = threads
        .reads
        .run(caller_key, move || {
            is_about_prompt_on_server(&view, name, &body)
        })
        .await?;
    if is_on_server {
        Ok(&threads.services)
    } else {
        Ok(&threads.reads)
    }
}

/// Returns `true` if a request is about a prompt that may come from a service or the team's server.
/// If no known prompt has the name, the team's server, if there is one, will be asked for it.
fn is_about_prompt_on_server(view: &View, name_in_path: Option<String>, body: &[u8]) -> bool {
    let Some(name) = requested_command(name_in_path, body) else {
        return false;
    };
    match view.find_known(&name) {
        Ok(found) => found.layer.is_from_server(),
        Err(_) => view.has_team(),
    }
}

/// Returns the prompt that a request is about: the name in the path, or the command in the body.
fn requested_command(name_in_path: Option<String>, body: &[u8]) -> Option<String> {
    if name_in_path.is_some() {
        return name_in_path;
    }
    let call: CallRequest = input::parse_json_bytes(body).ok()?;
    Some(call.command)
}

const JSON_HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, JSON),
    (CACHE_CONTROL, "no-store"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// Returns the response to an agent's hook. Without an answer, it has no body. It is not recorded,
/// because it can quote the message.
fn hook_response(answer: Bytes) -> Response {
    if answer.is_empty() {
        StatusCode::NO_CONTENT.into_response()
    } else {
        (JSON_HEADERS, answer).into_response()
    }
}

/// Returns the response to a GET, with an ETag. If the client already has the same JSON, it gets
/// 304 without a body: team layers poll the server.
fn cacheable_response(client: &Client, headers: &HeaderMap, json: Bytes) -> Response {
    let etag = format!("\"{}\"", Revision::of_contents(&json));
    if headers::has_etag(headers, &etag) {
        client.record_sent(b"");
        let status = StatusCode::NOT_MODIFIED;
        return (status, JSON_HEADERS, [(ETAG, etag)]).into_response();
    }
    client.record_sent(&json);
    (JSON_HEADERS, [(ETAG, etag)], json).into_response()
}

impl ApiRequest {
    /// Records the method, the URI and the body in the tap.
    fn record(&self, method: &Method) {
        let method_and_uri = format!("{method} {} ", self.uri);
        let message = [method_and_uri.as_bytes(), &self.body].concat();
        self.context.client.record_received(&message);
    }

    /// Returns the name in the path, for routes whose path has one.
    fn name_in_path(&self) -> Result<&str, Refusal> {
        self.name.as_deref().ok_or_else(Refusal::bug)
    }

    fn view(&self) -> View {
        self.context.app.server.view(&self.context.caller)
    }

    fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        let library = self.context.app.server.library();
        library.editor(&self.context.caller)
    }

    /// Parses the query of the URL.
    ///
    /// # Errors
    /// Fails with 400 if a parameter is missing or invalid.
    fn query<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        match Query::try_from_uri(&self.uri) {
            Ok(Query(query)) => Ok(query),
            Err(error) => Err(bad_request(error.body_text())),
        }
    }

    /// Parses the body as a JSON object.
    ///
    /// # Errors
    /// Fails with 400 if the JSON is invalid, is a list, or doesn't have the members of `T`.
    fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        // serde would take the elements of a list for the members, in their order.
        if self.body.trim_ascii_start().starts_with(b"[") {
            return Err(bad_request("the body must be a JSON object, not a list"));
        }
        input::parse_json_bytes(&self.body)
            .map_err(|error| bad_request(format!("the body cannot be read: {error}")))
    }

    /// Returns what the history records about an edit: its author and the note on it.
    fn authorship(&self, note: Option<String>) -> Result<Authorship, Diagnostic> {
        let token = self.context.caller.token.as_ref();
        Authorship::new(token.map(|token| Arc::clone(&token.name)), note)
    }
}

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}

impl From<Diagnostic> for Refusal {
    /// Chooses the HTTP status for an error. Adds details for the web page: the current file and a
    /// diff after a conflict, or the position of a problem in the submitted file.
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

fn get_caller(request: &ApiRequest) -> JsonResult {
    let RequestContext {
        app,
        caller,
        client,
    } = &request.context;
    let mut token_file = None;
    if client.address.is_loopback() && caller.token.is_none() {
        let own_token_file = app.options.access.own_token_file();
        token_file = own_token_file.map(|file| file.display().to_string());
    }
    to_json(&Me {
        name: caller.token.as_ref().map(|token| &*token.name),
        role: caller.role.as_str(),
        prefix: caller.prefix.as_ref().map(ToString::to_string),
        may_edit: app.server.may_edit(caller),
        token_file,
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn list_prompts(request: &ApiRequest) -> JsonResult {
    let mut list = api::list(&request.view(), &request.query()?);
    match api::list_json(&mut list) {
        Ok(json) => Ok(Bytes::from(json)),
        Err(_) => Err(Refusal::bug()),
    }
}

fn get_prompt(request: &ApiRequest) -> JsonResult {
    to_json(&api::file(&request.view(), request.name_in_path()?)?)
}

fn expand_prompt(request: &ApiRequest) -> JsonResult {
    let call: CallRequest = request.body()?;
    let found = request.view().find(&call.command)?;
    to_json(&api::expand(&found, &call)?)
}

fn explain_prompt(request: &ApiRequest) -> JsonResult {
    let view = request.view();
    let call: CallRequest = request.body()?;
    let found = view.find_known(&call.command)?;
    to_json(&api::preview(&view, &found, &call)?)
}

/// Returns what `prompt-expander hook AGENT` would print for the event in the body, or nothing. No
/// project is served, and no menu of the agent is read: they are on the machine of the user.
fn answer_hook(request: &ApiRequest) -> JsonResult {
    let Some(agent) = Agent::by_name(request.name_in_path()?).filter(|agent| agent.hook.is_some())
    else {
        let names: Vec<&str> = Agent::all_with_hook().map(|agent| agent.name).collect();
        let message = format!(
            "no agent has a hook at this address; end it with {}",
            or_list(&names)
        );
        return Err(Refusal::new(StatusCode::NOT_FOUND, message));
    };
    let json = str::from_utf8(&request.body).unwrap_or_default();
    let answer = match Event::parse(agent, json) {
        Some(event) => event.answer(&request.view(), None),
        None => None,
    };
    match answer {
        Some(answer) => Ok(answer.line.into()),
        None => Ok(Bytes::new()),
    }
}

fn check_prompt(request: &ApiRequest) -> JsonResult {
    to_json(&api::check(&request.view(), &request.body()?)?)
}

/// The members of the body of an edit, or of the query of a history. Each route uses some of them.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EditMembers {
    command: Option<String>,
    file: Option<String>,
    /// The revision that the caller believes to be current. To restore a deleted prompt, it is
    /// `None`.
    expected: Option<Revision>,
    /// The version to show or restore. Without it, a history shows the current version, and a
    /// restore goes back to the version before the current one, or to the last one of a deleted
    /// prompt.
    revision: Option<Revision>,
    note: Option<String>,
}

/// Returns the value of a member, or a 400 refusal if it is missing.
fn require_member<T>(name: &str, value: Option<T>) -> Result<T, Refusal> {
    value.ok_or_else(|| bad_request(format!("the body has no `{name}`")))
}

fn create_prompt(request: &ApiRequest) -> JsonResult {
    let members: EditMembers = request.body()?;
    let editor = request.editor()?;
    let file = require_member("file", members.file)?;
    let authorship = request.authorship(members.note)?;
    edit_json(&editor.create(request.name_in_path()?, &file, &authorship)?)
}

fn update_prompt(request: &ApiRequest) -> JsonResult {
    let members: EditMembers = request.body()?;
    let file = require_member("file", members.file)?;
    let expected = require_member("expected", members.expected)?;
    let editor = request.editor()?;
    let authorship = request.authorship(members.note)?;
    edit_json(&editor.update(request.name_in_path()?, expected, &file, &authorship)?)
}

fn delete_prompt(request: &ApiRequest) -> JsonResult {
    let members: EditMembers = request.body()?;
    let editor = request.editor()?;
    let expected = require_member("expected", members.expected)?;
    let authorship = request.authorship(members.note)?;
    edit_json(&editor.delete(request.name_in_path()?, expected, &authorship)?)
}

fn restore_prompt(request: &ApiRequest) -> JsonResult {
    let members: EditMembers = request.body()?;
    let editor = request.editor()?;
    let command = require_member("command", members.command)?;
    let authorship = request.authorship(members.note)?;
    edit_json(&editor.restore(&command, members.expected, members.revision, &authorship)?)
}

/// Logs an edit, and returns its result as JSON.
fn edit_json(edit: &CompletedWrite) -> JsonResult {
    tracing::debug!(name = %edit.name, revision = %edit.revision, "a prompt was changed");
    to_json(edit)
}

/// Returns the versions of a prompt, the file of one version, and how that file differs from the
/// current one. The query may name the `revision`, which defaults to the current one.
fn get_history(request: &ApiRequest) -> JsonResult {
    let name = request.name_in_path()?;
    let editor = request.editor()?;
    let members: EditMembers = request.query()?;
    let versions = editor.history(name)?;
    let current = current_version(&versions).map(|version| version.revision);
    let Some(revision) = members.revision.or(current) else {
        // The prompt was deleted, and no version was asked for.
        return to_json(&HistoryResponse {
            revision: None,
            file: None,
            versions,
            changes: None,
        });
    };
    let file = editor.version(name, revision)?;
    let mut current_file = None;
    if let Some(current) = current
        && current != revision
    {
        current_file = Some(editor.version(name, current)?);
    }
    let changes = current_file.as_ref().map(|current| hunks(current, &file));
    to_json(&HistoryResponse {
        revision: Some(revision),
        file: Some(&file),
        versions,
        changes,
    })
}
