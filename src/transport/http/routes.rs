//! The routes, and what each request passes before it comes to one of them.

use super::app::{App, Exchange, Options};
use super::proxy::{Client, Peer, REQUEST_ID};
use super::refusal::{self, MCP_PATH, Refusal};
use super::{api, health, mcp, origin, page, websocket};
use crate::library::{Caller, TEAM_HEADER};
use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CONTENT_SECURITY_POLICY, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use hyper::body::Body as HttpBody;
use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tower::{Service, ServiceBuilder};
use tower_http::catch_panic::{CatchPanic, CatchPanicLayer};
use tower_http::cors::Cors;
use tracing::Instrument;

/// How long the answer to a request may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What every request passes: [`Stack::answer`]; then a layer that answers a panic with 500, that
/// of CORS, and the routes. An MCP message without an `Origin` header skips all of these.
pub(super) struct Stack {
    pub(super) app: Arc<App>,
    routes: CatchPanic<Cors<Router>, Panicked>,
}

type Panicked = fn(Box<dyn Any + Send>) -> Response;

impl Stack {
    pub(super) fn new(app: Arc<App>) -> Stack {
        let panicked: Panicked = |_| Refusal::bug().into_response();
        let router = Router::new()
            .route(
                MCP_PATH,
                routing::post(mcp::post)
                    .get(mcp::open_stream)
                    .delete(mcp::delete),
            )
            .route(websocket::PATH, routing::get(websocket::open))
            .route(health::METRICS, routing::get(health::metrics))
            .merge(api::routes())
            .route(health::HEALTH, routing::get(health::health))
            .route(health::READY, routing::get(health::ready))
            .merge(page::routes())
            .with_state(Arc::clone(&app));
        let layers = ServiceBuilder::new()
            .layer(CatchPanicLayer::custom(panicked))
            .layer(origin::cors());
        Stack {
            app,
            routes: layers.service(router),
        }
    }

    /// Answers a request: finds out who the client is, checks by which name and from which page it
    /// asks, limits how long the answer takes, and counts and names the response. What needs no
    /// waiting is done at once, so that the future is small: the allocator is slow for large ones.
    pub(super) fn answer(
        &self,
        peer: &Arc<Peer>,
        mut request: Request,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let Options {
            trusted_proxies,
            tap,
            sites,
            ..
        } = &self.app.options;
        let client = Arc::new(Client::new(
            peer,
            request.headers(),
            trusted_proxies,
            tap.clone(),
        ));
        if request.body().is_end_stream() {
            client.peer.request_is_complete();
        }
        let (connection, address, id) = (peer.connection, client.address, client.request_id());
        let span = tracing::info_span!("request", connection, client = %address, id);
        let (id, path) = (client.request_id.clone(), request.uri().path().to_owned());
        let checked = sites.check(&request, &client);
        let is_message = request.method() == Method::POST
            && path == MCP_PATH
            && !request.headers().contains_key(ORIGIN);
        let (app, mut routes) = (Arc::clone(&self.app), self.routes.clone());
        let answer = async move {
            checked?;
            if is_message {
                // The layers would take an eighth of the CPU time of a request.
                let exchange = Exchange::new(&app, client, request.headers())?;
                return mcp::post(exchange, request).await;
            }
            request.extensions_mut().insert(client);
            Ok(routes.call(request).await.into_response())
        };
        let answer = Box::pin(timeout(ANSWER_WITHIN, answer).instrument(span.clone()));
        let app = Arc::clone(&self.app);
        async move {
            let late = |_| {
                let message = format!(
                    "not done within {} seconds; try again",
                    ANSWER_WITHIN.as_secs()
                );
                Err(Refusal::new(StatusCode::GATEWAY_TIMEOUT, message))
            };
            let response = answer.await.unwrap_or_else(late).into_response();
            if response.status().as_u16() >= 400 {
                span.in_scope(|| tracing::debug!(status = response.status().as_u16(), "refused"));
            }
            let mut response = refusal::write_body(response, &path);
            let headers = response.headers_mut();
            headers.insert(REQUEST_ID, id);
            keep_from_other_pages(headers);
            app.metrics.responded(response.status().as_u16());
            Ok(response)
        }
    }
}

/// Adds the headers that keep the response out of the pages of other servers.
fn keep_from_other_pages(headers: &mut HeaderMap) {
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resource_policy, HeaderValue::from_static("same-origin"));
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("frame-ancestors 'none'"));
}

impl Exchange {
    /// # Errors
    /// The caller is not known.
    fn new(app: &Arc<App>, client: Arc<Client>, headers: &HeaderMap) -> Result<Exchange, Refusal> {
        let mut caller = app.options.access.authorize(headers, client.address)?;
        if caller.sees_team && headers.contains_key(TEAM_HEADER) {
            caller = Arc::new(Caller {
                sees_team: false,
                ..Caller::clone(&caller)
            });
        }
        Ok(Exchange {
            app: Arc::clone(app),
            client,
            caller,
        })
    }
}

/// A handler that takes an [`Exchange`] is called only if the caller is known.
impl FromRequestParts<Arc<App>> for Exchange {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Exchange, Refusal> {
        let client = parts
            .extensions
            .get::<Arc<Client>>()
            .cloned()
            .ok_or_else(Refusal::bug)?;
        Exchange::new(app, client, &parts.headers)
    }
}
