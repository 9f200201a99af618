//! A folder of prompt files: maps prompt names to paths and paths back to names, and decides which
//! symlinks are followed.
//!
//! [`Root::resolve`] is the only function that turns a name into a path. Symlinks are followed
//! unless they form a cycle or lead out of a confined folder. The [`Format`] defines which suffixes
//! a prompt file has, and whether a folder can itself be a prompt (one that contains a `SKILL.md`,
//! say). Nothing else in such a folder is a prompt.

use super::cache::Trace;
use super::open::read_confined;
use super::reach::{Reach, relative_path};
use crate::prompt::{Diagnostic, FileSuffix, Format, Kind, MenuMark, Name, is_partial};
use crate::wording::{or_list, path_in_backticks};
use std::fmt::Debug;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of files and folders that one scan visits. It allows 100,000 prompts even if
/// each one has its own folder.
pub const MAX_ENTRIES: usize = 200_000;

/// Decides which file contents in a folder may be served.
pub(crate) trait TextGuard: Debug + Send + Sync {
    /// Returns an error if the contents of the file may not be served.
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic>;
}

/// A folder of prompt files and the rules for reading it.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    /// The format of its files.
    pub(crate) format: &'static Format,
    /// Where symlinks in it may lead.
    pub(crate) reach: Reach,
    /// Prepended to the name of every prompt, e.g. `plugin/`. Usually empty.
    pub(crate) prefix: String,
    /// Restricts which contents are served. `None` serves everything.
    pub(crate) guard: Option<Arc<dyn TextGuard>>,
    /// Whether the user configured it explicitly, which makes it an error if it is missing.
    pub(crate) is_required: bool,
}

/// Two roots are equal if they map the same names to the same paths. The guard and `is_required`
/// don't affect that.
impl PartialEq for Root {
    fn eq(&self, other: &Root) -> bool {
        self.path == other.path
            && self.format == other.format
            && self.reach == other.reach
            && self.prefix == other.prefix
    }
}

impl Eq for Root {}

/// A file that should contain a prompt.
#[derive(Debug, Clone)]
pub(crate) struct PromptFile {
    pub(crate) path: Arc<Path>,
    pub(crate) kind: FileSuffix,
    /// Whether the file, or any folder between it and the prompts folder, may be a symlink. Before
    /// the file is read, it must then be checked that it isn't outside the readable folders.
    pub(crate) may_be_linked: bool,
}

/// The prompt name that a file path maps to, and how to read the file.
#[derive(Debug)]
pub(crate) struct NamedFile {
    pub(crate) name: Name,
    pub(crate) kind: FileSuffix,
}

/// What the path of a file says about the name of its prompt.
#[derive(Debug)]
pub(crate) enum FileName {
    /// The file is not a prompt.
    NotAPrompt,
    /// The name can't be typed as a command, e.g. because it contains a space.
    Untypable(Diagnostic),
    Prompt(NamedFile),
}

impl FileName {
    /// Returns whether the file is a prompt, even if its name can't be typed.
    pub(crate) fn is_of_prompt(&self) -> bool {
        !matches!(self, FileName::NotAPrompt)
    }
}

/// What follows the prompt name in the path of its file, e.g. `.md`, `.MD` or `/SKILL.md`.
#[derive(Debug)]
pub(crate) struct PathSuffix {
    pub(crate) text: String,
    pub(crate) kind: FileSuffix,
}

/// A file that exists in a folder of prompts. It may not be a prompt.
#[derive(Debug)]
pub(crate) struct ExistingFile {
    pub(crate) path: PathBuf,
    pub(crate) is_link: bool,
}

/// A prompts folder and the format of its files.
struct FormatFolder<'p> {
    path: &'p Path,
    format: &'static Format,
}

/// The folder that contains the file of a prompt.
struct ParentFolder {
    path: PathBuf,
    /// Whether any folder in the path, below the prompts folder, is a symlink.
    is_linked: bool,
    /// The folders from the prompts folder down to this one, inclusive.
    chain: FolderChain,
}

