//! The stdio transport: JSON-RPC messages on standard input and output. Each message is either one
//! line or a frame with headers, as in the Language Server Protocol.
//!
//! The thread that calls [`serve`] reads and handles the messages. A request that may block, e.g.
//! on a slow service, runs on its own thread so that it doesn't delay the others. Notifications are
//! written by the server's notifier thread.
//!
//! Every thread holds the lock of the conversation while it writes, and [`serve`] also holds it
//! while it handles a message. This keeps notifications in order: a notification never precedes the
//! acknowledgement of its subscription, never follows the cancellation, and never overtakes an
//! answer that was computed before the change.

use super::tap::Tap;
use crate::jsonrpc::{Error, Id, Message, Response};
use crate::library::Caller;
use crate::lock::lock;
use crate::server::{Change, Job, Listener, Reply, Server, Session};
use crate::wording::format_size;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The maximum length of a message: 32 MiB, without its line ending or headers. The rest of a
/// longer message is skipped without being stored.
pub const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;

/// How much of a line is read: the longest message, and one more byte, which shows whether the line
/// ends there.
const MAX_READ_BYTES: u64 = MAX_MESSAGE_BYTES as u64 + 1;

/// The capacity that the message buffer keeps after a long message.
const RETAINED_CAPACITY: usize = 4 * 1024 * 1024;

/// The size of the block that [`keep_freed_memory`] allocates and frees.
const LARGEST_FREED_BLOCK: usize = 8 * 1024 * 1024;

/// The capacity of a pipe on Linux.
const READ_BUFFER_BYTES: usize = 64 * 1024;

const WRITE_BUFFER_BYTES: usize = 64 * 1024;

/// The maximum length of all headers of a frame together.
const MAX_HEADER_BYTES: usize = 4 * 1024;

/// The headers with which a frame can begin, in any letter case.
const FRAME_HEADERS: [&[u8]; 2] = [b"content-length", b"content-type"];

const BOM: &[u8] = "\u{feff}".as_bytes();

/// The maximum number of jobs that run at the same time.
const MAX_JOBS: usize = 16;

/// The state of the conversation with the client, shared by all threads that write to it.
struct Conversation {
    session: Session,
    /// The framing of the client's last message, which the server uses, too.
    framing: Framing,
    output: BufWriter<Box<dyn Write + Send>>,
    tap: Option<Tap>,
    /// The requests whose jobs are running. A cancelled request is removed, so its answer is
    /// dropped.
    running_requests: Vec<Id>,
    /// The first write error of a job or of the notifier. [`serve`] returns it when it handles the
    /// next message.
    write_error: Option<io::Error>,
}

/// Serves one client until the input ends and all jobs have finished. The last line doesn't need a
/// line ending. All messages are recorded with `tap`.
///
/// # Errors
/// Fails if the input can't be read or the output can't be written. If the client has closed the
/// output, the error is a broken pipe.
pub fn serve(
    server: &Server,
    input: impl Read,
    output: impl Write + Send + 'static,
    tap: Option<Tap>,
) -> io::Result<()> {
    let shared = Arc::new(Mutex::new(Conversation::new(output, tap)));
    // The server holds only a weak reference, so this must live as long as the conversation.
    let listener: Arc<dyn Listener> = Arc::clone(&shared) as _;
    server.add_listener(&listener);
    keep_freed_memory();
    let mut reader = StdioReader::new(input);
    let mut job_threads = Vec::new();
    while let Some(raw) = reader.read_message()? {
        // Parse without the lock, because a long message takes a while.
        let parsed = if raw.is_blank() {
            None
        } else {
            Some(parse(&raw))
        };
        let mut conversation = lock(&shared);
        conversation.record_received(&raw);
        if let Some(parsed) = parsed {
            conversation.framing = raw.framing; // before the answer, which uses it, too
            if let Some(job) = conversation.handle(server, parsed)? {
                conversation.start_job(job, &shared, &mut job_threads)?;
            }
        }
        // Flush only before a read that may block, so that the answers to messages that arrived
        // together are written together. After the last message, the buffer is empty.
        if !reader.has_complete_line() {
            conversation.output.flush()?;
        }
    }
    for thread in job_threads {
        _ = thread.join(); // a job catches its own panics, so this can't fail
    }
    lock(&shared).take_write_error()
}

