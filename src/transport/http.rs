//! The HTTP transport: MCP's "Streamable HTTP" on the path `/mcp`, for many clients at once.
//!
//! A message that needs no scan is handled where it arrives; another one on a thread for blocking work, of which there are few.
//! Nothing is remembered of a legacy session but its open streams ([`sessions`]).

pub mod auth;
pub mod headers;
mod joined;
pub mod limits;
mod metrics;
mod operate;
pub mod origin;
mod refusal;
pub mod sessions;
mod sse;
mod websocket;
mod write_timeout;

pub use axum::http::{HeaderMap, HeaderName, HeaderValue};
pub use sessions::Keys;

use super::tap::Tap;
use crate::jsonrpc::{Error, Id, Message, Request, Response as Answer};
use crate::library::{Caller, Prefix, Role};
use crate::server::{Reply, Server, Session, Work};
use auth::Access;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{self, Method, StatusCode};
use axum::{Extension, Router, routing};
use headers::{EVENT_STREAM, Era, JSON};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use joined::{Joined, SharedAnswer};
use limits::{MAX_CONNECTIONS, MAX_REQUESTS, RateLimits};
use metrics::Metrics;
use operate::Exchange;
use origin::Sites;
use refusal::Refusal;
use serde_json::Value;
use sessions::{SessionId, Sessions};
use sse::{EventStream, Streams};
use std::convert::Infallible;
use std::fmt::Write;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};
use tokio::task::{block_in_place, spawn_blocking};
use tokio::time::{interval, sleep, timeout};
use tracing::{Instrument, Span};
use write_timeout::WriteTimeout;

/// The path of MCP.
pub const PATH: &str = "/mcp";

/// How long a client may take to send the head of a request; also how long a connection may be idle.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How long a client may take to send the body of a request.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// How long a client may leave unread what was sent to it.
const READ_BY_CLIENT_WITHIN: Duration = Duration::from_secs(30);

/// How long the answer to a request may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// How long running requests may take once the server is told to stop, and when it ends in any case.
const LAST_ANSWERS_WITHIN: Duration = Duration::from_millis(1_500);
const END_WITHIN: Duration = Duration::from_millis(1_900);

