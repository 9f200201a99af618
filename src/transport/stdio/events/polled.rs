//! Events of a system that can wait for two things at once (poll(2)), in one thread.

use super::{Event, Line};
use crate::transport::stdio::lines::{Found, Lines};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Events<R> {
    lines: Lines<R>,
    wake: PipeReader,
}

/// Interrupts the waiting for input.
#[derive(Debug)]
pub struct Waker(PipeWriter);

impl Waker {
    /// Makes one [`Event::LibraryChanged`], or joins one that is still to come.
    pub fn wake(&self) {
        // It fails when the loop has ended.
        _ = (&self.0).write(&[0]);
    }
}

/// What can be waited for.
pub trait Input: Read + AsFd {}

impl<R: Read + AsFd> Input for R {}

impl<R: Input> Events<R> {
    pub(super) fn new(input: R) -> io::Result<(Events<R>, Waker)> {
        let (wake, waker) = io::pipe()?;
        Ok((Events { lines: Lines::new(input), wake }, Waker(waker)))
    }

    pub(super) fn next(
        &mut self,
        is_watching: bool,
        quiet: Option<Duration>,
        before_waiting: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Event<'_>> {
        let mut before_waiting = Some(before_waiting);
        let found = loop {
            if let Some(found) = self.lines.find() {
                break found;
            }
            before_waiting.take().map_or(Ok(()), |before| before())?;
            if (is_watching || quiet.is_some()) && self.is_woken(quiet)? {
                return Ok(Event::LibraryChanged);
            }
            self.lines.fill()?;
        };
        Ok(match found {
            Found::Whole => Event::Line(Line::Whole(self.lines.text())),
            Found::TooLong => Event::Line(Line::TooLong),
            Found::End => Event::EndOfInput,
        })
    }

    /// Waits for input, for the waker, or for the end of the quiet; whether it was not input.
    fn is_woken(&mut self, quiet: Option<Duration>) -> io::Result<bool> {
        let timeout = quiet.and_then(|quiet| Timespec::try_from(quiet).ok());
        let mut both = [PollFd::new(&self.wake, PollFlags::IN), PollFd::new(self.lines.input(), PollFlags::IN)];
        loop {
            match poll(&mut both, timeout.as_ref()) {
                Ok(0) => return Ok(true),
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !both[0].revents().contains(PollFlags::IN) {
            return Ok(false);
        }
        // As many calls of the waker as there were, up to now, are one event.
        match self.wake.read(&mut [0; 64]) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
            _ => Ok(true),
        }
    }
}
