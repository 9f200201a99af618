//! Writes prompts in a folder: one process at a time, as the [history](super::history) says.

use super::editor::{EditError, Write, Writer};
use super::folder::Folder;
use super::history::{Entry, History, Lock, Operation, Record, Version, create_folders};
use super::read::{self, read_regular};
use super::write::{cannot_create_folder, path_for_new, rename_to_new, sync_folder};
use super::{Caller, Draft, Prefix, Problem, Revision};
use crate::prompt::{MAX_FILE, Name, Severity};
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

impl Writer for Folder {
    fn read(&self, name: &Name) -> Result<Option<Vec<u8>>, EditError> {
        self.resolve(name).map(|file| self.bytes(&file.path)).transpose()
    }

    fn check(&self, name: &Name, text: &str, prefix: Option<&Prefix>) -> Result<Vec<Problem>, EditError> {
        path_for_new(self, name).map_err(EditError::Write)?;
        let Draft { problems, prompt, path } = self.draft(name, text, prefix);
        let Some(prompt) = prompt else {
            let error = problems.into_iter().find(|problem| problem.diagnostic.severity == Severity::Error);
            return error.map_or(Ok(Vec::new()), |error| Err(EditError::Invalid(Box::new(error))));
        };
        // To somebody else, who may read the file, it would be attached.
        if let Some(refused) =
            prefix.and_then(|prefix| self.attachments(&prompt, &path, Some(prefix)).find_map(Result::err))
        {
            return Err(EditError::Invalid(Box::new(self.problem(&path, refused))));
        }
        Ok(problems)
    }

