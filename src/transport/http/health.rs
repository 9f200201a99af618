//! `/health`, `/ready` and `/metrics`: whether the process is running, whether it can serve
//! prompts, and how much it does.

use super::app::{App, Exchange};
use super::auth::require;
use super::refusal::{JSON, Refusal};
use crate::library::Role;
use crate::prompt::Severity;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The paths of this module.
pub(super) const HEALTH: &str = "/health";
pub(super) const READY: &str = "/ready";
pub(super) const METRICS: &str = "/metrics";

/// Who looks at the library, for the share of threads: the server itself.
const OF_SERVER: u128 = 0;

/// How long the result of a check of the library is used again.
const CHECKED_FOR: Duration = Duration::from_secs(1);

/// `/health`: the process is running.
pub(super) async fn health() -> Response {
    status(StatusCode::OK, json!({ "status": "ok" }))
}

/// `/ready`: whether the library can be read. The reason names no path: anyone may ask.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let mut checked = app.readiness.lock().await; // so that all who ask at the same time wait for one look
    let found = match &*checked {
        Some((at, found)) if at.elapsed() < CHECKED_FOR => found.clone(),
        _ => {
            let server = Arc::clone(&app.server);
            let look = move || server.library().view().problems();
            let found = app.threads.files.run(OF_SERVER, look).await?;
            found
                .iter()
                .for_each(|problem| tracing::warn!(%problem, "not ready"));
            *checked = Some((Instant::now(), found.clone()));
            found
        }
    };
    // What is served all the same, such as the last state of a store that is gone.
    let (hints, missing): (Vec<_>, Vec<_>) = found
        .iter()
        .partition(|problem| problem.severity() == Severity::Hint);
    if missing.is_empty() {
        let ready = hints
            .first()
            .map(|hint| json!({ "status": "ok", "reason": hint.message }));
        return Ok(status(
            StatusCode::OK,
            ready.unwrap_or_else(|| json!({ "status": "ok" })),
        ));
    }
    let missing = missing.len();
    let reason = format!("{missing} of the prompts folders cannot be read; the log says which");
    Ok(status(
        StatusCode::SERVICE_UNAVAILABLE,
        json!({ "status": "unavailable", "reason": reason }),
    ))
}

fn status(code: StatusCode, json: serde_json::Value) -> Response {
    (code, [(CONTENT_TYPE, JSON)], json.to_string()).into_response()
}

/// `/metrics`, which with tokens needs one of an admin.
pub(super) async fn metrics(exchange: Exchange) -> Result<Response, Refusal> {
    let Exchange { app, caller, .. } = exchange;
    if caller.token.is_some() {
        require(&caller, Role::Admin)?;
    }
    let age = app.server.library().store_age().flatten();
    let text = app
        .metrics
        .encode(app.streams.count(), age)
        .map_err(|_| Refusal::bug())?;
    Ok((
        [(
            CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        )],
        text,
    )
        .into_response())
}
