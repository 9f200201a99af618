//! An explanation for people: labels and values, in columns or below each other.

use super::{Explanation, Filled, Lengths, Measure};
use crate::cli::output::{self, ERROR, FAINT, NAME, WARNING};
use crate::library::Location;
use crate::prompt::{Bound, INPUT, Origin, Position, Reason, Role, System, Unexpanded};
use crate::wording::{count, printable, shortened, thousands};
use anstyle::Style;
use std::io::Write;
use std::path::Path;

/// How many characters of a value, or of a text in braces, are shown.
const SHOWN: usize = 200;

/// How many characters of the address of an icon are shown.
const SHOWN_OF_ICON: usize = 60;

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
pub(super) fn of(explanation: &Explanation<'_>, columns: usize) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    for line in output::in_lines(&format!(":{}", explanation.prompt.name), columns) {
        writeln!(text, "{NAME}{line}{NAME:#}")?;
    }
    for (heading, fields) in [
        ("", about(explanation)),
        ("Arguments", arguments(explanation)),
        ("Placeholders", braces(explanation)),
        ("Expansion", lengths(explanation)),
        ("Warnings", warnings(explanation)),
    ] {
        write_section(&mut text, heading, &fields, columns)?;
    }
    Ok(text)
}

/// What the prompt is and where it comes from.
fn about(explanation: &Explanation<'_>) -> Vec<Field> {
    let prompt = explanation.prompt;
    let one_line = |text: &Option<String>| output::one_line(text.as_deref().unwrap_or_default());
    let foreign = explanation.system.filter(|system| output::format(*system).is_some());
    let mut fields = vec![
        Field::new("about", one_line(&prompt.description)),
        Field::new("title", one_line(&prompt.title)),
        Field::new("layer", explanation.layer.map(output::layer).unwrap_or_default()),
        Field::new("format", foreign.map(System::title).unwrap_or_default()),
    ];
    if let Location::File(path) = &explanation.source {
        fields.push(Field::path("file", path));
    }
    fields.extend(prompt.included().iter().map(|file| Field::path("includes", &file.path)));
    fields.extend(explanation.shadows.iter().map(|(_, source)| match source {
        Location::File(path) => Field::path("overrides", path),
        Location::Builtin => Field::new("overrides", "the built-in prompt"),
    }));
    let tags: Vec<String> = prompt.tags.iter().map(|tag| format!("#{}", output::one_line(tag))).collect();
    fields.push(Field::new("tags", tags.join(" ")));
    let icons = prompt.metadata.icons.iter().map(|icon| shortened(&icon.src, SHOWN_OF_ICON));
    fields.push(Field::new("icons", icons.collect::<Vec<_>>().join(" ")));
    fields.push(Field::new("usage", prompt.usage().unwrap_or_default()));
    let attachments = prompt.attachments.iter().map(|attachment| output::one_line(&attachment.path));
    fields.push(Field::new("attached", attachments.collect::<Vec<_>>().join(", ")));
    let roles = prompt.roles();
    if roles.len() > 1 {
        fields.push(Field::new("messages", roles.iter().map(|role| role.name()).collect::<Vec<_>>().join(", ")));
    }
    fields.retain(|field| !field.value.is_empty());
    fields
}

/// The value of each argument, and of the input.
fn arguments(explanation: &Explanation<'_>) -> Vec<Field> {
    let mut fields: Vec<Field> = explanation.given.iter().map(argument).collect();
    // An argument may be called `input`, while the input follows the body.
    let is_taken = explanation.given.iter().any(|given| given.name == INPUT);
    let label = if is_taken { "the input" } else { INPUT };
    let prompt = explanation.prompt;
    let is_rest = !explanation.given.is_empty() && prompt.placeholders().next().is_some() && !prompt.takes_words();
    let origin = if is_rest { "the rest of the input" } else { "as given" };
    fields.extend(explanation.input.as_ref().map(|input| Field::new(label, with_origin(input, origin))));
    fields
}

fn argument(given: &Bound<'_>) -> Field {
    let origin = match given.origin {
        Origin::Omitted => return Field::new(given.name, "(not given: empty)"),
        Origin::Missing => return Field::new(given.name, "(missing)").styled(ERROR),
        Origin::Named => "by --arg",
        Origin::Pair => "by name",
        Origin::Word => "by position",
        Origin::Rest => "the rest of the input",
        Origin::Default => "its default",
    };
    Field::new(given.name, with_origin(&given.value, origin))
}

