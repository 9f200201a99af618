//! Events of a system that cannot wait for a pipe and for something else at once: a second thread reads the lines.

#![cfg_attr(unix, allow(unreachable_pub))] // there it is compiled for its test only

use super::{Event, Line};
use crate::transport::stdio::lines::{Found, Lines};
use std::io::{self, Read};
use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// How many lines are read ahead.
const READ_AHEAD: usize = 4;

#[derive(Debug)]
pub(super) struct Events<R> {
    sent: Receiver<Sent>,
    /// The line that was received last.
    line: Vec<u8>,
    is_at_end: bool,
    _input: PhantomData<R>,
}

#[derive(Debug)]
enum Sent {
    Line(Vec<u8>),
    TooLong,
    Failed(io::Error),
    End,
    Woken,
}

/// Interrupts the waiting for input.
#[derive(Debug)]
pub struct Waker(SyncSender<Sent>);

impl Waker {
    /// Makes one [`Event::LibraryChanged`].
    pub fn wake(&self) {
        // It fails when the loop has ended.
        _ = self.0.send(Sent::Woken);
    }
}

/// What another thread can read.
pub trait Input: Read + Send + 'static {}

impl<R: Read + Send + 'static> Input for R {}

impl<R: Input> Events<R> {
    pub(super) fn new(input: R) -> io::Result<(Events<R>, Waker)> {
        let (sender, sent) = sync_channel(READ_AHEAD);
        let waker = Waker(sender.clone());
        let reader = std::thread::Builder::new().name("input".to_owned());
        reader.spawn(move || send_lines(Lines::new(input), &sender))?;
        Ok((Events { sent, line: Vec::new(), is_at_end: false, _input: PhantomData }, waker))
    }

    pub(super) fn next(
        &mut self,
        _is_watching: bool,
        quiet: Option<Duration>,
        before_waiting: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Event<'_>> {
        if self.is_at_end {
            return Ok(Event::EndOfInput);
        }
        let sent = match self.sent.try_recv() {
            Ok(sent) => sent,
            Err(_) => {
                before_waiting()?;
                match quiet {
                    None => self.sent.recv().unwrap_or(Sent::End),
                    Some(quiet) => match self.sent.recv_timeout(quiet) {
                        Ok(sent) => sent,
                        Err(RecvTimeoutError::Timeout) => Sent::Woken,
                        Err(RecvTimeoutError::Disconnected) => Sent::End,
                    },
                }
            }
        };
        Ok(match sent {
            Sent::Line(line) => {
                self.line = line;
                Event::Line(Line::Whole(&self.line))
            }
            Sent::TooLong => Event::Line(Line::TooLong),
            Sent::Failed(error) => return Err(error),
            Sent::Woken => Event::LibraryChanged,
            Sent::End => {
                self.is_at_end = true;
                Event::EndOfInput
            }
        })
    }
}

fn send_lines(mut lines: Lines<impl Read>, sender: &SyncSender<Sent>) {
    loop {
        let sent = match lines.find() {
            Some(Found::Whole) => Sent::Line(lines.text().to_vec()),
            Some(Found::TooLong) => Sent::TooLong,
            Some(Found::End) => Sent::End,
            None => match lines.fill() {
                Ok(()) => continue,
                Err(error) => Sent::Failed(error),
            },
        };
        let is_last = matches!(sent, Sent::End | Sent::Failed(_));
        // Nobody receives any more when the loop has ended.
        if sender.send(sent).is_err() || is_last {
            return;
        }
    }
}
