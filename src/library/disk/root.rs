//! A folder of prompt files and its rules: from a name to a path, from a path to a name, and which
//! symlinks are followed.
//!
//! A name becomes a path in one function ([`Root::resolve`]), segment by segment. Symlinks are
//! followed, except for cycles and for those that lead out of a confined folder. A folder with a
//! `SKILL.md`, for example, is itself a prompt, and nothing else in it is one; which files do that,
//! and which suffixes a prompt file has, the format says.

use super::cache::Trace;
use super::reach::{Reach, relative_path};
use crate::prompt::{Diagnostic, FileSuffix, Format, Kind, Name, is_partial};
use crate::wording::{or_list, path_in_backticks};
use std::fmt::Debug;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many files and folders one scan looks at: 100,000 prompts, however they are divided among
/// folders.
pub const MAX_ENTRIES: usize = 200_000;

/// Decides which texts in the files of a folder are served.
pub(crate) trait TextGuard: Debug + Send + Sync {
    /// Refuses a file whose text may not be served.
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic>;
}

/// A folder of prompt files.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    /// How its files are written.
    pub(crate) format: &'static Format,
    /// How far symlinks in it may lead.
    pub(crate) reach: Reach,
    /// What the names of its prompts begin with, besides their path: empty, or such as `plugin/`.
    pub(crate) prefix: String,
    /// What decides which texts are served, if not all of them are.
    pub(crate) guard: Option<Arc<dyn TextGuard>>,
    /// Whether the user named it, so that it is a problem if it is missing.
    pub(crate) is_required: bool,
}

/// Two roots are equal if they find the same names at the same paths.
impl PartialEq for Root {
    fn eq(&self, other: &Root) -> bool {
        self.path == other.path
            && self.format == other.format
            && self.reach == other.reach
            && self.prefix == other.prefix
    }
}

impl Eq for Root {}

/// A file that should be a prompt.
#[derive(Debug, Clone)]
pub(crate) struct PromptFile {
    pub(crate) path: Arc<Path>,
    pub(crate) kind: FileSuffix,
    /// Whether it, or a folder between the prompts folder and it, is a symlink.
    pub(crate) is_linked: bool,
}

/// The name of the prompt in a file, and how the file is read.
#[derive(Debug)]
pub(crate) struct NamedFile {
    pub(crate) name: Name,
    pub(crate) kind: FileSuffix,
}

/// The end of the path of a prompt file, after the name: `.md`, `.MD` or `/SKILL.md`, for example.
#[derive(Debug)]
pub(crate) struct PathEnd {
    pub(crate) text: String,
    pub(crate) kind: FileSuffix,
}

/// A file that exists in a folder of prompts. It need not be a prompt.
#[derive(Debug)]
pub(crate) struct ExistingFile {
    pub(crate) path: PathBuf,
    pub(crate) is_link: bool,
}

/// A folder that holds prompts of a format.
struct FormatFolder<'p> {
    path: &'p Path,
    format: &'static Format,
}

/// The folder that has the file of a prompt.
struct ParentFolder {
    path: PathBuf,
    /// Whether the path has a symlink.
    is_linked: bool,
    /// The folders from the prompts folder down to this one.
    chain: FolderChain,
}

/// Whether a folder is a symlink, and whether that is followed.
#[derive(Clone, Copy)]
enum FolderLink {
    /// The folder is no symlink, or does not exist.
    None,
    /// The symlink is followed.
    Followed,
    /// The symlink is not followed: it is a cycle, or leads out of what may be read.
    NotFollowed,
}

/// The folders from a prompts folder down to the one that is being read.
pub(crate) struct FolderChain {
    /// The first one is the prompts folder. All others have no symlinks below the prompts folder,
    /// so that a symlink behind many others is resolved in one step.
    folders: Vec<PathBuf>,
}

impl FolderChain {
    /// Returns the chain that has only the prompts folder.
    pub(crate) fn of_root(root: &Path) -> FolderChain {
        FolderChain {
            folders: vec![root.to_owned()],
        }
    }

