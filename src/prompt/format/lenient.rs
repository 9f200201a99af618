//! Parses frontmatter that isn't valid YAML, key by key.
//!
//! A value that isn't valid YAML on its own is read as a string.

use super::yaml::{self, Field, Node, Value, YamlError};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::MAX_YAML_SIZE;
use crate::wording::quoted;

/// The length of the longest value that a fix quotes, in bytes.
const MAX_LENGTH_IN_FIX: usize = 200;

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
        while let Some((_, value_line)) = lines.next_if(|(_, line)| continues_value(line)) {
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
/// `  - title: a: b` becomes `  - title: "a: b"`.
///
/// The contents of a block scalar (`key: |` or `key: >`) are not changed.
fn quote_invalid_values(block: &str, first_line: usize, warnings: &mut Vec<Diagnostic>) -> String {
    let mut output = String::new();
    // The indentation of the key whose block scalar is being copied. The scalar ends at the next
    // key that is not indented deeper.
    let mut block_scalar_indent: Option<usize> = None;
    for (number, line) in (first_line..).zip(block.split_inclusive('\n')) {
        let indent = line.len() - line.trim_start().len();
        if let Some(key_indent) = block_scalar_indent
            && indent > key_indent
        {
            output += line;
            continue;
        }
        let Some(value_line) = ValueLine::parse(line) else {
            output += line;
            continue;
        };
        block_scalar_indent = None;
        if value_line.value.starts_with(['|', '>']) {
            block_scalar_indent = Some(indent);
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

/// A line with a value: that of a key, e.g. `  - name: a: b`, or an item of a list, e.g. `- @x`.
pub(super) struct ValueLine<'l> {
    line: &'l str,
    /// The line without its indentation and list dashes: `name: a: b`.
    item: &'l str,
    pub(super) key: Option<&'l str>,
    pub(super) value: &'l str,
}

impl<'l> ValueLine<'l> {
    /// Splits a line such as `  - name: a: b` into its key `name` and its value `a: b`. The key of
    /// `- @x` is `None`.
    ///
    /// Returns `None` if the line has no value, or neither a key nor the dash of a list item.
    pub(super) fn parse(line: &'l str) -> Option<ValueLine<'l>> {
        let item = line.trim_start_matches([' ', '\t', '-']);
        let (key, value) = match split_key(item) {
            Some((key, value)) => (Some(key), value),
            None if line.trim_start().starts_with("- ") => (None, item.trim_end()),
            None => return None,
        };
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

    /// Returns the indentation that all further lines of the value exceed, in bytes.
    pub(super) fn indent(&self) -> usize {
        if self.key.is_some() {
            self.line.len() - self.item.len()
        } else {
            self.line.len() - self.line.trim_start().len()
        }
    }

    /// Returns the position of the value in the file. `number` is that of the line.
    pub(super) fn position(&self, number: usize) -> Position {
        let value_start = self.line.trim_end().len() - self.value.len();
        let before_value = &self.line[..value_start];
        Position {
            line: number,
            column: before_value.chars().count() + 1,
        }
    }

    /// Returns the fix that puts the value in quotes.
    pub(super) fn quote_fix(&self) -> String {
        match self.key {
            Some(key) => quote_fix(key, self.value),
            None => write_fix(
                &format!("- {}", in_quotes(unquoted(self.value))),
                self.value,
            ),
        }
    }

    /// Returns whether the line, taken alone, is valid YAML for this key.
    fn is_valid(&self, number: usize) -> bool {
        // Its own budget, because the caller charges for the whole block when it parses it.
        let mut budget = MAX_YAML_SIZE;
        let Ok(node) = yaml::parse(self.item, number, &mut budget) else {
            return false;
        };
        let Some(key) = self.key else {
            return true; // a list item can be anything
        };
        match node.value {
            Value::Map(map) => map.iter().all(|field| field.key == key),
            _ => false,
        }
    }

    /// Returns the warning that the value is read as a string.
    fn warning(&self, number: usize) -> Diagnostic {
        let subject = match self.key {
            Some(key) if list_items(key, self.value).is_some() => {
                format!("an item of {}", quoted(key))
            }
            Some(key) => format!("the value of {}", quoted(key)),
            None => format!("the item {}", quoted(self.value)),
        };
        let message = format!("{subject} is not valid YAML without quotes, and is read as text");
        Diagnostic::warning(Some(self.position(number)), message, self.quote_fix())
    }

    /// Formats the line with its value in quotes: `  - name: "a: b"`.
    fn with_quotes(&self) -> String {
        let indentation_and_dash = &self.line[..self.line.len() - self.item.len()];
        let item = match self.key {
            Some(key) => format!("{key}: {}", value_in_quotes(key, self.value)),
            None => in_quotes(unquoted(self.value)),
        };
        format!("{indentation_and_dash}{item}\n")
    }
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

/// Splits a line such as `key: value` or `key:value` into its key and value. Returns `None` for
/// lines such as `https://…`, `std::vec`, `C:\…` and `10:30`.
pub(super) fn split_key(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let colon = key_end_offset(line)?;
    let key = line[..colon].trim_end().trim_matches('"');
    if key.is_empty() || key.starts_with(|first| YAML_INDICATORS.contains(first)) {
        return None;
    }
    Some((key, line[colon + 1..].trim()))
}

/// The characters that are special in YAML at the start of a key.
const YAML_INDICATORS: &str = "-?[]{},#&*!|>\"'";

/// Returns the offset of the colon that ends the key of a line:
///
/// - the first colon, if it follows a single word: `title:a: b`. This excludes colons in URLs and
///   paths: `https://…`, `std::vec`, `C:\…`
/// - otherwise, the first colon before a space or the end of the line: `my key: value`
fn key_end_offset(line: &str) -> Option<usize> {
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

/// Returns whether a key is a single word that begins with a letter, e.g. `argument-hint`.
fn is_plain_key(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && text
            .chars()
            .all(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
}

/// Removes the quotes around a value, or a double quote at its start that is never closed:
///
/// | value | result |
/// |---|---|
/// | `"a "b" c"` | `a "b" c` |
/// | `"a" and "b"` | unchanged, because the first and the last quote are not a pair |
/// | `"a b` | `a b` |
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(after_quote) = value.strip_prefix(quote)
            && let Some(inside) = after_quote.strip_suffix(quote)
            && has_paired_quotes(inside, quote)
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

/// Returns whether the quotes in a text form pairs: each quote that begins a word has one later that
/// ends a word. Then quotes around the whole text are a pair, too.
///
/// | text | result |
/// |---|---|
/// | `a "b" c` | true |
/// | `a" and "b` | false, because the first quote ends a word, but no quote began one |
/// | `a "b` | false, because the quote is never closed |
/// | `it's`, `a " b` | true: quotes within a word don't count, and one alone begins and ends a word |
fn has_paired_quotes(text: &str, quote: char) -> bool {
    let mut open_count = 0_usize;
    for word in text.split(' ') {
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

/// Formats a text as a quoted YAML string. Uses single quotes if it contains `"` or a backslash.
fn in_quotes(text: &str) -> String {
    if text.contains(['"', '\\']) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        format!("\"{text}\"")
    }
}

/// The keys whose value in brackets is a list. In other keys, it is text: `title: [WIP] Deploy`.
const LIST_KEYS: [&str; 4] = ["arguments", "attachments", "choices", "tags"];

/// Splits the value of a list key at its commas: `[C#, "F #"]` is `C#` and `"F #"`.
///
/// Returns `None` if `key` has no lists, or if the value isn't a list in brackets whose items have
/// no brackets, braces or commas themselves.
fn list_items<'v>(key: &str, value: &'v str) -> Option<Vec<&'v str>> {
    let inside = value.strip_prefix('[')?.strip_suffix(']')?;
    if !LIST_KEYS.contains(&key) || inside.contains(['[', ']', '{', '}']) {
        return None;
    }
    let items: Vec<&str> = inside.split(',').map(str::trim).collect();
    let has_comma_in_quotes = items.iter().any(|item| has_open_quote(item));
    if has_comma_in_quotes {
        return None;
    }
    Some(items)
}

/// Returns whether an item begins with a quote and doesn't end with another one, like `"a` in
/// `["a, b"]`.
fn has_open_quote(item: &str) -> bool {
    let quotes = ['"', '\''];
    match item.strip_prefix(quotes) {
        Some(after_quote) => !after_quote.ends_with(quotes),
        None => false,
    }
}

/// Formats the value of a key in quotes: `"a: b"`, or each item of a list, `["C#", "F #"]`.
fn value_in_quotes(key: &str, value: &str) -> String {
    let Some(items) = list_items(key, value) else {
        return in_quotes(unquoted(value));
    };
    let mut quoted_items = Vec::new();
    for item in items {
        if !item.is_empty() {
            quoted_items.push(in_quotes(unquoted(item)));
        }
    }
    format!("[{}]", quoted_items.join(", "))
}

/// Returns the fix for the value of a key that needs quotes, e.g. `` write `title: "a: b"` ``.
pub(super) fn quote_fix(key: &str, value: &str) -> String {
    write_fix(&format!("{key}: {}", value_in_quotes(key, value)), value)
}

/// Returns the fix that shows the line to write. `value` is the part of it that needed quotes.
///
/// A value that is empty or too long, or a line with control characters, is not shown.
fn write_fix(line: &str, value: &str) -> String {
    if value.is_empty() || value.len() > MAX_LENGTH_IN_FIX || line.contains(char::is_control) {
        return "put the value in quotes".to_owned();
    }
    format!("write `{line}`")
}
