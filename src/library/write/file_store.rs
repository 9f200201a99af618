//! The store of a folder: one process writes at a time.
//!
//! | step | after a crash here |
//! |---|---|
//! | the lock of the folder is taken, and the file is read | – |
//! | what the file holds is added to the history, unless that has it | nothing is changed |
//! | the new text is added to the history | it is in the history, although it was never in the file |
//! | a temporary file next to it gets the new text, and is stored | the next write in that folder removes it |
//! | the file is compared once more, as an editor knows nothing of the lock, and replaced in one step | the new text is there, and counts as made by hand |
//! | the author and the note of the new version are added to the history | old versions may be left, which the next write removes |
//!
//! So each text that was ever in the file is in the history or in the file, and what is
//! acknowledged is in both.

use super::history::{History, Operation, Version, file_error};
use crate::library::caller::Caller;
use crate::library::disk::cache::Trace;
use crate::library::disk::open::read_regular;
use crate::library::disk::prompt_file::Files;
use crate::library::disk::root::{PromptFile, Root};
use crate::library::source::{Found, Store, WriteAction, WriteRequest};
use crate::prompt::{Diagnostic, FileSuffix, Kind, MAX_FILE, Name, Revision, decode_utf8_owned};
use crate::whole_file::{FileAccess, PendingFile, create_folders, sync_folder};
use crate::wording::{in_backticks, path_in_backticks};
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The store of a folder of prompts.
#[derive(Debug)]
pub(crate) struct FileStore {
    /// The files of the folder.
    pub(crate) files: Arc<Files>,
    /// The history of the folder.
    pub(crate) history: History,
}

impl FileStore {
    /// Returns the store of a folder. The history is in the same folder.
    pub(crate) fn new(files: Arc<Files>) -> FileStore {
        let history = History {
            root: files.root.path.clone(),
        };
        FileStore { files, history }
    }

    /// Returns the folder of prompts.
    fn root(&self) -> &Root {
        &self.files.root
    }

    /// Reads the file of a prompt. Returns `None` if there is no such prompt.
    fn read(&self, name: &Name) -> Result<Option<StoredFile>, Diagnostic> {
        let Some(file) = self.root().resolve(name, &mut Trace::default()) else {
            return Ok(None);
        };
        let bytes = self.files.read(&file.path, file.is_linked)?;
        Ok(Some(StoredFile {
            path: file.path,
            revision: Revision::of_contents(&bytes),
            bytes,
        }))
    }

    /// Sets the text of a prompt, or deletes its file, and adds the change to its history. Returns
    /// the revision of the new text or, after a deletion, of the old one.
    ///
    /// If the same change was made before, only the history is completed.
    fn change(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let _lock = self.history.lock()?;
        let state = PromptState {
            file: self.read(request.name)?,
            versions: self.history.versions(request.name)?,
        };
        let repeated_revision = match request.action.text() {
            Some(text) => self.repeat_text(request, &state, text)?,
            None => repeated_deletion(request, &state),
        };
        if let Some(revision) = repeated_revision {
            return Ok(revision);
        }
        let plan = self.plan(request, state)?;
        self.carry_out(&plan)
    }

    /// Completes the history of a prompt whose file already has the text to write, and returns the
    /// revision of that text. Returns `None`, and does nothing, if the file has another text.
    ///
    /// A client may send the same write again because it did not get the response.
    fn repeat_text(
        &self,
        request: &WriteRequest<'_>,
        state: &PromptState,
        text: &str,
    ) -> Result<Option<Revision>, Diagnostic> {
        let revision = Revision::of_contents(text.as_bytes());
        let Some(file) = &state.file else {
            return Ok(None);
        };
        if file.revision != revision {
            return Ok(None);
        }
        let metadata = fs::metadata(&file.path).ok();
        if request.expected == Some(revision) {
            self.add_current_text(request.name, state, metadata.as_ref())?;
        } else if let Some(newest) = state.versions.first()
            && newest.revision == revision
            && newest.operation == Operation::ByHand
        {
            // A process that was killed has written the text, but not the record.
            let version = self.version_of(request, revision, newest.at, &file.path);
            let access = FileAccess::same_as(metadata.as_ref());
            self.history.add_record(request.name, &version, access)?;
        }
        Ok(Some(revision))
    }

