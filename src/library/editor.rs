//! Changes prompts for a caller: in the user's own folder, only as they were read, and never without a trace in the history.
//!
//! [`Editor`] checks what a caller may write, and that it is a prompt; a [`Writer`] stores it. `folder_writer.rs` is the one of folders.

use super::difference::difference;
use super::history::{Operation, Version};
use super::{Caller, Layer, Library, Location, Lookup, Prefix, Problem, Revision, View, WriteError};
use crate::prompt::{self, Diagnostic, Name, Parts, spellings};
use crate::wording::{named, quoted};
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest note on a change, and the longest id of one, in bytes. The history keeps them.
const MAX_NOTE: usize = 2_000;
const MAX_OPERATION_ID: usize = 200;

/// How many lines of a diff a message has.
const MAX_DIFF_LINES: usize = 40;

/// What to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The whole file.
    File(String),
    /// Parts of it; all others stay byte for byte.
    Parts(Parts),
}

/// Who writes, and why; for the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    author: Option<Arc<str>>,
    note: Option<String>,
    operation_id: Option<String>,
}

impl About {
    /// `author`: who writes. `note`: why, in a few words. `operation_id`: chosen by the client for one write; with the same id it is
    /// done once, however often it is sent, as long as the history of the prompt has the version.
    ///
    /// # Errors
    /// The note is longer than 2,000 bytes, or the id longer than 200.
    pub fn new(
        author: Option<Arc<str>>,
        note: Option<String>,
        operation_id: Option<String>,
    ) -> Result<About, EditError> {
        for (key, text, max) in [("note", &note, MAX_NOTE), ("operation_id", &operation_id, MAX_OPERATION_ID)] {
            if text.as_ref().is_some_and(|text| text.len() > max) {
                return Err(EditError::TooLong(key, max));
            }
        }
        Ok(About { author, note: note.filter(|note| !note.trim().is_empty()), operation_id })
    }

    pub(super) fn author(&self) -> Option<&str> {
        self.author.as_deref()
    }

    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    pub(super) fn operation_id(&self) -> Option<&str> {
        self.operation_id.as_deref()
    }
}

/// A write that was carried out.
#[derive(Debug, Clone)]
pub struct Written {
    /// The name of the prompt.
    pub name: Name,
    /// What its file holds now; after a delete, what it held.
    pub revision: Revision,
    /// What is probably not as the author intends; and that another prompt overrides it.
    pub warnings: Vec<Problem>,
}

/// A prompt's file at one moment.
#[derive(Debug, Clone)]
pub struct Current {
    /// The name of the prompt.
    pub name: Name,
    /// Its revision.
    pub revision: Revision,
    /// Its text, with the frontmatter.
    pub file: String,
    /// Who wrote it.
    pub layer: Layer,
}

/// Why nothing was written, or there is no version. The `Display` is a whole message, for a model and for a person.
#[derive(Debug)]
pub enum EditError {
    /// There is no folder that prompts are written to.
    NoFolder,
    /// The text is not the name of a new prompt; it says why.
    BadName(String),
    /// The caller may write only prompts in this folder.
    Outside(Prefix),
    /// There is no such prompt; it says so.
    Unknown(String),
    /// There is such a prompt already.
    Exists(Name),
    /// The prompt is in another layer, or in a folder that nothing is written to.
    NotYours(Name, Layer),
    /// The same, for who asks for its versions.
    NoHistory(Name, Layer, Location),
    /// The prompt is no longer as it was read.
    Conflict {
        /// The name of the prompt.
        name: Name,
        /// What its file holds now; `None` if it was deleted.
        current: Option<Revision>,
        /// What has changed since it was read, as a unified diff; empty if that is not known.
        diff: String,
    },
    /// The text is not a prompt.
    Invalid(Box<Problem>),
    /// Parts of the file cannot be changed.
    Refused(Name, Box<Diagnostic>),
    /// The history has no such version.
    NoVersion(Name, Option<Revision>),
    /// The text of this version was changed in the history.
    VersionChanged(Name, Revision),
    /// This part of an [`About`] is longer than this, in bytes.
    TooLong(&'static str, usize),
    /// Another write was made with this id.
    OtherOperation(Name),
    /// The prompt's file is a symlink to this path, outside of the folder that the caller may write to.
    Escapes(PathBuf),
    /// There is a symlink or a file where a folder is needed.
    Obstacle(PathBuf),
    /// Another process has held this lock for too long.
    Locked(PathBuf),
    /// The file cannot be created there.
    Write(WriteError),
    /// The system refuses to read or write there. Nothing is changed.
    Io(PathBuf, io::Error),
    /// The prompt is written, but the system does not say that a crash cannot undo it.
    NotStored(PathBuf, io::Error),
}

/// Stores the prompts of a source.
pub(super) trait Writer: fmt::Debug + Send + Sync {
    /// The bytes of the file of exactly this name; `None` if there is none.
    fn read(&self, name: &Name) -> Result<Option<Vec<u8>>, EditError>;

