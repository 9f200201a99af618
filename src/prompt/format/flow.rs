//! Reads lists and maps in brackets, e.g. `[a, #b]` and `{name: x, default: @y}`, as a person does:
//! what YAML takes for a comment, a tag, an anchor or a mistake is text.

use super::quotes::{QUOTES, in_quotes, unquoted};
use super::yaml::{self, Value};

/// The length of the longest text that is read, in bytes. Reading takes quadratic time.
const MAX_LENGTH: usize = 4 * 1024;

/// How deep lists and maps may be nested: `arguments` is a list of maps with a list of choices.
const MAX_DEPTH: usize = 3;

/// A list or map, or a value in it.
#[derive(Debug, PartialEq)]
enum FlowValue<'t> {
    /// A value, with the quotes that it may have.
    Scalar(&'t str),
    List(Vec<FlowValue<'t>>),
    Map(Vec<FlowField<'t>>),
}

/// A key of a map with its value.
#[derive(Debug, PartialEq)]
struct FlowField<'t> {
    key: &'t str,
    value: FlowValue<'t>,
}

/// Formats a list or map with quotes around each item of a list, and around each value of a map
/// that may need them: `["a", "#b"]` for `[a, #b]`. The lines of the text are joined.
///
/// Returns `None` if the text isn't a complete list or map, if a value without quotes contains
/// brackets or braces, or if the text is longer than [`MAX_LENGTH`].
pub(super) fn with_quotes(text: &str) -> Option<String> {
    if !is_flow(text) || text.len() > MAX_LENGTH {
        return None;
    }
    let mut reader = FlowReader { rest: text };
    let value = reader.read_value(MAX_DEPTH)?;
    let has_text_after = !reader.rest.trim().is_empty();
    if has_text_after {
        return None;
    }
    Some(format_value(&value))
}

/// Returns whether a value begins like a list or map in brackets.
pub(super) fn is_flow(value: &str) -> bool {
    value.starts_with(['[', '{'])
}

/// Reads a text from the left to the right.
struct FlowReader<'t> {
    /// What is not read yet.
    rest: &'t str,
}

impl<'t> FlowReader<'t> {
    /// Reads a list, a map or a value. Returns `None` if it is nested deeper than `max_depth`, or
    /// if its end is missing.
    fn read_value(&mut self, max_depth: usize) -> Option<FlowValue<'t>> {
        let is_nested_too_deep = max_depth == 0 && is_flow(self.rest);
        if is_nested_too_deep {
            return None;
        }
        if self.skip('[') {
            return self.read_list(max_depth - 1);
        }
        if self.skip('{') {
            return self.read_map(max_depth - 1);
        }
        Some(FlowValue::Scalar(self.read_scalar()))
    }

    /// Reads a list after its opening bracket. Leaves out empty items.
    fn read_list(&mut self, max_depth: usize) -> Option<FlowValue<'t>> {
        let mut items = Vec::new();
        loop {
            let item = self.read_value(max_depth)?;
            if item != FlowValue::Scalar("") {
                items.push(item);
            }
            if self.skip(']') {
                return Some(FlowValue::List(items));
            }
            if !self.skip(',') {
                return None;
            }
        }
    }

    /// Reads a map after its opening brace. A comma may come before the closing one.
    fn read_map(&mut self, max_depth: usize) -> Option<FlowValue<'t>> {
        let mut fields = Vec::new();
        while !self.skip('}') {
            fields.push(self.read_field(max_depth)?);
            if self.skip('}') {
                return Some(FlowValue::Map(fields));
            }
            if !self.skip(',') {
                return None;
            }
        }
        Some(FlowValue::Map(fields))
    }

    /// Reads a key of a map with its value.
    fn read_field(&mut self, max_depth: usize) -> Option<FlowField<'t>> {
        let (key, rest) = self.rest.split_once(':')?;
        let key = key.trim();
        if !yaml::is_plain(key) {
            return None;
        }
        self.rest = rest.trim_start();
        let value = self.read_value(max_depth)?;
        Some(FlowField { key, value })
    }

    /// Reads a value up to the next comma or bracket that is not in its quotes, and the blanks
    /// after it.
    fn read_scalar(&mut self) -> &'t str {
        let length = match lenient_quoted_length(self.rest) {
            Some(length) => length,
            None => self.rest.find(SEPARATORS).unwrap_or(self.rest.len()),
        };
        let (scalar, rest) = self.rest.split_at(length);
        self.rest = rest.trim_start();
        scalar.trim()
    }

    /// Skips a character and the blanks after it. Returns false if another character comes next.
    fn skip(&mut self, character: char) -> bool {
        let Some(rest) = self.rest.trim_start().strip_prefix(character) else {
            return false;
        };
        self.rest = rest.trim_start();
        true
    }
}

