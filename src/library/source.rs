//! What a source of prompts is, and what it has: prompts that were found, each with the way back to
//! its source.

use super::call::{BoundCall, Expansion, Join, join_unchanged};
use super::caller::Caller;
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

/// A place that prompts come from: a folder, the plugins of an agent, an OpenAPI document, a
/// database, a team's server. What is on disk is read when somebody asks for it.
pub trait Source: Debug + Send + Sync {
    /// Returns the facts about the source that never change.
    fn about(&self) -> &About;

    /// Returns the prompt with exactly this name, whose file may be broken. No file is opened.
    fn find(&self, name: &Name) -> Option<Found>;

    /// Returns all prompts. Folders are read, files are not.
    fn list(&self) -> Listing;

    /// Returns the prompt in a file, which may be missing; `None` if another source reads that
    /// file.
    fn find_by_path(&self, _path: &Path) -> Option<Result<Found, Diagnostic>> {
        None
    }

    /// Returns why the source, or a part of it, cannot be read at this moment.
    fn problems(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Calls the service that renders the prompts, and returns a hint or an error about its answer;
    /// `None` if there is no service.
    fn probe(&self) -> Option<Diagnostic> {
        None
    }

    /// Adds the files and folders whose changes may change the prompts of the source.
    fn watch(&self, _watched: &mut Watched) {}

    /// Returns where the prompts of the source are written; `None` if they are only read.
    ///
    /// # Errors
    /// They are written in principle, but cannot be written at this moment.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        None
    }
}

/// The facts about a source that never change.
#[derive(Debug, Clone)]
pub struct About {
    /// Who wrote its prompts.
    pub layer: Layer,
    /// The folder or the document that has them, which may be missing.
    pub path: Option<PathBuf>,
    /// How its files are written.
    pub format: &'static Format,
    /// Whether a service renders the prompts, which takes longer than to read a file.
    pub calls_services: bool,
    /// Whether only callers who may edit prompts see the prompts.
    pub for_editors: bool,
    /// The name of the pack that has the prompts, with the beginning of its commit:
    /// `acme@0123456789ab`.
    pub(crate) pack_version: Option<Arc<str>>,
}

impl About {
    /// Returns the facts about a source of local prompts that everybody may see.
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

/// Who wrote a prompt. Of two prompts of one name, the one of the lower rank is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layer {
    /// The place in the order of the sources.
    rank: u8,
    /// The name that people and JSON see.
    pub name: &'static str,
    /// What precedes the description of a prompt in a list, if the prompt is not the user's own:
    /// `(team) `.
    pub list_label: &'static str,
}

impl Layer {
    /// Returns whether reading or expanding a prompt of this layer may wait for a server, for up to
    /// 10 seconds.
    pub fn waits_for_server(self) -> bool {
        self == Layer::TEAM || self == Layer::SERVICE
    }

    /// The settings file, if it cannot be read.
    pub const SETTINGS: Layer = Layer {
        rank: 0,
        name: "settings",
        list_label: "",
    };
    /// The authors of the project that the user works on.
    pub const PROJECT: Layer = Layer {
        rank: 1,
        name: "project",
        list_label: "(project) ",
    };
    /// The user, in their own folder or one that they named.
    pub const USER: Layer = Layer {
        rank: 2,
        name: "user",
        list_label: "",
    };
    /// The authors of the project, in the folder of an agent.
    pub const PROJECT_AGENT: Layer = Layer {
        rank: 3,
        ..Layer::PROJECT
    };
    /// The user, in the folder of an agent.
    pub const AGENT: Layer = Layer {
        rank: 4,
        ..Layer::USER
    };
    /// The user's team, whose server has them.
    pub const TEAM: Layer = Layer {
        rank: 5,
        name: "team",
        list_label: "(team) ",
    };
    /// The authors of a pack, of the user or of the project.
    pub const PACK: Layer = Layer {
        rank: 6,
        name: "pack",
        list_label: "(pack) ",
    };
    /// A service that renders them. An OpenAPI document describes it.
    pub const SERVICE: Layer = Layer {
        rank: 7,
        name: "remote",
        list_label: "(remote) ",
    };
    /// The authors of this program.
    pub const BUILTIN: Layer = Layer {
        rank: 8,
        name: "built-in",
        list_label: "",
    };

