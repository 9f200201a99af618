//! `prompts/create`, `prompts/update` and `prompts/delete`: the file of a prompt is built from fields, then written as by the tools. They
//! come from another server, whose clients know no revision: what they change is the prompt as it is at that moment.

use super::context::{Context, Failure};
use crate::jsonrpc::object;
use crate::library::Written;
use crate::prompt::{Argument, Diagnostic, Fields, Kind, Revision, Role, with_fields};
use crate::wording::quoted;
use serde::{Deserialize, Deserializer, Serialize};

/// Params of `prompts/create`. The methods that edit prompts are not in the schema; they
/// come from another server.
#[derive(Debug, Deserialize)]
pub(super) struct NewPromptParams<'l> {
    pub(super) name: &'l str,
    pub(super) title: &'l str,
    #[serde(borrow)]
    pub(super) messages: Vec<EditedMessage<'l>>,
    /// Why, for the history.
    pub(super) note: Option<String>,
    #[serde(flatten)]
    pub(super) fields: PromptFields,
}

/// The same of `prompts/update`.
#[derive(Debug, Deserialize)]
pub(super) struct UpdatePromptParams<'l> {
    pub(super) name: &'l str,
    #[serde(default, deserialize_with = "given")]
    pub(super) title: Option<Option<String>>,
    #[serde(borrow)]
    pub(super) messages: Option<Vec<EditedMessage<'l>>>,
    /// The revision that the prompt must still have.
    pub(super) expected: Option<&'l str>,
    pub(super) note: Option<String>,
    #[serde(flatten)]
    pub(super) fields: PromptFields,
}

/// The same of `prompts/delete`.
#[derive(Debug, Deserialize)]
pub(super) struct DeletePromptParams<'l> {
    pub(super) name: &'l str,
    pub(super) expected: Option<&'l str>,
    pub(super) note: Option<String>,
}

/// The keys of a prompt's frontmatter in such a request. What is missing stays as it is, and what is `null` is removed.
#[derive(Debug, Deserialize)]
pub(super) struct PromptFields {
    #[serde(default, deserialize_with = "given")]
    pub(super) description: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) arguments: Option<Option<Vec<DeclaredArgument>>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) tags: Option<Option<Vec<String>>>,
}

/// An argument, as the frontmatter of a prompt has it.
#[derive(Debug, Deserialize)]
pub(super) struct DeclaredArgument {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) required: Option<bool>,
    pub(super) default: Option<String>,
    pub(super) choices: Option<Vec<String>>,
    pub(super) strict: Option<bool>,
}

/// A message, whose text is a template.
#[derive(Debug, Deserialize)]
pub(super) struct EditedMessage<'l> {
    pub(super) role: &'l str,
    #[serde(borrow, deserialize_with = "object")]
    pub(super) content: EditedContent<'l>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EditedContent<'l> {
    #[serde(rename = "type")]
    pub(super) kind: &'l str,
    pub(super) text: Option<&'l str>,
}

