//! Which paths to watch for changes of prompts, and what an event at one of them may have changed:
//! the folders that were looked at, the folders above them, and the targets of symlinks. All of
//! them are real paths, as events name them.

use super::cache::Trace;
use super::root::Root;
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
    /// Folders, such as `team-a/`, in which any prompt may have changed, and any prompt that
    /// includes their files. The empty text is the whole library.
    pub folders: BTreeSet<String>,
}

impl Change {
    /// Returns a change after which any prompt of the library may be another one.
    pub fn anything() -> Change {
        Change::of_folder(String::new())
    }

    /// Returns a change of the prompts with these names only.
    pub fn of_prompts(prompts: BTreeSet<Name>) -> Change {
        Change {
            prompts,
            ..Change::default()
        }
    }

    /// Returns a change of anything in a folder. The folder has a slash at its end: `git/`.
    pub fn of_folder(folder: String) -> Change {
        Change {
            folders: BTreeSet::from([folder]),
            ..Change::default()
        }
    }

    /// Returns the prompts that may change with a file or folder at a path in a folder of prompts:
    /// the prompt `git/x` with the file `git/x.md`.
    pub(crate) fn of_path(root: &Root, path: &Path) -> Change {
        match root.name_of(path) {
            Some(Ok(file)) => Change::of_prompts(BTreeSet::from([file.name])),
            _ => Change::of_folder(root.names_around(path)),
        }
    }

    /// Adds another change.
    pub fn add(&mut self, other: Change) {
        self.prompts.extend(other.prompts);
        self.folders.extend(other.folders);
    }

    /// Returns how many prompts and folders may have changed.
    fn len(&self) -> usize {
        self.prompts.len() + self.folders.len()
    }

    /// Returns whether the change may concern a caller who sees only the prompts with this prefix.
    /// Any change concerns a caller without a prefix.
    pub fn affects(&self, prefix: Option<&Prefix>) -> bool {
        let Some(prefix) = prefix else {
            return true;
        };
        self.has_folder_for(Some(prefix)) || self.prompts.iter().any(|name| prefix.contains(name))
    }

    /// Returns whether the prompt with this name may have changed. Returns false if a caller with
    /// this prefix does not see the prompt.
    pub fn may_affect(&self, name: &str, prefix: Option<&Prefix>) -> bool {
        let is_visible = prefix.is_none_or(|prefix| prefix.contains(name));
        is_visible
            && (self.has_folder_for(prefix) || self.prompts.iter().any(|own| own.as_str() == name))
    }

    /// Returns whether a folder may have changed that has prompts which a caller with this prefix
    /// sees.
    fn has_folder_for(&self, prefix: Option<&Prefix>) -> bool {
        let mut folders = self.folders.iter();
        folders.any(|folder| prefix.is_none_or(|prefix| prefix.overlaps(folder)))
    }
}

/// A path at which something has happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathEvent<'p> {
    pub(crate) path: &'p Path,
    /// Whether something may have been added, removed or renamed.
    pub(crate) moves: bool,
    /// Whether the path may be that of a folder.
    pub(crate) may_be_folder: bool,
}

/// The paths to watch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Folders with prompts, in which every file that is not hidden may matter. A folder has one or
    /// more roots by which it is reached, each with the path of the folder there.
    folders: BTreeMap<PathBuf, Vec<(Root, PathBuf)>>,
    /// Other folders, in which only the entries with these names matter, each with what may change
    /// with it.
    entries: BTreeMap<PathBuf, BTreeMap<OsString, Change>>,
    /// Whether other machines may change some of the files without an event on this one.
    pub(crate) is_on_network: bool,
}

impl Watched {
    /// Adds every path that was read when the prompts of a folder were listed: each folder, the
    /// target of each symlink, and the folders above them.
    pub(crate) fn add(&mut self, root: &Root, trace: &Trace) {
        self.watch_way_to(&root.path, &Change::of_folder(root.prefix.clone()));
        for path in trace.paths() {
            if let Some(target) = target_of(path) {
                self.watch_way_to(&target, &Change::of_path(root, path));
            }
            let Ok(real) = fs::canonicalize(path) else {
                continue;
            };
            let is_folder = real.is_dir();
            let folder = if is_folder {
                Some(&*real)
            } else {
                real.parent()
            };
            self.is_on_network |= folder.is_some_and(is_on_network);
            if is_folder {
                self.folders
                    .entry(real)
                    .or_default()
                    .push((root.clone(), path.to_owned()));
            }
        }
    }

