//! Decides which paths to watch, and which prompts an event at one of them may have changed.
//!
//! The watched paths are the folders that were read, their parents, and the targets of symlinks.
//! All of them are stored without symlinks, because that is how events report them.

use super::cache::Trace;
use super::root::{FileName, Root};
use super::stamp::is_on_network;
use crate::library::caller::Prefix;
use crate::prompt::Name;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// The prompts that may have changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The names of prompts that may have been changed, added or removed.
    pub prompts: BTreeSet<Name>,
    /// Folders such as `team-a/` in which any prompt may have changed, as may any prompt elsewhere
    /// that includes files from them. `""` stands for the whole library.
    pub folders: BTreeSet<String>,
}

impl Change {
    /// Returns a change that may affect every prompt.
    pub fn anything() -> Change {
        Change::of_folder(String::new())
    }

    /// Returns a change that only affects the prompts with these names.
    pub fn of_prompts(prompts: BTreeSet<Name>) -> Change {
        Change {
            prompts,
            ..Change::default()
        }
    }

    /// Returns a change that may affect everything in a folder. `folder` ends with a slash: `git/`.
    pub fn of_folder(folder: String) -> Change {
        Change {
            folders: BTreeSet::from([folder]),
            ..Change::default()
        }
    }

    /// Returns the change that a changed file or folder causes: `git/x.md` affects the prompt
    /// `git/x`.
    pub(crate) fn of_path(root: &Root, path: &Path) -> Change {
        match root.name_of(path) {
            FileName::Prompt(file) => Change::of_prompts(BTreeSet::from([file.name])),
            _ => Change::of_folder(root.affected_name_prefix(path)),
        }
    }

    /// Merges another change into this one.
    pub fn add(&mut self, other: Change) {
        self.prompts.extend(other.prompts);
        self.folders.extend(other.folders);
    }

    /// Returns the number of affected prompts and folders.
    fn len(&self) -> usize {
        self.prompts.len() + self.folders.len()
    }

    /// Returns whether the change may affect a caller with this prefix. Every change affects a
    /// caller without one.
    pub fn affects(&self, prefix: Option<&Prefix>) -> bool {
        let Some(prefix) = prefix else {
            return true;
        };
        self.has_visible_folder(Some(prefix))
            || self.prompts.iter().any(|name| prefix.contains(name))
    }

    /// Returns whether the prompt with this name may have changed. Always false if a caller with
    /// this prefix can't see the prompt.
    pub fn may_affect(&self, name: &str, prefix: Option<&Prefix>) -> bool {
        let is_visible = prefix.is_none_or(|prefix| prefix.contains(name));
        let is_listed = self.prompts.iter().any(|changed| changed.as_str() == name);
        is_visible && (is_listed || self.has_visible_folder(prefix))
    }

    /// Returns whether a changed folder may contain prompts that a caller with this prefix can see.
    fn has_visible_folder(&self, prefix: Option<&Prefix>) -> bool {
        let mut folders = self.folders.iter();
        folders.any(|folder| prefix.is_none_or(|prefix| prefix.overlaps(folder)))
    }
}

/// A file system event at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathEvent<'p> {
    pub(crate) path: &'p Path,
    /// Whether something may have been added, removed or renamed.
    pub(crate) may_move: bool,
    /// Whether the path may be a folder.
    pub(crate) may_be_folder: bool,
}

/// The paths to watch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Folders of prompts, in which every entry matters unless it is hidden. The key is the real
    /// path. The value lists each root that contains the folder, with the path by which that root
    /// reaches it.
    folders: BTreeMap<PathBuf, Vec<(Root, PathBuf)>>,
    /// Other folders, in which only the listed entries matter. Each entry maps to the change that
    /// it causes.
    entries: BTreeMap<PathBuf, BTreeMap<OsString, Change>>,
    /// Whether other machines may change some of the files without an event on this one.
    pub(crate) is_on_network: bool,
}

