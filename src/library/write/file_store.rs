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
use crate::library::disk::root::PromptFile;
use crate::library::source::{Found, Store, WriteAction, WriteRequest};
use crate::prompt::{Diagnostic, FileName, Kind, MAX_FILE, Name, Revision, owned_text};
use crate::whole_file::{FileAccess, PendingFile, create_folders, sync_folder};
use crate::wording::{named, named_path};
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The store of a folder of prompts.
#[derive(Debug)]
pub(crate) struct FileStore {
    pub(crate) files: Arc<Files>,
    pub(crate) history: History,
}

impl FileStore {
    pub(crate) fn new(files: Arc<Files>) -> FileStore {
        let history = History {
            root: files.root.path.clone(),
        };
        FileStore { files, history }
    }

    /// The file of a name, with its bytes, if there is one.
    fn read(&self, name: &Name) -> Result<Option<(PromptFile, Vec<u8>)>, Diagnostic> {
        let Some(file) = self.files.root.resolve(name, &mut Trace::default()) else {
            return Ok(None);
        };
        let bytes = self.files.read(&file.path, file.is_linked)?;
        Ok(Some((file, bytes)))
    }

    /// Refuses to write outside of the folder for a caller who is not at this machine, or outside
    /// of the part of it that they may write to.
    fn check_target(&self, target: &Path, caller: &Caller) -> Result<(), Diagnostic> {
        let root = match &caller.prefix {
            Some(prefix) => self.files.root.path.join(prefix.folder()),
            None if caller.token.is_some() => self.files.root.path.clone(),
            None => return Ok(()),
        };
        let real = |path: &Path| {
            path.ancestors()
                .find_map(|path| fs::canonicalize(path).ok())
        };
        let is_inside = real(&root)
            .zip(real(target))
            .is_some_and(|(root, target)| target.starts_with(root));
        let target = named_path(target);
        let message = format!(
            "the file is a symlink to {target}, where you cannot write; nothing is written"
        );
        if is_inside {
            Ok(())
        } else {
            Err(Diagnostic::new(
                Kind::Escapes,
                message,
                "write another prompt",
            ))
        }
    }

    /// Where the prompt is written: its file, that of its last version if it was deleted, or a new
    /// one.
    fn path_of(
        &self,
        write: &WriteRequest<'_>,
        file: Option<&PromptFile>,
        versions: &[Version],
    ) -> Result<PathBuf, Diagnostic> {
        let last = versions
            .iter()
            .find_map(|version| Some(self.files.root.path.join(version.path.as_ref()?)));
        let is_own = |path: &PathBuf| matches!(self.files.root.name_of(path), Some(Ok((of, _))) if of == *write.name);
        match (file, last.filter(is_own)) {
            (Some(file), _) => Ok(file.path.to_path_buf()),
            (None, Some(last)) if write.action.is_restore() => Ok(last),
            (None, _) => self.files.root.path_for_new(write.name),
        }
    }

    /// Adds what the file of a prompt holds to its history, unless that has it. Returns the time of
    /// the last version.
    fn keep_current(
        &self,
        name: &Name,
        versions: &[Version],
        current: &[u8],
        like: Option<&Metadata>,
    ) -> Result<Option<Timestamp>, Diagnostic> {
        let (revision, last) = (Revision::of(current), versions.first().map(|last| last.at));
        if versions.first().and_then(Version::after) == Some(revision) {
            return Ok(last);
        }
        let at = time_after(last, like.and_then(modified));
        self.history.add(
            name,
            &Version {
                revision,
                at,
                ..Version::default()
            },
            Some(current),
            like,
        )?;
        Ok(Some(at))
    }

    /// Writes or deletes the file of a prompt, and adds that to its history.
    fn change(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let _lock = self.history.lock()?;
        let before = self.state(write.name)?;
        match self.repeat(write, &before)? {
            Some(revision) => Ok(revision),
            None => self.carry_out(&self.decide(write, before)?),
        }
    }

    fn state(&self, name: &Name) -> Result<PromptState, Diagnostic> {
        Ok(PromptState {
            file: self.read(name)?,
            versions: self.history.versions(name)?,
        })
    }

