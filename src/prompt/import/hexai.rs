//! Imports the JSONL files of hexai, which have a prompt as a JSON object on each line.
//!
//! Only `{{name}}` of a declared argument is a placeholder. It is left as it is if the argument is
//! optional and has no value.

use crate::input::without_bom;
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::file_text::trim_blank_lines;
use crate::prompt::lint::is_name_char;
use crate::prompt::message::Role;
use crate::prompt::model::{Argument, IgnoredKey, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{
    ArgumentNames, BodyPosition, Escape, MessageTemplate, PlaceholderForm, PlaceholderSyntax,
    TWO_BRACES,
};
use crate::wording::quoted;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const BRACES: PlaceholderForm = PlaceholderForm {
    arguments: ArgumentNames::Exact,
    matches_in_longer_run: true,
    input_name: None,
    ..TWO_BRACES
};
const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[BRACES],
    fallback: None,
    escape: Escape::None,
};

#[derive(Deserialize)]
struct HexaiPrompt {
    name: String,
    title: Option<String>,
    description: Option<String>,
    arguments: Option<Vec<HexaiArgument>>,
    messages: Vec<HexaiMessage>,
    tags: Option<Vec<String>>,
    /// All other keys, e.g. `created`.
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct HexaiArgument {
    name: String,
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct HexaiMessage {
    role: String,
    content: HexaiContent,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct HexaiContent {
    text: String,
}

/// A line of a file with many prompts.
pub struct PromptLine {
    /// The number of the line. The first one is 1.
    pub number: usize,
    /// The prompt, or why the line isn't one.
    pub prompt: Result<Prompt, Diagnostic>,
}

/// Parses the prompts in a file, one on each line that isn't blank. An invalid line doesn't affect
/// the others.
pub fn hexai_prompts(text: &str) -> Vec<PromptLine> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(without_bom(text).lines()) {
        if !line.trim().is_empty() {
            let prompt = parse_line(line, number);
            lines.push(PromptLine { number, prompt });
        }
    }
    lines
}

/// Parses a file with a single prompt. The prompt is called `name`, whatever the file says.
///
/// # Errors
/// The same as for [`parse_line`].
pub(super) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let line_number = 1; // the file is a single line
    let mut prompt = parse_line(text, line_number)?;
    prompt.name = name.clone();
    Ok(prompt)
}

/// Parses one line. `number` is its line number, for error messages.
///
/// # Errors
/// Fails if the line isn't a JSON object of the expected shape, or if its name isn't a valid
/// [`Name`].
fn parse_line(text: &str, number: usize) -> Result<Prompt, Diagnostic> {
    let line = parse_json(text, number)?;
    let name = Name::new(&line.name).map_err(|error| {
        let message = format!("{}: {error}", quoted(&line.name));
        invalid_line(number, message)
    })?;
    let arguments = declared_arguments(line.arguments.unwrap_or_default());
    let mut messages = message_templates(line.messages, number)?;
    MessageTemplate::parse_placeholders(
        &SYNTAX,
        &mut messages,
        arguments.iter().map(|argument| argument.name.as_str()),
    );
    let lenient_warnings = undeclared_word_warnings(&messages, &arguments, number);
    Ok(Prompt {
        lenient_warnings,
        title: non_empty_trimmed(line.title),
        description: non_empty_trimmed(line.description),
        arguments,
        tags: line.tags.unwrap_or_default(),
        messages,
        ignored_keys: ignored_keys(line.other, number),
        ..Prompt::new(name, &SYNTAX)
    })
}

/// Parses the JSON of one line. `number` is its line number, for error messages.
///
/// # Errors
/// Fails if the line isn't valid JSON, or has other keys and types than a prompt.
fn parse_json(text: &str, number: usize) -> Result<HexaiPrompt, Diagnostic> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let position = Position {
            line: number,
            column: error.column().max(1), // 0 for the end of an empty text
        };
        Diagnostic {
            position: Some(position),
            ..invalid_line(number, "this is not valid JSON".to_owned())
        }
    })?;
    if !value.is_object() {
        return Err(invalid_line(number, "it is not a JSON object".to_owned()));
    }
    serde_json::from_value(value).map_err(|error| invalid_line(number, error.to_string()))
}

fn invalid_line(number: usize, reason: String) -> Diagnostic {
    Diagnostic::error(
        Some(Position::at_line(number)),
        format!("not a prompt of hexai: {reason}"),
        "correct the line, or delete it",
    )
}

/// Converts the arguments of a line. An optional argument defaults to its own placeholder, e.g.
/// `{{name}}`, so that without a value the placeholder is left in the text.
fn declared_arguments(arguments_in_line: Vec<HexaiArgument>) -> Vec<Argument> {
    let mut arguments = Vec::new();
    for HexaiArgument {
        name,
        description,
        required,
    } in arguments_in_line
    {
        let placeholder = format!("{{{{{name}}}}}"); // `{{name}}`
        arguments.push(Argument {
            default: if required { None } else { Some(placeholder) },
            name,
            description,
            required,
            ..Argument::default()
        });
    }
    arguments
}

