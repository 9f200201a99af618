//! The lenient reading of a frontmatter that YAML refuses: line by line, as `key: value`.

use super::yaml::{self, Field, Node, Value, YamlError};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::MAX_YAML_SIZE;
use crate::wording::quoted;

/// The length in bytes of the longest value that a fix shows.
const MAX_LENGTH_IN_FIX: usize = 200;

/// Returns the keys that begin a line, each with the value in its lines, so that a mistake in one
/// value costs no other. A value that YAML refuses is read as text: `a: b` for the line
/// `title: a: b`. What is wrong is added to `warnings`.
///
/// # Errors
/// Fails if the values, with their aliases expanded, weigh more than the `budget`.
pub(super) fn fields(
    yaml: &str,
    first_line: usize,
    budget: &mut usize,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Field>, Diagnostic> {
    let mut fields = Vec::new();
    let mut lines = (first_line..).zip(yaml.split_inclusive('\n')).peekable();
    while let Some((number, line)) = lines.next() {
        let Some((key, first_value)) = key_of(line) else {
            if !is_empty_or_comment(line) {
                warnings.push(missing_key_warning(line, number));
            }
            continue;
        };
        let mut text = line.to_owned();
        while let Some((_, line)) = lines.next_if(|(_, line)| continues_value(line)) {
            text += line;
        }
        let block = KeyBlock {
            key,
            first_value,
            text: &text,
            line: number,
        };
        fields.push(Field {
            key: key.to_owned(),
            position: block.position(),
            node: block.node(budget, warnings)?,
        });
    }
    Ok(fields)
}

/// Returns whether a line belongs to the key in a line above it.
fn continues_value(line: &str) -> bool {
    line.starts_with([' ', '\t', '-']) || is_empty_or_comment(line)
}

/// Returns the warning about a line that has no key, and belongs to none above it.
fn missing_key_warning(line: &str, number: usize) -> Diagnostic {
    let position = Position::at_line(number);
    let quoted_line = quoted(line.trim());
    Diagnostic::warning(
        Some(position),
        format!("the line {quoted_line} is not a `key: value`, and is ignored"),
        "give it a key, or delete it",
    )
}

/// A key with all lines of its value.
struct KeyBlock<'y> {
    key: &'y str,
    /// What follows the key in its line.
    first_value: &'y str,
    /// All lines, with that of the key.
    text: &'y str,
    /// The number of the line of the key.
    line: usize,
}

