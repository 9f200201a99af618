//! The history of a prompt: its versions, and what restoring one of them would change.

use super::diff::diff;
use super::text::{Text, command, path_in, path_of, unless_too_long, verbatim};
use crate::library::{EditError, Editor, Operation, Revision, Version};
use maud::{Markup, html};

/// The revision in the query of an address.
pub(super) fn revision(query: &str) -> Option<Revision> {
    let mut values = form_urlencoded::parse(query.as_bytes());
    values.find(|(name, _)| name == "revision").and_then(|(_, revision)| revision.parse().ok())
}

/// The page: its title, and its content. Without a revision, the version before the current one is shown.
pub(super) fn page(editor: &Editor<'_>, name: &str, revision: Option<Revision>) -> Result<(String, Markup), EditError> {
    let versions = editor.history(name)?;
    let current = versions.iter().find(|version| version.is_current).map(|version| version.revision);
    let now = current.map(|current| editor.version(name, current)).transpose()?;
    let (chosen, text) = match revision {
        Some(chosen) => (Some(chosen), Some(editor.version(name, chosen)?)),
        None => editor.before(name)?.unzip(),
    };
    let main = html! {
        article.editor.history {
            header {
                @if current.is_some() { a.back href=(path_of(name)) { "← Back to the prompt" } } @else { a.back href="/" { "← All prompts" } }
                div.title {
                    h1 { "History of " (command(name)) }
                    @if current.is_some() { a.button href=(path_in(super::EDIT, name)) { "Edit" } }
                }
                @if current.is_none() { p.lead { "This prompt was deleted. You can restore it." } }
            }
            div.columns {
                ol.versions {
                    @for version in &versions { li { (item(name, version, chosen)) } }
                }
                @if let (Some(chosen), Some(text)) = (chosen, &text) { (shown(name, chosen, text, current.zip(now.as_deref()))) }
                @else { p.empty { "There is no earlier version." } }
            }
        }
    };
    Ok((format!("History of :{name}"), main))
}

fn item(
    name: &str,
    Version { revision, at, operation, author, note, is_current }: &Version,
    chosen: Option<Revision>,
) -> Markup {
    let what = match operation {
        Operation::Create => "Created",
        Operation::Update => "Changed",
        Operation::Delete => "Deleted",
        Operation::Restore => "Restored",
        Operation::ByHand => "Changed outside of prompt-expander",
    };
    let is_chosen = chosen == Some(*revision) && *operation != Operation::Delete;
    html! {
        a href=(format!("{}?revision={revision}", path_in(super::HISTORY, name))) aria-current=[is_chosen.then_some("true")] {
            strong { time datetime=(at) { (at.strftime("%Y-%m-%d %H:%M:%S UTC")) } }
            span { (what) @if let Some(author) = author { " by " bdi { (Text(author)) } } @if *is_current { ", current" } }
            @if let Some(note) = note { span.text dir="auto" { "“" (Text(note)) "”" } }
        }
    }
}

/// A version: its text, and what restoring it would change.
fn shown(name: &str, chosen: Revision, text: &str, current: Option<(Revision, &str)>) -> Markup {
    let is_current = current.is_some_and(|(current, _)| current == chosen);
    html! {
        section.result #side aria-labelledby="side-heading" {
            div.bar {
                h2 #side-heading { @if is_current { "The current version" } @else { "An earlier version" } }
                @if !is_current {
                    button.scripted #restore type="button" data-command=(name) data-revision=(chosen) data-then=(path_of(name))
                        data-expected=[current.map(|(current, _)| current)] { "Restore this version" }
                }
            }
            @if let Some((_, now)) = current.filter(|_| !is_current) {
                h3 { "What restoring it changes" }
                @match diff(now, text, "What restoring it changes") {
                    Some(diff) => { (diff) },
                    None => { p.paper.note { "The texts are too different to be compared here." } },
                }
            }
            h3 { "Its text" }
            @match unless_too_long(text, || verbatim(text)) {
                Some(text) => { pre.paper #version tabindex="0" role="group" aria-label="The text of this version" { (text) } },
                None => { p.paper.note { "This is too long for the page. " code { bdi { "prompt-expander diff " (Text(name)) " " (chosen) } } " shows it." } },
            }
        }
    }
}
