//! Appends uses of prompts to the files.

use super::months::{file_name, first_day_in, first_kept_day, today};
use super::usage_line::{Way, usage_line};
use crate::library::Found;
use crate::whole_file;
use jiff::civil::Date;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Counts the uses of prompts in files of a folder.
#[derive(Debug, Clone)]
pub struct UsageLog {
    folder: PathBuf,
}

impl UsageLog {
    /// Creates a log in a folder. Nothing is written before the first use.
    pub fn new(folder: PathBuf) -> UsageLog {
        UsageLog { folder }
    }

    /// Counts one use of a prompt. If it can't be written, it isn't counted: a count must never
    /// affect the expansion. `doctor` reports the error (see [`check`](UsageLog::check)).
    pub fn count(&self, found: &Found, way: Way) {
        _ = self.append(found, way);
    }

    fn append(&self, found: &Found, way: Way) -> io::Result<()> {
        let today = today();
        let line = usage_line(today, found, way);
        self.open(today)?.write_all(line.as_bytes())
    }

    /// Opens the file of this month. If there is none, removes the files of months that are no
    /// longer kept, and creates it.
    fn open(&self, today: Date) -> io::Result<File> {
        let path = self.folder.join(file_name(today));
        match whole_file::open_to_append(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.remove_old_months(today);
                whole_file::create_to_append(&path)
            }
            result => result,
        }
    }

    /// Removes the files of months that are no longer kept. Ignores errors, because the next month
    /// tries again.
    fn remove_old_months(&self, today: Date) {
        for entry in whole_file::entries_of(&self.folder) {
            let file_name = entry.file_name();
            let Some(month) = file_name.to_str().and_then(first_day_in) else {
                continue;
            };
            if month < first_kept_day(today) {
                _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns the folder of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks whether uses can be counted, without writing anything.
    ///
    /// # Errors
    /// Fails if this month's file can't be opened or created.
    pub fn check(&self) -> io::Result<()> {
        let path = self.folder.join(file_name(today()));
        match whole_file::open_to_append(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let existing = self.folder.ancestors().find(|folder| folder.exists());
                let folder = existing.unwrap_or(&self.folder);
                // Keep only the kind, because the message contains a temporary name.
                tempfile::tempfile_in(folder).map_err(|error| error.kind())?;
                Ok(())
            }
            result => result.map(drop),
        }
    }
}
