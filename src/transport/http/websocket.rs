//! The WebSocket transport, `/ws`: one JSON-RPC message per text frame, with everything that stdio
//! supports.
//!
//! A single task serves each conversation. It handles the client's messages in order, and sends
//! notifications between two of them. So, as on stdio, a notification never precedes the
//! acknowledgement of its subscription, never follows the cancellation, and never overtakes an
//! answer that was computed before the change.

use super::app::{RequestContext, wait_for_shutdown};
use super::budget::Reservation;
use super::client_limits::{self, BODY_TIMEOUT};
use super::metrics::{self, HandledMessage};
use super::refusal::{HttpResult, Refusal};
use crate::jsonrpc::{Id, Message, Response as RpcResponse};
use crate::lock::lock;
use crate::server::{Change, Listener, Reply, Session};
use crate::wording::format_size;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{
    CloseFrame, Message as Frame, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code,
};
use axum::response::IntoResponse;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::{Instant as TokioInstant, interval_at, timeout};
use tracing::{Instrument, Span};

pub(super) const PATH: &str = "/ws";

/// The subprotocol that the clients of the MCP SDKs require.
const SUBPROTOCOL: &str = "mcp";

/// How often the server pings a client.
const PING_INTERVAL: Duration = Duration::from_secs(15);

/// How many pings in a row a client may leave unanswered.
const MAX_UNANSWERED_PINGS: usize = 2;

/// How long the server tries to send its close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How many changes of the library may be queued for a client that doesn't read.
const MAX_QUEUED_CHANGES: usize = 64;

const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// The length of a client's control frame without its payload (RFC 6455, section 5.2).
const CONTROL_HEADER_BYTES: usize = 6;

/// Kept small because every connection has its own read buffer.
const READ_BUFFER_BYTES: usize = 4 * 1024;