    /// Removes the folders that are deeper than `depth` folders below the prompts folder. A depth
    /// of 0 leaves only the prompts folder.
    pub(crate) fn back_to(&mut self, depth: usize) {
        self.folders.truncate(depth + 1);
    }

    /// Adds a folder that is in the last folder of the chain, without the symlinks in its path.
    pub(crate) fn enter(&mut self, folder: &Path, is_link: bool) {
        let mut resolved = self.resolve(folder);
        if is_link {
            resolved = fs::canonicalize(&resolved).unwrap_or(resolved);
        }
        self.folders.push(resolved);
    }

    /// Returns the path of a file or folder in the last folder of the chain, without the symlinks
    /// above it: `real/x.md` for `link/x.md`, if `link` points to `real`.
    pub(crate) fn resolve(&self, entry: &Path) -> PathBuf {
        let folder = self.folders.last().map_or(Path::new(""), PathBuf::as_path);
        folder.join(entry.file_name().unwrap_or_default())
    }

    /// Returns the folder above a symlink that the symlink points back to: the folder `a` for a
    /// symlink `a/b/loop` to `a`. Returns `None` if the symlink points elsewhere.
    ///
    /// The symlink is in the last folder of the chain. A scan that followed a cycle would never
    /// end.
    pub(crate) fn cycle<'p>(&self, link: &'p Path) -> Option<&'p Path> {
        let target = fs::canonicalize(self.resolve(link)).ok()?;
        let root = &self.folders[0];
        let real_root = fs::canonicalize(root).ok()?;
        let depth = self.folders.iter().position(|folder| {
            match folder.strip_prefix(root) {
                Ok(below) => real_root.join(below) == target,
                Err(_) => *folder == target, // a symlink has led out of the prompts folder
            }
        })?;
        let steps_up = self.folders.len() - depth;
        link.ancestors().nth(steps_up)
    }
}

impl Root {
    /// Returns a folder that may be missing, without a prefix for the names of its prompts, and
    /// without a guard, so that every text in it is served.
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

    /// Guesses, from its path alone, the folder of prompts that a file belongs to.
    ///
    /// For `~/.claude/commands/git/x.md` it is `~/.claude/commands`. If no folder in the path is
    /// known to belong to an agent, it is the folder of the file, or the one above for a file such
    /// as `NAME/SKILL.md`.
    pub(crate) fn around(file: &Path) -> Root {
        let mut folder = folder_of_other_program(file).unwrap_or_else(|| own_folder(file));
        if let Some(plugin_folder) = folder_of_plugin(file, &folder) {
            folder = plugin_folder;
        }
        Root::new(
            folder.path.to_owned(),
            folder.format,
            Reach::for_typed_path(file),
        )
    }

    /// Returns whether this program never writes to it, because its files are another program's.
    pub(crate) fn is_read_only(&self) -> bool {
        self.format != Format::OWN
    }

    /// Returns an error if the folder cannot be read now. A missing folder is an error only if the
    /// user has named it.
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

    /// Finds the file of the prompt with exactly this name: for `git/commit`, the file
    /// `git/commit.md` or else `git/commit/SKILL.md`. Returns `None` if there is no such file.
    ///
    /// Every file and folder that decides which file is found is added to the trace. No other
    /// function turns a name into a path.
    pub(crate) fn resolve(&self, name: &Name, trace: &mut Trace) -> Option<PromptFile> {
        if self.is_read_only() {
            trace.record(&self.path)?; // most folders of other programs are missing
        }
        let name = Name::new(name.strip_prefix(&*self.prefix)?).ok()?;
        let parent = self.parent_of(&name, trace)?;
        if let Some(file) = self.file_in_parent(&name, &parent, trace) {
            return Some(file);
        }
        self.file_in_own_folder(&name, &parent, trace)
    }

    /// Finds the file of a prompt directly in its parent folder, such as `git/commit.md`.
    fn file_in_parent(
        &self,
        name: &Name,
        parent: &ParentFolder,
        trace: &mut Trace,
    ) -> Option<PromptFile> {
        let ends = self.ends(name).filter(|end| !end.kind.is_in_folder());
        self.first_file(name, parent, ends, trace)
    }

