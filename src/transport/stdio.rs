//! The stdio transport: one line in, at most one line out, and news of the library in between, until the end of input.
//!
//! Nothing else is ever written to the output. All is done in one thread, one thing after the other; what else may wake
//! it is in [`Event`].

mod events;
mod lines;

pub use events::{Event, Events, Line, Waker};
pub use lines::MAX_LINE;

use crate::jsonrpc::{Error, Message, Outgoing, Response};
use crate::server::Server;
use std::io::{self, Write};

/// Serves until the end of input. A last line without a line end is served too.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve(server: &mut Server, events: &mut Events, output: &mut impl Write) -> io::Result<()> {
    loop {
        let outgoing = match events.next(server.is_watching(), server.quiet())? {
            Event::Line(Line::Whole(line)) => match line.trim_ascii() {
                [] => None,
                text => match Message::parse(text) {
                    Ok(message) => server.handle(message),
                    Err(refusal) => Some(refusal.into()),
                },
            },
            Event::Line(Line::TooLong) => {
                let message = format!("a line is longer than {MAX_LINE} bytes, and was skipped");
                Some(Response::error(None, Error::invalid_request(message)).into())
            }
            Event::LibraryChanged => {
                for notification in server.library_changed() {
                    Outgoing::Notification(notification).write(output)?;
                }
                None
            }
            Event::EndOfInput => return Ok(()),
        };
        if let Some(outgoing) = outgoing {
            outgoing.write(output)?;
        }
    }
}
