//! The interface of a source of prompts: [`Source`] finds prompts, [`Handle`] reads one of them,
//! and [`Store`] writes them.

use super::call::{BoundCall, Expansion, Join, join_unchanged};
use super::caller::Caller;
use crate::library::disk::include::NeighborFile;
use crate::library::disk::memory_files::MemoryFiles;
use crate::library::disk::reach::Reach;
use crate::library::disk::watched::Watched;
use crate::library::write::history::Version;
use crate::prompt::{Call, Diagnostic, Format, Kind, Messages, Name, Prompt, Revision, Summary};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A source of prompts, e.g. a folder, the plugins of an agent, an OpenAPI document, a database, or
/// a team's server. Nothing is read from disk before it is needed.
pub trait Source: Debug + Send + Sync {
    /// Returns the properties of the source, which never change.
    fn about(&self) -> &About;

    /// Returns the prompt with exactly this name. Opens no file, so the prompt may turn out to be
    /// broken.
    fn find(&self, name: &Name) -> Option<Found>;

    /// Returns all prompts. Reads folders, but opens no files, except those whose suffix
    /// other programs use, too.
    fn list(&self) -> Listing;

    /// Asks the server that the prompts come from for new ones, because somebody called a prompt
    /// that [`find`](Source::find) doesn't know. Returns whether it is worth to search again.
    /// `name` is [folded](crate::prompt::fold_name).
    fn refresh_for(&self, _name: &str) -> bool {
        false
    }

    /// Returns the prompt in a file, or `None` if the file doesn't belong to this source.
    ///
    /// # Errors
    /// Fails if the file is missing or is not a prompt.
    fn find_by_path(&self, _path: &Path) -> Option<Result<Found, Diagnostic>> {
        None
    }

    /// Returns why the source can't be read, fully or partly, at the moment.
    fn problems(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Calls the service that renders the prompts, and returns a hint or an error about its
    /// response. `None` if there is no service.
    fn probe(&self) -> Option<Diagnostic> {
        None
    }

    /// Adds the files and folders whose changes may affect the prompts.
    fn watch(&self, _watched: &mut Watched) {}

    /// Returns the store that writes the prompts of this source, or `None` if the source is
    /// read-only.
    ///
    /// # Errors
    /// Fails if the prompts can't be written at the moment.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        None
    }
}

/// The properties of a source, which never change.
#[derive(Debug, Clone)]
pub struct About {
    /// Where its prompts come from.
    pub layer: Layer,
    /// The folder or document that contains the prompts. It may not exist.
    pub path: Option<PathBuf>,
    /// The format of its files.
    pub format: &'static Format,
    /// Whether a service renders the prompts, which is slower than reading a file.
    pub calls_services: bool,
    /// Whether the prompts are only visible to callers who may edit prompts.
    pub for_editors: bool,
    /// The pack that contains the prompts and the start of its commit hash: `acme@0123456789ab`.
    pub(crate) pack_version: Option<Arc<str>>,
}

impl About {
    /// Describes a source of local prompts that everybody may see.
    pub(crate) fn new(layer: Layer, format: &'static Format, path: Option<PathBuf>) -> About {
        About {
            layer,
            path,
            format,
            calls_services: false,
            for_editors: false,
            pack_version: None,
        }
    }
}

/// Where a prompt comes from. If several prompts have the same name, the one with the lowest rank
/// wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layer {
    /// The position of the layer among all layers, lowest first.
    rank: u8,
    /// The name of the layer in JSON and messages.
    pub name: &'static str,
    /// Precedes the description in lists: `(team) `. Empty for the user's own and built-in prompts.
    pub list_label: &'static str,
}

impl Layer {
    /// Returns whether the prompts of this layer come from a service or the team's server. Reading
    /// or expanding one may then take up to 10 seconds.
    pub fn is_from_server(self) -> bool {
        self == Layer::TEAM || self == Layer::SERVICE
    }

    /// A settings file that can't be read.
    pub const SETTINGS: Layer = Layer {
        rank: 0,
        name: "settings",
        list_label: "",
    };
    /// Written by the authors of the current project.
    pub const PROJECT: Layer = Layer {
        rank: 1,
        name: "project",
        list_label: "(project) ",
    };
    /// Written by the user, in their own folder or one that they configured.
    pub const USER: Layer = Layer {
        rank: 2,
        name: "user",
        list_label: "",
    };
    /// Written by the authors of the current project, in an agent's folder.
    pub const PROJECT_AGENT: Layer = Layer {
        rank: 3,
        ..Layer::PROJECT
    };
    /// Written by the user, in an agent's folder.
    pub const AGENT: Layer = Layer {
        rank: 4,
        ..Layer::USER
    };
    /// Fetched from the server of the user's team.
    pub const TEAM: Layer = Layer {
        rank: 5,
        name: "team",
        list_label: "(team) ",
    };
    /// Installed from a pack.
    pub const PACK: Layer = Layer {
        rank: 6,
        name: "pack",
        list_label: "(pack) ",
    };
    /// Rendered by a service that an OpenAPI document describes.
    pub const SERVICE: Layer = Layer {
        rank: 7,
        name: "remote",
        list_label: "(remote) ",
    };
    /// Part of this program.
    pub const BUILTIN: Layer = Layer {
        rank: 8,
        name: "built-in",
        list_label: "",
    };

