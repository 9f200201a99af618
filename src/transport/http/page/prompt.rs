//! A prompt: what it is, a form for its values, and its expansion.

use super::document::failure;
use super::list::problem_item;
use super::text::{
    Text, command, message, path_in, path_of, plain, sentence, source, typed, unless_too_long, verbatim,
};
use crate::library::View;
use crate::report::{self, Argument, BUILT_IN, Call, Expansion, Explanation, Found, List, MeasuredLimit, Request};
use crate::wording::thousands;
use axum::http::StatusCode;
use maud::{Markup, html};
use serde_json::json;
use std::collections::BTreeMap;

/// The name by which a form gives the input.
const INPUT: &str = "input";

/// How many similar prompts are shown for an unknown name.
const MAX_SIMILAR: usize = 8;

/// The values of a form or an address; an empty one counts as not given, as everywhere.
pub(super) fn values(form: &[u8]) -> BTreeMap<String, String> {
    let values = form_urlencoded::parse(form).filter(|(_, value)| !value.is_empty());
    values.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect()
}

/// The page: its title, and its content.
pub(super) fn page(
    view: &View,
    name: &str,
    values: BTreeMap<String, String>,
    may_edit: bool,
) -> (StatusCode, String, Markup) {
    let found = match Found::named(view, name) {
        Ok(found) => found,
        Err(why) if why.is_not_found => {
            return (StatusCode::NOT_FOUND, name.to_owned(), unknown(view, name, &why.message, may_edit));
        }
        Err(why) => return (StatusCode::OK, name.to_owned(), broken(view, name, &why.message, may_edit)),
    };
    let arguments: Vec<Argument> = found.prompt.arguments.iter().map(Argument::from).collect();
    let takes_input = found.prompt.takes_input();
    let is_known =
        |name: &str| arguments.iter().any(|argument| argument.name == name) || (takes_input && name == INPUT);
    let (values, unknown): (BTreeMap<_, _>, BTreeMap<_, _>) = values.into_iter().partition(|(name, _)| is_known(name));
    let call = Call { command: found.prompt.name.to_string(), arguments: values, ..Call::default() };
    let explanation = match report::explain(view, &found, &call) {
        Ok(explanation) => explanation,
        Err(why) => return (StatusCode::OK, name.to_owned(), broken(view, name, &why.message, may_edit)),
    };
    // A service is called for a click only.
    let expansion = match explanation.request {
        Some(_) => Err(report::Failure::new("a service renders it")),
        None => report::expand(view, &found, &call),
    };
    let text = report::show(view, &call.command).map(|shown| shown.text).unwrap_or_default();
    let [file, template] = [&text, &found.prompt.template_text()].map(|text| {
        let marked = unless_too_long(text, || source(text, &found.prompt));
        marked.unwrap_or_else(|| too_long("show", found.prompt.name.as_ref()))
    });
    let Explanation { name, title, description, problems, layer, format, .. } = &explanation;
    let main = html! {
        article.prompt {
            header {
                a.back href="/" { "← All prompts" }
                div.title {
                    h1 { (command(name)) }
                    @if may_edit && explanation.layer.as_deref() != Some("remote") { (actions(name, layer.as_deref() == Some("user") && format.is_none())) }
                }
                @if title.is_some() || !description.is_empty() {
                    p.lead.text dir="auto" {
                        @if let Some(title) = title { strong { bdi { (Text(title)) } } @if !description.is_empty() { " — " } }
                        bdi { (Text(description)) }
                    }
                }
                (badges(&explanation))
            }
            @if !problems.is_empty() {
                section.problems aria-label="Problems" { ul { @for problem in problems { (problem_item(problem)) } } }
            }
            div.about-values {
                (form(&arguments, takes_input, &call))
                (details(&explanation))
            }
            (result(&explanation, expansion.as_ref().map(|expansion| shown(view, &found, &call, expansion)), &template, unknown.keys()))
            section.whole {
                details #source {
                    summary { "Source" }
                    pre.paper #source-text tabindex="0" role="group" aria-label="Source" { (file) }
                }
            }
        }
    };
    (StatusCode::OK, format!(":{name}"), main)
}

/// What those who may edit prompts can do with one.
fn actions(name: &str, has_history: bool) -> Markup {
    html! {
        @if has_history { a.button href=(path_in(super::HISTORY, name)) { "History" } }
        a.button href=(path_in(super::EDIT, name)) { "Edit" }
    }
}

