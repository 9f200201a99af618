//! The endpoint of MCP, `/mcp`: a message in each POST, a stream of notifications for a GET, and
//! the end of a session with DELETE.

use super::app::Exchange;
use super::headers::{self, EVENT_STREAM};
use super::refusal::{JSON, Refusal};
use super::sessions::{self, SessionId};
use super::{limits, metrics};
use crate::jsonrpc::{Message, Request, Response as RpcResponse};
use crate::library::Caller;
use crate::server::{Era, Reply, Session};
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;
use std::time::Instant;

/// The longest message, in bytes, that is parsed without a thread of its own: a longer one takes
/// milliseconds.
const MAX_QUICK: usize = 64 * 1024;

type Answered = Result<Response, Refusal>;

/// One request, with its headers.
struct Asked<'r> {
    exchange: &'r Exchange,
    headers: &'r HeaderMap,
}

/// Answers a message, or a batch of them.
pub(super) async fn post(exchange: Exchange, request: http::Request<Body>) -> Answered {
    let app = &exchange.app;
    let (head, body) = request.into_parts();
    headers::check_content_type(&head.headers)?;
    let mut received = app
        .requests
        .read(&exchange.client, &head.headers, body)
        .await?;
    received.count_values()?;
    let body = std::mem::take(&mut received.bytes);
    exchange.client.received(&body);
    let read = if body.len() <= MAX_QUICK {
        Message::parse(body.trim_ascii())
    } else {
        let parse = move || Message::parse(body.trim_ascii());
        app.threads.files.run(exchange.key(), parse).await?
    };
    let asked = Asked {
        exchange: &exchange,
        headers: &head.headers,
    };
    let message = match read {
        Ok(message) => message,
        Err(answer) => {
            exchange.take(&[limits::NO_METHOD])?;
            return asked.json(StatusCode::BAD_REQUEST, answer);
        }
    };
    let (method, started, id) = (metrics::label(&message), Instant::now(), message.id());
    let answered = match exchange.take(&limits::methods(&message)) {
        Ok(()) => asked.answer(message).await,
        Err(refusal) => Err(refusal),
    };
    let is_error = answered.as_ref().map_or(true, |response| {
        response.extensions().get::<IsError>().is_some()
    });
    app.metrics
        .answered("http", method, is_error, started.elapsed());
    answered.map_err(|refusal| Refusal { id, ..refusal })
}

/// The stream of a legacy session. A person who opens the endpoint in a browser is sent to the
/// page, which asks for a token where one is needed.
pub(super) async fn open_stream(
    exchange: Result<Exchange, Refusal>,
    method: Method,
    headers: HeaderMap,
) -> Answered {
    if headers::asks_for_page(&method, &headers) {
        return Ok(Redirect::to("./").into_response());
    }
    let exchange = exchange?;
    headers::check_accept(&headers, EVENT_STREAM)?;
    let session = Asked {
        exchange: &exchange,
        headers: &headers,
    }
    .needed_session()?;
    let last_event = headers::identifier(&headers, &headers::LAST_EVENT_ID);
    let Exchange {
        app,
        client,
        caller,
    } = &exchange;
    app.streams
        .open((**caller).clone(), client, &session, last_event)
        .map_err(|_| Refusal::bug())
}

