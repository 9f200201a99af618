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
use std::io::{self, Write};

/// How many bytes of answers are held back, while more lines are there to be read.
const HELD: usize = 64 * 1024;

/// Serves until the end of input. A last line without a line end is served too.
///
/// # Errors
/// Those of input and output. A client that no longer reads is a broken pipe.
pub fn serve<R: Input>(server: &mut Server, events: &mut Events<R>, output: &mut impl Write) -> io::Result<()> {
    let mut answers = Answers { output, held: Vec::new() };
    loop {
        let event = events.next(server.is_watching(), server.quiet(), || answers.write())?;
        let outgoing = match event {
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
                    answers.add(&Outgoing::Notification(notification))?;
                }
                None
            }
            Event::EndOfInput => return answers.write(),
        };
        if let Some(outgoing) = outgoing {
            answers.add(&outgoing)?;
        }
    }
}

/// Lines on their way out. Those that answer lines which came together go together: to write is most of what an answer
/// costs.
struct Answers<'o, W> {
    output: &'o mut W,
    held: Vec<u8>,
}

impl<W: Write> Answers<'_, W> {
    fn add(&mut self, outgoing: &Outgoing) -> io::Result<()> {
        outgoing.write(&mut self.held)?;
        if self.held.len() < HELD { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.output.write_all(&self.held)?;
        self.output.flush()?;
        self.held.clear();
        self.held.shrink_to(HELD);
        Ok(())
    }
}