    /// Returns the revision that a prompt has if it is already as this write would leave it, such
    /// as when the same write comes once more.
    fn repeat(
        &self,
        write: &WriteRequest<'_>,
        before: &PromptState,
    ) -> Result<Option<Revision>, Diagnostic> {
        let (now, last) = (before.revision(), before.versions.first());
        let Some(text) = write.action.text() else {
            let is_deleted = now.is_none()
                && last.is_some_and(|last| {
                    last.after().is_none() && Some(last.revision) == write.expected
                });
            return Ok(write.expected.filter(|_| is_deleted));
        };
        let after = Revision::of(text.as_bytes());
        let Some((file, bytes)) = before.file.as_ref().filter(|_| now == Some(after)) else {
            return Ok(None);
        };
        let like = fs::metadata(&file.path).ok();
        if write.expected == now {
            self.keep_current(write.name, &before.versions, bytes, like.as_ref())?;
        } else if let Some(last) = last
            && last.revision == after
            && last.operation == Operation::ByHand
        {
            // A process that was killed has written the text, and not the record.
            let record = self.record(write, after, last.at, &file.path);
            self.history.add(write.name, &record, None, like.as_ref())?;
        }
        Ok(now)
    }

    /// Decides where a write goes.
    ///
    /// # Errors
    /// The prompt is not as expected, or its file may not be written.
    fn decide<'w>(
        &self,
        write: &'w WriteRequest<'w>,
        before: PromptState,
    ) -> Result<PlannedWrite<'w>, Diagnostic> {
        let text = write.action.text();
        let after = text.map(|text| Revision::of(text.as_bytes()));
        let now = before.revision();
        let Some(revision) = after.or(write.expected).filter(|_| now == write.expected) else {
            return Err(conflict(write.name, now));
        };
        let file = before.file.as_ref().map(|(file, _)| file);
        let path = self.path_of(write, file, &before.versions)?;
        let (mut target, mut like) = (path.clone(), None);
        if file.is_some() {
            target = fs::canonicalize(&path).map_err(|error| failed(&path, &error))?;
            like = Some(fs::metadata(&target).map_err(|error| failed(&path, &error))?);
        } else if write.action.is_restore() {
            // It is as private as it was.
            let mut versions = before.versions.iter();
            let restored = versions.find(|version| version.after() == after);
            like = restored.and_then(|version| self.history.metadata(write.name, version));
        }
        self.check_target(&target, write.caller)?;
        if file.is_some() && like.as_ref().is_some_and(is_read_only) {
            let error = io::Error::new(ErrorKind::PermissionDenied, "the file is read-only");
            return Err(failed(&path, &error));
        }
        let folder = target.parent().unwrap_or(&self.files.root.path);
        create_folders(folder).map_err(|error| failed(folder, &error))?;
        Ok(PlannedWrite {
            write,
            before,
            revision,
            path,
            target,
            like,
        })
    }

    /// Carries out a write, in the order that the table at the top of this file shows.
    fn carry_out(&self, change: &PlannedWrite<'_>) -> Result<Revision, Diagnostic> {
        let PlannedWrite {
            write,
            before,
            revision,
            ..
        } = change;
        let (name, like) = (write.name, change.like.as_ref());
        let last = match before.bytes() {
            Some(bytes) => self.keep_current(name, &before.versions, bytes, like)?,
            None => before.versions.first().map(|last| last.at),
        };
        let new = Version {
            revision: *revision,
            at: time_after(last, None),
            ..Version::default()
        };
        let text = write.action.text();
        if let Some(text) = text {
            // Before it is in the file, so that what is acknowledged is in both.
            self.history.add(name, &new, Some(text.as_bytes()), like)?;
        }
        if let Err(error) = change.replace_file() {
            if text.is_some() {
                self.history.remove(name, &new);
            }
            return Err(match error.kind() {
                ErrorKind::AlreadyExists => conflict(name, before.revision()),
                _ => failed(&change.path, &error),
            });
        }
        let record = self.record(write, *revision, new.at, &change.path);
        if let Err(error) = self.history.add(name, &record, None, like) {
            // Only its author and note are lost.
            tracing::warn!(%name, %error, "a version is not recorded in the history");
        }
        let current = usize::from(text.is_some());
        let kept = write.versions.get().saturating_add(current);
        for old in self.history.versions(name).iter().flatten().skip(kept) {
            self.history.remove(name, old);
        }
        Ok(*revision)
    }

    /// Returns the version that a write makes.
    fn record(
        &self,
        write: &WriteRequest<'_>,
        revision: Revision,
        at: Timestamp,
        path: &Path,
    ) -> Version {
        let operation = match (write.action.text(), write.expected) {
            (None, _) => Operation::Delete,
            (Some(_), _) if write.action.is_restore() => Operation::Restore,
            (Some(_), None) => Operation::Create,
            (Some(_), Some(_)) => Operation::Update,
        };
        Version {
            revision,
            at,
            operation,
            author: write.by.author.as_deref().map(str::to_owned),
            note: write.by.note.clone(),
            path: Some(self.files.root.below(path)),
            is_current: false,
        }
    }
}

