//! TCP connections: how many may be open, TLS, timeouts, and graceful shutdown.

use super::app::{App, wait_for_shutdown};
use super::metrics;
use super::proxy::{NewConnection, Peer, is_trusted};
use super::routes::Stack;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, join, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

/// Enough for 10,000 clients with a stream each, and for their requests.
const MAX_CONNECTIONS: usize = 20_000;

/// The response to a connection that exceeds the maximum.
const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// How many file descriptors connections leave free for the library. If it couldn't open any file,
/// its lists of prompts would be empty.
#[cfg(unix)]
const FILES_FOR_LIBRARY: usize = 64;

const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client may take to send the head of a request, including the idle time before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may leave a response unread.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long running requests may take to finish when the server shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_900);

/// The maximum length of the head of a request. hyper may accept almost twice as much.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// Serves connections until `stop_signal` is ready. Then ends all streams, and waits for the
/// running requests for at most [`SHUTDOWN_TIMEOUT`].
///
/// Sends `true` to `shutdown` when it stops.
pub(super) async fn serve(
    listener: TcpListener,
    stack: Arc<Stack>,
    shutdown: watch::Sender<bool>,
    stop_signal: impl Future<Output = ()>,
) {
    tokio::select! {
        () = accept_connections(&listener, &stack) => {}
        () = stop_signal => {}
    }
    drop(listener);
    tracing::info!("shutting down");
    // Set `shutdown` first: a stream that opens after `end_all` sees it and ends itself.
    shutdown.send_replace(true);
    stack.app.streams.end_all();
    // Each connection has a receiver of `shutdown`, and so has the app in the stack. When all are
    // dropped, all requests have been answered.
    drop(stack);
    let _ = timeout(SHUTDOWN_TIMEOUT, shutdown.closed()).await;
}

/// Accepts connections forever, and serves each one on its own task. If there are too many, rejects
/// a connection with 503, or just closes it if the server uses TLS: a response would need a
/// handshake first.
async fn accept_connections(listener: &TcpListener, stack: &Arc<Stack>) {
    let permits = Arc::new(Semaphore::new(max_connections()));
    let mut connection_count = 0;
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Avoid a busy loop: without a free file descriptor, the next call fails at once.
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            if stack.app.options.tls.is_none() {
                // If this fails, the client still sees that the connection is closed.
                let _ = stream.try_write(TOO_MANY_CONNECTIONS);
            }
            continue;
        };
        let _ = stream.set_nodelay(true); // if this fails, responses are just slower
        connection_count += 1;
        let peer = new_peer(&stack.app, address.ip(), connection_count, permit);
        tokio::spawn(serve_connection(stream, peer, Arc::clone(stack)));
    }
}

/// Returns the peer of a new connection. Until the connection ends, it holds the permit and counts
/// as open in the metrics.
fn new_peer(
    app: &App,
    address: IpAddr,
    connection_number: u64,
    permit: OwnedSemaphorePermit,
) -> Arc<Peer> {
    let options = &app.options;
    let incomplete_requests = if is_trusted(&options.trusted_proxies, address) {
        None
    } else {
        Some(Arc::clone(&app.request_limits.incomplete))
    };
    let new_connection = NewConnection {
        address,
        is_tls: options.tls.is_some(),
        number: connection_number,
        incomplete_requests,
    };
    let open_connection = metrics::count_open(&app.metrics.connections);
    let peer = Peer::new(new_connection, (open_connection, permit));
    peer.begin_request();
    peer
}

/// Serves a connection until it ends, or until it is closed because its network has too many
/// incomplete requests.
async fn serve_connection(stream: TcpStream, peer: Arc<Peer>, stack: Arc<Stack>) {
    let address = peer.address;
    let close = Arc::clone(&peer.close);
    let result = tokio::select! {
        result = serve_stream(stream, peer, stack) => result,
        () = close.notified() => Err("its address has too many incomplete requests".into()),
    };
    if let Err(error) = result {
        tracing::debug!(%address, error, "the connection ended");
    }
}

/// `Ok` if the client or the server has closed the connection properly.
type ConnectionResult = Result<(), Box<dyn Error + Send + Sync>>;

/// Sets the write timeout, performs the TLS handshake if the server has a certificate, and serves
/// the requests.
async fn serve_stream(stream: TcpStream, peer: Arc<Peer>, stack: Arc<Stack>) -> ConnectionResult {
    // The timeout must be below TLS, which buffers its output.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let stream = Box::pin(stream);
    let Some(tls) = stack.app.options.tls.clone() else {
        return serve_requests(stream, peer, stack).await;
    };
    let Ok(handshake) = timeout(TLS_HANDSHAKE_TIMEOUT, tls.accept(stream)).await else {
        return Err("the TLS handshake took too long".into());
    };
    serve_requests(handshake?, peer, stack).await
}

/// Serves the requests of a connection. On shutdown, closes it after the running request.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Arc<Peer>,
    stack: Arc<Stack>,
) -> ConnectionResult {
    let mut shutdown = stack.app.shutdown.clone();
    let (reader, writer) = split(stream);
    let reader = CountingReader {
        reader,
        peer: Arc::clone(&peer),
    };
    let service = service_fn(move |request: Request<Incoming>| {
        Box::pin(stack.respond(&peer, request.map(Body::new)))
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES);
    let mut connection = pin!(
        builder
            .serve_connection(TokioIo::new(join(reader, writer)), service)
            .with_upgrades()
    );
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = wait_for_shutdown(&mut shutdown) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    Ok(result?)
}

/// Reads from a connection, and reports the number of bytes to its peer.
struct CountingReader<R> {
    reader: R,
    peer: Arc<Peer>,
}

impl<R: AsyncRead + Unpin> AsyncRead for CountingReader<R> {
    /// Reads like the inner reader. Fails, which ends the connection, if its peer may not send as
    /// many bytes.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.reader).poll_read(context, buffer));
        let new_bytes = buffer.filled().len() - filled_before;
        if new_bytes > 0 {
            let counted = self.peer.account_for_bytes(new_bytes);
            counted.map_err(|refusal| io::Error::other(refusal.message))?;
        }
        Poll::Ready(result)
    }
}

/// Returns a future that is ready after Ctrl-C or SIGTERM. Both are caught from now on.
///
/// # Errors
/// Fails if signal handlers can't be installed.
#[cfg(unix)]
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Returns a future that is ready after Ctrl-C, which is caught as soon as the future is awaited.
/// Never fails, but has the same type as on Unix.
#[cfg(not(unix))]
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without a handler, Ctrl-C kills the process, so there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Returns [`MAX_CONNECTIONS`], or fewer if the limit of open files is lower.
#[cfg(unix)]
fn max_connections() -> usize {
    use rustix::process::{Resource, getrlimit};
    let Some(max_files) = getrlimit(Resource::Nofile).current else {
        return MAX_CONNECTIONS;
    };
    let max_files = usize::try_from(max_files).unwrap_or(usize::MAX);
    max_files
        .saturating_sub(FILES_FOR_LIBRARY)
        .clamp(1, MAX_CONNECTIONS)
}

#[cfg(not(unix))]
fn max_connections() -> usize {
    MAX_CONNECTIONS
}

/// Raises this process's limit of open files, and so of connections, as far as the system allows.
#[cfg(unix)]
pub(super) fn raise_open_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, limit); // if this fails, the old limit applies
}

#[cfg(not(unix))]
pub(super) fn raise_open_file_limit() {
    // There is no such limit.
}
