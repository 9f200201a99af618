//! The web page: four files that are the same for everybody. It is a client of the API (`api.rs`),
//! and needs no token itself.

use super::app::App;
use super::headers;
use crate::prompt::Revision;
use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode};
use axum::{Router, routing};
use std::sync::{Arc, LazyLock};

/// What the page may load, and who may show it within another page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// A file of the page, and the hash of its content.
struct File {
    content_type: &'static str,
    text: Bytes,
    tag: HeaderValue,
}

static HTML: LazyLock<File> = LazyLock::new(|| {
    let html = include_str!("page/index.html").replace("{version}", env!("CARGO_PKG_VERSION"));
    File::new("text/html; charset=utf-8", html)
});
static SCRIPT: LazyLock<File> = LazyLock::new(|| {
    File::new(
        "text/javascript; charset=utf-8",
        include_str!("page/page.js").to_owned(),
    )
});
static TEXT: LazyLock<File> = LazyLock::new(|| {
    File::new(
        "text/javascript; charset=utf-8",
        include_str!("page/text.js").to_owned(),
    )
});
static STYLE: LazyLock<File> = LazyLock::new(|| {
    File::new(
        "text/css; charset=utf-8",
        include_str!("page/page.css").to_owned(),
    )
});

pub(super) fn routes() -> Router<Arc<App>> {
    let files = [
        ("/page.js", &SCRIPT),
        ("/text.js", &TEXT),
        ("/page.css", &STYLE),
    ];
    let not_found = async |method: Method, headers: HeaderMap| {
        let is_for_people = headers::asks_for_page(&method, &headers);
        let mut response = if is_for_people {
            HTML.answer(&HeaderMap::new())
        } else {
            http::Response::default()
        };
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    };
    let router = Router::new().fallback(not_found);
    headers::PAGE_PATHS
        .map(|path| (path, &HTML))
        .into_iter()
        .chain(files)
        .fold(router, |router, (path, file)| {
            let answer = async |headers: HeaderMap| file.answer(&headers);
            router.route(path, routing::get(answer))
        })
}

impl File {
    fn new(content_type: &'static str, text: String) -> File {
        let tag = format!("\"{}\"", Revision::of(text.as_bytes()));
        File {
            content_type,
            text: text.into(),
            tag: HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\"")),
        }
    }

    fn answer(&self, headers: &HeaderMap) -> http::Response<Body> {
        let is_known = headers::has_tag(headers, self.tag.to_str().unwrap_or_default());
        let text = if is_known {
            Bytes::new()
        } else {
            self.text.clone()
        };
        let mut response = http::Response::new(Body::from(text));
        if is_known {
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
