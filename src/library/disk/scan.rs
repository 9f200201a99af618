//! Scans a folder for prompt files.

use super::cache::Trace;
use super::memory_files::{MemoryFiles, PATH_LIST};
use super::open::{BROKEN_LINK, BROKEN_LINK_FIX, is_broken_link};
use super::prompt_file::Files;
use super::root::{FolderChain, MAX_ENTRIES, NamedFile, PromptFile, is_hidden};
use super::test_files::{is_test_file, test_file};
use crate::library::source::Listing;
use crate::prompt::{Diagnostic, Kind, MAX_NAME_FOLDERS, Name};
use crate::wording::full_path;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::{DirEntry, WalkDir};

/// How many symlinks to folders one scan follows. Symlinks between folders can make many more paths
/// than there are files.
pub const MAX_LINKED_FOLDERS: usize = 1_000;

/// Returns the prompts and the test files of a folder, with what is wrong with their paths. Folders
/// and symlinks are read, files are not.
pub(crate) fn scan(files: &Arc<Files>, trace: &mut Trace) -> Listing {
    if let Some(rows) = &files.rows {
        return scan_rows(files, rows, trace);
    }
    let root = &files.root;
    trace.record(&root.path);
    if let Some(problem) = root.problem() {
        trace.mark_uncacheable(); // no stamp shows when too many open files, for example, are closed
        return Listing {
            problems: vec![problem],
            ..Listing::default()
        };
    }
    let mut scan = Scan::new(files, trace);
    scan.report_if_prompt();
    scan.enter(&root.path, 0);
    scan.add_entries();
    scan.into_listing()
}

/// Returns the prompts of a folder in memory.
fn scan_rows(files: &Arc<Files>, rows: &Arc<MemoryFiles>, trace: &mut Trace) -> Listing {
    trace.record_memory_file(rows, PATH_LIST);
    let mut scan = Scan::new(files, trace);
    for path in rows.paths() {
        scan.add_file(&files.root.path.join(&*path), false);
    }
    scan.into_listing()
}

/// A scan of the prompts folder and, one on top of the other, of the folders that symlinks point
/// to.
///
/// walkdir could follow symlinks itself, but it opens what it follows to detect cycles; and opening
/// what has just become a FIFO would block forever.
struct Scan<'f> {
    files: &'f Arc<Files>,
    trace: &'f mut Trace,
    /// The prompts. Of several files with one name, this is the first in byte order.
    found: BTreeMap<Name, PromptFile>,
    test_paths: Vec<PathBuf>,
    listing: Listing,
    /// The prompts folder, and the linked folders that are being read, the innermost last.
    stack: Vec<OpenFolder>,
    /// The folders from the prompts folder down to that of the entry that was read last.
    chain: FolderChain,
    /// How many symlinks to folders were found.
    linked_folders: usize,
}

/// The prompts folder or a linked folder, which is being read with the folders in it.
struct OpenFolder {
    entries: walkdir::IntoIter,
    /// How many folders below the prompts folder it is.
    depth: usize,
}

/// An entry of a folder, or why it cannot be read.
struct ScannedEntry {
    entry: walkdir::Result<DirEntry>,
    /// How many folders below the prompts folder it is; 1 is directly in it.
    depth: usize,
}

/// What a symlink points to.
enum LinkTarget {
    Folder,
    File,
    /// The symlink is broken, is a cycle, or leads out of what may be read. That was reported.
    NotFollowed,
}

