//! Writes prompts in a folder: one process at a time, as the [history](super::history) says.

use super::editor::{EditError, Write, Writer};
use super::folder::{Folder, PromptFile};
use super::history::{Entry, History, Operation, Record, Version, create_folders};
use super::include::Includes;
use super::read;
use super::write::{path_for_new, remove_file, rename_to_new, sync_folder};
use super::{Caller, Prefix, Problem, Revision};
use crate::prompt::{Format, MAX_FILE, Name, Prompt, too_large};
use jiff::{SignedDuration, Timestamp};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

impl Writer for Folder {
    fn read(&self, name: &Name) -> Result<Option<Vec<u8>>, EditError> {
        self.resolve(name).map(|file| self.bytes(&file.path)).transpose()
    }

    fn check(&self, name: &Name, text: &str, prefix: Option<&Prefix>) -> Result<Vec<Problem>, EditError> {
        let path = self.target(name)?;
        let problem = |diagnostic| EditError::Invalid(Box::new(self.problem(&path, diagnostic)));
        if text.len() > MAX_FILE {
            return Err(problem(too_large(text.len() as u64)));
        }
        let format = self.resolve(name).map_or(Format::Markdown, |file| file.format);
        let mut includes = Includes::of(self, &path);
        let prompt = format.parse_with(name.clone(), text.as_bytes(), Some(&mut includes)).map_err(problem)?;
        if let Some(prefix) = prefix {
            self.check_reach(&prompt, &path, prefix)?;
        }
        let attachments = self.attachments(&prompt, &path, prefix).filter_map(Result::err);
        let warnings = prompt.warnings().into_iter().chain(attachments);
        Ok(warnings.map(|diagnostic| self.problem(&path, diagnostic)).collect())
    }

    fn write(&self, write: &Write<'_>) -> Result<Revision, EditError> {
        let Write { name, operation, expected, text, about, caller, versions } = *write;
        let history = History::of(&self.path);
        let mut lock = history.lock()?;
        let file = self.resolve(name);
        let current = file.as_ref().map(|file| self.bytes(&file.path)).transpose()?;
        let current_revision = current.as_deref().map(Revision::of);
        let mut entries = history.entries(name)?;
        if let Some(undone) = entries.first().filter(|entry| entry.is_undone(current_revision)) {
            lock.remove(&history, name, undone)?;
            entries.remove(0);
        }
        let revision = text.map(Revision::of);
        if let Some(done) = operation_of(&entries, about.operation_id.as_deref()) {
            let record = done.record.as_ref();
            let is_same = done.after() == revision
                && record.is_some_and(|record| {
                    record.operation == operation && record.replaced == expected.map(|expected| expected.to_string())
                });
            return if is_same { Ok(done.revision) } else { Err(EditError::OtherOperation(name.clone())) };
        }
        if current_revision != expected {
            return Err(EditError::Conflict { name: name.clone(), current: current_revision, diff: String::new() });
        }
        let Some(revision_recorded) = revision.or(expected) else {
            return Err(EditError::NoVersion(name.clone(), None));
        };
        if revision == current_revision {
            return Ok(revision_recorded);
        }
        let path = match (&file, last_path(&entries)) {
            (Some(file), _) => file.path.to_path_buf(),
            (None, Some(path)) if operation == Operation::Restore => self.path.join(path),
            (None, _) => path_for_new(self, name).map_err(EditError::Write)?,
        };
        let target = match &file {
            Some(_) => fs::canonicalize(&path).map_err(|error| EditError::Io(path.clone(), error))?,
            None => path.clone(),
        };
        self.check_target(&target, caller)?;

        let mut at = Timestamp::now();
        let newest = entries.first().map(|entry| entry.at);
        let after = |time: Timestamp, last: Timestamp| time.max(last + SignedDuration::from_nanos(1));
        if let Some(current) = current.as_deref().filter(|_| entries.first().and_then(Entry::after) != current_revision)
        {
            let modified = fs::metadata(&path).and_then(|file| file.modified()).ok();
            let modified = modified.and_then(|time| Timestamp::try_from(time).ok()).filter(|modified| *modified < at);
            let made = newest.map_or(modified.unwrap_or(at), |newest| after(modified.unwrap_or(at), newest));
            lock.add(&history, name, (made, Revision::of(current)), None, Some(current))?;
            at = after(at, made);
        }
        at = newest.map_or(at, |newest| after(at, newest));
        let below = path.strip_prefix(&self.path).unwrap_or(&path);
        let record = Record {
            operation,
            replaced: current_revision.map(|revision| revision.to_string()),
            path: below.iter().map(|step| step.to_string_lossy()).collect::<Vec<_>>().join("/"),
            author: about.author.as_deref().map(str::to_owned),
            note: about.note.clone(),
            operation_id: about.operation_id.clone(),
        };
        let entry = lock.add(&history, name, (at, revision_recorded), Some(&record), text)?;
        let written = self.put(&mut lock, &path, &target, current.as_deref(), text, name);
        if let Err(error) = written {
            _ = lock.remove(&history, name, &entry); // the next write removes it otherwise
            return Err(error);
        }
        if let Some(versions) = versions {
            lock.prune(&history, name, versions.get())?;
        }
        Ok(revision_recorded)
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, EditError> {
        let current = self.read(name)?;
        let revision = current.as_deref().map(Revision::of);
        let entries = History::of(&self.path).entries(name)?;
        let mut entries: Vec<&Entry> = entries
            .iter()
            .enumerate()
            .filter(|(index, entry)| *index > 0 || !entry.is_undone(revision))
            .map(|(_, entry)| entry)
            .collect();
        // After a crash, a version may be there twice.
        entries.dedup_by(|older, newer| older.after().is_some() && older.after() == newer.after());
        let is_known = entries.first().is_some_and(|entry| entry.after() == revision);
        let mut versions: Vec<Version> = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| entry.version(is_known && index == 0 && revision.is_some()))
            .collect();
        if let (Some(revision), false, Some(file)) = (revision, is_known, self.resolve(name)) {
            let modified = fs::metadata(&file.path).and_then(|file| file.modified()).ok();
            let at = modified.and_then(|time| Timestamp::try_from(time).ok()).unwrap_or_else(Timestamp::now);
            let by_hand =
                Version { revision, at, operation: Operation::ByHand, author: None, note: None, is_current: true };
            versions.insert(0, by_hand);
        }
        Ok(versions)
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<Vec<u8>>, EditError> {
        History::of(&self.path).text(name, revision)
    }

    fn path(&self, name: &Name) -> Option<PathBuf> {
        self.resolve(name).map(|file: PromptFile| file.path.to_path_buf())
    }
}

impl Folder {
    fn bytes(&self, path: &Path) -> Result<Vec<u8>, EditError> {
        let content = read::read(path, |_| Ok(()));
        content
            .map(|content| content.bytes)
            .map_err(|diagnostic| EditError::Invalid(Box::new(self.problem(path, diagnostic))))
    }

