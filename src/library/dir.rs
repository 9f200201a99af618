//! One directory of prompt files: the only file that opens any, and the only one that names walkdir.
//!
//! A path is made from a name in one place ([`Dir::locate`]), segment by segment. Links are followed, loops end, and
//! nothing but a regular file is ever opened.

use super::Problem;
use crate::prompt::{Diagnostic, MAX_FILE, Prompt, too_large};
use crate::wording::quoted;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The longest name that is looked for on disk, in bytes. Longer paths than this are no prompts.
const MAX_NAME: usize = 1024;

/// How many files and folders one scan looks at. Links between folders can make more paths than there are files.
const MAX_ENTRIES: usize = 1_000_000;

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
    /// What should be a prompt and is none, sorted by path.
    pub(super) problems: Vec<Problem>,
    /// What was passed over, perhaps against the intention, sorted by path.
    pub(super) warnings: Vec<Problem>,
}

impl Dir {
    /// The problem with the directory itself, if there is one now.
    pub(super) fn missing(&self) -> Option<Problem> {
        let (message, repair) = match fs::metadata(&self.path) {
            Ok(metadata) if metadata.is_dir() => return None,
            Ok(_) => ("the prompts directory is a file".to_owned(), "name the folder that holds the prompt files"),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.named {
                true => (
                    "the prompts directory does not exist".to_owned(),
                    "create it; it is served as soon as it is there",
                ),
                false => return None,
            },
            Err(error) => {
                (format!("the prompts directory cannot be read: {error}"), "correct the path, or its permissions")
            }
        };
        Some(self.problem(&self.path, Diagnostic::error(None, message, repair)))
    }

    /// Reads the prompt with exactly this name, if there is a file for it.
    pub(super) fn get(&self, name: &str) -> Option<Result<Prompt, Problem>> {
        self.locate(name).map(|path| self.read(name, &path))
    }

    /// The file that has exactly this name: the one place where a name becomes a path.
    fn locate(&self, name: &str) -> Option<PathBuf> {
        if name.len() > MAX_NAME || !name.split('/').all(is_segment) {
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
                let parents = folder.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.path));
                parents.into_iter().any(|parent| fs::canonicalize(parent).is_ok_and(|parent| parent == target))
            })
    }

    /// Reads and parses one file.
    pub(super) fn read(&self, name: &str, path: &Path) -> Result<Prompt, Problem> {
        let problem = |diagnostic| self.problem(path, diagnostic);
        let bytes = read_regular_file(path).map_err(problem)?;
        Prompt::parse(name, &bytes).map_err(problem)
    }

    /// Walks over the directory: which files there are, and what is wrong with those that are no prompts.
    pub(super) fn scan(&self) -> Scan {
        let mut scan = Scan::default();
        if let Some(missing) = self.missing() {
            scan.problems.push(missing);
            return scan;
        }
        let entries = WalkDir::new(&self.path).min_depth(1).follow_links(true).into_iter();
        let mut left = MAX_ENTRIES;
        for entry in entries.filter_entry(|entry| !is_hidden(entry.path())) {
            if left == 0 {
                let message = format!("more than {MAX_ENTRIES} files and folders; the rest is not looked at");
                let diagnostic =
                    Diagnostic::error(None, message, "name a smaller folder, or undo links between folders");
                scan.problems.push(self.problem(&self.path, diagnostic));
                break;
            }
            left -= 1;
            match entry {
                Ok(entry) if is_markdown(entry.path()) && !entry.file_type().is_dir() => {
                    self.add(&mut scan, entry.into_path())
                }
                Ok(_) => {}
                Err(error) => self.add_error(&mut scan, &error),
            }
        }
        // walkdir gives the order of the file system.
        scan.problems.sort_by(|a, b| a.path.cmp(&b.path));
        scan.warnings.sort_by(|a, b| a.path.cmp(&b.path));
        scan
    }

    /// Adds a file under its name; of two files with one name, the first in byte order.
    fn add(&self, scan: &mut Scan, path: PathBuf) {
        let Some(name) = self.name_of(&path) else {
            scan.problems.push(self.problem(
                &path,
                Diagnostic::error(
                    None,
                    "the file's name cannot be typed: it is not UTF-8, or it holds a backslash or a control character",
                    "rename it",
                ),
            ));
            return;
        };
        match scan.files.entry(name) {
            Entry::Vacant(vacant) => _ = vacant.insert(path),
            Entry::Occupied(mut occupied) => {
                let hidden = if path < *occupied.get() { occupied.insert(path) } else { path };
                let message = format!("{} has the same name, and comes first", occupied.get().display());
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
            let message = format!("the link leads back to {}, and is not followed", ancestor.display());
            scan.warnings.push(self.problem(path, Diagnostic::warning(None, message, "delete the link")));
            return;
        }
        let kind = error.io_error().map(io::Error::kind);
        if kind == Some(ErrorKind::NotFound) {
            if fs::symlink_metadata(path).is_err() {
                return; // gone since the folder was read
            }
            let (message, repair) = ("the link leads nowhere", "create what it names, or delete the link");
            if is_markdown(path) {
                // It has a name, as for the reading of one file.
                self.add(scan, path.to_owned());
            } else {
                scan.warnings.push(self.problem(path, Diagnostic::warning(None, message, repair)));
            }
            return;
        }
        let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
        let diagnostic = Diagnostic::error(None, format!("cannot be read: {reason}"), "correct its permissions");
        scan.problems.push(self.problem(path, diagnostic));
    }

    /// The name of a file below the directory; `None` where it could not be typed.
    fn name_of(&self, path: &Path) -> Option<String> {
        let relative = path.strip_prefix(&self.path).ok()?;
        let segments: Option<Vec<&str>> = relative.iter().map(|segment| segment.to_str()).collect();
        let mut name = segments?.join("/");
        name.truncate(name.len() - ".md".len());
        (name.len() <= MAX_NAME && name.split('/').all(is_segment)).then_some(name)
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

/// Reads a file of at most [`MAX_FILE`] bytes.
fn read_regular_file(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let unreadable = |error: io::Error| match error.kind() {
        ErrorKind::NotFound if fs::symlink_metadata(path).is_ok() => {
            Diagnostic::error(None, "the link leads nowhere", "create what it names, or delete the link")
        }
        ErrorKind::PermissionDenied => {
            Diagnostic::error(None, "the file cannot be read: permission denied", "correct its permissions")
        }
        _ => Diagnostic::error(None, format!("the file cannot be read: {error}"), "see that it is there and readable"),
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        // Opening a FIFO would wait for a writer.
        let message = format!("{} is not a regular file", quoted(&path.display().to_string()));
        return Err(Diagnostic::error(None, message, "put a Markdown file in its place, or rename it"));
    }
    if metadata.len() > MAX_FILE as u64 {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    // It may have grown since; Prompt::parse refuses the one byte more.
    File::open(path).and_then(|file| file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    Ok(bytes)
}
