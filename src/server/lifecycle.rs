//! Protocol revisions: which era a request belongs to, `initialize`, `server/discover`, and what each era adds to a
//! result.
//!
//! The *legacy* revisions open with `initialize`. The *modern* one, 2026-07-28, has no handshake: each request carries
//! its revision in `params._meta`. The era is settled per request, from its body alone, so that clients of both may
//! share a pipe. No tool asks for it.

use crate::json::{Json, Object, Value};
use crate::jsonrpc::Error;
use crate::mcp::{
    CacheScope, Cacheable, DiscoverResult, Empty, Implementation, InitializeResult, ListChanged, ResourcesCapability,
    ServerCapabilities,
};
use crate::wording::printable_json;
use serde::Serialize;
use serde_json::json;

/// The revisions that `initialize` can settle, the newest last.
const LEGACY: [&str; 4] = ["2024-11-05", WITH_BATCHES, "2025-06-18", "2025-11-25"];

/// The only revision that has batches ("Batching" in its base protocol).
pub(super) const WITH_BATCHES: &str = "2025-03-26";

/// The modern revisions, all that a request's `_meta` may name.
const MODERN: &[&str] = &["2026-07-28"];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The revision of a request is not served (2026-07-28, "Error codes").
const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

/// A result that changes only with the program.
pub(super) const CONSTANT: Cacheable = Cacheable { ttl_ms: 3_600_000, cache_scope: CacheScope::Public };

/// A result that is made from the user's files, which may change at any time.
pub(super) const FRESH: Cacheable = Cacheable { ttl_ms: 0, cache_scope: CacheScope::Private };

const SERVER_INFO: Implementation = Implementation { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") };

/// What a model is told of this server. Codex shows its first line, up to 250 characters, and no more; it stands alone.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// Which rules a request follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// Whether a request claims to be modern: by its `_meta`, or by a method that only the modern era has.
pub(super) fn is_modern(method: &str, params: &Object<'_>) -> bool {
    meta(params).is_some_and(|meta| meta.get(VERSION).is_some())
        || matches!(method, "server/discover" | "subscriptions/listen")
}

fn meta<'p, 'l>(params: &'p Object<'l>) -> Option<&'p Object<'l>> {
    params.object("_meta").ok().flatten()
}

/// The era of a request.
///
/// # Errors
/// A modern request whose envelope is incomplete (`-32602`), or names a revision that is not served (`-32022`).
pub(super) fn era(method: &str, params: &Object<'_>) -> Result<Era, Error> {
    if !is_modern(method, params) {
        return Ok(Era::Legacy);
    }
    let none = Object::default();
    let meta = meta(params).unwrap_or(&none);
    let lacks = |key: &str, what: &str| Err(Error::invalid_params(format!("`_meta` lacks {key}, {what}")));
    let Ok(Some(version)) = meta.text(VERSION) else {
        return lacks(VERSION, "a string");
    };
    if !matches!(meta.object(CLIENT_CAPABILITIES), Ok(Some(_))) {
        return lacks(CLIENT_CAPABILITIES, "an object");
    }
    if !MODERN.contains(&version) {
        let data = json!({ "supported": MODERN, "requested": version });
        return Err(Error::new(UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version").with_data(data));
    }
    if let Some(level) = meta.get(LOG_LEVEL) {
        known_level(LOG_LEVEL, level)?;
    }
    Ok(Era::Modern)
}

fn known_level(key: &str, level: &Value<'_>) -> Result<(), Error> {
    match level.as_text() {
        Some(level) if LOG_LEVELS.contains(&level) => Ok(()),
        _ => Err(Error::invalid_params(format!("{key} must be one of {}", LOG_LEVELS.join(", ")))),
    }
}

/// `logging/setLevel`. No level has anything to say: what a person should know is in the answers.
///
/// # Errors
/// `-32602` for an unknown level.
pub(super) fn set_level(params: &Object<'_>) -> Result<Empty, Error> {
    known_level("`level`", params.get("level").unwrap_or(&Value::Null)).map(|()| Empty {})
}

impl Era {
    /// A result as this era writes it.
    ///
    /// # Errors
    /// Those of the result's `Serialize`.
    pub(super) fn result(self, result: &impl Serialize, cacheable: Option<Cacheable>) -> Result<Json, Error> {
        self.envelop(Json::of(result).map_err(Error::internal)?, cacheable)
    }

    /// The same for a result that is written already, an object: the modern era adds `resultType`, `_meta` with our name,
    /// and, to a result that a client may keep, for how long and for whom.
    ///
    /// # Errors
    /// None that anything of ours can bring about.
    pub(super) fn envelop(self, result: Json, cacheable: Option<Cacheable>) -> Result<Json, Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Behind {
            result_type: &'static str,
            #[serde(flatten)]
            cacheable: Option<Cacheable>,
            #[serde(rename = "_meta")]
            meta: Meta,
        }
        #[derive(Serialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/serverInfo")]
            server_info: Implementation,
        }
        match self {
            Era::Legacy => Ok(result),
            Era::Modern => {
                let meta = Meta { server_info: SERVER_INFO };
                result.with(&Behind { result_type: "complete", cacheable, meta }).map_err(Error::internal)
            }
        }
    }
}

/// `initialize`: the client's revision if it is a legacy one, else the newest of those. It may be repeated.
pub(super) fn initialize<'l>(
    negotiated: &mut Option<&'static str>,
    params: &Object<'l>,
) -> Result<InitializeResult<'l>, Error> {
    let requested = params.required_text("protocolVersion");
    let requested = requested.map_err(|unfit| Error::invalid_params(format!("`protocolVersion` {unfit}")))?;
    let [.., newest] = LEGACY;
    let version = LEGACY.into_iter().find(|version| *version == requested).unwrap_or(newest);
    *negotiated = Some(version);
    tracing::info!(client = %wire(&params.get("clientInfo")), requested, version, "initialize");
    Ok(InitializeResult {
        protocol_version: version,
        capabilities: capabilities(Era::Legacy),
        server_info: SERVER_INFO,
        instructions: INSTRUCTIONS.trim_ascii_end(),
        client_info: params.get("clientInfo").filter(|info| **info != Value::Null).cloned(),
    })
}

/// A value as the client wrote it, for the log: in one line, and without what a terminal may obey.
pub(super) fn wire(value: &impl Serialize) -> String {
    printable_json(&serde_json::to_string(value).unwrap_or_default())
}

/// `server/discover` (2026-07-28).
pub(super) fn discover() -> DiscoverResult {
    DiscoverResult {
        supported_versions: MODERN,
        capabilities: capabilities(Era::Modern),
        instructions: INSTRUCTIONS.trim_ascii_end(),
    }
}

fn capabilities(era: Era) -> ServerCapabilities {
    ServerCapabilities {
        tools: ListChanged { list_changed: true },
        prompts: ListChanged { list_changed: true },
        resources: ResourcesCapability { subscribe: true, list_changed: true },
        completions: Empty {},
        logging: (era == Era::Legacy).then_some(Empty {}),
    }
}
