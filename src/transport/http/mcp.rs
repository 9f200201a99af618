//! The endpoint of MCP, `/mcp`: a message in each POST, a stream of notifications for a GET, and
//! the end of a session with DELETE.

use super::app::Exchange;
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

/// The longest message, in bytes, that is parsed without a thread of its own: a longer one takes
/// milliseconds.
const MAX_QUICK: usize = 64 * 1024;

/// A request to the endpoint, with its headers.
struct McpRequest<'r> {
    exchange: &'r Exchange,
    headers: &'r HeaderMap,
}

/// Answers a POST, whose body is a message or a batch of messages.
pub(super) async fn post(exchange: Exchange, request: http::Request<Body>) -> HttpResult {
    let (head, body) = request.into_parts();
    headers::check_content_type(&head.headers)?;
    let requests = &exchange.app.requests;
    let client = &exchange.client;
    let mut received = requests.read(client, body).await?;
    received.count_values()?;
    let body = std::mem::take(&mut received.bytes);
    client.received(&body);
    let mcp_request = McpRequest {
        exchange: &exchange,
        headers: &head.headers,
    };
    match parse(&exchange, body).await? {
        Ok(message) => mcp_request.answer(message).await,
        Err(error) => {
            exchange.take(&[client_limits::NO_METHOD])?;
            mcp_request.json(StatusCode::BAD_REQUEST, error)
        }
    }
}

/// Parses the body of a POST, on another thread if it is long. The inner error is the response to a
/// body that is not a message.
async fn parse(exchange: &Exchange, body: Bytes) -> Result<Result<Message, RpcResponse>, Refusal> {
    if body.len() <= MAX_QUICK {
        return Ok(Message::parse(body.trim_ascii()));
    }
    let threads = &exchange.app.threads.files;
    threads
        .run(exchange.key(), move || Message::parse(body.trim_ascii()))
        .await
}

/// Answers a GET with the stream of a legacy session. A person who opens the endpoint in a browser
/// is sent to the page, which asks for a token if one is needed.
pub(super) async fn open_stream(
    exchange: Result<Exchange, Refusal>,
    method: Method,
    headers: HeaderMap,
) -> HttpResult {
    if headers::asks_for_page(&method, &headers) {
        return Ok(Redirect::to("./").into_response());
    }
    let exchange = exchange?;
    headers::check_accept(&headers, EVENT_STREAM)?;
    let request = McpRequest {
        exchange: &exchange,
        headers: &headers,
    };
    let session = request.required_session()?;
    let last_event = headers::identifier(&headers, &headers::LAST_EVENT_ID);
    let caller = (*exchange.caller).clone();
    let streams = &exchange.app.streams;
    Ok(streams.open(caller, &exchange.client, &session, last_event))
}

