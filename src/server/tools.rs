//! The tools: one table that is both what `tools/list` shows and what `tools/call` calls. Those that edit prompts are only for callers who
//! may do so.
//!
//! There are two kinds of errors, never mixed: a request that violates the protocol is a JSON-RPC error; what a model or a
//! person can correct is a result with `isError`.

mod create_prompt;
mod delete_prompt;
mod editing_tools;
mod expand_prompt;
mod list_prompts;
mod parts;
mod prompt_history;
mod restore_prompt;
mod update_prompt;

pub use parts::LEAST_LIMIT;

use super::Work;
use super::editing::{Editing, Seen};
use super::lifecycle::{Era, Failure, FailureKind};
use crate::agents::PartLimit;
use crate::jsonrpc::{Mismatch, Object, read};
use crate::library::{Names, View};
use crate::mcp::{CallToolParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations};
use crate::wording::quoted;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The tools, in the order of the listing. The first one works without arguments, as some clients try it.
pub(super) const TOOLS: &[ServerTool] = &[
    list_prompts::TOOL,
    expand_prompt::TOOL,
    create_prompt::TOOL,
    update_prompt::TOOL,
    delete_prompt::TOOL,
    prompt_history::TOOL,
    restore_prompt::TOOL,
];

/// Codex refuses to call, or asks before it calls, a tool that is not annotated as read-only.
pub(super) const READ_ONLY: ToolAnnotations =
    ToolAnnotations { read_only_hint: true, destructive_hint: false, idempotent_hint: true, open_world_hint: false };

/// Agents ask their user before they call such a tool.
const REPLACES: ToolAnnotations =
    ToolAnnotations { read_only_hint: false, destructive_hint: true, idempotent_hint: true, open_world_hint: false };

/// A tool as clients see it, and the function that it calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// For a model; made for each listing.
    pub(super) description: fn(&Names) -> String,
    pub(super) input_schema: fn() -> Value,
    pub(super) output_schema: fn() -> Value,
    pub(super) annotations: ToolAnnotations,
    /// Whether Claude Code should show the tool to its model before any search.
    pub(super) is_always_loaded: bool,
    pub(super) work: Work,
    /// How many characters of a result Claude Code should show its model; `None`: its default, 50,000.
    pub(super) shown_by_claude_code: Option<u32>,
    pub(super) handler: Handler,
}

/// The function of a tool, which returns structured content by the output schema.
#[derive(Debug, Clone, Copy)]
pub(super) enum Handler {
    /// For all callers.
    Read(fn(&mut ToolCall<'_>) -> Result<Box<RawValue>, ToolError>),
    /// For callers who may edit prompts, with the arguments.
    Edit(fn(&mut Editing<'_>, &Object) -> Result<Box<RawValue>, ToolError>),
}

impl ServerTool {
    /// Whether a caller may call it.
    fn is_for(&self, may_edit: bool) -> bool {
        may_edit || matches!(self.handler, Handler::Read(_))
    }
}

/// A call of a tool for all callers.
#[derive(Debug)]
pub(super) struct ToolCall<'c> {
    pub(super) view: &'c View,
    pub(super) arguments: &'c Object,
    /// The longest result that the client gets in one part; `None` if it gets all of it.
    pub(super) limit: Option<PartLimit>,
    /// What the conversation has seen, for callers who may edit prompts.
    pub(super) seen: Option<&'c mut Seen>,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The arguments do not match the input schema.
    Arguments(String),
    /// A mistake that a model or a person can correct.
    Execution(String),
    /// A bug in this program.
    Internal(String),
}

impl From<Mismatch> for ToolError {
    fn from(mismatch: Mismatch) -> Self {
        ToolError::Arguments(mismatch.to_string())
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        ToolError::Internal(error.to_string())
    }
}

/// `tools/list`. With prompts that services render, an expansion depends on more than the files of this machine.
pub(super) fn list(tools: &[ServerTool], names: &Names, may_edit: bool, calls_services: bool) -> ListToolsResult {
    let tools = tools.iter().filter(|tool| tool.is_for(may_edit)).map(|tool| Tool {
        name: tool.name,
        title: tool.title,
        description: (tool.description)(names),
        input_schema: (tool.input_schema)(),
        output_schema: (tool.output_schema)(),
        annotations: ToolAnnotations {
            open_world_hint: calls_services && tool.name == expand_prompt::TOOL.name,
            ..tool.annotations
        },
        meta: [
            ("anthropic/alwaysLoad", tool.is_always_loaded.then_some(json!(true))),
            ("anthropic/maxResultSizeChars", tool.shown_by_claude_code.map(Value::from)),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect(),
    });
    ListToolsResult { tools: tools.collect() }
}

/// A hash of the current descriptions of the tools for all callers, which name the commands; those of the others never change.
pub(super) fn descriptions_hash(names: &Names) -> u64 {
    let mut hasher = DefaultHasher::new();
    TOOLS.iter().filter(|tool| tool.is_for(false)).for_each(|tool| (tool.description)(names).hash(&mut hasher));
    hasher.finish()
}

/// `tools/call`. `editing` is an error for a caller who may not edit prompts, which says what is needed.
///
/// # Errors
/// The tool is unknown to the caller; invalid params; in the legacy era also arguments that do not match the input schema.
pub(super) fn call(
    tools: &[ServerTool],
    view: &View,
    era: Era,
    limit: Option<PartLimit>,
    mut editing: Result<Editing<'_>, String>,
    params: &Object,
) -> Result<ToolResult, Failure> {
    let CallToolParams { name } = read(params)?;
    let may_edit = editing.is_ok();
    let unknown = |how_to_edit: &str| {
        let names: Vec<&str> = tools.iter().filter(|tool| tool.is_for(may_edit)).map(|tool| tool.name).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        let text =
            format!("unknown tool {}; the tools are {} and {last}{how_to_edit}", quoted(name), others.join(", "));
        Failure::new(FailureKind::UnknownTool, text)
    };
    let tool = tools.iter().find(|tool| tool.name == name).ok_or_else(|| unknown(""))?;
    let none = Object::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Failure::invalid_params("`arguments` must be an object")),
    };
    let outcome = match (tool.handler, &mut editing) {
        (Handler::Read(call), editing) => {
            let seen = editing.as_mut().ok().map(|editing| &mut *editing.seen);
            call(&mut ToolCall { view, arguments, limit, seen })
        }
        (Handler::Edit(call), Ok(editing)) => call(editing, arguments),
        (Handler::Edit(_), Err(how)) => return Err(unknown(&format!("; {how}"))),
    };
    match outcome {
        Ok(structured) => Ok(ToolResult::Structured(structured)),
        Err(ToolError::Internal(text)) => Err(Failure::new(FailureKind::Internal, text)),
        Err(ToolError::Arguments(text)) if !era.lets_model_correct_arguments() => Err(Failure::invalid_params(text)),
        Err(ToolError::Arguments(text) | ToolError::Execution(text)) => {
            tracing::info!(tool = tool.name, reason = text, "the tool refused");
            Ok(ToolResult::Error(text))
        }
    }
}

/// The result of `tools/call`. The structured content is serialized once: its JSON is also the text of `content`.
#[derive(Debug)]
pub(super) enum ToolResult {
    Structured(Box<RawValue>),
    Error(String),
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (text, structured_content) = match self {
            ToolResult::Structured(json) => (json.get(), Some(&**json)),
            ToolResult::Error(text) => (text.as_str(), None),
        };
        let content = [TextContent { text: text.into() }];
        CallToolResult { content, structured_content, is_error: structured_content.is_none() }.serialize(serializer)
    }
}
