//! The stdio transport: one line in, at most one line out, and news of the library in between, until the end of input.
//!
//! Nothing else is ever written to the output. All is done in one thread, one thing after the other; what else may wake
//! it is in [`Event`].

mod events;
mod lines;
mod tap;

pub use events::{Event, Events, Input, Line, Waker};
pub use lines::MAX_LINE;
pub use tap::Tap;

use crate::jsonrpc::{Error, Message, Outgoing, Response};
use crate::server::Server;
use std::io::{self, BufWriter, Write};
use tap::Tapped;

/// How many bytes of answers are held back at most, while more lines are there to be read, none of which takes long to
/// answer. A longer answer is written while it is made.
const HELD: usize = 64 * 1024;

/// Serves until the end of input. A last line without a line end is served too. A `tap` records all lines.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve<R: Input>(
    server: &mut Server,
    events: &mut Events<R>,
    output: &mut impl Write,
    tap: Option<Tap>,
) -> io::Result<()> {
    // Lines that answer lines which came together go together: to write is most of what an answer costs.
    let mut answers = BufWriter::with_capacity(HELD, Tapped { output, tap });
    loop {
        let event = events.next(server.is_watching(), server.quiet(), || answers.flush())?;
        if let (Event::Line(line), Some(tap)) = (&event, &mut answers.get_mut().tap) {
            match line {
                Line::Whole(line) => tap.received(line),
                Line::TooLong => tap.received(format!("(a line of more than {MAX_LINE} bytes)").as_bytes()),
            }
        }
        let outgoing = match event {
            Event::Line(Line::Whole(line)) => match line.trim_ascii() {
                [] => None,
                text => match Message::parse(text) {
                    Ok(message) => {
                        if Server::may_take_long(&message) {
                            answers.flush()?;
                        }
                        server.handle(message)
                    }
                    Err(refusal) => {
                        tracing::warn!(bytes = text.len(), "a line is no message");
                        Some(refusal.into())
                    }
                },
            },
            Event::Line(Line::TooLong) => {
                let message = format!("a line is longer than {MAX_LINE} bytes, and was skipped");
                tracing::warn!("{message}");
                Some(Response::error(None, Error::invalid_request(message)).into())
            }
            Event::LibraryChanged => {
                for notification in server.library_changed() {
                    Outgoing::Notification(notification).write(&mut answers)?;
                }
                None
            }
            Event::EndOfInput => return answers.flush(),
        };
        if let Some(outgoing) = outgoing {
            outgoing.write(&mut answers)?;
        }
    }
}
