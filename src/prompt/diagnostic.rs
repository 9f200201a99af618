//! The error and warning type used below the protocol layer: what is wrong, where, and how to fix
//! it.

use super::name::Name;
use super::revision::Revision;
use crate::wording::{printable, without_password};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An error, warning or hint: what is wrong, where, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The kind, for code to match on. JSON contains its severity instead.
    #[serde(rename = "severity", serialize_with = "serialize_severity")]
    pub kind: Kind,
    /// The broken prompt, if this is part of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The file. Parsers don't set it; the code that read the file does.
    #[serde(serialize_with = "serialize_displayed_path")]
    pub file: Option<Arc<Path>>,
    /// The position in the file, or `None` if this is about the whole file or not about a file.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// What is wrong: one line, lowercase, without a final period.
    pub message: String,
    /// How to fix it: one imperative line, lowercase, without a final period. May be empty.
    #[serde(rename = "repair")]
    pub fix: String,
    /// Other errors in the same file, which only `check` shows.
    #[serde(skip)]
    pub further: Vec<Diagnostic>,
}

/// The kind of a [`Diagnostic`], for code to match on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// No prompt has this name.
    NoSuchPrompt {
        /// The most similar names.
        closest: Vec<Name>,
    },
    /// Several prompts have a name that ends with the given one.
    Ambiguous,
    /// A name was given together with the text that follows it, as a single string.
    TextInName {
        /// The name without the text.
        name: Name,
    },
    /// The given text can't be a prompt name.
    NotACommand,
    /// The prompt is visible only to editors.
    EditorsOnly,
    /// A required argument has no value.
    MissingValue,
    /// A value was given for an argument that the prompt doesn't have.
    NoSuchArgument,
    /// Part of the text would be lost in the expansion.
    UnusedText,
    /// A value is not among the choices of a strict argument.
    NotAChoice,
    /// A value is invalid for its argument.
    BadValue,
    /// A limit on length or on the steps of a template is exceeded.
    TooLong,
    /// A file doesn't exist.
    NotFound,
    /// A file can't be read or written, e.g. because of its permissions or a full disk.
    Unreadable,
    /// A path leads outside its folder.
    OutsideFolder,
    /// A symlink in a folder of prompts leads nowhere, maybe because a disk is not there.
    BrokenLink,
    /// Two files have the same prompt name.
    NameCollision,
    /// A file of a pack doesn't match its lock file.
    LockMismatch,
    /// The contents of a file are invalid.
    Invalid,
    /// The given text can't be the name of a new prompt.
    BadName,
    /// A prompt with this name already exists.
    AlreadyExists,
    /// The prompt has changed since it was read.
    Conflict {
        /// The current revision, or `None` if the prompt was deleted.
        current: Option<Revision>,
        /// A diff from the current text to the one to be written.
        diff: String,
    },
    /// The prompt can't be written: by this caller, under this name, or at all.
    NotWritable,
    /// The history doesn't contain this version.
    NoSuchVersion,
    /// A remote service did not return a prompt, or was not called.
    Service,
    /// Too many operations are in progress; try again later.
    Busy,
    /// It works, but probably not as intended.
    Warning,
    /// It works, but could be improved.
    Hint,
}

/// How serious a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It doesn't work.
    Error,
    /// It works, but probably not as intended.
    Warning,
    /// It works, but could be improved.
    Hint,
}

impl Severity {
    /// Returns the number of diagnostics with this severity.
    pub fn count_in(self, diagnostics: &[Diagnostic]) -> usize {
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity() == self)
            .count()
    }
}

