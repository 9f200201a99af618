//! The WebSocket transport, `/ws`: one JSON-RPC message in each text frame, and all that stdio can
//! do.
//!
//! One task has the conversation. It handles messages in their order, and between two of them what
//! the notifier has found. So, as on stdio, a notification never precedes the acknowledgement of
//! its subscription, never follows its cancellation, and never overtakes an answer that was made
//! before the change.

use super::app::{Exchange, stopped};
use super::limits::{self, BODY_WITHIN};
use super::metrics;
use super::refusal::Refusal;
use crate::jsonrpc::{Message, Response as RpcResponse};
use crate::lock::lock;
use crate::server::{Change, Listener, Reply, Session};
use axum::extract::ws::{
    CloseFrame, Message as Frame, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code,
};
use axum::response::Response;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::{Instant as TokioInstant, interval_at, timeout};
use tracing::{Instrument, Span};

/// The path of WebSockets.
pub(super) const PATH: &str = "/ws";

/// The subprotocol, which the clients of the SDKs demand.
const SUBPROTOCOL: &str = "mcp";

/// How often an idle client is pinged, and how many pings in a row it may leave unanswered.
const PING_EVERY: Duration = Duration::from_secs(15);
const MAX_UNANSWERED: usize = 2;

/// How many changes of the library may wait for a client that does not read.
const MAX_WAITING: usize = 64;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 1024 * 1024;

/// The length of a client's ping or pong without its payload, in bytes (RFC 6455, section 5.2).
const CONTROL_FRAME: usize = 6;

/// How much is read at once, in bytes. Each connection has a buffer of this size.
const READ_BUFFER: usize = 4 * 1024;

/// Answers the request for an upgrade, and serves the conversation.
pub(super) async fn open(exchange: Exchange, upgrade: WebSocketUpgrade) -> Response {
    let max = exchange.app.requests.max_body.min(MAX_MESSAGE);
    let upgrade = upgrade
        .protocols([SUBPROTOCOL])
        .read_buffer_size(READ_BUFFER);
    let span = Span::current();
    let Exchange { app, client, .. } = &exchange;
    client.peer.becomes_websocket(app.requests.memory.empty());
    upgrade
        .max_message_size(max)
        .max_frame_size(max)
        .on_upgrade(move |socket| {
            Conversation {
                session: Session::new(Arc::clone(&exchange.caller)),
                exchange,
                socket,
            }
            .serve()
            .instrument(span)
        })
}

struct Conversation {
    /// The request for the upgrade.
    exchange: Exchange,
    session: Session,
    socket: WebSocket,
}

/// Why a conversation ends: the server closes it, or (`None`) the client is gone.
type End = Option<CloseFrame>;

fn closing(code: u16, reason: impl Into<Utf8Bytes>) -> End {
    Some(CloseFrame {
        code,
        reason: reason.into(),
    })
}

/// Holds the changes until the conversation has time for them.
struct ChangeQueue(Mutex<Option<mpsc::Sender<Change>>>);

impl Listener for ChangeQueue {
    fn tell(&self, change: &Change) {
        let mut changes = lock(&self.0);
        if changes
            .as_ref()
            .is_some_and(|changes| changes.try_send(change.clone()).is_err())
        {
            *changes = None; // which ends the conversation
        }
    }
}

impl Conversation {
    /// Serves until either side ends it.
    async fn serve(mut self) {
        let app = Arc::clone(&self.exchange.app);
        let _open = metrics::open(&app.metrics.websockets);
        let (sender, mut changes) = mpsc::channel(MAX_WAITING);
        let listener: Arc<dyn Listener> = Arc::new(ChangeQueue(Mutex::new(Some(sender))));
        app.server.add_listener(&listener);
        let mut stopping = app.stopping.clone();
        let mut pings = interval_at(TokioInstant::now() + PING_EVERY, PING_EVERY);
        let mut unanswered = 0;
        let peer = Arc::clone(&self.exchange.client.peer);
        let end = loop {
            let step = tokio::select! {
                frame = self.socket.recv() => {
                    unanswered = 0;
                    self.receive(frame).await
                }
                () = peer.has_late_message(BODY_WITHIN) => Err(closing(
                    close_code::POLICY,
                    format!("a message is not complete after {} seconds", BODY_WITHIN.as_secs()),
                )),
                change = changes.recv() => self.notify(change).await,
                _ = pings.tick() => {
                    unanswered += 1;
                    self.ping(unanswered).await
                }
                () = stopped(&mut stopping) => Err(closing(close_code::AWAY, "the server was stopped")),
            };
            if let Err(end) = step {
                break end;
            }
        };
        if let Some(frame) = end {
            tracing::info!(
                code = frame.code,
                reason = frame.reason.as_str(),
                "closing a WebSocket"
            );
            let _ = timeout(
                Duration::from_secs(1),
                self.socket.send(Frame::Close(Some(frame))),
            )
            .await;
        }
    }

