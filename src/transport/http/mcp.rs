//! The endpoint of MCP, `/mcp`: a message in each POST, a stream of notifications for a GET, and the end of a session with DELETE.

use super::app::{App, on_thread};
use super::headers::{self, EVENT_STREAM, Era};
use super::metrics;
use super::proxy::Client;
use super::refusal::{JSON, Refusal};
use super::sessions::{self, SessionId};
use super::tokens::hex;
use crate::jsonrpc::{Message, Outgoing, Request, Response as Answer};
use crate::library::Caller;
use crate::server::{Reply, Session};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Instant;

/// The longest message, in bytes, that is read between others: to read a longer one takes milliseconds.
const MAX_QUICK: usize = 64 * 1024;

type Answered = Result<Response, Refusal>;

/// One request, with what is needed to answer it.
struct Exchange<'r> {
    app: &'r Arc<App>,
    headers: &'r HeaderMap,
    caller: Arc<Caller>,
    client: Arc<Client>,
}

/// A message.
pub(super) async fn post(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: http::Request<Body>,
) -> Answered {
    let (head, body) = request.into_parts();
    headers::check_content_type(&head.headers)?;
    let (body, _held) = app.requests.read(&head.headers, body).await?;
    app.received(&client, &body);
    let read = if body.len() <= MAX_QUICK {
        Message::parse(body.trim_ascii())
    } else {
        on_thread(&app.files, move || Message::parse(body.trim_ascii())).await?
    };
    let exchange = Exchange { app: &app, headers: &head.headers, caller, client };
    let message = match read {
        Ok(message) => message,
        Err(answer) => return Ok(exchange.json(StatusCode::BAD_REQUEST, &answer)),
    };
    let (method, started, id) = (metrics::label(&message), Instant::now(), message.id());
    let answered = match app.rate_limits.take(&exchange.caller, exchange.client.address, &message) {
        Ok(()) => exchange.answer(message).await,
        Err(refusal) => Err(refusal),
    };
    let is_error = answered.as_ref().map_or(true, |response| response.extensions().get::<IsError>().is_some());
    app.metrics.answered("http", method, is_error, started.elapsed());
    answered.map_err(|refusal| Refusal { id, ..refusal })
}

/// The stream of a legacy session.
pub(super) async fn open_stream(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
) -> Answered {
    headers::check_version(&headers)?;
    headers::check_accept(&headers, EVENT_STREAM)?;
    let exchange = Exchange { app: &app, headers: &headers, caller, client };
    let session = exchange.needed_session()?;
    let last_event = headers::identifier(&headers, headers::LAST_EVENT_ID);
    let open = app.metrics.event_stream();
    let opened = app.streams.open((*exchange.caller).clone(), exchange.client, open, &session, last_event);
    opened.map_err(|_| Refusal::bug())
}

