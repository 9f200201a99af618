//! Which paths to watch for changes of a library: the folders of prompts, the folders above them, and the targets of
//! symlinks. All of them are real paths, as events name them.

use super::folder::Folder;
use crate::prompt::System;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// The paths to watch, and which events of them are relevant.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WatchPaths {
    /// Folders of prompts: every entry that is not hidden is relevant.
    folders: BTreeSet<PathBuf>,
    /// Other folders, of which only these entries are relevant.
    entries: BTreeMap<PathBuf, BTreeSet<OsString>>,
    /// Files that can be written under a name outside the watched folders: those with several hard links.
    hard_linked: BTreeSet<PathBuf>,
    /// The folders among `entries` that hold the targets of symlinks.
    target_folders: BTreeSet<PathBuf>,
}

impl WatchPaths {
    /// Adds a folder of prompts, and what its symlinks point to.
    pub(super) fn add_folder(&mut self, folder: &Folder) {
        self.add_path(&folder.path);
        let scan = folder.scan();
        self.folders.extend(scan.folders.iter().filter_map(|(folder, _)| fs::canonicalize(folder).ok()));
        let hard_linked = scan.files.iter().filter(|file| has_other_names(&file.path));
        self.hard_linked.extend(hard_linked.map(|file| file.path.to_path_buf()));
        for (symlink, _) in &scan.links {
            self.add_target(symlink);
            let target = fs::canonicalize(symlink).ok();
            self.target_folders.extend(target.and_then(|target| target.parent().map(Path::to_owned)));
        }
    }

    /// Every path to watch.
    pub(super) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        let others = self.entries.keys().filter(|folder| !self.folders.contains(*folder));
        self.folders.iter().chain(others).chain(&self.hard_linked)
    }

    /// Every folder that holds a file of the library.
    pub(super) fn sources(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().chain(&self.target_folders)
    }

    /// Whether an event at a path may change the library.
    pub(super) fn is_relevant(&self, path: &Path, may_be_folder: bool) -> bool {
        let is_watched = |path: &Path| self.folders.contains(path) || self.entries.contains_key(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return true };
        if is_watched(path) || !is_watched(folder) {
            return true; // a watched path itself; or the event has the name that a folder had before it was moved
        }
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        (self.folders.contains(folder) && !is_hidden && (may_be_folder || may_be_prompt(name)))
            || self.entries.get(folder).is_some_and(|names| names.contains(name))
    }

    /// Adds the folders above a path, each with the entry on the way to it. Any of them may be replaced.
    pub(super) fn add_path(&mut self, path: &Path) {
        for step in path.ancestors() {
            let (Some(folder), Some(name)) = (step.parent(), step.file_name()) else { continue };
            let Ok(folder) = fs::canonicalize(folder) else { continue };
            if self.entries.entry(folder).or_default().insert(name.to_owned()) {
                self.add_target(step);
            }
        }
    }

    /// Adds the target of a path that is a symlink.
    fn add_target(&mut self, symlink: &Path) {
        if let (Some(folder), Ok(target)) = (symlink.parent(), fs::read_link(symlink)) {
            self.add_path(&folder.join(target));
        }
    }
}

/// Whether a file with this name is a prompt in a folder of any system.
fn may_be_prompt(name: &OsStr) -> bool {
    let path = format!("folder/{}", name.to_string_lossy());
    System::ALL.into_iter().any(|system| system.prompt_file(&path).is_some())
}

fn has_other_names(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(file).is_ok_and(|file| file.nlink() > 1)
    }
    #[cfg(not(unix))]
    {
        _ = file; // std does not say
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_folders_above_a_library_and_the_targets_of_symlinks_are_watched_and_their_neighbors_are_not() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in ["prompts/git", "prompts/.git", "elsewhere/deep"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("../elsewhere/one.md", root.join("prompts/link.md")).unwrap();
        symlink(root.join("elsewhere/deep"), root.join("prompts/linked")).unwrap();
        symlink("nowhere/x.md", root.join("prompts/broken.md")).unwrap();
        symlink("loop.md", root.join("prompts/loop.md")).unwrap();
        let mut paths = WatchPaths::default();
        let system = System::PromptExpander;
        paths.add_folder(&Folder::new(root.join("prompts"), system, true, &Default::default()));
        for (path, is_relevant) in [
            ("prompts", true),
            ("prompts/new.md", true),
            ("prompts/git", true),
            ("prompts/git/x.md", true),
            ("prompts/.git", false),
            ("prompts/.x.md.swp", false),
            ("neighbor", false),
            ("elsewhere", true),
            ("elsewhere/one.md", true),
            ("elsewhere/two.md", false),
            ("elsewhere/deep", true),
            ("elsewhere/deep/any.md", true),
            ("prompts/nowhere", true),
        ] {
            assert_eq!(paths.is_relevant(&root.join(path), true), is_relevant, "{path}");
        }
        for (path, is_relevant) in [("prompts/notes.txt", false), ("prompts/new.md", true), ("elsewhere/one.md", true)]
        {
            assert_eq!(paths.is_relevant(&root.join(path), false), is_relevant, "{path}, a file");
        }
        assert!(paths.all().any(|path| *path == root.parent().unwrap()));
        assert!(paths.all().all(|path| !path.ends_with(".git")));
    }
}
