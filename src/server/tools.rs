//! The tools: one table that is both what `tools/list` shows and what `tools/call` calls.
//!
//! Errors take two roads, never mixed: a request that does not fit the protocol is a JSON-RPC error, what a model or a
//! person can mend is a result with `isError`.

mod expand_prompt;
mod list_prompts;

use super::lifecycle::Era;
use crate::json::{Escaped, Json, Object};
use crate::jsonrpc::Error;
use crate::library::View;
use crate::mcp::{CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations};
use crate::wording::quoted;
use serde_json::{Map, Value, json};

/// The tool that every `:command` needs.
pub(super) const EXPAND_PROMPT: &str = expand_prompt::TOOL.name;

/// The tools, in the order of the listing. The first works without arguments, as some clients try.
pub(super) const TOOLS: &[ServerTool] = &[list_prompts::TOOL, expand_prompt::TOOL];

/// A tool as clients see it, and the function behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// For a model; made anew for each listing.
    pub(super) description: fn(&View) -> String,
    pub(super) input_schema: fn() -> Value,
    pub(super) output_schema: fn() -> Value,
    /// A result with `structuredContent` by the output schema, as [`result`] writes it.
    pub(super) call: fn(&View, &Object<'_>) -> Called,
}

/// What a call gives: a `CallToolResult` that is no error, or why there is none.
pub(super) type Called = Result<Json, ToolError>;

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
pub(super) fn list(tools: &[ServerTool], library: &View) -> ListToolsResult {
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
pub(super) fn descriptions(tools: &[ServerTool], library: &View) -> Vec<String> {
    tools.iter().map(|tool| (tool.description)(library)).collect()
}

/// `tools/call`.
pub(super) fn call(tools: &[ServerTool], library: &View, era: Era, params: &Object<'_>) -> Result<Json, Error> {
    let name = params.required_text("name");
    let name = name.map_err(|unfit| Error::invalid_params(format!("`name` {unfit}, the tool's name")))?;
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        let message = format!("unknown tool {}; the tools are {}", quoted(name), names.join(" and "));
        return Err(match era {
            // The revisions say -32602; the clients that this server was made for expect this.
            Era::Legacy => Error::method_not_found(message),
            Era::Modern => Error::invalid_params(message),
        });
    };
    let arguments = params.object("arguments");
    let arguments = arguments.map_err(|unfit| Error::invalid_params(format!("`arguments` {unfit}")))?;
    match ((tool.call)(library, arguments.unwrap_or(&Object::default())), era) {
        (Ok(result), _) => Ok(result),
        (Err(ToolError::Internal(message)), _) => Err(Error::internal(message)),
        // A client's error in the legacy era; 2025-11-25 and later would have a model correct itself.
        (Err(ToolError::Arguments(message)), Era::Legacy) => Err(Error::invalid_params(message)),
        (Err(ToolError::Arguments(message) | ToolError::Execution(message)), _) => {
            tracing::info!(tool = name, reason = message, "the tool refused");
            let result = CallToolResult { content: [TextContent { text: message }], is_error: true };
            Json::of(&result).map_err(Error::internal)
        }
    }
}

/// What a tool answers: an object, in pieces.
///
/// A piece is JSON already or stands, unescaped, inside a string of it. So no text is escaped a second time, or copied but to
/// where it is written from.
pub(super) trait Structured: 'static {
    /// Gives the pieces, the same ones each time.
    fn pieces<'p>(&'p self, each: impl FnMut(Piece<'p>));

    /// About how many bytes they have.
    fn length(&self) -> usize;
}

/// The result of a call that went well: the structured content, and before it the same as a text.
pub(super) fn result(structured: impl Structured) -> Json {
    Json::unwritten(move |writer| {
        // Twice, and a little more for what is escaped.
        let length = structured.length();
        writer.reserve(2 * length + length / 8 + 128);
        writer.push(r#"{"content":[{"type":"text","text":""#);
        // To know of a text that it is the same in both places saves looking through it again. Most texts of a list are, and
        // that of an expansion is not; so what is noted is only where it turns.
        let (mut turns, mut is_same, mut texts) = (Vec::new(), false, 0_u32..);
        structured.pieces(|piece| match piece {
            Piece::Json(json) => _ = writer.push_escaped(json, Escaped::Once),
            Piece::Fixed { escaped, .. } => writer.push(escaped),
            Piece::Text(text) => {
                let number = texts.next();
                if writer.push_escaped(text, Escaped::Twice) != is_same {
                    is_same = !is_same;
                    turns.extend(number);
                }
            }
        });
        writer.push(r#""}],"structuredContent":"#);
        let (mut turns, mut is_same, mut texts) = (turns.into_iter().peekable(), false, 0_u32..);
        structured.pieces(|piece| match piece {
            Piece::Json(json) | Piece::Fixed { json, .. } => writer.push(json),
            Piece::Text(text) => {
                let number = texts.next();
                is_same ^= turns.next_if(|turn| Some(*turn) == number).is_some();
                match is_same {
                    true => writer.push(text),
                    false => _ = writer.push_escaped(text, Escaped::Once),
                }
            }
        });
    })
}

/// A piece of structured content.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'p> {
    /// JSON as it is.
    Json(&'p str),
    /// JSON that is the same in each answer, and how it is written in a string.
    Fixed {
        /// As it is.
        json: &'static str,
        /// In a string.
        escaped: &'static str,
    },
    /// A text inside a string.
    Text(&'p str),
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        ToolError::Internal(error.to_string())
    }
}
