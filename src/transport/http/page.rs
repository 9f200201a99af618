//! The web page with its style and script, which are the same for everybody. It is a client of the
//! API (`api.rs`), and needs no token itself.

use super::app::App;
use super::headers;
use crate::prompt::Revision;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::routing::{Router, get};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// What the page may load, and who may show it within another page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// The modules of the script, by their names below `/page/`. `page.js` imports the others.
const MODULES: [(&str, &str); 12] = [
    ("api.js", include_str!("page/api.js")),
    ("dom.js", include_str!("page/dom.js")),
    ("edit.js", include_str!("page/edit.js")),
    ("fields.js", include_str!("page/fields.js")),
    ("follow.js", include_str!("page/follow.js")),
    ("history.js", include_str!("page/history.js")),
    ("list.js", include_str!("page/list.js")),
    ("outcome.js", include_str!("page/outcome.js")),
    ("page.js", include_str!("page/page.js")),
    ("prompt.js", include_str!("page/prompt.js")),
    ("text.js", include_str!("page/text.js")),
    ("token.js", include_str!("page/token.js")),
];

/// A file of the page, and the hash of its content.
struct PageFile {
    content_type: &'static str,
    text: Bytes,
    tag: HeaderValue,
}

/// The page, which lets the browser load all modules before it has read what they import.
static HTML: LazyLock<PageFile> = LazyLock::new(|| {
    let mut preloads = String::new();
    for (name, _) in MODULES {
        preloads += &format!("<link rel=\"modulepreload\" href=\"/page/{name}\" />");
    }
    let html = include_str!("page/index.html")
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{preloads}", &preloads);
    PageFile::new("text/html; charset=utf-8", html)
});

/// The style and the modules, by their names below `/page/`.
static FILES: LazyLock<BTreeMap<&str, PageFile>> = LazyLock::new(|| {
    let style = include_str!("page/page.css").to_owned();
    let mut files = BTreeMap::from([("page.css", PageFile::new("text/css; charset=utf-8", style))]);
    for (name, text) in MODULES {
        let module = PageFile::new("text/javascript; charset=utf-8", text.to_owned());
        files.insert(name, module);
    }
    files
});

/// Returns the routes of the page and its files.
pub(super) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new()
        .route("/page/{name}", get(get_file))
        .fallback(not_found);
    for path in headers::PAGE_PATHS {
        router = router.route(path, get(get_page));
    }
    router
}

async fn get_page(headers: HeaderMap) -> Response<Body> {
    HTML.response(&headers)
}

async fn get_file(Path(name): Path<String>, method: Method, headers: HeaderMap) -> Response<Body> {
    match FILES.get(name.as_str()) {
        Some(file) => file.response(&headers),
        None => not_found(method, headers).await,
    }
}

/// Returns a response with the status 404. A person in a browser gets the page, which says so; any
/// other client gets no text.
async fn not_found(method: Method, headers: HeaderMap) -> Response<Body> {
    let mut response = if headers::asks_for_page(&method, &headers) {
        HTML.response(&HeaderMap::new())
    } else {
        Response::default()
    };
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

impl PageFile {
    fn new(content_type: &'static str, text: String) -> PageFile {
        let tag = format!("\"{}\"", Revision::of_contents(text.as_bytes()));
        PageFile {
            content_type,
            text: text.into(),
            tag: HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\"")),
        }
    }

    /// Returns the file; without its text, and with the status 304, if the client has it already.
    fn response(&self, headers: &HeaderMap) -> Response<Body> {
        let mut response = Response::new(Body::from(self.text.clone()));
        if headers::has_tag(headers, self.tag.to_str().unwrap_or_default()) {
            *response.body_mut() = Body::empty();
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response.headers_mut().extend([
            (CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (ETAG, self.tag.clone()),
        ]);
        response
    }
}
