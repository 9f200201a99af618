//! What a source of prompts is, and what it has: prompts that were found, each with the way back to
//! its source.

use super::call::{BoundCall, Expansion, Join, joined};
use super::caller::Caller;
use crate::library::disk::reach::Reach;
use crate::library::disk::rows::{Row, Rows};
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

/// Where prompts come from. What is on disk is read when it is asked for.
pub trait Source: Debug + Send + Sync {
    /// What never changes.
    fn about(&self) -> &About;

    /// The prompt with exactly this name, broken or not. No file is opened.
    fn find(&self, name: &Name) -> Option<Found>;

    /// All prompts. Folders are read, files are not.
    fn list(&self) -> Listing;

    /// The prompt in this file, if its source is the one to read it. The file may be missing.
    fn at(&self, _path: &Path) -> Option<Result<Found, Diagnostic>> {
        None
    }

    /// Why it, or a part of it, cannot be read at this moment. `deep` also calls services.
    fn health(&self, _deep: bool) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Adds what to watch for changes of its prompts.
    fn watch(&self, _watched: &mut Watched) {}

    /// Where its prompts are written.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        None
    }
}

/// What never changes of a source.
#[derive(Debug, Clone)]
pub struct About {
    /// Who wrote its prompts.
    pub layer: Layer,
    /// The folder or the document that has them, which may be missing.
    pub path: Option<PathBuf>,
    /// How its files are written.
    pub format: &'static Format,
    /// Whether services render its prompts.
    pub calls_services: bool,
    /// Whether its prompts are only for callers who may edit prompts.
    pub for_editors: bool,
    /// The name of their pack, with the beginning of its commit: `acme@0123456789ab`.
    pub(crate) pack_version: Option<Arc<str>>,
}

impl About {
    /// A source of local prompts for everybody.
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
    /// For people and JSON.
    pub name: &'static str,
    /// The first word of a description in a list, for a prompt that is not the user's.
    pub mark: &'static str,
}

impl Layer {
    /// Returns whether its prompts may wait for a server, which takes up to 10 seconds.
    pub fn waits_for_server(self) -> bool {
        self == Layer::TEAM || self == Layer::SERVICE
    }

    /// The settings file, if it cannot be read.
    pub const SETTINGS: Layer = Layer {
        rank: 0,
        name: "settings",
        mark: "",
    };
    /// The authors of the project that the user works on.
    pub const PROJECT: Layer = Layer {
        rank: 1,
        name: "project",
        mark: "(project) ",
    };
    /// The user, in their own folder or one that they named.
    pub const USER: Layer = Layer {
        rank: 2,
        name: "user",
        mark: "",
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
        mark: "(team) ",
    };
    /// The authors of a pack, of the user or of the project.
    pub const PACK: Layer = Layer {
        rank: 6,
        name: "pack",
        mark: "(pack) ",
    };
    /// A service that renders them. An OpenAPI document describes it.
    pub const SERVICE: Layer = Layer {
        rank: 7,
        name: "remote",
        mark: "(remote) ",
    };
    /// The authors of this program.
    pub const BUILTIN: Layer = Layer {
        rank: 8,
        name: "built-in",
        mark: "",
    };

    /// Whether it is of the project that the user works on.
    pub fn is_project(self) -> bool {
        self.name == Layer::PROJECT.name
    }
}

/// A prompt that was found. It is one pointer, as a list may have 100,000.
#[derive(Debug, Clone)]
pub struct Found(Arc<Entry<dyn Handle>>);

/// What is known of it. It dereferences to what its source can do with it.
#[derive(Debug)]
pub struct Entry<H: ?Sized> {
    /// Its name.
    pub name: Name,
    /// Who wrote it.
    pub layer: Layer,
    /// How its file is written.
    pub format: &'static Format,
    pack_version: Option<Arc<str>>,
    handle: H,
}

impl Found {
    pub(crate) fn new(name: Name, about: &About, handle: impl Handle + 'static) -> Found {
        Found(Arc::new(Entry {
            name,
            layer: about.layer,
            format: about.format,
            pack_version: about.pack_version.clone(),
            handle,
        }))
    }

    /// The same prompt with another handle.
    pub(crate) fn with_handle(&self, handle: impl Handle + 'static) -> Found {
        Found(Arc::new(Entry {
            name: self.name.clone(),
            layer: self.layer,
            format: self.format,
            pack_version: self.pack_version.clone(),
            handle,
        }))
    }

    /// Returns the name of its pack, with the beginning of the commit: `acme@0123456789ab`.
    pub fn pack_version(&self) -> Option<String> {
        self.pack_version.as_deref().map(str::to_owned)
    }

