//! The objects of the API, made from a view of the library.

use super::tokens::tokens;
use super::types::{
    Call, Checked, Draft, Expansion, Explanation, Fields, File, Filter, Given, IncludedText,
    Lengths, Listed, MeasuredLimit, Placeholder, Preview, Range, Shadowed, Shown,
};
use crate::agents::{AGENTS, Agent};
use crate::hook::{self, Form};
use crate::library::{Found, Layer, Selection, View, hunks, joined};
use crate::prompt::{
    self, Binding, Bound, Diagnostic, Format, INPUT, Included, Kind, Messages, Name, Origin, Piece,
    Prompt, Revision, Role, join_piped, without_frontmatter,
};
use crate::wording::{named, quoted};
use serde::Serializer;
use std::cell::RefCell;

/// The source of a prompt that is part of the program; that of any other is an absolute path.
pub const BUILT_IN: &str = Layer::BUILTIN.name;

/// Selects the prompts that match.
pub fn list(view: &View, filter: &Filter) -> Selection {
    let query = filter
        .query
        .as_deref()
        .filter(|query| !query.trim().is_empty());
    let mut selection = view.select(query, filter.tag.as_deref());
    selection
        .found
        .retain(|found| !filter.mine || found.layer != Layer::BUILTIN);
    selection
}

/// The prompts in a list, which are read meanwhile.
pub fn listed(selection: &mut Selection) -> impl Iterator<Item = Listed> {
    selection.read().map(|(found, prompt, info)| Listed {
        name: found.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        layer: found.layer,
        pack: found.pack_version(),
        format: format(found),
        source: found.place().shown,
        tags: prompt.tags.clone(),
        usage: prompt.usage.clone(),
        arguments: prompt.arguments.clone(),
        revision: info.revision,
        size: info.size,
        takes_input: prompt.takes_input,
        metadata: prompt.metadata.clone(),
    })
}

