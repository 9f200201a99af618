//! The stdio transport: JSON-RPC messages on standard input and output, one on each line or in a frame, until the end of input.
//!
//! Two threads write to the output: the caller of [`serve`] writes answers, and the server's notifier writes
//! notifications. Both lock the conversation to do so, and a message is handled while it is locked. So a
//! notification never precedes the acknowledgement of its subscription, never follows its cancellation, and never
//! overtakes an answer that was made before the change.

mod framing;

pub use framing::MAX_MESSAGE;

use super::tap::Tap;
use crate::jsonrpc::{Error, Message, Notification, Outgoing, Output, Response};
use crate::library::Caller;
use crate::server::{Change, Listener, Reply, Server, Session};
use framing::{Framing, Input, Received};
use std::io::{self, BufWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much output is collected before it is written, in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;

/// One client: what the server knows of it, and the way to it.
struct Conversation {
    session: Session,
    /// That of the last message from the client.
    framing: Framing,
    output: Output,
    tap: Option<Tap>,
    /// Why notifications could not be written. It ends the conversation with the next line.
    failure: Option<io::Error>,
}

/// Serves one client until the end of input. A last line without a line ending is served too. `tap` records all messages.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve(
    server: &Server,
    input: impl Read,
    output: impl Write + Send + 'static,
    tap: Option<Tap>,
) -> io::Result<()> {
    let output: Output = BufWriter::with_capacity(OUTPUT_BUFFER, Box::new(output));
    let (session, framing) = (Session::new(Caller::local()), Framing::Line);
    let conversation = Arc::new(Mutex::new(Conversation { session, framing, output, tap, failure: None }));
    let listener: Arc<dyn Listener> = Arc::clone(&conversation) as _;
    server.add_listener(&listener);
    keep_freed_memory();
    let mut input = Input::new(input);
    while let Some((framing, received)) = input.next()? {
        let (text, message) = match received {
            Received::Message(text) => (text, parse(text)),
            Received::TooLong => (&b"(a message that is too long)"[..], Some(Err(too_long()))),
            Received::OnlyHeaders => (&b"(headers without JSON)"[..], Some(Err(only_headers()))),
        };
        let mut conversation = lock(&conversation);
        conversation.record_received(framing, text);
        if let Some(message) = message {
            conversation.framing = framing;
            conversation.receive(server, message)?;
        }
        // Answers to lines that arrived together are written together. Without a further line the buffer is empty, so that
        // the end of input does not wait for a notifier that is blocked by a client that does not read.
        if !input.has_next() {
            conversation.output.flush()?;
        }
    }
    Ok(())
}

/// Lets the allocator keep a few freed megabytes for the next request.
///
/// glibc returns the free end of the heap to the system when it exceeds twice the largest block that was freed so far, and the
/// system clears each page again for the next request. That is 40 % of the CPU time of inputs of 1 MiB.
fn keep_freed_memory() {
    const LARGEST_BLOCK: usize = 8 * 1024 * 1024;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGEST_BLOCK)));
}

/// A panic cannot leave a conversation half changed: [`Server::handle`] catches it.
fn lock(conversation: &Mutex<Conversation>) -> MutexGuard<'_, Conversation> {
    conversation.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The message in a text; `None` if it is empty.
fn parse(text: &[u8]) -> Option<Result<Message, Response>> {
    let text = text.trim_ascii();
    let message = (!text.is_empty()).then(|| Message::parse(text));
    if let Some(Err(_)) = message {
        tracing::warn!(bytes = text.len(), "a line is not a message");
    }
    message
}

fn too_long() -> Response {
    let message = format!("a message is longer than {MAX_MESSAGE} bytes, and was skipped");
    tracing::warn!("{message}");
    Response::error(None, Error::invalid_request(message))
}

fn only_headers() -> Response {
    let message = "a frame must have a JSON object or array after its headers and an empty line";
    tracing::warn!("{message}");
    Response::error(None, Error::parse_error(message))
}

impl Conversation {
    fn receive(&mut self, server: &Server, message: Result<Message, Response>) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        let message = match message {
            Ok(message) => message,
            Err(refusal) => return self.send(&refusal),
        };
        match server.handle(&mut self.session, message) {
            Reply::None => Ok(()),
            Reply::Response(response) => self.send(&response),
            Reply::Stream(acknowledgement) => self.send(&acknowledgement),
        }
    }

    /// Writes a message, a line with the next flush at the latest.
    fn send(&mut self, message: &impl Outgoing) -> io::Result<()> {
        if self.framing == Framing::Line && self.tap.is_none() {
            message.write(&mut self.output)?;
            return self.output.write_all(b"\n");
        }
        let json = message.to_json()?;
        let json = json.get();
        let sent = match self.framing {
            Framing::Line => format!("{json}\n"),
            Framing::Frame => format!("Content-Length: {}\r\n\r\n{json}", json.len()),
        };
        self.output.write_all(sent.as_bytes())?;
        if let Some(tap) = &self.tap {
            tap.sent(origin(self.framing), json.as_bytes());
        }
        match self.framing {
            Framing::Line => Ok(()),
            Framing::Frame => self.output.flush(),
        }
    }

    fn record_received(&self, framing: Framing, text: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.received(origin(framing), text);
        }
    }

    fn notify(&mut self, notifications: &[Notification]) -> io::Result<()> {
        for notification in notifications {
            tracing::info!(method = notification.method, "notified the client");
            self.send(notification)?;
        }
        self.output.flush()
    }
}

/// What the record says of a message before it.
fn origin(framing: Framing) -> &'static str {
    match framing {
        Framing::Line => "",
        Framing::Frame => "frame ",
    }
}

impl Listener for Mutex<Conversation> {
    fn notify(&self, change: &Change) {
        let mut conversation = lock(self);
        let notifications = conversation.session.notifications(change);
        if let Err(error) = conversation.notify(&notifications) {
            conversation.failure = Some(error);
        }
    }
}