    async fn receive(&mut self, frame: Option<Result<Frame, axum::Error>>) -> Result<(), End> {
        match frame {
            Some(Ok(Frame::Text(text))) => {
                self.exchange.client.peer.forget_received(usize::MAX);
                self.answer(text).await
            }
            Some(Ok(Frame::Binary(_))) => Err(closing(
                close_code::UNSUPPORTED,
                "messages are text frames, not binary ones",
            )),
            // This replaces the answer that the next read would keep in memory until the client
            // reads it.
            Some(Ok(Frame::Ping(payload))) => {
                self.forget_control_frame(payload.len());
                self.write(Frame::Pong(payload)).await
            }
            Some(Ok(Frame::Pong(payload))) => {
                self.forget_control_frame(payload.len());
                Ok(())
            }
            // A close is answered with the next read.
            Some(Ok(Frame::Close(_))) => Ok(()),
            Some(Err(error)) => Err(closing(close_code::PROTOCOL, error.to_string())),
            None => Err(None),
        }
    }

    /// Forgets a ping or a pong, which may come in the middle of a message.
    fn forget_control_frame(&self, payload: usize) {
        let peer = &self.exchange.client.peer;
        peer.forget_received(CONTROL_FRAME + payload);
    }

    /// Handles a message, and sends the answer.
    async fn answer(&mut self, text: Utf8Bytes) -> Result<(), End> {
        self.check_caller()?;
        let app = Arc::clone(&self.exchange.app);
        self.exchange.client.received(text.as_bytes());
        let mut held = app.requests.memory.empty();
        held.set(text.len() + limits::bytes_of_values(text.as_bytes()))
            .map_err(|refusal| closing(close_code::AGAIN, refusal.message))?;
        let message = match Message::parse(text.trim_ascii().as_bytes()) {
            Ok(message) => message,
            Err(error) => {
                let answer = match self.exchange.take(&[limits::NO_METHOD]) {
                    Ok(()) => error,
                    Err(refusal) => RpcResponse::error(None, refusal.into_error()),
                };
                return self.send(answer.into_json()).await;
            }
        };
        drop(text);
        let (method, id, started) = (metrics::label(&message), message.id(), Instant::now());
        // A conversation has one request at a time, so it may wait for a permit, where a request by
        // POST would be refused.
        let _permit = app.requests.free.acquire().await;
        let handled = match self.exchange.take(&limits::methods(&message)) {
            Ok(()) => self.handle(message).await,
            Err(refusal) => Err(refusal),
        };
        let (json, is_error) = match handled {
            Ok(Reply::None | Reply::Cancelled(_) | Reply::Later(_)) => (None, false),
            Ok(Reply::Response(response)) => {
                let is_error = response.error_code().is_some();
                (Some(response.into_json()), is_error)
            }
            Ok(Reply::Stream(acknowledgement)) => (Some(acknowledgement.to_json()), false),
            // A notification gets no answer, not even an error.
            Err(refusal) => (
                id.map(|id| RpcResponse::error(Some(&id), refusal.into_error()).into_json()),
                true,
            ),
        };
        app.metrics
            .answered("websocket", method, is_error, started.elapsed());
        match json {
            Some(json) => self.send(json).await,
            None => Ok(()),
        }
    }

    async fn handle(&mut self, message: Message) -> Result<Reply, Refusal> {
        let empty = Session::new(Arc::clone(&self.exchange.caller));
        let (reply, session) = self
            .exchange
            .app
            .handle(
                self.exchange.key(),
                std::mem::replace(&mut self.session, empty),
                message,
            )
            .await?;
        self.session = session;
        Ok(reply)
    }

    /// A token may expire, or be removed.
    fn check_caller(&self) -> Result<(), End> {
        if self
            .exchange
            .app
            .options
            .access
            .is_still_valid(&self.exchange.caller)
        {
            return Ok(());
        }
        Err(closing(
            close_code::POLICY,
            "the bearer token is no longer valid",
        ))
    }

    async fn notify(&mut self, change: Option<Change>) -> Result<(), End> {
        let Some(change) = change else {
            return Err(closing(
                close_code::POLICY,
                "the client does not read its notifications",
            ));
        };
        self.check_caller()?;
        for notification in self.session.notifications(&change) {
            self.send(notification.to_json()).await?;
        }
        Ok(())
    }

    async fn ping(&mut self, unanswered: usize) -> Result<(), End> {
        if unanswered > MAX_UNANSWERED {
            return Err(closing(
                close_code::POLICY,
                "the client does not answer pings",
            ));
        }
        self.check_caller()?;
        self.write(Frame::Ping(Default::default())).await
    }

    async fn send(&mut self, text: String) -> Result<(), End> {
        self.exchange.client.sent(text.as_bytes());
        let mut held = self.exchange.app.requests.memory.empty();
        held.set(text.len())
            .map_err(|refusal| closing(close_code::AGAIN, refusal.message))?;
        self.write(Frame::Text(text.into())).await
    }

    /// If the client does not read, the connection ends.
    async fn write(&mut self, frame: Frame) -> Result<(), End> {
        self.socket.send(frame).await.map_err(|_| None)
    }
}
