//! Bytes to lines. Bytes, because a line that is not UTF-8 is refused and must not end the conversation.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line, in bytes without its line ending: 32 MiB. No more than this is stored of a longer one.
pub const MAX_LINE: usize = 32 * 1024 * 1024;

/// How much memory a long line may leave allocated for the next one, in bytes.
const RETAINED: usize = 4 * 1024 * 1024;

/// How much is read at once, in bytes: the capacity of a pipe on Linux.
const READ_BUFFER: usize = 64 * 1024;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// A line, without its line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'l> {
    Complete(&'l [u8]),
    /// It was longer than [`MAX_LINE`], and was skipped.
    TooLong,
}

/// The lines of an input.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    is_first: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines { input: BufReader::with_capacity(READ_BUFFER, input), line: Vec::new(), is_first: true }
    }

    /// Waits for the next line; `None` at the end of input. A BOM before the first line is dropped.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(RETAINED);
        let length = self.input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut self.line)?;
        let is_first = std::mem::take(&mut self.is_first);
        if length == 0 {
            return Ok(None);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if length > MAX_LINE {
            self.input.skip_until(b'\n')?;
            return Ok(Some(Line::TooLong));
        }
        let line = self.line.strip_prefix(BOM).filter(|_| is_first).unwrap_or(&self.line);
        Ok(Some(Line::Complete(line)))
    }

    /// Whether the next line has been read already.
    pub(super) fn has_next(&self) -> bool {
        memchr::memchr(b'\n', self.input.buffer()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text that arrives in pieces of at most this many bytes; `None` for a line that is too long.
    fn lines(text: &[u8], piece: usize) -> Vec<Option<Vec<u8>>> {
        struct Pieces<'t>(&'t [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = self.1.min(buffer.len());
                self.0.read(&mut buffer[..length])
            }
        }
        let mut lines = Lines::new(Pieces(text, piece));
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(match line {
                Line::Complete(line) => Some(line.to_vec()),
                Line::TooLong => None,
            });
        }
        all
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
                let want: Vec<_> = want.into_iter().map(|line| Some(line.as_bytes().to_vec())).collect();
                assert_eq!(lines(text.as_bytes(), piece), want, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let long = vec![b'x'; MAX_LINE];
        let text = [&long[..], b"\n", &long, b"x\nnext\n", &long, b"xx"].concat();
        let found = lines(&text, READ_BUFFER);
        assert!(found[0].as_ref().is_some_and(|line| line.len() == MAX_LINE));
        assert_eq!(found[1..], [None, Some(b"next".to_vec()), None]);
    }

    #[test]
    fn the_next_line_is_known_only_once_it_is_complete() {
        let mut lines = Lines::new(&b"one\ntwo\nthr"[..]);
        let mut has_next = Vec::new();
        while lines.next().unwrap().is_some() {
            has_next.push(lines.has_next());
        }
        assert_eq!(has_next, [true, false, false]);
    }
}
