//! What the server knows of one conversation, and the methods of the conversation itself: how it
//! begins, and what it subscribes to.

use super::context::{self, Answer, Context, Era, Failure, FailureKind};
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
    is_one_request: bool,
    /// Whether the client was shown something that it may cache until it is notified of a change.
    pub(super) was_shown_something: bool,
}

impl Session {
    /// The conversation of a pipe or a WebSocket.
    pub fn new(caller: impl Into<Arc<Caller>>) -> Session {
        Session {
            version: None,
            agent: None,
            caller: caller.into(),
            subscriptions: Subscriptions::default(),
            is_one_request: false,
            was_shown_something: false,
        }
    }

    /// One request of a conversation that is not remembered: a legacy client cannot subscribe to
    /// resources in it. `version` is what the conversation has negotiated, and `agent` the name of
    /// its agent.
    pub fn of_request(
        caller: impl Into<Arc<Caller>>,
        version: Option<&str>,
        agent: Option<&str>,
    ) -> Session {
        let (version, agent) = (
            version.and_then(context::legacy_version),
            agent.and_then(Agent::named),
        );
        Session {
            version,
            agent,
            is_one_request: true,
            ..Session::new(caller)
        }
    }

    /// The conversation of a stream on which legacy clients are notified of changes of all lists.
    pub fn of_notifications(caller: impl Into<Arc<Caller>>) -> Session {
        let mut session = Session::of_request(caller, Some(context::WITH_BATCHES), None);
        session.subscriptions.is_initialized = true;
        session
    }

    /// `initialize`: begins, possibly for the second time.
    pub(super) fn begin(&mut self, version: &'static str, agent: Option<&'static Agent>) {
        (self.version, self.agent, self.was_shown_something) = (Some(version), agent, false);
        self.subscriptions.begin();
    }

    /// The name of the agent that the client is, if it is a known one.
    pub fn agent(&self) -> Option<&'static str> {
        self.agent.map(|agent| agent.name)
    }

    /// The notifications of a change for the client.
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
/// The level is unknown.
pub(super) fn set_level(_: &Context, params: SetLevelParams<'_>) -> Result<Empty, Failure> {
    context::check_level("level", Some(params.level)).map(|()| Empty {})
}

/// `initialize`: the client's version if it is a legacy one, else the newest legacy version. It may
/// be repeated.
pub(super) fn initialize(
    session: &mut Session,
    asked: &Context,
    params: InitializeParams<'_>,
) -> Result<Value, Failure> {
    let InitializeParams {
        protocol_version: requested,
        client_info,
    } = params;
    let [.., newest] = context::LEGACY;
    let version = context::legacy_version(requested).unwrap_or(newest);
    tracing::info!(client = %context::logged(&client_info), requested, version, "initialize");
    session.begin(version, context::agent(client_info.as_ref()));
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": capabilities(Era::Legacy, !session.is_one_request, asked.may_edit()),
        "serverInfo": context::server_info(version == newest),
        "instructions": INSTRUCTIONS.trim_ascii_end(),
    });
    // The schema has no such member, but clients may rely on this echo.
    if let Some(client_info) = client_info {
        result["clientInfo"] = client_info;
    }
    Ok(result)
}

/// `server/discover` (2026-07-28).
pub(super) fn discover(_: &Context, _: Empty) -> Result<Answer, Failure> {
    let result = json!({
        "supportedVersions": context::MODERN,
        "capabilities": capabilities(Era::Modern, true, false),
        "instructions": INSTRUCTIONS.trim_ascii_end(),
    });
    Ok(Answer::Now(context::modern_result(
        Json::of(&result)?,
        Some(context::CONSTANT),
        &context::server_info(true).to_string(),
    )))
}

/// `mutable`: the client may call `prompts/create`, `prompts/update` and `prompts/delete`, which
/// are not in the schema. `logging`: `logging/setLevel` is accepted, which 2026-07-28 no longer
/// has.
fn capabilities(era: Era, can_subscribe: bool, may_edit: bool) -> Value {
    let has_list = json!({ "listChanged": true });
    let mut capabilities =
        json!({ "tools": has_list, "prompts": has_list, "resources": has_list, "completions": {} });
    if may_edit {
        capabilities["prompts"]["mutable"] = true.into();
    }
    if can_subscribe {
        capabilities["resources"]["subscribe"] = true.into();
    }
    if era == Era::Legacy {
        capabilities["logging"] = json!({});
    }
    capabilities
}

/// `resources/subscribe`.
///
/// # Errors
/// No prompt can have this URI; too many subscriptions; nothing of the conversation is remembered.
pub(super) fn subscribe(
    session: &mut Session,
    asked: &Context,
    params: ResourceParams<'_>,
) -> Result<Empty, Failure> {
    check_is_remembered(session, "resources/subscribe")?;
    asked.shared.watch();
    session
        .subscriptions
        .subscribe(params.uri)
        .map(|()| Empty {})
}

/// `resources/unsubscribe`.
///
/// # Errors
/// Nothing of the conversation is remembered.
pub(super) fn unsubscribe(
    session: &mut Session,
    _: &Context,
    params: ResourceParams<'_>,
) -> Result<Empty, Failure> {
    check_is_remembered(session, "resources/unsubscribe")?;
    session.subscriptions.unsubscribe(params.uri);
    Ok(Empty {})
}

fn check_is_remembered(session: &Session, method: &str) -> Result<(), Failure> {
    if session.is_one_request {
        Err(Failure::new(FailureKind::MethodNotFound, method))
    } else {
        Ok(())
    }
}
