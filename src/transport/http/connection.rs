//! Connections: how many there may be, TLS, what a slow client may cost, and how they end.

use super::app::stopped;
use super::metrics;
use super::proxy::{Peer, is_trusted};
use super::routes::Stack;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::error::Error;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, join, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

/// How many connections may be open: 10,000 clients with a stream each, and their requests.
const MAX_CONNECTIONS: usize = 20_000;

/// The answer to a connection that is one too many.
const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// How many open files are kept from connections for the library, whose lists would be empty
/// without any.
#[cfg(unix)]
const FILES_FOR_LIBRARY: usize = 64;

/// How long a client may take for the handshake of TLS.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may take to send the head of a request; also how long a connection may be
/// idle.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long a client may leave unread what was sent to it.
const READ_BY_CLIENT_WITHIN: Duration = Duration::from_secs(30);

/// How long running requests may take once the server is told to stop.
const END_WITHIN: Duration = Duration::from_millis(1_900);

/// The longest head of a request, in bytes, and the most headers that it has. hyper may accept one
/// of almost twice the length.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// Serves connections until the process is told to stop; then answers what it has received, for a
/// while.
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
    stack.app.streams.retain(|_| false);
    drop(stack);
    let _ = timeout(END_WITHIN, stopping.closed()).await; // each connection has a receiver
}

/// Accepts connections for ever.
async fn accept(listener: &TcpListener, stack: &Arc<Stack>) {
    let app = &stack.app;
    let tls = &app.options.tls;
    let permits = Arc::new(Semaphore::new(max_connections()));
    let mut connection = 0;
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                    if tls.is_none() {
                        let _ = stream.try_write(TOO_MANY_CONNECTIONS);
                    }
                    continue;
                };
                let _ = stream.set_nodelay(true);
                connection += 1;
                let is_proxy = is_trusted(&app.options.trusted_proxies, address.ip());
                let half_requests = (!is_proxy).then(|| Arc::clone(&app.requests.half));
                let held = (metrics::open(&app.metrics.connections), permit);
                let is_tls = tls.is_some();
                let peer = Peer::new(address.ip(), is_tls, connection, half_requests, held);
                peer.request_begins();
                tokio::spawn(serve_stream(stream, peer, Arc::clone(stack)));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Without a free file descriptor, the next attempt would fail at once.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one connection, until it ends or must make room for others.
async fn serve_stream(stream: TcpStream, peer: Arc<Peer>, stack: Arc<Stack>) {
    let (address, end) = (peer.address, Arc::clone(&peer.end));
    let ended = tokio::select! {
        served = serve_transport(stream, peer, stack) => served,
        () = end.notified() => Err("its address has too many incomplete requests".into()),
    };
    if let Err(error) = ended {
        tracing::debug!(%address, error, "the connection ended");
    }
}

type Served = Result<(), Box<dyn Error + Send + Sync>>;

async fn serve_transport(stream: TcpStream, peer: Arc<Peer>, stack: Arc<Stack>) -> Served {
    // The timeout is below TLS, which buffers what is written.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READ_BY_CLIENT_WITHIN));
    let stream = Box::pin(stream);
    match stack.app.options.tls.clone() {
        None => serve_requests(stream, peer, stack).await,
        Some(tls) => match timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
            Ok(Ok(stream)) => serve_requests(stream, peer, stack).await,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err("the TLS handshake took too long".into()),
        },
    }
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

/// What comes on a connection, whose peer counts it.
struct CountedReader<R> {
    reader: R,
    peer: Arc<Peer>,
}

impl<R: AsyncRead + Unpin> AsyncRead for CountedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.reader).poll_read(context, buffer));
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            let received = self.peer.received(bytes);
            received.map_err(|refusal| io::Error::other(refusal.message))?;
        }
        Poll::Ready(read)
    }
}

/// Waits for Ctrl-C or SIGTERM.
///
/// # Errors
/// Those of the system.
pub(super) fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
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

/// How many connections may be open. They leave some files to the library: without any, its lists
/// would be empty.
fn max_connections() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        let files = getrlimit(Resource::Nofile)
            .current
            .and_then(|files| usize::try_from(files).ok());
        files
            .unwrap_or(usize::MAX)
            .saturating_sub(FILES_FOR_LIBRARY)
            .clamp(1, MAX_CONNECTIONS)
    }
    #[cfg(not(unix))]
    MAX_CONNECTIONS
}

/// Allows as many open files, and so connections, as the system lets this process have.
pub(super) fn raise_limit_of_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        if let Err(error) = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        ) {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
    }
}
