//! The MCP endpoint, `/mcp`: POST sends a message, GET opens a stream of notifications, and DELETE
//! ends a session.

use super::app::RequestContext;
use super::client_limits;
use super::headers::{self, EVENT_STREAM};
use super::metrics::{self, HandledMessage};
use super::refusal::{HttpResult, JSON, Refusal};
use super::sessions::{self, SessionId};
use crate::jsonrpc::{Message, Request, Response as RpcResponse};
use crate::library::Caller;
use crate::server::{Era, Reply, Session};
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Redirect};
use std::sync::Arc;
use std::time::Instant;

/// The maximum length of a message that is parsed on an async thread. Parsing a longer one takes
/// milliseconds.
const MAX_INLINE_PARSE_BYTES: usize = 64 * 1024;

/// A request to the endpoint.
struct McpRequest<'r> {
    context: &'r RequestContext,
    headers: &'r HeaderMap,
}

/// Answers a POST. Its body is a message or a batch of messages.
pub(super) async fn post(context: RequestContext, request: http::Request<Body>) -> HttpResult {
    let (parts, body) = request.into_parts();
    headers::check_content_type(&parts.headers)?;
    let limits = &context.app.request_limits;
    let client = &context.client;
    // Holds a permit and memory until the answer is ready.
    let mut received = limits.read_body(client, body).await?;
    received.reserve_for_values()?;
    let body = std::mem::take(&mut received.bytes);
    client.record_received(&body);
    let mcp_request = McpRequest {
        context: &context,
        headers: &parts.headers,
    };
    match parse(&context, body).await? {
        Ok(message) => mcp_request.answer(message).await,
        Err(error_response) => {
            context.admit(&[client_limits::NO_METHOD])?;
            mcp_request.json_response(StatusCode::BAD_REQUEST, error_response)
        }
    }
}

/// Parses the body of a POST, on another thread if it is long.
///
/// The inner result is that of the parser: the message, or the error response to an invalid one.
///
/// # Errors
/// Fails with 500 if the other thread panics.
async fn parse(
    context: &RequestContext,
    body: Bytes,
) -> Result<Result<Message, RpcResponse>, Refusal> {
    if body.len() <= MAX_INLINE_PARSE_BYTES {
        return Ok(Message::parse(body.trim_ascii()));
    }
    let threads = &context.app.threads.reads;
    threads
        .run(context.caller_key(), move || {
            Message::parse(body.trim_ascii())
        })
        .await
}

/// Answers a GET with the stream of a legacy session. Redirects a browser to the web page.
///
/// The page asks for a token if one is needed, so the redirect works without authentication.
pub(super) async fn open_stream(
    context: Result<RequestContext, Refusal>,
    method: Method,
    headers: HeaderMap,
) -> HttpResult {
    if headers::asks_for_page(&method, &headers) {
        return Ok(Redirect::to("./").into_response());
    }
    let context = context?;
    headers::check_accept(&headers, EVENT_STREAM)?;
    let request = McpRequest {
        context: &context,
        headers: &headers,
    };
    let session = request.required_session()?;
    let last_event_id = headers::identifier(&headers, &headers::LAST_EVENT_ID);
    let caller = (*context.caller).clone();
    let streams = &context.app.streams;
    Ok(streams.open_legacy(caller, &context.client, &session, last_event_id))
}

