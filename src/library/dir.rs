//! One directory of prompt files: the only file that opens any, and the only one that names walkdir.
//!
//! A path is made from a name in one place ([`Dir::locate`]), segment by segment. Links are followed, loops end, and
//! nothing but a regular file is ever opened.

use super::{Problem, PromptFile};
use crate::prompt::{Diagnostic, MAX_FILE, Prompt, not_utf8, too_large};
use crate::wording::{printable, quoted};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use walkdir::WalkDir;

/// The longest name that is looked for on disk, in bytes. Longer paths than this are no prompts.
pub const MAX_NAME: usize = 1024;

/// How many folders a prompt may lie in. Those that lie deeper are not looked at.
pub const MAX_DEPTH: usize = 32;

/// How many files and folders one scan looks at.
pub const MAX_ENTRIES: usize = 100_000;

/// How many links to folders one scan follows. Links between folders can make many more paths than there are files.
pub const MAX_LINKED_FOLDERS: usize = 1_000;

/// How far apart two times of a file may be and still look equal: FAT counts in steps of two seconds.
const COARSEST_CLOCK: Duration = Duration::from_secs(2);

/// How the end of a file's name may be spelled, in byte order. Where file names are the same in any case, one
/// spelling finds them all.
const ENDINGS: &[&str] = if cfg!(any(windows, target_os = "macos")) { &[".md"] } else { &[".MD", ".Md", ".mD", ".md"] };

/// A prompts directory.
#[derive(Debug, Clone)]
pub(super) struct Dir {
    pub(super) path: PathBuf,
    /// Whether the user named it, so that it should be there.
    pub(super) named: bool,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Name → file, unread.
    pub(super) files: BTreeMap<String, PathBuf>,
    /// What kept a part of the directory, or all of it, from being seen, sorted by path.
    pub(super) unseen: Vec<Problem>,
    /// What should be a prompt and is none, sorted by path.
    pub(super) problems: Vec<Problem>,
    /// What was passed over, perhaps against the intention, sorted by path.
    pub(super) warnings: Vec<Problem>,
    /// The folders that were looked into.
    pub(super) folders: Vec<PathBuf>,
    /// The links among all that was found.
    pub(super) links: Vec<PathBuf>,
}

impl Dir {
    /// The problem with the directory itself, if there is one now.
    pub(super) fn missing(&self) -> Option<Problem> {
        let error = fs::read_dir(&self.path).err()?;
        let (message, repair) = match error.kind() {
            ErrorKind::NotFound if !self.named => return None,
            ErrorKind::NotFound => {
                ("the prompts directory does not exist".to_owned(), "create it; it is served as soon as it is there")
            }
            ErrorKind::NotADirectory => {
                ("the prompts directory is a file".to_owned(), "name the folder that holds the prompt files")
            }
            _ => (format!("the prompts directory cannot be read: {error}"), "correct the path, or its permissions"),
        };
        Some(self.problem(&self.path, Diagnostic::error(None, message, repair)))
    }

    /// Reads the prompt with exactly this name, if there is a file for it.
    pub(super) fn get(&self, name: &str) -> Option<Result<Prompt, Problem>> {
        self.locate(name).map(|path| self.read(name, &path))
    }

