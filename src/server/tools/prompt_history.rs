//! The tool `prompt_history`: the source of a prompt, and its versions.

use super::super::edit::Editing;
use super::editing::{self, Command, Revised};
use super::{Handler, READ_ONLY, ServerTool, ToolError, Work};
use crate::jsonrpc::{Object, read};
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

fn input_schema() -> Value {
    json!({
        "properties": {
            "command": editing::command(),
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
            }
        },
        "required": ["command", "versions"],
        "type": "object"
    })
}

fn call(editing: &mut Editing<'_>, arguments: &Object) -> Result<Box<RawValue>, ToolError> {
    let (Command { command }, Revised { revision }) = (read(arguments)?, read(arguments)?);
    Ok(to_raw_value(&editing.read(command, revision)?)?)
}
