//! The tools: a single table determines both what `tools/list` returns and what `tools/call` can
//! call. Tools that edit prompts are available only to callers who may do so.
//!
//! Errors fall into two groups: requests that violate the protocol get a JSON-RPC error, and errors
//! that a model or person can correct are returned as a result with `isError`.

mod edit;
mod expand;
mod list;
mod parts;

pub use parts::MIN_PART_LIMIT;

use super::context::Context;
use super::era::{Era, NO_CACHING};
use super::failure::{Failure, FailureKind};
use super::pagination;
use super::reply::{LongestWait, Outcome};
use crate::jsonrpc::{Json, Object, read_object, write_string};
use crate::library::{Role, View};
use crate::mcp::{CallToolParams, PaginatedParams};
use crate::prompt::Name;
use crate::wording::quoted;
use serde_json::{Value, json};

/// An entry of the table of tools.
pub(super) struct Tool {
    name: &'static str,
    /// The JSON definition that clients see.
    definition: &'static str,
    /// The longest that a call may block.
    pub(super) longest_wait: LongestWait,
    /// The role that a caller needs.
    role: Role,
    run: fn(&Context, &Object) -> Result<Outcome, Failure>,
}

macro_rules! tools {
    ($($name:literal $longest_wait:ident $role:ident $run:path;)*) => {
        /// The tools, in the order of the listing. The first one must work without arguments,
        /// because some clients call it to test the connection.
        static TOOLS: &[Tool] = &[$(Tool {
            name: $name,
            definition: include_str!(concat!("tools/", $name, ".json")),
            longest_wait: LongestWait::$longest_wait,
            role: Role::$role,
            run: $run,
        }),*];
    };
}

tools! {
    "list_prompts"   Folders Read  list::run;
    "expand_prompt"  Files   Read  expand::run;
    "create_prompt"  Write   Write edit::create;
    "update_prompt"  Write   Write edit::update;
    "delete_prompt"  Write   Write edit::delete;
    "prompt_history" Folders Write edit::history;
    "restore_prompt" Write   Write edit::restore;
}

/// Returns the tools available to the caller.
fn tools_for(context: &Context) -> impl Iterator<Item = &'static Tool> {
    let may_edit = context.may_edit();
    let tools = TOOLS.iter();
    tools.filter(move |tool| tool.role <= Role::Read || may_edit)
}

/// Handles `tools/list`.
///
/// # Errors
/// Fails if there is a cursor.
pub(super) fn list(context: &Context, params: PaginatedParams<'_>) -> Result<Value, Failure> {
    pagination::reject_cursor(params)?;
    let view = context.view();
    let names = view.list().names();
    let mut definitions = Vec::new();
    for tool in tools_for(context) {
        let mut definition: Object = serde_json::from_str(tool.definition)?;
        if tool.name == "expand_prompt" {
            describe_prompts(&mut definition, &names, &view);
        }
        definitions.push(definition);
    }
    Ok(json!({ "tools": definitions }))
}

/// Extends the definition of `expand_prompt` with the available commands and how to call them.
///
/// To avoid reading files, unedited drafts are not filtered out.
fn describe_prompts(definition: &mut Object, names: &[Name], view: &View) {
    let mut description = definition["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if view.expands_mentions() {
        description += expand::MENTIONS;
    }
    description += &expand::list_commands(names, expand::DESCRIPTION_NAMES_BYTES);
    definition["description"] = description.into();
    // Remote services are outside of the server's own, closed domain.
    definition["annotations"]["openWorldHint"] = view.calls_services().into();
}

/// Finds the tool that a request calls.
///
/// # Errors
/// Fails if the parameters are invalid, or if the tool doesn't exist or isn't available to the
/// caller.
pub(super) fn find(context: &Context, params: &Object) -> Result<&'static Tool, Failure> {
    let CallToolParams { name } = read_object(params)?;
    if let Some(tool) = tools_for(context).find(|tool| tool.name == name) {
        return Ok(tool);
    }
    let names: Vec<&str> = tools_for(context).map(|tool| tool.name).collect();
    let mut text = format!(
        "unknown tool {}; the tools are {}",
        quoted(name),
        names.join(", ")
    );
    if TOOLS.iter().any(|tool| tool.name == name) {
        text += &format!("; {}", context.how_to_edit());
    }
    Err(Failure::new(FailureKind::UnknownTool, text))
}

/// Handles `tools/call`: runs a tool and wraps its outcome in a `CallToolResult`.
///
/// # Errors
/// Fails if the parameters are invalid. In the legacy era, also fails if the arguments don't match
/// the tool's input schema.
pub(super) fn call(
    tool: &'static Tool,
    context: &Context,
    params: &Object,
) -> Result<Outcome, Failure> {
    let no_arguments = Object::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &no_arguments,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Failure::invalid_params("`arguments` must be an object")),
    };
    let era = context.era;
    match (tool.run)(context, arguments) {
        Ok(Outcome::Now(structured)) => Ok(Outcome::Now(tool_result(&structured, era))),
        Ok(Outcome::Deferred(work)) => Ok(Outcome::Deferred(Box::new(move || match work() {
            Ok(structured) => Ok(tool_result(&structured, era)),
            Err(failure) => failed_result(tool, failure, era),
        }))),
        Err(failure) => failed_result(tool, failure, era).map(Outcome::Now),
    }
}

/// Creates the `CallToolResult` of a successful call. The JSON of the structured content
/// (2025-06-18) is also the text of `content`.
fn tool_result(structured: &Json, era: Era) -> Json {
    let structured = structured.as_str();
    call_tool_result(structured, "structuredContent", structured, era)
}

/// Creates the `CallToolResult` of a failed call, if the model can correct the failure. In the
/// modern era, this includes arguments that don't match the input schema.
///
/// # Errors
/// Returns the failure unchanged if it is a protocol error.
fn failed_result(tool: &Tool, failure: Failure, era: Era) -> Result<Json, Failure> {
    let is_for_model = match failure.kind {
        FailureKind::ForModel => true,
        FailureKind::InvalidParams => era == Era::Modern,
        _ => false,
    };
    if !is_for_model {
        return Err(failure);
    }
    tracing::info!(tool = tool.name, reason = failure.text, "the tool refused");
    Ok(call_tool_result(&failure.text, "isError", "true", era))
}

/// Writes a `CallToolResult` with a text and an additional member, whose value is JSON.
fn call_tool_result(text: &str, member: &str, member_json: &str, era: Era) -> Json {
    // The result usually contains the text twice, once with some characters escaped.
    let mut json = String::with_capacity(5 * text.len() / 2 + 256);
    json.push_str(r#"{"content":[{"type":"text","text":"#);
    write_string(&mut json, text);
    json.push_str("}],\"");
    json.push_str(member);
    json.push_str("\":");
    json.push_str(member_json);
    json.push('}');
    era.result(Json::from_text(json), NO_CACHING)
}