/// The end of a session.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
) -> Answered {
    headers::check_version(&headers)?;
    let session = Exchange { app: &app, headers: &headers, caller, client }.needed_session()?;
    app.sessions.delete(&session);
    app.streams.end_unless(|_, of| of != Some(session.random));
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl Exchange<'_> {
    async fn answer(&self, message: Message) -> Answered {
        match message {
            Message::Request(request) => match headers::era(self.headers, &request) {
                Err(error) => Ok(self.json(StatusCode::BAD_REQUEST, &Answer::error(Some(request.id), error))),
                Ok(Era::Modern) => self.modern(request).await,
                Ok(Era::Legacy(version)) => self.legacy(version, request).await,
            },
            Message::Notification { .. } => {
                headers::check_version(self.headers)?;
                self.session().map(|_| StatusCode::ACCEPTED.into_response())
            }
            Message::Response => match headers::check_version(self.headers)? {
                Era::Modern => Err(Refusal::new(StatusCode::BAD_REQUEST, "this version has no responses of clients")),
                Era::Legacy(_) => self.session().map(|_| StatusCode::ACCEPTED.into_response()),
            },
            Message::Batch(_) => {
                let Era::Legacy(version) = headers::check_version(self.headers)? else {
                    return Err(Refusal::new(StatusCode::BAD_REQUEST, "this version has no batches"));
                };
                headers::check_accept(self.headers, JSON)?;
                let session = self.session_of_request(version)?;
                Ok(match self.app.handle(session, message).await?.0 {
                    Reply::Response(answer) if answer.error_code().is_some() => {
                        self.json(StatusCode::BAD_REQUEST, &answer)
                    }
                    Reply::Response(answer) => self.json(StatusCode::OK, &answer),
                    _ => StatusCode::ACCEPTED.into_response(),
                })
            }
        }
    }

    async fn modern(&self, request: Request) -> Answered {
        let session = Session::of_request((*self.caller).clone(), None, None);
        let opens_stream = request.method == "subscriptions/listen";
        headers::check_accept(self.headers, if opens_stream { EVENT_STREAM } else { JSON })?;
        let reply = if opens_stream {
            let (app, client) = (Arc::clone(self.app), Arc::clone(&self.client));
            let listen = move || app.streams.listen(session, client, app.metrics.event_stream(), request);
            match on_thread(&self.app.files, listen).await? {
                Ok(stream) => return Ok(stream),
                Err(reply) => reply,
            }
        } else {
            self.app.handle(session, Message::Request(request)).await?.0
        };
        let Reply::Response(answer) = reply else { return Ok(StatusCode::ACCEPTED.into_response()) };
        let status = match answer.error_code() {
            Some(-32601) => StatusCode::NOT_FOUND,
            Some(-32022..=-32020 | -32600) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        Ok(self.json(status, &answer))
    }

    async fn legacy(&self, version: Option<&'static str>, request: Request) -> Answered {
        headers::check_accept(self.headers, JSON)?;
        let is_initialize = request.method == "initialize";
        let session = match is_initialize {
            true => Session::of_request((*self.caller).clone(), None, None),
            false => self.session_of_request(version)?,
        };
        let (reply, session) = self.app.handle(session, Message::Request(request)).await?;
        let Reply::Response(answer) = reply else { return Ok(StatusCode::ACCEPTED.into_response()) };
        let mut response = self.json(StatusCode::OK, &answer);
        if let Some(version) = session.protocol_version().filter(|_| is_initialize) {
            let made = self.app.sessions.make(version, session.agent(), &owner(&self.caller), sessions::now());
            match made.map(|id| HeaderValue::try_from(id).map_err(|error| error.to_string())) {
                Ok(Ok(id)) => _ = response.headers_mut().insert(headers::SESSION_ID, id),
                Ok(Err(error)) | Err(error) => tracing::error!(error, "no session id"),
            }
        }
        Ok(response)
    }

    /// What is known of the client of a legacy request whose header says this version.
    fn session_of_request(&self, version: Option<&'static str>) -> Result<Session, Refusal> {
        let session = self.session()?;
        let agent = session.as_ref().and_then(|session| session.agent.as_deref());
        let version = headers::version_of_legacy(version, session.as_ref().map(|session| session.version));
        Ok(Session::of_request((*self.caller).clone(), Some(version), agent))
    }

    /// The session that the client says it belongs to, if it says so.
    fn session(&self) -> Result<Option<SessionId>, Refusal> {
        let Some(id) = headers::identifier(self.headers, headers::SESSION_ID) else { return Ok(None) };
        let session = self.app.sessions.read(id, &owner(&self.caller), sessions::now());
        let message = "this session has ended or does not exist; initialize a new one";
        session.map(Some).ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, message))
    }

    fn needed_session(&self) -> Result<SessionId, Refusal> {
        let message = "the header Mcp-Session-Id is missing; initialize sends it";
        self.session()?.ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, message))
    }

    /// A response that holds an answer.
    fn json(&self, status: StatusCode, answer: &Answer) -> Response {
        let json = answer.to_json();
        self.app.sent(&self.client, json.as_bytes());
        let mut response = Response::new(Body::from(json));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        if answer.error_code().is_some() {
            response.extensions_mut().insert(IsError);
        }
        response
    }
}

/// Marks the response with an error, for the metrics.
#[derive(Clone, Copy)]
struct IsError;

/// To whom a session belongs.
fn owner(caller: &Caller) -> String {
    caller.token.as_ref().map(|token| hex(&token.id)).unwrap_or_default()
}
