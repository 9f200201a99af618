//! The limits of prompts.

/// The longest prompt file, in bytes: 4 MiB.
pub const MAX_FILE: usize = 4 * 1024 * 1024;

/// The longest name of a prompt, in bytes: a quarter of the longest path on Linux.
pub const MAX_NAME: usize = 1024;

/// How many folders a name may have.
pub const MAX_NAME_FOLDERS: usize = 32;

/// The longest frontmatter, in bytes.
pub const MAX_FRONTMATTER: usize = 64 * 1024;

/// The size of a frontmatter whose YAML aliases are replaced by their values: bytes of text, and
/// one for each node.
pub const MAX_YAML_SIZE: usize = 128 * 1024;

/// How deep the lists and maps of a frontmatter may be nested; two levels have a meaning.
pub(crate) const MAX_NESTING: usize = 8;

/// How many arguments a prompt may declare.
pub const MAX_ARGUMENTS: usize = 100;

/// How many messages a prompt may have.
pub const MAX_MESSAGES: usize = 1000;

/// How many attachments a prompt may have.
pub const MAX_ATTACHMENTS: usize = 100;

/// The largest attachment, in bytes: 5 MiB.
pub const MAX_ATTACHMENT: usize = 5 * 1024 * 1024;

/// The size of all attachments of a prompt, in bytes: 20 MiB.
pub const MAX_ATTACHMENTS_SIZE: usize = 20 * 1024 * 1024;

/// How many files may include each other, one inside the other.
pub const MAX_INCLUDE_DEPTH: usize = 8;

/// How many files a prompt may include in all. Their texts together may be as long as [one
/// file](MAX_FILE).
pub const MAX_INCLUDES: usize = 100;

/// How many steps a template may take: instructions of minijinja.
pub const MAX_STEPS: u64 = 100_000;

/// How many bytes the filters of a template may make in all: while a filter works, its text takes
/// up to three times its length.
pub const MAX_FILTER_OUTPUT: usize = 16 * 1024 * 1024;

/// How many bytes the values that a template uses may have in all, each counted whenever it is
/// used: 1 GiB.
pub const MAX_VALUES_READ: usize = 1024 * 1024 * 1024;

/// How many words and signs the tags of a template may have.
pub const MAX_TEMPLATE_TOKENS: usize = 20_000;

/// How many blocks of a template may be inside each other.
pub const MAX_TEMPLATE_NESTING: usize = 32;

/// The longest expansion, in bytes: 64 MiB, twice the longest line that the server reads.
pub const MAX_EXPANSION: usize = 64 * 1024 * 1024;

/// From this length on, in characters, `check` says that an agent may cut out the middle of an
/// expansion: Codex shows its model 40,000 characters of what one call prints, which contains the
/// text twice.
pub const LONG_PROMPT_CHARS: usize = 18_000;
