//! `prompts/list` and `prompts/get`: the library in a client's own menu, usually as slash commands.

use super::lifecycle::{Failure, FailureKind};
use super::opencode;
use super::page::{Kind, Page};
use crate::agents::{Agent, MenuMessages};
use crate::library::{Entry, Layer, Lookup, View, has_tag};
use crate::mcp;
use crate::prompt::{Call, INPUT, Message, Metadata, Piece, Prompt, Role, Summary};
use crate::wording::{named, shortened};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// `prompts/list`, sorted by name. Broken files are left out; the tool `list_prompts` names them. Templates that were not changed
/// are left out too.
pub(super) fn list(view: &View, page: &Page, filter: Option<&mcp::PromptFilter<'_>>) -> mcp::ListPromptsResult {
    let mut entries = match filter.and_then(|filter| filter.query) {
        None => view.list().entries,
        query => view.select(query, None).found.into_iter().map(|(entry, _)| entry).collect(),
    };
    entries.sort_by(|a, b| a.name().cmp(b.name())); // a query gives the best match first
    let listed = |entry: &Entry<'_>| {
        let prompt = &entry.summary().ok().filter(|prompt| !prompt.is_template)?;
        filter.is_none_or(|filter| matches(filter, prompt)).then(|| mcp::Prompt {
            name: entry.name().to_string(),
            title: prompt.title.clone(),
            description: listed_description(entry, prompt.description.as_deref()),
            arguments: arguments(prompt),
            meta: meta(prompt),
        })
    };
    let (prompts, next_cursor) = page.fill(&entries, |entry| entry.name(), listed);
    mcp::ListPromptsResult { prompts, next_cursor }
}

/// Whether a prompt has the category and the tags of a filter. Letter case makes no difference.
fn matches(filter: &mcp::PromptFilter<'_>, prompt: &Summary) -> bool {
    let folded = |text: &str| text.trim().to_lowercase();
    let is_category = |category: &str| prompt.metadata.category.as_deref().map(folded) == Some(folded(category));
    filter.category.is_none_or(is_category) && filter.tags.iter().flatten().all(|tag| has_tag(prompt, tag))
}

/// Which list a `prompts/list` is about: each filter has cursors of its own.
pub(super) fn kind(params: &mcp::ListPromptsParams<'_>) -> Kind {
    let Some(mcp::PromptFilter { category, tags, query }) = &params.filter else { return Kind::Prompts };
    let mut hasher = DefaultHasher::new();
    (category, tags, query).hash(&mut hasher);
    Kind::FilteredPrompts(hasher.finish())
}

/// What a prompt says about itself; `None` if that is nothing.
fn meta(prompt: &Summary) -> Option<mcp::PromptMeta> {
    let Metadata { author, version, category } = prompt.metadata.clone();
    let tags = prompt.tags.clone();
    let says_nothing = tags.is_empty() && [&author, &version, &category].into_iter().all(Option::is_none);
    (!says_nothing).then_some(mcp::PromptMeta { tags, category, author, version })
}

/// The description of a prompt, never empty, because some clients do not show a prompt without one.
fn description(name: &str, description: Option<String>) -> String {
    description.unwrap_or_else(|| format!("The prompt {}", named(name)))
}

/// The first words of the description of a project's prompt in a list.
pub(super) const OF_PROJECT: &str = "(project) ";

/// The longest description in a list, in characters: some agents' prompts have descriptions of several thousand, and the model
/// gets the list whole.
pub(super) const MAX_LISTED_DESCRIPTION: usize = 300;

/// The description of a prompt in a list, which marks a project's prompt.
pub(super) fn listed_description(entry: &Entry<'_>, of_prompt: Option<&str>) -> String {
    let of_prompt = of_prompt.map(|description| shortened(description, MAX_LISTED_DESCRIPTION).into_owned());
    let description = description(entry.name(), of_prompt);
    if entry.layer() == Layer::Project { format!("{OF_PROJECT}{description}") } else { description }
}

/// The declared arguments, and `input` if the prompt uses it.
///
/// Without declared arguments `input` is the only one. It is then marked as required, because otherwise Gemini CLI does not
/// pass on all words of a command; a call may still leave it out.
fn arguments(prompt: &Summary) -> Vec<mcp::PromptArgument> {
    let of = |name: &str| match prompt.arguments.iter().find(|argument| argument.name == name) {
        Some(argument) => mcp::PromptArgument {
            name: name.to_owned(),
            title: argument.title.clone(),
            description: argument.description.clone(),
            required: argument.is_needed(),
        },
        None => mcp::PromptArgument {
            name: INPUT.to_owned(),
            title: None,
            description: Some("The text for the prompt".to_owned()),
            required: prompt.arguments.is_empty(),
        },
    };
    prompt.value_names().into_iter().map(of).collect()
}

/// `prompts/get`: the messages of the prompt, or, for an agent that would lose some of them or their roles, one user message whose
/// text is the same, byte for byte, as that of `expand_prompt`. Only for an agent that would run it, the text is changed.
///
/// # Errors
/// Those of [`find`]; invalid params; a text that names all required arguments that are missing.
pub(super) fn get(
    view: &View,
    agent: Option<&Agent>,
    params: mcp::GetPromptParams<'_>,
) -> Result<mcp::GetPromptResult, Failure> {
    let name = params.name.ok_or_else(|| {
        Failure::invalid_params(match params.prompt_id {
            Some(_) => "`promptId` is not a parameter of prompts/get; use `name`",
            None => "`name` is missing; it is the prompt's name",
        })
    })?;
    // Names that the prompt does not have are ignored: clients send values of other prompts, too.
    let values = params.arguments.unwrap_or_default().into_iter().filter_map(|(name, value)| Some((name, value?)));
    let prompt = find(view, name)?;
    let join = |pieces: &mut dyn Iterator<Item = Piece<'_>>| match agent {
        Some(agent) if agent.runs_prompts => opencode::inert(pieces),
        _ => pieces.map(Piece::as_str).collect(),
    };
    let messages = prompt
        .expand_with(Call::Named { values: &values.collect(), input: "", is_strict: false }, join)
        .map_err(|error| Failure::invalid_params(format!("{} cannot be expanded: {error}", named(&prompt.name))))?;
    Ok(mcp::GetPromptResult {
        description: description(&prompt.name, prompt.description.clone()),
        messages: match agent.map_or(MenuMessages::All, |agent| agent.menu) {
            MenuMessages::All => messages.into_iter().map(message).collect(),
            // What it would lose is part of the text.
            MenuMessages::First | MenuMessages::WithoutRoles => {
                vec![message(Message { role: Role::User, text: messages.into_text() })]
            }
        },
    })
}

fn message(Message { role, text }: Message) -> mcp::PromptMessage {
    let role = match role {
        Role::User => mcp::Role::User,
        Role::Assistant => mcp::Role::Assistant,
    };
    mcp::PromptMessage { role, content: mcp::TextContent { text: text.into() } }
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
