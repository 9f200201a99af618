//! The methods of a conversation itself: how it begins, and what it subscribes to.

use super::context::{Answer, Context};
use super::era::{self, Era};
use super::failure::{Failure, FailureKind};
use super::session::Session;
use crate::mcp::{
    DiscoverResult, Empty, InitializeParams, InitializeResult, ListChanged, PromptsCapability, ResourceParams,
    ResourcesCapability, ServerCapabilities, SetLevelParams,
};

/// The instructions for a model. Codex shows only the first line, up to 250 characters, so that line has to make sense by
/// itself.
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
    era::check_level("level", Some(params.level)).map(|()| Empty {})
}

/// `initialize`: the client's version if it is a legacy one, else the newest legacy version. It may be repeated.
pub(super) fn initialize(
    session: &mut Session,
    context: &Context,
    params: InitializeParams<'_>,
) -> Result<InitializeResult, Failure> {
    let InitializeParams { protocol_version: requested, client_info } = params;
    let [.., newest] = era::LEGACY;
    let version = era::legacy_version(requested).unwrap_or(newest);
    tracing::info!(client = %era::logged(&client_info), requested, version, "initialize");
    session.begin(version, era::agent(client_info.as_ref()));
    Ok(InitializeResult {
        protocol_version: version,
        capabilities: capabilities(Era::Legacy, !session.is_one_request(), context.may_edit()),
        server_info: if version == newest { era::server_info_with_icon() } else { era::SERVER_INFO },
        instructions: INSTRUCTIONS.trim_ascii_end(),
        client_info,
    })
}

/// `server/discover` (2026-07-28).
pub(super) fn discover(_: &Context, _: Empty) -> Result<Answer, Failure> {
    let result = DiscoverResult {
        supported_versions: era::MODERN,
        capabilities: capabilities(Era::Modern, true, false),
        instructions: INSTRUCTIONS.trim_ascii_end(),
    };
    Ok(Answer::Now(era::modern_result(&result, Some(era::CONSTANT), era::server_info_with_icon())?))
}

fn capabilities(era: Era, can_subscribe: bool, may_edit: bool) -> ServerCapabilities {
    ServerCapabilities {
        tools: ListChanged { list_changed: true },
        prompts: PromptsCapability { list_changed: true, mutable: may_edit },
        resources: ResourcesCapability { subscribe: can_subscribe, list_changed: true },
        completions: Empty {},
        logging: (era == Era::Legacy).then_some(Empty {}),
    }
}

/// `resources/subscribe`.
///
/// # Errors
/// No prompt can have this URI; too many subscriptions; nothing of the conversation is remembered.
pub(super) fn subscribe(
    session: &mut Session,
    context: &Context,
    params: ResourceParams<'_>,
) -> Result<Empty, Failure> {
    check_is_remembered(session, "resources/subscribe")?;
    context.shared.watch();
    session.subscriptions.subscribe(params.uri).map(|()| Empty {})
}

/// `resources/unsubscribe`.
///
/// # Errors
/// Nothing of the conversation is remembered.
pub(super) fn unsubscribe(session: &mut Session, _: &Context, params: ResourceParams<'_>) -> Result<Empty, Failure> {
    check_is_remembered(session, "resources/unsubscribe")?;
    session.subscriptions.unsubscribe(params.uri);
    Ok(Empty {})
}

fn check_is_remembered(session: &Session, method: &str) -> Result<(), Failure> {
    if session.is_one_request() { Err(Failure::new(FailureKind::MethodNotFound, method)) } else { Ok(()) }
}
