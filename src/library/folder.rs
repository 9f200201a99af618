//! One folder of prompt files: from a name to its file, and what the file holds.
//!
//! A name becomes a path in one function ([`Folder::resolve`]), segment by segment. Symlinks are followed, except for
//! cycles and for those that point outside a project's folder. A folder with a `SKILL.md`, for example, is itself a prompt, and
//! nothing else in it is one; which files do that, and which suffixes a prompt file has, [`System::files`] says.

use super::cache::{Cache, FolderCache, Stamp, lock};
use super::caller::Prefix;
use super::editor::Writer;
use super::include::Includes;
use super::jsonl::is_jsonl;
use super::read::{self, Content};
use super::unread;
use super::walk::Scan;
use super::watch_paths::WatchPaths;
use super::{Draft, Entry, FileInfo, Layer, Listing, Location, Problem, Report, Source, SourceView};
use crate::prompt::{
    Attachment, Diagnostic, FileName, Format, IncludeReader, InvalidName, MAX_NAME, Name, Prompt, System, is_partial,
    not_utf8,
};
use crate::wording::{alternatives, printable};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
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
    /// Which program its files are written for.
    pub(super) system: System,
    /// Whether the user named it, so that it is a problem if it is missing.
    is_required: bool,
    cache: FolderCache,
    /// The last scan, valid while its folders have the same stamps.
    scan: Mutex<Option<Arc<Scan>>>,
    /// The files of names that were asked for.
    resolved: Mutex<HashMap<Name, Resolved>>,
}

/// The file of a name.
#[derive(Debug, Clone)]
struct Resolved {
    path: Arc<Path>,
    /// The stamps of [the folders that the name depends on](Folder::folders_of).
    stamps: Vec<Stamp>,
}

/// A file that should be a prompt.
#[derive(Debug, Clone)]
pub(super) struct PromptFile {
    pub(super) name: Name,
    pub(super) format: Format,
    /// Whether the prompt is a folder, in which this file has its text.
    pub(super) is_in_folder: bool,
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

    fn writer(self: Arc<Self>) -> Option<Arc<dyn Writer>> {
        let is_writable = !self.is_read_only() && self.layer == Layer::User;
        is_writable.then_some(self as Arc<dyn Writer>)
    }

    fn folder_for_new_prompts(&self) -> Option<Result<PathBuf, String>> {
        (!self.is_read_only()).then(|| Ok(self.path.clone()))
    }
}

impl SourceView for FolderView {
    fn layer(&self) -> Layer {
        self.folder.layer
    }

    fn system(&self) -> System {
        self.folder.system
    }

    fn get(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        self.folder.prompt_named(name)
    }

    fn was_found(&self, name: &Name) -> bool {
        lock(&self.folder.resolved).contains_key(name)
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
        self.folder.attachments(prompt, &file.path, None).collect()
    }

    fn missing(&self) -> Vec<Problem> {
        self.folder.missing().into_iter().collect()
    }