/// Answers a DELETE: ends a session and closes its streams.
pub(super) async fn delete(context: RequestContext, headers: HeaderMap) -> HttpResult {
    let request = McpRequest {
        context: &context,
        headers: &headers,
    };
    let session = request.required_session()?;
    let app = &context.app;
    app.sessions.delete(&session);
    app.streams.retain(|stream| !stream.is_of_session(&session));
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl McpRequest<'_> {
    /// Answers a message, and counts it against the rate limits and in the metrics.
    async fn answer(&self, message: Message) -> HttpResult {
        let method = metrics::method_label(&message);
        let id = message.id();
        let started = Instant::now();
        let result = match self.context.admit(&client_limits::methods(&message)) {
            Ok(()) => self.answer_by_version(message).await,
            Err(refusal) => Err(refusal),
        };
        let is_error = match &result {
            Ok(response) => response.extensions().get::<IsRpcError>().is_some(),
            Err(_) => true,
        };
        self.context.app.metrics.count_message(&HandledMessage {
            transport: "http",
            method,
            is_error,
            duration: started.elapsed(),
        });
        result.map_err(|refusal| Refusal { id, ..refusal })
    }

    /// Answers a message by the rules of its protocol version.
    async fn answer_by_version(&self, message: Message) -> HttpResult {
        let era = match &message {
            Message::Request(request) => match headers::request_era(self.headers, request) {
                Ok(era) => era,
                Err(error) => {
                    let answer = RpcResponse::error(Some(&request.id), error);
                    return self.json_response(StatusCode::BAD_REQUEST, answer);
                }
            },
            _ => headers::header_era(self.headers)?,
        };
        match (message, era) {
            (Message::Request(request), Era::Modern) => self.answer_modern(request).await,
            (message @ (Message::Request(_) | Message::Batch(_)), Era::Legacy) => {
                self.answer_legacy(message).await
            }
            // Over HTTP, a notification has no effect, but its session must exist.
            (Message::Notification { .. }, _) | (Message::Response, Era::Legacy) => {
                self.session()?;
                Ok(StatusCode::ACCEPTED.into_response())
            }
            (Message::Batch(_) | Message::Response, Era::Modern) => Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "this version has no batches and no client responses",
            )),
        }
    }

    /// Answers a request of version 2026-07-28.
    async fn answer_modern(&self, request: Request) -> HttpResult {
        if request.method == "subscriptions/listen" {
            return self.listen(request).await;
        }
        headers::check_accept(self.headers, JSON)?;
        let mut session = self.stateless_session();
        let message = Message::Request(request);
        let reply = self.handle(&mut session, message).await?;
        self.modern_response(reply)
    }

    /// Answers `subscriptions/listen` with a stream, or with an error.
    async fn listen(&self, request: Request) -> HttpResult {
        headers::check_accept(self.headers, EVENT_STREAM)?;
        let app = Arc::clone(&self.context.app);
        let client = Arc::clone(&self.context.client);
        let session = self.stateless_session();
        let threads = &self.context.app.threads.reads;
        let opened = threads
            .run(self.context.caller_key(), move || {
                app.streams.listen(session, &client, request)
            })
            .await?;
        match opened {
            Ok(stream) => Ok(stream),
            Err(reply) => self.modern_response(reply),
        }
    }

    async fn handle(&self, session: &mut Session, message: Message) -> Result<Reply, Refusal> {
        let caller_key = self.context.caller_key();
        let app = &self.context.app;
        app.handle(caller_key, session, message).await
    }

    /// Returns the response to a modern request. Some JSON-RPC errors have their own HTTP status
    /// ("Error codes" of 2026-07-28).
    fn modern_response(&self, reply: Reply) -> HttpResult {
        let Reply::Response(answer) = reply else {
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        let status = match answer.error_code() {
            Some(-32601) => StatusCode::NOT_FOUND, // no such method
            // -32600 is an invalid request, and the range is for wrong headers and versions.
            Some(-32022..=-32020 | -32600) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        self.json_response(status, answer)
    }

    /// Answers a request or a batch of an earlier version.
    async fn answer_legacy(&self, message: Message) -> HttpResult {
        headers::check_accept(self.headers, JSON)?;
        let is_batch = matches!(message, Message::Batch(_));
        let is_initialize =
            matches!(&message, Message::Request(request) if request.method == "initialize");
        let mut session = if is_initialize {
            self.stateless_session()
        } else {
            self.legacy_session()?
        };
        let reply = self.handle(&mut session, message).await?;
        let Reply::Response(answer) = reply else {
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        // An error instead of a list of answers means that the whole batch was refused.
        let is_refused_batch = is_batch && answer.error_code().is_some();
        let status = if is_refused_batch {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        };
        let mut response = self.json_response(status, answer)?;
        if is_initialize {
            self.add_session_id(response.headers_mut(), &session);
        }
        Ok(response)
    }

    /// Adds the id of a new session to the response to `initialize`. Adds none if `initialize` has
    /// failed, so that the session has no version.
    fn add_session_id(&self, response_headers: &mut HeaderMap, session: &Session) {
        let Some(version) = session.version else {
            return;
        };
        let owner = session_owner(&self.context.caller);
        let sessions = &self.context.app.sessions;
        match sessions.create_id(version, session.agent(), &owner, sessions::now()) {
            // An id is visible ASCII, so the conversion can't fail.
            Ok(id) => response_headers
                .extend(HeaderValue::try_from(id).map(|id| (headers::SESSION_ID, id))),
            Err(error) => tracing::error!(error, "no session id"),
        }
    }

    /// Returns a session for a request that doesn't depend on any earlier one.
    fn stateless_session(&self) -> Session {
        let no_version = None;
        let no_agent = None;
        Session::for_request(Arc::clone(&self.context.caller), no_version, no_agent)
    }

    /// Returns the session of a legacy request. Its version is the one in the version header, which
    /// defaults to the version that the session has negotiated, or to [`headers::DEFAULT_VERSION`]
    /// without a session.
    fn legacy_session(&self) -> Result<Session, Refusal> {
        let caller = Arc::clone(&self.context.caller);
        let (default_version, agent) = match self.session()? {
            Some(session) => (session.version, session.agent),
            None => (headers::DEFAULT_VERSION, None),
        };
        let header_version = headers::legacy_version_header(self.headers);
        let version = header_version.unwrap_or(default_version);
        Ok(Session::for_request(
            caller,
            Some(version),
            agent.as_deref(),
        ))
    }

    /// Returns the session in `Mcp-Session-Id`, or `None` without this header.
    ///
    /// # Errors
    /// Fails with 404 if the session doesn't exist or belongs to another caller.
    fn session(&self) -> Result<Option<SessionId>, Refusal> {
        let Some(id) = headers::identifier(self.headers, &headers::SESSION_ID) else {
            return Ok(None);
        };
        let owner = session_owner(&self.context.caller);
        let sessions = &self.context.app.sessions;
        let session = sessions.verify(id, &owner, sessions::now());
        if session.is_none() {
            let message = "this session has ended or does not exist; initialize a new one";
            return Err(Refusal::new(StatusCode::NOT_FOUND, message));
        }
        Ok(session)
    }

    /// Returns the session in `Mcp-Session-Id`.
    ///
    /// # Errors
    /// Fails with 400 if the header is missing or the version in the version header is unknown, and
    /// 404 if the session doesn't exist.
    fn required_session(&self) -> Result<SessionId, Refusal> {
        headers::header_era(self.headers)?;
        let message = "the header Mcp-Session-Id is missing; initialize sends it";
        self.session()?
            .ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, message))
    }

    /// Records a JSON-RPC answer in the tap, and returns it as an HTTP response.
    ///
    /// # Errors
    /// Fails with 503 if there is too little memory.
    fn json_response(&self, status: StatusCode, answer: RpcResponse) -> HttpResult {
        self.context.client.record_sent(answer.as_json().as_bytes());
        let is_error = answer.error_code().is_some();
        let memory = &self.context.app.request_limits.memory;
        let body = Body::from(memory.reserve(answer.into_json())?);
        let content_type = (CONTENT_TYPE, HeaderValue::from_static(JSON));
        let mut response = (status, [content_type], body).into_response();
        if is_error {
            response.extensions_mut().insert(IsRpcError);
        }
        Ok(response)
    }
}

/// Marks a response whose body is a JSON-RPC error, for the metrics: its HTTP status may be 200.
#[derive(Clone, Copy)]
struct IsRpcError;

/// Returns the owner of a caller's sessions: the id of its token in hexadecimal, or an empty string
/// for callers without a token.
fn session_owner(caller: &Caller) -> String {
    match &caller.token {
        Some(token) => format!("{:032x}", u128::from_be_bytes(token.id)),
        None => String::new(),
    }
}
