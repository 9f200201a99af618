//! `prompts/create`, `prompts/update` and `prompts/delete`: build a prompt's file from fields, then
//! write it as the tools do.
//!
//! These methods are not in the MCP schema. They come from another server, whose clients don't know
//! about revisions. If a request contains none, the change applies to the prompt's current
//! revision.

use super::context::Context;
use super::failure::Failure;
use crate::jsonrpc::deserialize_nullable;
use crate::library::CompletedWrite;
use crate::prompt::{Argument, Fields, Revision, Role, with_fields};
use serde::Deserialize;
use serde_json::{Value, json};

/// The parameters of all three methods. A missing field is kept, and a `null` field is removed.
#[derive(Debug, Deserialize)]
pub(super) struct EditParams<'l> {
    name: &'l str,
    messages: Option<Vec<EditedMessage>>,
    /// The revision that the client expects. Defaults to the current one.
    expected: Option<Revision>,
    /// The reason for the change, recorded in the history.
    note: Option<String>,
    #[serde(default, deserialize_with = "deserialize_nullable")]
    title: Option<Option<String>>,
    #[serde(default, deserialize_with = "deserialize_nullable")]
    description: Option<Option<String>>,
    #[serde(default, deserialize_with = "deserialize_nullable")]
    arguments: Option<Option<Vec<Argument>>>,
    #[serde(default, deserialize_with = "deserialize_nullable")]
    tags: Option<Option<Vec<String>>>,
}

/// A message template.
#[derive(Debug, Deserialize)]
struct EditedMessage {
    role: Role,
    content: EditedContent,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum EditedContent {
    Text { text: String },
}

/// Handles `prompts/create`.
///
/// # Errors
/// Fails if the title or messages are missing or invalid, if the name is taken, or if the file
/// can't be written.
pub(super) fn create(context: &Context, params: EditParams<'_>) -> Result<Value, Failure> {
    let name = params.name;
    let author = context.authorship(params.note.clone())?;
    let fields = params.into_fields()?;
    let has_title = matches!(fields.title, Some(Some(_))); // neither missing nor `null`
    if fields.messages.is_none() || !has_title {
        return Err(Failure::invalid_params("`title` or `messages` is missing"));
    }
    let no_text = ""; // the new file consists of the fields only
    let file = with_fields(no_text, &fields).map_err(Failure::invalid_params)?;
    let written = context.editor()?.create(name, &file.text, &author)?;
    Ok(edit_result("Created", &written, warnings(&written)))
}

/// Handles `prompts/update`: replaces the given fields of a prompt. Without an expected revision,
/// expects the one that is read here, so that a change in between isn't overwritten.
///
/// # Errors
/// Fails if a field is invalid, if the prompt's revision isn't the expected one, or if the file
/// can't be written.
pub(super) fn update(context: &Context, params: EditParams<'_>) -> Result<Value, Failure> {
    let name = params.name;
    let editor = context.editor()?;
    let current = editor.current(name)?;
    let expected = params.expected.unwrap_or(current.revision);
    let author = context.authorship(params.note.clone())?;
    let file =
        with_fields(&current.file, &params.into_fields()?).map_err(Failure::invalid_params)?;
    let written = editor.update(name, expected, &file.text, &author)?;
    let mut warnings = warnings(&written);
    if file.loses_comments {
        warnings.push(
            "comments next to the replaced keys were removed, but are kept in the history"
                .to_owned(),
        );
    }
    Ok(edit_result("Updated", &written, warnings))
}

/// Handles `prompts/delete`.
///
/// # Errors
/// Fails if the prompt's revision isn't the expected one, or if the file can't be deleted.
pub(super) fn delete(context: &Context, params: EditParams<'_>) -> Result<Value, Failure> {
    let editor = context.editor()?;
    let expected = match params.expected {
        Some(expected) => expected,
        None => editor.current(params.name)?.revision,
    };
    let author = context.authorship(params.note)?;
    let written = editor.delete(params.name, expected, &author)?;
    Ok(edit_result("Deleted", &written, warnings(&written)))
}

/// Returns the result of an edit. `verb` begins its message, e.g. `Created prompt: review`.
fn edit_result(verb: &str, written: &CompletedWrite, warnings: Vec<String>) -> Value {
    let message = format!("{verb} prompt: {}", written.name);
    let result = json!({ "success": true, "message": message, "revision": written.revision });
    with_warnings(result, warnings)
}

/// Adds warnings to a result, unless there are none.
pub(super) fn with_warnings(mut result: Value, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        result["warnings"] = json!(warnings);
    }
    result
}

/// Returns the warnings about a written file, including their positions.
pub(super) fn warnings(written: &CompletedWrite) -> Vec<String> {
    let mut warnings = Vec::new();
    for warning in &written.warnings {
        let mut warning = warning.clone();
        warning.file = None; // the client knows which prompt it wrote
        warnings.push(warning.to_string());
    }
    warnings
}

impl EditParams<'_> {
    /// Converts the parameters to the fields to change.
    ///
    /// # Errors
    /// Fails if the list of messages, or the text of a message, is empty.
    fn into_fields(self) -> Result<Fields, Failure> {
        let mut fields = Fields {
            title: self.title,
            description: self.description,
            arguments: self.arguments,
            tags: self.tags,
            messages: None,
        };
        let Some(messages) = self.messages else {
            return Ok(fields);
        };
        let mut texts = Vec::new();
        for message in messages {
            let EditedContent::Text { text } = message.content;
            texts.push((message.role, text));
        }
        if texts.is_empty() || texts.iter().any(|(_, text)| text.trim().is_empty()) {
            return Err(Failure::invalid_params(
                "`messages` must contain at least one message, and each must have text",
            ));
        }
        fields.messages = Some(texts);
        Ok(fields)
    }
}
