//! `prompts/create`, `prompts/update` and `prompts/delete`: the file of a prompt is built from
//! fields, then written as by the tools. They are not in the schema: they come from another server,
//! whose clients know no revision. What they change is the prompt as it is at that moment.

use super::context::Context;
use super::failure::Failure;
use crate::library::Written;
use crate::prompt::{Argument, Diagnostic, Fields, Revision, Role, with_fields};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// Params of all three. Of the fields, what is missing stays as it is, and what is `null` is
/// removed.
#[derive(Debug, Deserialize)]
pub(super) struct EditParams<'l> {
    name: &'l str,
    messages: Option<Vec<EditedMessage>>,
    /// The revision that the prompt must still have.
    expected: Option<Revision>,
    /// Why, for the history.
    note: Option<String>,
    #[serde(default, deserialize_with = "given")]
    title: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    description: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    arguments: Option<Option<Vec<Argument>>>,
    #[serde(default, deserialize_with = "given")]
    tags: Option<Option<Vec<String>>>,
}

/// `null` is a value of its own.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
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
/// Invalid params; the name is taken; the file cannot be written.
pub(super) fn create(context: &Context, params: EditParams<'_>) -> Result<Value, Failure> {
    let (name, note, fields) = (params.name, params.note.clone(), params.fields()?);
    if fields.messages.is_none() || fields.title.iter().flatten().next().is_none() {
        return Err(Failure::invalid_params("`title` or `messages` is missing"));
    }
    let file = with_fields("", &fields).map_err(Failure::invalid_params)?;
    Ok(result(
        "Created",
        &context
            .editor()?
            .create(name, &file.text, &context.authorship(note)?)?,
        false,
    ))
}

/// `prompts/update`.
///
/// # Errors
/// Invalid params; the prompt is not the one that the client expects; the file cannot be written.
pub(super) fn update(context: &Context, params: EditParams<'_>) -> Result<Value, Failure> {
    let (name, expected, note) = (params.name, params.expected, params.note.clone());
    let editor = context.editor()?;
    let current = editor.current(name)?;
    let file = with_fields(&current.file, &params.fields()?).map_err(Failure::invalid_params)?;
    let written = editor.update(
        name,
        expected.unwrap_or(current.revision),
        &file.text,
        &context.authorship(note)?,
    )?;
    Ok(result("Updated", &written, file.loses_comments))
}

/// `prompts/delete`.
///
/// # Errors
/// Invalid params; the prompt is not the one that the client expects; the file cannot be deleted.
pub(super) fn delete(context: &Context, params: EditParams<'_>) -> Result<Value, Failure> {
    let EditParams {
        name,
        expected,
        note,
        ..
    } = params;
    let editor = context.editor()?;
    let expected =
        expected.map_or_else(|| Ok(editor.current(name)?.revision), Ok::<_, Diagnostic>)?;
    Ok(result(
        "Deleted",
        &editor.delete(name, expected, &context.authorship(note)?)?,
        false,
    ))
}

fn result(done: &str, written: &Written, loses_comments: bool) -> Value {
    let mut warnings = warnings(written);
    if loses_comments {
        warnings
            .push("comments of the keys that were replaced are only in the history now".to_owned());
    }
    let message = format!("{done} prompt: {}", written.name);
    with_warnings(
        json!({ "success": true, "message": message, "revision": written.revision }),
        warnings,
    )
}

/// A result with the warnings, if there are any.
pub(super) fn with_warnings(mut result: Value, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        result["warnings"] = json!(warnings);
    }
    result
}

/// What is probably not as the author intends, each with its position.
pub(super) fn warnings(written: &Written) -> Vec<String> {
    let text = |warning: &Diagnostic| {
        Diagnostic {
            file: None,
            ..warning.clone()
        }
        .to_string()
    };
    written.warnings.iter().map(text).collect()
}

impl EditParams<'_> {
    fn fields(self) -> Result<Fields, Failure> {
        let text = |EditedMessage {
                        role,
                        content: EditedContent::Text { text },
                    }| (role, text);
        let messages = self
            .messages
            .map(|messages| messages.into_iter().map(text).collect::<Vec<_>>());
        if messages
            .as_ref()
            .is_some_and(|all| all.is_empty() || all.iter().any(|(_, text)| text.trim().is_empty()))
        {
            return Err(Failure::invalid_params(
                "`messages` must have at least one message, and each of them a text",
            ));
        }
        let EditParams {
            title,
            description,
            arguments,
            tags,
            ..
        } = self;
        Ok(Fields {
            title,
            description,
            arguments,
            tags,
            messages,
        })
    }
}
