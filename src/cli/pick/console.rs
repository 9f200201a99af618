//! The terminal of the picker on Windows, where nothing is drawn.

use super::frame::Frame;
use super::keys::Key;
use std::convert::Infallible;
use std::io;

/// Returns false: there is no terminal that can be drawn on.
pub(in crate::cli) fn can_draw() -> bool {
    false
}

/// A terminal that does not exist.
pub(super) struct NoTerminal(Infallible);

pub(super) use self::NoTerminal as Terminal;

impl NoTerminal {
    pub(super) fn new(_: &str) -> io::Result<NoTerminal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn draw(&mut self, _: impl FnOnce(usize, usize) -> Frame) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn key(&mut self, _: impl FnMut(usize, usize) -> Frame) -> io::Result<Key> {
        match self.0 {}
    }
}
