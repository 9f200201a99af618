//! The stdio transport: JSON-RPC messages on standard input and output, one on each line or in a frame, until the end of input.
//!
//! The caller of [`serve`] reads and answers. What may wait runs on a thread of its own, so that a slow service holds up no other
//! request, and the server's notifier writes notifications. All lock the conversation to write, and a message is handled while it is
//! locked. So a notification never precedes the acknowledgement of its subscription, never follows its cancellation, and never overtakes
//! an answer that was made before the change.

mod framing;

pub use framing::MAX_MESSAGE;

use super::tap::Tap;
use crate::jsonrpc::{Error, Id, Message, Outgoing, Response};
use crate::library::Caller;
use crate::server::{Change, Job, Listener, Reply, Server, Session};
use framing::{Framing, Input, Received};
use std::io::{self, BufWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// How much output is collected before it is written, in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;

/// How many jobs may run at once.
const MAX_JOBS: usize = 16;

/// One client: what the server knows of it, and the way to it.
struct Conversation {
    session: Session,
    /// That of the last message from the client.
    framing: Framing,
    output: BufWriter<Box<dyn Write + Send>>,
    tap: Option<Tap>,
    /// The requests whose jobs run, unless they were cancelled.
    running: Vec<Id>,
    /// Why something could not be written by another thread. It ends the conversation with the next line.
    failure: Option<io::Error>,
}

/// Serves one client until the end of input, and until its jobs have ended. A last line without a line ending is served too. `tap`
/// records all messages.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve(
    server: &Server,
    input: impl Read,
    output: impl Write + Send + 'static,
    tap: Option<Tap>,
) -> io::Result<()> {
    let output = BufWriter::with_capacity(OUTPUT_BUFFER, Box::new(output) as _);
    let session = Session::new(Caller::local());
    let conversation =
        Conversation { session, framing: Framing::Line, output, tap, running: Vec::new(), failure: None };
    let conversation = Arc::new(Mutex::new(conversation));
    let listener: Arc<dyn Listener> = Arc::clone(&conversation) as _;
    server.add_listener(&listener);
    let mut input = Input::new(input);
    let mut jobs: Vec<JoinHandle<()>> = Vec::new();
    while let Some((framing, received)) = input.next()? {
        let (text, message) = match received {
            Received::Message(text) => (text, parse(text)),
            Received::TooLong => (&b"(a message that is too long)"[..], Some(Err(too_long()))),
            Received::OnlyHeaders => (&b"(headers without JSON)"[..], Some(Err(only_headers()))),
        };
        let mut locked = lock(&conversation);
        locked.record_received(framing, text);
        if let Some(message) = message {
            locked.framing = framing;
            if let Some(job) = locked.receive(server, message)? {
                jobs.retain(|job| !job.is_finished());
                if let Some(job) = locked.start(job, &conversation, jobs.len())? {
                    jobs.push(job);
                }
            }
        }
        // Answers to lines that arrived together are written together. Without a further line the buffer is empty, so that
        // the end of input does not wait for a notifier that is blocked by a client that does not read.
        if !input.has_next() {
            locked.output.flush()?;
        }
    }
    for job in jobs {
        _ = job.join(); // it catches panics itself
    }
    lock(&conversation).failure.take().map_or(Ok(()), Err)
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
    /// Answers a message, or gives the job that answers it.
    fn receive(&mut self, server: &Server, message: Result<Message, Response>) -> io::Result<Option<Job>> {
        self.failure.take().map_or(Ok(()), Err)?;
        let message = match message {
            Ok(message) => message,
            Err(refusal) => return self.send(&refusal).map(|()| None),
        };
        match server.handle(&mut self.session, message) {
            Reply::None => {}
            Reply::Response(response) => self.send(&response)?,
            Reply::Stream(acknowledgement) => self.send(&acknowledgement)?,
            Reply::Later(job) => return Ok(Some(job)),
            Reply::Cancelled(id) => self.running.retain(|running| *running != id),
        }
        Ok(None)
    }

    /// Runs a job on a thread of its own, unless so many run that the client has to wait.
    fn start(
        &mut self,
        job: Job,
        conversation: &Arc<Mutex<Conversation>>,
        running: usize,
    ) -> io::Result<Option<JoinHandle<()>>> {
        let id = job.id.clone();
        let refused = |why: String| Response::error(Some(id.clone()), Error { code: -32603, message: why, data: None });
        if running >= MAX_JOBS {
            let why = format!("{MAX_JOBS} requests wait for services or files; send this one again later");
            return self.send(&refused(why)).map(|()| None);
        }
        let conversation = Arc::clone(conversation);
        let of_job = id.clone();
        let run = move || {
            let response = job.finish();
            let mut conversation = lock(&conversation);
            // Of a cancelled request, the answer is dropped.
            if let Some(at) = conversation.running.iter().position(|running| *running == of_job) {
                conversation.running.swap_remove(at);
                let sent = conversation.send(&response).and_then(|()| conversation.output.flush());
                conversation.failure = sent.err();
            }
        };
        match thread::Builder::new().name("job".to_owned()).spawn(run) {
            Ok(thread) => {
                self.running.push(id);
                Ok(Some(thread))
            }
            Err(error) => {
                self.send(&refused(format!("cannot start a thread ({error}); send this again"))).map(|()| None)
            }
        }
    }

    /// Writes a message, a line with the next flush at the latest.
    fn send(&mut self, message: &impl Outgoing) -> io::Result<()> {
        if self.framing == Framing::Line && self.tap.is_none() {
            message.write(&mut self.output)?;
            return self.output.write_all(b"\n");
        }
        let json = message.to_json();
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

    fn notify(&mut self, change: &Change) -> io::Result<()> {
        for notification in self.session.notifications(change) {
            tracing::info!(method = notification.method, "notified the client");
            self.send(&notification)?;
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
    fn tell(&self, change: &Change) {
        let mut conversation = lock(self);
        if let Err(error) = conversation.notify(change) {
            conversation.failure = Some(error);
        }
    }
}
