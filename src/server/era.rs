//! The two eras of the protocol: which rules a request follows, and how its result and its error
//! are written.
//!
//! The *legacy* versions begin with `initialize`. The *modern* one, 2026-07-28, has no handshake:
//! each request carries its version in `params._meta`. The era is decided for each request from its
//! body alone, so that clients of both eras may share a pipe.

use super::failure::{Failure, FailureKind};
use crate::agents::Agent;
use crate::jsonrpc::{self, Json, Object, Request, read_object};
use crate::mcp::{Empty, ModernParams, RequestMeta};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

/// The versions that `initialize` can negotiate, the newest last.
pub(super) const LEGACY_VERSIONS: [&str; 4] = [
    "2024-11-05",
    VERSION_WITH_BATCHES,
    "2025-06-18",
    "2025-11-25",
];

/// The only version that has batches ("Batching" in its base protocol).
pub(super) const VERSION_WITH_BATCHES: &str = "2025-03-26";

/// The modern versions: all that the `_meta` of a request may name.
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

/// Which rules a request follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Those of 2024-11-05 to 2025-11-25.
    Legacy,
    /// Those of 2026-07-28.
    Modern,
}

/// Returns the legacy version with this name.
pub fn legacy_version(name: &str) -> Option<&'static str> {
    LEGACY_VERSIONS.into_iter().find(|version| *version == name)
}

/// Returns the protocol version that a modern request names, or `None` for a legacy request. The
/// version need not be supported; see [`check_modern_version`].
///
/// # Errors
/// `-32602`: the `_meta` of a modern request is incomplete.
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
/// `-32022`, with the supported versions as its data.
pub fn check_modern_version(version: &str) -> Result<(), jsonrpc::Error> {
    check_supported(version).map_err(|failure| Era::Modern.error(failure))
}

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
/// The level does not exist. The error names the member of the params that has it, `key`.
pub(super) fn check_log_level(key: &str, level: Option<&str>) -> Result<(), Failure> {
    if level.is_some_and(|level| LOG_LEVELS.contains(&level)) {
        return Ok(());
    }
    let levels = LOG_LEVELS.join(", ");
    Err(Failure::invalid_params(format!(
        "`{key}` must be one of {levels}"
    )))
}

/// Returns the agent that a client says it is, if it is a known one.
pub(super) fn agent_of_client(client_info: Option<&Value>) -> Option<&'static Agent> {
    Agent::of_client(client_info?.get("name")?.as_str()?)
}

impl Era {
    /// Returns the era that a request claims: modern by its `_meta`, or by a method that only the
    /// modern era has.
    pub(super) fn of_request(method: &str, params: &Object) -> Era {
        if matches!(method, "server/discover" | "subscriptions/listen") {
            return Era::Modern;
        }
        match params.get("_meta") {
            Some(metadata) if metadata.get(VERSION_KEY).is_some() => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// Checks the metadata that every request of this era must have.
    ///
    /// # Errors
    /// `_meta` is no object; that of a modern request is incomplete, or names a version or a log
    /// level that does not exist.
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

    /// Returns the metadata of a modern request; a legacy request needs none.
    ///
    /// # Errors
    /// `_meta` is incomplete, or in either era no object.
    fn metadata(self, params: &Object) -> Result<Option<RequestMeta<'_>>, Failure> {
        // serde would read an array as the members of a struct.
        if !matches!(
            params.get("_meta"),
            None | Some(Value::Null | Value::Object(_))
        ) {
            return Err(Failure::invalid_params("`_meta` must be an object"));
        }
        if self == Era::Legacy {
            return Ok(None);
        }
        let ModernParams { meta } = read_object(params)?;
        Ok(Some(meta))
    }

    /// Returns the agent that a modern request comes from, if it says so and is a known one. A
    /// legacy client says it once, with `initialize`.
    pub(super) fn agent(self, params: &Object) -> Option<&'static Agent> {
        if self == Era::Legacy {
            return None;
        }
        agent_of_client(params.get("_meta")?.get(CLIENT_INFO_KEY))
    }

    /// Returns the JSON of a result. The modern era adds `resultType`, the server's name in
    /// `_meta`, and to a result that a client may cache, for how long and for whom.
    pub(super) fn result(self, result: Json, cache_policy: Option<CachePolicy>) -> Json {
        match self {
            Era::Legacy => result,
            Era::Modern => modern_result(result, cache_policy, SERVER_INFO_JSON),
        }
    }

    /// Returns the JSON-RPC error for a failure.
    pub(super) fn error(self, failure: Failure) -> jsonrpc::Error {
        use FailureKind::*;
        let (code, label) = match (failure.kind, self) {
            (InvalidRequest, _) => (-32600, "invalid request: "),
            // For an unknown tool the legacy versions say -32602; the clients that this server was
            // made for expect -32601.
            (MethodNotFound, _) | (UnknownTool, Era::Legacy) => (-32601, "method not found: "),
            (InvalidParams | ForModel, _) | (UnknownTool | UnknownResource, Era::Modern) => {
                (-32602, "invalid params: ")
            }
            // Versions up to 2025-11-25, "Resources", "Error Handling"; later ones forbid it.
            (UnknownResource, Era::Legacy) => (-32002, ""),
            // 2026-07-28, "Error codes".
            (UnsupportedVersion, _) => (-32022, ""),
            (Unavailable, _) => (-32603, ""),
            (Internal, _) => (-32603, "internal error: "),
        };
        jsonrpc::Error {
            code,
            message: format!("{label}{}", failure.text),
            data: failure.data,
        }
    }
}

/// How long a client may cache a result, and for whom (2026-07-28).
#[derive(Debug, Clone, Copy)]
pub(super) struct CachePolicy {
    ttl_ms: u64,
    /// Who may see a cached result: everybody (`public`), or only the client that sent the request
    /// (`private`).
    scope: &'static str,
}

/// A result that changes only with the program.
pub(super) const CONSTANT: CachePolicy = CachePolicy {
    ttl_ms: 3_600_000,
    scope: "public",
};

/// A result that comes from the user's files, which may change at any time.
pub(super) const VOLATILE: CachePolicy = CachePolicy {
    ttl_ms: 0,
    scope: "private",
};

/// Adds the members of every modern result: `server_info` is JSON.
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

/// The name and the version of the server, as JSON.
const SERVER_INFO_JSON: &str = concat!(
    r#"{"name":""#,
    env!("CARGO_PKG_NAME"),
    r#"","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

/// The icon of the server, an SVG.
const ICON: &[u8] = include_bytes!("icon.svg");

/// Returns the name and the version of the server.
pub(super) fn server_info() -> Value {
    json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") })
}

/// Returns the name, the version and the icon of the server (2025-11-25). Only answers that begin a
/// conversation have the icon, because it is long.
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
