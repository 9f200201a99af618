//! Lists the prompt files in a folder. Opens only those whose suffix other programs use, too.

use super::cache::Trace;
use super::memory_files::{MemoryFiles, PATH_LIST};
use super::open::{BROKEN_LINK, BROKEN_LINK_FIX, is_broken_link};
use super::prompt_file::Files;
use super::root::{FileName, FolderChain, MAX_ENTRIES, NamedFile, PromptFile, is_hidden};
use super::test_files::{is_test_file, test_file};
use crate::library::source::Listing;
use crate::prompt::{
    Diagnostic, Kind, LOWER_CASE_SKILL, LOWER_CASE_SKILL_FIX, MAX_NAME_FOLDERS, Name,
};
use crate::wording::full_path;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::{DirEntry, WalkDir};

/// The maximum number of symlinks to folders that one scan follows. Symlinks between folders can
/// create far more paths than there are files.
pub const MAX_LINKED_FOLDERS: usize = 1_000;

/// Values of `is_linked`: whether a file, or a folder above it, is a symlink.
const LINKED: bool = true;
const NOT_LINKED: bool = false;

/// Lists the prompts and test files in a folder, and the problems with their paths. Reads folders
/// and symlinks, but opens no files, except those with an ambiguous suffix, such as `.toml`, and
/// small ones in agents' folders.
pub(crate) fn scan(files: &Arc<Files>, trace: &mut Trace) -> Listing {
    if let Some(memory_files) = &files.memory_files {
        return scan_memory(files, memory_files, trace);
    }
    let root = &files.root;
    trace.record(&root.path);
    if let Some(problem) = root.problem() {
        // No stamp reveals that a problem such as "too many open files" is over.
        trace.mark_uncacheable();
        return Listing {
            problems: vec![problem],
            ..Listing::default()
        };
    }
    let mut scan = Scan::new(files, trace);
    scan.report_if_root_is_prompt();
    let root_depth = 0;
    scan.open_folder(&root.path, root_depth);
    scan.add_entries();
    scan.into_listing()
}

/// Lists the prompts and test files in memory.
fn scan_memory(files: &Arc<Files>, memory_files: &Arc<MemoryFiles>, trace: &mut Trace) -> Listing {
    trace.record_memory_file(memory_files, PATH_LIST);
    let mut scan = Scan::new(files, trace);
    for path in memory_files.paths() {
        scan.add_file(&files.root.path.join(&*path), NOT_LINKED);
    }
    scan.into_listing()
}

/// The state of a scan.
///
/// walkdir walks a folder, but doesn't follow symlinks here: it would open their targets to detect
/// cycles, and opening something that has just become a FIFO blocks forever. Instead, a linked
/// folder is pushed onto `stack` and walked before the rest of the folder that contains the link.
struct Scan<'f> {
    files: &'f Arc<Files>,
    trace: &'f mut Trace,
    /// The prompts so far. If several files have the same name, the one whose path is first in byte
    /// order.
    found: BTreeMap<Name, PromptFile>,
    test_paths: Vec<PathBuf>,
    listing: Listing,
    /// The prompts folder, followed by the linked folders being walked, innermost last.
    stack: Vec<OpenFolder>,
    /// The folders from the prompts folder down to the parent of the current entry.
    chain: FolderChain,
    /// How many symlinks to folders were found so far.
    linked_folders: usize,
}

/// The prompts folder or a linked folder, while it is walked recursively.
struct OpenFolder {
    entries: walkdir::IntoIter,
    /// Its depth below the prompts folder, which has depth 0.
    depth: usize,
}

/// An entry of a folder, or the error from reading it.
struct ScannedEntry {
    entry: walkdir::Result<DirEntry>,
    /// Its depth below the prompts folder. Direct children have depth 1.
    depth: usize,
}

