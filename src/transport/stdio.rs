//! The stdio transport: JSON-RPC messages on standard input and output, one on each line, until the end of input.
//!
//! Two threads write to the output: the caller of [`serve`] writes answers, and the server's notifier writes
//! notifications. Both do so while they hold the conversation, and a message is handled while it is held. So a
//! notification never precedes the acknowledgement of its subscription, never follows its cancellation, and never
//! overtakes an answer that was made before the change.

mod lines;
mod tap;

pub use lines::MAX_LINE;
pub use tap::Tap;

use crate::jsonrpc::{Error, Message, Notification, Response};
use crate::server::{Change, Listener, Reply, Server, Session};
use lines::{Line, Lines};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many bytes of output are collected before they are written, in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;

/// One client: what the server knows of it, and the way to it.
struct Conversation<W> {
    session: Session,
    output: Output<W>,
}

/// Serves one client until the end of input. A last line without a line ending is served too. `tap` records all lines.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve<R, W>(server: &Server, input: R, output: W, tap: Option<Tap>) -> io::Result<()>
where
    R: Read,
    W: Write + Send + 'static,
{
    let output = Output { writer: output, buffer: Vec::new(), tap };
    let conversation = Arc::new(Mutex::new(Conversation { session: Session::default(), output }));
    let listener: Arc<dyn Listener> = Arc::clone(&conversation) as _;
    server.add_listener(&listener);
    let mut lines = Lines::new(input);
    while let Some(line) = lines.next()? {
        let mut conversation = lock(&conversation);
        conversation.receive(server, line)?;
        // Answers to lines that arrived together are written together.
        if !lines.has_next() {
            conversation.output.flush()?;
        }
    }
    lock(&conversation).output.flush()
}

/// A panic cannot leave a conversation half changed: [`Server::handle`] catches it.
fn lock<W>(conversation: &Mutex<Conversation<W>>) -> MutexGuard<'_, Conversation<W>> {
    conversation.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write> Conversation<W> {
    fn receive(&mut self, server: &Server, line: Line<'_>) -> io::Result<()> {
        let line = match line {
            Line::Complete(line) => line,
            Line::TooLong => {
                self.output.record_received(format!("(a line of more than {MAX_LINE} bytes)").as_bytes());
                let message = format!("a line is longer than {MAX_LINE} bytes, and was skipped");
                tracing::warn!("{message}");
                return self.output.send(|line| Response::error(None, Error::invalid_request(message)).write(line));
            }
        };
        self.output.record_received(line);
        let text = line.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err(refusal) => {
                tracing::warn!(bytes = text.len(), "a line is not a message");
                return self.output.send(|line| refusal.write(line));
            }
        };
        match server.handle(&mut self.session, message) {
            Reply::None => Ok(()),
            Reply::Response(response) => self.output.send(|line| response.write(line)),
            Reply::Stream(acknowledgement) => self.output.send(|line| acknowledgement.write(line)),
        }
    }

    fn notify(&mut self, notifications: &[Notification]) -> io::Result<()> {
        for notification in notifications {
            tracing::info!(method = notification.method, "notified the client");
            self.output.send(|line| notification.write(line))?;
        }
        self.output.flush()
    }
}

impl<W: Write + Send> Listener for Mutex<Conversation<W>> {
    fn notify(&self, change: &Change) {
        let mut conversation = lock(self);
        let notifications = conversation.session.notifications(change);
        // A client that no longer reads ends the conversation with the next answer.
        let _ = conversation.notify(&notifications);
    }
}

/// Writes messages as lines.
struct Output<W> {
    writer: W,
    buffer: Vec<u8>,
    tap: Option<Tap>,
}

impl<W: Write> Output<W> {
    fn record_received(&mut self, line: &[u8]) {
        if let Some(tap) = &mut self.tap {
            tap.received(line);
        }
    }

    /// Adds a line. It is written with the next [`Output::flush`] at the latest.
    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let start = self.buffer.len();
        write(&mut self.buffer)?;
        if let Some(tap) = &mut self.tap {
            tap.sent(&self.buffer[start..]);
        }
        self.buffer.push(b'\n');
        if self.buffer.len() < OUTPUT_BUFFER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.writer.write_all(&self.buffer)?;
            self.writer.flush()?;
            self.buffer.clear();
            self.buffer.shrink_to(lines::RETAINED);
        }
        Ok(())
    }
}
