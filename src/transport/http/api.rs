//! The API: what commands print, as JSON, and edits for those who may edit. Only JSON is taken,
//! which no form of another web page sends.
//!
//! Names of the server, tokens and rate limits are checked as for MCP.

use super::app::{App, Exchange};
use super::auth::require;
use super::headers;
use super::refusal::{JSON, Refusal};
use crate::api::{self, CallRequest, History, Me};
use crate::library::{Authorship, Editor, Role, View, Written, hunks};
use crate::prompt::{Diagnostic, Kind, Revision};
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use axum::http::{self, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodFilter;
use axum::{Router, routing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

/// What is at an address.
struct Route {
    method: MethodFilter,
    path: &'static str,
    /// The name in the metrics.
    name: &'static str,
    /// The method of MCP as which rate limits count it.
    counted_as: &'static str,
    role: Role,
    answer: fn(&Request<'_>) -> Answer,
}

const EXPAND: &str = "/api/expand";
const PROMPT: &str = "/api/prompts/{*name}";
const HISTORY: &str = "/api/history/{*name}";

static ROUTES: [Route; 11] = [
    Route::new(
        MethodFilter::GET,
        "/api/me",
        "api/me",
        "prompts/get",
        Role::Read,
        me,
    ),
    Route::new(
        MethodFilter::GET,
        "/api/prompts",
        "api/prompts",
        "prompts/list",
        Role::Read,
        list,
    ),
    Route::new(
        MethodFilter::GET,
        PROMPT,
        "api/prompts/NAME",
        "prompts/get",
        Role::Read,
        show,
    ),
    Route::new(
        MethodFilter::POST,
        EXPAND,
        "api/expand",
        "prompts/get",
        Role::Read,
        expand,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/explain",
        "api/explain",
        "prompts/get",
        Role::Read,
        explain,
    ),
    // Whoever may write a prompt may see what it would include and attach.
    Route::new(
        MethodFilter::POST,
        "/api/check",
        "api/check",
        "prompts/get",
        Role::Write,
        check,
    ),
    Route::new(
        MethodFilter::POST,
        PROMPT,
        "api/create",
        "prompts/create",
        Role::Write,
        create,
    ),
    Route::new(
        MethodFilter::PUT,
        PROMPT,
        "api/update",
        "prompts/update",
        Role::Write,
        update,
    ),
    Route::new(
        MethodFilter::DELETE,
        PROMPT,
        "api/delete",
        "prompts/delete",
        Role::Write,
        delete,
    ),
    Route::new(
        MethodFilter::GET,
        HISTORY,
        "api/history",
        "prompts/get",
        Role::Write,
        history,
    ),
    Route::new(
        MethodFilter::POST,
        "/api/restore",
        "api/restore",
        "prompts/update",
        Role::Write,
        restore,
    ),
];

impl Route {
    const fn new(
        method: MethodFilter,
        path: &'static str,
        name: &'static str,
        counted_as: &'static str,
        role: Role,
        answer: fn(&Request<'_>) -> Answer,
    ) -> Route {
        Route {
            method,
            path,
            name,
            counted_as,
            role,
            answer,
        }
    }
}

pub(super) fn routes() -> Router<Arc<App>> {
    let nothing = async |_: Exchange| -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, "the API has nothing at this address")
    };
    ROUTES.iter().fold(
        Router::new().route("/api/{*path}", routing::any(nothing)),
        |router, route| {
            let answer = move |exchange, name, request| answer(route, exchange, name, request);
            router.route(route.path, routing::on(route.method, answer))
        },
    )
}

async fn answer(
    route: &'static Route,
    exchange: Exchange,
    name: Option<Path<String>>,
    request: http::Request<Body>,
) -> Result<Response, Refusal> {
    let Exchange { app, caller, .. } = &exchange;
    let (head, body) = request.into_parts();
    if route.role == Role::Write && !app.server.may_edit(caller) {
        require(caller, Role::Write)?;
        let message = "this server does not let anyone edit prompts; start it with `--edit`";
        return Err(Refusal::new(StatusCode::FORBIDDEN, message));
    }
    if head.method != Method::GET {
        headers::check_content_type(&head.headers)?;
    }
    let received = app
        .requests
        .read(&exchange.client, &head.headers, body)
        .await?;
    let body = received.bytes.clone();
    exchange
        .client
        .received(&[format!("{} {} ", head.method, head.uri).as_bytes(), &body].concat());
    exchange.take(&[route.counted_as])?;
    let threads = match route.role {
        Role::Write if route.counted_as != "prompts/get" => &app.threads.writes,
        _ if waits_for_server(&exchange, name.as_ref(), &body).await? => &app.threads.services,
        _ => &app.threads.files,
    };
    let (of_work, started) = (exchange.clone(), Instant::now());
    let known = (head.method == Method::GET).then(|| head.headers.clone());
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let work = move || {
        (route.answer)(&Request {
            exchange: &of_work,
            uri: &head.uri,
            name: &name,
            body: &body,
        })
    };
    let answered = threads.run(exchange.key(), work).await.flatten();
    app.metrics
        .answered("http", route.name, answered.is_err(), started.elapsed());
    let answer = app.requests.memory.count(answered?)?;
    let headers = [
        (CONTENT_TYPE, JSON),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    let Some(known) = known else {
        exchange.client.sent(&answer);
        return Ok((headers, answer).into_response());
    };
    // A team layer asks again and again.
    let tag = format!("\"{}\"", Revision::of(&answer));
    let is_known = headers::has_tag(&known, &tag);
    let (status, answer) = if is_known {
        (StatusCode::NOT_MODIFIED, Bytes::new())
    } else {
        (StatusCode::OK, answer)
    };
    exchange.client.sent(&answer);
    Ok((status, headers, [(ETAG, tag)], answer).into_response())
}

/// Returns whether the prompt that a path or a body names may wait for a service or the team's
/// server. Such calls have threads of their own, so that no other prompt waits for them.
async fn waits_for_server(
    exchange: &Exchange,
    name: Option<&Path<String>>,
    body: &Bytes,
) -> Result<bool, Refusal> {
    let Exchange { app, caller, .. } = exchange;
    if (name.is_none() && body.is_empty()) || !app.server.view(caller).waits_for_servers() {
        return Ok(false);
    }
    let (server, caller, body) = (Arc::clone(&app.server), Arc::clone(caller), body.clone());
    let name = name.map(|Path(name)| name.clone());
    let find = move || {
        let name =
            name.or_else(|| Some(serde_json::from_slice::<CallRequest>(&body).ok()?.command))?;
        server.view(&caller).find(&name).ok()
    };
    let found = app.threads.files.run(exchange.key(), find).await?;
    Ok(found.is_some_and(|found| found.layer.waits_for_server()))
}

/// The JSON of an answer.
type Answer = Result<Bytes, Refusal>;

/// A request of a caller who has the role that its route needs.
struct Request<'r> {
    exchange: &'r Exchange,
    uri: &'r Uri,
    /// The name of a prompt in the path; empty if the route has none.
    name: &'r str,
    body: &'r [u8],
}

impl Request<'_> {
    fn view(&self) -> View {
        self.exchange.app.server.view(&self.exchange.caller)
    }

    fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        self.exchange
            .app
            .server
            .library()
            .editor(&self.exchange.caller)
    }

    fn query<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        Query::try_from_uri(self.uri)
            .map(|Query(query)| query)
            .map_err(|error| bad_request(error.body_text()))
    }

    fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_slice(self.body)
            .map_err(|error| bad_request(format!("the body cannot be read: {error}")))
    }

    /// Who writes, and why.
    fn by(&self, note: Option<String>) -> Result<Authorship, Diagnostic> {
        Authorship::new(
            self.exchange
                .caller
                .token
                .as_ref()
                .map(|token| Arc::clone(&token.name)),
            note,
        )
    }
}

