//! Serves the web page: HTML, CSS and JavaScript that are compiled into the program. They are the
//! same for everyone, so they need no token. The page gets its data from the JSON API.

use super::app::App;
use super::headers;
use super::refusal::Refusal;
use crate::prompt::Revision;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{Router, get};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The content security policy: the page may only load its own files, and no site may embed it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// The JavaScript modules, by their file names in `/page/`. `page.js` imports the others.
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

/// A file of the page, ready to be sent.
struct PageFile {
    content_type: &'static str,
    contents: Bytes,
    etag: HeaderValue,
}

/// The HTML. It preloads all modules, so that the browser doesn't have to follow their imports one
/// after the other.
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

/// The CSS and the modules, by their file names in `/page/`.
static FILES: LazyLock<BTreeMap<&str, PageFile>> = LazyLock::new(|| {
    let style = include_str!("page/page.css").to_owned();
    let mut files = BTreeMap::from([("page.css", PageFile::new("text/css; charset=utf-8", style))]);
    for (name, source) in MODULES {
        let module = PageFile::new("text/javascript; charset=utf-8", source.to_owned());
        files.insert(name, module);
    }
    files
});

/// Returns the router of the page and its files. Its fallback handles every unknown path.
pub(super) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new()
        .route("/page/{name}", get(get_file))
        .fallback(not_found);
    for path in headers::PAGE_PATHS {
        router = router.route(path, get(get_page));
    }
    router
}

/// Returns the page, or 406 to a client that accepts no HTML: an MCP client whose config has the
/// address of the page.
async fn get_page(headers: HeaderMap) -> Response<Body> {
    if headers::check_accept(&headers, "text/html").is_err() {
        let problem = "this is the address of a web page, which the header Accept excludes";
        return Refusal::wrong_address(StatusCode::NOT_ACCEPTABLE, problem).into_response();
    }
    HTML.response(&headers)
}

async fn get_file(Path(name): Path<String>, method: Method, headers: HeaderMap) -> Response<Body> {
    match FILES.get(name.as_str()) {
        Some(file) => file.response(&headers),
        None => not_found(method, headers).await,
    }
}

/// Returns a 404 response. In a browser, its body is the page, whose script says that nothing was
/// found. For other clients, it is one line that says where the MCP endpoint is.
async fn not_found(method: Method, headers: HeaderMap) -> Response<Body> {
    let status = StatusCode::NOT_FOUND;
    if !headers::asks_for_page(&method, &headers) {
        let refusal = Refusal::wrong_address(status, "nothing is at this address");
        return refusal.into_response();
    }
    let without_etag = HeaderMap::new(); // so that the status isn't 304
    let mut response = HTML.response(&without_etag);
    *response.status_mut() = status;
    response
}

impl PageFile {
    fn new(content_type: &'static str, contents: String) -> PageFile {
        let etag = format!("\"{}\"", Revision::of_contents(contents.as_bytes()));
        PageFile {
            content_type,
            contents: contents.into(),
            etag: HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("\"\"")),
        }
    }

    /// Returns the file, or 304 without a body if the request headers have its ETag.
    fn response(&self, request_headers: &HeaderMap) -> Response<Body> {
        let mut response = Response::new(Body::from(self.contents.clone()));
        if headers::has_etag(request_headers, self.etag.to_str().unwrap_or_default()) {
            *response.body_mut() = Body::empty();
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response.headers_mut().extend([
            (CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (ETAG, self.etag.clone()),
        ]);
        response
    }
}
