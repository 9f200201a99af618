//! Finds the values in the lines of frontmatter, and puts quotes around them.

use super::flow;
use super::quotes::{QUOTES, in_quotes, unquoted};
use super::yaml::{self, Value};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;

/// The length of the longest value that a fix quotes, in bytes: that of the longest description of
/// a skill.
const MAX_LENGTH_IN_FIX: usize = 1024;

/// The fix for a value that can't be shown in quotes.
pub(super) const QUOTE_VALUE: &str = "put the value in quotes";

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
        ValueLine::split(line).filter(|value_line| !value_line.value.is_empty())
    }

    /// Splits a line as [`ValueLine::parse`] does, also if it has no value.
    fn split(line: &'l str) -> Option<ValueLine<'l>> {
        let item = without_dashes(line);
        let (key, value) = match split_key(item) {
            Some((key, value)) => (Some(key), value),
            None if line.trim_start().starts_with("- ") => (None, item.trim_end()),
            None => return None,
        };
        Some(ValueLine {
            line,
            item,
            key,
            value,
        })
    }

    /// Returns the indentation that all further lines of the value exceed, in bytes.
    fn indent(&self) -> usize {
        if self.key.is_some() {
            self.line.len() - self.item.len()
        } else {
            self.line.len() - self.line.trim_start().len()
        }
    }

    /// Returns whether the line below may belong to the value: it is blank, indented deeper, or
    /// closes a list or map.
    fn is_continued_by(&self, line: &str) -> bool {
        let text = line.trim_start();
        let closes_value = flow::is_flow(self.value) && text.starts_with([']', '}']);
        text.is_empty() || closes_value || line.len() - text.len() > self.indent()
    }

    /// Returns how many of the lines below belong to the value. The first one that doesn't either
    /// isn't indented, or has a value of its own.
    fn count_continuation_lines(&self, lines_below: &[&str]) -> usize {
        let end = lines_below
            .iter()
            .position(|line| !self.is_continued_by(line) || self.is_other_value(line));
        end.unwrap_or(lines_below.len())
    }

    /// Returns whether a line below has a value of its own: it has a key or a dash.
    fn is_other_value(&self, line: &str) -> bool {
        !self.may_contain_keys() && ValueLine::split(line).is_some()
    }

    /// Returns the text of the value on each of its lines, without blank lines and comments.
    fn collect_texts(&self, further_lines: &[&'l str]) -> Vec<&'l str> {
        let mut texts = Vec::new();
        if self.has_inline_value() {
            texts.push(self.value);
        }
        for line in further_lines {
            let text = line.trim();
            let is_ignored = text.is_empty() || (is_comment(text) && !self.is_quoted());
            if !is_ignored {
                texts.push(text);
            }
        }
        texts
    }

    /// Returns whether the value begins on this line.
    fn has_inline_value(&self) -> bool {
        !self.value.is_empty() && !is_comment(self.value)
    }

    /// Returns whether also lines with a key or a dash may belong to the value: it is in quotes, in
    /// brackets, a block scalar, or the text of a key of the prompt.
    fn may_contain_keys(&self) -> bool {
        let is_block_scalar = self.value.starts_with(['|', '>']);
        self.is_quoted() || flow::is_flow(self.value) || is_block_scalar || self.is_text_of_prompt()
    }

    /// Returns whether this is a key of the prompt whose value is text: all lines below it that are
    /// indented are part of that text.
    fn is_text_of_prompt(&self) -> bool {
        self.indent() == 0 && self.key.is_some_and(|key| TEXT_KEYS.contains(&key))
    }

    fn is_quoted(&self) -> bool {
        self.value.starts_with(QUOTES)
    }

    /// Returns the position of the value in the file. `number` is that of the line.
    pub(super) fn position(&self, number: usize) -> Position {
        Position {
            line: number,
            column: self.before_value().chars().count() + 1,
        }
    }

    /// Returns the line up to its value.
    fn before_value(&self) -> &'l str {
        &self.line[..self.line.trim_end().len() - self.value.len()]
    }

    /// Returns the fix that puts the value in quotes.
    pub(super) fn fix(&self) -> String {
        match self.key {
            Some(key) => key_fix(key, self.value),
            None => line_fix(&format!("- {}", self.quoted_form().text()), self.value),
        }
    }

    fn quoted_form(&self) -> QuotedForm {
        QuotedForm::new(self.key, self.value)
    }

    /// Returns the warning that the value at this position is read as a string.
    pub(super) fn warning(&self, position: Position) -> Diagnostic {
        let subject = match (self.key, self.quoted_form()) {
            (Some(key), QuotedForm::Collection(_)) => format!("an item of {}", quoted(key)),
            (Some(key), QuotedForm::Text(_)) => format!("the value of {}", quoted(key)),
            (None, _) => format!("the item {}", quoted(self.value)),
        };
        let message = format!("{subject} is not valid YAML without quotes, and is read as text");
        Diagnostic::warning(Some(position), message, self.fix())
    }

    /// Formats the line with its value in quotes: `  - name: "a: b"`.
    fn with_quotes(&self) -> String {
        let indentation_and_dash = &self.line[..self.line.len() - self.item.len()];
        let value = self.quoted_form();
        let item = match self.key {
            Some(key) => format!("{key}: {}", value.text()),
            None => value.text().to_owned(),
        };
        format!("{indentation_and_dash}{item}\n")
    }
}

/// The keys whose value is text, also in brackets: `title: [WIP] Deploy`.
const TEXT_KEYS: [&str; 8] = [
    "argument-hint",
    "author",
    "category",
    "default",
    "description",
    "name",
    "title",
    "version",
];

/// The keys whose value is a list without brackets if it has commas: `tags: a, b`.
const SPLIT_KEYS: [&str; 2] = ["choices", "tags"];

/// A value with the quotes that it needs.
enum QuotedForm {
    /// A text in quotes: `"a: b"`.
    Text(String),
    /// A list or map with quotes around its items: `["C#", "F #"]`.
    Collection(String),
}

impl QuotedForm {
    /// Puts quotes around the items of a list or map, or around anything else as a whole.
    fn new(key: Option<&str>, value: &str) -> QuotedForm {
        if !is_text(key, value) {
            let source = if is_bare_list(key, value) {
                format!("[{value}]")
            } else {
                value.to_owned()
            };
            if let Some(collection) = flow::with_quotes(&source) {
                return QuotedForm::Collection(collection);
            }
        }
        QuotedForm::Text(in_quotes(unquoted(value)))
    }

    fn text(&self) -> &str {
        match self {
            QuotedForm::Text(text) | QuotedForm::Collection(text) => text,
        }
    }
}

/// Returns whether a value is text even if it is in brackets.
fn is_text(key: Option<&str>, value: &str) -> bool {
    match key {
        Some(key) => TEXT_KEYS.contains(&key),
        None => value.starts_with('['), // the items of a list are texts or maps
    }
}

/// Returns whether a value is a list without brackets: `a, b` for the key `tags`.
fn is_bare_list(key: Option<&str>, value: &str) -> bool {
    key.is_some_and(|key| SPLIT_KEYS.contains(&key))
        && value.contains(',')
        && !flow::is_flow(value)
        && !value.starts_with(QUOTES)
}

/// Returns the fix for the value of a key that needs quotes, e.g. `` write `title: "a: b"` ``.
pub(super) fn key_fix(key: &str, value: &str) -> String {
    let form = QuotedForm::new(Some(key), value);
    line_fix(&format!("{key}: {}", form.text()), value)
}

/// Returns the fix that shows the line to write. `value` is the part of it that needed quotes.
///
/// A value that is empty or too long, or a line with control characters, is not shown.
fn line_fix(line: &str, value: &str) -> String {
    if value.is_empty() || value.len() > MAX_LENGTH_IN_FIX || line.contains(char::is_control) {
        return QUOTE_VALUE.to_owned();
    }
    format!("write `{line}`")
}

/// A value and all lines that it is written on.
pub(super) struct ValueLines<'l> {
    first: ValueLine<'l>,
    /// All lines, of which the first may have a key or a dash.
    pub(super) lines: &'l [&'l str],
    /// The text of the value on each line, without blank lines and comments.
    texts: Vec<&'l str>,
    /// How many of the lines are before the one on which the value begins: 0, unless a key is alone
    /// on its line.
    lines_before_value: usize,
}

