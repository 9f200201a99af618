//! Plans a push or a pull: decides what happens to each file before anything is written.

use super::agreed::AgreedTexts;
use super::committed::{PathText, committed_paths};
use crate::cli::output::Reporter;
use crate::library::unified_diff;
use crate::prompt::{Format, TEST_SUFFIX};
use crate::sources::{Postgres, StoredTexts};
use crate::wording::printable;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The side that a push or a pull writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncTarget {
    Store,
    Folder,
}

/// What happens to a file in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncOutcome {
    Create,
    Replace,
    Delete,
    /// The file is kept, because it was changed or deleted in the target independently of the other
    /// side.
    Conflict,
}

/// A file that differs between the sides.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) path: Arc<str>,
    /// The current text in the target; `None` if the file doesn't exist there.
    pub(super) old: Option<Arc<str>>,
    /// The text to write to the target; `None` if the file doesn't exist on the other side.
    pub(super) new: Option<Arc<str>>,
    pub(super) outcome: SyncOutcome,
    /// Who last wrote the file to the store, and when; `None` if it was never in the store.
    last_write: Option<String>,
}

/// Both sides of a push or a pull: the target, and the other side, which provides the new texts.
pub(super) struct Sides<'s> {
    pub(super) target: SyncTarget,
    pub(super) folder: &'s Path,
    pub(super) store: &'s Postgres,
    pub(super) reporter: &'s Reporter,
    pub(super) agreed: AgreedTexts,
    /// The current texts in the target.
    pub(super) target_texts: &'s StoredTexts,
    /// The texts of the other side, to be written to the target.
    pub(super) new_texts: &'s StoredTexts,
    /// The paths to compare. All others are left alone.
    pub(super) paths: BTreeSet<Arc<str>>,
    /// The values of `--overwrite`: prompts or paths to write even if they are in conflict.
    pub(super) overwritten: &'s [String],
    pub(super) overwrites_all: bool,
}

impl Sides<'_> {
    /// Returns the files that differ between the sides, and what happens to each of them.
    ///
    /// # Errors
    /// Fails if the store can't tell who last wrote the files.
    pub(super) fn compare(&self) -> anyhow::Result<Vec<Difference>> {
        let mut differing: Vec<Arc<str>> = Vec::new();
        for path in &self.paths {
            if self.target_texts.get(path) != self.new_texts.get(path) {
                differing.push(Arc::clone(path));
            }
        }
        let mut last_writes = self.store.last_writes(&differing)?;
        let committed = self.paths_with_committed_text(&differing);
        let mut differences = Vec::new();
        for path in differing {
            let last_write = last_writes.remove(&*path);
            // Any of these makes sure that nothing is lost, or that the user accepts the loss.
            let may_change = committed.contains(&*path)
                || self.is_unchanged_in_target(&path)
                || self.is_new_to_target(&path, last_write.is_some())
                || self.is_overwritten(&path);
            let old = self.target_texts.get(&path).cloned();
            let new = self.new_texts.get(&path).cloned();
            let outcome = if !may_change {
                SyncOutcome::Conflict
            } else if old.is_none() {
                SyncOutcome::Create
            } else if new.is_none() {
                SyncOutcome::Delete
            } else {
                SyncOutcome::Replace
            };
            differences.push(Difference {
                path,
                old,
                new,
                outcome,
                last_write,
            });
        }
        Ok(differences)
    }

    /// Returns whether the target's file is the same as after the last push or pull.
    fn is_unchanged_in_target(&self, path: &str) -> bool {
        let old = self.target_texts.get(path).map(|text| &**text);
        self.agreed.contains(path, old)
    }

    /// Returns whether the target never had a file at this path, i.e. whether the file is missing
    /// without having been deleted.
    ///
    /// A store knows all its deleted files from its history. For a folder, only deleted files that
    /// were once the same on both sides are known.
    fn is_new_to_target(&self, path: &str, is_in_store_history: bool) -> bool {
        if self.target_texts.contains_key(path) {
            return false;
        }
        let was_deleted_in_store = self.target == SyncTarget::Store && is_in_store_history;
        let was_ever_agreed = self.agreed.contains_path(path);
        !was_ever_agreed && !was_deleted_in_store
    }

    /// Returns the paths whose text in the target has been committed to the folder's git
    /// repository, so that overwriting it loses nothing. Skips unchanged files, which don't need
    /// this.
    fn paths_with_committed_text(&self, differing: &[Arc<str>]) -> BTreeSet<String> {
        let mut texts = Vec::new();
        for path in differing {
            if let Some(old) = self.target_texts.get(path)
                && !self.is_unchanged_in_target(path)
            {
                texts.push(PathText { path, text: old });
            }
        }
        if texts.is_empty() {
            return BTreeSet::new();
        }
        committed_paths(self.folder, &texts, self.reporter)
    }

    /// Returns whether `--overwrite-all` was passed, or `--overwrite` with this path or the prompt
    /// that it belongs to.
    fn is_overwritten(&self, path: &str) -> bool {
        let name = match Format::OWN.split_path(path) {
            Some((name, _)) => name,
            None => path.strip_suffix(TEST_SUFFIX).unwrap_or(path),
        };
        let mut overwritten = self.overwritten.iter();
        self.overwrites_all || overwritten.any(|typed| typed == path || typed == name)
    }
}

impl SyncTarget {
    /// Returns what messages call the target.
    pub(super) fn name(self) -> &'static str {
        match self {
            SyncTarget::Store => "store",
            SyncTarget::Folder => "folder",
        }
    }

    /// Returns what messages call the other side.
    fn name_of_other_side(self) -> &'static str {
        match self {
            SyncTarget::Store => SyncTarget::Folder.name(),
            SyncTarget::Folder => SyncTarget::Store.name(),
        }
    }
}

impl Difference {
    /// Returns a line that says what happens to the file, e.g. `create git/commit.md`.
    pub(super) fn line(&self, target: SyncTarget) -> String {
        let path = printable(&self.path);
        let verb = match self.outcome {
            SyncOutcome::Create => "create",
            SyncOutcome::Replace => "change",
            SyncOutcome::Delete => "delete",
            SyncOutcome::Conflict => return self.conflict_line(target),
        };
        format!("{verb} {path}\n")
    }

    fn conflict_line(&self, target: SyncTarget) -> String {
        let path = printable(&self.path);
        let verb = if self.old.is_some() {
            "changed"
        } else {
            "deleted"
        };
        let target_name = target.name();
        let mut line = format!("conflict {path}: {verb} in the {target_name}");
        if let Some(last_write) = &self.last_write {
            line += &format!("; last written to the store by {}", printable(last_write));
        }
        line + "\n"
    }

    /// Returns a diff from the target's text to the new one.
    pub(super) fn diff(&self, target: SyncTarget) -> String {
        let [old, new] = [target.name(), target.name_of_other_side()];
        let old_text = self.old.as_deref().unwrap_or_default();
        let new_text = self.new.as_deref().unwrap_or_default();
        unified_diff((old, old_text), (new, new_text))
    }
}
