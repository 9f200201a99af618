//! Everything that can wake the loop.
//!
//! Where the system can wait for two things at once, one thread does (`polled.rs`): a request then costs no switch from
//! one thread to another, and nothing but one call more while a library is watched. Elsewhere a second thread reads
//! (`threaded.rs`).

#[cfg(unix)]
mod polled;
#[cfg(any(not(unix), test))]
mod threaded;

#[cfg(unix)]
use polled as system;
#[cfg(not(unix))]
use threaded as system;

pub use system::{Input, Waker};

use std::io::{self, Stdin};
use std::time::Duration;

/// What has happened.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'l> {
    /// A client has written a line.
    Line(Line<'l>),
    /// A [`Waker`] was called, or it was quiet for as long as one wanted to wait.
    LibraryChanged,
    /// No line will come any more.
    EndOfInput,
}

/// A line, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// All of it.
    Whole(&'l [u8]),
    /// It was longer than [`super::MAX_LINE`], and was skipped.
    TooLong,
}

/// An input, and a way to interrupt the waiting for it.
#[derive(Debug)]
pub struct Events<R = Stdin>(system::Events<R>);

impl Events {
    /// The events of this process, and what makes [`Event::LibraryChanged`] of them.
    ///
    /// # Errors
    /// The system has no pipe, or no thread, left.
    pub fn new() -> io::Result<(Events, Waker)> {
        Events::over(io::stdin())
    }
}

impl<R: Input> Events<R> {
    /// The same of another input.
    ///
    /// # Errors
    /// Those of [`Events::new`].
    pub fn over(input: R) -> io::Result<(Events<R>, Waker)> {
        let (events, waker) = system::Events::new(input)?;
        Ok((Events(events), waker))
    }

    /// The next event. `is_watching`: the waker may be called. `quiet`: how long to wait at most. `before_waiting` is
    /// called unless an event is there already.
    ///
    /// # Errors
    /// Those of the input, and of `before_waiting`.
    pub fn next(
        &mut self,
        is_watching: bool,
        quiet: Option<Duration>,
        before_waiting: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Event<'_>> {
        self.0.next(is_watching, quiet, before_waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn go_on() -> io::Result<()> {
        Ok(())
    }

    /// Both ways give the same events for the same input.
    macro_rules! same_events {
        ($name:ident, $system:ident) => {
            #[test]
            fn $name() {
                let (reader, mut writer) = io::pipe().unwrap();
                let (mut events, waker) = $system::Events::new(reader).unwrap();
                writer.write_all(b"one\ntwo\npart").unwrap();
                assert_eq!(events.next(false, None, go_on).unwrap(), Event::Line(Line::Whole(b"one")));
                assert_eq!(events.next(true, None, go_on).unwrap(), Event::Line(Line::Whole(b"two")));
                waker.wake();
                assert_eq!(events.next(true, None, go_on).unwrap(), Event::LibraryChanged);
                writer.write_all(b"ial\n").unwrap();
                assert_eq!(events.next(true, None, go_on).unwrap(), Event::Line(Line::Whole(b"partial")));
                waker.wake();
                assert_eq!(events.next(true, None, go_on).unwrap(), Event::LibraryChanged);
                writer.write_all(b"after some quiet").unwrap();
                let quiet = Some(Duration::from_millis(1));
                assert_eq!(events.next(false, quiet, go_on).unwrap(), Event::LibraryChanged);
                writer.write_all(b"\n").unwrap();
                assert_eq!(events.next(false, None, go_on).unwrap(), Event::Line(Line::Whole(b"after some quiet")));
                writer.write_all(b"last").unwrap();
                drop(writer);
                assert_eq!(events.next(true, None, go_on).unwrap(), Event::Line(Line::Whole(b"last")));
                assert_eq!(events.next(true, None, go_on).unwrap(), Event::EndOfInput);
                assert_eq!(events.next(false, None, go_on).unwrap(), Event::EndOfInput);
            }
        };
    }

    #[cfg(unix)]
    same_events!(the_events_of_one_thread, polled);
    same_events!(the_events_of_two_threads, threaded);
}
