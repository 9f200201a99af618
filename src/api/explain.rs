//! The explanation of a call, and the preview of the web page.

use super::build::{format, is_seen, units};
use super::call::with_unused_warnings;
use super::types::{
    ArgumentValue, CallRequest, ExpansionLength, Explanation, MeasuredLimit, PlaceholderCount,
    Preview, Range, ShadowedPrompt,
};
use crate::agents::{AGENTS, Agent};
use crate::hook::{self, InvocationForm};
use crate::library::{BoundCall, Found, Layer, Location, ServiceRequest, View, join_unchanged};
use crate::prompt::{Binding, BoundArgument, Diagnostic, Origin, Piece, Prompt, Role};
use std::collections::HashSet;
use std::ops;

/// Explains a call of a prompt: which argument gets which value, and how long the expansion is.
///
/// No service is called. If the call cannot be expanded, the explanation contains the error.
///
/// # Errors
/// The prompt is broken, has no argument of a name in the call, or would lose a text of the call.
pub fn explain(
    view: &View,
    found: &Found,
    request: &CallRequest,
) -> Result<Explanation, Diagnostic> {
    let prompt = found.prompt()?;
    let text = request.text();
    let bound = request.bind(&prompt, &text)?;
    let outcome = CallOutcome::of(found, &bound);
    Ok(explanation(view, found, &bound, &text, &outcome))
}

/// Explains a call as [`explain`] does, and also returns its text, with the places of the values.
///
/// # Errors
/// Those of [`explain`].
pub fn preview(view: &View, found: &Found, request: &CallRequest) -> Result<Preview, Diagnostic> {
    let prompt = found.prompt()?;
    let text = request.text();
    let bound = request.bind(&prompt, &text)?;
    let outcome = CallOutcome::of(found, &bound);
    let explanation = explanation(view, found, &bound, &text, &outcome);
    let mut typed = prompt.typed(&bound.binding);
    if let Some(text) = &typed
        && contains_command(view, text)
    {
        typed = None;
    }
    let mut filled = filled(&prompt, &bound.binding).unwrap_or_default();
    let mut partial = None;
    if let Some(expansion) = &outcome.text {
        // Attachments may follow the filled text. If the expansion differs otherwise, the places of
        // the values are unknown.
        if !expansion.starts_with(&filled.text) {
            filled = FilledText::default();
        }
    } else if !filled.text.is_empty() {
        partial = Some(filled.text);
    }
    Ok(Preview {
        explanation,
        typed,
        text: outcome.text,
        partial,
        marks: filled.values,
        gaps: filled.gaps,
    })
}

/// The text of a call, or why it is not known here.
#[derive(Default)]
struct CallOutcome {
    /// The text that an agent gets, unless a service has it.
    text: Option<String>,
    /// The request that a service would get.
    request: Option<ServiceRequest>,
    /// Why the prompt cannot be expanded.
    error: Option<String>,
}

impl CallOutcome {
    /// Expands a bound call. If a service renders the prompt, returns the request that it would
    /// get.
    fn of(found: &Found, bound: &BoundCall<'_>) -> CallOutcome {
        let mut outcome = CallOutcome::default();
        match found.request(bound) {
            Some(Ok(request)) => outcome.request = Some(request),
            Some(Err(error)) => outcome.error = Some(error.to_string()),
            None => match found.messages(bound, &join_unchanged) {
                Ok(messages) => outcome.text = Some(messages.into_text()),
                Err(error) => outcome.error = Some(error.to_string()),
            },
        }
        outcome
    }
}