impl ParentFolder {
    /// Returns the prompts folder itself. It counts as not linked, even if it is a symlink.
    fn prompts_folder(path: &Path) -> ParentFolder {
        ParentFolder {
            path: path.to_owned(),
            is_linked: false,
            chain: FolderChain::starting_at(path),
        }
    }

    /// Goes down into a child of this folder, which may be a symlink.
    fn enter(&mut self, child: PathBuf, is_link: bool) {
        if is_link {
            self.is_linked = true;
            self.chain.push_link_target(&child);
        } else {
            self.chain.push_folder(&child);
        }
        self.path = child;
    }
}

/// Whether a folder is a symlink and, if so, whether to follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FolderLink {
    /// The folder is not a symlink, or does not exist.
    NotALink,
    Followed,
    /// The symlink forms a cycle, or leads out of the readable folders.
    NotFollowed,
}

/// The folders from the prompts folder down to the one being read, used to detect symlink cycles.
pub(crate) struct FolderChain {
    /// Never empty: the first one is the prompts folder. The others are stored without symlinks
    /// below the prompts folder, so that resolving a symlink takes one step however many precede
    /// it.
    folders: Vec<PathBuf>,
}

impl FolderChain {
    /// Starts a chain at the prompts folder.
    pub(crate) fn starting_at(root: &Path) -> FolderChain {
        FolderChain {
            folders: vec![root.to_owned()],
        }
    }

    /// Drops all folders deeper than `depth`. At depth 0, only the prompts folder remains.
    pub(crate) fn truncate_to(&mut self, depth: usize) {
        self.folders.truncate(depth + 1);
    }

    /// Appends a child of the last folder. It must not be a symlink.
    pub(crate) fn push_folder(&mut self, folder: &Path) {
        self.folders.push(self.resolve(folder));
    }

    /// Appends the target of a symlink that is a child of the last folder.
    pub(crate) fn push_link_target(&mut self, link: &Path) {
        let link = self.resolve(link);
        self.folders.push(fs::canonicalize(&link).unwrap_or(link));
    }

    /// Returns the path of a child of the last folder, with the symlinks above it resolved. E.g. if
    /// `link` points to `real`, returns `real/x.md` for `link/x.md`.
    pub(crate) fn resolve(&self, entry: &Path) -> PathBuf {
        let folder = self.folders.last().map_or(Path::new(""), PathBuf::as_path);
        folder.join(entry.file_name().unwrap_or_default())
    }

    /// Returns the folder above `link` to which it points (a cycle), or `None`: `a` for a symlink
    /// `a/b/loop` to `a`. The folder may also be above the prompts folder.
    ///
    /// `link` must be a child of the last folder in the chain. Following a cycle would make a scan
    /// endless.
    pub(crate) fn find_ancestor_linked_to(&self, link: &Path) -> Option<PathBuf> {
        let target = fs::canonicalize(self.resolve(link)).ok()?;
        let root = &self.folders[0];
        let real_root = fs::canonicalize(root).ok()?;
        let is_above_root = real_root != target && real_root.starts_with(&target);
        if is_above_root {
            return Some(target);
        }
        let depth = self
            .folders
            .iter()
            .position(|folder| real_folder(folder, root, &real_root) == target)?;
        // The last folder in the chain is one step above the link.
        let steps_up = self.folders.len() - depth;
        link.ancestors().nth(steps_up).map(Path::to_owned)
    }
}

impl Root {
    /// Creates an optional root without a name prefix or a guard.
    pub(crate) fn new(path: PathBuf, format: &'static Format, reach: Reach) -> Root {
        Root {
            path,
            format,
            reach,
            prefix: String::new(),
            guard: None,
            is_required: false,
        }
    }