fn badges(explanation: &Explanation) -> Markup {
    let Explanation { name, layer, format, tags, messages, .. } = explanation;
    let filtered = |name: &str, value: &str| {
        format!("/?{}", form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish())
    };
    html! {
        ul.badges {
            @if let Some(layer) = layer { li { a href=(filtered("layer", layer)) { (layer) } } }
            @match (format, layer.as_deref()) {
                (Some(format), Some("remote")) => li { span { "(" (format) ")" } },
                (Some(format), _) => li { span { "for " (format) } },
                (None, _) => {}
            }
            @if let Some((folder, _)) = name.rsplit_once('/') { li { a href=(filtered("folder", folder)) { bdi { (Text(folder)) "/" } } } }
            @for tag in tags { li { a href=(filtered("tag", tag)) { bdi { "#" (Text(tag.trim_start_matches('#'))) } } } }
            @if !messages.is_empty() { li { span { (messages.len()) " messages" } } }
        }
    }
}

/// A field for each value.
fn form(arguments: &[Argument], takes_input: bool, call: &Call) -> Markup {
    let value = |name: &str| call.arguments.get(name).map_or("", String::as_str);
    html! {
        @if arguments.is_empty() && !takes_input {
            p.length { "This prompt has no arguments: its text is always the same." }
        } @else {
            form.form #form action=(path_of(&call.command)) {
                (fields(arguments, takes_input, "", value))
                div.unscripted { button { "Expand" } }
            }
        }
    }
}

/// A field for each value, the name of which begins with `prefix`.
pub(super) fn fields<'v>(
    arguments: &[Argument],
    takes_input: bool,
    prefix: &str,
    value: impl Fn(&str) -> &'v str,
) -> Markup {
    html! {
        @for (number, argument) in arguments.iter().enumerate() { (field(argument, number, prefix, value(&argument.name))) }
        @if takes_input && !arguments.iter().any(|argument| argument.name == INPUT) {
            div.field {
                label for="input" { (INPUT) @if arguments.is_empty() { small { "what you would type after the name" } } }
                textarea.long #input name=(format!("{prefix}{INPUT}")) rows="3" dir="auto" { (typed(value(INPUT))) }
            }
        }
    }
}

fn field(argument: &Argument, number: usize, prefix: &str, value: &str) -> Markup {
    let Argument { name, description, required, default, choices, strict } = argument;
    let field = format!("{prefix}{name}");
    let id = format!("argument-{number}");
    let about = format!("about-{number}");
    let described_by = description.as_ref().map(|_| &about);
    let default = default.as_deref().unwrap_or_default();
    html! {
        div.field {
            label for=(id) {
                bdi { (Text(name)) }
                small { @if *required { "required" } @else { "optional" } }
            }
            @if let Some(description) = description { p.text id=(about) dir="auto" { (Text(description)) } }
            @if *strict && !choices.is_empty() {
                select id=(id) name=(field) aria-describedby=[described_by] {
                    option value="" { @if default.is_empty() { "–" } @else { (plain(default)) " (default)" } }
                    @for choice in choices {
                        option value=(choice) selected[choice == value] { (plain(choice)) }
                    }
                    @if !value.is_empty() && !choices.iter().any(|choice| choice == value) { option value=(value) selected { (plain(value)) } }
                }
            } @else if !choices.is_empty() && !value.contains('\n') {
                input id=(id) name=(field) value=(value) list=(format!("choices-{number}")) placeholder=(plain(default)) dir="auto"
                    autocomplete="off" aria-describedby=[described_by];
                datalist id=(format!("choices-{number}")) { @for choice in choices { option value=(plain(choice)) {} } }
            } @else {
                textarea id=(id) name=(field) rows="1" placeholder=(plain(default)) dir="auto" aria-describedby=[described_by] {
                    (typed(value))
                }
            }
        }
    }
}

/// The expansion, or what is missing for it. The script replaces this part while somebody types.
fn result<'u>(
    explanation: &Explanation,
    expansion: Result<Option<Markup>, &report::Failure>,
    template: &Markup,
    unknown: impl Iterator<Item = &'u String>,
) -> Markup {
    html! {
        section.result #result aria-labelledby="result-heading" {
            div.bar {
                h2 #result-heading { "Expansion" }
                button.quiet.scripted #copy-link type="button" { (with_done("Copy link")) }
                button.scripted #copy type="button" disabled[!matches!(expansion, Ok(Some(_)))] { (with_done("Copy")) }
            }
            (outcome(explanation, expansion, template))
            @let warnings = explanation.warnings.iter().map(|warning| sentence(warning));
            @let unused = unknown.map(|name| format!("The prompt has no argument {}; its value is not used.", crate::wording::named(name)));
            @for warning in warnings.chain(unused) { p.length.text dir="auto" { strong { "Note: " } (message(&warning)) } }
        }
    }
}

