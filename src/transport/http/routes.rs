//! The routes, and the steps that each request passes before it comes to one of them.

use super::app::{App, Exchange};
use super::proxy::{Client, Peer, REQUEST_ID};
use super::refusal::{self, HttpResult, MCP_PATH, Refusal};
use super::{api, health, mcp, origin, page, websocket};
use crate::library::TEAM_HEADER;
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

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The path of a request: [`Stack::answer`]; then a layer that answers a panic with 500, the layer
/// of CORS, and the routes. An MCP message without an `Origin` header skips all of these.
pub(super) struct Stack {
    pub(super) app: Arc<App>,
    routes: CatchPanic<Cors<Router>, PanicHandler>,
}

type PanicHandler = fn(Box<dyn Any + Send>) -> Response;

impl Stack {
    pub(super) fn new(app: Arc<App>) -> Stack {
        let mcp_routes = routing::post(mcp::post)
            .get(mcp::open_stream)
            .delete(mcp::delete);
        let router = Router::new()
            .route(MCP_PATH, mcp_routes)
            .route(websocket::PATH, routing::get(websocket::open))
            .route(health::METRICS, routing::get(health::metrics))
            .merge(api::routes())
            .route(health::HEALTH, routing::get(health::health))
            .route(health::READY, routing::get(health::ready))
            .merge(page::routes())
            .with_state(Arc::clone(&app));
        let layers = ServiceBuilder::new()
            .layer(CatchPanicLayer::custom(answer_panic as PanicHandler))
            .layer(origin::cors());
        Stack {
            app,
            routes: layers.service(router),
        }
    }

    /// Answers a request: finds out who the client is, checks by which name and from which page it
    /// asks, limits how long the answer takes, and completes and counts the response.
    ///
    /// Steps that need no waiting are done before the future is made, so that the future is small:
    /// the allocator is slow for large ones.
    pub(super) fn answer(
        &self,
        peer: &Arc<Peer>,
        request: Request,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let options = &self.app.options;
        let client = Arc::new(Client::new(
            peer,
            request.headers(),
            &options.trusted_proxies,
            options.tap.clone(),
        ));
        if request.body().is_end_stream() {
            peer.request_is_complete();
        }
        let (connection, address, id) = (peer.connection, client.address, client.request_id());
        let span = tracing::info_span!("request", connection, client = %address, id);
        let request_id = client.request_id.clone();
        let path = request.uri().path().to_owned();
        let checked = options.sites.check(&request, &client);
        let answer = self.route(checked, client, request);
        let answer = Box::pin(timeout(ANSWER_WITHIN, answer).instrument(span.clone()));
        let app = Arc::clone(&self.app);
        async move {
            let response = match answer.await {
                Ok(result) => result.into_response(),
                Err(_) => late_refusal().into_response(),
            };
            let status = response.status().as_u16();
            if status >= 400 {
                span.in_scope(|| tracing::debug!(status, "refused"));
            }
            app.metrics.responded(status);
            Ok(complete(response, &path, request_id))
        }
    }

    /// Gives a request to its handler, unless the check of its name and page has failed.
    fn route(
        &self,
        checked: Result<(), Refusal>,
        client: Arc<Client>,
        mut request: Request,
    ) -> impl Future<Output = HttpResult> + use<> {
        let app = Arc::clone(&self.app);
        let mut routes = self.routes.clone();
        async move {
            checked?;
            if is_message_of_program(&request) {
                // The layers would take an eighth of the CPU time of a request.
                let exchange = Exchange::new(&app, client, request.headers())?;
                return mcp::post(exchange, request).await;
            }
            request.extensions_mut().insert(client);
            Ok(routes.call(request).await.into_response())
        }
    }
}

/// Returns whether a request has a message of MCP, and does not come from a web page.
fn is_message_of_program(request: &Request) -> bool {
    request.method() == Method::POST
        && request.uri().path() == MCP_PATH
        && !request.headers().contains_key(ORIGIN)
}

fn answer_panic(_: Box<dyn Any + Send>) -> Response {
    Refusal::bug().into_response()
}

fn late_refusal() -> Refusal {
    let seconds = ANSWER_WITHIN.as_secs();
    let message = format!("not done within {seconds} seconds; try again");
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, message)
}

/// Writes the body of a refusal, and adds the headers that every response has: the id of the
/// request, and what keeps the response out of the pages of other servers.
fn complete(response: Response, path: &str, request_id: HeaderValue) -> Response {
    let mut response = refusal::write_body(response, path);
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, request_id);
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("frame-ancestors 'none'"));
    response
}

impl Exchange {
    /// Authenticates a request. A client that reads a team's prompts from this server
    /// ([`TEAM_HEADER`]) does not get those that this server has from a team itself.
    ///
    /// # Errors
    /// 401, 429: the caller is not known.
    fn new(app: &Arc<App>, client: Arc<Client>, headers: &HeaderMap) -> Result<Exchange, Refusal> {
        let mut caller = app.options.access.authorize(headers, client.address)?;
        if caller.sees_team && headers.contains_key(TEAM_HEADER) {
            Arc::make_mut(&mut caller).sees_team = false;
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