    /// Guesses from a file's path alone which prompts folder it belongs to:
    ///
    /// - for a file of an agent's plugin, the plugin's folder of commands or skills, e.g.
    ///   `~/.claude/plugins/acme/commands`;
    /// - for any other file in an agent's folder, that folder: `~/.claude/commands` for
    ///   `~/.claude/commands/git/x.md`;
    /// - for any other file, its parent or, for `NAME/SKILL.md`, the parent of `NAME`.
    pub(crate) fn guess_for(file: &Path) -> Root {
        let FormatFolder { path, format } = guess_prompts_folder(file);
        Root::new(path.to_owned(), format, Reach::for_typed_path(file))
    }

    /// Returns whether this program must not write to the folder, because another program owns its
    /// files.
    pub(crate) fn is_read_only(&self) -> bool {
        self.format != Format::OWN
    }

    /// Returns an error if the folder can't be read now. A missing folder is an error only if
    /// [`is_required`](Root::is_required) is set.
    pub(crate) fn problem(&self) -> Option<Diagnostic> {
        if let Err(escape) = self.reach.check(&self.path) {
            return Some(escape.in_file(&*self.path));
        }
        let error = fs::read_dir(&self.path).err()?;
        let is_missing = error.kind() == ErrorKind::NotFound;
        if is_missing && !self.is_required {
            return None;
        }
        let problem = if is_missing {
            Diagnostic::new(
                Kind::NotFound,
                "the prompts folder does not exist",
                "create it; it is served as soon as it exists",
            )
        } else {
            Diagnostic::new(
                Kind::NotFound,
                format!("the prompts folder cannot be read: {error}"),
                "correct the path, or its permissions",
            )
        };
        Some(problem.in_file(&*self.path))
    }

    /// Finds the file of the prompt with exactly this name. For `git/commit`, this is
    /// `git/commit.md` or, if that doesn't exist, `git/commit/SKILL.md`.
    ///
    /// Records in `trace` every file and folder that affects the result.
    pub(crate) fn resolve(&self, name: &Name, trace: &mut Trace) -> Option<PromptFile> {
        if self.is_read_only() {
            let folder_exists = trace.record(&self.path).is_some();
            if !folder_exists {
                return None; // a fast exit: most agents' folders don't exist
            }
        }
        let name = Name::new(name.strip_prefix(&*self.prefix)?).ok()?;
        let parent = self.resolve_parent(&name, trace)?;
        if let Some(file) = self.file_in_parent(&name, &parent, trace) {
            return Some(file);
        }
        self.file_in_own_folder(&name, &parent, trace)
    }

    /// Finds a file such as `git/commit.md`, directly in the parent folder.
    fn file_in_parent(
        &self,
        name: &Name,
        parent: &ParentFolder,
        trace: &mut Trace,
    ) -> Option<PromptFile> {
        let suffixes = self
            .possible_suffixes(name)
            .filter(|suffix| !suffix.kind.is_in_folder());
        self.first_file(name, parent, suffixes, trace)
    }

    /// Finds a file such as `git/commit/SKILL.md`, where the prompt is itself a folder.
    fn file_in_own_folder(
        &self,
        name: &Name,
        parent: &ParentFolder,
        trace: &mut Trace,
    ) -> Option<PromptFile> {
        let mut suffixes = self
            .possible_suffixes(name)
            .filter(|suffix| suffix.kind.is_in_folder())
            .peekable();
        suffixes.peek()?; // fast exit: most formats have no prompts that are folders
        let folder = parent.path.join(last_part(name));
        trace.record(&folder);
        let link = self.classify_folder(&folder, &parent.chain, trace);
        if link == FolderLink::NotFollowed {
            return None;
        }
        let mut file = self.first_file(name, parent, suffixes, trace)?;
        file.may_be_linked |= link == FolderLink::Followed;
        Some(file)
    }

