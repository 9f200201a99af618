//! One folder of prompt files: from a name to its file, and what the file holds.
//!
//! A name becomes a path in one function ([`Folder::resolve`]), segment by segment. Symlinks are followed, except for
//! cycles and for those that point outside a project's folder.

use super::cache::{Cache, FolderCache, Stamp, lock};
use super::read::{self, Content};
use super::unread;
use super::walk::Scan;
use super::watch_paths::WatchPaths;
use super::{Entry, FileInfo, Layer, Listing, Location, Problem, Report, Source, SourceView};
use crate::prompt::{Attachment, Diagnostic, Format, Name, Prompt, not_utf8};
use crate::wording::printable;
use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// A folder of prompt files.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) layer: Layer,
    /// Whether the user named it, so that it is a problem if it is missing.
    is_required: bool,
    cache: FolderCache,
    /// The last scan, valid while its folders have the same stamps.
    scan: Mutex<Option<Arc<Scan>>>,
    /// The files of names that were asked for, each with the stamp of the folder that it is in.
    resolved: Mutex<HashMap<Name, (Stamp, Arc<Path>)>>,
}

/// A file that should be a prompt.
#[derive(Debug, Clone)]
pub(super) struct PromptFile {
    pub(super) name: Name,
    pub(super) format: Format,
    pub(super) path: Arc<Path>,
    /// Whether it, or a folder between the prompts folder and it, is a symlink.
    pub(super) is_symlinked: bool,
}

/// A folder during one message, for which it is scanned once at most.
#[derive(Debug)]
pub(super) struct FolderView {
    folder: Arc<Folder>,
    scan: OnceLock<Arc<Scan>>,
}

impl FolderView {
    fn scan(&self) -> &Scan {
        self.scan.get_or_init(|| self.folder.scan())
    }
}

impl Source for Folder {
    fn view(self: Arc<Self>) -> Arc<dyn SourceView> {
        Arc::new(FolderView { folder: self, scan: OnceLock::new() })
    }

    fn folder_for_new_prompts(&self) -> Option<Result<PathBuf, String>> {
        Some(Ok(self.path.clone()))
    }
}

impl SourceView for FolderView {
    fn layer(&self) -> Layer {
        self.folder.layer
    }

    fn get(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        self.folder.prompt_named(name)
    }

    fn raw(&self, name: &Name) -> Option<Result<String, Problem>> {
        let file = self.folder.resolve(name)?;
        let text = self.folder.read(&file).and_then(|Content { bytes, .. }| {
            String::from_utf8(bytes).map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to()))
        });
        Some(text.map_err(|diagnostic| self.folder.problem(&file.path, diagnostic)))
    }

    fn locate(&self, name: &Name) -> Option<Location> {
        let listed = self.scan.get().and_then(|scan| scan.file(name)).map(|file| file.path.to_path_buf());
        let path = listed.or_else(|| self.folder.resolve(name).map(|file| file.path.to_path_buf()))?;
        Some(Location::File(path))
    }

    fn list(&self) -> Listing<'_> {
        let scan = self.scan();
        Listing {
            entries: scan.files.iter().map(|file| Entry { name: &file.name, view: self }).collect(),
            skipped: scan.skipped.clone(),
            problems: scan.problems.clone(),
        }
    }

    fn info(&self, name: &Name) -> Option<FileInfo> {
        self.scan().file(name).map(|file| self.folder.info(file))
    }

    fn attachments(&self, prompt: &Prompt) -> Result<Vec<Attachment>, Diagnostic> {
        let file = self.folder.resolve(&prompt.name);
        let file =
            file.ok_or_else(|| Diagnostic::error(None, "the prompt was deleted just now", "list the prompts again"))?;
        self.folder.attachments(prompt, &file.path).collect()
    }

    fn missing(&self) -> Option<Problem> {
        self.folder.missing()
    }

    fn folder(&self) -> Option<&Folder> {
        Some(&self.folder)
    }

    fn check(&self) -> Report {
        let scan = self.scan();
        let mut problems = [&*scan.skipped, &*scan.problems, &*scan.warnings].concat();
        problems.extend(scan.files.iter().flat_map(|file| self.folder.check(file)));
        problems.sort_by(|a, b| (&a.path, a.diagnostic.position).cmp(&(&b.path, b.diagnostic.position)));
        Report { files: scan.files.len(), problems }
    }

    fn check_file(&self, path: &Path) -> Option<Vec<Problem>> {
        path.starts_with(&self.folder.path).then(|| self.folder.check_file(path))
    }

    fn scanned_folders(&self) -> Vec<PathBuf> {
        self.scan().folders.iter().map(|(folder, _)| folder.clone()).collect()
    }

    fn is_prompt_path(&self, path: &Path) -> bool {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let Some(parent) = path.parent().and_then(|parent| fs::canonicalize(parent).ok()) else { return false };
        Format::detect(&path).is_some()
            && !is_hidden(&path)
            && fs::canonicalize(&self.folder.path).is_ok_and(|root| parent.starts_with(root))
    }

    fn is_escape(&self, path: &Path) -> bool {
        path.starts_with(&self.folder.path) && self.folder.escape(path).is_some()
    }

    fn hash_stamps(&self, hasher: &mut DefaultHasher) -> bool {
        let scan = self.scan();
        let mut is_settled = true;
        for file in &scan.files {
            let stamp = Stamp::at(&file.path);
            is_settled &= stamp.is_none_or(|stamp| stamp.is_settled());
            (&file.name, stamp).hash(hasher);
        }
        scan.skipped.len().hash(hasher);
        is_settled
    }

    fn add_watch_paths(&self, paths: &mut WatchPaths) {
        paths.add_folder(&self.folder);
    }
}

