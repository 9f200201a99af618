//! Stores prompts as files in a folder. A lock allows one writing process at a time.
//!
//! A write takes these steps, in this order:
//!
//! | step | if the process is killed here |
//! |---|---|
//! | lock the folder's history and read the prompt's file | nothing has changed |
//! | add the file's current contents to the history, unless they are already there | nothing has changed, except that the history is up to date |
//! | add the new text to the history | the history contains a text that was never in the file |
//! | write the new text to a temporary file and sync it | the next write in the folder deletes the temporary file |
//! | check that no text editor, which ignores the lock, has changed the file; then replace it atomically | the file has the new text, which counts as edited by hand |
//! | add the author and the note to the history | the next write deletes the versions over the limit |
//!
//! So no text is ever lost: it is in the file, in the history, or in both. A write that has
//! returned successfully is in both.

use super::history::{History, Operation, Version, file_error, find_version_of_text};
use crate::library::caller::Caller;
use crate::library::disk::cache::Trace;
use crate::library::disk::open::read_regular;
use crate::library::disk::prompt_file::Files;
use crate::library::disk::root::{FileName, PromptFile, Root};
use crate::library::source::{Found, Store, WriteAction, WriteRequest};
use crate::prompt::{Diagnostic, FileSuffix, Kind, MAX_FILE, Name, Revision, decode_utf8_owned};
use crate::whole_file::{FileAccess, PendingFile, create_folders, sync_folder};
use crate::wording::{in_backticks, path_in_backticks};
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Stores prompts as files in a folder, with their history in a subfolder.
#[derive(Debug)]
pub(crate) struct FileStore {
    /// Reads the prompt files of the folder.
    pub(crate) files: Arc<Files>,
    pub(crate) history: History,
}

impl FileStore {
    /// Returns a store for the folder of `files`.
    pub(crate) fn new(files: Arc<Files>) -> FileStore {
        let history = History {
            root: files.root.path.clone(),
        };
        FileStore { files, history }
    }

    fn root(&self) -> &Root {
        &self.files.root
    }

    /// Reads the file of a prompt, or returns `None` if there is no such prompt.
    fn read_file(&self, name: &Name) -> Result<Option<StoredFile>, Diagnostic> {
        let Some(file) = self.root().resolve(name, &mut Trace::default()) else {
            return Ok(None);
        };
        let bytes = self.files.read(&file)?;
        Ok(Some(StoredFile {
            path: file.path,
            revision: Revision::of_contents(&bytes),
            bytes,
        }))
    }

    /// Sets the text of a prompt, or deletes its file, and adds the change to its history. Returns
    /// the revision of the new text or, for a deletion, of the deleted text.
    fn set_text_or_delete(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        // Held until the end of this function. Locked before anything is read, so that no other
        // process can change what the write is based on.
        let _history_lock = self.history.lock()?;
        let state = PromptState {
            file: self.read_file(request.name)?,
            versions: self.history.versions(request.name)?,
        };
        // A client that never got the response may repeat a request that already succeeded.
        let repeated_revision = match request.action.text() {
            Some(text) => self.complete_repeated_write(request, &state, text)?,
            None => repeated_deletion(request, &state),
        };
        if let Some(revision) = repeated_revision {
            return Ok(revision);
        }
        let plan = self.plan(request, state)?;
        self.carry_out(&plan)
    }

