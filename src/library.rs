//! All prompts of a user: an ordered list of sources, of which the first that has a prompt of a name wins.
//!
//! A [`Library`] is shared by all threads. Each message sees it through one [`View`], which looks at a source when it is
//! first needed; a project's folder, for example, is searched for once in each view. A view shows what is on disk: for an
//! exact name one file is read, for a list all files, and only for an unknown name are all names compared. A file is not
//! read again while its stamp shows that it is unchanged (`library/cache.rs`). [`Watch`] notices when files change.

mod attachments;
mod builtin;
mod cache;
mod caller;
mod difference;
mod editor;
mod folder;
mod folder_writer;
mod history;
mod include;
mod jsonl;
mod lookup;
#[cfg(feature = "openapi")]
mod openapi;
mod project;
mod query;
mod read;
mod revision;
mod snapshot;
mod test_files;
mod unread;
mod walk;
mod watch;
mod watch_paths;
mod write;

pub use caller::{Caller, Prefix, Role, Token};
pub use difference::{DiffLine, Hunk, difference, hunks, merged};
use editor::Writer;
pub use editor::{About, Current, Edit, EditError, Editor, Written};
pub use history::{Operation, VERSIONS, Version};
pub use jsonl::is_jsonl;
pub use lookup::{Lookup, Unknown};
#[cfg(feature = "openapi")]
pub(crate) use openapi::{HeaderValue, Options as OpenApiOptions, SecretHeader, check_base, check_header_name};
#[cfg(feature = "openapi")]
pub use openapi::{OpenApiRequests, openapi_requests};
pub use project::FOLDER as PROJECT_FOLDER;
pub use query::Selection;
pub(crate) use query::has_tag;

pub use read::is_prompt_file;
pub(crate) use read::read_whole;
pub use revision::{InvalidRevision, Revision};
pub use snapshot::Snapshot;
pub(crate) use test_files::{TestFile, TestFileError, is_test_file};
pub use unread::Unread;
pub use walk::{MAX_ENTRIES, MAX_LINKED_FOLDERS};
pub use watch::{Changes, POLL, Watch};
pub use write::WriteError;
pub(crate) use write::{FileState, OwnFile, create, create_file, create_with_folders, delete_if, plan, replace};

use crate::prompt::{
    Attachment, Call, Diagnostic, ExpandError, Messages, Name, Piece, Position, Prompt, Summary, System,
};
use crate::wording::printable;
use builtin::Builtin;
use cache::{Cache, Fingerprint};
use folder::Folder;
use jsonl::Jsonl;
#[cfg(feature = "openapi")]
use openapi::OpenApi;
use project::Project;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;
use watch_paths::WatchPaths;

/// The sources of prompts, of which the first that has a name wins: the project's folder if that was asked for, the user's
/// folders in their order, and the built-in prompts unless they were excluded.
#[derive(Debug)]
pub struct Library {
    sources: Vec<Arc<dyn Source>>,
    cache: Arc<Cache>,
    changes: Arc<Changes>,
    /// How many versions of a prompt a write leaves in its history besides the current one.
    versions: NonZeroUsize,
}

impl Default for Library {
    fn default() -> Library {
        Library { sources: Vec::new(), cache: Arc::default(), changes: Arc::default(), versions: VERSIONS }
    }
}

/// Where prompts come from.
trait Source: fmt::Debug + Send + Sync {
    /// Its state at this moment.
    fn view(self: Arc<Self>) -> Arc<dyn SourceView>;

    /// Where its folder was looked for, if it was not found and that is not a problem; for a person who asked for it.
    fn absence(&self) -> Option<String> {
        None
    }

    /// What changes the user's prompts in it.
    fn writer(self: Arc<Self>) -> Option<Arc<dyn Writer>> {
        None
    }

    /// The folder that new prompts are written to, which may be missing; `Err` with the reason if nothing can be written.
    fn folder_for_new_prompts(&self) -> Option<Result<PathBuf, String>> {
        None
    }

    /// Whether its prompts are only for those who may edit prompts.
    fn is_for_editing(&self) -> bool {
        false
    }

    /// Whether services render its prompts.
    fn is_remote(&self) -> bool {
        false
    }