    /// Tries the suffixes in order after the last segment of `name` (`commit.md`, `commit.MD`, …)
    /// and returns the first file in `parent` that exists and may be a prompt.
    fn first_file(
        &self,
        name: &Name,
        parent: &ParentFolder,
        suffixes: impl Iterator<Item = PathSuffix>,
        trace: &mut Trace,
    ) -> Option<PromptFile> {
        for suffix in suffixes {
            let file_name = format!("{}{}", last_part(name), suffix.text);
            let Some(existing) = self.existing_file(parent.path.join(file_name), trace) else {
                continue;
            };
            let file = PromptFile {
                path: existing.path.into(),
                kind: suffix.kind,
                may_be_linked: parent.is_linked || existing.is_link,
            };
            if self.non_prompt_hint(&file, trace).is_none() && !self.is_menu_entry(&file, trace) {
                return Some(file);
            }
        }
        None
    }

    /// Returns a hint if a file has the suffix of a prompt, but belongs to another program. Reads
    /// only files with an [ambiguous](FileSuffix::is_ambiguous) suffix.
    ///
    /// A file that can't be read or served counts as a prompt, so that its name leads to the error.
    pub(crate) fn non_prompt_hint(
        &self,
        file: &PromptFile,
        trace: &mut Trace,
    ) -> Option<Diagnostic> {
        if !file.kind.is_ambiguous() {
            return None;
        }
        trace.record(&file.path);
        let Ok(bytes) = read_confined(&file.path, &self.reach) else {
            trace.mark_uncacheable(); // no stamp reveals that the error is gone
            return None;
        };
        if self.check_text(&file.path, &bytes).is_err() {
            return None;
        }
        let hint = file.kind.non_prompt_hint(&bytes)?;
        Some(hint.in_file(Arc::clone(&file.path)))
    }

    /// Returns whether `sync` wrote a file into an agent's folder, as the entry of a prompt in the
    /// agent's menu. Reads only small files.
    pub(crate) fn is_menu_entry(&self, file: &PromptFile, trace: &mut Trace) -> bool {
        if !self.is_read_only() {
            return false; // not an agent's folder
        }
        let Ok(metadata) = fs::symlink_metadata(&file.path) else {
            return false;
        };
        if !metadata.is_file() || metadata.len() > MenuMark::MAX_FILE_BYTES {
            return false;
        }
        trace.record(&file.path);
        let Ok(bytes) = read_confined(&file.path, &self.reach) else {
            return false;
        };
        str::from_utf8(&bytes).is_ok_and(|text| MenuMark::parse(text).is_some())
    }

