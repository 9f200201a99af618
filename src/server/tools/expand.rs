//! The tool `expand_prompt`: the whole prompt for a command and an input.

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::reply::Outcome;
use super::parts::{Part, part};
use crate::agents::PartLimit;
use crate::jsonrpc::{Json, Object, read};
use crate::library::{Found, View};
use crate::prompt::{Call, Diagnostic, Kind, Name, strip};
use crate::server::prompts::without_templates;
use crate::wording::quoted;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The sentence of the description about stacks and mentions.
pub(super) const MENTIONS: &str = "Commands that follow each other (`:review :security the parser`) each get the same `input`, and a name in a sentence \
     (`check this against :style`) gets an empty one: call this tool once for each.\n";

/// How many bytes the names of the commands may take in the description.
pub(super) const NAMES_BUDGET: usize = 2048;

/// The same in an error.
const NAMES_IN_ERROR: usize = 512;

/// How many unreadable files and folders an error lists; list_prompts lists all.
const SKIPPED_IN_ERROR: usize = 3;

#[derive(Deserialize)]
struct Arguments<'l> {
    command: &'l str,
    input: String,
    part: Option<String>,
}

pub(super) fn run(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let Arguments { command, input, part } = read(arguments).map_err(|mismatch| {
        Failure::invalid_params(format!(
            "{mismatch}; expand_prompt takes `command`, the name of the prompt without its colon, and `input`, the text \
             that follows the name, or an empty string if there is none"
        ))
    })?;
    let (values, view, limit) = (values(arguments)?, context.view(), context.part_limit());
    let part = part.unwrap_or_default();
    let found = find(&view, command)?;
    Outcome::now_or_later(found.layer, move || {
        expand(&found, &values, &input, limit, &part)
    })
}

/// The prompt of a command; an error says what the model should do.
fn find(view: &View, command: &str) -> Result<Found, Failure> {
    view.find(command).map_err(|why| {
        let why = without_templates(why, view);
        let untrusted = view
            .untrusted_hint()
            .filter(|_| why.kind != Kind::NotACommand);
        let untrusted = untrusted.map(|hint| format!("Tell the user: {hint}."));
        let next = what_next(command, &why, view);
        let sentences = [
            sentence(&why.to_string()),
            next,
            untrusted.unwrap_or_default(),
            unreadable_places(view),
        ];
        let said = sentences.iter().filter(|sentence| !sentence.is_empty());
        Failure::for_model(said.map(String::as_str).collect::<Vec<_>>().join(" "))
    })
}

/// The requested part of an expansion.
fn expand(
    found: &Found,
    values: &BTreeMap<String, String>,
    input: &str,
    limit: Option<PartLimit>,
    requested: &str,
) -> Result<Json, Failure> {
    let prompt = found.prompt().map_err(|broken| {
        Failure::for_model(format!(
            "{} cannot be expanded. {broken}. Tell the user this; the prompt works as soon as that is done.",
            quoted(&found.name)
        ))
    })?;
    let call = Call::Named {
        values,
        input,
        is_strict: true,
    };
    let expansion = found.expand(&prompt, call).map_err(|error| {
        let next = match error.kind {
            Kind::NoSuchArgument => "Call expand_prompt again with only these.",
            Kind::UnusedText if !values.is_empty() => {
                "Call expand_prompt again: with an empty `input`, or without `arguments`."
            }
            _ => "Tell the user this.",
        };
        Failure::for_model(format!(
            "{} cannot be expanded: {error}. {next}",
            quoted(&prompt.name)
        ))
    })?;
    let text = expansion.messages.into_text();
    let Some(limit) = limit else {
        return Ok(Part {
            prompt: text.into(),
            next: None,
        }
        .to_json());
    };
    let part = part(&text, limit, requested).map_err(|why| {
        Failure::for_model(format!(
            "{why}. Ignore the parts that you have, and begin again: call expand_prompt without `part`."
        ))
    })?;
    Ok(part.to_json())
}

