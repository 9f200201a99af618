//! `prompts/create`, `prompts/update` and `prompts/delete`.

use super::editing::{Editing, frontmatter, warnings};
use super::lifecycle::Failure;
use crate::jsonrpc::{Object, read};
use crate::library::{Edit, Written};
use crate::mcp;
use crate::prompt::{Body, Parts, Role};
use crate::wording::quoted;

/// `prompts/create`.
///
/// # Errors
/// Invalid params; the name is taken; the file cannot be written.
pub(super) fn create(editing: &mut Editing<'_>, params: &Object) -> Result<mcp::EditPromptResult, Failure> {
    let mcp::NewPromptParams { name, title, messages } = read(params)?;
    let title = Some(Some(title.to_owned()));
    let parts = Parts { body: Some(body(messages)?), title, ..frontmatter(params)? };
    Ok(result("Created", &editing.create(name, &Edit::Parts(parts), params)?))
}

/// `prompts/update`: what is missing stays as it is, and what is `null` is removed.
///
/// # Errors
/// Invalid params; the prompt is not the one that the client has seen; the file cannot be written.
pub(super) fn update(editing: &mut Editing<'_>, params: &Object) -> Result<mcp::EditPromptResult, Failure> {
    let mcp::UpdatePromptParams { name, messages } = read(params)?;
    let parts = Parts { body: messages.map(body).transpose()?, ..frontmatter(params)? };
    if parts == Parts::default() {
        let text = "nothing is to be changed; give `title`, `description`, `arguments`, `tags` or `messages`";
        return Err(Failure::invalid_params(text));
    }
    Ok(result("Updated", &editing.update(name, &Edit::Parts(parts), params)?))
}

/// `prompts/delete`.
///
/// # Errors
/// Invalid params; the prompt is not the one that the client has seen; the file cannot be deleted.
pub(super) fn delete(editing: &mut Editing<'_>, params: &Object) -> Result<mcp::EditPromptResult, Failure> {
    let mcp::PromptNameParams { name } = read(params)?;
    Ok(result("Deleted", &editing.delete(name, params)?))
}

fn result(done: &str, written: &Written) -> mcp::EditPromptResult {
    mcp::EditPromptResult {
        success: true,
        message: format!("{done} prompt: {}", written.name),
        revision: written.revision.to_string(),
        warnings: warnings(written),
    }
}

/// The body with these messages.
fn body(messages: Vec<mcp::EditedMessage<'_>>) -> Result<Body, Failure> {
    if messages.is_empty() {
        return Err(Failure::invalid_params("`messages` has no message; give one at least"));
    }
    let message = |(index, message): (usize, mcp::EditedMessage<'_>)| {
        let mcp::EditedMessage { role, content: mcp::EditedContent { kind, text } } = message;
        let refused = |why: String| Err(Failure::invalid_params(format!("`messages[{index}]`: {why}")));
        let role = match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => return refused(format!("the role is {}; it must be `user` or `assistant`", quoted(other))),
        };
        match text {
            _ if kind != "text" => refused(format!("the type is {}; it must be `text`", quoted(kind))),
            Some(text) if !text.trim().is_empty() => Ok((role, text.to_owned())),
            _ => refused("there is no text; write it, or leave out the message".to_owned()),
        }
    };
    Ok(Body::Messages(messages.into_iter().enumerate().map(message).collect::<Result<_, Failure>>()?))
}
