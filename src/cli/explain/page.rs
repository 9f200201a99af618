//! An explanation for people: labels and values, in columns or below each other.

use crate::api::{BUILT_IN, Explanation, Given, Lengths, MeasuredLimit, Placeholder, Request, UnexpandedText};
use crate::cli::output::{self, ERROR, FAINT, NAME, WARNING};
use crate::prompt::{Format, INPUT, Origin, Reason};
use crate::wording::{count, printable, thousands};
use anstyle::Style;
use std::io::Write;
use std::path::Path;

/// How many characters of a value, or of a text in braces, are shown.
const SHOWN: usize = 200;

/// How many unexpanded placeholders are shown.
const MAX_UNEXPANDED_SHOWN: usize = 10;

/// In fewer columns, a value is printed below its label.
const NARROW: usize = 44;

/// A wider label has its value below it.
const WIDEST_LABEL: usize = 24;

struct Field {
    label: String,
    value: String,
    /// Of the label.
    style: Style,
    /// Whether the value is a path, which is not broken, so that a terminal can make it a link.
    is_path: bool,
}

/// The page, in this many columns.
pub(super) fn of(explanation: &Explanation, columns: usize) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    for line in output::in_lines(&printable(&format!(":{}", explanation.name)), columns) {
        writeln!(text, "{NAME}{line}{NAME:#}")?;
    }
    for (heading, fields) in [
        ("", about(explanation)),
        ("Arguments", arguments(explanation)),
        ("Placeholders", braces(explanation)),
        ("Request", request(explanation)),
        ("Expansion", lengths(explanation)),
        ("Warnings", warnings(explanation)),
    ] {
        write_section(&mut text, heading, &fields, columns)?;
    }
    Ok(text)
}

/// What the prompt is and where it comes from.
fn about(explanation: &Explanation) -> Vec<Field> {
    let one_line = |text: &Option<String>| output::one_line(text.as_deref().unwrap_or_default());
    let title = |format: &'static str| Format::named(format).map_or(format, |format| format.title);
    let mut fields = vec![
        Field::new("about", output::one_line(&explanation.description)),
        Field::new("title", one_line(&explanation.title)),
        Field::new("layer", explanation.layer.map_or("", |layer| layer.name)),
        Field::new("format", explanation.format.map(title).unwrap_or_default()),
    ];
    if explanation.source != BUILT_IN {
        fields.push(Field::path("file", &explanation.source));
    }
    fields.extend(explanation.includes.iter().map(|file| Field::path("includes", file)));
    fields.extend(explanation.shadows.iter().map(|shadowed| match shadowed.source.as_str() {
        BUILT_IN => Field::new("overrides", "the built-in prompt"),
        path => Field::path("overrides", path),
    }));
    let tags: Vec<String> = explanation.tags.iter().map(|tag| format!("#{}", output::one_line(tag))).collect();
    fields.push(Field::new("tags", tags.join(" ")));
    fields.push(Field::new("usage", explanation.usage.clone().unwrap_or_default()));
    let attachments = explanation.attachments.iter().map(|path| output::one_line(path));
    fields.push(Field::new("attached", attachments.collect::<Vec<_>>().join(", ")));
    fields.push(Field::new("messages", explanation.messages.join(", ")));
    fields.retain(|field| !field.value.is_empty());
    fields
}

/// The value of each argument, and of the input.
fn arguments(explanation: &Explanation) -> Vec<Field> {
    let mut fields: Vec<Field> = explanation.arguments.iter().map(argument).collect();
    // An argument may be called `input`, while the input follows the body.
    let is_taken = explanation.arguments.iter().any(|given| given.name == INPUT);
    let label = if is_taken { "the input" } else { INPUT };
    let origin = if explanation.is_input_rest { "the rest of the input" } else { "as given" };
    fields.extend(explanation.input.as_ref().map(|input| Field::new(label, with_origin(input, origin))));
    fields
}

