//! Parses and checks request headers, by the rules of MCP's "Streamable HTTP" in each protocol
//! version.

use super::refusal::{JSON, Refusal};
use crate::jsonrpc::{Error, Request};
use crate::server::{Era, check_modern_version, find_method, legacy_version, modern_version};
use crate::wording::quoted;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, IF_NONE_MATCH, ORIGIN,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::borrow::Cow;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");

pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// The content encoding of a body that isn't compressed.
const IDENTITY: &str = "identity";

/// The content type that `curl -d` sends.
const FORM: &str = "application/x-www-form-urlencoded";

/// The version of a legacy request without a version header ("Protocol Version Header").
pub(super) const DEFAULT_VERSION: &str = "2025-03-26";

/// Returns the items of a list header, which may be repeated: `x`, `y` and `z` for `A: x, y` and
/// `A: z`.
pub(super) fn items<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl DoubleEndedIterator<Item = &'h [u8]> {
    headers
        .get_all(name)
        .into_iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
}

/// Returns e.g. `text/html` for `text/html; charset=utf-8`.
fn without_parameters(media_type: &[u8]) -> &[u8] {
    let end = memchr::memchr(b';', media_type).unwrap_or(media_type.len());
    media_type[..end].trim_ascii()
}

/// Checks that a body is JSON, and that it isn't compressed.
///
/// # Errors
/// Fails with 415 if the content type or the content encoding isn't allowed.
pub(super) fn check_body_format(headers: &HeaderMap) -> Result<(), Refusal> {
    check_content_type(headers)?;
    for encoding in items(headers, &CONTENT_ENCODING) {
        let is_plain = encoding.is_empty() || encoding.eq_ignore_ascii_case(IDENTITY.as_bytes());
        if !is_plain {
            let encoding = quoted(&String::from_utf8_lossy(encoding));
            let message = format!(
                "the header Content-Encoding is {encoding}, but this server reads no compressed bodies. Send the body uncompressed, without this header"
            );
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
                .with_header(ACCEPT_ENCODING, HeaderValue::from_static(IDENTITY)));
        }
    }
    Ok(())
}

/// Checks that the content type of a request is JSON.
///
/// This keeps other web pages out: without the server's consent, a browser lets a page send only
/// the content types of HTML forms to another site, and adds `Origin`. A request without `Origin`
/// isn't from a web page, so it may also have no content type, or the one that `curl -d` sends.
///
/// # Errors
/// Fails with 415 if the content type isn't allowed.
fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let media_type = match headers.get(CONTENT_TYPE) {
        Some(value) => without_parameters(value.as_bytes()),
        None => b"",
    };
    if media_type.eq_ignore_ascii_case(JSON.as_bytes()) {
        return Ok(());
    }
    let is_curl_default = media_type.is_empty() || media_type.eq_ignore_ascii_case(FORM.as_bytes());
    let is_from_web_page = headers.contains_key(ORIGIN);
    if is_curl_default && !is_from_web_page {
        return Ok(());
    }
    let message = "the body must be JSON, with the header `Content-Type: application/json`";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

/// Checks that `Accept` allows a media type. Without this header, any type is allowed.
///
/// # Errors
/// Fails with 406 if the media type isn't allowed.
pub(super) fn check_accept(headers: &HeaderMap, media_type: &str) -> Result<(), Refusal> {
    if !headers.contains_key(ACCEPT)
        || items(headers, &ACCEPT).any(|range| range_contains(range, media_type))
    {
        return Ok(());
    }
    let message = format!("the answer is {media_type}, which the header Accept excludes");
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message))
}

/// Returns `true` if a range in `Accept` contains a media type, as `text/*;q=0.5` contains
/// `text/html`. The quality value is ignored.
fn range_contains(range: &[u8], media_type: &str) -> bool {
    let range = without_parameters(range);
    if range == b"*/*" || range.eq_ignore_ascii_case(media_type.as_bytes()) {
        return true;
    }
    let Some(range_main_type) = range.strip_suffix(b"/*") else {
        return false;
    };
    let (main_type, _) = media_type.split_once('/').unwrap_or_default();
    range_main_type.eq_ignore_ascii_case(main_type.as_bytes())
}

/// Returns `true` if `If-None-Match` has this ETag, so that the client already has the response. A
/// proxy may have made the tag weak: `W/"1a2b"`.
pub(super) fn has_etag(headers: &HeaderMap, etag: &str) -> bool {
    items(headers, &IF_NONE_MATCH)
        .any(|cached| cached.strip_prefix(b"W/").unwrap_or(cached) == etag.as_bytes())
}