    /// Finds the file of a prompt that is itself a folder, such as `git/commit/SKILL.md`.
    fn file_in_own_folder(
        &self,
        name: &Name,
        parent: &ParentFolder,
        trace: &mut Trace,
    ) -> Option<PromptFile> {
        let mut ends = self
            .ends(name)
            .filter(|end| end.kind.is_in_folder())
            .peekable();
        ends.peek()?; // in most formats of other programs, no prompt is a folder
        let folder = parent.path.join(last_part(name));
        trace.record(&folder);
        let link = self.link_of_folder(&folder, &parent.chain, trace);
        if matches!(link, FolderLink::NotFollowed) {
            return None;
        }
        let mut file = self.first_file(name, parent, ends, trace)?;
        file.is_linked |= matches!(link, FolderLink::Followed);
        Some(file)
    }

    /// Returns the first file that exists if each of these ends is tried after the last part of a
    /// name: `commit.MD`, `commit.md` and so on in the folder `parent`.
    fn first_file(
        &self,
        name: &Name,
        parent: &ParentFolder,
        ends: impl Iterator<Item = PathEnd>,
        trace: &mut Trace,
    ) -> Option<PromptFile> {
        for end in ends {
            let file_name = format!("{}{}", last_part(name), end.text);
            if let Some(file) = self.existing_file(parent.path.join(file_name), trace) {
                return Some(PromptFile {
                    path: file.path.into(),
                    kind: end.kind,
                    is_linked: parent.is_linked || file.is_link,
                });
            }
        }
        None
    }

