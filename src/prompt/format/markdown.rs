//! Markdown files: a YAML frontmatter, if there is one, and a body that becomes one message.

use super::frontmatter::{self, Frontmatter, Split};
use crate::prompt::outline::outline;
use crate::prompt::{Diagnostic, MessageTemplate, Name, Position, Prompt};
use std::borrow::Cow;

/// Reads the text of a file, without its byte order mark.
///
/// # Errors
/// Those of the frontmatter.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut lenient = Vec::new();
    let (frontmatter, body, body_line) = parts(text, &mut lenient)?;
    let body = if body.contains('\r') { Cow::Owned(body.replace("\r\n", "\n")) } else { Cow::Borrowed(body) };
    let (body, dropped) = without_empty_ends(&body);
    let Frontmatter { mut title, mut description, arguments, tags, metadata, has_foreign_keys } = frontmatter;
    if title.is_none() || description.is_none() {
        let outline = outline(body);
        title = title.or_else(|| outline.heading.clone());
        description = description.or_else(|| outline.description());
    }
    let names = arguments.iter().map(|argument| argument.name.as_str());
    let messages = vec![MessageTemplate::parse(body, body_line + dropped, names)];
    Ok(Prompt { name, title, description, messages, arguments, tags, metadata, lenient, has_foreign_keys })
}

/// The frontmatter, the body, and the line of the file in which the body begins.
fn parts<'t>(text: &'t str, warnings: &mut Vec<Diagnostic>) -> Result<(Frontmatter, &'t str, usize), Diagnostic> {
    let Split { yaml, body, body_line } = frontmatter::split(text)?;
    let Some(yaml) = yaml else {
        warnings.extend(frontmatter::misplaced(text));
        return Ok((Frontmatter::default(), text, 1));
    };
    if let Some(frontmatter) = frontmatter::read(yaml, warnings)? {
        return Ok((frontmatter, body, body_line));
    }
    warnings.push(Diagnostic::warning(
        Some(Position::START),
        "the lines between the first two `---` have no key such as `description:`; they are part of the prompt's text",
        "write rules as `***`, or give the frontmatter a `description: …`",
    ));
    Ok((Frontmatter::default(), text, 1))
}

/// The body without the empty lines at its two ends, and how many were dropped at the beginning.
fn without_empty_ends(body: &str) -> (&str, usize) {
    let mut rest = body;
    let mut dropped = 0;
    while let Some((_, after)) = rest.split_once('\n').filter(|(line, _)| line.trim().is_empty()) {
        rest = after;
        dropped += 1;
    }
    if rest.trim().is_empty() {
        return ("", dropped);
    }
    let end = rest.trim_end().len();
    // The last line keeps the spaces at its end.
    let line_end = rest[end..].find('\n').map_or(rest.len(), |newline| end + newline);
    (&rest[..line_end], dropped)
}
