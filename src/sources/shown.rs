//! The texts that the user was shown of the repositories that they trust.

use crate::library::{Cache, MIN_STAMP_AGE, TextGuard, relative_path};
use crate::prompt::{Diagnostic, Kind, sha256};
use crate::wording::printable;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file with the list of what was shown: in each line a hash and a path below the root.
pub(super) const SHOWN: &str = "shown";

/// How many digits of a SHA-256 the name of a folder has.
const HASH_IN_NAME: usize = 16;

/// The texts that were shown, for each repository.
#[derive(Debug)]
pub(super) struct ShownRecords {
    /// The folder with a folder for each repository; `None` if the data folder is unknown.
    folder: Option<PathBuf>,
    /// The texts by the paths of their lists.
    texts: Cache<Arc<ShownTexts>>,
}

/// The texts of one repository that were shown.
#[derive(Debug, Default)]
pub(crate) struct ShownTexts {
    /// The lines of the list.
    lines: HashSet<String>,
    /// The hash of the text that was last shown with each path.
    pub(super) last: BTreeMap<String, String>,
    /// Whether anything was ever kept: older versions kept nothing.
    pub(crate) was_recorded: bool,
}

/// A linked worktree, which serves only the texts that were shown.
#[derive(Debug)]
pub(super) struct Worktree {
    pub(super) records: Arc<ShownRecords>,
    /// The root of the repository whose texts were shown.
    pub(super) main: PathBuf,
    /// The root of the worktree.
    pub(super) root: PathBuf,
}

impl ShownRecords {
    /// Returns the records in a folder, which may be missing.
    pub(super) fn new(folder: Option<PathBuf>) -> ShownRecords {
        ShownRecords {
            folder,
            texts: Cache::new(16, MIN_STAMP_AGE),
        }
    }

    /// Returns what was shown of the repository with this root.
    pub(super) fn of(&self, root: &Path) -> Arc<ShownTexts> {
        let Some(record) = self.record(root) else {
            return Arc::default();
        };
        let list = record.join(SHOWN);
        self.texts.get(&list, |trace| {
            trace.record(&list);
            match fs::read_to_string(&list) {
                Ok(text) => Arc::new(ShownTexts::parse(&text)),
                Err(_) => Arc::default(),
            }
        })
    }

    /// Returns the folder with what was shown of the repository with this root.
    pub(super) fn record(&self, root: &Path) -> Option<PathBuf> {
        let hash = sha256(root.as_os_str().as_encoded_bytes());
        Some(self.folder.as_ref()?.join(&hash[..HASH_IN_NAME]))
    }
}

impl ShownTexts {
    /// Parses the list of the texts that were shown. A line is the SHA-256 of a text and its path:
    /// `2cf24d… .prompts/deploy.md`.
    ///
    /// A path has a line for each of its texts that was shown. All of them count as shown, and the
    /// last one is the version with which a new text is compared.
    pub(super) fn parse(text: &str) -> ShownTexts {
        let mut shown = ShownTexts {
            was_recorded: true,
            ..ShownTexts::default()
        };
        for line in text.lines() {
            if let Some((hash, path)) = line.split_once(' ') {
                shown.last.insert(path.to_owned(), hash.to_owned());
            }
            shown.lines.insert(line.to_owned());
        }
        shown
    }

    /// Returns whether the list has a line, which [`shown_line`] has made.
    pub(super) fn has(&self, line: &str) -> bool {
        self.lines.contains(line)
    }
}

impl TextGuard for Worktree {
    /// Refuses a file of a linked worktree with a text that the user was not shown.
    ///
    /// A linked worktree is not trusted itself: it serves only texts that were shown of the main
    /// repository, by the same path.
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        let line = shown_line(bytes, &path_below(&self.root, path));
        if self.records.of(&self.main).has(&line) {
            return Ok(());
        }
        let message = "you were not shown its text in this worktree, so it is not served";
        let fix = "run `prompt-expander trust` in the worktree to see it";
        Err(Diagnostic::new(Kind::LockMismatch, message, fix))
    }
}

/// Returns the line of a text in the list of what was shown.
pub(super) fn shown_line(bytes: &[u8], path: &str) -> String {
    format!("{} {path}", sha256(bytes))
}

/// Returns a path below a folder, `/`-separated, in one line.
pub(super) fn path_below(root: &Path, path: &Path) -> String {
    printable(&relative_path(root, path))
}