/// Makes glibc keep freed memory for the next request.
///
/// glibc returns freed memory to the system once there is more of it than twice the largest block
/// freed so far, and the system then has to clear each page again. This took 40 % of the time for
/// inputs of 1 MiB. Freeing one large block at the start raises that threshold.
fn keep_freed_memory() {
    let block = Vec::<u8>::with_capacity(LARGEST_FREED_BLOCK);
    drop(std::hint::black_box(block));
}

/// Parses a message.
///
/// # Errors
/// Fails if the message is invalid, or if [`StdioReader`] has skipped it. Returns the error
/// response to send.
fn parse(raw: &RawMessage<'_>) -> Result<Message, Response> {
    let json = match &raw.bytes {
        Ok(bytes) => bytes.trim_ascii(),
        Err(error) => return Err(Response::error_without_id(error.clone())),
    };
    let message = Message::parse(json);
    if message.is_err() {
        tracing::warn!(bytes = json.len(), "received an invalid message");
    }
    message
}

fn message_too_long() -> Error {
    Error::invalid_request(format!(
        "a message was longer than {} and was skipped",
        format_size(MAX_MESSAGE_BYTES)
    ))
}

fn frame_without_json() -> Error {
    Error::parse_error(
        "a frame must have a JSON object or array after its headers and an empty line",
    )
}

impl Conversation {
    fn new(output: impl Write + Send + 'static, tap: Option<Tap>) -> Conversation {
        Conversation {
            session: Session::new(Caller::local()),
            framing: Framing::Line,
            output: BufWriter::with_capacity(WRITE_BUFFER_BYTES, Box::new(output)),
            tap,
            running_requests: Vec::new(),
            write_error: None,
        }
    }

    fn record_received(&self, raw: &RawMessage<'_>) {
        if let Some(tap) = &self.tap {
            let bytes = match raw.bytes {
                Ok(bytes) => bytes,
                Err(_) => b"(a message that was skipped)",
            };
            tap.record_received(raw.framing.tap_label(), bytes);
        }
    }

    /// Fails with the write error of another thread, if there was one.
    fn take_write_error(&mut self) -> io::Result<()> {
        match self.write_error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Stores a write error for [`serve`] to return, unless an earlier one is already stored.
    fn store_write_error(&mut self, error: io::Error) {
        self.write_error.get_or_insert(error);
    }

    /// Handles a message and sends the answer. If the answer has to be computed by a job, returns
    /// the job instead.
    fn handle(
        &mut self,
        server: &Server,
        parsed: Result<Message, Response>,
    ) -> io::Result<Option<Job>> {
        self.take_write_error()?;
        let message = match parsed {
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
            Reply::Deferred(job) => return Ok(Some(job)),
            Reply::Cancelled(id) => self.running_requests.retain(|running| *running != id),
        }
        Ok(None)
    }

    /// Runs a job on a new thread, which sends the answer, and adds the thread to `job_threads`.
    /// If too many jobs are running, sends an error instead.
    ///
    /// `shared` must be this conversation, for the thread to lock when the job has finished.
    fn start_job(
        &mut self,
        job: Job,
        shared: &Arc<Mutex<Conversation>>,
        job_threads: &mut Vec<JoinHandle<()>>,
    ) -> io::Result<()> {
        job_threads.retain(|thread| !thread.is_finished());
        let id = job.id().clone();
        if job_threads.len() >= MAX_JOBS {
            let message = format!(
                "{MAX_JOBS} requests are already waiting for services or files; try again later"
            );
            return self.send_internal_error(&id, message);
        }
        let shared = Arc::clone(shared);
        let spawned = thread::Builder::new()
            .name("job".to_owned())
            .spawn(move || run_job(job, &shared));
        match spawned {
            Ok(thread) => {
                // The new thread can't look for the id before this: the conversation is locked.
                self.running_requests.push(id);
                job_threads.push(thread);
                Ok(())
            }
            Err(error) => {
                let message = format!("cannot start a thread ({error}); try again");
                self.send_internal_error(&id, message)
            }
        }
    }

    /// Answers a request with an error that isn't the client's fault.
    fn send_internal_error(&mut self, id: &Id, message: String) -> io::Result<()> {
        let error = Error {
            code: -32603,
            message,
            data: None,
        };
        self.send(Response::error(Some(id), error).as_json())
    }

    /// Writes and records a message. A line may stay in the buffer until the next flush.
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
            tap.record_sent(self.framing.tap_label(), json.as_bytes());
        }
        Ok(())
    }

    /// Sends the notifications of a change that the client has subscribed to.
    fn notify(&mut self, change: &Change) -> io::Result<()> {
        for notification in self.session.notifications(change) {
            tracing::info!(method = notification.method, "notified the client");
            self.send(&notification.to_json())?;
        }
        self.output.flush()
    }

    /// Sends the answer to a request whose job has finished, unless the client has cancelled it.
    fn send_job_answer(&mut self, id: &Id, answer: &Response) -> io::Result<()> {
        let running = &mut self.running_requests;
        let Some(index) = running.iter().position(|running_id| running_id == id) else {
            return Ok(());
        };
        running.swap_remove(index);
        self.send(answer.as_json())?;
        self.output.flush()
    }
}

