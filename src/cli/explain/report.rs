//! Formats an explanation for people, as sections of labels and values.

use super::uses_so_far::UsesSoFar;
use crate::api::{
    ArgumentValue, BUILT_IN, CallOutcome, CallValues, ExplainedPrompt, Explanation, MeasuredLimit,
    PlaceholderCount, PromptOrigin,
};
use crate::cli::output::{self, ERROR, FAINT, LabeledRow, NAME, Styled, WARNING, styled};
use crate::prompt::{Diagnostic, Format, INPUT, Origin, Position, Reason, Unexpanded};
use crate::wording::{count, printable, with_commas};
use anstyle::Style;
use std::path::Path;

/// Values and placeholders are truncated to this many characters.
const MAX_VALUE_CHARS: usize = 200;

const MAX_UNEXPANDED_SHOWN: usize = 10;

/// Lays out an explanation for a terminal with this many columns. Omits empty rows and sections.
pub(super) fn page(explanation: &Explanation, uses: Option<&UsesSoFar>, columns: usize) -> Styled {
    let mut page = styled(NAME, format!(":{}", explanation.prompt.name)).plain("\n");
    let mut prompt_rows = prompt_rows(&explanation.prompt);
    prompt_rows.extend(uses.map(uses_row));
    for (heading, mut rows) in [
        ("", prompt_rows),
        ("\nArguments\n", argument_rows(&explanation.values)),
        ("\nPlaceholders\n", placeholder_rows(explanation)),
        ("\nRequest\n", request_rows(&explanation.outcome)),
        ("\nExpansion\n", expansion_rows(&explanation.outcome)),
        ("\nWarnings\n", warning_rows(explanation)),
    ] {
        rows.retain(|row| row.texts.iter().any(|(_, text)| !text.is_empty()));
        if !rows.is_empty() {
            page.push(heading);
            page.append(output::in_columns(&rows, columns));
        }
    }
    page
}

/// Describes the prompt, and where it comes from.
fn prompt_rows(prompt: &ExplainedPrompt) -> Vec<LabeledRow> {
    let origin = &prompt.origin;
    let mut tags = Vec::new();
    for tag in &prompt.tags {
        tags.push(format!("#{}", output::one_line(tag)));
    }
    let mut attachments = Vec::new();
    for path in &prompt.attachments {
        attachments.push(output::one_line(path));
    }
    let mut rows = vec![
        row("about", output::one_line(&prompt.description)),
        row("title", optional_line(&prompt.title)),
        row("layer", origin.layer.map_or("", |layer| layer.name)),
        row("pack", optional_line(&origin.pack)),
        row("format", format_title(origin)),
    ];
    if origin.source != BUILT_IN {
        rows.push(row("file", source_path(&origin.source)));
    }
    for file in &origin.includes {
        rows.push(row("includes", source_path(file)));
    }
    for shadowed in &origin.shadows {
        if shadowed.source == BUILT_IN {
            rows.push(row("overrides", "the built-in prompt"));
        } else {
            rows.push(row("overrides", source_path(&shadowed.source)));
        }
    }
    rows.push(row("tags", tags.join(" ")));
    rows.push(row("usage", prompt.usage.clone().unwrap_or_default()));
    rows.push(row("attached", attachments.join(", ")));
    rows.push(row("messages", prompt.roles.join(", ")));
    rows
}

/// Says how often the prompt was used.
fn uses_row(
    UsesSoFar {
        uses,
        counting_began,
    }: &UsesSoFar,
) -> LabeledRow {
    let text = match uses.last_day {
        Some(last_day) => format!(
            "{} since {counting_began}, last on {last_day}",
            count(uses.count, "time")
        ),
        None => format!("not since counting began on {counting_began}"),
    };
    row("used", text)
}

fn optional_line(text: &Option<String>) -> String {
    output::one_line(text.as_deref().unwrap_or_default())
}

/// Returns the name of the program whose format the file has; empty for our own format.
fn format_title(origin: &PromptOrigin) -> &'static str {
    match origin.format {
        Some(name) => Format::by_name(name).map_or(name, |format| format.title),
        None => "",
    }
}

/// Lists the values of the arguments and of the input, and where they come from.
fn argument_rows(values: &CallValues) -> Vec<LabeledRow> {
    let mut rows: Vec<LabeledRow> = values.arguments.iter().map(argument_row).collect();
    if let Some(input) = &values.input {
        let origin = if values.is_input_rest {
            "the rest of the input"
        } else {
            "as given"
        };
        rows.push(row(INPUT, with_origin(input, origin)));
    }
    rows
}

fn argument_row(argument: &ArgumentValue) -> LabeledRow {
    let origin = match argument.from {
        Origin::Omitted => return row(&argument.name, "(not given: empty)"),
        Origin::Missing => return styled_row(ERROR, &argument.name, "(missing)"),
        Origin::Named => "by --arg",
        Origin::Pair => "by name",
        Origin::Word => "by position",
        Origin::Rest => "the rest of the input",
        Origin::Default => "its default",
    };
    row(&argument.name, with_origin(&argument.value, origin))
}

