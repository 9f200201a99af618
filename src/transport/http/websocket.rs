//! The WebSocket transport, `/ws`: one JSON-RPC message in each text frame, and all that stdio can do.
//!
//! One task has the conversation. It handles messages in their order, and between two of them what the notifier has found. So, as
//! on stdio, a notification never precedes the acknowledgement of its subscription, never follows its cancellation, and never
//! overtakes an answer that was made before the change.

use super::exchange::Exchange;
use super::{App, Stage, metrics, reached};
use crate::jsonrpc::{Message, Outgoing, Response};
use crate::server::{Change, Listener, Reply, Session};
use axum::Extension;
use axum::body::Body;
use axum::extract::ws::{self, CloseFrame, Utf8Bytes, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, State};
use axum::http;
use axum::response::IntoResponse;
use serde_json::value::RawValue;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
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

/// How long a client may take to read a message.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// How long a client may take to send a message. It is checked when the client is pinged.
const SEND_WITHIN: Duration = Duration::from_secs(30);

/// How many changes of the library may wait for a client that does not read.
const MAX_WAITING: usize = 64;

/// How much is read at once, in bytes. Each connection has a buffer of this size.
const READ_BUFFER: usize = 4 * 1024;

/// Answers the request for an upgrade, and serves the conversation.
pub(super) async fn open(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    let (mut head, _) = request.into_parts();
    let caller = match app.admit(&head, &exchange) {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_text(),
    };
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut head, &app).await {
        Ok(upgrade) => upgrade.protocols([SUBPROTOCOL]).read_buffer_size(READ_BUFFER),
        Err(rejection) => return rejection.into_response(),
    };
    let (max, span) = (app.max_body, Span::current());
    let session = Session::new(caller);
    upgrade
        .max_message_size(max)
        .max_frame_size(max)
        .on_upgrade(move |socket| Conversation { app, exchange, session, socket }.serve().instrument(span))
}

struct Conversation {
    app: Arc<App>,
    /// The request for the upgrade.
    exchange: Exchange,
    session: Session,
    socket: ws::WebSocket,
}

/// Why a conversation ends.
enum End {
    /// The client closed it, or cannot be reached.
    Gone,
    /// The server closes it, with a code of RFC 6455 and a reason.
    Close(u16, String),
}

/// Collects the changes for a conversation.
struct Changes(Mutex<Option<mpsc::Sender<Change>>>);

impl Listener for Changes {
    fn notify(&self, change: &Change) {
        let mut changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.as_ref().is_some_and(|changes| changes.try_send(change.clone()).is_err()) {
            *changes = None; // which ends the conversation
        }
    }
}

impl Conversation {
    /// Serves until either side ends it.
    async fn serve(mut self) {
        let _open = self.app.metrics.websocket();
        self.exchange.message().start();
        let (sender, mut changes) = mpsc::channel(MAX_WAITING);
        let listener: Arc<dyn Listener> = Arc::new(Changes(Mutex::new(Some(sender))));
        self.app.server.add_listener(&listener);
        let mut stage = self.app.stage.clone();
        let mut pings = interval_at(TokioInstant::now() + PING_EVERY, PING_EVERY);
        let mut unanswered = 0;
        let end = loop {
            let step = tokio::select! {
                frame = self.socket.recv() => {
                    unanswered = 0;
                    self.receive(frame).await
                }
                change = changes.recv() => self.notify(change).await,
                _ = pings.tick() => {
                    unanswered += 1;
                    self.ping(unanswered).await
                }
                () = reached(&mut stage, Stage::Stopping) => {
                    Err(End::Close(close_code::AWAY, "the server was stopped".to_owned()))
                }
            };
            if let Err(end) = step {
                break end;
            }
        };
        self.exchange.message().end();
        if let End::Close(code, reason) = end {
            tracing::info!(code, reason, "closing a WebSocket");
            let frame = CloseFrame { code, reason: reason.into() };
            let _ = timeout(Duration::from_secs(1), self.socket.send(ws::Message::Close(Some(frame)))).await;
        }
    }

    async fn receive(&mut self, frame: Option<Result<ws::Message, axum::Error>>) -> Result<(), End> {
        match frame {
            Some(Ok(ws::Message::Text(text))) => {
                let answered = self.answer(text).await;
                self.exchange.message().finish();
                answered
            }
            Some(Ok(ws::Message::Binary(_))) => {
                Err(End::Close(close_code::UNSUPPORTED, "messages are text frames, not binary ones".to_owned()))
            }
            // The answer takes the place of that which the next read would leave in memory until the client reads it.
            Some(Ok(ws::Message::Ping(payload))) => {
                self.exchange.message().leave_out_frame(payload.len());
                self.write(ws::Message::Pong(payload)).await
            }
            Some(Ok(ws::Message::Pong(payload))) => {
                self.exchange.message().leave_out_frame(payload.len());
                Ok(())
            }
            // It is answered with the next read.
            Some(Ok(ws::Message::Close(_))) => Ok(()),
            None => Err(End::Gone),
            Some(Err(error)) => Err(refusal(error, self.app.max_body)),
        }
    }

