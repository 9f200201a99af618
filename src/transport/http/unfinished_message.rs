//! What was received of a WebSocket's message before all of it has come: how much, and for how long.
//!
//! The WebSocket collects the pieces of a message out of sight, so they are counted below it, where the connection is read. It keeps
//! the memory of its longest message for the next one.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A message of this length or a shorter one takes nothing from others, in bytes.
const SHORT: usize = 4 * 1024;

/// The header of a frame with at most 125 bytes, such as a ping, which comes from a client.
const SHORT_HEADER: usize = 6;

/// The message that a connection is receiving.
pub(super) struct UnfinishedMessage {
    /// How many more bytes of long messages may be in memory, of all connections.
    budget: Arc<Semaphore>,
    /// `None`: the connection is not a WebSocket.
    received: Mutex<Option<Received>>,
}

#[derive(Default)]
struct Received {
    bytes: usize,
    /// When the first of them came.
    since: Option<Instant>,
    /// Its part of the budget: that of the longest message.
    held: Option<OwnedSemaphorePermit>,
}

impl UnfinishedMessage {
    pub(super) fn new(budget: Arc<Semaphore>) -> UnfinishedMessage {
        UnfinishedMessage { budget, received: Mutex::new(None) }
    }

    /// Counts from now on: the connection is a WebSocket.
    pub(super) fn start(&self) {
        *self.lock() = Some(Received::default());
    }

    /// # Errors
    /// [`ErrorKind::QuotaExceeded`]: all connections together have more than the budget.
    fn add(&self, bytes: usize) -> io::Result<()> {
        let mut received = self.lock();
        let Some(received) = received.as_mut().filter(|_| bytes > 0) else { return Ok(()) };
        received.bytes += bytes;
        received.since.get_or_insert_with(Instant::now);
        let held = received.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if received.bytes <= held.max(SHORT) {
            return Ok(());
        }
        let more = u32::try_from(received.bytes - held).unwrap_or(u32::MAX);
        let more = Arc::clone(&self.budget).try_acquire_many_owned(more);
        let more = more.map_err(|_| io::Error::new(ErrorKind::QuotaExceeded, "too many long messages at once"))?;
        match &mut received.held {
            Some(held) => held.merge(more),
            None => received.held = Some(more),
        }
        Ok(())
    }

    /// A ping or pong with a payload of this length has come, which may be between two pieces of a message.
    pub(super) fn leave_out_frame(&self, payload: usize) {
        if let Some(received) = &mut *self.lock() {
            received.bytes = received.bytes.saturating_sub(SHORT_HEADER + payload);
            if received.bytes == 0 {
                received.since = None;
            }
        }
    }

    /// The message has come.
    pub(super) fn finish(&self) {
        if let Some(received) = &mut *self.lock() {
            (received.bytes, received.since) = (0, None);
        }
    }

    /// The WebSocket ends.
    pub(super) fn end(&self) {
        *self.lock() = None;
    }

    /// Whether it began so long ago.
    pub(super) fn is_older_than(&self, time: Duration) -> bool {
        self.lock().as_ref().and_then(|received| received.since).is_some_and(|since| since.elapsed() > time)
    }

    /// A panic cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, Option<Received>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream whose bytes are counted as those of a message.
pub(super) struct Counted<S> {
    stream: S,
    message: Arc<UnfinishedMessage>,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, message: Arc<UnfinishedMessage>) -> Counted<S> {
        Counted { stream, message }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        Poll::Ready(this.message.add(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
