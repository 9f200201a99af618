//! YAML as a tree with positions, in one pass over the events of the parser.
//!
//! yaml-rust2's own loader recurses once for each level of nesting (20,000 levels of `- ` end the
//! process), copies whatever an alias names (eight levels of nine exhaust the memory), and does not
//! record where a value is and how it is written. Its event parser has none of these faults.

use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::MAX_NESTING;
use std::collections::HashMap;
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

/// A value, and where it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) position: Position,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// No value: empty, `~` or `null`, as written.
    Null(String),
    /// A number or a truth value is the text as written, too.
    Text {
        text: String,
        /// Whether it is in single or double quotes.
        is_quoted: bool,
    },
    List(Vec<Node>),
    Map(Vec<Field>),
}

/// A key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) position: Position,
    pub(crate) node: Node,
}

/// Why a text was not read.
#[derive(Debug, PartialEq)]
pub(crate) enum Refusal {
    /// It is not YAML as this program reads it; the lenient reading may still succeed. The
    /// diagnostic is a warning.
    Syntax(Diagnostic),
    /// Its aliases make it too large. The diagnostic is an error.
    TooLarge(Diagnostic),
}

/// Reads one YAML document, whose first line counts as `first_line`. Its weight, in bytes of text
/// and one for each node, counts as if its aliases were written out; it is taken from the `budget`.
pub(crate) fn parse(yaml: &str, first_line: usize, budget: &mut usize) -> Result<Node, Refusal> {
    parse_nested(yaml, first_line, MAX_NESTING, 1, budget)
}

/// The same with lists and maps that are nested up to this many levels, and nodes of this weight.
pub(crate) fn parse_nested(
    yaml: &str,
    first_line: usize,
    max_nesting: usize,
    node_weight: usize,
    budget: &mut usize,
) -> Result<Node, Refusal> {
    let control =
        |&(_, character): &(usize, char)| character.is_control() && !"\n\r\t".contains(character);
    if let Some((at, character)) = yaml.char_indices().find(control) {
        // The parser takes NUL for the end of the text.
        let message = format!("a control character (U+{:04X})", u32::from(character));
        return syntax(
            Position::in_text(yaml, at, first_line),
            message,
            "delete it",
        );
    }
    let start = Position {
        line: first_line,
        column: 1,
    };
    let mut builder = Builder {
        open: Vec::new(),
        anchors: HashMap::new(),
        root: Node {
            position: start,
            value: Value::Null(String::new()),
        },
        weight: 0,
        budget: *budget,
        max_nesting,
        node_weight,
    };
    let mut documents = 0;
    let mut parser = Parser::new_from_str(yaml);
    let position = |at: &Marker| Position {
        line: first_line + at.line().saturating_sub(1),
        column: at.col() + 1,
    };
    loop {
        let (event, at) = match parser.next_token() {
            Ok((event, at)) => (event, position(&at)),
            Err(error) => {
                return syntax(
                    position(error.marker()),
                    error.info(),
                    "put the value in quotes if it is text",
                );
            }
        };
        match event {
            Event::StreamEnd => {
                *budget -= builder.weight;
                return Ok(builder.root);
            }
            Event::DocumentStart => {
                documents += 1;
                if documents > 1 {
                    return syntax(
                        at,
                        "a second YAML document",
                        "keep one, and delete what is not part of it",
                    );
                }
            }
            Event::SequenceStart(anchor, _) => builder.open(anchor, at, Value::List(Vec::new()))?,
            Event::MappingStart(anchor, _) => builder.open(anchor, at, Value::Map(Vec::new()))?,
            Event::SequenceEnd | Event::MappingEnd => builder.close()?,
            Event::Scalar(text, style, anchor, tag) => {
                let weight = node_weight + text.len();
                builder.weigh(weight, at)?;
                let is_null = style == TScalarStyle::Plain
                    && tag.is_none()
                    && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL");
                let is_quoted = matches!(
                    style,
                    TScalarStyle::SingleQuoted | TScalarStyle::DoubleQuoted
                );
                let value = if is_null {
                    Value::Null(text)
                } else {
                    Value::Text { text, is_quoted }
                };
                builder.push(
                    Node {
                        position: at,
                        value,
                    },
                    anchor,
                    weight,
                )?;
            }
            Event::Alias(anchor) => {
                let weight = builder
                    .anchors
                    .get(&anchor)
                    .map_or(node_weight, |(_, weight)| *weight);
                builder.weigh(weight, at)?;
                // An alias within what it names has no value yet.
                let value = builder
                    .anchors
                    .get(&anchor)
                    .map(|(node, _)| node.value.clone());
                let value = value.unwrap_or(Value::Null(String::new()));
                builder.push(
                    Node {
                        position: at,
                        value,
                    },
                    0,
                    weight,
                )?;
            }
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
        }
    }
}