impl<'f> Scan<'f> {
    fn new(files: &'f Arc<Files>, trace: &'f mut Trace) -> Scan<'f> {
        Scan {
            files,
            trace,
            found: BTreeMap::new(),
            test_paths: Vec::new(),
            listing: Listing::default(),
            stack: Vec::new(),
            chain: FolderChain::of_root(&files.root.path),
            linked_folders: 0,
        }
    }

    /// Returns what was found, sorted. Until then, it has the order of the file system.
    fn into_listing(self) -> Listing {
        let mut listing = self.listing;
        for (name, file) in self.found {
            listing.found.push(self.files.found(name, file));
        }
        let mut test_paths = self.test_paths;
        test_paths.sort();
        for path in test_paths {
            listing
                .tests
                .push(test_file(self.files, path, &listing.found));
        }
        listing.problems.sort_by(|a, b| a.file.cmp(&b.file));
        listing
    }

    /// Reports an error if the folder that the user has named is itself a prompt, such as a skill.
    /// Such a prompt gets its name from the folder above, which is not read.
    fn report_if_prompt(&mut self) {
        let root = &self.files.root;
        for file in root.files_of_prompt(&root.path, self.trace) {
            if root.name_of(&file.path).is_none() {
                let message =
                    "the folder that was named is a prompt itself, and not a folder of prompts";
                self.report(
                    &file.path,
                    Kind::Invalid,
                    message,
                    "name the folder above it",
                );
            }
        }
    }

    /// Adds everything that is in the prompts folder, at any depth. Reports if it has more than
    /// [`MAX_ENTRIES`] files and folders, or [`MAX_LINKED_FOLDERS`] symlinks to folders, and leaves
    /// out the rest.
    fn add_entries(&mut self) {
        let root = self.files.root.path.clone();
        let mut count = 0;
        while let Some(ScannedEntry { entry, depth }) = self.next_entry() {
            if count == MAX_ENTRIES {
                let limit = format!("more than {MAX_ENTRIES} files and folders");
                self.report_skipped(&root, &limit, "name a smaller folder");
                break;
            }
            count += 1;
            match entry {
                Ok(entry) => self.add_entry(&entry, depth),
                Err(error) => self.add_error(error.path().unwrap_or(&root), error.io_error()),
            }
        }
        if self.linked_folders > MAX_LINKED_FOLDERS {
            let limit = format!("more than {MAX_LINKED_FOLDERS} symlinks to folders");
            self.report_skipped(&root, &limit, "delete symlinks between the folders");
        }
    }

    /// Begins to read a folder. The rest of the folder that was being read follows after it.
    fn enter(&mut self, folder: &Path, depth: usize) {
        let entries = WalkDir::new(folder).min_depth(1).into_iter();
        self.stack.push(OpenFolder { entries, depth });
    }

    /// Returns the next entry of the folder that was entered last. If that has no more, it goes on
    /// with the folder that was entered before. Returns `None` if all folders are read.
    fn next_entry(&mut self) -> Option<ScannedEntry> {
        while let Some(folder) = self.stack.last_mut() {
            let Some(entry) = folder.entries.next() else {
                self.stack.pop();
                continue;
            };
            let depth_in_folder = match &entry {
                Ok(entry) => entry.depth(),
                Err(error) => error.depth(),
            };
            let depth = folder.depth + depth_in_folder;
            return Some(ScannedEntry { entry, depth });
        }
        None
    }

    /// Returns whether the path of the entry that was read last has a symlink above it.
    fn is_in_linked_folder(&self) -> bool {
        self.stack.len() > 1
    }

    /// Leaves out what is in the folder that was read last.
    fn skip_folder(&mut self) {
        if let Some(folder) = self.stack.last_mut() {
            folder.entries.skip_current_dir();
        }
    }

    /// Adds a file or a folder, or what a symlink points to. Hidden files and folders are left out.
    /// `depth` says how many folders below the prompts folder the entry is; 1 is directly in it.
    fn add_entry(&mut self, entry: &DirEntry, depth: usize) {
        let path = entry.path();
        if is_hidden(path) {
            if entry.file_type().is_dir() {
                self.skip_folder();
            }
            return;
        }
        self.chain.back_to(depth.saturating_sub(1));
        if !entry.path_is_symlink() {
            if entry.file_type().is_dir() {
                self.add_folder(path, depth);
            } else {
                self.add_file(path, self.is_in_linked_folder());
            }
            return;
        }
        match self.follow(path) {
            LinkTarget::Folder => self.add_linked_folder(path, depth),
            LinkTarget::File => self.add_file(path, true),
            LinkTarget::NotFollowed => {}
        }
    }

    /// Returns what a symlink points to. If the symlink is not followed, this reports why.
    fn follow(&mut self, link: &Path) -> LinkTarget {
        let root = &self.files.root;
        root.record_link(link, self.trace);
        match fs::metadata(link) {
            Ok(target) if target.is_dir() => {}
            Ok(_) => return LinkTarget::File,
            Err(error) => {
                self.add_error(link, Some(&error));
                return LinkTarget::NotFollowed;
            }
        }
        if self.linked_folders > MAX_LINKED_FOLDERS {
            return LinkTarget::Folder; // beyond the limit, it is not read
        }
        if let Err(escape) = root.reach.check(&self.chain.resolve(link)) {
            self.listing.problems.push(escape.in_file(link));
            return LinkTarget::NotFollowed;
        }
        if let Some(ancestor) = self.chain.cycle(link) {
            let ancestor = full_path(ancestor);
            let message =
                format!("the symlink points back to {ancestor} (a cycle), and is not followed");
            self.report(link, Kind::Warning, message, "delete the symlink");
            return LinkTarget::NotFollowed;
        }
        LinkTarget::Folder
    }

    /// Adds a folder that is no symlink. walkdir reads its entries next, unless it is skipped.
    fn add_folder(&mut self, path: &Path, depth: usize) {
        if !self.may_enter(path, depth) {
            self.skip_folder();
            return;
        }
        self.trace.record(path);
        self.chain.enter(path, false);
        let is_prompt = self.add_files_of_prompt(path, self.is_in_linked_folder());
        if is_prompt {
            self.skip_folder();
        }
    }

    /// Adds a folder that a symlink points to, and begins to read it. Beyond
    /// [`MAX_LINKED_FOLDERS`], such folders are only counted.
    fn add_linked_folder(&mut self, path: &Path, depth: usize) {
        if !self.may_enter(path, depth) {
            return;
        }
        self.linked_folders += 1;
        if self.linked_folders > MAX_LINKED_FOLDERS {
            return;
        }
        self.trace.record(path);
        self.chain.enter(path, true);
        let is_prompt = self.add_files_of_prompt(path, true);
        if !is_prompt {
            self.enter(path, depth);
        }
    }

    /// Returns whether a folder is to be read. It is not if the format of the prompts has no
    /// subfolders, or if the folder is too deep, which is reported.
    fn may_enter(&mut self, folder: &Path, depth: usize) -> bool {
        if depth > MAX_NAME_FOLDERS {
            let limit = format!("more than {MAX_NAME_FOLDERS} folders inside each other");
            self.report_skipped(folder, &limit, "move its prompts up");
        }
        self.files.root.format.is_recursive && depth <= MAX_NAME_FOLDERS
    }

    /// Adds the files that make a folder itself a prompt, such as its `SKILL.md`, and returns
    /// whether there are any. If so, nothing else in the folder is a prompt.
    fn add_files_of_prompt(&mut self, folder: &Path, is_linked: bool) -> bool {
        let files = self.files.root.files_of_prompt(folder, self.trace);
        for file in &files {
            self.add_file(&file.path, is_linked || file.is_link);
        }
        !files.is_empty()
    }

    /// Adds a file to the prompts, the test files, or the files without a suffix, as its name says.
    /// Any other file is left out.
    fn add_file(&mut self, path: &Path, is_linked: bool) {
        match self.files.root.name_of(path) {
            Some(Ok(named)) => return self.add_prompt_file(named, path, is_linked),
            Some(Err(diagnostic)) => return self.listing.problems.push(diagnostic),
            None => {}
        }
        let has_no_suffix = path.extension().is_none();
        if is_test_file(path) {
            self.test_paths.push(path.to_owned()); // a symlink is checked when it is read
        } else if has_no_suffix && !self.files.root.is_read_only() && !is_linked {
            self.listing.bare.push(path.to_owned());
        }
    }

    /// Adds a prompt file. If two files have the same name, the one whose path is first in byte
    /// order gets the name, and the other one is reported.
    fn add_prompt_file(&mut self, named: NamedFile, path: &Path, is_linked: bool) {
        let mut file = PromptFile {
            path: path.into(),
            kind: named.kind,
            is_linked,
        };
        match self.found.entry(named.name) {
            Entry::Vacant(entry) => {
                entry.insert(file);
            }
            Entry::Occupied(mut entry) => {
                if bytes_of(path) < bytes_of(&entry.get().path) {
                    file = entry.insert(file); // `file` is the old one now
                }
                let first = full_path(&entry.get().path);
                let message = format!("{first} has the same name, and comes first");
                self.report(
                    &file.path,
                    Kind::NameCollision,
                    message,
                    "rename one of the two",
                );
            }
        }
    }

    /// Reports a file or folder that cannot be read. It is left out if it was just deleted, or is
    /// hidden. A prompt whose symlink is broken is added instead, and reports the error itself.
    fn add_error(&mut self, path: &Path, error: Option<&io::Error>) {
        if is_hidden(path) && path != self.files.root.path {
            return; // such as the lock files of Emacs, which are broken links
        }
        let is_broken = error.is_some_and(is_broken_link);
        if path.is_symlink() {
            if self.files.root.name_of(path).is_some() && fs::metadata(path).is_err() {
                self.add_file(path, true);
                return;
            }
            if is_broken {
                self.report(path, Kind::Warning, BROKEN_LINK, BROKEN_LINK_FIX);
                return;
            }
        }
        if is_broken {
            return; // it was deleted after its folder was read
        }
        // Too many open files, no memory, a failing disk: no stamp shows when that ends, so the
        // list is not kept.
        self.trace.mark_uncacheable();
        let Some(error) = error else {
            let message = "cannot be read: for an unknown reason";
            self.report(path, Kind::Unreadable, message, "try again");
            return;
        };
        let fix = if error.kind() == ErrorKind::PermissionDenied {
            "correct its permissions"
        } else {
            "try again"
        };
        let message = format!("cannot be read: {error}");
        self.report(path, Kind::Unreadable, message, fix);
    }

    /// Adds a problem with a file or folder to the listing.
    fn report(&mut self, path: &Path, kind: Kind, message: impl Into<String>, fix: &str) {
        let problem = Diagnostic::new(kind, message, fix);
        self.listing.problems.push(problem.in_file(path));
    }

    /// Reports that a folder has more than `limit` allows, so that the rest of it is left out.
    fn report_skipped(&mut self, path: &Path, limit: &str, fix: &str) {
        let message = format!("{limit}; the rest is skipped");
        self.report(path, Kind::Unreadable, message, fix);
    }
}