    /// Handles a message, and sends what it is answered with.
    async fn answer(&mut self, text: Utf8Bytes) -> Result<(), End> {
        self.check_caller()?;
        self.app.received(&self.exchange, text.as_bytes());
        let message = match Message::parse(text.trim_ascii().as_bytes()) {
            Ok(message) => message,
            Err(refusal) => return self.send(refusal.to_json()).await,
        };
        drop(text);
        let (method, id, started) = (metrics::label(&message), message.id(), Instant::now());
        let app = Arc::clone(&self.app);
        // A conversation has one request at a time, so that a crowd of them can wait where single requests are refused.
        let _permit = app.requests.acquire().await;
        let session = Session::new(self.session.caller().clone());
        let session = std::mem::replace(&mut self.session, session);
        let (reply, session) = match app.rate_limits.take(self.session.caller(), self.exchange.address(), &message) {
            Ok(()) => app.handle(session, message, id).await,
            // A notification has no answer, not even this one.
            Err(refusal) => {
                let answer = |id| Reply::Response(Response::error(Some(id), refusal.error));
                (id.map_or(Reply::None, answer), Some(session))
            }
        };
        let (json, is_error) = match reply {
            Reply::None => (None, false),
            Reply::Response(response) => (Some(response.to_json()), response.error_code().is_some()),
            Reply::Stream(acknowledgement) => (Some(acknowledgement.to_json()), false),
        };
        app.metrics.answered("websocket", method, is_error, started.elapsed());
        if let Some(json) = json {
            self.send(json).await?;
        }
        // Without its session, which the late request still has, the conversation cannot go on.
        self.session =
            session.ok_or_else(|| End::Close(close_code::ERROR, "a request was not answered in time".to_owned()))?;
        Ok(())
    }

    /// A token may expire, or be removed.
    fn check_caller(&self) -> Result<(), End> {
        if self.app.access.is_still_valid(self.session.caller()) {
            return Ok(());
        }
        Err(End::Close(close_code::POLICY, "the bearer token is no longer valid".to_owned()))
    }

    async fn notify(&mut self, change: Option<Change>) -> Result<(), End> {
        let Some(change) = change else {
            return Err(End::Close(close_code::POLICY, "the client does not read its notifications".to_owned()));
        };
        self.check_caller()?;
        for notification in self.session.notifications(&change) {
            self.send(notification.to_json()).await?;
        }
        Ok(())
    }

    async fn ping(&mut self, unanswered: usize) -> Result<(), End> {
        if unanswered > MAX_UNANSWERED {
            return Err(End::Close(close_code::POLICY, "the client does not answer pings".to_owned()));
        }
        if self.exchange.message().is_older_than(SEND_WITHIN) {
            let reason = format!("a message was not sent within {} seconds", SEND_WITHIN.as_secs());
            return Err(End::Close(close_code::POLICY, reason));
        }
        self.check_caller()?;
        self.write(ws::Message::Ping(Default::default())).await
    }

    async fn send(&mut self, json: serde_json::Result<Box<RawValue>>) -> Result<(), End> {
        let json = json.map_err(|error| End::Close(close_code::ERROR, error.to_string()))?;
        let text = String::from(Box::<str>::from(json));
        self.app.sent(&self.exchange, text.as_bytes());
        self.write(ws::Message::Text(text.into())).await
    }

    async fn write(&mut self, message: ws::Message) -> Result<(), End> {
        match timeout(READ_WITHIN, self.socket.send(message)).await {
            Ok(written) => written.map_err(|_| End::Gone),
            Err(_) => {
                tracing::info!("a client does not read: its WebSocket is closed");
                Err(End::Gone)
            }
        }
    }
}

/// What the server says of a frame that could not be read.
fn refusal(error: axum::Error, max: usize) -> End {
    use tungstenite::Error;
    // axum passes on the errors of this crate.
    match error.into_inner().downcast_ref() {
        Some(Error::Capacity(_)) => End::Close(close_code::SIZE, format!("the message is longer than {max} bytes")),
        Some(Error::Utf8(_)) => End::Close(close_code::INVALID, "the message is not UTF-8".to_owned()),
        Some(Error::Io(error)) if error.kind() == ErrorKind::QuotaExceeded => {
            End::Close(close_code::AGAIN, format!("{error}; try again later"))
        }
        Some(Error::Protocol(error)) => End::Close(close_code::PROTOCOL, error.to_string()),
        _ => End::Gone,
    }
}
