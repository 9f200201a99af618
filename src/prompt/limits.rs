//! Limits on prompts and their expansion. Sizes are in bytes unless the name says otherwise.

/// The maximum size of a prompt file: 4 MiB.
pub const MAX_FILE: usize = 4 * 1024 * 1024;

/// The maximum length of a prompt name: a quarter of the longest path on Linux.
pub const MAX_NAME: usize = 1024;

/// The maximum number of folders in a prompt name.
pub const MAX_NAME_FOLDERS: usize = 32;

/// The maximum size of the frontmatter.
pub const MAX_FRONTMATTER: usize = 64 * 1024;

/// The maximum size of the frontmatter after replacing YAML aliases with their values. Counts the
/// bytes of all text, plus one for each node.
pub const MAX_YAML_SIZE: usize = 128 * 1024;

/// The maximum nesting depth of lists and maps in the frontmatter. Valid keys need only two levels.
pub(crate) const MAX_NESTING: usize = 8;

/// The maximum number of declared arguments.
pub const MAX_ARGUMENTS: usize = 100;

/// The maximum number of messages in a prompt.
pub const MAX_MESSAGES: usize = 1000;

/// The maximum number of attachments of a prompt.
pub const MAX_ATTACHMENTS: usize = 100;

/// The maximum size of one attachment: 5 MiB.
pub const MAX_ATTACHMENT: usize = 5 * 1024 * 1024;

/// The maximum total size of the attachments of a prompt: 20 MiB.
pub const MAX_ATTACHMENTS_SIZE: usize = 20 * 1024 * 1024;

/// The maximum depth of nested includes.
pub const MAX_INCLUDE_DEPTH: usize = 8;

/// The maximum number of includes in a prompt. The combined text must not exceed [`MAX_FILE`].
pub const MAX_INCLUDES: usize = 100;

/// The maximum number of minijinja instructions that the templates of a prompt may execute.
pub const MAX_STEPS: u64 = 100_000;

/// The maximum total output of all template filters. While a filter runs, it may use up to three
/// times as much memory as its output.
pub const MAX_FILTER_OUTPUT: usize = 16 * 1024 * 1024;

/// The maximum total size of the values that templates read: 1 GiB. A value counts each time it is
/// read.
pub const MAX_VALUES_READ: usize = 1024 * 1024 * 1024;

/// The maximum number of tokens in the tags of a template.
pub const MAX_TEMPLATE_TOKENS: usize = 20_000;

/// The maximum nesting depth of blocks in a template.
pub const MAX_TEMPLATE_NESTING: usize = 32;

/// The maximum size of an expansion: 64 MiB, twice the longest line that the server accepts.
pub const MAX_EXPANSION: usize = 64 * 1024 * 1024;

/// The length in characters from which `check` warns that an agent may truncate the middle of an
/// expansion.
///
/// Codex passes 40,000 characters of a call's output to its model, and the output contains the text
/// twice.
pub const LONG_PROMPT_CHARS: usize = 18_000;
