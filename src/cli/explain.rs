//! `prompt-expander explain`: where an expansion comes from, and whether a client shows all of it.
//!
//! The limits of the clients are those that were measured; `docs/clients` and `docs/hook.md` say how.

use super::call::{Call, Texts};
use super::output::{self, ERROR, FAINT, JsonProblem, NAME, WARNING};
use crate::client::{Client, Way};
use crate::hook;
use crate::library::{Layer, Library, Problem, Source};
use crate::prompt::{INPUT, Left, Origin, Prompt, Reason};
use crate::wording::{count, printable, thousands};
use anstyle::Style;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander explain research solar cells
  prompt-expander explain compare --arg options='Rust or Go'
  git diff | prompt-expander explain review";

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    call: Call,
    /// One JSON object: `name`, `title`, `description`, `layer`, `source`, `shadows`, `tags`, `usage`, `arguments`, `input`,
    /// `placeholders`, `left`, `expansion` (or `error`) with `limits`, and `problems`
    #[arg(long)]
    json: bool,
}

/// How much is shown of a value, or of a text in braces, in characters.
const SHOWN: usize = 200;

/// How many texts in braces are shown that are left as they are.
const SHOWN_LEFT: usize = 10;

/// How many bytes a token has, as Codex estimates.
const BYTES_OF_TOKEN: usize = 4;

/// Below this width, a value stands below its label.
const NARROW: usize = 44;

/// The widest label that has its value beside it.
const WIDEST_LABEL: usize = 24;

#[derive(Serialize)]
struct Explanation {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    layer: &'static str,
    source: String,
    shadows: Vec<JsonSource>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    arguments: Vec<JsonGiven>,
    /// What stands for `{{input}}`, or follows the body; only where that has a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// Those that are filled, perhaps with an empty text.
    placeholders: Vec<JsonPlaceholder>,
    left: Vec<JsonLeft>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expansion: Option<JsonExpansion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<JsonProblem>,
}

#[derive(Serialize)]
struct JsonSource {
    layer: &'static str,
    source: String,
}

#[derive(Serialize)]
struct JsonGiven {
    name: String,
    value: String,
    /// See [`origin`].
    from: &'static str,
}

#[derive(Serialize)]
struct JsonPlaceholder {
    name: String,
    count: usize,
    is_empty: bool,
}

#[derive(Serialize)]
struct JsonLeft {
    text: String,
    line: usize,
    column: usize,
    reason: &'static str,
}

#[derive(Serialize)]
struct JsonExpansion {
    bytes: usize,
    characters: usize,
    /// An estimate.
    tokens: usize,
    limits: Vec<Limit>,
}

/// How much a client shows its model.
#[derive(Serialize)]
struct Limit {
    client: &'static str,
    /// How the expansion gets there.
    way: &'static str,
    /// What it takes of the limit.
    length: usize,
    limit: usize,
    unit: String,
    is_whole: bool,
    /// What happens to a longer one.
    #[serde(skip)]
    beyond: &'static str,
}

