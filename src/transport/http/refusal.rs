//! Why a request is refused because of how, or by whom, it was sent, and not because of its message.

use crate::jsonrpc::Error;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{self, HeaderMap, HeaderName, HeaderValue, StatusCode};

/// A response that refuses a request.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) headers: Box<HeaderMap>,
    /// For the body. Unless it is an internal error, its code is the status, which JSON-RPC leaves to applications (-32768 to -32000 are
    /// reserved).
    pub(crate) error: Error,
}

impl Refusal {
    /// `message` says what to do; clients show it to their user.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        let error = Error { code: i64::from(status.as_u16()), message: message.into(), data: None };
        Refusal { status, headers: Box::default(), error }
    }

    /// The server ends, or the work that was begun was not done.
    pub(crate) fn unavailable(error: Error) -> Refusal {
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, headers: Box::default(), error }
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Refusal {
        self.headers.append(name, value);
        self
    }

    /// The same with when to try again, in seconds.
    pub(crate) fn with_retry_after(self, seconds: u64) -> Refusal {
        self.with_header(RETRY_AFTER, seconds.into())
    }

    /// The response on a path where no JSON-RPC is spoken.
    pub(crate) fn into_text(self) -> http::Response<Body> {
        let Refusal { status, headers, error } = self;
        let mut response = http::Response::new(Body::from(error.message + "\n"));
        *response.status_mut() = status;
        *response.headers_mut() = *headers;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response
    }
}
