//! Parses commands of Gemini CLI: TOML files with a `prompt`, in which `{{args}}` is the input, and
//! an optional `description`. Gemini CLI ignores all other keys.
//!
//! Qwen Code, a fork of Gemini CLI, reads such files, and Markdown files with `{{args}}`.

use super::frontmatter::{Dialect, Frontmatter};
use super::markdown::{self, MarkdownSource};
use super::yaml;
use crate::prompt::diagnostic::{Diagnostic, Kind, Position, PositionCursor};
use crate::prompt::file_text::truncate_at_boundary;
use crate::prompt::foreign_syntax::{GEMINI, QWEN_CODE};
use crate::prompt::model::{IgnoredKey, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{
    ArgumentNames, BodyPosition, Escape, PlaceholderForm, PlaceholderSyntax,
};
use toml_edit::{Document, Item, TomlError};

const ARGS: PlaceholderForm = PlaceholderForm {
    open: "{{",
    close: "}}",
    input_name: Some("args"),
    arguments: ArgumentNames::None,
    matches_in_longer_run: true,
};

const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[ARGS],
    fallback: None,
    escape: Escape::None,
};

/// The key of the instructions.
const PROMPT: &str = "prompt";

/// The fix for a `prompt` that is invalid.
const PROMPT_FIX: &str = "write `prompt = '''…'''` with the instructions";

/// Parses a command of Gemini CLI.
///
/// # Errors
/// Fails if the file isn't valid TOML, or if its `prompt` is missing, empty or not a string.
pub(crate) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let document = Document::parse(text).map_err(|error| syntax_error(text, &error))?;
    let Some(item) = document.get(PROMPT) else {
        return Err(no_prompt_hint());
    };
    let start = start_offset(item, text);
    let body = item.as_str().unwrap_or_default();
    if body.trim().is_empty() {
        return Err(Diagnostic::error(
            Some(Position::in_file_text(text, start)),
            "the `prompt` is empty, or not a string",
            PROMPT_FIX,
        ));
    }
    let placeholder_line = 1; // the position is set below, once the blank lines are trimmed
    let mut source = MarkdownSource::new(Frontmatter::default(), body, placeholder_line);
    source.body_position = BodyPosition::in_value(text, start, &source.body);
    read_other_keys(&mut source, &document, text);
    let mut prompt = source.into_prompt(name, &SYNTAX);
    prompt.foreign_syntax = &GEMINI;
    Ok(prompt)
}

/// Returns a hint if a text is TOML without a `prompt`: it is not a command, but belongs to another
/// program, such as a `Cargo.toml`.
pub(super) fn non_command_hint(text: &str) -> Option<Diagnostic> {
    let document = Document::parse(text).ok()?;
    if document.contains_key(PROMPT) {
        return None;
    }
    Some(no_prompt_hint())
}

fn no_prompt_hint() -> Diagnostic {
    let message = "there is no `prompt` in the file, so it is not read as a prompt";
    let fix = format!("{PROMPT_FIX} if it is meant as one");
    Diagnostic::new(Kind::Hint, message, fix)
}

/// Parses a command of Qwen Code in TOML.
///
/// # Errors
/// The same as for [`parse`].
pub(crate) fn parse_qwen_toml(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut prompt = parse(name, text)?;
    prompt.foreign_syntax = &QWEN_CODE;
    Ok(prompt)
}

/// Parses a command of Qwen Code in Markdown. Its body is what `prompt` is in TOML.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`.
pub(crate) fn parse_qwen_markdown(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    source.frontmatter.arguments.clear(); // Qwen Code has no such key.
    let mut prompt = source.into_prompt(name, &SYNTAX);
    prompt.foreign_syntax = &QWEN_CODE;
    Ok(prompt)
}

/// Converts an error of the TOML parser, and joins the lines of its message.
fn syntax_error(text: &str, error: &TomlError) -> Diagnostic {
    let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
    let position = error.span().map(|span| {
        let before = truncate_at_boundary(text, span.start);
        Position::in_file_text(text, before.len())
    });
    Diagnostic::error(
        position,
        format!("invalid TOML: {}", lines.join(", ")),
        "correct it; a text of several lines goes between `'''`",
    )
}

/// Returns the byte offset of an item in the file, rounded down to a character boundary. An item
/// without a position counts as being at the start of the file.
fn start_offset(item: &Item, text: &str) -> usize {
    match item.span() {
        Some(span) => truncate_at_boundary(text, span.start).len(),
        None => 0,
    }
}