/// The paths of the web page, as axum's router writes them. All have the same HTML, whose script
/// reads the path.
pub(super) const PAGE_PATHS: [&str; 5] = [
    "/",
    "/new",
    "/prompts/{*name}",
    "/edit/{*name}",
    "/history/{*name}",
];

/// Returns `true` if a path matches one of [`PAGE_PATHS`].
pub(super) fn is_page_path(path: &str) -> bool {
    PAGE_PATHS
        .iter()
        .any(|page_path| match page_path.strip_suffix("{*name}") {
            Some(folder) => path.starts_with(folder),
            None => path == *page_path,
        })
}

/// Returns `true` if a browser opens this URL as a page. Only browsers accept HTML; MCP clients
/// don't.
pub(super) fn asks_for_page(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::GET
        && items(headers, &ACCEPT).any(|range| without_parameters(range) == b"text/html")
}

/// Returns the value of a header, or `None` if it is missing.
///
/// # Errors
/// Fails if the header is repeated or is not UTF-8.
fn single_value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let is_repeated = values.next().is_some();
    if is_repeated {
        return Err(format!("the header {name} is repeated"));
    }
    match str::from_utf8(value.as_bytes()) {
        Ok(text) => Ok(Some(text.trim_matches([' ', '\t']))),
        Err(_) => Err(format!("the header {name} is not UTF-8")),
    }
}

/// Stands in for the id in a header that is repeated or not UTF-8. The server never issues this id.
const UNKNOWN_ID: &str = "";

/// Returns the value of a header with an id, e.g. of a session, or `None` if it is missing. If the
/// header is repeated or not UTF-8, returns [`UNKNOWN_ID`].
pub(super) fn identifier<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    match single_value(headers, name) {
        Ok(value) => value,
        Err(_) => Some(UNKNOWN_ID),
    }
}

/// Returns the era of a request, and checks that its headers match its body.
///
/// # Errors
/// Fails with `-32602` if the metadata in the body is incomplete, `-32020` if a header is missing
/// or differs from the body, and `-32022` if the version isn't supported. "Error codes" in
/// 2026-07-28 prescribes the order of these checks. The HTTP status is always 400.
pub fn request_era(headers: &HeaderMap, request: &Request) -> Result<Era, Error> {
    let Some(version) = modern_version(request)? else {
        // The body of `initialize` negotiates the version, whatever the header says.
        if request.method != "initialize" {
            check_legacy_version_header(headers).map_err(|problem| {
                let message = format!("{problem}, so `_meta` must name this version, too");
                Error::invalid_params(message)
            })?;
        }
        return Ok(Era::Legacy);
    };
    let version_header = single_value(headers, &PROTOCOL_VERSION).map_err(header_mismatch)?;
    check_match(&PROTOCOL_VERSION, version_header, Some(version))?;
    check_modern_version(version)?;
    let method_header = single_value(headers, &METHOD).map_err(header_mismatch)?;
    check_match(&METHOD, method_header, Some(&request.method))?;
    check_name_header(headers, request)?;
    Ok(Era::Modern)
}

/// Checks that `Mcp-Name` matches the name in the params. Ignores the header if the method has no
/// such param.
fn check_name_header(headers: &HeaderMap, request: &Request) -> Result<(), Error> {
    let Some(name_param) = find_method(&request.method).and_then(|method| method.name_param) else {
        return Ok(());
    };
    let name = request.params.get(name_param).and_then(Value::as_str);
    let name_header = match single_value(headers, &NAME).map_err(header_mismatch)? {
        Some(value) => Some(decode_name(value).map_err(header_mismatch)?),
        None => None,
    };
    check_match(&NAME, name_header.as_deref(), name)
}

/// Returns the version in the version header if it is a legacy version.
pub(super) fn legacy_version_header(headers: &HeaderMap) -> Option<&'static str> {
    let version = single_value(headers, &PROTOCOL_VERSION).ok()??;
    legacy_version(version)
}