/// Returns the bytes of a path. Files with the same name are ordered by them.
fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::disk::reach::Reach;
    use crate::library::disk::root::Root;
    use crate::library::source::{About, Layer};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Paths of files of any format, in few folders with few names, so that many of them meet.
    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        let folder = prop::sample::select(vec!["a", "b", "a.prompt", "a.md"]);
        let end = prop::sample::select(vec![
            ".md",
            ".MD",
            ".mD",
            ".prompt.md",
            ".prompt",
            ".toml",
            ".instructions.md",
            ".txt",
            "/SKILL.md",
            "/system.md",
            "/SKILL",
        ]);
        let path = (prop::collection::vec(folder, 1..4), end)
            .prop_map(|(folders, end)| folders.join("/") + end);
        prop::collection::btree_set(path, 0..12)
    }

    /// Returns the names that a prompt in one of these files may have: each path, each folder in
    /// it, and all of them without what follows one of their dots.
    fn possible_names(paths: &BTreeSet<String>) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        for path in paths {
            let ends = path.match_indices(['.', '/']).map(|(index, _)| index);
            for end in ends.chain([path.len()]) {
                names.extend(Name::new(&path[..end]));
            }
        }
        names
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_scan_and_the_lookup_of_a_name_find_the_same_file_in_a_folder_of_any_format(paths in paths()) {
            let folder = tempfile::tempdir().unwrap();
            for path in &paths {
                let path = folder.path().join(path);
                // A file may be where another path has a folder.
                if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                    fs::write(path, "x").unwrap();
                }
            }
            for format in crate::prompt::FORMATS {
                let root = Root::new(folder.path().to_owned(), format, Reach::Unrestricted);
                let about = About::new(Layer::USER, format, None);
                let files = Arc::new(Files::new(root, about));
                let listed = scan(&files, &mut Trace::default()).found;
                let mut count = 0;
                for name in possible_names(&paths) {
                    let resolved = files.root.resolve(&name, &mut Trace::default());
                    let resolved = resolved.map(|file| file.path.to_path_buf());
                    let listed = listed.iter().find(|found| found.name == name);
                    let listed = listed.and_then(|found| found.location().file);
                    count += usize::from(listed.is_some());
                    prop_assert_eq!(resolved, listed, "{} {}", format.name, name);
                }
                prop_assert_eq!(count, listed.len(), "{}: {:?}", format.name, listed);
            }
        }
    }
}