/// Where a symlink leads.
enum LinkTarget {
    Folder,
    File,
    /// The symlink is broken, forms a cycle, or leads out of the readable folders. This has already
    /// been reported.
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
            chain: FolderChain::starting_at(&files.root.path),
            linked_folders: 0,
        }
    }

    /// Sorts the results, which were collected in the order of the file system.
    fn into_listing(self) -> Listing {
        let mut listing = self.listing;
        for (name, file) in self.found {
            listing.found.push(self.files.handle_for(name, file));
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

    /// Reports an error if the root itself is a prompt, such as a skill. The name of that prompt
    /// would come from the folder above, which is not read.
    fn report_if_root_is_prompt(&mut self) {
        let root = &self.files.root;
        for file in root.folder_prompt_files(&root.path, self.trace) {
            if !root.name_of(&file.path).is_of_prompt() {
                let message = "this folder is itself a prompt, not a folder of prompts";
                self.report(
                    &file.path,
                    Kind::Invalid,
                    message,
                    "pass its parent folder instead",
                );
            }
        }
    }

    /// Adds everything in the prompts folder, recursively. Stops after [`MAX_ENTRIES`] entries, and
    /// reports that the rest is skipped.
    fn add_entries(&mut self) {
        let root = self.files.root.path.clone();
        let mut entry_count = 0;
        while let Some(ScannedEntry { entry, depth }) = self.next_entry() {
            if entry_count == MAX_ENTRIES {
                let limit = format!("more than {MAX_ENTRIES} files and folders");
                self.report_skipped(&root, &limit, "name a smaller folder");
                break;
            }
            entry_count += 1;
            match entry {
                Ok(entry) => self.add_entry(&entry, depth),
                Err(error) => self.add_error(error.path().unwrap_or(&root), error.io_error()),
            }
        }
        if self.has_too_many_linked_folders() {
            let limit = format!("more than {MAX_LINKED_FOLDERS} symlinks to folders");
            self.report_skipped(&root, &limit, "delete symlinks between the folders");
        }
    }

    /// Starts to walk a folder. The walk of the current folder continues afterwards.
    fn open_folder(&mut self, folder: &Path, depth: usize) {
        let entries = WalkDir::new(folder).min_depth(1).into_iter();
        self.stack.push(OpenFolder { entries, depth });
    }

    /// Returns the next entry of the innermost open folder, closing folders that have no more
    /// entries. Returns `None` at the end of the scan.
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

    /// Returns whether the current entry was reached through a symlink.
    fn is_in_linked_folder(&self) -> bool {
        self.stack.len() > 1
    }

    /// Tells walkdir not to descend into the folder that it returned last.
    fn skip_folder(&mut self) {
        if let Some(folder) = self.stack.last_mut() {
            folder.entries.skip_current_dir();
        }
    }

    /// Adds a file, a folder, or the target of a symlink. Skips hidden ones. `depth` is that of
    /// [`ScannedEntry`].
    fn add_entry(&mut self, entry: &DirEntry, depth: usize) {
        let path = entry.path();
        if is_hidden(path) {
            if entry.file_type().is_dir() {
                self.skip_folder();
            }
            return;
        }
        self.chain.truncate_to(depth.saturating_sub(1)); // the depth of the parent
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
            LinkTarget::File => self.add_file(path, LINKED),
            LinkTarget::NotFollowed => {}
        }
    }

    /// Returns where a symlink leads: to a file, to a folder, or nowhere that is read. In the last
    /// case, this has already been reported.
    ///
    /// The target of a file is not checked here, but when it is read.
    fn follow(&mut self, link: &Path) -> LinkTarget {
        self.files.root.record_link(link, self.trace);
        let target = match fs::metadata(link) {
            Ok(target) => target,
            Err(error) => {
                self.add_error(link, Some(&error));
                return LinkTarget::NotFollowed;
            }
        };
        if !target.is_dir() {
            return LinkTarget::File;
        }
        if self.has_too_many_linked_folders() {
            // `add_linked_folder` won't read it, so it needs no check, which may be slow.
            return LinkTarget::Folder;
        }
        if let Some(problem) = self.folder_link_problem(link) {
            self.listing.problems.push(problem);
            return LinkTarget::NotFollowed;
        }
        LinkTarget::Folder
    }

    /// Returns why a symlink to a folder must not be followed: it leads out of the readable
    /// folders, or forms a cycle. `None` if it may be followed.
    fn folder_link_problem(&self, link: &Path) -> Option<Diagnostic> {
        let target = self.chain.resolve(link);
        if let Err(escape) = self.files.root.reach.check(&target) {
            return Some(escape.in_file(link));
        }
        let ancestor = self.chain.find_ancestor_linked_to(link)?;
        let ancestor = full_path(&ancestor);
        let message =
            format!("the symlink points back to {ancestor} (a cycle), and is not followed");
        let cycle = Diagnostic::new(Kind::Warning, message, "delete the symlink");
        Some(cycle.in_file(link))
    }

    /// Returns whether the scan has found more symlinks to folders than it follows.
    fn has_too_many_linked_folders(&self) -> bool {
        self.linked_folders > MAX_LINKED_FOLDERS
    }

    /// Adds an ordinary folder. walkdir returns its entries next, unless it is skipped here.
    fn add_folder(&mut self, path: &Path, depth: usize) {
        if !self.may_enter(path, depth) {
            self.skip_folder();
            return;
        }
        self.trace.record(path);
        self.chain.push_folder(path);
        let is_prompt = self.add_folder_prompt_files(path, self.is_in_linked_folder());
        if is_prompt {
            self.skip_folder();
        }
    }

    /// Adds the target of a symlink to a folder. Beyond [`MAX_LINKED_FOLDERS`], it is only counted.
    fn add_linked_folder(&mut self, path: &Path, depth: usize) {
        if !self.may_enter(path, depth) {
            return;
        }
        self.linked_folders += 1;
        if self.has_too_many_linked_folders() {
            return;
        }
        self.trace.record(path);
        self.chain.push_link_target(path);
        let is_prompt = self.add_folder_prompt_files(path, LINKED);
        if !is_prompt {
            self.open_folder(path, depth);
        }
    }

    /// Returns whether to read a folder: not if the format has no subfolders, nor if it is nested
    /// too deeply. The latter is reported.
    fn may_enter(&mut self, folder: &Path, depth: usize) -> bool {
        if depth > MAX_NAME_FOLDERS {
            let limit = format!("more than {MAX_NAME_FOLDERS} folders inside each other");
            self.report_skipped(folder, &limit, "move its prompts up");
        }
        self.files.root.format.is_recursive && depth <= MAX_NAME_FOLDERS
    }

    /// Adds the files that make a folder itself a prompt, such as its `SKILL.md`. Returns false if
    /// there are none, so that the folder is an ordinary one.
    fn add_folder_prompt_files(&mut self, folder: &Path, is_linked: bool) -> bool {
        let files = self.files.root.folder_prompt_files(folder, self.trace);
        for file in &files {
            self.add_file(&file.path, is_linked || file.is_link);
        }
        !files.is_empty()
    }

    /// Adds a file as a prompt, a test file, or a file without a suffix, judging by its name.
    /// Ignores any other file.
    fn add_file(&mut self, path: &Path, is_linked: bool) {
        match self.files.root.name_of(path) {
            FileName::Prompt(named) => return self.add_prompt_file(named, path, is_linked),
            FileName::Untypable(diagnostic) => return self.listing.problems.push(diagnostic),
            FileName::NotAPrompt => {}
        }
        let has_no_suffix = path.extension().is_none();
        if is_test_file(path) {
            self.test_paths.push(path.to_owned()); // its target is checked when it is read
        } else if self.is_lower_case_skill(path) {
            let message = LOWER_CASE_SKILL;
            self.report(path, Kind::Warning, message, LOWER_CASE_SKILL_FIX);
        } else if has_no_suffix && !self.files.root.is_read_only() && !is_linked {
            self.listing.without_suffix.push(path.to_owned());
        }
    }

    /// Returns whether a file would be a skill in this folder if its name were in upper case.
    fn is_lower_case_skill(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        let upper_case = path.with_file_name("SKILL.md");
        name.eq_ignore_ascii_case("SKILL.md") && self.files.root.name_of(&upper_case).is_of_prompt()
    }

    /// Adds a prompt file. If another file has the same name, the path that is first in byte order
    /// wins, and the other one is reported. Leaves out a file of another program, with a hint.
    fn add_prompt_file(&mut self, named: NamedFile, path: &Path, is_linked: bool) {
        let file = PromptFile {
            path: path.into(),
            kind: named.kind,
            may_be_linked: is_linked,
        };
        if let Some(hint) = self.files.non_prompt_hint(&file, self.trace) {
            self.listing.problems.push(hint);
            return;
        }
        if self.files.root.is_menu_entry(&file, self.trace) {
            return;
        }
        match self.found.entry(named.name) {
            Entry::Vacant(entry) => {
                entry.insert(file);
            }
            Entry::Occupied(mut entry) => {
                let loser = if path_bytes(path) < path_bytes(&entry.get().path) {
                    entry.insert(file) // returns the file that had the name so far
                } else {
                    file
                };
                let winner = full_path(&entry.get().path);
                let message = format!("{winner} has the same name, and comes first");
                self.report(
                    &loser.path,
                    Kind::NameCollision,
                    message,
                    "rename one of the two",
                );
            }
        }
    }

    /// Reports an entry that can't be read. Ignores hidden entries, and those that have just been
    /// deleted.
    ///
    /// A broken symlink with the name of a prompt is added as one, which reports the error when it
    /// is read.
    fn add_error(&mut self, path: &Path, error: Option<&io::Error>) {
        if is_hidden(path) && path != self.files.root.path {
            return; // e.g. the lock files of Emacs, which are broken symlinks
        }
        let is_link = path.is_symlink();
        if is_link && self.files.root.name_of(path).is_of_prompt() && fs::metadata(path).is_err() {
            self.add_file(path, LINKED);
            return;
        }
        let is_missing = error.is_some_and(is_broken_link);
        if is_missing && is_link {
            self.report(path, Kind::BrokenLink, BROKEN_LINK, BROKEN_LINK_FIX);
            return;
        }
        if is_missing {
            return; // deleted since its folder was read
        }
        // Too many open files, out of memory, a failing disk: no stamp reveals that it is over.
        self.trace.mark_uncacheable();
        self.report_unreadable(path, error);
    }

    /// Reports an entry that can't be read because of `error`, or for an unknown reason.
    fn report_unreadable(&mut self, path: &Path, error: Option<&io::Error>) {
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

    /// Reports that a folder exceeds `limit`, so that the rest of it is skipped.
    fn report_skipped(&mut self, path: &Path, limit: &str, fix: &str) {
        let message = format!("{limit}; the rest is skipped");
        self.report(path, Kind::Unreadable, message, fix);
    }
}

/// Returns the bytes of a path, for sorting.
fn path_bytes(path: &Path) -> &[u8] {
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