impl Watched {
    /// Watches everything that was read to list the prompts of `root`: each folder, the target of
    /// each symlink, and their parents.
    pub(crate) fn add_root(&mut self, root: &Root, trace: &Trace) {
        self.watch_with_ancestors(&root.path, &Change::of_folder(root.prefix.clone()));
        for path in trace.paths() {
            if let Some(target) = target_of(path) {
                self.watch_with_ancestors(&target, &Change::of_path(root, path));
            }
            if let Ok(real) = fs::canonicalize(path) {
                self.add_existing(root, path, real);
            }
        }
    }

    /// Watches the entries of `path`, if it is a folder. Either way, records whether it is on a
    /// network file system. `real` is the path without symlinks.
    fn add_existing(&mut self, root: &Root, path: &Path, real: PathBuf) {
        if !real.is_dir() {
            self.is_on_network |= real.parent().is_some_and(is_on_network);
            return;
        }
        self.is_on_network |= is_on_network(&real);
        let reaching_roots = self.folders.entry(real).or_default();
        reaching_roots.push((root.clone(), path.to_owned()));
    }

    /// Watches a path that determines where prompts come from, and its parents. Replacing any of
    /// them may change every prompt.
    pub(crate) fn add_path(&mut self, path: &Path) {
        self.watch_with_ancestors(path, &Change::anything());
    }

    /// Watches a path and all of its parents. Replacing any of them causes `change`. If one of them
    /// is a symlink, its target is watched in the same way.
    fn watch_with_ancestors(&mut self, path: &Path, change: &Change) {
        for ancestor in path.ancestors() {
            let (Some(parent), Some(name)) = (ancestor.parent(), ancestor.file_name()) else {
                continue;
            };
            let Ok(parent) = fs::canonicalize(parent) else {
                continue;
            };
            let entries = self.entries.entry(parent).or_default();
            let entry_change = entries.entry(name.to_owned()).or_default();
            let length_before = entry_change.len();
            entry_change.add(change.clone());
            // Only follow a symlink the first time, so that cycles end the recursion.
            let is_new = entry_change.len() > length_before;
            if is_new && let Some(target) = target_of(ancestor) {
                self.watch_with_ancestors(&target, change);
            }
        }
    }

    /// Returns each folder to watch, once.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let folders_of_entries = self.entries.keys();
        let other_folders = folders_of_entries.filter(|folder| !self.folders.contains_key(*folder));
        self.folders.keys().chain(other_folders)
    }

    /// Returns what an event may have changed, or `None` if it is irrelevant.
    pub(crate) fn change(&self, event: PathEvent<'_>) -> Option<Change> {
        let (Some(folder), Some(name)) = (event.path.parent(), event.path.file_name()) else {
            return Some(Change::anything());
        };
        if !self.is_watched(event.path) && !self.is_watched(folder) {
            // A watched folder was moved, and the event reports its old path.
            return Some(Change::anything());
        }
        let mut change = self.change_of_folder(event.path);
        let watched_entries = self.entries.get(folder);
        if let Some(entry_change) = watched_entries.and_then(|entries| entries.get(name)) {
            change.add(entry_change.clone());
        }
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if !is_hidden {
            change.add(self.change_in_prompts_folder(folder, name, event));
        }
        (change.len() > 0).then_some(change)
    }

    /// Returns what an event at the entry `name` of a prompts folder may have changed. The folder
    /// may be reachable by several paths, via symlinks.
    fn change_in_prompts_folder(
        &self,
        folder: &Path,
        name: &OsStr,
        event: PathEvent<'_>,
    ) -> Change {
        let mut change = Change::default();
        for (root, path) in self.folders.get(folder).into_iter().flatten() {
            change.add(change_in_folder(root, path, &path.join(name), event));
        }
        change
    }

    /// Returns whether the entries of a folder are watched.
    fn is_watched(&self, path: &Path) -> bool {
        self.folders.contains_key(path) || self.entries.contains_key(path)
    }

    /// Returns what an event at a watched folder itself may have changed: everything in it, and
    /// everything that its watched entries affect.
    fn change_of_folder(&self, folder: &Path) -> Change {
        let mut change = Change::default();
        for (root, path) in self.folders.get(folder).into_iter().flatten() {
            change.add(Change::of_folder(root.affected_name_prefix(path)));
        }
        if let Some(entries) = self.entries.get(folder) {
            for entry_change in entries.values() {
                change.add(entry_change.clone());
            }
        }
        change
    }
}

