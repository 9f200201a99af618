//! Prompts: parses files into [`Prompt`]s, and expands a prompt and a [`Call`] into [`Messages`].
//!
//! This module is pure: no I/O, clock, environment or protocol.
//!
//! | step | where |
//! |---|---|
//! | parse a file into a prompt | [`FileSuffix::parse`], in `format/`; `format.rs` lists the supported file types |
//! | determine the value of each argument | [`Prompt::bind`], in `binding.rs`; `division.rs` divides text among the arguments |
//! | insert the values into the messages | [`Prompt::expand`], in `expand.rs` |
//! | parse a test file and run its cases | [`Tests::parse`], [`Case::run`], in `golden.rs` |
//! | replace include lines with files | `include.rs` |
//! | render Jinja templates (`engine: jinja`) | `jinja.rs` |
//! | build or edit a file from fields | [`with_fields`], in `fields.rs` |
//! | convert another program's prompt to Markdown | [`import()`], in `import.rs` and `serialize.rs` |
//! | find what a reviewer of a text should notice | `notable.rs` |
//! | write a prompt as a skill | [`Prompt::skill_body`], [`skill_names`], in `skill_body.rs` and `skill_name.rs` |
//! | warn about likely mistakes | [`Prompt::warnings`], in `lint.rs` and `foreign_syntax.rs` |
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod attachment;
mod binding;
mod diagnostic;
mod division;
mod expand;
mod fields;
mod file_text;
mod foreign_syntax;
mod format;
mod frontmatter_value;
mod golden;
mod import;
mod include;
mod jinja;
mod limits;
mod lint;
mod menu_mark;
mod message;
mod model;
mod name;
mod new_name;
pub(crate) mod notable;
mod outline;
mod placeholder;
mod revision;
mod serialize;
mod shell_parameter;
pub(crate) mod similar;
mod skill_body;
mod skill_lint;
mod skill_name;
mod template;
mod typed;
mod unexpanded;
mod words;

pub use attachment::{Attachment, AttachmentPath, Content, Media};
pub use binding::{Binding, BoundArgument, Call};
pub use diagnostic::{Diagnostic, Kind, Position, Severity};
pub use division::{Origin, join_shell_input};
pub use fields::{EditedFile, Fields, with_fields};
pub use file_text::{decode_utf8_owned, not_utf8};
pub use format::markdown::with_only_include_key;
#[cfg(feature = "openapi")]
pub(crate) use format::yaml;
pub use format::{FORMATS, FileSuffix, Format, Parse};
pub use frontmatter_value::frontmatter_value;
pub use golden::{Case, CaseFailure, CaseOutcome, TEST_SUFFIX, Tests, TextMismatch, draft_tests};
pub use import::hexai::hexai_prompts;
pub use import::{IMPORTED, Imported, import};
pub use include::{FileToInclude, IncludeReader, Included, IncludedFile, is_partial};
pub use limits::{
    LONG_PROMPT_CHARS, MAX_ARGUMENTS, MAX_ATTACHMENT, MAX_ATTACHMENTS, MAX_ATTACHMENTS_SIZE,
    MAX_EXPANSION, MAX_FILE, MAX_FILTER_OUTPUT, MAX_FRONTMATTER, MAX_INCLUDE_DEPTH, MAX_INCLUDES,
    MAX_MESSAGES, MAX_NAME, MAX_NAME_FOLDERS, MAX_STEPS, MAX_TEMPLATE_NESTING, MAX_TEMPLATE_TOKENS,
    MAX_VALUES_READ, MAX_YAML_SIZE,
};
pub(crate) use lint::space_in_name;
pub use menu_mark::MenuMark;
pub use message::{Message, Messages, Piece, Role};
pub use model::{Argument, Metadata, Prompt, Summary};
pub use name::Name;
pub(crate) use name::{
    COLONS, MAX_TYPED_BYTES, fold_name, is_common_after_colon, non_command_kind, possible_names,
    spelling_starting_with, strip_colon,
};
pub use revision::Revision;
pub(crate) use revision::sha256;
pub use serialize::{draft, draft_around};
pub use skill_body::SkillBody;
pub(crate) use skill_lint::{LOWER_CASE_SKILL, LOWER_CASE_SKILL_FIX};
pub use skill_name::{is_agentskills_name, skill_names};
pub use template::{INPUT, MessageTemplate, Placeholder};
pub use unexpanded::{Reason, Unexpanded};
