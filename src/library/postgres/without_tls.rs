//! Connections without TLS, which send a password only by SCRAM.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The length of an answer to a login up to its code: a type, a length and the code.
const ANSWER: usize = 9;

/// A connection that ends if the server asks for another login than SCRAM. Others could read a
/// password, and guess it from its MD5 hash.
pub(super) struct WithoutTls<S> {
    stream: S,
    /// The first bytes that came from the server.
    answer: Vec<u8>,
}

impl<S> WithoutTls<S> {
    pub(super) fn new(stream: S) -> WithoutTls<S> {
        WithoutTls {
            stream,
            answer: Vec::with_capacity(ANSWER),
        }
    }

    /// Checks the first answer of the server, of which these bytes have come. (PostgreSQL's
    /// documentation, "Message Formats": `Authentication…` and `ErrorResponse`.)
    ///
    /// # Errors
    /// It asks for another login than SCRAM.
    fn check_login(&mut self, bytes: &[u8]) -> io::Result<()> {
        let missing = ANSWER - self.answer.len();
        self.answer.extend(bytes.iter().take(missing));
        match self.answer[..] {
            [b'E', ..] | [b'R', _, _, _, _, 0, 0, 0, 0 | 10] => Ok(()),
            [_, _, _, _, _, _, _, _, _] => Err(io::Error::other(
                "without TLS, the password is sent only by SCRAM, and the server asks for another login; turn on TLS there, \
                 or set scram-sha-256 in pg_hba.conf and as its password_encryption",
            )),
            _ => Ok(()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WithoutTls<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let start = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.check_login(&buffer.filled()[start..]))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithoutTls<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
