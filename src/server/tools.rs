//! The tools: one table that is both what `tools/list` shows and what `tools/call` calls. Those that edit prompts are only for callers who
//! may do so.
//!
//! There are two kinds of errors, never mixed: a request that violates the protocol is a JSON-RPC error; what a model or a
//! person can correct is a result with `isError`.

mod edit;
mod expand;
mod list;
mod parts;
mod tool;

pub use parts::LEAST_LIMIT;

use super::context::{Answer, Context};
use super::cursor;
use super::era::Era;
use super::failure::{Failure, FailureKind};
use crate::jsonrpc::{Object, read};
use crate::mcp::{
    self, CallToolParams, CallToolResult, ListToolsResult, PaginatedParams, TextContent, ToolAnnotations,
};
use crate::wording::quoted;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool::{Content, Tool, ToolError, schema};

/// The tools, in the order of the listing. The first one works without arguments, as some clients try it.
static TOOLS: &[Tool] =
    &[list::TOOL, expand::TOOL, edit::CREATE, edit::UPDATE, edit::DELETE, edit::HISTORY, edit::RESTORE];

/// `tools/list`. With prompts that services render, an expansion depends on more than the files of this machine.
///
/// # Errors
/// There is a cursor.
pub(super) fn list(context: &Context, params: PaginatedParams<'_>) -> Result<ListToolsResult, Failure> {
    cursor::only_page(params)?;
    let names = context.view().list().names();
    let calls_services = context.shared.library.view().calls_services();
    let tools = TOOLS.iter().filter(|tool| tool.is_for(context)).map(|tool| mcp::Tool {
        name: tool.name,
        title: tool.title,
        description: (tool.description)(&names),
        input_schema: schema(tool.takes),
        output_schema: schema(tool.gives),
        annotations: ToolAnnotations {
            open_world_hint: calls_services && tool.name == expand::TOOL.name,
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
    Ok(ListToolsResult { tools: tools.collect() })
}

/// The tool that a request calls.
///
/// # Errors
/// Invalid params; there is no such tool, or not for this caller.
pub(super) fn find(context: &Context, params: &Object) -> Result<&'static Tool, Failure> {
    let CallToolParams { name } = read(params)?;
    let found = TOOLS.iter().find(|tool| tool.name == name);
    found.filter(|tool| tool.is_for(context)).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().filter(|tool| tool.is_for(context)).map(|tool| tool.name).collect();
        let how = found.map(|_| format!("; {}", context.how_to_edit())).unwrap_or_default();
        let text = format!("unknown tool {}; the tools are {}{how}", quoted(name), names.join(", "));
        Failure::new(FailureKind::UnknownTool, text)
    })
}

/// `tools/call`.
///
/// # Errors
/// Invalid params; in the legacy era also arguments that do not match the input schema.
pub(super) fn call(tool: &'static Tool, context: &Context, params: &Object) -> Result<Answer, Failure> {
    let none = Object::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Failure::invalid_params("`arguments` must be an object")),
    };
    let era = context.era;
    match (tool.run)(context, arguments) {
        Ok(Content::Later(work)) => Ok(Answer::Later(Box::new(move || result(tool, era, work())))),
        Ok(Content::Now(structured)) => result(tool, era, Ok(structured)).map(Answer::Now),
        Err(error) => result(tool, era, Err(error)).map(Answer::Now),
    }
}

/// The result of a call. The structured content is serialized once: its JSON is also the text of `content`.
fn result(tool: &Tool, era: Era, outcome: Result<Box<RawValue>, ToolError>) -> Result<Box<RawValue>, Failure> {
    let (text, structured_content) = match &outcome {
        Ok(structured) => (structured.get(), Some(&**structured)),
        Err(ToolError::Internal(text)) => return Err(Failure::new(FailureKind::Internal, text)),
        Err(ToolError::Arguments(text)) if !era.lets_model_correct_arguments() => {
            return Err(Failure::invalid_params(text));
        }
        Err(ToolError::Arguments(text) | ToolError::Execution(text)) => {
            tracing::info!(tool = tool.name, reason = text, "the tool refused");
            (text.as_str(), None)
        }
    };
    let content = [TextContent { text: text.into() }];
    let is_error = structured_content.is_none();
    era.result(&CallToolResult { content, structured_content, is_error }, None)
}
