//! Which repositories the user trusts, and which of their texts the user was shown.
//!
//! `trust` writes the root of a repository into the settings file. In the data folder it keeps, for
//! each root, the texts that it showed and a list of their hashes and paths. The prompts of a
//! trusted root are all served, and what has changed since is counted. A linked worktree of it has
//! the files of another branch: of these, the texts that were shown are served.

use super::shown::{SHOWN, ShownRecords, ShownTexts, shown_line};
use crate::library::{Cache, MIN_STAMP_AGE, ProjectText, REPOSITORY, file_error, read_regular};
use crate::prompt::{Diagnostic, sha256};
use crate::whole_file::{FileAccess, PendingFile};
use crate::wording::is_hex;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file with the changes that a terminal was last told of.
const NOTED: &str = "noted";

/// How many texts are remembered that `trust` showed, and that the repository no longer had when it
/// last showed its texts. Worktrees may have them.
const MAX_EARLIER: usize = 10_000;

/// The longest file of git that is read, in bytes.
const MAX_GIT_FILE: usize = 64 * 1024;

/// Which repositories the user trusts, as a file of theirs says.
#[derive(Debug)]
pub struct Trust {
    /// The path of the settings file.
    settings: PathBuf,
    /// Reads the roots of the trusted repositories from the settings file.
    read_roots: fn(&Path) -> Vec<String>,
    roots: Cache<Arc<[PathBuf]>>,
    pub(super) records: Arc<ShownRecords>,
}

/// What the user trusts of a folder that has prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trusted {
    Nothing,
    /// The texts that were shown of the repository with this root.
    ShownOf(PathBuf),
    Everything,
}

impl ProjectText {
    /// Returns whether the text was shown with its path.
    pub(crate) fn is_in(&self, shown: &ShownTexts) -> bool {
        shown.has(&self.line())
    }

    /// Returns the line of the text in the list of what was shown.
    fn line(&self) -> String {
        shown_line(&self.bytes, &self.path)
    }
}

impl Trust {
    /// Returns the trust of the user. `read_roots` reads the roots of the trusted repositories from
    /// the file `settings`. Records of the texts that the user was shown are kept in `data`, if
    /// there is such a folder.
    pub(crate) fn new(
        settings: PathBuf,
        read_roots: fn(&Path) -> Vec<String>,
        data: Option<PathBuf>,
    ) -> Arc<Trust> {
        Arc::new(Trust {
            settings,
            read_roots,
            roots: Cache::new(1, MIN_STAMP_AGE),
            records: Arc::new(ShownRecords::new(data.map(|data| data.join("trusted")))),
        })
    }

    /// Returns the roots of the trusted repositories. Each message asks for them.
    pub(super) fn roots(&self) -> Arc<[PathBuf]> {
        self.roots.get("", |trace| {
            trace.record(&self.settings);
            let roots = (self.read_roots)(&self.settings);
            roots.into_iter().map(PathBuf::from).collect()
        })
    }

    /// Returns what the user trusts of a folder, which is the root of a repository or below one.
    pub(super) fn of(&self, folder: &Path) -> Trusted {
        let roots = self.roots();
        if roots.iter().any(|root| root == folder) {
            return Trusted::Everything;
        }
        match main_repository(folder) {
            Some(main) if roots.contains(&main) => Trusted::ShownOf(main),
            _ => Trusted::Nothing,
        }
    }

    /// Returns what was shown of the repository with this root.
    pub(crate) fn shown_texts(&self, root: &Path) -> Arc<ShownTexts> {
        self.records.of(root)
    }

    /// Returns the text that was last shown with this path.
    pub(crate) fn last_shown_text(&self, root: &Path, path: &str) -> Option<String> {
        let shown = self.shown_texts(root);
        let copy = self.records.record(root)?.join(shown.last.get(path)?);
        fs::read_to_string(copy).ok()
    }

    /// Records texts that the user was shown and has accepted.
    ///
    /// The list keeps the newest [`MAX_EARLIER`] of the texts that were shown earlier. Of each
    /// path, only the text that was shown last is kept in full.
    ///
    /// # Errors
    /// The records cannot be written.
    pub(crate) fn record_shown(
        &self,
        root: &Path,
        texts: &[ProjectText],
    ) -> Result<(), Diagnostic> {
        let Some(record) = self.records.record(root) else {
            return Ok(());
        };
        let list = record.join(SHOWN);
        let old_lines = fs::read_to_string(&list).unwrap_or_default();
        for text in texts {
            let copy = record.join(sha256(&text.bytes));
            if !copy.exists() {
                write(&copy, &text.bytes)?;
            }
        }
        let lines = shown_lines(&old_lines, texts);
        write(&list, lines.as_bytes())?;
        remove_old_copies(&record, &ShownTexts::parse(&lines));
        Ok(())
    }

