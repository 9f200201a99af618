//! The repositories that the user trusts.
//!
//! The command `trust` shows the texts of a repository to the user, and then adds its root to the
//! settings file. In the data folder, it records which texts the user was shown. All prompts of a
//! trusted repository are served, and the user is told how many have changed since. A linked
//! worktree of it has the files of another branch, of which only texts that the user was shown are
//! served.

use super::shown::{SHOWN_LIST, ShownRecords, ShownTexts, list_line};
use crate::library::{
    Cache, MIN_STAMP_AGE, ONLY_KEY, ProjectText, REPOSITORY, file_error, read_regular,
};
use crate::prompt::{Diagnostic, sha256};
use crate::whole_file::{self, FileAccess};
use crate::wording::is_hex;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file with the hash of the changes that were last announced in a terminal.
const ANNOUNCED: &str = "noted";

/// The maximum number of lines kept for texts that the user was shown earlier, and that are no
/// longer in the repository. A worktree may still have them.
const MAX_EARLIER_LINES: usize = 10_000;

/// The maximum size of a file of git that is read, in bytes.
const MAX_GIT_FILE: usize = 64 * 1024;

/// The repositories that the user trusts, as listed in the settings file.
#[derive(Debug)]
pub struct Trust {
    /// The path of the settings file.
    settings: PathBuf,
    /// Reads the roots of the trusted repositories from the settings file.
    read_roots: fn(&Path) -> Vec<String>,
    roots: Cache<Arc<[PathBuf]>>,
    pub(super) records: Arc<ShownRecords>,
}

/// Which prompts of a folder the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TrustLevel {
    Nothing,
    /// Only texts that the user was shown, because the folder is a linked worktree of this trusted
    /// repository.
    ShownTexts {
        repository: PathBuf,
    },
    Everything,
}

impl ProjectText {
    /// Returns whether the user was shown this text at this path.
    pub(crate) fn is_in(&self, shown: &ShownTexts) -> bool {
        shown.contains(&self.list_line())
    }

    /// Returns the line for this text in the list of shown texts.
    fn list_line(&self) -> String {
        list_line(&self.bytes, &self.path)
    }
}

impl Trust {
    /// Creates the trust settings. `read_roots` parses the roots of the trusted repositories from
    /// the `settings` file. The texts that the user was shown are recorded in the `data` folder;
    /// if it is `None`, nothing is recorded.
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

    /// Returns the roots of the trusted repositories. They are cached until the settings file
    /// changes, because every message needs them.
    pub(super) fn roots(&self) -> Arc<[PathBuf]> {
        self.roots.get(ONLY_KEY, |trace| {
            trace.record(&self.settings);
            let roots = (self.read_roots)(&self.settings);
            roots.into_iter().map(PathBuf::from).collect()
        })
    }

    /// Returns how far the user trusts the prompts in a folder. Only the root of a trusted
    /// repository, or of a linked worktree, is trusted, and not its subfolders.
    pub(super) fn level(&self, folder: &Path) -> TrustLevel {
        let roots = self.roots();
        if roots.iter().any(|root| root == folder) {
            return TrustLevel::Everything;
        }
        match main_repository(folder) {
            Some(repository) if roots.contains(&repository) => {
                TrustLevel::ShownTexts { repository }
            }
            _ => TrustLevel::Nothing,
        }
    }

    /// Returns the texts of the repository at `root` that the user was shown.
    pub(crate) fn shown_texts(&self, root: &Path) -> Arc<ShownTexts> {
        self.records.shown_texts(root)
    }

    /// Returns the text that the user was last shown at a path of the repository at `root`.
    pub(crate) fn last_shown_text(&self, root: &Path, path: &str) -> Option<String> {
        let shown = self.shown_texts(root);
        let hash = shown.last_hashes.get(path)?;
        let copy = self.records.folder_for(root)?.join(hash);
        fs::read_to_string(copy).ok()
    }