    /// Adds a path that decides where the prompts of the library come from, and the folders above
    /// it. If one of them is replaced, any prompt may have changed.
    pub(crate) fn add_path(&mut self, path: &Path) {
        self.watch_way_to(path, &Change::anything());
    }

    /// Adds a path, and each folder above it. If one of them is replaced, that means `change`. If
    /// one is a symlink, the way to its target is added, too.
    fn watch_way_to(&mut self, path: &Path, change: &Change) {
        for step in path.ancestors() {
            let (Some(folder), Some(name)) = (step.parent(), step.file_name()) else {
                continue;
            };
            let Ok(folder) = fs::canonicalize(folder) else {
                continue;
            };
            let entries = self.entries.entry(folder).or_default();
            let known = entries.entry(name.to_owned()).or_default();
            let length_before = known.len();
            known.add(change.clone());
            // A step that is known already ends the recursion, even if links lead in a circle.
            let is_new = known.len() > length_before;
            if is_new && let Some(target) = target_of(step) {
                self.watch_way_to(&target, change);
            }
        }
    }

    /// Returns each folder to watch, once.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.keys().chain(
            self.entries
                .keys()
                .filter(|folder| !self.folders.contains_key(*folder)),
        )
    }

    /// Returns the prompts that may have changed after an event; `None` if none have.
    pub(crate) fn change(&self, event: PathEvent<'_>) -> Option<Change> {
        let (Some(folder), Some(name)) = (event.path.parent(), event.path.file_name()) else {
            return Some(Change::anything());
        };
        if !self.is_watched(event.path) && !self.is_watched(folder) {
            // A watched folder was moved, and the event still has its old path.
            return Some(Change::anything());
        }
        let mut change = self.change_of_folder(event.path);
        let entries_on_a_way = self.entries.get(folder);
        if let Some(change_of_entry) = entries_on_a_way.and_then(|names| names.get(name)) {
            change.add(change_of_entry.clone());
        }
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if !is_hidden {
            change.add(self.change_of_prompts(folder, name, event));
        }
        (change.len() > 0).then_some(change)
    }

    /// Returns the prompts that may have changed after an event at the entry `name` of a folder of
    /// prompts. Prompts may be at several paths if symlinks lead to the folder.
    fn change_of_prompts(&self, folder: &Path, name: &OsStr, event: PathEvent<'_>) -> Change {
        let mut change = Change::default();
        for (root, path) in self.folders.get(folder).into_iter().flatten() {
            change.add(change_in_folder(root, path, &path.join(name), event));
        }
        change
    }

    /// Returns whether a path is a folder whose entries are watched.
    fn is_watched(&self, path: &Path) -> bool {
        self.folders.contains_key(path) || self.entries.contains_key(path)
    }

    /// Returns the prompts that may have changed after an event at a watched folder itself: all
    /// those in it, and all those to which one of its entries leads.
    fn change_of_folder(&self, folder: &Path) -> Change {
        let mut change = Change::default();
        for (root, path) in self.folders.get(folder).into_iter().flatten() {
            change.add(Change::of_folder(root.names_around(path)));
        }
        for entry in self
            .entries
            .get(folder)
            .into_iter()
            .flat_map(BTreeMap::values)
        {
            change.add(entry.clone());
        }
        change
    }
}

/// Returns the target of a symlink; `None` if the path is not a symlink.
fn target_of(link: &Path) -> Option<PathBuf> {
    let target = fs::read_link(link).ok()?;
    Some(link.parent()?.join(target))
}

/// Returns the prompts that may have changed after an event at `path`, which is in a folder of
/// prompts. An event at a file that is no prompt, and that none can include, changes nothing.
fn change_in_folder(root: &Root, folder: &Path, path: &Path, event: PathEvent<'_>) -> Change {
    match root.name_of(path) {
        // A `SKILL.md` was added or removed, so the folder became a prompt, or is none any more.
        Some(Ok(file)) if event.moves && file.kind.is_in_folder() => {
            Change::of_folder(root.names_around(folder))
        }
        None if !event.may_be_folder && !root.is_includable(path) => Change::default(),
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
        watched.add(&root, &trace);
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
        for (path, moves, may_be_folder, want) in [
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
                moves,
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