    /// The paths whose appearance or removal may change which folder the prompts are in.
    fn watch_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}

/// Makes the text of a message from its pieces, which it may change.
type Join<'j> = &'j dyn Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String;

/// One state of a source. What is on disk is still read when it is asked for.
trait SourceView: fmt::Debug + Send + Sync {
    fn layer(&self) -> Layer;

    /// The program that its files are written for.
    fn system(&self) -> System {
        System::PromptExpander
    }

    /// The prompt with exactly this name; `Err` if its file is broken. Nothing but this one file is looked at.
    fn get(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>>;

    /// Whether it has most likely a prompt with exactly this name. No file is looked at.
    fn was_found(&self, name: &Name) -> bool {
        self.get(name).is_some()
    }

    /// The text of the file with exactly this name, whether it is a valid prompt or not.
    fn raw(&self, name: &Name) -> Option<Result<String, Problem>>;

    /// Where the prompt with exactly this name is. Nothing is opened.
    fn locate(&self, name: &Name) -> Option<Location>;

    /// All names, sorted.
    fn list(&self) -> Listing<'_>;

    /// What lists show of a listed prompt. Its file is read, unless it is cached.
    fn info(&self, name: &Name) -> Option<FileInfo>;

    /// The attachments of one of its prompts, which are read now; the first that cannot be used is an error.
    fn attachments(&self, _: &Prompt) -> Result<Vec<Attachment>, Diagnostic> {
        Ok(Vec::new())
    }

    /// The expansion of one of its prompts, with the attachments, which are read now. A service that renders the prompt is called.
    fn expand(&self, prompt: &Prompt, call: Call<'_>, join: Join<'_>) -> Result<Messages, ExpandError> {
        let messages = prompt.expand_with(call, join)?;
        if prompt.attachments.is_empty() { Ok(messages) } else { with_attachments(messages, self.attachments(prompt)) }
    }

    /// The request that [`expand`](SourceView::expand) would send to a service; `None` if none renders the prompt.
    fn request(&self, _: &Prompt, _: Call<'_>) -> Option<Result<ServiceRequest, ExpandError>> {
        None
    }

    /// Calls each service that renders some of its prompts.
    fn reach_services(&self) -> Vec<ReachedService> {
        Vec::new()
    }

    /// Why it cannot be read, or a part of it, at this moment.
    fn missing(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// The folder of its files, which may be missing; `None` if a prompt is not a file.
    fn folder(&self) -> Option<&Folder> {
        None
    }

    /// Where its files are, which may be missing.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// Reads every file, or every file below a folder, and reports everything that is, or looks, wrong.
    fn check(&self, _: Option<&Path>) -> Report {
        Report { files: 0, problems: self.missing() }
    }

    /// The errors and warnings of the file at this absolute path; `None` unless it is one with several prompts.
    fn check_file(&self, _: &Path) -> Option<Vec<Problem>> {
        None
    }

    /// This folder and those below it that are read, except those that are prompts themselves.
    fn scanned_folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The folders that are prompts because of their `system.md`.
    fn patterns(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The files that its prompts attach, and documents that have them, with all links resolved.
    fn attached_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether a file at this path would be one of its prompts.
    fn is_prompt_path(&self, _: &Path) -> bool {
        false
    }

    /// Whether this path is in its folder and is a symlink that points outside it, which is not followed.
    fn is_escape(&self, _: &Path) -> bool {
        false
    }

    /// Adds to a hash what changes with its files; none is opened. `false` if the last change is so recent that the next
    /// one may not show.
    fn hash_stamps(&self, _: &mut DefaultHasher) -> bool {
        true
    }

    /// Adds the paths to watch for changes of its prompts.
    fn add_watch_paths(&self, _: &mut WatchPaths) {}
}

/// A library at one moment, as one caller sees it.
#[derive(Debug)]
pub struct View {
    sources: Arc<[LazyView]>,
    /// Nothing else exists.
    prefix: Option<Prefix>,
    /// Whether the prompts that tell a model how to edit prompts exist.
    is_for_editing: bool,
}

/// The view of a source, which is made when it is first needed, because a project's folder must be searched for.
#[derive(Debug)]
struct LazyView {
    source: Arc<dyn Source>,
    view: OnceLock<Arc<dyn SourceView>>,
}

/// All names of a library or a source. A file is read when its entry is asked for more than its name.
#[derive(Debug, Default)]
pub struct Listing<'v> {
    /// Sorted by name, in byte order. Of several sources that have a name, the first.
    pub entries: Vec<Entry<'v>>,
    /// The files and folders that were skipped, and may have further names: those that are missing or unreadable, and what is
    /// beyond a limit.
    pub skipped: Vec<Problem>,
    /// Files that should be prompts and cannot have a name.
    pub problems: Vec<Problem>,
}

/// The name of a prompt, and the source that has it.
#[derive(Debug)]
pub struct Entry<'v> {
    name: &'v Name,
    view: &'v dyn SourceView,
}

/// Who wrote a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The authors of the project that the user works on.
    Project,
    /// The user, in their own folder or one that they named.
    User,
    /// A service that renders them. An OpenAPI document describes it.
    Remote,
    /// The authors of this program.
    Builtin,
}

