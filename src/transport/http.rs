//! The HTTP transport: `serve --http`. `mcp` is MCP's "Streamable HTTP", `routes` has what each
//! request passes, `app` what all of them share.

mod api;
mod app;
pub mod auth;
mod budget;
pub mod client_limits;
mod connection;
mod half_requests;
pub mod headers;
mod health;
mod mcp;
mod metrics;
pub mod origin;
mod page;
pub mod proxy;
mod refusal;
mod routes;
pub mod secret_file;
pub mod sessions;
mod sse;
pub mod tls;
pub mod tokens;
mod websocket;

pub use app::Options;
pub use axum::http::{HeaderMap, HeaderName, HeaderValue};
pub use refusal::MCP_PATH;
pub use sessions::Keys;

use crate::server::Server;
use app::{App, processors};
use routes::Stack;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::interval;

/// Serves until the process is told to stop. `listening` is called with the address once clients
/// can connect.
///
/// # Errors
/// The address cannot be listened on; the system lacks something else that a server needs.
pub fn serve(
    server: Arc<Server>,
    options: Options,
    listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    connection::raise_limit_of_files();
    // One processor is left to blocking work. With two threads on two processors, each request
    // would also wake the other one, which finds nothing to do.
    let threads = (processors() - 1).max(1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("http")
        .enable_all()
        .build()?;
    let result = runtime.block_on(run(server, options, listening));
    // Requests that still run have had their time.
    runtime.shutdown_background();
    result
}

/// Listens, and serves until the process is told to stop.
async fn run(
    server: Arc<Server>,
    options: Options,
    listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let told_to_stop = connection::told_to_stop()?;
    let listener = TcpListener::bind(options.address).await?;
    let address = listener.local_addr()?;
    server.start_watching();
    let (stop, stopping) = watch::channel(false);
    let app = Arc::new(App::new(server, options, stopping));
    tokio::spawn(refresh_each_second(Arc::downgrade(&app)));
    let stack = Arc::new(Stack::new(app));
    listening(address);
    connection::serve(listener, stack, stop, told_to_stop).await;
    Ok(())
}

/// Refreshes the app each second, until the app is gone.
async fn refresh_each_second(app: Weak<App>) {
    let mut seconds = interval(Duration::from_secs(1));
    for second in 0.. {
        seconds.tick().await;
        let Some(app) = app.upgrade() else { return };
        let _ = spawn_blocking(move || app.refresh(second)).await;
    }
}