fn argument(given: &Given) -> Field {
    let origin = match given.from {
        Origin::Omitted => return Field::new(&given.name, "(not given: empty)"),
        Origin::Missing => return Field::new(&given.name, "(missing)").styled(ERROR),
        Origin::Named => "by --arg",
        Origin::Pair => "by name",
        Origin::Word => "by position",
        Origin::Rest => "the rest of the input",
        Origin::Default => "its default",
    };
    Field::new(&given.name, with_origin(&given.value, origin))
}

/// The placeholders: filled ones if there is an expansion, and unexpanded ones.
fn braces(explanation: &Explanation) -> Vec<Field> {
    let mut fields = Vec::new();
    if let Some(place) = &explanation.input_place {
        fields.push(Field::new("filled", format!("none: the input {place}")));
    } else if explanation.expansion.is_some() {
        let (empty, filled): (Vec<&Placeholder>, Vec<&Placeholder>) =
            explanation.placeholders.iter().partition(|placeholder| placeholder.is_empty);
        fields.push(Field::new("filled", list_filled(&filled)));
        fields.push(Field::new("empty", list_filled(&empty)));
    }
    let (unknown, others): (Vec<&UnexpandedText>, Vec<&UnexpandedText>) =
        explanation.unexpanded.iter().partition(|found| found.reason == Reason::Unknown);
    fields.push(Field::new("unexpanded", list_unexpanded(&others)));
    fields.push(Field::new("unknown", list_unexpanded(&unknown)).styled(WARNING));
    fields.retain(|field| !field.value.is_empty());
    fields
}

