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

use super::history::{History, Operation, Version, file_error};
use super::planned_write::{PlannedWrite, PromptState, StoredFile};
use crate::library::caller::Caller;
use crate::library::disk::cache::Trace;
use crate::library::disk::prompt_file::Files;
use crate::library::disk::root::{PromptFile, Root};
use crate::library::source::{Found, Store, WriteAction, WriteRequest};
use crate::prompt::{Diagnostic, FileSuffix, Kind, Name, Revision, decode_utf8_owned};
use crate::whole_file::{FileAccess, create_folders};
use crate::wording::path_in_backticks;
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, Metadata};
use std::path::Path;
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
        if let Some(revision) = state.revision_if_done(request) {
            self.complete_history(request, &state)?;
            return Ok(revision);
        }
        let plan = PlannedWrite::new(request, state, self.root(), &self.history)?;
        self.carry_out(&plan)
    }

    /// Completes the history for a request whose text is already in the prompt's file.
    fn complete_history(
        &self,
        request: &WriteRequest<'_>,
        state: &PromptState,
    ) -> Result<(), Diagnostic> {
        let Some(file) = &state.file else {
            return Ok(()); // a deletion is found in the history, so nothing is missing
        };
        let metadata = fs::metadata(&file.path).ok();
        if request.expected == Some(file.revision) {
            // The request changes nothing, so it only asks for the text to be in the history.
            self.add_current_text(request.name, state, metadata.as_ref())?;
            return Ok(());
        }
        if let Some(newest) = state.versions.first()
            && newest.revision == file.revision
            && newest.operation == Operation::ByHand
        {
            // An earlier attempt was killed after it wrote the text, but before the record.
            let version = self.version_for(request, file.revision, newest.at, &file.path);
            let access = FileAccess::same_as(metadata.as_ref());
            self.history.add_record(request.name, &version, access)?;
        }
        Ok(())
    }

    /// Carries out a write, in the order that this module documents. Returns the revision of the
    /// new text or, for a deletion, of the deleted text.
    fn carry_out(&self, plan: &PlannedWrite<'_>) -> Result<Revision, Diagnostic> {
        let name = plan.request.name;
        let folder = plan.file.real_path.parent().unwrap_or(&self.root().path);
        create_folders(folder).map_err(|error| file_error(folder, &error))?;
        let newest_time = self.add_current_text(name, &plan.state, plan.file.metadata.as_ref())?;
        // Until the record is added, the version counts as edited by hand.
        let unrecorded = Version::by_hand(plan.revision, time_of_write(newest_time));
        if let Some(text) = plan.request.action.text() {
            // This must precede the file, so that no text is ever in the file alone.
            self.history
                .add_text(name, &unrecorded, text.as_bytes(), plan.access())?;
        }
        if let Err(error) = plan.replace_file() {
            self.history.remove(name, &unrecorded);
            return Err(error);
        }
        self.record(plan, unrecorded.at);
        self.remove_oldest_versions(plan.request);
        Ok(plan.revision)
    }

    /// Adds the author and the note of a write to the history. `at` is the time of its text there.
    fn record(&self, plan: &PlannedWrite<'_>, at: Timestamp) {
        let name = plan.request.name;
        // The record belongs to the text because it has the same time.
        let version = self.version_for(plan.request, plan.revision, at, &plan.file.path);
        if let Err(error) = self.history.add_record(name, &version, plan.access()) {
            // The text is safe. Only its author and note are lost.
            tracing::warn!(%name, %error, "cannot record the author of a version in the history");
        }
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
        let time = time_of_edit(metadata.and_then(modified_time), newest_time);
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

    /// Returns the text with this revision, from the file or from the history. `None` if neither
    /// has it.
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

/// Returns the error for a new file whose path is taken.
pub(crate) fn already_exists_error(path: &Path) -> Diagnostic {
    let message = format!(
        "{} already exists, and is not changed",
        path_in_backticks(path)
    );
    Diagnostic::new(Kind::AlreadyExists, message, "choose another name")
}

/// Returns the time to record for a text that is written now: the current time or, if the clock was
/// set back, the earliest possible one. Versions are sorted by time, so a new one must be later
/// than the `newest`.
fn time_of_write(newest: Option<Timestamp>) -> Timestamp {
    Timestamp::now().max(earliest_after(newest))
}

/// Returns the time to record for a text that was written by hand: when its file was `modified`, if
/// that is known and lies between the `newest` version and now. Otherwise, returns the same as
/// [`time_of_write`].
fn time_of_edit(modified: Option<Timestamp>, newest: Option<Timestamp>) -> Timestamp {
    match modified {
        Some(modified) if modified >= earliest_after(newest) && modified < Timestamp::now() => {
            modified
        }
        _ => time_of_write(newest),
    }
}

/// Returns the earliest possible time of a version after the `newest`. Nothing is later than
/// [`Timestamp::MAX`], in the year 9999.
fn earliest_after(newest: Option<Timestamp>) -> Timestamp {
    let Some(newest) = newest else {
        return Timestamp::MIN;
    };
    let next = newest.checked_add(SignedDuration::from_nanos(1));
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
        let plan = PlannedWrite::new(&request, state, store.root(), &store.history).unwrap();
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