    /// Returns whether the layer belongs to the project that the user works on.
    pub fn is_project(self) -> bool {
        self.name == Layer::PROJECT.name
    }
}

/// A prompt that was found: its name, and the way back to its source.
///
/// It is a single pointer, because a list may have 100,000 of them. It dereferences to its
/// [`FoundPrompt`], and that to its [`Handle`]: `found.name`, `found.text()`.
#[derive(Debug, Clone)]
pub struct Found(Arc<FoundPrompt<dyn Handle>>);

/// What is known of a found prompt before its file is read.
#[derive(Debug)]
pub struct FoundPrompt<H: ?Sized> {
    /// The name of the prompt.
    pub name: Name,
    /// Who wrote the prompt.
    pub layer: Layer,
    /// How the file of the prompt is written.
    pub format: &'static Format,
    pack_version: Option<Arc<str>>,
    handle: H,
}

impl Found {
    /// Returns the prompt of this name that a source found, and can read with `handle`.
    pub(crate) fn new(name: Name, about: &About, handle: impl Handle + 'static) -> Found {
        Found(Arc::new(FoundPrompt {
            name,
            layer: about.layer,
            format: about.format,
            pack_version: about.pack_version.clone(),
            handle,
        }))
    }

    /// Returns this prompt with another handle to read it with.
    pub(crate) fn with_handle(&self, handle: impl Handle + 'static) -> Found {
        Found(Arc::new(FoundPrompt {
            name: self.name.clone(),
            layer: self.layer,
            format: self.format,
            pack_version: self.pack_version.clone(),
            handle,
        }))
    }

    /// Returns the name of the pack that has the prompt, with the beginning of the commit:
    /// `acme@0123456789ab`.
    pub fn pack_version(&self) -> Option<String> {
        self.pack_version.as_deref().map(str::to_owned)
    }

    /// Expands a call of the prompt. `prompt` is what [`Handle::prompt`] returned.
    ///
    /// # Errors
    /// Those of [`Handle::messages`].
    pub fn expand(&self, prompt: &Prompt, call: Call<'_>) -> Result<Expansion, Diagnostic> {
        self.expand_bound(BoundCall::new(prompt, call), &join_unchanged)
    }

    /// Expands a bound call of the prompt. `join` makes the text of each message.
    ///
    /// # Errors
    /// Those of [`Handle::messages`].
    pub fn expand_bound(
        &self,
        bound: BoundCall<'_>,
        join: Join<'_>,
    ) -> Result<Expansion, Diagnostic> {
        Ok(Expansion {
            messages: self.messages(&bound, join)?,
            unused: bound.unused_values(),
            warnings: bound.binding.warnings,
        })
    }

    /// Returns whether the prompt is in this file.
    pub fn is_in(&self, file: &Path) -> bool {
        self.location().file.as_deref() == Some(file)
    }

    /// Returns whether nobody has edited the file of the prompt since the command `new` wrote it.
    /// The file is read, unless its info is in memory.
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

/// What a source can do with one of its prompts.
pub trait Handle: Debug + Send + Sync {
    /// Returns where the prompt is.
    fn location(&self) -> Location;

    /// Returns what lists show of the prompt. The file is read, unless its info is in memory.
    fn info(&self) -> Info;

    /// Returns the whole text of the file, which may be broken.
    ///
    /// # Errors
    /// The file cannot be read, or is not UTF-8.
    fn text(&self) -> Result<String, Diagnostic>;

    /// Returns the prompt in the file.
    ///
    /// # Errors
    /// The file is broken.
    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic>;

    /// Returns the messages that a model gets for a bound call. `join` makes the text of each
    /// message from its pieces.
    ///
    /// Attachments are read. If a service renders the prompt, it is called, which may take several
    /// seconds.
    ///
    /// # Errors
    /// The prompt cannot be called like this; an attachment cannot be used; the service does not
    /// answer with a prompt.
    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        bound.prompt.expand_bound(&bound.binding, join)
    }

