//! Writes and removes the entries of a menu.

use super::existing::{has_text, link_kind};
use super::plan::{EntryRemoval, EntryWrite, MenuPlan};
use crate::agents::{MenuLayout, MenuLocation};
use crate::prompt::{Diagnostic, Kind};
use crate::whole_file::{FileAccess, PendingFile, remove_leftovers};
use crate::wording::{count, in_backticks};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What was done.
#[derive(Debug, Default)]
pub struct WrittenEntries {
    /// How many entries were written.
    pub written: usize,
    /// How many entries were removed.
    pub removed: usize,
    /// One error for each reason why entries could not be written or removed.
    pub errors: Vec<Diagnostic>,
}

/// Why an entry could not be written or removed.
#[derive(Debug)]
enum EntryError {
    /// Another program has changed it since it was read.
    Changed,
    NotWritable(io::Error),
}

impl From<io::Error> for EntryError {
    fn from(error: io::Error) -> EntryError {
        EntryError::NotWritable(error)
    }
}

/// What to do with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryAction {
    Write,
    Remove,
}

/// Entries that could not be written, or not be removed, for the same reason.
struct FailedEntries<'p> {
    action: EntryAction,
    error: EntryError,
    names: Vec<&'p str>,
}

impl FailedEntries<'_> {
    /// Returns whether another entry failed in the same way.
    fn is_same_failure(&self, action: EntryAction, error: &EntryError) -> bool {
        let is_same_error = match (&self.error, error) {
            (EntryError::Changed, EntryError::Changed) => true,
            (EntryError::NotWritable(one), EntryError::NotWritable(other)) => {
                one.to_string() == other.to_string()
            }
            _ => false,
        };
        self.action == action && is_same_error
    }

    /// Returns the error. It names the file of the only entry, or the folder of several.
    fn diagnostic(&self, location: &MenuLocation) -> Diagnostic {
        let entries = match &self.names[..] {
            [name] => format!("the menu entry {}", in_backticks(name)),
            names => count(names.len(), "menu entry"),
        };
        let (message, fix) = match &self.error {
            EntryError::Changed => (
                format!("another program changed {entries} during this run"),
                "run `prompt-expander sync` again",
            ),
            EntryError::NotWritable(error) => {
                let done = match self.action {
                    EntryAction::Write => "written",
                    EntryAction::Remove => "removed",
                };
                (
                    format!("{entries} cannot be {done}: {error}"),
                    fix_for(error),
                )
            }
        };
        let file = match &self.names[..] {
            [name] => location.entry_path(name),
            _ => location.folder.clone(),
        };
        Diagnostic::new(Kind::NotWritable, message, fix).in_file(file)
    }
}

/// Returns what to do about an error of the system.
fn fix_for(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, and run `prompt-expander sync` again"
        }
        _ => "make the menu's folder writable, and run `prompt-expander sync` again",
    }
}

impl MenuPlan {
    /// Carries out the plan. An error with one entry doesn't keep the others from being written.
    pub fn apply(&self) -> WrittenEntries {
        let mut result = WrittenEntries::default();
        let mut failures: Vec<FailedEntries<'_>> = Vec::new();
        // Removals come first, because two names may differ only in letter case.
        for removal in &self.removals {
            match self.remove(removal) {
                Ok(()) => result.removed += 1,
                // Another process has just removed it.
                Err(_) if self.has_vanished(removal) => result.removed += 1,
                Err(error) => {
                    add_failure(&mut failures, &removal.name, EntryAction::Remove, error);
                }
            }
        }
        for write in &self.writes {
            match self.write(write) {
                Ok(()) => result.written += 1,
                Err(error) => add_failure(&mut failures, &write.name, EntryAction::Write, error),
            }
        }
        for failure in &failures {
            result.errors.push(failure.diagnostic(&self.location));
        }
        result
    }

    /// Writes the files of an entry. The Markdown file comes last, so that the mark is there only
    /// if everything is.
    fn write(&self, write: &EntryWrite) -> Result<(), EntryError> {
        self.check_folders(&write.name)?;
        let path = self.location.entry_path(&write.name);
        let entry_folder = path.parent().unwrap_or(&path);
        for (relative_path, text) in self.location.menu.further_files {
            write_file(&entry_folder.join(relative_path), None, text)?;
        }
        write_file(&path, write.old_text.as_deref(), &write.new_text)
    }

