//! A stub of the picker's terminal for Windows, where the picker isn't supported.

use super::frame::Frame;
use super::keys::Key;
use std::convert::Infallible;
use std::io;

/// Always returns false.
pub(in crate::cli) fn can_draw() -> bool {
    false
}

/// Always fails.
pub(in crate::cli) fn ask_for_secret(_: &str) -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A terminal that can't be created.
pub(super) struct NoTerminal(Infallible);

pub(super) use self::NoTerminal as Terminal;

impl NoTerminal {
    pub(super) fn new(_: &str) -> io::Result<NoTerminal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn draw(&mut self, _: impl FnOnce(usize, usize) -> Frame) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn read_key(&mut self, _: impl FnMut(usize, usize) -> Frame) -> io::Result<Key> {
        match self.0 {}
    }
}
