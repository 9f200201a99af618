//! Commands of Gemini CLI: a TOML file with a `prompt`, in which `{{args}}` is the input, and perhaps a `description`. Gemini CLI
//! ignores all other keys.

use super::frontmatter::Frontmatter;
use super::markdown::Source;
use crate::prompt::{Diagnostic, Format, Name, Position, Prompt};
use crate::wording::quoted;
use toml_edit::{Document, Item};

/// Reads the text of a command.
///
/// # Errors
/// It is not TOML, or its `prompt` is missing, empty or not a text.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let document = Document::parse(text).map_err(|error| {
        let position = error.span().map(|span| Position::in_text(text, floor(text, span.start), 1));
        let message = error.message().lines().map(str::trim).collect::<Vec<_>>().join(", ");
        Diagnostic::error(
            position,
            format!("invalid TOML: {message}"),
            "correct it; a text of several lines goes between `'''`",
        )
    })?;
    let start = |item: &Item| item.span().map_or(0, |span| floor(text, span.start));
    let not_text = |key: &str, item: &Item| {
        let message = format!("{} is not a text", quoted(key));
        let fix = format!("write `{key} = '''…'''`");
        Diagnostic::error(Some(Position::in_text(text, start(item), 1)), message, fix)
    };
    let Some(prompt) = document.get("prompt") else {
        return Err(Diagnostic::error(None, "there is no `prompt`", "write `prompt = '''…'''` with the instructions"));
    };
    let body = prompt.as_str().ok_or_else(|| not_text("prompt", prompt))?;
    if body.trim().is_empty() {
        return Err(Diagnostic::error(None, "the `prompt` is empty", "write its instructions"));
    }
    let description = document.get("description");
    let unread = description.filter(|description| description.as_str().is_none());
    let lenient = unread.map(|description| {
        let Diagnostic { position, message, fix, .. } = not_text("description", description);
        Diagnostic::warning(position, format!("{message}, and is ignored"), fix)
    });
    let description = description.and_then(Item::as_str).map(str::trim).filter(|text| !text.is_empty());
    let frontmatter = Frontmatter { description: description.map(str::to_owned), ..Frontmatter::default() };
    let first = start(prompt);
    let begins_below = ["\"\"\"", "'''"].iter().any(|quotes| {
        text[first..].strip_prefix(quotes).is_some_and(|rest| rest.starts_with('\n') || rest.starts_with("\r\n"))
    });
    let line = Position::in_text(text, first, 1).line + usize::from(begins_below);
    let source = Source { lenient: lenient.into_iter().collect(), ..Source::new(frontmatter, body, line) };
    Ok(source.into_prompt(Format::GeminiToml, name))
}

/// The byte `at`, or the beginning of the character that it is in.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