impl Folder {
    /// A folder of the user. `is_required`: the user named it, so that it is a problem if it is missing.
    pub(super) fn new(path: PathBuf, is_required: bool, cache: &Arc<Cache>) -> Folder {
        Folder {
            path,
            layer: Layer::User,
            is_required,
            cache: cache.for_folder(),
            scan: Mutex::default(),
            resolved: Mutex::default(),
        }
    }

    /// The folder of a project, which may be missing. Symlinks out of it are refused.
    pub(super) fn of_project(path: PathBuf, cache: &Arc<Cache>) -> Folder {
        Folder { layer: Layer::Project, ..Folder::new(path, false, cache) }
    }

    /// Why it cannot be read at all at this moment.
    pub(super) fn missing(&self) -> Option<Problem> {
        let error = fs::read_dir(&self.path).err()?;
        let (message, fix) = match error.kind() {
            ErrorKind::NotFound if !self.is_required => return None,
            ErrorKind::NotFound => {
                ("the prompts folder does not exist".to_owned(), "create it; it is served as soon as it exists")
            }
            ErrorKind::NotADirectory => {
                ("the prompts folder is a file".to_owned(), "name the folder that holds the prompt files")
            }
            _ => (format!("the prompts folder cannot be read: {error}"), "correct the path, or its permissions"),
        };
        Some(self.problem(&self.path, Diagnostic::error(None, message, fix)))
    }

    /// The file with exactly this name: the only function that turns a name into a path.
    pub(super) fn resolve(&self, name: &Name) -> Option<PromptFile> {
        let (parent, stem, is_parent_symlinked) = self.resolve_parent(name)?;
        Format::SUFFIXES.iter().find_map(|&(suffix, format)| {
            let path = parent.join(format!("{stem}.{suffix}"));
            let metadata = fs::symlink_metadata(&path).ok()?;
            let is_symlink = metadata.is_symlink();
            // A folder named `x.md` may hold prompts, but is not a prompt itself.
            let is_folder = metadata.is_dir() || (is_symlink && path.is_dir());
            let is_symlinked = is_parent_symlinked || is_symlink;
            (!is_folder).then(|| PromptFile { name: name.clone(), format, path: path.into(), is_symlinked })
        })
    }

    /// Where the file of a new prompt with this name belongs; `None` where it would not be read.
    pub(super) fn path_for_new(&self, name: &Name) -> Option<PathBuf> {
        let (parent, stem, _) = self.resolve_parent(name)?;
        Some(parent.join(format!("{stem}.{}", Format::Markdown.suffix())))
    }

