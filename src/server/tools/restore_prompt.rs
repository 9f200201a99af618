//! The tool `restore_prompt`: writes an earlier version of a prompt again, or a deleted prompt.

use super::super::editing::Editing;
use super::editing_tools::{self, Command, Revised, written};
use super::{Handler, REPLACES, ServerTool, ToolAnnotations, ToolError, Work};
use crate::jsonrpc::{Object, read};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) const TOOL: ServerTool = ServerTool {
    name: "restore_prompt",
    title: "Restore a prompt",
    description: |_| include_str!("restore_prompt.md").trim_ascii_end().to_owned(),
    input_schema,
    output_schema: || editing_tools::written_schema("That of the restored text"),
    // Without `revision`, a second call undoes the first.
    annotations: ToolAnnotations { idempotent_hint: false, ..REPLACES },
    is_always_loaded: false,
    work: Work::Edit,
    shown_by_claude_code: None,
    handler: Handler::Edit(call),
};

fn input_schema() -> Value {
    json!({
        "properties": {
            "command": editing_tools::command(),
            "expected": editing_tools::expected(),
            "note": editing_tools::note(),
            "operation_id": editing_tools::operation_id(),
            "revision": {
                "description": "The version to bring back, from prompt_history. Without it, the one before the current one, or \
                                the last one of a deleted prompt",
                "type": "string"
            }
        },
        "required": ["command"],
        "type": "object"
    })
}

fn call(editing: &mut Editing<'_>, arguments: &Object) -> Result<Box<RawValue>, ToolError> {
    let (Command { command }, Revised { revision }) = (read(arguments)?, read(arguments)?);
    written(&editing.restore(command, revision, arguments)?)
}