/// The characters that end a value without quotes.
const SEPARATORS: [char; 5] = [',', '[', ']', '{', '}'];

/// Returns the length of the quoted text with which `text` begins, as a person reads it: a quote
/// ends it only before a separator or the end. Returns `None` if there is none.
fn lenient_quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|first| QUOTES.contains(first))?;
    for (index, _) in text.match_indices(quote).skip(1) {
        let end = index + 1;
        let after = text[end..].trim_start();
        if after.is_empty() || after.starts_with(SEPARATORS) {
            return Some(end);
        }
    }
    None
}

fn format_value(value: &FlowValue<'_>) -> String {
    match value {
        FlowValue::Scalar(text) => in_quotes(&scalar_text(text)),
        FlowValue::List(items) => {
            let items: Vec<String> = items.iter().map(format_value).collect();
            format!("[{}]", items.join(", "))
        }
        FlowValue::Map(fields) => {
            let fields: Vec<String> = fields.iter().map(format_field).collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

fn format_field(field: &FlowField<'_>) -> String {
    let value = match field.value {
        FlowValue::Scalar(text) if text.is_empty() || yaml::is_plain(text) => text.to_owned(),
        _ => format_value(&field.value),
    };
    format!("{}: {value}", field.key)
}

/// Returns the text of a value, without the quotes around it and with its lines joined.
fn scalar_text(scalar: &str) -> String {
    let is_quoted = lenient_quoted_length(scalar) == Some(scalar.len());
    if is_quoted && let Some(Value::Scalar { text, .. }) = yaml::parse_value(scalar) {
        return text;
    }
    let lines: Vec<&str> = unquoted(scalar).lines().map(str::trim).collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_quoted_and_each_value_that_may_need_it() {
        for (text, want) in [
            ("[a, \"b, c\", d #e]", r##"["a", "b, c", "d #e"]"##),
            ("[C#, 'it''s', don't,]", r##"["C#", "it's", "don't"]"##),
            ("[\"o\" #p, a]", r##"['"o" #p', "a"]"##),
            ("[a, #b\n  c, !d]", r##"["a", "#b c", "!d"]"##),
            (
                "{name: z, default: #x, required: true}",
                r##"{name: z, default: "#x", required: true}"##,
            ),
            (
                "[{name: z, choices: [C#, F #]}, b]",
                r##"[{name: z, choices: ["C#", "F #"]}, "b"]"##,
            ),
            ("[]", "[]"),
            ("{ }", "{}"),
            (
                "{ name: x, default: @y, description: \"z\" }",
                "{name: x, default: \"@y\", description: \"z\"}",
            ),
            ("{a: [b ] , }", "{a: [\"b\"]}"),
        ] {
            assert_eq!(with_quotes(text).as_deref(), Some(want), "{text}");
        }
        let nested_too_deep = "[".repeat(60_000);
        for text in [
            "[WIP] Deploy",
            "[a, b",
            "[a[0], b]",
            "{a, b}",
            "{{input}}",
            "a",
            "[",
            "{",
            "{a:",
            &nested_too_deep,
        ] {
            assert_eq!(with_quotes(text), None, "{text:.20}");
        }
    }
}