/// Accepts the upgrade to a WebSocket, and serves the conversation on another task.
///
/// # Errors
/// Fails with 400 or 426 if the request asks for no upgrade.
pub(super) async fn open(
    context: RequestContext,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> HttpResult {
    let upgrade = upgrade.map_err(|rejection| {
        let problem = "this address is only for WebSockets";
        Refusal::wrong_address(rejection.into_response().status(), problem)
    })?;
    let limits = &context.app.request_limits;
    let peer = &context.client.peer;
    peer.switch_to_websocket(limits.memory.empty_reservation());
    let max_bytes = max_message_bytes(&context);
    let span = Span::current();
    let response = upgrade
        .protocols([SUBPROTOCOL])
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(max_bytes)
        .max_frame_size(max_bytes)
        .on_upgrade(move |socket| {
            let conversation = SocketConversation {
                session: Session::new(Arc::clone(&context.caller)),
                context,
                socket,
                unanswered_pings: 0,
            };
            conversation.serve().instrument(span)
        });
    Ok(response)
}

/// Returns how long a message may be, in bytes.
fn max_message_bytes(context: &RequestContext) -> usize {
    let max_body_bytes = context.app.request_limits.max_body_bytes;
    max_body_bytes.min(MAX_MESSAGE_BYTES)
}

struct SocketConversation {
    /// The context of the upgrade request.
    context: RequestContext,
    session: Session,
    socket: WebSocket,
    /// How many pings the server has sent since the last frame of the client.
    unanswered_pings: usize,
}

/// Something that a conversation waits for.
enum SocketEvent {
    /// A frame from the client, or the end of the connection (`None`).
    Frame(Option<Result<Frame, axum::Error>>),
    /// The client takes too long to send the rest of a message.
    MessageTimeout,
    /// The library has changed. `None` if the client has left too many changes unread.
    Change(Option<Change>),
    /// It is time to ping the client.
    PingTick,
    /// The server shuts down.
    Shutdown,
}

/// The answer to a message, if it gets one.
struct SocketAnswer {
    json: Option<String>,
    is_error: bool,
}

impl SocketAnswer {
    /// Returns the answer that a reply contains.
    fn from_reply(reply: Reply) -> SocketAnswer {
        match reply {
            // `App::handle` has run all deferred jobs, so none of these has an answer.
            Reply::None | Reply::Cancelled(_) | Reply::Deferred(_) => SocketAnswer {
                json: None,
                is_error: false,
            },
            Reply::Stream(acknowledgement) => SocketAnswer {
                json: Some(acknowledgement.to_json()),
                is_error: false,
            },
            Reply::Response(response) => SocketAnswer {
                is_error: response.error_code().is_some(),
                json: Some(response.into_json()),
            },
        }
    }

    /// Returns the error for a message that was refused. A notification has no id, and gets no
    /// answer, not even an error.
    fn refused(id: Option<&Id>, refusal: Refusal) -> SocketAnswer {
        let json = id.map(|id| {
            let response = RpcResponse::error(Some(id), refusal.into_rpc_error());
            response.into_json()
        });
        SocketAnswer {
            json,
            is_error: true,
        }
    }
}

/// Why a conversation ends.
enum End {
    /// The server closes it with this frame.
    Close(CloseFrame),
    /// The connection is already closed or broken.
    Disconnected,
}

/// Returns an end for which the server sends the client a code and a reason, e.g. 1008 and "the
/// client does not answer pings".
fn close(code: u16, reason: impl Into<Utf8Bytes>) -> End {
    End::Close(CloseFrame {
        code,
        reason: reason.into(),
    })
}

/// Returns how the conversation ends after an error of the WebSocket library. The close code says
/// whether a text isn't UTF-8, a message is longer than `max_bytes`, or something else is wrong.
fn end_after(error: &axum::BoxError, max_bytes: usize) -> End {
    match error.downcast_ref() {
        Some(tungstenite::Error::Utf8(_)) => close(close_code::INVALID, "the text is not UTF-8"),
        Some(tungstenite::Error::Capacity(_)) => {
            let max = format_size(max_bytes);
            close(
                close_code::SIZE,
                format!("the message is longer than {max}"),
            )
        }
        _ => {
            tracing::info!(error, "a WebSocket breaks the protocol");
            close(
                close_code::PROTOCOL,
                "the connection breaks the rules of WebSockets (RFC 6455)",
            )
        }
    }
}

/// The sending half of the queue of changes that a conversation has yet to notify its client of.
/// `None` after it was full once.
struct ChangeQueue(Mutex<Option<mpsc::Sender<Change>>>);

impl Listener for ChangeQueue {
    /// Queues a change. If the queue is full, closes it, which ends the conversation.
    fn notify(&self, change: &Change) {
        let mut sender = lock(&self.0);
        let Some(open_sender) = &*sender else { return };
        if open_sender.try_send(change.clone()).is_err() {
            *sender = None;
        }
    }
}

impl SocketConversation {
    /// Serves until the conversation ends, and sends the close frame if there is one.
    async fn serve(mut self) {
        let app = Arc::clone(&self.context.app);
        let _open = metrics::count_open(&app.metrics.websockets);
        let End::Close(frame) = self.converse().await else {
            return;
        };
        let reason = frame.reason.as_str();
        tracing::info!(code = frame.code, reason, "closing a WebSocket");
        let sent = self.socket.send(Frame::Close(Some(frame)));
        let _ = timeout(CLOSE_TIMEOUT, sent).await; // the connection is closed in any case
    }

    /// Handles events, one at a time, until one of them ends the conversation.
    async fn converse(&mut self) -> End {
        let app = Arc::clone(&self.context.app);
        let peer = Arc::clone(&self.context.client.peer);
        let (sender, mut changes) = mpsc::channel(MAX_QUEUED_CHANGES);
        // The server holds only a weak reference, so this must live as long as the conversation.
        let listener: Arc<dyn Listener> = Arc::new(ChangeQueue(Mutex::new(Some(sender))));
        app.server.add_listener(&listener);
        let mut shutdown = app.shutdown.clone();
        let mut ping_ticks = interval_at(TokioInstant::now() + PING_INTERVAL, PING_INTERVAL);
        loop {
            let event = tokio::select! {
                frame = self.socket.recv() => SocketEvent::Frame(frame),
                () = peer.wait_for_message_timeout(BODY_TIMEOUT) => SocketEvent::MessageTimeout,
                change = changes.recv() => SocketEvent::Change(change),
                _ = ping_ticks.tick() => SocketEvent::PingTick,
                () = wait_for_shutdown(&mut shutdown) => SocketEvent::Shutdown,
            };
            if let Err(end) = self.handle_event(event).await {
                return end;
            }
        }
    }

    /// Handles an event.
    ///
    /// # Errors
    /// Returns the end of the conversation if the event ends it.
    async fn handle_event(&mut self, event: SocketEvent) -> Result<(), End> {
        match event {
            SocketEvent::Frame(frame) => {
                self.unanswered_pings = 0; // any frame shows that the client is alive
                self.handle_frame(frame).await
            }
            SocketEvent::MessageTimeout => {
                let seconds = BODY_TIMEOUT.as_secs();
                let reason = format!("a message is not complete after {seconds} seconds");
                Err(close(close_code::POLICY, reason))
            }
            SocketEvent::Change(Some(change)) => self.notify(&change).await,
            SocketEvent::Change(None) => {
                let reason = "the client does not read its notifications";
                Err(close(close_code::POLICY, reason))
            }
            SocketEvent::PingTick => self.ping().await,
            SocketEvent::Shutdown => Err(close(close_code::AWAY, "the server was stopped")),
        }
    }

    /// Handles a frame from the client, or the end of the connection (`None`).
    ///
    /// # Errors
    /// Returns the end of the conversation if the connection is closed or the frame isn't allowed.
    async fn handle_frame(&mut self, frame: Option<Result<Frame, axum::Error>>) -> Result<(), End> {
        let frame = match frame {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                let max_bytes = max_message_bytes(&self.context);
                return Err(end_after(&error.into_inner(), max_bytes));
            }
            None => return Err(End::Disconnected),
        };
        match frame {
            Frame::Text(text) => {
                self.context.client.peer.complete_message();
                self.answer_text(text).await
            }
            Frame::Binary(_) => {
                let reason = "messages are text frames, not binary ones";
                Err(close(close_code::UNSUPPORTED, reason))
            }
            Frame::Ping(payload) => {
                self.release_control_frame(payload.len());
                // The library has already queued a pong, and would keep it in memory until the
                // client reads it. This one replaces it, and is flushed at once.
                self.write(Frame::Pong(payload)).await
            }
            Frame::Pong(payload) => {
                self.release_control_frame(payload.len());
                Ok(())
            }
            // The library answers it during the next read, which then returns `None`.
            Frame::Close(_) => Ok(()),
        }
    }

    /// Releases the memory of a ping or pong, which may arrive in the middle of a message.
    fn release_control_frame(&self, payload_bytes: usize) {
        let peer = &self.context.client.peer;
        peer.complete_control_frame(CONTROL_HEADER_BYTES + payload_bytes);
    }

    /// Parses and answers a message. If it is invalid, answers with an error.
    ///
    /// # Errors
    /// Returns the end of the conversation if the caller's token is no longer valid, there is too
    /// little memory, or the answer can't be sent.
    async fn answer_text(&mut self, text: Utf8Bytes) -> Result<(), End> {
        self.check_caller()?;
        self.context.client.record_received(text.as_bytes());
        let value_bytes = client_limits::max_bytes_of_values(text.as_bytes());
        let _reservation = self.reserve_memory(text.len() + value_bytes)?;
        match Message::parse(text.trim_ascii().as_bytes()) {
            Ok(message) => self.answer_message(message).await,
            Err(error_response) => {
                let answer = match self.context.admit(&[client_limits::NO_METHOD]) {
                    Ok(()) => error_response,
                    Err(refusal) => RpcResponse::error_without_id(refusal.into_rpc_error()),
                };
                self.send(answer.into_json()).await
            }
        }
    }

    /// Answers a message, and counts it against the rate limits and in the metrics.
    ///
    /// # Errors
    /// Returns the end of the conversation if the answer can't be sent.
    async fn answer_message(&mut self, message: Message) -> Result<(), End> {
        let app = Arc::clone(&self.context.app);
        let method = metrics::method_label(&message);
        let id = message.id();
        let started = Instant::now();
        // A POST without a permit is refused. A WebSocket can wait for one: it has only one message
        // in progress.
        let _permit = app.request_limits.permits.acquire().await;
        let answer = match self.handle_admitted(message).await {
            Ok(reply) => SocketAnswer::from_reply(reply),
            Err(refusal) => SocketAnswer::refused(id.as_ref(), refusal),
        };
        app.metrics.count_message(&HandledMessage {
            transport: "websocket",
            method,
            is_error: answer.is_error,
            duration: started.elapsed(),
        });
        match answer.json {
            Some(json) => self.send(json).await,
            None => Ok(()),
        }
    }

    /// Counts a message against the rate limits, handles it, and returns the reply.
    ///
    /// # Errors
    /// Fails with 429 if a rate limit is exceeded, and with 500 if the handler panics.
    async fn handle_admitted(&mut self, message: Message) -> Result<Reply, Refusal> {
        self.context.admit(&client_limits::methods(&message))?;
        let caller_key = self.context.caller_key();
        let app = &self.context.app;
        app.handle(caller_key, &mut self.session, message).await
    }

    /// Fails if the caller's token has expired, changed or been removed.
    fn check_caller(&self) -> Result<(), End> {
        let RequestContext { app, caller, .. } = &self.context;
        if app.options.access.is_still_valid(caller) {
            return Ok(());
        }
        let reason = "the bearer token is no longer valid";
        Err(close(close_code::POLICY, reason))
    }

    /// Sends the notifications of a change that the client has subscribed to.
    async fn notify(&mut self, change: &Change) -> Result<(), End> {
        self.check_caller()?;
        for notification in self.session.notifications(change) {
            self.send(notification.to_json()).await?;
        }
        Ok(())
    }

    /// Pings the client.
    ///
    /// # Errors
    /// Returns the end of the conversation if the client has left too many pings unanswered, if its
    /// token is no longer valid, or if the ping can't be sent.
    async fn ping(&mut self) -> Result<(), End> {
        if self.unanswered_pings == MAX_UNANSWERED_PINGS {
            let reason = "the client does not answer pings";
            return Err(close(close_code::POLICY, reason));
        }
        self.unanswered_pings += 1;
        self.check_caller()?;
        self.write(Frame::Ping(Default::default())).await
    }

    /// Records a message in the tap, and sends it.
    async fn send(&mut self, json: String) -> Result<(), End> {
        self.context.client.record_sent(json.as_bytes());
        let _reservation = self.reserve_memory(json.len())?;
        self.write(Frame::Text(json.into())).await
    }

    /// Reserves memory until the result is dropped. If there is too little, ends the conversation,
    /// with a code that tells the client to connect again.
    fn reserve_memory(&self, bytes: usize) -> Result<Reservation, End> {
        let mut reservation = self.context.app.request_limits.memory.empty_reservation();
        match reservation.resize(bytes) {
            Ok(()) => Ok(reservation),
            Err(refusal) => Err(close(close_code::AGAIN, refusal.message)),
        }
    }

    /// Writes a frame. If the client doesn't read it in time, the connection is closed, and this
    /// fails.
    async fn write(&mut self, frame: Frame) -> Result<(), End> {
        let written = self.socket.send(frame).await;
        written.map_err(|_| End::Disconnected)
    }
}
