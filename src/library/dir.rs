//! One directory of prompt files: the only file that opens any.
//!
//! A path is made from a name in one place ([`Dir::folder`]), segment by segment. Links are followed (but not out of a
//! project's directory), loops end, and nothing but a regular file is ever opened. What was read is kept as long as the
//! stamps of file and folder say that it is still so (`stamp.rs`); to look at them costs a tenth of reading.

use super::kept::lock;
use super::scan::{Found, Scan};
use super::stamp::{LocalDevice, Stamp};
use super::{Layer, Listed, Problem, PromptFile};
pub(super) use crate::prompt::is_part as is_segment;
use crate::prompt::{Diagnostic, Format, MAX_FILE, Name, Prompt, not_utf8, too_large};
pub use crate::prompt::{MAX_DEPTH, MAX_NAME};
use crate::wording::{printable, quoted};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// How the end of a file's name may be spelled, in byte order. Where file names are the same in any case, one
/// spelling finds them all.
const ENDINGS: &[&str] = if cfg!(any(windows, target_os = "macos")) { &[".md"] } else { &[".MD", ".Md", ".mD", ".md"] };

/// How many prompts are kept for the next call of each, and how many bytes of them.
const KEPT_PROMPTS: usize = 1_000;
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// A prompts directory.
#[derive(Debug)]
pub(super) struct Dir {
    pub(super) path: PathBuf,
    /// Who has put the files there.
    pub(super) layer: Layer,
    /// Whether the user named it, so that it should be there.
    named: bool,
    /// Prompts by name.
    prompts: Mutex<BTreeMap<String, KeptPrompt>>,
    /// What was found the last time, with what was kept of each file.
    scanned: Mutex<Option<Arc<Scan>>>,
    /// Where its files lie, as this request has found.
    pub(super) local: LocalDevice,
}

/// A prompt, and what must be as it was for the name to mean this prompt still.
#[derive(Debug)]
struct KeptPrompt {
    /// In which no other file of the name has appeared.
    folder: (PathBuf, Stamp),
    file: (PathBuf, Stamp),
    prompt: Arc<Prompt>,
}

/// A copy, for another thread say, reads for itself.
impl Clone for Dir {
    fn clone(&self) -> Dir {
        Dir { layer: self.layer, ..Dir::new(self.path.clone(), self.named) }
    }
}

impl Dir {
    /// The directory at a path; `named`: the user named it, so that it should be there.
    pub(super) fn new(path: PathBuf, named: bool) -> Dir {
        let (prompts, scanned) = (Mutex::default(), Mutex::default());
        Dir { path, layer: Layer::User, named, prompts, scanned, local: LocalDevice::default() }
    }

    /// The directory of a project, which need not be there: links that lead out of it are refused.
    pub(super) fn of_project(path: PathBuf) -> Dir {
        Dir { layer: Layer::Project, ..Dir::new(path, false) }
    }

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

    /// The prompt with exactly this name, if there is a file for it.
    pub(super) fn get(&self, name: &str) -> Option<Result<Arc<Prompt>, Problem>> {
        if let Some(kept) = lock(&self.prompts).get(name)
            && [&kept.folder, &kept.file].iter().all(|(path, stamp)| Stamp::at(path) == Some(*stamp))
            && !self.may_lead_out(&kept.file.0)
        {
            return Some(Ok(Arc::clone(&kept.prompt)));
        }
        self.local.forget();
        let place = self.folder(name)?;
        let folder_stamp = Stamp::reliable_at(&place.folder, &self.local);
        let (path, is_sure) = place.file()?;
        // What links on the way to it, or beside it, lead to, may change without a sign in these two stamps.
        let is_sure = is_sure && !place.is_behind_links;
        let folder = place.folder;
        Some(self.read(name, &path).map(|(prompt, file_stamp)| {
            let prompt = Arc::new(prompt);
            if let (Some(folder_stamp), Some(file_stamp), true) = (folder_stamp, file_stamp, is_sure) {
                let (folder, file) = ((folder, folder_stamp), (path, file_stamp));
                self.keep(KeptPrompt { folder, file, prompt: Arc::clone(&prompt) });
            }
            prompt
        }))
    }

