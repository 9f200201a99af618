//! Decides what a write does to a prompt's file, before anything is written.

use super::history::{History, Operation, Version, file_error, find_version_of_text};
use crate::library::caller::Caller;
use crate::library::disk::open::read_regular;
use crate::library::disk::root::{FileName, Root};
use crate::library::source::{WriteAction, WriteRequest};
use crate::prompt::{Diagnostic, Kind, MAX_FILE, Name, Revision};
use crate::whole_file::{FileAccess, PendingFile, sync_folder};
use crate::wording::{in_backticks, path_in_backticks};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The contents of a prompt's file.
pub(super) struct StoredFile {
    pub(super) path: Arc<Path>,
    pub(super) bytes: Vec<u8>,
    pub(super) revision: Revision,
}

/// A prompt's file and history before a write.
pub(super) struct PromptState {
    /// `None` if the prompt was deleted or never existed.
    pub(super) file: Option<StoredFile>,
    /// The versions in the history, newest first.
    pub(super) versions: Vec<Version>,
}

impl PromptState {
    /// Returns the current revision, or `None` if there is no file.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.file.as_ref().map(|file| file.revision)
    }

    /// If the prompt already is as the request wants it, returns the revision of its text or, for a
    /// deletion, of the text that was deleted.
    pub(super) fn revision_if_done(&self, request: &WriteRequest<'_>) -> Option<Revision> {
        let Some(text) = request.action.text() else {
            let deleted = self.deleted_revision()?;
            let is_done = request.expected == Some(deleted);
            return if is_done { Some(deleted) } else { None };
        };
        let current = self.revision()?;
        let is_done = current == Revision::of_contents(text.as_bytes());
        if is_done { Some(current) } else { None }
    }

    /// If the newest version is a deletion, returns the revision of the text that was deleted.
    fn deleted_revision(&self) -> Option<Revision> {
        if self.file.is_some() {
            return None; // it was created again
        }
        let newest = self.versions.first()?;
        if newest.operation == Operation::Delete {
            Some(newest.revision)
        } else {
            None
        }
    }
}

/// A write that was checked, but not yet carried out.
pub(super) struct PlannedWrite<'w> {
    pub(super) request: &'w WriteRequest<'w>,
    /// The prompt before the write.
    pub(super) state: PromptState,
    /// The revision of the new text or, for a deletion, of the text to delete.
    pub(super) revision: Revision,
    pub(super) file: TargetFile,
}

/// The file that a write changes.
pub(super) struct TargetFile {
    /// The path of the prompt's file, which may be a symlink.
    pub(super) path: PathBuf,
    /// `path` with its symlinks resolved.
    pub(super) real_path: PathBuf,
    /// The file's owner and permissions are copied from here: the old file, or the restored
    /// version. A new file gets the default ones.
    pub(super) metadata: Option<Metadata>,
}

impl<'w> PlannedWrite<'w> {
    /// Checks that a write is allowed, and determines which file it changes. Nothing is written.
    ///
    /// # Errors
    /// Fails if the prompt doesn't have the expected revision, or if the caller may not write its
    /// file.
    pub(super) fn new(
        request: &'w WriteRequest<'w>,
        state: PromptState,
        root: &Root,
        history: &History,
    ) -> Result<PlannedWrite<'w>, Diagnostic> {
        let current = state.revision();
        if current != request.expected {
            return Err(conflict_error(request.name, current));
        }
        let revision = match request.action.text() {
            Some(text) => Revision::of_contents(text.as_bytes()),
            None => current.ok_or_else(|| conflict_error(request.name, None))?,
        };
        let file = match &state.file {
            Some(file) => existing_target(file, request.caller, root)?,
            None => new_target(request, &state.versions, root, history)?,
        };
        Ok(PlannedWrite {
            request,
            state,
            revision,
            file,
        })
    }

    /// Returns who may access the new file and its versions in the history.
    pub(super) fn access(&self) -> FileAccess<'_> {
        FileAccess::same_as(self.file.metadata.as_ref())
    }

    /// Atomically replaces, creates or deletes the file.
    ///
    /// # Errors
    /// Returns [`Kind::Conflict`] if the file has changed since it was read, or another error if it
    /// cannot be written.
    pub(super) fn replace_file(&self) -> Result<(), Diagnostic> {
        let result = match self.request.action.text() {
            Some(text) => self.write_text(text),
            None => self.delete_file(),
        };
        result.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => conflict_error(self.request.name, self.state.revision()),
            _ => file_error(&self.file.path, &error),
        })
    }

    /// Replaces or creates the file. Returns `AlreadyExists` if it has changed since it was read.
    fn write_text(&self, text: &str) -> io::Result<()> {
        let pending = PendingFile::write(&self.file.real_path, text.as_bytes(), self.access())?;
        // Checked as late as possible, because writing the temporary file takes a while.
        self.check_unchanged()?;
        if self.state.file.is_some() {
            pending.replace()
        } else {
            pending.create()
        }
    }

    /// Deletes the file. Returns `AlreadyExists` if it has changed since it was read.
    fn delete_file(&self) -> io::Result<()> {
        let path = &self.file.path;
        self.check_unchanged()?;
        fs::remove_file(path)?; // if it is a symlink, deletes only the symlink
        sync_folder(path.parent().unwrap_or(path))
    }

    /// Checks that the file still has the contents that were read, or is still missing. Text
    /// editors ignore the lock, so one may have saved the file since.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if the file has changed.
    fn check_unchanged(&self) -> io::Result<()> {
        let is_unchanged = match (
            &self.state.file,
            read_regular(&self.file.real_path, MAX_FILE),
        ) {
            (Some(file), Ok(bytes)) => bytes == file.bytes,
            (None, Err(error)) => error.kind() == ErrorKind::NotFound,
            _ => false,
        };
        if is_unchanged {
            Ok(())
        } else {
            Err(ErrorKind::AlreadyExists.into())
        }
    }
}