    /// If the file already contains the requested text, adds what its history is missing and
    /// returns the revision of the text. Otherwise, returns `None`.
    fn complete_repeated_write(
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
            // The request changes nothing, so it only asks for the text to be in the history.
            self.add_current_text(request.name, state, metadata.as_ref())?;
        } else if let Some(newest) = state.versions.first()
            && newest.revision == revision
            && newest.operation == Operation::ByHand
        {
            // An earlier attempt was killed after it wrote the text, but before the record.
            let version = self.version_for(request, revision, newest.at, &file.path);
            let access = FileAccess::same_as(metadata.as_ref());
            self.history.add_record(request.name, &version, access)?;
        }
        Ok(Some(revision))
    }

    /// Checks that a write is allowed, and determines which file it changes. Nothing is written.
    ///
    /// # Errors
    /// Fails if the prompt doesn't have the expected revision, or if the caller may not write its
    /// file.
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
        let path = self.path_to_write(request, &state)?;
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
        Ok(PlannedWrite {
            request,
            state,
            revision,
            path,
            target,
            metadata,
        })
    }

    /// Returns the path of the prompt's file. If it has none, returns the path that a deleted
    /// prompt had when it is restored, or else the path for a new prompt.
    fn path_to_write(
        &self,
        request: &WriteRequest<'_>,
        state: &PromptState,
    ) -> Result<PathBuf, Diagnostic> {
        if let Some(file) = &state.file {
            return Ok(file.path.to_path_buf());
        }
        if request.action.is_restore()
            && let Some(path) = self.path_before_deletion(request.name, &state.versions)
        {
            return Ok(path);
        }
        self.root().path_for_new(request.name)
    }

    /// Returns the path that the file of a deleted prompt had, from its history. `versions` must be
    /// sorted, newest first.
    ///
    /// The history may have been tampered with. So this returns `None` if a file at that path would
    /// be a prompt with another name.
    fn path_before_deletion(&self, name: &Name, versions: &[Version]) -> Option<PathBuf> {
        let relative = versions.iter().find_map(|version| version.path.as_ref())?;
        let path = self.root().path.join(relative);
        match self.root().name_of(&path) {
            FileName::Prompt(file) if file.name == *name => Some(path),
            _ => None,
        }
    }

    /// Checks that a caller may write to `target`, a path with its symlinks resolved.
    ///
    /// A caller with a prefix may write in the folder of that prefix, and any other caller with a
    /// token in the folder of prompts. The local user may write everywhere.
    fn check_target(&self, target: &Path, caller: &Caller) -> Result<(), Diagnostic> {
        let root = &self.root().path;
        let allowed_folder = match &caller.prefix {
            Some(prefix) => root.join(prefix.folder()),
            None if caller.token.is_some() => root.clone(),
            None => return Ok(()),
        };
        // A new file and its folder don't exist yet, so their nearest existing ancestors are
        // compared.
        if let Some(allowed_folder) = existing_ancestor(&allowed_folder)
            && let Some(existing) = existing_ancestor(target)
            && existing.starts_with(allowed_folder)
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

    /// If the request restores a version, returns the metadata of that version's file in the
    /// history, so that the prompt's new file gets the same permissions. `revision` is that of the
    /// restored text.
    fn restored_metadata(
        &self,
        request: &WriteRequest<'_>,
        state: &PromptState,
        revision: Revision,
    ) -> Option<Metadata> {
        if !request.action.is_restore() {
            return None;
        }
        let restored = find_version_of_text(&state.versions, revision)?;
        self.history.text_metadata(request.name, restored)
    }

    /// Carries out a write, in the order that this module documents. Returns the revision of the
    /// new text or, for a deletion, of the deleted text.
    fn carry_out(&self, plan: &PlannedWrite<'_>) -> Result<Revision, Diagnostic> {
        let name = plan.request.name;
        let folder = plan.target.parent().unwrap_or(&self.root().path);
        create_folders(folder).map_err(|error| file_error(folder, &error))?;
        let newest_time = self.add_current_text(name, &plan.state, plan.metadata.as_ref())?;
        let modified = None; // the file is only written below
        // Until the record is added, the version counts as edited by hand.
        let unrecorded = Version::by_hand(plan.revision, version_time(newest_time, modified));
        if let Some(text) = plan.request.action.text() {
            // This must precede the file, so that no text is ever in the file alone.
            self.history
                .add_text(name, &unrecorded, text.as_bytes(), plan.access())?;
        }
        if let Err(error) = plan.replace_file() {
            self.history.remove(name, &unrecorded);
            return Err(match error.kind() {
                ErrorKind::AlreadyExists => conflict_error(name, plan.state.revision()),
                _ => file_error(&plan.path, &error),
            });
        }
        // The record belongs to the text that was added above because it has the same time.
        let version = self.version_for(plan.request, plan.revision, unrecorded.at, &plan.path);
        if let Err(error) = self.history.add_record(name, &version, plan.access()) {
            // The text is safe. Only its author and note are lost.
            tracing::warn!(%name, %error, "cannot record the author of a version in the history");
        }
        self.remove_oldest_versions(plan.request);
        Ok(plan.revision)
    }

    /// Adds the current text of a prompt to its history, unless it is already the newest version.
    /// Returns the time of the version that is the newest afterwards.
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
        if newest.and_then(Version::text_revision) == Some(file.revision) {
            return Ok(newest_time);
        }
        let time = version_time(newest_time, metadata.and_then(modified_time));
        let version = Version::by_hand(file.revision, time);
        let access = FileAccess::same_as(metadata);
        self.history.add_text(name, &version, &file.bytes, access)?;
        Ok(Some(time))
    }

    /// Returns the version that a request adds to the history. `path` is the prompt's file.
    fn version_for(
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
            // Renames and deletions of test files add no version, so this is a deletion.
            WriteAction::Delete | WriteAction::Rename(_) | WriteAction::DeleteTests(_) => {
                Operation::Delete
            }
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

    /// Removes the versions over the limit of the request, oldest first. The current version
    /// doesn't count towards the limit.
    fn remove_oldest_versions(&self, request: &WriteRequest<'_>) {
        let Ok(versions) = self.history.versions(request.name) else {
            return; // the next write removes them
        };
        let mut kept_count = request.versions.get();
        let has_current_version = request.action.text().is_some();
        if has_current_version {
            kept_count = kept_count.saturating_add(1);
        }
        // `versions` are sorted, with the newest first.
        for old in versions.iter().skip(kept_count) {
            self.history.remove(request.name, old);
        }
    }
}

