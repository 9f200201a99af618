//! What a directory holds: the only file that names walkdir.

use super::dir::{
    Dir, LEADS_NOWHERE, MAX_DEPTH, MAX_NAME, is_hidden, is_markdown, is_segment, leads_nowhere, leads_out,
};
use super::kept::Kept;
use super::stamp::{LocalDevice, Stamp};
use super::{Layer, Listed, Problem};
use crate::prompt::Diagnostic;
use crate::wording::printable;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::{DirEntry, WalkDir};

/// How many files and folders one scan looks at: 100,000 prompts, however they are divided among folders.
pub const MAX_ENTRIES: usize = 200_000;

/// How many links to folders one scan follows. Links between folders can make many more paths than there are files.
pub const MAX_LINKED_FOLDERS: usize = 1_000;

/// What a directory holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// By name.
    pub(super) files: BTreeMap<Arc<str>, Arc<Found>>,
    /// What kept a part of the directory, or all of it, from being seen, sorted by path.
    pub(super) unseen: Vec<Problem>,
    /// What should be a prompt and is none, sorted by path.
    pub(super) problems: Vec<Problem>,
    /// What was passed over, perhaps against the intention, sorted by path.
    pub(super) warnings: Vec<Problem>,
    /// The folders that were looked into, and their stamps at that moment.
    pub(super) folders: Vec<(PathBuf, Stamp)>,
    /// The links among all that was found, and what could not be entered; and where each led.
    pub(super) links: Vec<(PathBuf, Result<Target, ErrorKind>)>,
    /// Whether the stamps are sure to tell the next change.
    pub(super) is_reliable: bool,
}

/// A file that should be a prompt.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: Arc<str>,
    pub(super) path: Box<Path>,
    /// What lists show of it, or why it is no prompt.
    pub(super) listed: Kept<Result<Arc<Listed>, Diagnostic>>,
}

impl Scan {
    /// Whether another scan would find the same.
    pub(super) fn is_current(&self) -> bool {
        self.is_reliable
            && self.folders.iter().all(|(folder, stamp)| Stamp::at(folder) == Some(*stamp))
            && self.links.iter().all(|(link, target)| *target == Target::of(link))
    }

    /// Takes over what an earlier scan has kept of the same files.
    pub(super) fn take_over(&mut self, before: &Scan) {
        for (name, found) in &mut self.files {
            if let Some(kept) = before.files.get(name).filter(|kept| kept.path == found.path) {
                *found = Arc::clone(kept);
            }
        }
    }

    fn add_folder(&mut self, folder: PathBuf, local: &LocalDevice) {
        match Stamp::reliable_at(&folder, local) {
            Some(stamp) => self.folders.push((folder, stamp)),
            None => {
                self.is_reliable = false;
                self.folders.extend(Stamp::at(&folder).map(|stamp| (folder, stamp)));
            }
        }
    }

    fn add_link(&mut self, link: &Path) {
        self.links.push((link.to_owned(), Target::of(link)));
    }
}

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To a file; which one, is seen when it is read.
    File,
    Folder(Stamp),
}

impl Target {
    /// `Err`: why it leads nowhere.
    fn of(link: &Path) -> Result<Target, ErrorKind> {
        let target = fs::metadata(link).map_err(|error| error.kind())?;
        Ok(if target.is_dir() { Target::Folder(Stamp::of(&target)) } else { Target::File })
    }
}

/// A way through a folder: the directory, or what a link in it leads to. walkdir could follow links itself, but opens
/// what it follows, to know a loop; and to open what has just become a FIFO is to wait for ever.
struct Walk {
    entries: walkdir::IntoIter,
    /// How deep the folder lies.
    depth: usize,
}

impl Walk {
    fn of(folder: &Path, depth: usize) -> Walk {
        Walk { entries: WalkDir::new(folder).min_depth(1).into_iter(), depth }
    }
}

/// The next entry of the last walk that is not over, and how deep it lies.
fn next(walks: &mut Vec<Walk>) -> Option<(walkdir::Result<DirEntry>, usize)> {
    while let Some(walk) = walks.last_mut() {
        if let Some(entry) = walk.entries.next() {
            let below = entry.as_ref().map_or_else(walkdir::Error::depth, DirEntry::depth);
            return Some((entry, walk.depth + below));
        }
        walks.pop();
    }
    None
}

/// Does not look into the folder that was found last.
fn skip_folder(walks: &mut [Walk]) {
    if let Some(walk) = walks.last_mut() {
        walk.entries.skip_current_dir();
    }
}

