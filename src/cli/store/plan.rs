//! Decides what `store push` and `store pull` do with each file, before anything is written.

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

/// The side that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncTarget {
    Store,
    Folder,
}

/// What happens to a file of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncOutcome {
    Create,
    Replace,
    Delete,
    /// Nothing: it has a text that the other side never had, or it was deleted in the target.
    Conflict,
}

/// A file that differs between the sides. A text is `None` where the file is missing.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) path: Arc<str>,
    /// The text of the target.
    pub(super) old: Option<Arc<str>>,
    /// The text that it gets.
    pub(super) new: Option<Arc<str>>,
    pub(super) outcome: SyncOutcome,
    /// Who last wrote the file to the store, and when; `None` if nobody did.
    last_write: Option<String>,
}

/// Both sides of a push or a pull.
pub(super) struct Sides<'s> {
    pub(super) target: SyncTarget,
    pub(super) folder: &'s Path,
    pub(super) store: &'s Postgres,
    pub(super) reporter: &'s Reporter,
    pub(super) agreed: AgreedTexts,
    /// The texts that the target has now.
    pub(super) target_texts: &'s StoredTexts,
    /// The texts of the other side, which the target gets.
    pub(super) new_texts: &'s StoredTexts,
    /// The files to compare.
    pub(super) paths: BTreeSet<Arc<str>>,
    /// The prompts that are replaced even if they are in conflict.
    pub(super) overwritten: &'s [String],
    pub(super) overwrites_all: bool,
}

impl Sides<'_> {
    /// Decides what happens to each file that differs between the sides.
    ///
    /// # Errors
    /// The store does not answer who last wrote the files.
    pub(super) fn compare(&self) -> anyhow::Result<Vec<Difference>> {
        let mut differing: Vec<Arc<str>> = Vec::new();
        for path in &self.paths {
            if self.target_texts.get(path) != self.new_texts.get(path) {
                differing.push(Arc::clone(path));
            }
        }
        let mut last_writes = self.store.last_writes(&differing)?;
        let committed = self.committed(&differing);
        let mut differences = Vec::new();
        for path in differing {
            let last_write = last_writes.remove(&*path);
            let may_change = committed.contains(&*path)
                || self.is_as_agreed(&path)
                || self.was_never_there(&path, last_write.is_some())
                || self.overwrites(&path);
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

    /// Returns whether nobody has changed or deleted the target's file since it was the same on
    /// both sides.
    fn is_as_agreed(&self, path: &str) -> bool {
        let old = self.target_texts.get(path).map(|text| &**text);
        self.agreed.has(path, old)
    }

    /// Returns whether the target never had a file at a path, so that one can be created there. A
    /// store remembers deleted files in its history; a folder only those that both sides had.
    fn was_never_there(&self, path: &str, is_in_history: bool) -> bool {
        let was_deleted = self.target == SyncTarget::Store && is_in_history;
        !self.target_texts.contains_key(path) && !self.agreed.knows(path) && !was_deleted
    }

    /// Returns the paths whose text in the target is an earlier version in the folder's git
    /// repository.
    fn committed(&self, differing: &[Arc<str>]) -> BTreeSet<String> {
        let mut texts = Vec::new();
        for path in differing {
            if let Some(old) = self.target_texts.get(path)
                && !self.is_as_agreed(path)
            {
                texts.push(PathText { path, text: old });
            }
        }
        if texts.is_empty() {
            return BTreeSet::new();
        }
        committed_paths(self.folder, &texts, self.reporter)
    }

    /// Returns whether the user has named this path, its prompt or the prompt of its tests.
    fn overwrites(&self, path: &str) -> bool {
        let name = match Format::OWN.split_path(path) {
            Some((name, _)) => name,
            None => path.strip_suffix(TEST_SUFFIX).unwrap_or(path),
        };
        let mut overwritten = self.overwritten.iter();
        self.overwrites_all || overwritten.any(|typed| typed == path || typed == name)
    }
}

impl SyncTarget {
    /// Returns the words for the target and for the other side: `store` and `folder` for a push.
    pub(super) fn sides(self) -> [&'static str; 2] {
        match self {
            SyncTarget::Store => ["store", "folder"],
            SyncTarget::Folder => ["folder", "store"],
        }
    }
}

impl Difference {
    /// Returns a line that says what happens to the file.
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
        let [place, _] = target.sides();
        let mut line = format!("conflict {path}: {verb} in the {place}");
        if let Some(last_write) = &self.last_write {
            line += &format!("; last written to the store by {}", printable(last_write));
        }
        line + "\n"
    }

    /// Returns the difference between the target's text and the other one.
    pub(super) fn diff(&self, target: SyncTarget) -> String {
        let [old, new] = target.sides();
        let old_text = self.old.as_deref().unwrap_or_default();
        let new_text = self.new.as_deref().unwrap_or_default();
        unified_diff((old, old_text), (new, new_text))
    }
}