    fn write(&self, write: &Write<'_>) -> Result<Revision, EditError> {
        let Write { name, operation, expected, text, about, caller, versions } = *write;
        let history = History::of(&self.path);
        let mut lock = history.lock()?;
        let file = self.resolve(name);
        let current = file.as_ref().map(|file| self.bytes(&file.path)).transpose()?;
        let now = current.as_deref().map(Revision::of);
        let mut entries = recovered(&mut lock, name, now)?;
        let after = text.map(Revision::of);
        if let Some(done) = operation_of(&entries, about.operation_id()) {
            let is_same = |record: &Record| {
                (record.operation, &record.replaced) == (operation, &expected.map(|expected| expected.to_string()))
            };
            let is_same = done.after() == after && done.record.as_ref().is_some_and(is_same);
            return if is_same { Ok(done.revision) } else { Err(EditError::OtherOperation(name.clone())) };
        }
        let conflict = || EditError::Conflict { name: name.clone(), current: now, diff: String::new() };
        if now != expected {
            return Err(conflict());
        }
        let revision = after.or(expected).ok_or_else(conflict)?;
        if after == now {
            return Ok(revision);
        }
        let last = entries.iter().find_map(|entry| Some(self.path.join(&entry.record.as_ref()?.path)));
        let is_own = |path: &PathBuf| matches!(self.name_of(path), Some(Ok((of, _))) if of == *name);
        let path = match (&file, last.filter(is_own)) {
            (Some(file), _) => file.path.to_path_buf(),
            (None, Some(last)) if operation == Operation::Restore => last,
            (None, _) => path_for_new(self, name).map_err(EditError::Write)?,
        };
        let failed = |error| EditError::Io(path.clone(), error);
        let target = if file.is_some() { fs::canonicalize(&path).map_err(failed)? } else { path.clone() };
        self.check_target(&target, caller)?;
        let metadata = file.as_ref().map(|_| fs::metadata(&target)).transpose().map_err(failed)?;
        if metadata.as_ref().is_some_and(|file| file.permissions().readonly()) {
            return Err(failed(io::Error::new(ErrorKind::PermissionDenied, "the file is read-only")));
        }
        // What is restored is as private as it was.
        let restored = entries.iter().filter(|_| operation == Operation::Restore).find(|entry| entry.after() == after);
        let metadata = metadata.or_else(|| restored.and_then(|entry| history.metadata(name, entry)));
        if operation == Operation::Restore && metadata.is_none() {
            return Err(EditError::NoVersion(name.clone(), Some(revision))); // removed just now
        }
        let like = metadata.as_ref();
        let folder = target.parent().unwrap_or(&self.path);
        create_folders(folder).map_err(|error| EditError::Write(cannot_create_folder(folder, error)))?;

        // Later than what is there, even if the clock was set back.
        let mut times = Times { now: Timestamp::now(), last: entries.first().map(|entry| entry.at) };
        if let Some(current) = &current {
            let added = add_made_by_hand(&mut lock, name, current, like, &entries, &mut times)?;
            entries.splice(0..0, added);
        }
        let below = path.strip_prefix(&self.path).unwrap_or(&path);
        let record = Record {
            operation,
            replaced: now.map(|revision| revision.to_string()),
            path: below.iter().map(|step| step.to_string_lossy()).collect::<Vec<_>>().join("/"),
            author: about.author().map(str::to_owned),
            note: about.note().map(str::to_owned),
            operation_id: about.operation_id().map(str::to_owned),
        };
        let entry = lock.add(name, (times.next(None), revision), Some(&record), text, like)?;
        let put = Put { path: &path, target: &target, current: current.as_deref(), text, like };
        if let Err(error) = put.run(&mut lock) {
            lock.remove_temporary_file();
            _ = lock.remove(name, &entry); // or else the next write does
            return Err(match error.kind() {
                ErrorKind::AlreadyExists => conflict(),
                _ => failed(error),
            });
        }
        let folder = if text.is_none() { path.parent() } else { target.parent() }.unwrap_or(&self.path);
        sync_folder(folder).map_err(|error| EditError::NotStored(folder.to_owned(), error))?;
        lock.finish(name, &entry)?;
        // What is not removed now is removed by the next write.
        entries.iter().skip(versions.get()).for_each(|old| _ = lock.remove(name, old));
        Ok(revision)
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, EditError> {
        let history = History::of(&self.path);
        let (current, entries) = loop {
            let (before, entries) = (self.read(name)?, history.entries(name)?);
            if self.read(name)? == before {
                break (before, entries); // nothing was written meanwhile
            }
        };
        let now = current.as_deref().map(Revision::of);
        let is_done = |(index, entry): &(usize, Entry)| *index > 0 || !entry.is_undone(now);
        let mut entries: Vec<Entry> = entries.into_iter().enumerate().filter(is_done).map(|(_, entry)| entry).collect();
        // After a crash, a version may be there twice.
        entries.dedup_by(|older, newer| older.after().is_some() && older.after() == newer.after());
        let mut versions: Vec<Version> = entries.iter().map(Entry::version).collect();
        let is_known = now.is_none() || entries.first().and_then(Entry::after) == now;
        if let (Some(revision), false, Some(file)) = (now, is_known, self.resolve(name)) {
            let modified = fs::metadata(&file.path).ok().as_ref().and_then(modified);
            let at = modified.unwrap_or_else(Timestamp::now);
            let operation = Operation::ByHand;
            versions.insert(0, Version { revision, at, operation, author: None, note: None, is_current: true });
        }
        if let Some(first) = versions.first_mut() {
            first.is_current = now.is_some();
        }
        Ok(versions)
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<Vec<u8>>, EditError> {
        History::of(&self.path).text(name, revision)
    }

    fn path(&self, name: &Name) -> Option<PathBuf> {
        self.resolve(name).map(|file| file.path.to_path_buf())
    }
}

impl Folder {
    /// Adds what the file of a prompt holds to its history, unless that has it.
    pub(super) fn keep(&self, name: &Name) -> Result<(), EditError> {
        let Some(file) = self.resolve(name) else { return Ok(()) };
        let current = self.bytes(&file.path)?;
        let history = History::of(&self.path);
        let mut lock = history.lock()?;
        let entries = recovered(&mut lock, name, Some(Revision::of(&current)))?;
        let mut times = Times { now: Timestamp::now(), last: entries.first().map(|entry| entry.at) };
        let like = fs::metadata(&file.path).ok();
        add_made_by_hand(&mut lock, name, &current, like.as_ref(), &entries, &mut times)?;
        Ok(())
    }

    /// Gives the versions of one prompt to another. Returns `false` if that has versions of its own, and leaves both as they are.
    pub(super) fn rename_history(&self, from: &Name, to: &Name) -> Result<bool, EditError> {
        let history = History::of(&self.path);
        if history.all_entries(from)?.is_empty() {
            return Ok(true); // without a history, none is begun
        }
        history.lock()?.rename(from, to)
    }

    fn bytes(&self, path: &Path) -> Result<Vec<u8>, EditError> {
        let content = read::read(path, |_| Ok(()));
        content
            .map(|content| content.bytes)
            .map_err(|diagnostic| EditError::Invalid(Box::new(self.problem(path, diagnostic))))
    }

    /// Refuses to write outside of the folder for a caller who is not at this machine, or outside of the part of it that they
    /// may write to.
    fn check_target(&self, target: &Path, caller: &Caller) -> Result<(), EditError> {
        let root = match &caller.prefix {
            Some(prefix) => self.path.join(prefix.folder()),
            None if caller.token.is_some() => self.path.clone(),
            None => return Ok(()),
        };
        let real = |path: &Path| path.ancestors().find_map(|path| fs::canonicalize(path).ok());
        let is_inside = real(&root).zip(real(target)).is_some_and(|(root, target)| target.starts_with(root));
        if is_inside { Ok(()) } else { Err(EditError::Escapes(target.to_owned())) }
    }
}

/// The versions of a prompt, the newest first, after what a crash has left was put right. `now` is the revision of its file.
fn recovered(lock: &mut Lock<'_>, name: &Name, now: Option<Revision>) -> Result<Vec<Entry>, EditError> {
    let mut entries = lock.history().all_entries(name)?;
    while let Some(undone) = entries.first().filter(|entry| !entry.is_complete || entry.is_undone(now)) {
        lock.remove(name, undone)?;
        entries.remove(0);
    }
    if let Some(done) = entries.first().filter(|entry| entry.is_pending) {
        lock.finish(name, done)?;
    }
    Ok(entries)
}

/// Adds the text that a prompt's file holds, if a person has written it since the last version.
fn add_made_by_hand(
    lock: &mut Lock<'_>,
    name: &Name,
    current: &[u8],
    like: Option<&Metadata>,
    entries: &[Entry],
    times: &mut Times,
) -> Result<Option<Entry>, EditError> {
    let revision = Revision::of(current);
    if entries.first().and_then(Entry::after) == Some(revision) {
        return Ok(None);
    }
    let at = times.next(like.and_then(modified));
    lock.add(name, (at, revision), None, Some(current), like).map(Some)
}

/// The last step of a write.
struct Put<'w> {
    path: &'w Path,
    /// The file itself, if the path is a symlink.
    target: &'w Path,
    current: Option<&'w [u8]>,
    text: Option<&'w [u8]>,
    /// Whose owner and permissions it gets.
    like: Option<&'w Metadata>,
}

impl Put<'_> {
    /// Replaces, creates or deletes the file in one step. [`ErrorKind::AlreadyExists`]: it is no longer as it was read.
    fn run(&self, lock: &mut Lock<'_>) -> io::Result<()> {
        let folder = self.target.parent().unwrap_or(Path::new("."));
        let sibling = self.text.map(|text| lock.write_temporary_file(folder, text, self.like)).transpose()?;
        // An editor knows nothing of the lock.
        let is_unchanged = match (read_regular(self.target, MAX_FILE), self.current) {
            (Ok(now), Some(current)) => now == current,
            (Err(error), None) => error.kind() == ErrorKind::NotFound,
            _ => false,
        };
        match (sibling, self.current) {
            _ if !is_unchanged => Err(ErrorKind::AlreadyExists.into()),
            (None, _) => fs::remove_file(self.path),
            (Some(sibling), None) => rename_to_new(&sibling, self.target),
            (Some(sibling), Some(_)) => fs::rename(sibling, self.target),
        }
    }
}

/// The times of versions that are added one after the other.
struct Times {
    now: Timestamp,
    last: Option<Timestamp>,
}

impl Times {
    /// A time after the last one: this one if it is, else the present one.
    fn next(&mut self, time: Option<Timestamp>) -> Timestamp {
        let is_after = |time: &Timestamp| self.last.is_none_or(|last| last < *time);
        let time = time.filter(|time| is_after(time) && *time < self.now).unwrap_or(self.now);
        let least = self.last.and_then(|last| last.checked_add(SignedDuration::from_nanos(1)).ok());
        let time = least.map_or(time, |least| least.max(time));
        self.last = Some(time);
        time
    }
}

fn modified(file: &Metadata) -> Option<Timestamp> {
    file.modified().ok().and_then(|time| Timestamp::try_from(time).ok())
}

fn operation_of<'e>(entries: &'e [Entry], id: Option<&str>) -> Option<&'e Entry> {
    let id = id?;
    entries.iter().find(|entry| entry.record.as_ref().is_some_and(|record| record.operation_id.as_deref() == Some(id)))
}
