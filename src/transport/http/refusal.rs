//! Why a request is refused, and how that becomes an HTTP response.

use crate::jsonrpc::{Error, Id, Response as RpcResponse};
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The path of the MCP endpoint.
pub const MCP_PATH: &str = "/mcp";

/// The path of the endpoint as some people write it. It is served in the same way.
pub(super) const MCP_PATH_WITH_SLASH: &str = "/mcp/";

pub(super) const JSON: &str = "application/json";

/// An error response to a request that is invalid, not allowed, or has failed.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) headers: Box<HeaderMap>,
    /// The id of the refused message, if it is known.
    pub(crate) id: Option<Id>,
    /// Further members of the error object of the JSON API.
    pub(crate) details: Value,
}

pub(super) type HttpResult = Result<Response, Refusal>;

impl Refusal {
    /// Returns a refusal with a message that tells the user of the client what to do.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal {
            status,
            message: message.into(),
            headers: Box::default(),
            id: None,
            details: json!({}),
        }
    }

    /// Returns a 500 refusal for a bug in this program. Logs the source location of the caller.
    #[track_caller]
    pub(crate) fn bug() -> Refusal {
        tracing::error!(at = %std::panic::Location::caller(), "the request failed because of a bug");
        let message = "the request failed because of a mistake in prompt-expander; report it with what the server's log says";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Returns a refusal of a request to a wrong address. Its message begins with the problem, and
    /// then says where MCP clients belong.
    pub(crate) fn wrong_address(status: StatusCode, problem: &str) -> Refusal {
        let message = format!("{problem}. The endpoint for MCP clients is {MCP_PATH}");
        Refusal::new(status, message)
    }

    pub(crate) fn with_header(
        mut self,
        name: HeaderName,
        value: impl Into<HeaderValue>,
    ) -> Refusal {
        self.headers.append(name, value.into());
        self
    }

    pub(crate) fn with_retry_after_seconds(self, seconds: u64) -> Refusal {
        self.with_header(RETRY_AFTER, seconds)
    }

    /// Returns the body of the response to a request with this path: a JSON-RPC error on the MCP
    /// endpoint, a JSON object for the API, and plain text for any other path.
    fn into_body(mut self, path: &str) -> String {
        if is_mcp_path(path) {
            let id = self.id.take();
            return RpcResponse::error(id.as_ref(), self.into_rpc_error()).into_json();
        }
        if is_api_path(path) {
            self.details["message"] = self.message.into();
            return json!({ "error": self.details }).to_string();
        }
        self.message + "\n"
    }

    /// Converts the refusal to a JSON-RPC error. Its code is the HTTP status, since JSON-RPC leaves
    /// such numbers to applications.
    pub(crate) fn into_rpc_error(self) -> Error {
        Error {
            code: i64::from(self.status.as_u16()),
            message: self.message,
            data: None,
        }
    }
}

/// Returns `true` if the path of a request is that of the MCP endpoint.
pub(super) fn is_mcp_path(path: &str) -> bool {
    path == MCP_PATH || path == MCP_PATH_WITH_SLASH
}

/// Stores the refusal as an extension of a response without a body. [`write_body`] adds the body,
/// because its format depends on the path of the request.
impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.headers_mut().extend((*self.headers).clone());
        response.extensions_mut().insert(self);
        response
    }
}

/// Writes the body of a response if it is a refusal. Its format depends on the path of the request.
pub(super) fn write_body(mut response: Response, path: &str) -> Response {
    let Some(refusal) = response.extensions_mut().remove::<Refusal>() else {
        return response;
    };
    let content_type = HeaderValue::from_static(content_type_for(path));
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response.headers_mut().remove(CONTENT_LENGTH); // it was that of the empty body
    *response.body_mut() = Body::from(refusal.into_body(path));
    response
}

/// Returns the media type of refusals at a path.
fn content_type_for(path: &str) -> &'static str {
    if is_mcp_path(path) || is_api_path(path) {
        JSON
    } else {
        "text/plain; charset=utf-8"
    }
}

fn is_api_path(path: &str) -> bool {
    path.starts_with("/api/")
}
