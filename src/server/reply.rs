//! Replies to messages, immediate or deferred to a job.

use super::era::Era;
use super::failure::{Failure, FailureKind};
use crate::jsonrpc::{Error, Id, Json, Notification, Response};
use crate::library::{Found, Layer, View};
use crate::prompt::Diagnostic;
use crate::wording::quoted;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The reply to a message.
pub enum Reply {
    /// No reply, because the message was a notification or a response.
    None,
    /// The response to a request or batch.
    Response(Response),
    /// A job that produces the reply, and may block.
    Deferred(Job),
    /// The acknowledgement of a request that stays open. Later notifications are sent by the
    /// [`Listener`](super::Listener).
    Stream(Notification),
    /// The client has cancelled this request.
    Cancelled(Id),
}

impl Reply {
    /// Runs any deferred jobs and returns the response. Must not be called for notifications or
    /// requests that open a stream.
    pub(super) fn into_response(self) -> Response {
        match self {
            Reply::Response(response) => response,
            Reply::Deferred(job) => job.run().into_response(),
            Reply::None | Reply::Stream(_) | Reply::Cancelled(_) => {
                Response::error_without_id(Error::invalid_request("not a request"))
            }
        }
    }
}

/// The longest that a request may block, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LongestWait {
    /// Not at all: the request is answered from memory.
    Nothing,
    /// Reading a few files.
    Files,
    /// Scanning folders.
    Folders,
    /// Waiting several seconds for another process that is writing to the prompts folder.
    Write,
    /// Waiting several seconds for a remote service or the team's server.
    Service,
}

/// The outcome of a handler.
pub(super) enum Outcome {
    /// The result.
    Now(Json),
    /// Work that produces the result, and blocks on a remote service or the team's server.
    Deferred(Work),
}

/// Work that produces a result.
pub(super) type Work = Box<dyn FnOnce() -> Result<Json, Failure> + Send>;

impl Outcome {
    /// Finds the prompt that a client called, and runs work with it. If that may wait for a server,
    /// defers it. `to_failure` converts the error for an unknown prompt.
    pub(super) fn find_and_run(
        view: View,
        name: String,
        to_failure: fn(&View, &str, Diagnostic) -> Failure,
        work: impl FnOnce(&Found) -> Result<Json, Failure> + Send + 'static,
    ) -> Result<Outcome, Failure> {
        match view.find_known(&name) {
            Ok(found) => Outcome::run_or_defer(found.layer, move || work(&found)),
            Err(error) if !view.has_team() => Err(to_failure(&view, &name, error)),
            Err(_) => Ok(Outcome::Deferred(Box::new(move || {
                let result = view.find(&name);
                work(&result.map_err(|error| to_failure(&view, &name, error))?)
            }))),
        }
    }

    /// Runs work that reads or expands a prompt of the given layer. If the layer's prompts come
    /// from a server, the work is deferred instead.
    pub(super) fn run_or_defer(
        layer: Layer,
        work: impl FnOnce() -> Result<Json, Failure> + Send + 'static,
    ) -> Result<Outcome, Failure> {
        if layer.is_from_server() {
            Ok(Outcome::Deferred(Box::new(work)))
        } else {
            work().map(Outcome::Now)
        }
    }
}

/// A handler bound to the parameters of one request.
pub(super) type Handler = Box<dyn FnOnce() -> Result<Outcome, Failure> + Send>;

/// The remaining work of a request, which may block.
pub struct Job {
    /// The longest that the job may block.
    pub longest_wait: LongestWait,
    pub(super) request: PendingRequest,
    pub(super) handler: Handler,
}

impl Job {
    /// Returns the id of the request.
    pub fn id(&self) -> &Id {
        &self.request.id
    }

    /// Runs the job. Returns the response, or another job that blocks on something else.
    pub fn run(self) -> Reply {
        self.request.reply(self.handler)
    }

    /// Runs the job and any that follow it, and returns the response.
    pub fn finish(self) -> Response {
        self.run().into_response()
    }
}

/// A request that hasn't been answered yet.
pub(super) struct PendingRequest {
    pub(super) id: Id,
    pub(super) era: Era,
    pub(super) method: String,
    pub(super) started: Instant,
}

impl PendingRequest {
    /// Runs a handler and converts its outcome to a reply. If the handler panics, the response is
    /// an internal error (`-32603`).
    pub(super) fn reply(self, handler: impl FnOnce() -> Result<Outcome, Failure>) -> Reply {
        let outcome = catch_unwind(AssertUnwindSafe(handler));
        match outcome.unwrap_or_else(|_| Err(self.panic_failure())) {
            Ok(Outcome::Now(result)) => {
                self.log_answer(None);
                Reply::Response(Response::result(&self.id, result))
            }
            Ok(Outcome::Deferred(work)) => Reply::Deferred(Job {
                longest_wait: LongestWait::Service,
                request: self,
                handler: Box::new(|| work().map(Outcome::Now)),
            }),
            Err(failure) => self.fail(failure),
        }
    }

    /// Responds with the error for a failure.
    pub(super) fn fail(self, failure: Failure) -> Reply {
        let error = self.era.error(failure);
        self.log_answer(Some(&error.message));
        Reply::Response(Response::error(Some(&self.id), error))
    }

    /// Logs that the handler panicked, and returns the failure to report.
    fn panic_failure(&self) -> Failure {
        tracing::error!(method = self.method, "the request failed because of a bug");
        let method = quoted(&self.method);
        let text = format!("{method} failed; see the server's standard error");
        Failure::new(FailureKind::Internal, text)
    }

    /// Logs that the request was answered, and how long it took.
    fn log_answer(&self, error: Option<&str>) {
        let took = self.started.elapsed();
        tracing::debug!(id = %self.id, method = self.method, ?took, error, "answered");
    }
}