/// Runs a job, then locks the conversation and sends the answer.
fn run_job(job: Job, shared: &Mutex<Conversation>) {
    let id = job.id().clone();
    let answer = job.finish();
    let mut conversation = lock(shared);
    if let Err(error) = conversation.send_job_answer(&id, &answer) {
        conversation.store_write_error(error);
    }
}

impl Listener for Mutex<Conversation> {
    fn notify(&self, change: &Change) {
        let mut conversation = lock(self);
        if let Err(error) = conversation.notify(change) {
            conversation.store_write_error(error);
        }
    }
}

/// How a message is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// A line ending follows the message.
    Line,
    /// Headers precede the message: `Content-Length: 40`, then an empty line.
    Frame,
}

impl Framing {
    /// Returns the label of a message in the [`Tap`].
    fn tap_label(self) -> &'static str {
        match self {
            Framing::Line => "",
            Framing::Frame => "frame",
        }
    }
}

/// A message as it was received. It is kept as bytes because invalid UTF-8 must be answered with an
/// error, not end the conversation.
struct RawMessage<'r> {
    framing: Framing,
    /// The message without its line ending or headers, or why it was skipped.
    bytes: Result<&'r [u8], Error>,
}

impl RawMessage<'_> {
    /// Returns `true` for a line without a message. Some clients send such lines between messages.
    fn is_blank(&self) -> bool {
        match self.bytes {
            Ok(bytes) => bytes.trim_ascii().is_empty(),
            Err(_) => false,
        }
    }
}

/// Reads lines and frames.
///
/// The `Content-Length` of a frame is ignored, because some clients compute it wrong. A frame ends
/// where its JSON value ends.
struct StdioReader<R> {
    input: BufReader<R>,
    /// The current line or JSON value.
    buffer: Vec<u8>,
    /// Whether nothing has been read yet, so that a BOM may come.
    is_at_start: bool,
}

impl<R: Read> StdioReader<R> {
    fn new(input: R) -> StdioReader<R> {
        StdioReader {
            input: BufReader::with_capacity(READ_BUFFER_BYTES, input),
            buffer: Vec::new(),
            is_at_start: true,
        }
    }