/// Where a prompt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In a file.
    File(PathBuf),
    /// In this OpenAPI document, of which it is an operation.
    Document(PathBuf),
    /// In the program itself.
    Builtin,
}

/// A request for a prompt that a service renders, without anything secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRequest {
    /// `GET`, `POST` and others.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Names and values; for a secret, where its value comes from.
    pub headers: Vec<(String, String)>,
    /// Compact JSON.
    pub body: Option<String>,
}

/// A service that was called without asking for a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedService {
    /// The OpenAPI document that describes it.
    pub document: PathBuf,
    /// Its address.
    pub url: String,
    /// The status with which it answers; `Err` with the reason, and what to do, if it cannot be called.
    pub status: Result<u16, String>,
}

/// A file or a folder that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its path below the prompts folder, `/`-separated; for the folder itself, its own path.
    pub file: String,
    /// Its whole path.
    pub path: PathBuf,
    /// What is wrong with it, and the fix.
    pub diagnostic: Diagnostic,
}

/// A text that is not saved, as the file of a prompt.
#[derive(Debug)]
pub struct Draft {
    /// The path that the file has, or would have.
    pub path: PathBuf,
    /// The prompt; `None` if the file would be broken.
    pub prompt: Option<Prompt>,
    /// Everything that is, or looks, wrong.
    pub problems: Vec<Problem>,
}

/// What lists and change detection need of a prompt.
#[derive(Debug, Clone)]
pub struct FileInfo {
    /// All of the prompt but its text; `Err` if its file is broken.
    pub summary: Result<Arc<Summary>, Arc<Problem>>,
    /// `None` if the file cannot be read, or a service renders the prompt. A broken one has a revision, so that it can be repaired.
    pub revision: Option<Revision>,
    pub(crate) fingerprint: Fingerprint,
    /// The size of the file, in bytes.
    pub size: u64,
    /// When the file was last modified; `None` for a built-in prompt, and where the file system does not say.
    pub modified: Option<SystemTime>,
}

/// The names of all prompts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Those of the project's and the user's folders, sorted.
    pub own: Vec<Name>,
    /// The built-in ones that are not in `own`, sorted.
    pub builtin: Vec<Name>,
    /// See [`Listing::skipped`].
    pub skipped: Vec<Problem>,
}

/// What `check` finds in the files of all folders.
#[derive(Debug, Default)]
pub struct Report {
    /// How many files were read, including those that a file of the same name overrides.
    pub files: usize,
    /// Errors and warnings, sorted by source, path and position.
    pub problems: Vec<Problem>,
}

impl Library {
    /// A library of folders that the user named, in this order: a missing one is a problem. Which system a folder is of, its path
    /// says. Nothing is read yet.
    pub fn named(folders: impl IntoIterator<Item = PathBuf>) -> Library {
        folders.into_iter().fold(Library::default(), |library, path| library.with_named(None, path))
    }

    /// A library of the user's own folder, which may be missing. Nothing is read yet.
    pub fn own(folder: Option<PathBuf>) -> Library {
        folder
            .into_iter()
            .fold(Library::default(), |library, path| library.with_folder(System::PromptExpander, path, false))
    }

