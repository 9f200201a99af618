//! Failures of requests. [`Era::error`](super::Era::error) converts a failure to a JSON-RPC error.

use crate::prompt::{Diagnostic, Kind};
use serde_json::{Value, json};
use std::fmt::Display;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// What is wrong and how to fix it, for a person or a model.
    pub(super) text: String,
    /// Details for the client program.
    pub(super) data: Option<Value>,
}

/// The kind of a failure, which determines the error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    UnsupportedVersion,
    UnknownTool,
    UnknownResource,
    /// A tool call that the model or its user can correct. Reported as a result with `isError`.
    ForModel,
    /// A file or service can't be used. The text says which one, why, and what to do.
    Unavailable,
    /// A bug in this server.
    Internal,
}

impl FailureKind {
    /// Returns the failure kind for an expansion error: either a file or service is unavailable, or
    /// the request is invalid.
    pub(super) fn of_expansion(error: &Diagnostic) -> FailureKind {
        match error.kind {
            Kind::Invalid
            | Kind::NotFound
            | Kind::Unreadable
            | Kind::OutsideFolder
            | Kind::Service => FailureKind::Unavailable,
            _ => FailureKind::InvalidParams,
        }
    }
}

impl Failure {
    pub(super) fn new(kind: FailureKind, text: impl Display) -> Failure {
        Failure {
            kind,
            text: text.to_string(),
            data: None,
        }
    }

    pub(super) fn invalid_params(text: impl Display) -> Failure {
        Failure::new(FailureKind::InvalidParams, text)
    }

    pub(super) fn for_model(text: impl Display) -> Failure {
        Failure::new(FailureKind::ForModel, text)
    }

    pub(super) fn unavailable(text: impl Display) -> Failure {
        Failure::new(FailureKind::Unavailable, text)
    }

    /// Adds details for the client program.
    pub(super) fn with_data(mut self, data: Value) -> Failure {
        self.data = Some(data);
        self
    }
}

/// Converts an error from [`read_object`](crate::jsonrpc::read_object): a parameter is missing or
/// has the wrong type.
impl From<String> for Failure {
    fn from(mismatch: String) -> Failure {
        Failure::invalid_params(mismatch)
    }
}

/// Converts an error from serializing a result.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::new(FailureKind::Internal, error)
    }
}

/// Converts an error from writing or deleting a prompt.
impl From<Diagnostic> for Failure {
    fn from(mut error: Diagnostic) -> Failure {
        error.file = None; // the client knows prompts by name, not by file
        let text = error.to_string();
        match error.kind {
            Kind::Unreadable | Kind::Busy => Failure::unavailable(text),
            Kind::Conflict {
                current: Some(revision),
                diff,
            } => {
                let text = format!("{text}\n{diff}");
                Failure::invalid_params(text.trim_end()).with_data(json!({ "revision": revision }))
            }
            _ => Failure::invalid_params(text),
        }
    }
}