    /// Decides which file a write changes, and who may read that file afterwards. If the folder of
    /// the file is missing, it is created.
    ///
    /// # Errors
    /// The prompt does not have the expected revision, or its file may not be written.
    fn plan<'w>(
        &self,
        request: &'w WriteRequest<'w>,
        state: PromptState,
    ) -> Result<PlannedWrite<'w>, Diagnostic> {
        let name = request.name;
        let current = state.revision();
        if current != request.expected {
            return Err(conflict_error(name, current));
        }
        let revision = match request.action.text() {
            Some(text) => Revision::of_contents(text.as_bytes()),
            None => current.ok_or_else(|| conflict_error(name, None))?,
        };
        let path = self.path_of(request, &state)?;
        let target = match &state.file {
            Some(_) => fs::canonicalize(&path).map_err(|error| file_error(&path, &error))?,
            None => path.clone(),
        };
        self.check_target(&target, request.caller)?;
        let metadata = if state.file.is_some() {
            Some(writable_metadata(&target).map_err(|error| file_error(&path, &error))?)
        } else {
            self.restored_metadata(request, &state, revision)
        };
        let folder = target.parent().unwrap_or(&self.root().path);
        create_folders(folder).map_err(|error| file_error(folder, &error))?;
        Ok(PlannedWrite {
            request,
            state,
            revision,
            path,
            target,
            metadata,
        })
    }

    /// Returns the path of the file to write: that of the prompt's file; if a deleted prompt is
    /// restored, the path that it had; or else that of a new file.
    fn path_of(
        &self,
        request: &WriteRequest<'_>,
        state: &PromptState,
    ) -> Result<PathBuf, Diagnostic> {
        if let Some(file) = &state.file {
            return Ok(file.path.to_path_buf());
        }
        if request.action.is_restore()
            && let Some(path) = self.recorded_path(request.name, &state.versions)
        {
            return Ok(path);
        }
        self.root().path_for_new(request.name)
    }

    /// Returns the path that a deleted prompt had, as its history records it.
    ///
    /// Somebody may have changed the history. So the path is left out if a file there would not
    /// have the name of the prompt.
    fn recorded_path(&self, name: &Name, versions: &[Version]) -> Option<PathBuf> {
        let below = versions.iter().find_map(|version| version.path.as_ref())?;
        let path = self.root().path.join(below);
        match self.root().name_of(&path) {
            Some(Ok(other)) if other.name == *name => Some(path),
            _ => None,
        }
    }

    /// Checks that a caller may write a file, whose path has no symlinks.
    ///
    /// A caller with a prefix may write in the folder of the prefix, any other caller with a token
    /// in the folder of prompts, and the user of this machine everywhere.
    fn check_target(&self, target: &Path, caller: &Caller) -> Result<(), Diagnostic> {
        let root = &self.root().path;
        let folder = match &caller.prefix {
            Some(prefix) => root.join(prefix.folder()),
            None if caller.token.is_some() => root.clone(),
            None => return Ok(()),
        };
        if let Some(folder) = existing_ancestor(&folder)
            && let Some(file) = existing_ancestor(target)
            && file.starts_with(folder)
        {
            return Ok(());
        }
        let target = path_in_backticks(target);
        let message = format!(
            "the file is a symlink to {target}, where you cannot write; nothing is written"
        );
        let fix = "write another prompt";
        Err(Diagnostic::new(Kind::OutsideFolder, message, fix))
    }

    /// Returns the metadata of the version to restore, so that the new file becomes as private as
    /// the old one was. Returns `None` for any other write.
    fn restored_metadata(
        &self,
        request: &WriteRequest<'_>,
        state: &PromptState,
        revision: Revision,
    ) -> Option<Metadata> {
        if !request.action.is_restore() {
            return None;
        }
        let mut versions = state.versions.iter();
        let restored = versions.find(|version| version.revision_after() == Some(revision))?;
        self.history.text_metadata(request.name, restored)
    }

    /// Carries out a write: the old and the new text are added to the history, then the file is
    /// replaced, then the author and the note are added. Returns the revision of the new text or,
    /// after a deletion, of the old one.
    fn carry_out(&self, plan: &PlannedWrite<'_>) -> Result<Revision, Diagnostic> {
        let name = plan.request.name;
        let last_time = self.add_current_text(name, &plan.state, plan.metadata.as_ref())?;
        let version = Version::by_hand(plan.revision, time_after(last_time, None));
        if let Some(text) = plan.request.action.text() {
            // The history comes first, so that no text is ever in the file alone.
            self.history
                .add_text(name, &version, text.as_bytes(), plan.access())?;
        }
        if let Err(error) = plan.replace_file() {
            self.history.remove(name, &version);
            return Err(match error.kind() {
                ErrorKind::AlreadyExists => conflict_error(name, plan.state.revision()),
                _ => file_error(&plan.path, &error),
            });
        }
        let version = self.version_of(plan.request, plan.revision, version.at, &plan.path);
        if let Err(error) = self.history.add_record(name, &version, plan.access()) {
            // The text is written. Only its author and note are lost.
            tracing::warn!(%name, %error, "a version is not recorded in the history");
        }
        self.remove_oldest_versions(plan.request);
        Ok(plan.revision)
    }

    /// Adds the current text of a prompt to its history, unless it is the newest version there.
    /// Returns the time of the newest version, if there is one.
    fn add_current_text(
        &self,
        name: &Name,
        state: &PromptState,
        metadata: Option<&Metadata>,
    ) -> Result<Option<Timestamp>, Diagnostic> {
        let newest = state.versions.first();
        let newest_time = newest.map(|newest| newest.at);
        let Some(file) = &state.file else {
            return Ok(newest_time);
        };
        if newest.and_then(Version::revision_after) == Some(file.revision) {
            return Ok(newest_time);
        }
        let time = time_after(newest_time, metadata.and_then(modified));
        let version = Version::by_hand(file.revision, time);
        let access = FileAccess::same_as(metadata);
        self.history.add_text(name, &version, &file.bytes, access)?;
        Ok(Some(time))
    }

    /// Returns the version that a write adds to the history. `path` is that of the prompt's file.
    fn version_of(
        &self,
        request: &WriteRequest<'_>,
        revision: Revision,
        at: Timestamp,
        path: &Path,
    ) -> Version {
        let operation = match request.action {
            WriteAction::Restore(_) => Operation::Restore,
            WriteAction::SetText(_) if request.expected.is_none() => Operation::Create,
            WriteAction::SetText(_) => Operation::Update,
            _ => Operation::Delete,
        };
        Version {
            revision,
            at,
            operation,
            author: request.by.author.as_deref().map(str::to_owned),
            note: request.by.note.clone(),
            path: Some(self.root().relative_path(path)),
            is_current: false,
        }
    }

    /// Removes the oldest versions of a prompt after a write. The history keeps as many as the
    /// request says, and the current version.
    fn remove_oldest_versions(&self, request: &WriteRequest<'_>) {
        let Ok(versions) = self.history.versions(request.name) else {
            return; // the next write removes them
        };
        let mut limit = request.versions.get();
        if request.action.text().is_some() {
            limit = limit.saturating_add(1); // the current version
        }
        for old in versions.iter().skip(limit) {
            self.history.remove(request.name, old);
        }
    }
}