fn bad_request(why: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}

impl From<Diagnostic> for Refusal {
    fn from(why: Diagnostic) -> Refusal {
        let status = match why.kind {
            Kind::NoSuchPrompt { .. }
            | Kind::Ambiguous
            | Kind::TextInName { .. }
            | Kind::NotACommand => StatusCode::NOT_FOUND,
            Kind::EditorsOnly | Kind::NoVersion => StatusCode::NOT_FOUND,
            Kind::Conflict { .. } | Kind::Exists => StatusCode::CONFLICT,
            Kind::Unreadable | Kind::Busy => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let message = why.to_string();
        let details = match why.kind {
            Kind::Conflict { current, diff } => json!({ "current": current, "diff": diff }),
            Kind::Invalid | Kind::TooLong if why.file.is_some() => json!({ "problem": why }),
            _ => json!({}),
        };
        Refusal {
            details,
            ..Refusal::new(status, message)
        }
    }
}

fn to_json(answer: &impl Serialize) -> Answer {
    serde_json::to_vec(answer)
        .map(Bytes::from)
        .map_err(|_| Refusal::bug())
}

fn me(request: &Request<'_>) -> Answer {
    let Exchange { app, caller, .. } = request.exchange;
    to_json(&Me {
        name: caller.token.as_ref().map(|token| &*token.name),
        role: caller.role.as_str(),
        prefix: caller.prefix.as_ref().map(ToString::to_string),
        may_edit: app.server.may_edit(caller),
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn list(request: &Request<'_>) -> Answer {
    let json = api::list_json(&mut api::list(&request.view(), &request.query()?));
    json.map(Bytes::from).map_err(|_| Refusal::bug())
}

fn show(request: &Request<'_>) -> Answer {
    to_json(&api::file(&request.view(), request.name)?)
}

fn expand(request: &Request<'_>) -> Answer {
    let call: CallRequest = request.body()?;
    to_json(&api::expand(&request.view().find(&call.command)?, &call)?)
}

fn explain(request: &Request<'_>) -> Answer {
    let (view, call) = (request.view(), request.body::<CallRequest>()?);
    to_json(&api::preview(&view, &view.find(&call.command)?, &call)?)
}

fn check(request: &Request<'_>) -> Answer {
    to_json(&api::check(&request.view(), &request.body()?)?)
}

/// The body of a write, or the query of a history. Each route uses some of the members.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EditParams {
    command: Option<String>,
    file: Option<String>,
    /// The revision that the prompt must have; `None` if it was deleted.
    expected: Option<Revision>,
    /// Which version to restore; `None`: the one before the current one, or the one that was
    /// deleted.
    revision: Option<Revision>,
    note: Option<String>,
}

fn needed<T>(member: &str, value: Option<T>) -> Result<T, Refusal> {
    value.ok_or_else(|| bad_request(format!("the body has no `{member}`")))
}

fn create(request: &Request<'_>) -> Answer {
    let EditParams { file, note, .. } = request.body()?;
    written(
        request
            .editor()?
            .create(request.name, &needed("file", file)?, &request.by(note)?)?,
    )
}

fn update(request: &Request<'_>) -> Answer {
    let EditParams {
        file,
        expected,
        note,
        ..
    } = request.body()?;
    let (file, expected) = (needed("file", file)?, needed("expected", expected)?);
    written(
        request
            .editor()?
            .update(request.name, expected, &file, &request.by(note)?)?,
    )
}

fn delete(request: &Request<'_>) -> Answer {
    let EditParams { expected, note, .. } = request.body()?;
    written(request.editor()?.delete(
        request.name,
        needed("expected", expected)?,
        &request.by(note)?,
    )?)
}

fn restore(request: &Request<'_>) -> Answer {
    let EditParams {
        command,
        revision,
        expected,
        note,
        ..
    } = request.body()?;
    written(request.editor()?.restore(
        &needed("command", command)?,
        expected,
        revision,
        &request.by(note)?,
    )?)
}

fn written(written: Written) -> Answer {
    tracing::debug!(name = %written.name, revision = %written.revision, "a prompt was changed");
    to_json(&written)
}

fn history(request: &Request<'_>) -> Answer {
    let (editor, name) = (request.editor()?, request.name);
    let EditParams { revision, .. } = request.query()?;
    let versions = editor.history(name)?;
    let current = versions
        .iter()
        .find(|version| version.is_current)
        .map(|version| version.revision);
    let revision = revision.or(current);
    let text = |revision: Option<Revision>| {
        revision
            .map(|revision| editor.version(name, revision))
            .transpose()
    };
    let (file, now) = (
        text(revision)?,
        text(current.filter(|current| Some(*current) != revision))?,
    );
    let changes = now
        .as_ref()
        .zip(file.as_ref())
        .map(|(now, file)| hunks(now, file));
    to_json(&History {
        revision,
        file: file.as_deref(),
        versions,
        changes,
    })
}
