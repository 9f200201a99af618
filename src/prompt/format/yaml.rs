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
    /// No value, with the word that is written for it: nothing, `~` or `null`. As an item of a
    /// list of texts, or as a key, the word is a text.
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
pub(crate) enum YamlError {
    /// It is not YAML as this program reads it; the lenient reading may still succeed. The
    /// diagnostic is a warning.
    Syntax(Diagnostic),
    /// Its aliases make it too large. The diagnostic is an error.
    TooLarge(Diagnostic),
}

/// What to do about most texts that are not YAML.
const QUOTE_VALUE: &str = "put the value in quotes if it is text";

/// What a text may cost.
#[derive(Clone, Copy)]
pub(crate) struct NodeLimits {
    /// How many lists and maps may be within each other.
    pub(crate) max_nesting: usize,
    /// The weight of each value, besides the bytes of its text.
    pub(crate) node_overhead: usize,
}

impl Value {
    /// The value of a document without any text.
    const NOTHING: Value = Value::Null(String::new());
}

/// Reads one YAML document, whose first line counts as `first_line`.
///
/// The weight of a document is the bytes of its texts, and one for each value, as if its aliases
/// were written out. If the document is read, the `budget` becomes smaller by its weight.
///
/// # Errors
/// Fails if the text is not YAML, is nested deeper than [`MAX_NESTING`], or weighs more than the
/// `budget`. The budget stays as it was.
pub(crate) fn parse(yaml: &str, first_line: usize, budget: &mut usize) -> Result<Node, YamlError> {
    let limits = NodeLimits {
        max_nesting: MAX_NESTING,
        node_overhead: 1,
    };
    parse_within(yaml, first_line, limits, budget)
}

/// Reads one YAML document, whose first line counts as `first_line`, within these limits.
///
/// If the document is read, the `budget` becomes smaller by its weight.
///
/// # Errors
/// Fails if the text is not YAML, is nested too deep, or weighs more than the `budget`. The budget
/// stays as it was, so that the text can be read in another way.
pub(crate) fn parse_within(
    yaml: &str,
    first_line: usize,
    limits: NodeLimits,
    budget: &mut usize,
) -> Result<Node, YamlError> {
    refuse_control_characters(yaml, first_line)?;
    let mut parser = Parser::new_from_str(yaml);
    let mut builder = Builder {
        open: Vec::new(),
        anchors: HashMap::new(),
        root: Node {
            position: Position::at_line(first_line),
            value: Value::NOTHING,
        },
        document_count: 0,
        weight: 0,
        max_weight: *budget,
        limits,
    };
    loop {
        let (event, marker) = parser.next_token().map_err(|error| {
            let at = position_of(error.marker(), first_line);
            syntax_refusal(at, error.info(), QUOTE_VALUE)
        })?;
        if event == Event::StreamEnd {
            break;
        }
        builder.add_event(event, position_of(&marker, first_line))?;
    }
    *budget -= builder.weight; // not less than zero, because the builder checks `max_weight`
    Ok(builder.root)
}

/// Refuses control characters. The parser would treat NUL as the end of the text.
fn refuse_control_characters(yaml: &str, first_line: usize) -> Result<(), YamlError> {
    for (offset, character) in yaml.char_indices() {
        if character.is_control() && !"\n\r\t".contains(character) {
            let at = Position::in_text(yaml, offset, first_line);
            let message = format!("a control character (U+{:04X})", u32::from(character));
            return Err(syntax_refusal(at, message, "delete it"));
        }
    }
    Ok(())
}

/// Returns the position of a marker of the parser, which counts lines from 1, or from 0 before the
/// first event, and columns from 0.
fn position_of(marker: &Marker, first_line: usize) -> Position {
    Position {
        line: first_line + marker.line().saturating_sub(1),
        column: marker.col() + 1,
    }
}

/// Returns the refusal of a text that the lenient reading may still accept.
fn syntax_refusal(at: Position, message: impl Into<String>, fix: impl Into<String>) -> YamlError {
    YamlError::Syntax(Diagnostic::warning(Some(at), message, fix))
}