impl<'l> ValueLines<'l> {
    /// Reads the value that begins on the first line or, if a key is alone there, on the next one.
    ///
    /// Returns `None` if there is no value, or if it is a block list or block map.
    pub(super) fn read(lines: &'l [&'l str]) -> Option<ValueLines<'l>> {
        let first = ValueLine::split(lines.first()?)?;
        let count = 1 + first.count_continuation_lines(&lines[1..]);
        let next_line = lines.get(count);
        let has_indented_value_below = next_line.is_some_and(|line| first.is_continued_by(line));
        if !first.has_inline_value() && has_indented_value_below {
            return None;
        }
        let texts = first.collect_texts(&lines[1..count]);
        if texts.is_empty() {
            return None;
        }
        let mut lines_before_value = 0;
        if !first.has_inline_value() {
            lines_before_value = lines.iter().position(|line| line.trim() == texts[0])?;
        }
        Some(ValueLines {
            first,
            lines: &lines[..count],
            texts,
            lines_before_value,
        })
    }

    /// Returns the value with a line break between its lines, which have no indentation.
    pub(super) fn value(&self) -> String {
        self.texts.join("\n")
    }

    /// Returns the first line with the texts of the others: `description: Post to the #deploys`. A
    /// value on a single line is returned with that line as it is.
    pub(super) fn joined(&self) -> String {
        if self.texts == [self.first.value] {
            return self.first.line.to_owned();
        }
        let before_value = self.first.before_value().trim_end();
        format!("{before_value} {}", self.texts.join(" "))
    }

    /// Returns the position of the value in the file. `number` is that of the first line.
    pub(super) fn position(&self, number: usize) -> Position {
        if self.lines_before_value == 0 {
            return self.first.position(number);
        }
        Position {
            line: number + self.lines_before_value,
            column: self.value_indentation().chars().count() + 1,
        }
    }

    /// Returns the indentation of the line on which the value begins.
    fn value_indentation(&self) -> &'l str {
        let line = self.lines[self.lines_before_value];
        &line[..line.len() - line.trim_start().len()]
    }

    /// Returns the lines with quotes around the value, which begins where it did. The number of
    /// lines stays the same. `joined_line` is the parsed [`joined`](Self::joined) line.
    pub(super) fn with_quotes(&self, joined_line: &ValueLine<'_>) -> String {
        let mut text = if self.lines_before_value == 0 {
            joined_line.with_quotes()
        } else {
            let lines_before = self.lines[..self.lines_before_value].concat();
            let indentation = self.value_indentation();
            let value = joined_line.quoted_form();
            format!("{lines_before}{indentation}{}\n", value.text())
        };
        let lines_after = self.lines.len() - self.lines_before_value - 1;
        text += &"\n".repeat(lines_after);
        text
    }

    /// Returns whether it is a block scalar (`|` or `>`), whose lines are text.
    pub(super) fn is_block_scalar(&self) -> bool {
        self.lines.len() > 1 && self.first.value.starts_with(['|', '>'])
    }

    /// Returns whether the lines, taken alone, are valid YAML for this key or item. They must have
    /// their line breaks at their ends.
    pub(super) fn is_valid(&self) -> bool {
        let further_lines = self.lines[1..].concat();
        let yaml = format!("{}{further_lines}", self.first.item);
        // Its size is charged for when the caller parses the whole block.
        let Some(value) = yaml::parse_value(&yaml) else {
            return false;
        };
        let Some(key) = self.first.key else {
            return true; // a list item can be anything
        };
        match value {
            Value::Map(map) => map.iter().all(|field| field.key == key),
            _ => false,
        }
    }
}

/// Returns a line without its indentation and the dashes of list items: `-v` for `  - -v`.
fn without_dashes(line: &str) -> &str {
    let mut item = line.trim_start_matches(BLANKS);
    while let Some(after_dash) = item.strip_prefix("- ") {
        item = after_dash.trim_start_matches(BLANKS);
    }
    item
}

/// The characters that indent a line.
const BLANKS: [char; 2] = [' ', '\t'];

/// Returns whether a text is a comment that can't be meant as a value: `# below`.
pub(super) fn is_comment(text: &str) -> bool {
    text == "#" || text.starts_with("# ")
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
pub(super) fn is_plain_key(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && text
            .chars()
            .all(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
}
