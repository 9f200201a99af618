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

/// How much output is collected before it is written, in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;

/// The greatest length of all headers of a frame together, in bytes.
const MAX_HEADERS: usize = 4 * 1024;

/// A frame begins with one of these headers, in any letter case.
const FRAME_HEADERS: [&[u8]; 2] = [b"content-length", b"content-type"];

const BOM: &[u8] = "\u{feff}".as_bytes();

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
    /// The first error of another thread that wrote. It ends the conversation with the next
    /// message.
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
    let conversation = Arc::new(Mutex::new(Conversation::new(output, tap)));
    let listener: Arc<dyn Listener> = Arc::clone(&conversation) as _;
    server.add_listener(&listener);
    keep_freed_memory();
    let mut input = Input::new(input);
    let mut threads = Vec::new();
    while let Some(Received { framing, text }) = input.next()? {
        let message = parse(&text);
        let mut locked = lock(&conversation);
        if let Some(tap) = &locked.tap {
            let text = text.unwrap_or(b"(a message that was skipped)");
            tap.received(framing.origin(), text);
        }
        if let Some(message) = message {
            locked.framing = framing;
            if let Some(job) = locked.receive(server, message)? {
                locked.start(job, &conversation, &mut threads)?;
            }
        }
        // Answers to lines that arrived together are written together. Without a further line the
        // buffer is empty, so that the end of input does not wait for a notifier that is blocked by
        // a client that does not read.
        if !input.has_next() {
            locked.output.flush()?;
        }
    }
    for thread in threads {
        _ = thread.join(); // a job catches its panics
    }
    lock(&conversation).check_failure()
}

/// Makes the allocator keep freed memory for the next request.
///
/// glibc returns freed memory to the system if it is more than twice the largest block that was
/// freed so far, and the system clears each page again for the next request. This took 40 % of the
/// time of inputs of 1 MiB.
fn keep_freed_memory() {
    let block = Vec::<u8>::with_capacity(LARGEST_BLOCK);
    drop(std::hint::black_box(block));
}

