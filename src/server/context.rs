//! What a request is handled with, what a handler gives, and how each era of the protocol writes
//! that.
//!
//! The *legacy* versions begin with `initialize`. The *modern* one, 2026-07-28, has no handshake:
//! each request carries its version in `params._meta`. The era is decided for each request from its
//! body alone, so that clients of both eras may share a pipe.

use super::notifier::Notifier;
use crate::agents::{Agent, PartLimit, Unit};
use crate::jsonrpc::{self, Json, Object, Request, read};
use crate::library::{Authorship, Caller, Editor, Layer, Library, Role, View};
use crate::mcp::{Empty, ModernParams, RequestMeta};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::printable_json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// How many entries a page of a list has. Large, because many clients read only the first page.
pub const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// How a server behaves.
#[derive(Debug)]
pub struct Settings {
    /// Whether the user of this machine may edit prompts. A caller with a token may in any case, if
    /// its role is [`Role::Write`] or more.
    pub may_edit: bool,
    /// How many prompts, or resources, one page of a list has.
    pub page_size: NonZeroUsize,
    /// How many characters one part of a result of `expand_prompt` has at most, for all clients;
    /// `None`: what the agent shows its model, if it is a known one.
    pub result_limit: Option<usize>,
    /// Receives, once, the reason why notifications of changes are delayed; `None`: there are no
    /// notifications.
    pub notifier_warns: Option<fn(&str)>,
    /// The least work whose reply is a [`Job`](super::Job).
    pub jobs_from: Work,
}

impl Default for Settings {
    fn default() -> Settings {
        let (page_size, jobs_from) = (PAGE_SIZE, Work::Write);
        Settings {
            may_edit: false,
            page_size,
            result_limit: None,
            notifier_warns: None,
            jobs_from,
        }
    }
}

/// What all requests share.
pub(super) struct Shared {
    pub(super) library: Arc<Library>,
    pub(super) notifier: Option<Notifier>,
    pub(super) settings: Settings,
    pub(super) is_on_network: OnceLock<bool>,
}

impl Shared {
    /// Whether a caller may edit prompts. A caller with a token may, if its role is [`Role::Write`]
    /// or more.
    pub(super) fn may_edit(&self, caller: &Caller) -> bool {
        caller.role >= Role::Write && (self.settings.may_edit || caller.token.is_some())
    }

    /// Notifies listeners of every change from now on.
    pub(super) fn watch(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.start();
        }
    }
}

/// What a request is handled with; a job keeps it.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Arc<Caller>,
    /// The agent that asks, if it is a known one.
    pub(super) agent: Option<&'static Agent>,
    pub(super) era: Era,
    /// The protocol version; `None` if it is the newest.
    pub(super) version: Option<&'static str>,
    /// Whether the client may cache what it gets until it is notified of a change.
    pub(super) is_notified: bool,
}

impl Context {
    /// The library at this moment, as the caller sees it.
    pub(super) fn view(&self) -> View {
        self.shared
            .library
            .view_for(&self.caller)
            .for_editing(self.may_edit())
    }

    pub(super) fn may_edit(&self) -> bool {
        self.shared.may_edit(&self.caller)
    }

    /// What a caller who may not edit prompts would need.
    pub(super) fn how_to_edit(&self) -> String {
        match self.caller.token {
            None if self.caller.role < Role::Write => {
                "send the token that the server made; its standard error says where it is"
                    .to_owned()
            }
            None => "start the server with --edit".to_owned(),
            Some(_) => {
                let role = self.caller.role.as_str();
                format!("to edit prompts, a token needs the role `write`, and yours has `{role}`")
            }
        }
    }

    /// The longest result that the client gets in one part; `None` if it gets all of it.
    pub(super) fn part_limit(&self) -> Option<PartLimit> {
        let characters = |max| PartLimit {
            max,
            unit: Unit::Characters,
            is_printed: false,
        };
        self.shared
            .settings
            .result_limit
            .map(characters)
            .or_else(|| self.agent?.part)
    }

    pub(super) fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        self.shared.library.editor(&self.caller)
    }

    /// Who writes, and why.
    pub(super) fn by(&self, note: Option<String>) -> Result<Authorship, Diagnostic> {
        let of_token = self
            .caller
            .token
            .as_ref()
            .map(|token| Arc::clone(&token.name));
        Authorship::new(of_token.or_else(|| Some(self.agent?.name.into())), note)
    }
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// It reads nothing.
    Memory,
    /// It opens a few files at most.
    Files,
    /// It scans folders.
    Folders,
    /// It may wait several seconds for another process that writes to the folder of prompts.
    Write,
    /// It may wait several seconds for the service that renders a prompt.
    Service,
}