    /// The warnings of a text that is to be the file of this name. What it includes and attaches is read.
    fn check(&self, name: &Name, text: &str, prefix: Option<&Prefix>) -> Result<Vec<Problem>, EditError>;

    /// Carries out a write, unless the file is not as expected. Returns the revision that it now has, or of a delete had.
    fn write(&self, write: &Write<'_>) -> Result<Revision, EditError>;

    /// The versions of a prompt, the newest first.
    fn history(&self, name: &Name) -> Result<Vec<Version>, EditError>;

    /// The text of a version.
    fn version(&self, name: &Name, revision: Revision) -> Result<Option<Vec<u8>>, EditError>;

    /// The file of a prompt, for people; `None` if there is none.
    fn path(&self, name: &Name) -> Option<PathBuf>;
}

/// A write of one prompt.
#[derive(Debug)]
pub(super) struct Write<'w> {
    pub(super) name: &'w Name,
    pub(super) operation: Operation,
    /// `None`: there is no file.
    pub(super) expected: Option<Revision>,
    /// `None`: to delete the file.
    pub(super) text: Option<&'w [u8]>,
    pub(super) about: &'w About,
    pub(super) caller: &'w Caller,
    /// How many versions are kept besides the current one.
    pub(super) versions: NonZeroUsize,
}

/// Changes prompts for one caller. It is made for one message.
#[derive(Debug)]
pub struct Editor<'l> {
    library: &'l Library,
    writer: Arc<dyn Writer>,
    view: View,
    caller: Caller,
}

impl Library {
    /// What changes prompts for a caller: in the first folder of the user that is not another program's.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn editor(&self, caller: &Caller) -> Result<Editor<'_>, EditError> {
        let writer = self.sources.iter().find_map(|source| Arc::clone(source).writer()).ok_or(EditError::NoFolder)?;
        Ok(Editor { library: self, writer, view: self.view_for(caller).for_editing(true), caller: caller.clone() })
    }
}

