//! The tools: one table that is both what `tools/list` shows and what `tools/call` calls.
//!
//! Errors take two roads, never mixed: a request that does not fit the protocol is a JSON-RPC error, what a model or a
//! person can mend is a result with `isError`.

mod expand_prompt;
mod list_prompts;

use super::lifecycle::Era;
use crate::jsonrpc::Error;
use crate::library::Library;
use crate::mcp::{CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations};
use crate::wording::quoted;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The tools, in the order of the listing. The first works without arguments, as some clients try.
pub(super) const TOOLS: &[ServerTool] = &[list_prompts::TOOL, expand_prompt::TOOL];

/// A tool as clients see it, and the function behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// For a model; made anew for each listing.
    pub(super) description: fn(&Library) -> String,
    pub(super) input_schema: fn() -> Value,
    pub(super) output_schema: fn() -> Value,
    /// The `structuredContent`, by the output schema.
    pub(super) call: fn(&Library, Map<String, Value>) -> Called,
}

/// What a call gives: the structured content as JSON, or why there is none.
pub(super) type Called = Result<Box<RawValue>, ToolError>;

/// Why a call failed.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The arguments do not fit the input schema.
    Arguments(String),
    /// What a model, or the person behind it, can act on.
    Execution(String),
    /// A fault of ours.
    Internal(String),
}

/// `tools/list`.
pub(super) fn list(tools: &[ServerTool], library: &Library) -> ListToolsResult {
    let tools = tools.iter().map(|tool| Tool {
        name: tool.name,
        title: tool.title,
        description: (tool.description)(library),
        input_schema: (tool.input_schema)(),
        output_schema: (tool.output_schema)(),
        // Codex refuses, or asks before, a call of a tool that does not say that it only reads.
        annotations: ToolAnnotations {
            read_only_hint: true,
            destructive_hint: false,
            idempotent_hint: true,
            open_world_hint: false,
        },
        // Claude Code shows a tool to its model before any search only if it says so.
        meta: Map::from_iter([("anthropic/alwaysLoad".to_owned(), json!(true))]),
    });
    ListToolsResult { tools: tools.collect() }
}

/// What the tools' descriptions say now; they name the commands.
pub(super) fn descriptions(tools: &[ServerTool], library: &Library) -> Vec<String> {
    tools.iter().map(|tool| (tool.description)(library)).collect()
}

/// `tools/call`.
pub(super) fn call(
    tools: &[ServerTool],
    library: &Library,
    era: Era,
    mut params: Map<String, Value>,
) -> Result<CallToolResult, Error> {
    let Some(Value::String(name)) = params.get("name") else {
        return Err(Error::invalid_params("`name` must be a string, the tool's name"));
    };
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        let message = format!("unknown tool {}; the tools are {}", quoted(name), names.join(" and "));
        return Err(match era {
            // The revisions say -32602; the clients that this server was made for expect this.
            Era::Legacy => Error::method_not_found(message),
            Era::Modern => Error::invalid_params(message),
        });
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Error::invalid_params("`arguments` must be an object")),
    };
    match ((tool.call)(library, arguments), era) {
        (Ok(structured), _) => Ok(CallToolResult {
            content: [TextContent { text: structured.get().to_owned() }],
            structured_content: Some(structured),
            is_error: false,
        }),
        (Err(ToolError::Internal(message)), _) => Err(Error::internal(message)),
        // A client's error in the legacy era; 2025-11-25 and later would have a model correct itself.
        (Err(ToolError::Arguments(message)), Era::Legacy) => Err(Error::invalid_params(message)),
        (Err(ToolError::Arguments(message) | ToolError::Execution(message)), _) => {
            Ok(CallToolResult { content: [TextContent { text: message }], structured_content: None, is_error: true })
        }
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        ToolError::Internal(error.to_string())
    }
}
