//! The tool `expand_prompt`: expands a command and its input into the text of the prompt.

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::prompts::without_draft_suggestions;
use super::super::reply::Outcome;
use super::parts::{FIRST_PART, Part, select_part, with_room_for};
use crate::agents::PartLimit;
use crate::jsonrpc::{Object, read_object};
use crate::library::{Expansion, Found, View, note_for_model};
use crate::mcp::ArgumentText;
use crate::prompt::{Call, Diagnostic, Kind, Name, strip_colon};
use crate::usage::Way;
use crate::wording::quoted;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The part of the tool's description about stacked commands and mentions.
pub(super) const MENTIONS: &str = "Commands that follow each other (`:review :security the parser`) each get the same `input`, and a name in a sentence \
     (`check this against :style`) gets an empty one: call this tool once for each.\n";

/// The maximum size of the list of commands in the tool's description.
pub(super) const DESCRIPTION_NAMES_BYTES: usize = 2048;

/// The maximum size of the list of commands in an error.
const ERROR_NAMES_BYTES: usize = 512;

/// The maximum number of unreadable files and folders in an error. `list_prompts` lists them all.
const MAX_UNREADABLE_IN_ERROR: usize = 3;

/// The tool's arguments, except the values by name.
#[derive(Deserialize)]
struct ExpandArguments<'l> {
    command: &'l str,
    input: String,
    /// The name of the requested part of a long expansion.
    part: Option<String>,
}

/// Runs `expand_prompt`: returns the expansion of a prompt, or the requested part of it if the
/// client shows its model only short results.
///
/// # Errors
/// Fails if the arguments are invalid, or if the prompt doesn't exist or can't be expanded.
pub(super) fn run(context: &Context, arguments: &Object) -> Result<Outcome, Failure> {
    let ExpandArguments {
        command,
        input,
        part,
    } = read_object(arguments).map_err(|mismatch| {
        Failure::invalid_params(format!(
            "{mismatch}; expand_prompt takes `command`, the name of the prompt without its colon, and `input`, the text \
             that follows the name, or an empty string if there is none"
        ))
    })?;
    let values = values(arguments)?;
    let limit = context.part_limit();
    let context = context.clone();
    Outcome::find_and_run(
        context.view(),
        command.to_owned(),
        unknown_prompt,
        move |found| {
            let expansion = expand(found, &values, &input)?;
            let notes: Vec<String> = expansion
                .unused_text
                .iter()
                .map(|warning| note_for_model(warning))
                .collect();
            let note = notes.join("\n");
            let text = expansion.messages.into_text();
            let limit = limit.map(|limit| with_room_for(&note, limit));
            let requested = part.as_deref().unwrap_or(FIRST_PART);
            let result = requested_part(&text, limit, requested)?.to_json(&note);
            if requested == FIRST_PART {
                context.count_use(found, Way::Tool);
            }
            Ok(result)
        },
    )
}

/// Returns the values that the model passes by name, in the member `arguments`. Skips null values.
///
/// # Errors
/// Fails if `arguments` isn't an object, or if it contains an array or object.
fn values(arguments: &Object) -> Result<BTreeMap<String, String>, Failure> {
    let mut values = BTreeMap::new();
    let members = match arguments.get("arguments") {
        None | Some(Value::Null) => return Ok(values),
        Some(Value::Object(members)) => members,
        Some(_) => {
            return Err(Failure::for_model(
                "`arguments` must be an object whose values are strings; call expand_prompt again with one.",
            ));
        }
    };
    for (name, value) in members {
        if value.is_null() {
            continue;
        }
        let ArgumentText(text) = ArgumentText::try_from(value.clone()).map_err(|error| {
            Failure::for_model(format!(
                "{} in `arguments` {error}; call expand_prompt again with one.",
                quoted(name)
            ))
        })?;
        values.insert(name.clone(), text);
    }
    Ok(values)
}

/// Converts the error for a command that no prompt has. The result tells the model what to do, in
/// complete sentences.
fn unknown_prompt(view: &View, command: &str, error: Diagnostic) -> Failure {
    let error = without_draft_suggestions(error, view);
    let mut sentences = vec![
        as_sentence(&error.to_string()),
        advice(command, &error, view),
    ];
    if error.kind != Kind::NotACommand
        && let Some(hint) = view.untrusted_hint()
    {
        sentences.push(format!("Tell the user: {hint}."));
    }
    sentences.extend(unreadable_places(view));
    Failure::for_model(sentences.join(" "))
}

