//! Connections without TLS, which send a password only by SCRAM.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, join, split};

/// The length of an answer to a login up to its code: a type, a length and the code.
const ANSWER: usize = 9;

/// Returns a connection that ends if the server asks for another login than SCRAM. Others could
/// read a password, and guess it from its MD5 hash.
pub(super) fn without_tls(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static {
    let (reader, writer) = split(stream);
    let answer = Vec::with_capacity(ANSWER);
    join(LoginReader { reader, answer }, writer)
}

/// What comes from a server, whose first answer is checked.
struct LoginReader<R> {
    reader: R,
    /// The first bytes that came from the server.
    answer: Vec<u8>,
}

impl<R> LoginReader<R> {
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

impl<R: AsyncRead + Unpin> AsyncRead for LoginReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let start = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(context, buffer))?;
        Poll::Ready(self.check_login(&buffer.filled()[start..]))
    }
}