    /// Returns the suffixes that the file of this prompt may have, e.g. `.md` and `/SKILL.md`. If
    /// several such files exist, the first suffix wins.
    pub(crate) fn possible_suffixes<'n>(
        &self,
        name: &'n Name,
    ) -> impl Iterator<Item = PathSuffix> + use<'n> {
        let format = self.format;
        let suffixes = format.file_suffixes().flat_map(|kind| {
            kind.case_variants()
                .map(move |text| PathSuffix { text, kind })
        });
        // Skip suffixes that would change the name: `x.prompt` can't be stored as `x.prompt.md`,
        // because the name of that file is `x`.
        suffixes.filter(move |suffix| {
            let path = format!("{name}{}", suffix.text);
            format
                .split_path(&path)
                .is_some_and(|(name_of_path, _)| name_of_path == name.as_str())
        })
    }

    /// Returns the files that make `folder` itself a prompt, such as its `SKILL.md`. The first one
    /// contains the prompt. Empty if the folder is an ordinary one.
    pub(crate) fn folder_prompt_files(
        &self,
        folder: &Path,
        trace: &mut Trace,
    ) -> Vec<ExistingFile> {
        let mut files = Vec::new();
        for kind in self.format.file_suffixes() {
            if kind.is_in_folder() {
                let file_name = &kind.suffix[1..]; // `/SKILL.md` without its slash
                files.extend(self.existing_file(folder.join(file_name), trace));
            }
        }
        files
    }

    /// Returns where the file of a new prompt belongs: `git/commit.md` for the name `git/commit`.
    /// Does not touch the disk.
    ///
    /// # Errors
    /// Fails if no prompt would be read from there, because a parent folder is itself a prompt, or
    /// is a symlink that isn't followed.
    pub(crate) fn path_for_new(&self, name: &Name) -> Result<PathBuf, Diagnostic> {
        if let Some(parent) = self.resolve_parent(name, &mut Trace::default()) {
            return Ok(parent.path.join(format!("{}.md", last_part(name))));
        }
        let path = self.path.join(name.as_str());
        let problem = if self.is_in_prompt(&path) {
            "would be in a folder that is itself a prompt, and not be read"
        } else {
            "has a symlink in its path that points outside the project, or to a folder that contains it"
        };
        let message = format!("{} {problem}", path_in_backticks(&path));
        let fix = "choose another name or folder";
        Err(Diagnostic::new(Kind::NotWritable, message, fix))
    }

    /// Returns whether any folder above `path`, up to this root, is itself a prompt, such as a
    /// skill.
    fn is_in_prompt(&self, path: &Path) -> bool {
        let mut trace = Trace::default();
        for folder in path.ancestors().skip(1) {
            if folder == self.path {
                break;
            }
            if self.is_prompt(folder, &mut trace) {
                return true;
            }
        }
        false
    }

    /// Returns the folder that contains, or would contain, the file of a prompt: `git` for
    /// `git/commit`. Returns `None` if files in that folder are not read as prompts.
    ///
    /// Records each folder in the name, because turning one into a symlink can change which file
    /// the name refers to.
    fn resolve_parent(&self, name: &Name, trace: &mut Trace) -> Option<ParentFolder> {
        let mut parent = ParentFolder::prompts_folder(&self.path);
        let Some((folders, _)) = name.rsplit_once('/') else {
            trace.record(&self.path);
            return Some(parent);
        };
        if !self.format.is_recursive {
            return None;
        }
        for folder in folders.split('/') {
            let child = parent.path.join(folder);
            trace.record(&child);
            let link = self.classify_folder(&child, &parent.chain, trace);
            if link == FolderLink::NotFollowed || self.is_prompt(&child, trace) {
                return None;
            }
            parent.enter(child, link == FolderLink::Followed);
        }
        Some(parent)
    }

    /// Returns whether a folder is itself a prompt, such as a skill. Its other files, and those in
    /// its subfolders, are then not prompts.
    fn is_prompt(&self, folder: &Path, trace: &mut Trace) -> bool {
        !self.folder_prompt_files(folder, trace).is_empty()
    }

    /// Returns whether `folder` is a symlink and, if so, whether to follow it. `folder` must be a
    /// child of the last folder in `chain`.
    fn classify_folder(&self, folder: &Path, chain: &FolderChain, trace: &mut Trace) -> FolderLink {
        if !folder.is_symlink() {
            return FolderLink::NotALink;
        }
        self.note_link(trace);
        let is_cycle = chain.find_ancestor_linked_to(folder).is_some();
        let is_outside = self.reach.check(&chain.resolve(folder)).is_err();
        if is_cycle || is_outside {
            FolderLink::NotFollowed
        } else {
            FolderLink::Followed
        }
    }

    /// Returns the file at `path`, or `None` if it doesn't exist or is a folder. A folder named
    /// `x.md` may contain prompts, but isn't one. Records a symlink in `trace`, so that the cache
    /// notices when its target changes.
    fn existing_file(&self, path: PathBuf, trace: &mut Trace) -> Option<ExistingFile> {
        let metadata = fs::symlink_metadata(&path).ok()?;
        let is_link = metadata.is_symlink();
        if is_link {
            self.record_link(&path, trace);
        }
        let is_folder = if is_link {
            path.is_dir() // follows the symlink
        } else {
            metadata.is_dir()
        };
        if is_folder {
            return None;
        }
        Some(ExistingFile { path, is_link })
    }

    /// Records the target of a symlink in the trace, so that the cache notices when the target
    /// changes.
    pub(crate) fn record_link(&self, link: &Path, trace: &mut Trace) {
        trace.record(link);
        self.note_link(trace);
    }

    /// Notes that something is read through a symlink. In a confined folder, it is not cached then:
    /// the cache compares the state of the target, and would not notice that the target is now
    /// outside the folder.
    fn note_link(&self, trace: &mut Trace) {
        if self.reach.is_confined() {
            trace.mark_uncacheable();
        }
    }

    /// Returns an error if the [guard](Root::guard) forbids serving these contents.
    pub(crate) fn check_text(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        match &self.guard {
            Some(guard) => guard.check(path, bytes),
            None => Ok(()),
        }
    }

    /// Returns `path` relative to the folder, `/`-separated: `git/x.md`. A path outside the folder
    /// is returned whole.
    pub(crate) fn relative_path(&self, path: &Path) -> String {
        relative_path(&self.path, path)
    }

    /// Returns the name prefix of all prompts that a change at `path` may affect: `git/` for the
    /// folder `git`, or `""` for the whole root.
    ///
    /// Stops at the first segment that starts with `_`, because prompts next to such a file or
    /// folder may include it: `git/_parts/x.md` affects `git/`.
    pub(crate) fn affected_name_prefix(&self, path: &Path) -> String {
        let mut name_prefix = self.prefix.clone();
        for segment in self.relative_path(path).split('/') {
            if segment.is_empty() || (!self.is_read_only() && is_partial(segment)) {
                break;
            }
            name_prefix.push_str(segment);
            name_prefix.push('/');
        }
        name_prefix
    }

    /// Returns whether prompts in the folder can include a file with this suffix.
    pub(crate) fn is_includable(&self, path: &Path) -> bool {
        let suffix = path.extension().unwrap_or_default();
        !self.is_read_only() && suffix.eq_ignore_ascii_case("md")
    }

    /// Maps the path of a file to its prompt name: `git/x` for `git/x.md`. Only looks at the path.
    pub(crate) fn name_of(&self, path: &Path) -> FileName {
        let relative_path = self.relative_path(path);
        let Some((name, kind)) = self.format.split_path(&relative_path) else {
            return FileName::NotAPrompt;
        };
        let is_utf8 = path
            .strip_prefix(&self.path)
            .unwrap_or(path)
            .to_str()
            .is_some();
        let name = if is_utf8 {
            Name::new(&format!("{}{name}", self.prefix))
        } else {
            Err("it is not UTF-8".to_owned())
        };
        match name {
            Ok(name) => FileName::Prompt(NamedFile { name, kind }),
            Err(reason) => {
                let message = format!("the prompt has no name that can be typed: {reason}");
                let problem = Diagnostic::new(Kind::BadName, message, "rename the file");
                FileName::Untypable(problem.in_file(path))
            }
        }
    }

    /// Returns the prompt name and the kind of a file whose path the user typed.
    ///
    /// # Errors
    /// Fails if the file is missing or is not a prompt file, or if its name can't be typed as a
    /// command.
    pub(crate) fn prompt_at(&self, path: &Path) -> Result<NamedFile, Diagnostic> {
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let message = "there is no such file";
            return Err(Diagnostic::new(Kind::NotFound, message, "correct the path").in_file(path));
        }
        match self.name_of(path) {
            FileName::Prompt(named) => Ok(named),
            FileName::Untypable(problem) => Err(problem),
            FileName::NotAPrompt => Err(self.not_a_prompt(path).in_file(path)),
        }
    }

    /// Explains why a file is not read as a prompt, and how to turn it into one.
    fn not_a_prompt(&self, path: &Path) -> Diagnostic {
        if self.is_includable(path) && is_partial(&self.relative_path(path)) {
            return Diagnostic::new(
                Kind::NotACommand,
                "a file whose name, or that of its folder, begins with `_` is not a prompt, but can be included in one",
                "rename it, or expand a prompt that includes it",
            );
        }
        if let Some((suffix, purpose)) = Format::non_prompt_suffix(&path.to_string_lossy()) {
            return Diagnostic::new(
                Kind::Invalid,
                format!("a file that ends in `{suffix}` is not a prompt, but {purpose}"),
                "to use it as a prompt, copy it to a file that ends in `.md` alone",
            );
        }
        let suffixes: Vec<&str> = self
            .format
            .file_suffixes()
            .map(|kind| kind.suffix)
            .collect();
        let suffixes = or_list(&suffixes);
        if !self.is_read_only() {
            return Diagnostic::new(
                Kind::Invalid,
                format!("only files that end in {suffixes} are read as prompts"),
                "rename it so that it ends in `.md`",
            );
        }
        let title = self.format.title;
        Diagnostic::new(
            Kind::Invalid,
            format!("only files that end in {suffixes} are read as prompts in a folder of {title}"),
            "to use it as a prompt, copy it to a `.md` file in your own folder",
        )
    }
}