/// Expands a prompt with values by name and an input.
///
/// # Errors
/// Fails if the prompt is broken or can't be called like this. The error tells the model what to
/// do, in complete sentences.
fn expand(
    found: &Found,
    values: &BTreeMap<String, String>,
    input: &str,
) -> Result<Expansion, Failure> {
    let prompt = found.prompt().map_err(|error| {
        Failure::for_model(format!(
            "{} cannot be expanded. {error}. Tell the user this; the prompt works as soon as that is done.",
            quoted(&found.name)
        ))
    })?;
    let call = Call::Named {
        values,
        input,
        is_strict: true, // the model can correct an unknown name
    };
    found.expand(&prompt, call).map_err(|error| {
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
    })
}

/// Returns the requested part of an expansion.
///
/// # Errors
/// Fails if there is no such part.
fn requested_part<'t>(
    text: &'t str,
    limit: Option<PartLimit>,
    requested: &str,
) -> Result<Part<'t>, Failure> {
    let Some(limit) = limit else {
        return Ok(Part::whole(text));
    };
    select_part(text, limit, requested).map_err(|reason| {
        Failure::for_model(format!(
            "{reason}. Ignore the parts that you have, and begin again: call expand_prompt without `part`."
        ))
    })
}

/// Tells a model, in complete sentences, what to do about a command that wasn't found.
fn advice(command: &str, error: &Diagnostic, view: &View) -> String {
    match &error.kind {
        Kind::NoSuchPrompt { closest } if closest.is_empty() => format!(
            "If it was meant as a command, tell the user which commands are available; if not, answer the message as usual. {}",
            commands_in_error(view)
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
        Kind::NotACommand if strip_colon(command).is_empty() => commands_in_error(view),
        Kind::NotACommand => "There is nothing to expand: answer the message as usual.".to_owned(),
        _ => "Tell the user this.".to_owned(),
    }
}

/// Returns a sentence that lists the commands, except unedited drafts.
fn commands_in_error(view: &View) -> String {
    let mut listing = view.list();
    listing.found.retain(|found| !found.is_unedited_draft());
    list_commands(&listing.names(), ERROR_NAMES_BYTES)
}

/// Returns a sentence about unreadable files and folders, which may contain the missing prompt.
fn unreadable_places(view: &View) -> Option<String> {
    let problems = view.unreadable();
    if problems.is_empty() {
        return None;
    }
    let mut sentence = String::from("Tell the user that some files or folders cannot be read:");
    for problem in problems.iter().take(MAX_UNREADABLE_IN_ERROR) {
        sentence += &format!("\n{problem}");
    }
    Some(sentence)
}

/// Capitalizes a clause and adds a period: `no prompt named x` becomes `No prompt named x.`
fn as_sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let mut sentence: String = first.collect();
    sentence += letters.as_str();
    if !sentence.ends_with('?') {
        sentence.push('.');
    }
    sentence
}

/// Returns a sentence that lists as many commands as fit in `max_bytes`, e.g.
/// `Available commands: :a, :b and 7 more, which list_prompts names.`
pub(super) fn list_commands(names: &[Name], max_bytes: usize) -> String {
    if names.is_empty() {
        return "There are no commands yet.".to_owned();
    }
    let mut sentence = String::from("Available commands: ");
    for (index, name) in names.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let remaining = names.len() - index;
        let end = format!(" and {remaining} more, which list_prompts names.");
        // Leave room for `end`, in case the name after this one doesn't fit.
        if sentence.len() + separator.len() + ":".len() + name.len() + end.len() > max_bytes {
            return sentence + &end;
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
            list_commands(&names(1), DESCRIPTION_NAMES_BYTES),
            "Available commands: :own-0000, :research, :test."
        );
        let many = list_commands(&names(5000), DESCRIPTION_NAMES_BYTES);
        assert!(
            many.starts_with("Available commands: :own-0000, :own-0001, "),
            "{many}"
        );
        assert!(
            many.len() > DESCRIPTION_NAMES_BYTES - 20 && many.len() <= DESCRIPTION_NAMES_BYTES,
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
        assert!(list_commands(&long, DESCRIPTION_NAMES_BYTES).len() <= DESCRIPTION_NAMES_BYTES);
        assert_eq!(
            list_commands(&[], DESCRIPTION_NAMES_BYTES),
            "There are no commands yet."
        );
    }

    #[test]
    fn the_description_stays_below_what_claude_code_cuts() {
        let definition: Value = serde_json::from_str(include_str!("expand_prompt.json")).unwrap();
        assert!(definition["description"].as_str().unwrap().len() + DESCRIPTION_NAMES_BYTES < 4096);
    }
}