    /// Returns the ends that the path of the file of this name may have: `.md` and `/SKILL.md`, for
    /// example. If several such files exist, the prompt is in the one whose end comes first.
    pub(crate) fn ends<'n>(&self, name: &'n Name) -> impl Iterator<Item = PathEnd> + use<'n> {
        let format = self.format;
        let ends = format
            .file_suffixes()
            .flat_map(|kind| kind.spellings().map(move |text| PathEnd { text, kind }));
        // The name `x.prompt` has no end `.md`, for example: the name of `x.prompt.md` is `x`.
        ends.filter(move |end| {
            let path = format!("{name}{}", end.text);
            format
                .split_path(&path)
                .is_some_and(|(name_of_path, _)| name_of_path == name.as_str())
        })
    }

    /// Returns the files that make a folder itself a prompt, such as its `SKILL.md`. If there are
    /// several, the prompt is in the first one. An empty result means that the folder is no prompt.
    pub(crate) fn files_of_prompt(&self, folder: &Path, trace: &mut Trace) -> Vec<ExistingFile> {
        let mut files = Vec::new();
        for kind in self.format.file_suffixes() {
            if kind.is_in_folder() {
                let file_name = &kind.suffix[1..]; // `SKILL.md` of `/SKILL.md`
                files.extend(self.existing_file(folder.join(file_name), trace));
            }
        }
        files
    }

    /// Returns the path for the file of a new prompt: `git/commit.md` below the folder for the name
    /// `git/commit`. Nothing is written.
    ///
    /// # Errors
    /// A file at that path would not be read as a prompt, because a folder above it is itself a
    /// prompt, or is a symlink that is not followed.
    pub(crate) fn path_for_new(&self, name: &Name) -> Result<PathBuf, Diagnostic> {
        if let Some(parent) = self.parent_of(name, &mut Trace::default()) {
            return Ok(parent.path.join(format!("{}.md", last_part(name))));
        }
        let path = self.path.join(name.as_str());
        let problem = if self.is_in_prompt(&path) {
            "would be in a folder that is itself a prompt, and not be read"
        } else {
            "has a symlink in its path that points outside the project, or back to a folder that it is in"
        };
        let message = format!("{} {problem}", path_in_backticks(&path));
        let fix = "choose another name or folder";
        Err(Diagnostic::new(Kind::NotWritable, message, fix))
    }

    /// Returns whether a path below this folder is in a folder that is itself a prompt, such as a
    /// skill.
    fn is_in_prompt(&self, path: &Path) -> bool {
        let mut trace = Trace::default();
        for folder in path.ancestors().skip(1) {
            if folder == self.path {
                break;
            }
            if !self.files_of_prompt(folder, &mut trace).is_empty() {
                return true;
            }
        }
        false
    }

    /// Returns the folder that has, or would have, the file of a prompt: `git` for the name
    /// `git/commit`. Returns `None` if no file in that folder can be a prompt.
    ///
    /// Each folder in the name is added to the trace: if `git` became a symlink, for example, the
    /// name `git/commit` could belong to another file.
    fn parent_of(&self, name: &Name, trace: &mut Trace) -> Option<ParentFolder> {
        let mut parent = ParentFolder {
            path: self.path.clone(),
            is_linked: false,
            chain: FolderChain::of_root(&self.path),
        };
        let Some((folders, _)) = name.rsplit_once('/') else {
            trace.record(&parent.path);
            return Some(parent);
        };
        if !self.format.is_recursive {
            return None;
        }
        for folder in folders.split('/') {
            parent.path.push(folder);
            trace.record(&parent.path);
            let link = self.link_of_folder(&parent.path, &parent.chain, trace);
            if matches!(link, FolderLink::NotFollowed) {
                return None;
            }
            if !self.files_of_prompt(&parent.path, trace).is_empty() {
                return None; // nothing else in the folder of a skill, for example, is a prompt
            }
            let is_link = matches!(link, FolderLink::Followed);
            parent.is_linked |= is_link;
            parent.chain.enter(&parent.path, is_link);
        }
        Some(parent)
    }

    /// Returns whether a folder is a symlink, and whether that is followed. `chain` ends with the
    /// folder above it.
    fn link_of_folder(&self, folder: &Path, chain: &FolderChain, trace: &mut Trace) -> FolderLink {
        if !folder.is_symlink() {
            return FolderLink::None;
        }
        if self.reach.is_confined() {
            trace.mark_uncacheable(); // no stamp shows whether the target is still in the project
        }
        let is_cycle = chain.cycle(folder).is_some();
        let leads_out = self.reach.check(&chain.resolve(folder)).is_err();
        if is_cycle || leads_out {
            FolderLink::NotFollowed
        } else {
            FolderLink::Followed
        }
    }

    /// Returns the file at a path. Returns `None` if nothing is there, or a folder: a folder named
    /// `x.md` may hold prompts, but is not a prompt itself. A symlink is added to the trace.
    fn existing_file(&self, path: PathBuf, trace: &mut Trace) -> Option<ExistingFile> {
        let metadata = fs::symlink_metadata(&path).ok()?;
        let is_link = metadata.is_symlink();
        if is_link {
            self.record_link(&path, trace);
        }
        let is_folder = metadata.is_dir() || (is_link && path.is_dir());
        (!is_folder).then_some(ExistingFile { path, is_link })
    }

    /// Adds the target of a symlink to the trace.
    ///
    /// In a confined folder, such as that of a project, a value that was read through a symlink is
    /// not kept: no stamp shows whether the target is still in the project.
    pub(crate) fn record_link(&self, link: &Path, trace: &mut Trace) {
        trace.record(link);
        if self.reach.is_confined() {
            trace.mark_uncacheable();
        }
    }

    /// Refuses the text of a file that the guard of the folder does not allow. Without a guard,
    /// every text is allowed.
    pub(crate) fn check_text(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        match &self.guard {
            Some(guard) => guard.check(path, bytes),
            None => Ok(()),
        }
    }

    /// Returns the part of a path that is below the folder, `/`-separated: `git/x.md`.
    pub(crate) fn relative_path(&self, path: &Path) -> String {
        relative_path(&self.path, path)
    }

    /// Returns how the names of all prompts begin that a change at a path may concern: `git/` for
    /// the folder `git`, and an empty text for the prompts folder.
    ///
    /// A file or folder whose name begins with `_` may be included by all prompts next to it, so
    /// the result for `git/_parts/x.md` is `git/` as well.
    pub(crate) fn names_around(&self, path: &Path) -> String {
        let mut folder = self.prefix.clone();
        for step in self.relative_path(path).split('/') {
            if step.is_empty() || (!self.is_read_only() && is_partial(step)) {
                break;
            }
            folder.push_str(step);
            folder.push('/');
        }
        folder
    }

    /// Returns whether a file has a name with which prompts of the folder may include it.
    pub(crate) fn is_includable(&self, path: &Path) -> bool {
        let suffix = path.extension().unwrap_or_default();
        !self.is_read_only() && suffix.eq_ignore_ascii_case("md")
    }

    /// Returns the name of the prompt in a file below the folder, and how the file is read: `git/x`
    /// for `git/x.md`. Returns `None` if it is not a prompt file. Only the path counts, and nothing
    /// is read.
    ///
    /// # Errors
    /// The name cannot be typed as a command, because it has a space, for example.
    pub(crate) fn name_of(&self, path: &Path) -> Option<Result<NamedFile, Diagnostic>> {
        let below = self.relative_path(path);
        let (name, kind) = self.format.split_path(&below)?;
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
        Some(match name {
            Ok(name) => Ok(NamedFile { name, kind }),
            Err(reason) => {
                let message = format!("the prompt has no name that can be typed: {reason}");
                Err(Diagnostic::new(Kind::BadName, message, "rename the file").in_file(path))
            }
        })
    }

    /// Returns the name of the prompt in a file that a person has named, and how the file is read.
    ///
    /// # Errors
    /// There is no such file, or it is not a prompt.
    pub(crate) fn prompt_at(&self, path: &Path) -> Result<NamedFile, Diagnostic> {
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let message = "there is no such file";
            return Err(Diagnostic::new(Kind::NotFound, message, "correct the path").in_file(path));
        }
        self.name_of(path)
            .unwrap_or_else(|| Err(self.not_a_prompt(path).in_file(path)))
    }

    /// Returns the error for a file below the folder that is not a prompt file. It says how the
    /// file can become one.
    fn not_a_prompt(&self, path: &Path) -> Diagnostic {
        if self.is_includable(path) && is_partial(&self.relative_path(path)) {
            return Diagnostic::new(
                Kind::NotACommand,
                "a file whose name, or that of its folder, begins with `_` is not a prompt, but can be included in one",
                "rename it, or expand a prompt that includes it",
            );
        }
        if let Some((end, purpose)) = Format::non_prompt_suffix(&path.to_string_lossy()) {
            return Diagnostic::new(
                Kind::Invalid,
                format!("a file that ends in `{end}` is not a prompt, but {purpose}"),
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

/// Returns the nearest folder in the path of a file that another program's prompts are in, such as
/// `.claude/commands`.
fn folder_of_other_program(file: &Path) -> Option<FormatFolder<'_>> {
    for path in file.ancestors().skip(1) {
        let format = Format::for_folder(path);
        if format != Format::OWN {
            return Some(FormatFolder { path, format });
        }
    }
    None
}

/// Returns the folder of prompts that a file in the format of this program belongs to: the folder
/// of the file or, for a file such as `NAME/SKILL.md`, the folder above.
fn own_folder(file: &Path) -> FormatFolder<'_> {
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

/// Returns the folder with the prompts of one plugin, such as `plugins/acme/commands` for the file
/// `plugins/acme/commands/x.md`. Returns `None` if the file is in no such folder. `plugins` is the
/// folder that has all plugins.
fn folder_of_plugin<'p>(file: &'p Path, plugins: &FormatFolder<'p>) -> Option<FormatFolder<'p>> {
    for path in file.ancestors().skip(1) {
        if path == plugins.path {
            break;
        }
        for (end, format) in plugins.format.plugin {
            if path.ends_with(end) {
                let format = Format::by_name(format)?;
                return Some(FormatFolder { path, format });
            }
        }
    }
    None
}

/// Returns the last segment of a name: `commit` for `git/commit`.
pub(super) fn last_part(name: &Name) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns whether the name of a file or folder begins with a dot.
pub(crate) fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns whether a file has the name of a prompt. Only its path counts.
pub fn is_prompt_file(path: &Path) -> bool {
    Root::around(path).name_of(path).is_some()
}
