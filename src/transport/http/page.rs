//! The web page: `/`, the list, and `/prompts/NAME`, a prompt with a form for its values.
//!
//! The server renders all of it, so that it works without a script where no token is needed. The script (`page/page.js`) fetches the
//! same addresses, with the token, and replaces `<main>`. What prompts contain is text for a browser, never markup: see `page/text.rs`.

mod diff;
mod document;
mod history;
mod list;
mod prompt;
mod prompt_editor;
mod text;

use super::App;
use super::api::{PROMPT as API, status_of};
use super::exchange::Exchange;
use super::refusal::Refusal;
use super::shared_answers::in_turns;
use crate::library::{Caller, EditError, Editor, View};
use crate::report::MAX_FILE;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{self, HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::{Extension, Router, routing};
use document::{ask_for_token, document, failure};
use list::Filter;
use maud::{Markup, html};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use text::sentence;

/// The paths of this module.
const LIST: &str = "/";
const PROMPT: &str = "/prompts/{*name}";
const NEW: &str = "/new";
const EDIT: &str = "/edit/";
const HISTORY: &str = "/history/";
const STYLE: &str = "/page.css";
const SCRIPT: &str = "/page.js";

/// The longest values that a form may have together, in bytes. An expansion of longer ones is nothing to look at in a browser.
const MAX_FORM: usize = 1024 * 1024;

/// The longest form of the editor, in bytes: a file as it was and as it is, each byte of which is escaped, and values.
const MAX_EDITOR: usize = 6 * MAX_FILE + MAX_FORM;

/// What the page may load, and who may show it within another page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route(LIST, routing::get(list))
        .route(PROMPT, routing::get(prompt).post(prompt))
        .route(NEW, routing::get(new).post(new))
        .route(&format!("{EDIT}{{*name}}"), routing::get(edit).post(edit))
        .route(&format!("{HISTORY}{{*name}}"), routing::get(history))
        .route(
            STYLE,
            routing::get(async |headers| asset(&headers, "text/css; charset=utf-8", include_str!("page/page.css"))),
        )
        .route(
            SCRIPT,
            routing::get(async |headers| {
                asset(&headers, "text/javascript; charset=utf-8", include_str!("page/page.js"))
            }),
        )
}

/// A page; `Err`: one that says why the other one is not shown.
type Response = Result<http::Response<Body>, http::Response<Body>>;