    /// Adds a folder that the user named. `system` is `None` where its path says which one it is of.
    pub fn with_named(self, system: Option<System>, path: PathBuf) -> Library {
        let system = system.unwrap_or_else(|| system_of(&path));
        self.with_folder(system, path, true)
    }

    /// Adds the folder of an agent, which may be missing.
    pub fn with_agent_folder(self, system: System, path: PathBuf) -> Library {
        self.with_folder(system, path, false)
    }

    /// Adds the folder of an agent in the project that the folder `from` belongs to, where it is looked for as in
    /// [`with_project`](Library::with_project). `name` is its path in the project.
    pub fn with_agent_folder_of_project(
        mut self,
        system: System,
        name: &str,
        from: &Path,
        home: Option<&Path>,
    ) -> Library {
        self.sources.push(Arc::new(Project::new(from, home, name, system, &self.cache)));
        self
    }

    fn with_folder(mut self, system: System, path: PathBuf, is_required: bool) -> Library {
        self.sources.push(match system {
            System::Hexai => Arc::new(Jsonl::new(path, is_required)),
            _ => Arc::new(Folder::new(path, system, is_required, &self.cache)),
        });
        self
    }

    /// Keeps this many versions of each prompt, besides the current one, when it is written; without this, [`VERSIONS`].
    pub fn with_history(self, versions: NonZeroUsize) -> Library {
        Library { versions, ..self }
    }

    /// Adds the prompts that services render: operations of these documents.
    #[cfg(feature = "openapi")]
    pub(crate) fn with_openapi(mut self, documents: Vec<PathBuf>, options: openapi::Options) -> Library {
        self.sources.push(Arc::new(OpenApi::new(documents, options)));
        self
    }

    /// Adds the built-in prompts as the last source.
    pub fn with_builtin(mut self) -> Library {
        self.sources
            .extend([false, true].map(|is_for_editing| Arc::new(Builtin { is_for_editing }) as Arc<dyn Source>));
        self
    }

    /// Adds the prompts of the project that the folder `from` belongs to as the first source: the nearest `.prompts`, from
    /// that folder up to the root of its repository, not above `home`, the user's home directory. It may be missing; each
    /// view searches for it.
    pub fn with_project(mut self, from: &Path, home: Option<&Path>) -> Library {
        let project = Project::new(from, home, PROJECT_FOLDER, System::PromptExpander, &self.cache);
        self.sources.insert(0, Arc::new(project));
        self
    }

    /// The library at this moment. To be called once for each message; nothing is looked at yet.
    pub fn view(&self) -> View {
        let lazy = |source| LazyView { source: Arc::clone(source), view: OnceLock::new() };
        View { sources: self.sources.iter().map(lazy).collect(), prefix: None, is_for_editing: false }
    }

    /// The same for a caller: what they may not see is not in it.
    pub fn view_for(&self, caller: &Caller) -> View {
        self.view().restricted_to(caller)
    }

    /// Where the project's prompts were looked for, if they were asked for and there are none, not even an agent's.
    pub fn absent_project(&self) -> Option<String> {
        let absence = self.sources.iter().find_map(|source| source.absence())?;
        let has_agents =
            self.view().sources().any(|source| source.layer() == Layer::Project && source.folder().is_some());
        (!has_agents).then_some(absence)
    }

    /// The folder that new prompts are written to: the project's if that was asked for, else the user's first that is not
    /// another program's. It may be missing. `None` if there is no such folder, for example without a home directory; `Err`
    /// with the reason if it is one that nothing is written to.
    pub(crate) fn folder_for_new_prompts(&self) -> Option<Result<PathBuf, String>> {
        self.sources.iter().find_map(|source| source.folder_for_new_prompts())
    }

    /// The counter of its changes. Whoever changes a source advances it.
    pub fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Whether a folder of it is on a network file system, so that any access may take long.
    pub fn is_on_network(&self) -> bool {
        watch::is_on_network(self)
    }

    /// See [`Source::watch_paths`].
    fn watch_paths(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().flat_map(|source| source.watch_paths())
    }
}

/// The system of a folder, or of a file with several prompts, as far as its path says.
pub(crate) fn system_of(path: &Path) -> System {
    if jsonl::is_jsonl(path) { System::Hexai } else { System::of_folder(path) }
}

