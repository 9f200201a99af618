//! Files of a folder that is in a database, or at a server: their texts, in memory, by their paths
//! below the folder.

#![cfg_attr(not(feature = "store"), allow(dead_code))] // nothing else fills it

use crate::lock::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The path that stands for the list of all paths.
pub(crate) const PATH_LIST: &str = "";

/// A file in memory.
#[derive(Debug, Clone)]
pub(crate) struct MemoryFile {
    pub(crate) text: Arc<str>,
    /// The number of the write that wrote this text. Later writes have greater numbers.
    pub(crate) number: i64,
    /// When the text was written.
    pub(crate) at: SystemTime,
}

/// All files of a folder in memory, shared by all threads. A reader sees a write as a whole, or not
/// at all.
#[derive(Debug, Default)]
pub(crate) struct MemoryFiles(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: BTreeMap<Arc<str>, MemoryFile>,
    /// The number of the last write.
    number: i64,
    /// How often a path was added or removed.
    lists: i64,
    /// How often all files were replaced.
    loads: u64,
}

/// The state of a file in memory, or of the list of all paths. Each change leads to another state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryFileState {
    number: i64,
    /// How often all files were replaced: a database that was created anew may use the same number
    /// again.
    loads: u64,
}

impl Table {
    /// Returns a number that is another one after each change of the file at a path: that of its
    /// last write, or 0 if there is no file. For the [list](PATH_LIST) of all paths, it is how often the
    /// list has changed.
    fn number_at(&self, path: &str) -> i64 {
        if path == PATH_LIST {
            return self.lists;
        }
        match self.files.get(path) {
            Some(row) => row.number,
            None => 0,
        }
    }
}

impl MemoryFiles {
    /// Returns files with these texts, by their paths, for a folder that nobody writes. All of them
    /// come from one write, with the number 1, at no meaningful time.
    pub(crate) fn read_only(texts: BTreeMap<Arc<str>, Arc<str>>) -> MemoryFiles {
        let number = 1;
        let mut files = BTreeMap::new();
        for (path, text) in texts {
            let row = MemoryFile {
                text,
                number,
                at: SystemTime::UNIX_EPOCH,
            };
            files.insert(path, row);
        }
        let rows = MemoryFiles::default();
        rows.replace(files, number);
        rows
    }

    /// Returns the file at a path.
    pub(crate) fn get(&self, path: &str) -> Option<MemoryFile> {
        lock(&self.0).files.get(path).cloned()
    }

    /// Returns whether there is a file at a path.
    pub(crate) fn contains(&self, path: &str) -> bool {
        lock(&self.0).files.contains_key(path)
    }

    /// Returns the state of the file at a path, or of the [list](PATH_LIST) of all paths. It is another
    /// one after each change.
    pub(crate) fn state(&self, path: &str) -> MemoryFileState {
        let table = lock(&self.0);
        MemoryFileState {
            number: table.number_at(path),
            loads: table.loads,
        }
    }

    /// Returns the paths of all files, sorted.
    pub(crate) fn paths(&self) -> Vec<Arc<str>> {
        lock(&self.0).files.keys().cloned().collect()
    }

    /// Returns the number of the last write.
    pub(crate) fn last_write_number(&self) -> i64 {
        lock(&self.0).number
    }

    /// Replaces all files. `number` is the number of the last write that they contain.
    pub(crate) fn replace(&self, files: BTreeMap<Arc<str>, MemoryFile>, number: i64) {
        let mut table = lock(&self.0);
        let old_files = std::mem::replace(&mut table.files, files);
        table.number = number;
        table.lists += 1;
        table.loads += 1;
        drop(table); // no reader waits until the old files are freed
        drop(old_files);
    }

    /// Carries out writes, and returns the paths of the files that they have changed.
    ///
    /// A write has the path of the file, the number of the write, and the new file; `None` deletes
    /// the file. The writes are in the order of their numbers. If a number is not greater than that
    /// of the last write, that write was carried out before, and is left out.
    pub(crate) fn apply(&self, writes: Vec<(Arc<str>, i64, Option<MemoryFile>)>) -> Vec<Arc<str>> {
        let mut table = lock(&self.0);
        let mut changed_paths = Vec::new();
        for (path, number, row) in writes {
            if number <= table.number {
                continue;
            }
            table.number = number;
            let count_before = table.files.len();
            match row {
                Some(row) => _ = table.files.insert(Arc::clone(&path), row),
                None => _ = table.files.remove(&path),
            }
            if table.files.len() != count_before {
                table.lists += 1;
            }
            changed_paths.push(path);
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
        let rows = Arc::new(MemoryFiles::default());
        let folder = Folder::in_memory(PathBuf::from("postgres://x"), Arc::clone(&rows));
        let write = |number, path: &str, text: &str| {
            let row = MemoryFile {
                text: text.into(),
                number,
                at: SystemTime::UNIX_EPOCH,
            };
            rows.apply(vec![(path.into(), number, Some(row))]);
        };
        write(1, "_part.md", "One.");
        write(2, "alone.md", "One.");
        write(3, "both.md", "---\ninclude: true\n---\n{{> _part.md}}");
        let shown = || {
            let infos = folder.list().found.into_iter().map(|found| found.info());
            infos
                .map(|info| info.summary.unwrap().description.clone().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(), ["One.", "One."]);
        write(4, "_part.md", "Two.");
        assert_eq!(shown(), ["One.", "Two."]);
        write(5, "alone.md", "Two.");
        assert_eq!(shown(), ["Two.", "Two."]);
    }

    #[test]
    fn a_database_that_was_created_anew_is_not_taken_for_the_old_one() {
        let rows = Arc::new(MemoryFiles::default());
        let folder = Folder::in_memory(PathBuf::from("postgres://x"), Arc::clone(&rows));
        let name = Name::new("a").unwrap();
        for text in ["Old.", "New."] {
            let row = MemoryFile {
                text: text.into(),
                number: 1,
                at: SystemTime::UNIX_EPOCH,
            };
            rows.replace(BTreeMap::from([("a.md".into(), row)]), 1);
            let found = folder.find(&name).unwrap();
            let summary = found.info().summary.unwrap();
            assert_eq!(summary.description.as_deref(), Some(text));
            assert_eq!(found.prompt().unwrap().template_text(), text);
        }
    }
}
