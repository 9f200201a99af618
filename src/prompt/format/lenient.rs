//! Parses frontmatter that isn't valid YAML, key by key.
//!
//! A value that isn't valid YAML on its own is read as a string.

use super::quotes::unquoted;
use super::value_line::{ValueLine, ValueLines, is_plain_key, split_key};
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
        format!("the line {quoted_line} is not a `key: value`, and is ignored"),
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
        let mut quote_warnings = Vec::new();
        let text_with_quotes = quote_invalid_values(self.text, self.line, &mut quote_warnings);
        let is_unchanged = quote_warnings.is_empty();
        warnings.append(&mut quote_warnings);
        if let Some(node) = self.parse_yaml(&text_with_quotes, budget)? {
            return Ok(node);
        }
        if is_unchanged {
            warnings.push(Diagnostic::warning(
                Some(self.position()),
                format!(
                    "{} is read as text, because it is not valid YAML",
                    quoted(self.key)
                ),
                "put a text in quotes, or indent all lines of a list with the same number of spaces",
            ));
        }
        Ok(self.to_string_node())
    }

    /// Parses `text` as YAML and returns the value of the key. Returns `None` if it isn't valid
    /// YAML, or isn't a map with only this key.
    ///
    /// # Errors
    /// Fails if the value is larger than `budget`.
    fn parse_yaml(&self, text: &str, budget: &mut usize) -> Result<Option<Node>, Diagnostic> {
        match yaml::parse(text, self.line, budget) {
            Ok(Node {
                value: Value::Map(mut map),
                ..
            }) if map.len() == 1 && map[0].key == self.key => Ok(map.pop().map(|field| field.node)),
            Err(YamlError::TooLarge(error)) => Err(error),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Joins the lines of the value into one string, without comments and blank lines.
    fn to_string_node(&self) -> Node {
        let mut text = unquoted(self.inline_value).to_owned();
        for line in self.text.lines().skip(1) {
            if !is_empty_or_comment(line) {
                text.push(' ');
                text += line.trim();
            }
        }
        Node {
            position: self.position(),
            value: Value::Scalar {
                text,
                is_quoted: false,
            },
        }
    }
}

/// Puts quotes around each value that isn't valid YAML, and adds a warning about it: the line
/// `  - title: a: b` becomes `  - title: "a: b"`. The number of lines stays the same.
///
/// The contents of a block scalar (`key: |` or `key: >`) are not changed.
fn quote_invalid_values(block: &str, first_line: usize, warnings: &mut Vec<Diagnostic>) -> String {
    let lines: Vec<&str> = block.split_inclusive('\n').collect();
    let mut output = String::new();
    let mut index = 0;
    while index < lines.len() {
        let number = first_line + index;
        let Some(value) = ValueLines::read(&lines[index..]) else {
            output += lines[index];
            index += 1;
            continue;
        };
        let joined = value.joined();
        let value_line = ValueLine::parse(&joined);
        match value_line {
            Some(value_line) if !value.is_block_scalar() && !value.is_valid() => {
                warnings.push(value_line.warning(number));
                output += &value_line.with_quotes();
                output += &"\n".repeat(value.lines.len() - 1);
            }
            _ => output += &value.lines.concat(),
        }
        index += value.lines.len();
    }
    output
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
