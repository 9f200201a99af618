//! The endpoints for monitoring: `/health` (the process is running), `/ready` (it can serve
//! prompts) and `/metrics`.

use super::app::{App, Readiness, RequestContext};
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

pub(super) const HEALTH_PATH: &str = "/health";
pub(super) const READY_PATH: &str = "/ready";
pub(super) const METRICS_PATH: &str = "/metrics";

/// Stands in for the caller's key when the server itself uses a thread. Clients at `::1` have the
/// same key, and so share their part of the threads with these checks.
const SERVER_KEY: u128 = 0;

/// How long the result of a check is reused.
const CHECK_MAX_AGE: Duration = Duration::from_secs(1);

/// Answers `/health`, always with 200.
pub(super) async fn health() -> Response {
    json_response(StatusCode::OK, json!({ "status": "ok" }))
}

/// Answers `/ready` with 200 if all folders of prompts can be read, and 503 otherwise. The reason
/// contains no path, because anyone may call this.
pub(super) async fn ready(State(app): State<Arc<App>>) -> HttpResult {
    let mut unreadable_folders = 0;
    let mut ok_body = json!({ "status": "ok" });
    for problem in check_library(&app).await? {
        // A hint means that the prompts are still served, e.g. from a cache while a store can't be
        // reached.
        if problem.severity() == Severity::Hint {
            ok_body["reason"] = problem.message.into();
        } else {
            unreadable_folders += 1;
        }
    }
    if unreadable_folders == 0 {
        return Ok(json_response(StatusCode::OK, ok_body));
    }
    let reason =
        format!("{unreadable_folders} of the prompts folders cannot be read; the log says which");
    let body = json!({ "status": "unavailable", "reason": reason });
    Ok(json_response(StatusCode::SERVICE_UNAVAILABLE, body))
}

/// Checks that all folders of prompts can be read, and logs and returns the problems. Reuses the
/// last result for [`CHECK_MAX_AGE`].
async fn check_library(app: &App) -> Result<Vec<Diagnostic>, Refusal> {
    // Stays locked during the check, so that concurrent calls share its result.
    let mut last_check = app.readiness.lock().await;
    if let Some(Readiness {
        checked_at,
        problems,
    }) = &*last_check
        && checked_at.elapsed() < CHECK_MAX_AGE
    {
        return Ok(problems.clone());
    }
    let server = Arc::clone(&app.server);
    let threads = &app.threads.reads;
    let problems = threads
        .run(SERVER_KEY, move || server.library().view().problems())
        .await?;
    for problem in &problems {
        tracing::warn!(%problem, "not ready");
    }
    *last_check = Some(Readiness {
        checked_at: Instant::now(),
        problems: problems.clone(),
    });
    Ok(problems)
}

fn json_response(status: StatusCode, body: Value) -> Response {
    (status, [(CONTENT_TYPE, JSON)], body.to_string()).into_response()
}

/// Answers `/metrics`. A caller with a token must be an admin.
pub(super) async fn metrics(context: RequestContext) -> HttpResult {
    let RequestContext { app, caller, .. } = context;
    if caller.token.is_some() {
        require(&caller, Role::Admin)?;
    }
    // `None` if the library has no database, or if it has never answered.
    let store_age = app.server.library().store_age();
    let Ok(text) = app.metrics.encode(app.streams.count_open(), store_age) else {
        return Err(Refusal::bug());
    };
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, content_type)], text).into_response())
}