impl View {
    /// The same state of all sources, with only what a caller may see.
    pub fn restricted_to(&self, caller: &Caller) -> View {
        View { sources: Arc::clone(&self.sources), prefix: caller.prefix.clone(), ..*self }
    }

    /// The same for somebody who may, or may not, edit prompts: with, or without, the built-in prompts that tell a model how to.
    pub fn for_editing(self, may_edit: bool) -> View {
        View { is_for_editing: may_edit, ..self }
    }

    /// The folder of the caller for whom nothing else exists.
    pub fn prefix(&self) -> Option<&Prefix> {
        self.prefix.as_ref()
    }

    /// The prompt with exactly this name; `Err` if its file is broken: a broken file overrides the prompts of later sources
    /// too. Nothing but this one file is looked at.
    pub fn get(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        self.sources_of(name).find_map(|source| source.get(name))
    }

    /// The expansion of one of its prompts, with the attachments, which are read now. A service that renders the prompt is called,
    /// which may take several seconds.
    ///
    /// # Errors
    /// Those of [`Prompt::expand`]; an attachment that cannot be used; a service that does not answer with a prompt.
    pub fn expand(&self, prompt: &Prompt, call: Call<'_>) -> Result<Messages, ExpandError> {
        self.expand_with(prompt, call, &|pieces| pieces.map(Piece::as_str).collect())
    }

    /// The same, with a text of each message that `join` makes from its pieces, which it may change.
    ///
    /// # Errors
    /// Those of [`View::expand`].
    pub fn expand_with(
        &self,
        prompt: &Prompt,
        call: Call<'_>,
        join: &dyn Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    ) -> Result<Messages, ExpandError> {
        match self.sources_of(&prompt.name).find(|source| source.locate(&prompt.name).is_some()) {
            Some(source) => source.expand(prompt, call, join),
            None => prompt.expand_with(call, join), // deleted just now
        }
    }

    /// The request that [`expand`](View::expand) would send to a service, without calling it; `None` if none renders the prompt.
    ///
    /// # Errors
    /// Why there would be none.
    pub fn request(&self, prompt: &Prompt, call: Call<'_>) -> Option<Result<ServiceRequest, ExpandError>> {
        let mut sources = self.sources_of(&prompt.name).filter(|_| prompt.is_remote());
        sources.find(|source| source.locate(&prompt.name).is_some())?.request(prompt, call)
    }

    /// Calls the address of each service that renders some of the prompts, with the headers that it gets.
    pub fn reach_services(&self) -> Vec<ReachedService> {
        self.sources().flat_map(|source| source.reach_services()).collect()
    }

    /// Whether services render some of the prompts, so that an expansion may take long.
    pub fn has_remote(&self) -> bool {
        self.sources.iter().any(|lazy| lazy.source.is_remote())
    }

    /// Adds to an expansion the attachments of a prompt in a file, which may be outside of its folders: its attachments are in the
    /// same folder then.
    ///
    /// # Errors
    /// An attachment cannot be used.
    pub fn attach_to_file(&self, file: &Path, prompt: &Prompt, messages: Messages) -> Result<Messages, ExpandError> {
        let prefix = self.prefix.as_ref();
        with_attachments(messages, self.in_folder_of(file, |folder| folder.attachments(prompt, file, prefix).collect()))
    }

    /// What a text that is not saved would be as the file of this name in the folder that new prompts of the user are written to.
    /// `None` if there is no such folder.
    pub fn draft(&self, name: &Name, text: &str) -> Option<Draft> {
        let is_own = |source: &&dyn SourceView| {
            source.layer() == Layer::User && source.folder().is_some_and(|folder| !folder.is_read_only())
        };
        self.sources().find(is_own)?.folder().map(|folder| folder.draft(name, text, self.prefix.as_ref()))
    }

    /// The prompt in a file, in one of the folders or not. Elsewhere, the end of a folder's path says how the file is read, as in
    /// `.claude/commands/x.md`. `path` is absolute.
    ///
    /// # Errors
    /// The suffix or the name is not that of a prompt file, or the file cannot be read or parsed.
    pub fn prompt_at(&self, path: &Path) -> Result<Prompt, Problem> {
        self.in_folder_of(path, |folder| folder.prompt_at(path))
    }