    /// Returns what a call of the prompt comes to. `prompt` is the prompt that was read from it.
    ///
    /// # Errors
    /// Those of [`Handle::messages`].
    pub fn expand(&self, prompt: &Prompt, call: Call<'_>) -> Result<Expansion, Diagnostic> {
        self.expand_bound(BoundCall::new(prompt, call), &joined)
    }

    /// Returns what a bound call of the prompt comes to. `join` makes the text of each message.
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

    /// Whether it is in this file.
    pub fn is_in(&self, file: &Path) -> bool {
        self.place().file.is_some_and(|own| own == file)
    }

    /// Whether it is a template that was not changed. Its file is read, unless that is kept.
    pub fn is_unedited_draft(&self) -> bool {
        self.info()
            .summary
            .is_ok_and(|summary| summary.is_unedited_draft)
    }
}

impl Deref for Found {
    type Target = Entry<dyn Handle>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Deref for Entry<dyn Handle> {
    type Target = dyn Handle;

    fn deref(&self) -> &Self::Target {
        &self.handle
    }
}

/// What a source can do with one of its prompts.
pub trait Handle: Debug + Send + Sync {
    /// Where it is, for people.
    fn place(&self) -> Place;

    /// What lists show of it. Its file is read, unless that is kept.
    fn info(&self) -> Info;

    /// The whole file, broken or not.
    ///
    /// # Errors
    /// It cannot be read, or is not UTF-8.
    fn text(&self) -> Result<String, Diagnostic>;

    /// The prompt.
    ///
    /// # Errors
    /// The file is broken.
    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic>;

    /// Returns what a model gets for a bound call, with the attachments, which are read now. A
    /// service that renders the prompt is called, which may take several seconds. `join` makes the
    /// text of a message from its pieces.
    ///
    /// # Errors
    /// The prompt cannot be called like this; an attachment cannot be used; the service does not
    /// answer with a prompt.
    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        bound.prompt.fill_in(&bound.binding, join)
    }

    /// The files that the prompt attaches and that can be read now: their paths and bytes.
    fn attached_files(&self, _prompt: &Prompt) -> Vec<(PathBuf, Vec<u8>)> {
        Vec::new()
    }

    /// Returns the request that [`messages`](Handle::messages) would send to a service; `None` if no
    /// service renders the prompt.
    fn request(&self, _bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        None
    }

    /// Everything that is, or looks, wrong.
    fn check(&self) -> Vec<Diagnostic> {
        self.prompt()
            .map_or_else(Diagnostic::apart, |prompt| prompt.warnings())
    }
}

/// Where a prompt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// For people: a path, or the name of a layer that has no files.
    pub shown: String,
    /// The file that it is in, perhaps with others. The path of one in a database begins with its
    /// address.
    pub file: Option<PathBuf>,
    /// Whether a person may change it there.
    pub is_editable: bool,
}

impl Place {
    /// The path of the file or, without one, what people see.
    pub fn path(self) -> PathBuf {
        self.file.unwrap_or_else(|| self.shown.into())
    }
}

/// What lists show of a prompt.
#[derive(Debug, Clone)]
pub struct Info {
    /// All of the prompt but its text. An error is large and rare, so it has memory of its own.
    pub summary: Result<Arc<Summary>, Box<Diagnostic>>,
    /// `None` if the file cannot be read, or a service renders the prompt. A broken one has a
    /// revision, so that it can be repaired.
    pub revision: Option<Revision>,
    /// The size of the file, in bytes.
    pub size: u64,
    /// When the file was last modified; `None` for a built-in prompt, and where the file system
    /// does not say.
    pub modified: Option<SystemTime>,
}

impl Info {
    /// The info of a file with these bytes, which are this prompt.
    pub(crate) fn of(
        bytes: &[u8],
        modified: Option<SystemTime>,
        prompt: Result<&Prompt, Diagnostic>,
    ) -> Info {
        let summary = prompt
            .map(|prompt| Arc::new(prompt.summary()))
            .map_err(Box::new);
        Info {
            summary,
            revision: Some(Revision::of(bytes)),
            size: bytes.len() as u64,
            modified,
        }
    }

    /// The info of a file in memory, if it is kept.
    pub(crate) fn kept(row: &Row) -> Option<Info> {
        let summary = Ok(Arc::new(serde_json::from_str(row.summary.as_ref()?).ok()?));
        let (revision, size) = (
            Some(Revision::of(row.text.as_bytes())),
            row.text.len() as u64,
        );
        Some(Info {
            summary,
            revision,
            size,
            modified: Some(row.at),
        })
    }