/// Returns the target of a symlink, or `None` if the path isn't one.
fn target_of(link: &Path) -> Option<PathBuf> {
    let target = fs::read_link(link).ok()?;
    Some(link.parent()?.join(target))
}

/// Returns what an event at `path`, directly in `folder`, may have changed. Nothing if the file is
/// neither a prompt nor includable.
fn change_in_folder(root: &Root, folder: &Path, path: &Path, event: PathEvent<'_>) -> Change {
    match root.name_of(path) {
        // Adding or removing a `SKILL.md` turns the whole folder into a prompt, or back.
        FileName::Prompt(file) if event.may_move && file.kind.is_in_folder() => {
            Change::of_folder(root.affected_name_prefix(folder))
        }
        FileName::NotAPrompt if !event.may_be_folder && !root.is_includable(path) => {
            Change::default()
        }
        _ => Change::of_path(root, path),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::disk::reach::Reach;
    use crate::prompt::Format;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_folders_above_a_library_and_the_targets_of_symlinks_are_watched_and_their_neighbors_are_not()
     {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        for below in ["prompts/git", "prompts/.git", "elsewhere/deep"] {
            fs::create_dir_all(folder.join(below)).unwrap();
        }
        symlink("../elsewhere/one.md", folder.join("prompts/link.md")).unwrap();
        symlink(folder.join("elsewhere/deep"), folder.join("prompts/linked")).unwrap();
        symlink("nowhere/x.md", folder.join("prompts/broken.md")).unwrap();
        let root = Root::new(folder.join("prompts"), Format::OWN, Reach::Unrestricted);
        let mut trace = Trace::default();
        for seen in ["", "git", "linked", "link.md", "broken.md"] {
            trace.record(&root.path.join(seen));
        }
        let mut watched = Watched::default();
        watched.add_root(&root, &trace);
        let prompts = |names: &[&str]| {
            let names = names.iter().map(|name| Name::new(name).unwrap());
            Some(Change::of_prompts(names.collect()))
        };
        let anything = Some(Change::anything());
        let in_folder = |folder: &str| Some(Change::of_folder(folder.to_owned()));
        let with_prompts = |folder: &str, names: &[&str]| {
            let mut change = in_folder(folder)?;
            change.add(prompts(names)?);
            Some(change)
        };
        for (path, may_move, may_be_folder, want) in [
            ("prompts", true, true, with_prompts("", &["broken", "link"])),
            ("prompts/new.md", true, false, prompts(&["new"])),
            ("prompts/git/x.md", false, false, prompts(&["git/x"])),
            ("prompts/git", true, true, in_folder("git/")),
            ("prompts/git/deep", true, true, in_folder("git/deep/")),
            ("prompts/other", true, true, in_folder("other/")),
            ("prompts/linked", true, true, in_folder("linked/")),
            ("elsewhere/deep", true, true, in_folder("linked/")),
            ("prompts/_part.md", false, false, anything.clone()),
            ("prompts/_parts", true, true, anything.clone()),
            ("prompts/git/_part.md", false, false, in_folder("git/")),
            ("prompts/git/SKILL.md", true, false, in_folder("git/")),
            ("prompts/git/SKILL.md", false, false, prompts(&["git"])),
            ("prompts/notes.txt", true, false, None),
            ("prompts/.git", true, true, None),
            ("prompts/.x.md.swp", true, false, None),
            ("neighbor", true, true, None),
            ("elsewhere/one.md", false, false, prompts(&["link"])),
            ("elsewhere/two.md", true, false, None),
            (
                "elsewhere/deep/any.md",
                true,
                false,
                prompts(&["linked/any"]),
            ),
            (
                "prompts/nowhere",
                true,
                true,
                with_prompts("nowhere/", &["broken"]),
            ),
        ] {
            let event = PathEvent {
                path: &folder.join(path),
                may_move,
                may_be_folder,
            };
            assert_eq!(watched.change(event), want, "{path}");
        }
        assert!(
            watched
                .paths()
                .any(|path| *path == folder.parent().unwrap())
        );
        assert!(watched.paths().all(|path| !path.ends_with(".git")));
    }
}