    /// The folder of a name, the last segment of the name, and whether the path to the folder has a symlink.
    fn resolve_parent<'n>(&self, name: &'n Name) -> Option<(PathBuf, &'n str, bool)> {
        let mut parent = self.path.clone();
        let (folders, stem) =
            name.rsplit_once('/').map_or((None, name.as_str()), |(folders, stem)| (Some(folders), stem));
        let mut is_symlinked = false;
        for segment in folders.into_iter().flat_map(|folders| folders.split('/')) {
            parent.push(segment);
            if fs::symlink_metadata(&parent).is_ok_and(|metadata| metadata.is_symlink()) {
                is_symlinked = true;
                if self.cycle(&parent).is_some() || self.escape(&parent).is_some() {
                    return None;
                }
            }
        }
        Some((parent, stem, is_symlinked))
    }

    /// The folder that a symlink is in and points back to, if there is one.
    pub(super) fn cycle<'p>(&self, link: &'p Path) -> Option<&'p Path> {
        let target = fs::canonicalize(link).ok()?;
        let mut parents = link.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.path));
        parents.find(|parent| fs::canonicalize(parent).is_ok_and(|parent| parent == target))
    }

    /// The target of a symlink in a project's folder, if it is outside the folder; such a symlink is not followed.
    pub(super) fn escape(&self, link: &Path) -> Option<PathBuf> {
        if self.layer != Layer::Project {
            return None;
        }
        let target = fs::canonicalize(link).ok()?; // reading a broken link reports it
        fs::canonicalize(&self.path).map_or(true, |root| !target.starts_with(root)).then_some(target)
    }

    /// Where an open file of the folder is, if that is outside the folder: a path that was checked before it was
    /// opened may have been swapped since. Only Linux is asked.
    pub(super) fn escape_of_open_file(&self, file: &File) -> Option<PathBuf> {
        #[cfg(target_os = "linux")]
        {
            let number = std::os::fd::AsRawFd::as_raw_fd(file);
            // Without /proc, the path was at least checked before it was opened.
            let target = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
            fs::canonicalize(&self.path).map_or(true, |root| !target.starts_with(root)).then_some(target)
        }
        #[cfg(not(target_os = "linux"))]
        {
            _ = file;
            None
        }
    }

    /// Reads a file, unless it is outside a project's folder.
    fn read(&self, file: &PromptFile) -> Result<Content, Diagnostic> {
        if file.is_symlinked
            && let Some(target) = self.escape(&file.path)
        {
            return Err(escapes(&target));
        }
        read::read(&file.path, |open| match self.layer {
            Layer::Project => self.escape_of_open_file(open).map_or(Ok(()), |target| Err(escapes(&target))),
            _ => Ok(()),
        })
    }

    /// The prompt with exactly this name. While its folder has the same stamp, the name is of the same file: another suffix
    /// would have changed the stamp.
    fn prompt_named(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        let known = lock(&self.resolved).get(name).cloned();
        // In a project, each part of the path is checked each time.
        if self.layer != Layer::Project
            && let Some((folder, path)) = known
            && path.parent().and_then(Stamp::at) == Some(folder)
            && let Some((_, Some(prompt))) = Stamp::at(&path).and_then(|stamp| self.cache.get(&path, &stamp))
        {
            return Some(Ok(prompt));
        }
        let parent = self.path_for_new(name)?.parent().map(Path::to_owned)?;
        let stamp = Stamp::at(&parent).filter(|stamp| stamp.is_reliable(&parent));
        let file = self.resolve(name)?;
        // A symlink with another suffix may point to a folder now, and to a file later, without a change of this folder.
        let exists = |(suffix, _): &&(&str, Format)| fs::symlink_metadata(file.path.with_extension(suffix)).is_ok();
        let is_only = Format::SUFFIXES.iter().filter(exists).count() == 1;
        if let Some(stamp) = stamp.filter(|_| !file.is_symlinked && is_only) {
            lock(&self.resolved).insert(name.clone(), (stamp, Arc::clone(&file.path)));
        }
        Some(self.prompt(&file))
    }

    fn prompt(&self, file: &PromptFile) -> Result<Arc<Prompt>, Problem> {
        match self.cached(file) {
            Some((_, Some(prompt))) => return Ok(prompt),
            Some((FileInfo { summary: Err(problem), .. }, _)) => return Err(Arc::unwrap_or_clone(problem)),
            _ => {}
        }
        let content = self.read(file).map_err(|diagnostic| self.problem(&file.path, diagnostic))?;
        let prompt = self.parsed(file, &content).map(Arc::new);
        let info = FileInfo::of(&content.bytes, content.stamp.modified, prompt.as_deref());
        self.remember(file, &content, info, prompt.as_ref().ok().cloned());
        prompt
    }

    /// What lists show of a file. It is read, unless it is cached.
    fn info(&self, file: &PromptFile) -> FileInfo {
        if let Some((info, _)) = self.cached(file) {
            return info;
        }
        match self.read(file) {
            Ok(content) => {
                let prompt = self.parsed(file, &content);
                let info = FileInfo::of(&content.bytes, content.stamp.modified, prompt.as_ref());
                self.remember(file, &content, info.clone(), None);
                info
            }
            Err(diagnostic) => FileInfo::unreadable(self.problem(&file.path, diagnostic)),
        }
    }

    fn cached(&self, file: &PromptFile) -> Option<(FileInfo, Option<Arc<Prompt>>)> {
        if !self.is_cacheable(file) {
            return None;
        }
        self.cache.get(&file.path, &Stamp::at(&file.path)?)
    }

    fn remember(&self, file: &PromptFile, content: &Content, info: FileInfo, prompt: Option<Arc<Prompt>>) {
        if content.is_stamp_reliable && self.is_cacheable(file) {
            self.cache.insert(&file.path, content.stamp, info, prompt);
        }
    }

    /// The target of a symlink in a project may change without a trace in the stamp, so that files reached through one are
    /// checked and read each time.
    fn is_cacheable(&self, file: &PromptFile) -> bool {
        self.layer != Layer::Project || !file.is_symlinked
    }

    /// Reads and parses a file, without the cache.
    fn parse(&self, file: &PromptFile) -> Result<Prompt, Problem> {
        let content = self.read(file).map_err(|diagnostic| self.problem(&file.path, diagnostic))?;
        self.parsed(file, &content)
    }

    /// What is wrong, or looks wrong, in a file. It is read without the cache.
    fn check(&self, file: &PromptFile) -> Vec<Problem> {
        match self.parse(file) {
            Ok(prompt) => {
                let attachments = self.attachments(&prompt, &file.path).filter_map(Result::err);
                let warnings = prompt.warnings().into_iter().chain(attachments);
                warnings.map(|diagnostic| self.problem(&file.path, diagnostic)).collect()
            }
            Err(problem) => vec![problem],
        }
    }

    /// The same for any path in it, even one that would not be found, such as that of a hidden file.
    pub(super) fn check_file(&self, path: &Path) -> Vec<Problem> {
        let file = format_of(path).and_then(|format| {
            Ok(PromptFile { name: self.name_of(path)?, format, path: path.into(), is_symlinked: true })
        });
        match file {
            Ok(file) => self.check(&file),
            Err(diagnostic) => vec![self.problem(path, diagnostic)],
        }
    }

    fn parsed(&self, file: &PromptFile, content: &Content) -> Result<Prompt, Problem> {
        let prompt = file.format.parse(file.name.clone(), &content.bytes);
        prompt.map_err(|diagnostic| self.problem(&file.path, diagnostic))
    }

    /// What the folder holds: folders and symlinks are looked at, files are not. The last scan is used again if every
    /// folder has the stamp that it had then.
    pub(super) fn scan(&self) -> Arc<Scan> {
        let last = lock(&self.scan).clone();
        if let Some(scan) = last.filter(|scan| scan.is_current()) {
            return scan;
        }
        let scan = Arc::new(self.walk());
        self.cache.retain(&scan.files);
        lock(&self.resolved).clear();
        *lock(&self.scan) = Some(Arc::clone(&scan));
        scan
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

/// The format of a file that was named.
fn format_of(path: &Path) -> Result<Format, Diagnostic> {
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Err(Diagnostic::error(None, "there is no such file", "correct the path"));
    }
    Format::detect(path).ok_or_else(|| {
        let fix = unread::known_suffix(path).map_or(unread::RENAME, |(_, fix)| fix);
        Diagnostic::error(None, "only files that end in `.md` are read as prompts", fix)
    })
}

pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The diagnostic for a symlink that points outside a project's folder.
pub(super) fn escapes(target: &Path) -> Diagnostic {
    let target = printable(&target.display().to_string());
    let message = format!("the symlink points outside the project's prompts, to {target}, and is not followed");
    Diagnostic::error(
        None,
        message,
        "delete it, replace it with a copy, or name the folder that it points to with --prompts",
    )
}
