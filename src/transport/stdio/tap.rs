//! A record of a conversation, for who wants to see what a client really asked.
//!
//! Each line of it is one line of the conversation as it was, behind the time, the process, and the direction: `in` from
//! the client, `out` to it. Several servers may write to one record.

use jiff::Timestamp;
use std::io::{self, Write};

/// A record that lines are added to. Once it cannot be written, it is said once, and nothing is recorded any more.
pub struct Tap {
    record: Box<dyn Write>,
    warn: fn(&str),
    is_broken: bool,
    /// What was sent of a line so far.
    sent: Vec<u8>,
}

impl Tap {
    /// Records to a file that is appended to, say; `warn` is told why that has failed.
    pub fn new(record: impl Write + 'static, warn: fn(&str)) -> Tap {
        Tap { record: Box::new(record), warn, is_broken: false, sent: Vec::new() }
    }

    /// A line that was received, without its line end.
    pub(super) fn received(&mut self, line: &[u8]) {
        self.add("in ", line);
    }

    /// Bytes that were sent.
    fn sent(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                None => self.sent.extend_from_slice(part),
                Some(end) => {
                    let mut line = std::mem::take(&mut self.sent);
                    line.extend_from_slice(end);
                    self.add("out", &line);
                }
            }
        }
    }

    /// With one call, so that the lines of several processes are not mixed.
    fn add(&mut self, direction: &str, line: &[u8]) {
        if self.is_broken {
            return;
        }
        let mut entry = format!("{:.6} {} {direction} ", Timestamp::now(), std::process::id()).into_bytes();
        entry.extend_from_slice(line);
        entry.push(b'\n');
        if let Err(error) = self.record.write_all(&entry) {
            self.is_broken = true;
            (self.warn)(&format!(
                "the conversation is no longer recorded: {error}; start the server again with another file"
            ));
        }
    }
}

/// An output whose bytes are recorded once they are written.
pub(super) struct Tapped<W> {
    pub(super) output: W,
    pub(super) tap: Option<Tap>,
}

impl<W: Write> Write for Tapped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        if let Some(tap) = &mut self.tap {
            tap.sent(&bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
