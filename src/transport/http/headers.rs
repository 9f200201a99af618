//! What the headers of a request must be: the rules of "Streamable HTTP" in each protocol version,
//! as functions of headers and messages.

use super::refusal::{JSON, Refusal};
use crate::jsonrpc::{Error, Request};
use crate::server::{Era, check_modern_version, legacy_version, method, modern_version};
use crate::wording::quoted;
use axum::http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// The version of a legacy client that says none ("Protocol Version Header").
pub(super) const ASSUMED: &str = "2025-03-26";

/// Checks that the body of a POST is JSON. Without `Origin`, the request does not come from a page
/// in a browser; then a body that is not labeled, or as curl's `-d` labels it, is taken for JSON as
/// well.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let value = headers
        .get(CONTENT_TYPE)
        .map_or(&b""[..], HeaderValue::as_bytes);
    let media_type = value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let is = |other: &str| media_type.eq_ignore_ascii_case(other.as_bytes());
    if is(JSON)
        || ((is("") || is("application/x-www-form-urlencoded")) && !headers.contains_key(ORIGIN))
    {
        return Ok(());
    }
    let message = "the body must be JSON, with the header `Content-Type: application/json`";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

/// Checks that the client accepts an answer of this media type.
pub(super) fn check_accept(headers: &HeaderMap, media_type: &str) -> Result<(), Refusal> {
    let (main_type, _) = media_type.split_once('/').unwrap_or_default();
    let accepts = |range: &str| {
        let range = range.split(';').next().unwrap_or_default().trim();
        let is_of_type = |of: &str| of == "*" || of.eq_ignore_ascii_case(main_type);
        range.eq_ignore_ascii_case(media_type) || range.strip_suffix("/*").is_some_and(is_of_type)
    };
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    if values.peek().is_none()
        || values.any(|value| {
            value
                .to_str()
                .is_ok_and(|value| value.split(',').any(accepts))
        })
    {
        return Ok(());
    }
    let message = format!("the answer is {media_type}, which the header Accept excludes");
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message))
}

/// Whether the client has the answer with this ETag already.
pub(super) fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .any(|known| known.to_str().is_ok_and(|known| known.contains(tag)))
}

/// The paths of the page; the script shows what is at each of them.
pub(super) const PAGE_PATHS: [&str; 5] = [
    "/",
    "/new",
    "/prompts/{*name}",
    "/edit/{*name}",
    "/history/{*name}",
];

/// Returns whether the page is at this path.
pub(super) fn is_page(path: &str) -> bool {
    PAGE_PATHS
        .iter()
        .any(|known| match known.strip_suffix("{*name}") {
            Some(folder) => path.starts_with(folder),
            None => path == *known,
        })
}

/// Whether a request is that of a browser for a page: no client of MCP names HTML.
pub(super) fn asks_for_page(method: &Method, headers: &HeaderMap) -> bool {
    let is_html = |value: &HeaderValue| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("text/html"))
    };
    method == Method::GET && headers.get_all(ACCEPT).iter().any(is_html)
}

/// The value of a header, which may be missing.
///
/// # Errors
/// It is repeated, or is not UTF-8.
fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(format!("the header {name} is repeated"));
    }
    let text =
        str::from_utf8(value.as_bytes()).map_err(|_| format!("the header {name} is not UTF-8"))?;
    Ok(Some(text.trim_matches([' ', '\t'])))
}

/// The text of a header that identifies something, such as a session; one that is not text
/// identifies nothing.
pub(super) fn identifier<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers
        .contains_key(name)
        .then(|| value(headers, name).ok().flatten().unwrap_or_default())
}

/// Returns which rules a request follows, and checks that its headers say the same as its body.
///
/// # Errors
/// The error, whose status is 400: `-32602` for incomplete metadata, `-32020` for headers that are
/// missing or differ from the body, `-32022` for a version that is not supported. They are checked
/// in this order ("Error codes" of 2026-07-28).
pub fn era(headers: &HeaderMap, request: &Request) -> Result<Era, Error> {
    let header = value(headers, &PROTOCOL_VERSION);
    let Some(version) = modern_version(request)? else {
        // Whatever the client prefers: `initialize` negotiates it.
        if request.method == "initialize" {
            return Ok(Era::Legacy);
        }
        of_legacy_header(header).map_err(|version| {
            Error::invalid_params(format!(
                "the header {PROTOCOL_VERSION} is {version}, so `_meta` must name this version, too"
            ))
        })?;
        return Ok(Era::Legacy);
    };
    must_equal(&PROTOCOL_VERSION, header, Some(version))?;
    check_modern_version(version)?;
    must_equal(&METHOD, value(headers, &METHOD), Some(&request.method))?;
    let Some(member) = method(&request.method).and_then(|method| method.name_param) else {
        return Ok(Era::Modern);
    };
    let name = value(headers, &NAME).and_then(|name| name.map(decoded).transpose());
    let name = name
        .as_ref()
        .map(|name| name.as_deref())
        .map_err(String::clone);
    must_equal(
        &NAME,
        name,
        request.params.get(member).and_then(Value::as_str),
    )?;
    Ok(Era::Modern)
}