/// Returns all facts about a bound call. `text` is the text of the call after the name.
fn explanation(
    view: &View,
    found: &Found,
    bound: &BoundCall<'_>,
    text: &str,
    outcome: &CallOutcome,
) -> Explanation {
    let prompt = bound.prompt;
    let binding = &bound.binding;
    let location = found.location();
    let layers = layers_of(view, found, &location);
    let placeholders = placeholders(prompt, binding);
    let lengths = outcome.text.as_deref().map(|expansion| {
        let layer = layers.own.unwrap_or(Layer::USER);
        lengths(&prompt.name, text, layer, expansion)
    });
    Explanation {
        name: prompt.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        layer: layers.own,
        pack: found.pack_version(),
        format: if layers.own.is_some() {
            format(found)
        } else {
            None
        },
        includes: seen_includes(view, prompt),
        shadows: layers.shadowed,
        tags: prompt.tags.clone(),
        usage: prompt.usage(),
        messages: role_names(prompt),
        attachments: attachment_paths(prompt),
        is_input_rest: takes_rest_of_text(prompt),
        arguments: given_values(&binding.arguments),
        input: binding.input.as_deref().map(str::to_owned),
        input_place: if placeholders.is_empty() {
            input_place(prompt)
        } else {
            None
        },
        placeholders,
        unexpanded: prompt.unexpanded(),
        request: outcome.request.clone(),
        error: outcome.error.clone(),
        expansion: lengths,
        warnings: with_unused_warnings(binding.warnings.clone(), prompt, &bound.unused_values()),
        problems: file_warnings(view, found, prompt, &location),
        source: location.display,
    }
}

/// The layers that have a prompt of one name.
struct Layers {
    /// The layer of the prompt itself; `None` if it is a file in no folder of prompts.
    own: Option<Layer>,
    /// The prompts that it overrides.
    shadowed: Vec<ShadowedPrompt>,
}

/// Returns the layer of a prompt, and the prompts of its name that it overrides.
fn layers_of(view: &View, found: &Found, location: &Location) -> Layers {
    let mut prompts = view.get_all(&found.name).into_iter();
    let mut own = None;
    for prompt in prompts.by_ref() {
        if prompt.location() == *location {
            own = Some(prompt.layer);
            break;
        }
    }
    // The prompts after it are those that it overrides.
    let mut shadowed = Vec::new();
    for other in prompts {
        shadowed.push(ShadowedPrompt {
            layer: other.layer,
            source: other.location().display,
        });
    }
    Layers { own, shadowed }
}

/// Returns the paths of the included files that the caller may see.
fn seen_includes(view: &View, prompt: &Prompt) -> Vec<String> {
    let mut paths = Vec::new();
    for included in prompt.included() {
        if is_seen(view, included) {
            paths.push(included.file.path.display().to_string());
        }
    }
    paths
}

/// Returns the roles of the messages, if there are several messages.
fn role_names(prompt: &Prompt) -> Vec<&'static str> {
    let roles = prompt.roles();
    if roles.len() <= 1 {
        return Vec::new();
    }
    roles.into_iter().map(Role::name).collect()
}

fn attachment_paths(prompt: &Prompt) -> Vec<String> {
    let attachments = prompt.attachments.iter();
    attachments
        .map(|attachment| attachment.path.clone())
        .collect()
}

/// Returns whether the input of a call is the text that its arguments leave.
fn takes_rest_of_text(prompt: &Prompt) -> bool {
    !prompt.arguments.is_empty()
        && prompt.placeholders().next().is_some()
        && !prompt.gives_one_word_per_argument()
}

fn given_values(arguments: &[BoundArgument<'_>]) -> Vec<ArgumentValue> {
    let mut values = Vec::with_capacity(arguments.len());
    for bound in arguments {
        values.push(ArgumentValue {
            name: bound.name.to_owned(),
            value: bound.value.to_string(),
            from: bound.origin,
        });
    }
    values
}

/// Returns the warnings about a prompt file, without those that the caller may not see.
fn file_warnings(
    view: &View,
    found: &Found,
    prompt: &Prompt,
    location: &Location,
) -> Vec<Diagnostic> {
    let file = match &location.file {
        Some(file) => file.clone(),
        None => found.name.to_string().into(),
    };
    let mut visible = Vec::new();
    for warning in prompt.warnings() {
        let warning = warning.in_file(file.clone());
        if view.is_visible(&warning) {
            visible.push(warning);
        }
    }
    visible
}

/// Returns where the input goes, for a line such as "the input follows the body, in the next line";
/// `None` if the prompt does not append the input.
fn input_place(prompt: &Prompt) -> Option<&'static str> {
    if !prompt.appends_input() {
        return None;
    }
    Some(if prompt.roles().last() == Some(&Role::Assistant) {
        "is a message of its own"
    } else if prompt.input_separator() == "\n" {
        "follows the body, in the next line"
    } else {
        "follows the body, after an empty line"
    })
}

