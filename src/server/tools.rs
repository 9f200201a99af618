//! The tools: one table that is both what `tools/list` shows and what `tools/call` calls. Those
//! that edit prompts are only for callers who may do so.
//!
//! There are two kinds of errors, never mixed: a request that violates the protocol is a JSON-RPC
//! error; what a model or a person can correct is a result with `isError`.

mod edit;
mod expand;
mod list;
mod parts;

pub use parts::MIN_PART_LIMIT;

use super::context::Context;
use super::era::Era;
use super::failure::{Failure, FailureKind};
use super::pagination;
use super::reply::{LongestWait, Outcome};
use crate::jsonrpc::{Json, Object, read_object, write_string};
use crate::library::{Role, View};
use crate::mcp::{CallToolParams, PaginatedParams};
use crate::prompt::Name;
use crate::wording::quoted;
use serde_json::{Value, json};

/// A row of the table of tools.
pub(super) struct Tool {
    name: &'static str,
    /// What clients see, in JSON.
    definition: &'static str,
    /// What a call may wait for.
    pub(super) longest_wait: LongestWait,
    /// Who may call it.
    role: Role,
    run: fn(&Context, &Object) -> Result<Outcome, Failure>,
}

macro_rules! tools {
    ($($name:literal $longest_wait:ident $role:ident $run:path;)*) => {
        /// The tools, in the order of the listing. The first one works without arguments, as some
        /// clients try it.
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

/// Returns the tools that the caller may call.
fn tools_for(context: &Context) -> impl Iterator<Item = &'static Tool> {
    let may_edit = context.may_edit();
    let tools = TOOLS.iter();
    tools.filter(move |tool| tool.role <= Role::Read || may_edit)
}

/// `tools/list`.
///
/// # Errors
/// There is a cursor.
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

/// Adds to the definition of `expand_prompt` how prompts are called and which there are. No file is
/// read for it, so a draft that nobody has edited may be among them.
fn describe_prompts(definition: &mut Object, names: &[Name], view: &View) {
    let mut description = definition["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if view.expands_mentions() {
        description += expand::MENTIONS;
    }
    description += &expand::commands(names, expand::NAMES_BUDGET);
    definition["description"] = description.into();
    // An expansion by a service depends on more than the files of this machine.
    definition["annotations"]["openWorldHint"] = view.calls_services().into();
}

/// Returns the tool that a request calls.
///
/// # Errors
/// The params are invalid; the tool does not exist, or not for this caller.
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

/// `tools/call`: calls a tool, and makes the result of its outcome.
///
/// # Errors
/// The params are invalid; in the legacy era also arguments that do not match the input schema.
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

/// Returns the `CallToolResult` of a call that succeeded. The structured content (2025-06-18) is
/// serialized once: its JSON is also the text of `content`.
fn tool_result(structured: &Json, era: Era) -> Json {
    let structured = structured.as_str();
    call_tool_result(structured, ["structuredContent", structured], era)
}

/// Returns the `CallToolResult` of a call that failed, if the model can do something about it.
/// Since the modern era, that includes arguments that do not match the input schema.
///
/// # Errors
/// The failure, if it is an error of the protocol.
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
    Ok(call_tool_result(&failure.text, ["isError", "true"], era))
}

/// Writes a `CallToolResult` with a text and one more member, whose value is JSON.
fn call_tool_result(text: &str, [name, value]: [&str; 2], era: Era) -> Json {
    // Most texts are in it twice, and some of their characters are escaped.
    let mut json = String::with_capacity(5 * text.len() / 2 + 256);
    json.push_str(r#"{"content":[{"type":"text","text":"#);
    write_string(&mut json, text);
    json.push_str("}],\"");
    json.push_str(name);
    json.push_str("\":");
    json.push_str(value);
    json.push('}');
    era.result(Json::from_text(json), None)
}
