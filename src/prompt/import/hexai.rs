//! The JSONL files of hexai: a JSON object in each line. In its texts, exactly `{{name}}` of a
//! declared argument is a placeholder, which stays as written if an optional argument has no value.

use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::include::IncludeReader;
use crate::prompt::message::Role;
use crate::prompt::model::{Argument, OtherKey, Prompt};
use crate::prompt::name::Name;
use crate::prompt::template::{Escape, Mark, MessageTemplate, Names, Place, Syntax, TWO_BRACES};
use crate::prompt::text::without_empty_ends;
use crate::wording::quoted;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

const BRACES: Mark = Mark {
    names: Names::Declared,
    input: None,
    ..TWO_BRACES
};
const SYNTAX: Syntax = Syntax {
    marks: &[BRACES],
    fallback: None,
    escape: Escape::None,
};

#[derive(Deserialize)]
struct Line {
    name: String,
    title: Option<String>,
    description: Option<String>,
    arguments: Option<Vec<LineArgument>>,
    messages: Vec<LineMessage>,
    tags: Option<Vec<String>>,
    /// All other keys, such as `created`.
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct LineArgument {
    name: String,
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

#[derive(Deserialize)]
struct LineMessage {
    role: String,
    content: LineContent,
}

#[derive(Deserialize)]
struct LineContent {
    text: String,
}

/// The prompts in the lines of a file.
pub fn hexai_prompts(text: &str) -> Vec<Result<Prompt, Diagnostic>> {
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| parse_line(line, number))
        .collect()
}

/// Reads a file with one prompt.
///
/// # Errors
/// It is not such a JSON object.
pub(super) fn parse(
    name: &Name,
    text: &str,
    _: Option<&mut dyn IncludeReader>,
) -> Result<Prompt, Diagnostic> {
    Ok(Prompt {
        name: name.clone(),
        ..parse_line(text, 1)?
    })
}

fn parse_line(text: &str, number: usize) -> Result<Prompt, Diagnostic> {
    let refused = |message: String| {
        let position = Position {
            line: number,
            column: 1,
        };
        Diagnostic::error(
            Some(position),
            format!("not a prompt of hexai: {message}"),
            "correct the line, or delete it",
        )
    };
    let line: Line = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
    let name =
        Name::new(&line.name).map_err(|why| refused(format!("{}: {why}", quoted(&line.name))))?;
    let arguments = line.arguments.unwrap_or_default().into_iter().map(
        |LineArgument {
             name,
             description,
             required,
         }| {
            let default = (!required).then(|| format!("{{{{{name}}}}}"));
            Argument {
                name,
                description,
                required,
                default,
                ..Argument::default()
            }
        },
    );
    let arguments: Vec<Argument> = arguments.collect();
    let mut messages = Vec::new();
    for LineMessage { role, content } in line.messages {
        let role = match role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return Err(refused(format!("unknown role {}", quoted(&role)))),
        };
        let text = content.text.replace("\r\n", "\n");
        let (body, _) = without_empty_ends(&text);
        if !body.is_empty() {
            messages.push(MessageTemplate::new(
                role,
                body.to_owned(),
                Place::made_at_line(number),
            ));
        }
    }
    if messages.is_empty() {
        return Err(refused("it has no text".to_owned()));
    }
    MessageTemplate::find_placeholders(
        &SYNTAX,
        &mut messages,
        arguments.iter().map(|argument| argument.name.as_str()),
    );
    let text = |text: Option<String>| {
        text.map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    let other = |(key, value): (String, Value)| {
        OtherKey {
            key,
            position: Position {
                line: number,
                column: 1,
            },
            value: value.to_string(),
        } // JSON is YAML
    };
    Ok(Prompt {
        title: text(line.title),
        description: text(line.description),
        arguments,
        tags: line.tags.unwrap_or_default(),
        messages,
        other_keys: line.other.into_iter().map(other).collect(),
        ..Prompt::new(name, &SYNTAX)
    })
}

#[cfg(test)]
mod tests {
    use super::hexai_prompts;
    use crate::prompt::format::testing::shown;
    use crate::prompt::{Call, import};

    #[test]
    fn a_line_becomes_markdown_with_its_messages_arguments_and_other_keys() {
        let line = r#"{"name":"fix","title":"T","arguments":[{"name":"a","required":true},{"name":"b"}],"messages":[{"role":"user","content":{"text":"A {{a}} {{ a }} {{b}} $ARGUMENTS\n"}},{"role":"assistant","content":{"text":"<!-- user -->"}}],"tags":["t"],"created":"2025-01-02T03:04:05Z","meta":{"x":[1]}}"#;
        let prompt = hexai_prompts(line).remove(0).unwrap();
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
            line("user", "A"),
            String::new(),
            "[1]".to_owned(),
            line("system", "A"),
            line("user", " "),
        ]
        .join("\n");
        let read: Vec<String> = hexai_prompts(&file)
            .into_iter()
            .map(|read| read.map_or_else(|error| shown(&error), |prompt| prompt.name.to_string()))
            .collect();
        assert_eq!(read[0], "a");
        for (line, message) in read[1..].iter().zip([
            "3:1: not a prompt",
            "4:1: not a prompt of hexai: unknown role",
            "5:1: ",
        ]) {
            assert!(line.starts_with(message), "{line}");
        }
    }
}