    /// Returns the paths and bytes of the files that the prompt attaches. Files that cannot be read
    /// are left out.
    fn attached_files(&self, _prompt: &Prompt) -> Vec<(PathBuf, Vec<u8>)> {
        Vec::new()
    }

    /// Returns the request that [`messages`](Handle::messages) would send to a service; `None` if
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

/// Where a prompt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// What people see: a path, or the name of a layer that has no files.
    pub display: String,
    /// The file that has the prompt, perhaps with others. The path of a prompt in a database begins
    /// with the address of the database.
    pub file: Option<PathBuf>,
    /// Whether a person may change the prompt there.
    pub is_editable: bool,
}

impl Location {
    /// Returns the path of the file or, without one, what people see.
    pub fn path(self) -> PathBuf {
        self.file.unwrap_or_else(|| self.display.into())
    }
}

/// What lists show of a prompt.
#[derive(Debug, Clone)]
pub struct Info {
    /// All of the prompt but its text, or why the file is broken. An error is large and rare, so it
    /// is boxed.
    pub summary: Result<Arc<Summary>, Box<Diagnostic>>,
    /// Which content the file has; `None` if it cannot be read, or a service renders the prompt. A
    /// broken file has a revision, so that it can be repaired.
    pub revision: Option<Revision>,
    /// The size of the file, in bytes.
    pub size: u64,
    /// When the file was last modified; `None` for a built-in prompt, and where the file system
    /// does not say.
    pub modified: Option<SystemTime>,
}

impl Info {
    /// Returns the info of a file with these bytes. `prompt` is the result of parsing them.
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

    /// Returns the info of a file that cannot be read.
    pub(crate) fn unreadable(diagnostic: Diagnostic) -> Info {
        Info {
            summary: Err(Box::new(diagnostic)),
            revision: None,
            size: 0,
            modified: None,
        }
    }
}

/// The request by which a service is asked for a prompt, without anything secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceRequest {
    /// The method of HTTP: `GET`, `POST` and others.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// The value of each header; of a secret one, where its value comes from.
    pub headers: BTreeMap<String, String>,
    /// The body, in compact JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// All prompts of a source or a library.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The prompts, sorted by name in byte order.
    pub found: Vec<Found>,
    /// What is wrong with files and folders that have no prompt in the list: they cannot be read,
    /// or a prompt cannot have their name. Warnings and hints are among them.
    pub problems: Vec<Diagnostic>,
    /// The test files, sorted by path.
    pub tests: Vec<TestFile>,
    /// Files without a suffix, in folders of this program. They may be prompts that were saved
    /// without `.md`.
    pub(crate) bare: Vec<PathBuf>,
}

impl Listing {
    /// Returns this list with the prompts, problems and tests of other lists. If several lists have
    /// a prompt of one name, only the prompt of the first list stays.
    pub(crate) fn with(mut self, others: impl Iterator<Item = Listing>) -> Listing {
        for other in others {
            self.found.extend(other.found);
            self.problems.extend(other.problems);
            self.tests.extend(other.tests);
        }
        // The sort is stable, so that an earlier list stays before a later one.
        self.found.sort_by(|a, b| a.name.cmp(&b.name));
        self.found.dedup_by(|later, first| later.name == first.name);
        self
    }

    /// Returns the problems because of which prompts may be missing from the list: files and
    /// folders that cannot be read.
    pub fn unreadable(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.iter().filter(|problem| {
            matches!(
                problem.kind,
                Kind::NotFound | Kind::Unreadable | Kind::OutsideFolder
            )
        })
    }

