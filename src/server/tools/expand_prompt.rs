//! The tool `expand_prompt`: the whole prompt for a command and an input.

use super::parts::{NoPart, part};
use super::{Handler, READ_ONLY, ServerTool, ToolCall, ToolError, Work};
use crate::jsonrpc::{Object, read};
use crate::library::{Lookup, Names, Problem, Unknown, View};
use crate::prompt::{Call, ExpandError};
use crate::wording::quoted;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many bytes the names of the commands may take in the description.
const NAMES_BUDGET: usize = 2048;

/// The same in an error.
const NAMES_IN_ERROR: usize = 512;

/// How many unreadable files and folders an error lists; list_prompts lists all.
const SKIPPED_IN_ERROR: usize = 3;

pub(super) const TOOL: ServerTool = ServerTool {
    name: "expand_prompt",
    title: "Expand a prompt",
    // No file is read for it, so the name of a template that nobody has changed yet may be in it.
    description: |names| format!("{}{}", include_str!("expand_prompt.md"), commands(names, NAMES_BUDGET)),
    input_schema,
    output_schema,
    annotations: READ_ONLY,
    is_always_loaded: true,
    work: Work::Quick,
    shown_by_claude_code: Some(150_000),
    handler: Handler::Read(call),
};

fn input_schema() -> Value {
    json!({
        "properties": {
            "arguments": {
                "additionalProperties": { "type": "string" },
                "description": "Optional, for a prompt with several arguments (list_prompts shows its usage): all values \
                                by name, such as {\"options\": \"Rust or Go\", \"criteria\": \"speed\"}. Without it, \
                                `input` is divided: `name=value` pairs, then text for the required arguments",
                "type": "object"
            },
            "command": {
                "description": "Name of the prompt command, without the colon: `research` for `:research solar cells`",
                "type": "string"
            },
            "input": {
                "description": "All remaining text of the message, verbatim, quotes included: `solar cells`. An empty \
                                string if there is none",
                "type": "string"
            },
            "part": {
                "description": "Optional: the `next` of the part that you have, for the part after it of a long prompt",
                "type": "string"
            }
        },
        "required": ["command", "input"],
        "type": "object"
    })
}

fn output_schema() -> Value {
    json!({
        "properties": {
            "next": {
                "description": "Only if `prompt` is a part of a long prompt: the `part` to call expand_prompt with, before \
                                you do anything else",
                "type": "string"
            },
            "prompt": { "description": "What the user asks you to do now", "type": "string" }
        },
        "required": ["prompt"],
        "type": "object"
    })
}

#[derive(Deserialize)]
struct Arguments<'l> {
    command: &'l str,
    input: &'l str,
}

fn call(call: &mut ToolCall<'_>) -> Result<Box<RawValue>, ToolError> {
    let ToolCall { view, arguments, limit, .. } = *call;
    let Arguments { command, input } = read(arguments).map_err(|mismatch| {
        ToolError::Arguments(format!(
            "{mismatch}; expand_prompt takes `command`, the name of the prompt without its colon, and `input`, the text \
             that follows the name, or an empty string if there is none"
        ))
    })?;
    let values = values(arguments)?;
    let prompt = match view.find(command) {
        Lookup::Found(prompt) => prompt,
        Lookup::Broken(problem) => {
            return Err(ToolError::Execution(format!(
                "{} cannot be expanded. {problem}. Tell the user this; the prompt works as soon as the file is saved.",
                quoted(command)
            )));
        }
        Lookup::Unknown { why, skipped } => {
            let why = why.without_templates(view);
            let sentences = [sentence(&why.to_string()), what_next(&why, view), unreadable_places(&skipped)];
            let said = sentences.iter().filter(|sentence| !sentence.is_empty());
            return Err(ToolError::Execution(said.map(String::as_str).collect::<Vec<_>>().join(" ")));
        }
    };
    let expansion = view.expand(&prompt, Call::Named { values: &values, input, is_strict: true });
    let expansion = expansion.map_err(|error| {
        let next = match error {
            ExpandError::Unknown { .. } => "Call expand_prompt again with only these.",
            ExpandError::UnusedInput { .. } => {
                "Call expand_prompt again: with an empty `input`, or without `arguments`."
            }
            _ => "Tell the user this.",
        };
        ToolError::Execution(format!("{} cannot be expanded: {error}. {next}", quoted(&prompt.name)))
    })?;
    let text = expansion.into_text();
    let part = part(&text, limit, &requested_part(arguments)).map_err(|no_part| {
        let why = match no_part {
            NoPart::Invalid => "`part` must be the `next` of the part before",
            NoPart::Changed => "The text of this prompt has changed since you were given the part before",
        };
        ToolError::Execution(format!(
            "{why}. Ignore the parts that you have, and begin again: call expand_prompt without `part`."
        ))
    })?;
    Ok(to_raw_value(&part)?)
}

/// The part that a model requests; what can be no part's name is refused where a text is divided.
fn requested_part(arguments: &Object) -> String {
    match arguments.get("part") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(part)) => part.clone(),
        Some(other) => other.to_string(),
    }
}

