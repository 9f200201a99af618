//! Patterns of fabric: a `system.md` without frontmatter. The input goes to `{{input}}`, else into the next line after the text.
//!
//! fabric takes every `{{name}}` for a variable and refuses to run without its value. Patterns about other templates are full of
//! such texts; so here a variable without a value stays as written.

use super::frontmatter::Frontmatter;
use super::markdown::Source;
use crate::prompt::outline;
use crate::prompt::{Argument, Diagnostic, Format, Name, Prompt};

/// Reads the text of a pattern.
///
/// # Errors
/// It has too many variables.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let format = Format::FabricPattern;
    let mut source = Source::new(Frontmatter::default(), text, 1);
    let code = outline::code(&source.body);
    let is_in_code = |at: usize| code.iter().any(|range| range.contains(&at));
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let variables = source.body.match_indices("{{").filter_map(|(at, open)| {
        let (name, _) = source.body[at + open.len()..].split_once("}}")?;
        let is_variable = name.starts_with(is_letter) && name.chars().all(is_letter) && !is_in_code(at);
        (is_variable && name != "input").then(|| Argument { name: name.to_owned(), ..Argument::default() })
    });
    let variables = variables.collect();
    source.declare(format, variables)?;
    Ok(source.into_prompt(format, name))
}
