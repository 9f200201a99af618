//! The tool `update_prompt`: a new text of a prompt, or other keys of its frontmatter.

use super::super::editing::Editing;
use super::editing_tools::{self, Command, content, written};
use super::{Handler, REPLACES, ServerTool, ToolError, Work};
use crate::jsonrpc::{Object, read};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) const TOOL: ServerTool = ServerTool {
    name: "update_prompt",
    title: "Change a prompt",
    description: |_| include_str!("update_prompt.md").trim_ascii_end().to_owned(),
    input_schema,
    output_schema: || editing_tools::written_schema("That of the changed prompt"),
    annotations: REPLACES,
    is_always_loaded: false,
    work: Work::Edit,
    shown_by_claude_code: None,
    handler: Handler::Edit(call),
};

fn input_schema() -> Value {
    json!({
        "properties": {
            "arguments": editing_tools::arguments(true),
            "command": editing_tools::command(),
            "description": editing_tools::text("What the prompt is for, in one line", true),
            "expected": editing_tools::expected(),
            "file": editing_tools::file(),
            "note": editing_tools::note(),
            "operation_id": editing_tools::operation_id(),
            "tags": editing_tools::tags(true),
            "text": {
                "description": "The whole new text of the prompt, without its frontmatter, which stays as it is",
                "type": "string"
            },
            "title": editing_tools::text("A name for people", true)
        },
        "required": ["command"],
        "type": "object"
    })
}

fn call(editing: &mut Editing<'_>, arguments: &Object) -> Result<Box<RawValue>, ToolError> {
    let Command { command } = read(arguments)?;
    let Some(edit) = content(arguments)? else {
        let text = "nothing is to be changed; give `text`, `title`, `description`, `arguments`, `tags` or `file`";
        return Err(ToolError::Execution(text.to_owned()));
    };
    written(&editing.update(command, &edit, arguments)?)
}
