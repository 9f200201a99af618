//! The HTTP transport: connections, how the server stops, and what all requests share. [`endpoint`] is MCP's "Streamable HTTP".
//!
//! A message that needs no scan is handled where it arrives; another one on a thread for blocking work, of which there are few.
//! Nothing is remembered of a legacy session but its open streams ([`sessions`]).

mod api;
pub mod auth;
mod endpoint;
mod exchange;
pub mod headers;
mod health;
pub mod limits;
mod lingering_close;
mod metrics;
pub mod origin;
mod page;
pub mod proxy;
mod refusal;
pub mod secret_file;
pub mod sessions;
mod shared_answers;
mod sse;
pub mod tls;
mod unfinished_message;
mod websocket;
mod write_timeout;

pub use axum::http::{HeaderMap, HeaderName, HeaderValue};
pub use sessions::Keys;

use super::tap::Tap;
use crate::agents::MCP_PATH;
use crate::jsonrpc::{Error, Id, Message, Response as Answer};
use crate::library::{Caller, EditError, Editor, Role, View};
use crate::server::{Reply, Server, Session, Work};
use auth::Access;
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{self, Method, StatusCode, Uri};
use axum::{Router, routing};
use exchange::Exchange;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use limits::{MAX_CONNECTIONS, MAX_REQUESTS, RateLimits};
use lingering_close::LingeringClose;
use metrics::Metrics;
use origin::Sites;
use proxy::TrustedProxy;
use refusal::Refusal;
use sessions::Sessions;
use shared_answers::{AddressKey, Joined, ListKey, SharedAnswer};
use sse::Streams;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tls::{Accepted, HANDSHAKE_WITHIN, Tls};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::{interval, sleep, timeout};
use tracing::{Instrument, Span};
use unfinished_message::{Counted, UnfinishedMessage};
use write_timeout::WriteTimeout;

/// How long a client may take to send the head of a request; also how long a connection may be idle.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long a client may leave unread what was sent to it.
const READ_BY_CLIENT_WITHIN: Duration = Duration::from_secs(30);

/// How long the answer to a request may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// How many requests may wait for services at the same time.
const MAX_CALLS: usize = 64;

/// How many edits may run at the same time: they take turns anyway, and wait while another process writes.
const MAX_EDITS: usize = 4;

/// How long running requests may take once the server is told to stop, and when it ends in any case.
const LAST_ANSWERS_WITHIN: Duration = Duration::from_millis(1_500);
const END_WITHIN: Duration = Duration::from_millis(1_900);

/// The longest head of a request, in bytes, and the most headers that it has. hyper may accept one of almost twice the length.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// How many open files connections do not get.
#[cfg(unix)]
const FILES_FOR_LIBRARY: usize = 64;

/// How many bodies of the greatest length may be in memory, and the least length, in bytes, that counts as the greatest.
const MAX_LONGEST_BODIES: usize = 16;
const LEAST_LONGEST_BODY: usize = 1024 * 1024;

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 4_096;

/// How the server is reached, and by whom.
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// Its certificate; `None`: HTTP without TLS.
    pub tls: Option<Tls>,
    /// Proxies that say who the client is.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Sign session ids.
    pub keys: Keys,
    /// The longest body of a request, and the longest message of a WebSocket, in bytes.
    pub max_body: usize,
    /// Records all messages.
    pub tap: Option<Tap>,
    /// Who may use it.
    pub access: Access,
    /// By which names, and from which web pages.
    pub sites: Sites,
    /// How often.
    pub rate_limits: RateLimits,
}

/// What all requests share.
struct App {
    server: Arc<Server>,
    sessions: Sessions,
    streams: Arc<Streams>,
    /// Threads for blocking work that are free.
    blocking: Arc<Semaphore>,
    /// The same for requests that may wait for a service, so that no other waits for that.
    calls: Arc<Semaphore>,
    /// The same for edits, which may wait for another process that writes.
    edits: Arc<Semaphore>,
    lists: Joined<ListKey, Option<SharedAnswer>>,
    /// Lists on the page, and those of the API.
    pages: Joined<AddressKey, Result<Bytes, Infallible>>,
    reports: Joined<AddressKey, api::Answered>,
    /// How many more long messages may be handled at the same time.
    long: Semaphore,
    /// How many more bytes of long bodies and messages of WebSockets may be in memory.
    bodies: Arc<Semaphore>,
    /// Requests that may still come before others are answered.
    requests: Semaphore,
    max_body: usize,
    metrics: Metrics,
    tap: Option<Tap>,
    tls: Option<Tls>,
    trusted_proxies: Vec<TrustedProxy>,
    access: Access,
    sites: Sites,
    rate_limits: RateLimits,
    stage: watch::Receiver<Stage>,
}