impl Dir {
    /// Walks over the directory, whatever [`Dir::scan`] has kept: which files there are, and what is wrong with those that
    /// are no prompts.
    pub(super) fn walk(&self) -> Scan {
        let mut scan = Scan { is_reliable: true, ..Scan::default() };
        if let Some(missing) = self.missing() {
            scan.unseen.push(missing);
            scan.is_reliable = false;
            return scan;
        }
        scan.add_folder(self.path.clone(), &self.local);
        let mut linked = 0; // folders that are links
        let mut walks = vec![Walk::of(&self.path, 0)];
        for seen in 0.. {
            let Some((entry, depth)) = next(&mut walks) else { break };
            if seen == MAX_ENTRIES {
                let limit = format!("more than {MAX_ENTRIES} files and folders");
                scan.unseen.push(self.beyond(&self.path, &limit, "name a smaller folder"));
                break;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().unwrap_or(&self.path);
                    scan.add_link(path);
                    self.add_error(&mut scan, path, error.io_error());
                    continue;
                }
            };
            let is_link = entry.path_is_symlink();
            let mut is_folder = entry.file_type().is_dir();
            if is_link {
                scan.add_link(entry.path());
            }
            if is_hidden(entry.path()) {
                if is_folder {
                    skip_folder(&mut walks);
                }
                continue;
            }
            if is_link {
                match fs::metadata(entry.path()) {
                    Ok(target) => is_folder = target.is_dir(),
                    Err(error) => {
                        self.add_error(&mut scan, entry.path(), Some(&error));
                        continue;
                    }
                }
                // Where it leads out of a project may not show in any stamp.
                scan.is_reliable &= self.layer != Layer::Project;
                if is_folder && let Some(target) = self.way_out(entry.path()) {
                    scan.unseen.push(self.problem(entry.path(), leads_out(&target)));
                    continue;
                }
                if is_folder && let Some(ancestor) = self.leads_back_to(entry.path()) {
                    let ancestor = printable(&ancestor.display().to_string());
                    let message = format!("the link leads back to {ancestor}, and is not followed");
                    let diagnostic = Diagnostic::warning(None, message, "delete the link");
                    scan.warnings.push(self.problem(entry.path(), diagnostic));
                    continue;
                }
            }
            if !is_folder {
                if is_markdown(entry.path()) {
                    self.add(&mut scan, entry.into_path());
                }
                continue;
            }
            linked += usize::from(is_link);
            if depth > MAX_DEPTH {
                let limit = format!("more than {MAX_DEPTH} folders inside each other");
                scan.unseen.push(self.beyond(entry.path(), &limit, "move its prompts up"));
                if !is_link {
                    skip_folder(&mut walks);
                }
            } else if !is_link || linked <= MAX_LINKED_FOLDERS {
                if is_link {
                    walks.push(Walk::of(entry.path(), depth));
                }
                scan.add_folder(entry.into_path(), &self.local);
            }
        }
        if linked > MAX_LINKED_FOLDERS {
            let limit = format!("more than {MAX_LINKED_FOLDERS} links to folders");
            scan.unseen.push(self.beyond(&self.path, &limit, "delete links between the folders"));
        }
        for found in [&mut scan.unseen, &mut scan.problems, &mut scan.warnings] {
            found.sort_by(|a, b| a.path.cmp(&b.path)); // walkdir gives the order of the file system
        }
        scan
    }

    fn beyond(&self, path: &Path, limit: &str, repair: &str) -> Problem {
        self.problem(path, Diagnostic::error(None, format!("{limit}; what is beyond is not looked at"), repair))
    }

    /// Adds a file under its name; of two files with one name, the first in byte order.
    fn add(&self, scan: &mut Scan, path: PathBuf) {
        let name = match self.name_of(&path) {
            Ok(name) => name,
            Err(diagnostic) => {
                scan.problems.push(self.problem(&path, diagnostic));
                return;
            }
        };
        let name: Arc<str> = name.into();
        let found = Arc::new(Found { name: Arc::clone(&name), path: path.into(), listed: Kept::default() });
        match scan.files.entry(name) {
            Entry::Vacant(vacant) => _ = vacant.insert(found),
            Entry::Occupied(mut occupied) => {
                let hidden = if found.path < occupied.get().path { occupied.insert(found) } else { found };
                let first = printable(&occupied.get().path.display().to_string());
                let message = format!("{first} has the same name, and comes first");
                let diagnostic = Diagnostic::error(None, message, "rename one of the two");
                scan.problems.push(self.problem(&hidden.path, diagnostic));
            }
        }
    }

    fn add_error(&self, scan: &mut Scan, path: &Path, error: Option<&io::Error>) {
        if is_hidden(path) && path != self.path {
            return; // such as the lock files of Emacs, which are links to nowhere
        }
        let is_link = fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
        let is_broken = error.is_some_and(leads_nowhere);
        if is_link && is_markdown(path) && fs::metadata(path).is_err() {
            // It has a name, as for the reading of one file, which says why it cannot be read.
            self.add(scan, path.to_owned());
        } else if is_link && is_broken {
            let (message, repair) = LEADS_NOWHERE;
            scan.warnings.push(self.problem(path, Diagnostic::warning(None, message, repair)));
        } else if !is_broken {
            let is_refused = error.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied);
            // No descriptor left, no memory, a broken disk: of the moment, and nothing that a folder's stamp tells.
            scan.is_reliable &= is_refused;
            let reason = error.map_or_else(|| "for an unknown reason".to_owned(), ToString::to_string);
            let repair = if is_refused { "correct its permissions" } else { "ask again" };
            let diagnostic = Diagnostic::error(None, format!("cannot be read: {reason}"), repair);
            scan.unseen.push(self.problem(path, diagnostic));
        } // else it has gone since the folder was read
    }

    /// The name of a file below the directory.
    ///
    /// # Errors
    /// Nobody could type it.
    fn name_of(&self, path: &Path) -> Result<String, Diagnostic> {
        let relative = path.strip_prefix(&self.path).unwrap_or(path);
        let segments: Option<Vec<&str>> = relative.iter().map(|segment| segment.to_str()).collect();
        let Some(segments) = segments.filter(|segments| segments.iter().all(|segment| is_segment(segment))) else {
            let message =
                "the file's name cannot be typed: it is not UTF-8, or it holds a backslash or a control character";
            return Err(Diagnostic::error(None, message, "rename it"));
        };
        let mut name = segments.join("/");
        name.truncate(name.len() - ".md".len());
        if name.len() > MAX_NAME {
            let message = format!("the prompt's name would be {} bytes long, the limit is {MAX_NAME}", name.len());
            return Err(Diagnostic::error(None, message, "shorten the names of the file and of its folders"));
        }
        Ok(name)
    }
}