    /// Returns the position of the layer among all layers, lowest first.
    pub fn rank(self) -> u8 {
        self.rank
    }

    /// Returns whether the prompts are in a folder of an agent, which shows them itself.
    pub fn is_of_agent(self) -> bool {
        self == Layer::AGENT || self == Layer::PROJECT_AGENT
    }

    /// Returns whether this is one of the two layers of the current project.
    pub fn is_project(self) -> bool {
        self.name == Layer::PROJECT.name
    }
}

/// A prompt that was found: its name, and a handle to read it from its source.
///
/// A single pointer, because a list may contain 100,000 of them. Dereferences to [`FoundPrompt`],
/// and from there to its [`Handle`]: `found.name`, `found.text()`.
#[derive(Debug, Clone)]
pub struct Found(Arc<FoundPrompt<dyn Handle>>);

/// What is known about a prompt before its file is read.
#[derive(Debug)]
pub struct FoundPrompt<H: ?Sized> {
    /// The name of the prompt.
    pub name: Name,
    /// Where the prompt comes from.
    pub layer: Layer,
    /// The format of its file.
    pub format: &'static Format,
    pack_version: Option<Arc<str>>,
    handle: H,
}

impl Found {
    pub(crate) fn new(name: Name, about: &About, handle: impl Handle + 'static) -> Found {
        Found(Arc::new(FoundPrompt {
            name,
            layer: about.layer,
            format: about.format,
            pack_version: about.pack_version.clone(),
            handle,
        }))
    }

    /// Returns the same prompt, read through another handle.
    pub(crate) fn with_handle(&self, handle: impl Handle + 'static) -> Found {
        Found(Arc::new(FoundPrompt {
            name: self.name.clone(),
            layer: self.layer,
            format: self.format,
            pack_version: self.pack_version.clone(),
            handle,
        }))
    }

    /// Returns the pack that contains the prompt and the start of its commit hash:
    /// `acme@0123456789ab`.
    pub fn pack_version(&self) -> Option<String> {
        self.pack_version.as_deref().map(str::to_owned)
    }

    /// Expands a call of the prompt. `prompt` must come from [`Handle::prompt`] of the same prompt.
    ///
    /// # Errors
    /// Returns the errors of [`Handle::messages`].
    pub fn expand(&self, prompt: &Prompt, call: Call<'_>) -> Result<Expansion, Diagnostic> {
        self.expand_bound(BoundCall::new(prompt, call), &join_unchanged)
    }

    /// Expands the prompt of `bound`, whose values are already assigned to its arguments. `join`
    /// assembles the text of each message from its pieces.
    ///
    /// # Errors
    /// Returns the errors of [`Handle::messages`].
    pub fn expand_bound(
        &self,
        bound: BoundCall<'_>,
        join: Join<'_>,
    ) -> Result<Expansion, Diagnostic> {
        Ok(Expansion {
            messages: self.messages(&bound, join)?,
            warnings: bound.warnings(),
            unused_text: bound.unused_text_warnings(),
        })
    }

    /// Returns whether the prompt is stored in this file.
    pub fn is_in(&self, file: &Path) -> bool {
        self.location().file.as_deref() == Some(file)
    }

    /// Returns whether the file still has the contents that the command `new` gave it. Reads the
    /// file, unless its info is cached.
    pub fn is_unedited_draft(&self) -> bool {
        self.info()
            .summary
            .is_ok_and(|summary| summary.is_unedited_draft)
    }
}

impl Deref for Found {
    type Target = FoundPrompt<dyn Handle>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Deref for FoundPrompt<dyn Handle> {
    type Target = dyn Handle;

    fn deref(&self) -> &Self::Target {
        &self.handle
    }
}

/// Reads one prompt of a source.
pub trait Handle: Debug + Send + Sync {
    /// Returns where the prompt is stored.
    fn location(&self) -> Location;

    /// Returns what lists show about the prompt. Reads the file, unless its info is cached.
    fn info(&self) -> Info;

    /// Returns the full text of the file, which may be broken.
    ///
    /// # Errors
    /// Fails if the file can't be read, or isn't UTF-8.
    fn text(&self) -> Result<String, Diagnostic>;