impl Editor<'_> {
    /// The library as the caller sees it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Creates a prompt. [`Parts`] are those of an empty file. A prompt of another layer may have the name.
    ///
    /// # Errors
    /// The name is invalid or taken, the text is not a prompt, or the file cannot be written.
    pub fn create(&self, name: &str, edit: &Edit, about: &About) -> Result<Written, EditError> {
        let name = Name::for_new_file(name).map_err(EditError::BadName)?;
        self.check_prefix(&name)?;
        let stored = self.view.stored_spelling(name.clone());
        if stored != name && self.writer.read(&stored)?.is_some() {
            return Err(EditError::Exists(stored));
        }
        let text = self.edited(&name, "", edit)?;
        let warnings = self.writer.check(&name, &text, self.caller.prefix.as_ref())?;
        self.write(&name, Operation::Create, None, Some(text.as_bytes()), about, warnings)
    }

    /// Changes a prompt that still is as expected. A text that it has already changes nothing.
    ///
    /// # Errors
    /// There is no such prompt in the folder, it has changed, the text is not a prompt, or the file cannot be written.
    pub fn update(&self, name: &str, expected: Revision, edit: &Edit, about: &About) -> Result<Written, EditError> {
        let name = self.name(name)?;
        let current = self.writer.read(&name)?;
        let is_current = current.as_ref().is_some_and(|current| Revision::of(current) == expected);
        // A repeated write is of the text that it was made for.
        let base = match current {
            Some(current) if is_current => Some(current),
            _ if about.operation_id.is_some() => self.writer.version(&name, expected)?,
            _ => None,
        };
        let text = match (edit, base) {
            (Edit::File(text), _) => text.clone(),
            (Edit::Parts(_), Some(base)) => self.edited(&name, &self.utf8(&name, base)?, edit)?,
            (Edit::Parts(_), None) => {
                let current = self.writer.read(&name)?.and_then(|current| String::from_utf8(current).ok());
                let text = current.and_then(|current| self.edited(&name, &current, edit).ok());
                return Err(self.conflict(name, expected, text.as_deref().map(str::as_bytes)));
            }
        };
        let warnings = self.writer.check(&name, &text, self.caller.prefix.as_ref())?;
        self.write(&name, Operation::Update, Some(expected), Some(text.as_bytes()), about, warnings)
    }

    /// Deletes the file of a prompt that still is as expected. Its text stays in the history.
    ///
    /// # Errors
    /// There is no such prompt in the folder, it has changed, or the file cannot be deleted.
    pub fn delete(&self, name: &str, expected: Revision, about: &About) -> Result<Written, EditError> {
        let name = self.name(name)?;
        self.write(&name, Operation::Delete, Some(expected), None, about, Vec::new())
    }

    /// Writes an earlier version again: the one with the revision `to`, else the one before the current one, or the one that was
    /// deleted. `expected` is `None` if there is no such file now. What is wrong with
    /// the text is in the warnings, unless the caller has a prefix.
    ///
    /// # Errors
    /// There is no such version, the prompt has changed, or the file cannot be written.
    pub fn restore(
        &self,
        name: &str,
        expected: Option<Revision>,
        to: Option<Revision>,
        about: &About,
    ) -> Result<Written, EditError> {
        let name = self.name(name)?;
        let bytes = match to {
            Some(to) => self.stored(&name, to)?.ok_or_else(|| EditError::NoVersion(name.clone(), Some(to)))?,
            None => self.earlier(&name, expected)?.ok_or_else(|| EditError::NoVersion(name.clone(), None))?.1,
        };
        let text = self.utf8(&name, bytes)?;
        let warnings = match self.writer.check(&name, &text, self.caller.prefix.as_ref()) {
            // With a prefix, it may be invalid because of what it would reach.
            Err(EditError::Invalid(problem)) if self.caller.prefix.is_none() => vec![*problem],
            checked => checked?,
        };
        self.write(&name, Operation::Restore, expected, Some(text.as_bytes()), about, warnings)
    }

    /// A prompt's file, in any layer.
    ///
    /// # Errors
    /// There is no such prompt, or its file cannot be read.
    pub fn current(&self, name: &str) -> Result<Current, EditError> {
        let found = spellings(name).iter().filter_map(|name| Name::new(name).ok()).find_map(|name| {
            let (layer, _) = self.view.locate(&name)?;
            Some((self.view.raw(&name)?, name, layer))
        });
        let (file, name, layer) = found.ok_or_else(|| self.unknown(name))?;
        let file = file.map_err(|problem| EditError::Invalid(Box::new(problem)))?;
        Ok(Current { revision: Revision::of(file.as_bytes()), name, file, layer })
    }

    /// The file of a prompt; `None` if it was deleted.
    pub fn path(&self, name: &Name) -> Option<PathBuf> {
        self.writer.path(name)
    }

    /// The versions of a prompt, which may have been deleted; the newest first, which is the current one unless it was.
    ///
    /// # Errors
    /// There is no such prompt in the folder and in its history, or they cannot be read.
    pub fn history(&self, name: &str) -> Result<Vec<Version>, EditError> {
        self.writer.history(&self.with_history(name)?)
    }

    /// The text of a version, which may be the current one.
    ///
    /// # Errors
    /// There is no such version, or it cannot be read.
    pub fn version(&self, name: &str, revision: Revision) -> Result<String, EditError> {
        let name = self.with_history(name)?;
        let current = self.writer.read(&name)?.filter(|current| Revision::of(current) == revision);
        let text = match current {
            Some(text) => text,
            None => self.stored(&name, revision)?.ok_or_else(|| EditError::NoVersion(name.clone(), Some(revision)))?,
        };
        self.utf8(&name, text)
    }

    /// The newest version with another text than the current one, or the one that was deleted. A version whose text was changed in
    /// the history is skipped.
    ///
    /// # Errors
    /// There is no such prompt in the folder and in its history, or they cannot be read.
    pub fn before(&self, name: &str) -> Result<Option<(Revision, String)>, EditError> {
        let name = self.with_history(name)?;
        let current = self.writer.read(&name)?.map(|current| Revision::of(&current));
        let earlier = self.earlier(&name, current)?;
        earlier.map(|(revision, text)| Ok((revision, self.utf8(&name, text)?))).transpose()
    }

    fn earlier(&self, name: &Name, current: Option<Revision>) -> Result<Option<(Revision, Vec<u8>)>, EditError> {
        for version in self.writer.history(name)? {
            if version.operation != Operation::Delete
                && Some(version.revision) != current
                && let Some(text) = self.writer.version(name, version.revision)?
            {
                return Ok(Some((version.revision, text)));
            }
        }
        Ok(None)
    }

    /// The text of a version in the history; `None` if it has no such version.
    fn stored(&self, name: &Name, revision: Revision) -> Result<Option<Vec<u8>>, EditError> {
        let text = self.writer.version(name, revision)?;
        let has_text = |version: &Version| {
            (version.revision == revision) && version.operation != Operation::Delete && !version.is_current
        };
        if text.is_none() && self.writer.history(name)?.iter().any(has_text) {
            return Err(EditError::VersionChanged(name.clone(), revision));
        }
        Ok(text)
    }

    fn write(
        &self,
        name: &Name,
        operation: Operation,
        expected: Option<Revision>,
        text: Option<&[u8]>,
        about: &About,
        mut warnings: Vec<Problem>,
    ) -> Result<Written, EditError> {
        let versions = self.library.versions;
        let write = Write { name, operation, expected, text, about, caller: &self.caller, versions };
        let written = self.writer.write(&write);
        self.library.changes().advance();
        let revision = written.map_err(|error| match error {
            EditError::Conflict { name, .. } => match expected {
                Some(expected) => self.conflict(name, expected, text),
                None => EditError::Exists(name),
            },
            other => other,
        })?;
        warnings.extend(text.and_then(|_| self.overridden(name)));
        Ok(Written { name: name.clone(), revision, warnings })
    }

    /// The text after an edit.
    fn edited(&self, name: &Name, text: &str, edit: &Edit) -> Result<String, EditError> {
        match edit {
            Edit::File(text) => Ok(text.clone()),
            Edit::Parts(parts) => {
                prompt::edit(text, parts).map_err(|diagnostic| EditError::Refused(name.clone(), Box::new(diagnostic)))
            }
        }
    }

    fn check_prefix(&self, name: &Name) -> Result<(), EditError> {
        match &self.caller.prefix {
            Some(prefix) if !prefix.contains(name) => Err(EditError::Outside(prefix.clone())),
            _ => Ok(()),
        }
    }

    /// The name of a prompt that may be written, or that was deleted, from what was typed.
    ///
    /// # Errors
    /// There is no such prompt in the folder and in its history.
    pub fn name(&self, typed: &str) -> Result<Name, EditError> {
        let names: Vec<Name> = spellings(typed)
            .iter()
            .filter_map(|name| Name::new(name).ok())
            .filter(|name| self.check_prefix(name).is_ok())
            .collect();
        for name in &names {
            if self.writer.path(name).is_some() {
                return Ok(name.clone());
            }
        }
        for name in &names {
            if !self.writer.history(name)?.is_empty() {
                return Ok(name.clone());
            }
        }
        match names.iter().find_map(|name| Some((name, self.view.locate(name)?))) {
            Some((name, (layer, _))) => Err(EditError::NotYours(name.clone(), layer)),
            None => Err(self.unknown(typed)),
        }
    }

    /// The same for who asks for its versions.
    fn with_history(&self, typed: &str) -> Result<Name, EditError> {
        self.name(typed).map_err(|error| match error {
            EditError::NotYours(name, layer) => match self.view.locate(&name) {
                Some((layer, location)) => EditError::NoHistory(name, layer, location),
                None => EditError::NotYours(name, layer),
            },
            error => error,
        })
    }

    fn unknown(&self, typed: &str) -> EditError {
        EditError::Unknown(match self.view.find(typed) {
            Lookup::Unknown { why, .. } => why.to_string(),
            Lookup::Found(prompt) => {
                format!("no prompt is named exactly {}; did you mean {}?", quoted(typed), named(&prompt.name))
            }
            Lookup::Broken(problem) => problem.to_string(),
        })
    }

    /// The error for a prompt that is not as expected, with what has changed since; or, if that is not known, with what the write would
    /// change now.
    fn conflict(&self, name: Name, expected: Revision, text: Option<&[u8]>) -> EditError {
        if let Some((layer, location)) = self.view.locate(&name)
            && self.writer.path(&name).is_none_or(|own| location != Location::File(own))
            && matches!(self.view.raw(&name), Some(Ok(read)) if Revision::of(read.as_bytes()) == expected)
        {
            return EditError::NotYours(name, layer);
        }
        let current = self.writer.read(&name).ok().flatten();
        let then = self.writer.version(&name, expected).ok().flatten();
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let diff = match (&current, then, text) {
            (Some(current), Some(then), _) => {
                difference(("as you read it", &lossy(&then)), ("as it is now", &lossy(current)))
            }
            (Some(current), None, Some(text)) => {
                difference(("as it is now", &lossy(current)), ("as you would write it", &lossy(text)))
            }
            _ => String::new(),
        };
        let diff = shortened(diff);
        EditError::Conflict { name, current: current.as_deref().map(Revision::of), diff }
    }

    fn utf8(&self, name: &Name, bytes: Vec<u8>) -> Result<String, EditError> {
        String::from_utf8(bytes).map_err(|error| {
            let diagnostic = crate::prompt::not_utf8(error.as_bytes(), error.utf8_error().valid_up_to());
            let path = self.writer.path(name).unwrap_or_else(|| name.as_str().into());
            EditError::Invalid(Box::new(Problem { file: name.to_string(), path, diagnostic }))
        })
    }

    /// A warning if another prompt of the name is used.
    fn overridden(&self, name: &Name) -> Option<Problem> {
        let path = self.writer.path(name)?;
        // What was looked at before the write may be outdated.
        let view = self.library.view_for(&self.caller);
        let (layer, _) = view.locate(name).filter(|(_, location)| *location != Location::File(path.clone()))?;
        let winner = match layer {
            Layer::Project => "the project's prompt of this name",
            _ => "another prompt of this name",
        };
        let diagnostic = Diagnostic::warning(
            None,
            format!("{winner} overrides this one"),
            "choose another name, or delete that prompt",
        );
        Some(Problem { file: name.to_string(), path, diagnostic })
    }
}