/// A list as JSON: an object with `prompts`, and with `problems` if there are any. The prompts are
/// read while it is written.
///
/// # Errors
/// A prompt cannot be written as JSON, which no prompt is known to cause.
pub fn list_json(selection: &mut Selection) -> serde_json::Result<Vec<u8>> {
    // More than it takes, so that it does not grow among what stays in memory; what is not written
    // takes none.
    let mut json = Vec::with_capacity(512 * selection.found.len());
    json.extend(br#"{"prompts":"#);
    serde_json::Serializer::new(&mut json).collect_seq(listed(selection))?;
    if !selection.problems.is_empty() {
        json.extend(br#","problems":"#);
        serde_json::to_writer(&mut json, &selection.problems)?;
    }
    json.push(b'}');
    Ok(json)
}

/// The format of another program's prompt, as `--prompts` takes it.
fn format(found: &Found) -> Option<&'static str> {
    (found.format != Format::OWN).then_some(found.format.name)
}

/// The file of a prompt, which may be broken.
///
/// # Errors
/// There is no prompt of this name, or its file is no text.
pub fn show(view: &View, command: &str) -> Result<Shown, Diagnostic> {
    shown(&view.find(command)?)
}

fn shown(found: &Found) -> Result<Shown, Diagnostic> {
    let text = found.text()?;
    let path = found.place().file.map(|file| file.display().to_string());
    Ok(Shown {
        name: found.name.to_string(),
        layer: found.layer,
        path,
        revision: Revision::of(text.as_bytes()),
        text,
    })
}

/// The same, with what the page shows besides.
///
/// # Errors
/// Those of [`show`].
pub fn file(view: &View, command: &str) -> Result<File, Diagnostic> {
    let found = view.find(command)?;
    let (shown, prompt) = (shown(&found)?, found.prompt().ok());
    let marks = prompt.as_ref().map(|prompt| {
        let template = prompt.template_of(&shown.text);
        units(
            &shown.text,
            template
                .placeholders()
                .map(|placeholder| placeholder.range.clone()),
        )
    });
    let included = prompt
        .iter()
        .flat_map(|prompt| prompt.included())
        .map(|included| included_text(view, included));
    let (includes, fields) = (included.collect(), prompt.as_deref().map(fields));
    Ok(File {
        shown,
        fields,
        marks: marks.unwrap_or_default(),
        includes,
    })
}

/// What a caller gets of an included file. The frontmatter of a file that they may not see is no
/// part of the prompt.
fn included_text(view: &View, included: &Included) -> IncludedText {
    let text = if is_seen(view, included) {
        included.text.to_string()
    } else {
        without_frontmatter(&included.text)
    };
    IncludedText {
        path: included.file.name.clone(),
        revision: Revision::of(text.as_bytes()),
        text,
    }
}

/// Returns whether a caller may see an included file by itself.
fn is_seen(view: &View, included: &Included) -> bool {
    view.prefix()
        .is_none_or(|prefix| prefix.contains(&included.file.name))
}

fn fields(prompt: &Prompt) -> Fields {
    Fields {
        arguments: prompt.arguments.clone(),
        takes_input: prompt.takes_input(),
    }
}

/// What an agent gets for a call.
///
/// # Errors
/// The prompt is broken, or cannot be called like this.
pub fn expand(found: &Found, call: &Call) -> Result<Expansion, Diagnostic> {
    let prompt = found.prompt()?;
    call.check(&prompt)?;
    let messages = found
        .expand(&prompt, call.bindable(&call.text()), &joined)
        .map_err(|why| cannot(&prompt, why))?;
    Ok(Expansion {
        prompt: messages.into_text(),
        warnings: call.warnings(&prompt),
    })
}

fn cannot(prompt: &Prompt, error: Diagnostic) -> Diagnostic {
    Diagnostic {
        message: format!(
            "{} cannot be expanded: {}",
            named(&prompt.name),
            error.message
        ),
        ..error
    }
}

impl Call {
    /// The words and the text from a pipe as one text.
    fn text(&self) -> String {
        join_piped(&self.input, &self.piped, self.piped_at())
    }

    /// The index of the word before which the text from a pipe belongs.
    fn piped_at(&self) -> usize {
        self.at
            .map_or(self.input.len(), |at| at.min(self.input.len()))
    }

    /// The call as a prompt takes it; `input` is its [text](Call::text).
    fn bindable<'c>(&'c self, input: &'c str) -> prompt::Call<'c> {
        let Call {
            input: words,
            arguments: values,
            piped: text,
            ..
        } = self;
        match values.is_empty() {
            true => prompt::Call::Piped {
                words,
                text,
                at: self.piped_at(),
            },
            false => prompt::Call::Named {
                values,
                input,
                is_strict: false,
            },
        }
    }

    /// # Errors
    /// The prompt has no argument of a given name, or takes no input in addition to values by name;
    /// or the text from a pipe would not be in the expansion.
    pub fn check(&self, prompt: &Prompt) -> Result<(), Diagnostic> {
        let Call {
            input: words,
            arguments: values,
            piped,
            ..
        } = self;
        let known = prompt::Call::Named {
            values,
            input: "",
            is_strict: true,
        };
        if let Some(error) = prompt
            .bind(known)
            .error
            .filter(|error| error.kind == Kind::NoSuchArgument)
        {
            return Err(cannot(prompt, error));
        }
        // With values by name, only a prompt with a placeholder for the input takes more text.
        let takes_input =
            values.is_empty() || (prompt.takes_input() && !values.contains_key(INPUT));
        if !takes_input && !words.is_empty() {
            let message = format!(
                "{} cannot be combined with --arg for this prompt",
                quoted(&words.join(" "))
            );
            let fix = "pass it as another --arg NAME=VALUE, or leave out --arg";
            return Err(Diagnostic::new(Kind::UnusedText, message, fix));
        }
        if !takes_input && !piped.is_empty() {
            let message =
                "the text on standard input cannot be combined with --arg for this prompt";
            let fix =
                "leave out --arg, or, if the text is not meant for the prompt, add `< /dev/null`";
            return Err(Diagnostic::new(Kind::UnusedText, message, fix));
        }
        // For values that the prompt does not use there is a warning, but text from a pipe is never
        // dropped.
        let end = piped.trim_end_matches('\n');
        let has_piped = |bound: &&Bound<'_>| {
            bound.origin != Origin::Named && !end.is_empty() && bound.value.contains(end)
        };
        match unused(prompt, &prompt.bind(self.bindable(&self.text())).arguments).find(has_piped) {
            Some(bound) => Err(unused_value(prompt, bound)),
            None => Ok(()),
        }
    }

    /// What works, but is probably not what the caller intends.
    fn warnings(&self, prompt: &Prompt) -> Vec<String> {
        let text = self.text();
        let binding = prompt.bind(self.bindable(&text));
        let unused =
            unused(prompt, &binding.arguments).map(|bound| unused_value(prompt, bound).text());
        binding.warnings.iter().cloned().chain(unused).collect()
    }
}

