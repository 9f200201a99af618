//! Prompts of Continue: YAML without a first `---`, a line `---`, and the text, in which `{{{ input }}}` is the input. Or Markdown
//! with an ordinary frontmatter, or without one.
//!
//! Continue fills in the rest of the braces with Handlebars. Names such as `{{{ diff }}}` stay as written; a file with a block or a
//! partial, as Dotprompt has them too, needs that engine.

use super::frontmatter;
use super::markdown::{self, Source};
use crate::prompt::{Diagnostic, Format, Name, Prompt};
use std::borrow::Cow;
use std::ops::Range;

/// Reads the text of a prompt.
///
/// # Errors
/// Those of the frontmatter; or the text needs Handlebars.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let format = Format::ContinuePrompt;
    let text = text.replace("\r\n", "\n");
    let mut source = match text.split_once("\n---\n").or_else(|| text.split_once("\n---")) {
        Some((yaml, body)) if !text.starts_with("---") && (body.is_empty() || text.contains("\n---\n")) => {
            match frontmatter::read(yaml, format, &mut Vec::new())? {
                Some(frontmatter) => Source::new(frontmatter, body, yaml.lines().count() + 2),
                None => markdown::read(format, &text)?,
            }
        }
        _ => markdown::read(format, &text)?,
    };
    if let Some(tag) = handlebars(&source.body) {
        return Err(source.needs_engine("Handlebars", tag));
    }
    // Continue sends this part as the system prompt.
    if let Some((before, rest)) = source.body.split_once("<system>")
        && let Some((system, after)) = rest.split_once("</system>")
    {
        let texts = [system.trim(), before.trim(), after.trim()];
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        source.body = Cow::Owned(texts.join("\n\n"));
    }
    Ok(source.into_prompt(format, name))
}

/// The first text in braces that is more than a name: `{{#if x}}`, `{{> partial}}`, `{{role "system"}}`.
fn handlebars(body: &str) -> Option<Range<usize>> {
    body.match_indices("{{").find_map(|(at, open)| {
        let inside = &body[at + open.len()..];
        let (inside, _) = inside.split_once("}}").filter(|(inside, _)| !inside.contains(['\n', '{']))?;
        let is_helper = inside.trim_start().starts_with(['#', '>', '/', '^'])
            || ["role ", "media ", "history", "section "].iter().any(|helper| inside.trim_start().starts_with(helper));
        is_helper.then(|| at..at + open.len() + inside.len() + 2)
    })
}