    /// Returns the parsed prompt.
    ///
    /// # Errors
    /// Fails if the file can't be read or parsed.
    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic>;

    /// Returns the messages that a model gets for a bound call. `join` assembles the text of each
    /// message from its pieces.
    ///
    /// Reads attachments. Calls the service that renders the prompt, if there is one, which may
    /// take several seconds.
    ///
    /// # Errors
    /// Fails if the call is invalid, if an attachment can't be used, or if the service doesn't
    /// respond with a prompt.
    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        bound.prompt.expand_bound(&bound.binding, join)
    }

    /// Returns the path and contents of each attached file. Skips files that can't be read.
    fn attached_files(&self, _prompt: &Prompt) -> Vec<NeighborFile> {
        Vec::new()
    }

    /// Returns the request that [`messages`](Handle::messages) would send to a service. `None` if
    /// no service renders the prompt.
    fn request(&self, _bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        None
    }

    /// Returns all errors and warnings about the prompt and the files that it uses.
    fn check(&self) -> Vec<Diagnostic> {
        match self.prompt() {
            Ok(prompt) => prompt.warnings(),
            Err(error) => error.flatten(),
        }
    }
}

/// Where a prompt is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// For display: a path, or the name of a layer without files.
    pub display: String,
    /// The file that contains the prompt, and perhaps others. For a prompt in a database, the path
    /// starts with the address of the database.
    pub file: Option<PathBuf>,
    /// Whether the user may edit the prompt there.
    pub is_editable: bool,
}

impl Location {
    /// Returns the path of the file, or else what is displayed.
    pub fn path(self) -> PathBuf {
        self.file.unwrap_or_else(|| self.display.into())
    }
}

/// What lists show about a prompt.
#[derive(Debug, Clone)]
pub struct Info {
    /// Everything about the prompt except its text, or why the file is broken. Errors are large and
    /// rare, so they are boxed.
    pub summary: Result<Arc<Summary>, Box<Diagnostic>>,
    /// Identifies the contents of the file. Broken files have a revision too, so that they can be
    /// repaired. `None` if the file can't be read, or if a service renders the prompt.
    pub revision: Option<Revision>,
    /// The size of the file in bytes.
    pub size: u64,
    /// When the file was last modified. `None` for built-in prompts, and if the file system doesn't
    /// record it.
    pub modified: Option<SystemTime>,
}

impl Info {
    /// Describes a file. `prompt` is the result of parsing its `bytes`.
    pub(crate) fn new(
        bytes: &[u8],
        modified: Option<SystemTime>,
        prompt: Result<&Prompt, Diagnostic>,
    ) -> Info {
        Info {
            summary: match prompt {
                Ok(prompt) => Ok(Arc::new(prompt.summary())),
                Err(error) => Err(Box::new(error)),
            },
            revision: Some(Revision::of_contents(bytes)),
            size: bytes.len() as u64,
            modified,
        }
    }

    /// Describes a file that can't be read.
    pub(crate) fn unreadable(diagnostic: Diagnostic) -> Info {
        Info {
            summary: Err(Box::new(diagnostic)),
            revision: None,
            size: 0,
            modified: None,
        }
    }
}

/// A request for a prompt to a service. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceRequest {
    /// The HTTP method, e.g. `GET` or `POST`.
    pub method: String,
    /// The full URL.
    pub url: String,
    /// The value of each header or, if it is secret, where the value comes from.
    pub headers: BTreeMap<String, String>,
    /// The body as compact JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// All prompts of a source or a library.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The prompts, sorted by name in byte order.
    pub found: Vec<Found>,
    /// Errors, warnings and hints about files and folders that contribute no prompt to the list,
    /// because they can't be read or have an invalid name.
    pub problems: Vec<Diagnostic>,
    /// The test files, sorted by path.
    pub tests: Vec<TestFile>,
    /// Files without a suffix, in this program's folders. They may be prompts saved without `.md`.
    pub(crate) without_suffix: Vec<PathBuf>,
}

impl Listing {
    /// Appends other listings. If several have a prompt with the same name, the first one wins.
    pub(crate) fn merge(mut self, others: impl Iterator<Item = Listing>) -> Listing {
        for other in others {
            self.found.extend(other.found);
            self.problems.extend(other.problems);
            self.tests.extend(other.tests);
        }
        // The sort is stable, so that prompts with the same name stay in the order of the listings.
        self.found.sort_by(|a, b| a.name.cmp(&b.name));
        self.found.dedup_by(|later, first| later.name == first.name);
        self
    }

