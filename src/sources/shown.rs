//! Records of the texts that the user was shown before trusting a repository.

use crate::library::{Cache, MIN_STAMP_AGE, TextGuard, relative_path};
use crate::prompt::{Diagnostic, Kind, sha256};
use crate::wording::printable;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that lists the texts that the user was shown of one repository. Each line contains the
/// SHA-256 of a text and its path: `2cf24d… .prompts/deploy.md`.
pub(super) const SHOWN_LIST: &str = "shown";

/// The number of hex digits in the name of a repository's record, which is a hash of its root.
const RECORD_NAME_LEN: usize = 16;

/// The maximum number of repositories whose lists are cached.
const MAX_CACHED_LISTS: usize = 16;

/// The records of all repositories that the user trusts.
#[derive(Debug)]
pub(super) struct ShownRecords {
    /// Contains a folder for each repository. `None` if the data folder is unknown; then nothing is
    /// recorded.
    folder: Option<PathBuf>,
    /// The parsed lists, by their paths.
    lists: Cache<Arc<ShownTexts>>,
}

/// The texts of one repository that the user was shown.
#[derive(Debug, Default)]
pub(crate) struct ShownTexts {
    /// The lines of the list.
    lines: HashSet<String>,
    /// The hash of the last text that the user was shown, by path.
    pub(super) last_hashes: BTreeMap<String, String>,
}

/// Lets only texts of a linked worktree through that the user was shown.
#[derive(Debug)]
pub(super) struct ShownTextsGuard {
    pub(super) records: Arc<ShownRecords>,
    /// The root of the trusted repository that the worktree belongs to.
    pub(super) repository: PathBuf,
    /// The root of the worktree.
    pub(super) worktree: PathBuf,
}

impl ShownRecords {
    /// Returns the records in a folder, which may not exist yet.
    pub(super) fn new(folder: Option<PathBuf>) -> ShownRecords {
        ShownRecords {
            folder,
            lists: Cache::new(MAX_CACHED_LISTS, MIN_STAMP_AGE),
        }
    }

    /// Returns the texts that the user was shown of the repository at `root`.
    pub(super) fn shown_texts(&self, root: &Path) -> Arc<ShownTexts> {
        let Some(record) = self.folder_for(root) else {
            return Arc::default();
        };
        let list = record.join(SHOWN_LIST);
        self.lists.get(&list, |trace| {
            trace.record(&list);
            match fs::read_to_string(&list) {
                Ok(text) => Arc::new(ShownTexts::parse(&text)),
                Err(_) => Arc::default(),
            }
        })
    }

    /// Returns the folder for the record of the repository at `root`, or `None` if nothing is
    /// recorded.
    pub(super) fn folder_for(&self, root: &Path) -> Option<PathBuf> {
        let hash = sha256(root.as_os_str().as_encoded_bytes());
        Some(self.folder.as_ref()?.join(&hash[..RECORD_NAME_LEN]))
    }
}

impl ShownTexts {
    /// Parses a list of shown texts.
    ///
    /// A path has one line for each text that the user was shown there. The last one is the version
    /// that changes are compared with.
    pub(super) fn parse(list: &str) -> ShownTexts {
        let mut shown = ShownTexts::default();
        for line in list.lines() {
            if let Some((hash, path)) = line.split_once(' ') {
                // Replaces the hash of an earlier line.
                shown.last_hashes.insert(path.to_owned(), hash.to_owned());
            }
            shown.lines.insert(line.to_owned());
        }
        shown
    }

    /// Returns whether the list contains a line, as made by [`list_line`].
    pub(super) fn contains(&self, line: &str) -> bool {
        self.lines.contains(line)
    }
}

impl TextGuard for ShownTextsGuard {
    /// Rejects a file unless the user was shown the same text at the same path of the trusted
    /// repository.
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        let line = list_line(bytes, &path_in_record(&self.worktree, path));
        if self.records.shown_texts(&self.repository).contains(&line) {
            return Ok(());
        }
        let message = "you were not shown its text in this worktree, so it is not served";
        let fix = "run `prompt-expander trust` in the worktree to see it";
        Err(Diagnostic::new(Kind::LockMismatch, message, fix))
    }
}

/// Returns the line for a text in the list of shown texts.
pub(super) fn list_line(bytes: &[u8], path: &str) -> String {
    format!("{} {path}", sha256(bytes))
}

/// Returns the path of a file as records contain it: relative to the root, `/`-separated, and
/// without line breaks, because a list has one path per line.
pub(super) fn path_in_record(root: &Path, path: &Path) -> String {
    printable(&relative_path(root, path))
}
