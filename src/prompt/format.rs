//! The table of prompt file formats: one row for each program whose files are read in place.
//!
//! Everything specific to a format is in its row here and in the module of its parser.

pub(super) mod claude;
pub(super) mod codex;
mod dropped_text;
pub(super) mod fabric;
pub(super) mod fences;
mod flow;
pub(super) mod frontmatter;
pub(super) mod gemini;
pub(super) mod lenient;
pub(super) mod markdown;
mod quotes;
mod swallowed;
mod value_line;
pub(super) mod vscode;
pub(crate) mod yaml;

use super::diagnostic::Diagnostic;
use super::file_text::decode_without_bom;
use super::include::{IncludeReader, is_partial};
use super::model::Prompt;
use super::name::Name;
use std::path::Path;

/// The prompt file format of one program, and the folders in which its files are found.
#[derive(Debug)]
pub struct Format {
    /// The identifier used in `--prompts FORMAT:DIR` and in JSON, e.g. `claude`.
    pub name: &'static str,
    /// The name shown to people, e.g. `Claude Code`.
    pub title: &'static str,
    /// The file suffixes, sorted by bytes, each with its parser. The path of a file is the name of
    /// the prompt plus a suffix: `git/commit` + `.md`.
    ///
    /// If a path matches several suffixes, e.g. `.md` and `.prompt.md`, the longest one is used.
    /// If several files have the same name, the one whose suffix comes first here is used.
    pub files: &'static [FileSuffix],
    /// The path suffixes by which folders in this format are recognized. Those that begin with a
    /// dot, e.g. `.claude/commands`, are read by agents, in the home directory or in a project.
    pub folders: &'static [&'static str],
    /// Whether subfolders are searched for prompts.
    pub is_recursive: bool,
    /// For a folder of plugins: the subfolders of a plugin that contain prompts, each with the
    /// `name` of its format. Empty for a format that has `files`.
    pub plugin: &'static [(&'static str, &'static str)],
}

/// Parses the contents of a prompt file. Include lines are left unexpanded.
pub type Parse = fn(&Name, &str) -> Result<Prompt, Diagnostic>;

/// Creates a format whose subfolders are searched for prompts. It has no plugins.
pub(super) const fn recursive_format(
    name: &'static str,
    title: &'static str,
    files: &'static [FileSuffix],
    folders: &'static [&'static str],
) -> Format {
    Format {
        name,
        title,
        files,
        folders,
        is_recursive: true,
        plugin: &[],
    }
}

/// Creates a format of Markdown files in which an agent has no placeholders of its own, or only
/// `$ARGUMENTS`.
const fn workflow_format(
    name: &'static str,
    title: &'static str,
    folders: &'static [&'static str],
) -> Format {
    const FILES: &[FileSuffix] = &[
        FileSuffix::new(".md", claude::parse_workflow),
        FileSuffix::new(".prompt.md", claude::parse_workflow),
    ];
    recursive_format(name, title, FILES, folders)
}

