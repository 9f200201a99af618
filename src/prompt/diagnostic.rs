//! What is wrong with a prompt file, where, and how to fix it. The name of the file is added by whoever read it.

use std::fmt;
use std::path::PathBuf;

/// How much a [`Diagnostic`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used as a prompt.
    Error,
    /// The prompt works, but perhaps not as its author expects.
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

/// A position in a text, both numbers from 1; a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl Position {
    /// Line 1, column 1.
    pub const START: Position = Position { line: 1, column: 1 };

    /// The position of the byte `offset` in `text`, whose first line counts as `first_line`.
    pub(crate) fn in_text(text: &str, offset: usize, first_line: usize) -> Position {
        Positions::new(text, first_line).at(offset)
    }
}

/// The positions of several bytes of one text, in one pass over it.
pub(crate) struct Positions<'t> {
    rest: &'t str,
    offset: usize,
    position: Position,
    /// Whether all of them are the first one.
    is_fixed: bool,
}

impl<'t> Positions<'t> {
    /// The first line of `text` counts as `first_line`.
    pub(crate) fn new(text: &'t str, first_line: usize) -> Positions<'t> {
        Positions::from(text, Position { line: first_line, column: 1 })
    }

    /// The first character of `text` has this position.
    pub(crate) fn from(text: &'t str, position: Position) -> Positions<'t> {
        Positions { rest: text, offset: 0, position, is_fixed: false }
    }

    /// All of `text` has this position.
    pub(crate) fn fixed(text: &'t str, position: Position) -> Positions<'t> {
        Positions { is_fixed: true, ..Positions::from(text, position) }
    }

    /// The position of the byte `offset`, which must not be before that of the previous call.
    pub(crate) fn at(&mut self, offset: usize) -> Position {
        if self.is_fixed {
            return self.position;
        }
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

/// What is wrong with a prompt file, where in the text, and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the file is a prompt nevertheless.
    pub severity: Severity,
    /// The included file that it is about; `None` if it is the prompt's own.
    pub file: Option<PathBuf>,
    /// Where; `None` if it is about the file as a whole.
    pub position: Option<Position>,
    /// What is wrong: one line, lowercase, without a final stop.
    pub message: String,
    /// What to do about it: one line, in the imperative, lowercase, without a final stop.
    pub fix: String,
}

impl Diagnostic {
    pub(crate) fn error(position: Option<Position>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Error, file: None, position, message: message.into(), fix: fix.into() }
    }

    pub(crate) fn warning(position: Option<Position>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, file: None, position, message: message.into(), fix: fix.into() }
    }

    /// The whole of it: where, what is wrong, and what to do.
    pub fn with_position(&self) -> String {
        match self.position {
            Some(at) => format!("line {}, column {}: {self}", at.line, at.column),
            None => self.to_string(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.fix)
    }
}
