//! What is wrong, where, and how to fix it: the one error and warning below the protocol.

use super::name::Name;
use super::revision::Revision;
use crate::wording::{printable, without_password};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An error, a warning or a hint: what is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What code branches on. JSON has its severity instead.
    #[serde(rename = "severity", serialize_with = "serialize_severity")]
    pub kind: Kind,
    /// The broken prompt, if the diagnostic is part of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The file. A parser leaves it out, and whoever read the file adds it.
    #[serde(serialize_with = "shown_path")]
    pub file: Option<Arc<Path>>,
    /// The position in the file. `None`: it is about the file as a whole, or about no file.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// What is wrong: one line, lowercase, without a final stop.
    pub message: String,
    /// What to do about it: one line, in the imperative, lowercase, without a final stop. May be
    /// empty.
    #[serde(rename = "repair")]
    pub fix: String,
    /// Further diagnostics about the same thing, which `check` shows.
    #[serde(skip)]
    pub further: Vec<Diagnostic>,
}

/// The kind of thing that is wrong. People read the message; code reads this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// No prompt has this name.
    NoSuchPrompt {
        /// The most similar names.
        closest: Vec<Name>,
    },
    /// Several prompts have a name that ends like this.
    Ambiguous,
    /// What should be a name is a name with text after it.
    TextInName {
        /// The name.
        name: Name,
    },
    /// The text cannot be the name of a prompt.
    NotACommand,
    /// Only an editor sees this prompt.
    EditorsOnly,
    /// A required argument has no value.
    MissingValue,
    /// A value was given by a name that the prompt does not have.
    NoSuchArgument,
    /// A part of the text would not be in the expansion.
    UnusedText,
    /// A value is not among the choices of a strict argument.
    NotAChoice,
    /// A value is not what its argument takes.
    BadValue,
    /// A limit is exceeded: of length, or of the steps of a template.
    TooLong,
    /// A file does not exist.
    NotFound,
    /// The system does not read or write a file: its permissions, a full disk, something else in
    /// its place.
    Unreadable,
    /// A path leads out of the folder.
    OutsideFolder,
    /// Two files have the same name.
    NameCollision,
    /// A file of a pack is not the one that its lock says.
    LockMismatch,
    /// The text of a file is not what it should be.
    Invalid,
    /// The text cannot be the name of a new prompt.
    BadName,
    /// There is a prompt of this name already.
    AlreadyExists,
    /// The prompt has changed since it was read.
    Conflict {
        /// Its revision now; `None` if it was deleted.
        current: Option<Revision>,
        /// The difference between the current text and the new one.
        diff: String,
    },
    /// It may not be written: by this caller, under this name, or at all.
    NotWritable,
    /// The history has no such version.
    NoSuchVersion,
    /// A service did not answer with a prompt, or was not asked.
    Service,
    /// There is too much to do at once; try again.
    Busy,
    /// It works, but perhaps not as its author expects.
    Warning,
    /// It works, and could be better.
    Hint,
}

/// How much a [`Diagnostic`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It does not work.
    Error,
    /// It works, but perhaps not as its author expects.
    Warning,
    /// It works, and could be better.
    Hint,
}

impl Severity {
    /// Returns how many diagnostics have this severity.
    pub fn count_in(self, diagnostics: &[Diagnostic]) -> usize {
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity() == self)
            .count()
    }
}

