//! An explanation for people: labels and values, in columns or below each other.

use crate::api::{BUILT_IN, Explanation, Given, Lengths, MeasuredLimit, Placeholder};
use crate::cli::output::{self, ERROR, FAINT, NAME, Row, Styled, WARNING, styled};
use crate::library::ServiceRequest;
use crate::prompt::{Format, INPUT, Origin, Position, Reason, Unexpanded};
use crate::wording::{count, printable, thousands};
use anstyle::Style;
use std::path::Path;

/// How many characters of a value, or of a text in braces, are shown.
const SHOWN: usize = 200;

/// How many unexpanded placeholders are shown.
const MAX_UNEXPANDED_SHOWN: usize = 10;

/// The page, in this many columns.
pub(super) fn of(explanation: &Explanation, columns: usize) -> Styled {
    let mut text = styled(NAME, format!(":{}", explanation.name)).plain("\n");
    for (heading, mut rows) in [
        ("", about(explanation)),
        ("\nArguments\n", arguments(explanation)),
        ("\nPlaceholders\n", braces(explanation)),
        ("\nRequest\n", request(explanation)),
        ("\nExpansion\n", lengths(explanation)),
        ("\nWarnings\n", warnings(explanation)),
    ] {
        rows.retain(|row| row.texts.iter().any(|(_, text)| !text.is_empty()));
        if !rows.is_empty() {
            text.push(heading);
            text.append(output::in_columns(&rows, columns));
        }
    }
    text
}

/// What the prompt is and where it comes from.
fn about(explanation: &Explanation) -> Vec<Row> {
    let one_line = |text: &Option<String>| output::one_line(text.as_deref().unwrap_or_default());
    let title = |format: &'static str| Format::named(format).map_or(format, |format| format.title);
    let mut rows = vec![
        row("about", output::one_line(&explanation.description)),
        row("title", one_line(&explanation.title)),
        row("layer", explanation.layer.map_or("", |layer| layer.name)),
        row("pack", one_line(&explanation.pack)),
        row("format", explanation.format.map(title).unwrap_or_default()),
    ];
    if explanation.source != BUILT_IN {
        rows.push(row("file", shown(&explanation.source)));
    }
    rows.extend(
        explanation
            .includes
            .iter()
            .map(|file| row("includes", shown(file))),
    );
    rows.extend(
        explanation
            .shadows
            .iter()
            .map(|shadowed| match shadowed.source.as_str() {
                BUILT_IN => row("overrides", "the built-in prompt"),
                path => row("overrides", shown(path)),
            }),
    );
    let tags: Vec<String> = explanation
        .tags
        .iter()
        .map(|tag| format!("#{}", output::one_line(tag)))
        .collect();
    rows.push(row("tags", tags.join(" ")));
    rows.push(row("usage", explanation.usage.clone().unwrap_or_default()));
    let attachments = explanation
        .attachments
        .iter()
        .map(|path| output::one_line(path));
    rows.push(row("attached", attachments.collect::<Vec<_>>().join(", ")));
    rows.push(row("messages", explanation.messages.join(", ")));
    rows
}

/// The value of each argument, and of the input.
fn arguments(explanation: &Explanation) -> Vec<Row> {
    let origin = if explanation.is_input_rest {
        "the rest of the input"
    } else {
        "as given"
    };
    let input = explanation
        .input
        .as_ref()
        .map(|input| row(INPUT, with_origin(input, origin)));
    explanation
        .arguments
        .iter()
        .map(argument)
        .chain(input)
        .collect()
}

fn argument(given: &Given) -> Row {
    let origin = match given.from {
        Origin::Omitted => return row(&given.name, "(not given: empty)"),
        Origin::Missing => {
            return Row {
                style: ERROR,
                ..row(&given.name, "(missing)")
            };
        }
        Origin::Named => "by --arg",
        Origin::Pair => "by name",
        Origin::Word => "by position",
        Origin::Rest => "the rest of the input",
        Origin::Default => "its default",
    };
    row(&given.name, with_origin(&given.value, origin))
}

/// The placeholders: filled ones if there is an expansion, and unexpanded ones.
fn braces(explanation: &Explanation) -> Vec<Row> {
    let (empty, filled): (Vec<&Placeholder>, Vec<&Placeholder>) = explanation
        .placeholders
        .iter()
        .partition(|placeholder| placeholder.is_empty);
    let (unknown, others): (Vec<&Unexpanded>, Vec<&Unexpanded>) = explanation
        .unexpanded
        .iter()
        .partition(|found| found.reason == Reason::Unknown);
    let mut rows = vec![
        row("filled", list_filled(&filled)),
        row("empty", list_filled(&empty)),
        row("unexpanded", list_unexpanded(&others)),
        Row {
            style: WARNING,
            ..row("unknown", list_unexpanded(&unknown))
        },
    ];
    if let Some(place) = &explanation.input_place {
        rows[0] = row("filled", format!("none: the input {place}"));
    } else if explanation.expansion.is_none() {
        rows.drain(..2);
    }
    rows
}

