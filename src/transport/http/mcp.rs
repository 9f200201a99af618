//! The MCP endpoint, `/mcp`: POST sends a message, GET opens a stream of notifications, and DELETE
//! ends a session.

use super::app::RequestContext;
use super::client_limits;
use super::headers::{self, EVENT_STREAM};
use super::metrics::{self, HandledMessage};
use super::refusal::{HttpResult, JSON, MCP_PATH_WITH_SLASH, Refusal};
use super::sessions::{self, SessionId};
use super::sse::ListenOutcome;
use crate::jsonrpc::{Message, Request, Response as RpcResponse};
use crate::library::Caller;
use crate::server::{Era, Reply, Session};
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;
use std::time::Instant;

/// The maximum length of a message that is parsed on an async thread. Parsing a longer one takes
/// milliseconds.
const MAX_INLINE_PARSE_BYTES: usize = 64 * 1024;

/// The notification with which a legacy client finishes the handshake.
const INITIALIZED: &str = "notifications/initialized";

/// A request to the endpoint, besides its body.
struct McpRequest<'r> {
    context: &'r RequestContext,
    headers: &'r HeaderMap,
}

/// The body of a POST.
enum ParsedBody {
    Message(Message),
    /// The body is not a valid message. The client gets this error response.
    Invalid(RpcResponse),
}

/// The session that a request names in the header `Mcp-Session-Id`.
enum SessionHeader {
    Missing,
    /// The session exists and belongs to the caller.
    Valid(SessionId),
}

/// Answers a POST to the endpoint. Its body is a JSON-RPC message or a batch of messages.
///
/// # Errors
/// Fails with 415 if the body is not plain JSON. Fails if the body can't be read, or if the request
/// exceeds a limit of the server.
pub(super) async fn post(context: RequestContext, request: http::Request<Body>) -> HttpResult {
    let (parts, body) = request.into_parts();
    headers::check_body_format(&parts.headers)?;
    let limits = &context.app.request_limits;
    // Holds a permit and memory until the answer is ready.
    let mut received = limits.read_body(&context.client, body).await?;
    received.reserve_for_values()?;
    let body = std::mem::take(&mut received.bytes);
    context.client.record_received(&body);
    let mcp_request = McpRequest {
        context: &context,
        headers: &parts.headers,
    };
    match parse_body(&context, body).await? {
        ParsedBody::Message(message) => mcp_request.answer(message).await,
        ParsedBody::Invalid(error_response) => {
            context.admit(&[client_limits::NO_METHOD])?;
            mcp_request.json_response(StatusCode::BAD_REQUEST, error_response)
        }
    }
}

/// Parses the body of a POST. A body of more than [`MAX_INLINE_PARSE_BYTES`] is parsed on another
/// thread, so that it doesn't delay other requests.
///
/// # Errors
/// Fails with 500 if the other thread panics.
async fn parse_body(context: &RequestContext, body: Bytes) -> Result<ParsedBody, Refusal> {
    if body.len() <= MAX_INLINE_PARSE_BYTES {
        return Ok(ParsedBody::parse(&body));
    }
    let threads = &context.app.threads.reads;
    let caller_key = context.caller_key();
    threads
        .run(caller_key, move || ParsedBody::parse(&body))
        .await
}

impl ParsedBody {
    /// Parses a message, e.g. `{"jsonrpc":"2.0","id":1,"method":"ping"}`. White space around it is
    /// ignored.
    fn parse(body: &[u8]) -> ParsedBody {
        match Message::parse(body.trim_ascii()) {
            Ok(message) => ParsedBody::Message(message),
            Err(error_response) => ParsedBody::Invalid(error_response),
        }
    }
}