/// What is shown.
struct Page {
    status: StatusCode,
    title: String,
    /// What was searched for.
    query: String,
    main: Markup,
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> Response {
    let (head, _) = request.into_parts();
    let caller = app.admit(&head, &exchange).map_err(|refusal| refused(refusal, &head))?;
    let filter = Filter::of(head.uri.query().unwrap_or_default());
    let may_edit = app.server.may_edit(&caller);
    let page = move |view: &View| {
        let title = filter.query.as_ref().map_or("Prompts".to_owned(), |query| format!("Search for {query}"));
        let main = list::page(view, &filter, may_edit);
        Ok::<_, Infallible>(Bytes::from(document(&title, &filter.query.unwrap_or_default(), &main).into_string()))
    };
    let names = ("page", "prompts/list");
    let html = app.read_library_once(&app.pages, (caller, &head.uri), &exchange, names, page).await;
    let Ok(html) = html.map_err(failed)?;
    Ok(html_response(StatusCode::OK, in_turns(html)))
}

/// A prompt. The values are in the address or, because they may be long, in the body.
async fn prompt(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    Path(name): Path<String>,
    request: http::Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    let caller = app.admit(&head, &exchange).map_err(|refusal| refused(refusal, &head))?;
    let (may_edit, max) = (app.server.may_edit(&caller), app.max_body.min(MAX_FORM));
    let (body, _held) = app.read(body, &head.headers, max).await.map_err(|mut refusal| {
        if refusal.status == StatusCode::PAYLOAD_TOO_LARGE {
            refusal.error.message =
                format!("the values are longer than {max} bytes; `prompt-expander expand` takes longer ones");
        }
        failed(refusal)
    })?;
    let values = prompt::values(if head.method == http::Method::POST {
        &body
    } else {
        head.uri.query().unwrap_or_default().as_bytes()
    });
    let page = move |view: &View| {
        let (status, title, main) = prompt::page(view, &name, values, may_edit);
        Ok::<_, Infallible>(Page { status, title, query: String::new(), main })
    };
    let Ok(page) = app.read_library(caller, &exchange, ("page", "prompts/get"), None, page).await.map_err(failed)?;
    Ok(respond(page))
}

/// The editor of a new prompt.
async fn new(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    request: http::Request<Body>,
) -> Response {
    editor(&app, &exchange, None, request).await
}

/// The editor of a prompt.
async fn edit(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    Path(name): Path<String>,
    request: http::Request<Body>,
) -> Response {
    editor(&app, &exchange, Some(name), request).await
}

/// The editor, with what was typed into it.
async fn editor(app: &App, exchange: &Exchange, name: Option<String>, request: http::Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let caller = app.admit(&head, exchange).map_err(|refusal| refused(refusal, &head))?;
    app.check_may_edit(&caller).map_err(failed)?;
    let (body, _held) = app.read(body, &head.headers, app.max_body.min(MAX_EDITOR)).await.map_err(failed)?;
    let is_post = head.method == http::Method::POST;
    let form = prompt_editor::Form::of(if is_post { &body } else { head.uri.query().unwrap_or_default().as_bytes() });
    let page = move |editor: &Editor<'_>| prompt_editor::page(editor, name.as_deref(), &form);
    respond_to_editor(app, exchange, caller, page).await
}

/// The history of a prompt.
async fn history(
    State(app): State<Arc<App>>,
    Extension(exchange): Extension<Exchange>,
    Path(name): Path<String>,
    request: http::Request<Body>,
) -> Response {
    let (head, _) = request.into_parts();
    let caller = app.admit(&head, &exchange).map_err(|refusal| refused(refusal, &head))?;
    app.check_may_edit(&caller).map_err(failed)?;
    let revision = history::revision(head.uri.query().unwrap_or_default());
    let page = move |editor: &Editor<'_>| history::page(editor, &name, revision);
    respond_to_editor(&app, &exchange, caller, page).await
}

/// A page for those who may edit: its title, and its content.
async fn respond_to_editor(
    app: &App,
    exchange: &Exchange,
    caller: Caller,
    page: impl FnOnce(&Editor<'_>) -> Result<(String, Markup), EditError> + Send + 'static,
) -> Response {
    let page =
        app.edit_library(caller, exchange, ("page", "prompts/get"), &app.blocking, page).await.map_err(failed)?;
    let (title, main) = page.map_err(|error| failed(Refusal::new(status_of(&error), error.to_string())))?;
    Ok(respond(Page { status: StatusCode::OK, title, query: String::new(), main }))
}

/// Says why there is no page.
fn failed(Refusal { status, headers, error }: Refusal) -> http::Response<Body> {
    let main = failure("This page cannot be shown", &sentence(&error.message), &html! {});
    let mut response = respond(Page { status, title: "Error".to_owned(), query: String::new(), main });
    response.headers_mut().extend(*headers);
    response
}

fn respond(Page { status, title, query, main }: Page) -> http::Response<Body> {
    html_response(status, Body::from(document(&title, &query, &main).into_string()))
}

fn html_response(status: StatusCode, body: Body) -> http::Response<Body> {
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    protect(headers);
    response
}

fn protect(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
}

/// Says why the request is refused: without a valid token, with the page that asks for one.
fn refused(refusal: Refusal, head: &Parts) -> http::Response<Body> {
    let status = refusal.status;
    let why = match status {
        StatusCode::UNAUTHORIZED if !head.headers.contains_key(http::header::AUTHORIZATION) => None,
        // What follows is on the configuration of programs.
        StatusCode::UNAUTHORIZED => refusal.error.message.split(';').next().map(sentence),
        StatusCode::TOO_MANY_REQUESTS => Some(sentence(&refusal.error.message)),
        _ => return refusal.into_text(),
    };
    let mut response =
        respond(Page { status, title: "Token".to_owned(), query: String::new(), main: ask_for_token(why.as_deref()) });
    response.headers_mut().extend(*refusal.headers);
    response
}

/// A part of the page that is the same for everybody.
fn asset(headers: &HeaderMap, content_type: &'static str, text: &'static str) -> http::Response<Body> {
    let hash = Sha256::digest(text).iter().take(8).fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    });
    let tag = format!("\"{hash}\"");
    let is_known =
        headers.get_all(IF_NONE_MATCH).iter().any(|known| known.to_str().is_ok_and(|known| known.contains(&tag)));
    let mut response = http::Response::new(Body::from(if is_known { "" } else { text }));
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.extend(HeaderValue::try_from(tag).ok().map(|tag| (ETAG, tag)));
    protect(headers);
    response
}