/// The formats whose files are read in place. The first one is [`Format::OWN`].
pub static FORMATS: &[Format] = &[
    recursive_format(
        "prompt-expander",
        "prompt-expander",
        &[
            FileSuffix::new(".md", markdown::parse),
            FileSuffix::new(".prompt.md", vscode::parse),
            FileSuffix::new(".toml", gemini::parse),
            FileSuffix::new("/SKILL.md", claude::parse_skill),
            FileSuffix::new("/system.md", fabric::parse),
        ],
        &[],
    ),
    recursive_format(
        "claude",
        "Claude Code",
        &[
            FileSuffix::new(".md", claude::parse_command),
            FileSuffix::new(".prompt.md", claude::parse_command),
            FileSuffix::new("/SKILL.md", claude::parse_skill),
        ],
        &[".claude/commands", ".claude/prompts"],
    ),
    recursive_format(
        "skills",
        "Agent Skills",
        &[FileSuffix::new("/SKILL.md", claude::parse_skill)],
        &[
            ".claude/skills",
            ".agents/skills",
            ".codex/skills",
            ".cursor/skills",
            ".gemini/skills",
            ".github/skills",
            ".opencode/skills",
            "opencode/skills",
        ],
    ),
    Format {
        is_recursive: false,
        ..recursive_format(
            "codex",
            "Codex",
            &[
                FileSuffix::new(".md", codex::parse),
                FileSuffix::new(".prompt.md", codex::parse),
            ],
            &[".codex/commands", ".codex/prompts"],
        )
    },
    recursive_format(
        "gemini",
        "Gemini CLI",
        &[FileSuffix::new(".toml", gemini::parse)],
        &[".gemini/commands"],
    ),
    recursive_format(
        "qwen",
        "Qwen Code",
        &[
            FileSuffix::new(".md", gemini::parse_qwen_markdown),
            FileSuffix::new(".toml", gemini::parse_qwen_toml),
        ],
        &[".qwen/commands"],
    ),
    recursive_format(
        "opencode",
        "opencode",
        &[
            FileSuffix::new(".md", claude::parse_opencode),
            FileSuffix::new(".prompt.md", claude::parse_opencode),
        ],
        &[
            ".opencode/command",
            ".opencode/commands",
            "opencode/command",
            "opencode/commands",
        ],
    ),
    recursive_format(
        "vscode",
        "VS Code",
        &[FileSuffix::new(".prompt.md", vscode::parse)],
        &[".github/prompts"],
    ),
    recursive_format(
        "cursor",
        "Cursor",
        &[
            FileSuffix::new(".md", claude::parse_cursor),
            FileSuffix::new(".prompt.md", claude::parse_cursor),
        ],
        &[".cursor/commands", ".cursor/prompts"],
    ),
    recursive_format(
        "antigravity",
        "Antigravity",
        &[FileSuffix::new(".md", claude::parse_workflow)],
        &[
            ".agent/workflows",
            ".agents/workflows",
            ".gemini/antigravity/global_workflows",
        ],
    ),
    Format {
        is_recursive: false,
        ..recursive_format(
            "pi",
            "pi",
            &[FileSuffix::new(".md", codex::parse_pi)],
            &[".pi/agent/prompts", ".pi/prompts"],
        )
    },
    recursive_format(
        "windsurf",
        "Windsurf",
        &[FileSuffix::new(".md", claude::parse_workflow)],
        &[".windsurf/workflows", ".codeium/windsurf/global_workflows"],
    ),
    workflow_format("cline", "Cline", &[".clinerules/workflows"]),
    workflow_format(
        "kilo",
        "Kilo Code",
        &[".kilocode/commands", ".kilocode/workflows"],
    ),
    workflow_format("roo", "Roo Code", &[".roo/commands"]),
    workflow_format("kiro", "Kiro", &[".kiro/prompts"]),
    workflow_format(
        "amazon-q",
        "Amazon Q",
        &[".amazonq/prompts", ".aws/amazonq/prompts"],
    ),
    workflow_format(
        "agents",
        "several agents",
        &[
            ".agent/commands",
            ".agents/commands",
            ".agents/prompts",
            ".ai/commands",
            ".ai/prompts",
            ".augment/commands",
            ".codebuddy/commands",
            ".crush/commands",
            ".factory/commands",
            ".iflow/commands",
            ".trae/commands",
        ],
    ),
    Format {
        plugin: &[("commands", "claude"), ("skills", "skills")],
        ..recursive_format(
            "claude-plugins",
            "plugins of Claude Code",
            &[],
            &[".claude/plugins"],
        )
    },
    Format {
        plugin: &[("commands", "gemini"), ("skills", "skills")],
        ..recursive_format(
            "gemini-extensions",
            "extensions of Gemini CLI",
            &[],
            &[".gemini/extensions"],
        )
    },
    recursive_format(
        "fabric",
        "fabric",
        &[FileSuffix::new("/system.md", fabric::parse)],
        &["fabric/patterns", "fabric/data/patterns"],
    ),
];

/// The format of prompts made from the operations of an OpenAPI document. It has no files.
static OPENAPI: Format = recursive_format("openapi", "OpenAPI", &[], &[]);

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// A suffix of prompt files, and the parser for such files.
#[derive(Debug, Clone, Copy)]
pub struct FileSuffix {
    /// What follows the prompt's name in the path: `.md`, or `/SKILL.md` if the prompt is a folder.
    pub suffix: &'static str,
    parse: Parse,
}

