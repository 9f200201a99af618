//! The endpoint of MCP, `/mcp`: a message in each POST, a stream of notifications for a GET, and the end of a session with DELETE.

use super::exchange::Exchange;
use super::headers::{self, EVENT_STREAM, Era, JSON};
use super::refusal::Refusal;
use super::sessions::{self, SessionId};
use super::shared_answers::{ListKey, SharedAnswer};
use super::sse::EventStream;
use super::{App, STOPPED, Stage, internal_error, limits, metrics, reached};
use crate::jsonrpc::{Id, Message, Outgoing, Request, Response as Answer};
use crate::library::Caller;
use crate::server::{Reply, Session, Work};
use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{self, HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;
use std::fmt::Write;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;
use tokio::time::timeout;
use tracing::Span;

/// How long a client may take to send the body of a request.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// The longest message, in bytes, that is handled between others: to read and answer a longer one takes milliseconds.
const MAX_QUICK: usize = 64 * 1024;

const INITIALIZED: &str = "notifications/initialized";

/// A request to the endpoint of MCP.
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    let answer = async |head: Parts, body, caller| match head.method {
        Method::POST => app.post(&head.headers, body, caller, &exchange).await,
        Method::GET => app.open_stream(&head.headers, &caller),
        Method::DELETE => app.delete(&head.headers, &caller),
        _ => {
            let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this endpoint has POST, GET and DELETE");
            Err(refusal.with_header(ALLOW, HeaderValue::from_static("POST, GET, DELETE")))
        }
    };
    app.respond(&exchange, request, answer, |refusal| refused(refusal, None)).await
}

impl App {
    /// A message.
    async fn post(
        self: &Arc<Self>,
        headers: &HeaderMap,
        body: Body,
        caller: Caller,
        exchange: &Exchange,
    ) -> Result<http::Response<Body>, Refusal> {
        headers::check_content_type(headers)?;
        let (body, _held) = self.read(body, headers, self.max_body).await?;
        // Not before: a client that sends its body slowly takes nothing from others.
        let _permit = self.requests.try_acquire().map_err(|_| limits::too_busy())?;
        self.received(exchange, &body);
        if body.len() <= MAX_QUICK {
            return self.read_and_reply(headers, body, exchange, caller).await;
        }
        let _permit = self.long.acquire().await;
        // The other requests of this thread are handled by another one meanwhile.
        block_in_place(|| Handle::current().block_on(self.read_and_reply(headers, body, exchange, caller)))
    }