impl KeyBlock<'_> {
    fn position(&self) -> Position {
        Position::at_line(self.line)
    }

    /// Returns the value: as YAML reads it, else with quotes around what YAML refuses, else as
    /// text. A value that is not read as written gets at least one warning.
    ///
    /// # Errors
    /// Fails if the value weighs more than the `budget`.
    fn node(&self, budget: &mut usize, warnings: &mut Vec<Diagnostic>) -> Result<Node, Diagnostic> {
        if let Some(node) = self.parse(self.text, budget)? {
            return Ok(node);
        }
        let text_with_quotes = quote_invalid_values(self.text, self.line, warnings);
        if let Some(node) = self.parse(&text_with_quotes, budget)? {
            return Ok(node);
        }
        let position = Some(self.position());
        // Warnings are in the order of the lines, so only the last one can be about these lines.
        let has_warning = warnings
            .last()
            .is_some_and(|warning| warning.position >= position);
        if !has_warning {
            warnings.push(Diagnostic::warning(
                position,
                format!(
                    "{} is read as text, because it is not valid YAML",
                    quoted(self.key)
                ),
                "put a text in quotes, or indent all lines of a list with the same number of spaces",
            ));
        }
        Ok(self.as_text())
    }

    /// Returns the value of the key in a text; `None` if YAML refuses the text, or finds another
    /// key in it.
    ///
    /// # Errors
    /// Fails if the text weighs more than the `budget`.
    fn parse(&self, text: &str, budget: &mut usize) -> Result<Option<Node>, Diagnostic> {
        match yaml::parse(text, self.line, budget) {
            Ok(Node {
                value: Value::Map(mut map),
                ..
            }) if map.len() == 1 && map[0].key == self.key => Ok(map.pop().map(|field| field.node)),
            Err(YamlError::TooLarge(error)) => Err(error),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Returns all lines of the value as one line of text, without comments and empty lines.
    fn as_text(&self) -> Node {
        let mut text = unquoted(self.first_value).to_owned();
        for line in self.text.lines().skip(1) {
            if !is_empty_or_comment(line) {
                text.push(' ');
                text += line.trim();
            }
        }
        Node {
            position: self.position(),
            value: Value::Text {
                text,
                is_quoted: false,
            },
        }
    }
}

/// Returns a block with quotes around each value that YAML refuses, and adds a warning about each:
/// `  - title: "a: b"` for `  - title: a: b`.
///
/// The lines of a text below `key: |` or `key: >`, which are indented deeper than the key, stay as
/// they are.
fn quote_invalid_values(block: &str, first_line: usize, warnings: &mut Vec<Diagnostic>) -> String {
    let mut output = String::new();
    // The indentation of the last key if its text is in the lines below it.
    let mut text_key_indent: Option<usize> = None;
    for (number, line) in (first_line..).zip(block.split_inclusive('\n')) {
        let indent = line.len() - line.trim_start().len();
        if let Some(key_indent) = text_key_indent
            && indent > key_indent
        {
            output += line;
            continue;
        }
        let Some(value_line) = ValueLine::of(line) else {
            output += line;
            continue;
        };
        text_key_indent = None;
        if value_line.value.starts_with(['|', '>']) {
            text_key_indent = Some(indent);
        }
        if value_line.is_valid(number) {
            output += line;
        } else {
            warnings.push(value_line.warning(number));
            output += &value_line.with_quotes();
        }
    }
    output
}

/// A line with a key and a value: `  - name: a: b`.
struct ValueLine<'l> {
    line: &'l str,
    /// The line without its indentation and the `-` of a list.
    item: &'l str,
    key: &'l str,
    value: &'l str,
}

impl<'l> ValueLine<'l> {
    /// Returns the key and the value of a line; `None` if it has no key, or no value.
    fn of(line: &'l str) -> Option<ValueLine<'l>> {
        let item = line.trim_start_matches([' ', '\t', '-']);
        let (key, value) = key_value(item)?;
        if value.is_empty() {
            return None;
        }
        Some(ValueLine {
            line,
            item,
            key,
            value,
        })
    }

    /// Returns whether YAML reads this line alone, without its indentation, as the key with a
    /// value.
    fn is_valid(&self, number: usize) -> bool {
        let mut budget = MAX_YAML_SIZE;
        match yaml::parse(self.item, number, &mut budget) {
            Ok(Node {
                value: Value::Map(map),
                ..
            }) => map.iter().all(|field| field.key == self.key),
            Ok(_) | Err(_) => false,
        }
    }

    /// Returns the warning that the value is read as text, at the position of the value.
    fn warning(&self, number: usize) -> Diagnostic {
        let value_start = self.line.trim_end().len() - self.value.len();
        let before_value = &self.line[..value_start];
        let position = Position {
            line: number,
            column: before_value.chars().count() + 1,
        };
        let message = format!(
            "the value of {} is not valid YAML without quotes, and is read as text",
            quoted(self.key)
        );
        Diagnostic::warning(Some(position), message, quoting_fix(self.key, self.value))
    }

    /// Returns the line with its value in quotes: `  - name: "a: b"`.
    fn with_quotes(&self) -> String {
        let indentation_and_dash = &self.line[..self.line.len() - self.item.len()];
        let value = in_quotes(unquoted(self.value));
        format!("{indentation_and_dash}{}: {value}\n", self.key)
    }
}

/// Returns whether any line of a text begins with a key of one word, as those of a frontmatter do.
pub(super) fn has_keys(yaml: &str) -> bool {
    yaml.lines().any(has_key)
}

/// Returns whether a line begins with a key of one word, such as `title: x`.
pub(super) fn has_key(line: &str) -> bool {
    key_of(line).is_some_and(|(key, _)| is_plain_key(key))
}

/// Returns whether a line has a key of one word, or may belong to the key above it.
pub(super) fn belongs_to_keys(line: &str) -> bool {
    has_key(line) || continues_value(line)
}

pub(super) fn is_empty_or_comment(line: &str) -> bool {
    matches!(line.trim_start().chars().next(), None | Some('#'))
}

/// Returns the key and the value of a line that begins with a key, without indentation.
pub(super) fn key_of(line: &str) -> Option<(&str, &str)> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    key_value(line)
}

