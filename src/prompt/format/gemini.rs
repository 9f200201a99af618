//! Commands of Gemini CLI: a TOML file with a `prompt`, in which `{{args}}` is the input, and
//! perhaps a `description`. Gemini CLI ignores all other keys.

use super::frontmatter::Frontmatter;
use super::markdown::Source;
use super::yaml;
use crate::prompt::diagnostic::{Diagnostic, Kind, Position, Positions};
use crate::prompt::include::IncludeReader;
use crate::prompt::marks::GEMINI;
use crate::prompt::model::{OtherKey, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{Escape, Mark, Names, Place, Syntax};
use crate::prompt::text::beginning;
use crate::wording::quoted;
use toml_edit::{Document, Item};

const ARGS: Mark = Mark {
    open: "{{",
    close: "}}",
    input: Some("args"),
    names: Names::None,
};
const SYNTAX: Syntax = Syntax {
    marks: &[ARGS],
    fallback: None,
    escape: Escape::None,
};

/// Reads the text of a command.
///
/// # Errors
/// It is not TOML, or its `prompt` is missing, empty or not a text.
pub(crate) fn parse(
    name: &Name,
    text: &str,
    _: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    let document = Document::parse(text).map_err(|error| {
        let position = error
            .span()
            .map(|span| Position::in_text(text, beginning(text, span.start).len(), 1));
        let message = error
            .message()
            .lines()
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(", ");
        let fix = "correct it; a text of several lines goes between `'''`";
        Diagnostic::error(position, format!("invalid TOML: {message}"), fix)
    })?;
    let start = |item: &Item| {
        item.span()
            .map_or(0, |span| beginning(text, span.start).len())
    };
    let fix = "write `prompt = '''…'''` with the instructions";
    let Some(prompt) = document.get("prompt") else {
        let message = "there is no `prompt`, so the file is not a command of Gemini CLI";
        return Err(Diagnostic::new(Kind::Hint, message, fix));
    };
    let Some(body) = prompt.as_str().filter(|body| !body.trim().is_empty()) else {
        return Err(Diagnostic::error(
            Some(Position::in_text(text, start(prompt), 1)),
            "the `prompt` is empty, or not a text",
            fix,
        ));
    };
    let mut frontmatter = Frontmatter::default();
    let mut lenient = Vec::new();
    let mut items: Vec<(&str, &Item)> = document.iter().collect();
    items.retain(|(key, _)| *key != "prompt");
    items.sort_by_key(|(_, item)| start(item));
    let mut positions = Positions::from(text, Position::START);
    for (key, item) in items {
        let position = positions.at(start(item));
        match item.as_str() {
            Some(description) if key == "description" => {
                frontmatter.description =
                    Some(description.trim().to_owned()).filter(|text| !text.is_empty());
            }
            _ if key == "description" => {
                let message = format!("{} is not a text, and is ignored", quoted(key));
                lenient.push(Diagnostic::warning(
                    Some(position),
                    message,
                    "write it in quotes",
                ));
            }
            text => {
                let value = text.map_or_else(|| item.to_string().trim().to_owned(), str::to_owned);
                let (key, value) = (key.to_owned(), yaml::in_double_quotes(&value));
                frontmatter.other_keys.push(OtherKey {
                    key,
                    position,
                    value,
                });
            }
        }
    }
    let mut source = Source {
        lenient,
        ..Source::new(frontmatter, body, 1)
    };
    source.place = Place::in_value(text, start(prompt), &source.body);
    Ok(Prompt {
        marks: &GEMINI,
        ..source.into_prompt(name, &SYNTAX)
    })
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
            &["1:15: `description` is not a text, and is ignored; write it in quotes"],
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
            "there is no `prompt`, so the file is not a command of Gemini CLI; write `prompt = '''…'''` with the instructions",
        );
        refused(
            GEMINI,
            "a = 1\nprompt = ['x']",
            "2:10: the `prompt` is empty, or not a text; write `prompt = '''…'''` with the instructions",
        );
        refused(
            GEMINI,
            "prompt = ' '",
            "1:10: the `prompt` is empty, or not a text; write `prompt = '''…'''` with the instructions",
        );
        assert!(
            GEMINI(
                &crate::prompt::Name::new("p").unwrap(),
                &"é = [".repeat(50_000),
                None
            )
            .is_err()
        );
    }
}