/// Returns the file of a prompt that has one.
///
/// # Errors
/// Fails if the caller may not write there, or if the file is read-only.
fn existing_target(
    file: &StoredFile,
    caller: &Caller,
    root: &Root,
) -> Result<TargetFile, Diagnostic> {
    let path = file.path.to_path_buf();
    let real_path = fs::canonicalize(&path).map_err(|error| file_error(&path, &error))?;
    check_allowed(&real_path, caller, root)?;
    let metadata = writable_metadata(&real_path).map_err(|error| file_error(&path, &error))?;
    Ok(TargetFile {
        path,
        real_path,
        metadata: Some(metadata),
    })
}

/// Returns the file for a prompt that has none. A restored prompt gets back the path and the
/// permissions in its history. `versions` are sorted, newest first.
///
/// # Errors
/// Fails if there can be no such file, or if the caller may not write there.
fn new_target(
    request: &WriteRequest<'_>,
    versions: &[Version],
    root: &Root,
    history: &History,
) -> Result<TargetFile, Diagnostic> {
    let name = request.name;
    let mut old_path = None;
    let mut metadata = None;
    if let WriteAction::Restore(text) = request.action {
        old_path = path_before_deletion(name, versions, root);
        if let Some(version) =
            find_version_of_text(versions, Revision::of_contents(text.as_bytes()))
        {
            metadata = history.text_metadata(name, version);
        }
    }
    let path = match old_path {
        Some(old_path) => old_path,
        None => root.path_for_new(name)?,
    };
    check_allowed(&path, request.caller, root)?;
    Ok(TargetFile {
        real_path: path.clone(),
        path,
        metadata,
    })
}

/// Returns the path that the file of a deleted prompt had, from its history. `versions` are sorted,
/// newest first.
///
/// The history may have been tampered with. So this returns `None` if a file at that path would be
/// a prompt with another name.
fn path_before_deletion(name: &Name, versions: &[Version], root: &Root) -> Option<PathBuf> {
    let relative = versions.iter().find_map(|version| version.path.as_ref())?;
    let path = root.path.join(relative);
    match root.name_of(&path) {
        FileName::Prompt(file) if file.name == *name => Some(path),
        _ => None,
    }
}

/// Checks that a caller may write to a path whose symlinks are resolved.
///
/// A caller with a prefix may write in the folder of that prefix, and any other caller with a token
/// in the folder of prompts. The local user may write everywhere.
fn check_allowed(real_path: &Path, caller: &Caller, root: &Root) -> Result<(), Diagnostic> {
    let allowed_folder = match &caller.prefix {
        Some(prefix) => root.path.join(prefix.folder()),
        None if caller.token.is_some() => root.path.clone(),
        None => return Ok(()),
    };
    // A new file and its folder don't exist yet, so their nearest existing ancestors are compared.
    if let Some(allowed_folder) = existing_ancestor(&allowed_folder)
        && let Some(existing) = existing_ancestor(real_path)
        && existing.starts_with(allowed_folder)
    {
        return Ok(());
    }
    let path = path_in_backticks(real_path);
    let message =
        format!("the file is a symlink to {path}, where you may not write; nothing was written");
    let fix = "choose another name";
    Err(Diagnostic::new(Kind::OutsideFolder, message, fix))
}

/// Returns the path itself or, if it doesn't exist, its nearest ancestor that does, with all
/// symlinks resolved.
fn existing_ancestor(path: &Path) -> Option<PathBuf> {
    let mut ancestors = path.ancestors();
    ancestors.find_map(|path| fs::canonicalize(path).ok())
}

/// Returns the metadata of a file, after checking that it is writable.
///
/// # Errors
/// Returns `PermissionDenied` if the file is read-only, or another error if its metadata cannot be
/// read.
fn writable_metadata(file: &Path) -> io::Result<Metadata> {
    let metadata = fs::metadata(file)?;
    if metadata.permissions().readonly() {
        let message = "the file is read-only";
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    Ok(metadata)
}

/// Returns the error for a prompt that has changed since the caller read it. `current` is its
/// present revision, or `None` if it was deleted.
pub(crate) fn conflict_error(name: &Name, current: Option<Revision>) -> Diagnostic {
    let kind = Kind::Conflict {
        current,
        diff: String::new(),
    };
    let message = format!("{} has changed since you read it", in_backticks(name));
    Diagnostic::new(kind, message, "read it again")
}
