//! Renames a prompt in a folder, together with its history and its test file.
//!
//! This takes several steps on disk. Meanwhile, a record of the rename is kept in the folder,
//! locked by the process that carries it out. If that process is killed, the next process that
//! writes a prompt in the folder, or reads its history, finds the unlocked record and finishes the
//! rename.

use super::file_store::{FileStore, already_exists_error};
use super::history::file_error;
use crate::library::disk::cache::Trace;
use crate::library::disk::root::PromptFile;
use crate::library::disk::test_files::tests_next_to;
use crate::prompt::{Diagnostic, Kind, Name};
use crate::whole_file::{self, FileAccess, PendingFile, create_folders};
use crate::wording::{in_backticks, path_in_backticks};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The name of the record, a hidden file in the folder of prompts.
const RECORD_FILE: &str = ".prompt-expander-rename";

/// The maximum size of a record that is read, in bytes.
const MAX_RECORD: u64 = 64 * 1024;

/// The record of an unfinished rename.
///
/// In a project, it may come from an attacker. So the files to write to are derived from prompt
/// names, which are checked, and `file` is only ever tested for existence.
#[derive(Debug, Serialize, Deserialize)]
struct RenameRecord {
    /// The old name.
    #[serde(deserialize_with = "deserialize_name")]
    from: Name,
    /// The new name.
    #[serde(deserialize_with = "deserialize_name")]
    to: Name,
    /// The old path of the prompt's file, relative to the folder. Once it no longer exists, the
    /// file has been renamed.
    file: String,
}

impl FileStore {
    /// Renames a prompt, together with its history and its test file.
    ///
    /// # Errors
    /// Fails if there is no such prompt, if the new name is taken, or if the prompt has a folder of
    /// its own or is a symlink.
    pub(crate) fn rename(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        // Before the history is locked, because this locks it, too. It also deletes the record of a
        // killed process, so that one that still exists below belongs to a running process.
        self.finish_rename()?;
        let _history_lock = self.lock_history_of(from)?;
        let old_file = self.file_to_rename(from)?;
        let new_path = self.path_after_rename(&old_file, from, to)?;
        let folder = new_path.parent().unwrap_or(&self.files.root.path);
        create_folders(folder).map_err(|error| file_error(folder, &error))?;
        // From here on, another process can finish the rename if this one is killed.
        let _record_lock = self.create_locked_record(&old_file, from, to)?;
        let mut outcome = rename_file(&old_file.path, &new_path);
        if outcome.is_ok() {
            outcome = self.move_history_and_tests(from, to);
        }
        // Also after an error: the user has seen it, so nobody should finish the rename later.
        self.delete_record();
        outcome
    }

    /// Finishes a rename whose process was killed. If that process hadn't renamed the prompt's file
    /// yet, the rename is abandoned.
    ///
    /// # Errors
    /// Fails if another process holds the lock of the history for too long.
    pub(crate) fn finish_rename(&self) -> Result<(), Diagnostic> {
        let path = self.files.root.path.join(RECORD_FILE);
        let Ok(file) = whole_file::open_regular(&path) else {
            return Ok(()); // there is nothing to finish
        };
        if file.try_lock().is_err() {
            return Ok(()); // the process that renames the prompt is still running
        }
        if let Some(record) = read_record(&file)
            && self.is_file_renamed(&record)
        {
            let RenameRecord { from, to, .. } = &record;
            let _history_lock = self.lock_history_of(from)?;
            if let Err(error) = self.move_history_and_tests(from, to) {
                tracing::warn!(%from, %to, %error, "cannot finish a rename");
            }
        }
        self.delete_record();
        Ok(())
    }

    /// Returns whether the prompt's file was already renamed, which is the first step of a rename.
    fn is_file_renamed(&self, record: &RenameRecord) -> bool {
        let root = &self.files.root;
        let has_old_file = exists_or_is_symlink(&root.path.join(&record.file));
        !has_old_file && root.resolve(&record.to, &mut Trace::default()).is_some()
    }

    /// Locks the history until the returned file is dropped. If the prompt has no history, returns
    /// `None` without locking, because locking would create the history's folder.
    fn lock_history_of(&self, name: &Name) -> Result<Option<File>, Diagnostic> {
        if self.history.versions(name)?.is_empty() {
            return Ok(None);
        }
        self.history.lock().map(Some)
    }

