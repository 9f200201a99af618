//! A log of all messages, for users who want to see what an agent really sends.
//!
//! Each line is one message, after the time, the process id, the direction and a label. The
//! direction is `in` for a message from the client and `out` for one to the client. The label tells
//! apart the clients of an HTTP server by the number of the connection and the id of the request.
//! On standard input and output, it is `frame` for a message with headers, and empty otherwise.
//!
//! Several servers may append to one file.

use crate::lock::lock;
use jiff::Timestamp;
use std::fmt::Display;
use std::io::Write;
use std::sync::Mutex;

/// The log of all messages. If it can't be written, it warns once and stops recording.
pub struct Tap {
    /// `None` after a write has failed.
    output: Mutex<Option<Box<dyn Write + Send>>>,
    warn: fn(&str),
}

impl Tap {
    /// Records to `output`, e.g. a file in append mode. `warn` is called with a message if a write
    /// fails.
    pub fn new(output: impl Write + Send + 'static, warn: fn(&str)) -> Tap {
        Tap {
            output: Mutex::new(Some(Box::new(output))),
            warn,
        }
    }

    /// Records a message from the client. The `label` may be empty.
    pub(super) fn record_received(&self, label: impl Display, message: &[u8]) {
        self.append("in ", label, message);
    }

    /// Records a message to the client. The `label` may be empty.
    pub(super) fn record_sent(&self, label: impl Display, message: &[u8]) {
        self.append("out", label, message);
    }

    /// Appends a line with the time, the process id, the direction, the label and the message. If
    /// it can't be written, warns once and records nothing from now on.
    fn append(&self, direction: &str, label: impl Display, message: &[u8]) {
        let time = Timestamp::now();
        let process = std::process::id();
        let mut columns = format!("{time:.6} {process} {direction} {label}");
        if !columns.ends_with(' ') {
            columns.push(' '); // after the label
        }
        let mut line = columns.into_bytes();
        line.extend_from_slice(message);
        // The JSON of HTTP bodies and frames may have line breaks. JSON allows them only between
        // tokens, where a space means the same.
        for byte in &mut line {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
        line.push(b'\n');
        let mut output = lock(&self.output);
        let Some(writer) = output.as_mut() else {
            return;
        };
        // Write the line with one call, so that the lines of several processes don't mix.
        if let Err(error) = writer.write_all(&line) {
            *output = None;
            (self.warn)(&format!(
                "the conversation is no longer recorded: {error}; restart the server with another file"
            ));
        }
    }
}
