//! An explanation for people: labels and values, in columns or below each other.

use crate::api::{ArgumentValue, BUILT_IN, Explanation, MeasuredLimit, PlaceholderCount};
use crate::cli::output::{self, ERROR, FAINT, LabeledRow, NAME, Styled, WARNING, styled};
use crate::prompt::{Diagnostic, Format, INPUT, Origin, Position, Reason, Unexpanded};
use crate::wording::{count, printable, with_commas};
use anstyle::Style;
use std::path::Path;

/// How many characters of a value, or of a text in braces, are shown.
const SHOWN: usize = 200;

/// How many unexpanded placeholders are shown.
const MAX_UNEXPANDED_SHOWN: usize = 10;

/// Returns the page for a terminal with this many columns.
pub(super) fn page(explanation: &Explanation, columns: usize) -> Styled {
    let mut page = styled(NAME, format!(":{}", explanation.name)).plain("\n");
    for (heading, mut rows) in [
        ("", about(explanation)),
        ("\nArguments\n", arguments(explanation)),
        ("\nPlaceholders\n", placeholders(explanation)),
        ("\nRequest\n", request(explanation)),
        ("\nExpansion\n", expansion(explanation)),
        ("\nWarnings\n", warnings(explanation)),
    ] {
        rows.retain(|row| row.texts.iter().any(|(_, text)| !text.is_empty()));
        if !rows.is_empty() {
            page.push(heading);
            page.append(output::in_columns(&rows, columns));
        }
    }
    page
}

/// Returns what the prompt is and where it comes from.
fn about(explanation: &Explanation) -> Vec<LabeledRow> {
    let mut tags = Vec::new();
    for tag in &explanation.tags {
        tags.push(format!("#{}", output::one_line(tag)));
    }
    let mut attachments = Vec::new();
    for path in &explanation.attachments {
        attachments.push(output::one_line(path));
    }
    let mut rows = vec![
        row("about", output::one_line(&explanation.description)),
        row("title", in_one_line(&explanation.title)),
        row("layer", explanation.layer.map_or("", |layer| layer.name)),
        row("pack", in_one_line(&explanation.pack)),
        row("format", format_title(explanation)),
    ];
    if explanation.source != BUILT_IN {
        rows.push(row("file", shown(&explanation.source)));
    }
    for file in &explanation.includes {
        rows.push(row("includes", shown(file)));
    }
    for shadowed in &explanation.shadows {
        if shadowed.source == BUILT_IN {
            rows.push(row("overrides", "the built-in prompt"));
        } else {
            rows.push(row("overrides", shown(&shadowed.source)));
        }
    }
    rows.push(row("tags", tags.join(" ")));
    rows.push(row("usage", explanation.usage.clone().unwrap_or_default()));
    rows.push(row("attached", attachments.join(", ")));
    rows.push(row("messages", explanation.messages.join(", ")));
    rows
}

fn in_one_line(text: &Option<String>) -> String {
    output::one_line(text.as_deref().unwrap_or_default())
}

/// Returns the name of the program that the file is written for; empty for a file of our own
/// format.
fn format_title(explanation: &Explanation) -> &'static str {
    match explanation.format {
        Some(name) => Format::by_name(name).map_or(name, |format| format.title),
        None => "",
    }
}

/// Returns the value of each argument, and of the input.
fn arguments(explanation: &Explanation) -> Vec<LabeledRow> {
    let mut rows: Vec<LabeledRow> = explanation.arguments.iter().map(argument).collect();
    if let Some(input) = &explanation.input {
        let origin = if explanation.is_input_rest {
            "the rest of the input"
        } else {
            "as given"
        };
        rows.push(row(INPUT, with_origin(input, origin)));
    }
    rows
}

fn argument(given: &ArgumentValue) -> LabeledRow {
    let origin = match given.from {
        Origin::Omitted => return row(&given.name, "(not given: empty)"),
        Origin::Missing => return styled_row(ERROR, &given.name, "(missing)"),
        Origin::Named => "by --arg",
        Origin::Pair => "by name",
        Origin::Word => "by position",
        Origin::Rest => "the rest of the input",
        Origin::Default => "its default",
    };
    row(&given.name, with_origin(&given.value, origin))
}

/// Returns the placeholders that are filled in, if there is an expansion, and those that stay as
/// they are written.
fn placeholders(explanation: &Explanation) -> Vec<LabeledRow> {
    let mut rows = Vec::new();
    if let Some(place) = &explanation.appended_input {
        rows.push(row("filled", format!("none: the input {place}")));
    } else if explanation.expansion.is_some() {
        let (empty, filled): (Vec<&PlaceholderCount>, Vec<&PlaceholderCount>) = explanation
            .placeholders
            .iter()
            .partition(|placeholder| placeholder.is_empty);
        rows.push(row("filled", list_placeholders(&filled)));
        rows.push(row("empty", list_placeholders(&empty)));
    }
    let (unknown, known): (Vec<&Unexpanded>, Vec<&Unexpanded>) = explanation
        .unexpanded
        .iter()
        .partition(|unexpanded| unexpanded.reason == Reason::Unknown);
    rows.push(row("unexpanded", list_unexpanded(&known)));
    rows.push(styled_row(WARNING, "unknown", list_unexpanded(&unknown)));
    rows
}

