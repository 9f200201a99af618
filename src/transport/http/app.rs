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
use crate::prompt::Diagnostic;
use crate::server::{Reply, Server, Session, Work};
use crate::transport::tap::Tap;
use axum::http::StatusCode;
use ipnet::IpNet;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};
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
    /// Threads that are free for work that reads files, that writes, and that waits for services.
    pub(super) files: Arc<Semaphore>,
    pub(super) writes: Arc<Semaphore>,
    pub(super) services: Arc<Semaphore>,
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

/// The result of blocking work on one of the threads that are free. The thread is free again when
/// the work ends, even if nobody waits for it any more.
///
/// # Errors
/// It panics.
pub(super) async fn on_thread<T: Send + 'static>(
    free: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let permit = Arc::clone(free)
        .acquire_owned()
        .await
        .map_err(|_| Refusal::bug())?;
    let span = Span::current();
    let work = move || {
        let _permit = permit;
        span.in_scope(work)
    };
    spawn_blocking(work).await.map_err(|_| Refusal::bug())
}

impl App {
    /// What the requests to a server share, which is told to stop through `stopping`.
    pub(super) fn new(
        server: Arc<Server>,
        options: Options,
        stopping: watch::Receiver<bool>,
    ) -> App {
        App {
            sessions: Sessions::new(options.keys.clone()),
            streams: Streams::new(Arc::clone(&server), stopping.clone()),
            server,
            files: Arc::new(Semaphore::new(2 * processors())),
            writes: Arc::new(Semaphore::new(MAX_WRITES)),
            services: Arc::new(Semaphore::new(MAX_SERVICES)),
            requests: Requests::new(options.max_body),
            metrics: Metrics::new(),
            readiness: tokio::sync::Mutex::default(),
            options,
            stopping,
        }
    }

    /// Answers a message; what waits does so on a thread of its own.
    ///
    /// # Errors
    /// A bug.
    pub(super) async fn handle(
        &self,
        mut session: Session,
        message: Message,
    ) -> Result<(Reply, Session), Refusal> {
        let server = Arc::clone(&self.server);
        let (mut reply, session) = match message {
            Message::Batch(_) => {
                on_thread(&self.files, move || {
                    (server.handle(&mut session, message), session)
                })
                .await?
            }
            _ => (server.handle(&mut session, message), session),
        };
        while let Reply::Later(job) = reply {
            let threads = match job.work {
                Work::Write => &self.writes,
                Work::Service => &self.services,
                Work::Memory | Work::Files | Work::Folders => &self.files,
            };
            reply = on_thread(threads, move || job.run()).await?;
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