/// The end of a session.
pub(super) async fn delete(exchange: Exchange, headers: HeaderMap) -> Answered {
    let session = Asked {
        exchange: &exchange,
        headers: &headers,
    }
    .needed_session()?;
    exchange.app.sessions.delete(&session);
    exchange
        .app
        .streams
        .end_unless(|_, of| of != Some(session.random));
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl Asked<'_> {
    async fn answer(&self, message: Message) -> Answered {
        let era = match &message {
            Message::Request(request) => headers::era(self.headers, request),
            _ => Ok(headers::check_version(self.headers)?),
        };
        match (message, era) {
            (message, Err(error)) => {
                let answer = RpcResponse::error(message.id().as_ref(), error);
                self.json(StatusCode::BAD_REQUEST, answer)
            }
            (Message::Request(request), Ok(Era::Modern)) => self.modern(request).await,
            (message @ (Message::Request(_) | Message::Batch(_)), Ok(Era::Legacy)) => {
                self.legacy(message).await
            }
            (Message::Notification { .. }, _) | (Message::Response, Ok(Era::Legacy)) => {
                self.session().map(|_| StatusCode::ACCEPTED.into_response())
            }
            _ => Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "this version has no batches, and no responses of clients",
            )),
        }
    }

    async fn modern(&self, request: Request) -> Answered {
        let app = &self.exchange.app;
        let session = Session::of_request(Arc::clone(&self.exchange.caller), None, None);
        let opens_stream = request.method == "subscriptions/listen";
        headers::check_accept(self.headers, if opens_stream { EVENT_STREAM } else { JSON })?;
        let reply = if opens_stream {
            let Exchange { app, client, .. } = self.exchange.clone();
            let listen = move || app.streams.listen(session, &client, request);
            let Exchange { app, .. } = self.exchange;
            match app.threads.files.run(self.exchange.key(), listen).await? {
                Ok(stream) => return Ok(stream),
                Err(reply) => reply,
            }
        } else {
            app.handle(self.exchange.key(), session, Message::Request(request))
                .await?
                .0
        };
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

    async fn legacy(&self, message: Message) -> Answered {
        headers::check_accept(self.headers, JSON)?;
        let Exchange { app, caller, .. } = self.exchange;
        let is_batch = matches!(message, Message::Batch(_));
        let is_initialize =
            matches!(&message, Message::Request(request) if request.method == "initialize");
        let session = match is_initialize {
            true => Session::of_request(Arc::clone(caller), None, None),
            false => self.session_of_request()?,
        };
        let (reply, session) = app.handle(self.exchange.key(), session, message).await?;
        let Reply::Response(answer) = reply else {
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        let is_refused = is_batch && answer.error_code().is_some();
        let mut response = self.json(
            if is_refused {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::OK
            },
            answer,
        )?;
        if let Some(version) = session.version.filter(|_| is_initialize) {
            let made = app
                .sessions
                .make(version, session.agent(), &owner(caller), sessions::now());
            match made.and_then(|id| HeaderValue::try_from(id).map_err(|error| error.to_string())) {
                Ok(id) => _ = response.headers_mut().insert(headers::SESSION_ID, id),
                Err(error) => tracing::error!(error, "no session id"),
            }
        }
        Ok(response)
    }

    /// What is known of the client of a legacy request.
    fn session_of_request(&self) -> Result<Session, Refusal> {
        let session = self.session()?;
        let agent = session
            .as_ref()
            .and_then(|session| session.agent.as_deref());
        let version = headers::named_version(self.headers)
            .or(session.as_ref().map(|session| session.version))
            .unwrap_or(headers::ASSUMED);
        Ok(Session::of_request(
            Arc::clone(&self.exchange.caller),
            Some(version),
            agent,
        ))
    }

    /// The session that the client says it belongs to, if it says so.
    fn session(&self) -> Result<Option<SessionId>, Refusal> {
        let Some(id) = headers::identifier(self.headers, &headers::SESSION_ID) else {
            return Ok(None);
        };
        let Exchange { app, caller, .. } = self.exchange;
        let session = app.sessions.read(id, &owner(caller), sessions::now());
        let message = "this session has ended or does not exist; initialize a new one";
        session
            .map(Some)
            .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, message))
    }

    fn needed_session(&self) -> Result<SessionId, Refusal> {
        headers::check_version(self.headers)?;
        let message = "the header Mcp-Session-Id is missing; initialize sends it";
        self.session()?
            .ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, message))
    }

    /// A response that holds an answer.
    ///
    /// # Errors
    /// 503: too many bytes are in memory.
    fn json(&self, status: StatusCode, answer: RpcResponse) -> Answered {
        self.exchange.client.sent(answer.as_json().as_bytes());
        let is_error = answer.error_code().is_some();
        let answer = self
            .exchange
            .app
            .requests
            .memory
            .count(answer.into_json())?;
        let mut response = (
            status,
            [(CONTENT_TYPE, HeaderValue::from_static(JSON))],
            Body::from(answer),
        )
            .into_response();
        if is_error {
            response.extensions_mut().insert(IsError);
        }
        Ok(response)
    }
}

/// Marks the response with an error, for the metrics.
#[derive(Clone, Copy)]
struct IsError;

/// To whom a session belongs.
fn owner(caller: &Caller) -> String {
    caller
        .token
        .as_ref()
        .map(|token| format!("{:032x}", u128::from_be_bytes(token.id)))
        .unwrap_or_default()
}