    /// The path of a prompt's file, or of a new one.
    fn target(&self, name: &Name) -> Result<PathBuf, EditError> {
        match self.resolve(name) {
            Some(file) => Ok(file.path.to_path_buf()),
            None => path_for_new(self, name).map_err(EditError::Write),
        }
    }

    /// Replaces, creates or deletes a file in one step, if it is still as it was read.
    fn put(
        &self,
        lock: &mut super::history::Lock,
        path: &Path,
        target: &Path,
        current: Option<&[u8]>,
        text: Option<&[u8]>,
        name: &Name,
    ) -> Result<(), EditError> {
        let failed = |path: &Path, error| EditError::Io(path.to_owned(), error);
        let folder = target.parent().unwrap_or(Path::new("."));
        create_folders(folder)?;
        let permissions = fs::metadata(target).ok().map(|file| file.permissions());
        let sibling = text.map(|text| lock.write_sibling(target, text, permissions)).transpose()?;
        // An editor knows nothing of the lock.
        let now = fs::read(target);
        let is_unchanged = match (&now, current) {
            (Ok(now), Some(current)) => now == current,
            (Err(error), None) => error.kind() == ErrorKind::NotFound,
            _ => false,
        };
        if !is_unchanged {
            lock.remove_temporary_file();
            let current = now.ok().as_deref().map(Revision::of);
            return Err(EditError::Conflict { name: name.clone(), current, diff: String::new() });
        }
        let done = match &sibling {
            None => remove_file(path),
            Some(sibling) if current.is_none() => rename_to_new(sibling, target),
            Some(sibling) => fs::rename(sibling, target),
        };
        if let Err(error) = done {
            lock.remove_temporary_file();
            if current.is_none() && error.kind() == ErrorKind::AlreadyExists {
                return Err(EditError::Conflict { name: name.clone(), current: None, diff: String::new() });
            }
            return Err(failed(target, error));
        }
        let folder = if text.is_none() { path.parent().unwrap_or(folder) } else { folder };
        sync_folder(folder).map_err(|error| failed(folder, error))
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

    fn check_reach(&self, prompt: &Prompt, path: &Path, prefix: &Prefix) -> Result<(), EditError> {
        let folder = path.parent().unwrap_or(&self.path);
        let attached = prompt.attachments.iter().filter(|attachment| !attachment.path.contains("://"));
        let attached = attached.map(|attachment| folder.join(&attachment.path));
        let included = prompt.included().iter().map(|file| file.path.clone()).filter(|path| path.is_absolute());
        let root = fs::canonicalize(self.path.join(prefix.folder())).ok();
        for file in attached.chain(included) {
            let is_inside =
                fs::canonicalize(&file).is_ok_and(|file| root.as_ref().is_some_and(|root| file.starts_with(root)));
            if !is_inside {
                return Err(EditError::Reaches(prefix.clone(), file));
            }
        }
        Ok(())
    }
}

fn operation_of<'e>(entries: &'e [Entry], id: Option<&str>) -> Option<&'e Entry> {
    let id = id?;
    entries.iter().find(|entry| entry.record.as_ref().is_some_and(|record| record.operation_id.as_deref() == Some(id)))
}

/// Where the file of a prompt was last.
fn last_path(entries: &[Entry]) -> Option<&str> {
    entries.iter().find_map(|entry| Some(entry.record.as_ref()?.path.as_str()))
}
