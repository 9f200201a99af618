//! The entry that `install` writes for a server, and the errors that JSON and TOML share.

use crate::prompt::{Diagnostic, Kind, Position};
use serde_json::Value;

/// The keys and values of a server's or a hook's entry in a config.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Keys to set, and keys to remove (`None`), in new and existing entries.
    pub(crate) required: Vec<(&'static str, Option<Value>)>,
    /// Keys to set only in a new entry. An existing entry keeps what it has.
    pub(crate) initial: Vec<(&'static str, Value)>,
}

/// What to do with an existing entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetMode {
    /// Set the required keys, and keep all other keys.
    Update,
    /// Discard the existing entry, and write a new one.
    Replace,
}

/// An entry to set in a config.
pub(super) struct EntryEdit<'e> {
    /// The path of keys to the entry, e.g. `mcpServers` and `prompts`.
    pub(super) keys: &'e [String],
    pub(super) entry: &'e Entry,
    pub(super) mode: SetMode,
}

impl EntryEdit<'_> {
    /// Returns the last key, e.g. `prompts`.
    pub(super) fn name(&self) -> &str {
        self.keys.last().map_or("", String::as_str)
    }

    /// Returns the keys before the last, e.g. `mcpServers`.
    pub(super) fn parent_keys(&self) -> &[String] {
        &self.keys[..self.keys.len().saturating_sub(1)]
    }
}

impl Entry {
    /// Returns the value of a required key, or null if there is none.
    pub(super) fn required_value(&self, key: &str) -> Value {
        let mut required = self.required.iter();
        match required.find(|(name, _)| *name == key) {
            Some((_, Some(value))) => value.clone(),
            _ => Value::Null,
        }
    }

    /// Returns the keys and values of a new entry: first the required, then the initial ones.
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

/// Returns a syntax error at a byte offset, with the first line of the parser's message.
pub(super) fn syntax_error(text: &str, byte_offset: usize, parser_message: &str) -> Diagnostic {
    let message = parser_message.lines().next().unwrap_or_default();
    let position = Position::in_file_text(text, byte_offset.min(text.len()));
    Diagnostic::new(Kind::Invalid, uncapitalize(message), "correct it").with_position(position)
}

/// Converts the first character of a string to lowercase.
fn uncapitalize(string: &str) -> String {
    let mut characters = string.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().to_string() + characters.as_str(),
        None => String::new(),
    }
}

/// Returns the error that the value at a path of keys isn't of the type `wanted`, e.g. "a list".
pub(super) fn wrong_type(keys: &[String], wanted: &str, position: Option<Position>) -> Diagnostic {
    let message = format!("`{}` must be {wanted}, but is not", keys.join("."));
    Diagnostic::new(Kind::Invalid, message, "correct it").with_position(position)
}
