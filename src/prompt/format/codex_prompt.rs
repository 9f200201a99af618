//! Prompts of Codex: Markdown in which `$1` to `$9` are words of the text and `$ARGUMENTS` is all of them, or `$NAME` is the value
//! that is given as `NAME=…`.
//!
//! Codex takes every `$NAME` for an argument, `$PATH` in an example too, and then refuses any other text. Here only those that
//! the `argument-hint` mentions are arguments; the others are text.

use super::{frontmatter, markdown};
use crate::prompt::{Argument, Diagnostic, Format, Name, Prompt};

/// Reads the text of a prompt.
///
/// # Errors
/// Those of the frontmatter.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let format = Format::CodexPrompt;
    let mut source = markdown::read(format, text)?;
    source.frontmatter.arguments.clear(); // not a key of Codex
    let hint = hint(text);
    let is_name = |word: &&str| {
        let is_letter = |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_';
        word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.bytes().all(is_letter)
            && *word != "ARGUMENTS"
    };
    let words = hint.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').filter(is_name);
    let named = words.map(|name| Argument { name: name.to_owned(), required: true, ..Argument::default() });
    source.declare(format, named.collect())?;
    if source.frontmatter.arguments.is_empty() {
        let argument = |number: u32| Argument { name: number.to_string(), ..Argument::default() };
        source.declare(format, (1..=9).map(argument).collect())?;
        // The second word goes to `$2`, whether there is a `$1` or not.
        let last = source.frontmatter.arguments.last().and_then(|last| last.name.parse().ok()).unwrap_or(0);
        source.frontmatter.arguments = (1..=last).map(argument).collect();
    }
    Ok(source.into_prompt(format, name))
}

/// The `argument-hint` of the frontmatter, which Codex reads line by line.
fn hint(text: &str) -> &str {
    let lines = frontmatter::split(text).ok().and_then(|split| split.yaml).unwrap_or_default().lines();
    let mut hints = lines.filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        ["argument-hint", "argument_hint"].contains(&key.trim()).then_some(value)
    });
    hints.next().unwrap_or_default()
}
