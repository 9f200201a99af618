//! Explains and previews calls.

use super::build::{foreign_format, is_visible_to_caller, utf16_ranges};
use super::types::{
    ArgumentValue, CallOutcome, CallRequest, CallValues, ExpansionLength, ExplainedPrompt,
    Explanation, MeasuredLimit, PlaceholderCount, PlaceholderSummary, Preview, PromptOrigin,
    ShadowedPrompt, Utf16Range,
};
use crate::agents::{AGENTS, Agent};
use crate::hook::{self, InvocationForm};
use crate::library::{BoundCall, Found, Layer, Location, ServiceRequest, View, join_unchanged};
use crate::prompt::{Binding, BoundArgument, Diagnostic, Origin, Piece, Prompt, Role};
use std::collections::HashSet;
use std::ops;

/// Explains a call of a prompt: which argument gets which value, and how long the expansion is.
///
/// If a service renders the prompt, it isn't called, and the explanation contains the request
/// instead. If the call cannot be expanded, the explanation contains the error.
///
/// # Errors
/// Fails if the prompt is broken, if it has no argument with a name in the call, or if the
/// expansion would drop text of the call.
pub fn explain(
    view: &View,
    found: &Found,
    request: &CallRequest,
) -> Result<Explanation, Diagnostic> {
    let prompt = found.prompt()?;
    let call_text = request.text();
    let bound_call = request.bind(&prompt, &call_text)?;
    let outcome = ExpansionOutcome::of_call(found, &bound_call);
    Ok(build_explanation(
        view,
        found,
        &bound_call,
        &call_text,
        &outcome,
    ))
}

/// Explains a call, and also returns its expansion and where the values are in it. If the call
/// cannot be expanded without a service, returns the prompt's text with the known values instead.
///
/// # Errors
/// Fails if the prompt is broken, if it has no argument with a name in the call, or if the
/// expansion would drop text of the call.
pub fn preview(view: &View, found: &Found, request: &CallRequest) -> Result<Preview, Diagnostic> {
    let prompt = found.prompt()?;
    let call_text = request.text();
    let bound_call = request.bind(&prompt, &call_text)?;
    let outcome = ExpansionOutcome::of_call(found, &bound_call);
    let explanation = build_explanation(view, found, &bound_call, &call_text, &outcome);
    let mut filled_in = fill_in(&prompt, &bound_call.binding).unwrap_or_default();
    let mut text = None;
    let mut partial = None;
    if let ExpansionOutcome::Expanded(expansion) = outcome {
        // The expansion may continue with attachments. If it differs in any other way, the ranges
        // don't apply to it.
        if !expansion.starts_with(&filled_in.text) {
            filled_in = FilledInText::default();
        }
        text = Some(expansion);
    } else if !filled_in.text.is_empty() {
        partial = Some(filled_in.text);
    }
    Ok(Preview {
        explanation,
        typed: chat_command(view, &bound_call),
        text,
        partial,
        value_ranges: filled_in.value_ranges,
        missing_ranges: filled_in.missing_ranges,
    })
}

/// Returns the message that a user can type in a chat to make this call, e.g. `:review src`.
/// Returns `None` if no message has exactly this meaning.
fn chat_command(view: &View, bound_call: &BoundCall<'_>) -> Option<String> {
    let message = bound_call.prompt.command_for(&bound_call.binding)?;
    if contains_command(view, &message) {
        return None; // a value contains a command, which the chat would expand, too
    }
    Some(message)
}

/// The result of expanding a call without calling services.
enum ExpansionOutcome {
    /// The text that an agent gets.
    Expanded(String),
    /// A service renders the prompt, and would get this request.
    NeedsService(ServiceRequest),
    /// The call cannot be expanded.
    Failed(String),
}

impl ExpansionOutcome {
    /// Expands a call or, if a service renders the prompt, only returns the request to that
    /// service.
    fn of_call(found: &Found, bound_call: &BoundCall<'_>) -> ExpansionOutcome {
        match found.request(bound_call) {
            Some(Ok(request)) => ExpansionOutcome::NeedsService(request),
            Some(Err(error)) => ExpansionOutcome::Failed(error.to_string()),
            None => match found.messages(bound_call, &join_unchanged) {
                Ok(messages) => ExpansionOutcome::Expanded(messages.into_text()),
                Err(error) => ExpansionOutcome::Failed(error.to_string()),
            },
        }
    }

