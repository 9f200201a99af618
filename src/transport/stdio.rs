//! The stdio transport: JSON-RPC messages on standard input and output, one on each line or in a
//! frame, until the end of input.
//!
//! The caller of [`serve`] reads and answers. What may wait runs on a thread of its own, so that a
//! slow service holds up no other request, and the server's notifier writes notifications. All lock
//! the conversation to write, and a message is handled while it is locked. So a notification never
//! precedes the acknowledgement of its subscription, never follows its cancellation, and never
//! overtakes an answer that was made before the change.

use super::tap::Tap;
use crate::jsonrpc::{Error, Id, Message, Response};
use crate::library::Caller;
use crate::lock::lock;
use crate::server::{Change, Job, Listener, Reply, Server, Session};
use crate::wording::in_bytes;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The longest message, in bytes without its line ending or headers: 32 MiB. No more than this is
/// stored of a longer one.
pub const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// How much memory a long message may leave allocated for the next one, in bytes.
const RETAINED: usize = 4 * 1024 * 1024;

/// The block that is freed once, so that the allocator keeps twice as much, in bytes.
const LARGEST_BLOCK: usize = 8 * 1024 * 1024;

/// How much is read at once, in bytes: the capacity of a pipe on Linux.
const READ_BUFFER: usize = 64 * 1024;

/// The most headers of a frame, and their greatest length in all, in bytes.
const MAX_HEADERS: usize = 16;
const MAX_HEADERS_LENGTH: usize = 4 * 1024;

/// A frame begins with one of these headers, in any letter case.
const HEADERS: [&[u8]; 2] = [b"content-length", b"content-type"];

const BOM: &[u8] = "\u{feff}".as_bytes();

/// How much output is collected before it is written, in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;

/// How many jobs may run at once.
const MAX_JOBS: usize = 16;

/// One client: what the server knows of it, and the way to it.
struct Conversation {
    session: Session,
    /// The framing of the last message from the client.
    framing: Framing,
    output: BufWriter<Box<dyn Write + Send>>,
    tap: Option<Tap>,
    /// The requests whose jobs run, unless they were cancelled.
    running: Vec<Id>,
    /// Why something could not be written by another thread. It ends the conversation with the next
    /// line.
    failure: Option<io::Error>,
}

/// Serves one client until the end of input, and until its jobs have ended. A last line without a
/// line ending is served too. `tap` records all messages.
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
    let conversation = Conversation {
        session,
        framing: Framing::Line,
        output,
        tap,
        running: Vec::new(),
        failure: None,
    };
    let conversation = Arc::new(Mutex::new(conversation));
    let listener: Arc<dyn Listener> = Arc::clone(&conversation) as _;
    server.add_listener(&listener);
    // glibc returns freed memory to the system if it is more than twice the largest block that was
    // freed so far, and the system clears each page again for the next request: 40 % of the time of
    // inputs of 1 MiB.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(
        LARGEST_BLOCK,
    )));
    let mut input = Input::new(input);
    let mut jobs: Vec<JoinHandle<()>> = Vec::new();
    while let Some((framing, received)) = input.next()? {
        let (text, message) = match received {
            Ok(text) => (text, parse(text)),
            Err(error) => (
                &b"(a message that was skipped)"[..],
                Some(Err(Response::error(None, error))),
            ),
        };
        let mut locked = lock(&conversation);
        if let Some(tap) = &locked.tap {
            tap.received(framing.origin(), text);
        }
        if let Some(message) = message {
            locked.framing = framing;
            if let Some(job) = locked.receive(server, message)? {
                jobs.retain(|job| !job.is_finished());
                if let Some(job) = locked.start(job, &conversation, jobs.len())? {
                    jobs.push(job);
                }
            }
        }
        // Answers to lines that arrived together are written together. Without a further line the
        // buffer is empty, so that the end of input does not wait for a notifier that is blocked by
        // a client that does not read.
        if !input.has_next() {
            locked.output.flush()?;
        }
    }
    for job in jobs {
        _ = job.join(); // it catches panics itself
    }
    lock(&conversation).failure.take().map_or(Ok(()), Err)
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

fn too_long() -> Error {
    Error::invalid_request(format!(
        "a message is longer than {}, and was skipped",
        in_bytes(MAX_MESSAGE)
    ))
}

fn only_headers() -> Error {
    Error::parse_error(
        "a frame must have a JSON object or array after its headers and an empty line",
    )
}

