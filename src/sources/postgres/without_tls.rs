//! Connections without TLS, which accept only logins with SCRAM.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, join, split};

/// The number of bytes at the start of the server's first message that decide about the login: a
/// type (1 byte), a length (4 bytes), and an authentication code (4 bytes).
const LOGIN_HEADER_LENGTH: usize = 9;

/// The authentication codes that are safe without TLS: no password (0), and SCRAM (10).
const SAFE_CODES: [[u8; 4]; 2] = [[0, 0, 0, 0], [0, 0, 0, 10]];

/// Wraps a stream without TLS so that reading fails if the server requests another login than
/// SCRAM. Others on the network could read a plain password, or guess it from its MD5 hash.
pub(super) fn without_tls(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static {
    let (reader, writer) = split(stream);
    let header = Vec::with_capacity(LOGIN_HEADER_LENGTH);
    join(LoginReader { reader, header }, writer)
}

/// A reader that checks the first message of a PostgreSQL server.
struct LoginReader<R> {
    reader: R,
    /// The first bytes received from the server, up to [`LOGIN_HEADER_LENGTH`].
    header: Vec<u8>,
}

impl<R> LoginReader<R> {
    /// Checks the header of the server's first message once `received`, the bytes of the latest
    /// read, complete it. Must be called for every read.
    ///
    /// The formats `Authentication…` and `ErrorResponse` are described in PostgreSQL's
    /// documentation, "Message Formats".
    ///
    /// # Errors
    /// The server requests another login than SCRAM.
    fn check_login(&mut self, received: &[u8]) -> io::Result<()> {
        let missing = LOGIN_HEADER_LENGTH - self.header.len();
        self.header.extend(received.iter().take(missing));
        if self.header.len() < LOGIN_HEADER_LENGTH {
            return Ok(());
        }
        let is_error = self.header[0] == b'E';
        let is_authentication = self.header[0] == b'R';
        let is_safe = SAFE_CODES.iter().any(|code| self.header.ends_with(code));
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
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(context, buffer))?;
        Poll::Ready(self.check_login(&buffer.filled()[filled_before..]))
    }
}
