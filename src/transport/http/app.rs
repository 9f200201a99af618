//! The state that all requests over HTTP share, and the threads on which requests wait for files
//! and services.

use super::auth::Access;
use super::client_limits::{self, RateLimits, Requests};
use super::metrics::Metrics;
use super::origin::Sites;
use super::proxy::Client;
use super::refusal::Refusal;
use super::sessions::{Keys, Sessions};
use super::sse::Streams;
use super::tls::Tls;
use crate::jsonrpc::Message;
use crate::library::Caller;
use crate::lock::lock;
use crate::prompt::Diagnostic;
use crate::server::{MayWait, Reply, Server, Session};
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
const MAX_SERVICES: usize = 64;

/// How many requests may write at the same time; one waits for the lock of another anyway.
const MAX_WRITES: usize = 4;

/// The options of an HTTP server.
pub struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub address: SocketAddr,
    /// The certificate of the server; `None` for HTTP without TLS.
    pub tls: Option<Tls>,
    /// The proxies whose `X-Forwarded-…` headers count.
    pub trusted_proxies: Vec<IpNet>,
    /// The keys that sign session ids.
    pub keys: Keys,
    /// The longest body of a request, in bytes.
    pub max_body: usize,
    /// The record of all messages.
    pub tap: Option<Arc<Tap>>,
    /// The callers who may use the server.
    pub access: Access,
    /// The names of the server, and the web pages that may use it.
    pub sites: Sites,
    /// How many messages a caller may send.
    pub rate_limits: RateLimits,
}

/// The state that all requests share.
pub(super) struct App {
    pub(super) server: Arc<Server>,
    pub(super) options: Options,
    pub(super) sessions: Sessions,
    pub(super) streams: Streams,
    pub(super) threads: AllThreads,
    pub(super) requests: Requests,
    pub(super) metrics: Metrics,
    pub(super) readiness: tokio::sync::Mutex<Option<Readiness>>,
    /// Turns to `true` when the server is told to stop.
    pub(super) stopping: watch::Receiver<bool>,
}

/// The result of the last check of the library.
pub(super) struct Readiness {
    pub(super) checked: Instant,
    /// The folders that could not be read.
    pub(super) problems: Vec<Diagnostic>,
}

/// An authenticated request.
#[derive(Clone)]
pub(super) struct Exchange {
    pub(super) app: Arc<App>,
    pub(super) client: Arc<Client>,
    pub(super) caller: Arc<Caller>,
}

pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Waits until the server is told to stop.
pub(super) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
}

/// The threads on which requests wait.
pub(super) struct AllThreads {
    /// For work that reads files.
    pub(super) files: Threads,
    /// For work that writes.
    pub(super) writes: Threads,
    /// For work that waits for services.
    pub(super) services: Threads,
}

impl AllThreads {
    fn new() -> AllThreads {
        AllThreads {
            files: Threads::new(2 * processors()),
            writes: Threads::new(MAX_WRITES),
            services: Threads::new(MAX_SERVICES),
        }
    }

    /// Forgets the callers who have no work; to be called each second.
    pub(super) fn forget(&self) {
        for threads in [&self.files, &self.writes, &self.services] {
            lock(&threads.shares).retain(|_, share| Arc::strong_count(share) > 1);
        }
    }
}

/// The threads for one kind of work. One caller gets at most half of them.
pub(super) struct Threads {
    /// A permit for each thread without work.
    free: Arc<Semaphore>,
    /// The most threads of one caller.
    share: usize,
    /// For each caller with work, a permit for each thread that they may still take.
    shares: Mutex<HashMap<u128, Arc<Semaphore>>>,
}

impl Threads {
    fn new(count: usize) -> Threads {
        Threads {
            free: Arc::new(Semaphore::new(count)),
            share: count / 2,
            shares: Mutex::default(),
        }
    }

