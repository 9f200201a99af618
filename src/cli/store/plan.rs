//! Decides what `store push` and `store pull` do with each file, before anything is written.

use super::agreed::AgreedTexts;
use super::committed::{PathText, committed_paths};
use crate::cli::output::Reporter;
use crate::library::difference;
use crate::prompt::{Format, TEST_SUFFIX};
use crate::sources::{Postgres, StoredTexts};
use crate::wording::printable;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The side that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
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
    pub(super) target: Target,
    pub(super) folder: &'s Path,
    pub(super) store: &'s Postgres,
    pub(super) agreed: AgreedTexts,
    /// The texts of the target, and of the other side.
    pub(super) old: &'s StoredTexts,
    pub(super) new: &'s StoredTexts,
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
    pub(super) fn compare(&self, reporter: &Reporter) -> anyhow::Result<Vec<Difference>> {
        let differing = self
            .paths
            .iter()
            .filter(|path| self.old.get(*path) != self.new.get(*path));
        let differing: Vec<Arc<str>> = differing.cloned().collect();
        let mut last_writes = self.store.last_writes(&differing)?;
        let committed = self.committed(&differing, reporter);
        let mut differences = Vec::new();
        for path in differing {
            let last_write = last_writes.remove(&*path);
            let is_replaceable = committed.contains(&*path)
                || self.is_as_agreed(&path)
                || self.was_never_there(&path, last_write.is_some())
                || self.overwrites(&path);
            let old = self.old.get(&path).cloned();
            let new = self.new.get(&path).cloned();
            let outcome = if is_replaceable {
                change(old.is_some(), new.is_some())
            } else {
                SyncOutcome::Conflict
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
        let old = self.old.get(path).map(|text| &**text);
        self.agreed.has(path, old)
    }

    fn was_never_there(&self, path: &str, is_in_history: bool) -> bool {
        let was_deleted = self.target == Target::Store && is_in_history;
        !self.old.contains_key(path) && !self.agreed.knows(path) && !was_deleted
    }

    /// Returns the paths whose text in the target is an earlier version in the folder's git
    /// repository.
    fn committed(&self, differing: &[Arc<str>], reporter: &Reporter) -> BTreeSet<String> {
        let mut texts = Vec::new();
        for path in differing {
            if let Some(old) = self.old.get(path)
                && !self.is_as_agreed(path)
            {
                texts.push(PathText { path, text: old });
            }
        }
        if texts.is_empty() {
            return BTreeSet::new();
        }
        committed_paths(self.folder, &texts, reporter)
    }

    /// Returns whether the user has named this path, its prompt or the prompt of its tests.
    fn overwrites(&self, path: &str) -> bool {
        let prompt = Format::OWN.prompt_file(path).map(|(name, _)| name);
        let name = prompt.or(path.strip_suffix(TEST_SUFFIX));
        let mut names = self.overwritten.iter();
        self.overwrites_all || names.any(|named| named == path || Some(named.as_str()) == name)
    }
}

/// Returns how the target's file gets the other side's text. At least one side has the file.
fn change(is_in_target: bool, is_in_other: bool) -> SyncOutcome {
    match (is_in_target, is_in_other) {
        (false, _) => SyncOutcome::Create,
        (true, false) => SyncOutcome::Delete,
        (true, true) => SyncOutcome::Replace,
    }
}

impl Target {
    /// The words for the target and for the other side.
    pub(super) fn sides(self) -> [&'static str; 2] {
        match self {
            Target::Store => ["store", "folder"],
            Target::Folder => ["folder", "store"],
        }
    }
}

impl Difference {
    /// Returns a line that says what happens to the file.
    pub(super) fn line(&self, target: Target) -> String {
        let path = printable(&self.path);
        let verb = match self.outcome {
            SyncOutcome::Create => "create",
            SyncOutcome::Replace => "change",
            SyncOutcome::Delete => "delete",
            SyncOutcome::Conflict => return self.conflict_line(target),
        };
        format!("{verb} {path}\n")
    }

    fn conflict_line(&self, target: Target) -> String {
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
    pub(super) fn diff(&self, target: Target) -> String {
        let [old, new] = target.sides();
        let old_text = self.old.as_deref().unwrap_or_default();
        let new_text = self.new.as_deref().unwrap_or_default();
        difference((old, old_text), (new, new_text))
    }
}
