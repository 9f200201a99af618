//! Commands of Gemini CLI: a TOML file with a `prompt`, in which `{{args}}` is the input, and perhaps a `description`. Gemini CLI
//! ignores all other keys.

use super::frontmatter::Frontmatter;
use super::markdown::Source;
use super::markdown_writer::with_markers;
use crate::prompt::conversion::{Content, KEPT, Kept, Segment};
use crate::prompt::template::Place;
use crate::prompt::{Diagnostic, Format, INPUT, Name, Position, Prompt};
use crate::wording::{all_of, quoted};
use std::collections::BTreeSet;
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
    let unread_keys = document.iter().filter(|(key, _)| !["prompt", "description"].contains(key));
    let unread_keys =
        unread_keys.map(|(key, item)| (key.to_owned(), Position::in_text(text, start(item), 1))).collect();
    let frontmatter = Frontmatter { unread_keys, ..frontmatter };
    let mut source = Source { lenient: lenient.into_iter().collect(), ..Source::new(frontmatter, body, 1) };
    source.place = Place::in_value(text, start(prompt), &source.body);
    Ok(source.into_prompt(Format::GeminiToml, name))
}

/// Writes a command: the input is `{{args}}`, and so is an only argument. Gemini CLI has no others.
pub(in crate::prompt) fn write(content: &Content, kept: Option<&Kept>) -> (String, Vec<Diagnostic>) {
    let only = content.only_argument();
    let mut unfilled = BTreeSet::new();
    let mut has_mark = false;
    let (mut body, _) = with_markers(&content.messages, |body, segments, at| match &segments[at] {
        Segment::Text(text) => {
            has_mark |= text.contains("{{args}}");
            body.push_str(text);
        }
        Segment::Placeholder(name) if name == INPUT || Some(name.as_str()) == only => body.push_str("{{args}}"),
        Segment::Placeholder(name) => {
            unfilled.insert(format!("{{{{{name}}}}}"));
            body.extend(["{{", name, "}}"]);
        }
    });
    if body.trim().is_empty() {
        "{{args}}".clone_into(&mut body); // Gemini CLI refuses an empty prompt
    }
    let mut file = String::new();
    if let Some(description) = &content.description {
        file += &format!("description = {}\n", basic(description));
    }
    file += &format!("prompt = {}\n", multiline(&body));
    if let Some(Kept { frontmatter, body }) = kept {
        file += &format!("\n[{KEPT}]\n");
        if !frontmatter.is_empty() {
            file += &format!("frontmatter = {}\n", multiline(frontmatter));
        }
        file.extend(body.iter().map(|body| format!("body = {}\n", multiline(body))));
    }
    let mut notes = Vec::new();
    if !unfilled.is_empty() {
        let unfilled: Vec<&String> = unfilled.iter().collect();
        let message = format!("Gemini CLI has no named arguments, and does not fill in {}", all_of(&unfilled));
        let fix = "write `{{args}}` once in the new file, and say in its text which word is what";
        notes.push(Diagnostic::warning(None, message, fix));
    }
    if has_mark {
        let message = "Gemini CLI will replace `{{args}}`, which is text in the prompt, by the input";
        notes.push(Diagnostic::warning(None, message, "write it in another way, as in `{ {args} }`"));
    }
    (file, notes)
}

/// A text as TOML: between `\'\'\'` where that can hold it.
fn multiline(text: &str) -> String {
    let is_literal = |letter: char| !letter.is_control() || letter == '\n' || letter == '\t';
    if text.contains("\'\'\'") || text.ends_with('\'') || !text.chars().all(is_literal) {
        let lines: Vec<String> = text.split('\n').map(escaped).collect();
        return format!("\"\"\"\n{}\"\"\"", lines.join("\n"));
    }
    if text.contains('\n') { format!("\'\'\'\n{text}\'\'\'") } else { format!("\'\'\'{text}\'\'\'") }
}

