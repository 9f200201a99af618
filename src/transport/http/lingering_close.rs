//! A connection that is closed such that the client can read the last answer.
//!
//! A system that has not read all that came resets a connection instead of closing it. A client that is still sending, for example a
//! message that was refused as too long, would then get that as an error of the connection, and never see the refusal (RFC 9112,
//! section 9.6).

use super::Peer;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long what a client still sends is read, and thrown away.
const LINGER: Duration = Duration::from_secs(2);

/// How much is read at once, in bytes.
const READ_BUFFER: usize = 1024;

/// A stream that, when it is dropped, is closed in the background: first only the side of the server, then the rest.
pub(super) struct LingeringClose<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> {
    /// `None` once it is dropped.
    stream: Option<S>,
    /// The client has closed its side, or cannot be reached.
    is_ended: bool,
    peer: Arc<Peer>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> LingeringClose<S> {
    /// The connection counts as open until the client has closed it too.
    pub(super) fn new(stream: S, peer: Arc<Peer>) -> LingeringClose<S> {
        LingeringClose { stream: Some(stream), is_ended: false, peer }
    }

    fn poll<T>(self: Pin<&mut Self>, poll: impl FnOnce(Pin<&mut S>) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let this = self.get_mut();
        let Some(stream) = &mut this.stream else { return Poll::Ready(Err(io::ErrorKind::NotConnected.into())) };
        let polled = poll(Pin::new(stream));
        this.is_ended |= matches!(polled, Poll::Ready(Err(_)));
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Drop for LingeringClose<S> {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take().filter(|_| !self.is_ended) else { return };
        // Without a runtime, the process ends.
        let Ok(runtime) = Handle::try_current() else { return };
        let peer = Arc::clone(&self.peer);
        runtime.spawn(async move {
            let _ = timeout(LINGER, linger(stream)).await;
            drop(peer);
        });
    }
}

async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    stream.shutdown().await?;
    let mut buffer = [0; READ_BUFFER];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> AsyncRead for LingeringClose<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.as_mut().poll(|stream| stream.poll_read(context, buffer));
        self.is_ended |= read.is_ready() && buffer.filled().len() == before && buffer.remaining() > 0;
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> AsyncWrite for LingeringClose<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(|stream| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(|stream| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_shutdown(context))
    }
}