impl FileSuffix {
    /// The suffix `.md` of this program's own format.
    pub const OWN: FileSuffix = FileSuffix::new(".md", markdown::parse);

    pub(super) const fn new(suffix: &'static str, parse: Parse) -> FileSuffix {
        FileSuffix { suffix, parse }
    }

    /// Returns the case variants of the suffix to look for on disk, sorted by bytes: `.MD`, `.Md`,
    /// `.mD` and `.md`. A suffix such as `/SKILL.md` has only one.
    pub fn case_variants(self) -> impl Iterator<Item = String> {
        // A case-insensitive file system finds every variant by the one in lowercase.
        let is_case_sensitive = !cfg!(any(windows, target_os = "macos"));
        let mut variants = Vec::new();
        if is_case_sensitive
            && !self.is_in_folder()
            && let Some(before_md) = self.suffix.strip_suffix("md")
        {
            variants.extend(["MD", "Md", "mD"].map(|md| format!("{before_md}{md}")));
        }
        variants.push(self.suffix.to_owned());
        variants.into_iter()
    }

    /// Returns whether the prompt is a folder that contains this file, as with `/SKILL.md`.
    pub fn is_in_folder(self) -> bool {
        self.suffix.starts_with('/')
    }

    /// Returns whether this is the `.md` of this program's own format. Other formats have a `.md`
    /// with another parser.
    pub fn is_own(self) -> bool {
        self.suffix == ".md" && std::ptr::fn_addr_eq(self.parse, markdown::parse as Parse)
    }

    /// Returns whether only the contents show if a file is a prompt, as with `.toml`, which many
    /// programs use.
    pub fn is_ambiguous(self) -> bool {
        self.suffix == ".toml"
    }

    /// Returns a hint if these are the contents of another program's file instead of a prompt.
    pub fn non_prompt_hint(self, bytes: &[u8]) -> Option<Diagnostic> {
        if !self.is_ambiguous() {
            return None;
        }
        gemini::non_command_hint(decode_without_bom(bytes).ok()?)
    }

    /// Parses a prompt file. Mistakes in its frontmatter are reported by [`Prompt::warnings`].
    ///
    /// `includes` reads the files that it includes; with `None`, include lines are left unexpanded.
    /// Only files of this program's own format can include others.
    ///
    /// # Errors
    /// Fails if the file isn't UTF-8, exceeds a [limit](super::limits), has frontmatter that is
    /// never closed, or includes a file that can't be included. Some formats have further errors.
    pub fn parse(
        self,
        name: &Name,
        bytes: &[u8],
        includes: Option<&mut dyn IncludeReader>,
    ) -> Result<Prompt, Diagnostic> {
        let text = decode_without_bom(bytes)?;
        match includes {
            Some(reader) if self.is_own() => markdown::parse_with_includes(name, text, reader),
            _ => (self.parse)(name, text),
        }
    }
}

impl Prompt {
    /// Parses a file of this program's own format. Include lines are left unexpanded.
    ///
    /// # Errors
    /// The same as for [`FileSuffix::parse`], except those of includes.
    pub fn parse(name: Name, bytes: &[u8]) -> Result<Prompt, Diagnostic> {
        markdown::parse(&name, decode_without_bom(bytes)?)
    }
}

/// The suffixes of files that aren't prompts in any format, each with a description of such files.
const NON_PROMPT_SUFFIXES: [(&str, &str); 2] = [
    (
        ".instructions.md",
        "instructions that VS Code adds to a chat by itself",
    ),
    (".agent.md", "the definition of an agent"),
];

impl Format {
    /// This program's own format.
    pub const OWN: &'static Format = &FORMATS[0];

    /// The format of prompts that are rendered by a service.
    pub const OPENAPI: &'static Format = &OPENAPI;

    /// Returns whether this is this program's own format.
    pub fn is_own(&self) -> bool {
        self == Format::OWN
    }