/// What a handler gives.
pub(super) enum Answer {
    Now(Json),
    /// The work that waits for a service or the team's server, and then gives the result.
    Later(Box<dyn FnOnce() -> Result<Json, Failure> + Send>),
}

impl Answer {
    /// What the work gives that reads or expands a prompt of this layer: later, if it may wait for
    /// a server.
    pub(super) fn about(
        layer: Layer,
        work: impl FnOnce() -> Result<Json, Failure> + Send + 'static,
    ) -> Result<Answer, Failure> {
        if layer.waits_for_server() {
            Ok(Answer::Later(Box::new(work)))
        } else {
            work().map(Answer::Now)
        }
    }
}

/// Why a request failed. [`Era::error`] turns it into a JSON-RPC error.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) text: String,
    pub(super) data: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    UnsupportedVersion,
    UnknownTool,
    UnknownResource,
    /// The call of a tool fails for a reason that the model, or its user, can do something about: a
    /// result with `isError`.
    ForModel,
    /// A file cannot be read; the text says which one, why, and what to do.
    Unavailable,
    /// A bug in this program.
    Internal,
}

impl FailureKind {
    /// The kind of failure of an expansion: a file or a service cannot be used, or the request is
    /// wrong.
    pub(super) fn of_expansion(error: &Diagnostic) -> FailureKind {
        match error.kind {
            Kind::Invalid | Kind::Missing | Kind::Unreadable | Kind::Escapes | Kind::Service => {
                FailureKind::Unavailable
            }
            _ => FailureKind::InvalidParams,
        }
    }
}

impl Failure {
    pub(super) fn new(kind: FailureKind, text: impl Display) -> Failure {
        Failure {
            kind,
            text: text.to_string(),
            data: None,
        }
    }

    pub(super) fn invalid_params(text: impl Display) -> Failure {
        Failure::new(FailureKind::InvalidParams, text)
    }

    pub(super) fn for_model(text: impl Display) -> Failure {
        Failure::new(FailureKind::ForModel, text)
    }

    /// Adds details for a program.
    pub(super) fn with_data(self, data: Value) -> Failure {
        Failure {
            data: Some(data),
            ..self
        }
    }
}

/// A member of the params is missing, or is not what it should be.
impl From<String> for Failure {
    fn from(mismatch: String) -> Failure {
        Failure::invalid_params(mismatch)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::new(FailureKind::Internal, error)
    }
}

impl From<Diagnostic> for Failure {
    fn from(error: Diagnostic) -> Failure {
        // The client sent the text itself, so no file is named.
        let error = Diagnostic {
            file: None,
            ..error
        };
        let text = error.to_string();
        match error.kind {
            Kind::Conflict {
                current: Some(current),
                ..
            } => Failure::invalid_params(text).with_data(json!({ "revision": current })),
            Kind::Unreadable | Kind::Busy => Failure::new(FailureKind::Unavailable, text),
            _ => Failure::invalid_params(text),
        }
    }
}

/// The versions that `initialize` can negotiate, the newest last.
pub(super) const LEGACY: [&str; 4] = ["2024-11-05", WITH_BATCHES, "2025-06-18", "2025-11-25"];

/// The only version that has batches ("Batching" in its base protocol).
pub(super) const WITH_BATCHES: &str = "2025-03-26";

/// The modern versions: all that a request's `_meta` may name.
pub(super) const MODERN: &[&str] = &["2026-07-28"];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
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

/// How long a client may cache a result, and for whom (2026-07-28).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cacheable {
    ttl_ms: u64,
    /// Who may see a cached result: everybody (`public`), or only the client that sent the request
    /// (`private`).
    scope: &'static str,
}

/// A result that changes only with the program.
pub(super) const CONSTANT: Cacheable = Cacheable {
    ttl_ms: 3_600_000,
    scope: "public",
};

/// A result that comes from the user's files, which may change at any time.
pub(super) const FRESH: Cacheable = Cacheable {
    ttl_ms: 0,
    scope: "private",
};

