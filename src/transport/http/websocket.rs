//! The WebSocket transport, `/ws`: one JSON-RPC message in each text frame, and all that stdio can
//! do.
//!
//! One task has the conversation. It handles messages in their order, and changes of the library
//! between two messages. So, as on stdio, a notification never precedes the acknowledgement of its
//! subscription, never follows its cancellation, and never overtakes an answer that was made before
//! the change.

use super::app::{Exchange, stopped};
use super::budget::Reservation;
use super::client_limits::{self, BODY_WITHIN};
use super::metrics::{self, HandledMessage};
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

pub(super) const PATH: &str = "/ws";

/// The subprotocol, which the clients of the SDKs demand.
const SUBPROTOCOL: &str = "mcp";

/// How often an idle client is pinged, and how many pings in a row it may leave unanswered.
const PING_EVERY: Duration = Duration::from_secs(15);
const MAX_UNANSWERED: usize = 2;

/// How long the server waits until its close frame is sent.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// How many changes of the library may wait for a client that does not read.
const MAX_WAITING: usize = 64;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 1024 * 1024;

/// The length of a client's ping or pong without its payload, in bytes (RFC 6455, section 5.2).
const CONTROL_FRAME: usize = 6;

/// How much is read at once, in bytes. Each connection has a buffer of this size.
const READ_BUFFER: usize = 4 * 1024;

/// Answers the request for an upgrade, and serves the conversation on another task.
pub(super) async fn open(exchange: Exchange, upgrade: WebSocketUpgrade) -> Response {
    let requests = &exchange.app.requests;
    exchange
        .client
        .peer
        .becomes_websocket(requests.memory.empty_reservation());
    let max = requests.max_body.min(MAX_MESSAGE);
    let span = Span::current();
    upgrade
        .protocols([SUBPROTOCOL])
        .read_buffer_size(READ_BUFFER)
        .max_message_size(max)
        .max_frame_size(max)
        .on_upgrade(move |socket| {
            let conversation = SocketConversation {
                session: Session::new(Arc::clone(&exchange.caller)),
                exchange,
                socket,
            };
            conversation.serve().instrument(span)
        })
}

/// The conversation of one WebSocket.
struct SocketConversation {
    /// The request for the upgrade.
    exchange: Exchange,
    session: Session,
    socket: WebSocket,
}

/// The end of a conversation.
enum End {
    /// The server closes it with this frame.
    Close(CloseFrame),
    /// The client is gone.
    Gone,
}

/// Returns an end of which the server tells the client the code and the reason: `1008` and
/// `the client does not answer pings`.
fn closing(code: u16, reason: impl Into<Utf8Bytes>) -> End {
    End::Close(CloseFrame {
        code,
        reason: reason.into(),
    })
}

/// Holds the changes until the conversation has time for them.
struct ChangeQueue(Mutex<Option<mpsc::Sender<Change>>>);

impl ChangeQueue {
    fn new(sender: mpsc::Sender<Change>) -> ChangeQueue {
        ChangeQueue(Mutex::new(Some(sender)))
    }
}

impl Listener for ChangeQueue {
    /// Adds a change. A full queue is closed, which ends the conversation.
    fn tell(&self, change: &Change) {
        let mut sender = lock(&self.0);
        let Some(changes) = &*sender else { return };
        if changes.try_send(change.clone()).is_err() {
            *sender = None;
        }
    }
}

impl SocketConversation {
    /// Serves until either side ends the conversation.
    async fn serve(mut self) {
        let app = Arc::clone(&self.exchange.app);
        let _open = metrics::open(&app.metrics.websockets);
        let End::Close(frame) = self.converse().await else {
            return;
        };
        let reason = frame.reason.as_str();
        tracing::info!(code = frame.code, reason, "closing a WebSocket");
        let close = self.socket.send(Frame::Close(Some(frame)));
        let _ = timeout(CLOSE_WITHIN, close).await; // the connection ends in any case
    }