    /// The program, other than this one, whose folder of prompts this folder is or is in; and that folder of prompts.
    pub fn other_program_of(&self, folder: &Path) -> Option<(System, PathBuf)> {
        self.in_folder_of(&folder.join("_"), |own| own.is_read_only().then(|| (own.system, own.path.clone())))
    }

    /// Calls `read` with the folder whose rules hold for a path: the innermost one of the library that it is in, unless there is
    /// a folder of another program in between; else [the one that the path names](Folder::around).
    fn in_folder_of<T>(&self, path: &Path, read: impl FnOnce(&Folder) -> T) -> T {
        let around = Folder::around(path);
        let is_in_between = |folder: &Folder| around.is_read_only() && !folder.path.starts_with(&around.path);
        // A file in a hidden folder, for example, has no name in the folder of a user, and may be named all the same.
        let has_name =
            |folder: &Folder| folder.layer == Layer::Project || !matches!(folder.name_of(path), Some(Err(_)));
        let folders = self.sources().filter_map(|source| source.folder());
        let mut folders: Vec<&Folder> = folders
            .filter(|folder| path.starts_with(&folder.path) && !is_in_between(folder) && has_name(folder))
            .collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.path.as_os_str().len())); // of equal ones, the first wins
        read(folders.first().copied().unwrap_or(&around))
    }

    /// The text of the file with exactly this name, whether it is a valid prompt or not.
    pub fn raw(&self, name: &Name) -> Option<Result<String, Problem>> {
        self.sources_of(name).find_map(|source| source.raw(name))
    }

    /// Where the prompt, or the broken file, with exactly this name is, and who wrote it. Nothing is opened.
    pub fn locate(&self, name: &Name) -> Option<(Layer, Location)> {
        self.located(name).next()
    }

    /// The program that the prompt with exactly this name is written for.
    pub fn system(&self, name: &Name) -> Option<System> {
        self.sources_of(name).find(|source| source.locate(name).is_some()).map(|source| source.system())
    }

    /// The name of the prompt, or of the broken one, in this file.
    pub fn name_of(&self, file: &Path) -> Option<Name> {
        let is_there = |entry: &&Entry<'_>| entry.location().is_some_and(|location| location.is_file(file));
        self.list().entries.iter().find(is_there).map(|entry| entry.name().clone())
    }

    /// Every location of a prompt with exactly this name, the one that wins first. Nothing is opened.
    pub fn locations(&self, name: &Name) -> Vec<(Layer, Location)> {
        self.located(name).collect()
    }

    fn located(&self, name: &Name) -> impl Iterator<Item = (Layer, Location)> {
        self.sources_of(name).filter_map(|source| Some((source.layer(), source.locate(name)?)))
    }

    /// Which prompts there are: folders are read, files are not.
    pub fn list(&self) -> Listing<'_> {
        let mut listings = self.sources().map(|source| source.list());
        let mut all = listings.next().unwrap_or_default();
        for listing in listings {
            all.entries.extend(listing.entries);
            all.skipped.extend(listing.skipped);
            all.problems.extend(listing.problems);
        }
        // The sort is stable, and the first of each name remains, even if its file is broken.
        all.entries.sort_by(|a, b| a.name().cmp(b.name()));
        all.entries.dedup_by(|later, first| later.name() == first.name());
        if let Some(prefix) = &self.prefix {
            prefix.restrict(&mut all);
        }
        all
    }

    /// Every name: folders are read, files are not.
    pub fn names(&self) -> Names {
        let Listing { entries, skipped, .. } = self.list();
        Names::of(entries, skipped)
    }

    /// The names that are offered to a model: without those of [templates](Summary::is_template). Files are read, unless they
    /// are cached.
    pub fn offered_names(&self) -> Names {
        let Listing { mut entries, skipped, .. } = self.list();
        entries.retain(|entry| !entry.is_template());
        Names::of(entries, skipped)
    }

    /// The sources that cannot be read at this moment although they should be.
    pub fn missing(&self) -> Vec<Problem> {
        let is_visible = self.prefix.is_none();
        self.sources().filter(|_| is_visible).flat_map(|source| source.missing()).collect()
    }

    /// Reads every file of every folder, and reports everything that is, or looks, wrong.
    pub fn check(&self) -> Report {
        self.check_below(None)
    }

    /// The same for the files below a folder only, if one is given.
    pub fn check_below(&self, folder: Option<&Path>) -> Report {
        let mut report = Report::default();
        for source in self.sources() {
            let Report { files, problems } = source.check(folder);
            report.files += files;
            report.problems.extend(problems);
        }
        report
    }

    /// Reads one file, in one of the folders or not, and reports everything that is, or looks, wrong. `path` is absolute.
    pub fn check_file(&self, path: &Path) -> Vec<Problem> {
        let problems = self.sources().find_map(|source| source.check_file(path));
        problems.unwrap_or_else(|| self.in_folder_of(path, |folder| folder.check_file(path)))
    }

    /// The folders of prompt files, and the files with several prompts; some may be missing.
    pub fn folders(&self) -> Vec<&Path> {
        self.sources().filter_map(|source| source.path()).collect()
    }

    /// What is not read although it may be prompts: in the folders of this program's own format, and in the one that has the
    /// project's folder.
    pub fn unread(&self) -> Vec<Unread> {
        let own = || self.sources().filter(|source| source.system() == System::PromptExpander);
        let folders = own().flat_map(|source| source.scanned_folders()).collect();
        let patterns = own().flat_map(|source| source.patterns()).collect();
        let of_project = own().filter(|source| source.layer() == Layer::Project);
        let projects = of_project.filter_map(|source| source.folder()?.path.parent().map(Path::to_owned)).collect();
        let attached = self.sources().flat_map(|source| source.attached_files()).collect();
        unread::search(&folders, &patterns, &projects, &self.folders(), attached)
    }

    /// Whether a file at this path would be one of the prompts.
    pub fn is_prompt_path(&self, path: &Path) -> bool {
        self.sources().any(|source| source.is_prompt_path(path))
    }

    /// A number that changes with the files: their names and stamps; none is opened. `None` if the last change is so
    /// recent that the next one may not show in the stamps.
    fn stamps_hash(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        let mut is_settled = true;
        for source in self.sources() {
            is_settled &= source.hash_stamps(&mut hasher);
        }
        is_settled.then(|| hasher.finish())
    }

    /// Adds the paths to watch for changes of the prompts.
    fn add_watch_paths(&self, paths: &mut WatchPaths) {
        self.sources().for_each(|source| source.add_watch_paths(paths));
    }

    /// Those that may have a prompt of this name; none if the caller may not see it.
    fn sources_of(&self, name: &Name) -> impl Iterator<Item = &dyn SourceView> {
        let is_visible = self.prefix.as_ref().is_none_or(|prefix| prefix.contains(name));
        self.sources().filter(move |_| is_visible)
    }

    /// The same up to the first whose prompts services render.
    fn local_sources_of(&self, name: &Name) -> impl Iterator<Item = &dyn SourceView> {
        let is_visible = self.prefix.as_ref().is_none_or(|prefix| prefix.contains(name));
        self.existing().take_while(move |lazy| is_visible && !lazy.source.is_remote()).map(LazyView::get)
    }

    /// All of them, for the person whose folders they are.
    fn sources(&self) -> impl Iterator<Item = &dyn SourceView> {
        self.existing().map(LazyView::get)
    }

    fn existing(&self) -> impl Iterator<Item = &LazyView> {
        self.sources.iter().filter(|lazy| self.is_for_editing || !lazy.source.is_for_editing())
    }
}

