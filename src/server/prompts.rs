//! `prompts/list` and `prompts/get`: the library as a client's own menu (slash commands, mostly).

use super::page::Page;
use crate::json::{Object, Value};
use crate::jsonrpc::Error;
use crate::library::{Entry, Layer, Lookup, View};
use crate::mcp;
use crate::prompt::{Call, INPUT, Messages, Prompt, Summary};
use crate::wording::{named, quoted};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `prompts/list`. Files that are no prompts are left out; `list_prompts` names them.
pub(super) fn list(library: &View, page: &Page) -> mcp::ListPromptsResult {
    let listing = library.list();
    let listed = |entry: &Entry<'_>| {
        let prompt = &entry.summary().ok()?;
        Some(mcp::Prompt {
            name: entry.name().to_string(),
            title: prompt.title.clone(),
            description: of_layer(entry.layer(), description(entry.name(), prompt.description.clone())),
            arguments: arguments(prompt),
        })
    };
    let (prompts, next_cursor) = page.fill(&listing.entries, |entry| entry.name(), listed);
    mcp::ListPromptsResult { prompts, next_cursor }
}

/// What a client shows for a prompt. Some show nothing without it, so it is never empty.
pub(super) fn description(name: &str, description: Option<String>) -> String {
    description.unwrap_or_else(|| format!("The prompt {}", named(name)))
}

/// What the description of a project's prompt begins with in a list.
pub(super) const OF_PROJECT: &str = "(project) ";

/// A description in a list, which says of a project's prompt that it is one.
pub(super) fn of_layer(layer: Layer, description: String) -> String {
    if layer == Layer::Project { format!("{OF_PROJECT}{description}") } else { description }
}

/// The declared arguments, and `input` where it has a place.
///
/// Without declared arguments `input` is the only one, and required, because Gemini CLI passes all words of a command
/// on only then; a call may leave it out all the same.
fn arguments(prompt: &Summary) -> Vec<mcp::PromptArgument> {
    let of = |name: &str| match prompt.arguments.iter().find(|argument| argument.name == name) {
        Some(argument) => mcp::PromptArgument {
            name: name.to_owned(),
            description: argument.description.clone(),
            required: argument.is_needed(),
        },
        None => mcp::PromptArgument {
            name: INPUT.to_owned(),
            description: Some("The text for the prompt".to_owned()),
            required: prompt.arguments.is_empty(),
        },
    };
    prompt.value_names().into_iter().map(of).collect()
}

/// `prompts/get`: one message of the user's, whose text is that of `expand_prompt`, byte for byte.
///
/// # Errors
/// Those of [`find`]; `-32602` for params that do not fit, and for all that is missing at once.
pub(super) fn get(library: &View, params: &Object<'_>) -> Result<mcp::GetPromptResult, Error> {
    let name = params.required_text("name");
    let name = name.map_err(|unfit| Error::invalid_params(format!("`name` {unfit}, the prompt's name")))?;
    let values = values(params)?;
    let prompt = find(library, name)?;
    let text = prompt
        .expand(Call::Named { values: &values, input: "", is_strict: false })
        .map(Messages::into_text)
        .map_err(|error| Error::invalid_params(format!("{} cannot be expanded: {error}", named(&prompt.name))))?;
    let message = mcp::PromptMessage { role: mcp::Role::User, content: mcp::TextContent { text } };
    Ok(mcp::GetPromptResult { description: description(&prompt.name, prompt.description.clone()), messages: [message] })
}

/// The prompt that a client names, as tolerant as `expand_prompt`.
///
/// # Errors
/// `-32602` for an unknown one, `-32603` for a file that is none.
pub(super) fn find(library: &View, name: &str) -> Result<Arc<Prompt>, Error> {
    match library.find(name) {
        Lookup::Found(prompt) => Ok(prompt),
        Lookup::Broken(problem) => Err(Error::unreadable(problem)),
        Lookup::Unknown { why, skipped } => {
            let places: String = skipped.iter().map(|problem| format!("; cannot be seen: {problem}")).collect();
            let why = why.to_string();
            let next = if why.ends_with('?') { "" } else { "; prompts/list names all" };
            Err(Error::invalid_params(format!("{why}{next}{places}")))
        }
    }
}

/// The values of a call, which the schema wants to be strings. Names that a prompt does not have are ignored: clients
/// send leftovers.
fn values(params: &Object<'_>) -> Result<BTreeMap<String, String>, Error> {
    let arguments = params.object("arguments");
    let arguments = arguments.map_err(|unfit| Error::invalid_params(format!("`arguments` {unfit} of strings")))?;
    let mut values = BTreeMap::new();
    for (name, value) in arguments.into_iter().flat_map(Object::iter) {
        match value {
            Value::Text(text) => _ = values.insert(name.to_owned(), text.to_string()),
            Value::Null => _ = values.remove(name), // not given, to some serializers
            _ => return Err(Error::invalid_params(format!("the argument {} must be a string", quoted(name)))),
        }
    }
    Ok(values)
}
