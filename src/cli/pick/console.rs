//! The picker on Windows asks line by line, in the console of standard input and error: nothing is
//! drawn there.

use super::frame::Frame;
use super::keys::Key;
use std::convert::Infallible;
use std::io::{self, BufRead, IsTerminal, Write};

/// Whether a picker can be shown.
pub(in crate::cli) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

pub(super) fn is_plain() -> bool {
    true
}

/// The console, for questions and answers.
pub(super) struct Lines {
    pub(super) input: Box<dyn BufRead>,
    pub(super) output: Box<dyn Write>,
}

impl Lines {
    pub(super) fn new() -> io::Result<Lines> {
        Ok(Lines {
            input: Box::new(io::stdin().lock()),
            output: Box::new(io::stderr()),
        })
    }
}

/// A terminal that does not exist here: nothing is drawn.
pub(super) struct Terminal(Infallible);

impl Terminal {
    pub(super) fn new(_: &str) -> io::Result<Terminal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn draw(&mut self, _: impl FnOnce(usize, usize) -> Frame) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn key(&mut self, _: impl FnMut(usize, usize) -> Frame) -> io::Result<Key> {
        match self.0 {}
    }
}
