//! The texts of configs: JSON, with comments where the client allows them, and TOML. Only here are they parsed.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// How a config is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Json {
        /// Whether the client allows `//` and `/* */`.
        comments: bool,
        /// Whether it allows a comma behind the last entry.
        trailing_commas: bool,
    },
    Toml,
}

/// Why a text is not what it should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) position: Position,
    pub(super) message: String,
}

impl Position {
    /// Of a byte in a text.
    pub(super) fn of(byte: usize, text: &str) -> Position {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Syntax {
    /// The value that a text says. An empty text is an empty object. Of a key that is there twice, the last one counts, as for
    /// the clients.
    pub(super) fn parse(self, text: &str) -> Result<Value, Fault> {
        match self {
            Syntax::Json { .. } => {
                let value = self.json(text)?;
                Ok(value.as_ref().map_or_else(|| Value::Object(Map::new()), of_json))
            }
            Syntax::Toml => Ok(of_table(toml(text)?.as_table())),
        }
    }

    /// Where the value at the end of these keys begins, in a text that can be parsed.
    pub(super) fn position(self, text: &str, keys: &[String]) -> Option<Position> {
        let byte = match self {
            Syntax::Json { .. } => {
                let mut key_start = 0;
                let mut value = &self.json(text).ok()??;
                for key in keys {
                    let properties = &value.as_object()?.properties;
                    let property = properties.iter().rev().find(|property| property.name.as_str() == key)?;
                    (key_start, value) = (property.name.start(), &property.value);
                }
                key_start
            }
            Syntax::Toml => {
                let document = toml(text).ok()?;
                let mut item = document.as_item();
                let mut start = 0;
                for key in keys {
                    let (name, value) = item.as_table_like()?.get_key_value(key)?;
                    start = name.span().or_else(|| value.span()).map_or(start, |span| span.start);
                    item = value;
                }
                start
            }
        };
        Some(Position::of(byte, text))
    }

    /// Where each key begins of the object that these keys lead to, in a text that can be parsed; found in one go.
    pub(super) fn positions(self, text: &str, keys: &[String]) -> BTreeMap<String, Position> {
        let mut starts: Vec<(usize, String)> = self.starts(text, keys).unwrap_or_default();
        starts.sort();
        let (mut position, mut at) = (Position { line: 1, column: 1 }, 0);
        let mut positions = BTreeMap::new();
        for (start, key) in starts {
            let passed = &text[at..start];
            let line_start = passed.rfind('\n').map_or(0, |newline| newline + 1);
            if line_start > 0 {
                position = Position { line: position.line + passed.matches('\n').count(), column: 1 };
            }
            position.column += passed[line_start..].chars().count();
            at = start;
            positions.insert(key, position);
        }
        positions
    }

    /// At which byte each of those keys begins.
    fn starts(self, text: &str, keys: &[String]) -> Option<Vec<(usize, String)>> {
        if self == Syntax::Toml {
            let document = toml(text).ok()?;
            let mut item = document.as_item();
            for key in keys {
                item = item.as_table_like()?.get(key)?;
            }
            let table = item.as_table_like()?;
            let start = |(key, value): (&str, &toml_edit::Item)| {
                let span = table.key(key).and_then(toml_edit::Key::span).or_else(|| value.span())?;
                Some((span.start, key.to_owned()))
            };
            return Some(table.iter().filter_map(start).collect());
        }
        let tree = self.json(text).ok()??;
        let mut value = &tree;
        for key in keys {
            let mut properties = value.as_object()?.properties.iter().rev();
            value = &properties.find(|property| property.name.as_str() == key)?.value;
        }
        let properties = value.as_object()?.properties.iter();
        Some(properties.map(|property| (property.name.start(), property.name.as_str().to_owned())).collect())
    }

    /// The tree of a text, `None` if there is nothing in it.
    pub(super) fn json<'t>(self, text: &'t str) -> Result<Option<ast::Value<'t>>, Fault> {
        let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &self.json_options());
        parsed.map(|parsed| parsed.value).map_err(|error| json_fault(&error, text))
    }

    /// What is allowed.
    pub(super) fn json_options(self) -> ParseOptions {
        let (allow_comments, allow_trailing_commas) = match self {
            Syntax::Json { comments, trailing_commas } => (comments, trailing_commas),
            Syntax::Toml => (false, false),
        };
        ParseOptions {
            allow_comments,
            allow_trailing_commas,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        }
    }
}

fn json_fault(error: &jsonc_parser::errors::ParseError, text: &str) -> Fault {
    Fault { position: Position::of(error.range().start, text), message: in_lowercase(&error.kind().to_string()) }
}

