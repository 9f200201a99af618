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

use super::history::{History, Operation, Version, failed};
use crate::library::caller::Caller;
use crate::library::disk::cache::Trace;
use crate::library::disk::open::read_regular;
use crate::library::disk::prompt_file::Files;
use crate::library::disk::root::{PromptFile, Root};
use crate::library::source::{Found, Store, WriteAction, WriteRequest};
use crate::prompt::{Diagnostic, FileName, Kind, MAX_FILE, Name, Revision, owned_text};
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

    /// Reads the file of a prompt, if there is one.
    fn read(&self, name: &Name) -> Result<Option<StoredFile>, Diagnostic> {
        let Some(file) = self.root().resolve(name, &mut Trace::default()) else {
            return Ok(None);
        };
        let bytes = self.files.read(&file.path, file.is_linked)?;
        Ok(Some(StoredFile {
            path: file.path,
            revision: Revision::of(&bytes),
            bytes,
        }))
    }

    /// Sets the text of a prompt, or deletes its file, and adds that to its history.
    fn change(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let _lock = self.history.lock()?;
        let state = PromptState {
            file: self.read(request.name)?,
            versions: self.history.versions(request.name)?,
        };
        let done = match request.action.text() {
            Some(text) => self.repeat_text(request, &state, text)?,
            None => repeated_deletion(request, &state),
        };
        if let Some(revision) = done {
            return Ok(revision);
        }
        let plan = self.plan(request, state)?;
        self.carry_out(&plan)
    }

    /// Returns the revision of a prompt that already has the text that is to be written, such as
    /// when the same write comes once more. Only its history is completed.
    fn repeat_text(
        &self,
        request: &WriteRequest<'_>,
        state: &PromptState,
        text: &str,
    ) -> Result<Option<Revision>, Diagnostic> {
        let revision = Revision::of(text.as_bytes());
        let Some(file) = &state.file else {
            return Ok(None);
        };
        if file.revision != revision {
            return Ok(None);
        }
        let metadata = fs::metadata(&file.path).ok();
        if request.expected == Some(revision) {
            self.keep_text(request.name, state, metadata.as_ref())?;
        } else if let Some(last) = state.versions.first()
            && last.revision == revision
            && last.operation == Operation::ByHand
        {
            // A process that was killed has written the text, and not the record.
            let version = self.version_of(request, revision, last.at, &file.path);
            let access = FileAccess::same_as(metadata.as_ref());
            self.history.add_record(request.name, &version, access)?;
        }
        Ok(Some(revision))
    }

    /// Decides what a write does to which file.
    ///
    /// # Errors
    /// The prompt is not as expected, or its file may not be written.
    fn plan<'w>(
        &self,
        request: &'w WriteRequest<'w>,
        state: PromptState,
    ) -> Result<PlannedWrite<'w>, Diagnostic> {
        let name = request.name;
        let current = state.revision();
        if current != request.expected {
            return Err(conflict(name, current));
        }
        let revision = match request.action.text() {
            Some(text) => Revision::of(text.as_bytes()),
            None => current.ok_or_else(|| conflict(name, None))?,
        };
        let path = self.path_of(request, &state)?;
        let mut target = path.clone();
        if state.file.is_some() {
            target = fs::canonicalize(&path).map_err(|error| failed(&path, &error))?;
        }
        self.check_target(&target, request.caller)?;
        let metadata = if state.file.is_some() {
            Some(writable_metadata(&target).map_err(|error| failed(&path, &error))?)
        } else {
            self.restored_metadata(request, &state, revision)
        };
        let folder = target.parent().unwrap_or(&self.root().path);
        create_folders(folder).map_err(|error| failed(folder, &error))?;
        Ok(PlannedWrite {
            request,
            state,
            revision,
            path,
            target,
            metadata,
        })
    }

    /// Returns the path that a write is for: the prompt's file, the file that a deleted prompt had,
    /// or a new one.
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

    /// Returns the path that the history of a deleted prompt records. Somebody may have changed the
    /// history, so the path counts only if a file there would have the name of the prompt.
    fn recorded_path(&self, name: &Name, versions: &[Version]) -> Option<PathBuf> {
        let below = versions.iter().find_map(|version| version.path.as_ref())?;
        let path = self.root().path.join(below);
        match self.root().name_of(&path) {
            Some(Ok(other)) if other.name == *name => Some(path),
            _ => None,
        }
    }

    /// Checks that a caller may write the file that a path leads to: a caller with a prefix in the
    /// folder of that prefix, any other caller with a token in the folder of the store, and the
    /// user of this machine everywhere.
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
        Err(Diagnostic::new(Kind::Escapes, message, fix))
    }

    /// Returns the metadata of the text that is restored, so that the file becomes as private as it
    /// was. Returns `None` for any other write.
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

    /// Carries out a write, in the order that the table at the top of this file shows.
    fn carry_out(&self, plan: &PlannedWrite<'_>) -> Result<Revision, Diagnostic> {
        let name = plan.request.name;
        let last_time = self.keep_text(name, &plan.state, plan.metadata.as_ref())?;
        let version = Version::by_hand(plan.revision, time_after(last_time, None));
        if let Some(text) = plan.request.action.text() {
            // The history comes first, so that an acknowledged text is never in the file alone.
            self.history
                .add_text(name, &version, text.as_bytes(), plan.access())?;
        }
        if let Err(error) = plan.replace_file() {
            if plan.request.action.text().is_some() {
                self.history.remove(name, &version);
            }
            return Err(match error.kind() {
                ErrorKind::AlreadyExists => conflict(name, plan.state.revision()),
                _ => failed(&plan.path, &error),
            });
        }
        let version = self.version_of(plan.request, plan.revision, version.at, &plan.path);
        if let Err(error) = self.history.add_record(name, &version, plan.access()) {
            // Only its author and note are lost.
            tracing::warn!(%name, %error, "a version is not recorded in the history");
        }
        self.remove_oldest_versions(plan.request);
        Ok(plan.revision)
    }

    /// Adds the current text of a prompt to its history, unless it is the newest version there.
    /// Returns the time of the newest version.
    fn keep_text(
        &self,
        name: &Name,
        state: &PromptState,
        metadata: Option<&Metadata>,
    ) -> Result<Option<Timestamp>, Diagnostic> {
        let last = state.versions.first();
        let last_time = last.map(|last| last.at);
        let Some(file) = &state.file else {
            return Ok(last_time);
        };
        if last.and_then(Version::revision_after) == Some(file.revision) {
            return Ok(last_time);
        }
        let time = time_after(last_time, metadata.and_then(modified));
        let version = Version::by_hand(file.revision, time);
        let access = FileAccess::same_as(metadata);
        self.history.add_text(name, &version, &file.bytes, access)?;
        Ok(Some(time))
    }

    /// Returns the version that a write makes. `path` is that of the prompt's file.
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
            path: Some(self.root().below(path)),
            is_current: false,
        }
    }

    /// Removes the oldest versions of a prompt that was written. Besides the current version, the
    /// history keeps as many as the request says.
    fn remove_oldest_versions(&self, request: &WriteRequest<'_>) {
        let Ok(versions) = self.history.versions(request.name) else {
            return;
        };
        let mut kept = request.versions.get();
        if request.action.text().is_some() {
            kept = kept.saturating_add(1); // the current version
        }
        for old in versions.iter().skip(kept) {
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

/// What there is of a prompt before a write.
struct PromptState {
    /// Its file, unless it was deleted or never written.
    file: Option<StoredFile>,
    /// The versions in its history, the newest first.
    versions: Vec<Version>,
}

impl PromptState {
    /// Returns the revision of the prompt, if there is a file of it.
    fn revision(&self) -> Option<Revision> {
        self.file.as_ref().map(|file| file.revision)
    }
}

/// A write that may be carried out.
struct PlannedWrite<'w> {
    request: &'w WriteRequest<'w>,
    /// What there was before the write.
    state: PromptState,
    /// The revision of the new text or, of a file that is deleted, of the old one.
    revision: Revision,
    /// The prompt's file.
    path: PathBuf,
    /// The file that `path` leads to, if it is a symlink; else the same path.
    target: PathBuf,
    /// The metadata with the owner and the mode that the file gets, if there is a model for them.
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
    /// It is no longer as it was read (`AlreadyExists`), or cannot be written.
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

    /// Compares the file with what was read of it: an editor knows nothing of the lock.
    ///
    /// # Errors
    /// It has changed (`AlreadyExists`).
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
                fs::remove_file(&tests.path).map_err(|error| failed(&tests.path, &error))?;
            }
        }
        Ok(request.expected.unwrap_or_default())
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        self.finish_rename()?;
        let mut versions = self.history.versions(name)?;
        let Some(file) = self.read(name)? else {
            return Ok(versions);
        };
        let last = versions.first();
        if last.and_then(Version::revision_after) != Some(file.revision) {
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
        bytes.map(owned_text).transpose()
    }

    fn folder(&self) -> &Path {
        &self.root().path
    }
}

