//! Connections: how many there may be, TLS, what a slow client may cost, and how they end.

use super::app::{App, stopped};
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

/// How many connections may be open: 10,000 clients with a stream each, and their requests.
const MAX_CONNECTIONS: usize = 20_000;

/// The answer to a connection that is one too many.
const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// How many of the files that this process may open are left to the library. Without any, its lists
/// would be empty.
#[cfg(unix)]
const FILES_FOR_LIBRARY: usize = 64;

/// How long a client may take for the handshake of TLS.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may take to send the head of a request, and how long a connection may be idle.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long a client may leave bytes unread.
const READ_BY_CLIENT_WITHIN: Duration = Duration::from_secs(30);

/// How long running requests may take once the server is told to stop.
const END_WITHIN: Duration = Duration::from_millis(1_900);

/// The longest head of a request, in bytes, and the most headers. hyper may accept a head of almost
/// twice the length.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// Serves connections until `stop` is ready, then answers the requests that were received, for at
/// most [`END_WITHIN`].
pub(super) async fn serve(
    listener: TcpListener,
    stack: Arc<Stack>,
    stopping: watch::Sender<bool>,
    stop: impl Future<Output = ()>,
) {
    tokio::select! {
        () = accept(&listener, &stack) => {}
        () = stop => {}
    }
    drop(listener);
    tracing::info!("told to stop");
    stopping.send_replace(true);
    stack.app.streams.end_all();
    drop(stack);
    // Each connection has a receiver, so `closed` waits until all connections have ended.
    // Requests that still run after that time get no answer.
    let _ = timeout(END_WITHIN, stopping.closed()).await;
}

/// Accepts connections for ever, and serves each on a task of its own. A connection that is one too
/// many gets the status 503; with TLS, which would need a handshake first, it only ends.
async fn accept(listener: &TcpListener, stack: &Arc<Stack>) {
    let permits = Arc::new(Semaphore::new(max_connections()));
    let mut connection = 0;
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Without a free file descriptor, the next attempt would fail at once.
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            if stack.app.options.tls.is_none() {
                // A client that does not get this sees that its connection ends.
                let _ = stream.try_write(TOO_MANY_CONNECTIONS);
            }
            continue;
        };
        let _ = stream.set_nodelay(true); // without it, answers are only slower
        connection += 1;
        let peer = new_peer(&stack.app, address.ip(), connection, permit);
        tokio::spawn(serve_stream(stream, peer, Arc::clone(stack)));
    }
}

/// Returns the peer of a new connection. The connection keeps the permit, and counts as open in the
/// metrics, until it ends. `connection` is its number, from 1.
fn new_peer(
    app: &App,
    address: IpAddr,
    connection: u64,
    permit: OwnedSemaphorePermit,
) -> Arc<Peer> {
    let options = &app.options;
    let is_proxy = is_trusted(&options.trusted_proxies, address);
    let half_requests = if is_proxy {
        None
    } else {
        Some(Arc::clone(&app.requests.half))
    };
    let new_connection = NewConnection {
        address,
        is_tls: options.tls.is_some(),
        number: connection,
        half_requests,
    };
    let open_connection = metrics::open(&app.metrics.connections);
    let peer = Peer::new(new_connection, (open_connection, permit));
    peer.request_begins();
    peer
}

/// Serves one connection until it ends, or until it must make room for others.
async fn serve_stream(stream: TcpStream, peer: Arc<Peer>, stack: Arc<Stack>) {
    let address = peer.address;
    let end = Arc::clone(&peer.end);
    let ended = tokio::select! {
        served = serve_transport(stream, peer, stack) => served,
        () = end.notified() => Err("its address has too many incomplete requests".into()),
    };
    if let Err(error) = ended {
        tracing::debug!(%address, error, "the connection ended");
    }
}

/// How the service of a connection ended: by either side, or with an error.
type Served = Result<(), Box<dyn Error + Send + Sync>>;

/// Serves one connection, with the handshake of TLS if the server has a certificate.
async fn serve_transport(stream: TcpStream, peer: Arc<Peer>, stack: Arc<Stack>) -> Served {
    // The timeout is below TLS, which buffers its output.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READ_BY_CLIENT_WITHIN));
    let stream = Box::pin(stream);
    let Some(tls) = stack.app.options.tls.clone() else {
        return serve_requests(stream, peer, stack).await;
    };
    let Ok(handshake) = timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await else {
        return Err("the TLS handshake took too long".into());
    };
    serve_requests(handshake?, peer, stack).await
}

/// Serves the requests of a connection until either side ends it.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Arc<Peer>,
    stack: Arc<Stack>,
) -> Served {
    let mut stopping = stack.app.stopping.clone();
    let (reader, writer) = split(stream);
    let reader = CountedReader {
        reader,
        peer: Arc::clone(&peer),
    };
    let service = service_fn(move |request: Request<Incoming>| {
        Box::pin(stack.answer(&peer, request.map(Body::new)))
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD);
    let mut connection = pin!(
        builder
            .serve_connection(TokioIo::new(join(reader, writer)), service)
            .with_upgrades()
    );
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stopped(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    Ok(served?)
}

/// Reads from a connection, and tells its peer how many bytes come.
struct CountedReader<R> {
    reader: R,
    peer: Arc<Peer>,
}

impl<R: AsyncRead + Unpin> AsyncRead for CountedReader<R> {
    /// Reads into the buffer, and counts the bytes that are new in it.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.reader).poll_read(context, buffer));
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            let counted = self.peer.received(bytes);
            counted.map_err(|refusal| io::Error::other(refusal.message))?;
        }
        Poll::Ready(result)
    }
}

/// Returns a future that is ready after Ctrl-C or SIGTERM.
///
/// # Errors
/// The system cannot notify this process of signals.
pub(super) fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
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
    #[cfg(not(unix))]
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Returns how many connections may be open: as many as the limit of open files allows, without
/// those for the library.
#[cfg(unix)]
fn max_connections() -> usize {
    use rustix::process::{Resource, getrlimit};
    let Some(files) = getrlimit(Resource::Nofile).current else {
        return MAX_CONNECTIONS;
    };
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    files
        .saturating_sub(FILES_FOR_LIBRARY)
        .clamp(1, MAX_CONNECTIONS)
}

#[cfg(not(unix))]
fn max_connections() -> usize {
    MAX_CONNECTIONS
}

/// Raises the limit of open files, and so of connections, as far as the system lets this process.
pub(super) fn raise_limit_of_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let limit = Rlimit {
            current: maximum,
            maximum,
        };
        // Without more files, the server works with fewer connections.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
