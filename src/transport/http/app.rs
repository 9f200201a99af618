//! The state that all HTTP requests share, and the threads on which they wait for files and
//! services.

use super::auth::Access;
use super::client_limits::{self, RateLimits, RequestLimits};
use super::metrics::Metrics;
use super::origin::AllowedSites;
use super::proxy::Client;
use super::refusal::Refusal;
use super::sessions::{Keys, Sessions};
use super::sse::Streams;
use super::tls::Tls;
use crate::jsonrpc::Message;
use crate::library::Caller;
use crate::lock::lock;
use crate::prompt::Diagnostic;
use crate::server::{LongestWait, Reply, Server, Session};
use crate::transport::tap::Tap;
use axum::http::StatusCode;
use ipnet::IpNet;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::spawn_blocking;
use tracing::Span;

/// How many requests may wait for services at the same time.
const MAX_SERVICE_THREADS: usize = 64;

/// How many requests may write at the same time. More would only wait for each other's locks.
const MAX_WRITE_THREADS: usize = 4;

/// The options of an HTTP server.
pub struct Options {
    /// The address to listen on. With port 0, the system chooses a free port.
    pub address: SocketAddr,
    /// The certificate of the server, or `None` for plain HTTP.
    pub tls: Option<Tls>,
    /// The proxies whose `X-Forwarded-…` headers are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// The keys that sign session ids.
    pub keys: Keys,
    /// The maximum length of a request body.
    pub max_body_bytes: usize,
    /// The log of all messages.
    pub tap: Option<Arc<Tap>>,
    /// Who may use the server.
    pub access: Access,
    /// The names under which the server may be used, and the web pages that may use it.
    pub sites: AllowedSites,
    /// The rate limits of each caller.
    pub rate_limits: RateLimits,
}

/// The state that all requests share.
pub(super) struct App {
    pub(super) server: Arc<Server>,
    pub(super) options: Options,
    pub(super) sessions: Arc<Sessions>,
    pub(super) streams: Streams,
    pub(super) threads: ThreadLimits,
    pub(super) request_limits: RequestLimits,
    pub(super) metrics: Metrics,
    /// The last check of the library, for `/ready`. `None` before the first one.
    pub(super) readiness: tokio::sync::Mutex<Option<Readiness>>,
    /// Becomes `true` when the server shuts down.
    pub(super) shutdown: watch::Receiver<bool>,
}

/// The result of a check of the library.
pub(super) struct Readiness {
    pub(super) checked_at: Instant,
    /// The folders that couldn't be read.
    pub(super) problems: Vec<Diagnostic>,
}

/// What a handler needs besides the HTTP request: the app, the client and the authenticated caller.
#[derive(Clone)]
pub(super) struct RequestContext {
    pub(super) app: Arc<App>,
    pub(super) client: Arc<Client>,
    pub(super) caller: Arc<Caller>,
}

pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Waits until the server shuts down.
pub(super) async fn wait_for_shutdown(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown
        .wait_for(|is_shutting_down| *is_shutting_down)
        .await;
}

/// The threads for blocking work. Each kind of work has its own, so that slow services don't delay
/// requests that only read files.
pub(super) struct ThreadLimits {
    pub(super) reads: FairThreads,
    pub(super) writes: FairThreads,
    pub(super) services: FairThreads,
}

impl ThreadLimits {
    fn new() -> ThreadLimits {
        ThreadLimits {
            reads: FairThreads::new(2 * processors()),
            writes: FairThreads::new(MAX_WRITE_THREADS),
            services: FairThreads::new(MAX_SERVICE_THREADS),
        }
    }

    /// Returns the threads for work that may block as long as this.
    fn for_wait(&self, longest_wait: LongestWait) -> &FairThreads {
        match longest_wait {
            LongestWait::Nothing | LongestWait::Files | LongestWait::Folders => &self.reads,
            LongestWait::Write => &self.writes,
            LongestWait::Service => &self.services,
        }
    }

    fn forget_idle_callers(&self) {
        for threads in [&self.reads, &self.writes, &self.services] {
            threads.forget_idle_callers();
        }
    }
}

/// A limited number of threads for one kind of work. Each caller gets at most half of them.
pub(super) struct FairThreads {
    /// One permit for each free thread.
    free_threads: Arc<Semaphore>,
    max_per_caller: usize,
    /// For each caller, one permit for each further thread that it may use.
    caller_permits: Mutex<HashMap<u128, Arc<Semaphore>>>,
}

impl FairThreads {
    /// Creates a pool of which each caller may use half.
    fn new(thread_count: usize) -> FairThreads {
        FairThreads {
            free_threads: Arc::new(Semaphore::new(thread_count)),
            // Without any thread, a caller would wait forever.
            max_per_caller: (thread_count / 2).max(1),
            caller_permits: Mutex::default(),
        }
    }

    /// Runs blocking work for a caller, as soon as a thread is free, and returns its result. Work
    /// that has started continues, and keeps its thread, even if this future is dropped.
    ///
    /// # Errors
    /// Fails with 500 if the work panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        caller_key: u128,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        // The caller's own permit must come first: while a caller waits for it, the free threads
        // stay available to others.
        let caller_permit = acquire(&self.permits_of(caller_key)).await?;
        let thread_permit = acquire(&self.free_threads).await?;
        let span = Span::current();
        let task = spawn_blocking(move || {
            let _permits = [caller_permit, thread_permit];
            span.in_scope(work)
        });
        task.await.map_err(|_| Refusal::bug())
    }

    fn permits_of(&self, caller_key: u128) -> Arc<Semaphore> {
        let mut caller_permits = lock(&self.caller_permits);
        let permits = caller_permits
            .entry(caller_key)
            .or_insert_with(|| Arc::new(Semaphore::new(self.max_per_caller)));
        Arc::clone(permits)
    }

    /// Forgets callers without work: nobody else holds or waits for one of their permits.
    fn forget_idle_callers(&self) {
        lock(&self.caller_permits).retain(|_, permits| Arc::strong_count(permits) > 1);
    }
}

