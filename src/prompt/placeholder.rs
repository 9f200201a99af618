//! A placeholder of a message: where a value goes.

use std::ops::Range;

/// The name of the placeholder that every prompt may use.
pub const INPUT: &str = "input";

/// One placeholder of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// The name of the argument, or [`INPUT`].
    pub name: String,
    /// Its bytes in the body, braces included.
    pub range: Range<usize>,
}