/// The first lines of a diff.
fn shortened(diff: String) -> String {
    let Some((end, _)) = diff.match_indices('\n').nth(MAX_DIFF_LINES - 1) else { return diff };
    match diff[end + 1..].lines().count() {
        0 => diff,
        more => format!("{}… {more} more lines\n", &diff[..=end]),
    }
}

impl EditError {
    /// Whether the system is the reason, and not what the caller asked for.
    pub fn is_io(&self) -> bool {
        match self {
            EditError::Io(..) | EditError::NotStored(..) => true,
            EditError::Locked(_) | EditError::Obstacle(_) | EditError::NoFolder => true,
            EditError::Write(error) => matches!(error, WriteError::Io(..)),
            _ => false,
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &std::path::Path| named(&path.display().to_string());
        match self {
            EditError::NoFolder => {
                f.write_str("there is no folder of prompts to write to; start the program with --prompts DIR")
            }
            EditError::BadName(why) => f.write_str(why),
            EditError::Outside(prefix) => {
                write!(
                    f,
                    "you can only write prompts whose names begin with {}; choose such a name",
                    named(&prefix.to_string())
                )
            }
            EditError::Unknown(why) => f.write_str(why),
            EditError::Exists(name) => {
                write!(
                    f,
                    "there is already a prompt named {}; choose another name, or read that prompt and update it",
                    named(name)
                )
            }
            EditError::NotYours(name, Layer::Builtin) => {
                let name = named(name);
                write!(
                    f,
                    "{name} is a built-in prompt, which cannot be changed; create a prompt named {name}, which overrides it"
                )
            }
            EditError::NotYours(name, Layer::Project) => {
                write!(
                    f,
                    "{} is a prompt of the project, which is changed in its repository; create a prompt with another name",
                    named(name)
                )
            }
            EditError::NotYours(name, Layer::Remote) => {
                write!(f, "a service renders {}; to change it, edit the OpenAPI document", named(name))
            }
            EditError::NoHistory(name, _, Location::Builtin) => {
                write!(f, "{} is a built-in prompt, and has no history", named(name))
            }
            EditError::NoHistory(name, _, Location::Document(document)) => {
                write!(f, "{} is an operation of {}; its history is that of the document", named(name), path(document))
            }
            EditError::NoHistory(name, Layer::Project, _) => {
                write!(f, "{} is a prompt of the project; its history is that of the repository", named(name))
            }
            EditError::NoHistory(name, ..) => {
                write!(f, "{} is in a folder that prompt-expander does not write to, and has no history", named(name))
            }
            EditError::NotYours(name, _) => {
                let name = named(name);
                write!(
                    f,
                    "{name} is in a folder that prompt-expander does not write to; create a prompt named {name} in your own folder"
                )
            }
            EditError::Conflict { name, current: None, .. } => {
                write!(f, "{} was deleted; nothing is written; restore it, or create it again", named(name))
            }
            EditError::Conflict { name, current: Some(current), diff } => {
                write!(
                    f,
                    "{} has changed since you read it, and nothing is written; its revision is now {current}",
                    named(name)
                )?;
                if !diff.is_empty() {
                    write!(f, "\n{diff}")?;
                }
                f.write_str(if diff.ends_with('\n') { "" } else { "\n" })?;
                f.write_str("read it again, and make your change to the text as it is now")
            }
            EditError::Invalid(problem) => f.write_str(&problem.diagnostic.with_position()),
            EditError::Refused(name, diagnostic) => write!(f, "{}: {}", named(name), diagnostic.with_position()),
            EditError::NoVersion(name, Some(revision)) => {
                write!(f, "the history of {} has no version {revision}; choose one from its history", named(name))
            }
            EditError::NoVersion(name, None) => write!(
                f,
                "{} has no earlier version; it has not been changed by an agent, the web page or `restore`",
                named(name)
            ),
            EditError::VersionChanged(name, revision) => write!(
                f,
                "the text of version {revision} of {} was changed in the history; choose another version",
                named(name)
            ),
            EditError::TooLong(key, max) => write!(f, "`{key}` is longer than {max} bytes; shorten it"),
            EditError::OtherOperation(name) => {
                write!(
                    f,
                    "another change of {} was made with this `operation_id`; use a new one for each change",
                    named(name)
                )
            }
            EditError::Escapes(target) => {
                write!(f, "the file is a symlink to {}, where you cannot write; nothing is written", path(target))
            }
            EditError::Obstacle(obstacle) => write!(
                f,
                "{} is a symlink or a file, and the history needs a folder there; nothing is written; move it away",
                path(obstacle)
            ),
            EditError::Locked(lock) => {
                write!(
                    f,
                    "another process has been writing for a long time, and holds {}; nothing is written; try again",
                    path(lock)
                )
            }
            EditError::Write(error) => error.fmt(f),
            EditError::NotStored(folder, error) => write!(
                f,
                "the prompt is written, but may be lost if the computer crashes now: {}: {error}; check the disk, and write it again",
                path(folder)
            ),
            EditError::Io(file, error) => {
                write!(f, "{}: {error}; nothing is changed; fix that, and try again", path(file))
            }
        }
    }
}

impl std::error::Error for EditError {}

#[cfg(test)]
mod tests;
