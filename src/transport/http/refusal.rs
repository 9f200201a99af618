//! Why a request is refused because of how, or by whom, it was sent, and not because of its message.

use crate::jsonrpc::Error;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

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
}