    /// Whether there is a file with exactly this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.locate(name).is_some()
    }

    /// Reads the file with exactly this name as text, if there is one.
    pub(super) fn get_file(&self, name: &str) -> Option<Result<PromptFile, Problem>> {
        self.locate(name).map(|path| self.file(&path))
    }

    /// The file that has exactly this name: the one place where a name becomes a path.
    fn locate(&self, name: &str) -> Option<PathBuf> {
        if name.len() > MAX_NAME || name.split('/').count() > MAX_DEPTH + 1 || !name.split('/').all(is_segment) {
            return None;
        }
        let mut folder = self.path.clone();
        let (folders, stem) = name.rsplit_once('/').map_or((None, name), |(folders, stem)| (Some(folders), stem));
        for segment in folders.into_iter().flat_map(|folders| folders.split('/')) {
            folder.push(segment);
            if self.is_loop(&folder) {
                return None;
            }
        }
        ENDINGS.iter().map(|ending| folder.join(format!("{stem}{ending}"))).find(|path| {
            // A folder `x.md` holds prompts, it is none.
            match fs::symlink_metadata(path) {
                Ok(link) if link.is_symlink() => !fs::metadata(path).is_ok_and(|target| target.is_dir()),
                Ok(file) => !file.is_dir(),
                Err(_) => false,
            }
        })
    }

    /// Whether a folder is a link to one of the folders that it lies in, as a scan would find.
    fn is_loop(&self, folder: &Path) -> bool {
        fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink())
            && fs::canonicalize(folder).is_ok_and(|target| {
                let mut parents = folder.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.path));
                parents.any(|parent| fs::canonicalize(parent).is_ok_and(|parent| parent == target))
            })
    }

    /// Reads and parses one file.
    pub(super) fn read(&self, name: &str, path: &Path) -> Result<Prompt, Problem> {
        let problem = |diagnostic| self.problem(path, diagnostic);
        let (bytes, _) = read_regular_file(path).map_err(problem)?;
        Prompt::parse(name, &bytes).map_err(problem)
    }

    /// Reads one file as text.
    pub(super) fn file(&self, path: &Path) -> Result<PromptFile, Problem> {
        let problem = |diagnostic| self.problem(path, diagnostic);
        let (bytes, modified) = read_regular_file(path).map_err(problem)?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to()));
        Ok(PromptFile { text: text.map_err(problem)?, modified })
    }

    /// Walks over the directory: which files there are, and what is wrong with those that are no prompts.
    pub(super) fn scan(&self) -> Scan {
        let mut scan = Scan::default();
        if let Some(missing) = self.missing() {
            scan.unseen.push(missing);
            return scan;
        }
        scan.folders.push(self.path.clone());
        let mut linked = 0; // folders that are links
        let mut entries = WalkDir::new(&self.path).min_depth(1).follow_links(true).into_iter();
        for seen in 0.. {
            let Some(entry) = entries.next() else { break };
            if seen == MAX_ENTRIES {
                let limit = format!("more than {MAX_ENTRIES} files and folders");
                scan.unseen.push(self.beyond(&self.path, &limit, "name a smaller folder"));
                break;
            }
            match &entry {
                Ok(entry) if entry.path_is_symlink() => scan.links.push(entry.path().to_owned()),
                Err(error) => scan.links.extend(error.path().map(Path::to_owned)),
                Ok(_) => {}
            }
            match entry {
                Err(error) => self.add_error(&mut scan, &error),
                Ok(entry) if is_hidden(entry.path()) => {
                    if entry.file_type().is_dir() {
                        entries.skip_current_dir();
                    }
                }
                Ok(entry) if entry.file_type().is_dir() => {
                    let is_link = entry.path_is_symlink();
                    linked += usize::from(is_link);
                    if entry.depth() > MAX_DEPTH {
                        let limit = format!("more than {MAX_DEPTH} folders inside each other");
                        scan.unseen.push(self.beyond(entry.path(), &limit, "move its prompts up"));
                        entries.skip_current_dir();
                    } else if is_link && linked > MAX_LINKED_FOLDERS {
                        entries.skip_current_dir();
                    } else {
                        scan.folders.push(entry.into_path());
                    }
                }
                Ok(entry) if is_markdown(entry.path()) => self.add(&mut scan, entry.into_path()),
                Ok(_) => {}
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

    /// Adds to a hash what tells the files apart from others without opening them. `false`, if one of them was modified
    /// so lately that the next modification may show the same time.
    pub(super) fn stamp(&self, hasher: &mut impl Hasher) -> bool {
        let scan = self.scan();
        let mut settled = true;
        for (name, path) in &scan.files {
            let metadata = fs::metadata(path).ok();
            let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            settled &= modified.is_none_or(|time| time.elapsed().map_or(true, |age| age > COARSEST_CLOCK));
            (name, metadata.as_ref().map(|metadata| metadata.len()), modified).hash(hasher);
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt;
                metadata.map(|of| (of.dev(), of.ino(), of.mode(), of.ctime(), of.ctime_nsec())).hash(hasher);
            }
        }
        scan.unseen.len().hash(hasher);
        settled
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
        match scan.files.entry(name) {
            Entry::Vacant(vacant) => _ = vacant.insert(path),
            Entry::Occupied(mut occupied) => {
                let hidden = if path < *occupied.get() { occupied.insert(path) } else { path };
                let first = printable(&occupied.get().display().to_string());
                let message = format!("{first} has the same name, and comes first");
                scan.problems.push(self.problem(&hidden, Diagnostic::error(None, message, "rename one of the two")));
            }
        }
    }

    fn add_error(&self, scan: &mut Scan, error: &walkdir::Error) {
        let path = error.path().unwrap_or(&self.path);
        if is_hidden(path) && path != self.path {
            return; // such as the lock files of Emacs, which are links to nowhere
        }
        if let Some(ancestor) = error.loop_ancestor() {
            let ancestor = printable(&ancestor.display().to_string());
            let message = format!("the link leads back to {ancestor}, and is not followed");
            scan.warnings.push(self.problem(path, Diagnostic::warning(None, message, "delete the link")));
            return;
        }
        let is_link = fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
        let is_broken = error.io_error().is_some_and(leads_nowhere);
        if is_link && is_markdown(path) && fs::metadata(path).is_err() {
            // It has a name, as for the reading of one file, which says why it cannot be read.
            self.add(scan, path.to_owned());
        } else if is_link && is_broken {
            let (message, repair) = LEADS_NOWHERE;
            scan.warnings.push(self.problem(path, Diagnostic::warning(None, message, repair)));
        } else if !is_broken {
            let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
            let diagnostic = Diagnostic::error(None, format!("cannot be read: {reason}"), "correct its permissions");
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

    pub(super) fn problem(&self, path: &Path, diagnostic: Diagnostic) -> Problem {
        let below = path.strip_prefix(&self.path).ok().filter(|below| !below.as_os_str().is_empty());
        let file = match below {
            Some(below) => below.iter().map(|segment| segment.to_string_lossy()).collect::<Vec<_>>().join("/"),
            None => path.display().to_string(),
        };
        Problem { file, path: path.to_owned(), diagnostic }
    }
}

/// Whether a part of a name can be the name of a file or folder that is not hidden, on any system.
fn is_segment(segment: &str) -> bool {
    let forbidden =
        |character: char| character == '\\' || character.is_control() || (cfg!(windows) && character == ':');
    !segment.is_empty() && !segment.starts_with('.') && !segment.contains(forbidden)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

const LEADS_NOWHERE: (&str, &str) = ("the link is broken", "point it at a file that exists, or delete it");

/// Whether an error of following a link says that there is nothing at its end.
fn leads_nowhere(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true; // a link that names itself
    }
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Reads a file of at most [`MAX_FILE`] bytes; also, when it was modified.
fn read_regular_file(path: &Path) -> Result<(Vec<u8>, Option<SystemTime>), Diagnostic> {
    let unreadable = |error: io::Error| {
        if leads_nowhere(&error) && fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink()) {
            let (message, repair) = LEADS_NOWHERE;
            Diagnostic::error(None, message, repair)
        } else if error.kind() == ErrorKind::PermissionDenied {
            Diagnostic::error(None, "the file cannot be read: permission denied", "correct its permissions")
        } else {
            let message = format!("the file cannot be read: {error}");
            Diagnostic::error(None, message, "see that it is there and readable")
        }
    };
    let irregular = || {
        let message = format!("{} is not a regular file", quoted(&path.display().to_string()));
        Diagnostic::error(None, message, "put a Markdown file in its place, or rename it")
    };
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(irregular()); // to open a FIFO is to wait for its writer
    }
    let file = open_without_waiting(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(irregular()); // since a moment ago
    }
    if metadata.len() > MAX_FILE as u64 {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    // It may grow meanwhile; Prompt::parse refuses the one byte more.
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok((bytes, metadata.modified().ok()))
}

/// Opens a file for reading. What would make the caller wait (a FIFO, or a file of `/proc` that waits for news) is an
/// error instead, where the platform can say so.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options.read(true).open(path)
}