/// The file of a prompt.
struct StoredFile {
    path: Arc<Path>,
    bytes: Vec<u8>,
    revision: Revision,
}

/// The file and the history of a prompt before a write.
struct PromptState {
    /// Its file, unless it was deleted or never written.
    file: Option<StoredFile>,
    /// The versions in its history, the newest first.
    versions: Vec<Version>,
}

impl PromptState {
    /// Returns the revision of the prompt, if it has a file.
    fn revision(&self) -> Option<Revision> {
        self.file.as_ref().map(|file| file.revision)
    }
}

/// A write that may be carried out.
struct PlannedWrite<'w> {
    request: &'w WriteRequest<'w>,
    /// The file and the history before the write.
    state: PromptState,
    /// The revision of the new text or, if the file is deleted, of the old one.
    revision: Revision,
    /// The prompt's file.
    path: PathBuf,
    /// The file that `path` leads to, if it is a symlink; else the same path.
    target: PathBuf,
    /// The metadata whose owner and permissions the file gets: those of the old file, or of the
    /// version to restore.
    metadata: Option<Metadata>,
}

impl PlannedWrite<'_> {
    /// Returns who may read the new file, and its versions in the history.
    fn access(&self) -> FileAccess<'_> {
        FileAccess::same_as(self.metadata.as_ref())
    }

    /// Replaces, creates or deletes the file, in one step.
    ///
    /// # Errors
    /// The file has changed since it was read (`AlreadyExists`), or cannot be written.
    fn replace_file(&self) -> io::Result<()> {
        let Some(text) = self.request.action.text() else {
            self.check_unchanged()?;
            fs::remove_file(&self.path)?;
            return sync_folder(self.path.parent().unwrap_or(&self.path));
        };
        let pending = PendingFile::write(&self.target, text.as_bytes(), self.access())?;
        self.check_unchanged()?;
        if self.state.file.is_some() {
            pending.replace()
        } else {
            pending.create()
        }
    }

    /// Checks that the file still has the bytes that were read, or is still missing. A person's
    /// text editor may have saved it, because it knows nothing of the lock.
    ///
    /// # Errors
    /// The file has changed (`AlreadyExists`).
    fn check_unchanged(&self) -> io::Result<()> {
        let is_unchanged = match (&self.state.file, read_regular(&self.target, MAX_FILE)) {
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

impl Store for FileStore {
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        let file = match self.root().resolve(name, &mut Trace::default()) {
            Some(file) => file,
            None => new_file(self.root(), name),
        };
        let prefix = caller.prefix.clone();
        self.files.draft(name.clone(), file, text, prefix)
    }

    fn write(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        self.finish_rename()?;
        match request.action {
            WriteAction::SetText(_) | WriteAction::Restore(_) | WriteAction::Delete => {
                return self.change(request);
            }
            WriteAction::Rename(to) => self.rename(request.name, to)?,
            WriteAction::DeleteTests(tests) => {
                fs::remove_file(&tests.path).map_err(|error| file_error(&tests.path, &error))?;
            }
        }
        // The text of the prompt, and so its revision, stays.
        Ok(request.expected.unwrap_or_default())
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        self.finish_rename()?;
        let mut versions = self.history.versions(name)?;
        let Some(file) = self.read(name)? else {
            return Ok(versions);
        };
        let newest = versions.first();
        if newest.and_then(Version::revision_after) != Some(file.revision) {
            // A person has changed the file since the newest version was written.
            let metadata = fs::metadata(&file.path).ok();
            let time = metadata.as_ref().and_then(modified);
            let time = time.unwrap_or_else(Timestamp::now);
            versions.insert(0, Version::by_hand(file.revision, time));
        }
        versions[0].is_current = true;
        Ok(versions)
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        let bytes = match self.read(name)? {
            Some(file) if file.revision == revision => Some(file.bytes),
            _ => self.history.text(name, revision)?,
        };
        bytes.map(decode_utf8_owned).transpose()
    }

    fn folder(&self) -> &Path {
        &self.root().path
    }
}

/// Returns the file that a new prompt with this name would get. If no such file can be created, the
/// path is only for messages.
fn new_file(root: &Root, name: &Name) -> PromptFile {
    let path = match root.path_for_new(name) {
        Ok(path) => path,
        Err(_) => root.path.join(format!("{name}.md")),
    };
    PromptFile {
        path: path.into(),
        kind: FileSuffix::OWN,
        is_linked: false,
    }
}

/// Returns the revision that a prompt had before it was deleted, if the newest version in its
/// history is the deletion that is requested again. Otherwise, returns `None`.
///
/// A client may send the same request again because it did not get the response.
fn repeated_deletion(request: &WriteRequest<'_>, state: &PromptState) -> Option<Revision> {
    if state.file.is_some() {
        return None;
    }
    let newest = state.versions.first()?;
    let is_deletion = newest.operation == Operation::Delete;
    if is_deletion && request.expected == Some(newest.revision) {
        Some(newest.revision)
    } else {
        None
    }
}

/// Returns the error for a new file whose path is taken by another file.
pub(crate) fn already_exists_error(path: &Path) -> Diagnostic {
    let message = format!(
        "{} already exists, and is not changed",
        path_in_backticks(path)
    );
    Diagnostic::new(Kind::AlreadyExists, message, "choose another name")
}

/// Returns the error for a prompt that has changed since the caller read it. `current` is the
/// revision that it has now; `None` if there is no such prompt any more.
pub(crate) fn conflict_error(name: &Name, current: Option<Revision>) -> Diagnostic {
    let kind = Kind::Conflict {
        current,
        diff: String::new(),
    };
    let message = format!("{} is no longer as you read it", in_backticks(name));
    Diagnostic::new(kind, message, "read it again")
}

/// Returns a path without symlinks or, if nothing is there, the nearest folder above it that
/// exists.
fn existing_ancestor(path: &Path) -> Option<PathBuf> {
    let mut ancestors = path.ancestors();
    ancestors.find_map(|path| fs::canonicalize(path).ok())
}

/// Returns the metadata of a file that may be written.
///
/// # Errors
/// The file is read-only (`PermissionDenied`), or its metadata cannot be read.
fn writable_metadata(file: &Path) -> io::Result<Metadata> {
    let metadata = fs::metadata(file)?;
    if metadata.permissions().readonly() {
        let message = "the file is read-only";
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    Ok(metadata)
}

/// Returns the time of a new version: the time at which the file was modified, if that is known and
/// between the `last` version and now; otherwise the current time.
///
/// Even if the clock was set back, the result is later than the `last` version.
fn time_after(last: Option<Timestamp>, modified: Option<Timestamp>) -> Timestamp {
    let earliest = match last {
        Some(last) => last
            .checked_add(SignedDuration::from_nanos(1))
            .unwrap_or(last),
        None => Timestamp::MIN,
    };
    let now = Timestamp::now();
    match modified {
        Some(modified) if (earliest..now).contains(&modified) => modified,
        _ => now.max(earliest),
    }
}

/// Returns when a file was last modified, if the file system says so.
fn modified(metadata: &Metadata) -> Option<Timestamp> {
    Timestamp::try_from(metadata.modified().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::disk::reach::Reach;
    use crate::library::source::{About, Authorship, Layer};
    use crate::prompt::Format;
    use std::num::NonZeroUsize;

    fn store(folder: &Path) -> FileStore {
        let root = Root::new(folder.to_owned(), Format::OWN, Reach::Unrestricted);
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        FileStore::new(Arc::new(Files::new(root, about)))
    }

    /// Plans a write of the prompt `a`, lets an editor save or delete its file, and carries the
    /// write out.
    fn write_after_save(
        path: &Path,
        original: Option<&str>,
        saved: Option<&str>,
    ) -> Result<Revision, Diagnostic> {
        let name = Name::new("a").unwrap();
        let store = store(path.parent().unwrap());
        let request = WriteRequest {
            name: &name,
            expected: original.map(|text| Revision::of_contents(text.as_bytes())),
            action: WriteAction::SetText("New."),
            by: &Authorship::default(),
            caller: &Caller::local(),
            versions: NonZeroUsize::MAX,
        };
        let state = PromptState {
            file: store.read(&name).unwrap(),
            versions: Vec::new(),
        };
        let plan = store.plan(&request, state).unwrap();
        match saved {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        store.carry_out(&plan)
    }

    #[test]
    fn an_editor_that_saves_meanwhile_wins() {
        for (original, saved) in [
            (Some("Old."), Some("Saved.")),
            (Some("Old."), None),
            (None, Some("Saved.")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.md");
            if let Some(text) = original {
                fs::write(&path, text).unwrap();
            }
            let refused = write_after_save(&path, original, saved).unwrap_err();
            assert!(matches!(refused.kind, Kind::Conflict { .. }), "{refused}");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), saved);
        }
    }
}