/// What a prompt has before a write.
struct PromptState {
    /// Its file, with the bytes, if there is one.
    file: Option<(PromptFile, Vec<u8>)>,
    /// The newest comes first.
    versions: Vec<Version>,
}

impl PromptState {
    fn bytes(&self) -> Option<&[u8]> {
        self.file.as_ref().map(|(_, bytes)| bytes.as_slice())
    }

    fn revision(&self) -> Option<Revision> {
        self.bytes().map(Revision::of)
    }
}

/// A write that may be carried out.
struct PlannedWrite<'w> {
    write: &'w WriteRequest<'w>,
    before: PromptState,
    /// That of the new text or, of a file that is deleted, that of the old one.
    revision: Revision,
    /// The prompt's file, and where its symlinks lead.
    path: PathBuf,
    target: PathBuf,
    /// The file whose owner and mode it gets.
    like: Option<Metadata>,
}

impl PlannedWrite<'_> {
    /// Replaces, creates or deletes the file, in one step.
    ///
    /// # Errors
    /// It is no longer as it was read (`AlreadyExists`), or cannot be written.
    fn replace_file(&self) -> io::Result<()> {
        let current = self.before.bytes();
        let access = FileAccess::same_as(self.like.as_ref());
        let pending = match self.write.action.text() {
            Some(text) => Some(PendingFile::write(&self.target, text.as_bytes(), access)?),
            None => None,
        };
        // An editor knows nothing of the lock.
        let is_unchanged = match (read_regular(&self.target, MAX_FILE), current) {
            (Ok(now), Some(current)) => now == current,
            (Err(error), None) => error.kind() == ErrorKind::NotFound,
            _ => false,
        };
        if !is_unchanged {
            return Err(ErrorKind::AlreadyExists.into());
        }
        match (pending, current) {
            (Some(pending), Some(_)) => pending.replace(),
            (Some(pending), None) => pending.create(),
            (None, _) => {
                fs::remove_file(&self.path)?;
                sync_folder(self.path.parent().unwrap_or(&self.path))
            }
        }
    }
}