impl Conversation {
    /// Answers a message, or gives the job that answers it.
    fn receive(
        &mut self,
        server: &Server,
        message: Result<Message, Response>,
    ) -> io::Result<Option<Job>> {
        self.failure.take().map_or(Ok(()), Err)?;
        let message = match message {
            Ok(message) => message,
            Err(refusal) => return self.send(refusal.as_json()).map(|()| None),
        };
        match server.handle(&mut self.session, message) {
            Reply::None => {}
            Reply::Response(response) => self.send(response.as_json())?,
            Reply::Stream(acknowledgement) => self.send(&acknowledgement.to_json())?,
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
        let id = job.id().clone();
        let refused = |why: String| {
            Response::error(
                Some(&id),
                Error {
                    code: -32603,
                    message: why,
                    data: None,
                },
            )
        };
        if running >= MAX_JOBS {
            let why = format!(
                "{MAX_JOBS} requests wait for services or files; send this one again later"
            );
            return self.send(refused(why).as_json()).map(|()| None);
        }
        let conversation = Arc::clone(conversation);
        let of_job = id.clone();
        let run = move || {
            let response = job.finish();
            let mut conversation = lock(&conversation);
            // Of a cancelled request, the answer is dropped.
            if let Some(at) = conversation
                .running
                .iter()
                .position(|running| *running == of_job)
            {
                conversation.running.swap_remove(at);
                let sent = conversation
                    .send(response.as_json())
                    .and_then(|()| conversation.output.flush());
                conversation.failure = conversation.failure.take().or(sent.err());
            }
        };
        match thread::Builder::new().name("job".to_owned()).spawn(run) {
            Ok(thread) => {
                self.running.push(id);
                Ok(Some(thread))
            }
            Err(error) => {
                let why = format!("cannot start a thread ({error}); send this again");
                self.send(refused(why).as_json()).map(|()| None)
            }
        }
    }

    /// Writes a message, a line with the next flush at the latest.
    fn send(&mut self, json: &str) -> io::Result<()> {
        if self.framing == Framing::Frame {
            write!(self.output, "Content-Length: {}\r\n\r\n", json.len())?;
        }
        self.output.write_all(json.as_bytes())?;
        if self.framing == Framing::Line {
            self.output.write_all(b"\n")?;
        }
        if let Some(tap) = &self.tap {
            tap.sent(self.framing.origin(), json.as_bytes());
        }
        if self.framing == Framing::Frame {
            self.output.flush()
        } else {
            Ok(())
        }
    }

    fn notify(&mut self, change: &Change) -> io::Result<()> {
        for notification in self.session.notifications(change) {
            tracing::info!(method = notification.method, "notified the client");
            self.send(&notification.to_json())?;
        }
        self.output.flush()
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

/// How the end of a message is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// With a line ending.
    Line,
    /// With headers before it.
    Frame,
}

impl Framing {
    /// What the record says of a message before it.
    fn origin(self) -> &'static str {
        if self == Framing::Frame { "frame " } else { "" }
    }
}

/// A message without its line ending or headers, or why there is none.
type Received<'i> = Result<&'i [u8], Error>;

/// The messages of an input: lines, and frames as the Language Server Protocol has them
/// (`Content-Length: 40`, an empty line, JSON). Bytes, because a message that is not UTF-8 is
/// refused and must not end the conversation.
///
/// Some clients count the length of a frame wrongly, so it is ignored: a frame ends where its JSON
/// value ends.
struct Input<R> {
    input: BufReader<R>,
    message: Vec<u8>,
    is_first: bool,
}

impl<R: Read> Input<R> {
    fn new(input: R) -> Input<R> {
        Input {
            input: BufReader::with_capacity(READ_BUFFER, input),
            message: Vec::new(),
            is_first: true,
        }
    }

    /// Waits for the next line, which may be empty, or frame; `None` at the end of input. A BOM
    /// before the first is dropped. What is too long, or no frame, is skipped.
    fn next(&mut self) -> io::Result<Option<(Framing, Received<'_>)>> {
        let length = self.read_line()?;
        let is_first = std::mem::take(&mut self.is_first);
        if length == 0 {
            return Ok(None);
        }
        if length > MAX_MESSAGE && self.message.len() == length {
            self.input.skip_until(b'\n')?;
            return Ok(Some((Framing::Line, Err(too_long()))));
        }
        let start = if is_first && self.message.starts_with(BOM) {
            BOM.len()
        } else {
            0
        };
        if is_header(&self.message[start..]) {
            return Ok(Some((Framing::Frame, self.frame()?)));
        }
        Ok(Some((Framing::Line, Ok(&self.message[start..]))))
    }