impl LazyView {
    fn get(&self) -> &dyn SourceView {
        &**self.view.get_or_init(|| Arc::clone(&self.source).view())
    }
}

fn with_attachments(
    messages: Messages,
    attachments: Result<Vec<Attachment>, Diagnostic>,
) -> Result<Messages, ExpandError> {
    let attachments = attachments.map_err(|diagnostic| ExpandError::Attachment(Box::new(diagnostic)))?;
    Ok(Messages { attachments, ..messages })
}

impl Layer {
    /// The first word of a description in a list, which says whose a prompt is if it is not the user's.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Layer::Project => "(project) ",
            Layer::Remote => "(remote) ",
            Layer::User | Layer::Builtin => "",
        }
    }
}

impl Location {
    fn is_file(&self, path: &Path) -> bool {
        matches!(self, Location::File(file) if file == path)
    }
}

impl Names {
    fn of(entries: Vec<Entry<'_>>, skipped: Vec<Problem>) -> Names {
        let (builtin, own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.layer() == Layer::Builtin);
        let names = |entries: Vec<Entry<'_>>| entries.into_iter().map(|entry| entry.name().clone()).collect();
        Names { own: names(own), builtin: names(builtin), skipped }
    }
}

impl<'v> Entry<'v> {
    /// The prompt's name.
    pub fn name(&self) -> &'v Name {
        self.name
    }

    /// Who wrote it.
    pub fn layer(&self) -> Layer {
        self.view.layer()
    }

    /// The program that its file is written for.
    pub fn system(&self) -> System {
        self.view.system()
    }

    /// Where it is; `None` if its source no longer has it.
    pub fn location(&self) -> Option<Location> {
        self.view.locate(self.name)
    }

    /// What lists show of it. Its file is read, unless it is cached.
    pub fn info(&self) -> FileInfo {
        self.view.info(self.name).unwrap_or_else(|| {
            let diagnostic = Diagnostic::error(None, "the prompt was deleted just now", "list the prompts again");
            let name = self.name.as_str();
            FileInfo::unreadable(Problem { file: name.to_owned(), path: name.into(), diagnostic })
        })
    }

    /// All of the prompt but its text. Its file is read, unless it is cached.
    ///
    /// # Errors
    /// The file is broken.
    pub fn summary(&self) -> Result<Arc<Summary>, Problem> {
        self.info().summary.map_err(Arc::unwrap_or_clone)
    }

    /// Whether it is a template that was not changed. Its file is read, unless it is cached.
    pub fn is_template(&self) -> bool {
        self.summary().is_ok_and(|summary| summary.is_template)
    }

    /// What changes with the prompt. Its file is read, unless it is cached.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.info().fingerprint
    }
}