/// A text as TOML in one line.
fn basic(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            letter if letter.is_control() => escaped += &format!("\\u{:04X}", u32::from(letter)),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// What an exported command has for this program; `None` if it was not exported.
pub(in crate::prompt) fn kept(file: &str) -> Option<Kept> {
    let document = Document::parse(file).ok()?;
    let kept = document.get(KEPT)?.as_table_like()?;
    let text = |key: &str| kept.get(key).and_then(Item::as_str).map(str::to_owned);
    Some(Kept { frontmatter: text("frontmatter").unwrap_or_default(), body: text("body") })
}

/// The byte `at`, or the beginning of the character that it is in.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::prompt::Format;
    use crate::prompt::format::testing::{check, parsed, refused, warned};

    const GEMINI: Format = Format::GeminiToml;

    #[test]
    fn args_is_the_input() {
        check(GEMINI, "prompt = 'The user said: {{args}}'", "a \"b\" {{args}}", "The user said: a \"b\" {{args}}");
        check(GEMINI, "prompt = \"Parse the command.\"", "arg1 \"arg two\"", "Parse the command.\n\narg1 \"arg two\"");
        check(
            GEMINI,
            "prompt = '{{ args }} {{input}} $ARGUMENTS \\{{args}}'",
            "x",
            "{{ args }} {{input}} $ARGUMENTS \\x",
        );
        check(GEMINI, "prompt = '{{{args}}} {{{{args}}}} {{args}'", "x", "{x} {{x}} {{args}");
    }

    #[test]
    fn strings_are_read_as_toml_has_them_and_other_keys_are_ignored() {
        let file =
            "description = \"Does it\"\nargs = [1]\nprompt = \"\"\"\nOne \\\n   line, \\\"quoted\\\"\n{{args}}\"\"\"\n";
        check(GEMINI, file, "x", "One line, \"quoted\"\nx");
        check(GEMINI, "prompt = '''\nA\\n\n{{args}}\n'''", "x", "A\\n\nx");
        check(GEMINI, &file.replace('\n', "\r\n"), "x", "One line, \"quoted\"\nx");
        let prompt = parsed(GEMINI, file);
        assert_eq!(prompt.description.as_deref(), Some("Does it"));
        assert_eq!(parsed(GEMINI, "prompt = \"# T\\n\\nText.\"").title.as_deref(), Some("T"));
        warned(
            GEMINI,
            "description = 1\nprompt = 'x'",
            &["1:15: `description` is not a text, and is ignored; write `description = '''…'''`"],
        );
    }

    #[test]
    fn a_file_that_is_not_such_toml_is_a_problem_with_its_place() {
        refused(
            GEMINI,
            "description = \"D\"\nprompt = \"never closed\n",
            "2:23: invalid TOML: invalid basic string, expected `\"`; correct it; a text of several lines goes between `'''`",
        );
        refused(GEMINI, "description = 'D'", "there is no `prompt`; write `prompt = '''…'''` with the instructions");
        refused(GEMINI, "a = 1\nprompt = ['x']", "2:10: `prompt` is not a text; write `prompt = '''…'''`");
        refused(GEMINI, "prompt = ' '", "the `prompt` is empty; write its instructions");
        assert!(GEMINI.parse(crate::prompt::Name::new("p").unwrap(), "é = [".repeat(50_000).as_bytes()).is_err());
    }

    #[test]
    fn what_gemini_would_run_or_read_stays_and_check_says_so() {
        let file = "prompt = '''\nDiff: !{git diff {{args}}}\nNotes: @{notes.md}\n'''";
        check(GEMINI, file, "a b", "Diff: !{git diff a b}\nNotes: @{notes.md}");
        let fix = "the agent gets the text, and decides what to do with it";
        warned(
            GEMINI,
            file,
            &[
                &format!("2:7: `!{{git diff {{{{args}}}}}}` stays as written: Gemini CLI would run it; {fix}"),
                &format!("3:8: `@{{notes.md}}` stays as written: Gemini CLI would read it; {fix}"),
            ],
        );
        let file = "prompt = '''\n!{a {b}\n{ c }} é !{d}\n!{never { closed }\n'''";
        let want = "2:1: `!{a {b}\\n{ c }}` and 2 more like it stay as written: Gemini CLI would run them; ".to_owned();
        warned(GEMINI, file, &[&(want + fix)]);
    }
}