    /// Returns the problems that may hide prompts: files and folders that can't be read.
    pub fn unreadable(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.iter().filter(|problem| {
            matches!(
                problem.kind,
                Kind::NotFound | Kind::Unreadable | Kind::OutsideFolder
            )
        })
    }

    /// Returns the names of all prompts, with built-in ones last.
    pub fn names(&self) -> Vec<Name> {
        let mut names = Vec::with_capacity(self.found.len());
        let mut builtin_names = Vec::new();
        for found in &self.found {
            if found.layer == Layer::BUILTIN {
                builtin_names.push(found.name.clone());
            } else {
                names.push(found.name.clone());
            }
        }
        names.append(&mut builtin_names);
        names
    }
}

/// A test file in a prompts folder. It tests the prompt with the same name in that folder, even if
/// another source overrides that prompt.
#[derive(Debug, Clone)]
pub struct TestFile {
    /// The full path.
    pub path: PathBuf,
    /// The path relative to the prompts folder, `/`-separated.
    pub relative_path: String,
    /// The prompt under test, or why it doesn't exist.
    pub found: Result<Found, Diagnostic>,
    /// Whether this program must not write the file, because it is in another program's folder or
    /// in a database.
    pub is_read_only: bool,
    /// Where the file may be if its path is a symlink.
    pub(crate) reach: Reach,
    /// The files of the folder, if they are in memory instead of on disk.
    pub(crate) memory_files: Option<Arc<MemoryFiles>>,
}

/// Writes prompts.
pub trait Store: Debug + Send + Sync {
    /// Returns an unsaved prompt with this name and text. It can be checked and expanded like any
    /// other.
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found;

    /// Writes a prompt and returns its new revision or, for a deletion, the revision of the deleted
    /// text. If the text is unchanged, only the history is updated.
    ///
    /// # Errors
    /// Fails if the prompt doesn't have the expected revision, or can't be written.
    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic>;

    /// Returns the versions of a prompt, newest first.
    ///
    /// # Errors
    /// Fails if the history can't be read.
    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic>;

    /// Returns the text of a version, or `None` if it doesn't exist.
    ///
    /// # Errors
    /// Fails if the version can't be read, or was modified inside the history.
    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic>;

    /// Returns the prompts folder, which may not exist. For a database, this is its address; for a
    /// team's server, it is empty.
    fn folder(&self) -> &Path;
}

/// The maximum length of a note in the history, in bytes.
const MAX_NOTE: usize = 2_000;

/// Who made a change and why, as recorded in the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorship {
    pub(crate) author: Option<Arc<str>>,
    pub(crate) note: Option<String>,
}

impl Authorship {
    /// Returns who makes a change and why. A blank note counts as none.
    ///
    /// # Errors
    /// Fails if the note is longer than 2,000 bytes.
    pub fn new(author: Option<Arc<str>>, note: Option<String>) -> Result<Authorship, Diagnostic> {
        if note.as_ref().is_some_and(|note| note.len() > MAX_NOTE) {
            let message = format!("`note` is longer than {MAX_NOTE} bytes");
            return Err(Diagnostic::new(Kind::TooLong, message, "shorten it"));
        }
        let note = note.filter(|note| !note.trim().is_empty());
        Ok(Authorship { author, note })
    }
}

/// What to do to a prompt.
#[derive(Debug, Clone, Copy)]
pub enum WriteAction<'w> {
    /// Replace its text.
    SetText(&'w str),
    /// Replace its text with that of an earlier version.
    Restore(&'w str),
    /// Delete its file.
    Delete,
    /// Rename it, along with its history and its test file. On a team's server, the history keeps
    /// the old name.
    ///
    /// The file keeps the spelling of its suffix. No existing file is overwritten, even if another
    /// process creates it concurrently.
    Rename(&'w Name),
    /// Delete its test file only.
    DeleteTests(&'w TestFile),
}

impl<'w> WriteAction<'w> {
    /// Returns the new text, if this action writes one.
    pub fn text(self) -> Option<&'w str> {
        match self {
            WriteAction::SetText(text) | WriteAction::Restore(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether this action restores an earlier version.
    pub fn is_restore(self) -> bool {
        matches!(self, WriteAction::Restore(_))
    }
}

/// A request to write one prompt.
#[derive(Debug, Clone, Copy)]
pub struct WriteRequest<'w> {
    /// The name of the prompt.
    pub name: &'w Name,
    /// The revision that the prompt must have. `None` if the prompt must not exist yet.
    pub expected: Option<Revision>,
    /// What to do.
    pub action: WriteAction<'w>,
    /// Who makes the change and why, for the history.
    pub by: &'w Authorship,
    /// The caller and their permissions.
    pub caller: &'w Caller,
    /// How many old versions the history keeps.
    pub versions: NonZeroUsize,
}