/// The expansion, or what is missing for it.
pub(super) fn outcome(
    explanation: &Explanation,
    expansion: Result<Option<Markup>, &report::Failure>,
    template: &Markup,
) -> Markup {
    let missing: Vec<&str> =
        explanation.arguments.iter().filter(|given| given.from == "missing").map(|given| given.name.as_str()).collect();
    if let Some(request) = &explanation.request {
        return remote(explanation, request);
    }
    html! {
        @match expansion {
            Ok(text) => {
                @if let Some(text) = text { pre.paper #expansion tabindex="0" role="group" aria-label="Expansion" { (text) } }
                @else { p.paper.note.text role="status" { (too_long("expand", &explanation.name)) } }
                @if let Some(lengths) = &explanation.expansion {
                    p.length role="status" {
                        strong { (thousands(lengths.characters)) } " characters, about " (thousands(lengths.tokens)) " tokens"
                    }
                    (limits(&lengths.limits))
                }
            },
            Err(_) if !missing.is_empty() => {
                pre.paper.waiting #waiting tabindex="0" role="group" aria-label="Template" { (template) }
                p.length role="status" {
                    "Fill in "
                    @for (at, name) in missing.iter().enumerate() {
                        @if at > 0 { @if at + 1 == missing.len() { " and " } @else { ", " } }
                        code.slot { bdi { (Text(name)) } }
                    }
                    " to see the expansion."
                }
            },
            Err(why) => { p.paper.note.text role="status" dir="auto" { (message(&sentence(&why.message))) } },
        }
    }
}

/// What a service would be asked, and a button that asks it.
fn remote(explanation: &Explanation, Request { method, url, headers, body }: &Request) -> Markup {
    let given = explanation.arguments.iter().filter(|given| !["default", "nothing"].contains(&&*given.from));
    let values: BTreeMap<&String, &String> = given.map(|given| (&given.name, &given.value)).collect();
    let call = json!({ "command": explanation.name, "arguments": values }).to_string();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let text =
        format!("{method} {url}\n{headers}{}", body.as_ref().map(|body| format!("\n{body}")).unwrap_or_default());
    html! {
        p.length { "A service renders this prompt. It would get this request:" }
        pre.paper #request tabindex="0" role="group" aria-label="Request" { (Text(text.trim_end())) }
        p.scripted { button #ask type="button" data-call=(call) { "Ask the service" } }
        div #answer aria-live="polite" {}
    }
}

/// Enclose each value in an expansion that is made to find them: noncharacters, which are for such internal use (Unicode, 23.7).
const MARKS: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];

/// The expansion, unless it is too long.
pub(super) fn shown(view: &View, found: &Found, call: &Call, expansion: &Expansion) -> Option<Markup> {
    unless_too_long(&expansion.prompt, || marked(view, found, call, expansion))
}

/// Which command prints a text that the page does not show.
pub(super) fn too_long(command: &str, name: &str) -> Markup {
    html! { "This is too long for the page. " code { bdi { "prompt-expander " (command) " " (Text(name)) } } " prints it." }
}

/// The expansion, in which the given values are marked: those of a second expansion with marks around them, if that is the same
/// otherwise. Where a template decides by a value it may not be, and then nothing is marked.
fn marked(view: &View, found: &Found, call: &Call, Expansion { prompt: text, .. }: &Expansion) -> Markup {
    let is_strict =
        |name: &String| found.prompt.arguments.iter().any(|argument| argument.name == *name && argument.strict);
    let mark = |(name, value): (&String, &String)| match is_strict(name) {
        true => (name.clone(), value.clone()),
        false => (name.clone(), format!("{}{value}{}", MARKS[0], MARKS[1])),
    };
    let is_marked = !text.contains(MARKS) && !call.arguments.is_empty();
    let call = Call { arguments: call.arguments.iter().map(mark).collect(), ..call.clone() };
    let marked = is_marked.then(|| report::expand(view, found, &call).ok()).flatten().map(|expansion| expansion.prompt);
    match marked.filter(|marked| marked.replace(MARKS, "") == *text) {
        None => verbatim(text),
        Some(marked) => html! {
            @if text.starts_with('\n') { "\n" }
            @for piece in marked.split_inclusive(MARKS) {
                @if let Some(value) = piece.strip_suffix(MARKS[1]) { span.value { (Text(value)) } }
                @else { (Text(piece.trim_end_matches(MARKS[0]))) }
            }
        },
    }
}

/// A label that says for a moment that it is done, without a change of its width.
fn with_done(label: &str) -> Markup {
    html! { span { span.todo { (label) } span.done aria-hidden="true" { "Copied" } } }
}

/// How much of each agent's limit the expansion takes.
fn limits(limits: &[MeasuredLimit]) -> Markup {
    let exceeded: Vec<&MeasuredLimit> = limits.iter().filter(|limit| !limit.is_whole).collect();
    html! {
        @for limit in &exceeded {
            p.length {
                strong { "Too long for " (limit.agent) " (" (limit.delivery) ")" }
                ": " (limit.when_exceeded.as_deref().unwrap_or("it is cut")) "."
            }
        }
        @if !limits.is_empty() {
            details #limits {
                summary { @if exceeded.is_empty() { "Every agent shows all of it" } @else { "The limits of all agents" } }
                table {
                    thead { tr { th scope="col" { "Agent" } th scope="col" { "Length" } th.visually-hidden scope="col" { "Share" } } }
                    tbody { @for limit in limits { (limit_row(limit)) } }
                }
            }
        }
    }
}

