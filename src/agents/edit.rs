//! Texts in JSON, with comments where the agent allows them, and in TOML: parsed, and edited so that the rest stays unchanged.
//!
//! No other module parses them. A key that appears twice on the path of an edit is an error, because agents may differ in which
//! of the two they read.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod json;
mod toml;

pub(super) use json::{remove_hook, set_hook};

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A position in a text.
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
        /// Whether the agent allows `//` and `/* */`.
        comments: bool,
        /// Whether it allows a comma after the last entry.
        trailing_commas: bool,
    },
    Toml,
}

/// An error in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) position: Position,
    pub(super) message: String,
}

/// What an entry contains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// These keys must have these values; `None`: the key must be absent.
    pub(super) required: Vec<(&'static str, Option<Value>)>,
    /// These are set in a new entry, and left alone in one that exists.
    pub(super) initial: Vec<(&'static str, Value)>,
}

impl Entry {
    /// Whether it sets this key, or gives it this value in a new entry.
    pub(super) fn sets(&self, key: &str, value: &Value) -> bool {
        let is_required = self.required.iter().any(|(required, _)| *required == key);
        is_required || self.initial.iter().any(|initial| *initial == (key, value.clone()))
    }

    /// All that a new entry contains.
    fn all(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let required = self.required.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)));
        required.chain(self.initial.iter().map(|(key, value)| (*key, value)))
    }
}

impl Position {
    /// The position of a byte in a text.
    pub(super) fn of(byte: usize, text: &str) -> Position {
        Position { line: 1, column: 1 }.after(text.get(..byte).unwrap_or(text))
    }

