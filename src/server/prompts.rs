//! `prompts/list` and `prompts/get`: the library in a client's own menu, usually as slash commands.

use super::context::Context;
use super::failure::{Failure, FailureKind};
use super::pagination::Page;
use super::reply::Outcome;
use super::resources::{description, listed_description, uri_of_attachment};
use crate::agents::MenuMessages;
use crate::jsonrpc::Json;
use crate::library::{BoundCall, Found, Info, View, has_tag, joined};
use crate::mcp;
use crate::prompt::{
    Attachment, Call, Content, Diagnostic, INPUT, Kind, Media, Message, Metadata, Piece, Prompt,
    Revision, Role, Summary,
};
use crate::wording::{alternatives, named};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `prompts/list`, sorted by name. Broken files are left out; the tool `list_prompts` names them.
/// Templates that were not changed are left out too.
///
/// # Errors
/// Invalid params.
pub(super) fn list(
    context: &Context,
    params: mcp::ListPromptsParams<'_>,
) -> Result<mcp::ListPromptsResult, Failure> {
    let mcp::ListPromptsParams {
        cursor,
        filter,
        limit,
    } = params;
    let size = context.shared.settings.page_size;
    // Each filter has cursors of its own.
    let page = Page::requested(
        ("prompts", &filter),
        limit.map_or(size, |limit| limit.min(size)),
        cursor,
    )?;
    let view = context.view();
    let mut entries = match filter.as_ref().and_then(|filter| filter.query) {
        None => view.list().found,
        query => view.select(query, None).found,
    };
    entries.sort_by(|a, b| a.name.cmp(&b.name)); // a query gives the best match first
    let listed = |found: &Found| {
        let Info {
            summary, revision, ..
        } = found.info();
        let prompt = &summary.ok().filter(|prompt| !prompt.is_unedited_draft)?;
        if !filter.as_ref().is_none_or(|filter| matches(filter, prompt)) {
            return None;
        }
        Some(mcp::Prompt {
            name: found.name.to_string(),
            title: prompt.title.clone(),
            description: listed_description(found, prompt.description.as_deref()),
            arguments: arguments(prompt),
            meta: meta(prompt, revision),
        })
    };
    let (prompts, next_cursor) = page.fill(&entries, |found| &found.name, listed);
    Ok(mcp::ListPromptsResult {
        prompts,
        next_cursor,
    })
}

/// Whether a prompt has the category and the tags of a filter. Letter case makes no difference.
fn matches(filter: &mcp::PromptFilter<'_>, prompt: &Summary) -> bool {
    let folded = |text: &str| text.trim().to_lowercase();
    let is_category =
        |category: &str| prompt.metadata.category.as_deref().map(folded) == Some(folded(category));
    filter.category.is_none_or(is_category)
        && filter.tags.iter().flatten().all(|tag| has_tag(prompt, tag))
}

/// What a prompt says about itself, and its revision.
fn meta(prompt: &Summary, revision: Option<Revision>) -> mcp::PromptMeta {
    let Metadata {
        author,
        version,
        category,
    } = prompt.metadata.clone();
    let revision = revision.map(|revision| revision.to_string());
    mcp::PromptMeta {
        tags: prompt.tags.clone(),
        category,
        author,
        version,
        revision,
    }
}

/// The first protocol versions with blocks of audio, and with links to resources.
const WITH_AUDIO: &str = "2025-03-26";
const WITH_LINKS: &str = "2025-06-18";

/// Whether a protocol version has what came with the version `since`; `None` is the newest.
fn has(version: Option<&str>, since: &str) -> bool {
    version.is_none_or(|version| version >= since)
}