    /// Returns the outcome for an explanation, which contains the length of the expansion instead
    /// of its text.
    ///
    /// `call_text` is what follows the prompt's name, and `layer` is where the prompt comes from.
    fn explain(&self, name: &str, call_text: &str, layer: Layer) -> CallOutcome {
        match self {
            ExpansionOutcome::Expanded(expansion) => {
                CallOutcome::Expanded(measure_expansion(name, call_text, layer, expansion))
            }
            ExpansionOutcome::NeedsService(request) => CallOutcome::Request(request.clone()),
            ExpansionOutcome::Failed(error) => CallOutcome::Error(error.clone()),
        }
    }
}

/// Builds the explanation of a bound call. `call_text` is what follows the prompt's name.
fn build_explanation(
    view: &View,
    found: &Found,
    bound_call: &BoundCall<'_>,
    call_text: &str,
    outcome: &ExpansionOutcome,
) -> Explanation {
    let prompt = bound_call.prompt;
    let binding = &bound_call.binding;
    let location = found.location();
    let origin = find_origin(view, found, prompt, &location);
    // A file outside of the folders is the user's own.
    let layer = origin.layer.unwrap_or(Layer::USER);
    Explanation {
        prompt: explain_prompt(prompt, origin),
        values: explain_values(prompt, binding),
        placeholders: summarize_placeholders(prompt, binding),
        outcome: outcome.explain(&prompt.name, call_text, layer),
        call_warnings: bound_call.warnings(),
        file_warnings: visible_warnings(view, found, prompt, &location),
    }
}

/// Returns where a prompt at `location` comes from, and what it includes and overrides.
fn find_origin(view: &View, found: &Found, prompt: &Prompt, location: &Location) -> PromptOrigin {
    let layers = find_layers(view, found, location);
    let mut format = None;
    if layers.own.is_some() {
        format = foreign_format(found);
    }
    PromptOrigin {
        layer: layers.own,
        pack: found.pack_version(),
        format,
        source: location.display.clone(),
        includes: visible_includes(view, prompt),
        shadows: layers.shadowed,
    }
}

fn explain_prompt(prompt: &Prompt, origin: PromptOrigin) -> ExplainedPrompt {
    ExplainedPrompt {
        name: prompt.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        origin,
        tags: prompt.tags.clone(),
        usage: prompt.usage(),
        roles: role_names(prompt),
        attachments: attachment_paths(prompt),
    }
}

fn explain_values(prompt: &Prompt, binding: &Binding<'_>) -> CallValues {
    CallValues {
        arguments: argument_values(&binding.arguments),
        input: binding.input.as_deref().map(str::to_owned),
        is_input_rest: takes_rest_of_text(prompt),
    }
}

fn summarize_placeholders(prompt: &Prompt, binding: &Binding<'_>) -> PlaceholderSummary {
    let counts = count_placeholders(prompt, binding);
    let mut appended_input = None;
    if counts.is_empty() {
        appended_input = describe_appended_input(prompt);
    }
    PlaceholderSummary {
        counts,
        unexpanded: prompt.unexpanded(),
        appended_input,
    }
}

/// The layers that contain a prompt with the same name.
struct Layers {
    /// The layer of the prompt itself, or `None` if it is a file outside of the folders of prompts.
    own: Option<Layer>,
    /// The prompts that it overrides.
    shadowed: Vec<ShadowedPrompt>,
}

/// Finds the layer of a prompt at `location`, and the prompts that it overrides.
fn find_layers(view: &View, found: &Found, location: &Location) -> Layers {
    // In order of precedence, so that this prompt overrides all those after it.
    let prompts = view.get_all(&found.name);
    let Some(index) = prompts
        .iter()
        .position(|prompt| prompt.location() == *location)
    else {
        return Layers {
            own: None,
            shadowed: Vec::new(),
        };
    };
    let mut shadowed = Vec::new();
    for other in &prompts[index + 1..] {
        shadowed.push(ShadowedPrompt {
            layer: other.layer,
            source: other.location().display,
        });
    }
    Layers {
        own: Some(prompts[index].layer),
        shadowed,
    }
}

