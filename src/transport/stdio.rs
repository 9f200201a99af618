//! The stdio transport: one line in, at most one line out, and news of the library in between, until the end of input.
//!
//! Nothing else is ever written to the output. All is done in one thread, one thing after the other; what else may wake
//! it is in [`Event`].

mod events;
mod lines;

pub use events::{Event, Events, Input, Line, Waker};
pub use lines::MAX_LINE;

use crate::jsonrpc::{Error, Message, Outgoing, Response};
use crate::server::Server;
use std::io::{self, BufWriter, Write};

/// How many bytes of answers are held back at most, while more lines are there to be read, none of which takes long to
/// answer. A longer answer is written from where it was made.
const HELD: usize = 64 * 1024;

/// Serves until the end of input. A last line without a line end is served too.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve<R: Input>(server: &mut Server, events: &mut Events<R>, output: &mut impl Write) -> io::Result<()> {
    // Lines that answer lines which came together go together: to write is most of what an answer costs.
    let mut answers = BufWriter::with_capacity(HELD, output);
    loop {
        let event = events.next(server.is_watching(), server.quiet(), || answers.flush())?;
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
                    Err(refusal) => Some(refusal.into()),
                },
            },
            Event::Line(Line::TooLong) => {
                let message = format!("a line is longer than {MAX_LINE} bytes, and was skipped");
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
