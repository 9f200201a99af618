//! The files of a folder that a store takes, and how they are written to it in one transaction.

use super::transaction::FileChange;
use super::{MAX_FILE, Postgres, check_text, folded};
use crate::library::{
    Authorship, Folder, MemoryFiles, Reach, Root, Source, is_hidden, read, read_confined,
};
use crate::prompt::{Diagnostic, Kind, Name, Severity, TEST_SUFFIX, decode_utf8_owned};
use crate::wording::in_backticks;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio_postgres::types::Type;
use walkdir::WalkDir;

/// Texts by their paths below a folder.
pub(crate) type StoredTexts = BTreeMap<Arc<str>, Arc<str>>;

/// New texts of files, by their paths; `None` deletes the file.
pub(crate) type FileEdits = BTreeMap<Arc<str>, Option<Arc<str>>>;

/// The files of a folder that a store takes.
#[derive(Default)]
pub(crate) struct FolderTexts {
    pub(crate) files: StoredTexts,
    /// Why it does not take the others.
    pub(crate) problems: Vec<Diagnostic>,
}

const LAST_WRITES: &str = "select distinct on (path) path, coalesce(author, 'somebody'), at \
    from history where path = any($1) order by path, seq desc";

/// Checks the path of a file that is copied into a store or out of one: the name of a prompt with
/// the suffix of a Markdown file or a test file.
///
/// # Errors
/// It is another path, such as one with `..`.
fn check_path(path: &str) -> Result<(), Diagnostic> {
    let name = path.strip_suffix(TEST_SUFFIX).or_else(|| without_md(path));
    let Some(name) = name else {
        return Err(Diagnostic::new(
            Kind::Invalid,
            "only Markdown and test files are taken",
            "use --skip",
        ));
    };
    if let Err(reason) = Name::new(name) {
        let message = format!("no prompt may have the name of this file: {reason}");
        return Err(Diagnostic::new(Kind::BadName, message, "rename it"));
    }
    Ok(())
}

/// Returns a path without its suffix `.md`, in any letter case; `None` if it has another suffix.
fn without_md(path: &str) -> Option<&str> {
    let (name, suffix) = path.rsplit_once('.')?;
    if suffix.eq_ignore_ascii_case("md") {
        Some(name)
    } else {
        None
    }
}

/// Returns the text of the file in a folder that has this path in a store; `None` if the file is
/// missing.
///
/// # Errors
/// A store takes no such path, a symlink is in it, or the file cannot be read.
pub(crate) fn text_at(folder: &Path, path: &str) -> Result<Option<Arc<str>>, Diagnostic> {
    match read_without_links(folder, path) {
        Ok(text) => Ok(Some(text.into())),
        Err(error) if error.kind == Kind::NotFound => Ok(None),
        Err(error) => Err(error.in_file(folder.join(path))),
    }
}

/// Reads a file of a folder, unless its path has a symlink below the folder.
fn read_without_links(folder: &Path, path: &str) -> Result<String, Diagnostic> {
    check_path(path)?;
    let mut file = folder.to_owned();
    for part in path.split('/') {
        file.push(part);
        if file.is_symlink() {
            let message = "the path has a symlink, which is not followed";
            return Err(Diagnostic::new(Kind::OutsideFolder, message, "use --skip"));
        }
    }
    decode_utf8_owned(read(&file, MAX_FILE)?)
}

/// Returns the text of a file that is to be copied into a store.
///
/// # Errors
/// The store does not accept the file.
fn read_for_store(root: &Root, file: &Path, reach: &Reach) -> Result<String, Diagnostic> {
    root.name_of(file).transpose()?;
    if file.to_str().is_none() {
        return Err(Diagnostic::new(
            Kind::BadName,
            "its name is not UTF-8",
            "rename it",
        ));
    }
    check_path(&root.relative_path(file))?;
    let text = decode_utf8_owned(read_confined(file, reach)?)?;
    check_text(&text)?;
    Ok(text)
}

/// Collects the files of a folder that a store takes.
struct Collector<'f> {
    root: Root,
    /// How far links may lead.
    reach: &'f Reach,
    /// The paths of the files so far, folded.
    folded_paths: BTreeSet<String>,
    texts: FolderTexts,
}

