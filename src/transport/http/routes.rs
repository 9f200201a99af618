//! The router, and the steps before and after every handler.

use super::app::{App, RequestContext};
use super::proxy::{Client, Peer, REQUEST_ID};
use super::refusal::{self, HttpResult, MCP_PATH, MCP_PATH_WITH_SLASH, Refusal};
use super::request_body::RequestBody;
use super::{api, health, mcp, origin, page, websocket};
use crate::library::TEAM_HEADER;
use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CONNECTION, CONTENT_SECURITY_POLICY, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tower::{Service, ServiceBuilder};
use tower_http::catch_panic::{CatchPanic, CatchPanicLayer};
use tower_http::cors::Cors;
use tracing::Instrument;

/// How long the server may take to answer a request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Everything that a request passes through: the steps of [`Stack::respond`], a layer that catches
/// panics, the CORS layer, and the router. An MCP message that isn't from a web page skips the
/// layers and the router.
pub(super) struct Stack {
    pub(super) app: Arc<App>,
    layers: CatchPanic<Cors<Router>, PanicHandler>,
}

type PanicHandler = fn(Box<dyn Any + Send>) -> Response;

impl Stack {
    /// Creates the router and the layers around it. No two routes have the same path and method, so
    /// their order doesn't matter.
    pub(super) fn new(app: Arc<App>) -> Stack {
        let mcp_routes = routing::post(mcp::post)
            .get(mcp::open_stream)
            .delete(mcp::delete);
        let router = Router::new()
            .route(MCP_PATH, mcp_routes.clone())
            .route(MCP_PATH_WITH_SLASH, mcp_routes)
            .route(websocket::PATH, routing::get(websocket::open))
            .route(health::METRICS_PATH, routing::get(health::metrics))
            .merge(api::routes())
            .route(health::HEALTH_PATH, routing::get(health::health))
            .route(health::READY_PATH, routing::get(health::ready))
            .merge(page::routes())
            .method_not_allowed_fallback(refuse_method)
            .with_state(Arc::clone(&app));
        // The first layer is the outermost, so it also catches panics of the CORS layer.
        let layers = ServiceBuilder::new()
            .layer(CatchPanicLayer::custom(respond_to_panic as PanicHandler))
            .layer(origin::cors())
            .service(router);
        Stack { app, layers }
    }

    /// Responds to a request: identifies the client, checks the host and the origin, calls the
    /// handler with a timeout, counts and completes the response, and discards what the handler has
    /// left of the body.
    ///
    /// This is not an `async fn`, so that what needs no waiting is done before the future exists.
    /// That keeps the future small: large ones are slow to allocate.
    pub(super) fn respond(
        &self,
        peer: &Arc<Peer>,
        mut request: Request,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let options = &self.app.options;
        let client = Arc::new(Client::new(
            peer,
            request.headers(),
            &options.trusted_proxies,
            options.tap.clone(),
        ));
        let body = RequestBody::share(&mut request);
        if body.has_ended() {
            peer.complete_request();
        }
        let (connection, address, id) = (peer.connection, client.address, client.request_id());
        let span = tracing::info_span!("request", connection, client = %address, id);
        let request_id = client.request_id.clone();
        let path = request.uri().path().to_owned();
        let site_check = options.sites.check(&request, &client);
        let result = self.call_handler(site_check, client, request);
        let result = Box::pin(timeout(RESPONSE_TIMEOUT, result).instrument(span.clone()));
        let app = Arc::clone(&self.app);
        let peer = Arc::clone(peer);
        async move {
            let response = match result.await {
                Ok(result) => result.into_response(),
                Err(_) => timeout_refusal().into_response(),
            };
            let status = response.status().as_u16();
            if status >= 400 {
                span.in_scope(|| tracing::debug!(status, "refused"));
            }
            app.metrics.count_response(status);
            let mut response = complete(response, &path, request_id);
            if !body.has_ended() {
                // On the heap, because this is rare and would make every future larger.
                Box::pin(discard_rest(body, &peer, response.headers_mut())).await;
            }
            Ok(response)
        }
    }

