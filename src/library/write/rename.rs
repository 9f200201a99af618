//! Renames a prompt of a folder, with its history and its tests.
//!
//! On the disk, these are several renames. While they run, a record of them lies in the folder,
//! locked by the process that carries them out. If that process was killed, whoever next writes a
//! prompt of the folder, or asks for its history, finishes them.

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

/// The file of the record, in the folder of prompts. It is hidden.
const RECORD: &str = ".prompt-expander-rename";

/// The longest record that is read, in bytes.
const MAX_RECORD: u64 = 64 * 1024;

/// A rename that has begun, as the record stores it. Like every file of a project, the record may
/// come from somebody else. So it has names instead of paths to write to, and its path is only
/// read.
#[derive(Debug, Serialize, Deserialize)]
struct RenameRecord {
    /// The old name.
    #[serde(deserialize_with = "read_name")]
    from: Name,
    /// The new name.
    #[serde(deserialize_with = "read_name")]
    to: Name,
    /// The old path of the prompt's file, below the folder. If the file is no longer there, it has
    /// been renamed.
    file: String,
}

impl FileStore {
    /// Renames a prompt, with its versions and its test file.
    ///
    /// # Errors
    /// There is no such prompt, or there is one with the new name already; or the prompt is a
    /// folder, or its file a symlink.
    pub(crate) fn rename(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        self.finish_rename()?;
        let _lock = self.lock_history_of(from)?;
        let old = self.file_to_rename(from)?;
        let new = self.path_after_rename(&old, from, to)?;
        let folder = new.parent().unwrap_or(&self.files.root.path);
        create_folders(folder).map_err(|error| file_error(folder, &error))?;
        let _locked_record = self.write_record(&old, from, to)?;
        let mut outcome = rename_file(&old.path, &new);
        if outcome.is_ok() {
            outcome = self.move_history_and_tests(from, to);
        }
        self.delete_record();
        outcome
    }

    /// Finishes a rename whose process was killed. If that process had not renamed the file yet,
    /// only the record is deleted.
    ///
    /// # Errors
    /// Another process writes for a long time.
    pub(crate) fn finish_rename(&self) -> Result<(), Diagnostic> {
        let path = self.files.root.path.join(RECORD);
        let Ok(file) = whole_file::open_regular(&path) else {
            return Ok(()); // there is nothing to finish
        };
        if file.try_lock().is_err() {
            return Ok(()); // the process that renames the prompt still runs
        }
        if let Some(record) = read_record(&file)
            && self.has_renamed_file(&record)
        {
            let RenameRecord { from, to, .. } = &record;
            let _lock = self.lock_history_of(from)?;
            if let Err(error) = self.move_history_and_tests(from, to) {
                tracing::warn!(%from, %to, %error, "a rename is not finished");
            }
        }
        self.delete_record();
        Ok(())
    }

    /// Returns whether the first step of a rename was done: the file of the prompt has its new
    /// name, and nothing has the old one.
    fn has_renamed_file(&self, record: &RenameRecord) -> bool {
        let root = &self.files.root;
        let has_old_file = has_entry(&root.path.join(&record.file));
        !has_old_file && root.resolve(&record.to, &mut Trace::default()).is_some()
    }

    /// Locks the history until the returned file is dropped. Returns `None`, and locks nothing, if
    /// the prompt has no versions, because the lock would create a history.
    fn lock_history_of(&self, name: &Name) -> Result<Option<File>, Diagnostic> {
        if self.history.versions(name)?.is_empty() {
            return Ok(None);
        }
        self.history.lock().map(Some)
    }

    /// Returns the file of the prompt to rename.
    ///
    /// # Errors
    /// There is no such prompt; or the prompt is a folder, or its file a symlink.
    fn file_to_rename(&self, from: &Name) -> Result<PromptFile, Diagnostic> {
        let Some(file) = self.files.root.resolve(from, &mut Trace::default()) else {
            let message = format!("{} was deleted", in_backticks(from));
            return Err(Diagnostic::new(Kind::NotFound, message, ""));
        };
        if file.kind.is_in_folder() || fs::read_link(&file.path).is_ok() {
            let message = format!(
                "{} is a symlink, or in a folder of its own",
                path_in_backticks(&file.path)
            );
            let fix = "rename it, or the folder, yourself";
            return Err(Diagnostic::new(Kind::NotWritable, message, fix));
        }
        Ok(file)
    }

    /// Returns the path that the file of a prompt gets with its new name: `b.MD` for `a.MD`.
    ///
    /// # Errors
    /// There is a prompt with the new name already, or a test file for it.
    fn path_after_rename(
        &self,
        old: &PromptFile,
        from: &Name,
        to: &Name,
    ) -> Result<PathBuf, Diagnostic> {
        let root = &self.files.root;
        if let Some(other) = root.resolve(to, &mut Trace::default()) {
            return Err(already_exists_error(&other.path));
        }
        let suffix = old.path.extension().unwrap_or_default();
        let new = root.path_for_new(to)?.with_extension(suffix);
        // Otherwise, the prompt would lose its tests, and get those of another one.
        let new_tests = tests_next_to(&new, to);
        if has_entry(&tests_next_to(&old.path, from)) && has_entry(&new_tests) {
            return Err(already_exists_error(&new_tests));
        }
        Ok(new)
    }

    /// Moves the versions and the test file of a prompt whose file was renamed. If a killed process
    /// has moved some of them, the others are moved.
    fn move_history_and_tests(&self, from: &Name, to: &Name) -> Result<(), Diagnostic> {
        let root = &self.files.root;
        if !self.history.versions(from)?.is_empty() {
            self.history.rename(from, to)?;
        }
        // Another file, such as `a.MD`, may still have the old name. The tests stay with it.
        if root.resolve(from, &mut Trace::default()).is_some() {
            return Ok(());
        }
        let old_tests = tests_next_to(&root.path_for_new(from)?, from);
        if !has_entry(&old_tests) {
            return Ok(());
        }
        let new_tests = tests_next_to(&root.path_for_new(to)?, to);
        rename_file(&old_tests, &new_tests)
    }

    /// Writes the record of a rename. It stays locked until the returned file is dropped.
    ///
    /// # Errors
    /// Another process is renaming a prompt in the folder, or the record cannot be written.
    fn write_record(&self, old: &PromptFile, from: &Name, to: &Name) -> Result<File, Diagnostic> {
        let root = &self.files.root;
        let record = RenameRecord {
            from: from.clone(),
            to: to.clone(),
            file: root.relative_path(&old.path),
        };
        let path = root.path.join(RECORD);
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

    /// Deletes the record of a rename. If that fails, the next write in the folder tries it again.
    fn delete_record(&self) {
        _ = fs::remove_file(self.files.root.path.join(RECORD));
    }
}

/// Reads the record of a rename. Returns `None` if it is not one that this program writes.
fn read_record(file: &File) -> Option<RenameRecord> {
    let mut json = Vec::new();
    file.take(MAX_RECORD).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

/// Reads the name of a prompt in a record, and checks it.
fn read_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
    Name::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Returns whether there is a file, a folder or a symlink at a path.
fn has_entry(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Renames a file.
///
/// # Errors
/// There is a file at the new path, which is not overwritten; or the file cannot be renamed.
fn rename_file(from: &Path, to: &Path) -> Result<(), Diagnostic> {
    whole_file::rename(from, to).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => already_exists_error(to),
        _ => file_error(to, &error),
    })
}
