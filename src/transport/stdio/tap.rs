//! A record of a conversation, for a person who wants to see what an agent really sent.
//!
//! Each line is one line of the conversation as it was, after the time, the process id and the direction: `in` from the
//! client, `out` to it. Several servers may append to one file.

use jiff::Timestamp;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A record that lines are appended to. If it cannot be written, it warns once, and recording stops.
pub struct Tap {
    record: Box<dyn Write + Send>,
    warn: fn(&str),
    has_failed: bool,
}

impl Tap {
    /// Records to `record`, such as a file that is appended to; `warn` receives the reason if that fails.
    pub fn new(record: impl Write + Send + 'static, warn: fn(&str)) -> Tap {
        Tap { record: Box::new(record), warn, has_failed: false }
    }

    /// Records a line that was received, without its line ending.
    pub(super) fn received(&mut self, line: &[u8]) {
        self.append("in ", line);
    }

    /// Records a line that is sent, without its line ending.
    pub(super) fn sent(&mut self, line: &[u8]) {
        self.append("out", line);
    }

    /// Appends an entry in one call, so that the entries of several processes do not mix.
    fn append(&mut self, direction: &str, line: &[u8]) {
        if self.has_failed {
            return;
        }
        let mut entry = format!("{:.6} {} {direction} ", Timestamp::now(), std::process::id()).into_bytes();
        entry.extend_from_slice(line);
        entry.push(b'\n');
        if let Err(error) = self.record.write_all(&entry) {
            self.has_failed = true;
            (self.warn)(&format!(
                "the conversation is no longer recorded: {error}; start the server again with another file"
            ));
        }
    }
}

pub(super) fn lock(tap: &Mutex<Tap>) -> MutexGuard<'_, Tap> {
    tap.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An output whose lines are recorded when they are written.
pub(super) struct Tapped<W> {
    output: W,
    tap: Arc<Mutex<Tap>>,
    /// The beginning of the line that is not complete yet.
    line: Vec<u8>,
}

impl<W> Tapped<W> {
    pub(super) fn new(output: W, tap: Arc<Mutex<Tap>>) -> Tapped<W> {
        Tapped { output, tap, line: Vec::new() }
    }
}

impl<W: Write> Write for Tapped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        for part in bytes[..written].split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if let Some(line) = self.line.strip_suffix(b"\n") {
                lock(&self.tap).sent(line);
                self.line.clear();
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
