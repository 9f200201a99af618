//! The server over HTTP: its routes, and the layers that each request passes.

use super::app::{App, Exchange, Options, processors};
use super::proxy::{Client, Peer};
use super::refusal::{self, MCP_PATH, Refusal};
use super::tls::Tls;
use super::{api, connection, headers, health, mcp, origin, page, websocket};
use crate::library::{Caller, TEAM_HEADER};
use crate::server::Server;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Router, routing};
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{interval, timeout};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;

/// How long the answer to a request may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Serves until the process is told to stop. `listening` is called with the address once clients can connect.
///
/// # Errors
/// The address cannot be listened on; the system lacks something else that a server needs.
pub fn serve(server: Arc<Server>, options: Options, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    connection::raise_limit_of_files();
    // One processor is left to blocking work. With two threads on two processors, each request would also wake the other one, which finds nothing to do.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads((processors() - 1).max(1)).thread_name("http").enable_all().build()?;
    let result = runtime.block_on(run(server, options, listening));
    // What still runs has had its time.
    runtime.shutdown_background();
    result
}

async fn run(server: Arc<Server>, options: Options, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let told_to_stop = connection::told_to_stop()?;
    let listener = TcpListener::bind(options.address).await?;
    let address = listener.local_addr()?;
    server.start_watching();
    let (stop, stopping) = watch::channel(false);
    let app = Arc::new(App::new(server, options, stopping));
    tokio::spawn(each_second(Arc::downgrade(&app)));
    let router = router(&app);
    listening(address);
    connection::serve(listener, app, router, stop, told_to_stop).await;
    Ok(())
}

/// Looks at what may have changed since the last second: the files of the certificate and of tokens, and who may still have a stream.
async fn each_second(app: Weak<App>) {
    let mut seconds = interval(Duration::from_secs(1));
    for second in 0.. {
        seconds.tick().await;
        let Some(app) = app.upgrade() else { return };
        let refresh = move || {
            let Options { tls, access, rate_limits, .. } = &app.options;
            tls.iter().for_each(Tls::refresh);
            access.refresh();
            rate_limits.forget();
            app.streams.comment(second);
            app.streams.end_unless(|caller, _| access.is_still_valid(caller));
        };
        let _ = spawn_blocking(refresh).await;
    }
}

fn router(app: &Arc<App>) -> Router {
    let panicked = |_: Box<dyn Any + Send>| Refusal::bug().into_response();
    let layers = ServiceBuilder::new()
        .layer(from_fn_with_state(Arc::clone(app), observe))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(origin::cors());
    Router::new()
        .route(MCP_PATH, routing::post(mcp::post).get(mcp::open_stream).delete(mcp::delete))
        .route(websocket::PATH, routing::get(websocket::open))
        .route(health::METRICS, routing::get(health::metrics))
        .merge(api::routes())
        .route_layer(from_fn_with_state(Arc::clone(app), authorize))
        .route(health::HEALTH, routing::get(health::health))
        .route(health::READY, routing::get(health::ready))
        .merge(page::routes())
        .layer(layers)
        .with_state(Arc::clone(app))
}

/// Finds out who the client is, checks by which name and from which page it asks, and counts and names the response.
async fn observe(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let Some(peer) = request.extensions().get::<Peer>() else { return Refusal::bug().into_response() };
    let Options { trusted_proxies, tap, sites, .. } = &app.options;
    let client = Arc::new(Client::new(peer, request.headers(), trusted_proxies, tap.clone()));
    let (connection, address, id) = (client.connection, client.address, client.request_id());
    let span = tracing::info_span!("request", connection, client = %address, id);
    let (id, path) = (client.request_id.clone(), request.uri().path().to_owned());
    let checked = sites.check(&request, &client);
    request.extensions_mut().insert(client);
    let answered = async {
        let response = match checked {
            Ok(()) => next.run(request).await,
            Err(refusal) => refusal.into_response(),
        };
        if response.status().as_u16() >= 400 {
            tracing::debug!(status = response.status().as_u16(), "refused");
        }
        response
    };
    let mut response = refusal::write_body(answered.instrument(span).await, &path);
    response.headers_mut().insert("x-request-id", id);
    app.metrics.responded(response.status().as_u16());
    response
}

/// Finds out who the caller is, and limits how long the answer takes. A person who opens the endpoint in a browser is sent to the page.
async fn authorize(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Result<Response, Refusal> {
    if request.uri().path() == MCP_PATH && headers::asks_for_page(request.method(), request.headers()) {
        return Ok(Redirect::to("./").into_response()); // the page asks for a token where one is needed
    }
    let client = request.extensions_mut().remove::<Arc<Client>>().ok_or_else(Refusal::bug)?;
    let mut caller = app.options.access.authorize(request.headers(), client.address)?;
    if caller.sees_team && request.headers().contains_key(TEAM_HEADER) {
        caller = Arc::new(Caller { sees_team: false, ..Caller::clone(&caller) });
    }
    request.extensions_mut().insert(Exchange { app, client, caller });
    timeout(ANSWER_WITHIN, next.run(request)).await.map_err(|_| {
        let message = format!("not done within {} seconds; try again", ANSWER_WITHIN.as_secs());
        Refusal::new(StatusCode::GATEWAY_TIMEOUT, message)
    })
}
