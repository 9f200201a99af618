//! Files of a folder that is in a database, or at a server: their texts, in memory, by their paths
//! below the folder.

#![cfg_attr(not(feature = "store"), allow(dead_code))] // nothing else fills it

use crate::lock::lock;
use crate::prompt::Summary;
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
    /// What lists show of it, as JSON, which takes a fifth of the memory; once it was asked for,
    /// and if no other file changes it.
    pub(crate) summary: Option<Arc<str>>,
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

    /// Keeps the summary of a file that has this text.
    pub(crate) fn keep(&self, path: &str, text: &Arc<str>, summary: &Summary) {
        let summary = serde_json::to_string(summary).ok().map(Into::into);
        if let Some(row) = lock(&self.0)
            .files
            .get_mut(path)
            .filter(|row| Arc::ptr_eq(&row.text, text))
        {
            row.summary = summary;
        }
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
    fn a_list_shows_what_the_rows_are_now_and_keeps_what_one_row_alone_decides() {
        let rows = Arc::new(Rows::default());
        let folder = Folder::in_memory(PathBuf::from("postgres://x"), Arc::clone(&rows));
        let write = |number, path: &str, text: &str| {
            let row = Row {
                text: text.into(),
                number,
                at: SystemTime::UNIX_EPOCH,
                summary: None,
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
        let kept = |path| rows.get(path).unwrap().summary.is_some();
        for round in 0..2 {
            assert_eq!(
                (shown(), kept("alone.md"), kept("both.md")),
                (vec!["One.".to_owned(); 2], true, false),
                "{round}"
            );
        }
        write(4, "_part.md", "Two.");
        assert_eq!(shown(), ["One.", "Two."]);
        write(5, "alone.md", "Two.");
        assert_eq!(shown(), ["Two.", "Two."]);
    }
}