/// Returns one entry for each name that the prompt has placeholders for, in the order of the text:
/// how many there are, and whether their value is empty.
fn placeholders(prompt: &Prompt, binding: &Binding<'_>) -> Vec<PlaceholderCount> {
    let mut all: Vec<PlaceholderCount> = Vec::new();
    for message in &prompt.messages {
        for placeholder in message.placeholders() {
            let name = &placeholder.name;
            if let Some(known) = all.iter_mut().find(|known| known.name == *name) {
                known.count += 1;
                continue;
            }
            all.push(PlaceholderCount {
                name: name.clone(),
                count: 1,
                is_empty: binding.value(name).as_str().is_empty(),
                written: message.source_text(placeholder).to_owned(),
            });
        }
    }
    all
}

/// Returns the length of an expansion, and how much of it each agent shows. The limits were
/// measured; `docs/clients` and `docs/hook.md` say how.
fn lengths(name: &str, input: &str, layer: Layer, expansion: &str) -> ExpansionLength {
    let mut limits = Vec::new();
    for agent in AGENTS {
        limits.extend(tool_limit(agent, expansion));
        if agent.hook.is_some() {
            let context = hook::context_of_one(agent, name, input, expansion, layer);
            limits.extend(hook_limit(agent, &context));
        }
    }
    ExpansionLength {
        bytes: expansion.len(),
        characters: expansion.chars().count(),
        limits,
    }
}

/// Compares an expansion with what an agent shows of the result of a tool.
fn tool_limit(agent: &'static Agent, expansion: &str) -> Option<MeasuredLimit> {
    let part = agent.part_limit?;
    let length = part.length(expansion);
    Some(MeasuredLimit {
        agent: agent.name,
        delivery: "tool",
        length,
        limit: part.max,
        unit: format!("{} of the result", part.unit.name()),
        is_whole: length <= part.max,
        when_exceeded: "the model gets it in parts",
    })
}

/// Compares the context that a hook would add with what an agent takes from a hook.
fn hook_limit(agent: &'static Agent, context: &str) -> Option<MeasuredLimit> {
    let (limit, unit) = agent.hook.as_ref()?.context_limit;
    let length = unit.count(context);
    Some(MeasuredLimit {
        agent: agent.name,
        delivery: "hook",
        length,
        limit,
        unit: unit.name().to_owned(),
        is_whole: length <= limit,
        when_exceeded: "the hook asks the model to call the tool",
    })
}

/// Returns whether the input of a typed command, or one of its lines, begins with a second command,
/// such as `:plan` in `:review :plan x`. A chat would expand the second command, too, instead of
/// passing it on as text.
fn contains_command(view: &View, typed: &str) -> bool {
    let Some((_, input)) = typed.split_once(' ') else {
        return false;
    };
    hook::invocations(view, input)
        .iter()
        .any(|invocation| invocation.form == InvocationForm::Command)
}

/// A text with the values that are known. Where a value is missing, its placeholder stays.
#[derive(Debug, Default, PartialEq)]
struct FilledText {
    text: String,
    /// Where values are, defaults too.
    values: Vec<Range>,
    /// Where values are missing.
    gaps: Vec<Range>,
}