    /// Reads the body of a request; also returns its part of all bytes that bodies may have, unless it is short.
    ///
    /// # Errors
    /// It is too long, does not come in time, or cannot be read; all bodies together are too long; the server ends.
    pub(super) async fn read(
        &self,
        body: Body,
        headers: &HeaderMap,
        max: usize,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Refusal> {
        let mut stage = self.stage.clone();
        tokio::select! {
            biased; // most bodies are there at once
            body = read(body, headers, max, &self.bodies) => body,
            () = reached(&mut stage, Stage::Ending) => Err(Refusal::unavailable(internal_error(STOPPED))),
        }
    }

    /// Reads a message, and answers it.
    async fn read_and_reply(
        self: &Arc<Self>,
        headers: &HeaderMap,
        body: Bytes,
        exchange: &Exchange,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        let message = match Message::parse(body.trim_ascii()) {
            Ok(message) => message,
            Err(answer) => return Ok(json(StatusCode::BAD_REQUEST, &answer)),
        };
        drop(body);
        let (method, started) = (metrics::label(&message), Instant::now());
        let answered = match self.rate_limits.take(&caller, exchange.address(), &message) {
            Ok(()) => self.reply(headers, message, caller).await,
            Err(refusal) => Ok(refused(refusal, message.id())),
        };
        let is_error = answered.as_ref().map_or(true, |response| response.extensions().get::<IsError>().is_some());
        self.metrics.answered("http", method, is_error, started.elapsed());
        answered
    }

    /// What is answered to a message.
    async fn reply(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: Message,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        match message {
            Message::Request(request) => {
                let era = match headers::era(headers, &request) {
                    Ok(era) => era,
                    Err(error) => {
                        return Ok(json(StatusCode::BAD_REQUEST, &Answer::error(Some(request.id), error)));
                    }
                };
                match era {
                    Era::Modern => self.modern(headers, request, caller).await,
                    Era::Legacy(version) => self.legacy(headers, version, request, caller).await,
                }
            }
            Message::Notification { method, .. } => {
                headers::check_version(headers)?;
                if let Some(session) = self.session(headers, &caller)?
                    && method == INITIALIZED
                {
                    self.streams.initialized(&session);
                }
                Ok(empty(StatusCode::ACCEPTED))
            }
            Message::Response => match headers::check_version(headers)? {
                Era::Modern => Err(Refusal::new(StatusCode::BAD_REQUEST, "this version has no responses of clients")),
                Era::Legacy(_) => self.session(headers, &caller).map(|_| empty(StatusCode::ACCEPTED)),
            },
            Message::Batch(messages) => self.batch(headers, messages, caller).await,
        }
    }

    async fn modern(
        self: &Arc<Self>,
        headers: &HeaderMap,
        request: Request,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        let session = Session::of_request(caller, None, None);
        let opens_stream = request.method == "subscriptions/listen";
        headers::check_accept(headers, if opens_stream { EVENT_STREAM } else { JSON })?;
        if self.server.is_for_list(&request) {
            return Ok(self.list(session, request).await);
        }
        let id = request.id.clone();
        let message = Message::Request(request);
        let reply = if opens_stream {
            let is_quick = self.server.work(session.caller(), &message) == Work::Quick;
            let (app, listened) = (Arc::clone(self), id.clone());
            let open = move || app.streams.listen(&app.server, session, &listened, message);
            let opened = if is_quick { Ok(open()) } else { self.in_background(open).await };
            match opened {
                Ok(Ok(stream)) => return Ok(event_stream(stream)),
                Ok(Err(reply)) => reply,
                Err(error) => Reply::Response(Answer::error(Some(id), error)),
            }
        } else {
            self.handle(session, message, Some(id)).await.0
        };
        Ok(match reply {
            Reply::Response(answer) => {
                let status = match answer.error_code() {
                    Some(-32601) => StatusCode::NOT_FOUND,
                    Some(-32022..=-32020 | -32600) => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                json(status, &answer)
            }
            Reply::None | Reply::Stream(_) => empty(StatusCode::ACCEPTED),
        })
    }

    async fn legacy(
        self: &Arc<Self>,
        headers: &HeaderMap,
        version: Option<&'static str>,
        request: Request,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        headers::check_accept(headers, JSON)?;
        let owner = owner(&caller);
        let is_initialize = request.method == "initialize";
        let session = if is_initialize {
            self.streams.broadcast(&self.server, &caller);
            Session::of_request(caller, None, None)
        } else {
            let session = self.session(headers, &caller)?;
            let agent = session.as_ref().and_then(|session| session.agent.as_deref());
            let version = headers::version_of_legacy(version, session.as_ref().map(|session| session.version));
            Session::of_request(caller, Some(version), agent)
        };
        if self.server.is_for_list(&request) {
            return Ok(self.list(session, request).await);
        }
        let id = request.id.clone();
        let (reply, session) = self.handle(session, Message::Request(request), Some(id)).await;
        let Reply::Response(answer) = reply else { return Ok(empty(StatusCode::ACCEPTED)) };
        let mut response = json(StatusCode::OK, &answer);
        if is_initialize
            && let Some(session) = session
            && let Some(version) = session.protocol_version()
        {
            let made = self.sessions.make(version, session.agent(), &owner, sessions::now());
            match made.map(|id| HeaderValue::try_from(id).map_err(|error| error.to_string())) {
                Ok(Ok(id)) => _ = response.headers_mut().insert(headers::SESSION_ID, id),
                Ok(Err(error)) | Err(error) => tracing::error!(error, "no session id"),
            }
        }
        Ok(response)
    }

    async fn batch(
        self: &Arc<Self>,
        headers: &HeaderMap,
        messages: Vec<Value>,
        caller: Caller,
    ) -> Result<http::Response<Body>, Refusal> {
        let Era::Legacy(version) = headers::check_version(headers)? else {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "this version has no batches"));
        };
        headers::check_accept(headers, JSON)?;
        let session = self.session(headers, &caller)?;
        let version = headers::version_of_legacy(version, session.as_ref().map(|session| session.version));
        let is_initialized = messages.iter().any(|message| message["method"] == INITIALIZED);
        if let Some(session) = session.as_ref().filter(|_| is_initialized) {
            self.streams.initialized(session);
        }
        let agent = session.as_ref().and_then(|session| session.agent.as_deref());
        let session = Session::of_request(caller, Some(version), agent);
        Ok(match self.handle(session, Message::Batch(messages), None).await.0 {
            Reply::Response(answer) if answer.error_code().is_some() => json(StatusCode::BAD_REQUEST, &answer),
            Reply::Response(answer) => json(StatusCode::OK, &answer),
            Reply::None | Reply::Stream(_) => empty(StatusCode::ACCEPTED),
        })
    }

    /// The stream of a legacy session.
    fn open_stream(&self, headers: &HeaderMap, caller: &Caller) -> Result<http::Response<Body>, Refusal> {
        headers::check_version(headers)?;
        headers::check_accept(headers, EVENT_STREAM)?;
        let session = self.needed_session(headers, caller)?;
        let last_event = headers::identifier(headers, headers::LAST_EVENT_ID);
        Ok(event_stream(self.streams.open(&self.server, caller, &session, last_event)))
    }

