//! `store push` and `store pull`: which files of a folder can be stored, and a transaction that
//! writes them to the store.

use super::transaction::FileChange;
use super::{MAX_FILE, Postgres, check_text, fold_path};
use crate::library::{
    Authorship, FileName, Folder, MemoryFiles, Reach, Root, Source, is_hidden, read_confined,
    read_file,
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

/// The texts of files, by their paths relative to the folder of prompts.
pub(crate) type StoredTexts = BTreeMap<Arc<str>, Arc<str>>;

/// The new texts of files, by path. `None` deletes the file.
pub(crate) type FileEdits = BTreeMap<Arc<str>, Option<Arc<str>>>;

/// The files of a folder that can be stored.
#[derive(Default)]
pub(crate) struct FolderTexts {
    pub(crate) files: StoredTexts,
    /// An error for each file that cannot be stored.
    pub(crate) problems: Vec<Diagnostic>,
}

/// Selects the last author of each path, and when they wrote or deleted it.
const LAST_WRITES: &str = "select distinct on (path) path, coalesce(author, 'somebody') as author, at \
    from history where path = any($1) order by path, seq desc";

/// Checks the path of a file that is pushed or pulled. It must be the name of a prompt with the
/// suffix of a Markdown or test file, which also excludes unsafe paths, such as `../x.md`.
fn check_path(path: &str) -> Result<(), Diagnostic> {
    let name = path
        .strip_suffix(TEST_SUFFIX)
        .or_else(|| strip_md_suffix(path));
    let Some(name) = name else {
        return Err(Diagnostic::new(
            Kind::Invalid,
            "only Markdown and test files can be stored",
            "use --skip",
        ));
    };
    if let Err(reason) = Name::new(name) {
        let message = format!("no prompt may have the name of this file: {reason}");
        return Err(Diagnostic::new(Kind::BadName, message, "rename it"));
    }
    Ok(())
}

/// Strips the suffix `.md`, in any letter case. Returns `None` if the path has another suffix.
fn strip_md_suffix(path: &str) -> Option<&str> {
    let (name, suffix) = path.rsplit_once('.')?;
    if suffix.eq_ignore_ascii_case("md") {
        Some(name)
    } else {
        None
    }
}

/// Reads the local file that is stored at `path`. Returns `None` if the file doesn't exist.
///
/// # Errors
/// `path` is not a valid path in a store, contains a symlink, or cannot be read.
pub(crate) fn read_local_text(folder: &Path, path: &str) -> Result<Option<Arc<str>>, Diagnostic> {
    match read_without_symlinks(folder, path) {
        Ok(text) => Ok(Some(text.into())),
        Err(error) if error.kind == Kind::NotFound => Ok(None),
        Err(error) => Err(error.in_file(folder.join(path))),
    }
}

/// Reads the file at `folder/path`. Fails if a component of `path` is a symlink.
fn read_without_symlinks(folder: &Path, path: &str) -> Result<String, Diagnostic> {
    check_path(path)?;
    let mut file = folder.to_owned();
    for component in path.split('/') {
        file.push(component);
        if file.is_symlink() {
            let message = "the path contains a symlink, which is not followed";
            return Err(Diagnostic::new(Kind::OutsideFolder, message, "use --skip"));
        }
    }
    decode_utf8_owned(read_file(&file, MAX_FILE)?)
}

/// Reads a local file that is to be stored in the database.
///
/// # Errors
/// Fails if the file can't be read, or if the store doesn't accept its path or its text.
fn read_storable_file(root: &Root, file: &Path, reach: &Reach) -> Result<String, Diagnostic> {
    // First, so that a prompt with an invalid name gets the same message as in any other folder.
    if let FileName::Untypable(invalid_name) = root.name_of(file) {
        return Err(invalid_name);
    }
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

/// Collects the files of a folder that can be stored.
struct Collector<'f> {
    root: Root,
    /// Where symlinks may lead to.
    reach: &'f Reach,
    /// The paths of the collected files, as [`fold_path`] returns them.
    folded_paths: BTreeSet<String>,
    texts: FolderTexts,
}

impl Collector<'_> {
    /// Adds the files in a folder and its subfolders, except hidden ones.
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

    /// Adds a file, or a problem if it cannot be stored.
    fn add_file(&mut self, file: &Path) {
        match read_storable_file(&self.root, file, self.reach) {
            Ok(text) => self.add_text(file, text),
            Err(error) => self.add_problem(file, error),
        }
    }

    /// Adds the text of a file. If its path differs from that of a collected file only in letter
    /// case or accents, adds a problem instead.
    fn add_text(&mut self, file: &Path, text: String) {
        let path = self.root.relative_path(file);
        if self.folded_paths.insert(fold_path(&path)) {
            self.texts.files.insert(path.into(), text.into());
        } else {
            let message = "the path of another file differs only in letter case or accents";
            self.add_problem(
                file,
                Diagnostic::new(Kind::NameCollision, message, "rename it"),
            );
        }
    }

    /// Records why a file cannot be stored.
    fn add_problem(&mut self, file: &Path, problem: Diagnostic) {
        self.texts.problems.push(problem.in_file(file));
    }

    /// Removes the prompts that have errors, and adds a problem for each.
    fn remove_broken_prompts(&mut self) {
        let folder = self.texts.to_memory_folder(&self.root.path);
        for found in folder.list().found {
            let mut problems = found.check().into_iter();
            let Some(error) = problems.find(|problem| problem.severity() == Severity::Error) else {
                continue; // warnings don't prevent a push
            };
            if let Some(file) = found.location().file {
                self.texts.files.remove(&*self.root.relative_path(&file));
            }
            self.texts.problems.push(error);
        }
    }
}

