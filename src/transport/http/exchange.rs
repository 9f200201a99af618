//! A request and its response: who the client is, the request id in the response, the log and the record of `--tap`, and what is recorded.

use super::proxy::{Client, TrustedProxy};
use super::unfinished_message::UnfinishedMessage;
use super::{App, Peer};
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::body::Frame;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request id that is taken from a client, in bytes.
const MAX_REQUEST_ID: usize = 64;

/// A request and its response, on one of the connections.
#[derive(Clone)]
pub(super) struct Exchange {
    peer: Arc<Peer>,
    client: Client,
    request: HeaderValue,
}

impl Exchange {
    /// With the request id that the client sends, if it is one of at most 64 visible ASCII characters; else with a new one.
    pub(super) fn new(peer: &Arc<Peer>, headers: &HeaderMap, trusted: &[TrustedProxy]) -> Exchange {
        let is_valid = |id: &&HeaderValue| {
            (1..=MAX_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
        };
        let request = headers.get(REQUEST_ID).filter(is_valid).cloned().unwrap_or_else(new_request_id);
        let client = Client::new(peer.address.ip(), peer.is_tls, headers, trusted);
        Exchange { peer: Arc::clone(peer), client, request }
    }

    /// The address of the client.
    pub(super) fn address(&self) -> IpAddr {
        self.client.address
    }

    /// Who sent the request.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// What the connection has received of a message, on a WebSocket.
    pub(super) fn message(&self) -> &UnfinishedMessage {
        &self.peer.message
    }

    /// The id of the request.
    pub(super) fn request(&self) -> &str {
        self.request.to_str().unwrap_or_default()
    }

    /// Names the request in the headers of its response.
    pub(super) fn label(&self, response: &mut HeaderMap) {
        response.insert(REQUEST_ID, self.request.clone());
    }
}

/// How an entry of the record begins.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.peer.connection, self.request())
    }
}

/// An id that no other request of this server has, and none of another server is likely to have.
fn new_request_id() -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: std::sync::LazyLock<u64> =
        std::sync::LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
    let id = format!("{:016x}-{}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed));
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("none"))
}

impl App {
    /// Records a message that was received, if messages are recorded.
    pub(super) fn received(&self, exchange: &Exchange, message: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.received(exchange, message);
        }
    }

    /// Records a message that is sent.
    pub(super) fn sent(&self, exchange: &Exchange, message: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.sent(exchange, message);
        }
    }

    /// The same response, whose body is recorded while it is sent.
    pub(super) fn recorded(
        self: &Arc<Self>,
        exchange: &Exchange,
        response: http::Response<Body>,
    ) -> http::Response<Body> {
        if self.tap.is_none() {
            return response;
        }
        let (app, exchange) = (Arc::clone(self), exchange.clone());
        response.map(|body| Body::new(Recorded { body, app, exchange }))
    }
}

/// A body that is recorded while it is sent. The server writes an answer, or the events of a change, as one piece.
struct Recorded {
    body: Body,
    app: Arc<App>,
    exchange: Exchange,
}

impl HttpBody for Recorded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref().filter(|data| !data.is_empty())
        {
            self.app.sent(&self.exchange, data.trim_ascii_end());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}