impl Explain {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let prompt = self.call.find(library)?;
        let texts = self.call.texts(&prompt)?;
        let sources = library.sources(&prompt.name);
        let explanation = Explanation::of(&prompt, &texts, sources);
        if self.json {
            output::print_json(&explanation)?;
        } else {
            output::print(&explanation.page(output::terminal_width().unwrap_or(usize::MAX))?)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Explanation {
    fn of(prompt: &Prompt, texts: &Texts, sources: Vec<(Layer, Source)>) -> Explanation {
        let mut sources = sources.into_iter();
        let (layer, source) = sources.next().unwrap_or((Layer::User, Source::Builtin)); // gone since a moment ago
        let problem = |diagnostic| {
            let path = match &source {
                Source::File(path) => path.clone(),
                Source::Builtin => prompt.name.clone().into(),
            };
            JsonProblem::from(Problem { file: prompt.name.clone(), path, diagnostic })
        };
        let problems = prompt.warnings().into_iter().map(problem).collect();
        let given = texts.given(prompt);
        let value = |name: &str| {
            let argument = given.iter().find(|given| given.name == name);
            argument.map_or(texts.whole_input(), |given| &given.value)
        };
        let mut placeholders: Vec<JsonPlaceholder> = Vec::new();
        for placeholder in prompt.template.placeholders() {
            match placeholders.iter_mut().find(|known| known.name == placeholder.name) {
                Some(known) => known.count += 1,
                None => placeholders.push(JsonPlaceholder {
                    name: placeholder.name.clone(),
                    count: 1,
                    is_empty: value(&placeholder.name).is_empty(),
                }),
            }
        }
        let expanded = texts.expand(prompt);
        Explanation {
            name: prompt.name.clone(),
            title: prompt.title(),
            description: prompt.description().unwrap_or_default(),
            layer: output::layer(layer),
            source: output::source(source.clone()),
            shadows: sources
                .map(|(layer, source)| JsonSource { layer: output::layer(layer), source: output::source(source) })
                .collect(),
            tags: prompt.tags.clone(),
            usage: prompt.usage(),
            input: prompt.takes_input().then(|| texts.whole_input().to_owned()),
            placeholders,
            left: prompt.left().into_iter().map(Into::into).collect(),
            error: expanded.as_ref().err().map(ToString::to_string),
            expansion: expanded.ok().map(|text| JsonExpansion::of(prompt, texts, layer, &text)),
            problems,
            arguments: given
                .into_iter()
                .map(|given| JsonGiven {
                    name: given.name.to_owned(),
                    value: given.value.into_owned(),
                    from: origin(given.origin),
                })
                .collect(),
        }
    }

    /// For people, in so many columns.
    fn page(&self, columns: usize) -> anyhow::Result<Vec<u8>> {
        let mut text = Vec::new();
        for line in output::wrap(&format!(":{}", self.name), columns) {
            writeln!(text, "{NAME}{line}{NAME:#}")?;
        }
        let plain =
            |label: &str, value: String| Field { label: label.to_owned(), value, style: Style::new(), is_path: false };
        let mut about = vec![
            plain("about", output::one_line(&self.description)),
            plain("title", output::one_line(self.title.as_deref().unwrap_or_default())),
            plain("layer", self.layer.to_owned()),
        ];
        if self.source != self.layer {
            about.push(Field { is_path: true, ..plain("file", printable(&self.source)) });
        }
        about.extend(self.shadows.iter().map(|shadow| {
            let is_path = shadow.source != shadow.layer;
            let place = if is_path { &shadow.source } else { "the built-in prompt" };
            Field { is_path, ..plain("hides", printable(place)) }
        }));
        let tags: Vec<String> = self.tags.iter().map(|tag| format!("#{}", output::one_line(tag))).collect();
        about.push(plain("tags", tags.join(" ")));
        about.push(plain("usage", self.usage.clone().unwrap_or_default()));
        about.retain(|field| !field.value.is_empty());
        section(&mut text, "", &about, columns)?;

        let mut arguments: Vec<Field> = self.arguments.iter().map(JsonGiven::field).collect();
        // An argument may have that name, and the text follows the body all the same.
        let is_taken = self.arguments.iter().any(|argument| argument.name == INPUT);
        let label = if is_taken { "the text" } else { INPUT };
        arguments.extend(self.input.as_ref().map(|input| plain(label, with_origin(input, "the whole text"))));
        section(&mut text, "Arguments", &arguments, columns)?;
        section(&mut text, "Placeholders", &self.braces(), columns)?;

        let mut lengths = Vec::new();
        if let Some(error) = &self.error {
            lengths.push(Field { label: "none".to_owned(), value: error.clone(), style: ERROR, is_path: false });
        }
        if let Some(expansion) = &self.expansion {
            let JsonExpansion { bytes, characters, tokens, limits } = expansion;
            let tokens = format!("about {}, of {BYTES_OF_TOKEN} bytes each", thousands(*tokens));
            lengths.push(plain("bytes", thousands(*bytes)));
            lengths.push(plain("characters", thousands(*characters)));
            lengths.push(plain("tokens", tokens));
            lengths.extend(limits.iter().map(Limit::field));
        }
        section(&mut text, "Expansion", &lengths, columns)?;

        let problems: Vec<Field> = self.problems.iter().map(problem_field).collect();
        section(&mut text, "Warnings", &problems, columns)?;
        Ok(text)
    }

    /// What stands in braces.
    fn braces(&self) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut add = |label: &str, style: Style, texts: Vec<String>| {
            if !texts.is_empty() {
                fields.push(Field { label: label.to_owned(), value: texts.join(", "), style, is_path: false });
            }
        };
        let of = |is_empty: bool| {
            let placeholders = self.placeholders.iter().filter(|placeholder| placeholder.is_empty == is_empty);
            let shown = placeholders.map(|JsonPlaceholder { name, count, .. }| match count {
                1 => format!("{{{{{name}}}}}"),
                count => format!("{{{{{name}}}}} ({count} times)"),
            });
            shown.collect()
        };
        if self.error.is_none() {
            add("filled", Style::new(), of(false));
            add("empty", Style::new(), of(true));
        }
        let left = |is_unknown: bool| {
            let is_one = |left: &&JsonLeft| (left.reason == reason(Reason::Unknown)) == is_unknown;
            let all: Vec<&JsonLeft> = self.left.iter().filter(is_one).collect();
            let shown = all.iter().take(SHOWN_LEFT);
            let mut texts: Vec<String> =
                shown.map(|left| format!("{} ({}:{})", cut(&left.text), left.line, left.column)).collect();
            if all.len() > SHOWN_LEFT {
                texts.push(format!("and {} more", thousands(all.len() - SHOWN_LEFT)));
            }
            texts
        };
        add("left", Style::new(), left(false));
        add("unknown", WARNING, left(true));
        if self.placeholders.is_empty() {
            let value = "none: the text follows the body, after a blank line".to_owned();
            fields.insert(0, Field { label: "filled".to_owned(), value, style: Style::new(), is_path: false });
        }
        fields
    }
}

impl JsonGiven {
    fn field(&self) -> Field {
        let style = if self.from == origin(Origin::Missing) { ERROR } else { Style::new() };
        let value = match self.from {
            "nothing" => "(not given: empty)".to_owned(),
            "missing" => "(missing)".to_owned(),
            from => with_origin(&self.value, in_words(from)),
        };
        Field { label: self.name.clone(), value, style, is_path: false }
    }
}

/// How scripts call it.
fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Named => "named",
        Origin::Pair => "pair",
        Origin::Word => "position",
        Origin::Rest => "rest",
        Origin::Default => "default",
        Origin::Nothing => "nothing",
        Origin::Missing => "missing",
    }
}

