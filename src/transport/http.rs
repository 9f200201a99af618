//! The HTTP transport: `serve --http`.
//!
//! `connection` accepts connections, and `routes` checks each request and calls its handler:
//! `mcp` for MCP's "Streamable HTTP", `websocket`, `api`, `page` or `health`. `app` has
//! the state that all requests share.

mod api;
mod app;
pub mod auth;
mod budget;
pub mod client_limits;
mod connection;
pub mod headers;
mod health;
mod incomplete_requests;
mod mcp;
mod metrics;
pub mod origin;
mod page;
pub mod proxy;
mod refusal;
mod request_body;
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

/// Serves until the process gets Ctrl-C or SIGTERM. Calls `on_listening` with the address as soon
/// as clients can connect.
///
/// # Errors
/// Fails if the server can't listen on the address, start its threads or handle signals.
pub fn serve(
    server: Arc<Server>,
    options: Options,
    on_listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    connection::raise_open_file_limit();
    // Leave one processor for blocking work. With two threads on two processors, each request would
    // also wake the second thread, only for it to find nothing to do.
    let async_threads = (processors() - 1).max(1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(async_threads)
        .thread_name("http")
        .enable_all()
        .build()?;
    let result = runtime.block_on(run(server, options, on_listening));
    // `run` has already given the running requests time to finish, so don't wait for the rest.
    runtime.shutdown_background();
    result
}

/// Serves until a signal stops the server. Calls `on_listening` once clients can connect.
///
/// # Errors
/// Fails if signals can't be handled or if the address can't be listened on.
async fn run(
    server: Arc<Server>,
    options: Options,
    on_listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    // Handles signals before the server listens, so that none can kill it in between.
    let stop_signal = connection::stop_signal()?;
    let listener = TcpListener::bind(options.address).await?;
    let address = listener.local_addr()?;
    server.start_watching();
    let (shutdown_sender, shutdown) = watch::channel(false);
    let app = Arc::new(App::new(server, options, shutdown));
    tokio::spawn(call_every_second(Arc::downgrade(&app)));
    let stack = Arc::new(Stack::new(app));
    on_listening(address);
    connection::serve(listener, stack, shutdown_sender, stop_signal).await;
    Ok(())
}

/// Calls [`App::every_second`] until the app is dropped.
async fn call_every_second(app: Weak<App>) {
    let mut ticks = interval(Duration::from_secs(1));
    for second in 0.. {
        ticks.tick().await;
        let Some(app) = app.upgrade() else { return };
        let _ = spawn_blocking(move || app.every_second(second)).await;
    }
}