/// Answers a GET with the event stream of a legacy session, or with a redirect to the web page if a
/// browser asks.
///
/// `context` is an error if the client has no valid token. A browser is redirected all the same,
/// because the page itself asks for the token.
///
/// # Errors
/// Fails with 406 if the client accepts no event stream, 400 if it names no session, and 404 if the
/// session doesn't exist.
pub(super) async fn open_stream(
    context: Result<RequestContext, Refusal>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult {
    if headers::asks_for_page(&method, &headers) {
        // A relative address, because a proxy may serve the page below a path of its own.
        let page = if uri.path() == MCP_PATH_WITH_SLASH {
            "../"
        } else {
            "./"
        };
        return Ok(Redirect::to(page).into_response());
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

/// Answers a DELETE with 204: ends the session that the request names, and closes its streams.
///
/// # Errors
/// Fails with 400 if the request names no session, and 404 if the session doesn't exist.
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
    /// Answers a message, and counts it against the caller's rate limits and in the metrics.
    ///
    /// # Errors
    /// Fails with 429 if a rate limit is exceeded, or if the message itself is refused. The error
    /// has the id of the message.
    async fn answer(&self, message: Message) -> HttpResult {
        let method = metrics::method_label(&message);
        let id = message.id();
        let started = Instant::now();
        let result = match self.context.admit(&client_limits::methods(&message)) {
            Ok(()) => self.answer_admitted(message).await,
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

    /// Answers a message of any protocol version that no rate limit excludes.
    async fn answer_admitted(&self, message: Message) -> HttpResult {
        match message {
            Message::Request(request) => self.answer_request(request).await,
            Message::Batch(_) => self.answer_batch(message).await,
            Message::Notification { method, .. } => self.accept_notification(&method),
            Message::Response => self.accept_response(),
        }
    }

    /// Answers a request by the rules of its protocol version. Answers with 400 and a JSON-RPC
    /// error if the headers don't match the version and the method in the body.
    async fn answer_request(&self, request: Request) -> HttpResult {
        let era = match headers::request_era(self.headers, &request) {
            Ok(era) => era,
            Err(error) => {
                let answer = RpcResponse::error(Some(&request.id), error);
                return self.json_response(StatusCode::BAD_REQUEST, answer);
            }
        };
        match era {
            Era::Modern if request.method == "subscriptions/listen" => self.listen(request).await,
            Era::Modern => self.answer_modern(request).await,
            Era::Legacy if request.method == "initialize" => self.initialize(request).await,
            Era::Legacy => self.answer_legacy(request).await,
        }
    }

    /// Answers a notification with 202. Over HTTP, only `notifications/initialized` has an effect.
    ///
    /// # Errors
    /// Fails with 400 if the version header is unknown, and 404 if the session doesn't exist.
    fn accept_notification(&self, method: &str) -> HttpResult {
        headers::header_era(self.headers)?;
        if method == INITIALIZED {
            self.finish_handshake()?;
        } else {
            self.session()?;
        }
        Ok(StatusCode::ACCEPTED.into_response())
    }

    /// Answers a client's response with 202. It has no effect, because the server sends no
    /// requests.
    ///
    /// # Errors
    /// Fails with 400 if the version header is modern or unknown, and 404 if the session doesn't
    /// exist.
    fn accept_response(&self) -> HttpResult {
        self.check_header_is_legacy()?;
        self.session()?;
        Ok(StatusCode::ACCEPTED.into_response())
    }

    /// Answers a modern request with JSON.
    ///
    /// # Errors
    /// Fails with 406 if the client accepts no JSON.
    async fn answer_modern(&self, request: Request) -> HttpResult {
        headers::check_accept(self.headers, JSON)?;
        let mut session = self.stateless_session();
        let message = Message::Request(request);
        let reply = self.handle(&mut session, message).await?;
        self.respond(reply, modern_status)
    }

    /// Answers `subscriptions/listen` with an event stream, or with a JSON-RPC error.
    ///
    /// # Errors
    /// Fails with 406 if the client accepts no event stream.
    async fn listen(&self, request: Request) -> HttpResult {
        headers::check_accept(self.headers, EVENT_STREAM)?;
        let app = Arc::clone(&self.context.app);
        let client = Arc::clone(&self.context.client);
        let session = self.stateless_session();
        let threads = &self.context.app.threads.reads;
        let outcome = threads
            .run(self.context.caller_key(), move || {
                app.streams.listen(session, &client, request)
            })
            .await?;
        match outcome {
            ListenOutcome::Opened(stream) => Ok(stream),
            ListenOutcome::Answered(answer) => self.respond(answer, modern_status),
        }
    }

    /// Answers `initialize` with JSON. The response has the id of a new session in its headers.
    ///
    /// # Errors
    /// Fails with 406 if the client accepts no JSON.
    async fn initialize(&self, request: Request) -> HttpResult {
        headers::check_accept(self.headers, JSON)?;
        let mut session = self.stateless_session();
        let message = Message::Request(request);
        let reply = self.handle(&mut session, message).await?;
        let mut response = self.respond(reply, always_ok)?;
        self.add_session_id(&mut response, &session);
        Ok(response)
    }

    /// Answers any other legacy request with JSON.
    ///
    /// # Errors
    /// Fails with 406 if the client accepts no JSON, and 404 if the session doesn't exist.
    async fn answer_legacy(&self, request: Request) -> HttpResult {
        headers::check_accept(self.headers, JSON)?;
        let mut session = self.legacy_session()?;
        let message = Message::Request(request);
        let reply = self.handle(&mut session, message).await?;
        self.respond(reply, always_ok)
    }

    /// Answers a batch with a list of answers, with 202 if it has no requests, or with 400 and a
    /// JSON-RPC error if its version has no batches.
    ///
    /// # Errors
    /// Fails with 400 if the version header is modern or unknown, 406 if the client accepts no
    /// JSON, and 404 if the session doesn't exist.
    async fn answer_batch(&self, batch: Message) -> HttpResult {
        self.check_header_is_legacy()?;
        headers::check_accept(self.headers, JSON)?;
        let has_initialized = client_limits::methods(&batch).contains(&INITIALIZED);
        let mut session = self.legacy_session()?;
        let reply = self.handle(&mut session, batch).await?;
        let response = self.respond(reply, batch_status)?;
        if has_initialized && response.status().is_success() {
            self.finish_handshake()?;
        }
        Ok(response)
    }

    /// Handles a message in a session, and returns the reply of the server.
    ///
    /// # Errors
    /// Fails with 500 if the handler panics.
    async fn handle(&self, session: &mut Session, message: Message) -> Result<Reply, Refusal> {
        let caller_key = self.context.caller_key();
        let app = &self.context.app;
        app.handle(caller_key, session, message).await
    }

    /// Notes that the client of the session, if the request names one, has sent
    /// `notifications/initialized`, so that it can be notified of changes.
    ///
    /// # Errors
    /// Fails with 404 if the session doesn't exist.
    fn finish_handshake(&self) -> Result<(), Refusal> {
        if let SessionHeader::Valid(session) = self.session()? {
            self.context.app.streams.finish_handshake(&session);
        }
        Ok(())
    }

    /// Adds the id of a new session to the headers of the response to `initialize`. Adds none if
    /// `initialize` has failed, so that `session` has no version.
    fn add_session_id(&self, response: &mut Response, session: &Session) {
        let Some(version) = session.version else {
            return;
        };
        let owner = session_owner(&self.context.caller);
        let sessions = &self.context.app.sessions;
        let id = match sessions.create_id(version, session.agent(), &owner, sessions::now()) {
            Ok(id) => id,
            Err(error) => {
                tracing::error!(error, "no session id");
                return;
            }
        };
        // The id is visible ASCII, so it is always a valid header.
        if let Ok(id) = HeaderValue::try_from(id) {
            response.headers_mut().insert(headers::SESSION_ID, id);
        }
    }

    /// Returns a session for a request that doesn't depend on any earlier one: `initialize`, or a
    /// modern request.
    fn stateless_session(&self) -> Session {
        let no_version = None;
        let no_agent = None;
        Session::for_request(Arc::clone(&self.context.caller), no_version, no_agent)
    }

    /// Returns the session of a legacy request. Its version is that of the version header. Without
    /// this header, it is the version that the session has negotiated, or
    /// [`headers::DEFAULT_VERSION`] if the request names no session.
    ///
    /// # Errors
    /// Fails with 404 if the session doesn't exist.
    fn legacy_session(&self) -> Result<Session, Refusal> {
        let mut version = headers::DEFAULT_VERSION;
        let mut agent = None;
        if let SessionHeader::Valid(session) = self.session()? {
            version = session.version;
            agent = session.agent;
        }
        if let Some(header_version) = headers::legacy_version_header(self.headers) {
            version = header_version;
        }
        let caller = Arc::clone(&self.context.caller);
        Ok(Session::for_request(
            caller,
            Some(version),
            agent.as_deref(),
        ))
    }

    /// Returns the session that the request names in `Mcp-Session-Id`, if it has this header.
    ///
    /// # Errors
    /// Fails with 404 if the session doesn't exist or belongs to another caller.
    fn session(&self) -> Result<SessionHeader, Refusal> {
        let Some(id) = headers::identifier(self.headers, &headers::SESSION_ID) else {
            return Ok(SessionHeader::Missing);
        };
        let owner = session_owner(&self.context.caller);
        let sessions = &self.context.app.sessions;
        match sessions.verify(id, &owner, sessions::now()) {
            Some(session) => Ok(SessionHeader::Valid(session)),
            None => {
                let message = "this session has ended or does not exist; initialize a new one";
                Err(Refusal::new(StatusCode::NOT_FOUND, message))
            }
        }
    }

    /// Returns the session that the request names in `Mcp-Session-Id`, which it must have.
    ///
    /// # Errors
    /// Fails with 400 if the header is missing or the version in the version header is unknown, and
    /// 404 if the session doesn't exist.
    fn required_session(&self) -> Result<SessionId, Refusal> {
        headers::header_era(self.headers)?;
        match self.session()? {
            SessionHeader::Valid(session) => Ok(session),
            SessionHeader::Missing => {
                let message = "the header Mcp-Session-Id is missing; initialize sends it";
                Err(Refusal::new(StatusCode::BAD_REQUEST, message))
            }
        }
    }

    /// Checks that the version header is missing or has a legacy version, because only legacy
    /// versions have batches and responses of clients.
    ///
    /// # Errors
    /// Fails with 400 if the version is modern or unknown.
    fn check_header_is_legacy(&self) -> Result<(), Refusal> {
        match headers::header_era(self.headers)? {
            Era::Legacy => Ok(()),
            Era::Modern => {
                let message = "this version has no batches and no client responses";
                Err(Refusal::new(StatusCode::BAD_REQUEST, message))
            }
        }
    }

    /// Returns the HTTP response to a message: 202 if the reply has no answer, otherwise the answer
    /// with the status that `status_of` returns for it.
    ///
    /// # Errors
    /// Fails with 503 if there is too little memory.
    fn respond(&self, reply: Reply, status_of: fn(&RpcResponse) -> StatusCode) -> HttpResult {
        let Reply::Response(answer) = reply else {
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        self.json_response(status_of(&answer), answer)
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

/// Returns the HTTP status for the answer to a modern request. Some JSON-RPC errors have a status
/// of their own ("Error codes" of 2026-07-28).
fn modern_status(answer: &RpcResponse) -> StatusCode {
    match answer.error_code() {
        Some(-32601) => StatusCode::NOT_FOUND, // no such method
        // -32600 is an invalid request, and the range is for wrong headers and versions.
        Some(-32022..=-32020 | -32600) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Returns the HTTP status for the answer to a batch: 400 if it is a single error instead of a list
/// of answers, so that the whole batch was refused.
fn batch_status(answer: &RpcResponse) -> StatusCode {
    if answer.error_code().is_some() {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    }
}

/// Returns 200, the HTTP status for any answer to a legacy request, even if it is an error.
fn always_ok(_: &RpcResponse) -> StatusCode {
    StatusCode::OK
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