    /// The info of a file that cannot be read.
    pub(crate) fn unreadable(diagnostic: Diagnostic) -> Info {
        Info {
            summary: Err(Box::new(diagnostic)),
            revision: None,
            size: 0,
            modified: None,
        }
    }
}

/// A request for a prompt that a service renders, without anything secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceRequest {
    /// `GET`, `POST` and others.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Names and values; for a secret, where its value comes from.
    pub headers: BTreeMap<String, String>,
    /// Compact JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// All prompts of a source or a library.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Sorted by name, in byte order.
    pub found: Vec<Found>,
    /// What was skipped, and what should be a prompt and can have no name; warnings and hints, too.
    pub problems: Vec<Diagnostic>,
    /// The test files, sorted by path.
    pub tests: Vec<TestFile>,
    /// Files without a suffix, in folders of this program: perhaps prompts that were saved without
    /// it.
    pub(crate) bare: Vec<PathBuf>,
}

impl Listing {
    /// This list with what others have. Of several prompts with one name, the first is there.
    pub(crate) fn with(mut self, others: impl Iterator<Item = Listing>) -> Listing {
        for Listing {
            found,
            problems,
            tests,
            ..
        } in others
        {
            self.found.extend(found);
            self.problems.extend(problems);
            self.tests.extend(tests);
        }
        self.found.sort_by(|a, b| a.name.cmp(&b.name)); // stable
        self.found.dedup_by(|later, first| later.name == first.name);
        self
    }

    /// The parts that cannot be read, and may have further prompts.
    pub fn unreadable(&self) -> impl Iterator<Item = &Diagnostic> {
        let is_part =
            |kind: &Kind| matches!(kind, Kind::Missing | Kind::Unreadable | Kind::Escapes);
        self.problems
            .iter()
            .filter(move |problem| is_part(&problem.kind))
    }

    /// The names, those of the project and the user before the built-in ones.
    pub fn names(&self) -> Vec<Name> {
        let (builtin, own): (Vec<_>, Vec<_>) = self
            .found
            .iter()
            .partition(|found| found.layer == Layer::BUILTIN);
        own.into_iter()
            .chain(builtin)
            .map(|found| found.name.clone())
            .collect()
    }
}

/// A test file in a folder of prompts. It belongs to the prompt of its name in that folder, whether
/// or not an earlier folder overrides the prompt.
#[derive(Debug, Clone)]
pub struct TestFile {
    /// Its whole path.
    pub path: PathBuf,
    /// Its path below the prompts folder, `/`-separated.
    pub below: String,
    /// Its prompt, or why it has none.
    pub found: Result<Found, Diagnostic>,
    /// Whether it is not written: its folder is another program's, or in a database.
    pub is_read_only: bool,
    /// How far it may lead, if it is a symlink.
    pub(crate) reach: Reach,
    /// What holds it instead of the disk.
    pub(crate) rows: Option<Arc<Rows>>,
}

/// Where prompts are written.
pub trait Store: Debug + Send + Sync {
    /// A text that is not saved, as the prompt of this name: it can be checked and expanded like
    /// any other.
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found;

    /// Carries out a write, unless the prompt is not as expected. If the result is there already,
    /// the prompt is not changed, and what it holds is in the history. Returns the revision that
    /// the prompt now has or, after a deletion, had.
    ///
    /// # Errors
    /// The prompt is not as expected, or cannot be written.
    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic>;

    /// The versions of a prompt, the newest first.
    ///
    /// # Errors
    /// They cannot be read.
    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic>;

    /// The text of a version; `None` if there is no such version.
    ///
    /// # Errors
    /// It cannot be read, or was changed in the history.
    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic>;

    /// The folder of its files, which may be missing; or the address of the database that has them;
    /// empty for those of a team.
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
    /// `author`: who writes. `note`: why, in a few words.
    ///
    /// # Errors
    /// The note is longer than 2,000 bytes.
    pub fn new(author: Option<Arc<str>>, note: Option<String>) -> Result<Authorship, Diagnostic> {
        if note.as_ref().is_some_and(|note| note.len() > MAX_NOTE) {
            let message = format!("`note` is longer than {MAX_NOTE} bytes");
            return Err(Diagnostic::new(Kind::TooLong, message, "shorten it"));
        }
        Ok(Authorship {
            author,
            note: note.filter(|note| !note.trim().is_empty()),
        })
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
    /// Returns the text that is to be written, if there is one.
    pub fn text(self) -> Option<&'w str> {
        match self {
            WriteAction::SetText(text) | WriteAction::Restore(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the text of an earlier version is written again.
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