/// The contents of a prompt's file.
struct StoredFile {
    path: Arc<Path>,
    bytes: Vec<u8>,
    revision: Revision,
}

/// A prompt's file and history before a write.
struct PromptState {
    /// `None` if the prompt was deleted or never existed.
    file: Option<StoredFile>,
    /// The versions in the history, newest first.
    versions: Vec<Version>,
}

impl PromptState {
    fn revision(&self) -> Option<Revision> {
        self.file.as_ref().map(|file| file.revision)
    }
}

/// A write that was checked, but not yet carried out.
struct PlannedWrite<'w> {
    request: &'w WriteRequest<'w>,
    /// The prompt before the write.
    state: PromptState,
    /// The revision of the new text or, for a deletion, of the text to delete.
    revision: Revision,
    /// The path of the prompt's file, which may be a symlink.
    path: PathBuf,
    /// `path` with its symlinks resolved.
    target: PathBuf,
    /// The file's owner and permissions are copied from here: the old file, or the restored
    /// version. A new file gets the default ones.
    metadata: Option<Metadata>,
}

impl PlannedWrite<'_> {
    /// Returns who may access the new file and its versions in the history.
    fn access(&self) -> FileAccess<'_> {
        FileAccess::same_as(self.metadata.as_ref())
    }

    /// Atomically replaces, creates or deletes the file.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if the file has changed since it was read, or another error if it
    /// cannot be written.
    fn replace_file(&self) -> io::Result<()> {
        let Some(text) = self.request.action.text() else {
            self.check_unchanged()?;
            fs::remove_file(&self.path)?; // if it is a symlink, deletes only the symlink
            return sync_folder(self.path.parent().unwrap_or(&self.path));
        };
        let pending = PendingFile::write(&self.target, text.as_bytes(), self.access())?;
        // Checked as late as possible, because writing the temporary file takes a while.
        self.check_unchanged()?;
        if self.state.file.is_some() {
            pending.replace()
        } else {
            pending.create()
        }
    }

    /// Checks that the file still has the contents that were read, or is still missing. Text
    /// editors ignore the lock, so one may have saved the file since.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if the file has changed.
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
    /// Returns the prompt as it would be with `text`, without writing it. For a caller with a
    /// prefix, it can only include and attach files in the folder of that prefix.
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        let file = match self.root().resolve(name, &mut Trace::default()) {
            Some(file) => file,
            None => new_prompt_file(self.root(), name),
        };
        let prefix = caller.prefix.clone();
        self.files.draft(name.clone(), file, text, prefix)
    }

    /// Carries out a request, and returns the revision of the prompt afterwards or, for a deletion,
    /// that of the deleted text.
    fn write(&self, request: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        self.finish_rename()?; // first, because it changes which prompts exist
        match request.action {
            WriteAction::SetText(_) | WriteAction::Restore(_) | WriteAction::Delete => {
                return self.set_text_or_delete(request);
            }
            WriteAction::Rename(to) => self.rename(request.name, to)?,
            WriteAction::DeleteTests(tests) => {
                fs::remove_file(&tests.path).map_err(|error| file_error(&tests.path, &error))?;
            }
        }
        // Neither action changes the text of the prompt, so its revision is still the same.
        Ok(request.expected.unwrap_or_default())
    }

    /// Returns the versions of a prompt, newest first. If its file was edited by hand since the
    /// newest recorded version, its contents are the first version.
    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        self.finish_rename()?; // first, because it changes which prompts exist
        let mut versions = self.history.versions(name)?;
        let Some(file) = self.read_file(name)? else {
            return Ok(versions);
        };
        let newest = versions.first();
        if newest.and_then(Version::text_revision) != Some(file.revision) {
            // The file was edited by hand after the newest version was recorded.
            let metadata = fs::metadata(&file.path).ok();
            let modified = metadata.as_ref().and_then(modified_time);
            let time = modified.unwrap_or_else(Timestamp::now);
            versions.insert(0, Version::by_hand(file.revision, time));
        }
        // There is a first version, because the one for the file was inserted if there was none.
        versions[0].is_current = true;
        Ok(versions)
    }

    /// Returns the text with this revision, from the file or from the history. `None` if neither has
    /// it.
    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        let bytes = match self.read_file(name)? {
            Some(file) if file.revision == revision => Some(file.bytes),
            _ => self.history.text(name, revision)?,
        };
        bytes.map(decode_utf8_owned).transpose()
    }

    fn folder(&self) -> &Path {
        &self.root().path
    }
}