impl Problem {
    /// `path:line:column`, or the path alone, which terminals and editors turn into a link. Control characters in the path
    /// are escaped.
    pub fn location(&self) -> String {
        let path = printable(&self.path.display().to_string());
        match self.diagnostic.position {
            Some(Position { line, column }) => format!("{path}:{line}:{column}"),
            None => path.to_string(),
        }
    }
}

impl fmt::Display for Problem {
    /// `path:line:column: what is wrong; fix`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;

    #[test]
    fn two_threads_look_through_one_library() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20 {
            fs::write(folder.path().join(format!("{number:02}.md")), "0 0").unwrap();
        }
        let library = Library::named([folder.path().to_owned()]);
        let name = Name::new("07").unwrap();
        let look = || {
            for _ in 0..50 {
                let view = library.view();
                let listing = view.list();
                assert_eq!(listing.entries.len(), 20);
                for entry in listing.entries {
                    let description = entry.summary().unwrap().description.clone().unwrap();
                    let (first, second) = description.split_once(' ').unwrap();
                    assert_eq!(first, second);
                    entry.fingerprint();
                }
                view.get(&name).unwrap().unwrap();
            }
        };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(look);
            }
            for number in 1..100 {
                let draft = folder.path().join("draft");
                fs::write(&draft, format!("{number} {number}")).unwrap();
                fs::rename(draft, folder.path().join("07.md")).unwrap();
            }
        });
        assert_eq!(library.view().raw(&name).unwrap().unwrap(), "99 99");
    }

    #[test]
    fn a_view_looks_for_the_project_s_folder_once_when_it_is_needed() {
        let project = tempfile::tempdir().unwrap();
        let library = Library::default().with_project(project.path(), None);
        let a = Name::new("a").unwrap();
        let (before, unused) = (library.view(), library.view());
        assert_eq!(before.locate(&a), None);
        fs::create_dir(project.path().join(PROJECT_FOLDER)).unwrap();
        fs::write(project.path().join(PROJECT_FOLDER).join("a.md"), "A").unwrap();
        assert!(before.locate(&a).is_none() && before.list().entries.is_empty());
        for after in [unused, library.view()] {
            assert!(matches!(after.locate(&a), Some((Layer::Project, _))));
            assert_eq!(after.list().entries.len(), 1);
        }
    }
}