impl Store for FileStore {
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        let file = self
            .files
            .root
            .resolve(name, &mut Trace::default())
            .unwrap_or_else(|| {
                let path = self.files.root.path_for_new(name);
                let path = path.unwrap_or_else(|_| self.files.root.path.join(format!("{name}.md")));
                PromptFile {
                    path: path.into(),
                    kind: FileName::OWN,
                    is_linked: false,
                }
            });
        self.files
            .draft(name.clone(), file, text, caller.prefix.clone())
    }

    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        self.finish_rename()?;
        match write.action {
            WriteAction::SetText(_) | WriteAction::Restore(_) | WriteAction::Delete => {
                return self.change(write);
            }
            WriteAction::Rename(to) => self.rename(write.name, to)?,
            WriteAction::DeleteTests(tests) => {
                fs::remove_file(&tests.path).map_err(|error| failed(&tests.path, &error))?
            }
        }
        Ok(write.expected.unwrap_or_default())
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        self.finish_rename()?;
        let mut versions = self.history.versions(name)?;
        if let Some((file, bytes)) = self.read(name)? {
            let revision = Revision::of(&bytes);
            if versions.first().and_then(Version::after) != Some(revision) {
                let at = fs::metadata(&file.path)
                    .ok()
                    .as_ref()
                    .and_then(modified)
                    .unwrap_or_else(Timestamp::now);
                versions.insert(
                    0,
                    Version {
                        revision,
                        at,
                        ..Version::default()
                    },
                );
            }
            versions[0].is_current = true;
        }
        Ok(versions)
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        let current = self
            .read(name)?
            .map(|(_, bytes)| bytes)
            .filter(|bytes| Revision::of(bytes) == revision);
        let text =
            current.map_or_else(|| self.history.text(name, revision), |text| Ok(Some(text)))?;
        text.map(owned_text).transpose()
    }

    fn folder(&self) -> &Path {
        &self.files.root.path
    }
}

pub(crate) fn exists(path: &Path) -> Diagnostic {
    let message = format!("{} already exists, and is not changed", named_path(path));
    Diagnostic::new(Kind::Exists, message, "choose another name")
}

/// The text of a prompt is not what was to be replaced.
pub(crate) fn conflict(name: &Name, current: Option<Revision>) -> Diagnostic {
    let kind = Kind::Conflict {
        current,
        diff: String::new(),
    };
    Diagnostic::new(
        kind,
        format!("{} is no longer as you read it", named(name)),
        "read it again",
    )
}

/// `time` if it is after the last one and not in the future, else now; always after the last one,
/// even if the clock was set back.
fn time_after(last: Option<Timestamp>, time: Option<Timestamp>) -> Timestamp {
    let now = Timestamp::now();
    let least = last
        .and_then(|last| last.checked_add(SignedDuration::from_nanos(1)).ok())
        .unwrap_or(Timestamp::MIN);
    time.filter(|time| (least..now).contains(time))
        .unwrap_or(now)
        .max(least)
}

fn modified(file: &Metadata) -> Option<Timestamp> {
    file.modified()
        .ok()
        .and_then(|time| Timestamp::try_from(time).ok())
}

fn is_read_only(file: &Metadata) -> bool {
    file.permissions().readonly()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::disk::reach::Reach;
    use crate::library::disk::root::Root;
    use crate::library::source::{About, Authorship, Layer};
    use crate::prompt::Format;
    use std::num::NonZeroUsize;
    use std::sync::LazyLock;

    fn store(folder: &Path) -> FileStore {
        let root = Root::new(folder.to_owned(), Format::OWN, Reach::Own);
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        FileStore::new(Arc::new(Files::new(root, about)))
    }

    static ADA: LazyLock<Authorship> =
        LazyLock::new(|| Authorship::new(Some("ada".into()), None).unwrap());

    fn write<'w>(
        name: &'w Name,
        caller: &'w Caller,
        from: Option<&str>,
        text: Option<&'w str>,
    ) -> WriteRequest<'w> {
        let expected = from.map(|text| Revision::of(text.as_bytes()));
        let versions = NonZeroUsize::MAX;
        let action = text.map_or(WriteAction::Delete, WriteAction::SetText);
        WriteRequest {
            name,
            expected,
            action,
            by: &ADA,
            caller,
            versions,
        }
    }

    #[test]
    fn an_editor_that_saves_meanwhile_wins() {
        let (name, caller) = (Name::new("a").unwrap(), Caller::local());
        for (from, saved) in [
            (Some("Old."), Some("Saved.")),
            (Some("Old."), None),
            (None, Some("Saved.")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let (path, store) = (folder.path().join("a.md"), store(folder.path()));
            from.iter().for_each(|text| fs::write(&path, text).unwrap());
            let write = write(&name, &caller, from, Some("New."));
            let change = store.decide(&write, store.state(&name).unwrap()).unwrap();
            match saved {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let refused = store.carry_out(&change).unwrap_err();
            assert!(matches!(refused.kind, Kind::Conflict { .. }), "{refused}");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), saved);
        }
    }
}
