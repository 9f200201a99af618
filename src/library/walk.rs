//! Scans a folder for prompt files: the only file that names walkdir.

use super::cache::Stamp;
use super::folder::{Folder, PromptFile, escapes, is_hidden};
use super::read::{BROKEN_LINK, is_broken_link};
use super::{Layer, Problem};
use crate::prompt::{Diagnostic, MAX_DEPTH, Name};
use crate::wording::printable;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// How many files and folders one scan looks at: 100,000 prompts, however they are divided among folders.
pub const MAX_ENTRIES: usize = 200_000;

/// How many symlinks to folders one scan follows. Symlinks between folders can make many more paths than there are files.
pub const MAX_LINKED_FOLDERS: usize = 1_000;

/// What a folder holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Sorted by name; of several files with one name, the first in byte order.
    pub(super) files: Vec<PromptFile>,
    /// Other Markdown files, which a prompt may include.
    pub(super) includable: Vec<PathBuf>,
    /// The parts that were skipped: unreadable or beyond a limit. Sorted by path.
    pub(super) skipped: Vec<Problem>,
    /// Files that should be prompts and cannot have a name, sorted by path.
    pub(super) problems: Vec<Problem>,
    /// What was ignored, perhaps by mistake, sorted by path.
    pub(super) warnings: Vec<Problem>,
    /// The folders that were searched, with the stamps that they had before.
    pub(super) folders: Vec<(PathBuf, Stamp)>,
    /// What each symlink, and each path that could not be read, pointed to.
    pub(super) links: Vec<(PathBuf, Result<LinkTarget, ErrorKind>)>,
    /// Whether the next change is sure to show in the stamps.
    is_reliable: bool,
}

impl Scan {
    pub(super) fn file(&self, name: &Name) -> Option<&PromptFile> {
        self.files.binary_search_by(|file| file.name.cmp(name)).ok().map(|index| &self.files[index])
    }

    /// Whether another scan would find the same.
    pub(super) fn is_current(&self) -> bool {
        self.is_reliable
            && self.folders.iter().all(|(folder, stamp)| Stamp::at(folder) == Some(*stamp))
            && self.links.iter().all(|(link, target)| *target == LinkTarget::of(link))
    }

    fn add_folder(&mut self, folder: PathBuf) {
        let stamp = Stamp::at(&folder);
        self.is_reliable &= stamp.is_some_and(|stamp| stamp.is_reliable(&folder));
        self.folders.extend(stamp.map(|stamp| (folder, stamp)));
    }

    fn add_link(&mut self, link: &Path) {
        self.links.push((link.to_owned(), LinkTarget::of(link)));
    }
}

/// What a symlink points to, as far as a scan depends on it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// A file. Which one, reading it shows.
    File,
    Folder(Stamp),
}

impl LinkTarget {
    /// `Err` if the symlink cannot be followed.
    fn of(link: &Path) -> Result<LinkTarget, ErrorKind> {
        let target = fs::metadata(link).map_err(|error| error.kind())?;
        Ok(if target.is_dir() { LinkTarget::Folder(Stamp::of(&target)) } else { LinkTarget::File })
    }
}

impl Folder {
    /// Scans the folder, without the cache.
    pub(super) fn walk(&self) -> Scan {
        if let Some(missing) = self.missing() {
            return Scan { skipped: vec![missing], ..Scan::default() };
        }
        let scan = Scan { is_reliable: true, ..Scan::default() };
        let mut walk = Walk { folder: self, scan, files: BTreeMap::new(), stack: Vec::new(), linked_folders: 0 };
        walk.scan.add_folder(self.path.clone());
        walk.refuse_prompt();
        walk.enter(&self.path, 0);
        walk.run()
    }
}

/// A walk through the prompts folder and, one on top of the other, through the folders that symlinks point to. walkdir
/// could follow symlinks itself, but it opens what it follows to detect cycles; and opening what has just become a FIFO
/// would block forever.
struct Walk<'f> {
    folder: &'f Folder,
    scan: Scan,
    files: BTreeMap<Name, PromptFile>,
    /// Each with the depth of its folder.
    stack: Vec<(walkdir::IntoIter, usize)>,
    /// How many symlinks to folders were found.
    linked_folders: usize,
}