/// Answers a DELETE: ends a session and its streams.
pub(super) async fn delete(exchange: Exchange, headers: HeaderMap) -> HttpResult {
    let request = McpRequest {
        exchange: &exchange,
        headers: &headers,
    };
    let session = request.required_session()?;
    let app = &exchange.app;
    app.sessions.delete(&session);
    app.streams
        .retain(|stream| stream.legacy_session != Some(session.random));
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl McpRequest<'_> {
    /// Answers a message, and counts it for the limits of the caller and for the metrics.
    async fn answer(&self, message: Message) -> HttpResult {
        let method = metrics::label(&message);
        let id = message.id();
        let started = Instant::now();
        let result = match self.exchange.take(&client_limits::methods(&message)) {
            Ok(()) => self.answer_by_version(message).await,
            Err(refusal) => Err(refusal),
        };
        let is_error = match &result {
            Ok(response) => response.extensions().get::<IsError>().is_some(),
            Err(_) => true,
        };
        self.exchange.app.metrics.count_message(&HandledMessage {
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
            Message::Request(request) => match headers::era(self.headers, request) {
                Ok(era) => era,
                Err(error) => {
                    let answer = RpcResponse::error(Some(&request.id), error);
                    return self.json(StatusCode::BAD_REQUEST, answer);
                }
            },
            _ => headers::check_version(self.headers)?,
        };
        match (message, era) {
            (Message::Request(request), Era::Modern) => self.answer_modern(request).await,
            (message @ (Message::Request(_) | Message::Batch(_)), Era::Legacy) => {
                self.answer_legacy(message).await
            }
            (Message::Notification { .. }, _) | (Message::Response, Era::Legacy) => {
                self.session()?;
                Ok(StatusCode::ACCEPTED.into_response())
            }
            (Message::Batch(_) | Message::Response, Era::Modern) => Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "this version has no batches, and no responses of clients",
            )),
        }
    }

    /// Answers a request of version 2026-07-28.
    async fn answer_modern(&self, request: Request) -> HttpResult {
        if request.method == "subscriptions/listen" {
            return self.listen(request).await;
        }
        headers::check_accept(self.headers, JSON)?;
        let Exchange { app, caller, .. } = self.exchange;
        let mut session = Session::of_request(Arc::clone(caller), None, None);
        let reply = app
            .handle(self.exchange.key(), &mut session, Message::Request(request))
            .await?;
        self.modern_response(reply)
    }

    /// Answers `subscriptions/listen` with a stream, or with the error of the request.
    async fn listen(&self, request: Request) -> HttpResult {
        headers::check_accept(self.headers, EVENT_STREAM)?;
        let Exchange {
            app,
            client,
            caller,
        } = self.exchange.clone();
        let session = Session::of_request(caller, None, None);
        let threads = &self.exchange.app.threads.files;
        let opened = threads
            .run(self.exchange.key(), move || {
                app.streams.listen(session, &client, request)
            })
            .await?;
        match opened {
            Ok(stream) => Ok(stream),
            Err(reply) => self.modern_response(reply),
        }
    }

    /// Returns the response to a modern request. Some errors have a status of their own
    /// ("Error codes" of 2026-07-28).
    fn modern_response(&self, reply: Reply) -> HttpResult {
        let Reply::Response(answer) = reply else {
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        let status = match answer.error_code() {
            Some(-32601) => StatusCode::NOT_FOUND,
            Some(-32022..=-32020 | -32600) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        self.json(status, answer)
    }

    /// Answers a request or a batch of an earlier version.
    async fn answer_legacy(&self, message: Message) -> HttpResult {
        headers::check_accept(self.headers, JSON)?;
        let Exchange { app, caller, .. } = self.exchange;
        let is_batch = matches!(message, Message::Batch(_));
        let is_initialize =
            matches!(&message, Message::Request(request) if request.method == "initialize");
        let mut session = if is_initialize {
            Session::of_request(Arc::clone(caller), None, None)
        } else {
            self.session_of_request()?
        };
        let reply = app
            .handle(self.exchange.key(), &mut session, message)
            .await?;
        let Reply::Response(answer) = reply else {
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        // One error for a whole batch means that no message of the batch was handled.
        let is_refused_batch = is_batch && answer.error_code().is_some();
        let status = if is_refused_batch {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        };
        let mut response = self.json(status, answer)?;
        if is_initialize {
            self.add_session_id(response.headers_mut(), &session);
        }
        Ok(response)
    }

    /// Adds the id of a new session to the headers of the response to `initialize`, unless
    /// `initialize` has failed.
    fn add_session_id(&self, response_headers: &mut HeaderMap, session: &Session) {
        let Some(version) = session.version else {
            return;
        };
        let Exchange { app, caller, .. } = self.exchange;
        let owner = owner(caller);
        let id = app
            .sessions
            .make(version, session.agent(), &owner, sessions::now());
        match id {
            // An id is ASCII, so it can be a header.
            Ok(id) => response_headers
                .extend(HeaderValue::try_from(id).map(|id| (headers::SESSION_ID, id))),
            Err(error) => tracing::error!(error, "no session id"),
        }
    }

    /// Returns the session of a legacy request, with the version of its header or else the version
    /// that its session has negotiated.
    fn session_of_request(&self) -> Result<Session, Refusal> {
        let version = headers::named_version(self.headers);
        let caller = Arc::clone(&self.exchange.caller);
        let Some(session) = self.session()? else {
            let version = version.unwrap_or(headers::ASSUMED);
            return Ok(Session::of_request(caller, Some(version), None));
        };
        let version = version.unwrap_or(session.version);
        let agent = session.agent.as_deref();
        Ok(Session::of_request(caller, Some(version), agent))
    }

    /// Returns the session that the header `Mcp-Session-Id` names, if there is one.
    ///
    /// # Errors
    /// 404: the session does not exist or belongs to another caller.
    fn session(&self) -> Result<Option<SessionId>, Refusal> {
        let Some(id) = headers::identifier(self.headers, &headers::SESSION_ID) else {
            return Ok(None);
        };
        let Exchange { app, caller, .. } = self.exchange;
        let session = app.sessions.read(id, &owner(caller), sessions::now());
        if session.is_none() {
            let message = "this session has ended or does not exist; initialize a new one";
            return Err(Refusal::new(StatusCode::NOT_FOUND, message));
        }
        Ok(session)
    }

    /// Returns the session that the header `Mcp-Session-Id` names.
    ///
    /// # Errors
    /// 400: the header is missing, or the version is unknown. 404: the session does not exist.
    fn required_session(&self) -> Result<SessionId, Refusal> {
        headers::check_version(self.headers)?;
        let message = "the header Mcp-Session-Id is missing; initialize sends it";
        self.session()?
            .ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, message))
    }

    /// Returns the HTTP response with an answer of JSON-RPC, and records the answer.
    ///
    /// # Errors
    /// 503: too many bytes are in memory.
    fn json(&self, status: StatusCode, answer: RpcResponse) -> HttpResult {
        self.exchange.client.sent(answer.as_json().as_bytes());
        let is_error = answer.error_code().is_some();
        let memory = &self.exchange.app.requests.memory;
        let body = Body::from(memory.count(answer.into_json())?);
        let content_type = (CONTENT_TYPE, HeaderValue::from_static(JSON));
        let mut response = (status, [content_type], body).into_response();
        if is_error {
            response.extensions_mut().insert(IsError);
        }
        Ok(response)
    }
}

/// Marks a response with an error of JSON-RPC, for the metrics.
#[derive(Clone, Copy)]
struct IsError;

/// Returns the owner of a caller's sessions: the id of their token as hexadecimal digits, or an
/// empty text for all callers without a token.
fn owner(caller: &Caller) -> String {
    match &caller.token {
        Some(token) => format!("{:032x}", u128::from_be_bytes(token.id)),
        None => String::new(),
    }
}