/// Checks that the version header is missing or has a legacy version.
///
/// # Errors
/// Returns a clause with the value of the header: "the header mcp-protocol-version is `x`".
fn check_legacy_version_header(headers: &HeaderMap) -> Result<(), String> {
    let value = match single_value(headers, &PROTOCOL_VERSION) {
        Ok(None) => return Ok(()),
        Ok(Some(version)) if legacy_version(version).is_some() => return Ok(()),
        Ok(Some(version)) => quoted(version),
        Err(error) => format!("invalid ({error})"),
    };
    Err(format!("the header {PROTOCOL_VERSION} is {value}"))
}

/// Returns the era in the version header, for anything that isn't a request with metadata in its
/// body. Without the header, it is legacy.
///
/// # Errors
/// Fails with 400 if the version is unknown.
pub(super) fn header_era(headers: &HeaderMap) -> Result<Era, Refusal> {
    if let Ok(Some(version)) = single_value(headers, &PROTOCOL_VERSION)
        && check_modern_version(version).is_ok()
    {
        return Ok(Era::Modern);
    }
    match check_legacy_version_header(headers) {
        Ok(()) => Ok(Era::Legacy),
        Err(problem) => {
            let message = format!("{problem}, which is not supported");
            Err(Refusal::new(StatusCode::BAD_REQUEST, message))
        }
    }
}

/// Checks that a header and the body have the same value, or that both have none.
fn check_match(name: &HeaderName, header: Option<&str>, body: Option<&str>) -> Result<(), Error> {
    if header == body {
        return Ok(());
    }
    let header = quoted_or_missing(header);
    let body = quoted_or_missing(body);
    Err(header_mismatch(format!(
        "the header {name} is {header}, and in the body it is {body}"
    )))
}

fn quoted_or_missing(value: Option<&str>) -> String {
    match value {
        Some(text) => quoted(text),
        None => "missing".to_owned(),
    }
}

fn header_mismatch(message: String) -> Error {
    Error {
        code: -32020,
        message: format!("header mismatch: {message}"),
        data: None,
    }
}

/// Decodes the value of `Mcp-Name` if it is in base64: `=?base64?YQ==?=` is `a`. Returns any other
/// value unchanged.
fn decode_name(value: &str) -> Result<Cow<'_, str>, String> {
    let Some(encoded) = value
        .strip_prefix("=?base64?")
        .and_then(|value| value.strip_suffix("?="))
    else {
        return Ok(Cow::Borrowed(value));
    };
    let Ok(bytes) = STANDARD.decode(encoded) else {
        return Err(format!("the header {NAME} is not valid base64"));
    };
    match String::from_utf8(bytes) {
        Ok(name) => Ok(Cow::Owned(name)),
        Err(_) => Err(format!("the header {NAME} is not UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::Id;
    use serde_json::json;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::try_from(*name).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
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

    fn list(version: &str) -> Request {
        let mut request = modern("tools/list", json!({}));
        request.params["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.into();
        request
    }

    #[test]
    fn the_content_type_must_be_json_or_without_an_origin_the_default_of_curl() {
        for (pairs, is_accepted) in [
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
                check_content_type(&headers(pairs)).is_ok(),
                is_accepted,
                "{pairs:?}"
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
            let pairs: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
            let headers = headers(&pairs);
            assert_eq!(
                (
                    check_accept(&headers, JSON).is_ok(),
                    check_accept(&headers, EVENT_STREAM).is_ok()
                ),
                (has_json, has_events),
                "{accept:?}"
            );
        }
    }

    #[test]
    fn the_body_determines_the_era_and_the_headers_must_match_it() {
        let ok: Result<Era, i64> = Ok(Era::Modern);
        let legacy: Result<Era, i64> = Ok(Era::Legacy);
        let v = ("mcp-protocol-version", "2026-07-28");
        let m = ("mcp-method", "tools/list");
        for (pairs, request, want) in [
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
            let era = request_era(&headers(pairs), &request).map_err(|error| error.code);
            assert_eq!(era, want, "{pairs:?} {request:?}");
        }
        let legacy_headers = headers(&[("mcp-protocol-version", "2025-06-18")]);
        assert_eq!(legacy_version_header(&legacy_headers), Some("2025-06-18"));
        assert_eq!(legacy_version_header(&headers(&[v])), None);
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
            let mut pairs = vec![v, ("mcp-method", method)];
            pairs.extend(name.map(|name| ("mcp-name", name)));
            let era = request_era(&headers(&pairs), &modern(method, params.clone()));
            let code = era.err().map(|error| error.code);
            let expected = if is_equal { None } else { Some(-32020) };
            assert_eq!(code, expected, "{method} {params} {name:?}");
        }
    }
}