/// Returns the legacy version that the header names, if it names one.
pub(super) fn named_version(headers: &HeaderMap) -> Option<&'static str> {
    let version = value(headers, &PROTOCOL_VERSION).ok()??;
    legacy_version(version)
}

/// The legacy version that the header names, if any.
///
/// # Errors
/// Another version, or an invalid header, for a message.
fn of_legacy_header(header: Result<Option<&str>, String>) -> Result<Option<&'static str>, String> {
    match header {
        Ok(None) => Ok(None),
        Ok(Some(version)) => legacy_version(version)
            .map(Some)
            .ok_or_else(|| quoted(version).to_string()),
        Err(error) => Err(format!("invalid ({error})")),
    }
}

/// Checks the version header of what is not a request.
///
/// # Errors
/// The version is unknown.
pub(super) fn check_version(headers: &HeaderMap) -> Result<Era, Refusal> {
    let header = value(headers, &PROTOCOL_VERSION);
    if let Ok(Some(version)) = header
        && check_modern_version(version).is_ok()
    {
        return Ok(Era::Modern);
    }
    of_legacy_header(header).map_err(|version| {
        let message = format!("the header {PROTOCOL_VERSION} is {version}, which is not supported");
        Refusal::new(StatusCode::BAD_REQUEST, message)
    })?;
    Ok(Era::Legacy)
}

fn must_equal(
    name: &HeaderName,
    header: Result<Option<&str>, String>,
    body: Option<&str>,
) -> Result<(), Error> {
    let message = match header {
        Ok(header) if header == body => return Ok(()),
        Ok(header) => {
            let said = |text: Option<&str>| text.map_or("missing".to_owned(), quoted);
            format!(
                "the header {name} is {}, and in the body it is {}",
                said(header),
                said(body)
            )
        }
        Err(error) => error,
    };
    Err(Error {
        code: -32020,
        message: format!("header mismatch: {message}"),
        data: None,
    })
}

