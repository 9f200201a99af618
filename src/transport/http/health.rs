//! `/health`, `/ready` and `/metrics`: whether the process is running, whether it can serve
//! prompts, and how much it does.

use super::app::{App, Exchange, Readiness};
use super::auth::require;
use super::refusal::{HttpResult, JSON, Refusal};
use crate::library::Role;
use crate::prompt::{Diagnostic, Severity};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) const HEALTH: &str = "/health";
pub(super) const READY: &str = "/ready";
pub(super) const METRICS: &str = "/metrics";

/// The caller who checks the library, for the share of threads: the server itself.
const SERVER: u128 = 0;

/// How long the result of a check of the library is used again.
const CHECKED_FOR: Duration = Duration::from_secs(1);

/// Answers `/health`: the process is running.
pub(super) async fn health() -> Response {
    json_response(StatusCode::OK, json!({ "status": "ok" }))
}

/// Answers `/ready`: whether the library can be read. The reason names no path: anyone may ask.
pub(super) async fn ready(State(app): State<Arc<App>>) -> HttpResult {
    let mut unreadable = 0;
    let mut body = json!({ "status": "ok" });
    for problem in problems(&app).await? {
        // A hint is about prompts that are served all the same, such as the last state of a store
        // that is gone.
        if problem.severity() == Severity::Hint {
            body["reason"] = problem.message.into();
        } else {
            unreadable += 1;
        }
    }
    if unreadable == 0 {
        return Ok(json_response(StatusCode::OK, body));
    }
    let reason = format!("{unreadable} of the prompts folders cannot be read; the log says which");
    let body = json!({ "status": "unavailable", "reason": reason });
    Ok(json_response(StatusCode::SERVICE_UNAVAILABLE, body))
}

/// Returns the problems of the folders of prompts, which were checked within the last second. New
/// ones are logged.
async fn problems(app: &App) -> Result<Vec<Diagnostic>, Refusal> {
    // Locked during the check, so that all who ask at the same time wait for one check.
    let mut readiness = app.readiness.lock().await;
    if let Some(Readiness { checked, problems }) = &*readiness
        && checked.elapsed() < CHECKED_FOR
    {
        return Ok(problems.clone());
    }
    let server = Arc::clone(&app.server);
    let threads = &app.threads.files;
    let problems = threads
        .run(SERVER, move || server.library().view().problems())
        .await?;
    for problem in &problems {
        tracing::warn!(%problem, "not ready");
    }
    *readiness = Some(Readiness {
        checked: Instant::now(),
        problems: problems.clone(),
    });
    Ok(problems)
}

fn json_response(status: StatusCode, body: Value) -> Response {
    (status, [(CONTENT_TYPE, JSON)], body.to_string()).into_response()
}

/// Answers `/metrics`. On a server with tokens, this needs the token of an admin.
pub(super) async fn metrics(exchange: Exchange) -> HttpResult {
    let Exchange { app, caller, .. } = exchange;
    if caller.token.is_some() {
        require(&caller, Role::Admin)?;
    }
    let store_age = app.server.library().store_age().flatten();
    let Ok(text) = app.metrics.encode(app.streams.count(), store_age) else {
        return Err(Refusal::bug());
    };
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, content_type)], text).into_response())
}