fn list_filled(placeholders: &[&Placeholder]) -> String {
    let shown = placeholders
        .iter()
        .map(|Placeholder { written, count, .. }| {
            let written = cut(written);
            if *count == 1 {
                written
            } else {
                format!("{written} ({count} times)")
            }
        });
    shown.collect::<Vec<_>>().join(", ")
}

/// The first of them with their positions, and the number of the others.
fn list_unexpanded(unexpanded: &[&Unexpanded]) -> String {
    let shown = unexpanded.iter().take(MAX_UNEXPANDED_SHOWN);
    let mut texts: Vec<String> = shown
        .map(|found| {
            format!(
                "{} ({})",
                cut(&found.written),
                place(found.file.as_deref(), found.position)
            )
        })
        .collect();
    if unexpanded.len() > MAX_UNEXPANDED_SHOWN {
        texts.push(format!(
            "and {} more",
            thousands(unexpanded.len() - MAX_UNEXPANDED_SHOWN)
        ));
    }
    texts.join(", ")
}

/// Line and column, and before them the file, if it is an included one.
fn place(file: Option<&Path>, position: Position) -> String {
    let file = file
        .map(|file| format!("{}:", output::shown(file)))
        .unwrap_or_default();
    format!("{file}{position}")
}

/// What a service would be asked.
fn request(explanation: &Explanation) -> Vec<Row> {
    let Some(ServiceRequest {
        method,
        url,
        headers,
        body,
    }) = &explanation.request
    else {
        return Vec::new();
    };
    let headers = headers.iter().map(|(name, value)| row(name, value));
    let body = body.iter().map(|body| row("body", body));
    [row(method, url)]
        .into_iter()
        .chain(headers)
        .chain(body)
        .collect()
}

/// The length of the expansion, or why it failed.
fn lengths(explanation: &Explanation) -> Vec<Row> {
    let Some(lengths) = &explanation.expansion else {
        return explanation
            .error
            .iter()
            .map(|error| Row {
                style: ERROR,
                ..row("error", error)
            })
            .collect();
    };
    let Lengths {
        bytes,
        characters,
        tokens,
        limits,
    } = lengths;
    let [bytes, characters, tokens] = [bytes, characters, tokens].map(|number| thousands(*number));
    let length = format!("{bytes} bytes, {characters} characters, about {tokens} tokens");
    let mut rows = vec![row("length", length)];
    rows.extend(limits.iter().filter(|limit| limit.is_near()).map(limit_row));
    match rows.len() - 1 {
        0 => rows.push(row("limits", "within the known limits of all agents")),
        near if near < limits.len() => rows.push(row("others", "within their known limits")),
        _ => {}
    }
    rows
}

fn limit_row(measured: &MeasuredLimit) -> Row {
    let MeasuredLimit {
        agent,
        delivery,
        length,
        limit,
        unit,
        is_whole,
        when_exceeded,
    } = measured;
    let label = format!("{agent} {delivery}");
    let measured = format!("{} of {} {unit}", thousands(*length), thousands(*limit));
    match is_whole {
        true => row(label, measured),
        false => Row {
            style: WARNING,
            ..row(label, format!("too long, {measured}: {when_exceeded}"))
        },
    }
}

fn warnings(explanation: &Explanation) -> Vec<Row> {
    let of_call = explanation
        .warnings
        .iter()
        .map(|warning| row("call", warning));
    let fields = explanation.problems.iter().map(|problem| {
        let is_other = |file: &&Path| {
            explanation.source != BUILT_IN && *file != Path::new(&explanation.source)
        };
        let place = problem
            .position
            .map(|position| place(problem.file.as_deref().filter(is_other), position));
        row(place.unwrap_or_else(|| "file".to_owned()), problem.text())
    });
    of_call.chain(fields).collect()
}

/// A value in one line with where it comes from, and its length if it was cut off.
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

/// The beginning of a text, in one line.
fn cut(text: &str) -> String {
    printable(&output::cut(text, SHOWN))
}

fn shown(path: &str) -> String {
    output::shown(Path::new(path))
}

fn row(label: impl Into<String>, value: impl Into<String>) -> Row {
    Row {
        label: printable(&label.into()),
        style: FAINT,
        texts: vec![(Style::new(), value.into())],
    }
}