/// The values that a model gives by name. A number or a boolean is its JSON text; null is not a
/// value.
fn values(arguments: &Object) -> Result<BTreeMap<String, String>, Failure> {
    let wrong =
        |what: &str| Failure::for_model(format!("{what}; call expand_prompt again with one."));
    let mut values = BTreeMap::new();
    match arguments.get("arguments") {
        None | Some(Value::Null) => {}
        Some(Value::Object(members)) => {
            for (name, value) in members {
                let text = match value {
                    Value::Null => continue,
                    Value::String(text) => text.clone(),
                    Value::Number(_) | Value::Bool(_) => value.to_string(),
                    _ => {
                        return Err(wrong(&format!(
                            "{} in `arguments` must be a string",
                            quoted(name)
                        )));
                    }
                };
                values.insert(name.clone(), text);
            }
        }
        Some(_) => {
            return Err(wrong(
                "`arguments` must be an object whose values are strings",
            ));
        }
    }
    Ok(values)
}

/// What a model should do about an unknown command, in sentences.
fn what_next(command: &str, why: &Diagnostic, view: &View) -> String {
    let all = || {
        let mut listing = view.list();
        listing.found.retain(|found| !found.is_unedited_draft());
        commands(&listing.names(), NAMES_IN_ERROR)
    };
    match &why.kind {
        Kind::NoSuchPrompt { closest } if closest.is_empty() => format!(
            "If it was meant as a command, tell the user which commands are available; if not, answer the message as usual. {}",
            all()
        ),
        Kind::NoSuchPrompt { .. } => "If one of these is clearly meant, call expand_prompt again with that name and the same input; \
                                      otherwise ask the user. list_prompts lists all names. If it was not meant as a command, answer \
                                      the message as usual."
            .to_owned(),
        Kind::Ambiguous => {
            "Call expand_prompt again with the exact name; ask the user if it is not clear which one is meant.".to_owned()
        }
        Kind::TextInName { .. } => {
            "Call expand_prompt again with the name as `command`, and the rest as `input`.".to_owned()
        }
        Kind::NotACommand if strip(command).is_empty() => all(),
        Kind::NotACommand => "There is nothing to expand: answer the message as usual.".to_owned(),
        _ => "Tell the user this.".to_owned(),
    }
}

/// The unreadable files and folders, one of which may contain the prompt.
fn unreadable_places(view: &View) -> String {
    let places: String = view
        .unreadable()
        .iter()
        .take(SKIPPED_IN_ERROR)
        .map(|problem| format!("\n{problem}"))
        .collect();
    if places.is_empty() {
        places
    } else {
        format!("Tell the user that some files or folders cannot be read:{places}")
    }
}

/// A clause as a sentence: with a capital letter and a full stop.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let stop = if clause.ends_with('?') { "" } else { "." };
    format!("{}{}{stop}", first.collect::<String>(), letters.as_str())
}

/// The sentence that names the commands: the user's own before the built-in ones, as many as
/// `budget` bytes allow.
pub(super) fn commands(names: &[Name], budget: usize) -> String {
    if names.is_empty() {
        return "There are no commands yet.".to_owned();
    }
    let mut sentence = String::from("Available commands: ");
    let more = |remaining: usize| format!(" and {remaining} more, which list_prompts names.");
    for (index, name) in names.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let remaining = names.len() - index;
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

    #[test]
    fn the_description_names_own_commands_before_shipped_ones_within_2_kib() {
        let name = |text: &str| Name::new(text).unwrap();
        let names = |own: usize| -> Vec<Name> {
            (0..own)
                .map(|n| name(&format!("own-{n:04}")))
                .chain([name("research"), name("test")])
                .collect()
        };
        assert_eq!(
            commands(&names(1), NAMES_BUDGET),
            "Available commands: :own-0000, :research, :test."
        );
        let many = commands(&names(5000), NAMES_BUDGET);
        assert!(
            many.starts_with("Available commands: :own-0000, :own-0001, "),
            "{many}"
        );
        assert!(
            many.len() > NAMES_BUDGET - 20 && many.len() <= NAMES_BUDGET,
            "{}",
            many.len()
        );
        let shown = many.matches(" :").count();
        assert!(
            many.ends_with(&format!(
                " and {} more, which list_prompts names.",
                5002 - shown
            )),
            "{many}"
        );
        let long = vec![name(&"x".repeat(1000)); 3];
        assert!(commands(&long, NAMES_BUDGET).len() <= NAMES_BUDGET);
        assert_eq!(commands(&[], NAMES_BUDGET), "There are no commands yet.");
    }

    #[test]
    fn the_description_stays_below_what_claude_code_cuts() {
        let definition: Value = serde_json::from_str(include_str!("expand_prompt.json")).unwrap();
        assert!(definition["description"].as_str().unwrap().len() + NAMES_BUDGET < 4096);
    }
}
