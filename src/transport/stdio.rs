//! The stdio transport: one line in, at most one line out, until the end of input.
//!
//! Nothing else is ever written to the output. There is one thread, and each request is finished before the next line
//! is read.

use crate::jsonrpc::{Error, Message, Response};
use crate::server::Server;
use std::io::{self, BufRead, ErrorKind, Write};

/// The longest line, in bytes without its line end: 32 MiB. Of a longer one no more than this is ever held.
pub const MAX_LINE: usize = 32 * 1024 * 1024;

/// How much memory a line may leave behind for the next one, in bytes.
const KEPT: usize = 1024 * 1024;

/// Serves until the end of input. A last line without a line end is served too.
///
/// A client that closes our output is gone: that is an ordinary end.
///
/// # Errors
/// Those of `input` and `output`.
pub fn serve(server: &mut Server, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    match exchange(server, input, output) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

fn exchange(server: &mut Server, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new(); // bytes: a line that is not UTF-8 is refused, not fatal
    let mut is_first = true;
    loop {
        let response = match read_line(input, &mut line)? {
            Line::End => return Ok(()),
            Line::TooLong => {
                let message = format!("invalid request: a line is longer than {MAX_LINE} bytes, and was skipped");
                Some(Response::error(None, Error::invalid_request(message)))
            }
            Line::Whole => {
                let mut text = line.as_slice();
                if is_first {
                    text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
                }
                match text.trim_ascii() {
                    [] => None,
                    text => match Message::parse(text) {
                        Ok(message) => server.handle(message),
                        Err(refusal) => Some(refusal),
                    },
                }
            }
        };
        is_first = false;
        if let Some(response) = response {
            response.write(output)?;
        }
        line.clear();
        line.shrink_to(KEPT);
    }
}

enum Line {
    /// It is in the buffer, without its line end.
    Whole,
    /// It was skipped.
    TooLong,
    /// There is none.
    End,
}

/// Reads up to the next `\n` into an empty buffer.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    let mut too_long = false;
    let mut is_empty = true;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        is_empty &= bytes.is_empty();
        let newline = memchr::memchr(b'\n', bytes);
        let piece = &bytes[..newline.unwrap_or(bytes.len())];
        if !too_long && line.len() + piece.len() <= MAX_LINE {
            line.extend_from_slice(piece);
        } else if !too_long {
            too_long = true;
            *line = Vec::new();
        }
        let at_end = bytes.is_empty();
        let consumed = newline.map_or(bytes.len(), |newline| newline + 1);
        input.consume(consumed);
        if newline.is_some() || at_end {
            return Ok(match (is_empty, too_long) {
                (true, _) => Line::End,
                (_, true) => Line::TooLong,
                (_, false) => Line::Whole,
            });
        }
    }
}
