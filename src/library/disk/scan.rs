//! Scans a folder for prompt files.

use super::cache::Trace;
use super::open::{BROKEN_LINK, BROKEN_LINK_FIX, is_broken_link};
use super::prompt_file::Files;
use super::root::{MAX_ENTRIES, PromptFile, Way, is_hidden};
use super::rows::LIST;
use super::test_files::{is_test_file, test_file};
use crate::library::source::Listing;
use crate::prompt::{Diagnostic, Kind, MAX_DEPTH, Name};
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

/// Scans a folder of prompts: folders and symlinks are looked at, files are not.
pub(crate) fn scan(files: &Arc<Files>, is_required: bool, trace: &mut Trace) -> Listing {
    let root = &files.root;
    if let Some(rows) = &files.rows {
        trace.look_at(rows, LIST);
        let mut walk = Walk::new(files, trace);
        rows.paths()
            .iter()
            .for_each(|path| walk.add_file(&root.path.join(&**path), false));
        return walk.listing();
    }
    trace.look(&root.path);
    if let Some(missing) = root.missing(is_required) {
        if missing.kind != Kind::Missing {
            trace.distrust();
        }
        return Listing {
            problems: vec![missing],
            ..Listing::default()
        };
    }
    let mut walk = Walk::new(files, trace);
    walk.refuse_prompt();
    walk.enter(&root.path, 0);
    walk.run();
    walk.listing()
}

/// A walk through the prompts folder and, one on top of the other, through the folders that
/// symlinks point to. walkdir could follow symlinks itself, but it opens what it follows to detect
/// cycles; and opening what has just become a FIFO would block forever.
struct Walk<'f> {
    files: &'f Arc<Files>,
    trace: &'f mut Trace,
    /// Of several files with one name, the first in byte order.
    found: BTreeMap<Name, PromptFile>,
    tests: Vec<PathBuf>,
    listing: Listing,
    /// Each with the depth of its folder.
    stack: Vec<(walkdir::IntoIter, usize)>,
    /// To the folder of the entry that was found last.
    way: Way,
    /// How many symlinks to folders were found.
    linked_folders: usize,
}

