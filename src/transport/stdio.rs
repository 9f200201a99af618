//! The stdio transport: JSON-RPC messages on standard input and output, one on each line, until the end of input.
//!
//! Two threads write to the output: the caller of [`serve`] writes answers, and the server's notifier writes
//! notifications. Both lock the conversation to do so, and a message is handled while it is locked. So a
//! notification never precedes the acknowledgement of its subscription, never follows its cancellation, and never
//! overtakes an answer that was made before the change.

mod lines;

pub use lines::MAX_LINE;

use super::tap::{Tap, Tapped};
use crate::jsonrpc::{Error, Message, Notification, Output, Response};
use crate::library::Caller;
use crate::server::{Change, Listener, Reply, Server, Session};
use lines::{Line, Lines};
use std::io::{self, BufWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much output is collected before it is written, in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;

/// One client: what the server knows of it, and the way to it.
struct Conversation {
    session: Session,
    output: Output,
    /// Why notifications could not be written. It ends the conversation with the next line.
    failure: Option<io::Error>,
}

/// Serves one client until the end of input. A last line without a line ending is served too. `tap` records all lines.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve(
    server: &Server,
    input: impl Read,
    output: impl Write + Send + 'static,
    tap: Option<Tap>,
) -> io::Result<()> {
    let tap = tap.map(Arc::new);
    let output: Box<dyn Write + Send> = match &tap {
        Some(tap) => Box::new(Tapped::new(output, Arc::clone(tap))),
        None => Box::new(output),
    };
    let output = BufWriter::with_capacity(OUTPUT_BUFFER, output);
    let conversation =
        Arc::new(Mutex::new(Conversation { session: Session::new(Caller::local()), output, failure: None }));
    let listener: Arc<dyn Listener> = Arc::clone(&conversation) as _;
    server.add_listener(&listener);
    keep_freed_memory();
    let mut lines = Lines::new(input);
    while let Some(line) = lines.next()? {
        let (line, message) = match line {
            Line::Complete(line) => (line, parse(line)),
            Line::TooLong => (&b"(a line that is too long)"[..], Some(Err(too_long()))),
        };
        let mut conversation = lock(&conversation);
        if let Some(tap) = &tap {
            tap.received("", line);
        }
        if let Some(message) = message {
            conversation.receive(server, message)?;
        }
        // Answers to lines that arrived together are written together. Without a further line the buffer is empty, so that
        // the end of input does not wait for a notifier that is blocked by a client that does not read.
        if !lines.has_next() {
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

/// The message in a line; `None` if the line is empty.
fn parse(line: &[u8]) -> Option<Result<Message, Response>> {
    let text = line.trim_ascii();
    let message = (!text.is_empty()).then(|| Message::parse(text));
    if let Some(Err(_)) = message {
        tracing::warn!(bytes = text.len(), "a line is not a message");
    }
    message
}

fn too_long() -> Response {
    let message = format!("a line is longer than {MAX_LINE} bytes, and was skipped");
    tracing::warn!("{message}");
    Response::error(None, Error::invalid_request(message))
}

impl Conversation {
    fn receive(&mut self, server: &Server, message: Result<Message, Response>) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        let message = match message {
            Ok(message) => message,
            Err(refusal) => return self.send(|output| refusal.write(output)),
        };
        match server.handle(&mut self.session, message) {
            Reply::None => Ok(()),
            Reply::Response(response) => self.send(|output| response.write(output)),
            Reply::Stream(acknowledgement) => self.send(|output| acknowledgement.write(output)),
        }
    }

    /// Writes a message as one line, with the next flush at the latest.
    fn send(&mut self, write: impl FnOnce(&mut Output) -> io::Result<()>) -> io::Result<()> {
        write(&mut self.output)?;
        self.output.write_all(b"\n")
    }

    fn notify(&mut self, notifications: &[Notification]) -> io::Result<()> {
        for notification in notifications {
            tracing::info!(method = notification.method, "notified the client");
            self.send(|output| notification.write(output))?;
        }
        self.output.flush()
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