    /// Records texts that the user was shown and has accepted.
    ///
    /// For each path, only the latest text is stored as a copy. Of earlier texts, just the newest
    /// [`MAX_EARLIER_LINES`] hashes are kept.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub(crate) fn record_shown(
        &self,
        root: &Path,
        texts: &[ProjectText],
    ) -> Result<(), Diagnostic> {
        let Some(record) = self.records.folder_for(root) else {
            return Ok(());
        };
        let list = record.join(SHOWN_LIST);
        let old_lines = fs::read_to_string(&list).unwrap_or_default();
        // The copies come first, so that each new line in the list has one.
        for text in texts {
            let copy = record.join(sha256(&text.bytes));
            if !copy.exists() {
                write_private(&copy, &text.bytes)?;
            }
        }
        let lines = updated_list(&old_lines, texts);
        write_private(&list, lines.as_bytes())?;
        // After the list is replaced, because the old list still names these copies.
        remove_outdated_copies(&record, &ShownTexts::parse(&lines));
        Ok(())
    }

    /// Deletes the record of the texts that the user was shown of the repository at `root`.
    pub(crate) fn forget(&self, root: &Path) {
        if let Some(record) = self.records.folder_for(root) {
            _ = fs::remove_dir_all(record);
        }
    }

    /// Records that a terminal is told about these changed texts. Returns `false` if it was already
    /// told, or if that cannot be recorded: otherwise, every command would repeat it.
    pub(crate) fn record_announcement(&self, root: &Path, changed: &[ProjectText]) -> bool {
        let Some(record) = self.records.folder_for(root) else {
            return false;
        };
        let lines: Vec<String> = changed.iter().map(ProjectText::list_line).collect();
        let hash = sha256(lines.join("\n").as_bytes());
        let path = record.join(ANNOUNCED);
        if fs::read_to_string(&path).is_ok_and(|announced_hash| announced_hash == hash) {
            return false;
        }
        write_private(&path, hash.as_bytes()).is_ok()
    }
}

/// Returns the contents of the list of shown texts after adding `texts`: the newest of the old
/// lines, without those that are added again, and then the new ones.
fn updated_list(old_lines: &str, texts: &[ProjectText]) -> String {
    let new_lines: Vec<String> = texts.iter().map(ProjectText::list_line).collect();
    let new_set: HashSet<&str> = new_lines.iter().map(String::as_str).collect();
    let mut earlier_lines: Vec<&str> = old_lines.lines().collect();
    earlier_lines.retain(|line| !new_set.contains(line));
    let dropped_count = earlier_lines.len().saturating_sub(MAX_EARLIER_LINES);
    let mut list = String::new();
    for line in &earlier_lines[dropped_count..] {
        list += &format!("{line}\n");
    }
    for line in &new_lines {
        list += &format!("{line}\n");
    }
    list
}

/// Deletes the copies of texts that are no longer the last shown text of any path.
fn remove_outdated_copies(record: &Path, shown: &ShownTexts) {
    let current: HashSet<&str> = shown.last_hashes.values().map(String::as_str).collect();
    for entry in whole_file::entries_of(record) {
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else {
            continue;
        };
        // A copy is named by the SHA-256 of its text.
        if is_hex(file_name, 64) && !current.contains(file_name) {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Creates or replaces a file that only the user can read.
fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    whole_file::write(path, bytes, FileAccess::Private).map_err(|error| file_error(path, &error))
}

/// Returns the root of the repository that a linked worktree belongs to, or `None` if the folder
/// isn't a linked worktree.
///
/// The worktree's file `.git` contains the path of a folder `REPOSITORY/.git/worktrees/NAME`, and
/// the file `gitdir` in that folder points back to the worktree (see gitrepository-layout(5)). Both
/// are checked: a malicious clone may contain a forged `.git` file, but cannot change the other
/// repository.
pub(crate) fn main_repository(worktree: &Path) -> Option<PathBuf> {
    let git_file = worktree.join(REPOSITORY);
    let git_file_text = read_git_file(&git_file)?;
    let git_folder = worktree.join(git_file_text.strip_prefix("gitdir: ")?);
    let git_folder = fs::canonicalize(git_folder).ok()?;
    let back_link = git_folder.join(read_git_file(&git_folder.join("gitdir"))?);
    if fs::canonicalize(back_link).ok()? != fs::canonicalize(git_file).ok()? {
        return None;
    }
    let worktrees = git_folder.parent()?;
    let repository_git = worktrees.parent()?;
    if worktrees.ends_with("worktrees") && repository_git.ends_with(REPOSITORY) {
        repository_git.parent().map(Path::to_owned)
    } else {
        None
    }
}

/// Reads a single-line file of git, without its line break.
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
        let record = trust.records.folder_for(root).unwrap();
        let earlier = "0 x.md\n".to_owned() + &"1 x.md\n".repeat(MAX_EARLIER_LINES - 1);
        write_private(&record.join(SHOWN_LIST), earlier.as_bytes()).unwrap();
        for last in ["One", "Two", "One"] {
            let texts = [text("a.md", last), text("b.md", "B")];
            trust.record_shown(root, &texts).unwrap();
            assert_eq!(trust.last_shown_text(root, "a.md").as_deref(), Some(last));
        }
        let list = fs::read_to_string(record.join(SHOWN_LIST)).unwrap();
        // The first line was dropped to make room for "Two", which a worktree may have.
        assert_eq!(list.lines().count(), MAX_EARLIER_LINES + 2);
        let shown = trust.shown_texts(root);
        assert!(!shown.contains("0 x.md") && text("a.md", "Two").is_in(&shown));
        // The list, and a copy of each text.
        assert_eq!(fs::read_dir(&record).unwrap().count(), 3);
    }
}