/// The values that a model gives by name. A number or a boolean is its JSON text; null is not a value.
fn values(arguments: &Object) -> Result<BTreeMap<String, String>, ToolError> {
    let wrong = |what: &str| ToolError::Execution(format!("{what}; call expand_prompt again with one."));
    let mut values = BTreeMap::new();
    match arguments.get("arguments") {
        None | Some(Value::Null) => {}
        Some(Value::Object(members)) => {
            for (name, value) in members {
                let text = match value {
                    Value::Null => continue,
                    Value::String(text) => text.clone(),
                    Value::Number(_) | Value::Bool(_) => value.to_string(),
                    _ => return Err(wrong(&format!("{} in `arguments` must be a string", quoted(name)))),
                };
                values.insert(name.clone(), text);
            }
        }
        Some(_) => return Err(wrong("`arguments` must be an object whose values are strings")),
    }
    Ok(values)
}

/// What a model should do about an unknown command, in sentences.
fn what_next(unknown: &Unknown, view: &View) -> String {
    match unknown {
        Unknown::NoSuchPrompt { closest, .. } if closest.is_empty() => format!(
            "If it was meant as a command, tell the user which commands are available; if not, answer the \
             message as usual. {}",
            commands(&view.offered_names(), NAMES_IN_ERROR)
        ),
        Unknown::NoSuchPrompt { .. } => "If one of these is clearly meant, call expand_prompt again with that name and \
                                         the same input; otherwise ask the user. list_prompts lists all names. If it was not \
                                         meant as a command, answer the message as usual."
            .to_owned(),
        Unknown::Ambiguous { .. } => "Call expand_prompt again with the exact name; ask the user if it is not clear which \
                                      one is meant."
            .to_owned(),
        Unknown::WithText { .. } => {
            "Call expand_prompt again with the name as `command`, and the rest as `input`.".to_owned()
        }
        Unknown::Empty => commands(&view.offered_names(), NAMES_IN_ERROR),
        Unknown::ForEditing { .. } => "Tell the user this.".to_owned(),
        Unknown::NotACommand { .. } => "There is nothing to expand: answer the message as usual.".to_owned(),
    }
}

/// The unreadable files and folders, one of which may contain the prompt.
fn unreadable_places(skipped: &[Problem]) -> String {
    let places: String = skipped.iter().take(SKIPPED_IN_ERROR).map(|problem| format!("\n{problem}")).collect();
    if places.is_empty() { places } else { format!("Tell the user that some files or folders cannot be read:{places}") }
}

/// A clause as a sentence: with a capital letter and a full stop.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let stop = if clause.ends_with('?') { "" } else { "." };
    format!("{}{}{stop}", first.collect::<String>(), letters.as_str())
}

/// The sentence that names the commands: the user's own before the built-in ones, as many as `budget` bytes allow.
fn commands(names: &Names, budget: usize) -> String {
    let total = names.own.len() + names.builtin.len();
    if total == 0 {
        return "There are no commands yet.".to_owned();
    }
    let mut sentence = String::from("Available commands: ");
    let more = |remaining: usize| format!(" and {remaining} more, which list_prompts names.");
    for (index, name) in names.own.iter().chain(&names.builtin).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let remaining = total - index;
        if sentence.len() + separator.len() + 1 + name.len() + more(remaining).len() > budget {
            sentence.push_str(&more(remaining));
            return sentence;
        }
        sentence.push_str(separator);
        sentence.push(':');
        sentence.push_str(name);
    }
    sentence.push('.');
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Name;

    #[test]
    fn the_description_names_own_commands_before_shipped_ones_within_2_kib() {
        let name = |text: &str| Name::new(text).unwrap();
        let names = |own: usize| Names {
            own: (0..own).map(|n| name(&format!("own-{n:04}"))).collect(),
            builtin: vec![name("research"), name("test")],
            ..Names::default()
        };
        assert_eq!(commands(&names(1), NAMES_BUDGET), "Available commands: :own-0000, :research, :test.");
        let many = commands(&names(5000), NAMES_BUDGET);
        assert!(many.starts_with("Available commands: :own-0000, :own-0001, "), "{many}");
        assert!(many.len() > NAMES_BUDGET - 20 && many.len() <= NAMES_BUDGET, "{}", many.len());
        let shown = many.matches(" :").count();
        assert!(many.ends_with(&format!(" and {} more, which list_prompts names.", 5002 - shown)), "{many}");
        let long = Names { own: vec![name(&"x".repeat(1000)); 3], ..Names::default() };
        assert!(commands(&long, NAMES_BUDGET).len() <= NAMES_BUDGET);
        assert_eq!(commands(&Names::default(), NAMES_BUDGET), "There are no commands yet.");
    }

    #[test]
    fn the_description_stays_below_what_claude_code_cuts() {
        assert!(include_str!("expand_prompt.md").len() + NAMES_BUDGET < 4096);
    }
}