    fn keep(&self, kept: KeptPrompt) {
        let prompt = &kept.prompt;
        let mut prompts = lock(&self.prompts);
        prompts.remove(prompt.name.as_str());
        let length: usize = prompts.values().map(|kept| body_length(&kept.prompt)).sum();
        if prompts.len() == KEPT_PROMPTS || length + body_length(prompt) > KEPT_BYTES {
            prompts.clear();
        }
        prompts.insert(prompt.name.to_string(), kept);
    }

    /// What lists show of a file.
    pub(super) fn listed(&self, Found { name, path, listed }: &Found) -> Result<Arc<Listed>, Problem> {
        let listed = listed.get_or(path, || {
            let Read { bytes, modified, stamp } = self.read_regular_file(path)?;
            let listed = parse(name, &bytes)
                .map(|prompt| (prompt.summary(), Arc::clone(name)))
                .map(|(summary, name)| Arc::new(Listed { name, summary, size: bytes.len(), modified }));
            Ok((stamp, listed))
        });
        listed.and_then(|listed| listed).map_err(|diagnostic| self.problem(path, diagnostic))
    }

    /// Whether there is a file with exactly this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.locate(name).is_some()
    }

    /// Whether a file at this path would be a prompt of this directory.
    pub(super) fn would_hold(&self, path: &Path) -> bool {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let Some(folder) = path.parent().and_then(|folder| fs::canonicalize(folder).ok()) else { return false };
        is_markdown(&path)
            && !is_hidden(&path)
            && fs::canonicalize(&self.path).is_ok_and(|root| folder.starts_with(root))
    }

    /// Reads the file with exactly this name as text, if there is one.
    pub(super) fn get_file(&self, name: &str) -> Option<Result<PromptFile, Problem>> {
        self.locate(name).map(|path| self.text(&path).map(|(file, _)| file))
    }

    /// The file that has exactly this name.
    pub(super) fn locate(&self, name: &str) -> Option<PathBuf> {
        self.folder(name)?.file().map(|(path, _)| path)
    }

    /// The file that a new prompt with this name would be; `None` where it could not be read.
    pub(super) fn path_for(&self, name: &str) -> Option<PathBuf> {
        self.folder(name).map(|place| place.folder.join(format!("{}.md", place.stem)))
    }

    /// Where the file with this name would be: the one place where a name becomes a path.
    fn folder<'n>(&self, name: &'n str) -> Option<InFolder<'n>> {
        if name.len() > MAX_NAME || name.split('/').count() > MAX_DEPTH + 1 || !name.split('/').all(is_segment) {
            return None;
        }
        let mut folder = self.path.clone();
        let (folders, stem) = name.rsplit_once('/').map_or((None, name), |(folders, stem)| (Some(folders), stem));
        let mut is_behind_links = false;
        for segment in folders.into_iter().flat_map(|folders| folders.split('/')) {
            folder.push(segment);
            if fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_symlink()) {
                is_behind_links = true;
                if self.leads_back_to(&folder).is_some() || self.way_out(&folder).is_some() {
                    return None;
                }
            }
        }
        Some(InFolder { folder, stem, is_behind_links })
    }

    /// The folder that a link lies in and leads to, if there is one.
    pub(super) fn leads_back_to<'p>(&self, folder: &'p Path) -> Option<&'p Path> {
        let target = fs::canonicalize(folder).ok()?;
        let mut parents = folder.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.path));
        parents.find(|parent| fs::canonicalize(parent).is_ok_and(|parent| parent == target))
    }

    /// Where a link of a project's directory leads, if that is out of it; such a link is not followed.
    pub(super) fn way_out(&self, link: &Path) -> Option<PathBuf> {
        if self.layer != Layer::Project {
            return None;
        }
        let target = fs::canonicalize(link).ok()?; // else it leads nowhere, which is said when it is read
        fs::canonicalize(&self.path).map_or(true, |root| !target.starts_with(root)).then_some(target)
    }

    /// Whether it is a file of a project that is, or lies behind, a link. What such a link leads to may be out of the project
    /// at any time, with no sign of it in the file's stamp; so nothing that is made of it is kept.
    fn may_lead_out(&self, path: &Path) -> bool {
        let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
        self.layer == Layer::Project && path.ancestors().take_while(|part| *part != self.path).any(is_link)
    }

    /// Reads a file of at most [`MAX_FILE`] bytes that does not lie out of a project.
    fn read_regular_file(&self, path: &Path) -> Result<Read, Diagnostic> {
        if self.layer != Layer::Project {
            return read_regular_file(path, &self.local, |_| Ok(()));
        }
        let may_lead_out = self.may_lead_out(path);
        if may_lead_out && let Some(target) = self.way_out(path) {
            return Err(leads_out(&target));
        }
        let read = read_regular_file(path, &self.local, |file| {
            self.way_out_of(file).map_or(Ok(()), |at| Err(leads_out(&at)))
        })?;
        Ok(Read { stamp: read.stamp.filter(|_| !may_lead_out), ..read })
    }

    /// Where a file of a project's directory lies that was opened, if that is out of it: what was no link, or led elsewhere, a
    /// moment ago, may have been swapped since. Only Linux is asked.
    fn way_out_of(&self, file: &File) -> Option<PathBuf> {
        #[cfg(target_os = "linux")]
        {
            let number = std::os::fd::AsRawFd::as_raw_fd(file);
            let at = fs::read_link(format!("/proc/self/fd/{number}")).ok()?; // without /proc, the look before must do
            fs::canonicalize(&self.path).map_or(true, |root| !at.starts_with(root)).then_some(at)
        }
        #[cfg(not(target_os = "linux"))]
        {
            _ = file;
            None
        }
    }

    /// Reads and parses one file; also, its stamp before that, if it can be relied on.
    pub(super) fn read(&self, name: &str, path: &Path) -> Result<(Prompt, Option<Stamp>), Problem> {
        let problem = |diagnostic| self.problem(path, diagnostic);
        let Read { bytes, stamp, .. } = self.read_regular_file(path).map_err(problem)?;
        parse(name, &bytes).map(|prompt| (prompt, stamp)).map_err(problem)
    }

    /// Reads one file as text; also, its stamp before that, if it can be relied on.
    pub(super) fn text(&self, path: &Path) -> Result<(PromptFile, Option<Stamp>), Problem> {
        let problem = |diagnostic| self.problem(path, diagnostic);
        let Read { bytes, modified, stamp } = self.read_regular_file(path).map_err(problem)?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to()));
        Ok((PromptFile { text: text.map_err(problem)?, modified }, stamp))
    }

    /// What the directory holds: folders and links are looked at, files are not. What was found the last time is found
    /// again, if every folder shows the stamp that it showed then.
    pub(super) fn scan(&self) -> Arc<Scan> {
        self.local.forget();
        let mut scanned = lock(&self.scanned);
        let before = scanned.take();
        let scan = match before {
            Some(scan) if scan.is_current() => scan,
            before => {
                let mut scan = self.walk();
                if let Some(before) = before {
                    scan.take_over(&before);
                }
                Arc::new(scan)
            }
        };
        *scanned = Some(Arc::clone(&scan));
        scan
    }

    /// Adds to a hash what tells the files apart from others without opening them. `false`, if one of them was modified
    /// so lately that the next modification may show the same time.
    pub(super) fn hash_stamps(&self, hasher: &mut impl Hasher) -> bool {
        let scan = self.scan();
        let mut settled = true;
        for Found { name, path, .. } in scan.files.values().map(|found| &**found) {
            let stamp = Stamp::at(path);
            settled &= stamp.is_none_or(|stamp| stamp.is_settled());
            (name, stamp).hash(hasher);
        }
        scan.unseen.len().hash(hasher);
        settled
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

/// A folder, and the name that a file in it must have, but for its ending.
struct InFolder<'n> {
    folder: PathBuf,
    stem: &'n str,
    /// Whether a folder on the way is a link.
    is_behind_links: bool,
}