    /// Handles frames of the client, changes of the library and ticks of the clock, one after the
    /// other, until something ends the conversation.
    async fn converse(&mut self) -> End {
        let app = Arc::clone(&self.exchange.app);
        let peer = Arc::clone(&self.exchange.client.peer);
        let (sender, mut changes) = mpsc::channel(MAX_WAITING);
        let listener: Arc<dyn Listener> = Arc::new(ChangeQueue::new(sender));
        app.server.add_listener(&listener);
        let mut stopping = app.stopping.clone();
        let mut pings = interval_at(TokioInstant::now() + PING_EVERY, PING_EVERY);
        let mut unanswered = 0;
        loop {
            let step = tokio::select! {
                frame = self.socket.recv() => {
                    unanswered = 0;
                    self.receive(frame).await
                }
                () = peer.late_message(BODY_WITHIN) => {
                    let seconds = BODY_WITHIN.as_secs();
                    let reason = format!("a message is not complete after {seconds} seconds");
                    Err(closing(close_code::POLICY, reason))
                }
                change = changes.recv() => self.notify(change).await,
                _ = pings.tick() => {
                    unanswered += 1;
                    self.ping(unanswered).await
                }
                () = stopped(&mut stopping) => {
                    Err(closing(close_code::AWAY, "the server was stopped"))
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    /// Handles the next frame. `None` means that the client has closed the connection.
    ///
    /// # Errors
    /// The end of the conversation: the client is gone, or has sent a frame that is not allowed.
    async fn receive(&mut self, frame: Option<Result<Frame, axum::Error>>) -> Result<(), End> {
        let frame = match frame {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Err(closing(close_code::PROTOCOL, error.to_string())),
            None => return Err(End::Gone),
        };
        match frame {
            Frame::Text(text) => {
                self.exchange.client.peer.forget_received(usize::MAX);
                self.answer(text).await
            }
            Frame::Binary(_) => {
                let reason = "messages are text frames, not binary ones";
                Err(closing(close_code::UNSUPPORTED, reason))
            }
            Frame::Ping(payload) => {
                self.forget_control_frame(payload.len());
                // The library has queued a pong, too, which this one replaces. Otherwise the queued
                // one would stay in memory until the client reads it.
                self.write(Frame::Pong(payload)).await
            }
            Frame::Pong(payload) => {
                self.forget_control_frame(payload.len());
                Ok(())
            }
            // The library answers a close with the next read.
            Frame::Close(_) => Ok(()),
        }
    }

    /// Forgets the bytes of a ping or a pong, which may come in the middle of a message.
    fn forget_control_frame(&self, payload: usize) {
        let peer = &self.exchange.client.peer;
        peer.forget_received(CONTROL_FRAME + payload);
    }

    /// Parses the text of a message, and answers it. A text that is not a message gets an error.
    ///
    /// # Errors
    /// The end of the conversation: the caller's token is no longer valid, there is too little
    /// memory, or the client is gone.
    async fn answer(&mut self, text: Utf8Bytes) -> Result<(), End> {
        self.check_caller()?;
        self.exchange.client.received(text.as_bytes());
        let _reservation =
            self.reserve(text.len() + client_limits::bytes_of_values(text.as_bytes()))?;
        match Message::parse(text.trim_ascii().as_bytes()) {
            Ok(message) => self.answer_message(message).await,
            Err(error) => {
                let answer = match self.exchange.take(&[client_limits::NO_METHOD]) {
                    Ok(()) => error,
                    Err(refusal) => RpcResponse::error(None, refusal.into_error()),
                };
                self.send(answer.into_json()).await
            }
        }
    }

    /// Answers a message, and counts it for the limits of the caller and for the metrics.
    ///
    /// # Errors
    /// The end of the conversation: the answer could not be sent.
    async fn answer_message(&mut self, message: Message) -> Result<(), End> {
        let app = Arc::clone(&self.exchange.app);
        let method = metrics::label(&message);
        let id = message.id();
        let started = Instant::now();
        // A conversation has one request at a time, so it may wait for a permit, where a request by
        // POST would be refused.
        let _permit = app.requests.free.acquire().await;
        let result = match self.exchange.take(&client_limits::methods(&message)) {
            Ok(()) => {
                let caller = self.exchange.key();
                app.handle(caller, &mut self.session, message).await
            }
            Err(refusal) => Err(refusal),
        };
        let mut is_error = false;
        let answer = match result {
            Ok(Reply::None | Reply::Cancelled(_) | Reply::Later(_)) => None,
            Ok(Reply::Stream(acknowledgement)) => Some(acknowledgement.to_json()),
            Ok(Reply::Response(response)) => {
                is_error = response.error_code().is_some();
                Some(response.into_json())
            }
            Err(refusal) => {
                is_error = true;
                // A notification gets no answer, not even an error.
                id.map(|id| RpcResponse::error(Some(&id), refusal.into_error()).into_json())
            }
        };
        app.metrics.count_message(&HandledMessage {
            transport: "websocket",
            method,
            is_error,
            duration: started.elapsed(),
        });
        match answer {
            Some(json) => self.send(json).await,
            None => Ok(()),
        }
    }

    /// Checks that the token of the caller has not expired, and was not removed.
    fn check_caller(&self) -> Result<(), End> {
        let Exchange { app, caller, .. } = &self.exchange;
        if app.options.access.is_still_valid(caller) {
            return Ok(());
        }
        let reason = "the bearer token is no longer valid";
        Err(closing(close_code::POLICY, reason))
    }

    /// Sends the notifications of a change. `None` means that the queue of changes was full.
    async fn notify(&mut self, change: Option<Change>) -> Result<(), End> {
        let Some(change) = change else {
            let reason = "the client does not read its notifications";
            return Err(closing(close_code::POLICY, reason));
        };
        self.check_caller()?;
        for notification in self.session.notifications(&change) {
            self.send(notification.to_json()).await?;
        }
        Ok(())
    }

    /// Sends a ping, unless this client has left too many pings unanswered.
    async fn ping(&mut self, unanswered: usize) -> Result<(), End> {
        if unanswered > MAX_UNANSWERED {
            let reason = "the client does not answer pings";
            return Err(closing(close_code::POLICY, reason));
        }
        self.check_caller()?;
        self.write(Frame::Ping(Default::default())).await
    }

    /// Sends a message, and records it.
    async fn send(&mut self, text: String) -> Result<(), End> {
        self.exchange.client.sent(text.as_bytes());
        let _reservation = self.reserve(text.len())?;
        self.write(Frame::Text(text.into())).await
    }

    /// Reserves memory for a message until the result is dropped. If there is too little, the
    /// conversation ends, and the client may connect again.
    fn reserve(&self, bytes: usize) -> Result<Reservation, End> {
        let mut reservation = self.exchange.app.requests.memory.empty_reservation();
        match reservation.set(bytes) {
            Ok(()) => Ok(reservation),
            Err(refusal) => Err(closing(close_code::AGAIN, refusal.message)),
        }
    }

    /// Writes a frame. If the client does not read for long, its connection ends.
    async fn write(&mut self, frame: Frame) -> Result<(), End> {
        self.socket.send(frame).await.map_err(|_| End::Gone)
    }
}
