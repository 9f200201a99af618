//! `/health` and `/ready`: whether the process is running, and whether it can serve prompts.

use super::App;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, HeaderValue, StatusCode};
use std::sync::Arc;

/// The paths of this module.
pub(super) const HEALTH: &str = "/health";
pub(super) const READY: &str = "/ready";

/// `/health`: the process is running.
pub(super) async fn health() -> http::Response<Body> {
    status(StatusCode::OK, "ok", None)
}

/// `/ready`: whether the library can be read. The reason names no path: anyone may ask.
pub(super) async fn ready(State(app): State<Arc<App>>) -> http::Response<Body> {
    let server = Arc::clone(&app.server);
    match app.in_background(move || server.missing_folders()).await {
        Ok(missing) if missing.is_empty() => status(StatusCode::OK, "ok", None),
        Ok(missing) => {
            missing.iter().for_each(|problem| tracing::warn!(problem, "not ready"));
            let reason = format!("{} of the prompts folders cannot be read; the log says which", missing.len());
            status(StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(reason))
        }
        Err(error) => status(StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(error.message)),
    }
}

/// A status as JSON, and the reason for it.
pub(super) fn status(code: StatusCode, status: &str, reason: Option<String>) -> http::Response<Body> {
    let mut json = serde_json::json!({ "status": status });
    if let Some(reason) = reason {
        json["reason"] = reason.into();
    }
    let mut response = http::Response::new(Body::from(json.to_string()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(super::headers::JSON));
    response
}
