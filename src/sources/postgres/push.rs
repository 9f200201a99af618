//! The files of a folder that a store takes, and how they are written to it in one transaction.

use super::{MAX_FILE, Postgres, check_text, folded};
use crate::library::{
    Authorship, Folder, Reach, Root, Row, Rows, Source, is_hidden, read, read_confined,
};
use crate::prompt::{Diagnostic, Kind, Name, Severity, TEST_SUFFIX, owned_text};
use crate::wording::named;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio_postgres::types::Type;
use walkdir::WalkDir;

/// Texts by their paths below a folder.
pub(crate) type StoredTexts = BTreeMap<Arc<str>, Arc<str>>;

const LAST_WRITES: &str =
    "select distinct on (path) path, coalesce(author, 'somebody'), at from history where path = any($1)
    order by path, seq desc";

/// Checks the path of a file that is written to a store, or from one into a folder: a name, and the
/// suffix of a Markdown or test file.
///
/// # Errors
/// It is another path, such as one with `..`.
fn check_path(path: &str) -> Result<(), Diagnostic> {
    let Some(name) = path.strip_suffix(TEST_SUFFIX).or(without_md(path)) else {
        return Err(Diagnostic::new(
            Kind::Invalid,
            "only Markdown and test files are taken",
            "use --skip",
        ));
    };
    let Err(why) = Name::new(name) else {
        return Ok(());
    };
    let message = format!("no prompt may have the name of this file: {why}");
    Err(Diagnostic::new(Kind::BadName, message, "rename it"))
}

fn without_md(path: &str) -> Option<&str> {
    let (name, suffix) = path.rsplit_once('.')?;
    suffix.eq_ignore_ascii_case("md").then_some(name)
}

/// Returns the text of the file in a folder that has this path in a store; `None` if the file is
/// missing.
///
/// # Errors
/// A store takes no such path, a symlink is in it, or the file cannot be read.
pub(crate) fn text_at(folder: &Path, path: &str) -> Result<Option<Arc<str>>, Diagnostic> {
    match read_without_links(folder, path) {
        Ok(text) => Ok(Some(text.into())),
        Err(why) if why.kind == Kind::Missing => Ok(None),
        Err(why) => Err(why.in_file(folder.join(path))),
    }
}

fn read_without_links(folder: &Path, path: &str) -> Result<String, Diagnostic> {
    check_path(path)?;
    let mut file = folder.to_owned();
    for part in path.split('/') {
        file.push(part);
        if file.is_symlink() {
            let message = "the path has a symlink, which is not followed";
            return Err(Diagnostic::new(Kind::Escapes, message, "use --skip"));
        }
    }
    owned_text(read(&file, MAX_FILE)?)
}

/// Returns the text of a file to write to a store.
///
/// # Errors
/// The store does not take it.
fn read_for_store(root: &Root, file: &Path, reach: &Reach) -> Result<String, Diagnostic> {
    root.name_of(file).transpose()?;
    if file.to_str().is_none() {
        return Err(Diagnostic::new(
            Kind::BadName,
            "its name is not UTF-8",
            "rename it",
        ));
    }
    check_path(&root.below(file))?;
    let text = owned_text(read_confined(file, reach)?)?;
    check_text(&text)?;
    Ok(text)
}

/// Moves the files that would be broken prompts in a store to the problems.
fn remove_broken(folder: &Path, files: &mut StoredTexts, problems: &mut Vec<Diagnostic>) {
    let mut table = BTreeMap::new();
    for (path, text) in &*files {
        let row = Row {
            text: Arc::clone(text),
            number: 1,
            at: SystemTime::UNIX_EPOCH,
            summary: None,
        };
        table.insert(Arc::clone(path), row);
    }
    let rows = Rows::default();
    rows.replace(table, 1);
    let folder = Folder::in_memory(folder.to_owned(), Arc::new(rows));
    for found in folder.list().found {
        let mut checked = found.check().into_iter();
        let Some(error) = checked.find(|problem| problem.severity() == Severity::Error) else {
            continue;
        };
        if let Some(file) = found.place().file {
            files.remove(&*folder.files.root.below(&file));
        }
        problems.push(error);
    }
}

impl Postgres {
    /// Returns the files below a folder that a store takes, and why it does not take the others.
    /// Links lead as far as `reach` says.
    pub(crate) fn files_below(folder: &Path, reach: &Reach) -> (StoredTexts, Vec<Diagnostic>) {
        let mut files = StoredTexts::new();
        let mut problems = Vec::new();
        let mut folded_paths = BTreeSet::new();
        let root = Folder::in_memory(folder.to_owned(), Arc::default())
            .files
            .root
            .clone();
        let mut entries = WalkDir::new(folder)
            .follow_links(true)
            .min_depth(1)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| !is_hidden(entry.path()));
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().unwrap_or(folder).to_owned();
                    // Without the path, which may be an address with a password.
                    let message = match error.io_error() {
                        Some(error) => error.to_string(),
                        None => error.to_string(),
                    };
                    let why = Diagnostic::new(Kind::Unreadable, message, "");
                    problems.push(why.in_file(path));
                    continue;
                }
            };
            if let Err(why) = reach.check(entry.path()) {
                problems.push(why.in_file(entry.path()));
                if entry.file_type().is_dir() {
                    entries.skip_current_dir();
                }
                continue;
            }
            if entry.file_type().is_dir() {
                continue;
            }
            let below = root.below(entry.path());
            match read_for_store(&root, entry.path(), reach) {
                Err(why) => problems.push(why.in_file(entry.path())),
                Ok(_) if !folded_paths.insert(folded(&below)) => {
                    let message = "the path of another file differs only in letter case";
                    let why = Diagnostic::new(Kind::Clash, message, "rename it");
                    problems.push(why.in_file(entry.path()));
                }
                Ok(text) => _ = files.insert(below.into(), text.into()),
            }
        }
        remove_broken(folder, &mut files, &mut problems);
        (files, problems)
    }

    /// All files.
    pub(crate) fn files(&self) -> StoredTexts {
        let rows = &self.shared.rows;
        rows.paths()
            .into_iter()
            .filter_map(|path| rows.get(&path).map(|row| (path, row.text)))
            .collect()
    }

    /// Returns who wrote, or deleted, each of these files last, and when.
    ///
    /// # Errors
    /// The database does not answer.
    pub(crate) fn last_writes(
        &self,
        paths: &[Arc<str>],
    ) -> Result<BTreeMap<String, String>, Diagnostic> {
        let paths: Vec<&str> = paths.iter().map(|path| &**path).collect();
        let mut last_writes = BTreeMap::new();
        for row in self.query(LAST_WRITES, &[(&paths, Type::TEXT_ARRAY)])? {
            let at = Timestamp::try_from(row.get::<_, SystemTime>(2)).unwrap_or_default();
            let author: &str = row.get(1);
            last_writes.insert(row.get(0), format!("{author} at {at:.0}"));
        }
        Ok(last_writes)
    }

    /// Writes files, or deletes them, in one transaction, if each still is as in `seen`.
    ///
    /// # Errors
    /// One is not, and nothing is written; or the database does not take them.
    pub(crate) fn push(
        &self,
        edits: &[(&Arc<str>, Option<&Arc<str>>)],
        seen: &StoredTexts,
    ) -> Result<(), Diagnostic> {
        let paths: Vec<String> = edits.iter().map(|(path, _)| path.to_string()).collect();
        self.transact(&paths, &Authorship::default(), |present| {
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