/// The name of the server, as JSON.
const SERVER_INFO: &str = concat!(
    r#"{"name":""#,
    env!("CARGO_PKG_NAME"),
    r#"","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

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

/// The protocol version that a modern request names; `None` if it is a legacy request. Whether the
/// version is supported is for [`check_modern_version`].
///
/// # Errors
/// `-32602`: the `_meta` of a modern request is incomplete.
pub fn modern_version(request: &Request) -> Result<Option<&str>, jsonrpc::Error> {
    let era = Era::of(&request.method, &request.params);
    era.meta(&request.params)
        .map(|meta| meta.map(|meta| meta.protocol_version))
        .map_err(|failure| era.error(failure))
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
    Err(Failure::new(
        FailureKind::UnsupportedVersion,
        "unsupported protocol version",
    )
    .with_data(data))
}

impl Era {
    /// The era that a request claims: modern by its `_meta`, or by a method that only the modern
    /// era has.
    pub(super) fn of(method: &str, params: &Object) -> Era {
        let is_modern = matches!(method, "server/discover" | "subscriptions/listen")
            || params
                .get("_meta")
                .is_some_and(|meta| meta.get(VERSION).is_some());
        if is_modern { Era::Modern } else { Era::Legacy }
    }

    /// Checks what the era requires of every request.
    ///
    /// # Errors
    /// `_meta` is no object; that of a modern request is incomplete, or names a version that is not
    /// supported.
    pub(super) fn check(self, params: &Object) -> Result<(), Failure> {
        let Some(meta) = self.meta(params)? else {
            return Ok(());
        };
        let RequestMeta {
            protocol_version,
            client_capabilities: Empty {},
            log_level,
        } = meta;
        check_supported(protocol_version)?;
        log_level.map_or(Ok(()), |level| {
            check_level("_meta.io.modelcontextprotocol/logLevel", level.as_str())
        })
    }

    /// The metadata of a modern request.
    ///
    /// # Errors
    /// It is incomplete, or in either era no object.
    fn meta(self, params: &Object) -> Result<Option<RequestMeta<'_>>, Failure> {
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
        let ModernParams { meta } = read(params)?;
        Ok(Some(meta))
    }

    /// The agent that a modern request comes from, if it says so and is a known one.
    pub(super) fn agent(self, params: &Object) -> Option<&'static Agent> {
        let meta = params.get("_meta").filter(|_| self == Era::Modern)?;
        agent(meta.get(CLIENT_INFO))
    }

    /// The JSON of a result. The modern era adds `resultType`, the server's name in `_meta`, and to
    /// a result that a client may cache, for how long and for whom.
    pub(super) fn result(self, result: Json, cacheable: Option<Cacheable>) -> Json {
        match self {
            Era::Legacy => result,
            Era::Modern => modern_result(result, cacheable, SERVER_INFO),
        }
    }

    /// The error for a failure.
    pub(super) fn error(self, failure: Failure) -> jsonrpc::Error {
        use FailureKind::*;
        let Failure { kind, text, data } = failure;
        let (code, label) = match (kind, self) {
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
            message: format!("{label}{text}"),
            data,
        }
    }
}

pub(super) fn check_level(key: &str, level: Option<&str>) -> Result<(), Failure> {
    if level.is_some_and(|level| LOG_LEVELS.contains(&level)) {
        return Ok(());
    }
    Err(Failure::invalid_params(format!(
        "`{key}` must be one of {}",
        LOG_LEVELS.join(", ")
    )))
}

/// The agent that a client says it is, if it is a known one.
pub(super) fn agent(client_info: Option<&Value>) -> Option<&'static Agent> {
    Agent::of_client(client_info?.get("name")?.as_str()?)
}

/// JSON from a client for the log: one line, without control characters that a terminal may act on.
pub(super) fn logged(json: &impl Serialize) -> String {
    printable_json(&serde_json::to_string(json).unwrap_or_default())
}

pub(super) fn modern_result(result: Json, cacheable: Option<Cacheable>, server_info: &str) -> Json {
    let cacheable = cacheable
        .map(|Cacheable { ttl_ms, scope }| format!(r#""ttlMs":{ttl_ms},"cacheScope":"{scope}","#));
    let cacheable = cacheable.unwrap_or_default();
    result.with_members(&format!(
        r#""resultType":"complete",{cacheable}"_meta":{{"io.modelcontextprotocol/serverInfo":{server_info}}}"#
    ))
}

/// The server's name, with its icon (2025-11-25) in the answers that begin a conversation: other
/// results would only become longer.
pub(super) fn server_info(with_icon: bool) -> Value {
    let mut info = json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") });
    if with_icon {
        let src = format!(
            "data:image/svg+xml;base64,{}",
            BASE64.encode(ICON.trim_ascii_end())
        );
        info["icons"] = json!([{ "src": src, "mimeType": "image/svg+xml", "sizes": ["any"] }]);
    }
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
            let code = |era: Era| era.error(Failure::new(kind, "x")).code;
            assert_eq!(
                (code(Era::Legacy), code(Era::Modern)),
                (legacy, modern),
                "{kind:?}"
            );
        }
    }
}