    fn folder(&self) -> Option<&Folder> {
        Some(&self.folder)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.folder.path)
    }

    fn check(&self, below: Option<&Path>) -> Report {
        let scan = self.scan();
        let mut problems = [&*scan.skipped, &*scan.problems, &*scan.warnings].concat();
        problems.retain(|problem| {
            below.is_none_or(|below| problem.path.starts_with(below) || problem.path == self.folder.path)
        });
        let files = scan.files.iter().filter(|file| below.is_none_or(|below| file.path.starts_with(below)));
        problems.extend(files.clone().flat_map(|file| self.folder.check(file)));
        problems.sort_by(|a, b| (&a.path, a.diagnostic.position).cmp(&(&b.path, b.diagnostic.position)));
        Report { files: files.count(), problems }
    }

    fn scanned_folders(&self) -> Vec<PathBuf> {
        let scan = self.scan();
        let prompts: HashSet<&Path> =
            scan.files.iter().filter(|file| file.is_in_folder).filter_map(|file| file.path.parent()).collect();
        let folders = scan.folders.iter().map(|(folder, _)| folder);
        folders.filter(|folder| !prompts.contains(folder.as_path())).cloned().collect()
    }

    fn patterns(&self) -> Vec<PathBuf> {
        let patterns = self.scan().files.iter().filter(|file| file.format == Format::FabricPattern);
        patterns.filter_map(|file| file.path.parent().map(Path::to_owned)).collect()
    }

    fn attached_files(&self) -> Vec<PathBuf> {
        let attached = |file: &PromptFile| {
            let (prompt, folder) = (self.folder.prompt(file).ok()?, file.path.parent()?);
            let paths = prompt.attachments.iter().map(|attachment| folder.join(&attachment.path));
            Some(paths.filter_map(|path| fs::canonicalize(path).ok()).collect::<Vec<_>>())
        };
        self.scan().files.iter().filter_map(attached).flatten().collect()
    }

    fn is_prompt_path(&self, path: &Path) -> bool {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let Some(parent) = path.parent().and_then(|parent| fs::canonicalize(parent).ok()) else { return false };
        self.folder.name_of(&path).is_some()
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
        for file in &scan.includable {
            let stamp = Stamp::at(file);
            is_settled &= stamp.is_none_or(|stamp| stamp.is_settled());
            (file, stamp).hash(hasher);
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
    pub(super) fn new(path: PathBuf, system: System, is_required: bool, cache: &Arc<Cache>) -> Folder {
        Folder {
            path,
            layer: Layer::User,
            system,
            is_required,
            cache: cache.for_folder(),
            scan: Mutex::default(),
            resolved: Mutex::default(),
        }
    }

    /// The folder of a project, which may be missing. Symlinks out of it are refused.
    pub(super) fn of_project(path: PathBuf, system: System, cache: &Arc<Cache>) -> Folder {
        Folder { layer: Layer::Project, ..Folder::new(path, system, false, cache) }
    }

    /// The folder that a file is, or would be, a prompt of: one that its path names, such as `.claude/commands`; else the one
    /// that it is in, or for a file such as `NAME/SKILL.md` the one above. There, no rule of a project holds.
    pub(super) fn around(file: &Path) -> Folder {
        let own = System::PromptExpander;
        let mut named = file.ancestors().skip(1).map(|folder| (folder, System::of_folder(folder)));
        let (folder, system) = named.find(|(_, system)| *system != own).unwrap_or_else(|| {
            let parent = file.parent().unwrap_or(file);
            let is_in_folder = |below: &Path| {
                own.prompt_file(&below.to_string_lossy().replace('\\', "/"))?.1.is_in_folder().then_some(())
            };
            let above = parent.parent().filter(|above| file.strip_prefix(above).ok().and_then(is_in_folder).is_some());
            (above.unwrap_or(parent), own)
        });
        Folder::new(folder.to_owned(), system, true, &Arc::default())
    }

    /// Whether nothing is ever written to it: its files are another program's.
    pub(super) fn is_read_only(&self) -> bool {
        self.system != System::PromptExpander
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
        let folder = OnceCell::new();
        self.ends(name).find_map(|(end, file)| {
            let is_folder_symlinked = match file.is_in_folder() {
                true => *folder.get_or_init(|| self.is_followed_symlink(&parent.join(stem))).as_ref()?,
                false => false,
            };
            let path = parent.join(format!("{stem}{end}"));
            let is_symlinked = symlink_of_file(&path)? || is_parent_symlinked || is_folder_symlinked;
            let FileName { format, .. } = file;
            let (name, path) = (name.clone(), path.into());
            Some(PromptFile { name, format, is_in_folder: file.is_in_folder(), path, is_symlinked })
        })
    }

    /// The ends of the paths that a file with this name may have, in the order in which they win.
    fn ends<'n>(&self, name: &'n Name) -> impl Iterator<Item = (String, FileName)> + use<'n> {
        let all = self.system.files().iter().flat_map(|file| file.spellings().map(move |end| (end, *file)));
        // Not that of `x.prompt`, for example: `x.prompt.md` is `x`.
        let system = self.system;
        all.filter(move |(end, _)| {
            let path = format!("{name}{end}");
            system.prompt_file(&path).is_some_and(|(read, _)| read == name.as_str())
        })
    }

    /// The files that make a folder itself a prompt, such as its `SKILL.md`, in the order in which they win; whether each
    /// is a symlink.
    pub(super) fn files_of_prompt(&self, folder: &Path) -> Vec<(PathBuf, bool)> {
        let names = self.system.files().iter().filter(|file| file.is_in_folder()).map(|file| &file.end[1..]);
        let paths = names.map(|name| folder.join(name));
        paths.filter_map(|path| symlink_of_file(&path).map(|is_symlink| (path, is_symlink))).collect()
    }

    /// Where the file of a new prompt with this name belongs; `None` where it would not be read.
    pub(super) fn path_for_new(&self, name: &Name) -> Option<PathBuf> {
        let (parent, stem, _) = self.resolve_parent(name)?;
        Some(parent.join(format!("{stem}.md")))
    }

    /// The folder of a name, the last segment of the name, and whether the path to the folder has a symlink. `None` if
    /// nothing in that folder is read.
    fn resolve_parent<'n>(&self, name: &'n Name) -> Option<(PathBuf, &'n str, bool)> {
        let (folders, stem) = steps(name);
        if !folders.is_empty() && !self.system.is_recursive() {
            return None;
        }
        let mut parent = self.path.clone();
        let mut is_symlinked = false;
        for step in folders {
            parent.push(step);
            is_symlinked |= self.is_followed_symlink(&parent)?;
            if !self.files_of_prompt(&parent).is_empty() {
                return None;
            }
        }
        Some((parent, stem, is_symlinked))
    }

    /// Whether a folder is a symlink; `None` if it is one that is not followed.
    fn is_followed_symlink(&self, folder: &Path) -> Option<bool> {
        let is_symlink = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink());
        let is_refused = is_symlink && (self.cycle(folder).is_some() || self.escape(folder).is_some());
        (!is_refused).then_some(is_symlink)
    }

    /// All folders in which a change can make a name that of another file: the one that the file is in or, if the prompt is a
    /// folder, is next to, and those above it, which may become prompts themselves.
    fn folders_of(&self, name: &Name) -> Vec<PathBuf> {
        let (steps, _) = steps(name);
        let below = steps.iter().scan(self.path.clone(), |folder, step| {
            folder.push(step);
            Some(folder.clone())
        });
        if steps.is_empty() { vec![self.path.clone()] } else { below.collect() }
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

    /// The prompt with exactly this name. While its folders have the same stamps, the name is of the same file: another suffix,
    /// or a `SKILL.md` above it, would have changed one.
    fn prompt_named(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        let known = lock(&self.resolved).get(name).cloned();
        let folders = self.folders_of(name);
        let stamps: Option<Vec<Stamp>> = folders.iter().map(|folder| Stamp::at(folder)).collect();
        // In a project, each part of the path is checked each time.
        if self.layer != Layer::Project
            && let Some(Resolved { path, stamps: stamps_then }) = known
            && stamps.as_ref() == Some(&stamps_then)
            && let Some((_, Some(prompt))) = Stamp::at(&path).and_then(|stamp| self.cache.get(&path, &stamp))
        {
            return Some(Ok(prompt));
        }
        let Some(file) = self.resolve(name) else {
            lock(&self.resolved).remove(name);
            return None;
        };
        let is_reliable =
            |stamps: &Vec<Stamp>| folders.iter().zip(stamps).all(|(folder, stamp)| stamp.is_reliable(folder));
        // A symlink with another suffix may point to a folder now, and to a file later, without a change of this folder.
        let exists =
            |(end, _): &(String, FileName)| fs::symlink_metadata(self.path.join(format!("{name}{end}"))).is_ok();
        if !file.is_symlinked
            && self.ends(name).filter(exists).count() == 1
            && let Some(stamps) = stamps.filter(is_reliable)
        {
            lock(&self.resolved).insert(name.clone(), Resolved { path: Arc::clone(&file.path), stamps });
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
        let mut includes = Includes::of(self, &file.path);
        let prompt = self.parsed(file, &content.bytes, &mut includes).map(Arc::new);
        let info = FileInfo::of(&content.bytes, content.stamp.modified, prompt.as_deref());
        let info = info.with_included(includes.hash());
        self.remember(file, &content, includes, info, prompt.as_ref().ok().cloned());
        prompt
    }

    /// What lists show of a file. It is read, unless it is cached.
    fn info(&self, file: &PromptFile) -> FileInfo {
        if let Some((info, _)) = self.cached(file) {
            return info;
        }
        match self.read(file) {
            Ok(content) => {
                let mut includes = Includes::of(self, &file.path);
                let prompt = self.parsed(file, &content.bytes, &mut includes);
                let info = FileInfo::of(&content.bytes, content.stamp.modified, prompt.as_ref());
                let info = info.with_included(includes.hash());
                self.remember(file, &content, includes, info.clone(), None);
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

    /// Nothing is cached that may change without a trace in a stamp: an error about a file that is to be included, and in a
    /// project a prompt that includes any, since symlinks on the way to it are checked each time.
    fn remember(
        &self,
        file: &PromptFile,
        content: &Content,
        includes: Includes<'_>,
        info: FileInfo,
        prompt: Option<Arc<Prompt>>,
    ) {
        let is_checked = includes.is_empty() || (info.summary.is_ok() && self.layer != Layer::Project);
        if content.is_stamp_reliable
            && is_checked
            && self.is_cacheable(file)
            && let Some(included) = includes.into_stamps()
        {
            self.cache.insert(&file.path, (content.stamp, included), info, prompt);
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
        self.parsed(file, &content.bytes, &mut Includes::of(self, &file.path))
    }

    /// What is wrong, or looks wrong, in a file. It is read without the cache.
    fn check(&self, file: &PromptFile) -> Vec<Problem> {
        match self.parse(file) {
            Ok(prompt) => self.warnings(&prompt, &file.path, None),
            Err(problem) => vec![problem],
        }
    }

    /// What looks wrong in a prompt of this file, and which attachments cannot be used.
    fn warnings(&self, prompt: &Prompt, file: &Path, prefix: Option<&Prefix>) -> Vec<Problem> {
        let attachments = self.attachments(prompt, file, prefix).filter_map(Result::err);
        let warnings = prompt.warnings().into_iter().chain(attachments);
        warnings.map(|diagnostic| self.problem(file, diagnostic)).collect()
    }

    /// What a text would be as the file of this name; with a prefix, as that of somebody for whom there is nothing else.
    pub(super) fn draft(&self, name: &Name, text: &str, prefix: Option<&Prefix>) -> Draft {
        let in_new_file = || {
            let path = self.path_for_new(name).unwrap_or_else(|| self.path.join(format!("{name}.md"))).into();
            let (name, format) = (name.clone(), Format::Markdown);
            PromptFile { name, format, is_in_folder: false, path, is_symlinked: false }
        };
        let file = self.resolve(name).unwrap_or_else(in_new_file);
        let mut includes = Includes::of(self, &file.path).only_within(prefix);
        let path = file.path.to_path_buf();
        match self.parsed(&file, text.as_bytes(), &mut includes) {
            Ok(prompt) => Draft { problems: self.warnings(&prompt, &path, prefix), prompt: Some(prompt), path },
            Err(problem) => Draft { problems: vec![problem], prompt: None, path },
        }
    }

    /// The same for any path in it, even one that would not be found, such as that of a hidden file.
    pub(super) fn check_file(&self, path: &Path) -> Vec<Problem> {
        if self.is_partial(path) {
            return self.check_partial(path);
        }
        match self.file_at(path) {
            Ok(file) => self.check(&file),
            Err(diagnostic) => vec![self.problem(path, diagnostic)],
        }
    }

    /// Whether a file below the folder is only there to be included.
    pub(super) fn is_partial(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.path).unwrap_or(path);
        let is_markdown = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"));
        !self.is_read_only() && is_markdown && is_partial(&below.to_string_lossy().replace('\\', "/"))
    }

    /// What is wrong with a partial as a file. What its placeholders stand for, only the prompts that include it know.
    fn check_partial(&self, path: &Path) -> Vec<Problem> {
        let Ok(name) = Name::new("partial") else { return Vec::new() };
        let file =
            PromptFile { name, format: Format::Markdown, is_in_folder: false, path: path.into(), is_symlinked: true };
        let content = self.read(&file).map_err(|diagnostic| self.problem(path, diagnostic));
        let parsed = content.and_then(|content| {
            let parsed = Format::Markdown.parse(file.name, &content.bytes);
            parsed.map_err(|diagnostic| self.problem(path, diagnostic))
        });
        parsed.err().into_iter().collect()
    }

    /// The prompt file that was named.
    fn file_at(&self, path: &Path) -> Result<PromptFile, Diagnostic> {
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Err(Diagnostic::error(None, "there is no such file", "correct the path"));
        }
        if self.is_partial(path) {
            let message =
                "a file whose name, or that of its folder, begins with `_` is not a prompt, but can be included in one";
            return Err(Diagnostic::error(None, message, "rename it, or expand a prompt that includes it"));
        }
        let (name, file) = self.name_of(path).unwrap_or_else(|| Err(self.not_a_prompt(path)))?;
        let (format, is_in_folder) = (file.format, file.is_in_folder());
        Ok(PromptFile { name, format, is_in_folder, path: path.into(), is_symlinked: true })
    }

    /// The prompt in a file, which need not be found from its name.
    ///
    /// # Errors
    /// The path is not that of a prompt file, or the file cannot be read or parsed.
    pub(super) fn prompt_at(&self, path: &Path) -> Result<Prompt, Problem> {
        let file = self.file_at(path).map_err(|diagnostic| self.problem(path, diagnostic))?;
        self.parse(&file)
    }

    /// Why a file is not a prompt, although it may be ordinary Markdown.
    fn not_a_prompt(&self, path: &Path) -> Diagnostic {
        if let Some((end, purpose)) = System::other_purpose(&path.to_string_lossy()) {
            let message = format!("a file that ends in `{end}` is not a prompt, but {purpose}");
            return Diagnostic::error(
                None,
                message,
                "to use it as a prompt, copy it to a file that ends in `.md` alone",
            );
        }
        let mut folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.path));
        let of_prompt = |folder: &Path| self.files_of_prompt(folder).into_iter().next();
        if let Some((main, _)) = folders.find_map(of_prompt) {
            let main = printable(&main.display().to_string());
            let message = format!("the file belongs to another prompt, whose text is {main}, and is not one itself");
            return Diagnostic::error(None, message, "to use it as a prompt, copy it to another folder");
        }
        let ends: Vec<&str> = self.system.files().iter().map(|file| file.end).collect();
        let ends = alternatives(if ends.is_empty() { &[".jsonl"] } else { &ends });
        if self.system == System::Hexai && is_jsonl(path) {
            let message = "the file has a prompt in each line, and is not one itself";
            return Diagnostic::error(
                None,
                message,
                "pass it with `--prompts`, and write the name of one of its prompts",
            );
        }
        let message = format!("only files that end in {ends} are read as prompts");
        match self.is_read_only() {
            true => {
                let message = format!("{message} in a folder of {}", self.system.title());
                Diagnostic::error(None, message, "to use it as a prompt, copy it to a `.md` file in your own folder")
            }
            false => {
                let fix = unread::known_suffix(path).map_or(unread::RENAME, |(_, fix)| fix);
                Diagnostic::error(None, message, fix)
            }
        }
    }

    /// The name of the prompt in a file below the folder, and how the file is read; `None` if it is not a prompt file.
    ///
    /// # Errors
    /// The name could not be typed as a command.
    pub(super) fn name_of(&self, path: &Path) -> Option<Result<(Name, FileName), Diagnostic>> {
        let below = path.strip_prefix(&self.path).unwrap_or(path);
        let segments: Option<Vec<&str>> = below.iter().map(|segment| segment.to_str()).collect();
        let is_utf8 = segments.is_some();
        let below = segments.map_or_else(|| below.to_string_lossy().into_owned(), |segments| segments.join("/"));
        let (name, file) = self.system.prompt_file(&below)?;
        Some(match Name::new(if is_utf8 { name } else { "" }) {
            Ok(name) => Ok((name, file)),
            Err(InvalidName::TooLong) => {
                let message = format!("the prompt's name would be {} bytes long, the limit is {MAX_NAME}", name.len());
                Err(Diagnostic::error(None, message, "shorten the names of the file and of its folders"))
            }
            Err(InvalidName::Part) if is_utf8 && is_hidden(path) => {
                let message = "the file is hidden, because its name begins with a dot, and so is not read";
                Err(Diagnostic::error(None, message, "rename it"))
            }
            Err(InvalidName::TooDeep | InvalidName::Part) => {
                let message =
                    "the file's name cannot be typed: it is not UTF-8, or it has a backslash or a control character";
                Err(Diagnostic::error(None, message, "rename it"))
            }
        })
    }

    fn parsed(&self, file: &PromptFile, bytes: &[u8], includes: &mut Includes<'_>) -> Result<Prompt, Problem> {
        // Other programs' files include nothing.
        let includes: Option<&mut dyn IncludeReader> = if self.is_read_only() { None } else { Some(includes) };
        let prompt = file.format.parse_with(file.name.clone(), bytes, includes);
        let prompt = prompt.map_err(|diagnostic| self.problem(&file.path, diagnostic))?;
        if prompt.is_jinja() && self.layer == Layer::Project {
            let message = "`engine: jinja` is not used in the prompts of a project";
            let fix = "copy the prompt into a folder of your own if you trust it";
            return Err(self.problem(&file.path, Diagnostic::error(None, message, fix)));
        }
        let folder = file.path.parent().unwrap_or(&self.path).to_string_lossy();
        Ok(prompt.with_base_directory(&folder))
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
        let path = diagnostic.file.as_deref().unwrap_or(path);
        let below = path.strip_prefix(&self.path).ok().filter(|below| !below.as_os_str().is_empty());
        let file = match below {
            Some(below) => below.iter().map(|segment| segment.to_string_lossy()).collect::<Vec<_>>().join("/"),
            None => path.display().to_string(),
        };
        Problem { file, path: path.to_owned(), diagnostic }
    }
}

/// The folders of a name, and its last segment.
fn steps(name: &Name) -> (Vec<&str>, &str) {
    let (folders, stem) = name.rsplit_once('/').map_or(("", name.as_str()), |(folders, stem)| (folders, stem));
    (folders.split('/').filter(|step| !step.is_empty()).collect(), stem)
}

/// Whether a file is a symlink; `None` if there is none at the path, but nothing or a folder: one named `x.md` may hold
/// prompts, but is not a prompt itself.
fn symlink_of_file(path: &Path) -> Option<bool> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let is_symlink = metadata.is_symlink();
    let is_folder = metadata.is_dir() || (is_symlink && path.is_dir());
    (!is_folder).then_some(is_symlink)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Paths of files of any system, in few folders with few names, so that many of them meet.
    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        let part = || prop::sample::select(vec!["a", "b", "a.prompt", "a.md"]);
        let end = prop::sample::select(vec![
            ".md",
            ".MD",
            ".mD",
            ".prompt.md",
            ".prompt",
            ".toml",
            ".yaml",
            ".instructions.md",
            ".agent.md",
            ".txt",
            "/SKILL.md",
            "/system.md",
            "/SKILL",
            "/user.md",
        ]);
        let path = (prop::collection::vec(part(), 1..4), end).prop_map(|(parts, end)| parts.join("/") + end);
        prop::collection::btree_set(path, 0..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_scan_and_the_lookup_of_a_name_find_the_same_file_in_a_folder_of_any_system(paths in paths()) {
            let root = tempfile::tempdir().unwrap();
            for path in &paths {
                let path = root.path().join(path);
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
            for system in System::ALL {
                let folder = Folder::new(root.path().to_owned(), system, true, &Arc::default());
                let scan = folder.walk();
                let mut found = 0;
                for name in names.iter().filter_map(|name| Name::new(name).ok()) {
                    let resolved = folder.resolve(&name);
                    let listed = scan.file(&name);
                    let of = |file: &PromptFile| (file.path.clone(), file.format, file.is_in_folder, file.is_symlinked);
                    prop_assert_eq!(resolved.as_ref().map(of), listed.map(of), "{} {}", system.name(), name);
                    found += usize::from(listed.is_some());
                }
                prop_assert_eq!(found, scan.files.len(), "{}: {:?}", system.name(), scan.files);
            }
        }
    }
}
