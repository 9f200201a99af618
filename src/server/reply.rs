//! The reply to a message: at once, or by a job that may wait.

use super::era::Era;
use super::failure::{Failure, FailureKind};
use crate::jsonrpc::{Error, Id, Json, Notification, Response};
use crate::library::Layer;
use crate::wording::quoted;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The reply to a message.
pub enum Reply {
    /// Nothing: it was a notification, or a response.
    None,
    /// The response to a request, or to a batch.
    Response(Response),
    /// The rest of a request, which may wait and then gives the reply.
    Deferred(Job),
    /// The acknowledgement of a request that stays open. What follows goes to the
    /// [`Listener`](super::Listener).
    Stream(Notification),
    /// The client no longer wants the response to this request.
    Cancelled(Id),
}

impl Reply {
    /// Returns the response to a request that opens no stream, after running the jobs for it.
    pub(super) fn into_response(self) -> Response {
        match self {
            Reply::Response(response) => response,
            Reply::Deferred(job) => job.run().into_response(),
            Reply::None | Reply::Stream(_) | Reply::Cancelled(_) => {
                Response::error(None, Error::invalid_request("not a request"))
            }
        }
    }
}

/// What a request may wait for. The longest wait is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LongestWait {
    /// Nothing: the request is answered from memory.
    Nothing,
    /// A few files.
    Files,
    /// A scan of folders.
    Folders,
    /// Another process that writes to the folder of prompts, for several seconds.
    Write,
    /// A service that renders a prompt, or the team's server, for several seconds.
    Service,
}

/// What a handler gives.
pub(super) enum Outcome {
    /// The result.
    Now(Json),
    /// The work that waits for a service or the team's server, and then gives the result.
    Deferred(Work),
}

/// The work that makes a result.
pub(super) type Work = Box<dyn FnOnce() -> Result<Json, Failure> + Send>;

impl Outcome {
    /// Does work that reads or expands a prompt of this layer: later if the layer may wait for a
    /// server, otherwise now.
    pub(super) fn now_or_later(
        layer: Layer,
        work: impl FnOnce() -> Result<Json, Failure> + Send + 'static,
    ) -> Result<Outcome, Failure> {
        if layer.waits_for_server() {
            Ok(Outcome::Deferred(Box::new(work)))
        } else {
            work().map(Outcome::Now)
        }
    }
}

/// The handler of one request, with its params.
pub(super) type Handler = Box<dyn FnOnce() -> Result<Outcome, Failure> + Send>;

/// The rest of a request, which may wait.
pub struct Job {
    /// What the job may wait for.
    pub longest_wait: LongestWait,
    pub(super) request: PendingRequest,
    pub(super) handler: Handler,
}

impl Job {
    /// Returns the id of the request.
    pub fn id(&self) -> &Id {
        &self.request.id
    }

    /// Runs the job, and returns the response, or a further job that waits for something else.
    pub fn run(self) -> Reply {
        self.request.reply(self.handler)
    }

    /// Runs the job and those that follow it, and returns the response.
    pub fn finish(self) -> Response {
        self.run().into_response()
    }
}

/// A request that has no response yet.
pub(super) struct PendingRequest {
    pub(super) id: Id,
    pub(super) era: Era,
    pub(super) method: String,
    pub(super) started: Instant,
}

impl PendingRequest {
    /// Runs a handler, and returns the reply with its outcome. If the handler panics, the response
    /// is the error `-32603`.
    pub(super) fn reply(self, handler: impl FnOnce() -> Result<Outcome, Failure>) -> Reply {
        let outcome = catch_unwind(AssertUnwindSafe(handler));
        match outcome.unwrap_or_else(|_| Err(self.bug())) {
            Ok(Outcome::Now(result)) => {
                self.log(None);
                Reply::Response(Response::result(&self.id, result))
            }
            Ok(Outcome::Deferred(work)) => Reply::Deferred(Job {
                longest_wait: LongestWait::Service,
                request: self,
                handler: Box::new(|| work().map(Outcome::Now)),
            }),
            Err(failure) => self.refuse(failure),
        }
    }

    /// Returns the response with the error for a failure.
    pub(super) fn refuse(self, failure: Failure) -> Reply {
        let error = self.era.error(failure);
        self.log(Some(&error.message));
        Reply::Response(Response::error(Some(&self.id), error))
    }

    /// Returns the failure of a handler that has panicked, and logs it.
    fn bug(&self) -> Failure {
        tracing::error!(method = self.method, "the request failed because of a bug");
        let method = quoted(&self.method);
        let text = format!("{method} failed; the reason is on the server's standard error");
        Failure::new(FailureKind::Internal, text)
    }

    /// Logs that the request was answered, and how long that took.
    fn log(&self, error: Option<&str>) {
        let took = self.started.elapsed();
        tracing::debug!(id = %self.id, method = self.method, ?took, error, "answered");
    }
}
