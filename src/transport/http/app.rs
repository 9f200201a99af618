//! What all requests over HTTP share, and the threads on which they wait for files and services.

use super::auth::Access;
use super::limits::{self, RateLimits, Requests};
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

/// How the server is reached, and by whom.
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// Its certificate; `None`: HTTP without TLS.
    pub tls: Option<Tls>,
    /// Proxies that say who the client is.
    pub trusted_proxies: Vec<IpNet>,
    /// The keys that sign session ids.
    pub keys: Keys,
    /// The longest body of a request, in bytes.
    pub max_body: usize,
    /// Records all messages.
    pub tap: Option<Arc<Tap>>,
    /// Who may use it.
    pub access: Access,
    /// The names by which, and the web pages from which, it may be used.
    pub sites: Sites,
    /// How many messages a caller may send.
    pub rate_limits: RateLimits,
}

/// What all requests share.
pub(super) struct App {
    pub(super) server: Arc<Server>,
    pub(super) options: Options,
    pub(super) sessions: Sessions,
    pub(super) streams: Streams,
    pub(super) threads: AllThreads,
    pub(super) requests: Requests,
    pub(super) metrics: Metrics,
    /// When the library was last looked at, and how many of its folders could not be read.
    pub(super) readiness: tokio::sync::Mutex<Option<(Instant, Vec<Diagnostic>)>>,
    /// Whether the server was told to stop.
    pub(super) stopping: watch::Receiver<bool>,
}

/// A request of a caller whom the server knows.
#[derive(Clone)]
pub(super) struct Exchange {
    pub(super) app: Arc<App>,
    pub(super) client: Arc<Client>,
    pub(super) caller: Arc<Caller>,
}

/// How many processors there are.
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
    /// Those that have no work.
    free: Arc<Semaphore>,
    /// How many one caller may have.
    share: usize,
    /// For each caller with work, how much of their share is free.
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

    /// Returns the result of a caller's work. The thread is free again when the work ends, even if
    /// nobody waits for it any more. Work that has not begun by then is dropped.
    ///
    /// # Errors
    /// It panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        caller: u128,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        // A caller waits for their own share first, and meanwhile takes no thread from others.
        let share = permit_of(&self.share_of(caller)).await?;
        let thread = permit_of(&self.free).await?;
        let span = Span::current();
        let work = move || {
            let _permits = [share, thread];
            span.in_scope(work)
        };
        spawn_blocking(work).await.map_err(|_| Refusal::bug())
    }

    fn share_of(&self, caller: u128) -> Arc<Semaphore> {
        let mut shares = lock(&self.shares);
        let share = shares
            .entry(caller)
            .or_insert_with(|| Arc::new(Semaphore::new(self.share)));
        Arc::clone(share)
    }
}

async fn permit_of(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let permit = Arc::clone(semaphore).acquire_owned().await;
    permit.map_err(|_| Refusal::bug())
}

impl App {
    /// What the requests to a server share, which is told to stop through `stopping`.
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

    /// Answers a message of a caller; what waits does so on a thread of its own.
    ///
    /// # Errors
    /// A bug.
    pub(super) async fn handle(
        &self,
        caller: u128,
        mut session: Session,
        message: Message,
    ) -> Result<(Reply, Session), Refusal> {
        let server = Arc::clone(&self.server);
        let (mut reply, session) = match message {
            Message::Batch(_) => {
                let handle = move || (server.handle(&mut session, message), session);
                self.threads.files.run(caller, handle).await?
            }
            _ => (server.handle(&mut session, message), session),
        };
        while let Reply::Later(job) = reply {
            let threads = match job.may_wait {
                MayWait::Write => &self.threads.writes,
                MayWait::Service => &self.threads.services,
                MayWait::Nothing | MayWait::Files | MayWait::Folders => &self.threads.files,
            };
            reply = threads.run(caller, move || job.run()).await?;
        }
        Ok((reply, session))
    }
}

impl Exchange {
    /// Counts messages with these methods.
    ///
    /// # Errors
    /// 429: the caller has sent more than a limit allows. 503: the prompts were never read, so that
    /// another server should be asked.
    pub(super) fn take(&self, methods: &[&str]) -> Result<(), Refusal> {
        if self.app.server.library().store_age() == Some(None) {
            let message = "the store of the prompts has not answered yet; try again";
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with_retry_after(1));
        }
        self.app.options.rate_limits.take(self.key(), methods)
    }

    /// Returns who the caller is for limits.
    pub(super) fn key(&self) -> u128 {
        limits::key_of(&self.caller, self.client.address)
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
            let work = move || {
                begin.send(caller).unwrap();
                let _ = ended.recv();
            };
            runtime.spawn(async move { threads.run(caller, work).await });
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