/// Parses the text of a message. Returns `None` for a blank line, and the response to send for a
/// text that is not a message or was skipped.
fn parse(text: &Result<&[u8], Error>) -> Option<Result<Message, Response>> {
    let text = match text {
        Ok(text) => text.trim_ascii(),
        Err(error) => return Some(Err(Response::error(None, error.clone()))),
    };
    if text.is_empty() {
        return None;
    }
    let message = Message::parse(text);
    if message.is_err() {
        tracing::warn!(bytes = text.len(), "a line is not a message");
    }
    Some(message)
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
    fn new(output: impl Write + Send + 'static, tap: Option<Tap>) -> Conversation {
        Conversation {
            session: Session::new(Caller::local()),
            framing: Framing::Line,
            output: BufWriter::with_capacity(OUTPUT_BUFFER, Box::new(output)),
            tap,
            running: Vec::new(),
            failure: None,
        }
    }

    /// # Errors
    /// Another thread could not write to the client.
    fn check_failure(&mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Keeps an error of a thread that wrote, if it is the first one.
    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }

    /// Answers a message, or returns the job that answers it.
    fn receive(
        &mut self,
        server: &Server,
        message: Result<Message, Response>,
    ) -> io::Result<Option<Job>> {
        self.check_failure()?;
        let message = match message {
            Ok(message) => message,
            Err(response) => {
                self.send(response.as_json())?;
                return Ok(None);
            }
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

    /// Runs a job on a new thread, which sends the answer and is added to `threads`. If too many
    /// jobs run, the client gets an error instead.
    ///
    /// `conversation` is this conversation, which the thread locks when the job is done.
    fn start(
        &mut self,
        job: Job,
        conversation: &Arc<Mutex<Conversation>>,
        threads: &mut Vec<JoinHandle<()>>,
    ) -> io::Result<()> {
        threads.retain(|thread| !thread.is_finished());
        let id = job.id().clone();
        if threads.len() >= MAX_JOBS {
            let message = format!(
                "{MAX_JOBS} requests wait for services or files; send this one again later"
            );
            return self.refuse(&id, message);
        }
        let conversation = Arc::clone(conversation);
        let spawned = thread::Builder::new()
            .name("job".to_owned())
            .spawn(move || finish(job, &conversation));
        match spawned {
            Ok(thread) => {
                self.running.push(id);
                threads.push(thread);
                Ok(())
            }
            Err(error) => {
                let message = format!("cannot start a thread ({error}); send this again");
                self.refuse(&id, message)
            }
        }
    }

    /// Answers a request with an internal error.
    fn refuse(&mut self, id: &Id, message: String) -> io::Result<()> {
        let error = Error {
            code: -32603,
            message,
            data: None,
        };
        self.send(Response::error(Some(id), error).as_json())
    }

    /// Writes a message: a frame at once, a line with the next flush at the latest.
    fn send(&mut self, json: &str) -> io::Result<()> {
        match self.framing {
            Framing::Line => {
                self.output.write_all(json.as_bytes())?;
                self.output.write_all(b"\n")?;
            }
            Framing::Frame => {
                write!(self.output, "Content-Length: {}\r\n\r\n{json}", json.len())?;
                self.output.flush()?;
            }
        }
        if let Some(tap) = &self.tap {
            tap.sent(self.framing.origin(), json.as_bytes());
        }
        Ok(())
    }

    fn notify(&mut self, change: &Change) -> io::Result<()> {
        for notification in self.session.notifications(change) {
            tracing::info!(method = notification.method, "notified the client");
            self.send(&notification.to_json())?;
        }
        self.output.flush()
    }

    /// Sends the answer of a job, unless the client has cancelled the request.
    fn send_answer(&mut self, id: &Id, answer: &Response) -> io::Result<()> {
        let Some(index) = self.running.iter().position(|running| running == id) else {
            return Ok(());
        };
        self.running.swap_remove(index);
        self.send(answer.as_json())?;
        self.output.flush()
    }
}

/// Finishes a job without locking its conversation, then sends the answer.
fn finish(job: Job, conversation: &Mutex<Conversation>) {
    let id = job.id().clone();
    let answer = job.finish();
    let mut conversation = lock(conversation);
    if let Err(error) = conversation.send_answer(&id, &answer) {
        conversation.fail(error);
    }
}

impl Listener for Mutex<Conversation> {
    fn tell(&self, change: &Change) {
        let mut conversation = lock(self);
        if let Err(error) = conversation.notify(change) {
            conversation.fail(error);
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
    /// Returns the mark of this framing in the record of messages.
    fn origin(self) -> &'static str {
        match self {
            Framing::Line => "",
            Framing::Frame => "frame ",
        }
    }
}

/// A message as it came.
struct Received<'i> {
    framing: Framing,
    /// The message without its line ending or headers, or an error if it was skipped.
    text: Result<&'i [u8], Error>,
}

/// The messages of an input: lines, and frames as the Language Server Protocol has them
/// (`Content-Length: 40`, an empty line, JSON). They are bytes, because a message that is not UTF-8
/// is refused and must not end the conversation.
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

    /// Waits for the next frame or line, which may be empty. Returns `None` at the end of input.
    ///
    /// A BOM before the first message is dropped. A message that is too long and a frame without
    /// JSON are skipped.
    fn next(&mut self) -> io::Result<Option<Received<'_>>> {
        let length = self.read_line()?;
        let is_first = std::mem::take(&mut self.is_first);
        if length == 0 {
            return Ok(None);
        }
        // If there is no line ending, nothing was removed from the line.
        let is_cut = length > MAX_MESSAGE && self.message.len() == length;
        if is_cut {
            self.input.skip_until(b'\n')?;
            return Ok(Some(Received {
                framing: Framing::Line,
                text: Err(too_long()),
            }));
        }
        let mut start = 0;
        if is_first && self.message.starts_with(BOM) {
            start = BOM.len();
        }
        if is_frame_header(&self.message[start..]) {
            return Ok(Some(Received {
                framing: Framing::Frame,
                text: self.read_frame()?,
            }));
        }
        Ok(Some(Received {
            framing: Framing::Line,
            text: Ok(&self.message[start..]),
        }))
    }

    /// Returns whether [`next`](Input::next) would return at once. Always `false` before a frame,
    /// which may be incomplete even if its headers have come.
    fn has_next(&self) -> bool {
        let buffer = self.input.buffer();
        let is_frame = matches!(buffer.trim_ascii_start().first(), Some(b'c' | b'C'));
        !is_frame && memchr::memchr(b'\n', buffer).is_some()
    }

    /// Reads the next line into `message`, without its line ending. If the line is too long, reads
    /// only its first [`MAX_MESSAGE`] bytes and one more. Returns how many bytes were read.
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

    /// Reads the message of a frame, whose first header is in `message`.
    fn read_frame(&mut self) -> io::Result<Result<&[u8], Error>> {
        let mut length = self.message.len();
        // Some clients leave out the empty line before the JSON.
        while !self.is_at_json()? {
            length += self.read_line()?;
            if self.message.trim_ascii().is_empty() {
                break;
            }
            if length > MAX_HEADERS {
                return Ok(Err(only_headers()));
            }
        }
        self.skip_whitespace()?;
        if self.is_at_json()? {
            return self.read_json();
        }
        self.input.skip_until(b'\n')?;
        Ok(Err(only_headers()))
    }

    fn skip_whitespace(&mut self) -> io::Result<()> {
        loop {
            match self.input.fill_buf()?.first() {
                Some(byte) if byte.is_ascii_whitespace() => self.input.consume(1),
                _ => return Ok(()),
            }
        }
    }

    /// Returns whether an object or an array comes next.
    fn is_at_json(&mut self) -> io::Result<bool> {
        Ok(matches!(self.input.fill_buf()?.first(), Some(b'{' | b'[')))
    }

    /// Reads an object or an array, and nothing after it. If the input ends in the middle, returns
    /// the part that has come.
    fn read_json(&mut self) -> io::Result<Result<&[u8], Error>> {
        self.message.clear();
        let mut scan = JsonScan::default();
        let mut length = 0;
        loop {
            let bytes = self.input.fill_buf()?;
            let end = bytes.iter().position(|byte| scan.ends_with(*byte));
            let count = match end {
                Some(end) => end + 1,
                None => bytes.len(),
            };
            length += count;
            if length <= MAX_MESSAGE {
                self.message.extend_from_slice(&bytes[..count]);
            }
            self.input.consume(count);
            if end.is_some() || count == 0 {
                break;
            }
        }
        if length > MAX_MESSAGE {
            return Ok(Err(too_long()));
        }
        Ok(Ok(&self.message))
    }
}

