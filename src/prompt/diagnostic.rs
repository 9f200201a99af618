//! What is wrong, where, and how to fix it: the one error and warning below the protocol.

use super::name::Name;
use super::revision::Revision;
use crate::wording::{printable, without_password};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What code branches on; in JSON, how much it matters.
    #[serde(rename = "severity", serialize_with = "severity")]
    pub kind: Kind,
    /// The prompt that is broken, in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The file. A parser leaves it out, and whoever read the file adds it.
    #[serde(serialize_with = "shown_path")]
    pub file: Option<Arc<Path>>,
    /// Where in the file; `None` if it is about the file as a whole, or about none.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// What is wrong: one line, lowercase, without a final stop.
    pub message: String,
    /// What to do about it: one line, in the imperative, lowercase, without a final stop. It may be
    /// empty.
    #[serde(rename = "repair")]
    pub fix: String,
    /// What else is wrong with the same thing, which `check` shows.
    #[serde(skip)]
    pub further: Vec<Diagnostic>,
}

/// What kind of thing is wrong. People read the message; code reads this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// No prompt has this name.
    NoSuchPrompt {
        /// The names that are like it.
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
    Missing,
    /// The system does not read or write a file: its permissions, a full disk, something else in
    /// its place.
    Unreadable,
    /// A path leads out of the folder.
    Escapes,
    /// Two files have the same name.
    Clash,
    /// A file of a pack is not the one that its lock says.
    Differs,
    /// The text of a file is not what it should be.
    Invalid,
    /// The text cannot be the name of a new prompt.
    BadName,
    /// There is a prompt of this name already.
    Exists,
    /// The prompt has changed since it was read.
    Conflict {
        /// Its revision now; `None` if it was deleted.
        current: Option<Revision>,
        /// What would change from now on.
        diff: String,
    },
    /// It may not be written: by this caller, under this name, or at all.
    NotWritable,
    /// The history has no such version.
    NoVersion,
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
    /// How many of these are of this severity.
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
    /// One without a place.
    pub fn new(kind: Kind, message: impl Into<String>, fix: impl Into<String>) -> Diagnostic {
        let (message, fix) = (message.into(), fix.into());
        Diagnostic {
            kind,
            name: None,
            file: None,
            position: None,
            message,
            fix,
            further: Vec::new(),
        }
    }

    /// The text of a file is not what it should be.
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

    /// It works, but perhaps not as its author expects.
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

    /// One error of several, if there are any: the first, with the others.
    pub(super) fn first_of(errors: impl IntoIterator<Item = Diagnostic>) -> Result<(), Diagnostic> {
        let mut errors = errors.into_iter();
        errors.next().map_or(Ok(()), |first| {
            Err(Diagnostic {
                further: errors.collect(),
                ..first
            })
        })
    }

    /// This diagnostic and the others that it holds, each on its own.
    pub fn apart(mut self) -> Vec<Diagnostic> {
        let further = std::mem::take(&mut self.further);
        std::iter::once(self).chain(further).collect()
    }

    /// The same, at this position.
    #[must_use]
    pub fn at(self, position: impl Into<Option<Position>>) -> Diagnostic {
        Diagnostic {
            position: position.into(),
            ..self
        }
    }

    /// The same in this file, unless it is about another one already.
    #[must_use]
    pub fn in_file(self, file: impl Into<Arc<Path>>) -> Diagnostic {
        let file = self.file.unwrap_or_else(|| file.into());
        let further = self
            .further
            .into_iter()
            .map(|error| error.in_file(Arc::clone(&file)))
            .collect();
        Diagnostic {
            file: Some(file),
            further,
            ..self
        }
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// What is wrong and what to do, without the place: `message; fix`.
    pub fn text(&self) -> String {
        let Diagnostic { message, fix, .. } = self;
        if fix.is_empty() {
            message.clone()
        } else {
            format!("{message}; {fix}")
        }
    }
}

impl Kind {
    fn severity(&self) -> Severity {
        match self {
            Kind::Warning => Severity::Warning,
            Kind::Hint => Severity::Hint,
            _ => Severity::Error,
        }
    }
}

fn severity<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    kind.severity().serialize(serializer)
}

/// A path as people see it: JSON cannot hold one that is not Unicode.
pub(super) fn shown_path<S: Serializer>(
    path: &Option<impl AsRef<Path>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let shown = path
        .as_ref()
        .map(|path| path.as_ref().display().to_string());
    // An address that was taken for a path may have a password.
    serializer.serialize_str(&without_password(&shown.unwrap_or_default()))
}

/// `file:line:column: message; fix`, which terminals and editors turn into a link. Control
/// characters in the path are escaped.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        match (file, self.position) {
            (Some(file), Some(position)) => {
                write!(f, "{}:{position}: ", printable(&without_password(&file)))?
            }
            (Some(file), None) => write!(f, "{}: ", printable(&without_password(&file)))?,
            (None, Some(Position { line, column })) => write!(f, "line {line}, column {column}: ")?,
            (None, None) => {}
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
    /// Line 1, column 1.
    pub const START: Position = Position::at_line(1);

    /// Returns the first column of a line.
    pub(crate) const fn at_line(line: usize) -> Position {
        Position { line, column: 1 }
    }

    /// The position of the byte `offset` in `text`, whose first line counts as `first_line`.
    pub(crate) fn in_text(text: &str, offset: usize, first_line: usize) -> Position {
        Positions::from(text, Position::at_line(first_line)).at(offset)
    }
}

/// The positions of several bytes of one text, in one pass over it.
pub(crate) struct Positions<'t> {
    rest: &'t str,
    offset: usize,
    position: Position,
}

impl<'t> Positions<'t> {
    /// The first character of `text` has this position.
    pub(crate) fn from(text: &'t str, position: Position) -> Positions<'t> {
        Positions {
            rest: text,
            offset: 0,
            position,
        }
    }

    /// The position of the byte `offset`, which must not be before that of the previous call. An
    /// offset after the text has the position of its end.
    pub(crate) fn at(&mut self, offset: usize) -> Position {
        let (before, rest) = self
            .rest
            .split_at(self.rest.len().min(offset - self.offset));
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