/// For `deserialize_with`, with a default: `null` is a value of its own.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Result of `prompts/create`, `prompts/update` and `prompts/delete`.
#[derive(Debug, Serialize)]
pub(super) struct EditPromptResult {
    pub(super) success: bool,
    /// `Created prompt: NAME`
    pub(super) message: String,
    /// That of the new text, or of the deleted one.
    pub(super) revision: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

/// A revision in a parameter.
///
/// # Errors
/// It is none.
pub(super) fn revision(parameter: &str, text: &str) -> Result<Revision, Diagnostic> {
    let wrong = |error| Diagnostic::new(Kind::BadValue, format!("`{parameter}` is {}: {error}", quoted(text)), "");
    text.parse().map_err(wrong)
}

/// What is probably not as the author intends, each with its position.
pub(super) fn warnings(written: &Written) -> Vec<String> {
    let text = |warning: &Diagnostic| Diagnostic { file: None, ..warning.clone() }.to_string();
    written.warnings.iter().map(text).collect()
}

/// `prompts/create`.
///
/// # Errors
/// Invalid params; the name is taken; the file cannot be written.
pub(super) fn create(context: &Context, params: NewPromptParams<'_>) -> Result<EditPromptResult, Failure> {
    let NewPromptParams { name, title, messages, note, fields } = params;
    let fields = Fields { title: Some(Some(title.to_owned())), messages: Some(texts(messages)?), ..fields.into() };
    let (file, _) = with_fields("", &fields).map_err(Failure::invalid_params)?;
    Ok(result("Created", &context.editor()?.create(name, &file, &context.about(note)?)?, false))
}

/// `prompts/update`: what is missing stays as it is, and what is `null` is removed.
///
/// # Errors
/// Invalid params; the prompt is not the one that the client expects; the file cannot be written.
pub(super) fn update(context: &Context, params: UpdatePromptParams<'_>) -> Result<EditPromptResult, Failure> {
    let UpdatePromptParams { name, title, messages, expected, note, fields } = params;
    let fields = Fields { title, messages: messages.map(texts).transpose()?, ..fields.into() };
    let editor = context.editor()?;
    let current = editor.current(name)?;
    let (file, loses_comments) = with_fields(&current.file, &fields).map_err(Failure::invalid_params)?;
    let expected = expected.map_or(Ok(current.revision), |expected| revision("expected", expected))?;
    Ok(result("Updated", &editor.update(name, expected, &file, &context.about(note)?)?, loses_comments))
}

/// `prompts/delete`.
///
/// # Errors
/// Invalid params; the prompt is not the one that the client expects; the file cannot be deleted.
pub(super) fn delete(context: &Context, params: DeletePromptParams<'_>) -> Result<EditPromptResult, Failure> {
    let DeletePromptParams { name, expected, note } = params;
    let editor = context.editor()?;
    let expected = match expected {
        Some(expected) => revision("expected", expected)?,
        None => editor.current(name)?.revision,
    };
    Ok(result("Deleted", &editor.delete(name, expected, &context.about(note)?)?, false))
}

fn result(done: &str, written: &Written, loses_comments: bool) -> EditPromptResult {
    let mut warnings = warnings(written);
    if loses_comments {
        warnings.push("comments of the keys that were replaced are only in the history now".to_owned());
    }
    let message = format!("{done} prompt: {}", written.name);
    EditPromptResult { success: true, message, revision: written.revision.to_string(), warnings }
}

impl From<PromptFields> for Fields {
    fn from(fields: PromptFields) -> Fields {
        let PromptFields { description, arguments, tags } = fields;
        let argument = |argument: DeclaredArgument| {
            let DeclaredArgument { name, title, description, required, default, choices, strict } = argument;
            let (required, strict) = (required.unwrap_or_default(), strict.unwrap_or_default());
            Argument { name, title, description, required, default, choices: choices.unwrap_or_default(), strict }
        };
        let arguments = arguments.map(|all| all.map(|all| all.into_iter().map(argument).collect()));
        Fields { description, arguments, tags, ..Fields::default() }
    }
}

fn texts(messages: Vec<EditedMessage<'_>>) -> Result<Vec<(Role, String)>, Failure> {
    if messages.is_empty() {
        return Err(Failure::invalid_params("`messages` has no message; give one at least"));
    }
    let text = |(index, message): (usize, EditedMessage<'_>)| {
        let EditedMessage { role, content: EditedContent { kind, text } } = message;
        let refused = |why: String| Err(Failure::invalid_params(format!("`messages[{index}]`: {why}")));
        let role = match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => return refused(format!("the role is {}; it must be `user` or `assistant`", quoted(other))),
        };
        match text.filter(|text| kind == "text" && !text.trim().is_empty()) {
            Some(text) => Ok((role, text.to_owned())),
            None => refused(format!("the content is {}; it must be `text`, and not empty", quoted(kind))),
        }
    };
    messages.into_iter().enumerate().map(text).collect()
}