/// The declared arguments, and `input` if the prompt uses it.
///
/// Without declared arguments `input` is the only one. It is then marked as required, because
/// otherwise Gemini CLI does not pass on all words of a command; a call may still leave it out.
fn arguments(prompt: &Summary) -> Vec<mcp::PromptArgument> {
    let of = |name: &str| match prompt
        .arguments
        .iter()
        .find(|argument| argument.name == name)
    {
        Some(argument) => mcp::PromptArgument {
            name: name.to_owned(),
            title: argument.title.clone(),
            description: argument.description.clone(),
            required: argument.required,
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

/// `prompts/get`: the messages of the prompt, or, for an agent that would lose some of them or
/// their roles, one user message whose text is the same, byte for byte, as that of `expand_prompt`.
/// Only for an agent that would run it, the text is changed.
///
/// # Errors
/// Those of [`find`]; invalid params; a text that names all required arguments that are missing; an
/// attachment that cannot be used.
pub(super) fn get(context: &Context, params: mcp::GetPromptParams<'_>) -> Result<Outcome, Failure> {
    // Names that the prompt does not have are ignored: clients send values of other prompts, too.
    let values = params
        .arguments
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let values: BTreeMap<String, String> = values.collect();
    let view = context.view();
    let (found, context) = (find(&view, params.name)?, context.clone());
    Outcome::now_or_later(found.layer, move || {
        let mut prompt = found
            .prompt()
            .map_err(|broken| Failure::new(FailureKind::Unavailable, broken))?;
        if let Some(template) = context.menu_template() {
            prompt = Arc::new((template.without_strict_marks)(&prompt, &values));
        }
        messages(&context, &found, &prompt, &values)
    })
}

/// The result with the messages of a prompt.
fn messages(
    context: &Context,
    found: &Found,
    prompt: &Prompt,
    values: &BTreeMap<String, String>,
) -> Result<Json, Failure> {
    let agent = context.agent;
    let join = match context.menu_template() {
        Some(template) => template.join,
        None => joined,
    };
    let call = Call::Named {
        values,
        input: "",
        is_strict: false,
    };
    let bound = BoundCall::new(prompt, call);
    let expansion = found.expand_bound(bound, &join).map_err(|error| {
        let text = format!("{} cannot be expanded: {error}", named(&prompt.name));
        Failure::new(FailureKind::of_expansion(&error), text)
    })?;
    let messages = expansion.messages;
    let attached =
        |attachment: &Attachment| join(&mut [Piece::Text(&attachment.to_text())].into_iter());
    let menu = agent.map_or(MenuMessages::All, |agent| agent.menu);
    // What the agent would lose is part of the text form.
    let of_user_text = |text| Message {
        role: Role::User,
        text,
    };
    let (texts, mut attachments) = match menu {
        MenuMessages::All => (messages.messages, messages.attachments),
        MenuMessages::OneText => (
            vec![of_user_text(messages.to_text_with(attached))],
            Vec::new(),
        ),
        MenuMessages::WithoutRoles => (
            vec![of_user_text(messages.to_text_with(attached))],
            messages.attachments,
        ),
    };
    if menu == MenuMessages::WithoutRoles {
        attachments.retain(|attachment| matches!(attachment.content, Content::Image(_)));
    }
    let texts = texts
        .into_iter()
        .map(|Message { role, text }| message(role, text_block(text)));
    let blocks = attachments
        .into_iter()
        .map(|it| message(Role::User, block(prompt, it, context.version, attached)));
    let result = json!({
        "description": description(&prompt.name, prompt.description.clone()),
        "messages": texts.chain(blocks).collect::<Vec<_>>(),
    });
    Ok(context.era.result(Json::of(&result)?, None))
}

fn message(role: Role, content: Value) -> Value {
    json!({ "role": role.name(), "content": content })
}

fn text_block(text: String) -> Value {
    json!({ "type": "text", "text": text })
}

/// An attachment as a block, or as a line of text if the protocol version has no such block.
fn block(
    prompt: &Prompt,
    attachment: Attachment,
    version: Option<&str>,
    as_text: impl Fn(&Attachment) -> String,
) -> Value {
    let name = &attachment.name;
    match &attachment.content {
        Content::Image(Media {
            mime_type, bytes, ..
        }) => {
            json!({ "type": "image", "data": BASE64.encode(bytes), "mimeType": mime_type })
        }
        Content::Audio(Media {
            mime_type, bytes, ..
        }) if has(version, WITH_AUDIO) => {
            json!({ "type": "audio", "data": BASE64.encode(bytes), "mimeType": mime_type })
        }
        Content::Address if has(version, WITH_LINKS) => {
            json!({ "type": "resource_link", "uri": name, "name": name })
        }
        Content::Text(text) => {
            let uri = uri_of_attachment(&prompt.name, name);
            let resource =
                json!({ "uri": uri, "mimeType": attachment.text_mime_type(), "text": text });
            json!({ "type": "resource", "resource": resource })
        }
        Content::Audio(_) | Content::Address => text_block(as_text(&attachment)),
    }
}

/// The prompt that a client names, found as tolerantly as by `expand_prompt`.
///
/// # Errors
/// The prompt is unknown.
pub(super) fn find(view: &View, name: &str) -> Result<Found, Failure> {
    view.find(name).map_err(|why| {
        let why = without_drafts(why, view).to_string();
        let unreadable: String = view
            .unreadable()
            .iter()
            .map(|problem| format!("; cannot be read: {problem}"))
            .collect();
        let next = if why.ends_with('?') {
            ""
        } else {
            "; prompts/list shows all"
        };
        Failure::invalid_params(format!("{why}{next}{unreadable}"))
    })
}

/// The same error without a suggestion of a template that was not changed, for a model.
pub(super) fn without_drafts(why: Diagnostic, view: &View) -> Diagnostic {
    let Kind::NoSuchPrompt { mut closest } = why.kind else {
        return why;
    };
    closest.retain(|name| {
        !view
            .get(name)
            .is_some_and(|found| found.is_unedited_draft())
    });
    let fix = if closest.is_empty() {
        String::new()
    } else {
        format!("did you mean {}?", alternatives(&closest))
    };
    Diagnostic {
        kind: Kind::NoSuchPrompt { closest },
        fix,
        ..why
    }
}