    /// Waits for the next line, which may be blank, or the next frame. Returns `None` at the end of
    /// the input.
    ///
    /// Removes a BOM at the start of the input. Skips a message that is too long and a frame
    /// without JSON; their [`RawMessage`] has the error.
    fn read_message(&mut self) -> io::Result<Option<RawMessage<'_>>> {
        let consumed_bytes = self.read_line()?;
        if consumed_bytes == 0 {
            return Ok(None);
        }
        let may_have_bom = std::mem::take(&mut self.is_at_start);
        if self.is_line_cut() {
            self.input.skip_until(b'\n')?;
            return Ok(Some(RawMessage {
                framing: Framing::Line,
                bytes: Err(message_too_long()),
            }));
        }
        let mut start = 0;
        if may_have_bom && self.buffer.starts_with(BOM) {
            start = BOM.len();
        }
        if is_frame_header(&self.buffer[start..]) {
            return Ok(Some(RawMessage {
                framing: Framing::Frame,
                bytes: self.read_frame()?,
            }));
        }
        Ok(Some(RawMessage {
            framing: Framing::Line,
            bytes: Ok(&self.buffer[start..]),
        }))
    }

    /// Returns `true` if the next line has arrived, so that [`read_message`](Self::read_message)
    /// won't block. Returns `false` if a frame may be next: the rest of it may be missing even if
    /// its headers have arrived.
    fn has_complete_line(&self) -> bool {
        let arrived = self.input.buffer();
        let may_be_frame = matches!(arrived.trim_ascii_start().first(), Some(b'c' | b'C'));
        !may_be_frame && memchr::memchr(b'\n', arrived).is_some()
    }

    /// Reads the next line into the buffer, without the newline. Returns the number of bytes
    /// consumed, which is 0 only at the end of the input.
    ///
    /// Cuts a line that is longer than a message may be: call [`is_line_cut`](Self::is_line_cut),
    /// and skip the rest of the line, which is still to be read.
    fn read_line(&mut self) -> io::Result<usize> {
        self.buffer.clear();
        self.buffer.shrink_to(RETAINED_CAPACITY);
        let consumed_bytes = self
            .input
            .by_ref()
            .take(MAX_READ_BYTES)
            .read_until(b'\n', &mut self.buffer)?;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        }
        Ok(consumed_bytes)
    }

    /// Returns `true` if the buffer has only the beginning of a line, because the line is longer
    /// than [`MAX_MESSAGE_BYTES`].
    fn is_line_cut(&self) -> bool {
        // A line of exactly that length has been read together with its newline, which is removed.
        self.buffer.len() > MAX_MESSAGE_BYTES
    }

    /// Reads the rest of a frame whose first header is in the buffer. Returns its JSON, or why it
    /// was skipped.
    fn read_frame(&mut self) -> io::Result<Result<&[u8], Error>> {
        let mut header_bytes = self.buffer.len();
        // JSON ends the headers, too: some clients omit the empty line before it.
        while !self.is_at_json()? {
            header_bytes += self.read_line()?;
            let is_end_of_headers = self.buffer.trim_ascii().is_empty(); // or of the input
            if is_end_of_headers {
                break;
            }
            if header_bytes > MAX_HEADER_BYTES {
                return Ok(Err(frame_without_json()));
            }
        }
        self.skip_whitespace()?;
        if self.is_at_json()? {
            return self.read_json();
        }
        self.input.skip_until(b'\n')?;
        Ok(Err(frame_without_json()))
    }

    fn skip_whitespace(&mut self) -> io::Result<()> {
        loop {
            match self.input.fill_buf()?.first() {
                Some(byte) if byte.is_ascii_whitespace() => self.input.consume(1),
                _ => return Ok(()),
            }
        }
    }

    /// Returns `true` if the next byte begins a JSON object or array.
    fn is_at_json(&mut self) -> io::Result<bool> {
        Ok(matches!(self.input.fill_buf()?.first(), Some(b'{' | b'[')))
    }

    /// Reads one JSON object or array and nothing after it. If the input ends inside of it, returns
    /// the incomplete JSON, which the parser will reject.
    fn read_json(&mut self) -> io::Result<Result<&[u8], Error>> {
        self.buffer.clear();
        let mut scanner = JsonEndScanner::default();
        let mut json_bytes = 0;
        loop {
            let arrived = self.input.fill_buf()?;
            let last_byte = arrived.iter().position(|byte| scanner.is_end(*byte));
            let part_bytes = match last_byte {
                Some(index) => index + 1,
                None => arrived.len(),
            };
            json_bytes += part_bytes;
            if json_bytes <= MAX_MESSAGE_BYTES {
                self.buffer.extend_from_slice(&arrived[..part_bytes]);
            }
            self.input.consume(part_bytes);
            let is_end_of_input = part_bytes == 0;
            if last_byte.is_some() || is_end_of_input {
                break;
            }
        }
        if json_bytes > MAX_MESSAGE_BYTES {
            return Ok(Err(message_too_long()));
        }
        Ok(Ok(&self.buffer))
    }
}

