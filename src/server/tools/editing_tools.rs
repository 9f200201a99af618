//! What the tools that edit prompts have in common: parts of their schemas, their arguments, and their answers.

use super::super::editing::{Refusal, frontmatter, warnings};
use super::ToolError;
use crate::jsonrpc::{Object, read};
use crate::library::{Edit, Written};
use crate::prompt::{Body, Parts};
use crate::wording::{all_of, named};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// After an error whose remedy is to write something else than what the user has seen.
const ASK_AGAIN: &str = "Tell the user this, and write nothing else before they have seen it and said yes.";

/// The name of an existing prompt.
pub(super) fn command() -> Value {
    json!({ "description": "Name of the prompt, without the colon", "type": "string" })
}

/// The arguments that a prompt declares; in an update, null removes them.
pub(super) fn arguments(is_update: bool) -> Value {
    let (description, kind) = match is_update {
        true => {
            let text =
                "The complete list of arguments; it replaces the old list, leave it out to keep that; null removes it";
            (text, json!(["array", "null"]))
        }
        false => ("The complete list of arguments; leave it out if {{input}} is enough", json!("array")),
    };
    json!({
        "description": description,
        "items": {
            "properties": {
                "choices": {
                    "description": "The values to choose from",
                    "items": { "type": "string" },
                    "type": "array"
                },
                "default": { "description": "Its value if none is given", "type": "string" },
                "description": { "description": "What it is for", "type": "string" },
                "name": { "description": "The name in {{name}}", "type": "string" },
                "required": { "description": "Whether a call must give it", "type": "boolean" },
                "strict": { "description": "Whether no value but the choices is allowed", "type": "boolean" },
                "title": { "description": "Its name for people", "type": "string" }
            },
            "required": ["name"],
            "type": "object"
        },
        "type": kind
    })
}

/// A text that can be removed in an update, by null.
pub(super) fn text(description: &str, is_update: bool) -> Value {
    match is_update {
        true => json!({ "description": format!("{description}; null removes it"), "type": ["string", "null"] }),
        false => json!({ "description": description, "type": "string" }),
    }
}

/// The whole file instead of its parts.
pub(super) fn file() -> Value {
    json!({
        "description": "Instead of `text`, `title`, `description`, `arguments` and `tags`: the whole Markdown file, with its \
                        frontmatter",
        "type": "string"
    })
}

pub(super) fn tags(is_update: bool) -> Value {
    match is_update {
        true => json!({
            "description": "All words by which the prompt can be found; null removes them",
            "items": { "type": "string" },
            "type": ["array", "null"]
        }),
        false => json!({
            "description": "Words by which the prompt can be found",
            "items": { "type": "string" },
            "type": "array"
        }),
    }
}

pub(super) fn expected() -> Value {
    json!({
        "description": "The top-level `revision` in the answer of prompt_history (not one of `versions`), which you call before \
                        this. Always give it; over HTTP it is required",
        "type": "string"
    })
}

pub(super) fn note() -> Value {
    json!({ "description": "Why, in a few words, for the history", "type": "string" })
}

pub(super) fn operation_id() -> Value {
    json!({
        "description": "A text that you choose. A call with the same one again, after a lost answer, changes nothing more",
        "type": "string"
    })
}

/// What the tools that write answer.
pub(super) fn written_schema(revision: &str) -> Value {
    json!({
        "properties": {
            "command": { "description": "Name of the prompt", "type": "string" },
            "revision": { "description": revision, "type": "string" },
            "warnings": {
                "description": "What looks like a mistake: tell the user",
                "items": { "type": "string" },
                "type": "array"
            }
        },
        "required": ["command", "revision"],
        "type": "object"
    })
}

/// The prompt that a tool is called for.
#[derive(Deserialize)]
pub(super) struct Command<'l> {
    pub(super) command: &'l str,
}

/// The version that a tool is called for.
#[derive(Deserialize)]
pub(super) struct Revised<'l> {
    pub(super) revision: Option<&'l str>,
}

/// The new content of a prompt; `None` if none is given.
///
/// # Errors
/// An argument has another type; there are both the whole file and a part of it.
pub(super) fn content(arguments: &Object) -> Result<Option<Edit>, ToolError> {
    #[derive(Deserialize)]
    struct Content {
        text: Option<String>,
        file: Option<String>,
    }
    let Content { text, file } = read(arguments)?;
    let parts = Parts { body: text.map(Body::Text), ..frontmatter(arguments)? };
    let Some(file) = file else {
        return Ok((parts != Parts::default()).then_some(Edit::Parts(parts)));
    };
    let Parts { body, title, description, arguments, tags } = &parts;
    let given = [
        ("text", body.is_some()),
        ("title", title.is_some()),
        ("description", description.is_some()),
        ("arguments", arguments.is_some()),
        ("tags", tags.is_some()),
    ];
    let given: Vec<&str> = given.into_iter().filter_map(|(key, is_given)| is_given.then_some(key)).collect();
    if given.is_empty() {
        return Ok(Some(Edit::File(file)));
    }
    Err(ToolError::Execution(format!("`file` is the whole file, with its frontmatter; leave out {}", all_of(&given))))
}

/// What a tool that has written a prompt answers.
pub(super) fn written(written: &Written) -> Result<Box<RawValue>, ToolError> {
    #[derive(Serialize)]
    struct Answer<'w> {
        command: &'w str,
        revision: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    }
    let answer = Answer { command: &written.name, revision: written.revision.to_string(), warnings: warnings(written) };
    Ok(to_raw_value(&answer)?)
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> ToolError {
        ToolError::Execution(match refusal {
            Refusal::Mismatch(text) => return ToolError::Arguments(text),
            Refusal::Invalid(text) | Refusal::Unavailable(text) => text,
            Refusal::Taken(text) | Refusal::Conflict { text, .. } => format!("{text}. {ASK_AGAIN}"),
            Refusal::NotInParts(text) => format!("{text}, or send the whole file as `file`"),
            Refusal::NotSeen(name) => format!(
                "`expected` is missing: read {} with prompt_history, and give its `revision` as `expected`",
                named(&name)
            ),
        })
    }
}