fn limit_row(limit: &MeasuredLimit) -> Markup {
    let share = (limit.length * 100).div_ceil(limit.limit.max(1)).min(100);
    html! {
        tr {
            th scope="row" { (limit.agent) " " small { (limit.delivery) } }
            td.number { (thousands(limit.length)) " of " (thousands(limit.limit)) " " (limit.unit) }
            td {
                svg.gauge.over[!limit.is_whole] aria-hidden="true" { rect width=(format!("{share}%")) {} }
                span.visually-hidden { (share) " %" }
            }
        }
    }
}

/// Where the prompt comes from, and how to call it.
fn details(explanation: &Explanation) -> Markup {
    let Explanation { source: path, includes, shadows, attachments, usage, .. } = explanation;
    html! {
        dl.details {
            @if let Some(usage) = usage { dt { "In a chat" } dd { bdi { (Text(usage)) } } }
            dt { "File" } dd { bdi { @if path == BUILT_IN { "built into the program" } @else { (Text(path)) } } }
            @for path in includes { dt { "Includes" } dd { bdi { (Text(path)) } } }
            @for path in attachments { dt { "Attaches" } dd { bdi { (Text(path)) } } }
            @for shadow in shadows { dt { "Overrides" } dd { bdi { (Text(&shadow.source)) } } }
        }
    }
}

/// A file that cannot be a prompt: why, and what it contains.
fn broken(view: &View, name: &str, why: &str, may_edit: bool) -> Markup {
    let text = report::show(view, name).map(|shown| shown.text).unwrap_or_default();
    html! {
        article.prompt {
            header {
                a.back href="/" { "← All prompts" }
                div.title {
                    h1 { (command(name)) }
                    @if may_edit { (actions(name, true)) }
                }
                p.lead { "This file cannot be used as a prompt." }
            }
            section.problems { ul { li.text dir="auto" { (message(&sentence(why))) } } }
            section.whole { h2 { "Source" } pre.paper #source-text tabindex="0" role="group" aria-label="Source" {
                (unless_too_long(&text, || verbatim(&text)).unwrap_or_else(|| too_long("show", name)))
            } }
        }
    }
}

/// There is no prompt of this name; perhaps similar ones.
fn unknown(view: &View, name: &str, why: &str, may_edit: bool) -> Markup {
    let similar = List::of(view, &report::Filter { query: Some(name.replace('/', " ")), ..Default::default() }).prompts;
    let then = html! {
        @if !similar.is_empty() {
            p { "Similar prompts:" }
            ul { @for prompt in similar.iter().take(MAX_SIMILAR) { li { a href=(path_of(&prompt.name)) { (command(&prompt.name)) } } } }
        }
        @if may_edit && report::name_of_new(name).is_ok() {
            p { a href=(format!("{}?{}", super::NEW, form_urlencoded::Serializer::new(String::new()).append_pair("command", name).finish())) {
                "Create " (command(name))
            } }
            p { a href=(path_in(super::HISTORY, name)) { "Look for deleted versions" } }
        }
        p { a href="/" { "Show all prompts" } }
    };
    failure("No such prompt", &sentence(why), &then)
}