/// Returns placeholders as one text: `{{options}} (2 times), {{criteria}}`.
fn list_placeholders(placeholders: &[&PlaceholderCount]) -> String {
    let mut texts = Vec::new();
    for placeholder in placeholders {
        let mut text = cut(&placeholder.source_text);
        if placeholder.count > 1 {
            text += &format!(" ({} times)", placeholder.count);
        }
        texts.push(text);
    }
    texts.join(", ")
}

/// Returns the first unexpanded placeholders with their positions, and the number of the others.
fn list_unexpanded(unexpanded: &[&Unexpanded]) -> String {
    let mut texts = Vec::new();
    for placeholder in unexpanded.iter().take(MAX_UNEXPANDED_SHOWN) {
        let place = place(placeholder.file.as_deref(), placeholder.position);
        texts.push(format!("{} ({place})", cut(&placeholder.written)));
    }
    if unexpanded.len() > MAX_UNEXPANDED_SHOWN {
        let others = with_commas(unexpanded.len() - MAX_UNEXPANDED_SHOWN);
        texts.push(format!("and {others} more"));
    }
    texts.join(", ")
}

/// Returns `LINE:COLUMN`, and before that the file, if it is an included one.
fn place(included: Option<&Path>, position: Position) -> String {
    match included {
        Some(file) => format!("{}:{position}", output::display_path(file)),
        None => position.to_string(),
    }
}

/// Returns the request that a service would get.
fn request(explanation: &Explanation) -> Vec<LabeledRow> {
    let Some(request) = &explanation.request else {
        return Vec::new();
    };
    let mut rows = vec![row(&request.method, &request.url)];
    for (name, value) in &request.headers {
        rows.push(row(name, value));
    }
    if let Some(body) = &request.body {
        rows.push(row("body", body));
    }
    rows
}

/// Returns the length of the expansion and the agents that do not get all of it at once, or why
/// there is no expansion.
fn expansion(explanation: &Explanation) -> Vec<LabeledRow> {
    if let Some(error) = &explanation.error {
        return vec![styled_row(ERROR, "error", error)];
    }
    let Some(lengths) = &explanation.expansion else {
        return Vec::new();
    };
    let mut rows = vec![row("length", count(lengths.characters, "character"))];
    for limit in &lengths.limits {
        if !limit.is_whole {
            rows.push(exceeded_limit(limit));
        }
    }
    rows
}

fn exceeded_limit(limit: &MeasuredLimit) -> LabeledRow {
    styled_row(
        WARNING,
        format!("{} {}", limit.agent, limit.delivery),
        format!(
            "too long, {} of {} {}: {}",
            with_commas(limit.length),
            with_commas(limit.limit),
            limit.unit,
            limit.when_exceeded
        ),
    )
}

/// Returns the warnings about the call and the problems of the file, each with its place.
fn warnings(explanation: &Explanation) -> Vec<LabeledRow> {
    let mut rows = Vec::new();
    for warning in &explanation.warnings {
        rows.push(row("call", warning));
    }
    for problem in &explanation.problems {
        let label = match problem.position {
            Some(position) => place(other_file(explanation, problem), position),
            None => "file".to_owned(),
        };
        rows.push(row(label, problem.text()));
    }
    rows
}

/// Returns the file of a problem, if it is not the file of the prompt.
fn other_file<'p>(explanation: &Explanation, problem: &'p Diagnostic) -> Option<&'p Path> {
    let file = problem.file.as_deref()?;
    let is_other = explanation.source != BUILT_IN && file != Path::new(&explanation.source);
    is_other.then_some(file)
}

/// Returns a value in one line with where it comes from, and its length if it was cut off.
fn with_origin(value: &str, origin: &str) -> String {
    match value.chars().count() {
        0 => format!("(empty, {origin})"),
        1..=SHOWN => format!("{} ({origin})", cut(value)),
        length => format!(
            "{} ({origin}, {} in all)",
            cut(value),
            count(length, "character")
        ),
    }
}

/// Returns the beginning of a text, in one line.
fn cut(text: &str) -> String {
    printable(&output::truncate(text, SHOWN))
}

fn shown(path: &str) -> String {
    output::display_path(Path::new(path))
}

fn row(label: impl Into<String>, value: impl Into<String>) -> LabeledRow {
    styled_row(FAINT, label, value)
}

/// Returns a row with the label in this style.
fn styled_row(style: Style, label: impl Into<String>, value: impl Into<String>) -> LabeledRow {
    LabeledRow {
        label: printable(&label.into()),
        label_style: style,
        texts: vec![(Style::new(), value.into())],
    }
}