impl Collector<'_> {
    /// Adds the files below a folder.
    fn add_folder(&mut self, folder: &Path) {
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
                    self.add_problem(error.path().unwrap_or(folder), walk_error(&error));
                    continue;
                }
            };
            let is_folder = entry.file_type().is_dir();
            if let Err(error) = self.reach.check(entry.path()) {
                self.add_problem(entry.path(), error);
                if is_folder {
                    entries.skip_current_dir();
                }
            } else if !is_folder {
                self.add_file(entry.path());
            }
        }
    }

    /// Adds a file, or the reason why a store does not take it.
    fn add_file(&mut self, file: &Path) {
        match read_for_store(&self.root, file, self.reach) {
            Ok(text) => self.add_text(file, text),
            Err(error) => self.add_problem(file, error),
        }
    }

    /// Adds the text of a file, unless its path differs only in letter case or accents from that of
    /// another file.
    fn add_text(&mut self, file: &Path, text: String) {
        let path = self.root.relative_path(file);
        if self.folded_paths.insert(folded(&path)) {
            self.texts.files.insert(path.into(), text.into());
        } else {
            let message = "the path of another file differs only in letter case";
            self.add_problem(
                file,
                Diagnostic::new(Kind::NameCollision, message, "rename it"),
            );
        }
    }

    /// Adds the reason why a store does not take a file.
    fn add_problem(&mut self, file: &Path, problem: Diagnostic) {
        self.texts.problems.push(problem.in_file(file));
    }

    /// Removes files that would be broken prompts in a store, and adds a problem for each.
    fn remove_broken(&mut self) {
        let folder = self.texts.as_folder(&self.root.path);
        for found in folder.list().found {
            let mut problems = found.check().into_iter();
            let Some(error) = problems.find(|problem| problem.severity() == Severity::Error) else {
                continue;
            };
            if let Some(file) = found.location().file {
                self.texts.files.remove(&*self.root.relative_path(&file));
            }
            self.texts.problems.push(error);
        }
    }
}

/// Returns the problem of a file or folder that cannot be found, without its path, which may be an
/// address with a password.
fn walk_error(error: &walkdir::Error) -> Diagnostic {
    let message = match error.io_error() {
        Some(io_error) => io_error.to_string(),
        None => error.to_string(), // a circle of symlinks
    };
    Diagnostic::new(Kind::Unreadable, message, "")
}

impl FolderTexts {
    /// Returns the files as a folder in memory, which has the path `root` in messages.
    fn as_folder(&self, root: &Path) -> Folder {
        let rows = MemoryFiles::read_only(self.files.clone());
        Folder::in_memory(root.to_owned(), Arc::new(rows))
    }
}

impl Postgres {
    /// Returns the files below a folder that can be copied into a store. Symlinks are followed only
    /// as far as `reach` allows.
    pub(crate) fn files_below(folder: &Path, reach: &Reach) -> FolderTexts {
        // The paths are checked with the rules of a store in memory.
        let empty_folder = Folder::in_memory(folder.to_owned(), Arc::default());
        let mut collector = Collector {
            root: empty_folder.files.root.clone(),
            reach,
            folded_paths: BTreeSet::new(),
            texts: FolderTexts::default(),
        };
        collector.add_folder(folder);
        collector.remove_broken();
        collector.texts
    }

    /// Returns all files of the store.
    pub(crate) fn files(&self) -> StoredTexts {
        let rows = &self.shared.rows;
        let mut files = StoredTexts::new();
        for path in rows.paths() {
            if let Some(row) = rows.get(&path) {
                files.insert(path, row.text);
            }
        }
        files
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

    /// Writes or deletes files in one transaction, if none of them has changed since `seen` was
    /// read.
    ///
    /// # Errors
    /// A file has changed, and nothing is written; or the database refuses the changes.
    pub(crate) fn push(&self, edits: &FileEdits, seen: &StoredTexts) -> Result<(), Diagnostic> {
        let paths: Vec<String> = edits.keys().map(|path| path.to_string()).collect();
        self.transact(&paths, &Authorship::default(), |present| {
            for path in &paths {
                let seen_text = seen.get(path.as_str()).map(|text| &**text);
                if present.get(path).map(String::as_str) != seen_text {
                    return Err(changed_meanwhile(path));
                }
            }
            Ok(changes_of(edits))
        })
    }
}

/// Returns a change for each edit.
fn changes_of(edits: &FileEdits) -> Vec<FileChange> {
    let mut changes = Vec::new();
    for (path, text) in edits {
        changes.push(match text {
            Some(text) => FileChange::write(&**path, &**text),
            None => FileChange::delete(&**path),
        });
    }
    changes
}

/// Returns the error for a file in a store that somebody has changed since it was read.
fn changed_meanwhile(path: &str) -> Diagnostic {
    let kind = Kind::Conflict {
        current: None,
        diff: String::new(),
    };
    let message = format!(
        "{} has just been changed; nothing is written",
        in_backticks(path)
    );
    Diagnostic::new(kind, message, "run the command again")
}