/// Returns the file that a new prompt of this name would get. If no file can be created there, the
/// path is only for messages.
fn new_file(root: &Root, name: &Name) -> PromptFile {
    let path = match root.path_for_new(name) {
        Ok(path) => path,
        Err(_) => root.path.join(format!("{name}.md")),
    };
    PromptFile {
        path: path.into(),
        kind: FileName::OWN,
        is_linked: false,
    }
}

/// Returns the revision that a prompt had before the same deletion was carried out earlier; `None`
/// if it was not.
fn repeated_deletion(request: &WriteRequest<'_>, state: &PromptState) -> Option<Revision> {
    if state.file.is_some() {
        return None;
    }
    let last = state.versions.first()?;
    let is_same = last.operation == Operation::Delete && Some(last.revision) == request.expected;
    is_same.then_some(last.revision)
}

/// Returns the error for a file that is not overwritten.
pub(crate) fn exists(path: &Path) -> Diagnostic {
    let message = format!(
        "{} already exists, and is not changed",
        path_in_backticks(path)
    );
    Diagnostic::new(Kind::Exists, message, "choose another name")
}

/// Returns the error for a prompt that is not as a write expects it. `current` is its revision, if
/// there is such a prompt.
pub(crate) fn conflict(name: &Name, current: Option<Revision>) -> Diagnostic {
    let kind = Kind::Conflict {
        current,
        diff: String::new(),
    };
    let message = format!("{} is no longer as you read it", in_backticks(name));
    Diagnostic::new(kind, message, "read it again")
}

/// Returns a path, or the nearest folder above it that exists, without symlinks.
fn existing_ancestor(path: &Path) -> Option<PathBuf> {
    let mut ancestors = path.ancestors();
    ancestors.find_map(|path| fs::canonicalize(path).ok())
}

/// Returns the metadata of a file.
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

/// Returns the time of a new version, which is after that of the last one, even if the clock was
/// set back.
///
/// It is the time at which the file was modified or, if that is unknown, before the last version or
/// in the future, the current time.
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
        let root = Root::new(folder.to_owned(), Format::OWN, Reach::Own);
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
            expected: original.map(|text| Revision::of(text.as_bytes())),
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