    /// Finds a format by its `name`, e.g. `claude`.
    pub fn by_name(name: &str) -> Option<&'static Format> {
        FORMATS
            .iter()
            .chain([&OPENAPI])
            .find(|format| format.name == name)
    }

    /// Splits the value of `--prompts` into its format and its path: `claude:x/commands` is Claude
    /// Code and `x/commands`.
    ///
    /// The format is `None` if the value doesn't begin with the name of one, e.g. `C:\x`.
    pub fn split_prefix(option: &str) -> (Option<&'static Format>, &str) {
        if let Some((name, path)) = option.split_once(':')
            && let Some(format) = FORMATS.iter().find(|format| format.name == name)
        {
            return (Some(format), path);
        }
        (None, option)
    }

    /// Guesses the format of a folder from the end of its path: Claude Code for
    /// `x/.claude/commands`. Defaults to this program's own format.
    pub fn for_folder(path: &Path) -> &'static Format {
        FORMATS
            .iter()
            .find(|format| format.has_folder(path))
            .unwrap_or(Format::OWN)
    }

    /// Returns whether the end of a path says that the folder has files of this format. Agent
    /// skills are in any folder such as `.kiro/skills`.
    pub fn has_folder(&self, path: &Path) -> bool {
        let is_in_table = self.folders.iter().any(|suffix| path.ends_with(suffix));
        is_in_table || (self.name == "skills" && is_hidden_skills_folder(path))
    }

    /// Returns the folders that agents read, e.g. `.claude/commands`, each with its format. The
    /// paths are relative to the home directory or to a project.
    pub fn agent_folders() -> impl Iterator<Item = (&'static Format, &'static str)> + Clone {
        FORMATS
            .iter()
            .flat_map(|format| format.folders.iter().map(move |path| (format, *path)))
            // The other suffixes, e.g. `fabric/patterns`, match anywhere on the disk.
            .filter(|(_, path)| path.starts_with('.'))
    }

    /// Returns the file suffixes of the format, in the order of [`Format::files`].
    pub fn file_suffixes(&self) -> impl Iterator<Item = FileSuffix> + use<> {
        self.files.iter().copied()
    }

    /// Splits the path of a prompt file into the name of the prompt and the suffix: `git/commit.MD`
    /// is `git/commit` and `.md`.
    ///
    /// `path` is relative to the prompts folder and separated by `/`. `.md` matches in any letter
    /// case, and the longest matching suffix is used: `/SKILL.md` before `.md`. Returns `None` if
    /// the file isn't a prompt, which includes [partials](is_partial).
    pub fn split_path<'p>(&self, path: &'p str) -> Option<(&'p str, FileSuffix)> {
        if (self.is_own() && is_partial(path)) || Format::non_prompt_suffix(path).is_some() {
            return None;
        }
        self.file_suffixes()
            .filter_map(|file| Some((strip_file_suffix(path, file.suffix)?, file)))
            .max_by_key(|(_, file)| file.suffix.len())
    }

    /// Returns whether the path ends with a suffix other than a plain `.md` that determines how the
    /// file is read: another suffix of this format, e.g. `/SKILL.md`, or one of a file that isn't a
    /// prompt, e.g. `.agent.md`.
    ///
    /// Letter case and zero-width joiners are ignored, as some file systems do.
    pub fn has_special_suffix(&self, path: &str) -> bool {
        let mut special_suffixes = Vec::new();
        for file in self.files {
            if file.suffix != FileSuffix::OWN.suffix {
                special_suffixes.push(file.suffix);
            }
        }
        special_suffixes.extend(NON_PROMPT_SUFFIXES.map(|(suffix, _)| suffix));
        let path = fold_path(path);
        special_suffixes
            .iter()
            .any(|suffix| path.ends_with(&fold_path(suffix)))
    }

    /// If the suffix marks a file that isn't a prompt in any format, returns that suffix and a
    /// description: `.agent.md` and `the definition of an agent` for `x/review.agent.md`.
    pub fn non_prompt_suffix(path: &str) -> Option<(&'static str, &'static str)> {
        NON_PROMPT_SUFFIXES
            .into_iter()
            .find(|(suffix, _)| strip_file_suffix(path, suffix).is_some())
    }
}

