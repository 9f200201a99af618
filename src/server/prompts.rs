//! `prompts/list` and `prompts/get`: prompts in a client's own menu, usually as slash commands.

use super::context::Context;
use super::era::NO_CACHING;
use super::failure::{Failure, FailureKind};
use super::pagination::Page;
use super::reply::Outcome;
use super::resources::{description_or_default, listed_description, uri_of_attachment};
use crate::agents::MenuMessages;
use crate::jsonrpc::Json;
use crate::library::{BoundCall, Found, View, has_tag, join_unchanged, note_for_model};
use crate::mcp::{self, ArgumentText};
use crate::prompt::{
    Attachment, Call, Content, Diagnostic, INPUT, Kind, Media, Message, Messages, Metadata, Name,
    Piece, Prompt, Revision, Role, Summary,
};
use crate::usage::Way;
use crate::wording::{in_backticks, or_list};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Handles `prompts/list`. Sorts by name, and skips unedited drafts and broken files; the tool
/// `list_prompts` reports the latter.
///
/// # Errors
/// Fails if the cursor is invalid.
pub(super) fn list(
    context: &Context,
    params: mcp::ListPromptsParams<'_>,
) -> Result<mcp::ListPromptsResult, Failure> {
    let mcp::ListPromptsParams {
        cursor,
        filter,
        limit,
    } = params;
    let max_size = context.shared.settings.page_size;
    let size = limit.map_or(max_size, |limit| limit.min(max_size));
    // Include the filter, because a cursor is valid only for the same one.
    let page = Page::from_cursor(("prompts", &filter), size, cursor)?;
    let query = filter.as_ref().and_then(|filter| filter.query);
    let any_tag = None;
    let mut entries = context.view().select(query, any_tag).found;
    // Pages require this order; a query returns the best match first.
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let (prompts, next_cursor) = page.collect(
        &entries,
        |found| &found.name,
        |found| list_entry(found, filter.as_ref()),
    );
    Ok(mcp::ListPromptsResult {
        prompts,
        next_cursor,
    })
}

/// Returns the list entry of a prompt, or `None` to skip it because it is broken, an unedited
/// draft, or doesn't match the filter.
fn list_entry(found: &Found, filter: Option<&mcp::PromptFilter<'_>>) -> Option<mcp::Prompt> {
    let info = found.info();
    let summary = info.summary.ok()?;
    if summary.is_unedited_draft || filter.is_some_and(|filter| !matches(filter, &summary)) {
        return None;
    }
    Some(mcp::Prompt {
        name: found.name.to_string(),
        title: summary.title.clone(),
        description: listed_description(found, summary.description.as_deref()),
        arguments: arguments(&summary),
        meta: meta(&summary, info.revision),
    })
}

/// Returns whether a prompt has the category and tags of a filter, ignoring case.
fn matches(filter: &mcp::PromptFilter<'_>, prompt: &Summary) -> bool {
    if let Some(category) = filter.category {
        let own = prompt.metadata.category.as_deref().map(fold_category);
        if own != Some(fold_category(category)) {
            return false;
        }
    }
    filter.tags.iter().flatten().all(|tag| has_tag(prompt, tag))
}

/// Normalizes a category for comparison.
fn fold_category(category: &str) -> String {
    category.trim().to_lowercase()
}

/// Returns the metadata from a prompt's frontmatter, and its revision.
fn meta(prompt: &Summary, revision: Option<Revision>) -> mcp::PromptMeta {
    let Metadata {
        author,
        version,
        category,
    } = prompt.metadata.clone();
    mcp::PromptMeta {
        tags: prompt.tags.clone(),
        category,
        author,
        version,
        revision: revision.map(|revision| revision.to_string()),
    }
}

/// Returns the declared arguments of a prompt, and `input` if the prompt uses it.
///
/// If `input` is the only one, it is marked as required, because otherwise Gemini CLI doesn't pass
/// on all words of a command. A call can still omit it.
fn arguments(prompt: &Summary) -> Vec<mcp::PromptArgument> {
    let mut arguments = Vec::new();
    for name in prompt.value_names() {
        let declared = prompt
            .arguments
            .iter()
            .find(|argument| argument.name == name);
        arguments.push(match declared {
            Some(argument) => mcp::PromptArgument {
                name: name.to_owned(),
                title: argument.title.clone(),
                description: argument.description.clone(),
                required: prompt.is_required(argument),
            },
            None => mcp::PromptArgument {
                name: INPUT.to_owned(),
                title: None,
                description: Some("The text for the prompt".to_owned()),
                required: prompt.arguments.is_empty(),
            },
        });
    }
    arguments
}

/// Handles `prompts/get`: expands a prompt into messages.
///
/// Agents that would lose some messages or their roles get a single user message with the text that
/// `expand_prompt` returns. The text is altered only for agents that would execute commands in it.
///
/// # Errors
/// Fails if the prompt doesn't exist, is broken, or can't be expanded with these arguments.
pub(super) fn get(context: &Context, params: mcp::GetPromptParams<'_>) -> Result<Outcome, Failure> {
    // Unknown names are ignored, because some clients also send arguments of other prompts.
    let mut values = BTreeMap::new();
    for (name, value) in params.arguments.unwrap_or_default() {
        if let Some(ArgumentText(text)) = value {
            values.insert(name, text);
        }
    }
    let view = context.view();
    let context = context.clone();
    Outcome::find_and_run(view, params.name.to_owned(), unknown_prompt, move |found| {
        let prompt = found.prompt().map_err(Failure::unavailable)?;
        let Some(template) = context.menu_template() else {
            let result = expand(&context, found, &prompt, &values)?;
            context.count_use(found, Way::Menu);
            return Ok(result);
        };
        // Not counted: such an agent requests the template of each prompt to list its menu.
        let prompt = (template.accept_placeholders)(&prompt, &values);
        expand(&context, found, &prompt, &values)
    })
}

