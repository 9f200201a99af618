//! The prompts of a user, from an ordered list of sources. If several sources have a prompt with
//! the same name, the first one wins.
//!
//! A [`Library`] is shared by all threads. Each request sees it through a [`View`], which is
//! limited to what the caller may see. A [`Found`] prompt keeps a handle to its source, so that
//! nothing is looked up twice.
//!
//! Files are read when they are needed, so that the library always reflects what is on disk:
//! looking up a name reads one file, listing reads all of them, and only an unknown name is
//! compared with all other names. Values computed from files are cached, but reused only while the
//! files are unchanged (`library/disk/cache.rs`). [`Watch`] reports changed files.

mod builtin_texts;
mod call;
mod caller;
mod disk;
mod find;
mod project_prompts;
mod query;
mod restricted;
mod source;
mod view;
mod write;

pub use call::{BoundCall, Expansion, Join, UnusedValue, join_unchanged, note_for_model};
pub use caller::{Caller, Prefix, Role, TEAM_HEADER, Token};
pub use disk::root::{MAX_ENTRIES, is_prompt_file};
pub use disk::scan::MAX_LINKED_FOLDERS;
pub use disk::test_files::{LoadedTests, is_test_file};
pub use disk::watch::{POLL_INTERVAL, Watch};
pub use disk::watched::Change;
pub use find::HOW_TO_ALLOW_EDITS;
pub(crate) use find::{only_with_last_segment, similar_names};
pub(crate) use query::has_tag;
pub use query::{Selection, matches, search_text};
pub use source::{
    Authorship, Found, Handle, Info, Layer, Listing, Location, ServiceRequest, Source, TestFile,
};
pub use view::{Library, Report, View};
pub use write::diff::{DiffLine, Hunk, hunks, unified_diff};
pub use write::edit::{CompletedWrite, CurrentPrompt, Editor, VersionText};
pub use write::history::{DEFAULT_MAX_VERSIONS, Operation, Version, current_version};
pub(crate) use write::single_file::{create_prompt_file, delete_if_unchanged, path_of_new_prompt};

// What sources (`src/sources`) need: the traits they implement, and helpers to read, cache and
// watch files.
pub(crate) use builtin_texts::BUILTIN_TEXTS;
pub(crate) use disk::cache::{Cache, MIN_STAMP_AGE, ONLY_KEY, Trace};
pub(crate) use disk::folder::Folder;
#[cfg(any(feature = "store", feature = "openapi"))]
pub(crate) use disk::memory_files::MemoryFiles;
#[cfg(feature = "store")]
pub(crate) use disk::memory_files::{FileWrite, MemoryFile};
pub(crate) use disk::open::{BROKEN_LINK, read_confined, read_file, read_regular};
pub(crate) use disk::prompt_file::Files;
pub(crate) use disk::reach::{
    REPOSITORY, Reach, is_for_everybody, leads_through, relative_path, repository_of,
};
pub(crate) use disk::root::{FileName, PromptFile, Root, TextGuard, is_hidden};
#[cfg(feature = "store")]
pub(crate) use disk::watch::Changes;
pub(crate) use disk::watched::Watched;
pub use project_prompts::PROJECT_FOLDER;
pub(crate) use project_prompts::{ChangedTexts, ProjectPrompts, ProjectText, trust_command};
pub(crate) use source::{About, Store};
#[cfg(any(feature = "store", feature = "openapi"))]
pub(crate) use source::{WriteAction, WriteRequest};
#[cfg(feature = "store")]
pub(crate) use write::file_store::already_exists_error;
pub(crate) use write::history::file_error;
#[cfg(any(feature = "store", feature = "openapi"))]
pub(crate) use write::planned_write::conflict_error;
pub(crate) use write::single_file::{create_with_folders, replace_if_unchanged};
