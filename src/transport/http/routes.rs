//! The routes, and what each request passes before it comes to one of them.

use super::app::{App, Exchange, Options};
use super::proxy::{Client, Peer, REQUEST_ID};
use super::refusal::{self, MCP_PATH, Refusal};
use super::{api, health, mcp, origin, page, websocket};
use crate::library::{Caller, TEAM_HEADER};
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request};
use axum::http::header::ORIGIN;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{self, MethodRouter};
use std::any::Any;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tower::{Service, ServiceBuilder};
use tower_http::catch_panic::{CatchPanic, CatchPanicLayer};
use tower_http::cors::Cors;
use tracing::{Instrument, Span};

/// How long the answer to a request may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What every request passes: [`Stack::answer`], a layer that answers a panic with 500, that of CORS, and the routes.
pub(super) struct Stack {
    pub(super) app: Arc<App>,
    routes: CatchPanic<Cors<Router>, Panicked>,
    /// The endpoint of MCP alone, for messages that come from no web page: CORS and the routes would take 3 % of their time.
    endpoint: CatchPanic<MethodRouter, Panicked>,
}

type Panicked = fn(Box<dyn Any + Send>) -> Response;

impl Stack {
    pub(super) fn new(app: Arc<App>) -> Stack {
        let panicked: Panicked = |_| Refusal::bug().into_response();
        let endpoint = routing::post(mcp::post).get(mcp::open_stream).delete(mcp::delete);
        let router = Router::new()
            .route(MCP_PATH, endpoint.clone())
            .route(websocket::PATH, routing::get(websocket::open))
            .route(health::METRICS, routing::get(health::metrics))
            .merge(api::routes())
            .route(health::HEALTH, routing::get(health::health))
            .route(health::READY, routing::get(health::ready))
            .merge(page::routes())
            .with_state(Arc::clone(&app));
        let layers = ServiceBuilder::new().layer(CatchPanicLayer::custom(panicked)).layer(origin::cors());
        let endpoint = CatchPanic::custom(endpoint.with_state(Arc::clone(&app)), panicked);
        Stack { app, routes: layers.service(router), endpoint }
    }

    /// Answers a request: finds out who the client is, checks by which name and from which page it asks, limits how long the answer takes, and
    /// counts and names the response. What needs no waiting is done at once, so that the future is small: the allocator is slow for large ones.
    pub(super) fn answer(
        &self,
        peer: &Arc<Peer>,
        mut request: Request,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let Options { trusted_proxies, tap, sites, .. } = &self.app.options;
        let client = Arc::new(Client::new(peer, request.headers(), trusted_proxies, tap.clone()));
        let (connection, address, id) = (peer.connection, client.address, client.request_id());
        let span = tracing::info_span!("request", connection, client = %address, id);
        let (id, path) = (client.request_id.clone(), request.uri().path().to_owned());
        let checked = sites.check(&request, &client);
        request.extensions_mut().insert(client);
        let is_message =
            request.method() == Method::POST && path == MCP_PATH && !request.headers().contains_key(ORIGIN);
        let answered = checked.map(|()| match is_message {
            true => within_limit(self.endpoint.clone().call(request), &span),
            false => within_limit(self.routes.clone().call(request), &span),
        });
        let app = Arc::clone(&self.app);
        async move {
            let response = match answered {
                Ok(answered) => match answered.await {
                    Ok(Ok(response)) => response.map(Body::new),
                    Err(_) => {
                        let message = format!("not done within {} seconds; try again", ANSWER_WITHIN.as_secs());
                        Refusal::new(StatusCode::GATEWAY_TIMEOUT, message).into_response()
                    }
                },
                Err(refusal) => refusal.into_response(),
            };
            if response.status().as_u16() >= 400 {
                span.in_scope(|| tracing::debug!(status = response.status().as_u16(), "refused"));
            }
            let mut response = refusal::write_body(response, &path);
            response.headers_mut().insert(REQUEST_ID, id);
            app.metrics.responded(response.status().as_u16());
            Ok(response)
        }
    }
}

/// Waits for an answer, though not for ever.
fn within_limit<T>(
    answer: impl Future<Output = T> + Send + 'static,
    span: &Span,
) -> Pin<Box<dyn Future<Output = Result<T, Elapsed>> + Send>> {
    Box::pin(timeout(ANSWER_WITHIN, answer).instrument(span.clone()))
}

/// A handler that takes an [`Exchange`] is called only if the caller is known.
impl FromRequestParts<Arc<App>> for Exchange {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Exchange, Refusal> {
        let client = parts.extensions.get::<Arc<Client>>().cloned().ok_or_else(Refusal::bug)?;
        let mut caller = app.options.access.authorize(&parts.headers, client.address)?;
        if caller.sees_team && parts.headers.contains_key(TEAM_HEADER) {
            caller = Arc::new(Caller { sees_team: false, ..Caller::clone(&caller) });
        }
        Ok(Exchange { app: Arc::clone(app), client, caller })
    }
}