/// The values that are not in the expansion because there is no placeholder for them.
fn unused<'b>(prompt: &'b Prompt, values: &'b [Bound<'b>]) -> impl Iterator<Item = &'b Bound<'b>> {
    let has_placeholders = prompt.placeholders().next().is_some();
    values.iter().filter(move |bound| {
        let has_place = prompt
            .placeholders()
            .any(|placeholder| placeholder.name == bound.name);
        let is_given = match bound.origin {
            Origin::Named => true,
            // Without any placeholder, the whole text follows the body.
            Origin::Pair | Origin::Word | Origin::Rest => has_placeholders,
            Origin::Default | Origin::Omitted | Origin::Missing => false,
        };
        // A service gets each of them.
        is_given && !has_place && !bound.value.is_empty() && !prompt.is_rendered_by_service()
    })
}

fn unused_value(prompt: &Prompt, bound: &Bound<'_>) -> Diagnostic {
    let (name, argument) = (named(&prompt.name), named(bound.name));
    let placeholder = named(&prompt.placeholder(bound.name));
    let message = format!(
        "the value of {argument} is not in the expansion, because {name} has no placeholder {placeholder}"
    );
    Diagnostic::new(
        Kind::UnusedText,
        message,
        "add it to the file, or leave out the value",
    )
}