impl<'f> Walk<'f> {
    fn new(files: &'f Arc<Files>, trace: &'f mut Trace) -> Walk<'f> {
        let (found, tests, listing) = (BTreeMap::new(), Vec::new(), Listing::default());
        Walk {
            files,
            trace,
            found,
            tests,
            listing,
            stack: Vec::new(),
            way: Way::from(&files.root.path),
            linked_folders: 0,
        }
    }

    /// What was found.
    fn listing(self) -> Listing {
        let Walk {
            files,
            found,
            mut tests,
            mut listing,
            ..
        } = self;
        tests.sort();
        listing.found = found
            .into_iter()
            .map(|(name, file)| files.found(name, file))
            .collect();
        let test_file = |path| test_file(&files.root, files.rows.clone(), path, &listing.found);
        listing.tests = tests.into_iter().map(test_file).collect();
        listing.problems.sort_by(|a, b| a.file.cmp(&b.file)); // walkdir yields the order of the file system
        listing
    }

    fn run(&mut self) {
        let root = self.files.root.path.clone();
        for count in 0.. {
            let Some((entry, depth)) = self.next() else {
                break;
            };
            if count == MAX_ENTRIES {
                self.skip(
                    &root,
                    &format!("more than {MAX_ENTRIES} files and folders"),
                    "name a smaller folder",
                );
                break;
            }
            match entry {
                Ok(entry) => self.add_entry(&entry, depth),
                Err(error) => self.add_error(error.path().unwrap_or(&root), error.io_error()),
            }
        }
        if self.linked_folders > MAX_LINKED_FOLDERS {
            let limit = format!("more than {MAX_LINKED_FOLDERS} symlinks to folders");
            self.skip(&root, &limit, "delete symlinks between the folders");
        }
    }

    fn report(&mut self, path: &Path, kind: Kind, message: impl Into<String>, fix: &str) {
        self.listing
            .problems
            .push(Diagnostic::new(kind, message, fix).in_file(path));
    }

    /// Adds a problem if the folder that was named is a prompt itself, such as a skill, and so has
    /// no name.
    fn refuse_prompt(&mut self) {
        let root = &self.files.root;
        for (file, _) in root.files_of_prompt(&root.path, self.trace) {
            if root.name_of(&file).is_none() {
                let message =
                    "the folder that was named is a prompt itself, and not a folder of prompts";
                self.report(&file, Kind::Invalid, message, "name the folder above it");
            }
        }
    }

    fn enter(&mut self, folder: &Path, depth: usize) {
        self.stack
            .push((WalkDir::new(folder).min_depth(1).into_iter(), depth));
    }

    /// The next entry, and its depth below the prompts folder.
    fn next(&mut self) -> Option<(walkdir::Result<DirEntry>, usize)> {
        while let Some((entries, depth)) = self.stack.last_mut() {
            if let Some(entry) = entries.next() {
                let below = entry
                    .as_ref()
                    .map_or_else(walkdir::Error::depth, DirEntry::depth);
                return Some((entry, *depth + below));
            }
            self.stack.pop();
        }
        None
    }

    /// Does not descend into the folder that was found last.
    fn skip_folder(&mut self) {
        if let Some((entries, _)) = self.stack.last_mut() {
            entries.skip_current_dir();
        }
    }

    fn skip(&mut self, path: &Path, limit: &str, fix: &str) {
        self.report(
            path,
            Kind::Unreadable,
            format!("{limit}; the rest is skipped"),
            fix,
        );
    }

    fn add_entry(&mut self, entry: &DirEntry, depth: usize) {
        let path = entry.path();
        let mut is_folder = entry.file_type().is_dir();
        if is_hidden(path) {
            if is_folder {
                self.skip_folder();
            }
            return;
        }
        self.way.back_to(depth.saturating_sub(1));
        let is_link = entry.path_is_symlink();
        if is_link {
            match self.follow(path) {
                Some(is_link_to_folder) => is_folder = is_link_to_folder,
                None => return,
            }
        }
        if is_folder {
            self.add_folder(path, is_link, depth);
        } else {
            let is_in_linked_folder = self.stack.len() > 1;
            self.add_file(path, is_link || is_in_linked_folder);
        }
    }

    /// Whether a symlink points to a folder; `None` if it is not followed.
    fn follow(&mut self, link: &Path) -> Option<bool> {
        let root = &self.files.root;
        root.see_through(link, self.trace);
        match fs::metadata(link) {
            Ok(target) if target.is_dir() => {}
            Ok(_) => return Some(false),
            Err(error) => {
                self.add_error(link, Some(&error));
                return None;
            }
        }
        if self.linked_folders > MAX_LINKED_FOLDERS {
            return Some(true);
        }
        if let Err(escape) = root.reach.check(&self.way.entry(link)) {
            self.listing.problems.push(escape.in_file(link));
            return None;
        }
        if let Some(ancestor) = self.way.cycle(link) {
            let ancestor = full_path(ancestor);
            let message =
                format!("the symlink points back to {ancestor} (a cycle), and is not followed");
            self.report(link, Kind::Warning, message, "delete the symlink");
            return None;
        }
        Some(true)
    }

    /// Descends into a folder, unless that is beyond a limit.
    fn add_folder(&mut self, path: &Path, is_link: bool, depth: usize) {
        let is_read = self.files.root.format.is_recursive && depth <= MAX_DEPTH;
        self.linked_folders += usize::from(is_link && is_read);
        if !is_read {
            if depth > MAX_DEPTH {
                self.skip(
                    path,
                    &format!("more than {MAX_DEPTH} folders inside each other"),
                    "move its prompts up",
                );
            }
            if !is_link {
                self.skip_folder();
            }
        } else if !is_link || self.linked_folders <= MAX_LINKED_FOLDERS {
            self.trace.look(path); // before it is read
            self.way.enter(path, is_link);
            match self.add_prompt(path, is_link || self.stack.len() > 1) {
                true if !is_link => self.skip_folder(),
                false if is_link => self.enter(path, depth),
                _ => {} // walkdir descends into it, or it is a prompt
            }
        }
    }

    /// Adds a file under its name, if it is a prompt file; of two files with one name, the first in
    /// byte order.
    fn add_file(&mut self, path: &Path, is_linked: bool) {
        let (name, kind) = match self.files.root.name_of(path) {
            Some(Ok(named)) => named,
            Some(Err(diagnostic)) => return self.listing.problems.push(diagnostic),
            None if is_test_file(path) => {
                return self.tests.push(path.to_owned()); // reading it says if it leads outside
            }
            None => {
                let is_bare = path.extension().is_none() && !self.files.root.is_read_only();
                self.listing
                    .bare
                    .extend((is_bare && !is_linked).then(|| path.to_owned()));
                return;
            }
        };
        let file = PromptFile {
            path: path.into(),
            kind,
            is_linked,
        };
        match self.found.entry(name) {
            Entry::Vacant(vacant) => _ = vacant.insert(file),
            Entry::Occupied(mut first) => {
                let bytes = |file: &PromptFile| file.path.as_os_str().as_encoded_bytes().to_vec();
                let other = if bytes(&file) < bytes(first.get()) {
                    first.insert(file)
                } else {
                    file
                };
                let message = format!(
                    "{} has the same name, and comes first",
                    full_path(&first.get().path)
                );
                self.report(&other.path, Kind::Clash, message, "rename one of the two");
            }
        }
    }

    /// Adds the files that make a folder itself a prompt, if there are any, and then nothing else
    /// in it.
    fn add_prompt(&mut self, folder: &Path, is_linked: bool) -> bool {
        let files = self.files.root.files_of_prompt(folder, self.trace);
        for (file, is_link) in &files {
            self.add_file(file, is_linked || *is_link);
        }
        !files.is_empty()
    }

    /// Adds what cannot be read, or is a broken link.
    fn add_error(&mut self, path: &Path, error: Option<&io::Error>) {
        if is_hidden(path) && path != self.files.root.path {
            return; // such as the lock files of Emacs, which are broken links
        }
        let is_link = fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
        let is_broken = error.is_some_and(is_broken_link);
        if is_link && self.files.root.name_of(path).is_some() && fs::metadata(path).is_err() {
            // It has a name; reading it says what is wrong.
            self.add_file(path, true);
        } else if is_link && is_broken {
            self.report(path, Kind::Warning, BROKEN_LINK, BROKEN_LINK_FIX);
        } else if !is_broken {
            self.trace.distrust(); // too many open files, no memory, a failing disk: no stamp shows when that ends
            let is_denied = error.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied);
            let reason =
                error.map_or_else(|| "for an unknown reason".to_owned(), ToString::to_string);
            let fix = if is_denied {
                "correct its permissions"
            } else {
                "try again"
            };
            self.report(
                path,
                Kind::Unreadable,
                format!("cannot be read: {reason}"),
                fix,
            );
        } // else it was deleted after its folder was read
    }
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
        let part = || prop::sample::select(vec!["a", "b", "a.prompt", "a.md"]);
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
        let path = (prop::collection::vec(part(), 1..4), end)
            .prop_map(|(parts, end)| parts.join("/") + end);
        prop::collection::btree_set(path, 0..12)
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
            // Names with and without the ends of files.
            let parts = |path: &String| path.split('/').map(str::to_owned).collect::<Vec<_>>();
            let stems = paths.iter().flat_map(|path| {
                let parts = parts(path);
                (1..=parts.len()).map(move |count| parts[..count].join("/")).collect::<Vec<_>>()
            });
            let names: BTreeSet<String> = stems.flat_map(|stem| {
                let cut: Vec<String> = stem.match_indices('.').map(|(at, _)| stem[..at].to_owned()).collect();
                cut.into_iter().chain([stem])
            }).collect();
            for format in crate::prompt::FORMATS {
                let root = Root::new(folder.path().to_owned(), format, Reach::Own);
                let about = About::new(Layer::USER, format, None);
                let files = Arc::new(Files::new(root.clone(), about));
                let listed = scan(&files, true, &mut Trace::default()).found;
                let mut count = 0;
                for name in names.iter().filter_map(|name| Name::new(name).ok()) {
                    let resolved = root.resolve(&name, &mut Trace::default());
                    let listed = listed.iter().find(|found| found.name == name).and_then(|found| found.place().file);
                    prop_assert_eq!(resolved.map(|file| file.path.to_path_buf()), listed.clone(), "{} {}", format.name, name);
                    count += usize::from(listed.is_some());
                }
                prop_assert_eq!(count, listed.len(), "{}: {:?}", format.name, listed);
            }
        }
    }
}