/// Finds the end of a JSON object or array by counting brackets outside of strings.
#[derive(Default)]
struct JsonScan {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl JsonScan {
    /// Takes the next byte, and returns whether the value ends with this byte.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.is_escaped {
            self.is_escaped = false;
            return false;
        }
        if self.is_in_string {
            self.is_escaped = byte == b'\\';
            self.is_in_string = byte != b'"';
            return false;
        }
        match byte {
            b'"' => self.is_in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }
}

/// Returns whether a line is the first header of a frame, such as `Content-Length: 40`.
fn is_frame_header(line: &[u8]) -> bool {
    if line.len() > MAX_HEADERS {
        return false;
    }
    let line = line.trim_ascii_start();
    let Some(colon) = memchr::memchr(b':', line) else {
        return false;
    };
    let name = &line[..colon];
    FRAME_HEADERS
        .iter()
        .any(|header| name.eq_ignore_ascii_case(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that arrives in pieces of at most `length` bytes.
    struct Pieces<'t> {
        text: &'t [u8],
        length: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.length.min(buffer.len());
            self.text.read(&mut buffer[..length])
        }
    }

    /// Returns the messages of a text; `None` for one that is skipped.
    fn messages(text: &[u8], length: usize) -> Vec<(Framing, Option<Vec<u8>>)> {
        let mut input = Input::new(Pieces { text, length });
        let mut messages = Vec::new();
        while let Some(Received { framing, text }) = input.next().unwrap() {
            messages.push((framing, text.ok().map(<[u8]>::to_vec)));
        }
        messages
    }

    fn line(text: &str) -> (Framing, Option<Vec<u8>>) {
        (Framing::Line, Some(text.as_bytes().to_vec()))
    }

    fn frame(text: &str) -> (Framing, Option<Vec<u8>>) {
        (Framing::Frame, Some(text.as_bytes().to_vec()))
    }

    const SKIPPED_LINE: (Framing, Option<Vec<u8>>) = (Framing::Line, None);
    const SKIPPED_FRAME: (Framing, Option<Vec<u8>>) = (Framing::Frame, None);

    #[test]
    fn a_line_ends_with_a_newline_or_with_the_input_however_it_arrives() {
        for length in [1, 2, 3, 100] {
            for (text, expected) in [
                ("", vec![]),
                ("a\n", vec![line("a")]),
                ("a\nb", vec![line("a"), line("b")]),
                ("\n\r\nlast\r", vec![line(""), line("\r"), line("last\r")]),
                ("\u{feff}a\n\u{feff}b", vec![line("a"), line("\u{feff}b")]),
            ] {
                let messages = messages(text.as_bytes(), length);
                assert_eq!(messages, expected, "{text:?} in pieces of {length}");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let long = "x".repeat(MAX_MESSAGE);
        let text = format!("{long}\n{long}x\nnext\n{long}xx");
        let messages = messages(text.as_bytes(), READ_BUFFER);
        assert!(messages[0] == line(&long));
        assert_eq!(messages[1..], [SKIPPED_LINE, line("next"), SKIPPED_LINE]);
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
        for length in [1, 2, 3, 100] {
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
                    vec![SKIPPED_FRAME, line("x")],
                ),
                ("Content-Length: 5", vec![SKIPPED_FRAME]),
                ("Content-Length: 5\n\n", vec![SKIPPED_FRAME]),
                (
                    "Content-Length\nContents: 5\n{\"a\":\nContent-Length: 5",
                    vec![
                        line("Content-Length"),
                        line("Contents: 5"),
                        line("{\"a\":"),
                        SKIPPED_FRAME,
                    ],
                ),
            ] {
                let messages = messages(text.as_bytes(), length);
                assert_eq!(messages, expected, "{text:?} in pieces of {length}");
            }
        }
    }

    #[test]
    fn a_frame_has_at_most_4_kib_of_headers() {
        for (headers, expected) in [(4, frame("{}")), (5, SKIPPED_FRAME)] {
            let headers = format!("{}\n", "x".repeat(999)).repeat(headers);
            let text = format!("Content-Length: 2\n{headers}\n{{}}\n");
            assert_eq!(messages(text.as_bytes(), 100)[0], expected);
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_skipped_and_the_next_message_is_read() {
        let long = "x".repeat(MAX_MESSAGE);
        let text = format!("Content-Length: 1\n\n[\"{long}\"]Content-Length: 1\n\n{{}}next\n");
        let messages = messages(text.as_bytes(), READ_BUFFER);
        assert_eq!(messages, [SKIPPED_FRAME, frame("{}"), line("next")]);
    }
}
