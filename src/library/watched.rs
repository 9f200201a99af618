//! Which paths to watch for changes of prompts, and what an event at one of them may have changed:
//! the folders that were looked at, the folders above them, and the targets of symlinks. All of
//! them are real paths, as events name them.

use super::cache::Trace;
use super::root::Root;
use super::stamp::is_remote;
use crate::prompt::Name;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Prompts of these names, or that there are any.
    Prompts(BTreeSet<Name>),
    /// Anything.
    Anything,
}

impl Change {
    /// Both changes.
    #[must_use]
    pub fn and(self, other: Change) -> Change {
        match (self, other) {
            (Change::Prompts(mut names), Change::Prompts(more)) => {
                names.extend(more);
                Change::Prompts(names)
            }
            _ => Change::Anything,
        }
    }
}

/// The paths to watch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Folders of prompts, of which every entry that is not hidden matters; each with its root, and
    /// its path there.
    folders: BTreeMap<PathBuf, Vec<(Root, PathBuf)>>,
    /// Other folders, of which only these entries matter.
    entries: BTreeMap<PathBuf, BTreeSet<OsString>>,
    /// Whether other machines may change some of it without an event on this one.
    pub(super) is_remote: bool,
}

impl Watched {
    /// Adds what a list of the prompts of a folder was made from.
    pub(super) fn add(&mut self, root: &Root, trace: &Trace) {
        self.add_path(&root.path);
        for path in trace.paths() {
            self.add_target(path);
            let Ok(real) = fs::canonicalize(path) else {
                continue;
            };
            let is_folder = real.is_dir();
            let folder = if is_folder {
                Some(&*real)
            } else {
                real.parent()
            };
            self.is_remote |= folder.is_some_and(is_remote);
            if is_folder {
                self.folders
                    .entry(real)
                    .or_default()
                    .push((root.clone(), path.to_owned()));
            }
        }
    }

    /// Adds the folders above a path, each with the entry on the way to it. Any of them may be
    /// replaced.
    pub(super) fn add_path(&mut self, path: &Path) {
        for step in path.ancestors() {
            let (Some(folder), Some(name)) = (step.parent(), step.file_name()) else {
                continue;
            };
            let Ok(folder) = fs::canonicalize(folder) else {
                continue;
            };
            if self
                .entries
                .entry(folder)
                .or_default()
                .insert(name.to_owned())
            {
                self.add_target(step);
            }
        }
    }

    /// Adds the target of a path that is a symlink.
    fn add_target(&mut self, link: &Path) {
        if let (Some(folder), Ok(target)) = (link.parent(), fs::read_link(link)) {
            self.add_path(&folder.join(target));
        }
    }

    /// Every path to watch.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.keys().chain(
            self.entries
                .keys()
                .filter(|folder| !self.folders.contains_key(*folder)),
        )
    }

    /// What an event at a path may have changed. `moves`: whether something may have been added,
    /// removed or renamed; `may_be_folder`: whether the path may be that of a folder.
    pub(super) fn change(&self, path: &Path, moves: bool, may_be_folder: bool) -> Option<Change> {
        let is_watched =
            |path: &Path| self.folders.contains_key(path) || self.entries.contains_key(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Some(Change::Anything);
        };
        let is_entry = self
            .entries
            .get(folder)
            .is_some_and(|names| names.contains(name));
        if is_entry || is_watched(path) || !is_watched(folder) {
            return Some(Change::Anything); // also if the event has the name that a folder had before it was moved
        }
        if name.as_encoded_bytes().starts_with(b".") {
            return None;
        }
        let mut names = BTreeSet::new();
        for (root, folder) in self.folders.get(folder).into_iter().flatten() {
            let file = folder.join(name);
            match root.name_of(&file) {
                Some(Ok((name, kind))) if !(moves && kind.is_in_folder()) => _ = names.insert(name),
                None if !may_be_folder && !root.is_includable(&file) => {}
                _ => return Some(Change::Anything),
            }
        }
        (!names.is_empty()).then_some(Change::Prompts(names))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::super::reach::Reach;
    use super::*;
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
        let root = Root::new(folder.join("prompts"), Format::OWN, Reach::Own);
        let mut trace = Trace::default();
        for seen in ["", "git", "linked", "link.md", "broken.md"] {
            trace.look(&root.path.join(seen));
        }
        let mut watched = Watched::default();
        watched.add(&root, &trace);
        let prompts = |names: &[&str]| {
            Some(Change::Prompts(
                names.iter().map(|name| Name::new(name).unwrap()).collect(),
            ))
        };
        let anything = Some(Change::Anything);
        for (path, moves, may_be_folder, want) in [
            ("prompts", true, true, anything.clone()),
            ("prompts/new.md", true, false, prompts(&["new"])),
            ("prompts/git/x.md", false, false, prompts(&["git/x"])),
            ("prompts/git", true, true, anything.clone()),
            ("prompts/other", true, true, anything.clone()),
            ("prompts/_part.md", false, false, anything.clone()),
            ("prompts/git/SKILL.md", true, false, anything.clone()),
            ("prompts/notes.txt", true, false, None),
            ("prompts/.git", true, true, None),
            ("prompts/.x.md.swp", true, false, None),
            ("neighbor", true, true, None),
            ("elsewhere/one.md", false, false, anything.clone()),
            ("elsewhere/two.md", true, false, None),
            (
                "elsewhere/deep/any.md",
                true,
                false,
                prompts(&["linked/any"]),
            ),
            ("prompts/nowhere", true, true, anything.clone()),
        ] {
            assert_eq!(
                watched.change(&folder.join(path), moves, may_be_folder),
                want,
                "{path}"
            );
        }
        assert!(
            watched
                .paths()
                .any(|path| *path == folder.parent().unwrap())
        );
        assert!(watched.paths().all(|path| !path.ends_with(".git")));
    }
}
