//! `prompts/create`, `prompts/update` and `prompts/delete`: the file of a prompt is built from
//! fields, then written as by the tools. These methods are not in the schema: they come from
//! another server, whose clients know no revision. Without one, they change the prompt as it is at
//! that moment.

use super::context::Context;
use super::failure::Failure;
use crate::jsonrpc::deserialize_nullable;
use crate::library::CompletedWrite;
use crate::prompt::{Argument, Fields, Revision, Role, with_fields};
use serde::Deserialize;
use serde_json::{Value, json};

/// The params of all three methods. A field that is missing stays as it is, and one that is `null`
/// is removed.
#[derive(Debug, Deserialize)]
pub(super) struct EditParams<'l> {
    name: &'l str,
    messages: Option<Vec<EditedMessage>>,
    /// The revision that the client expects the prompt to have; if it names none, the present one.
    expected: Option<Revision>,
    /// Why the prompt is changed, for its history.
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

/// A message, whose text is a template.
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

/// `prompts/create`.
///
/// # Errors
/// The title or the messages are missing or invalid; the name is taken; the file cannot be written.
pub(super) fn create(context: &Context, params: EditParams<'_>) -> Result<Value, Failure> {
    let name = params.name;
    let author = context.authorship(params.note.clone())?;
    let fields = params.into_fields()?;
    let has_title = matches!(fields.title, Some(Some(_)));
    if fields.messages.is_none() || !has_title {
        return Err(Failure::invalid_params("`title` or `messages` is missing"));
    }
    let file = with_fields("", &fields).map_err(Failure::invalid_params)?;
    let written = context.editor()?.create(name, &file.text, &author)?;
    Ok(edit_result("Created", &written, warnings(&written)))
}

/// `prompts/update`.
///
/// # Errors
/// A field is invalid; the prompt is not the one that the client expects; the file cannot be
/// written.
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
        warnings
            .push("comments of the keys that were replaced are only in the history now".to_owned());
    }
    Ok(edit_result("Updated", &written, warnings))
}

/// `prompts/delete`.
///
/// # Errors
/// The prompt is not the one that the client expects; the file cannot be deleted.
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

/// Returns the result of an edit, with a message such as `Created prompt: review`.
fn edit_result(verb: &str, written: &CompletedWrite, warnings: Vec<String>) -> Value {
    let message = format!("{verb} prompt: {}", written.name);
    let result = json!({ "success": true, "message": message, "revision": written.revision });
    with_warnings(result, warnings)
}

/// Adds the warnings to a result, if there are any.
pub(super) fn with_warnings(mut result: Value, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        result["warnings"] = json!(warnings);
    }
    result
}

/// Returns the warnings about a written file, each with its position.
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
    /// Returns the fields of the file to write.
    ///
    /// # Errors
    /// There is no message, or one without a text.
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
                "`messages` must have at least one message, and each of them a text",
            ));
        }
        fields.messages = Some(texts);
        Ok(fields)
    }
}