fn list_filled(placeholders: &[&Placeholder]) -> String {
    let shown = placeholders.iter().map(|Placeholder { written, count, .. }| {
        let written = cut(written);
        if *count == 1 { written } else { format!("{written} ({count} times)") }
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The first of them with their positions, and the number of the others.
fn list_unexpanded(unexpanded: &[&UnexpandedText]) -> String {
    let shown = unexpanded.iter().take(MAX_UNEXPANDED_SHOWN);
    let mut texts: Vec<String> = shown
        .map(|found| format!("{} ({})", cut(&found.text), place(found.file.as_deref(), found.line, found.column)))
        .collect();
    if unexpanded.len() > MAX_UNEXPANDED_SHOWN {
        texts.push(format!("and {} more", thousands(unexpanded.len() - MAX_UNEXPANDED_SHOWN)));
    }
    texts.join(", ")
}

/// Line and column, and before them the file, if it is an included one.
fn place(file: Option<&str>, line: usize, column: usize) -> String {
    let file = file.map(|file| format!("{}:", output::shown(Path::new(file)))).unwrap_or_default();
    format!("{file}{line}:{column}")
}

/// What a service would be asked.
fn request(explanation: &Explanation) -> Vec<Field> {
    let Some(Request { method, url, headers, body }) = &explanation.request else { return Vec::new() };
    let mut fields = vec![Field::path(method, url)];
    fields.extend(headers.iter().map(|(name, value)| Field::new(name, value)));
    fields.extend(body.iter().map(|body| Field::new("body", body)));
    fields
}

/// The length of the expansion, or why it failed.
fn lengths(explanation: &Explanation) -> Vec<Field> {
    let Some(lengths) = &explanation.expansion else {
        return explanation.error.iter().map(|error| Field::new("error", error).styled(ERROR)).collect();
    };
    let Lengths { bytes, characters, tokens, limits } = lengths;
    let [bytes, characters, tokens] = [bytes, characters, tokens].map(|number| thousands(*number));
    let length = format!("{bytes} bytes, {characters} characters, about {tokens} tokens");
    let near: Vec<Field> = limits.iter().filter(|limit| limit.is_near()).map(limit_field).collect();
    let others = match near.len() {
        0 => vec![Field::new("limits", "within the known limits of all agents")],
        near if near < limits.len() => vec![Field::new("others", "within their known limits")],
        _ => Vec::new(),
    };
    [vec![Field::new("length", length)], near, others].into_iter().flatten().collect()
}

fn limit_field(measured: &MeasuredLimit) -> Field {
    let MeasuredLimit { agent, delivery, length, limit, unit, is_whole, when_exceeded } = measured;
    let label = format!("{agent} {delivery}");
    let measured = format!("{} of {} {unit}", thousands(*length), thousands(*limit));
    match is_whole {
        true => Field::new(label, measured),
        false => Field::new(label, format!("too long, {measured}: {when_exceeded}")).styled(WARNING),
    }
}

fn warnings(explanation: &Explanation) -> Vec<Field> {
    let of_call = explanation.warnings.iter().map(|warning| Field::new("call", warning));
    let fields = explanation.problems.iter().map(|problem| {
        let is_own = problem.file == explanation.source || explanation.source == BUILT_IN;
        let file = Some(problem.file.as_str()).filter(|_| !is_own);
        let place = problem.line.zip(problem.column).map(|(line, column)| place(file, line, column));
        Field::new(place.unwrap_or_else(|| "file".to_owned()), format!("{}; {}", problem.message, problem.fix))
    });
    of_call.chain(fields).collect()
}

/// A value in one line with where it comes from, and its length if it was cut off.
fn with_origin(value: &str, origin: &str) -> String {
    match value.chars().nth(SHOWN) {
        _ if value.is_empty() => format!("(empty, {origin})"),
        None => format!("{} ({origin})", cut(value)),
        Some(_) => format!("{} ({origin}, {} in all)", cut(value), characters(value)),
    }
}

/// The beginning of a text, in one line.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => printable(text),
        Some((end, _)) => format!("{}…", printable(&text[..end])),
    }
}

fn characters(text: &str) -> String {
    count(text.chars().count(), "character")
}

impl Field {
    fn new(label: impl Into<String>, value: impl Into<String>) -> Field {
        // Text of a server may have any characters, also those that a terminal acts on.
        let in_lines = |text: String| text.split('\n').map(printable).collect::<Vec<_>>().join("\n");
        Field { label: printable(&label.into()), value: in_lines(value.into()), style: FAINT, is_path: false }
    }

    fn path(label: &str, path: &str) -> Field {
        Field { is_path: true, ..Field::new(label, output::shown(Path::new(path))) }
    }

    fn styled(self, style: Style) -> Field {
        Field { style, ..self }
    }
}

/// Writes fields below a heading; nothing if there are no fields.
fn write_section(text: &mut Vec<u8>, heading: &str, fields: &[Field], columns: usize) -> anyhow::Result<()> {
    if fields.is_empty() {
        return Ok(());
    }
    if !heading.is_empty() {
        writeln!(text, "\n{heading}")?;
    }
    let widths = fields.iter().map(|field| output::width(&field.label)).filter(|width| *width <= WIDEST_LABEL);
    let label_width = widths.max().unwrap_or(0);
    let is_narrow = columns < NARROW;
    let indent = if is_narrow { 4 } else { 2 + label_width + 2 };
    for Field { label, value, style, is_path } in fields {
        let width = columns.saturating_sub(indent);
        let values = if *is_path { vec![value.clone()] } else { output::in_lines(value, width) };
        let is_next_to_label = !is_narrow && output::width(label) <= label_width;
        let mut values = values.iter();
        if is_next_to_label {
            let gap = " ".repeat(label_width - output::width(label));
            let first = values.next().map_or("", String::as_str);
            writeln!(text, "  {style}{label}{style:#}{gap}  {first}")?;
        } else {
            for label in output::in_lines(label, columns.saturating_sub(2)) {
                writeln!(text, "  {style}{label}{style:#}")?;
            }
        }
        for value in values {
            writeln!(text, "{:indent$}{value}", "")?;
        }
    }
    Ok(())
}
