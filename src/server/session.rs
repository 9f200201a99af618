//! Conversations with clients, and the methods that are about the conversation itself: the
//! handshake and subscriptions.

use super::context::{Context, to_log_json};
use super::era::{
    self, CONSTANT, LEGACY_VERSIONS, MODERN_VERSIONS, VERSION_WITH_BATCHES, legacy_version,
};
use super::failure::{Failure, FailureKind};
use super::reply::Outcome;
use super::subscriptions::Subscriptions;
use crate::agents::Agent;
use crate::jsonrpc::{Json, Notification};
use crate::library::{Caller, Change};
use crate::mcp::{Empty, InitializeParams, ResourceParams, SetLevelParams};
use serde_json::{Value, json};
use std::sync::Arc;

/// A conversation over a pipe or WebSocket. Over HTTP, each request is a conversation of its own.
#[derive(Debug)]
pub struct Session {
    /// The version negotiated by the last `initialize`. Modern requests don't use it, because they
    /// specify their version themselves.
    pub version: Option<&'static str>,
    /// The client that sent the last `initialize`, if it is a known agent.
    pub(super) agent: Option<&'static Agent>,
    /// The user on whose behalf the client acts.
    pub caller: Arc<Caller>,
    pub(super) subscriptions: Subscriptions,
    /// Whether the session ends with the current request. If so, clients can't subscribe.
    is_one_request: bool,
    /// Whether the client received results that it may cache until it is notified of a change.
    pub(super) has_cacheable_results: bool,
}

impl Session {
    /// Creates a session for a pipe or WebSocket.
    pub fn new(caller: impl Into<Arc<Caller>>) -> Session {
        Session {
            version: None,
            agent: None,
            caller: caller.into(),
            subscriptions: Subscriptions::default(),
            is_one_request: false,
            has_cacheable_results: false,
        }
    }

    /// Creates a session for a single HTTP request. `version` and `agent` were negotiated by an
    /// earlier request.
    pub fn for_request(
        caller: impl Into<Arc<Caller>>,
        version: Option<&str>,
        agent: Option<&str>,
    ) -> Session {
        Session {
            version: version.and_then(legacy_version),
            agent: agent.and_then(Agent::by_name),
            is_one_request: true,
            ..Session::new(caller)
        }
    }

    /// Creates a session for a stream that notifies a legacy client of changes to all lists.
    pub fn for_notifications(caller: impl Into<Arc<Caller>>) -> Session {
        let any_legacy_version = Some(VERSION_WITH_BATCHES); // notifications are the same in all
        let no_agent = None;
        let mut session = Session::for_request(caller, any_legacy_version, no_agent);
        session.subscriptions.is_initialized = true;
        session
    }

    /// Resets the session after an `initialize` request, which can be repeated.
    fn restart(&mut self, version: &'static str, agent: Option<&'static Agent>) {
        self.version = Some(version);
        self.agent = agent;
        self.has_cacheable_results = false;
        self.subscriptions.reset_legacy();
    }

    /// Returns the client's name, if it is a known agent.
    pub fn agent(&self) -> Option<&'static str> {
        self.agent.map(|agent| agent.name)
    }

    /// Returns the notifications to send to the client after a change.
    pub fn notifications(&self, change: &Change) -> Vec<Notification> {
        self.subscriptions
            .notifications(change, self.caller.prefix.as_ref())
    }
}

/// The instructions for the model. Codex shows only the first 250 characters of the first line, so
/// that line must be understandable on its own.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// Handles `ping`.
pub(super) fn ping(_: &Context, _: Empty) -> Result<Empty, Failure> {
    Ok(Empty {})
}

/// Handles `logging/setLevel`. Has no effect, because the server never sends log messages.
///
/// # Errors
/// Fails if the level doesn't exist.
pub(super) fn set_level(_: &Context, params: SetLevelParams<'_>) -> Result<Empty, Failure> {
    era::check_log_level("level", Some(params.level))?;
    Ok(Empty {})
}