/// Explains a call of a prompt, and expands it. That this cannot be done is part of the
/// explanation, and a service is not called.
///
/// # Errors
/// The prompt is broken, or the call contains what no expansion would; see [`Call::check`].
pub fn explain(
    view: &View,
    found: &Found,
    call: &Call,
) -> Result<(Explanation, Option<String>), Diagnostic> {
    let prompt = &*found.prompt()?;
    call.check(prompt)?;
    let text = call.text();
    let place = found.place();
    let file = place
        .file
        .clone()
        .unwrap_or_else(|| found.name.to_string().into());
    let mut all = view
        .all(&prompt.name)
        .into_iter()
        .skip_while(|other| other.place() != place);
    let layer = all.next().map(|found| found.layer);
    let shadows = all
        .map(|found| Shadowed {
            layer: found.layer,
            source: found.place().shown,
        })
        .collect();
    let binding = prompt.bind(call.bindable(&text));
    let (input, given) = (binding.input.map(Into::into), binding.arguments);
    let placeholders = placeholders(prompt, &given, input.as_deref().unwrap_or_default());
    let requested = found.request(prompt, call.bindable(&text));
    let expanded = match requested {
        Some(_) => None,
        None => Some(
            found
                .expand(prompt, call.bindable(&text), &joined)
                .map(Messages::into_text),
        ),
    };
    let not_requested = requested
        .as_ref()
        .and_then(|request| request.as_ref().err());
    let error = not_requested
        .or(expanded.as_ref().and_then(|text| text.as_ref().err()))
        .map(ToString::to_string);
    let expansion = expanded.and_then(Result::ok);
    let roles = prompt.roles();
    let explanation = Explanation {
        name: prompt.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        layer,
        pack: found.pack_version(),
        format: format(found).filter(|_| layer.is_some()),
        source: place.shown,
        includes: prompt
            .included()
            .iter()
            .filter(|included| is_seen(view, included))
            .map(|included| included.file.path.display().to_string())
            .collect(),
        shadows,
        tags: prompt.tags.clone(),
        usage: prompt.usage(),
        messages: if roles.len() > 1 {
            roles.iter().map(|role| role.name()).collect()
        } else {
            Vec::new()
        },
        attachments: prompt
            .attachments
            .iter()
            .map(|attachment| attachment.path.clone())
            .collect(),
        is_input_rest: !given.is_empty()
            && prompt.placeholders().next().is_some()
            && !prompt.takes_words(),
        arguments: given
            .into_iter()
            .map(|given| Given {
                name: given.name.to_owned(),
                value: given.value.into_owned(),
                from: given.origin,
            })
            .collect(),
        input,
        input_place: input_place(prompt, &roles).filter(|_| placeholders.is_empty()),
        placeholders,
        unexpanded: prompt.unexpanded(),
        request: requested.and_then(Result::ok),
        error,
        expansion: expansion
            .as_ref()
            .map(|expansion| lengths(&prompt.name, &text, layer, expansion)),
        warnings: call.warnings(prompt),
        problems: prompt
            .warnings()
            .into_iter()
            .map(|problem| problem.in_file(file.clone()))
            .filter(|problem| view.is_visible(problem))
            .collect(),
    };
    Ok((explanation, expansion))
}

/// Where the input goes in a prompt that it is appended to.
fn input_place(prompt: &Prompt, roles: &[Role]) -> Option<&'static str> {
    prompt.appends_input().then(|| match roles.last() {
        Some(Role::Assistant) => "is a message of its own",
        _ if prompt.separator() == "\n" => "follows the body, in the next line",
        _ => "follows the body, after an empty line",
    })
}

/// The placeholders that are replaced, perhaps by an empty value: each name once. `input` is the
/// value of the one that is not an argument.
fn placeholders(prompt: &Prompt, given: &[Bound<'_>], input: &str) -> Vec<Placeholder> {
    let mut all: Vec<Placeholder> = Vec::new();
    for (message, placeholder) in prompt.messages.iter().flat_map(|message| {
        message
            .placeholders()
            .map(move |placeholder| (message, placeholder))
    }) {
        let name = &placeholder.name;
        let is_empty = given
            .iter()
            .find(|given| given.name == name)
            .map_or(input, |given| &given.value)
            .is_empty();
        match all.iter_mut().find(|known| known.name == *name) {
            Some(known) => known.count += 1,
            None => all.push(Placeholder {
                name: name.clone(),
                count: 1,
                is_empty,
                written: message.written(placeholder).to_owned(),
            }),
        }
    }
    all
}

/// The length of an expansion, and how much of it each agent shows. The limits were measured;
/// `docs/clients` and `docs/hook.md` say how.
fn lengths(name: &Name, input: &str, layer: Option<Layer>, text: &str) -> Lengths {
    let layer = layer.unwrap_or(Layer::USER);
    let measured = |agent: &'static Agent, delivery, (length, limit), unit, when_exceeded| {
        let (agent, is_whole) = (agent.name, length <= limit);
        MeasuredLimit {
            agent,
            delivery,
            length,
            limit,
            unit,
            is_whole,
            when_exceeded,
        }
    };
    let of_tool = |agent: &'static Agent| {
        let part = agent.part?;
        let unit = format!("{} of the result", part.unit.name());
        Some(measured(
            agent,
            "tool",
            (part.length(text), part.max),
            unit,
            "the model gets it in parts",
        ))
    };
    let of_hook = |agent: &'static Agent| {
        let (limit, unit) = agent.hook.as_ref()?.limit;
        let length = unit.count(&hook::context_of_one(agent, name, input, text, layer));
        let exceeded = "the hook asks the model to call the tool";
        Some(measured(
            agent,
            "hook",
            (length, limit),
            unit.name().to_owned(),
            exceeded,
        ))
    };
    let limits_of = |agent: &'static Agent| of_tool(agent).into_iter().chain(of_hook(agent));
    Lengths {
        bytes: text.len(),
        characters: text.chars().count(),
        tokens: tokens(text),
        limits: AGENTS.into_iter().flat_map(limits_of).collect(),
    }
}

