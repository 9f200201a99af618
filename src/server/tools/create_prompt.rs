//! The tool `create_prompt`: a new prompt in the user's folder.

use super::super::editing::Editing;
use super::editing_tools::{self, Command, content, written};
use super::{Handler, REPLACES, ServerTool, ToolAnnotations, ToolError, Work};
use crate::jsonrpc::{Object, read};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) const TOOL: ServerTool = ServerTool {
    name: "create_prompt",
    title: "Create a prompt",
    description: |_| include_str!("create_prompt.md").trim_ascii_end().to_owned(),
    input_schema,
    output_schema: || editing_tools::written_schema("That of the new prompt"),
    annotations: ToolAnnotations { destructive_hint: false, idempotent_hint: false, ..REPLACES },
    is_always_loaded: false,
    work: Work::Edit,
    shown_by_claude_code: None,
    handler: Handler::Edit(call),
};

fn input_schema() -> Value {
    json!({
        "properties": {
            "arguments": editing_tools::arguments(false),
            "command": {
                "description": "Name of the new prompt, which the user will type after a colon: short, in lower case, with \
                                hyphens; `git/commit` is in a folder",
                "type": "string"
            },
            "description": editing_tools::text("What the prompt is for, in one line", false),
            "file": editing_tools::file(),
            "note": editing_tools::note(),
            "operation_id": editing_tools::operation_id(),
            "tags": editing_tools::tags(false),
            "text": {
                "description": "The text of the prompt: instructions to an agent. {{input}} is replaced by what the user types \
                                after the command, and {{name}} by the value of an argument. Required unless there is a `file`",
                "type": "string"
            },
            "title": editing_tools::text("A name for people", false)
        },
        "required": ["command"],
        "type": "object"
    })
}

fn call(editing: &mut Editing<'_>, arguments: &Object) -> Result<Box<RawValue>, ToolError> {
    let Command { command } = read(arguments)?;
    let Some(edit) = content(arguments)? else {
        return Err(ToolError::Execution("`text` is missing: the text of the prompt".to_owned()));
    };
    written(&editing.create(command, &edit, arguments)?)
}