/// Waits for a permit. This fails only if the semaphore is closed, which never happens.
async fn acquire(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let permit = Arc::clone(semaphore).acquire_owned().await;
    permit.map_err(|_| Refusal::bug())
}

impl App {
    /// Returns what all requests share. `shutdown` must become `true` when the server shuts down.
    pub(super) fn new(
        server: Arc<Server>,
        options: Options,
        shutdown: watch::Receiver<bool>,
    ) -> App {
        let request_limits = RequestLimits::new(options.max_body_bytes);
        let memory = request_limits.memory.clone();
        let sessions = Arc::new(Sessions::new(options.keys.clone()));
        App {
            streams: Streams::new(
                Arc::clone(&server),
                Arc::clone(&sessions),
                memory,
                shutdown.clone(),
            ),
            sessions,
            server,
            threads: ThreadLimits::new(),
            request_limits,
            metrics: Metrics::new(),
            readiness: tokio::sync::Mutex::default(),
            options,
            shutdown,
        }
    }

    /// Does the work of each second: reloads certificates and tokens that have changed, forgets
    /// idle callers, sends keep-alive comments, and closes the streams of callers whose token is no
    /// longer valid. Reads files, so call it on a thread that may block.
    ///
    /// `second` is the number of earlier calls.
    pub(super) fn every_second(&self, second: usize) {
        let access = &self.options.access;
        if let Some(tls) = &self.options.tls {
            tls.reload();
        }
        access.reload();
        self.options.rate_limits.forget_idle_callers();
        self.request_limits.incomplete.clean_up();
        self.threads.forget_idle_callers();
        self.streams.send_comments(second);
        // After `access.reload`, so that a token that was just removed counts as invalid.
        self.streams
            .retain(|stream| access.is_still_valid(&stream.caller));
    }

    /// Handles a message. Work that may block runs on the threads of its kind.
    ///
    /// # Errors
    /// Fails with 500 if the work panics.
    pub(super) async fn handle(
        &self,
        caller_key: u128,
        session: &mut Session,
        message: Message,
    ) -> Result<Reply, Refusal> {
        let mut reply = match message {
            Message::Batch(_) => self.handle_batch(caller_key, session, message).await?,
            _ => self.server.handle(session, message),
        };
        // A job can return another one that waits for something else.
        while let Reply::Deferred(job) = reply {
            let threads = self.threads.for_wait(job.longest_wait);
            reply = threads.run(caller_key, move || job.run()).await?;
        }
        Ok(reply)
    }

    /// Handles all messages of a batch on one thread, because any of them may block.
    async fn handle_batch(
        &self,
        caller_key: u128,
        session: &mut Session,
        batch: Message,
    ) -> Result<Reply, Refusal> {
        let server = Arc::clone(&self.server);
        // The thread needs to own the session, so an empty one takes its place meanwhile. If the
        // work panics, the session is lost, and the empty one stays.
        let placeholder = Session::new(Arc::clone(&session.caller));
        let mut lent_session = std::mem::replace(session, placeholder);
        let threads = &self.threads.reads;
        let handled = threads
            .run(caller_key, move || HandledBatch {
                reply: server.handle(&mut lent_session, batch),
                session: lent_session,
            })
            .await?;
        *session = handled.session;
        Ok(handled.reply)
    }
}

/// The reply to a batch, and the session in which it was handled.
struct HandledBatch {
    reply: Reply,
    session: Session,
}

impl RequestContext {
    /// Admits the caller's messages, given their methods, and counts them against its rate limits.
    ///
    /// # Errors
    /// Fails with 429 if a rate limit would be exceeded. Fails with 503 if the library's database
    /// has never been read, so that a load balancer tries another server.
    pub(super) fn admit(&self, methods: &[&str]) -> Result<(), Refusal> {
        let has_unread_database = self.app.server.library().has_unread_store();
        if has_unread_database {
            let message = "the store of the prompts has not answered yet; try again";
            return Err(
                Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with_retry_after_seconds(1)
            );
        }
        let rate_limits = &self.app.options.rate_limits;
        rate_limits.try_consume(self.caller_key(), methods)
    }

    /// Returns the key under which limits track the caller.
    pub(super) fn caller_key(&self) -> u128 {
        client_limits::caller_key(&self.caller, self.client.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn one_caller_gets_half_of_the_threads() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let threads = Arc::new(FairThreads::new(4));
        let (begin, begun) = mpsc::channel();
        let mut blocked = Vec::new();
        for caller in [1, 1, 1, 1, 2] {
            let (end, ended) = mpsc::channel::<()>();
            let (threads, begin) = (Arc::clone(&threads), begin.clone());
            runtime.spawn(async move {
                let block = move || {
                    begin.send(caller).unwrap();
                    let _ = ended.recv();
                };
                threads.run(caller, block).await
            });
            blocked.push(end);
        }
        let mut callers: Vec<u128> = (0..3).map(|_| begun.recv().unwrap()).collect();
        callers.sort_unstable();
        assert_eq!(callers, [1, 1, 2]);
        assert!(begun.try_recv().is_err());
        drop(blocked);
        assert_eq!((begun.recv(), begun.recv()), (Ok(1), Ok(1)));
    }
}