/// The same for people.
fn in_words(origin: &str) -> &str {
    match origin {
        "named" => "by --arg",
        "pair" => "by name",
        "position" => "by position",
        "rest" => "the rest of the text",
        "default" => "its default",
        other => other,
    }
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Escaped => "escaped",
        Reason::Foreign => "foreign",
        Reason::Unknown => "unknown",
    }
}

impl From<Left> for JsonLeft {
    fn from(left: Left) -> JsonLeft {
        let (line, column) = (left.position.line, left.position.column);
        JsonLeft { text: left.written, line, column, reason: reason(left.reason) }
    }
}

impl JsonExpansion {
    fn of(prompt: &Prompt, texts: &Texts, layer: Layer, text: &str) -> JsonExpansion {
        let characters = text.chars().count();
        let result = json!({ "prompt": text }).to_string();
        let mut limits = Vec::new();
        for client in Client::ALL {
            for limit in client.limits() {
                let (length, unit) = match limit.way {
                    Way::Tool => (limit.unit.count(&result), format!("{} of the result", limit.unit.name())),
                    Way::CodeMode => (limit.unit.count(text), limit.unit.name().to_owned()),
                    Way::Hook => {
                        let is_of_project = layer == Layer::Project;
                        let context = hook::of_one(client, &prompt.name, &texts.input, text, is_of_project);
                        (limit.unit.count(&context), limit.unit.name().to_owned())
                    }
                };
                limits.push(Limit {
                    client: client.name(),
                    way: limit.way.name(),
                    length,
                    limit: limit.most,
                    unit,
                    is_whole: length <= limit.most,
                    beyond: limit.beyond,
                });
            }
        }
        let tokens = text.len().div_ceil(BYTES_OF_TOKEN);
        JsonExpansion { bytes: text.len(), characters, tokens, limits }
    }
}

impl Limit {
    fn field(&self) -> Field {
        let Limit { client, way, length, limit, unit, is_whole, beyond } = self;
        let measured = format!("{} of {} {unit}", thousands(*length), thousands(*limit));
        let (value, style) = match is_whole {
            true => (measured, Style::new()),
            false => (format!("too long, {measured}: {beyond}"), WARNING),
        };
        Field { label: format!("{client} {way}"), value, style, is_path: false }
    }
}

fn problem_field(problem: &JsonProblem) -> Field {
    let (place, said) = problem.in_file();
    Field { label: place, value: said, style: Style::new(), is_path: false }
}

/// A value as a person sees it: in one line, how long it is if that is not all of it, and where it is from.
fn with_origin(value: &str, origin: &str) -> String {
    match value.chars().nth(SHOWN) {
        _ if value.is_empty() => format!("(empty: {origin})"),
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
    let number = text.chars().count();
    count(number, "character").replacen(&number.to_string(), &thousands(number), 1)
}

/// A label, and what stands beside it.
struct Field {
    label: String,
    value: String,
    /// Of the label.
    style: Style,
    /// Whether it is the path of a file, which stays whole, so that a terminal can make a link of it.
    is_path: bool,
}

/// Writes fields below a heading; nothing, if there are none.
fn section(text: &mut Vec<u8>, heading: &str, fields: &[Field], columns: usize) -> anyhow::Result<()> {
    if fields.is_empty() {
        return Ok(());
    }
    if !heading.is_empty() {
        writeln!(text, "\n{heading}")?;
    }
    let widths = fields.iter().map(|field| output::width(&field.label)).filter(|width| *width <= WIDEST_LABEL);
    let label_width = widths.max().unwrap_or(0);
    let is_narrow = columns < NARROW;
    let indent = if is_narrow { 2 } else { 2 + label_width + 2 };
    for Field { label, value, style, is_path } in fields {
        let style = if *style == Style::new() { FAINT } else { *style };
        let width = columns.saturating_sub(indent);
        let values = if *is_path { vec![value.clone()] } else { output::wrap(value, width) };
        let is_beside = !is_narrow && output::width(label) <= label_width;
        let mut values = values.iter();
        if is_beside {
            let gap = " ".repeat(label_width - output::width(label));
            let first = values.next().map_or("", String::as_str);
            writeln!(text, "  {style}{label}{style:#}{gap}  {first}")?;
        } else {
            for label in output::wrap(label, columns.saturating_sub(1)) {
                writeln!(text, " {style}{label}{style:#}")?;
            }
        }
        for value in values {
            writeln!(text, "{:indent$}{value}", "")?;
        }
    }
    Ok(())
}