    /// Removes the files of an entry, and its folder if nothing else is in it. The Markdown file
    /// goes last, because it has the mark.
    fn remove(&self, removal: &EntryRemoval) -> Result<(), EntryError> {
        self.check_folders(&removal.name)?;
        let path = self.location.entry_path(&removal.name);
        if path.symlink_metadata().is_ok() {
            let old_text = removal.old_text.as_deref().ok_or(EntryError::Changed)?;
            check_text(&path, old_text)?;
        }
        let entry_folder = path.parent().unwrap_or(&path);
        for (relative_path, text) in self.location.menu.further_files {
            let file = entry_folder.join(relative_path);
            if has_text(&file, text) {
                remove_file(&file)?;
            }
            remove_if_empty(file.parent().unwrap_or(entry_folder));
        }
        remove_file(&path)?;
        if self.location.menu.layout == MenuLayout::Skill {
            remove_if_empty(entry_folder);
        }
        Ok(())
    }

    /// Returns whether the Markdown file of an entry is gone that was there when it was planned.
    fn has_vanished(&self, removal: &EntryRemoval) -> bool {
        let result = fs::symlink_metadata(self.location.entry_path(&removal.name));
        let is_missing = result.is_err_and(|error| error.kind() == ErrorKind::NotFound);
        is_missing && removal.old_text.is_some()
    }

    /// Fails if the menu's folder or one of the entry's has become a symlink since it was read,
    /// e.g. while the user was asked.
    fn check_folders(&self, name: &str) -> Result<(), EntryError> {
        let path = self.location.entry_path(name);
        let entry_folder = path.parent().unwrap_or(&path);
        check_folder(&self.location.folder)?;
        check_folder(entry_folder)?;
        for (relative_path, _) in self.location.menu.further_files {
            let file = entry_folder.join(relative_path);
            check_folder(file.parent().unwrap_or(entry_folder))?;
        }
        Ok(())
    }
}

/// Adds an entry that failed. Entries with the same failure are kept together.
fn add_failure<'p>(
    failures: &mut Vec<FailedEntries<'p>>,
    name: &'p str,
    action: EntryAction,
    error: EntryError,
) {
    let mut others = failures.iter_mut();
    match others.find(|failure| failure.is_same_failure(action, &error)) {
        Some(failure) => failure.names.push(name),
        None => failures.push(FailedEntries {
            action,
            error,
            names: vec![name],
        }),
    }
}

/// Fails if something else than a folder is there, such as a symlink.
fn check_folder(path: &Path) -> Result<(), EntryError> {
    match link_kind(path) {
        Some(kind) if !kind.is_dir() => Err(EntryError::Changed),
        _ => Ok(()),
    }
}

/// Creates a file, or replaces it if there is an old text. Succeeds if the file has the new text
/// already, e.g. because another process has just written the same.
fn write_file(path: &Path, old_text: Option<&str>, new_text: &str) -> Result<(), EntryError> {
    if has_text(path, new_text) {
        return Ok(());
    }
    let result = match old_text {
        None => create(path, new_text),
        Some(old_text) => replace(path, old_text, new_text),
    };
    if result.is_err() && has_text(path, new_text) {
        return Ok(());
    }
    result
}

/// Creates a file, which must not exist.
fn create(path: &Path, text: &str) -> Result<(), EntryError> {
    let file = PendingFile::write(path, text.as_bytes(), FileAccess::Shared)?;
    match file.create() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(EntryError::Changed),
        result => Ok(result?),
    }
}

/// Replaces a file, unless it has changed since it was read.
fn replace(path: &Path, old_text: &str, new_text: &str) -> Result<(), EntryError> {
    let metadata = fs::symlink_metadata(path)?;
    let file = PendingFile::write(path, new_text.as_bytes(), FileAccess::SameAs(&metadata))?;
    check_text(path, old_text)?;
    Ok(file.replace()?)
}

/// Fails if a file has changed since it was read.
fn check_text(path: &Path, old_text: &str) -> Result<(), EntryError> {
    let is_file = fs::symlink_metadata(path)?.is_file();
    if is_file && has_text(path, old_text) {
        return Ok(());
    }
    Err(EntryError::Changed)
}

/// Removes a file, if it exists.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Removes a folder if nothing is in it, or only temporary files of killed processes. A folder with
/// files of the user's stays.
fn remove_if_empty(folder: &Path) {
    remove_leftovers(folder);
    _ = fs::remove_dir(folder);
}