    /// Whether [`next`](Input::next) need not wait.
    fn has_next(&self) -> bool {
        let rest = self.input.buffer();
        // A frame may not be complete, even if its headers are.
        let is_frame = matches!(rest.trim_ascii_start().first(), Some(b'c' | b'C'));
        !is_frame && memchr::memchr(b'\n', rest).is_some()
    }

    /// Reads the next line, without its line ending; of one that is too long, [`MAX_MESSAGE`] bytes
    /// and one more. Returns how many bytes were read.
    fn read_line(&mut self) -> io::Result<usize> {
        self.message.clear();
        self.message.shrink_to(RETAINED);
        let length = self
            .input
            .by_ref()
            .take(MAX_MESSAGE as u64 + 1)
            .read_until(b'\n', &mut self.message)?;
        if self.message.last() == Some(&b'\n') {
            self.message.pop();
        }
        Ok(length)
    }

    /// Reads a frame after its first header.
    fn frame(&mut self) -> io::Result<Received<'_>> {
        let (mut headers, mut length) = (1, self.message.len());
        // JSON may also follow without an empty line before it.
        while !self.is_at_json()? {
            length += self.read_line()?;
            if self.message.trim_ascii().is_empty() {
                break;
            }
            headers += 1;
            if headers > MAX_HEADERS || length > MAX_HEADERS_LENGTH {
                return Ok(Err(only_headers()));
            }
        }
        while self
            .input
            .fill_buf()?
            .first()
            .is_some_and(u8::is_ascii_whitespace)
        {
            self.input.consume(1);
        }
        if self.is_at_json()? {
            return self.value();
        }
        self.input.skip_until(b'\n')?;
        Ok(Err(only_headers()))
    }

    /// Whether an object or an array comes next.
    fn is_at_json(&mut self) -> io::Result<bool> {
        Ok(matches!(self.input.fill_buf()?.first(), Some(b'{' | b'[')))
    }

