//! The two eras of the MCP protocol: which rules a request follows, and how its result or error is
//! written.
//!
//! *Legacy* versions start with an `initialize` handshake. The *modern* version, 2026-07-28, has
//! none: each request specifies its version in `params._meta`. The era of a request is determined
//! from its body alone, so clients of both eras can share a pipe.

use super::failure::{Failure, FailureKind};
use crate::agents::Agent;
use crate::jsonrpc::{self, Json, Object, Request, read_object};
use crate::mcp::{Empty, ModernParams, RequestMeta};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

/// The versions that `initialize` can negotiate, in ascending order.
pub(super) const LEGACY_VERSIONS: [&str; 4] = [
    "2024-11-05",
    VERSION_WITH_BATCHES,
    "2025-06-18",
    "2025-11-25",
];

/// The only version that supports batches ("Batching" in its base protocol).
pub(super) const VERSION_WITH_BATCHES: &str = "2025-03-26";

/// The modern versions that `params._meta` can specify.
pub(super) const MODERN_VERSIONS: &[&str] = &["2026-07-28"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The rules that a request follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Versions 2024-11-05 to 2025-11-25.
    Legacy,
    /// Version 2026-07-28.
    Modern,
}

/// Returns the legacy version with this name, if it is supported.
pub fn legacy_version(name: &str) -> Option<&'static str> {
    LEGACY_VERSIONS.into_iter().find(|version| *version == name)
}

/// Returns the protocol version that a modern request specifies, or `None` for a legacy request.
/// The version may be unsupported; see [`check_modern_version`].
///
/// # Errors
/// Fails with `-32602` if the `_meta` of a modern request is incomplete.
pub fn modern_version(request: &Request) -> Result<Option<&str>, jsonrpc::Error> {
    let era = Era::of_request(&request.method, &request.params);
    match era.metadata(&request.params) {
        Ok(Some(metadata)) => Ok(Some(metadata.protocol_version)),
        Ok(None) => Ok(None),
        Err(failure) => Err(era.error(failure)),
    }
}

/// Checks that a modern version is supported.
///
/// # Errors
/// Fails with `-32022` if not, with the supported versions as data.
pub fn check_modern_version(version: &str) -> Result<(), jsonrpc::Error> {
    check_supported(version).map_err(|failure| Era::Modern.error(failure))
}

/// Fails if a modern version is not supported.
fn check_supported(version: &str) -> Result<(), Failure> {
    if MODERN_VERSIONS.contains(&version) {
        return Ok(());
    }
    let failure = Failure::new(
        FailureKind::UnsupportedVersion,
        "unsupported protocol version",
    );
    let data = json!({ "requested": version, "supported": MODERN_VERSIONS });
    Err(failure.with_data(data))
}

/// Checks the name of a log level.
///
/// # Errors
/// Fails if the level is missing or unknown. `key` is the parameter to name in the error.
pub(super) fn check_log_level(key: &str, level: Option<&str>) -> Result<(), Failure> {
    if level.is_some_and(|level| LOG_LEVELS.contains(&level)) {
        return Ok(());
    }
    let levels = LOG_LEVELS.join(", ");
    Err(Failure::invalid_params(format!(
        "`{key}` must be one of {levels}"
    )))
}

/// Identifies a known agent by the name in its `clientInfo`.
pub(super) fn agent_of_client(client_info: Option<&Value>) -> Option<&'static Agent> {
    Agent::by_client_name(client_info?.get("name")?.as_str()?)
}

impl Era {
    /// Returns the era of a request. It is modern if it specifies a version in `_meta`, or if its
    /// method exists only in the modern era.
    pub(super) fn of_request(method: &str, params: &Object) -> Era {
        if matches!(method, "server/discover" | "subscriptions/listen") {
            return Era::Modern;
        }
        match params.get("_meta") {
            Some(metadata) if metadata.get(VERSION_KEY).is_some() => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// Checks the metadata required in this era.
    ///
    /// # Errors
    /// Fails if `_meta` isn't an object. In a modern request, also fails if a member of `_meta` is
    /// missing, or if it specifies an unknown version or log level.
    pub(super) fn check_metadata(self, params: &Object) -> Result<(), Failure> {
        let Some(metadata) = self.metadata(params)? else {
            return Ok(());
        };
        let RequestMeta {
            protocol_version,
            client_capabilities: Empty {},
            log_level,
        } = metadata;
        check_supported(protocol_version)?;
        match log_level {
            Some(level) => {
                check_log_level("_meta.io.modelcontextprotocol/logLevel", level.as_str())
            }
            None => Ok(()),
        }
    }

    /// Returns the metadata of a modern request, or `None` for a legacy request.
    ///
    /// # Errors
    /// Fails if `_meta` isn't an object. In a modern request, also fails if a member of `_meta` is
    /// missing.
    fn metadata(self, params: &Object) -> Result<Option<RequestMeta<'_>>, Failure> {
        // A legacy request may have `null`. In a modern one, `read_object` rejects it.
        let is_object_or_missing = matches!(
            params.get("_meta"),
            None | Some(Value::Null | Value::Object(_))
        );
        if !is_object_or_missing {
            return Err(Failure::invalid_params("`_meta` must be an object"));
        }
        match self {
            Era::Legacy => Ok(None),
            Era::Modern => {
                let ModernParams { meta } = read_object(params)?;
                Ok(Some(meta))
            }
        }
    }

    /// Returns the agent that sent a modern request, if it is a known one. Legacy clients identify
    /// themselves only in `initialize`.
    pub(super) fn agent(self, params: &Object) -> Option<&'static Agent> {
        if self == Era::Legacy {
            return None;
        }
        agent_of_client(params.get("_meta")?.get(CLIENT_INFO_KEY))
    }

