//! What the server knows of one conversation, and the methods of the conversation itself: how it
//! begins, and what it subscribes to.

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

/// One conversation: that of a pipe. Over HTTP, each request is a conversation of its own.
#[derive(Debug)]
pub struct Session {
    /// What the last `initialize` negotiated. Modern requests carry their version themselves, and
    /// never use this.
    pub version: Option<&'static str>,
    /// The agent that the last `initialize` came from, if it is a known one.
    pub(super) agent: Option<&'static Agent>,
    /// Who the client works for.
    pub caller: Arc<Caller>,
    pub(super) subscriptions: Subscriptions,
    /// Whether the session ends with the request, so that nobody can subscribe in it.
    is_one_request: bool,
    /// Whether the client was shown something that it may cache until it is notified of a change.
    pub(super) has_cacheable_results: bool,
}

impl Session {
    /// Creates the conversation of a pipe or a WebSocket.
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

    /// Creates the conversation of a single request over HTTP. `version` is what an earlier request
    /// has negotiated, and `agent` the name of the agent that sent it.
    pub fn for_request(
        caller: impl Into<Arc<Caller>>,
        version: Option<&str>,
        agent: Option<&str>,
    ) -> Session {
        Session {
            version: version.and_then(legacy_version),
            agent: agent.and_then(Agent::named),
            is_one_request: true,
            ..Session::new(caller)
        }
    }

    /// Creates the conversation of a stream on which legacy clients are notified of changes of all
    /// lists.
    pub fn for_notifications(caller: impl Into<Arc<Caller>>) -> Session {
        let mut session = Session::for_request(caller, Some(VERSION_WITH_BATCHES), None);
        session.subscriptions.is_initialized = true;
        session
    }

    /// Begins the conversation with `initialize`, possibly for the second time.
    fn begin(&mut self, version: &'static str, agent: Option<&'static Agent>) {
        self.version = Some(version);
        self.agent = agent;
        self.has_cacheable_results = false;
        self.subscriptions.begin();
    }

    /// Returns the name of the agent that the client is, if it is a known one.
    pub fn agent(&self) -> Option<&'static str> {
        self.agent.map(|agent| agent.name)
    }

    /// Returns the notifications of a change for the client.
    pub fn notifications(&self, change: &Change) -> Vec<Notification> {
        self.subscriptions
            .notifications(change, self.caller.prefix.as_ref())
    }
}

/// The instructions for a model. Codex shows only the first line, up to 250 characters, so that
/// line has to make sense by itself.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// `ping`.
pub(super) fn ping(_: &Context, _: Empty) -> Result<Empty, Failure> {
    Ok(Empty {})
}

/// `logging/setLevel`. The server never sends log messages, at any level.
///
/// # Errors
/// The level does not exist.
pub(super) fn set_level(_: &Context, params: SetLevelParams<'_>) -> Result<Empty, Failure> {
    era::check_log_level("level", Some(params.level))?;
    Ok(Empty {})
}

/// `initialize`: negotiates the version that the client requests if it is a legacy one, else the
/// newest legacy version. It may be repeated.
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
    session.begin(version, era::agent_of_client(client_info.as_ref()));
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
    // The schema has no such member, but clients may rely on this echo.
    if let Some(client_info) = client_info {
        result["clientInfo"] = client_info;
    }
    Ok(result)
}

/// `server/discover` (2026-07-28).
pub(super) fn discover(_: &Context, _: Empty) -> Result<Outcome, Failure> {
    let mut capabilities = capabilities();
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

/// Returns the capabilities that a server has in every conversation.
fn capabilities() -> Value {
    let list = json!({ "listChanged": true });
    json!({ "tools": list, "prompts": list, "resources": list, "completions": {} })
}

/// Returns the capabilities for a legacy client.
fn legacy_capabilities(session: &Session, context: &Context) -> Value {
    let mut capabilities = capabilities();
    if context.may_edit() {
        // The client may call `prompts/create`, `prompts/update` and `prompts/delete`, which are
        // not in the schema.
        capabilities["prompts"]["mutable"] = true.into();
    }
    if !session.is_one_request {
        capabilities["resources"]["subscribe"] = true.into();
    }
    // `logging/setLevel` is accepted.
    capabilities["logging"] = json!({});
    capabilities
}

/// `resources/subscribe`.
///
/// # Errors
/// No prompt can have this URI; there are too many subscriptions; the conversation is a single
/// request.
pub(super) fn subscribe(
    session: &mut Session,
    context: &Context,
    params: ResourceParams<'_>,
) -> Result<Empty, Failure> {
    check_can_subscribe(session, "resources/subscribe")?;
    context.shared.watch();
    session.subscriptions.subscribe(params.uri)?;
    Ok(Empty {})
}

/// `resources/unsubscribe`.
///
/// # Errors
/// The conversation is a single request.
pub(super) fn unsubscribe(
    session: &mut Session,
    _: &Context,
    params: ResourceParams<'_>,
) -> Result<Empty, Failure> {
    check_can_subscribe(session, "resources/unsubscribe")?;
    session.subscriptions.unsubscribe(params.uri);
    Ok(Empty {})
}

fn check_can_subscribe(session: &Session, method: &str) -> Result<(), Failure> {
    if session.is_one_request {
        return Err(Failure::new(FailureKind::MethodNotFound, method));
    }
    Ok(())
}
