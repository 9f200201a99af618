//! The picker on Windows asks line by line, in the console of standard input and error: nothing is drawn there.

use super::frame::Frame;
use super::keys::Key;
use std::convert::Infallible;
use std::io::{self, BufRead, IsTerminal, Write};

/// The console, for questions and answers.
pub(super) fn lines() -> io::Result<(Box<dyn BufRead>, Box<dyn Write>)> {
    let (input, output) = (io::stdin(), io::stderr());
    match input.is_terminal() && output.is_terminal() {
        true => Ok((Box::new(input.lock()), Box::new(output))),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

pub(super) fn is_plain() -> bool {
    true
}

/// None: nothing is drawn.
pub(super) struct Terminal(Infallible);

/// What happened.
pub(super) enum Event {
    Key(Key),
    Quiet,
    Ended,
}

impl Terminal {
    pub(super) fn new(_: &str) -> io::Result<Terminal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn size(&self) -> (usize, usize) {
        match self.0 {}
    }

    pub(super) fn draw(&mut self, _: &Frame, _: (usize, usize)) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn next(&mut self) -> Event {
        match self.0 {}
    }

    pub(super) fn end(self) {
        match self.0 {}
    }
}

/// A console reads and writes lines as it is.
pub(super) struct Lines;

impl Lines {
    pub(super) fn new() -> io::Result<Lines> {
        Ok(Lines)
    }
}
