//! A record of conversations, for a person who wants to see what an agent really sent.
//!
//! Each line is one message as it was, after the time, the process id and the direction: `in` from
//! the client, `out` to it. Over HTTP and WebSocket, where many clients use one server, the number
//! of the connection and the id of the request follow the direction; on standard input and output,
//! `frame` follows it if the message has headers. Several servers may append to one file.

use crate::lock::lock;
use jiff::Timestamp;
use std::fmt::Display;
use std::io::Write;
use std::sync::Mutex;

/// A record to which messages are appended. If it cannot be written, it warns once, and recording
/// stops.
pub struct Tap {
    /// `None` after a write failed.
    record: Mutex<Option<Box<dyn Write + Send>>>,
    warn: fn(&str),
}

impl Tap {
    /// Records to `record`, such as a file in append mode. `warn` receives the message of a
    /// failure.
    pub fn new(record: impl Write + Send + 'static, warn: fn(&str)) -> Tap {
        Tap {
            record: Mutex::new(Some(Box::new(record))),
            warn,
        }
    }

    /// Records a message from the client, without its line ending. `origin` is empty or ends with a
    /// space, such as `frame `.
    pub(super) fn received(&self, origin: impl Display, message: &[u8]) {
        self.append("in ", origin, message);
    }

    /// Records a message to the client, without its line ending. `origin` is empty or ends with a
    /// space, such as `frame `.
    pub(super) fn sent(&self, origin: impl Display, message: &[u8]) {
        self.append("out", origin, message);
    }

    /// Appends an entry in one call, so that the entries of several processes do not mix.
    fn append(&self, direction: &str, origin: impl Display, message: &[u8]) {
        let time = Timestamp::now();
        let process = std::process::id();
        let mut entry = format!("{time:.6} {process} {direction} {origin}").into_bytes();
        entry.extend_from_slice(message);
        // An entry is one line. The JSON of HTTP and of frames may have line breaks, all of them
        // between its tokens.
        for byte in &mut entry {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
        entry.push(b'\n');
        let mut record = lock(&self.record);
        let Some(writer) = record.as_mut() else {
            return;
        };
        if let Err(error) = writer.write_all(&entry) {
            *record = None;
            (self.warn)(&format!(
                "the conversation is no longer recorded: {error}; start the server again with another file"
            ));
        }
    }
}
