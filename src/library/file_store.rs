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

use super::cache::Trace;
use super::caller::Caller;
use super::handle::Files;
use super::history::{History, Operation, Version, failed};
use super::read::read_regular;
use super::root::PromptFile;
use super::source::{Edit, Found, Store, Write};
use crate::prompt::{Diagnostic, FileName, Kind, MAX_FILE, Name, Revision, owned_text};
use crate::whole_file::{FileAccess, PendingFile, create_folders, sync_folder};
use crate::wording::named;
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The store of a folder of prompts.
#[derive(Debug)]
pub(super) struct FileStore {
    pub(super) files: Arc<Files>,
    pub(super) history: History,
}

impl FileStore {
    pub(super) fn new(files: Arc<Files>) -> FileStore {
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
        let target = named(&target.display().to_string());
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
        write: &Write<'_>,
        file: Option<&PromptFile>,
        versions: &[Version],
    ) -> Result<PathBuf, Diagnostic> {
        let last = versions
            .iter()
            .find_map(|version| Some(self.files.root.path.join(version.path.as_ref()?)));
        let is_own = |path: &PathBuf| matches!(self.files.root.name_of(path), Some(Ok((of, _))) if of == *write.name);
        match (file, last.filter(is_own)) {
            (Some(file), _) => Ok(file.path.to_path_buf()),
            (None, Some(last)) if write.is_restored => Ok(last),
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

    /// A write. `interrupt` fails a step, for tests.
    fn write_with(
        &self,
        write: &Write<'_>,
        interrupt: impl Fn(Step) -> io::Result<()>,
    ) -> Result<Revision, Diagnostic> {
        let Write {
            name,
            expected,
            action,
            ..
        } = *write;
        let text = action.text();
        let _lock = self.history.lock()?;
        let read = self.read(name)?;
        let now = read.as_ref().map(|(_, bytes)| Revision::of(bytes));
        let after = text.map(|text| Revision::of(text.as_bytes()));
        let versions = self.history.versions(name)?;
        let record = |revision, at, path: &Path| Version {
            revision,
            at,
            operation: match (text, expected) {
                (None, _) => Operation::Delete,
                (Some(_), _) if write.is_restored => Operation::Restore,
                (Some(_), None) => Operation::Create,
                (Some(_), Some(_)) => Operation::Update,
            },
            author: write.by.author.as_deref().map(str::to_owned),
            note: write.by.note.clone(),
            path: Some(self.files.root.below(path)),
            is_current: false,
        };
        match (after, now, versions.first()) {
            (Some(after), Some(now), last) if after == now => {
                if let (Some((file, current)), true) = (&read, expected == Some(now)) {
                    self.keep_current(
                        name,
                        &versions,
                        current,
                        fs::metadata(&file.path).ok().as_ref(),
                    )?;
                }
                // A process that was killed may have written the text and not the record; then this
                // is the same write once more.
                let unrecorded =
                    last.filter(|last| last.revision == now && last.operation == Operation::ByHand);
                if let (Some(last), Some((file, _)), true) =
                    (unrecorded, &read, expected != Some(now))
                {
                    let like = fs::metadata(&file.path).ok();
                    self.history.add(
                        name,
                        &record(now, last.at, &file.path),
                        None,
                        like.as_ref(),
                    )?;
                }
                return Ok(after);
            }
            (None, None, Some(last))
                if last.after().is_none() && Some(last.revision) == expected =>
            {
                return Ok(last.revision);
            }
            _ => {}
        }
        let Some(revision) = after.or(expected).filter(|_| now == expected) else {
            return Err(conflict(name, now));
        };
        let path = self.path_of(write, read.as_ref().map(|(file, _)| file), &versions)?;
        let refused = |error: io::Error| match error.kind() {
            ErrorKind::AlreadyExists => conflict(name, now),
            _ => failed(&path, &error),
        };
        let target = if read.is_some() {
            fs::canonicalize(&path).map_err(refused)?
        } else {
            path.clone()
        };
        self.check_target(&target, write.caller)?;
        let metadata = read
            .as_ref()
            .map(|_| fs::metadata(&target))
            .transpose()
            .map_err(refused)?;
        if metadata
            .as_ref()
            .is_some_and(|file| file.permissions().readonly())
        {
            return Err(refused(io::Error::new(
                ErrorKind::PermissionDenied,
                "the file is read-only",
            )));
        }
        // What is restored is as private as it was.
        let restored = versions
            .iter()
            .filter(|_| write.is_restored)
            .find(|version| version.after() == after);
        let like =
            metadata.or_else(|| restored.and_then(|version| self.history.metadata(name, version)));
        let folder = target.parent().unwrap_or(&self.files.root.path);
        create_folders(folder).map_err(|error| failed(folder, &error))?;

        let current = read.as_ref().map(|(_, bytes)| &**bytes);
        interrupt(Step::Keep).map_err(refused)?;
        let last = match current {
            Some(current) => self.keep_current(name, &versions, current, like.as_ref())?,
            None => versions.first().map(|last| last.at),
        };
        let bytes = text.map(str::as_bytes);
        let new = Version {
            revision,
            at: time_after(last, None),
            ..Version::default()
        };
        if bytes.is_some() {
            // Before it is in the file, so that what is acknowledged is in both.
            self.history.add(name, &new, bytes, like.as_ref())?;
        }
        let replace = || {
            interrupt(Step::WriteTemporary)?;
            let new = bytes
                .map(|bytes| PendingFile::write(&target, bytes, FileAccess::same_as(like.as_ref())))
                .transpose()?;
            interrupt(Step::Replace)?;
            // An editor knows nothing of the lock.
            let is_unchanged = match (read_regular(&target, MAX_FILE), current) {
                (Ok(now), Some(current)) => now == current,
                (Err(error), None) => error.kind() == ErrorKind::NotFound,
                _ => false,
            };
            match (new, current) {
                _ if !is_unchanged => return Err(ErrorKind::AlreadyExists.into()),
                (None, _) => {
                    fs::remove_file(&path)?;
                    sync_folder(path.parent().unwrap_or(folder))?;
                }
                (Some(new), None) => new.create()?,
                (Some(new), Some(_)) => new.replace()?,
            }
            interrupt(Step::Sync)
        };
        replace().map_err(|error| {
            if text.is_some() {
                self.history.remove(name, &new);
            }
            refused(error)
        })?;
        let added = interrupt(Step::Add).map_err(refused);
        let added = added.and_then(|()| {
            self.history
                .add(name, &record(revision, new.at, &path), None, like.as_ref())
        });
        if let Err(error) = added {
            // Only its author and note are lost.
            tracing::warn!(%name, %error, "a version is not recorded in the history");
        }
        let kept = write
            .versions
            .get()
            .saturating_add(usize::from(text.is_some()));
        for old in self.history.versions(name).iter().flatten().skip(kept) {
            self.history.remove(name, old);
        }
        Ok(revision)
    }
}

/// The steps of a write that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Keep,
    WriteTemporary,
    Replace,
    Sync,
    Add,
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

    fn write(&self, write: &Write<'_>) -> Result<Revision, Diagnostic> {
        self.finish_rename()?;
        match write.action {
            Edit::Write(_) | Edit::Delete => return self.write_with(write, |_| Ok(())),
            Edit::Rename(to) => self.rename(write.name, to)?,
            Edit::DeleteTests(tests) => {
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

pub(super) fn exists(path: &Path) -> Diagnostic {
    let message = format!(
        "{} already exists, and is not changed",
        named(&path.display().to_string())
    );
    Diagnostic::new(Kind::Exists, message, "choose another name")
}

/// The text of a prompt is not what was to be replaced.
pub(super) fn conflict(name: &Name, current: Option<Revision>) -> Diagnostic {
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

#[cfg(test)]
mod tests {
    use super::super::reach::Reach;
    use super::super::root::Root;
    use super::super::source::{About, By, Layer};
    use super::*;
    use crate::prompt::Format;
    use std::num::NonZeroUsize;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::LazyLock;

    fn store(folder: &Path) -> FileStore {
        let root = Root {
            path: folder.to_owned(),
            format: Format::OWN,
            reach: Reach::Own,
            prefix: String::new(),
            pack: None,
        };
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        FileStore::new(Arc::new(Files::new(root, about)))
    }

    static ADA: LazyLock<By> = LazyLock::new(|| By::new(Some("ada".into()), None).unwrap());

    fn write<'w>(
        name: &'w Name,
        caller: &'w Caller,
        from: Option<&str>,
        text: Option<&'w str>,
    ) -> Write<'w> {
        let expected = from.map(|text| Revision::of(text.as_bytes()));
        let versions = NonZeroUsize::MAX;
        let action = text.map_or(Edit::Delete, Edit::Write);
        Write {
            name,
            expected,
            action,
            by: &ADA,
            is_restored: false,
            caller,
            versions,
        }
    }

    #[test]
    fn after_a_crash_between_any_two_steps_no_text_is_lost_and_the_next_write_goes_on() {
        let (name, caller) = (Name::new("git/a").unwrap(), Caller::local());
        for step in [
            Step::Keep,
            Step::WriteTemporary,
            Step::Replace,
            Step::Sync,
            Step::Add,
        ] {
            for text in [Some("New."), None] {
                let folder = tempfile::tempdir().unwrap();
                let (path, store) = (folder.path().join("git/a.md"), store(folder.path()));
                fs::create_dir(folder.path().join("git")).unwrap();
                fs::write(&path, "By hand.").unwrap();
                // A panic ends it as a crash does: nothing is cleaned up.
                let crash = |at| {
                    if at == step {
                        panic!("a crash")
                    } else {
                        Ok(())
                    }
                };
                let crashed = AssertUnwindSafe(|| {
                    store.write_with(&write(&name, &caller, Some("By hand."), text), crash)
                });
                assert!(catch_unwind(crashed).is_err());
                let now = fs::read_to_string(&path).ok();
                let is_written = matches!(step, Step::Sync | Step::Add);
                assert_eq!(
                    now.as_deref(),
                    if is_written { text } else { Some("By hand.") },
                    "{step:?}"
                );
                let old = store.version(&name, Revision::of(b"By hand.")).unwrap();
                assert_eq!(old.as_deref(), Some("By hand."), "{step:?}");
                if text.is_some() {
                    store
                        .write(&write(&name, &caller, Some("By hand."), text))
                        .unwrap();
                    let again = &store.history(&name).unwrap()[0];
                    assert_eq!(
                        (again.operation, again.author.as_deref()),
                        (Operation::Update, Some("ada")),
                        "{step:?}"
                    );
                }
                let now = fs::read_to_string(&path).ok();
                store
                    .write(&write(&name, &caller, now.as_deref(), Some("Next.")))
                    .unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), "Next.", "{step:?}");
                for text in ["By hand.", "Next."].into_iter().chain(now.as_deref()) {
                    let kept = store.version(&name, Revision::of(text.as_bytes())).unwrap();
                    assert_eq!(kept.as_deref(), Some(text), "{step:?}");
                }
                assert_eq!(
                    fs::read_dir(folder.path().join("git")).unwrap().count(),
                    1,
                    "no temporary file is left"
                );
            }
        }
    }

    #[test]
    fn a_disk_that_refuses_a_step_leaves_the_prompt_as_it_was_or_as_it_is_to_be() {
        let (name, caller) = (Name::new("a").unwrap(), Caller::local());
        for step in [Step::Keep, Step::WriteTemporary, Step::Replace, Step::Add] {
            let folder = tempfile::tempdir().unwrap();
            let (path, store) = (folder.path().join("a.md"), store(folder.path()));
            fs::write(&path, "Old.").unwrap();
            let full = |at| {
                if at == step {
                    Err(io::Error::other("no space left"))
                } else {
                    Ok(())
                }
            };
            let written =
                store.write_with(&write(&name, &caller, Some("Old."), Some("New.")), full);
            // Without its entry in the history, the new text counts as made by hand.
            let (is_ok, text) = if step == Step::Add {
                (true, "New.")
            } else {
                (false, "Old.")
            };
            assert_eq!(
                (written.is_ok(), fs::read_to_string(&path).unwrap().as_str()),
                (is_ok, text),
                "{step:?}"
            );
            assert_eq!(
                store.history(&name).unwrap()[0].revision,
                Revision::of(text.as_bytes()),
                "{step:?}"
            );
            let files = fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(
                files, 2,
                "the prompt and its history; no temporary file is left"
            );
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
            let save = |at| match (at, saved) {
                (Step::Replace, Some(text)) => fs::write(&path, text),
                (Step::Replace, None) => fs::remove_file(&path),
                _ => Ok(()),
            };
            let refused = store
                .write_with(&write(&name, &caller, from, Some("New.")), save)
                .unwrap_err();
            assert!(matches!(refused.kind, Kind::Conflict { .. }), "{refused}");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), saved);
        }
    }
}