impl MeasuredLimit {
    /// Whether the length is at least 80 % of the limit.
    pub fn is_near(&self) -> bool {
        self.length.saturating_mul(5) >= self.limit.saturating_mul(4)
    }
}

/// Explains and expands a call. A service is not called.
///
/// # Errors
/// Those of [`explain`].
pub fn preview(view: &View, found: &Found, call: &Call) -> Result<Preview, Diagnostic> {
    let (explanation, text) = explain(view, found, call)?;
    let (prompt, input) = (found.prompt()?, call.text());
    let binding = prompt.bind(call.bindable(&input));
    let typed = prompt
        .typed(&binding)
        .filter(|typed| !has_other_command(view, typed));
    // In an expansion, attachments may follow it.
    let is_beginning = |partial: &str| text.as_ref().is_none_or(|text| text.starts_with(partial));
    let filled = filled(&prompt, &binding).filter(|(partial, ..)| is_beginning(partial));
    let (partial, marks, gaps) = filled.unwrap_or_default();
    let partial = Some(partial).filter(|partial| text.is_none() && !partial.is_empty());
    Ok(Preview {
        explanation,
        typed,
        text,
        partial,
        marks,
        gaps,
    })
}

/// Whether what follows the name begins with another command, or has a line that does. A chat takes
/// that for a command of its own.
fn has_other_command(view: &View, typed: &str) -> bool {
    let after = typed.split_once(' ').map_or("", |(_, after)| after);
    hook::invocations(view, after)
        .iter()
        .any(|invocation| invocation.form == Form::Command)
}

/// The text with the values that are known, defaults too, and where they are; then where values are
/// missing. There each placeholder stays. `None` if there is no such text, as for a service.
fn filled(prompt: &Prompt, binding: &Binding<'_>) -> Option<(String, Vec<Range>, Vec<Range>)> {
    let mut lenient = prompt.clone();
    lenient
        .arguments
        .iter_mut()
        .for_each(|argument| argument.strict = false);
    let value = |bound: &Bound<'_>| match bound.origin {
        Origin::Missing => prompt.placeholder(bound.name),
        _ => bound.value.to_string(),
    };
    let values = binding
        .arguments
        .iter()
        .map(|bound| (bound.name.to_owned(), value(bound)))
        .collect();
    let found = RefCell::new(Vec::new());
    let join = |pieces: &mut dyn Iterator<Item = Piece<'_>>| {
        let (mut text, mut values) = (String::new(), Vec::new());
        for piece in pieces {
            let start = text.len();
            text += piece.as_str();
            if matches!(piece, Piece::Value(value) if !value.is_empty()) {
                values.push(start..text.len());
            }
        }
        if !text.is_empty() {
            found.borrow_mut().push(values);
        }
        text
    };
    let input = binding.input.as_deref().unwrap_or_default();
    let messages = lenient
        .expand_with(
            prompt::Call::Named {
                values: &values,
                input,
                is_strict: false,
            },
            join,
        )
        .ok()?;
    let ranges = messages.starts().into_iter().zip(found.into_inner());
    let ranges = ranges
        .flat_map(|(at, ranges)| ranges.into_iter().map(move |it| at + it.start..at + it.end));
    let text = messages.into_text();
    let missing = |text: &str| {
        binding
            .arguments
            .iter()
            .any(|it| it.origin == Origin::Missing && value(it) == text)
    };
    let (gaps, marks): (Vec<_>, Vec<_>) = ranges.partition(|range| missing(&text[range.clone()]));
    let (marks, gaps) = (units(&text, marks), units(&text, gaps));
    Some((text, marks, gaps))
}