/// The placeholders: filled ones if there is an expansion, and unexpanded ones.
fn braces(explanation: &Explanation<'_>) -> Vec<Field> {
    let mut fields = Vec::new();
    if explanation.placeholders.is_empty() && explanation.prompt.appends_input() {
        let place = match explanation.prompt.roles().last() {
            Some(Role::Assistant) => "is a message of its own",
            _ if explanation.prompt.separator() == "\n" => "follows the body, in the next line",
            _ => "follows the body, after an empty line",
        };
        fields.push(Field::new("filled", format!("none: the input {place}")));
    } else if explanation.expansion.is_ok() {
        let (empty, filled): (Vec<&Filled>, Vec<&Filled>) =
            explanation.placeholders.iter().partition(|placeholder| placeholder.is_empty);
        fields.push(Field::new("filled", list_filled(&filled)));
        fields.push(Field::new("empty", list_filled(&empty)));
    }
    let (unknown, others): (Vec<&Unexpanded>, Vec<&Unexpanded>) =
        explanation.unexpanded.iter().partition(|found| found.reason == Reason::Unknown);
    fields.push(Field::new("unexpanded", list_unexpanded(&others)));
    fields.push(Field::new("unknown", list_unexpanded(&unknown)).styled(WARNING));
    fields.retain(|field| !field.value.is_empty());
    fields
}

fn list_filled(placeholders: &[&Filled<'_>]) -> String {
    let shown = placeholders.iter().map(|Filled { written, count, .. }| match count {
        1 => cut(written),
        count => format!("{} ({count} times)", cut(written)),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The first of them with their positions, and the number of the others.
fn list_unexpanded(unexpanded: &[&Unexpanded]) -> String {
    let shown = unexpanded.iter().take(MAX_UNEXPANDED_SHOWN);
    let mut texts: Vec<String> = shown
        .map(|found| format!("{} ({})", cut(&found.written), place(found.file.as_deref(), found.position)))
        .collect();
    if unexpanded.len() > MAX_UNEXPANDED_SHOWN {
        texts.push(format!("and {} more", thousands(unexpanded.len() - MAX_UNEXPANDED_SHOWN)));
    }
    texts.join(", ")
}

/// Line and column, and before them the file, if it is an included one.
fn place(file: Option<&Path>, Position { line, column }: Position) -> String {
    let file = file.map(|file| format!("{}:", output::shown(file))).unwrap_or_default();
    format!("{file}{line}:{column}")
}

/// The length of the expansion, or why it failed.
fn lengths(explanation: &Explanation<'_>) -> Vec<Field> {
    let lengths = match &explanation.expansion {
        Ok(lengths) => lengths,
        Err(error) => return vec![Field::new("error", error.to_string()).styled(ERROR)],
    };
    let Lengths { bytes, characters, tokens, measures } = lengths;
    let [bytes, characters, tokens] = [bytes, characters, tokens].map(|number| thousands(*number));
    let length = format!("{bytes} bytes, {characters} characters, about {tokens} tokens");
    let near: Vec<Field> = measures.iter().filter(|measure| measure.is_near()).map(measure_field).collect();
    let others = match near.len() {
        0 => vec![Field::new("limits", "within the known limits of all agents")],
        near if near < measures.len() => vec![Field::new("others", "within their known limits")],
        _ => Vec::new(),
    };
    [vec![Field::new("length", length)], near, others].into_iter().flatten().collect()
}

fn measure_field(measure: &Measure) -> Field {
    let Measure { agent, limit, length } = measure;
    let label = format!("{} {}", agent.name, limit.delivery.name());
    let measured = format!("{} of {} {}", thousands(*length), thousands(limit.max), measure.unit());
    match measure.is_whole() {
        true => Field::new(label, measured),
        false => Field::new(label, format!("too long, {measured}: {}", limit.when_exceeded)).styled(WARNING),
    }
}

fn warnings(explanation: &Explanation<'_>) -> Vec<Field> {
    let of_call = explanation.warnings.iter().map(|warning| Field::new("call", warning));
    let diagnostics = explanation.problems.iter().map(|problem| &problem.diagnostic);
    let fields = diagnostics.map(|diagnostic| {
        let place = diagnostic.position.map(|position| place(diagnostic.file.as_deref(), position));
        Field::new(place.unwrap_or_else(|| "file".to_owned()), diagnostic.to_string())
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
        Field { label: label.into(), value: value.into(), style: FAINT, is_path: false }
    }

    fn path(label: &str, path: &Path) -> Field {
        Field { is_path: true, ..Field::new(label, output::shown(path)) }
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