impl InFolder<'_> {
    /// The file; also, whether it will be this one as long as nothing comes into the folder or goes.
    fn file(&self) -> Option<(PathBuf, bool)> {
        let mut is_sure = true;
        let mut paths = ENDINGS.iter().map(|ending| self.folder.join(format!("{}{ending}", self.stem)));
        let path = paths.find(|path| {
            // A folder `x.md` holds prompts, it is none.
            match fs::symlink_metadata(path) {
                Ok(link) if link.is_symlink() => {
                    let is_folder = fs::metadata(path).is_ok_and(|target| target.is_dir());
                    is_sure &= !is_folder; // it may lead to a file tomorrow, and that goes first
                    !is_folder
                }
                Ok(file) => !file.is_dir(),
                Err(_) => false,
            }
        });
        path.map(|path| (path, is_sure))
    }
}

/// Reads the bytes of the file of a prompt.
pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Prompt, Diagnostic> {
    let name = Name::new(name).map_err(|error| Diagnostic::error(None, error.to_string(), "rename the file"))?;
    Format::Markdown.parse(name, bytes)
}

fn body_length(prompt: &Prompt) -> usize {
    prompt.messages.iter().map(|message| message.body().len()).sum()
}

pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

pub(super) fn is_markdown(path: &Path) -> bool {
    Format::detect(path).is_some()
}

