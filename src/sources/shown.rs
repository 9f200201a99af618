//! The texts that the user was shown of the repositories that they trust.

use crate::library::{Cache, SETTLING, TextGuard, below};
use crate::prompt::{Diagnostic, Kind, sha256};
use crate::wording::printable;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The list of what was shown: in each line a hash and a path below the root.
pub(super) const SHOWN: &str = "shown";

/// The texts that were shown, for each repository.
#[derive(Debug)]
pub(super) struct ShownRecords {
    /// The folder with a folder for each repository; `None` if the data folder is unknown.
    folder: Option<PathBuf>,
    texts: Cache<Arc<ShownTexts>>,
}

/// The texts of one repository that were shown.
#[derive(Debug, Default)]
pub(crate) struct ShownTexts {
    lines: HashSet<String>,
    /// The hash of each path that was shown last.
    pub(super) last: BTreeMap<String, String>,
    /// Whether anything was ever kept: older versions kept nothing.
    pub(crate) is_kept: bool,
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
    pub(super) fn new(folder: Option<PathBuf>) -> ShownRecords {
        ShownRecords {
            folder,
            texts: Cache::new(16, SETTLING),
        }
    }

    /// Returns what was shown of the repository with this root.
    pub(super) fn of(&self, root: &Path) -> Arc<ShownTexts> {
        let Some(list) = self.record(root).map(|record| record.join(SHOWN)) else {
            return Arc::default();
        };
        self.texts.get(&list, |trace| {
            trace.look(&list);
            let text = fs::read_to_string(&list);
            Arc::new(text.map_or_else(|_| ShownTexts::default(), |text| ShownTexts::parse(&text)))
        })
    }

    /// The folder with what was shown of the repository with this root.
    pub(super) fn record(&self, root: &Path) -> Option<PathBuf> {
        let hash = sha256(root.as_os_str().as_encoded_bytes());
        Some(self.folder.as_ref()?.join(&hash[..16]))
    }
}

impl ShownTexts {
    pub(super) fn parse(text: &str) -> ShownTexts {
        let mut shown = ShownTexts {
            is_kept: true,
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

    pub(super) fn has(&self, line: &str) -> bool {
        self.lines.contains(line)
    }
}

impl TextGuard for Worktree {
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        let path = path_below(&self.root, path);
        let shown = self.records.of(&self.main);
        if shown.has(&line(bytes, &path)) {
            return Ok(());
        }
        let message = "you were not shown its text in this worktree, so it is not served";
        let fix = "run `prompt-expander trust` in the worktree to see it";
        Err(Diagnostic::new(Kind::Differs, message, fix))
    }
}

/// The line of a text in the list of what was shown.
pub(super) fn line(bytes: &[u8], path: &str) -> String {
    format!("{} {path}", sha256(bytes))
}

/// A path below a folder, `/`-separated, in one line.
pub(super) fn path_below(root: &Path, path: &Path) -> String {
    printable(&below(root, path))
}
