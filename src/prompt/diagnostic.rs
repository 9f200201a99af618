//! What is wrong at one spot of one prompt file, and how to repair it. It does not know the file's name: whoever
//! read the file adds it.

use std::fmt;

/// How much a [`Diagnostic`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file is not a prompt because of it.
    Error,
    /// The prompt works, but perhaps not as its author thinks.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// A place in a text: line and column, both from 1; a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Position {
    /// Line 1, column 1.
    pub const START: Position = Position { line: 1, column: 1 };

    /// The place of the byte `offset` in `text`, whose first line counts as `first_line`.
    pub(crate) fn in_text(text: &str, offset: usize, first_line: usize) -> Position {
        Positions::new(text, first_line).at(offset)
    }
}

/// The places of several bytes of one text, in one walk over it.
pub(crate) struct Positions<'t> {
    rest: &'t str,
    offset: usize,
    position: Position,
}

impl<'t> Positions<'t> {
    /// The first line of `text` counts as `first_line`.
    pub(crate) fn new(text: &'t str, first_line: usize) -> Positions<'t> {
        Positions { rest: text, offset: 0, position: Position { line: first_line, column: 1 } }
    }

    /// The place of the byte `offset`, which is not before the one that was asked for last.
    pub(crate) fn at(&mut self, offset: usize) -> Position {
        let (before, rest) = self.rest.split_at(offset - self.offset);
        match before.rfind('\n') {
            Some(newline) => {
                self.position.line += before.bytes().filter(|&byte| byte == b'\n').count();
                self.position.column = before[newline + 1..].chars().count() + 1;
            }
            None => self.position.column += before.chars().count(),
        }
        (self.rest, self.offset) = (rest, offset);
        self.position
    }
}

/// What is wrong with a prompt file, where in the text, and the repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether there is a prompt all the same.
    pub severity: Severity,
    /// Where it is; `None` where it is about the file as a whole.
    pub position: Option<Position>,
    /// What is wrong: one line, lowercase, without a final stop.
    pub message: String,
    /// What to do about it: one line, in the imperative, lowercase, without a final stop.
    pub repair: String,
}

impl Diagnostic {
    pub(crate) fn error(position: Option<Position>, message: impl Into<String>, repair: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Error, position, message: message.into(), repair: repair.into() }
    }

    pub(crate) fn warning(position: Option<Position>, message: impl Into<String>, repair: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, position, message: message.into(), repair: repair.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.repair)
    }
}