/// Handles `initialize`, which can be repeated. Negotiates the version that the client requests if
/// it is a supported legacy version, otherwise the newest legacy version.
pub(super) fn initialize(
    session: &mut Session,
    context: &Context,
    params: InitializeParams<'_>,
) -> Result<Value, Failure> {
    let InitializeParams {
        protocol_version: requested,
        client_info,
    } = params;
    let [.., newest] = LEGACY_VERSIONS;
    let version = legacy_version(requested).unwrap_or(newest);
    tracing::info!(client = %to_log_json(&client_info), requested, version, "initialize");
    session.restart(version, era::agent_of_client(client_info.as_ref()));
    let server_info = if version == newest {
        era::server_info_with_icon()
    } else {
        era::server_info()
    };
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": legacy_capabilities(session, context),
        "serverInfo": server_info,
        "instructions": INSTRUCTIONS.trim_ascii_end(),
    });
    // Not in the schema, but some clients may rely on getting their info back.
    if let Some(client_info) = client_info {
        result["clientInfo"] = client_info;
    }
    Ok(result)
}

/// Handles `server/discover` (2026-07-28).
pub(super) fn discover(context: &Context, _: Empty) -> Result<Outcome, Failure> {
    let mut capabilities = capabilities(context);
    capabilities["resources"]["subscribe"] = true.into();
    let result = json!({
        "supportedVersions": MODERN_VERSIONS,
        "capabilities": capabilities,
        "instructions": INSTRUCTIONS.trim_ascii_end(),
    });
    let server_info = era::server_info_with_icon().to_string();
    let result = era::modern_result(Json::serialize(&result)?, Some(CONSTANT), &server_info);
    Ok(Outcome::Now(result))
}

/// Returns the capabilities common to all clients.
fn capabilities(context: &Context) -> Value {
    let list = json!({ "listChanged": true });
    let mut capabilities =
        json!({ "tools": list, "prompts": list, "resources": list, "completions": {} });
    if context.shared.settings.skills {
        capabilities["extensions"] = json!({ "io.modelcontextprotocol/skills": {} });
    }
    capabilities
}

/// Returns the capabilities for a legacy client.
fn legacy_capabilities(session: &Session, context: &Context) -> Value {
    let mut capabilities = capabilities(context);
    if context.may_edit() {
        // An extension: the client can call `prompts/create`, `prompts/update` and
        // `prompts/delete`.
        capabilities["prompts"]["mutable"] = true.into();
    }
    if !session.is_one_request {
        capabilities["resources"]["subscribe"] = true.into();
    }
    // Clients may rely on `logging/setLevel`, even though it has no effect.
    capabilities["logging"] = json!({});
    capabilities
}

/// Handles `resources/subscribe`.
///
/// # Errors
/// Fails if the URI can't belong to a prompt, if there are too many subscriptions, or if the
/// session ends with this request.
pub(super) fn subscribe(
    session: &mut Session,
    context: &Context,
    params: ResourceParams<'_>,
) -> Result<Empty, Failure> {
    check_can_subscribe(session, "resources/subscribe")?;
    context.shared.watch(); // before the response, after which the client relies on notifications
    session.subscriptions.subscribe(params.uri)?;
    Ok(Empty {})
}

/// Handles `resources/unsubscribe`.
///
/// # Errors
/// Fails if the session ends with this request.
pub(super) fn unsubscribe(
    session: &mut Session,
    _: &Context,
    params: ResourceParams<'_>,
) -> Result<Empty, Failure> {
    check_can_subscribe(session, "resources/unsubscribe")?;
    session.subscriptions.unsubscribe(params.uri);
    Ok(Empty {})
}

/// Fails if the session ends with the current request. `method` is the one to report as missing.
fn check_can_subscribe(session: &Session, method: &str) -> Result<(), Failure> {
    if session.is_one_request {
        return Err(Failure::new(FailureKind::MethodNotFound, method));
    }
    Ok(())
}