/// Returns the paths of the included files, without those that the caller may not see.
fn visible_includes(view: &View, prompt: &Prompt) -> Vec<String> {
    let mut paths = Vec::new();
    for included in prompt.included() {
        if is_visible_to_caller(view, included) {
            paths.push(included.file.path.display().to_string());
        }
    }
    paths
}

/// Returns the roles of the messages, or nothing if there is only one message.
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

/// Returns whether the input of a call is only what the arguments leave of its text.
fn takes_rest_of_text(prompt: &Prompt) -> bool {
    !prompt.arguments.is_empty()
        && prompt.placeholders().next().is_some()
        && !prompt.gives_one_word_per_argument()
}

fn argument_values(arguments: &[BoundArgument<'_>]) -> Vec<ArgumentValue> {
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

/// Returns the warnings about a prompt's file, without those that the caller may not see.
fn visible_warnings(
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

/// Returns where the input is appended, as a predicate for the subject "the input". Returns `None`
/// if the prompt doesn't append the input.
fn describe_appended_input(prompt: &Prompt) -> Option<&'static str> {
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

/// Counts the placeholders of each name, in the order of their first occurrences.
fn count_placeholders(prompt: &Prompt, binding: &Binding<'_>) -> Vec<PlaceholderCount> {
    let mut counts: Vec<PlaceholderCount> = Vec::new();
    for message in &prompt.messages {
        for placeholder in message.placeholders() {
            let name = &placeholder.name;
            if let Some(existing) = counts.iter_mut().find(|existing| existing.name == *name) {
                existing.count += 1;
                continue;
            }
            counts.push(PlaceholderCount {
                name: name.clone(),
                count: 1,
                is_empty: placeholder.default.is_none()
                    && binding.replacement(placeholder).as_str().is_empty(),
                source_text: message.source_text(placeholder).to_owned(),
            });
        }
    }
    counts
}

/// Returns the length of an expansion, and compares it with the limits of each agent.
/// `docs/clients` and `docs/hook.md` say how the limits were measured.
fn measure_expansion(name: &str, input: &str, layer: Layer, expansion: &str) -> ExpansionLength {
    let mut limits = Vec::new();
    for agent in AGENTS {
        limits.extend(measure_tool_limit(agent, expansion));
        if agent.hook.is_some() {
            let context = hook::context_for_command(agent, name, input, expansion, layer);
            limits.extend(measure_hook_limit(agent, &context));
        }
    }
    ExpansionLength {
        bytes: expansion.len(),
        characters: expansion.chars().count(),
        limits,
    }
}

/// Compares an expansion with an agent's limit for tool results, if it has one.
fn measure_tool_limit(agent: &'static Agent, expansion: &str) -> Option<MeasuredLimit> {
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

/// Compares the context that a hook would add with an agent's limit for hooks.
fn measure_hook_limit(agent: &'static Agent, context: &str) -> Option<MeasuredLimit> {
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

/// Returns whether the input of a typed message contains another command, such as `:plan` in
/// `:review :plan x`. In a chat, that command would be expanded too, instead of being passed on as
/// text.
fn contains_command(view: &View, message: &str) -> bool {
    let Some((_command, input)) = message.split_once(' ') else {
        return false;
    };
    hook::invocations(view, input, None)
        .iter()
        .any(|invocation| invocation.form == InvocationForm::Command)
}

/// The text of a prompt with all known values, and with the placeholders of the missing ones.
#[derive(Debug, Default, PartialEq)]
struct FilledInText {
    text: String,
    /// Where values and defaults are in the text.
    value_ranges: Vec<Utf16Range>,
    /// Where placeholders of missing values are in the text.
    missing_ranges: Vec<Utf16Range>,
}

/// Fills the values of a call into a prompt, keeping the placeholders of missing values. Returns
/// `None` if the prompt cannot be filled in, e.g. because a service renders it.
fn fill_in(prompt: &Prompt, binding: &Binding<'_>) -> Option<FilledInText> {
    let complete_binding = with_placeholders_as_values(prompt, binding);
    let mut value_ranges_by_message = Vec::new(); // one entry for each message of the result
    let messages = prompt.expand_bound(&complete_binding, |pieces| {
        let message = join_with_ranges(pieces);
        // Empty messages are omitted from the result, so they must not be counted here.
        if !message.text.is_empty() {
            value_ranges_by_message.push(message.value_ranges);
        }
        message.text
    });
    let messages = messages.ok()?;
    let offsets = messages.message_offsets();
    let text = messages.into_text();
    let placeholders = missing_placeholders(prompt, binding);
    let mut value_ranges = Vec::new();
    let mut missing_ranges = Vec::new();
    for (offset, ranges) in offsets.into_iter().zip(value_ranges_by_message) {
        for range in ranges {
            let range = offset + range.start..offset + range.end;
            if placeholders.contains(&text[range.clone()]) {
                missing_ranges.push(range);
            } else {
                value_ranges.push(range);
            }
        }
    }
    Some(FilledInText {
        value_ranges: utf16_ranges(&text, value_ranges),
        missing_ranges: utf16_ranges(&text, missing_ranges),
        text,
    })
}

/// Returns the placeholders of the arguments whose values are missing.
fn missing_placeholders(prompt: &Prompt, binding: &Binding<'_>) -> HashSet<String> {
    let mut placeholders = HashSet::new();
    for bound in &binding.arguments {
        if bound.origin == Origin::Missing {
            placeholders.insert(prompt.placeholder(bound.name));
        }
    }
    placeholders
}

/// Returns a binding without errors, in which the value of each missing argument is its own
/// placeholder.
fn with_placeholders_as_values<'b>(prompt: &Prompt, binding: &Binding<'b>) -> Binding<'b> {
    let mut complete = binding.clone();
    complete.error = None;
    for bound in &mut complete.arguments {
        if bound.origin == Origin::Missing {
            bound.value = prompt.placeholder(bound.name).into();
        }
        // With their real origin, defaults would count as text of the prompt, and not be marked.
        bound.origin = Origin::Named;
    }
    complete
}

/// The text of one message, and the byte ranges of its values.
struct MessageText {
    text: String,
    value_ranges: Vec<ops::Range<usize>>,
}

/// Joins the pieces of a message, and records the ranges of its values. Empty values have none.
fn join_with_ranges(pieces: &mut dyn Iterator<Item = Piece<'_>>) -> MessageText {
    let mut text = String::new();
    let mut value_ranges = Vec::new();
    for piece in pieces {
        let start = text.len();
        text += piece.as_str();
        if matches!(piece, Piece::Value(value) if !value.is_empty()) {
            value_ranges.push(start..text.len());
        }
    }
    MessageText { text, value_ranges }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Call, Name};

    fn filled_in_from(file: &str, text: &str) -> FilledInText {
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        fill_in(&prompt, &prompt.bind(Call::Text(text))).unwrap()
    }

    #[test]
    fn marks_count_utf_16_units_as_scripts_do() {
        let file = "---\narguments: [{name: a, required: true}, {name: b, default: '😀'}]\n---\né{{b}}{{a}}{{input}}";
        let want = FilledInText {
            text: "é😀{{a}}".to_owned(),
            value_ranges: vec![(1, 3)],
            missing_ranges: vec![(3, 8)],
        };
        assert_eq!(filled_in_from(file, ""), want);
    }

    #[test]
    fn values_of_each_message_are_marked_even_those_that_are_no_choice() {
        let file = "---\nmessages: true\narguments: [{name: a, choices: [x], strict: true, required: true}]\n---\n\
                    {{a}}\n<!-- assistant -->\nYes {{a}}\n<!-- user -->\n";
        let want = FilledInText {
            text: "User:\nzz\n\nAssistant:\nYes zz".to_owned(),
            value_ranges: vec![(6, 8), (25, 27)],
            missing_ranges: vec![],
        };
        assert_eq!(filled_in_from(file, "zz"), want);
    }
}
