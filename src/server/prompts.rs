//! `prompts/list` and `prompts/get`: the library in a client's own menu, usually as slash commands.

use super::editing::Seen;
use super::lifecycle::{Failure, FailureKind};
use super::opencode;
use super::page::{Kind, Page};
use super::resources;
use crate::agents::{Agent, MenuMessages};
use crate::library::{Entry, FileInfo, Lookup, Revision, View, has_tag};
use crate::mcp;
use crate::prompt::{
    Attachment, Call, Content, ExpandError, INPUT, Icon, Media, Message, Metadata, Piece, Prompt, Role, Summary,
};
use crate::wording::{named, shortened};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// `prompts/list`, sorted by name. Broken files are left out; the tool `list_prompts` names them. Templates that were not changed
/// are left out too. `version` is the protocol version, `None` if it is the newest.
pub(super) fn list(
    view: &View,
    page: &Page,
    filter: Option<&mcp::PromptFilter<'_>>,
    version: Option<&str>,
    seen: &mut Seen,
) -> mcp::ListPromptsResult {
    let has_icons = has(version, WITH_ICONS);
    let mut entries = match filter.and_then(|filter| filter.query) {
        None => view.list().entries,
        query => view.select(query, None).found.into_iter().map(|(entry, _)| entry).collect(),
    };
    entries.sort_by(|a, b| a.name().cmp(b.name())); // a query gives the best match first
    let listed = |entry: &Entry<'_>| {
        let FileInfo { summary, revision, .. } = entry.info();
        let prompt = &summary.ok().filter(|prompt| !prompt.is_template)?;
        if !filter.is_none_or(|filter| matches(filter, prompt)) {
            return None;
        }
        seen.record(entry.name(), revision);
        Some(mcp::Prompt {
            name: entry.name().to_string(),
            title: prompt.title.clone(),
            description: listed_description(entry, prompt.description.as_deref()),
            arguments: arguments(prompt),
            icons: if has_icons { prompt.metadata.icons.iter().map(icon).collect() } else { Vec::new() },
            meta: meta(prompt, revision),
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

/// What a prompt says about itself, and its revision.
fn meta(prompt: &Summary, revision: Option<Revision>) -> Option<mcp::PromptMeta> {
    let Metadata { author, version, category, icons: _ } = prompt.metadata.clone();
    let (tags, revision) = (prompt.tags.clone(), revision.map(|revision| revision.to_string()));
    let says_nothing = tags.is_empty() && [&author, &version, &category, &revision].into_iter().all(Option::is_none);
    (!says_nothing).then_some(mcp::PromptMeta { tags, category, author, version, revision })
}

/// The description of a prompt, never empty, because some clients do not show a prompt without one.
fn description(name: &str, description: Option<String>) -> String {
    description.unwrap_or_else(|| format!("The prompt {}", named(name)))
}

fn icon(icon: &Icon) -> mcp::Icon {
    let Icon { src, mime_type, sizes, theme } = icon.clone();
    mcp::Icon { src, mime_type, sizes, theme }
}

/// The first protocol versions with blocks of audio, with links to resources, and with icons.
const WITH_AUDIO: &str = "2025-03-26";
const WITH_LINKS: &str = "2025-06-18";
const WITH_ICONS: &str = "2025-11-25";

/// Whether a protocol version has what came with the version `since`; `None` is the newest.
fn has(version: Option<&str>, since: &str) -> bool {
    version.is_none_or(|version| version >= since)
}

/// The longest description in a list, in characters: some agents' prompts have descriptions of several thousand, and the model
/// gets the list whole.
pub(super) const MAX_LISTED_DESCRIPTION: usize = 300;

/// The description of a prompt in a list, which [marks](crate::library::Layer::mark) a project's prompt and a remote one.
pub(super) fn listed_description(entry: &Entry<'_>, of_prompt: Option<&str>) -> String {
    let of_prompt = of_prompt.map(|description| shortened(description, MAX_LISTED_DESCRIPTION).into_owned());
    let description = description(entry.name(), of_prompt);
    format!("{}{description}", entry.layer().mark())
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
/// text is the same, byte for byte, as that of `expand_prompt`. `version` is the protocol version, `None` if it is the newest. Only
/// for an agent that would run it, the text is changed.
///
/// # Errors
/// Those of [`find`]; invalid params; a text that names all required arguments that are missing; an attachment that cannot be used.
pub(super) fn get(
    view: &View,
    agent: Option<&Agent>,
    version: Option<&str>,
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
    let values: BTreeMap<String, String> = values.collect();
    let mut prompt = find(view, name)?;
    if agent.is_some_and(|agent| agent.runs_prompts) {
        prompt = Arc::new(opencode::without_strict_marks(&prompt, &values));
    }
    let join = |pieces: &mut dyn Iterator<Item = Piece<'_>>| match agent {
        Some(agent) if agent.runs_prompts => opencode::inert(pieces),
        _ => pieces.map(Piece::as_str).collect(),
    };
    let failed = |error: ExpandError| {
        let text = format!("{} cannot be expanded: {error}", named(&prompt.name));
        match error {
            ExpandError::Attachment(_) | ExpandError::Service(_) => Failure::new(FailureKind::Unavailable, text),
            _ => Failure::invalid_params(text),
        }
    };
    let call = Call::Named { values: &values, input: "", is_strict: false };
    let messages = view.expand_with(&prompt, call, &join).map_err(failed)?;
    let attached = |attachment: &Attachment| join(&mut [Piece::Text(&attachment.to_text())].into_iter());
    let menu = agent.map_or(MenuMessages::All, |agent| agent.menu);
    // What the agent would lose is part of the text form.
    let of_user_text = |text| Message { role: Role::User, text };
    let (texts, mut attachments) = match menu {
        MenuMessages::All => (messages.messages, messages.attachments),
        MenuMessages::OneText => (vec![of_user_text(messages.into_text_with(attached))], Vec::new()),
        MenuMessages::WithoutRoles => (vec![of_user_text(messages.to_text_with(attached))], messages.attachments),
    };
    if menu == MenuMessages::WithoutRoles {
        attachments.retain(|attachment| matches!(attachment.content, Content::Image(_)));
    }
    let of_user = |content| mcp::PromptMessage { role: mcp::Role::User, content };
    let blocks = attachments.into_iter().map(|it| of_user(content(&prompt, it, version, attached)));
    Ok(mcp::GetPromptResult {
        description: description(&prompt.name, prompt.description.clone()),
        messages: texts.into_iter().map(message).chain(blocks).collect(),
    })
}

fn message(Message { role, text }: Message) -> mcp::PromptMessage {
    let role = match role {
        Role::User => mcp::Role::User,
        Role::Assistant => mcp::Role::Assistant,
    };
    mcp::PromptMessage { role, content: mcp::PromptContent::Text { text } }
}

/// An attachment as a block, or as a line of text if the protocol version has no such block.
fn content(
    prompt: &Prompt,
    attachment: Attachment,
    version: Option<&str>,
    as_text: impl Fn(&Attachment) -> String,
) -> mcp::PromptContent {
    let is_known = match attachment.content {
        Content::Audio(_) => has(version, WITH_AUDIO),
        Content::Address => has(version, WITH_LINKS),
        Content::Text(_) | Content::Image(_) => true,
    };
    if !is_known {
        return mcp::PromptContent::Text { text: as_text(&attachment) };
    }
    let mime_type = attachment.text_mime_type();
    let Attachment { name, content } = attachment;
    match content {
        Content::Image(Media { mime_type, bytes, .. }) => {
            mcp::PromptContent::Image { data: BASE64.encode(bytes), mime_type }
        }
        Content::Audio(Media { mime_type, bytes, .. }) => {
            mcp::PromptContent::Audio { data: BASE64.encode(bytes), mime_type }
        }
        Content::Address => mcp::PromptContent::ResourceLink { uri: name.clone(), name },
        Content::Text(text) => mcp::PromptContent::Resource {
            resource: mcp::TextResourceContents {
                uri: resources::uri_of_attachment(&prompt.name, &name),
                mime_type,
                text,
                meta: None,
            },
        },
    }
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
