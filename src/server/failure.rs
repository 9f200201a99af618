//! Why a request failed.

use crate::jsonrpc::Mismatch;
use crate::prompt::{Diagnostic, Kind};
use serde_json::{Value, json};
use std::fmt::Display;

/// Why a request failed. [`Era::error`](super::era::Era::error) turns it into a JSON-RPC error.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) text: String,
    pub(super) data: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    UnsupportedVersion,
    UnknownTool,
    UnknownResource,
    /// A file cannot be read; the text says which one, why, and what to do.
    Unavailable,
    /// A bug in this program.
    Internal,
}

impl FailureKind {
    /// Of a prompt that cannot be expanded: a file or a service cannot be used, or the request is wrong.
    pub(super) fn of_expansion(error: &Diagnostic) -> FailureKind {
        match error.kind {
            Kind::Invalid | Kind::Missing | Kind::Unreadable | Kind::Escapes | Kind::Service => {
                FailureKind::Unavailable
            }
            _ => FailureKind::InvalidParams,
        }
    }
}

impl Failure {
    pub(super) fn new(kind: FailureKind, text: impl Display) -> Failure {
        Failure { kind, text: text.to_string(), data: None }
    }

    pub(super) fn invalid_params(text: impl Display) -> Failure {
        Failure::new(FailureKind::InvalidParams, text)
    }

    /// Adds details for a program.
    pub(super) fn with_data(self, data: Value) -> Failure {
        Failure { data: Some(data), ..self }
    }
}

impl From<Mismatch> for Failure {
    fn from(mismatch: Mismatch) -> Failure {
        Failure::invalid_params(mismatch)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::new(FailureKind::Internal, error)
    }
}

impl From<Diagnostic> for Failure {
    fn from(error: Diagnostic) -> Failure {
        // The client has sent the file.
        let error = Diagnostic { file: None, ..error };
        let text = error.to_string();
        match error.kind {
            Kind::Conflict { current: Some(current), .. } => {
                Failure::invalid_params(text).with_data(json!({ "revision": current }))
            }
            Kind::Unreadable | Kind::Busy => Failure::new(FailureKind::Unavailable, text),
            _ => Failure::invalid_params(text),
        }
    }
}