/// Returns the text of a prompt with the values of a call. Where a required value is missing, its
/// placeholder stays. `None` if the prompt cannot be filled in, for example because a service
/// renders it.
fn filled(prompt: &Prompt, binding: &Binding<'_>) -> Option<FilledText> {
    let complete_binding = with_placeholders_for_missing(prompt, binding);
    let mut ranges_of_messages = Vec::new();
    let messages = prompt.expand_bound(&complete_binding, |pieces| {
        let message = join_with_ranges(pieces);
        // An empty message is left out of the text.
        if !message.text.is_empty() {
            ranges_of_messages.push(message.values);
        }
        message.text
    });
    let messages = messages.ok()?;
    let starts = messages.message_offsets();
    let text = messages.into_text();
    let placeholders = placeholders_of_missing(prompt, binding);
    let mut values = Vec::new();
    let mut gaps = Vec::new();
    for (start, ranges) in starts.into_iter().zip(ranges_of_messages) {
        for range in ranges {
            let range = start + range.start..start + range.end;
            if placeholders.contains(&text[range.clone()]) {
                gaps.push(range);
            } else {
                values.push(range);
            }
        }
    }
    Some(FilledText {
        values: units(&text, values),
        gaps: units(&text, gaps),
        text,
    })
}

/// Returns the placeholders of the arguments whose values are missing.
fn placeholders_of_missing(prompt: &Prompt, binding: &Binding<'_>) -> HashSet<String> {
    let mut placeholders = HashSet::new();
    for bound in &binding.arguments {
        if bound.origin == Origin::Missing {
            placeholders.insert(prompt.placeholder(bound.name));
        }
    }
    placeholders
}

/// Returns a binding in which each missing value is its own placeholder, so that the prompt can be
/// filled in without an error.
fn with_placeholders_for_missing<'b>(prompt: &Prompt, binding: &Binding<'b>) -> Binding<'b> {
    let mut complete = binding.clone();
    complete.error = None;
    for bound in &mut complete.arguments {
        if bound.origin == Origin::Missing {
            bound.value = prompt.placeholder(bound.name).into();
        }
        // Defaults would be texts of the prompt. The preview marks them like values of the caller.
        bound.origin = Origin::Named;
    }
    complete
}

/// The text of a message, and the ranges of bytes that are values.
struct MessageText {
    text: String,
    values: Vec<ops::Range<usize>>,
}

/// Joins the pieces of a message, and records where values are in the text. Empty values have no
/// range.
fn join_with_ranges(pieces: &mut dyn Iterator<Item = Piece<'_>>) -> MessageText {
    let mut text = String::new();
    let mut values = Vec::new();
    for piece in pieces {
        let start = text.len();
        text += piece.as_str();
        if matches!(piece, Piece::Value(value) if !value.is_empty()) {
            values.push(start..text.len());
        }
    }
    MessageText { text, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Call, Name};

    fn filled_from(file: &str, text: &str) -> FilledText {
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        filled(&prompt, &prompt.bind(Call::Text(text))).unwrap()
    }

    #[test]
    fn marks_count_utf_16_units_as_scripts_do() {
        let file = "---\narguments: [{name: a, required: true}, {name: b, default: '😀'}]\n---\né{{b}}{{a}}{{input}}";
        let want = FilledText {
            text: "é😀{{a}}".to_owned(),
            values: vec![(1, 3)],
            gaps: vec![(3, 8)],
        };
        assert_eq!(filled_from(file, ""), want);
    }

    #[test]
    fn values_of_each_message_are_marked_even_those_that_are_no_choice() {
        let file = "---\nmessages: true\narguments: [{name: a, choices: [x], strict: true, required: true}]\n---\n\
                    {{a}}\n<!-- assistant -->\nYes {{a}}\n<!-- user -->\n";
        let want = FilledText {
            text: "User:\nzz\n\nAssistant:\nYes zz".to_owned(),
            values: vec![(6, 8), (25, 27)],
            gaps: vec![],
        };
        assert_eq!(filled_from(file, "zz"), want);
    }
}