    /// The position after this one when a text follows it.
    fn after(self, text: &str) -> Position {
        match text.rfind('\n') {
            None => Position { column: self.column + text.chars().count(), ..self },
            Some(newline) => Position {
                line: self.line + text.matches('\n').count(),
                column: text[newline + 1..].chars().count() + 1,
            },
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Syntax {
    /// The value of a text. An empty text is an empty object. Of duplicate keys the last counts, as for the agents.
    pub(super) fn parse(self, text: &str) -> Result<Value, SyntaxError> {
        match self {
            Syntax::Json { .. } => Ok(json::parse(self, text)?.map_or_else(|| Value::Object(Map::new()), Value::from)),
            Syntax::Toml => toml::parse(text),
        }
    }

    /// The position of the last of these keys, in a text that can be parsed.
    pub(super) fn position(self, text: &str, keys: &[String]) -> Option<Position> {
        Some(Position::of(self.locate(text, keys)?.0, text))
    }

    /// The position of each key of the object at the end of these keys, in a text that can be parsed.
    pub(super) fn positions(self, text: &str, keys: &[String]) -> BTreeMap<String, Position> {
        let mut starts = self.locate(text, keys).unwrap_or_default().1;
        starts.sort();
        // One pass over the text, which may be long and have many keys.
        let (mut position, mut at) = (Position { line: 1, column: 1 }, 0);
        let mut positions = BTreeMap::new();
        for (start, key) in starts {
            position = position.after(&text[at..start]);
            at = start;
            positions.insert(key, position);
        }
        positions
    }

    /// The byte at which the last of these keys begins, and the keys below it with the bytes at which they begin.
    fn locate(self, text: &str, keys: &[String]) -> Option<(usize, Vec<(usize, String)>)> {
        match self {
            Syntax::Json { .. } => json::locate(self, text, keys),
            Syntax::Toml => toml::locate(text, keys),
        }
    }

    /// The text with the entry at the end of these keys. In an entry that exists, keys that `entry` does not mention stay as
    /// they are, unless it is `replaced`.
    pub(super) fn set(self, text: &str, keys: &[String], entry: &Entry, replaced: bool) -> Result<String, SyntaxError> {
        match self {
            Syntax::Toml => toml::set(text, keys, entry, replaced),
            Syntax::Json { .. } => json::set(self, text, keys, entry, replaced),
        }
    }

    /// The text without the value at the end of these keys, and without the parent objects that are empty then.
    pub(super) fn remove(self, text: &str, keys: &[String]) -> Result<String, SyntaxError> {
        match self {
            Syntax::Toml => toml::remove(text, keys),
            Syntax::Json { .. } => json::remove(self, text, keys),
        }
    }

    /// What a map of keys is called in this syntax.
    pub(super) fn object(self) -> &'static str {
        if self == Syntax::Toml { "a table" } else { "an object" }
    }

    /// An error at the end of these keys.
    fn error(self, text: &str, keys: &[String], message: String) -> SyntaxError {
        SyntaxError { position: self.position(text, keys).unwrap_or(Position { line: 1, column: 1 }), message }
    }

    /// The error that the value at the end of these keys should have keys itself.
    fn not_an_object(self, text: &str, keys: &[String]) -> SyntaxError {
        self.error(text, keys, format!("`{}` must be {}, but is not", keys.join("."), self.object()))
    }
}

/// Which elements of a list are replaced, and by which, to make it equal to another. Those before and after them are the same.
fn difference<'n>(old: &[Value], new: &'n [Value]) -> (Range<usize>, &'n [Value]) {
    let same = |pair: &(&Value, &Value)| pair.0 == pair.1;
    let before = old.iter().zip(new).take_while(same).count();
    let after = old[before..].iter().rev().zip(new[before..].iter().rev()).take_while(same).count();
    (before..old.len() - after, &new[before..new.len() - after])
}

/// A message that continues a sentence.
fn lowercase_first(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STRICT: Syntax = Syntax::Json { comments: false, trailing_commas: false };
    pub(super) const LENIENT: Syntax = Syntax::Json { comments: true, trailing_commas: true };

    #[test]
    fn a_text_is_the_value_that_the_agent_sees() {
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
    fn a_syntax_error_has_a_position() {
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
            let error = syntax.parse(text).unwrap_err();
            assert_eq!((error.position.to_string().as_str(), error.message.as_str()), (position, message), "{text}");
        }
    }

    #[test]
    fn a_value_has_a_position() {
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

    pub(super) fn entry(args: &[&str]) -> Entry {
        Entry {
            required: vec![("command", Some(json!("/p"))), ("args", Some(json!(args)).filter(|_| !args.is_empty()))],
            initial: vec![("env", json!({}))],
        }
    }

    pub(super) fn keys(keys: &str) -> Vec<String> {
        keys.split('.').map(str::to_owned).collect()
    }

    /// Puts an entry in, and takes it out again.
    #[track_caller]
    pub(super) fn there_and_back(syntax: Syntax, before: &str, with: &str, after: &str) {
        let keys = keys(if syntax == Syntax::Toml { "mcp_servers.prompts" } else { "s.prompts" });
        let mut entry = entry(&["a b"]);
        if syntax == Syntax::Toml {
            entry.initial.clear();
        }
        let changed = syntax.set(before, &keys, &entry, false).unwrap();
        assert_eq!(changed, with);
        assert_eq!(syntax.set(&changed, &keys, &entry, false).unwrap(), with, "twice");
        assert_eq!(syntax.remove(&changed, &keys).unwrap(), after);
    }

    /// The comments of a list of arguments, and the lines of those that are not changed, stay.
    #[test]
    fn a_list_that_changes_keeps_its_layout_and_comments() {
        let list = |open: &str, mark: &str, end: &str| {
            format!(
                "{open}[ {mark} first\n    \"--prompts\", \"/a\", {mark} the team's\n    \"--tap\", \"t\"{end} {mark} to debug\n  ]"
            )
        };
        let toml = |end| list("[s.prompts]\ncommand = '/p'\nargs = ", "#", end) + " # last\n";
        let json = |end| list("{\"s\": {\"prompts\": {\"command\": \"/p\", \"args\": ", "//", end) + "}}}\n";
        for (syntax, text) in
            [(Syntax::Toml, toml(",")), (Syntax::Toml, toml("")), (LENIENT, json(",")), (LENIENT, json(""))]
        {
            for args in [
                &["--prompts", "/a", "--tap", "t"][..],
                &["--prompts", "/b", "--tap", "t"],
                &["--prompts", "/b", "--prompts", "/c", "--tap", "t"],
                &["--prompts", "/a", "--tap", "t", "--no-builtin"],
                &["--prompts", "/a"],
                &["--tap", "t"],
                &["x"],
            ] {
                let mut entry = entry(args);
                entry.initial.clear();
                let changed = syntax.set(&text, &keys("s.prompts"), &entry, false).unwrap();
                assert_eq!(syntax.parse(&changed).unwrap()["s"]["prompts"]["args"], json!(args), "{changed}");
                // In JSON, a comment after an element is removed with it.
                let is_shorter = syntax != Syntax::Toml && args.len() < 4;
                for comment in ["first", "the team's", "to debug"].into_iter().filter(|_| !is_shorter) {
                    assert_eq!(changed.matches(comment).count(), 1, "{args:?}: {changed}");
                }
                let kept = text.lines().filter(|line| changed.contains(line)).count();
                assert!(args.len() < 4 || kept + 2 >= text.lines().count(), "{args:?}: {changed}");
            }
        }
    }

    #[test]
    fn an_existing_entry_keeps_the_keys_that_are_not_set() {
        let keys = keys("s.prompts");
        for (syntax, before, after) in [
            (
                LENIENT,
                "{\"s\": {\"prompts\": {\"command\": \"/old\" /* c */, \"args\": [\"x\"], \"env\": {\"E\": \"e\"}}}}",
                "{\"s\": {\"prompts\": {\"command\": \"/p\" /* c */, \"env\": {\"E\": \"e\"}}}}",
            ),
            (
                Syntax::Toml,
                "[s.prompts]\ncommand = '/old' # c\nargs = [ 'x' ]\nenv = {E = 'e'}\n[s.prompts.tools.t]\nu = 1\n",
                "[s.prompts]\ncommand = \"/p\" # c\nenv = {E = 'e'}\n[s.prompts.tools.t]\nu = 1\n",
            ),
        ] {
            assert_eq!(syntax.set(before, &keys, &entry(&[]), false).unwrap(), after);
            let replaced = syntax.set(before, &keys, &entry(&[]), true).unwrap();
            assert!(!replaced.contains("/old") && !replaced.contains('E') && !replaced.contains("tools"), "{replaced}");
        }
    }
}