/// Finds the end of a JSON object or array by counting brackets outside of strings.
#[derive(Default)]
struct JsonEndScanner {
    depth: usize,
    is_in_string: bool,
    is_after_backslash: bool,
}

impl JsonEndScanner {
    /// Scans the next byte, and returns `true` if it ends the object or array. The first byte must
    /// be `{` or `[`.
    fn is_end(&mut self, byte: u8) -> bool {
        if self.is_after_backslash {
            self.is_after_backslash = false;
            return false;
        }
        if self.is_in_string {
            self.is_after_backslash = byte == b'\\';
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

/// Returns `true` if a line is the first header of a frame, e.g. `Content-Length: 40`.
fn is_frame_header(line: &[u8]) -> bool {
    if line.len() > MAX_HEADER_BYTES {
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

    /// An input that arrives in pieces of at most `piece_bytes`.
    struct Pieces<'t> {
        text: &'t [u8],
        piece_bytes: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.piece_bytes.min(buffer.len());
            self.text.read(&mut buffer[..count])
        }
    }

    /// Reads all messages of an input. A skipped message is `None`.
    fn messages(text: &[u8], piece_bytes: usize) -> Vec<(Framing, Option<Vec<u8>>)> {
        let mut reader = StdioReader::new(Pieces { text, piece_bytes });
        let mut messages = Vec::new();
        while let Some(RawMessage { framing, bytes }) = reader.read_message().unwrap() {
            messages.push((framing, bytes.ok().map(<[u8]>::to_vec)));
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
    fn a_line_ends_with_a_newline_or_the_end_of_input() {
        for piece_bytes in [1, 2, 3, 100] {
            for (text, expected) in [
                ("", vec![]),
                ("a\n", vec![line("a")]),
                ("a\nb", vec![line("a"), line("b")]),
                ("\n\r\nlast\r", vec![line(""), line("\r"), line("last\r")]),
                ("\u{feff}a\n\u{feff}b", vec![line("a"), line("\u{feff}b")]),
            ] {
                let messages = messages(text.as_bytes(), piece_bytes);
                assert_eq!(messages, expected, "{text:?} in pieces of {piece_bytes}");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let long = "x".repeat(MAX_MESSAGE_BYTES);
        let text = format!("{long}\n{long}x\nnext\n{long}xx");
        let messages = messages(text.as_bytes(), READ_BUFFER_BYTES);
        assert!(messages[0] == line(&long));
        assert_eq!(messages[1..], [SKIPPED_LINE, line("next"), SKIPPED_LINE]);
    }

    #[test]
    fn only_a_complete_line_can_be_read_without_blocking() {
        for (text, expected) in [
            (&b"one\ntwo\nthr"[..], &[true, false, false][..]),
            (
                b"{}\nContent-Length: 2\n\n{}{}\n\n",
                &[false, true, true, false],
            ),
        ] {
            let mut reader = StdioReader::new(text);
            let mut has_complete_line = Vec::new();
            while reader.read_message().unwrap().is_some() {
                has_complete_line.push(reader.has_complete_line());
            }
            assert_eq!(has_complete_line, expected);
        }
    }

    #[test]
    fn a_frame_ends_with_its_json_whatever_its_headers_say() {
        for piece_bytes in [1, 2, 3, 100] {
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
                let messages = messages(text.as_bytes(), piece_bytes);
                assert_eq!(messages, expected, "{text:?} in pieces of {piece_bytes}");
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
        let long = "x".repeat(MAX_MESSAGE_BYTES);
        let text = format!("Content-Length: 1\n\n[\"{long}\"]Content-Length: 1\n\n{{}}next\n");
        let messages = messages(text.as_bytes(), READ_BUFFER_BYTES);
        assert_eq!(messages, [SKIPPED_FRAME, frame("{}"), line("next")]);
    }
}
