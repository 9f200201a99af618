//! The body of a request that its handler may leave unread, because it refuses the request.

use crate::lock::lock;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::EXPECT;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// How long the server keeps reading a body after it has refused the request.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);

/// The body of a request. The request itself has one copy, for its handler, and another copy can
/// read what the handler has left.
#[derive(Clone)]
pub(super) struct RequestBody(Arc<Mutex<UnreadPart>>);

/// The part of a body that was not read.
struct UnreadPart {
    body: Body,
    state: ReadState,
}

/// How far a body was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// Nothing was read, and the client sends nothing before that: its request has the header
    /// `Expect: 100-continue`, which the server answers when it begins to read.
    ClientWaits,
    /// The client sends the body, whether or not the server reads it.
    ClientSends,
    /// All of the body was read, or it is empty.
    Ended,
}

impl RequestBody {
    /// Replaces the body of a request by one that can be shared, and returns another copy of it. An
    /// empty body is not shared, because nobody has to read it.
    pub(super) fn share(request: &mut Request) -> RequestBody {
        let body = std::mem::take(request.body_mut());
        let state = if body.is_end_stream() {
            ReadState::Ended
        } else if expects_continue(request) {
            ReadState::ClientWaits
        } else {
            ReadState::ClientSends
        };
        let shared = RequestBody(Arc::new(Mutex::new(UnreadPart { body, state })));
        if state != ReadState::Ended {
            *request.body_mut() = Body::new(shared.clone());
        }
        shared
    }

    /// Returns `true` if all of the body was read, or if it is empty.
    pub(super) fn has_ended(&self) -> bool {
        let unread = lock(&self.0);
        unread.state == ReadState::Ended || unread.body.is_end_stream()
    }

    /// Reads and discards what the handler has left, for at most [`DISCARD_TIMEOUT`]. Returns
    /// `true` if it has reached the end of the body, so that another request can follow.
    ///
    /// A client that sends its whole body before it reads would otherwise see a broken connection,
    /// not the refusal. A client with `Expect: 100-continue` has sent nothing yet: reading would
    /// only ask it for the body.
    pub(super) async fn discard_rest(mut self) -> bool {
        let state = lock(&self.0).state;
        if state == ReadState::ClientWaits {
            return false;
        }
        let read_all = async { while let Some(Ok(_)) = self.frame().await {} };
        let _ = timeout(DISCARD_TIMEOUT, read_all).await;
        self.has_ended()
    }
}

/// Returns `true` if the client sends the body only after the server has asked for it.
fn expects_continue(request: &Request) -> bool {
    match request.headers().get(EXPECT) {
        Some(expectation) => expectation.as_bytes().eq_ignore_ascii_case(b"100-continue"),
        None => false,
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    /// Reads the next part of the body, or `None` at its end. Each part is read only once, by the
    /// copy that asks first.
    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut unread = lock(&self.0);
        if unread.state == ReadState::ClientWaits {
            unread.state = ReadState::ClientSends; // reading makes the server ask for the body
        }
        let polled = Pin::new(&mut unread.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            unread.state = ReadState::Ended;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).body.size_hint()
    }
}
