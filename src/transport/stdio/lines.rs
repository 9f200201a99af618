//! Bytes to lines. Bytes, because a line that is not UTF-8 is refused, not fatal.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// The longest line, in bytes without its line end: 32 MiB. Of a longer one no more than this is ever held.
pub const MAX_LINE: usize = 32 * 1024 * 1024;

/// How much is read at once at least, in bytes: what a pipe of Linux holds. More than std's own buffer for standard input
/// (8 KiB), so that std passes that by: what waited there, poll(2) would not see.
const READ: usize = 64 * 1024;

/// How much memory a line may leave behind for the next one, in bytes. With less, a conversation of 1 MiB inputs would
/// have the system clear new memory for each.
const KEPT_BYTES: usize = 2 * 1024 * 1024;

/// Where an input has lines. They are used where they were read to: no line is copied, but for the beginning of one that
/// came in several pieces.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    /// What was read, up to `end`; the rest is room.
    buffer: Vec<u8>,
    /// Where the line begins that is looked for.
    start: usize,
    /// Up to where it was looked for.
    searched: usize,
    end: usize,
    /// The line that was found last.
    line: Range<usize>,
    /// Whether the line has become too long, so that the rest of it is dropped.
    is_too_long: bool,
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
        Lines {
            input,
            buffer: vec![0; 2 * READ],
            start: 0,
            searched: 0,
            end: 0,
            line: 0..0,
            is_too_long: false,
            is_first: true,
            is_at_end: false,
        }
    }

    #[cfg(unix)]
    pub(super) fn input(&self) -> &R {
        &self.input
    }

    /// The line that was found, without its line end and without a byte order mark before the first.
    pub(super) fn text(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// Looks for the next line in what was read. `None`: more must be read.
    pub(super) fn find(&mut self) -> Option<Found> {
        let newline = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]).map(|at| self.searched + at);
        self.searched = newline.map_or(self.end, |at| at + 1);
        self.line = self.start..newline.unwrap_or(self.end);
        self.is_too_long |= self.line.len() > MAX_LINE;
        let is_last = self.is_at_end && (self.is_too_long || !self.line.is_empty());
        if newline.is_some() || is_last {
            self.start = self.searched;
            if std::mem::take(&mut self.is_first) && self.text().starts_with("\u{feff}".as_bytes()) {
                self.line.start += '\u{feff}'.len_utf8();
            }
            return Some(if std::mem::take(&mut self.is_too_long) { Found::TooLong } else { Found::Whole });
        }
        if self.is_too_long {
            self.start = self.end;
        }
        self.is_at_end.then_some(Found::End)
    }

    /// Reads more; waits for it if there is none yet.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        self.make_room();
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(length) => {
                    self.end += length;
                    self.is_at_end = length == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Moves the beginning of the next line to the front, and gives back the memory of a huge one that is done with.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
        }
        (self.start, self.searched, self.line) = (0, self.end, 0..0);
        if self.buffer.len() > KEPT_BYTES && self.end + READ <= KEPT_BYTES {
            self.buffer.truncate(KEPT_BYTES);
            self.buffer.shrink_to_fit();
        }
        if self.buffer.len() < self.end + READ {
            let length = (2 * self.end).min(MAX_LINE + READ).max(self.end + READ);
            self.buffer.resize(length, 0);
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
