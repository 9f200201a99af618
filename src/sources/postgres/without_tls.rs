//! Connections without TLS, which send a password only by SCRAM.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, join, split};

/// The bytes of an answer to a login that say what the server wants: its type, a length and a code.
const LOGIN_ANSWER: usize = 9;

/// The codes of the answer `R` (`Authentication…`) that are safe without TLS: nothing is asked for,
/// or a login with SCRAM.
const SAFE_CODES: [[u8; 4]; 2] = [[0, 0, 0, 0], [0, 0, 0, 10]];

/// Wraps a connection without TLS so that it ends if the server asks for another login than SCRAM.
/// Others on the network could read a plain password, and guess it from its MD5 hash.
pub(super) fn without_tls(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static {
    let (reader, writer) = split(stream);
    let answer = Vec::with_capacity(LOGIN_ANSWER);
    join(LoginReader { reader, answer }, writer)
}

/// Reads what comes from a server, and checks its first answer.
struct LoginReader<R> {
    reader: R,
    /// The first bytes that came from the server.
    answer: Vec<u8>,
}

impl<R> LoginReader<R> {
    /// Checks the first answer of the server, as soon as enough bytes of it have come.
    /// (PostgreSQL's documentation, "Message Formats": `Authentication…` and `ErrorResponse`.)
    ///
    /// # Errors
    /// It asks for another login than SCRAM.
    fn check_login(&mut self, bytes: &[u8]) -> io::Result<()> {
        let missing = LOGIN_ANSWER - self.answer.len();
        self.answer.extend(bytes.iter().take(missing));
        if self.answer.len() < LOGIN_ANSWER {
            return Ok(());
        }
        let is_error = self.answer[0] == b'E';
        let is_authentication = self.answer[0] == b'R';
        let is_safe = SAFE_CODES.iter().any(|code| self.answer.ends_with(code));
        if is_error || (is_authentication && is_safe) {
            return Ok(());
        }
        Err(io::Error::other(
            "without TLS, the password is sent only by SCRAM, and the server asks for another \
             login; turn on TLS there, or set scram-sha-256 in pg_hba.conf and as its \
             password_encryption",
        ))
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LoginReader<R> {
    /// Reads bytes, and checks them if they belong to the first answer of the server.
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