/// A TOML document that knows where its parts are.
fn toml(text: &str) -> Result<toml_edit::Document<&str>, Fault> {
    toml_edit::Document::parse(text).map_err(|error| {
        let byte = error.span().map_or(0, |span| span.start);
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        Fault { position: Position::of(byte, text), message: in_lowercase(&message) }
    })
}

/// As errors begin here.
fn in_lowercase(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn of_json(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => Value::String(text.value.clone().into_owned()),
        ast::Value::NumberLit(number) => number.value.parse().map_or(Value::Null, Value::Number),
        ast::Value::BooleanLit(boolean) => Value::Bool(boolean.value),
        ast::Value::Object(object) => {
            let pairs = object.properties.iter();
            Value::Object(pairs.map(|pair| (pair.name.as_str().to_owned(), of_json(&pair.value))).collect())
        }
        ast::Value::Array(array) => Value::Array(array.elements.iter().map(of_json).collect()),
        ast::Value::NullKeyword(_) => Value::Null,
    }
}

fn of_table(table: &dyn toml_edit::TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect())
}

fn of_item(item: &toml_edit::Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return of_table(table);
    }
    match item {
        toml_edit::Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(|table| of_table(table)).collect()),
        toml_edit::Item::Value(value) => of_value(value),
        _ => Value::Null,
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number((*number.value()).into()),
        toml_edit::Value::Float(number) => Number::from_f64(*number.value()).map_or(Value::Null, Value::Number),
        toml_edit::Value::Boolean(boolean) => Value::Bool(*boolean.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(array) => Value::Array(array.iter().map(of_value).collect()),
        toml_edit::Value::InlineTable(table) => of_table(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STRICT: Syntax = Syntax::Json { comments: false, trailing_commas: false };
    const LENIENT: Syntax = Syntax::Json { comments: true, trailing_commas: true };

    #[test]
    fn a_text_is_the_value_that_the_client_sees() {
        for (syntax, text, want) in [
            (STRICT, "", json!({})),
            (STRICT, " \n", json!({})),
            (STRICT, "{\"a\": [1, 2.5, null, true, \"\\u00e9\"]}\r\n", json!({"a": [1, 2.5, null, true, "é"]})),
            (STRICT, "{\"a\": 1, \"a\": 2}", json!({"a": 2})),
            (LENIENT, "// c\n{\"a\": /* d */ [1,],}", json!({"a": [1]})),
            (Syntax::Toml, "", json!({})),
            (
                Syntax::Toml,
                "# c\r\nx = 1\n[a.b]\nc = [\"d\", 2.5]\ne = {f = true}\n[[g]]\nh = 'i'",
                json!({"x": 1, "a": {"b": {"c": ["d", 2.5], "e": {"f": true}}}, "g": [{"h": "i"}]}),
            ),
        ] {
            assert_eq!(syntax.parse(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_the_client_would_not_read_has_a_place() {
        for (syntax, text, position, message) in [
            (STRICT, "{\n  // c\n}", "2:3", "comments are not allowed"),
            (STRICT, "{\"é\": [1,]}", "1:9", "trailing commas are not allowed"),
            (LENIENT, "{\"a\": 1", "1:1", "unterminated object"),
            (LENIENT, "{\"a\": 1 \"b\": 2}", "1:8", "expected comma"),
            (LENIENT, "{a: 1}", "1:2", "expected string for object property"),
            (LENIENT, "{} {}", "1:4", "text cannot contain more than one JSON value"),
            (Syntax::Toml, "a = 1\nb = \"c\n", "2:7", "invalid basic string, expected `\"`"),
            (Syntax::Toml, "a = 1\na = 2\n", "2:1", "duplicate key"),
        ] {
            let fault = syntax.parse(text).unwrap_err();
            assert_eq!((fault.position.to_string().as_str(), fault.message.as_str()), (position, message), "{text}");
        }
    }

    #[test]
    fn a_value_has_a_place() {
        let keys = ["a".to_owned(), "b".to_owned()];
        for (syntax, text, position) in [
            (LENIENT, "{\n  \"a\": {\"x\": 1,\n    \"b\": {}}}", Some("3:5")),
            (LENIENT, "{\"a\": []}", None),
            (LENIENT, "{\"a\": {\"b\": 1,\n\"é\": 2, \"c\": 3,\n \"é\": 4, \"b\": 5}}", Some("3:10")),
            (Syntax::Toml, "x = 1\n[a]\ny = 2\n[a.b]\n", Some("4:4")),
            (Syntax::Toml, "[a]\nb = 2\n", Some("2:1")),
        ] {
            let found = syntax.position(text, &keys).map(|position| position.to_string());
            assert_eq!(found.as_deref(), position, "{text}");
            let all = syntax.positions(text, &keys[..1]);
            assert_eq!(all.get("b").map(ToString::to_string).as_deref(), position, "{text}");
        }
    }
}
