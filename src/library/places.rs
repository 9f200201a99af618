//! Where news of a library comes from: the folders that are looked into, the way to each of them, and what links lead
//! to. All by their real paths, as the system names them in its news.

use super::folder::Folder;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders, and which of their entries matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Folders of prompts: every entry that is not hidden matters.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Other folders, of which only these entries matter.
    points: BTreeMap<PathBuf, BTreeSet<OsString>>,
    /// Files that can be written to under a name of which a folder of ours tells nothing: hard links.
    files: BTreeSet<PathBuf>,
    /// Those of `points` that hold what links lead to.
    targets: BTreeSet<PathBuf>,
}

impl Places {
    /// The places of directories, and of what may make others the right ones.
    pub(super) fn of<'d>(dirs: impl Iterator<Item = &'d Folder>, ways: impl Iterator<Item = &'d Path>) -> Places {
        let mut places = Places::default();
        for way in ways {
            places.add_way(way);
        }
        for dir in dirs {
            places.add_way(&dir.path);
            let scan = dir.scan();
            places.folders.extend(scan.folders.iter().filter_map(|(folder, _)| fs::canonicalize(folder).ok()));
            let linked = scan.files.iter().filter(|file| has_other_names(&file.path));
            places.files.extend(linked.map(|file| file.path.to_path_buf()));
            for (link, _) in &scan.links {
                places.add_target(link);
                places.targets.extend(fs::canonicalize(link).ok().and_then(|file| file.parent().map(Path::to_owned)));
            }
        }
        places
    }

    /// Every folder, and every file, that news is wanted of.
    pub(super) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        let points = self.points.keys().filter(|point| !self.folders.contains(*point));
        self.folders.iter().chain(points).chain(&self.files)
    }

    /// Every folder that holds a file of the library.
    pub(super) fn sources(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().chain(&self.targets)
    }

    /// Whether news of a path may change the library.
    pub(super) fn matter(&self, path: &Path) -> bool {
        let is_place = |path: &Path| self.folders.contains(path) || self.points.contains_key(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return true };
        if is_place(path) || !is_place(folder) {
            return true; // news of a place itself; or under a name that a place had before it was moved
        }
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        (self.folders.contains(folder) && !is_hidden)
            || self.points.get(folder).is_some_and(|names| names.contains(name))
    }

    /// The folders that lead to a path, each with the entry that leads on. Any of them may be swapped.
    fn add_way(&mut self, path: &Path) {
        for step in path.ancestors() {
            let (Some(folder), Some(name)) = (step.parent(), step.file_name()) else { continue };
            let Ok(folder) = fs::canonicalize(folder) else { continue };
            if self.points.entry(folder).or_default().insert(name.to_owned()) {
                self.add_target(step);
            }
        }
    }

    /// The way to what a link names, if the path is one.
    fn add_target(&mut self, link: &Path) {
        if let (Some(folder), Ok(target)) = (link.parent(), fs::read_link(link)) {
            self.add_way(&folder.join(target));
        }
    }
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
    fn the_way_to_a_directory_and_the_targets_of_links_matter_and_their_neighbors_do_not() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for folder in ["prompts/git", "prompts/.git", "elsewhere/deep"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("../elsewhere/one.md", root.join("prompts/link.md")).unwrap();
        symlink(root.join("elsewhere/deep"), root.join("prompts/linked")).unwrap();
        symlink("nowhere/x.md", root.join("prompts/broken.md")).unwrap();
        symlink("loop.md", root.join("prompts/loop.md")).unwrap();
        let places =
            Places::of([&Folder::new(root.join("prompts"), true, &Default::default())].into_iter(), std::iter::empty());
        for (path, matters) in [
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
            assert_eq!(places.matter(&root.join(path)), matters, "{path}");
        }
        assert!(places.all().any(|place| *place == root.parent().unwrap()));
        assert!(places.all().all(|place| !place.ends_with(".git")));
    }
}
