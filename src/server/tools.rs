//! The tools: one table that is both what `tools/list` shows and what `tools/call` calls.
//!
//! There are two kinds of errors, never mixed: a request that violates the protocol is a JSON-RPC error; what a model or a
//! person can correct is a result with `isError`.

mod expand_prompt;
mod list_prompts;
mod parts;

pub use parts::LEAST_LIMIT;

use super::Work;
use super::lifecycle::{Era, Failure, FailureKind};
use crate::agents::PartLimit;
use crate::jsonrpc::{Object, read};
use crate::library::{Names, View};
use crate::mcp::{CallToolParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations};
use crate::wording::quoted;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The tools, in the order of the listing. The first one works without arguments, as some clients try it.
pub(super) const TOOLS: &[ServerTool] = &[list_prompts::TOOL, expand_prompt::TOOL];

/// A tool as clients see it, and the function that it calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// For a model; made for each listing.
    pub(super) description: fn(&Names) -> String,
    pub(super) input_schema: fn() -> Value,
    pub(super) output_schema: fn() -> Value,
    pub(super) work: Work,
    /// How many characters of a result Claude Code should show its model; `None`: its default, 50,000.
    pub(super) shown_by_claude_code: Option<u32>,
    /// Returns structured content by the output schema.
    pub(super) call: fn(&ToolCall<'_>) -> Result<Box<RawValue>, ToolError>,
}

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolCall<'c> {
    pub(super) view: &'c View,
    pub(super) arguments: &'c Object,
    /// The longest result that the client gets in one part; `None` if it gets all of it.
    pub(super) limit: Option<PartLimit>,
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

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        ToolError::Internal(error.to_string())
    }
}

/// `tools/list`.
pub(super) fn list(tools: &[ServerTool], names: &Names) -> ListToolsResult {
    let tools = tools.iter().map(|tool| Tool {
        name: tool.name,
        title: tool.title,
        description: (tool.description)(names),
        input_schema: (tool.input_schema)(),
        output_schema: (tool.output_schema)(),
        // Codex refuses to call, or asks before it calls, a tool that is not annotated as read-only.
        annotations: ToolAnnotations {
            read_only_hint: true,
            destructive_hint: false,
            idempotent_hint: true,
            open_world_hint: false,
        },
        // Claude Code shows a tool to its model before any search only if the tool asks for it.
        meta: [
            ("anthropic/alwaysLoad", Some(json!(true))),
            ("anthropic/maxResultSizeChars", tool.shown_by_claude_code.map(Value::from)),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect(),
    });
    ListToolsResult { tools: tools.collect() }
}

/// A hash of the current descriptions of the tools, which name the commands.
pub(super) fn descriptions_hash(tools: &[ServerTool], names: &Names) -> u64 {
    let mut hasher = DefaultHasher::new();
    tools.iter().for_each(|tool| (tool.description)(names).hash(&mut hasher));
    hasher.finish()
}

/// `tools/call`.
///
/// # Errors
/// The tool is unknown; invalid params; in the legacy era also arguments that do not match the input schema.
pub(super) fn call(
    tools: &[ServerTool],
    view: &View,
    era: Era,
    limit: Option<PartLimit>,
    params: &Object,
) -> Result<ToolResult, Failure> {
    let CallToolParams { name } = read(params)?;
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        let text = format!("unknown tool {}; the tools are {}", quoted(name), names.join(" and "));
        return Err(Failure::new(FailureKind::UnknownTool, text));
    };
    let none = Object::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Failure::invalid_params("`arguments` must be an object")),
    };
    match (tool.call)(&ToolCall { view, arguments, limit }) {
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