    /// Reads an object or an array, or what is there of it, and nothing after it.
    fn value(&mut self) -> io::Result<Received<'_>> {
        self.message.clear();
        let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
        let mut length = 0;
        loop {
            let bytes = self.input.fill_buf()?;
            let end = bytes.iter().position(|byte| {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if in_string => is_escaped = true,
                    b'"' => in_string = !in_string,
                    b'{' | b'[' if !in_string => depth += 1,
                    b'}' | b']' if !in_string => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let count = end.map_or(bytes.len(), |end| end + 1);
            length += count;
            if length <= MAX_MESSAGE {
                self.message.extend_from_slice(&bytes[..count]);
            }
            self.input.consume(count);
            if end.is_some() || count == 0 {
                return Ok(if length > MAX_MESSAGE {
                    Err(too_long())
                } else {
                    Ok(&self.message)
                });
            }
        }
    }
}

/// Whether a line is the first header of a frame.
fn is_header(line: &[u8]) -> bool {
    let name = line
        .trim_ascii_start()
        .split(|byte| *byte == b':')
        .next()
        .filter(|name| name.len() < line.len());
    line.len() <= MAX_HEADERS_LENGTH
        && name.is_some_and(|name| {
            HEADERS
                .iter()
                .any(|header| name.eq_ignore_ascii_case(header))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of a text that arrives in pieces of at most this many bytes; `None` for one
    /// that is too long or missing.
    fn messages(text: &[u8], piece: usize) -> Vec<(Framing, Option<Vec<u8>>)> {
        struct Pieces<'t>(&'t [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = self.1.min(buffer.len());
                self.0.read(&mut buffer[..length])
            }
        }
        let mut input = Input::new(Pieces(text, piece));
        let mut all = Vec::new();
        while let Some((framing, received)) = input.next().unwrap() {
            all.push((framing, received.ok().map(<[u8]>::to_vec)));
        }
        all
    }

    /// The same for a text of lines only.
    fn lines(text: &[u8], piece: usize) -> Vec<Option<Vec<u8>>> {
        let line = |(framing, line)| {
            assert_eq!(framing, Framing::Line);
            line
        };
        messages(text, piece).into_iter().map(line).collect()
    }

    #[test]
    fn a_line_ends_with_a_newline_or_with_the_input_however_it_arrives() {
        for piece in [1, 2, 3, 100] {
            for (text, want) in [
                ("", vec![]),
                ("a\n", vec!["a"]),
                ("a\nb", vec!["a", "b"]),
                ("\n\r\nlast\r", vec!["", "\r", "last\r"]),
                ("\u{feff}a\n\u{feff}b", vec!["a", "\u{feff}b"]),
            ] {
                let want: Vec<_> = want
                    .into_iter()
                    .map(|line| Some(line.as_bytes().to_vec()))
                    .collect();
                assert_eq!(
                    lines(text.as_bytes(), piece),
                    want,
                    "{text:?} in pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let long = vec![b'x'; MAX_MESSAGE];
        let text = [&long[..], b"\n", &long, b"x\nnext\n", &long, b"xx"].concat();
        let found = lines(&text, READ_BUFFER);
        assert!(
            found[0]
                .as_ref()
                .is_some_and(|line| line.len() == MAX_MESSAGE)
        );
        assert_eq!(found[1..], [None, Some(b"next".to_vec()), None]);
    }

    #[test]
    fn the_next_line_is_known_only_once_it_is_complete() {
        for (text, expected) in [
            (&b"one\ntwo\nthr"[..], &[true, false, false][..]),
            (
                b"{}\nContent-Length: 2\n\n{}{}\n\n",
                &[false, true, true, false],
            ),
        ] {
            let mut input = Input::new(text);
            let mut has_next = Vec::new();
            while input.next().unwrap().is_some() {
                has_next.push(input.has_next());
            }
            assert_eq!(has_next, expected);
        }
    }

    #[test]
    fn a_frame_ends_with_its_json_whatever_its_headers_say_and_however_it_arrives() {
        let frame = |text: &str| (Framing::Frame, Some(text.as_bytes().to_vec()));
        let line = |text: &str| (Framing::Line, Some(text.as_bytes().to_vec()));
        let only_headers = (Framing::Frame, None);
        for piece in [1, 2, 3, 100] {
            for (text, expected) in [
                ("Content-Length: 2\r\n\r\n{}", vec![frame("{}")]),
                (
                    "\u{feff} content-TYPE:x\nA: b\n\n \n[1, \n2]x\n",
                    vec![frame("[1, \n2]"), line("x")],
                ),
                (
                    "Content-Length: -1\n{}Content-Length:\n\n{}\n",
                    vec![frame("{}"), frame("{}"), line("")],
                ),
                (
                    r#"Content-Length: x
{"a":"}\"]\\","b":[{}]}{}"#,
                    vec![frame(r#"{"a":"}\"]\\","b":[{}]}"#), line("{}")],
                ),
                ("Content-Length: 9\n\n{[\"}", vec![frame("{[\"}")]),
                (
                    "Content-Length: 5\n\nhello\nx\n",
                    vec![only_headers.clone(), line("x")],
                ),
                ("Content-Length: 5", vec![only_headers.clone()]),
                ("Content-Length: 5\n\n", vec![only_headers.clone()]),
                ("Content-Length\nContents: 5\n{\"a\":\nContent-Length: 5", {
                    vec![
                        line("Content-Length"),
                        line("Contents: 5"),
                        line("{\"a\":"),
                        only_headers.clone(),
                    ]
                }),
            ] {
                assert_eq!(
                    messages(text.as_bytes(), piece),
                    expected,
                    "{text:?} in pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn a_frame_has_at_most_16_headers_of_at_most_4_kib() {
        let headers = |count: usize, length: usize| {
            let first = "Content-Length: 2\n";
            format!(
                "{first}{}\n{{}}\n",
                format!("{}\n", "x".repeat(length - 1)).repeat(count - 1)
            )
        };
        for (text, is_read) in [
            (headers(16, 20), true),
            (headers(17, 20), false),
            (headers(5, 1000), true),
            (headers(6, 1000), false),
        ] {
            let first = &messages(text.as_bytes(), 100)[0];
            assert_eq!(*first, (Framing::Frame, is_read.then(|| b"{}".to_vec())));
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_skipped_and_the_next_message_is_read() {
        let long = [b"[\"", vec![b'x'; MAX_MESSAGE].as_slice(), b"\"]"].concat();
        let text = [
            b"Content-Length: 1\n\n",
            &long[..],
            b"Content-Length: 1\n\n{}next\n",
        ]
        .concat();
        let found = messages(&text, READ_BUFFER);
        let next = [
            (Framing::Frame, Some(b"{}".to_vec())),
            (Framing::Line, Some(b"next".to_vec())),
        ];
        assert_eq!(
            (&found[0], &found[1..]),
            (&(Framing::Frame, None), &next[..])
        );
    }
}