/// Builds the tree from the events of the parser.
struct Builder {
    /// The lists and maps that are not closed yet, each within the one before it.
    open: Vec<OpenNode>,
    anchors: HashMap<usize, Anchored>,
    root: Node,
    document_count: usize,
    /// The weight of all nodes so far.
    weight: usize,
    /// The most that they may weigh together.
    max_weight: usize,
    limits: NodeLimits,
}

/// A list or a map that is not closed yet.
struct OpenNode {
    node: Node,
    anchor: usize,
    /// The weight of everything before it.
    weight_before: usize,
    /// In a map: the key whose value comes next.
    key: Option<OpenKey>,
}

struct OpenKey {
    key: String,
    position: Position,
}

/// What an anchor names.
struct Anchored {
    value: Value,
    weight: usize,
}

/// The number that the parser gives to a node without an anchor.
const NO_ANCHOR: usize = 0;

impl Builder {
    /// Adds what an event of the parser says: a value, or the beginning or the end of a list or
    /// map.
    fn add_event(&mut self, event: Event, at: Position) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart => self.begin_document(at),
            Event::SequenceStart(anchor, _) => self.open(anchor, at, Value::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.open(anchor, at, Value::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Scalar(text, style, anchor, tag) => {
                let weight = self.limits.node_overhead + text.len();
                self.add_weight(weight, at)?;
                let node = Node {
                    position: at,
                    value: scalar_value(text, style, tag.is_some()),
                };
                self.push(node, anchor, weight)
            }
            Event::Alias(anchor) => self.add_alias(anchor, at),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    /// Refuses a second document.
    fn begin_document(&mut self, at: Position) -> Result<(), YamlError> {
        self.document_count += 1;
        if self.document_count == 1 {
            return Ok(());
        }
        let fix = "keep one, and delete what is not part of it";
        Err(syntax_refusal(at, "a second YAML document", fix))
    }

    /// Adds a copy of the value that an anchor names: a second `x` for `[&a x, *a]`.
    ///
    /// An alias within the list or map that it names, as in `&a [*a]`, has no value yet, and stands
    /// for nothing.
    fn add_alias(&mut self, anchor: usize, at: Position) -> Result<(), YamlError> {
        let weight = match self.anchors.get(&anchor) {
            Some(anchored) => anchored.weight,
            None => self.limits.node_overhead,
        };
        // The weight is checked before the value is copied, because the copy may be huge.
        self.add_weight(weight, at)?;
        let value = match self.anchors.get(&anchor) {
            Some(anchored) => anchored.value.clone(),
            None => Value::NOTHING,
        };
        let node = Node {
            position: at,
            value,
        };
        self.push(node, NO_ANCHOR, weight)
    }

    /// Counts the weight of a value at this position, and refuses a text that weighs too much.
    fn add_weight(&mut self, weight: usize, at: Position) -> Result<(), YamlError> {
        self.weight += weight;
        if self.weight <= self.max_weight {
            return Ok(());
        }
        Err(YamlError::TooLarge(Diagnostic::error(
            Some(at),
            "with its aliases (`*name`) expanded, the YAML is too large",
            "write the values out instead of repeating them with aliases",
        )))
    }

    /// Begins a list or a map.
    fn open(&mut self, anchor: usize, at: Position, value: Value) -> Result<(), YamlError> {
        let weight_before = self.weight;
        self.add_weight(self.limits.node_overhead, at)?;
        self.open.push(OpenNode {
            node: Node {
                position: at,
                value,
            },
            anchor,
            weight_before,
            key: None,
        });
        let max_nesting = self.limits.max_nesting;
        if self.open.len() > max_nesting {
            let message = format!("lists or maps nested deeper than {max_nesting} levels");
            return Err(syntax_refusal(at, message, QUOTE_VALUE));
        }
        Ok(())
    }

    /// Ends the list or map that was opened last.
    fn close(&mut self) -> Result<(), YamlError> {
        let Some(closed) = self.open.pop() else {
            return Ok(());
        };
        let mut node = closed.node;
        if let Value::Map(fields) = &node.value
            && let Some(first) = fields.first()
        {
            // The parser sees that a block map begins only after its first key.
            node.position = node.position.min(first.position);
        }
        let weight = self.weight - closed.weight_before;
        self.push(node, closed.anchor, weight)
    }

    /// Adds a complete node to the innermost open list or map; without one, it is the root. In a
    /// map, every other node is a key. If the node has an anchor, its value is kept for aliases.
    fn push(&mut self, node: Node, anchor: usize, weight: usize) -> Result<(), YamlError> {
        if anchor != NO_ANCHOR {
            let value = node.value.clone();
            self.anchors.insert(anchor, Anchored { value, weight });
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = node;
            return Ok(());
        };
        match &mut parent.node.value {
            Value::List(nodes) => nodes.push(node),
            Value::Map(fields) => match parent.key.take() {
                None => parent.key = Some(as_open_key(node)?),
                Some(open_key) => fields.push(Field {
                    key: open_key.key,
                    position: open_key.position,
                    node,
                }),
            },
            Value::Text { .. } | Value::Null(_) => {} // These are never open.
        }
        Ok(())
    }
}

/// Returns the value for a scalar. A word for no value, such as `~` or `null`, is a text if it is in
/// quotes or has a tag, as in `!!str null`.
fn scalar_value(text: String, style: TScalarStyle, has_tag: bool) -> Value {
    let can_be_null = style == TScalarStyle::Plain && !has_tag;
    if can_be_null && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL") {
        return Value::Null(text);
    }
    Value::Text {
        text,
        is_quoted: matches!(
            style,
            TScalarStyle::SingleQuoted | TScalarStyle::DoubleQuoted
        ),
    }
}

/// Returns a node as the key of a map. A list or a map is refused as a key.
fn as_open_key(node: Node) -> Result<OpenKey, YamlError> {
    match node.value {
        Value::Text { text: key, .. } | Value::Null(key) => Ok(OpenKey {
            key,
            position: node.position,
        }),
        Value::List(_) | Value::Map(_) => Err(syntax_refusal(
            node.position,
            "a key that is a list or a map",
            "put it in quotes if it is text",
        )),
    }
}

/// Returns a value as YAML in one line, such as `{name: x, tags: [a, "b: c"]}`.
pub(crate) fn in_one_line(node: &Node) -> String {
    match &node.value {
        Value::Null(_) => "null".to_owned(),
        Value::Text {
            text,
            is_quoted: false,
        } if is_plain(text) => text.clone(),
        Value::Text { text, .. } => in_double_quotes(text),
        Value::List(nodes) => {
            let items: Vec<String> = nodes.iter().map(in_one_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(fields) => {
            let entries: Vec<String> = fields
                .iter()
                .map(|field| format!("{}: {}", as_key(&field.key), in_one_line(&field.node)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Returns a text as the key of a map, in quotes if YAML needs them: `my key`, or `"a: b"`.
pub(crate) fn as_key(key: &str) -> String {
    if is_plain(key) {
        key.to_owned()
    } else {
        in_double_quotes(key)
    }
}

/// Returns whether YAML reads the text without quotes as the same string, even in a list such as
/// `[a, b]`.
///
/// The rule is stricter than that of YAML: a text may contain `-`, but it may not begin with it,
/// because `- x` is an item of a list.
fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphanumeric() || "_./($+".contains(first))
        && !text.ends_with(' ')
        && text
            .chars()
            .all(|letter| letter.is_alphanumeric() || " _-./()+=$;".contains(letter))
}

/// Returns a text as a YAML value in double quotes, in one line: `"say \"hi\"\n"`.
pub(crate) fn in_double_quotes(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\u{feff}' | '\u{2028}' | '\u{2029}' => push_escaped(&mut quoted, character),
            _ if character.is_control() => push_escaped(&mut quoted, character),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Adds the escape of a character of the Basic Multilingual Plane, such as `\u2028`.
fn push_escaped(text: &mut String, character: char) {
    *text += &format!("\\u{:04x}", u32::from(character));
}
