//! Placeholders: the parts of a message that values replace.

use std::ops::Range;

/// The name of the input placeholder, which every prompt can use.
pub const INPUT: &str = "input";

/// A placeholder in a message body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// The name of an argument, or [`INPUT`].
    pub name: String,
    /// Its byte range in the body, including delimiters.
    pub range: Range<usize>,
}