    /// Returns the file of the prompt to rename.
    ///
    /// # Errors
    /// Fails if there is no such prompt, or if it has a folder of its own or is a symlink.
    fn file_to_rename(&self, from: &Name) -> Result<PromptFile, Diagnostic> {
        let Some(file) = self.files.root.resolve(from, &mut Trace::default()) else {
            let message = format!("{} was deleted", in_backticks(from));
            return Err(Diagnostic::new(Kind::NotFound, message, ""));
        };
        if file.kind.is_in_folder() || file.path.is_symlink() {
            let message = format!(
                "{} is a symlink, or in a folder of its own",
                path_in_backticks(&file.path)
            );
            let fix = "rename it, or the folder, yourself";
            return Err(Diagnostic::new(Kind::NotWritable, message, fix));
        }
        Ok(file)
    }

    /// Returns the new path of a prompt's file. It keeps the spelling of its suffix, so `a.MD`
    /// becomes `b.MD`.
    ///
    /// # Errors
    /// Fails if there is already a prompt with the new name, or a test file for it that would
    /// collide with the test file of the renamed prompt.
    fn path_after_rename(
        &self,
        old_file: &PromptFile,
        from: &Name,
        to: &Name,
    ) -> Result<PathBuf, Diagnostic> {
        let root = &self.files.root;
        if let Some(existing) = root.resolve(to, &mut Trace::default()) {
            return Err(already_exists_error(&existing.path));
        }
        let suffix = old_file.path.extension().unwrap_or_default();
        let new_path = root.path_for_new(to)?.with_extension(suffix);
        let old_tests = tests_next_to(&old_file.path, from);
        let new_tests = tests_next_to(&new_path, to);
        if exists_or_is_symlink(&old_tests) && exists_or_is_symlink(&new_tests) {
            return Err(already_exists_error(&new_tests));
        }
        Ok(new_path)
    }

    /// Moves the history and the test file of a prompt whose file was renamed. Whatever was already
    /// moved, before an earlier process was killed, is skipped.
    fn move_history_and_tests(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        let root = &self.files.root;
        if !self.history.versions(from)?.is_empty() {
            self.history.rename(from, to)?;
        }
        // If both `a.md` and `a.MD` existed, the other one still has the old name, and keeps the
        // tests.
        if root.resolve(from, &mut Trace::default()).is_some() {
            return Ok(());
        }
        let old_tests = tests_next_to(&root.path_for_new(from)?, from);
        if !exists_or_is_symlink(&old_tests) {
            return Ok(());
        }
        let new_tests = tests_next_to(&root.path_for_new(to)?, to);
        rename_file(&old_tests, &new_tests)
    }

    /// Creates the record of a rename, locked until the returned file is dropped. As long as it is
    /// locked, [`FileStore::finish_rename`] in other processes leaves it alone.
    ///
    /// # Errors
    /// Fails if a record exists, because another process is renaming a prompt in the folder, or if
    /// the record cannot be written.
    fn create_locked_record(
        &self,
        old_file: &PromptFile,
        from: &Name,
        to: &Name,
    ) -> Result<File, Diagnostic> {
        let root = &self.files.root;
        let record = RenameRecord {
            from: from.clone(),
            to: to.clone(),
            file: root.relative_path(&old_file.path),
        };
        let path = root.path.join(RECORD_FILE);
        // Serializing a struct of strings cannot fail.
        let json = serde_json::to_vec(&record).unwrap_or_default();
        PendingFile::write(&path, &json, FileAccess::Shared)
            .and_then(PendingFile::create_locked)
            .map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => {
                    let message = "another process is renaming a prompt in this folder";
                    Diagnostic::new(Kind::Busy, message, "try again")
                }
                _ => file_error(&path, &error),
            })
    }

    /// Deletes the record of a rename. If that fails, the next write in the folder tries again.
    fn delete_record(&self) {
        _ = fs::remove_file(self.files.root.path.join(RECORD_FILE));
    }
}

/// Reads the record of a rename, or returns `None` if it is invalid.
fn read_record(file: &File) -> Option<RenameRecord> {
    let mut json = Vec::new();
    file.take(MAX_RECORD).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

/// Deserializes and checks the name of a prompt.
fn deserialize_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
    Name::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Returns whether anything is at a path, even a broken symlink, which `Path::exists` misses.
fn exists_or_is_symlink(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Renames a file without overwriting another one.
///
/// # Errors
/// Fails if there is a file at the new path, or if the file cannot be renamed.
fn rename_file(from: &Path, to: &Path) -> Result<(), Diagnostic> {
    whole_file::rename(from, to).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => already_exists_error(to),
        _ => file_error(to, &error),
    })
}
