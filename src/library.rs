//! All prompts of a user: an ordered list of sources, of which the first that has a prompt of a
//! name wins.
//!
//! A [`Library`] is shared by all threads. Each message sees it through one [`View`], as one caller
//! may see it. What is found keeps the way back to its source ([`Found`]), so that nothing is
//! looked for twice. What is on disk is what is served: for an exact name one file is read, for a
//! list all files, and only for an unknown name are all names compared. What was made from files is
//! used again only while their stamps show that they are unchanged (`library/cache.rs`). [`Watch`]
//! notices when files change.

mod attach;
mod build;
mod builtin;
mod builtin_texts;
mod cache;
mod caller;
mod diff;
mod edit;
mod file_store;
mod files;
mod find;
mod folder;
mod golden_files;
mod handle;
mod history;
mod include;
#[cfg(feature = "openapi")]
mod openapi;
pub(crate) mod pack;
mod plugins;
#[cfg(feature = "store")]
mod postgres;
mod project;
mod project_prompts;
mod query;
mod reach;
mod read;
mod rename;
mod root;
mod rows;
mod seen;
mod settings_problems;
mod shown;
mod source;
mod stamp;
#[cfg(feature = "openapi")]
mod team;
mod trust;
mod view;
mod walk;
mod watch;
mod watched;

pub use caller::{Caller, Prefix, Role, TEAM_HEADER, Token};
pub use diff::{DiffLine, Hunk, difference, hunks};
pub use edit::{Current, Editor, Written};
pub(crate) use files::{create, create_with_folders, delete_if, plan, replace};
pub(crate) use find::{meant_by, with_last_part};
pub use golden_files::is_test_file;
pub use history::{Operation, VERSIONS, Version};
#[cfg(feature = "openapi")]
pub use openapi::Options as OpenApiOptions;
#[cfg(feature = "openapi")]
pub(crate) use openapi::{HeaderValue, SecretHeader, check_base, check_header_name};
#[cfg(feature = "store")]
pub(crate) use postgres::push::{StoredTexts, text_at};
#[cfg(feature = "store")]
pub use postgres::{Address, Postgres};
pub(crate) use project::Project;
pub(crate) use project::texts_of;
pub use project_prompts::PROJECT_FOLDER;
pub(crate) use project_prompts::ProjectText;
pub(crate) use query::has_tag;
pub use query::{Selection, matches, search_text};
pub(crate) use reach::{Reach, leads_through, repository_of};
pub use read::is_prompt_file;
pub(crate) use read::{read_confined_text, read_regular, read_whole};
pub use root::MAX_ENTRIES;
pub(crate) use settings_problems::SettingsProblems;
pub use source::{
    By, Found, Handle, Info, Join, Layer, Listing, Place, ServiceRequest, Source, TestFile, joined,
};
#[cfg(feature = "openapi")]
pub(crate) use team::Team;
pub use trust::Trust;
pub(crate) use trust::main_repository;
pub use view::{Library, Report, View};
pub use walk::MAX_LINKED_FOLDERS;
pub use watch::{POLL, Watch};
pub use watched::Change;
