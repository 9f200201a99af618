//! The tool `prompt_history`: the source of a prompt, and its versions.

use super::super::editing::{Editing, Reading};
use super::editing_tools::{self, Command, Revised};
use super::{Handler, READ_ONLY, ServerTool, ToolError, Work};
use crate::jsonrpc::{Object, read};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

pub(super) const TOOL: ServerTool = ServerTool {
    name: "prompt_history",
    title: "Read a prompt and its history",
    description: |_| include_str!("prompt_history.md").trim_ascii_end().to_owned(),
    input_schema,
    output_schema,
    annotations: READ_ONLY,
    is_always_loaded: false,
    work: Work::Blocking,
    shown_by_claude_code: Some(150_000),
    handler: Handler::Edit(call),
};

/// For an agent that shows its model only a part: what is not shown would be lost if the model wrote the whole text.
const MAY_BE_CUT: &str = "this answer is longer than what you are shown: if a part of `file` is missing, do not write \
                          `text` or `file`, but ask the user to edit the file; you can still change the other keys";

/// A reading that is longer than the agent shows.
#[derive(Serialize)]
struct Long {
    warning: &'static str,
    #[serde(flatten)]
    reading: Reading,
}

fn input_schema() -> Value {
    json!({
        "properties": {
            "command": editing_tools::command(),
            "revision": { "description": "Optional: the version whose text is wanted", "type": "string" }
        },
        "required": ["command"],
        "type": "object"
    })
}

fn output_schema() -> Value {
    json!({
        "properties": {
            "command": { "description": "Name of the prompt", "type": "string" },
            "file": { "description": "The whole Markdown file, or that of the version", "type": "string" },
            "revision": {
                "description": "That of the current file, for `expected`; missing if the prompt is deleted",
                "type": "string"
            },
            "versions": {
                "description": "Newest first",
                "items": {
                    "properties": {
                        "at": { "description": "When it was written, in UTC", "type": "string" },
                        "author": { "type": "string" },
                        "current": { "description": "Whether it is what the file has now", "type": "boolean" },
                        "note": { "description": "Why", "type": "string" },
                        "operation": {
                            "description": "create, update, delete, restore, or by_hand: by a person or another program",
                            "type": "string"
                        },
                        "revision": { "type": "string" }
                    },
                    "required": ["revision", "at", "operation"],
                    "type": "object"
                },
                "type": "array"
            },
            "warning": { "description": "Only if the answer is too long for you to see all of it", "type": "string" }
        },
        "required": ["command", "versions"],
        "type": "object"
    })
}

fn call(editing: &mut Editing<'_>, arguments: &Object) -> Result<Box<RawValue>, ToolError> {
    let (Command { command }, Revised { revision }) = (read(arguments)?, read(arguments)?);
    let reading = editing.read(command, revision)?;
    let json = to_raw_value(&reading)?;
    match editing.limit {
        Some(limit) if limit.unit.count(json.get()) > limit.max => {
            Ok(to_raw_value(&Long { warning: MAY_BE_CUT, reading })?)
        }
        _ => Ok(json),
    }
}
