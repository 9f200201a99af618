//! Bytes to lines. Bytes, because a line that is not UTF-8 is refused, not fatal.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The longest line, in bytes without its line end: 32 MiB. Of a longer one no more than this is ever held.
pub const MAX_LINE: usize = 32 * 1024 * 1024;

/// How much is read at once, in bytes. More than std's own buffer for standard input holds (8 KiB), so that std passes
/// that by: what waited there, poll(2) would not see.
const READ: usize = 64 * 1024;

/// How much memory a line may leave behind for the next one, in bytes.
const KEPT: usize = 1024 * 1024;

/// Where an input has lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: BufReader<R>,
    /// The line so far.
    line: Vec<u8>,
    /// Whether the line has become too long, so that the rest of it is dropped.
    is_too_long: bool,
    /// Whether the line that was found last is done with.
    is_found: bool,
    is_first: bool,
    is_at_end: bool,
}

/// A line that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It is [`Lines::text`].
    Whole,
    TooLong,
    /// There is none, and there will be none.
    End,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        let input = BufReader::with_capacity(READ, input);
        Lines { input, line: Vec::new(), is_too_long: false, is_found: false, is_first: true, is_at_end: false }
    }

    pub(super) fn input(&self) -> &R {
        self.input.get_ref()
    }

    /// The line that was found, without its line end and without a byte order mark before the first.
    pub(super) fn text(&self) -> &[u8] {
        &self.line
    }

    /// Looks for the next line in what was read. `None`: more must be read.
    pub(super) fn find(&mut self) -> Option<Found> {
        if std::mem::take(&mut self.is_found) {
            self.line.clear();
            self.line.shrink_to(KEPT);
        }
        let buffer = self.input.buffer();
        let end = memchr::memchr(b'\n', buffer);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        self.is_too_long |= self.line.len() + piece.len() > MAX_LINE;
        if self.is_too_long {
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(piece);
        }
        let length = piece.len() + usize::from(end.is_some());
        self.input.consume(length);
        let is_last = self.is_at_end && (self.is_too_long || !self.line.is_empty());
        if end.is_some() || is_last {
            self.is_found = true;
            let is_first = std::mem::take(&mut self.is_first);
            if is_first && self.line.starts_with("\u{feff}".as_bytes()) {
                self.line.drain(..'\u{feff}'.len_utf8());
            }
            return Some(if std::mem::take(&mut self.is_too_long) { Found::TooLong } else { Found::Whole });
        }
        self.is_at_end.then_some(Found::End)
    }

    /// Reads more; waits for it if there is none yet.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => {
                    self.is_at_end = buffer.is_empty();
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text that arrives in pieces of this many bytes.
    fn lines(text: &[u8], piece: usize) -> Vec<Result<Vec<u8>, Found>> {
        struct Trickle<'t>(&'t [u8], usize);
        impl Read for Trickle<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = self.1.min(buffer.len());
                (&mut self.0).take(length as u64).read(buffer)
            }
        }
        let mut lines = Lines::new(Trickle(text, piece));
        let mut all = Vec::new();
        loop {
            match lines.find() {
                Some(Found::End) => return all,
                Some(Found::Whole) => all.push(Ok(lines.text().to_vec())),
                Some(found) => all.push(Err(found)),
                None => lines.fill().unwrap(),
            }
        }
    }

    #[test]
    fn a_line_ends_with_a_newline_or_with_the_input_however_it_arrives() {
        for piece in [1, 2, 3, 100] {
            let of = |text: &str| -> Vec<String> {
                lines(text.as_bytes(), piece)
                    .into_iter()
                    .map(|line| String::from_utf8(line.unwrap()).unwrap())
                    .collect()
            };
            assert_eq!(of(""), [""; 0]);
            assert_eq!(of("a\n"), ["a"]);
            assert_eq!(of("a\nb"), ["a", "b"]);
            assert_eq!(of("\n\r\nlast\r"), ["", "\r", "last\r"]);
            assert_eq!(of("\u{feff}a\n\u{feff}b"), ["a", "\u{feff}b"]);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_is_found() {
        let long = vec![b'x'; MAX_LINE];
        let text = [&long[..], b"\n", &long, b"x\nnext\n", &long, b"xx"].concat();
        let found = lines(&text, READ);
        assert!(found[0].as_ref().is_ok_and(|line| line.len() == MAX_LINE));
        assert_eq!(found[1..], [Err(Found::TooLong), Ok(b"next".to_vec()), Err(Found::TooLong)]);
    }
}
