//! The files of a folder that a store takes, and how they are written to it in one transaction.

use super::{MAX_FILE, Postgres, check_text, folded};
use crate::library::folder::Folder;
use crate::library::golden_files::is_test_file;
use crate::library::read::read;
use crate::library::root::is_hidden;
use crate::library::rows::{Row, Rows};
use crate::library::source::{By, Source};
use crate::prompt::{Diagnostic, Kind, Severity, owned_text};
use crate::wording::named;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use walkdir::WalkDir;

/// Texts by their paths below a folder.
pub(crate) type Files = BTreeMap<Arc<str>, Arc<str>>;

impl Postgres {
    /// The files below a folder that a store takes, and why it does not take the others.
    pub(crate) fn files_below(folder: &Path) -> (Files, Vec<Diagnostic>) {
        let (mut files, mut problems, mut seen) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        let in_memory = |rows| Folder::in_memory(folder.to_owned(), rows);
        let root = in_memory(Arc::default()).files.root.clone();
        let entries = WalkDir::new(folder)
            .follow_links(true)
            .min_depth(1)
            .sort_by_file_name()
            .into_iter();
        let entries = entries.filter_entry(|entry| !is_hidden(entry.path()));
        for entry in
            entries.filter(|entry| !entry.as_ref().is_ok_and(|entry| entry.file_type().is_dir()))
        {
            let path = entry
                .as_ref()
                .map_or_else(|error| error.path().unwrap_or(folder), |entry| entry.path());
            let mut take = || {
                entry
                    .as_ref()
                    .map_err(|error| Diagnostic::new(Kind::Unreadable, error.to_string(), ""))?;
                root.name_of(path).transpose()?;
                if !(root.is_includable(path) || is_test_file(path)) || path.to_str().is_none() {
                    return Err(Diagnostic::new(
                        Kind::Invalid,
                        "only Markdown and test files are taken",
                        "use --skip",
                    ));
                }
                let text = owned_text(read(path, MAX_FILE, |_| Ok(()))?)?;
                check_text(&text)?;
                let below = root.below(path);
                match seen.insert(folded(&below)) {
                    true => Ok((below, text)),
                    false => Err(Diagnostic::new(
                        Kind::Clash,
                        "another file differs only in letter case",
                        "rename it",
                    )),
                }
            };
            match take() {
                Ok((below, text)) => _ = files.insert(below.into(), text.into()),
                Err(why) => problems.push(why.in_file(path)),
            }
        }
        // As they would be in the store.
        let row = |text: &Arc<str>| Row {
            text: Arc::clone(text),
            number: 1,
            at: SystemTime::UNIX_EPOCH,
            summary: None,
        };
        let rows = Rows::default();
        rows.replace(
            files
                .iter()
                .map(|(path, text)| (Arc::clone(path), row(text)))
                .collect(),
            1,
        );
        for found in in_memory(Arc::new(rows)).list().found {
            if let Some(error) = found
                .check()
                .into_iter()
                .find(|problem| problem.severity() == Severity::Error)
            {
                found
                    .place()
                    .file
                    .iter()
                    .for_each(|file| _ = files.remove(&*root.below(file)));
                problems.push(error);
            }
        }
        (files, problems)
    }

    /// All files.
    pub(crate) fn files(&self) -> Files {
        let rows = &self.shared.rows;
        rows.paths()
            .into_iter()
            .filter_map(|path| rows.get(&path).map(|row| (path, row.text)))
            .collect()
    }

    /// Writes files, or deletes them, in one transaction, if each still is as in `seen`.
    ///
    /// # Errors
    /// One is not, and nothing is written; or the database does not take them.
    pub(crate) fn push(
        &self,
        edits: &[(&Arc<str>, Option<&Arc<str>>)],
        seen: &Files,
    ) -> Result<(), Diagnostic> {
        let paths: Vec<String> = edits.iter().map(|(path, _)| path.to_string()).collect();
        self.transact(&paths, &By::default(), |present| {
            let is_seen = |path: &str| {
                present.get(path).map(String::as_str) == seen.get(path).map(|text| &**text)
            };
            let Some(path) = paths.iter().find(|path| !is_seen(path)) else {
                let edits = edits.iter().map(|(path, text)| {
                    (path.to_string(), text.map(|text| text.to_string()), None)
                });
                return Ok(edits.collect());
            };
            let kind = Kind::Conflict {
                current: None,
                diff: String::new(),
            };
            let message = format!("{} has just been changed; nothing is written", named(path));
            Err(Diagnostic::new(kind, message, "run the command again"))
        })
    }
}