/// A position in a text, both numbers from 1; a column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl Diagnostic {
    /// Creates a diagnostic without a file and a position.
    pub fn new(kind: Kind, message: impl Into<String>, fix: impl Into<String>) -> Diagnostic {
        Diagnostic {
            kind,
            name: None,
            file: None,
            position: None,
            message: message.into(),
            fix: fix.into(),
            further: Vec::new(),
        }
    }

    /// Creates an error about the text of a file, of the kind [`Invalid`](Kind::Invalid).
    pub fn error(
        position: Option<Position>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            position,
            ..Diagnostic::new(Kind::Invalid, message, fix)
        }
    }

    /// Creates a warning: the file works, but perhaps not as its author expects.
    pub fn warning(
        position: Option<Position>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            position,
            ..Diagnostic::new(Kind::Warning, message, fix)
        }
    }

    /// Returns the first of several errors, which holds the others, or `Ok` if there are none.
    pub(super) fn first_of(errors: impl IntoIterator<Item = Diagnostic>) -> Result<(), Diagnostic> {
        let mut errors = errors.into_iter();
        let Some(mut first) = errors.next() else {
            return Ok(());
        };
        first.further = errors.collect();
        Err(first)
    }

    /// Returns this diagnostic and the further ones that it holds, each on its own.
    pub fn flatten(mut self) -> Vec<Diagnostic> {
        let further = std::mem::take(&mut self.further);
        let mut diagnostics = vec![self];
        diagnostics.extend(further);
        diagnostics
    }

    /// Returns the diagnostic at this position.
    #[must_use]
    pub fn with_position(mut self, position: impl Into<Option<Position>>) -> Diagnostic {
        self.position = position.into();
        self
    }

    /// Sets the file of the diagnostic, unless it has one already. Further diagnostics without a
    /// file get the same one.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<Arc<Path>>) -> Diagnostic {
        let file = self.file.take().unwrap_or_else(|| file.into());
        for further in &mut self.further {
            if further.file.is_none() {
                further.file = Some(Arc::clone(&file));
            }
        }
        self.file = Some(file);
        self
    }

    /// Returns how much the diagnostic matters.
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// Returns `message; fix`, without the file and the position.
    pub fn text(&self) -> String {
        if self.fix.is_empty() {
            return self.message.clone();
        }
        format!("{}; {}", self.message, self.fix)
    }
}

impl Kind {
    /// Returns how much a diagnostic of this kind matters. Most kinds are errors.
    fn severity(&self) -> Severity {
        match self {
            Kind::Warning => Severity::Warning,
            Kind::Hint => Severity::Hint,
            _ => Severity::Error,
        }
    }
}

fn serialize_severity<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    kind.severity().serialize(serializer)
}

/// Serializes a path as people see it: JSON cannot hold one that is not Unicode.
pub(super) fn shown_path<S: Serializer>(
    path: &Option<impl AsRef<Path>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serializer.serialize_str(&path_without_password(path.as_ref())),
        None => serializer.serialize_str(""),
    }
}

/// Returns a path as people see it. An address that was taken for a path may have a password.
fn path_without_password(path: &Path) -> String {
    without_password(&path.display().to_string())
}

/// Writes `file:line:column: message; fix`, which terminals and editors turn into a link. Without a
/// file, writes `line 3, column 1: message; fix`. Control characters in the path are escaped.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", printable(&path_without_password(file)))?;
            if let Some(position) = self.position {
                write!(f, "{position}:")?;
            }
            f.write_str(" ")?;
        } else if let Some(Position { line, column }) = self.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.text())
    }
}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Position {
    /// The position of the first character.
    pub const START: Position = Position::at_line(1);

    /// Returns the first column of a line.
    pub(crate) const fn at_line(line: usize) -> Position {
        Position { line, column: 1 }
    }

    /// Returns the position of the byte `offset` in `text`, whose first line counts as
    /// `first_line`.
    pub(crate) fn in_text(text: &str, offset: usize, first_line: usize) -> Position {
        PositionCursor::starting_at(text, Position::at_line(first_line)).advance_to(offset)
    }
}

/// Finds the positions of several bytes of one text in one pass over it.
pub(crate) struct PositionCursor<'t> {
    /// The text from `offset` on.
    rest: &'t str,
    offset: usize,
    /// The position of the byte `offset`.
    position: Position,
}

impl<'t> PositionCursor<'t> {
    /// Returns a cursor at the first character of `text`, which has this position.
    pub(crate) fn starting_at(text: &'t str, position: Position) -> PositionCursor<'t> {
        PositionCursor {
            rest: text,
            offset: 0,
            position,
        }
    }

    /// Returns the position of the byte `offset`: line 2, column 1 for the `b` of `a\nb`. An offset
    /// after the text has the position of its end.
    ///
    /// # Panics
    /// Panics if the offset is less than that of the previous call, or within a character.
    pub(crate) fn advance_to(&mut self, offset: usize) -> Position {
        let length = self.rest.len().min(offset - self.offset);
        let (text_before, rest) = self.rest.split_at(length);
        if let Some(newline) = text_before.rfind('\n') {
            let last_line = &text_before[newline + 1..];
            self.position.line += text_before.matches('\n').count();
            self.position.column = last_line.chars().count() + 1;
        } else {
            self.position.column += text_before.chars().count();
        }
        self.rest = rest;
        self.offset = offset;
        self.position
    }
}