    /// Returns the names of the prompts, those of the project and the user before the built-in
    /// ones.
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

/// A test file in a folder of prompts. It belongs to the prompt of its name in that folder, whether
/// or not an earlier folder overrides the prompt.
#[derive(Debug, Clone)]
pub struct TestFile {
    /// The whole path of the file.
    pub path: PathBuf,
    /// The path of the file below the folder of prompts, with `/` between its parts.
    pub relative_path: String,
    /// The prompt that the file tests, or why there is none.
    pub found: Result<Found, Diagnostic>,
    /// Whether this program never writes the file, because its folder is another program's, or is
    /// in a database.
    pub is_read_only: bool,
    /// Where the file may be, if its path is a symlink.
    pub(crate) reach: Reach,
    /// The rows that hold the file instead of the disk, if a database has it.
    pub(crate) memory_files: Option<Arc<MemoryFiles>>,
}

/// A place that prompts are written to.
pub trait Store: Debug + Send + Sync {
    /// Returns a prompt that has this name and text, but is not saved. It can be checked and
    /// expanded like any other prompt.
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found;

    /// Writes a prompt, and returns its new revision; after a deletion, the revision of the deleted
    /// text. If the prompt has the requested text already, only the history changes.
    ///
    /// # Errors
    /// The prompt does not have the expected revision, or cannot be written.
    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic>;

    /// Returns the versions of a prompt, the newest first.
    ///
    /// # Errors
    /// The versions cannot be read.
    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic>;

    /// Returns the text of a version; `None` if there is no such version.
    ///
    /// # Errors
    /// The version cannot be read, or somebody has changed it in the history.
    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic>;

    /// Returns the folder of the prompt files, which may be missing. For a database, returns its
    /// address, and for a team's server an empty path.
    fn folder(&self) -> &Path;
}

/// The longest note on a change, in bytes. The history keeps it.
const MAX_NOTE: usize = 2_000;

/// Who writes, and why; for the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorship {
    pub(crate) author: Option<Arc<str>>,
    pub(crate) note: Option<String>,
}

impl Authorship {
    /// Returns who writes, and why in a few words. A blank note counts as none.
    ///
    /// # Errors
    /// The note is longer than 2,000 bytes.
    pub fn new(author: Option<Arc<str>>, note: Option<String>) -> Result<Authorship, Diagnostic> {
        if note.as_ref().is_some_and(|note| note.len() > MAX_NOTE) {
            let message = format!("`note` is longer than {MAX_NOTE} bytes");
            return Err(Diagnostic::new(Kind::TooLong, message, "shorten it"));
        }
        let note = note.filter(|note| !note.trim().is_empty());
        Ok(Authorship { author, note })
    }
}

/// What a write does to a prompt.
#[derive(Debug, Clone, Copy)]
pub enum WriteAction<'w> {
    /// Its file gets this text.
    SetText(&'w str),
    /// Its file gets this text, which an earlier version had.
    Restore(&'w str),
    /// Its file is deleted.
    Delete,
    /// It gets this name, with its versions and its test file. The versions of a prompt of the team
    /// stay with the old name.
    ///
    /// A file keeps the spelling of its suffix. No other file is overwritten, not even one that
    /// another process creates meanwhile.
    Rename(&'w Name),
    /// Its test file is deleted, and the prompt stays as it is.
    DeleteTests(&'w TestFile),
}

impl<'w> WriteAction<'w> {
    /// Returns the text that the prompt gets, if this action writes one.
    pub fn text(self) -> Option<&'w str> {
        match self {
            WriteAction::SetText(text) | WriteAction::Restore(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether this action writes the text of an earlier version again.
    pub fn is_restore(self) -> bool {
        matches!(self, WriteAction::Restore(_))
    }
}

/// A write of one prompt.
#[derive(Debug, Clone, Copy)]
pub struct WriteRequest<'w> {
    /// The name of the prompt.
    pub name: &'w Name,
    /// The revision that the prompt must have; `None` if there must be no such prompt.
    pub expected: Option<Revision>,
    /// What the write does.
    pub action: WriteAction<'w>,
    /// Who writes, and why.
    pub by: &'w Authorship,
    /// Who writes, and what they may do.
    pub caller: &'w Caller,
    /// How many versions are kept besides the current one.
    pub versions: NonZeroUsize,
}