    /// Calls the handler of a request, unless the check of its host and origin has failed.
    fn call_handler(
        &self,
        site_check: Result<(), Refusal>,
        client: Arc<Client>,
        mut request: Request,
    ) -> impl Future<Output = HttpResult> + use<> {
        let app = Arc::clone(&self.app);
        let mut layers = self.layers.clone();
        async move {
            site_check?;
            if is_mcp_message_of_program(&request) {
                // The layers and the router would take an eighth of the CPU time of a request.
                let context = RequestContext::authenticate(&app, client, request.headers())?;
                return mcp::post(context, request).await;
            }
            // The extractor of `RequestContext` takes the client from here.
            request.extensions_mut().insert(client);
            Ok(layers.call(request).await.into_response())
        }
    }
}

/// Returns `true` if a request has an MCP message and isn't from a web page, which would need CORS.
fn is_mcp_message_of_program(request: &Request) -> bool {
    request.method() == Method::POST
        && refusal::is_mcp_path(request.uri().path())
        && !request.headers().contains_key(ORIGIN)
}

/// Answers a method that the path doesn't support with 405. The router adds the header `Allow`,
/// which names those that it supports.
async fn refuse_method(method: Method, uri: Uri) -> Refusal {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let problem = format!("this address does not support {method}");
    if refusal::is_mcp_path(uri.path()) {
        return Refusal::new(status, format!("{problem}. Send messages with POST"));
    }
    Refusal::wrong_address(status, &problem)
}

fn respond_to_panic(_: Box<dyn Any + Send>) -> Response {
    Refusal::bug().into_response()
}

fn timeout_refusal() -> Refusal {
    let seconds = RESPONSE_TIMEOUT.as_secs();
    let message = format!("not done within {seconds} seconds; try again");
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, message)
}

/// Writes the body of a refusal, and adds the headers that every response has: the id of the
/// request, and two that keep other websites from embedding the response.
fn complete(response: Response, path: &str, request_id: HeaderValue) -> Response {
    let mut response = refusal::write_body(response, path);
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, request_id);
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    // The web page has its own policy, which includes this rule.
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("frame-ancestors 'none'"));
    response
}

/// Discards what a handler has left of a body. If the end of the body does not come, announces in
/// the headers of the response that the connection is closed after it.
async fn discard_rest(body: RequestBody, peer: &Peer, response_headers: &mut HeaderMap) {
    let has_ended = body.discard_rest().await;
    if has_ended {
        peer.complete_request();
    } else {
        response_headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

impl RequestContext {
    /// Authenticates the caller of a request. If the caller is the team layer of another server or
    /// machine ([`TEAM_HEADER`]), hides this server's own team layer, so that servers can't ask
    /// each other in a circle.
    ///
    /// # Errors
    /// Fails with 401 or 429 if the caller has no valid token.
    fn authenticate(
        app: &Arc<App>,
        client: Arc<Client>,
        headers: &HeaderMap,
    ) -> Result<RequestContext, Refusal> {
        let access = &app.options.access;
        let mut caller = access.authenticate(headers, client.address)?;
        if caller.sees_team && headers.contains_key(TEAM_HEADER) {
            Arc::make_mut(&mut caller).sees_team = false;
        }
        Ok(RequestContext {
            app: Arc::clone(app),
            client,
            caller,
        })
    }
}

/// Authenticates the request before it calls a handler with this parameter.
impl FromRequestParts<Arc<App>> for RequestContext {
    type Rejection = Refusal;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App>,
    ) -> Result<RequestContext, Refusal> {
        let client = parts
            .extensions
            .get::<Arc<Client>>()
            .cloned()
            .ok_or_else(Refusal::bug)?;
        RequestContext::authenticate(app, client, &parts.headers)
    }
}