    fn delete(&self, headers: &HeaderMap, caller: &Caller) -> Result<http::Response<Body>, Refusal> {
        headers::check_version(headers)?;
        let session = self.needed_session(headers, caller)?;
        self.sessions.delete(&session);
        self.streams.end_session(&session);
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// The session that the client says it belongs to, if it says so.
    fn session(&self, headers: &HeaderMap, caller: &Caller) -> Result<Option<SessionId>, Refusal> {
        let Some(id) = headers::identifier(headers, headers::SESSION_ID) else { return Ok(None) };
        let session = self.sessions.read(id, &owner(caller), sessions::now());
        let refusal =
            || Refusal::new(StatusCode::NOT_FOUND, "this session has ended or does not exist; initialize a new one");
        session.map(Some).ok_or_else(refusal)
    }

    fn needed_session(&self, headers: &HeaderMap, caller: &Caller) -> Result<SessionId, Refusal> {
        let refusal =
            || Refusal::new(StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing; initialize sends it");
        self.session(headers, caller)?.ok_or_else(refusal)
    }

    /// Handles a request for a list. Equal ones that wait share one answer ([`shared_answers`](super::shared_answers)).
    async fn list(&self, mut session: Session, mut request: Request) -> http::Response<Body> {
        if let Some(Value::Object(meta)) = request.params.get_mut("_meta") {
            // Others make no difference, such as a progress token.
            meta.retain(|key, _| key.starts_with("io.modelcontextprotocol/"));
        }
        let key = ListKey::of(&session, &request);
        let id = request.id.clone();
        let (server, id_of_first, span) = (Arc::clone(&self.server), id.clone(), Span::current());
        let compute = move || match span.in_scope(|| server.handle(&mut session, Message::Request(request))) {
            Reply::Response(answer) => SharedAnswer::of(&answer, &id_of_first),
            Reply::None | Reply::Stream(_) => None,
        };
        match self.in_time(async { self.lists.get(key, compute).await? }).await {
            Ok(answer) => json_body(StatusCode::OK, answer.body(&id, self.tap.is_some()), answer.is_error),
            Err(error) => json(StatusCode::OK, &Answer::error(Some(id), error)),
        }
    }
}

/// Whose a session is.
fn owner(caller: &Caller) -> String {
    let mut owner = String::new();
    for byte in caller.token.iter().flat_map(|token| token.id) {
        let _ = write!(owner, "{byte:02x}");
    }
    owner
}

/// See [`App::read`].
async fn read<'b>(
    mut body: Body,
    headers: &HeaderMap,
    max: usize,
    bodies: &'b Semaphore,
) -> Result<(Bytes, Option<SemaphorePermit<'b>>), Refusal> {
    let closing = |refusal: Refusal| refusal.with_header(CONNECTION, HeaderValue::from_static("close"));
    let too_long = || closing(limits::body_too_long(max));
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > max) {
        return Err(too_long());
    }
    let read = async {
        let (mut first, mut all, mut held) = (Bytes::new(), Vec::new(), None::<SemaphorePermit>);
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame
                .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = first.len() + all.len() + data.len();
            if length > max {
                return Err(too_long());
            }
            if length > MAX_QUICK {
                let more = length - held.as_ref().map_or(0, SemaphorePermit::num_permits);
                let more = bodies.try_acquire_many(u32::try_from(more).unwrap_or(u32::MAX));
                let more = more.map_err(|_| closing(limits::too_busy()))?;
                match &mut held {
                    Some(held) => held.merge(more),
                    None => held = Some(more),
                }
            }
            // Most bodies arrive in one piece, which is not copied then.
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                if all.is_empty() {
                    all.extend_from_slice(&std::mem::take(&mut first));
                }
                all.extend_from_slice(&data);
            }
        }
        Ok((if all.is_empty() { first } else { all.into() }, held))
    };
    timeout(BODY_WITHIN, read).await.unwrap_or_else(|_| {
        let message = format!("the body was not sent within {} seconds", BODY_WITHIN.as_secs());
        Err(closing(Refusal::new(StatusCode::REQUEST_TIMEOUT, message)))
    })
}

fn empty(status: StatusCode) -> http::Response<Body> {
    let mut response = http::Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A response that holds an answer.
fn json(status: StatusCode, answer: &Answer) -> http::Response<Body> {
    let Ok(json) = answer.to_json() else { return empty(StatusCode::INTERNAL_SERVER_ERROR) };
    json_body(status, Body::from(String::from(Box::<str>::from(json))), answer.error_code().is_some())
}

fn json_body(status: StatusCode, body: Body, is_error: bool) -> http::Response<Body> {
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    if is_error {
        response.extensions_mut().insert(IsError);
    }
    response
}

/// Marks the response with an error, for the metrics.
#[derive(Clone, Copy)]
struct IsError;

fn refused(refusal: Refusal, id: Option<Id>) -> http::Response<Body> {
    let Refusal { status, headers, error } = refusal;
    let mut response = json(status, &Answer::error(id, error));
    response.headers_mut().extend(*headers);
    response
}

fn event_stream(stream: EventStream) -> http::Response<Body> {
    let mut response = http::Response::new(Body::new(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx would collect events before it passes them on.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