/// Converts an error of listing a folder. Leaves out its path, which may contain a password.
fn walk_error(error: &walkdir::Error) -> Diagnostic {
    let message = match error.io_error() {
        Some(io_error) => io_error.to_string(),
        None => error.to_string(), // a symlink points to one of its parent folders
    };
    Diagnostic::new(Kind::Unreadable, message, "")
}

impl FolderTexts {
    /// Creates an in-memory folder with these files. Messages show its path as `root`.
    fn to_memory_folder(&self, root: &Path) -> Folder {
        let files = MemoryFiles::read_only(self.files.clone());
        Folder::in_memory(root.to_owned(), Arc::new(files))
    }
}

impl Postgres {
    /// Reads the files of a folder that can be stored. Symlinks must stay within `reach`.
    pub(crate) fn read_storable_files(folder: &Path, reach: &Reach) -> FolderTexts {
        // Only the root of this folder is used: it has the rules for paths in a store.
        let empty_folder = Folder::in_memory(folder.to_owned(), Arc::default());
        let mut collector = Collector {
            root: empty_folder.files.root.clone(),
            reach,
            folded_paths: BTreeSet::new(),
            texts: FolderTexts::default(),
        };
        collector.add_folder(folder);
        collector.remove_broken_prompts();
        collector.texts
    }

    /// Returns all files of the store, as last read from the database.
    pub(crate) fn files(&self) -> StoredTexts {
        let memory = &self.shared.files;
        let mut texts = StoredTexts::new();
        for path in memory.paths() {
            if let Some(file) = memory.get(&path) {
                texts.insert(path, file.text);
            }
        }
        texts
    }

    /// Returns who last wrote or deleted each file and when, e.g. `ana at 2026-11-23T10:00:00Z`, by
    /// path.
    pub(crate) fn last_writes(
        &self,
        paths: &[Arc<str>],
    ) -> Result<BTreeMap<String, String>, Diagnostic> {
        let paths: Vec<&str> = paths.iter().map(|path| &**path).collect();
        let mut last_writes = BTreeMap::new();
        for row in self.query(LAST_WRITES, &[(&paths, Type::TEXT_ARRAY)])? {
            let written_at: SystemTime = row.get("at");
            let at = Timestamp::try_from(written_at).unwrap_or_default();
            let author: &str = row.get("author");
            last_writes.insert(row.get("path"), format!("{author} at {at:.0}"));
        }
        Ok(last_writes)
    }

    /// Writes or deletes files in one transaction. `original` has their texts as the caller read
    /// them.
    ///
    /// # Errors
    /// A file has changed since `original` was read, or the database rejects a change. Nothing is
    /// written then.
    pub(crate) fn push(&self, edits: &FileEdits, original: &StoredTexts) -> Result<(), Diagnostic> {
        let paths: Vec<String> = edits.keys().map(|path| path.to_string()).collect();
        self.transact(&paths, &Authorship::default(), |current| {
            for path in &paths {
                let original_text = original.get(path.as_str()).map(|text| &**text);
                let current_text = current.get(path).map(String::as_str);
                if current_text != original_text {
                    return Err(conflict_during_push(path));
                }
            }
            Ok(to_changes(edits))
        })
    }
}

/// Converts edits into changes for a transaction.
fn to_changes(edits: &FileEdits) -> Vec<FileChange> {
    let mut changes = Vec::new();
    for (path, text) in edits {
        changes.push(match text {
            Some(text) => FileChange::write(&**path, &**text),
            None => FileChange::delete(&**path),
        });
    }
    changes
}

/// Returns the error for a stored file that somebody else has just changed.
fn conflict_during_push(path: &str) -> Diagnostic {
    let kind = Kind::Conflict {
        current: None,
        diff: String::new(),
    };
    let message = format!(
        "{} has just been changed; nothing was written",
        in_backticks(path)
    );
    Diagnostic::new(kind, message, "run the command again")
}
