//! Files of a folder that is in a database, or at a server: their texts, in memory, by their paths
//! below the folder.

#![cfg_attr(not(feature = "store"), allow(dead_code))] // nothing else fills it

use crate::lock::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The path that stands for the list of all paths.
pub(crate) const LIST: &str = "";

/// A file.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) text: Arc<str>,
    /// The number of the write that made it: a later one has a greater number.
    pub(crate) number: i64,
    /// When that was.
    pub(crate) at: SystemTime,
}

/// All files. Each read sees all of a write, or nothing of it.
#[derive(Debug, Default)]
pub(crate) struct Rows(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: BTreeMap<Arc<str>, Row>,
    /// The number of the last write.
    number: i64,
    /// How often a path was added or removed.
    lists: i64,
}

impl Rows {
    pub(crate) fn get(&self, path: &str) -> Option<Row> {
        lock(&self.0).files.get(path).cloned()
    }

    /// The number of what is at a path now; 0 if nothing is there. Of the [list](LIST) of paths,
    /// how often it has changed.
    pub(crate) fn number(&self, path: &str) -> i64 {
        let table = lock(&self.0);
        if path == LIST {
            table.lists
        } else {
            table.files.get(path).map_or(0, |row| row.number)
        }
    }

    /// Sorted.
    pub(crate) fn paths(&self) -> Vec<Arc<str>> {
        lock(&self.0).files.keys().cloned().collect()
    }

    /// The number of the last write.
    pub(crate) fn last(&self) -> i64 {
        lock(&self.0).number
    }

    /// Replaces everything.
    pub(crate) fn replace(&self, files: BTreeMap<Arc<str>, Row>, number: i64) {
        let mut table = lock(&self.0);
        let lists = table.lists + 1;
        let old = std::mem::replace(
            &mut *table,
            Table {
                files,
                number,
                lists,
            },
        );
        drop(table); // no reader waits until it is freed
        drop(old);
    }

    /// Carries out writes in the order of their numbers, without those that it has: each has a
    /// number, a path and the file, or `None` if it was deleted. Returns the paths.
    pub(crate) fn apply(&self, writes: Vec<(Arc<str>, i64, Option<Row>)>) -> Vec<Arc<str>> {
        let mut table = lock(&self.0);
        let mut changed = Vec::new();
        for (path, number, row) in writes {
            if number <= table.number {
                continue;
            }
            table.number = number;
            let is_there = row.is_some();
            let was_there = match row {
                Some(row) => table.files.insert(Arc::clone(&path), row).is_some(),
                None => table.files.remove(&path).is_some(),
            };
            table.lists += i64::from(is_there != was_there);
            changed.push(path);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::disk::folder::Folder;
    use crate::library::source::Source;
    use std::path::PathBuf;

    #[test]
    fn a_list_shows_what_the_rows_are_now() {
        let rows = Arc::new(Rows::default());
        let folder = Folder::in_memory(PathBuf::from("postgres://x"), Arc::clone(&rows));
        let write = |number, path: &str, text: &str| {
            let row = Row {
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
}
