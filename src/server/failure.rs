//! Why a request fails. [`Era::error`](super::Era::error) turns a failure into an error of
//! JSON-RPC.

use crate::prompt::{Diagnostic, Kind};
use serde_json::{Value, json};
use std::fmt::Display;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// What is wrong and what to do, for a person or a model.
    pub(super) text: String,
    /// Details for a program.
    pub(super) data: Option<Value>,
}

/// The class of a failure, which decides the code of its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    UnsupportedVersion,
    UnknownTool,
    UnknownResource,
    /// The model that called a tool, or its user, can correct the call: a result with `isError`.
    ForModel,
    /// A file or a service cannot be used; the text says which one, why, and what to do.
    Unavailable,
    /// A bug in this program.
    Internal,
}

impl FailureKind {
    /// Returns the kind of failure for a prompt that cannot be expanded: a file or a service cannot
    /// be used, or the request is wrong.
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

    /// Adds details for a program.
    pub(super) fn with_data(mut self, data: Value) -> Failure {
        self.data = Some(data);
        self
    }
}

/// A member of the params is missing, or has another type than it should have.
impl From<String> for Failure {
    fn from(mismatch: String) -> Failure {
        Failure::invalid_params(mismatch)
    }
}

/// A result cannot be written as JSON.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::new(FailureKind::Internal, error)
    }
}

/// A prompt cannot be written or deleted.
impl From<Diagnostic> for Failure {
    fn from(mut error: Diagnostic) -> Failure {
        error.file = None; // the client sent the text itself
        let text = error.to_string();
        match error.kind {
            Kind::Unreadable | Kind::Busy => Failure::unavailable(text),
            Kind::Conflict {
                current: Some(revision),
                ..
            } => Failure::invalid_params(text).with_data(json!({ "revision": revision })),
            _ => Failure::invalid_params(text),
        }
    }
}