    /// Runs the work of a caller on a thread, and returns its result. Work that has begun goes on,
    /// and keeps its thread, even if the request is dropped.
    ///
    /// # Errors
    /// The work panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        caller: u128,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        // A caller waits for their own share first, and meanwhile takes no thread from others.
        let share = permit_of(&self.share_of(caller)).await?;
        let thread = permit_of(&self.free).await?;
        let span = Span::current();
        let task = spawn_blocking(move || {
            let _permits = [share, thread];
            span.in_scope(work)
        });
        task.await.map_err(|_| Refusal::bug())
    }

    /// Returns the permits for the threads of one caller.
    fn share_of(&self, caller: u128) -> Arc<Semaphore> {
        let mut shares = lock(&self.shares);
        let share = shares
            .entry(caller)
            .or_insert_with(|| Arc::new(Semaphore::new(self.share)));
        Arc::clone(share)
    }
}

/// Waits for a permit. Nothing closes a semaphore, so this never fails.
async fn permit_of(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let permit = Arc::clone(semaphore).acquire_owned().await;
    permit.map_err(|_| Refusal::bug())
}

impl App {
    pub(super) fn new(
        server: Arc<Server>,
        options: Options,
        stopping: watch::Receiver<bool>,
    ) -> App {
        let requests = Requests::new(options.max_body);
        let memory = requests.memory.clone();
        App {
            sessions: Sessions::new(options.keys.clone()),
            streams: Streams::new(Arc::clone(&server), memory, stopping.clone()),
            server,
            threads: AllThreads::new(),
            requests,
            metrics: Metrics::new(),
            readiness: tokio::sync::Mutex::default(),
            options,
            stopping,
        }
    }

    /// Reads changed files of certificates and tokens, forgets callers who are gone, and ends the
    /// streams of callers whose token is no longer valid. To be called each second, on a thread
    /// that may wait.
    pub(super) fn refresh(&self, second: usize) {
        let access = &self.options.access;
        if let Some(tls) = &self.options.tls {
            tls.refresh();
        }
        access.refresh();
        self.options.rate_limits.forget();
        self.requests.half.forget();
        self.threads.forget();
        self.streams.comment(second);
        self.streams
            .retain(|stream| access.is_still_valid(&stream.caller));
    }

    /// Answers a message of a caller. Work that may wait runs on another thread.
    ///
    /// # Errors
    /// A bug.
    pub(super) async fn handle(
        &self,
        caller: u128,
        session: &mut Session,
        message: Message,
    ) -> Result<Reply, Refusal> {
        let mut reply = match message {
            Message::Batch(_) => self.handle_batch(caller, session, message).await?,
            _ => self.server.handle(session, message),
        };
        while let Reply::Later(job) = reply {
            let threads = match job.may_wait {
                MayWait::Write => &self.threads.writes,
                MayWait::Service => &self.threads.services,
                MayWait::Nothing | MayWait::Files | MayWait::Folders => &self.threads.files,
            };
            reply = threads.run(caller, move || job.run()).await?;
        }
        Ok(reply)
    }

    /// Answers all messages of a batch on one other thread.
    async fn handle_batch(
        &self,
        caller: u128,
        session: &mut Session,
        batch: Message,
    ) -> Result<Reply, Refusal> {
        let server = Arc::clone(&self.server);
        let empty = Session::new(Arc::clone(&session.caller));
        let mut owned = std::mem::replace(session, empty);
        let (reply, owned) = self
            .threads
            .files
            .run(caller, move || {
                let reply = server.handle(&mut owned, batch);
                (reply, owned)
            })
            .await?;
        *session = owned;
        Ok(reply)
    }
}

impl Exchange {
    /// Counts messages with these methods against the limits of the caller.
    ///
    /// # Errors
    /// 429: the caller has sent more messages than a limit allows. 503: the store of the prompts
    /// was never read, so that a load balancer should ask another server.
    pub(super) fn take(&self, methods: &[&str]) -> Result<(), Refusal> {
        let has_unread_store = self.app.server.library().store_age() == Some(None);
        if has_unread_store {
            let message = "the store of the prompts has not answered yet; try again";
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with_retry_after(1));
        }
        self.app.options.rate_limits.take(self.key(), methods)
    }

    /// Returns the key by which limits know the caller.
    pub(super) fn key(&self) -> u128 {
        client_limits::key_of(&self.caller, self.client.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn one_caller_gets_half_of_the_threads() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let threads = Arc::new(Threads::new(4));
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
