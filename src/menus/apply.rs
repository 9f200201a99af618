//! Writes and removes the entries of a menu.

use super::existing::has_text;
use super::plan::{EntryRemoval, EntryWrite, MenuPlan};
use crate::agents::MenuLayout;
use crate::prompt::{Diagnostic, Kind};
use crate::whole_file::{FileAccess, PendingFile};
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
    /// One error for each entry that could not be written or removed.
    pub errors: Vec<Diagnostic>,
}

impl MenuPlan {
    /// Carries out the plan. An error with one entry doesn't keep the others from being written.
    pub fn apply(&self) -> WrittenEntries {
        let mut result = WrittenEntries::default();
        for removal in &self.removals {
            match self.remove(removal) {
                Ok(()) => result.removed += 1,
                Err(error) => result.errors.push(self.error(&removal.name, &error)),
            }
        }
        for write in &self.writes {
            match self.write(write) {
                Ok(()) => result.written += 1,
                Err(error) => result.errors.push(self.error(&write.name, &error)),
            }
        }
        result
    }

    /// Writes the files of an entry. The Markdown file comes last, so that the mark is there only
    /// if everything is.
    fn write(&self, write: &EntryWrite) -> io::Result<()> {
        let path = self.menu.entry_path(&self.folder, &write.name);
        let entry_folder = path.parent().unwrap_or(&path);
        for (relative_path, text) in self.menu.further_files {
            create(&entry_folder.join(relative_path), text)?;
        }
        match &write.old_text {
            None => create(&path, &write.new_text),
            Some(old_text) => replace(&path, old_text, &write.new_text),
        }
    }

    /// Removes the files of an entry, and its folder if nothing else is in it. The Markdown file
    /// goes last, because it has the mark.
    fn remove(&self, removal: &EntryRemoval) -> io::Result<()> {
        let path = self.menu.entry_path(&self.folder, &removal.name);
        check_text(&path, &removal.old_text)?;
        let entry_folder = path.parent().unwrap_or(&path);
        for (relative_path, text) in self.menu.further_files {
            let file = entry_folder.join(relative_path);
            if has_text(&file, text) {
                fs::remove_file(&file)?;
            }
            remove_if_empty(file.parent().unwrap_or(entry_folder));
        }
        fs::remove_file(&path)?;
        if self.menu.layout == MenuLayout::Skill {
            remove_if_empty(entry_folder);
        }
        Ok(())
    }

    fn error(&self, name: &str, error: &io::Error) -> Diagnostic {
        let message = format!("the entry `{name}` cannot be changed: {error}");
        let fix = "repair that, and run `prompt-expander sync` again";
        let path = self.menu.entry_path(&self.folder, name);
        Diagnostic::new(Kind::NotWritable, message, fix).in_file(path)
    }
}

/// Creates a file. Succeeds if another process has just created the same file.
fn create(path: &Path, text: &str) -> io::Result<()> {
    if has_text(path, text) {
        return Ok(());
    }
    let file = PendingFile::write(path, text.as_bytes(), FileAccess::Shared)?;
    match file.create() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && has_text(path, text) => Ok(()),
        result => result,
    }
}

/// Replaces a file, unless it has changed since it was read. Succeeds if another process has just
/// written the same text.
fn replace(path: &Path, old_text: &str, new_text: &str) -> io::Result<()> {
    if has_text(path, new_text) {
        return Ok(());
    }
    let metadata = fs::symlink_metadata(path)?;
    let file = PendingFile::write(path, new_text.as_bytes(), FileAccess::SameAs(&metadata))?;
    check_text(path, old_text)?;
    file.replace()
}

/// Fails if a file has changed since it was read.
fn check_text(path: &Path, old_text: &str) -> io::Result<()> {
    let is_file = fs::symlink_metadata(path)?.is_file();
    if is_file && has_text(path, old_text) {
        return Ok(());
    }
    Err(io::Error::other("it has just been changed"))
}

/// Removes a folder if it is empty. A folder with files of the user's stays.
fn remove_if_empty(folder: &Path) {
    _ = fs::remove_dir(folder);
}