/// What `check` says of a text that is not saved, what it would expand to, and what it changes.
/// Values of arguments that it does not have are left out: they may be those of the text as it was.
///
/// # Errors
/// A prompt cannot have this name; there is no folder that it could be written to.
pub fn check<'d>(view: &View, draft: &'d Draft) -> Result<Checked<'d>, Diagnostic> {
    let name = Name::for_new_file(&draft.command)
        .map_err(|why| Diagnostic::new(Kind::BadName, why, ""))?;
    if let Some(prefix) = view.prefix().filter(|prefix| !prefix.contains(&name)) {
        return Err(Diagnostic::new(
            Kind::BadName,
            format!("the name must begin with {}", quoted(&prefix.to_string())),
            "",
        ));
    }
    let found = view.draft(&name, &draft.file).ok_or_else(|| {
        let message = "there is no folder that prompts can be written to";
        Diagnostic::new(
            Kind::NotWritable,
            message,
            "start the server with `--prompts DIR`",
        )
    })?;
    let prompt = found.prompt().ok();
    let preview = prompt.as_ref().map(|prompt| {
        let names = prompt.value_names();
        let known = draft
            .arguments
            .clone()
            .into_iter()
            .filter(|(name, _)| names.contains(&name.as_str()));
        preview(
            view,
            &found,
            &Call {
                command: name.to_string(),
                arguments: known.collect(),
                ..Call::default()
            },
        )
    });
    Ok(Checked {
        path: found.place().shown,
        problems: found.check(),
        fields: prompt.as_deref().map(fields),
        preview: preview.transpose()?,
        changes: draft
            .current
            .as_deref()
            .map(|current| hunks(current, &draft.file)),
    })
}

/// Ranges of bytes, in their order, as ranges of UTF-16 units.
fn units(text: &str, ranges: impl IntoIterator<Item = std::ops::Range<usize>>) -> Vec<Range> {
    let (mut byte, mut unit) = (0, 0);
    let mut unit_at = |at: usize| {
        unit += text[byte..at].encode_utf16().count();
        byte = at;
        unit
    };
    ranges
        .into_iter()
        .map(|range| (unit_at(range.start), unit_at(range.end)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_count_utf_16_units_as_scripts_do() {
        let file = "---\narguments: [{name: a, required: true}, {name: b, default: '😀'}]\n---\né{{b}}{{a}}{{input}}";
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        let (text, marks, gaps) = filled(&prompt, &prompt.bind(prompt::Call::Text(""))).unwrap();
        assert_eq!(
            (text.as_str(), marks, gaps),
            ("é😀{{a}}", vec![(1, 3)], vec![(3, 8)])
        );
    }

    #[test]
    fn values_of_each_message_are_marked_even_those_that_are_no_choice() {
        let file = "---\nmessages: true\narguments: [{name: a, choices: [x], strict: true, required: true}]\n---\n\
                    {{a}}\n<!-- assistant -->\nYes {{a}}\n<!-- user -->\n";
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        let (text, marks, gaps) = filled(&prompt, &prompt.bind(prompt::Call::Text("zz"))).unwrap();
        assert_eq!(
            (text.as_str(), marks, gaps),
            (
                "User:\nzz\n\nAssistant:\nYes zz",
                vec![(6, 8), (25, 27)],
                vec![]
            )
        );
    }
}