    /// Forgets what was shown of a repository.
    pub(crate) fn forget(&self, root: &Path) {
        if let Some(record) = self.records.record(root) {
            _ = fs::remove_dir_all(record);
        }
    }

    /// Records that a terminal is told about these changed texts. Returns `false` if it was told
    /// before.
    pub(crate) fn record_announcement(&self, root: &Path, changed: &[ProjectText]) -> bool {
        let Some(record) = self.records.record(root) else {
            return false;
        };
        let lines: Vec<String> = changed.iter().map(ProjectText::line).collect();
        let hash = sha256(lines.join("\n").as_bytes());
        let noted = record.join(NOTED);
        if fs::read_to_string(&noted).is_ok_and(|known| known == hash) {
            return false;
        }
        write(&noted, hash.as_bytes()).is_ok()
    }
}

/// Returns the list of shown texts with these texts added: the newest earlier lines that they do
/// not repeat, and then the new ones.
fn shown_lines(old_lines: &str, texts: &[ProjectText]) -> String {
    let new_lines: Vec<String> = texts.iter().map(ProjectText::line).collect();
    let known: HashSet<&str> = new_lines.iter().map(String::as_str).collect();
    let mut earlier: Vec<&str> = old_lines.lines().collect();
    earlier.retain(|line| !known.contains(line));
    let forgotten = earlier.len().saturating_sub(MAX_EARLIER);
    let mut list = String::new();
    for line in &earlier[forgotten..] {
        list += &format!("{line}\n");
    }
    for line in &new_lines {
        list += &format!("{line}\n");
    }
    list
}

/// Deletes outdated copies of texts that were shown, and keeps the latest copy for each path.
fn remove_old_copies(record: &Path, shown: &ShownTexts) {
    let last: HashSet<&str> = shown.last.values().map(String::as_str).collect();
    for entry in fs::read_dir(record).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        if is_hex(name, 64) && !last.contains(name) {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Replaces a file that only the user can read.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    PendingFile::write(path, bytes, FileAccess::Private)
        .and_then(PendingFile::replace)
        .map_err(|error| file_error(path, &error))
}

/// Returns the root of the repository that a linked worktree belongs to.
///
/// The file `.git` of the worktree names the folder `.git/worktrees/NAME` of that repository, whose
/// file `gitdir` names the worktree (gitrepository-layout(5)). Both must agree, because a clone can
/// contain a false `.git`, but cannot change the other repository.
pub(crate) fn main_repository(worktree: &Path) -> Option<PathBuf> {
    let link = worktree.join(REPOSITORY);
    let link_text = read_git_file(&link)?;
    let administration = worktree.join(link_text.strip_prefix("gitdir: ")?);
    let administration = fs::canonicalize(administration).ok()?;
    let way_back = administration.join(read_git_file(&administration.join("gitdir"))?);
    if fs::canonicalize(way_back).ok()? != fs::canonicalize(link).ok()? {
        return None;
    }
    let worktrees = administration.parent()?;
    let repository = worktrees.parent()?;
    if worktrees.ends_with("worktrees") && repository.ends_with(REPOSITORY) {
        repository.parent().map(Path::to_owned)
    } else {
        None
    }
}

/// Reads a file of git that has a single line.
fn read_git_file(path: &Path) -> Option<String> {
    let bytes = read_regular(path, MAX_GIT_FILE).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: &str) -> ProjectText {
        ProjectText {
            path: path.to_owned(),
            bytes: text.into(),
            prompt: None,
        }
    }

    #[test]
    fn texts_that_were_shown_are_remembered_but_not_without_end() {
        let data = tempfile::tempdir().unwrap();
        let root = Path::new("/repository");
        let trust = Trust::new(PathBuf::new(), |_| Vec::new(), Some(data.path().to_owned()));
        let record = trust.records.record(root).unwrap();
        let earlier = "0 x.md\n".to_owned() + &"1 x.md\n".repeat(MAX_EARLIER - 1);
        write(&record.join(SHOWN), earlier.as_bytes()).unwrap();
        for last in ["One", "Two", "One"] {
            let texts = [text("a.md", last), text("b.md", "B")];
            trust.record_shown(root, &texts).unwrap();
            assert_eq!(trust.last_shown_text(root, "a.md").as_deref(), Some(last));
        }
        let list = fs::read_to_string(record.join(SHOWN)).unwrap();
        // The first line has made room for "Two", which a worktree may have.
        assert_eq!(list.lines().count(), MAX_EARLIER + 2);
        let shown = trust.shown_texts(root);
        assert!(!shown.has("0 x.md") && text("a.md", "Two").is_in(&shown));
        // The list, and a copy of each text.
        assert_eq!(fs::read_dir(&record).unwrap().count(), 3);
    }
}
