//! A YAML parser that returns a tree of [`Node`]s with their positions.
//!
//! It builds the tree from the events of yaml-rust2's parser, because yaml-rust2's own loader is
//! not safe for untrusted files: it recurses for each level of nesting (20,000 levels of `- `
//! overflow the stack) and expands aliases without a limit (eight levels of nine aliases exhaust
//! the memory). Nor does it record positions and quotes.

use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::{MAX_NESTING, MAX_YAML_SIZE};
use std::collections::HashMap;
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) position: Position,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Null, with its source: nothing, `~` or `null`. Where only a string is allowed, e.g. as a
    /// key, the source is used as that string.
    Null(String),
    /// Any other scalar. Numbers and booleans are not converted: `text` is their source.
    Scalar {
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

/// The reason why a document was rejected.
#[derive(Debug, PartialEq)]
pub(crate) enum YamlError {
    /// It is not valid YAML, or uses YAML that isn't supported. The diagnostic is only a warning,
    /// because lenient parsing may still succeed.
    Syntax(Diagnostic),
    /// It is too large with its aliases expanded. The diagnostic is an error.
    TooLarge(Diagnostic),
}

/// The fix for most syntax errors.
const QUOTE_VALUE: &str = "put the value in quotes if it is text";

/// Limits that depend on the kind of document. Its maximum size is passed separately, as a budget.
#[derive(Clone, Copy)]
pub(crate) struct NodeLimits {
    /// The maximum depth of lists and maps.
    pub(crate) max_nesting: usize,
    /// What each node adds to the size of the document, besides the bytes of its text.
    pub(crate) node_overhead: usize,
}

impl Value {
    /// The value of an empty document.
    const EMPTY: Value = Value::Null(String::new());
}

/// Parses the YAML of a prompt file. `first_line` is the line of the file in which it begins.
///
/// Its size, i.e. the bytes of all scalars plus 1 for each node, with aliases expanded, is
/// subtracted from `budget`.
///
/// # Errors
/// Fails if the text isn't a single YAML document, is nested deeper than [`MAX_NESTING`], or is
/// larger than `budget`, which is left unchanged then.
pub(crate) fn parse(yaml: &str, first_line: usize, budget: &mut usize) -> Result<Node, YamlError> {
    let limits = NodeLimits {
        max_nesting: MAX_NESTING,
        node_overhead: 1,
    };
    parse_within(yaml, first_line, limits, budget)
}

/// Parses a text without its positions. Returns `None` if it is invalid, or larger than
/// [`MAX_YAML_SIZE`].
pub(crate) fn parse_value(yaml: &str) -> Option<Value> {
    let any_line = 1;
    let mut budget = MAX_YAML_SIZE;
    let node = parse(yaml, any_line, &mut budget).ok()?;
    Some(node.value)
}

/// Parses a YAML document within the given limits. `first_line` is the line of the file in which it
/// begins.
///
/// Its size, i.e. the bytes of all scalars plus `limits.node_overhead` for each node, with aliases
/// expanded, is subtracted from `budget`.
///
/// # Errors
/// Fails if the text isn't a single YAML document, is nested too deep, or is larger than `budget`,
/// which is left unchanged then.
pub(crate) fn parse_within(
    yaml: &str,
    first_line: usize,
    limits: NodeLimits,
    budget: &mut usize,
) -> Result<Node, YamlError> {
    reject_control_characters(yaml, first_line)?;
    let mut parser = Parser::new_from_str(yaml);
    let mut builder = TreeBuilder {
        open: Vec::new(),
        anchors: HashMap::new(),
        root: Node {
            position: Position::at_line(first_line),
            value: Value::EMPTY,
        },
        document_count: 0,
        size: 0,
        max_size: *budget,
        limits,
    };
    loop {
        let (event, marker) = parser.next_token().map_err(|error| {
            let position = position_of(error.marker(), first_line);
            syntax_error(position, error.info(), QUOTE_VALUE)
        })?;
        if event == Event::StreamEnd {
            break;
        }
        builder.add_event(event, position_of(&marker, first_line))?;
    }
    *budget -= builder.size; // cannot underflow: `add_size` keeps `size` within `max_size`
    Ok(builder.root)
}

/// Rejects control characters. The parser would stop silently at a NUL.
fn reject_control_characters(yaml: &str, first_line: usize) -> Result<(), YamlError> {
    for (offset, character) in yaml.char_indices() {
        if character.is_control() && !"\n\r\t".contains(character) {
            let position = Position::in_text(yaml, offset, first_line);
            let message = format!("a control character (U+{:04X})", u32::from(character));
            return Err(syntax_error(position, message, "delete it"));
        }
    }
    Ok(())
}

/// Converts a marker of the parser into a position in the file.
fn position_of(marker: &Marker, first_line: usize) -> Position {
    Position {
        // The parser counts lines from 1, but the stream itself starts at line 0.
        line: first_line + marker.line().saturating_sub(1),
        column: marker.col() + 1,
    }
}

fn syntax_error(
    position: Position,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> YamlError {
    YamlError::Syntax(Diagnostic::warning(Some(position), message, fix))
}

/// Builds the tree from the events of the parser.
struct TreeBuilder {
    /// The stack of open lists and maps; the innermost one is last.
    open: Vec<OpenNode>,
    /// The values that aliases can refer to, by the number that the parser gave to the anchor.
    anchors: HashMap<usize, AnchoredValue>,
    root: Node,
    document_count: usize,
    /// The size of the document so far, with aliases expanded.
    size: usize,
    max_size: usize,
    limits: NodeLimits,
}

/// A list or map whose end has not been reached.
struct OpenNode {
    node: Node,
    anchor: usize,
    /// The size of the document before this node.
    size_before: usize,
    /// In a map: the key whose value comes next.
    key: Option<OpenKey>,
}

struct OpenKey {
    key: String,
    position: Position,
}

/// The value of a node that has an anchor, such as `&a x`.
struct AnchoredValue {
    value: Value,
    size: usize,
}

/// The number that the parser gives to nodes without an anchor.
const NO_ANCHOR: usize = 0;

impl TreeBuilder {
    fn add_event(&mut self, event: Event, position: Position) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart => self.start_document(position),
            Event::SequenceStart(anchor, _) => {
                self.open_collection(anchor, position, Value::List(Vec::new()))
            }
            Event::MappingStart(anchor, _) => {
                self.open_collection(anchor, position, Value::Map(Vec::new()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(),
            Event::Scalar(text, style, anchor, tag) => {
                let size = self.limits.node_overhead + text.len();
                self.add_size(size, position)?;
                let node = Node {
                    position,
                    value: scalar_value(text, style, tag.is_some()),
                };
                self.push_node(node, anchor, size)
            }
            Event::Alias(anchor) => self.add_alias(anchor, position),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    /// Rejects a second document.
    fn start_document(&mut self, position: Position) -> Result<(), YamlError> {
        self.document_count += 1;
        if self.document_count == 1 {
            return Ok(());
        }
        let fix = "keep one, and delete what is not part of it";
        Err(syntax_error(position, "a second YAML document", fix))
    }

    /// Adds a copy of the anchored value: `[&a x, *a]` is read as `[x, x]`.
    ///
    /// An alias inside its own anchor, as in `&a [*a]`, is read as null.
    fn add_alias(&mut self, anchor: usize, position: Position) -> Result<(), YamlError> {
        let size = match self.anchors.get(&anchor) {
            Some(anchored) => anchored.size,
            None => self.limits.node_overhead,
        };
        // Must come before the clone, which could be huge.
        self.add_size(size, position)?;
        let value = match self.anchors.get(&anchor) {
            Some(anchored) => anchored.value.clone(),
            None => Value::EMPTY,
        };
        let node = Node { position, value };
        self.push_node(node, NO_ANCHOR, size)
    }

    /// Adds to the size of the document, and fails if it becomes too large. `position` is that of
    /// the node that was added.
    fn add_size(&mut self, size: usize, position: Position) -> Result<(), YamlError> {
        self.size += size;
        if self.size <= self.max_size {
            return Ok(());
        }
        Err(YamlError::TooLarge(Diagnostic::error(
            Some(position),
            "with its aliases (`*name`) expanded, the YAML is too large",
            "write the values out instead of repeating them with aliases",
        )))
    }

    /// Starts a list or a map.
    fn open_collection(
        &mut self,
        anchor: usize,
        position: Position,
        value: Value,
    ) -> Result<(), YamlError> {
        let size_before = self.size;
        self.add_size(self.limits.node_overhead, position)?;
        self.open.push(OpenNode {
            node: Node { position, value },
            anchor,
            size_before,
            key: None,
        });
        let max_nesting = self.limits.max_nesting;
        if self.open.len() > max_nesting {
            let message = format!("lists or maps nested deeper than {max_nesting} levels");
            return Err(syntax_error(position, message, QUOTE_VALUE));
        }
        Ok(())
    }

    /// Ends the innermost open list or map, and adds it to the one around it.
    fn close_collection(&mut self) -> Result<(), YamlError> {
        let Some(closed) = self.open.pop() else {
            return Ok(());
        };
        let mut node = closed.node;
        if let Value::Map(fields) = &node.value
            && let Some(first) = fields.first()
        {
            // The parser reports the start of a block map only after its first key.
            node.position = node.position.min(first.position);
        }
        let size = self.size - closed.size_before;
        self.push_node(node, closed.anchor, size)
    }

    /// Adds a complete node to the innermost open list or map, or makes it the root if there is
    /// none. In a map, nodes alternate between keys and values.
    fn push_node(&mut self, node: Node, anchor: usize, size: usize) -> Result<(), YamlError> {
        if anchor != NO_ANCHOR {
            let value = node.value.clone();
            self.anchors.insert(anchor, AnchoredValue { value, size });
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = node;
            return Ok(());
        };
        match &mut parent.node.value {
            Value::List(nodes) => nodes.push(node),
            Value::Map(fields) => match parent.key.take() {
                None => parent.key = Some(into_open_key(node)?),
                Some(open_key) => fields.push(Field {
                    key: open_key.key,
                    position: open_key.position,
                    node,
                }),
            },
            Value::Scalar { .. } | Value::Null(_) => {} // Only lists and maps are ever open.
        }
        Ok(())
    }
}

/// Converts a scalar. `~` and `null` are null unless they are quoted or tagged: `!!str null`.
fn scalar_value(text: String, style: TScalarStyle, has_tag: bool) -> Value {
    let can_be_null = style == TScalarStyle::Plain && !has_tag;
    if can_be_null && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL") {
        return Value::Null(text);
    }
    Value::Scalar {
        text,
        is_quoted: matches!(
            style,
            TScalarStyle::SingleQuoted | TScalarStyle::DoubleQuoted
        ),
    }
}

/// Converts a node into the key of a map. Fails if it is a list or a map itself.
fn into_open_key(node: Node) -> Result<OpenKey, YamlError> {
    match node.value {
        Value::Scalar { text: key, .. } | Value::Null(key) => Ok(OpenKey {
            key,
            position: node.position,
        }),
        Value::List(_) | Value::Map(_) => Err(syntax_error(
            node.position,
            "a key that is a list or a map",
            "put it in quotes if it is text",
        )),
    }
}

/// Formats a node as YAML on one line, e.g. `{name: x, tags: [a, "b: c"]}`.
pub(crate) fn to_flow_style(node: &Node) -> String {
    match &node.value {
        Value::Null(_) => "null".to_owned(),
        Value::Scalar {
            text,
            is_quoted: false,
        } if is_plain(text) => text.clone(),
        Value::Scalar { text, .. } => in_double_quotes(text),
        Value::List(nodes) => {
            let items: Vec<String> = nodes.iter().map(to_flow_style).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(fields) => {
            let entries: Vec<String> = fields
                .iter()
                .map(|field| format!("{}: {}", as_key(&field.key), to_flow_style(&field.node)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Formats a map key, with quotes if YAML needs them: `my key`, `"a: b"`.
pub(crate) fn as_key(key: &str) -> String {
    if is_plain(key) {
        key.to_owned()
    } else {
        in_double_quotes(key)
    }
}

/// Returns whether YAML can represent the text without quotes, even inside `[a, b]`.
///
/// This is stricter than YAML, so some texts are quoted without need.
pub(super) fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphanumeric() || "_./($+".contains(first))
        && !text.ends_with(' ')
        && text
            .chars()
            .all(|letter| letter.is_alphanumeric() || " _-./()+=$;".contains(letter))
}

/// Formats a text as a double-quoted YAML string on one line, e.g. `"say \"hi\"\n"`.
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

/// Appends an escape such as `\u2028`. The character must be at most U+FFFF.
fn push_escaped(text: &mut String, character: char) {
    *text += &format!("\\u{:04x}", u32::from(character));
}