/// A position in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The line, starting at 1.
    pub line: usize,
    /// The column in characters, starting at 1.
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

    /// Creates an error of the kind [`Kind::Invalid`] without a position.
    pub fn invalid(message: impl Into<String>, fix: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Kind::Invalid, message, fix)
    }

    /// Creates an error of the kind [`Kind::Invalid`] about the contents of a file.
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

    /// Creates a [`Kind::Warning`].
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

    /// Combines several errors: fails with the first one, which contains the others in `further`.
    /// Succeeds if there are none.
    pub(super) fn combine(errors: impl IntoIterator<Item = Diagnostic>) -> Result<(), Diagnostic> {
        let mut errors = errors.into_iter();
        let Some(mut first) = errors.next() else {
            return Ok(());
        };
        first.further = errors.collect();
        Err(first)
    }

    /// Returns this diagnostic and its `further` ones as a list.
    pub fn flatten(mut self) -> Vec<Diagnostic> {
        let further = std::mem::take(&mut self.further);
        let mut diagnostics = vec![self];
        diagnostics.extend(further);
        diagnostics
    }

    /// Sets the position.
    #[must_use]
    pub fn with_position(mut self, position: impl Into<Option<Position>>) -> Diagnostic {
        self.position = position.into();
        self
    }

    /// Sets the file of this diagnostic and of its `further` ones, except where it is already set.
    ///
    /// An error in an included file, for example, already has that file.
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

    /// Returns the severity.
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// Returns `message; fix`, without file and position.
    pub fn text(&self) -> String {
        if self.fix.is_empty() {
            return self.message.clone();
        }
        format!("{}; {}", self.message, self.fix)
    }
}

impl Kind {
    /// Returns the severity of this kind.
    fn severity(&self) -> Severity {
        match self {
            Kind::Warning | Kind::BrokenLink => Severity::Warning,
            Kind::Hint => Severity::Hint,
            _ => Severity::Error,
        }
    }
}

fn serialize_severity<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    kind.severity().serialize(serializer)
}

/// Serializes a path as displayed to users, since JSON can't represent paths that aren't Unicode.
/// Serializes `None` as an empty string.
pub(super) fn serialize_displayed_path<S: Serializer>(
    path: &Option<impl AsRef<Path>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serializer.serialize_str(&display_path_without_password(path.as_ref())),
        None => serializer.serialize_str(""),
    }
}

/// Formats a path for display. Removes the password if the path is actually a URL, such as that of
/// a database.
fn display_path_without_password(path: &Path) -> String {
    without_password(&path.display().to_string())
}

/// Formats as `file:line:column: message; fix`, which terminals and editors turn into a link, or as
/// `line 3, column 1: message; fix` if no file is set. Escapes control characters in the path.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", printable(&display_path_without_password(file)))?;
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

    /// Returns the position of the first character of a line.
    pub(crate) const fn at_line(line: usize) -> Position {
        Position { line, column: 1 }
    }

    /// Returns the position of a byte offset in the whole text of a file.
    pub(crate) fn in_file_text(text: &str, offset: usize) -> Position {
        PositionCursor::starting_at(text, Position::START).advance_to(offset)
    }

    /// Returns the position of a byte offset in `text`, whose first line has the number
    /// `first_line`.
    pub(crate) fn in_text(text: &str, offset: usize, first_line: usize) -> Position {
        PositionCursor::starting_at(text, Position::at_line(first_line)).advance_to(offset)
    }
}

/// Converts ascending byte offsets in a text to positions, in a single pass.
pub(crate) struct PositionCursor<'t> {
    /// The text after `offset`.
    rest: &'t str,
    offset: usize,
    /// The position of `offset`.
    position: Position,
}

impl<'t> PositionCursor<'t> {
    /// Creates a cursor at the start of `text`, whose first character has the given position.
    pub(crate) fn starting_at(text: &'t str, position: Position) -> PositionCursor<'t> {
        PositionCursor {
            rest: text,
            offset: 0,
            position,
        }
    }

    /// Moves to a byte offset and returns its position, e.g. line 2, column 1 for the `b` in
    /// `a\nb`. An offset past the end has the position of the end.
    ///
    /// # Panics
    /// Panics if the offset is less than that of the previous call, or not on a character boundary.
    pub(crate) fn advance_to(&mut self, offset: usize) -> Position {
        let length = self.rest.len().min(offset - self.offset);
        let (skipped, rest) = self.rest.split_at(length);
        if let Some(newline) = skipped.rfind('\n') {
            let last_line = &skipped[newline + 1..];
            self.position.line += skipped.matches('\n').count();
            self.position.column = last_line.chars().count() + 1;
        } else {
            self.position.column += skipped.chars().count();
        }
        self.rest = rest;
        self.offset = offset;
        self.position
    }
}