/// Sets the description from the document, and records the keys that Gemini CLI ignores. Adds a
/// warning if `description` isn't a string.
fn read_other_keys(source: &mut MarkdownSource, document: &Document<&str>, text: &str) {
    let mut items: Vec<(&str, &Item)> = document.iter().collect();
    items.retain(|(key, _)| *key != PROMPT);
    // In the order of the file, which the position cursor requires.
    items.sort_by_key(|(_, item)| start_offset(item, text));
    let mut positions = PositionCursor::starting_at(text, Position::START);
    for (key, item) in items {
        let position = positions.advance_to(start_offset(item, text));
        if key != "description" {
            let value = match item.as_str() {
                Some(value) => value.to_owned(),
                None => item.to_string().trim().to_owned(),
            };
            source.frontmatter.ignored_keys.push(IgnoredKey {
                key: key.to_owned(),
                position,
                value: yaml::in_double_quotes(&value),
            });
            continue;
        }
        let Some(description) = item.as_str() else {
            source.warnings.push(Diagnostic::warning(
                Some(position),
                "`description` is not a string, and is ignored",
                "write it in quotes",
            ));
            continue;
        };
        if !description.trim().is_empty() {
            source.frontmatter.description = Some(description.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prompt::Parse;
    use crate::prompt::format::testing::{check, parsed, refused, warned};

    const GEMINI: Parse = super::parse;

    #[test]
    fn args_is_the_input() {
        check(
            GEMINI,
            "prompt = 'The user said: {{args}}'",
            "a \"b\" {{args}}",
            "The user said: a \"b\" {{args}}",
        );
        check(
            GEMINI,
            "prompt = \"Parse the command.\"",
            "arg1 \"arg two\"",
            "Parse the command.\n\narg1 \"arg two\"",
        );
        check(
            GEMINI,
            "prompt = '{{ args }} {{input}} $ARGUMENTS \\{{args}}'",
            "x",
            "{{ args }} {{input}} $ARGUMENTS \\x",
        );
        check(
            GEMINI,
            "prompt = '{{{args}}} {{{{args}}}} {{args}'",
            "x",
            "{x} {{x}} {{args}",
        );
    }

    #[test]
    fn a_command_of_qwen_code_is_toml_or_markdown() {
        let markdown =
            "---\ndescription: Fixes\n---\n\nFix {{args}}: {{ args }} {{input}} $ARGUMENTS";
        let want = "Fix a \"b\": {{ args }} {{input}} $ARGUMENTS";
        check(super::parse_qwen_markdown, markdown, "a \"b\"", want);
        check(super::parse_qwen_markdown, "Look.", "here", "Look.\n\nhere");
        check(
            super::parse_qwen_toml,
            "prompt = 'Fix {{args}}'",
            "it",
            "Fix it",
        );
        assert_eq!(
            parsed(super::parse_qwen_markdown, markdown)
                .description
                .as_deref(),
            Some("Fixes")
        );
        let want = "1:1: `!{ls}` stays as written: Qwen Code would run it; write 'Run …' instead";
        warned(
            super::parse_qwen_markdown,
            "!{ls}",
            &[&want.replace('…', "`ls`")],
        );
    }

    #[test]
    fn strings_are_read_as_toml_has_them_and_other_keys_are_ignored() {
        let file = "description = \"Does it\"\nargs = [1]\nprompt = \"\"\"\nOne \\\n   line, \\\"quoted\\\"\n{{args}}\"\"\"\n";
        check(GEMINI, file, "x", "One line, \"quoted\"\nx");
        check(GEMINI, "prompt = '''\nA\\n\n{{args}}\n'''", "x", "A\\n\nx");
        check(
            GEMINI,
            &file.replace('\n', "\r\n"),
            "x",
            "One line, \"quoted\"\nx",
        );
        let prompt = parsed(GEMINI, file);
        assert_eq!(prompt.description.as_deref(), Some("Does it"));
        assert_eq!(
            parsed(GEMINI, "prompt = \"# T\\n\\nText.\"")
                .title
                .as_deref(),
            Some("T")
        );
        warned(
            GEMINI,
            "description = 1\nprompt = 'x'",
            &["1:15: `description` is not a string, and is ignored; write it in quotes"],
        );
    }

    #[test]
    fn a_file_that_is_not_such_toml_is_a_problem_with_its_place() {
        refused(
            GEMINI,
            "description = \"D\"\nprompt = \"never closed\n",
            "2:23: invalid TOML: invalid basic string, expected `\"`; correct it; a text of several lines goes between `'''`",
        );
        refused(
            GEMINI,
            "description = 'D'",
            "there is no `prompt` in the file, so it is not read as a prompt; write `prompt = '''…'''` with the instructions if it is meant as one",
        );
        refused(
            GEMINI,
            "a = 1\nprompt = ['x']",
            "2:10: the `prompt` is empty, or not a string; write `prompt = '''…'''` with the instructions",
        );
        refused(
            GEMINI,
            "prompt = ' '",
            "1:10: the `prompt` is empty, or not a string; write `prompt = '''…'''` with the instructions",
        );
        assert!(
            GEMINI(
                &crate::prompt::Name::new("p").unwrap(),
                &"é = [".repeat(50_000)
            )
            .is_err()
        );
    }
}