/// The longest head of a request, in bytes, and the most headers that it has.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// The longest message, in bytes, that is handled between others: to read and answer a longer one takes milliseconds.
const MAX_QUICK: usize = 64 * 1024;

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
    blocking: Semaphore,
    lists: Joined<ListKey, Option<SharedAnswer>>,
    /// How many more bytes of long bodies may be in memory.
    bodies: Semaphore,
    /// How many more long messages may be handled at the same time.
    long: Semaphore,
    /// Requests that may still come before others are answered.
    requests: Semaphore,
    max_body: usize,
    metrics: Metrics,
    tap: Option<Tap>,
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
    /// The number of the connection, from 1.
    connection: u64,
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
    let app = Arc::new(App {
        server,
        sessions: Sessions::new(options.keys),
        streams: Arc::new(Streams::new(u64::from_ne_bytes(process))),
        blocking: Semaphore::new(processors().max(2)),
        lists: Joined::new((processors() - 1).max(1)),
        bodies: Semaphore::new(bodies.min(Semaphore::MAX_PERMITS)),
        long: Semaphore::new(processors()),
        requests: Semaphore::new(MAX_REQUESTS),
        max_body: options.max_body,
        metrics: Metrics::new(),
        tap: options.tap,
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
            if app.access.needs_token() {
                app.access.refresh();
                app.streams.end_unless(|caller| app.access.is_still_valid(caller));
            }
        }
    });
    let router = Router::new()
        .route(PATH, routing::any(mcp))
        .route(websocket::PATH, routing::any(websocket::open))
        .route(operate::HEALTH, routing::get(operate::health))
        .route(operate::READY, routing::get(operate::ready))
        .route(operate::METRICS, routing::get(operate::metrics))
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
                    let _ = stream.try_write(limits::TOO_MANY_CONNECTIONS);
                    continue;
                };
                let _ = stream.set_nodelay(true);
                connections += 1;
                let open = app.metrics.connection();
                let peer = Peer { address, connection: connections, _open: open, _permit: permit };
                tokio::spawn(connection(stream, peer, Arc::clone(app), router.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Without a free file descriptor, the next attempt would fail at once.
                sleep(Duration::from_millis(100)).await;
            }
        }
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
    let service = service_fn(move |mut request: http::Request<Incoming>| {
        let (app, exchange) = (Arc::clone(&app), Exchange::new(&peer, request.headers()));
        let span = tracing::info_span!("request", connection = peer.connection, id = exchange.request());
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
            .serve_connection(TokioIo::new(WriteTimeout::new(stream, READ_BY_CLIENT_WITHIN)), service)
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

/// A request to the endpoint of MCP.
async fn mcp(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    let (head, body) = request.into_parts();
    let (answered, of_page) = match app.sites.check(head.version, &head.uri, &head.headers) {
        Ok(of_page) => (app.answer(&head, body, &exchange).await, of_page),
        Err(refusal) => (Err(refusal), HeaderMap::new()),
    };
    let mut response = answered.unwrap_or_else(|refusal| refused(refusal, None));
    response.headers_mut().extend(of_page);
    app.recorded(&exchange, response)
}

impl App {
    async fn answer(
        self: &Arc<Self>,
        head: &http::request::Parts,
        body: Body,
        exchange: &Exchange,
    ) -> Result<http::Response<Body>, Refusal> {
        let headers = &head.headers;
        if head.method == Method::OPTIONS {
            let mut response = empty(StatusCode::NO_CONTENT); // a browser asks without a token
            response.headers_mut().extend(origin::preflight());
            return Ok(response);
        }
        let caller = self.access.authorize(headers, exchange.address())?;
        match head.method {
            Method::POST => self.post(headers, body, caller, exchange).await,
            Method::GET => self.open_stream(headers, &caller),
            Method::DELETE => self.delete(headers, &caller),
            _ => {
                let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this endpoint has POST, GET and DELETE");
                Err(refusal.with_header(ALLOW, HeaderValue::from_static("POST, GET, DELETE")))
            }
        }
    }

    /// Whether a request to another path than that of MCP may be served, and to whom.
    fn admit(&self, head: &http::request::Parts, exchange: &Exchange) -> Result<Caller, Refusal> {
        self.sites.check(head.version, &head.uri, &head.headers)?;
        self.access.authorize(&head.headers, exchange.address())
    }

    /// A message.
    async fn post(
        self: &Arc<Self>,
        headers: &HeaderMap,
        body: Body,
        caller: Caller,
        exchange: &Exchange,
    ) -> Result<http::Response<Body>, Refusal> {
        headers::check_content_type(headers)?;
        let mut stage = self.stage.clone();
        let (body, _held) = tokio::select! {
            body = read(body, headers, self.max_body, &self.bodies) => body?,
            () = reached(&mut stage, Stage::Ending) => {
                let error = internal_error(STOPPED);
                return Ok(json(StatusCode::SERVICE_UNAVAILABLE, &Answer::error(None, error)));
            }
        };
        // Not before: a client that sends its body slowly takes nothing from others.
        let _permit = self.requests.try_acquire().map_err(|_| limits::too_busy())?;
        self.received(exchange, &body);
        if body.len() <= MAX_QUICK {
            return self.read_and_reply(headers, body, exchange, caller).await;
        }
        let _permit = self.long.acquire().await;
        // The other requests of this thread are handled by another one meanwhile.
        block_in_place(|| Handle::current().block_on(self.read_and_reply(headers, body, exchange, caller)))
    }

    /// Reads a message, and answers it.
    async fn read_and_reply(
        self: &Arc<Self>,
        headers: &HeaderMap,
        body: Bytes,
        exchange: &Exchange,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        let message = match Message::parse(body.trim_ascii()) {
            Ok(message) => message,
            Err(answer) => return Ok(json(StatusCode::BAD_REQUEST, &answer)),
        };
        drop(body);
        let (method, started) = (metrics::label(operate::method_of(&message)), Instant::now());
        let answered = match self.rate_limits.take(&caller, exchange.address(), &message) {
            Ok(()) => self.reply(headers, message, caller).await,
            Err(refusal) => Ok(refused(refusal, operate::id_of(&message))),
        };
        let is_error = answered.as_ref().map_or(true, |response| response.extensions().get::<IsError>().is_some());
        self.metrics.answered("http", method, is_error, started.elapsed());
        answered
    }

    /// What is answered to a message.
    async fn reply(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: Message,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        match message {
            Message::Request(request) => {
                let era = match headers::era(headers, &request) {
                    Ok(era) => era,
                    Err(error) => {
                        return Ok(json(StatusCode::BAD_REQUEST, &Answer::error(Some(request.id), error)));
                    }
                };
                match era {
                    Era::Modern => self.modern(headers, request, caller).await,
                    Era::Legacy(version) => self.legacy(headers, version, request, caller).await,
                }
            }
            Message::Notification { method, .. } => {
                headers::check_version(headers)?;
                if let Some(session) = self.session(headers, &caller)?
                    && method == INITIALIZED
                {
                    self.streams.initialized(&session);
                }
                Ok(empty(StatusCode::ACCEPTED))
            }
            Message::Response => match headers::check_version(headers)? {
                Era::Modern => Err(Refusal::new(StatusCode::BAD_REQUEST, "this version has no responses of clients")),
                Era::Legacy(_) => self.session(headers, &caller).map(|_| empty(StatusCode::ACCEPTED)),
            },
            Message::Batch(messages) => self.batch(headers, messages, caller).await,
        }
    }

    async fn modern(
        self: &Arc<Self>,
        headers: &HeaderMap,
        request: Request,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        let session = Session::of_request(None, None).with_caller(caller);
        let opens_stream = request.method == "subscriptions/listen";
        headers::check_accept(headers, if opens_stream { EVENT_STREAM } else { JSON })?;
        if self.server.work_of_request(&request) == Work::List {
            return Ok(self.list(session, request).await);
        }
        let id = request.id.clone();
        let message = Message::Request(request);
        let reply = if opens_stream {
            let (app, listened) = (Arc::clone(self), id.clone());
            let open = move || app.streams.listen(&app.server, session, &listened, message);
            match self.in_background(open).await.map_err(|error| (id, error)) {
                Ok(Ok(stream)) => return Ok(event_stream(stream)),
                Ok(Err(reply)) => reply,
                Err((id, error)) => Reply::Response(Answer::error(Some(id), error)),
            }
        } else {
            self.handle(session, message, Some(id)).await.0
        };
        Ok(match reply {
            Reply::Response(answer) => {
                let status = match answer.error_code() {
                    Some(-32601) => StatusCode::NOT_FOUND,
                    Some(-32022..=-32020 | -32600) => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                json(status, &answer)
            }
            Reply::None | Reply::Stream(_) => empty(StatusCode::ACCEPTED),
        })
    }

    async fn legacy(
        self: &Arc<Self>,
        headers: &HeaderMap,
        version: Option<&'static str>,
        request: Request,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        headers::check_accept(headers, JSON)?;
        let owner = owner(&caller);
        let is_initialize = request.method == "initialize";
        let session = if is_initialize {
            self.streams.broadcast(&self.server, &caller);
            Session::of_request(None, None)
        } else {
            let session = self.session(headers, &caller)?;
            let agent = session.as_ref().and_then(|session| session.agent.as_deref());
            let version = headers::version_of_legacy(version, session.as_ref().map(|session| session.version));
            Session::of_request(Some(version), agent)
        };
        let session = session.with_caller(caller);
        if self.server.work_of_request(&request) == Work::List {
            return Ok(self.list(session, request).await);
        }
        let id = request.id.clone();
        let (reply, session) = self.handle(session, Message::Request(request), Some(id)).await;
        let Reply::Response(answer) = reply else { return Ok(empty(StatusCode::ACCEPTED)) };
        let mut response = json(StatusCode::OK, &answer);
        if is_initialize
            && let Some(session) = session
            && let Some(version) = session.protocol_version()
        {
            let made = self.sessions.make(version, session.agent(), &owner, sessions::now());
            match made.map(|id| HeaderValue::try_from(id).map_err(|error| error.to_string())) {
                Ok(Ok(id)) => _ = response.headers_mut().insert(headers::SESSION_ID, id),
                Ok(Err(error)) | Err(error) => tracing::error!(error, "no session id"),
            }
        }
        Ok(response)
    }

    async fn batch(
        self: &Arc<Self>,
        headers: &HeaderMap,
        messages: Vec<Value>,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        let Era::Legacy(version) = headers::check_version(headers)? else {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "this version has no batches"));
        };
        headers::check_accept(headers, JSON)?;
        let session = self.session(headers, &caller)?;
        let version = headers::version_of_legacy(version, session.as_ref().map(|session| session.version));
        let is_initialized = messages.iter().any(|message| message["method"] == INITIALIZED);
        if let Some(session) = session.as_ref().filter(|_| is_initialized) {
            self.streams.initialized(session);
        }
        let agent = session.as_ref().and_then(|session| session.agent.as_deref());
        let session = Session::of_request(Some(version), agent).with_caller(caller);
        Ok(match self.handle(session, Message::Batch(messages), None).await.0 {
            Reply::Response(answer) if answer.error_code().is_some() => json(StatusCode::BAD_REQUEST, &answer),
            Reply::Response(answer) => json(StatusCode::OK, &answer),
            Reply::None | Reply::Stream(_) => empty(StatusCode::ACCEPTED),
        })
    }

    /// The stream of a legacy session.
    fn open_stream(&self, headers: &HeaderMap, caller: &Caller) -> Result<http::Response<Body>, Refusal> {
        headers::check_version(headers)?;
        headers::check_accept(headers, EVENT_STREAM)?;
        let session = self.needed_session(headers, caller)?;
        let last_event = headers::identifier(headers, headers::LAST_EVENT_ID);
        Ok(event_stream(self.streams.open(&self.server, caller, &session, last_event)))
    }

    fn delete(&self, headers: &HeaderMap, caller: &Caller) -> Result<http::Response<Body>, Refusal> {
        headers::check_version(headers)?;
        let session = self.needed_session(headers, caller)?;
        self.sessions.delete(&session);
        self.streams.end_session(&session);
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// The session that the client says it belongs to, if it says so.
    fn session(&self, headers: &HeaderMap, caller: &Caller) -> Result<Option<SessionId>, Refusal> {
        let Some(id) = headers::identifier(headers, headers::SESSION_ID) else { return Ok(None) };
        let session = self.sessions.read(id, &owner(caller), sessions::now());
        let refusal =
            || Refusal::new(StatusCode::NOT_FOUND, "this session has ended or never was; initialize a new one");
        session.map(Some).ok_or_else(refusal)
    }

    fn needed_session(&self, headers: &HeaderMap, caller: &Caller) -> Result<SessionId, Refusal> {
        let refusal =
            || Refusal::new(StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing; initialize sends it");
        self.session(headers, caller)?.ok_or_else(refusal)
    }

    /// Handles a message. Also returns the session as it is then, unless the answer came too late. `id` is that of the request.
    async fn handle(
        self: &Arc<Self>,
        mut session: Session,
        message: Message,
        id: Option<Id>,
    ) -> (Reply, Option<Session>) {
        if self.server.work(&message) == Work::Quick {
            let reply = self.server.handle(&mut session, message);
            return (reply, Some(session));
        }
        let server = Arc::clone(&self.server);
        let handle = move || (server.handle(&mut session, message), session);
        match self.in_background(handle).await {
            Ok((reply, session)) => (reply, Some(session)),
            Err(error) => (Reply::Response(Answer::error(id, error)), None),
        }
    }

    /// Runs blocking work on a thread of its own.
    ///
    /// # Errors
    /// It takes too long, or the server ends.
    async fn in_background<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        self.in_time(async {
            let _permit = self.blocking.acquire().await.ok()?;
            let span = Span::current();
            spawn_blocking(move || span.in_scope(work)).await.ok()
        })
        .await
    }

    /// Handles a request for a list. Equal ones that wait share one answer ([`joined`]).
    async fn list(&self, mut session: Session, mut request: Request) -> http::Response<Body> {
        if let Some(Value::Object(meta)) = request.params.get_mut("_meta") {
            // Others make no difference, such as a progress token.
            meta.retain(|key, _| key.starts_with("io.modelcontextprotocol/"));
        }
        let key = ListKey::of(&session, &request);
        let id = request.id.clone();
        let (server, id_of_first, span) = (Arc::clone(&self.server), id.clone(), Span::current());
        let compute = move || match span.in_scope(|| server.handle(&mut session, Message::Request(request))) {
            Reply::Response(answer) => SharedAnswer::of(&answer, &id_of_first),
            Reply::None | Reply::Stream(_) => None,
        };
        match self.in_time(async { self.lists.get(key, compute).await? }).await {
            Ok(answer) => json_body(StatusCode::OK, answer.body(&id, self.tap.is_some()), answer.is_error),
            Err(error) => json(StatusCode::OK, &Answer::error(Some(id), error)),
        }
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

/// Requests for lists with the same key have the same answer, but for the id.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ListKey {
    method: String,
    params: String,
    role: Role,
    prefix: Option<Prefix>,
    version: Option<&'static str>,
    agent: Option<&'static str>,
}

impl ListKey {
    fn of(session: &Session, request: &Request) -> ListKey {
        let Caller { role, prefix, .. } = session.caller().clone();
        ListKey {
            method: request.method.clone(),
            params: Value::Object(request.params.clone()).to_string(),
            role,
            prefix,
            version: session.protocol_version(),
            agent: session.agent(),
        }
    }
}

fn internal_error(message: &str) -> Error {
    Error { code: -32603, message: format!("internal error: {message}"), data: None }
}

const STOPPED: &str = "the server was stopped; try again";

const INITIALIZED: &str = "notifications/initialized";

/// Whose a session is.
fn owner(caller: &Caller) -> String {
    let mut owner = String::new();
    for byte in caller.token.iter().flat_map(|token| token.id) {
        let _ = write!(owner, "{byte:02x}");
    }
    owner
}

/// Reads the body of a request; also returns its part of all bytes that `bodies` may have, unless it is short.
async fn read<'b>(
    mut body: Body,
    headers: &HeaderMap,
    max: usize,
    bodies: &'b Semaphore,
) -> Result<(Bytes, Option<SemaphorePermit<'b>>), Refusal> {
    let closing = |refusal: Refusal| refusal.with_header(CONNECTION, HeaderValue::from_static("close"));
    let too_long = || closing(limits::body_too_long(max));
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > max) {
        return Err(too_long());
    }
    let read = async {
        let (mut first, mut all, mut held) = (Bytes::new(), Vec::new(), None::<SemaphorePermit>);
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame
                .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = first.len() + all.len() + data.len();
            if length > max {
                return Err(too_long());
            }
            if length > MAX_QUICK {
                let more = length - held.as_ref().map_or(0, SemaphorePermit::num_permits);
                let more = bodies.try_acquire_many(u32::try_from(more).unwrap_or(u32::MAX));
                let more = more.map_err(|_| closing(limits::too_busy()))?;
                match &mut held {
                    Some(held) => held.merge(more),
                    None => held = Some(more),
                }
            }
            // Most bodies arrive in one piece, which is not copied then.
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                if all.is_empty() {
                    all.extend_from_slice(&std::mem::take(&mut first));
                }
                all.extend_from_slice(&data);
            }
        }
        Ok((if all.is_empty() { first } else { all.into() }, held))
    };
    timeout(BODY_WITHIN, read).await.unwrap_or_else(|_| {
        let message = format!("the body was not sent within {} seconds", BODY_WITHIN.as_secs());
        Err(closing(Refusal::new(StatusCode::REQUEST_TIMEOUT, message)))
    })
}

fn empty(status: StatusCode) -> http::Response<Body> {
    let mut response = http::Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A response that holds an answer.
fn json(status: StatusCode, answer: &Answer) -> http::Response<Body> {
    let Ok(json) = answer.to_json() else { return empty(StatusCode::INTERNAL_SERVER_ERROR) };
    json_body(status, Body::from(String::from(Box::<str>::from(json))), answer.error_code().is_some())
}

fn json_body(status: StatusCode, body: Body, is_error: bool) -> http::Response<Body> {
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    if is_error {
        response.extensions_mut().insert(IsError);
    }
    response
}

/// Marks the response with an error, for the metrics.
#[derive(Clone, Copy)]
struct IsError;

fn refused(refusal: Refusal, id: Option<Id>) -> http::Response<Body> {
    let Refusal { status, headers, error } = refusal;
    let mut response = json(status, &Answer::error(id, error));
    response.headers_mut().extend(*headers);
    response
}

fn event_stream(stream: EventStream) -> http::Response<Body> {
    let mut response = http::Response::new(Body::new(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx would collect events before it passes them on.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

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
