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

/// The body of a request. The handler reads one copy, and another one can read the rest.
#[derive(Clone)]
pub(super) struct RequestBody(Arc<Mutex<UnreadPart>>);

struct UnreadPart {
    body: Body,
    has_ended: bool,
    /// Whether the client sends its body only after the server has begun to read it.
    waits_for_reader: bool,
}

impl RequestBody {
    /// Takes the body out of a request, which is empty then.
    pub(super) fn take(request: &mut Request) -> RequestBody {
        let waits_for_reader = match request.headers().get(EXPECT) {
            Some(expectation) => expectation.as_bytes().eq_ignore_ascii_case(b"100-continue"),
            None => false,
        };
        RequestBody(Arc::new(Mutex::new(UnreadPart {
            body: std::mem::take(request.body_mut()),
            has_ended: false,
            waits_for_reader,
        })))
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
        self.is_end_stream()
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
        let polled = Pin::new(&mut unread.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            unread.has_ended = true;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let unread = lock(&self.0);
        unread.has_ended || unread.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).body.size_hint()
    }
}
