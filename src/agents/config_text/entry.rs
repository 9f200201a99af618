//! What `install` writes for a server, and the errors of both syntaxes.

use crate::prompt::{Diagnostic, Kind, Position};
use serde_json::Value;

/// The content of a server's entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// The keys that must have these values. `None`: the key must be absent.
    pub(crate) required: Vec<(&'static str, Option<Value>)>,
    /// The keys that get these values in a new entry. In one that exists, they stay as they are.
    pub(crate) initial: Vec<(&'static str, Value)>,
}

/// What becomes of an entry that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetMode {
    /// It gets what is required. Its other keys stay.
    Update,
    /// It becomes a new entry.
    Replace,
}

impl Entry {
    /// Returns the keys of a new entry, with their values.
    pub(super) fn all(&self) -> Vec<(&'static str, &Value)> {
        let mut pairs = Vec::new();
        for (key, value) in &self.required {
            if let Some(value) = value {
                pairs.push((*key, value));
            }
        }
        for (key, value) in &self.initial {
            pairs.push((*key, value));
        }
        pairs
    }
}

/// Returns the error that a text cannot be parsed at a byte, from the first line of a parser's
/// message.
pub(super) fn syntax_error(text: &str, byte: usize, message: &str) -> Diagnostic {
    let message = message.lines().next().unwrap_or_default();
    let position = Position::in_text(text, byte.min(text.len()), 1);
    Diagnostic::new(Kind::Invalid, uncapitalized(message), "correct it").with_position(position)
}

/// Returns a text with its first letter in lower case.
fn uncapitalized(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().to_string() + letters.as_str(),
        None => String::new(),
    }
}

/// Returns the error that the value at the end of these keys is not `wanted`, such as "a list".
pub(super) fn wrong_kind(keys: &[String], wanted: &str, position: Option<Position>) -> Diagnostic {
    let message = format!("`{}` must be {wanted}, but is not", keys.join("."));
    Diagnostic::new(Kind::Invalid, message, "correct it").with_position(position)
}