impl Walk<'_> {
    fn run(mut self) -> Scan {
        let root = &self.folder.path;
        for count in 0.. {
            let Some((entry, depth)) = self.next() else { break };
            if count == MAX_ENTRIES {
                self.skip(root, &format!("more than {MAX_ENTRIES} files and folders"), "name a smaller folder");
                break;
            }
            match entry {
                Ok(entry) => self.add_entry(entry, depth),
                Err(error) => {
                    let path = error.path().unwrap_or(root);
                    self.scan.add_link(path);
                    self.add_error(path, error.io_error());
                }
            }
        }
        if self.linked_folders > MAX_LINKED_FOLDERS {
            let limit = format!("more than {MAX_LINKED_FOLDERS} symlinks to folders");
            self.skip(root, &limit, "delete symlinks between the folders");
        }
        let mut scan = Scan { files: self.files.into_values().collect(), ..self.scan };
        scan.includable.sort();
        for problems in [&mut scan.skipped, &mut scan.problems, &mut scan.warnings] {
            problems.sort_by(|a, b| a.path.cmp(&b.path)); // walkdir yields the order of the file system
        }
        scan
    }

    /// Adds a problem if the folder that was named is a prompt itself, such as a skill, and so has no name.
    fn refuse_prompt(&mut self) {
        for (file, _) in self.folder.files_of_prompt(&self.folder.path) {
            if self.folder.name_of(&file).is_none() {
                let message = "the folder that was named is a prompt itself, and not a folder of prompts";
                let diagnostic = Diagnostic::error(None, message, "name the folder above it");
                self.scan.problems.push(self.folder.problem(&file, diagnostic));
            }
        }
    }

    fn enter(&mut self, folder: &Path, depth: usize) {
        self.stack.push((WalkDir::new(folder).min_depth(1).into_iter(), depth));
    }

    /// The next entry, and its depth below the prompts folder.
    fn next(&mut self) -> Option<(walkdir::Result<DirEntry>, usize)> {
        while let Some((entries, depth)) = self.stack.last_mut() {
            if let Some(entry) = entries.next() {
                let below = entry.as_ref().map_or_else(walkdir::Error::depth, DirEntry::depth);
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
        let diagnostic = Diagnostic::error(None, format!("{limit}; the rest is skipped"), fix);
        self.scan.skipped.push(self.folder.problem(path, diagnostic));
    }

    fn add_entry(&mut self, entry: DirEntry, depth: usize) {
        let is_symlink = entry.path_is_symlink();
        let mut is_folder = entry.file_type().is_dir();
        if is_symlink {
            self.scan.add_link(entry.path());
        }
        if is_hidden(entry.path()) {
            if is_folder {
                self.skip_folder();
            }
            return;
        }
        if is_symlink {
            match self.follow(entry.path()) {
                Some(is_link_to_folder) => is_folder = is_link_to_folder,
                None => return,
            }
        }
        if is_folder {
            self.add_folder(entry, depth);
        } else {
            let is_in_linked_folder = self.stack.len() > 1;
            self.add_file(entry.path(), is_symlink || is_in_linked_folder);
        }
    }

    /// Whether a symlink points to a folder; `None` if it is not followed.
    fn follow(&mut self, link: &Path) -> Option<bool> {
        let is_folder = match fs::metadata(link) {
            Ok(target) => target.is_dir(),
            Err(error) => {
                self.add_error(link, Some(&error));
                return None;
            }
        };
        // Whether it points outside a project may change without a trace in any stamp.
        self.scan.is_reliable &= self.folder.layer != Layer::Project;
        if !is_folder {
            return Some(false);
        }
        if let Some(target) = self.folder.escape(link) {
            self.scan.skipped.push(self.folder.problem(link, escapes(&target)));
            return None;
        }
        if let Some(ancestor) = self.folder.cycle(link) {
            let ancestor = printable(&ancestor.display().to_string());
            let message = format!("the symlink points back to {ancestor} (a cycle), and is not followed");
            let diagnostic = Diagnostic::warning(None, message, "delete the symlink");
            self.scan.warnings.push(self.folder.problem(link, diagnostic));
            return None;
        }
        Some(true)
    }

    /// Descends into a folder, unless that is beyond a limit.
    fn add_folder(&mut self, entry: DirEntry, depth: usize) {
        let is_symlink = entry.path_is_symlink();
        if !self.folder.system.is_recursive() {
            if !is_symlink {
                self.skip_folder();
            }
            return;
        }
        self.linked_folders += usize::from(is_symlink);
        if depth > MAX_DEPTH {
            let limit = format!("more than {MAX_DEPTH} folders inside each other");
            self.skip(entry.path(), &limit, "move its prompts up");
            if !is_symlink {
                self.skip_folder();
            }
        } else if !is_symlink || self.linked_folders <= MAX_LINKED_FOLDERS {
            let is_symlinked = is_symlink || self.stack.len() > 1;
            self.scan.add_folder(entry.path().to_owned()); // before it is looked at
            match self.add_prompt(entry.path(), is_symlinked) {
                true if !is_symlink => self.skip_folder(),
                true => {}
                false if is_symlink => self.enter(entry.path(), depth),
                false => {} // walkdir descends into it
            }
        }
    }

    /// Adds a file under its name, if it is a prompt file; of two files with one name, the first in byte order.
    fn add_file(&mut self, path: &Path, is_symlinked: bool) {
        let (name, file_name) = match self.folder.name_of(path) {
            None => {
                let is_markdown = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"));
                self.scan.includable.extend((is_markdown && !self.folder.is_read_only()).then(|| path.to_owned()));
                return;
            }
            Some(Ok(named)) => named,
            Some(Err(diagnostic)) => {
                self.scan.problems.push(self.folder.problem(path, diagnostic));
                return;
            }
        };
        let (format, is_in_folder) = (file_name.format, file_name.is_in_folder());
        let file = PromptFile { name: name.clone(), format, is_in_folder, path: path.into(), is_symlinked };
        match self.files.entry(name) {
            Entry::Vacant(vacant) => _ = vacant.insert(file),
            Entry::Occupied(mut first) => {
                let bytes = |file: &PromptFile| file.path.as_os_str().as_encoded_bytes().to_vec();
                let other = if bytes(&file) < bytes(first.get()) { first.insert(file) } else { file };
                let first = printable(&first.get().path.display().to_string());
                let message = format!("{first} has the same name, and comes first");
                let diagnostic = Diagnostic::error(None, message, "rename one of the two");
                self.scan.problems.push(self.folder.problem(&other.path, diagnostic));
            }
        }
    }

    /// Adds the files that make a folder itself a prompt, if there are any, and then nothing else in it.
    fn add_prompt(&mut self, folder: &Path, is_symlinked: bool) -> bool {
        let files = self.folder.files_of_prompt(folder);
        for (file, is_symlink) in &files {
            if *is_symlink {
                self.scan.add_link(file);
                self.scan.is_reliable &= self.folder.layer != Layer::Project;
            }
            self.add_file(file, is_symlinked || *is_symlink);
        }
        !files.is_empty()
    }

    /// Adds what cannot be read, or is a broken link.
    fn add_error(&mut self, path: &Path, error: Option<&io::Error>) {
        if is_hidden(path) && path != self.folder.path {
            return; // such as the lock files of Emacs, which are broken links
        }
        let is_symlink = fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
        let is_broken = error.is_some_and(is_broken_link);
        if is_symlink && self.folder.name_of(path).is_some() && fs::metadata(path).is_err() {
            // It has a name; reading it says what is wrong.
            self.add_file(path, true);
        } else if is_symlink && is_broken {
            let (message, fix) = BROKEN_LINK;
            self.scan.warnings.push(self.folder.problem(path, Diagnostic::warning(None, message, fix)));
        } else if !is_broken {
            let is_denied = error.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied);
            // Too many open files, no memory, a failing disk: temporary, and not shown by a folder's stamp.
            self.scan.is_reliable &= is_denied;
            let reason = error.map_or_else(|| "for an unknown reason".to_owned(), ToString::to_string);
            let fix = if is_denied { "correct its permissions" } else { "try again" };
            let diagnostic = Diagnostic::error(None, format!("cannot be read: {reason}"), fix);
            self.scan.skipped.push(self.folder.problem(path, diagnostic));
        } // else it was deleted after its folder was read
    }
}
