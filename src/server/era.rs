//! Protocol versions: which era a request belongs to, and how each era writes a result or a failure.
//!
//! The *legacy* versions begin with `initialize`. The *modern* one, 2026-07-28, has no handshake: each request carries its
//! version in `params._meta`. The era is decided for each request from its body alone, so that clients of both eras may
//! share a pipe.

use super::failure::{Failure, FailureKind};
use crate::agents::Agent;
use crate::jsonrpc::{self, Object, Request, read};
use crate::mcp::{
    CacheScope, Cacheable, Empty, Icon, Implementation, ModernParams, ModernResult, RequestMeta, ResultMeta,
};
use crate::wording::printable_json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// The versions that `initialize` can negotiate, the newest last.
pub(super) const LEGACY: [&str; 4] = ["2024-11-05", WITH_BATCHES, "2025-06-18", "2025-11-25"];

/// The only version that has batches ("Batching" in its base protocol).
pub(super) const WITH_BATCHES: &str = "2025-03-26";

/// The modern versions: all that a request's `_meta` may name.
pub(super) const MODERN: &[&str] = &["2026-07-28"];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A result that changes only with the program.
pub(super) const CONSTANT: Cacheable = Cacheable { ttl_ms: 3_600_000, cache_scope: CacheScope::Public };

/// A result that comes from the user's files, which may change at any time.
pub(super) const FRESH: Cacheable = Cacheable { ttl_ms: 0, cache_scope: CacheScope::Private };

pub(super) const SERVER_INFO: Implementation =
    Implementation { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION"), icons: Vec::new() };

/// The icon of the server, an SVG.
const ICON: &[u8] = include_bytes!("icon.svg");

/// Which rules a request follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// The legacy version of this name.
pub fn legacy_version(name: &str) -> Option<&'static str> {
    LEGACY.into_iter().find(|version| *version == name)
}

/// The protocol version that a modern request names; `None` if it is a legacy request. Whether the version is supported is for
/// [`check_modern_version`].
///
/// # Errors
/// `-32602`: the `_meta` of a modern request is incomplete.
pub fn modern_version(request: &Request) -> Result<Option<&str>, jsonrpc::Error> {
    let era = Era::of(&request.method, &request.params);
    era.meta(&request.params).map(|meta| meta.map(|meta| meta.protocol_version)).map_err(|failure| era.error(failure))
}

/// # Errors
/// `-32022`: the version of a modern request is not supported.
pub fn check_modern_version(version: &str) -> Result<(), jsonrpc::Error> {
    check_supported(version).map_err(|failure| Era::Modern.error(failure))
}

fn check_supported(version: &str) -> Result<(), Failure> {
    if MODERN.contains(&version) {
        return Ok(());
    }
    let data = json!({ "requested": version, "supported": MODERN });
    Err(Failure::new(FailureKind::UnsupportedVersion, "unsupported protocol version").with_data(data))
}

impl Era {
    /// The era that a request claims: modern by its `_meta`, or by a method that only the modern era has.
    pub(super) fn of(method: &str, params: &Object) -> Era {
        let is_modern = matches!(method, "server/discover" | "subscriptions/listen")
            || params.get("_meta").is_some_and(|meta| meta.get(VERSION).is_some());
        if is_modern { Era::Modern } else { Era::Legacy }
    }

    /// Checks what the era requires of every request.
    ///
    /// # Errors
    /// The `_meta` of a modern request is incomplete, or names a version that is not supported.
    pub(super) fn check(self, params: &Object) -> Result<(), Failure> {
        let Some(RequestMeta { protocol_version, client_capabilities: Empty {}, log_level }) = self.meta(params)?
        else {
            return Ok(());
        };
        check_supported(protocol_version)?;
        log_level.map_or(Ok(()), |level| check_level("_meta.io.modelcontextprotocol/logLevel", level.as_str()))
    }