/// Returns the prompts folder that a file seems to belong to: that of an agent's plugin, that of an
/// agent, or else its own folder.
fn guess_prompts_folder(file: &Path) -> FormatFolder<'_> {
    let Some(agent_folder) = agent_folder_of(file) else {
        return native_folder(file);
    };
    // If this is the folder of all plugins, the prompts are in the folders of the plugins.
    plugin_folder_of(file, &agent_folder).unwrap_or(agent_folder)
}

/// Returns the innermost folder in the path that belongs to an agent, such as `.claude/commands`.
fn agent_folder_of(file: &Path) -> Option<FormatFolder<'_>> {
    for path in file.ancestors().skip(1) {
        let format = Format::for_folder(path);
        if format != Format::OWN {
            return Some(FormatFolder { path, format });
        }
    }
    None
}

/// Returns the folder of a file in this program's format: its parent or, for `NAME/SKILL.md`, the
/// parent of `NAME`.
fn native_folder(file: &Path) -> FormatFolder<'_> {
    let format = Format::OWN;
    let mut path = file.parent().unwrap_or(file);
    if let Some(above) = path.parent()
        && let Some((_, kind)) = format.split_path(&relative_path(above, file))
        && kind.is_in_folder()
    {
        path = above;
    }
    FormatFolder { path, format }
}

