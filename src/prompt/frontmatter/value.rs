//! What a frontmatter holds, whether our own reading or YAML has found it.

use std::borrow::Cow;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'h> {
    /// None, or YAML's `null`.
    Nothing,
    Text(Cow<'h, str>),
    /// What YAML takes for a number or a truth value, as it spells that.
    Scalar(String),
    List(Vec<Value<'h>>),
    Map(Map<'h>),
}

/// Keys and their values. There are a few: to compare them costs less than to hash them.
pub(super) type Map<'h> = Vec<(Cow<'h, str>, Value<'h>)>;

impl Value<'_> {
    /// A text, number or truth value as text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Scalar(text) => Some(text),
            Value::Nothing | Value::List(_) | Value::Map(_) => None,
        }
    }
}