/// Hidden folders that belong to no agent. Git, package managers and other programs keep files
/// there, and a folder `skills` among them is not the user's.
const NOT_OF_AGENTS: [&str; 4] = [".cache", ".git", ".local", ".venv"];

/// Returns whether a folder is called `skills`, in a folder that may belong to an agent: its name
/// begins with a dot.
fn is_hidden_skills_folder(path: &Path) -> bool {
    let parent_name = path.parent().and_then(Path::file_name).unwrap_or_default();
    let is_hidden = parent_name.as_encoded_bytes().starts_with(b".");
    let may_be_of_agent = is_hidden && NOT_OF_AGENTS.iter().all(|name| parent_name != *name);
    path.ends_with("skills") && may_be_of_agent
}

/// Normalizes a path so that paths compare equal if any file system treats them as the same file:
/// `/SKILL.md` becomes `/skill.md`. Zero-width joiners are dropped because HFS+ ignores them.
fn fold_path(path: &str) -> String {
    // Without the detour through uppercase, `ſ` would not become `s`.
    path.to_uppercase()
        .to_lowercase()
        .replace(['\u{200c}', '\u{200d}'], "")
}

/// Strips a suffix of prompt files from a path: `git/commit.MD` without `.md` is `git/commit`.
/// Returns `None` if the suffix doesn't match, or if no name is left.
fn strip_file_suffix<'p>(path: &'p str, suffix: &str) -> Option<&'p str> {
    let name_length = path.len().checked_sub(suffix.len())?;
    let (name, path_suffix) = path.split_at_checked(name_length)?;
    if !suffix_matches(path_suffix, suffix) || name.is_empty() || name.ends_with('/') {
        return None;
    }
    Some(name)
}

/// Returns whether the end of a path equals the suffix of a format.
///
/// Only the letter case of a final `md` may differ: `.prompt.MD` matches `.prompt.md`. A suffix
/// that is a whole file name, e.g. `/SKILL.md`, must match exactly.
fn suffix_matches(path_end: &str, suffix: &str) -> bool {
    if path_end == suffix {
        return true;
    }
    let is_whole_file_name = suffix.starts_with('/');
    if is_whole_file_name {
        return false;
    }
    let Some(before_md) = suffix.strip_suffix("md") else {
        return false;
    };
    match path_end.strip_prefix(before_md) {
        Some(md) => md.eq_ignore_ascii_case("md"),
        None => false,
    }
}

#[cfg(test)]
mod tests;

/// Helpers for the tests of the parsers.
#[cfg(test)]
pub(super) mod testing {
    use super::{Diagnostic, Name, Parse, Prompt};
    use crate::prompt::{Call, Messages};

    #[track_caller]
    pub(crate) fn parsed(parse: Parse, file: &str) -> Prompt {
        parse(&Name::new("p").unwrap(), file).unwrap_or_else(|error| panic!("{file:?}: {error}"))
    }

    /// Checks the expansion of a file when it is called with `text`.
    #[track_caller]
    pub(crate) fn check(parse: Parse, file: &str, text: &str, want: &str) {
        let expansion = parsed(parse, file)
            .expand(Call::Text(text))
            .map(Messages::into_text);
        assert_eq!(
            expansion.map_err(|error| error.to_string()).as_deref(),
            Ok(want),
            "{file:?} {text:?}"
        );
    }

    /// Checks the error that the parser returns for a file.
    #[track_caller]
    pub(crate) fn refused(parse: Parse, file: &str, want: &str) {
        assert_eq!(
            shown(&parse(&Name::new("p").unwrap(), file).unwrap_err()),
            want,
            "{file:?}"
        );
    }

    /// Checks that the parser returns exactly these warnings for a file.
    #[track_caller]
    pub(crate) fn warned(parse: Parse, file: &str, want: &[&str]) {
        assert_eq!(
            parsed(parse, file)
                .warnings()
                .iter()
                .map(shown)
                .collect::<Vec<_>>(),
            want,
            "{file:?}"
        );
    }

    pub(crate) fn shown(diagnostic: &Diagnostic) -> String {
        match diagnostic.position {
            Some(position) => format!("{position}: {}", diagnostic.text()),
            None => diagnostic.text(),
        }
    }
}