/// Returns the prompts folder of the plugin that contains `file`: `plugins/acme/commands` for
/// `plugins/acme/commands/x.md`. Returns `None` if `agent_folder` is not a folder of plugins, such
/// as `plugins`, or if the file is in no such subfolder of it.
fn plugin_folder_of<'p>(
    file: &'p Path,
    agent_folder: &FormatFolder<'p>,
) -> Option<FormatFolder<'p>> {
    for path in file.ancestors().skip(1) {
        if path == agent_folder.path {
            break;
        }
        for (suffix, format) in agent_folder.format.plugin {
            if path.ends_with(suffix) {
                let format = Format::by_name(format)?;
                return Some(FormatFolder { path, format });
            }
        }
    }
    None
}

/// Returns a folder of a [`FolderChain`] without symlinks. Below the prompts folder `root`, it has
/// none, so only `root` itself is replaced by `real_root`.
fn real_folder(folder: &Path, root: &Path, real_root: &Path) -> PathBuf {
    match folder.strip_prefix(root) {
        Ok(below) => real_root.join(below),
        Err(_) => folder.to_owned(), // the target of a symlink that leads out of the prompts folder
    }
}

/// Returns the last segment of a name: `commit` for `git/commit`.
pub(super) fn last_part(name: &Name) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns whether the file name starts with a dot.
pub(crate) fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns whether a file is a prompt, judging by its path alone.
pub fn is_prompt_file(path: &Path) -> bool {
    Root::guess_for(path).name_of(path).is_of_prompt()
}
