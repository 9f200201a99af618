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

/// The body of a request. The request itself has one copy, for its handler, and another copy can read
/// what the handler has left.
#[derive(Clone)]
pub(super) struct RequestBody(Arc<Mutex<UnreadPart>>);

/// The part of a body that was not read.
struct UnreadPart {
    body: Body,
    has_ended: bool,
    /// Whether the client sends its body only after the server has begun to read it.
    waits_for_reader: bool,
}

impl RequestBody {
    /// Returns a copy of the body of a request.
    pub(super) fn share(request: &mut Request) -> RequestBody {
        let waits_for_reader = match request.headers().get(EXPECT) {
            Some(expectation) => expectation.as_bytes().eq_ignore_ascii_case(b"100-continue"),
            None => false,
        };
        let body = std::mem::take(request.body_mut());
        let has_ended = body.is_end_stream();
        let shared = RequestBody(Arc::new(Mutex::new(UnreadPart {
            body,
            has_ended,
            waits_for_reader,
        })));
        if !has_ended {
            *request.body_mut() = Body::new(shared.clone());
        }
        shared
    }

    /// Returns `true` if all of the body was read, or if it is empty.
    pub(super) fn has_ended(&self) -> bool {
        let unread = lock(&self.0);
        unread.has_ended || unread.body.is_end_stream()
    }

    /// Reads and discards what the handler has left, for at most [`DISCARD_TIMEOUT`]. Returns
    /// `true` if it has reached the end of the body, so that another request can follow.
    ///
    /// A client that sends its whole body before it reads would otherwise see a broken connection,
    /// not the refusal. A client with `Expect: 100-continue` has sent nothing yet: reading would
    /// only ask it for the body.
    pub(super) async fn discard_rest(mut self) -> bool {
        let waits_for_reader = lock(&self.0).waits_for_reader;
        if waits_for_reader {
            return false;
        }
        let read_all = async { while let Some(Ok(_)) = self.frame().await {} };
        let _ = timeout(DISCARD_TIMEOUT, read_all).await;
        self.has_ended()
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut unread = lock(&self.0);
        unread.waits_for_reader = false;
        let polled = Pin::new(&mut unread.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            unread.has_ended = true;
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
