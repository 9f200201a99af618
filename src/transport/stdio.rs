//! The stdio transport: one line in, at most one line out, until the end of input.
//!
//! Nothing else is ever written to the output. There is one thread, and each request is finished before the next line
//! is read.

use crate::jsonrpc::{Error, Message, Response};
use crate::server::Server;
use std::io::{self, BufRead, Read, Write};

/// The longest line, in bytes without its line end: 32 MiB. Of a longer one no more than this is ever held.
pub const MAX_LINE: usize = 32 * 1024 * 1024;

/// How much memory a line may leave behind for the next one, in bytes.
const KEPT: usize = 1024 * 1024;

/// Serves until the end of input. A last line without a line end is served too.
///
/// # Errors
/// Those of `input` and `output`. A client that no longer reads is a broken pipe.
pub fn serve(server: &mut Server, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new(); // bytes: a line that is not UTF-8 is refused, not fatal
    let mut is_first = true;
    loop {
        let response = match read_line(input, &mut line)? {
            Line::End => return Ok(()),
            Line::TooLong => {
                let message = format!("a line is longer than {MAX_LINE} bytes, and was skipped");
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
    let length = input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_none() && length > MAX_LINE {
        *line = Vec::new();
        input.skip_until(b'\n')?;
        return Ok(Line::TooLong);
    }
    Ok(if length == 0 { Line::End } else { Line::Whole })
}