/// Lists the placeholders that are filled in, provided there is an expansion, and those that remain
/// in the text.
fn placeholder_rows(explanation: &Explanation) -> Vec<LabeledRow> {
    let placeholders = &explanation.placeholders;
    let mut rows = Vec::new();
    if let Some(place) = placeholders.appended_input {
        rows.push(row("filled", format!("none: the input {place}")));
    } else if matches!(explanation.outcome, CallOutcome::Expanded(_)) {
        let (empty, filled): (Vec<&PlaceholderCount>, Vec<&PlaceholderCount>) = placeholders
            .counts
            .iter()
            .partition(|placeholder| placeholder.is_empty);
        rows.push(row("filled", list_placeholders(&filled)));
        rows.push(row("empty", list_placeholders(&empty)));
    }
    let (unknown, known): (Vec<&Unexpanded>, Vec<&Unexpanded>) = placeholders
        .unexpanded
        .iter()
        .partition(|unexpanded| unexpanded.reason == Reason::Unknown);
    rows.push(row("unexpanded", list_unexpanded(&known)));
    rows.push(styled_row(WARNING, "unknown", list_unexpanded(&unknown)));
    rows
}

/// Joins placeholders with their counts: `{{options}} (2 times), {{criteria}}`.
fn list_placeholders(placeholders: &[&PlaceholderCount]) -> String {
    let mut texts = Vec::new();
    for placeholder in placeholders {
        let mut text = truncate(&placeholder.source_text);
        if placeholder.count > 1 {
            text += &format!(" ({} times)", placeholder.count);
        }
        texts.push(text);
    }
    texts.join(", ")
}

/// Joins the first unexpanded placeholders with their positions, and adds how many more there are.
fn list_unexpanded(unexpanded: &[&Unexpanded]) -> String {
    let mut texts = Vec::new();
    for placeholder in unexpanded.iter().take(MAX_UNEXPANDED_SHOWN) {
        let location = location(placeholder.file.as_deref(), placeholder.position);
        texts.push(format!("{} ({location})", truncate(&placeholder.source)));
    }
    if unexpanded.len() > MAX_UNEXPANDED_SHOWN {
        let others = with_commas(unexpanded.len() - MAX_UNEXPANDED_SHOWN);
        texts.push(format!("and {others} more"));
    }
    texts.join(", ")
}

/// Returns `LINE:COLUMN`, or `FILE:LINE:COLUMN` if the position isn't in the prompt's own file.
fn location(other_file: Option<&Path>, position: Position) -> String {
    match other_file {
        Some(file) => format!("{}:{position}", output::display_path(file)),
        None => position.to_string(),
    }
}

/// Describes the HTTP request for a prompt that a service renders.
fn request_rows(outcome: &CallOutcome) -> Vec<LabeledRow> {
    let CallOutcome::Request(request) = outcome else {
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

/// Describes the length of the expansion, and the agents for which it is too long. If the call
/// cannot be expanded, says why.
fn expansion_rows(outcome: &CallOutcome) -> Vec<LabeledRow> {
    let lengths = match outcome {
        CallOutcome::Expanded(lengths) => lengths,
        CallOutcome::Error(error) => return vec![styled_row(ERROR, "error", error)],
        CallOutcome::Request(_) => return Vec::new(),
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

/// Lists the warnings about the call and about the file, with their locations.
fn warning_rows(explanation: &Explanation) -> Vec<LabeledRow> {
    let mut rows = Vec::new();
    for warning in &explanation.call_warnings {
        rows.push(row("call", warning));
    }
    let source = &explanation.prompt.origin.source;
    for warning in &explanation.file_warnings {
        let label = match warning.position {
            Some(position) => location(other_file(source, warning), position),
            None => "file".to_owned(),
        };
        rows.push(row(label, warning.text()));
    }
    rows
}

/// Returns the file of a warning, if it isn't the prompt's own file, which is `source`.
fn other_file<'w>(source: &str, warning: &'w Diagnostic) -> Option<&'w Path> {
    let file = warning.file.as_deref()?;
    let is_other = source != BUILT_IN && file != Path::new(source);
    is_other.then_some(file)
}

/// Formats a value with its origin: `Rust or Go (by --arg)`. A truncated value also gets its
/// length.
fn with_origin(value: &str, origin: &str) -> String {
    match value.chars().count() {
        0 => format!("(empty, {origin})"),
        1..=MAX_VALUE_CHARS => format!("{} ({origin})", truncate(value)),
        char_count => format!(
            "{} ({origin}, {} in all)",
            truncate(value),
            count(char_count, "character")
        ),
    }
}

/// Truncates a value, and makes it printable in one line.
fn truncate(value: &str) -> String {
    printable(&output::truncate(value, MAX_VALUE_CHARS))
}

fn source_path(path: &str) -> String {
    output::display_path(Path::new(path))
}

fn row(label: impl Into<String>, value: impl Into<String>) -> LabeledRow {
    styled_row(FAINT, label, value)
}

fn styled_row(style: Style, label: impl Into<String>, value: impl Into<String>) -> LabeledRow {
    LabeledRow {
        label: printable(&label.into()),
        label_style: style,
        texts: vec![(Style::new(), value.into())],
    }
}