/// A value that may be encoded as `=?base64?…?=`.
fn decoded(value: &str) -> Result<String, String> {
    let Some(encoded) = value
        .strip_prefix("=?base64?")
        .and_then(|value| value.strip_suffix("?="))
    else {
        return Ok(value.to_owned());
    };
    let bytes = STANDARD
        .decode(encoded)
        .map_err(|_| format!("the header {NAME} is not valid base64"))?;
    String::from_utf8(bytes).map_err(|_| format!("the header {NAME} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::Id;
    use axum::http::{HeaderName, HeaderValue};
    use serde_json::json;

    fn headers(of: &[(&str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&str, &str)| {
            (
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        };
        of.iter().map(header).collect()
    }

    fn request(method: &str, params: Value) -> Request {
        Request {
            id: Id::Unsigned(1),
            method: method.to_owned(),
            params: serde_json::from_value(params).unwrap(),
        }
    }

    fn modern(method: &str, mut params: Value) -> Request {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        request(method, params)
    }

    #[test]
    fn the_content_type_is_json_or_without_an_origin_what_curl_sends() {
        for (of, is_accepted) in [
            (&[("content-type", "application/json")][..], true),
            (
                &[
                    ("content-type", "Application/JSON; charset=utf-8"),
                    ("origin", "http://localhost"),
                ],
                true,
            ),
            (
                &[("content-type", "application/x-www-form-urlencoded")],
                true,
            ),
            (&[], true),
            (
                &[
                    ("content-type", "application/x-www-form-urlencoded"),
                    ("origin", "http://localhost"),
                ],
                false,
            ),
            (&[("origin", "http://localhost")], false),
            (&[("content-type", "text/plain")], false),
            (&[("content-type", "application/jsonx")], false),
            (&[("content-type", "\u{e9}")], false),
        ] {
            assert_eq!(
                check_content_type(&headers(of)).is_ok(),
                is_accepted,
                "{of:?}"
            );
        }
    }

    #[test]
    fn a_media_type_is_accepted_by_name_by_range_or_without_the_header() {
        for (accept, has_json, has_events) in [
            (&["application/json, text/event-stream"][..], true, true),
            (&["text/event-stream,application/json"], true, true),
            (&["text/event-stream", "application/json"], true, true),
            (&["*/*"], true, true),
            (&["Application/*;q=0.5"], true, false),
            (&["text/html, text/*; q=0.1"], false, true),
            (&["*/json"], false, false),
            (&[""], false, false),
            (&[], true, true),
        ] {
            let of: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
            let of = headers(&of);
            assert_eq!(
                (
                    check_accept(&of, JSON).is_ok(),
                    check_accept(&of, EVENT_STREAM).is_ok()
                ),
                (has_json, has_events),
                "{accept:?}"
            );
        }
    }

    #[test]
    fn the_era_is_that_of_the_body_and_the_headers_say_the_same() {
        let list = |version: &str| modern("tools/list", json!({})).with_version(version);
        let ok: Result<Era, i64> = Ok(Era::Modern);
        let legacy: Result<Era, i64> = Ok(Era::Legacy);
        let v = ("mcp-protocol-version", "2026-07-28");
        let m = ("mcp-method", "tools/list");
        for (of, request, want) in [
            // Rows of "one server for both eras".
            (&[][..], request("tools/list", json!({})), legacy),
            (
                &[("mcp-protocol-version", "2025-06-18")],
                request("tools/list", json!({})),
                legacy,
            ),
            (&[v], request("tools/list", json!({})), Err(-32602)),
            (
                &[("mcp-protocol-version", "1999-01-01")],
                request("tools/list", json!({})),
                Err(-32602),
            ),
            (&[v], request("initialize", json!({})), legacy),
            (
                &[("mcp-protocol-version", "x")],
                request("initialize", json!({})),
                legacy,
            ),
            (&[v, m], request("server/discover", json!({})), Err(-32602)),
            // The order of the checks.
            (&[], list("2031-01-01"), Err(-32020)),
            (&[v, m], list("2031-01-01"), Err(-32020)),
            (
                &[("mcp-protocol-version", "2031-01-01")],
                list("2031-01-01"),
                Err(-32022),
            ),
            (
                &[("mcp-protocol-version", "2025-11-25"), m],
                list("2025-11-25"),
                Err(-32022),
            ),
            (
                &[("mcp-protocol-version", "2025-11-25"), m],
                list("2026-07-28"),
                Err(-32020),
            ),
            (&[v], list("2026-07-28"), Err(-32020)),
            (
                &[v, ("mcp-method", "prompts/list")],
                list("2026-07-28"),
                Err(-32020),
            ),
            (
                &[v, ("mcp-method", "Tools/List")],
                list("2026-07-28"),
                Err(-32020),
            ),
            (&[v, m, m], list("2026-07-28"), Err(-32020)),
            (&[v, m], list("2026-07-28"), ok),
            (&[v, ("mcp-method", " tools/list ")], list("2026-07-28"), ok),
            (
                &[("mcp-protocol-version", "2026-07-28\u{e9}"), m],
                list("2026-07-28"),
                Err(-32020),
            ),
        ] {
            let era = era(&headers(of), &request).map_err(|error| error.code);
            assert_eq!(era, want, "{of:?} {request:?}");
        }
        let of_legacy = headers(&[("mcp-protocol-version", "2025-06-18")]);
        assert_eq!(named_version(&of_legacy), Some("2025-06-18"));
        assert_eq!(named_version(&headers(&[v])), None);
    }

    #[test]
    fn a_name_is_compared_after_decoding() {
        let v = ("mcp-protocol-version", "2026-07-28");
        for (method, params, name, is_equal) in [
            ("prompts/get", json!({"name": "a"}), Some("a"), true),
            ("prompts/get", json!({"name": "a"}), Some("A"), false),
            ("prompts/get", json!({"name": "a"}), None, false),
            ("prompts/get", json!({}), Some("a"), false),
            ("prompts/get", json!({}), None, true), // refused because of its params
            (
                "tools/call",
                json!({"name": "café"}),
                Some("=?base64?Y2Fmw6k=?="),
                true,
            ),
            ("tools/call", json!({"name": "café"}), Some("café"), true),
            (
                "tools/call",
                json!({"name": "café"}),
                Some("=?BASE64?Y2Fmw6k=?="),
                false,
            ),
            (
                "tools/call",
                json!({"name": "café"}),
                Some("=?base64?Y2Fmw6k?="),
                false,
            ),
            (
                "tools/call",
                json!({"name": "\u{fffd}"}),
                Some("=?base64?/w==?="),
                false,
            ),
            (
                "resources/read",
                json!({"uri": "prompt://a"}),
                Some("prompt://a"),
                true,
            ),
            (
                "resources/read",
                json!({"uri": "prompt://a"}),
                Some("a"),
                false,
            ),
            ("tools/list", json!({"name": "a"}), Some("b"), true), // has no name
        ] {
            let mut of = vec![v, ("mcp-method", method)];
            of.extend(name.map(|name| ("mcp-name", name)));
            let era =
                era(&headers(&of), &modern(method, params.clone())).map_err(|error| error.code);
            assert_eq!(
                era,
                if is_equal {
                    Ok(Era::Modern)
                } else {
                    Err(-32020)
                },
                "{method} {params} {name:?}"
            );
        }
    }

    impl Request {
        fn with_version(mut self, version: &str) -> Request {
            self.params["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.into();
            self
        }
    }
}