    /// The metadata of a modern request.
    ///
    /// # Errors
    /// It is incomplete.
    fn meta(self, params: &Object) -> Result<Option<RequestMeta<'_>>, Failure> {
        if self == Era::Legacy {
            return Ok(None);
        }
        let ModernParams { meta } = read(params)?;
        Ok(Some(meta))
    }

    /// The agent that a modern request comes from, if it says so and is a known one.
    pub(super) fn agent(self, params: &Object) -> Option<&'static Agent> {
        let meta = params.get("_meta").filter(|_| self == Era::Modern)?;
        agent(meta.get(CLIENT_INFO))
    }

    /// The JSON of a result. The modern era adds `resultType`, the server's name in `_meta`, and to a result that a
    /// client may cache, for how long and for whom.
    pub(super) fn result(
        self,
        result: &impl Serialize,
        cacheable: Option<Cacheable>,
    ) -> Result<Box<RawValue>, Failure> {
        Ok(match self {
            Era::Legacy => to_raw_value(result)?,
            Era::Modern => modern_result(result, cacheable, SERVER_INFO)?,
        })
    }

    /// The error for a failure.
    pub(super) fn error(self, failure: Failure) -> jsonrpc::Error {
        use FailureKind::*;
        let Failure { kind, text, data } = failure;
        let (code, label) = match (kind, self) {
            (InvalidRequest, _) => (-32600, "invalid request: "),
            // For an unknown tool the legacy versions say -32602; the clients that this server was made for expect -32601.
            (MethodNotFound, _) | (UnknownTool, Era::Legacy) => (-32601, "method not found: "),
            (InvalidParams, _) | (UnknownTool | UnknownResource, Era::Modern) => (-32602, "invalid params: "),
            // Versions up to 2025-11-25, "Resources", "Error Handling"; later ones forbid it.
            (UnknownResource, Era::Legacy) => (-32002, ""),
            // 2026-07-28, "Error codes".
            (UnsupportedVersion, _) => (-32022, ""),
            (Unavailable, _) => (-32603, ""),
            (Internal, _) => (-32603, "internal error: "),
        };
        jsonrpc::Error { code, message: format!("{label}{text}"), data }
    }

    /// Whether arguments that do not fit a tool's schema are a tool result with `isError`, so that the model can correct
    /// them. In the legacy era they are invalid params.
    pub(super) fn lets_model_correct_arguments(self) -> bool {
        self == Era::Modern
    }
}

pub(super) fn check_level(key: &str, level: Option<&str>) -> Result<(), Failure> {
    if level.is_some_and(|level| LOG_LEVELS.contains(&level)) {
        return Ok(());
    }
    Err(Failure::invalid_params(format!("`{key}` must be one of {}", LOG_LEVELS.join(", "))))
}

/// The agent that a client says it is, if it is a known one.
pub(super) fn agent(client_info: Option<&Value>) -> Option<&'static Agent> {
    Agent::of_client(client_info?.get("name")?.as_str()?)
}

/// JSON from a client for the log: one line, without control characters that a terminal may act on.
pub(super) fn logged(json: &impl Serialize) -> String {
    printable_json(&serde_json::to_string(json).unwrap_or_default())
}

pub(super) fn modern_result(
    result: &impl Serialize,
    cacheable: Option<Cacheable>,
    server_info: Implementation,
) -> serde_json::Result<Box<RawValue>> {
    let meta = ResultMeta { server_info };
    to_raw_value(&ModernResult { result, result_type: "complete", cacheable, meta })
}

/// The server's name with its icon, for the answers that begin a conversation: other results would only become longer.
pub(super) fn server_info_with_icon() -> Implementation {
    let icon = Icon {
        src: format!("data:image/svg+xml;base64,{}", BASE64.encode(ICON.trim_ascii_end())),
        mime_type: "image/svg+xml",
        sizes: ["any"],
    };
    Implementation { icons: vec![icon], ..SERVER_INFO }
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
            let code = |era: Era| era.error(Failure::new(kind, "x")).code;
            assert_eq!((code(Era::Legacy), code(Era::Modern)), (legacy, modern), "{kind:?}");
        }
    }
}
