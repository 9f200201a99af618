//! The files of a folder that is not on the disk, but in a database or on a server. They are kept
//! in memory.

#![cfg_attr(not(feature = "store"), allow(dead_code))] // only the store writes to them

use crate::lock::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The key of the list of all paths in [`MemoryFiles::state`]. No file has an empty path.
pub(crate) const PATH_LIST: &str = "";

/// A file in memory.
#[derive(Debug, Clone)]
pub(crate) struct MemoryFile {
    pub(crate) text: Arc<str>,
    /// The number of the write that produced this text. Later writes have greater numbers.
    pub(crate) write_number: i64,
    pub(crate) written_at: SystemTime,
}

/// A write to a file of an in-memory folder.
#[derive(Debug)]
pub(crate) struct FileWrite {
    pub(crate) path: Arc<str>,
    /// Greater than that of every earlier write, to whichever file.
    pub(crate) write_number: i64,
    /// The file afterwards. `None` if the write deleted it.
    pub(crate) file: Option<MemoryFile>,
}

/// All files of an in-memory folder, by path. Shared by all threads; writes are atomic.
#[derive(Debug, Default)]
pub(crate) struct MemoryFiles(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: BTreeMap<Arc<str>, MemoryFile>,
    /// The number of the last write.
    last_write: i64,
    /// How often a path was added or removed.
    path_list_changes: i64,
    /// How often [`MemoryFiles::replace`] was called.
    loads: u64,
}

/// The state of a file, or of the list of all paths. It differs after every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryFileState {
    /// See [`Table::version`].
    version: i64,
    /// Distinguishes equal write numbers from before and after a [`MemoryFiles::replace`]: a
    /// database that was recreated starts to count anew.
    loads: u64,
}

impl Table {
    /// Returns a number that changes with the file at `path`: that of its last write, or 0 if it
    /// doesn't exist. For [`PATH_LIST`], returns how often the list has changed.
    fn version(&self, path: &str) -> i64 {
        if path == PATH_LIST {
            return self.path_list_changes;
        }
        match self.files.get(path) {
            Some(file) => file.write_number,
            None => 0,
        }
    }
}

impl MemoryFiles {
    /// Creates files that are never written to. All of them get the write number 1 and the Unix
    /// epoch as their time.
    pub(crate) fn read_only(texts: BTreeMap<Arc<str>, Arc<str>>) -> MemoryFiles {
        const ONLY_WRITE: i64 = 1;
        let mut files = BTreeMap::new();
        for (path, text) in texts {
            let file = MemoryFile {
                text,
                write_number: ONLY_WRITE,
                written_at: SystemTime::UNIX_EPOCH,
            };
            files.insert(path, file);
        }
        let memory_files = MemoryFiles::default();
        memory_files.replace(files, ONLY_WRITE);
        memory_files
    }

    pub(crate) fn get(&self, path: &str) -> Option<MemoryFile> {
        lock(&self.0).files.get(path).cloned()
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        lock(&self.0).files.contains_key(path)
    }

    /// Returns the state of the file at a path, or of the list of all paths for [`PATH_LIST`].
    pub(crate) fn state(&self, path: &str) -> MemoryFileState {
        let table = lock(&self.0);
        MemoryFileState {
            version: table.version(path),
            loads: table.loads,
        }
    }

    /// Returns all paths, sorted.
    pub(crate) fn paths(&self) -> Vec<Arc<str>> {
        lock(&self.0).files.keys().cloned().collect()
    }

    pub(crate) fn last_write_number(&self) -> i64 {
        lock(&self.0).last_write
    }

    /// Replaces all files. `last_write` is the number of the last write that they include.
    pub(crate) fn replace(&self, files: BTreeMap<Arc<str>, MemoryFile>, last_write: i64) {
        let mut table = lock(&self.0);
        let old_files = std::mem::replace(&mut table.files, files);
        table.last_write = last_write;
        table.path_list_changes += 1;
        table.loads += 1;
        // Unlock first, so that no reader waits while the old files are freed.
        drop(table);
        drop(old_files);
    }

    /// Applies writes, which must be sorted by their numbers. Returns the paths of the files that
    /// they changed.
    ///
    /// A write whose number isn't greater than the last one is skipped, because it was applied
    /// before. Out of order, a write would be skipped without having been applied.
    pub(crate) fn apply(&self, writes: Vec<FileWrite>) -> Vec<Arc<str>> {
        let mut table = lock(&self.0);
        let mut changed_paths = Vec::new();
        for write in writes {
            if write.write_number <= table.last_write {
                continue;
            }
            table.last_write = write.write_number;
            let count_before = table.files.len();
            match write.file {
                Some(file) => _ = table.files.insert(Arc::clone(&write.path), file),
                None => _ = table.files.remove(&write.path),
            }
            // Replacing the text of a file leaves the list of paths as it is.
            if table.files.len() != count_before {
                table.path_list_changes += 1;
            }
            changed_paths.push(write.path);
        }
        changed_paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::disk::folder::Folder;
    use crate::library::source::Source;
    use crate::prompt::Name;
    use std::path::PathBuf;

    #[test]
    fn a_list_shows_what_the_rows_are_now() {
        let memory_files = Arc::new(MemoryFiles::default());
        let folder = Folder::in_memory(PathBuf::from("postgres://x"), Arc::clone(&memory_files));
        let write = |number, path: &str, text: &str| {
            let row = MemoryFile {
                text: text.into(),
                write_number: number,
                written_at: SystemTime::UNIX_EPOCH,
            };
            memory_files.apply(vec![FileWrite {
                path: path.into(),
                write_number: number,
                file: Some(row),
            }]);
        };
        write(1, "_part.md", "One.");
        write(2, "alone.md", "One.");
        write(3, "both.md", "---\ninclude: true\n---\n{{> _part.md}}");
        let descriptions = || {
            let infos = folder.list().found.into_iter().map(|found| found.info());
            infos
                .map(|info| info.summary.unwrap().description.clone().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(descriptions(), ["One.", "One."]);
        write(4, "_part.md", "Two.");
        assert_eq!(descriptions(), ["One.", "Two."]);
        write(5, "alone.md", "Two.");
        assert_eq!(descriptions(), ["Two.", "Two."]);
    }

    #[test]
    fn a_database_that_was_created_anew_is_not_taken_for_the_old_one() {
        let memory_files = Arc::new(MemoryFiles::default());
        let folder = Folder::in_memory(PathBuf::from("postgres://x"), Arc::clone(&memory_files));
        let name = Name::new("a").unwrap();
        for text in ["Old.", "New."] {
            let row = MemoryFile {
                text: text.into(),
                write_number: 1,
                written_at: SystemTime::UNIX_EPOCH,
            };
            memory_files.replace(BTreeMap::from([("a.md".into(), row)]), 1);
            let found = folder.find(&name).unwrap();
            let summary = found.info().summary.unwrap();
            assert_eq!(summary.description.as_deref(), Some(text));
            assert_eq!(found.prompt().unwrap().template_text(), text);
        }
    }
}
