//! Whatever the headers and the body of a request are, one that is taken for a modern one says the
//! same in both, and one that is taken for a legacy one has no modern metadata.

use prompt_expander::jsonrpc::Message;
use prompt_expander::server::Era;
use prompt_expander::transport::http::headers::request_era;
use prompt_expander::transport::http::{HeaderMap, HeaderName, HeaderValue};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Reads lines `NAME: VALUE` up to an empty one, and then the body. Lines that are no header are
/// left out.
pub(super) fn check(request: &[u8]) {
    let end = request
        .windows(2)
        .position(|bytes| bytes == b"\n\n")
        .unwrap_or(request.len());
    let (head, body) = request.split_at(end);
    let headers: HeaderMap = head
        .split(|byte| *byte == b'\n')
        .filter_map(header)
        .collect();
    let Ok(Message::Request(request)) = Message::parse(body.trim_ascii()) else {
        return;
    };
    let of_body = request
        .params
        .get("_meta")
        .and_then(|meta| meta.get(VERSION));
    let is = |name: &str, wanted: &str| {
        let values: Vec<_> = headers.get_all(name).iter().collect();
        matches!(values[..], [value] if value.as_bytes().trim_ascii() == wanted.as_bytes())
    };
    let found = request_era(&headers, &request);
    assert_eq!(found, request_era(&headers, &request));
    match found {
        Ok(Era::Modern) => {
            let version = of_body.and_then(|version| version.as_str()).unwrap();
            assert!(is("mcp-protocol-version", version) && is("mcp-method", &request.method));
        }
        Ok(Era::Legacy) => assert!(of_body.is_none()),
        Err(error) => {
            assert!(matches!(error.code, -32602 | -32020 | -32022), "{error:?}");
            assert!(!error.message.contains('\n'), "{error:?}");
        }
    }
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((
        HeaderName::from_bytes(&line[..colon]).ok()?,
        HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?,
    ))
}
