//! What `install` writes for a server, and the errors of both syntaxes.

use crate::prompt::{Diagnostic, Kind, Position};
use serde_json::Value;

/// What an entry contains.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// These keys must have these values; `None`: the key must be absent.
    pub(crate) required: Vec<(&'static str, Option<Value>)>,
    /// These are set in a new entry, and left alone in one that exists.
    pub(crate) initial: Vec<(&'static str, Value)>,
}

impl Entry {
    /// All that a new entry contains.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let required = self
            .required
            .iter()
            .filter_map(|(key, value)| Some((*key, value.as_ref()?)));
        required.chain(self.initial.iter().map(|(key, value)| (*key, value)))
    }
}

/// The error that a text cannot be parsed.
pub(super) fn syntax_error(text: &str, byte: usize, message: &str) -> Diagnostic {
    let mut letters = message.lines().next().unwrap_or_default().chars();
    let message: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .chain(letters)
        .collect();
    Diagnostic::new(Kind::Invalid, message, "correct it").at(Position::in_text(
        text,
        byte.min(text.len()),
        1,
    ))
}

/// The error that the value at the end of these keys is not a map of keys, or not a list.
pub(super) fn wrong_kind(keys: &[String], wanted: &str, position: Option<Position>) -> Diagnostic {
    let message = format!("`{}` must be {wanted}, but is not", keys.join("."));
    Diagnostic::new(Kind::Invalid, message, "correct it").at(position)
}
