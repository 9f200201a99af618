//! `prompts/list` and `prompts/get`: the library in a client's own menu, usually as slash commands.

use super::lifecycle::{Failure, FailureKind};
use super::page::Page;
use crate::library::{Entry, Layer, Lookup, View};
use crate::mcp;
use crate::prompt::{Call, INPUT, Message, Prompt, Role, Summary};
use crate::wording::named;
use std::sync::Arc;

/// `prompts/list`. Broken files are left out; the tool `list_prompts` names them. Templates that were not changed are left out
/// too.
pub(super) fn list(view: &View, page: &Page) -> mcp::ListPromptsResult {
    let listing = view.list();
    let listed = |entry: &Entry<'_>| {
        let prompt = &entry.summary().ok().filter(|prompt| !prompt.is_template)?;
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

/// The description of a prompt, never empty, because some clients do not show a prompt without one.
pub(super) fn description(name: &str, description: Option<String>) -> String {
    description.unwrap_or_else(|| format!("The prompt {}", named(name)))
}

/// The first words of the description of a project's prompt in a list.
pub(super) const OF_PROJECT: &str = "(project) ";

/// A description in a list, which marks a project's prompt.
pub(super) fn of_layer(layer: Layer, description: String) -> String {
    if layer == Layer::Project { format!("{OF_PROJECT}{description}") } else { description }
}

/// The declared arguments, and `input` if the prompt uses it.
///
/// Without declared arguments `input` is the only one. It is then marked as required, because otherwise Gemini CLI does not
/// pass on all words of a command; a call may still leave it out.
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

/// `prompts/get`: one user message whose text is the same, byte for byte, as that of `expand_prompt`.
///
/// # Errors
/// Those of [`find`]; invalid params; a text that names all required arguments that are missing.
pub(super) fn get(view: &View, params: mcp::GetPromptParams<'_>) -> Result<mcp::GetPromptResult, Failure> {
    let name = params.name.ok_or_else(|| {
        Failure::invalid_params(match params.prompt_id {
            Some(_) => "`promptId` is not a parameter of prompts/get; use `name`",
            None => "`name` is missing; it is the prompt's name",
        })
    })?;
    // Names that the prompt does not have are ignored: clients send values of other prompts, too.
    let values = params.arguments.unwrap_or_default().into_iter().filter_map(|(name, value)| Some((name, value?)));
    let prompt = find(view, name)?;
    let messages = prompt
        .expand(Call::Named { values: &values.collect(), input: "", is_strict: false })
        .map_err(|error| Failure::invalid_params(format!("{} cannot be expanded: {error}", named(&prompt.name))))?;
    let messages = messages.into_iter().map(|Message { role: Role::User, text }| mcp::PromptMessage {
        role: mcp::Role::User,
        content: mcp::TextContent { text: text.into() },
    });
    Ok(mcp::GetPromptResult {
        description: description(&prompt.name, prompt.description.clone()),
        messages: messages.collect(),
    })
}

/// The prompt that a client names, found as tolerantly as by `expand_prompt`.
///
/// # Errors
/// The prompt is unknown, or its file is not a valid prompt.
pub(super) fn find(view: &View, name: &str) -> Result<Arc<Prompt>, Failure> {
    match view.find(name) {
        Lookup::Found(prompt) => Ok(prompt),
        Lookup::Broken(problem) => Err(Failure::new(FailureKind::Unavailable, problem)),
        Lookup::Unknown { why, skipped } => {
            let unreadable: String = skipped.iter().map(|problem| format!("; cannot be read: {problem}")).collect();
            let why = why.without_templates(view).to_string();
            let next = if why.ends_with('?') { "" } else { "; prompts/list shows all" };
            Err(Failure::invalid_params(format!("{why}{next}{unreadable}")))
        }
    }
}