fn syntax<T>(
    at: Position,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal::Syntax(Diagnostic::warning(Some(at), message, fix)))
}

struct Builder {
    /// The lists and maps that are not closed yet.
    open: Vec<Open>,
    /// What each anchor names, and its weight.
    anchors: HashMap<usize, (Node, usize)>,
    root: Node,
    weight: usize,
    budget: usize,
    max_nesting: usize,
    node_weight: usize,
}

struct Open {
    node: Node,
    anchor: usize,
    /// The weight of everything before it.
    weight_before: usize,
    /// In a map: the key whose value comes next.
    key: Option<(String, Position)>,
}

impl Builder {
    fn weigh(&mut self, weight: usize, at: Position) -> Result<(), Refusal> {
        self.weight += weight;
        if self.weight <= self.budget {
            return Ok(());
        }
        Err(Refusal::TooLarge(Diagnostic::error(
            Some(at),
            "with its aliases (`*name`) expanded, the YAML is too large",
            "write the values out instead of repeating them with aliases",
        )))
    }

    fn open(&mut self, anchor: usize, at: Position, value: Value) -> Result<(), Refusal> {
        let weight_before = self.weight;
        self.weigh(self.node_weight, at)?;
        let node = Node {
            position: at,
            value,
        };
        self.open.push(Open {
            node,
            anchor,
            weight_before,
            key: None,
        });
        if self.open.len() > self.max_nesting {
            let message = format!(
                "lists or maps nested deeper than {} levels",
                self.max_nesting
            );
            return syntax(at, message, "put the value in quotes if it is text");
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refusal> {
        let Some(mut closed) = self.open.pop() else {
            return Ok(());
        };
        if let Value::Map(fields) = &closed.node.value {
            // The parser sees that a block map begins only after its first key.
            let first = fields
                .first()
                .map_or(closed.node.position, |field| field.position);
            closed.node.position = closed.node.position.min(first);
        }
        self.push(
            closed.node,
            closed.anchor,
            self.weight - closed.weight_before,
        )
    }

    /// Adds a complete node to what is open.
    fn push(&mut self, node: Node, anchor: usize, weight: usize) -> Result<(), Refusal> {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = node;
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::Map(fields), Some((key, position))) => fields.push(Field {
                key,
                position,
                node,
            }),
            (Value::Map(_), None) => {
                let (Value::Text { text, .. } | Value::Null(text)) = node.value else {
                    return syntax(
                        node.position,
                        "a key that is a list or a map",
                        "put it in quotes if it is text",
                    );
                };
                open.key = Some((text, node.position));
            }
            (Value::List(nodes), _) => nodes.push(node),
            (Value::Text { .. } | Value::Null(_), _) => {} // never open
        }
        Ok(())
    }
}

/// A value as YAML in one line.
pub(crate) fn in_one_line(node: &Node) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match &node.value {
        Value::Null(_) => "null".to_owned(),
        Value::Text {
            text,
            is_quoted: false,
        } if is_plain(text) => text.clone(),
        Value::Text { text, .. } => in_double_quotes(text),
        Value::List(nodes) => format!("[{}]", joined(nodes.iter().map(in_one_line).collect())),
        Value::Map(fields) => {
            let field =
                |Field { key, node, .. }: &Field| format!("{}: {}", as_key(key), in_one_line(node));
            format!("{{{}}}", joined(fields.iter().map(field).collect()))
        }
    }
}

/// A key of a map.
pub(crate) fn as_key(key: &str) -> String {
    if is_plain(key) {
        key.to_owned()
    } else {
        in_double_quotes(key)
    }
}

/// Whether a text without quotes is the same to YAML, also within brackets.
fn is_plain(text: &str) -> bool {
    let is_usual = |letter: char| letter.is_alphanumeric() || " _-./()+=$;".contains(letter);
    text.starts_with(|first: char| first.is_alphanumeric() || "_./($+".contains(first))
        && !text.ends_with(' ')
        && text.chars().all(is_usual)
}

/// A text as a YAML value in double quotes, in one line.
pub(crate) fn in_double_quotes(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\u{feff}' | '\u{2028}' | '\u{2029}' => {
                quoted += &format!("\\u{:04x}", u32::from(character))
            }
            other if other.is_control() => quoted += &format!("\\u{:04x}", u32::from(other)),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}