/// The diagnostic for a link of a project that leads out of its directory.
pub(super) fn leads_out(target: &Path) -> Diagnostic {
    let target = printable(&target.display().to_string());
    let message = format!("the link leads out of the project's prompts, to {target}, and is not followed");
    Diagnostic::error(
        None,
        message,
        "delete it, put a copy in its place, or name the folder that it leads to with --prompts",
    )
}

pub(super) const LEADS_NOWHERE: (&str, &str) = ("the link is broken", "point it at a file that exists, or delete it");

/// Whether an error of following a link says that there is nothing at its end.
pub(super) fn leads_nowhere(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true; // a link that names itself
    }
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A file that was read, and what the system said of it before.
struct Read {
    bytes: Vec<u8>,
    /// `None`, where the file system does not say.
    modified: Option<SystemTime>,
    /// If it can be relied on.
    stamp: Option<Stamp>,
}

/// Reads a file of at most [`MAX_FILE`] bytes, if it is allowed once it is open.
fn read_regular_file(
    path: &Path,
    local: &LocalDevice,
    is_allowed: impl FnOnce(&File) -> Result<(), Diagnostic>,
) -> Result<Read, Diagnostic> {
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
    is_allowed(&file)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(irregular()); // since a moment ago
    }
    if metadata.len() > MAX_FILE as u64 {
        return Err(too_large(metadata.len()));
    }
    let stamp = Stamp::reliable(path, &metadata, local);
    let bytes = read_to_end(file, metadata.len() as usize).map_err(unreadable)?;
    Ok(Read { bytes, modified: metadata.modified().ok(), stamp })
}

/// Reads a file that seems to have `length` bytes, at most [`MAX_FILE`]; one more, if it has grown, for [`Format::parse`] to
/// refuse.
fn read_to_end(mut file: File, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length + 1];
    let read = match file.read(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::Interrupted => 0,
        read => read?,
    };
    bytes.truncate(read);
    // Where all came, and not the one byte more that there was room for, the end is where it was.
    if read != length || length == 0 {
        file.take((MAX_FILE + 1 - read) as u64).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Opens a file for reading. What would make the caller wait (a FIFO, or a file of `/proc` that waits for news) is an
/// error instead, where the platform can say so.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options.read(true).open(path)
}