/// What the server still does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serving,
    /// It accepts no connections, and answers what it has received.
    Stopping,
    /// It answers what is still running with an error.
    Ending,
}

/// A client's end of a connection.
struct Peer {
    address: SocketAddr,
    is_tls: bool,
    /// The number of the connection, from 1.
    connection: u64,
    /// What it has sent of a message, on a WebSocket.
    message: Arc<UnfinishedMessage>,
    /// Counts the connection until it ends, as what it was upgraded to.
    _open: metrics::Open,
    _permit: OwnedSemaphorePermit,
}

/// Serves until the process is told to stop. `listening` is called with the address once clients can connect.
///
/// # Errors
/// The address cannot be listened on; the system lacks something else that a server needs.
pub fn serve(server: Arc<Server>, options: Options, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    raise_limit_of_files();
    // One processor is left to lists and other blocking work. With two threads on two processors, each request would also wake the
    // other one, in vain.
    let threads = (processors() - 1).max(1);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(threads).thread_name("http").enable_all().build()?;
    let result = runtime.block_on(run(server, options, listening));
    // A request that still runs has been answered with an error.
    runtime.shutdown_background();
    result
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

async fn run(server: Arc<Server>, options: Options, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let mut stop = Stop::new()?;
    let listener = listen(options.address)?;
    let address = listener.local_addr()?;
    server.start_watching();
    let (stage, receiver) = watch::channel(Stage::Serving);
    let mut process = [0; 8];
    getrandom::fill(&mut process).map_err(io::Error::other)?;
    let bodies = options.max_body.max(LEAST_LONGEST_BODY).saturating_mul(MAX_LONGEST_BODIES);
    let lists = Joined::new((processors() - 1).max(1));
    let app = Arc::new(App {
        server,
        sessions: Sessions::new(options.keys),
        streams: Arc::new(Streams::new(u64::from_ne_bytes(process))),
        blocking: Arc::new(Semaphore::new(processors().max(2))),
        calls: Arc::new(Semaphore::new(MAX_CALLS)),
        edits: Arc::new(Semaphore::new(MAX_EDITS)),
        pages: Joined::together_with(&lists),
        reports: Joined::together_with(&lists),
        lists,
        long: Semaphore::new(processors()),
        bodies: Arc::new(Semaphore::new(bodies.min(Semaphore::MAX_PERMITS))),
        requests: Semaphore::new(MAX_REQUESTS),
        max_body: options.max_body,
        metrics: Metrics::new(),
        tap: options.tap,
        tls: options.tls,
        trusted_proxies: options.trusted_proxies,
        access: options.access,
        sites: options.sites,
        rate_limits: options.rate_limits,
        stage: receiver.clone(),
    });
    let each_second = Arc::downgrade(&app);
    tokio::spawn(async move {
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            let Some(app) = each_second.upgrade() else { return };
            app.streams.tick();
            app.tls.iter().for_each(Tls::refresh);
            if app.access.needs_token() {
                app.access.refresh();
                app.streams.end_unless(|caller| app.access.is_still_valid(caller));
            }
        }
    });
    let router = Router::new()
        .route(MCP_PATH, routing::any(endpoint::answer))
        .route(websocket::PATH, routing::any(websocket::open))
        .route(health::HEALTH, routing::get(health::health))
        .route(health::READY, routing::get(health::ready))
        .route(metrics::PATH, routing::get(metrics::respond))
        .merge(api::routes())
        .merge(page::routes())
        .with_state(Arc::clone(&app));
    listening(address);
    tokio::select! {
        () = accept(&listener, &app, &router) => {}
        () = stop.requested() => {}
    }
    drop((listener, receiver));
    tracing::info!("told to stop");
    stage.send_replace(Stage::Stopping);
    app.streams.end();
    drop((app, router));
    let ending = async {
        sleep(LAST_ANSWERS_WITHIN).await;
        stage.send_replace(Stage::Ending);
        sleep(END_WITHIN - LAST_ANSWERS_WITHIN).await;
    };
    tokio::select! {
        () = stage.closed() => {} // each connection has a receiver
        () = ending => {}
    }
    Ok(())
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Windows, this would let two servers listen on one address.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Waits until the server has come so far.
async fn reached(stage: &mut watch::Receiver<Stage>, wanted: Stage) {
    let _ = stage.wait_for(|stage| *stage >= wanted).await;
}

/// Accepts connections for ever.
async fn accept(listener: &TcpListener, app: &Arc<App>, router: &Router) {
    let permits = Arc::new(Semaphore::new(max_connections()));
    let mut connections = 0;
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                    if app.tls.is_none() {
                        let _ = stream.try_write(limits::TOO_MANY_CONNECTIONS);
                    }
                    continue;
                };
                let _ = stream.set_nodelay(true);
                connections += 1;
                let open = app.metrics.connection();
                let message = Arc::new(UnfinishedMessage::new(Arc::clone(&app.bodies)));
                let is_tls = app.tls.is_some();
                let peer = Peer { address, is_tls, connection: connections, message, _open: open, _permit: permit };
                if is_tls {
                    tokio::spawn(tls_connection(stream, peer, Arc::clone(app), router.clone()));
                } else {
                    let stream = WriteTimeout::new(stream, READ_BY_CLIENT_WITHIN);
                    tokio::spawn(connection(stream, peer, Arc::clone(app), router.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Without a free file descriptor, the next attempt would fail at once.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one connection after its TLS handshake.
async fn tls_connection(stream: TcpStream, peer: Peer, app: Arc<App>, router: Router) {
    let (address, mut stage) = (peer.address, app.stage.clone());
    let Some(tls) = app.tls.clone() else { return };
    let accepted = tokio::select! {
        accepted = timeout(HANDSHAKE_WITHIN, tls.accept(stream)) => accepted,
        () = reached(&mut stage, Stage::Stopping) => return,
    };
    match accepted {
        Ok(Ok(Accepted::Tls(stream))) => connection(stream, peer, app, router).await,
        Ok(Ok(Accepted::Plain(stream))) => {
            let peer = Peer { is_tls: false, ..peer };
            connection(stream, peer, app, Router::new().fallback(tls::explain)).await;
        }
        Ok(Err(error)) => tracing::debug!(%address, %error, "the TLS handshake failed"),
        Err(_) => tracing::debug!(%address, "the TLS handshake took too long"),
    }
}

/// Serves one connection until either side ends it.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    app: Arc<App>,
    router: Router,
) {
    let (peer, mut stage) = (Arc::new(peer), app.stage.clone());
    let router = TowerToHyperService::new(router);
    let address = peer.address;
    let stream = LingeringClose::new(stream, Arc::clone(&peer));
    let stream = Counted::new(stream, Arc::clone(&peer.message));
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        let app = Arc::clone(&app);
        let exchange = Exchange::new(&peer, request.headers(), &app.trusted_proxies);
        let (client, id) = (exchange.address(), exchange.request());
        let span = tracing::info_span!("request", connection = peer.connection, %client, id);
        request.extensions_mut().insert(exchange.clone());
        let routed = span.in_scope(|| router.call(request));
        let respond = async move {
            let mut response = routed.await?;
            exchange.label(response.headers_mut());
            if response.status().as_u16() >= 400 {
                tracing::debug!(status = response.status().as_u16(), "refused");
            }
            app.metrics.responded(response.status().as_u16());
            Ok::<_, Infallible>(response)
        };
        respond.instrument(span)
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = reached(&mut stage, Stage::Stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%address, %error, "the connection ended");
    }
}

impl App {
    /// Responds to a request to MCP or to the API, and records the response. The name of the server, the web page that sends the request
    /// and the token are checked before `answer` is called; `refused` makes the response for a refusal.
    async fn respond<F: Future<Output = Result<http::Response<Body>, Refusal>>>(
        self: &Arc<Self>,
        exchange: &Exchange,
        request: http::Request<Body>,
        answer: impl FnOnce(Parts, Body, Caller) -> F,
        refused: fn(Refusal) -> http::Response<Body>,
    ) -> http::Response<Body> {
        let (head, body) = request.into_parts();
        let (answered, of_page) = match self.sites.check(&head, exchange.client()) {
            Err(refusal) => (Err(refusal), HeaderMap::new()),
            // A browser asks without a token.
            Ok(of_page) if head.method == Method::OPTIONS => (Ok(origin::preflight()), of_page),
            Ok(of_page) => match self.access.authorize(&head.headers, exchange.address()) {
                Ok(caller) => (answer(head, body, caller).await, of_page),
                Err(refusal) => (Err(refusal), of_page),
            },
        };
        let mut response = answered.unwrap_or_else(refused);
        response.headers_mut().extend(of_page);
        self.recorded(exchange, response)
    }

    /// Checks a request to any other path, and says who sent it.
    fn admit(&self, head: &Parts, exchange: &Exchange) -> Result<Caller, Refusal> {
        self.sites.check(head, exchange.client())?;
        self.access.authorize(&head.headers, exchange.address())
    }

    /// # Errors
    /// 403: the caller may not edit prompts.
    fn check_may_edit(&self, caller: &Caller) -> Result<(), Refusal> {
        if self.server.may_edit(caller) {
            return Ok(());
        }
        auth::require(caller, Role::Write)?;
        let message = "this server does not let anyone edit prompts; start it with `--edit`";
        Err(Refusal::new(StatusCode::FORBIDDEN, message))
    }

    /// The threads for a request that expands this prompt, or none: a local one never waits for those that wait for services. `None`
    /// after a panic.
    async fn threads_for(&self, caller: &Caller, expanded: Option<String>) -> Option<&Arc<Semaphore>> {
        let Some(name) = expanded.filter(|_| self.server.library().view().has_remote()) else {
            return Some(&self.blocking);
        };
        let (server, caller) = (Arc::clone(&self.server), caller.clone());
        let is_remote = on_thread(&self.blocking, move || server.view(&caller).is_remote(&name)).await?;
        Some(if is_remote { &self.calls } else { &self.blocking })
    }

    /// Reads what a caller may see of the library. `expanded` names the prompt that is expanded, if it is one. The metrics count it as
    /// `name`, and rate limits as `method`, which is one of MCP.
    ///
    /// # Errors
    /// The server is too busy, or the rate limit is exceeded; it takes too long, or the server ends.
    async fn read_library<T: Send + 'static, E: Send + 'static>(
        &self,
        caller: Caller,
        exchange: &Exchange,
        names: (&'static str, &str),
        expanded: Option<String>,
        read: impl FnOnce(&View) -> Result<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, Refusal> {
        let (server, viewer) = (Arc::clone(&self.server), caller.clone());
        let read = async {
            let threads = self.threads_for(&caller, expanded).await?;
            on_thread(threads, move || read(&server.view(&viewer))).await
        };
        self.count(&caller, exchange, names, read).await
    }

    /// The same for what all who may see the same get at an address. Requests that wait share it.
    async fn read_library_once<E: Clone + Send + Sync + 'static>(
        &self,
        shared: &Joined<AddressKey, Result<Bytes, E>>,
        (caller, address): (Caller, &Uri),
        exchange: &Exchange,
        names: (&'static str, &str),
        read: impl FnOnce(&View) -> Result<Bytes, E> + Send + 'static,
    ) -> Result<Result<Bytes, E>, Refusal> {
        let (server, viewer) = (Arc::clone(&self.server), caller.clone());
        let key = AddressKey::of(&caller, address);
        let read = shared.get(key, move || read(&server.view(&viewer)));
        self.count(&caller, exchange, names, read).await
    }

    /// Changes the library for a caller, or reads what only those who may edit can read. `threads` are [`App::edits`] for what writes.
    ///
    /// # Errors
    /// Those of [`App::read_library`]. What takes too long may be done all the same.
    async fn edit_library<T: Send + 'static, E: From<EditError> + Send + 'static>(
        &self,
        caller: Caller,
        exchange: &Exchange,
        names: (&'static str, &str),
        threads: &Arc<Semaphore>,
        edit: impl FnOnce(&Editor<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, Refusal> {
        let (server, editor) = (Arc::clone(&self.server), caller.clone());
        let edit = on_thread(threads, move || edit(&server.library().editor(&editor)?));
        self.count(&caller, exchange, names, edit).await
    }

    async fn count<T, E>(
        &self,
        caller: &Caller,
        exchange: &Exchange,
        (name, method): (&'static str, &str),
        read: impl Future<Output = Option<Result<T, E>>>,
    ) -> Result<Result<T, E>, Refusal> {
        let _permit = self.requests.try_acquire().map_err(|_| limits::too_busy())?;
        self.rate_limits.take_one(caller, exchange.address(), method)?;
        let started = Instant::now();
        let read = self.in_time(read).await;
        self.metrics.answered("http", name, !matches!(read, Ok(Ok(_))), started.elapsed());
        read.map_err(Refusal::unavailable)
    }

    /// Handles a message. Also returns the session as it is then, unless the answer came too late. `id` is that of the request.
    async fn handle(
        self: &Arc<Self>,
        mut session: Session,
        message: Message,
        id: Option<Id>,
    ) -> (Reply, Option<Session>) {
        let work = self.server.work(session.caller(), &message);
        if work == Work::Quick {
            let reply = self.server.handle(&mut session, message);
            return (reply, Some(session));
        }
        let expanded = Server::expanded_prompt(&message).map(str::to_owned);
        let (server, caller) = (Arc::clone(&self.server), session.caller().clone());
        let handled = async {
            let threads = match (work, expanded) {
                (Work::Remote, None) => &self.calls, // several messages
                (Work::Remote, expanded) => self.threads_for(&caller, expanded).await?,
                (Work::Edit, _) => &self.edits,
                _ => &self.blocking,
            };
            on_thread(threads, move || (server.handle(&mut session, message), session)).await
        };
        match self.in_time(handled).await {
            Ok((reply, session)) => (reply, Some(session)),
            Err(error) => (Reply::Response(Answer::error(id, error)), None),
        }
    }

    /// Runs blocking work on a thread of its own.
    ///
    /// # Errors
    /// It takes too long, or the server ends.
    async fn in_background<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        self.in_time(on_thread(&self.blocking, work)).await
    }

    /// The result of blocking work, which is `None` after a panic.
    ///
    /// # Errors
    /// It panics, takes too long, or the server ends.
    async fn in_time<T>(&self, done: impl Future<Output = Option<T>>) -> Result<T, Error> {
        let mut stage = self.stage.clone();
        let message = tokio::select! {
            done = done => match done {
                Some(done) => return Ok(done),
                None => "the request failed because of a bug".to_owned(),
            },
            () = reached(&mut stage, Stage::Ending) => STOPPED.to_owned(),
            () = sleep(ANSWER_WITHIN) => format!("not done within {} seconds; try again", ANSWER_WITHIN.as_secs()),
        };
        Err(internal_error(&message))
    }
}

/// The result of blocking work on one of the threads that are free; `None` if it panics. The thread is free again when the work
/// ends, even if nobody waits for it any more.
async fn on_thread<T: Send + 'static>(free: &Arc<Semaphore>, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let permit = Arc::clone(free).acquire_owned().await.ok()?;
    let span = Span::current();
    let work = move || {
        let _permit = permit;
        span.in_scope(work)
    };
    spawn_blocking(work).await.ok()
}

fn internal_error(message: &str) -> Error {
    Error { code: -32603, message: format!("internal error: {message}"), data: None }
}

const STOPPED: &str = "the server was stopped; try again";

/// What tells the process to stop: Ctrl-C, and SIGTERM.
struct Stop {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl Stop {
    fn new() -> io::Result<Stop> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Stop { signals: [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?] })
        }
        #[cfg(not(unix))]
        Ok(Stop {})
    }

    async fn requested(&mut self) {
        #[cfg(unix)]
        {
            let [terminate, interrupt] = &mut self.signals;
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// How many connections may be open. They leave some files to the library: without any, its lists would be empty.
fn max_connections() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
        files.unwrap_or(usize::MAX).saturating_sub(FILES_FOR_LIBRARY).clamp(1, MAX_CONNECTIONS)
    }
    #[cfg(not(unix))]
    MAX_CONNECTIONS
}

/// Allows as many open files, and so connections, as the system lets this process have.
fn raise_limit_of_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_is_not_free_before_its_work_ends_even_if_nobody_waits_for_it() {
        let (begun, has_begun) = channel();
        let (end, may_end) = channel::<()>();
        let free = Arc::new(Semaphore::new(1));
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            let work = move || {
                begun.send(()).unwrap();
                let _ = may_end.recv();
            };
            let waits = tokio::spawn({
                let free = Arc::clone(&free);
                async move { on_thread(&free, work).await }
            });
            while has_begun.try_recv().is_err() {
                tokio::task::yield_now().await;
            }
            waits.abort();
            assert!(waits.await.unwrap_err().is_cancelled());
            assert_eq!(free.available_permits(), 0);
            drop(end);
            assert_eq!(on_thread(&free, || "next").await, Some("next"));
        });
    }
}