/// Expands a prompt and returns the result of `prompts/get`.
fn expand(
    context: &Context,
    found: &Found,
    prompt: &Prompt,
    values: &BTreeMap<String, String>,
) -> Result<Json, Failure> {
    let join = match context.menu_template() {
        Some(template) => template.join,
        None => join_unchanged,
    };
    let call = Call::Named {
        values,
        input: "",        // it is one of the values
        is_strict: false, // see `get`
    };
    let bound = BoundCall::new(prompt, call);
    let expansion = found.expand_bound(bound, &join).map_err(|error| {
        let text = format!("{} cannot be expanded: {error}", in_backticks(&prompt.name));
        Failure::new(FailureKind::of_expansion(&error), text)
    })?;
    let menu = context
        .agent
        .map_or(MenuMessages::All, |agent| agent.menu_messages);
    let mut all_messages = expansion.messages;
    // The values of a template are marks, which the user didn't type.
    if context.menu_template().is_none() {
        for warning in &expansion.unused_text {
            all_messages.messages.push(Message {
                role: Role::User,
                text: note_for_model(warning),
            });
        }
    }
    let Messages {
        messages,
        attachments,
    } = for_menu(all_messages, menu, join);
    let mut entries = Vec::new();
    for Message { role, text } in messages {
        entries.push(message(role, text_block(text)));
    }
    for attachment in &attachments {
        let block = attachment_block(&prompt.name, attachment, context.version, join);
        entries.push(message(Role::User, block));
    }
    let result = json!({
        "description": description_or_default(&prompt.name, prompt.description.clone()),
        "messages": entries,
    });
    Ok(context.era.result(Json::serialize(&result)?, NO_CACHING))
}

/// Joins the pieces of a message into its text.
type JoinFunction = fn(&mut dyn Iterator<Item = Piece<'_>>) -> String;

/// Adapts messages to what an agent passes on to its model when a prompt is selected from its menu.
/// If the agent would lose some of them, they are combined into the text of one user message.
fn for_menu(messages: Messages, menu: MenuMessages, join: JoinFunction) -> Messages {
    if menu == MenuMessages::All {
        return messages;
    }
    // Before attachments are removed: the text names all of them.
    let text = messages.to_text_with(|attachment| attachment_text(attachment, join));
    let mut attachments = messages.attachments;
    let keeps_images = menu == MenuMessages::WithoutRoles;
    attachments
        .retain(|attachment| keeps_images && matches!(attachment.content, Content::Image(_)));
    Messages {
        messages: vec![Message {
            role: Role::User,
            text,
        }],
        attachments,
    }
}

/// Formats an attachment as text, and lets `join` alter it like the text of a message.
fn attachment_text(attachment: &Attachment, join: JoinFunction) -> String {
    join(&mut [Piece::Text(&attachment.to_text())].into_iter())
}

fn message(role: Role, content: Value) -> Value {
    json!({ "role": role.name(), "content": content })
}

fn text_block(text: String) -> Value {
    json!({ "type": "text", "text": text })
}

/// The first protocol version with audio content.
const WITH_AUDIO: &str = "2025-03-26";
/// The first protocol version with resource links.
const WITH_LINKS: &str = "2025-06-18";

/// Converts an attachment to a content block, or to text if the protocol version has no suitable
/// block. A `version` of `None` is the newest.
fn attachment_block(
    prompt: &Name,
    attachment: &Attachment,
    version: Option<&str>,
    join: JoinFunction,
) -> Value {
    let name = &attachment.name;
    match &attachment.content {
        Content::Image(image) => media_block("image", image),
        Content::Audio(audio) if is_since(version, WITH_AUDIO) => media_block("audio", audio),
        Content::Url if is_since(version, WITH_LINKS) => {
            json!({ "type": "resource_link", "uri": name, "name": name })
        }
        Content::Text(text) => {
            let resource = json!({
                "uri": uri_of_attachment(prompt, name),
                "mimeType": attachment.text_mime_type(),
                "text": text,
            });
            json!({ "type": "resource", "resource": resource })
        }
        Content::Audio(_) | Content::Url => text_block(attachment_text(attachment, join)),
    }
}

fn media_block(kind: &str, media: &Media) -> Value {
    json!({ "type": kind, "data": BASE64.encode(&media.bytes), "mimeType": media.mime_type })
}

/// Returns whether a protocol version is `since` or later. `None` is the newest.
fn is_since(version: Option<&str>, since: &str) -> bool {
    version.is_none_or(|version| version >= since)
}

/// Converts the error for a name that no prompt has.
pub(super) fn unknown_prompt(view: &View, _name: &str, error: Diagnostic) -> Failure {
    let mut text = without_draft_suggestions(error, view).to_string();
    if !text.ends_with('?') {
        text += "; prompts/list shows all";
    }
    for problem in view.unreadable() {
        text += &format!("; cannot be read: {problem}");
    }
    Failure::invalid_params(text)
}

/// Removes unedited drafts from the suggestions of an unknown-prompt error. Returns other errors
/// unchanged.
pub(super) fn without_draft_suggestions(error: Diagnostic, view: &View) -> Diagnostic {
    let Kind::NoSuchPrompt { mut closest } = error.kind else {
        return error;
    };
    closest.retain(|name| match view.get(name) {
        Some(found) => !found.is_unedited_draft(),
        None => true,
    });
    let fix = if closest.is_empty() {
        String::new()
    } else {
        format!("did you mean {}?", or_list(&closest))
    };
    Diagnostic {
        kind: Kind::NoSuchPrompt { closest },
        fix,
        ..error
    }
}
