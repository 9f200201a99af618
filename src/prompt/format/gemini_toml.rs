//! Commands of Gemini CLI: a TOML file with a `prompt`, in which `{{args}}` is the input, and perhaps a `description`. Gemini CLI
//! ignores all other keys.

use super::frontmatter::Frontmatter;
use super::markdown::Source;
use crate::prompt::template::Place;
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
    let mut source = Source { lenient: lenient.into_iter().collect(), ..Source::new(frontmatter, body, 1) };
    source.place = Place::in_value(text, start(prompt), &source.body);
    Ok(source.into_prompt(Format::GeminiToml, name))
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