/// Returns the file that a new prompt would be written to. If the folder cannot contain such a
/// file, its path is only good for messages.
fn new_prompt_file(root: &Root, name: &Name) -> PromptFile {
    let path = match root.path_for_new(name) {
        Ok(path) => path,
        Err(_) => root.path.join(format!("{name}.md")),
    };
    PromptFile {
        path: path.into(),
        kind: FileSuffix::OWN,
        may_be_linked: false,
    }
}

/// If the prompt was just deleted by an identical request, returns the revision that it had.
/// Otherwise, returns `None`.
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

/// Returns the error for a new file whose path is taken.
pub(crate) fn already_exists_error(path: &Path) -> Diagnostic {
    let message = format!(
        "{} already exists, and is not changed",
        path_in_backticks(path)
    );
    Diagnostic::new(Kind::AlreadyExists, message, "choose another name")
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

/// Returns the time to record for a new version: when its file was `modified`, if that is known and
/// lies between the `newest` version and now. Otherwise, returns the current time or, if the clock
/// was set back, the earliest possible one.
///
/// Versions are sorted by time, so a new one must be later than the `newest` version.
fn version_time(newest: Option<Timestamp>, modified: Option<Timestamp>) -> Timestamp {
    let earliest = newest.map_or(Timestamp::MIN, just_after);
    let now = Timestamp::now();
    match modified {
        Some(modified) if earliest <= modified && modified < now => modified,
        _ => now.max(earliest),
    }
}

/// Returns the next possible time. Nothing is later than [`Timestamp::MAX`], in the year 9999.
fn just_after(time: Timestamp) -> Timestamp {
    let next = time.checked_add(SignedDuration::from_nanos(1));
    next.unwrap_or(Timestamp::MAX)
}

/// Returns when a file was last modified, or `None` if the file system doesn't record it.
fn modified_time(metadata: &Metadata) -> Option<Timestamp> {
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

    /// Writes the prompt `a`, but saves or deletes its file, as a text editor might, after the
    /// write was planned.
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
            file: store.read_file(&name).unwrap(),
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
