//! YAML that cannot hurt: measured as events first, and only then built by gray_matter.
//!
//! gray_matter 0.3.2 builds with yaml-rust2, which recurses once for each level of nesting (20,000 levels of `- ` end
//! the process) and copies what an alias names (eight levels of nine exhaust memory). Its event parser does neither,
//! so it goes first, and refuses what would.

use super::value::Value;
use crate::prompt::diagnostic::{Diagnostic, Position};
use gray_matter::Pod;
use gray_matter::engine::{Engine, YAML};
use std::collections::HashMap;
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::Marker;

/// How deep lists and maps may nest; ours need two. gray_matter copies a value once for each level that it lies in.
const MAX_DEPTH: usize = 8;

/// What a frontmatter may become once its YAML aliases are written out: bytes of text, and one for each node.
pub const MAX_WEIGHT: usize = 128 * 1024;

/// What is left of [`MAX_WEIGHT`].
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Budget(MAX_WEIGHT)
    }
}

/// Why a text was not loaded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not the YAML that we read; a reading line by line may still succeed. The diagnostic is a warning.
    Syntax(Diagnostic),
    /// Its aliases make it larger than we read. The diagnostic is an error.
    Bomb(Diagnostic),
}

/// Loads one YAML document, whose first line counts as `first_line`, and takes its weight from the budget.
pub(super) fn load(yaml: &str, first_line: usize, budget: &mut Budget) -> Result<Value<'static>, Refusal> {
    budget.0 -= measure(yaml, first_line, budget.0)?;
    YAML::parse(yaml).map(value).map_err(|error| {
        let position = Some(Position { line: first_line, column: 1 });
        Refusal::Syntax(Diagnostic::warning(position, error.to_string(), "write each key once, as `key: value`"))
    })
}

fn value(pod: Pod) -> Value<'static> {
    match pod {
        Pod::Null => Value::Nothing,
        Pod::String(text) => Value::Text(text.into()),
        Pod::Integer(number) => Value::Scalar(number.to_string()),
        Pod::Float(number) => Value::Scalar(number.to_string()),
        Pod::Boolean(truth) => Value::Scalar(truth.to_string()),
        Pod::Array(values) => Value::List(values.into_iter().map(value).collect()),
        Pod::Hash(map) => Value::Map(map.into_iter().map(|(key, pod)| (key.into(), value(pod))).collect()),
    }
}

/// The weight of a document that weighs at most `most`. Walks over the events of the parser, which uses neither stack
/// nor memory for depth or aliases.
fn measure(yaml: &str, first_line: usize, most: usize) -> Result<usize, Refusal> {
    let place = |at: &Marker| Some(Position { line: first_line + at.line().saturating_sub(1), column: at.col() + 1 });
    let refuse = |at: &Marker, message: &str, repair: &str| {
        Err(Refusal::Syntax(Diagnostic::warning(place(at), message, repair)))
    };
    let control = |&(_, character): &(usize, char)| character.is_control() && !"\n\r\t".contains(character);
    if let Some((at, character)) = yaml.char_indices().find(control) {
        // yaml-rust2 takes NUL for the end of the text.
        let position = Some(Position::in_text(yaml, at, first_line));
        let message = format!("a control character (U+{:04X})", u32::from(character));
        return Err(Refusal::Syntax(Diagnostic::warning(position, message, "delete it")));
    }
    let mut parser = Parser::new_from_str(yaml);
    let mut open: Vec<(usize, usize)> = Vec::new(); // (anchor, weight when it was opened)
    let mut anchors: HashMap<usize, usize> = HashMap::new(); // anchor → weight
    let mut weight = 0;
    let mut documents = 0;
    loop {
        let (event, at) = match parser.next_token() {
            Ok(next) => next,
            Err(error) => {
                let (message, repair) = in_plain_words(error.info());
                return refuse(error.marker(), message, repair);
            }
        };
        match event {
            Event::StreamEnd => return Ok(weight),
            Event::DocumentStart => {
                documents += 1;
                if documents > 1 {
                    return refuse(&at, "a second YAML document", "close the frontmatter with `---`");
                }
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                open.push((anchor, weight));
                weight += 1;
                if open.len() > MAX_DEPTH {
                    let message = format!("lists or maps nested deeper than {MAX_DEPTH} levels");
                    return refuse(&at, &message, "put the value in quotes if it is text");
                }
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some((anchor, before)) = open.pop() {
                    anchors.insert(anchor, weight - before);
                }
            }
            Event::Scalar(text, _, anchor, _) => {
                weight += 1 + text.len();
                anchors.insert(anchor, 1 + text.len());
            }
            Event::Alias(anchor) => weight += anchors.get(&anchor).copied().unwrap_or(1),
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
        }
        if weight > most {
            return Err(Refusal::Bomb(Diagnostic::error(
                place(&at),
                format!("the YAML aliases (`*name`) of the frontmatter make it larger than {MAX_WEIGHT} bytes"),
                "write the values out instead of repeating them with aliases",
            )));
        }
    }
}

/// The parser's reason for the usual slips, in the words of whoever writes prompts, and the repair.
fn in_plain_words(info: &str) -> (&str, &'static str) {
    const QUOTES: &str = "put the value in quotes";
    const INDENT: &str = "begin each key in the first column, and indent what belongs to it with spaces, all alike";
    match info {
        "mapping values are not allowed in this context" => ("`: ` inside a value that is not in quotes", QUOTES),
        "':' must be followed by a valid YAML whitespace" => ("a tab after the colon", QUOTES),
        "invalid trailing content after double-quoted scalar" => ("text after the closing quote", QUOTES),
        "invalid indentation in quoted scalar" | "while scanning a quoted scalar, found unexpected end of stream" => {
            ("a quote that is never closed", QUOTES)
        }
        "recursion limit exceeded" => ("lists or maps nested too deep", QUOTES),
        "simple key expect ':'"
        | "did not find expected <document start>"
        | "while parsing a block mapping, did not find expected key" => {
            ("a line that is indented otherwise than its neighbors, or no `key: value`", INDENT)
        }
        _ if info.starts_with("while parsing a flow") => {
            ("a `[` or `{` that is never closed", "close it, or put the value in quotes if it is text")
        }
        _ if info.ends_with("found unknown anchor") => ("a value that begins with `*` needs quotes", QUOTES),
        _ if info.ends_with("found a tab") => ("a tab that indents a line", INDENT),
        _ if info.contains("indent") || info.contains("tab") => (info, INDENT),
        _ => (info, QUOTES),
    }
}