/// Returns the key and the value of a line such as `key: value` or `key:value`. A line such as
/// `https://…`, `std::vec`, `C:\…` or `10:30` has no key.
pub(super) fn key_value(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let colon = key_end(line)?;
    let key = line[..colon].trim_end().trim_matches('"');
    if key.is_empty() || key.starts_with(|first| YAML_SIGNS.contains(first)) {
        return None;
    }
    Some((key, line[colon + 1..].trim()))
}

/// The characters with a meaning in YAML, with which no key without quotes begins.
const YAML_SIGNS: &str = "-?[]{},#&*!|>\"'";

/// Returns the offset of the colon that ends the key of a line:
///
/// - The first colon, if a plain word precedes it, as in `title:a: b`. A colon in an address or a
///   path, as in `https://…`, `std::vec` or `C:\…`, ends no key.
/// - Otherwise, the first colon before a blank or the end of the line, as in `my key: value`.
fn key_end(line: &str) -> Option<usize> {
    let first_colon = line.find(':')?;
    let after_first = &line[first_colon + 1..];
    let is_address_or_path = after_first.starts_with(['/', ':', '\\']);
    if is_plain_key(&line[..first_colon]) && !is_address_or_path {
        return Some(first_colon);
    }
    for (colon, _) in line.match_indices(':') {
        let after_colon = &line[colon + 1..];
        if after_colon.is_empty() || after_colon.starts_with([' ', '\t']) {
            return Some(colon);
        }
    }
    None
}

/// Returns whether a text is a word that begins with a letter, such as `argument-hint`.
fn is_plain_key(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && text
            .chars()
            .all(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
}

/// Returns a value without the quotes around it, or without a double quote that is never closed:
///
/// | value | result |
/// |---|---|
/// | `"a "b" c"` | `a "b" c` |
/// | `"a" and "b"` | `"a" and "b"`, because the outer quotes are not a pair |
/// | `"a b` | `a b` |
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(after_quote) = value.strip_prefix(quote)
            && let Some(inside) = after_quote.strip_suffix(quote)
            && are_balanced(inside, quote)
        {
            return inside;
        }
    }
    if let Some(after_quote) = value.strip_prefix('"')
        && !after_quote.contains('"')
    {
        return after_quote;
    }
    value
}

/// Returns whether the quotes in a text open and close words in pairs, as in `a "b" c`. In
/// `a" and "b` they do not, so the quotes around it are parts of two groups.
fn are_balanced(inside: &str, quote: char) -> bool {
    let mut open_count = 0_usize;
    for word in inside.split(' ') {
        if word.starts_with(quote) {
            open_count += 1;
        }
        if word.ends_with(quote) {
            if open_count == 0 {
                return false;
            }
            open_count -= 1;
        }
    }
    open_count == 0
}

/// Returns a text as a YAML value in quotes: in single quotes, if it has a `"` or a backslash.
fn in_quotes(text: &str) -> String {
    if text.contains(['"', '\\']) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        format!("\"{text}\"")
    }
}

/// Returns a fix that shows the line with its value in quotes, such as `` write `title: "a: b"` ``.
///
/// If the value is empty, long or has control characters, the fix is general advice.
pub(super) fn quoting_fix(key: &str, value: &str) -> String {
    let has_control = key.contains(char::is_control) || value.contains(char::is_control);
    if value.is_empty() || value.len() > MAX_LENGTH_IN_FIX || has_control {
        return "put the value in quotes".to_owned();
    }
    format!("write `{key}: {}`", in_quotes(unquoted(value)))
}
