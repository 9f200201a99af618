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

/// A record that messages are appended to. If it cannot be written, it warns once, and recording
/// stops.
pub struct Tap {
    /// `None` after it failed.
    record: Mutex<Option<Box<dyn Write + Send>>>,
    warn: fn(&str),
}

impl Tap {
    /// Records to `record`, such as a file that is appended to; `warn` receives the reason if that
    /// fails.
    pub fn new(record: impl Write + Send + 'static, warn: fn(&str)) -> Tap {
        Tap {
            record: Mutex::new(Some(Box::new(record))),
            warn,
        }
    }

    /// Records a message that was received, without a line ending. `origin`, if it is not empty,
    /// ends with a space.
    pub(super) fn received(&self, origin: impl Display, message: &[u8]) {
        self.append("in ", origin, message);
    }

    /// Records a message that is sent, in the same way.
    pub(super) fn sent(&self, origin: impl Display, message: &[u8]) {
        self.append("out", origin, message);
    }

    /// Appends an entry in one call, so that the entries of several processes do not mix.
    fn append(&self, direction: &str, origin: impl Display, message: &[u8]) {
        let mut entry = format!(
            "{:.6} {} {direction} {origin}",
            Timestamp::now(),
            std::process::id()
        )
        .into_bytes();
        // JSON over HTTP may have line breaks, all of them between its tokens. Of the messages of
        // stdio, only frames have any.
        entry.extend(
            message
                .iter()
                .map(|byte| if *byte == b'\n' { b' ' } else { *byte }),
        );
        entry.push(b'\n');
        let mut record = lock(&self.record);
        if let Some(Err(error)) = record.as_mut().map(|record| record.write_all(&entry)) {
            *record = None;
            (self.warn)(&format!(
                "the conversation is no longer recorded: {error}; start the server again with another file"
            ));
        }
    }
}
