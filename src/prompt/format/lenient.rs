//! Parses frontmatter that isn't valid YAML, key by key.
//!
//! A value that isn't valid YAML on its own is read as a string.

use super::quotes::unquoted;
use super::value_line::{ValueLine, ValueLines, is_comment, is_plain_key, split_key};
use super::yaml::{self, Field, Node, Value, YamlError};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;

/// Splits frontmatter at the lines that begin with a key, and parses the value of each key on its
/// own. An invalid value is read as a string, e.g. `a: b` in the line `title: a: b`.
///
/// Adds a warning for each error. `first_line` is the line of the file in which `yaml` begins,
/// and the size of the values is subtracted from `budget` (see [`yaml::parse`]).
///
/// # Errors
/// Fails if the values, with their aliases expanded, are larger than `budget`.
pub(super) fn parse_fields(
    yaml: &str,
    first_line: usize,
    budget: &mut usize,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Field>, Diagnostic> {
    let mut fields = Vec::new();
    let mut lines = (first_line..).zip(yaml.split_inclusive('\n')).peekable();
    while let Some((number, line)) = lines.next() {
        let Some((key, inline_value)) = split_unindented_key(line) else {
            if !is_empty_or_comment(line) {
                warnings.push(missing_key_warning(line, number));
            }
            continue;
        };
        let mut text = line.to_owned();
        while let Some((_, value_line)) = lines.next_if(|(_, line)| is_in_block(line)) {
            text += value_line;
        }
        let block = KeyBlock {
            key,
            inline_value,
            text: &text,
            line: number,
        };
        fields.push(Field {
            key: key.to_owned(),
            position: block.position(),
            node: block.parse_value(budget, warnings)?,
        });
    }
    Ok(fields)
}

/// Returns whether a line belongs to the key above it. It may also close a list or map.
fn is_in_block(line: &str) -> bool {
    continues_value(line) || line.starts_with([']', '}'])
}

/// Returns whether a line belongs to the value of the key above it.
fn continues_value(line: &str) -> bool {
    line.starts_with([' ', '\t', '-']) || is_empty_or_comment(line)
}

fn missing_key_warning(line: &str, number: usize) -> Diagnostic {
    let position = Position::at_line(number);
    let quoted_line = quoted(line.trim());
    Diagnostic::warning(
        Some(position),
        format!("the line {quoted_line} has no `key: value`, and is ignored"),
        "give it a key, or delete it",
    )
}

/// A key and all lines of its value.
struct KeyBlock<'y> {
    key: &'y str,
    /// The part of the value that is on the same line as the key.
    inline_value: &'y str,
    /// All lines, including the one with the key.
    text: &'y str,
    /// The line number of the key.
    line: usize,
}

impl KeyBlock<'_> {
    fn position(&self) -> Position {
        Position::at_line(self.line)
    }

    /// Parses the value as YAML; if that fails, with quotes around the parts that are invalid; and
    /// if that fails, as a string. Adds at least one warning unless the first attempt succeeds.
    ///
    /// # Errors
    /// Fails if the value is larger than `budget`.
    fn parse_value(
        &self,
        budget: &mut usize,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Node, Diagnostic> {
        if let Some(node) = self.parse_yaml(self.text, budget)? {
            return Ok(node);
        }
        let quoted_block = quote_invalid_values(self.text, self.line);
        if quoted_block.warnings.is_empty() {
            warnings.push(self.invalid_value_warning());
            return Ok(self.to_string_node());
        }
        warnings.extend(quoted_block.warnings);
        match self.parse_yaml(&quoted_block.text, budget)? {
            Some(node) => Ok(node),
            None => Ok(self.to_string_node()),
        }
    }

    fn invalid_value_warning(&self) -> Diagnostic {
        Diagnostic::warning(
            Some(self.position()),
            format!(
                "{} is read as text, because it is not valid YAML",
                quoted(self.key)
            ),
            "put a text in quotes, or indent all lines of a list with the same number of spaces",
        )
    }

    /// Parses `text` as YAML and returns the value of the key. Returns `None` if it isn't valid
    /// YAML, or isn't a map with only this key.
    ///
    /// # Errors
    /// Fails if the value is larger than `budget`.
    fn parse_yaml(&self, text: &str, budget: &mut usize) -> Result<Option<Node>, Diagnostic> {
        let node = match yaml::parse(text, self.line, budget) {
            Ok(node) => node,
            Err(YamlError::TooLarge(error)) => return Err(error),
            Err(YamlError::Syntax(_)) => return Ok(None),
        };
        Ok(only_value(node, self.key))
    }

    /// Joins the lines of the value into one string, without comments and blank lines.
    fn to_string_node(&self) -> Node {
        let mut texts = vec![self.inline_value];
        texts.extend(self.text.lines().skip(1).map(str::trim));
        texts.retain(|text| !text.is_empty() && !is_comment(text));
        let text = texts.join(" ");
        Node {
            position: self.position(),
            value: Value::Scalar {
                text: unquoted(&text).to_owned(),
                is_quoted: false,
            },
        }
    }
}

/// Returns the value of a key if the node is a map with only this key.
fn only_value(node: Node, key: &str) -> Option<Node> {
    let Value::Map(mut fields) = node.value else {
        return None;
    };
    let field = fields.pop()?;
    if field.key != key || !fields.is_empty() {
        return None;
    }
    Some(field.node)
}

/// The lines of a value with quotes around those parts that aren't valid YAML.
struct QuotedBlock {
    text: String,
    /// A warning for each part.
    warnings: Vec<Diagnostic>,
}

/// Puts quotes around each value that isn't valid YAML: the line `  - title: a: b` becomes
/// `  - title: "a: b"`. The number of lines stays the same.
///
/// The contents of a block scalar (`key: |` or `key: >`) are not changed.
fn quote_invalid_values(block: &str, first_line: usize) -> QuotedBlock {
    let lines: Vec<&str> = block.split_inclusive('\n').collect();
    let mut text = String::new();
    let mut warnings = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let number = first_line + index;
        let Some(value) = ValueLines::read(&lines[index..]) else {
            text += lines[index];
            index += 1;
            continue;
        };
        index += value.lines.len();
        let joined = value.joined();
        match ValueLine::parse(&joined) {
            Some(value_line) if !value.is_block_scalar() && !value.is_valid() => {
                warnings.push(value_line.warning(value.position(number)));
                text += &value.with_quotes(&value_line);
            }
            _ => text += &value.lines.concat(), // the lines have their line breaks
        }
    }
    QuotedBlock { text, warnings }
}

/// Returns whether any line begins with a key such as `title:`.
pub(super) fn has_any_key(yaml: &str) -> bool {
    yaml.lines().any(has_key)
}

/// Returns whether a line begins with a key that is one word, e.g. `title: x`.
pub(super) fn has_key(line: &str) -> bool {
    split_unindented_key(line).is_some_and(|(key, _)| is_plain_key(key))
}

/// Returns whether a line can be part of frontmatter: it has a key, or may belong to the one above.
pub(super) fn belongs_to_keys(line: &str) -> bool {
    has_key(line) || continues_value(line)
}

pub(super) fn is_empty_or_comment(line: &str) -> bool {
    matches!(line.trim_start().chars().next(), None | Some('#'))
}

/// Splits a line that isn't indented, such as `key: value`, into its key and value. Returns `None`
/// if it is indented or [`split_key`] finds no key.
pub(super) fn split_unindented_key(line: &str) -> Option<(&str, &str)> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    split_key(line)
}
