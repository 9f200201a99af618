//! The tool `delete_prompt`: removes a prompt, which can be restored.

use super::super::editing::Editing;
use super::editing_tools::{self, Command, written};
use super::{Handler, REPLACES, ServerTool, ToolError, Work};
use crate::jsonrpc::{Object, read};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) const TOOL: ServerTool = ServerTool {
    name: "delete_prompt",
    title: "Delete a prompt",
    description: |_| include_str!("delete_prompt.md").trim_ascii_end().to_owned(),
    input_schema,
    output_schema: || editing_tools::written_schema("That of the deleted text, for restore_prompt"),
    annotations: REPLACES,
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
            "operation_id": editing_tools::operation_id()
        },
        "required": ["command"],
        "type": "object"
    })
}

fn call(editing: &mut Editing<'_>, arguments: &Object) -> Result<Box<RawValue>, ToolError> {
    let Command { command } = read(arguments)?;
    written(&editing.delete(command, arguments)?)
}