    /// Converts a result to the JSON of this era. The modern era adds `resultType`, the server's
    /// name in `_meta`, and how the client may cache the result.
    pub(super) fn result(self, result: Json, cache_policy: Option<CachePolicy>) -> Json {
        match self {
            Era::Legacy => result,
            Era::Modern => modern_result(result, cache_policy, SERVER_INFO_JSON),
        }
    }

    /// Converts a failure to a JSON-RPC error of this era.
    pub(super) fn error(self, failure: Failure) -> jsonrpc::Error {
        use FailureKind::*;
        const NO_LABEL: &str = ""; // the text says all
        let (code, label) = match (failure.kind, self) {
            (InvalidRequest, _) => (-32600, "invalid request: "),
            // The legacy versions specify -32602 for an unknown tool, but the clients that this
            // server was made for expect -32601.
            (MethodNotFound, _) | (UnknownTool, Era::Legacy) => (-32601, "method not found: "),
            (InvalidParams | ForModel, _) | (UnknownTool | UnknownResource, Era::Modern) => {
                (-32602, "invalid params: ")
            }
            // From "Resources", "Error Handling"; forbidden after 2025-11-25.
            (UnknownResource, Era::Legacy) => (-32002, NO_LABEL),
            // 2026-07-28, "Error codes".
            (UnsupportedVersion, _) => (-32022, NO_LABEL),
            (Unavailable, _) => (-32603, NO_LABEL),
            (Internal, _) => (-32603, "internal error: "),
        };
        jsonrpc::Error {
            code,
            message: format!("{label}{}", failure.text),
            data: failure.data,
        }
    }
}

/// How long, and for whom, a client may cache a result (2026-07-28).
#[derive(Debug, Clone, Copy)]
pub(super) struct CachePolicy {
    ttl_ms: u64,
    /// Who may see a cached result: everyone (`public`), or only the client that sent the request
    /// (`private`).
    scope: &'static str,
}

/// The policy for results that clients must not cache.
pub(super) const NO_CACHING: Option<CachePolicy> = None;

/// For results that change only with the server's version.
pub(super) const CONSTANT: CachePolicy = CachePolicy {
    ttl_ms: 3_600_000,
    scope: "public",
};

/// For results that depend on the user's files, which can change at any time.
pub(super) const VOLATILE: CachePolicy = CachePolicy {
    ttl_ms: 0,
    scope: "private",
};

/// Adds the members common to all modern results, and how long the client may cache the result if
/// there is a `cache_policy`. `server_info` is JSON.
pub(super) fn modern_result(
    result: Json,
    cache_policy: Option<CachePolicy>,
    server_info: &str,
) -> Json {
    let mut members = String::from(r#""resultType":"complete","#);
    if let Some(CachePolicy { ttl_ms, scope }) = cache_policy {
        members += &format!(r#""ttlMs":{ttl_ms},"cacheScope":"{scope}","#);
    }
    members += &format!(r#""_meta":{{"io.modelcontextprotocol/serverInfo":{server_info}}}"#);
    result.with_members(&members)
}

/// The server's name and version as JSON.
const SERVER_INFO_JSON: &str = concat!(
    r#"{"name":""#,
    env!("CARGO_PKG_NAME"),
    r#"","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

/// The server's icon, an SVG.
const ICON: &[u8] = include_bytes!("icon.svg");

/// Returns the server's name and version.
pub(super) fn server_info() -> Value {
    json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") })
}

/// Returns the server's name, version and icon (2025-11-25). Used only at the start of a
/// conversation, because the icon is large.
pub(super) fn server_info_with_icon() -> Value {
    let data = BASE64.encode(ICON.trim_ascii_end());
    let source = format!("data:image/svg+xml;base64,{data}");
    let mut info = server_info();
    info["icons"] = json!([{ "src": source, "mimeType": "image/svg+xml", "sizes": ["any"] }]);
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_has_a_code_in_each_era() {
        use FailureKind::*;
        for (kind, legacy, modern) in [
            (InvalidRequest, -32600, -32600),
            (MethodNotFound, -32601, -32601),
            (InvalidParams, -32602, -32602),
            (UnsupportedVersion, -32022, -32022),
            (UnknownTool, -32601, -32602),
            (UnknownResource, -32002, -32602),
            (Unavailable, -32603, -32603),
            (Internal, -32603, -32603),
        ] {
            for (era, code) in [(Era::Legacy, legacy), (Era::Modern, modern)] {
                let error = era.error(Failure::new(kind, "x"));
                assert_eq!(error.code, code, "{kind:?} {era:?}");
            }
        }
    }
}