/// Converts the messages of a line. Blank ones are skipped, and so is a byte order mark before a
/// text, which a Markdown file could not keep.
///
/// # Errors
/// Fails if a role is unknown, or if all messages are blank.
fn message_templates(
    messages_in_line: Vec<HexaiMessage>,
    number: usize,
) -> Result<Vec<MessageTemplate>, Diagnostic> {
    let mut messages = Vec::new();
    for HexaiMessage { role, content } in messages_in_line {
        let role = match role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => {
                let message = format!("unknown role {}", quoted(&role));
                return Err(invalid_line(number, message));
            }
        };
        let text = content.text.trim_start_matches('\u{feff}');
        let text = text.replace("\r\n", "\n");
        let body = trim_blank_lines(&text).text;
        if !body.is_empty() {
            let position = BodyPosition::derived_at_line(number);
            messages.push(MessageTemplate::new(role, body.to_owned(), position));
        }
    }
    if messages.is_empty() {
        return Err(invalid_line(number, "it has no text".to_owned()));
    }
    Ok(messages)
}

/// Returns a warning for each `{{word}}` in the messages that is not a declared argument, and so
/// remains text. All warnings are at line `number`.
fn undeclared_word_warnings(
    messages: &[MessageTemplate],
    arguments: &[Argument],
    number: usize,
) -> Vec<Diagnostic> {
    let mut words = BTreeSet::new();
    for message in messages {
        for part in message.body().split("{{").skip(1) {
            if let Some((word, _)) = part.split_once("}}") {
                words.insert(word.trim());
            }
        }
    }
    words.retain(|word| is_word(word) && arguments.iter().all(|argument| argument.name != *word));
    let mut warnings = Vec::new();
    for word in words {
        warnings.push(Diagnostic::warning(
            Some(Position::at_line(number)),
            format!(
                "`{{{{{word}}}}}` is text, because {} is not in the `arguments` of the line",
                quoted(word)
            ),
            "declare it there, or make it a placeholder in the imported file",
        ));
    }
    warnings
}

/// Returns whether a text may be the name of an argument: it starts with a letter, and has only
/// letters, digits, `_` and `-`.
fn is_word(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && text.chars().all(is_name_char)
}

/// Trims a text. Returns `None` if nothing is left.
fn non_empty_trimmed(text: Option<String>) -> Option<String> {
    let text = text?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Converts the keys that are not used here. They are all reported at line `number`.
fn ignored_keys(other_values: BTreeMap<String, Value>, number: usize) -> Vec<IgnoredKey> {
    let mut ignored_keys = Vec::new();
    for (key, value) in other_values {
        ignored_keys.push(IgnoredKey {
            key,
            position: Position::at_line(number),
            value: value.to_string(), // JSON is YAML, too.
        });
    }
    ignored_keys
}

#[cfg(test)]
mod tests {
    use super::hexai_prompts;
    use crate::prompt::format::testing::shown;
    use crate::prompt::{Call, import};

    #[test]
    fn a_line_becomes_markdown_with_its_messages_arguments_and_other_keys() {
        let line = r#"{"name":"fix","title":"T","arguments":[{"name":"a","required":true},{"name":"b"}],"messages":[{"role":"user","content":{"text":"\ufeffA {{a}} {{ a }} {{b}} $ARGUMENTS\n"}},{"role":"assistant","content":{"text":"<!-- user -->"}}],"tags":["t"],"created":"2025-01-02T03:04:05Z","meta":{"x":[1]}}"#;
        let prompt = hexai_prompts(line).remove(0).prompt.unwrap();
        let want = "---\ntitle: T\narguments:\n  - name: a\n    required: true\n  - name: b\n    default: \"{{b}}\"\ntags: [t]\n\
                    created: \"2025-01-02T03:04:05Z\"\nmeta: {\"x\":[1]}\nmessages: true\n---\n\
                    A {{a}} \\{{ a }} {{b}} \\$ARGUMENTS\n\n<!-- assistant -->\n\\<!-- user -->\n";
        assert_eq!(import(&prompt).unwrap().text, want);
        let expanded = prompt.expand(Call::Text("a={{b}}")).unwrap().into_text();
        assert_eq!(
            expanded,
            "User:\nA {{b}} {{ a }} {{b}} $ARGUMENTS\n\nAssistant:\n<!-- user -->"
        );
    }

    #[test]
    fn a_broken_line_is_named_and_the_others_are_prompts() {
        let line = |role: &str, text: &str| {
            format!(
                r#"{{"name":"a","messages":[{{"role":"{role}","content":{{"text":"{text}"}}}}]}}"#
            )
        };
        let file = [
            format!("\u{feff}{}", line("user", "A")),
            String::new(),
            "[1]".to_owned(),
            line("system", "A"),
            line("user", " "),
            "{oops".to_owned(),
            "{\"name\":\"a\"".to_owned(),
            r#"{"name":"a"}"#.to_owned(),
            r#"{"name":["a"],"messages":[]}"#.to_owned(),
            r#"{"name":"a","messages":{"role":"user"}}"#.to_owned(),
        ]
        .join("\n");
        let read: Vec<String> = hexai_prompts(&file)
            .into_iter()
            .map(|line| match line.prompt {
                Ok(prompt) => prompt.name.to_string(),
                Err(error) => shown(&error),
            })
            .collect();
        assert_eq!(read[0], "a");
        for (line, message) in read[1..].iter().zip([
            "3:1: not a prompt of hexai: it is not a JSON object; ",
            "4:1: not a prompt of hexai: unknown role",
            "5:1: ",
            "6:2: not a prompt of hexai: this is not valid JSON; ",
            "7:11: not a prompt of hexai: this is not valid JSON; ",
            "8:1: not a prompt of hexai: missing field `messages`; ",
            "9:1: not a prompt of hexai: invalid type: sequence, expected a string; ",
            "10:1: not a prompt of hexai: invalid type: map, expected a sequence; ",
        ]) {
            assert!(line.starts_with(message), "{line}");
        }
    }
}
