//! The formats of prompt files: a row for each program whose files are read in place. The row and
//! the file of the parser have all that this program knows of a format.

pub(super) mod claude;
pub(super) mod codex;
pub(super) mod fabric;
pub(super) mod fences;
pub(super) mod frontmatter;
pub(super) mod gemini;
pub(super) mod lenient;
pub(super) mod markdown;
mod swallowed;
pub(super) mod vscode;
pub(crate) mod yaml;

use super::diagnostic::Diagnostic;
use super::file_text::decode_without_bom;
use super::include::{IncludeReader, is_partial};
use super::model::Prompt;
use super::name::Name;
use std::path::Path;

/// How files of a program are written, and where they are.
#[derive(Debug)]
pub struct Format {
    /// The word for the format in `--prompts FORMAT:DIR` and in JSON.
    pub name: &'static str,
    /// The name of the format in a sentence.
    pub title: &'static str,
    /// The suffixes of the paths of prompt files, in byte order, each with the function that reads
    /// such a file. A path is the name of the prompt and a suffix: `git/commit.md`.
    ///
    /// Of several files with the same name, the first wins. If several suffixes fit a path, such as
    /// `.md` and `.prompt.md`, the longest counts.
    pub files: &'static [(&'static str, Parse)],
    /// The suffixes of the paths of folders in this format. A suffix that begins with a dot is the
    /// path of a folder that agents read, below the home directory or in a project.
    pub folders: &'static [&'static str],
    /// Whether the files in subfolders are prompts too.
    pub is_recursive: bool,
    /// The folders of a plugin that have prompts, each with its format, if such a folder has
    /// plugins and no `files`.
    pub plugin: &'static [(&'static str, &'static str)],
}

/// Reads the text of a file. Lines that include another file stay as written.
pub type Parse = fn(&Name, &str) -> Result<Prompt, Diagnostic>;

/// Returns a row of the table of formats, for a format whose subfolders have prompts, too.
pub(super) const fn row(
    name: &'static str,
    title: &'static str,
    files: &'static [(&'static str, Parse)],
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

/// The formats that are read in place.
pub static FORMATS: &[Format] = &[
    row(
        "prompt-expander",
        "prompt-expander",
        &[
            (".md", markdown::parse),
            (".prompt.md", vscode::parse),
            (".toml", gemini::parse),
            ("/SKILL.md", claude::skill),
            ("/system.md", fabric::parse),
        ],
        &[],
    ),
    row(
        "claude",
        "Claude Code",
        &[
            (".md", claude::command),
            (".prompt.md", claude::command),
            ("/SKILL.md", claude::skill),
        ],
        &[".claude/commands"],
    ),
    row(
        "skills",
        "Agent Skills",
        &[("/SKILL.md", claude::skill)],
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
        ..row(
            "codex",
            "Codex",
            &[(".md", codex::parse), (".prompt.md", codex::parse)],
            &[".codex/prompts"],
        )
    },
    row(
        "gemini",
        "Gemini CLI",
        &[(".toml", gemini::parse)],
        &[".gemini/commands"],
    ),
    row(
        "opencode",
        "opencode",
        &[(".md", claude::opencode), (".prompt.md", claude::opencode)],
        &[
            ".opencode/command",
            ".opencode/commands",
            "opencode/command",
            "opencode/commands",
        ],
    ),
    row(
        "vscode",
        "VS Code",
        &[(".prompt.md", vscode::parse)],
        &[".github/prompts"],
    ),
    row(
        "cursor",
        "Cursor",
        &[(".md", claude::cursor), (".prompt.md", claude::cursor)],
        &[".cursor/commands"],
    ),
    row(
        "antigravity",
        "Antigravity",
        &[(".md", claude::workflow)],
        &[
            ".agent/workflows",
            ".agents/workflows",
            ".gemini/antigravity/global_workflows",
        ],
    ),
    Format {
        is_recursive: false,
        ..row(
            "pi",
            "pi",
            &[(".md", codex::parse_pi)],
            &[".pi/agent/prompts", ".pi/prompts"],
        )
    },
    row(
        "windsurf",
        "Windsurf",
        &[(".md", claude::workflow)],
        &[".windsurf/workflows", ".codeium/windsurf/global_workflows"],
    ),
    Format {
        plugin: &[("commands", "claude"), ("skills", "skills")],
        ..row(
            "claude-plugins",
            "plugins of Claude Code",
            &[],
            &[".claude/plugins"],
        )
    },
    Format {
        plugin: &[("commands", "gemini"), ("skills", "skills")],
        ..row(
            "gemini-extensions",
            "extensions of Gemini CLI",
            &[],
            &[".gemini/extensions"],
        )
    },
    row(
        "fabric",
        "fabric",
        &[("/system.md", fabric::parse)],
        &["fabric/patterns", "fabric/data/patterns"],
    ),
];

/// The format of the operations of OpenAPI documents, which are not files.
static OPENAPI: Format = row("openapi", "OpenAPI", &[], &[]);

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// The suffix of the path of a prompt file, and the function that reads such a file.
///
/// The suffix follows the prompt's name: `.md`, or `/SKILL.md` if the prompt is a folder.
#[derive(Debug, Clone, Copy)]
pub struct FileSuffix {
    /// The suffix with its `.` or `/`.
    pub suffix: &'static str,
    parse: Parse,
}

impl FileSuffix {
    /// The Markdown files of this program.
    pub const OWN: FileSuffix = FileSuffix {
        suffix: ".md",
        parse: markdown::parse,
    };

    /// Returns the suffix in every spelling that a file may have, in byte order: `.MD`, `.Md`,
    /// `.mD` and `.md`.
    ///
    /// A file in a folder, such as `/SKILL.md`, has one spelling.
    pub fn spellings(self) -> impl Iterator<Item = String> {
        // Where file names ignore letter case, one spelling finds the files in all spellings.
        let file_names_have_case = !cfg!(any(windows, target_os = "macos"));
        let mut spellings = Vec::new();
        if file_names_have_case
            && !self.is_in_folder()
            && let Some(before_md) = self.suffix.strip_suffix("md")
        {
            spellings.extend(["MD", "Md", "mD"].map(|md| format!("{before_md}{md}")));
        }
        spellings.push(self.suffix.to_owned());
        spellings.into_iter()
    }

    /// Returns whether the prompt is a folder, and this file in it has its text.
    pub fn is_in_folder(self) -> bool {
        self.suffix.starts_with('/')
    }

    /// Returns whether the file is Markdown of this program.
    pub fn is_own(self) -> bool {
        self.suffix == ".md" && std::ptr::fn_addr_eq(self.parse, markdown::parse as Parse)
    }

    /// Reads the whole file of a prompt. [`Prompt::warnings`] has the mistakes in the frontmatter.
    ///
    /// Without a reader, lines that include another file stay as written.
    ///
    /// # Errors
    /// Fails if the file is longer than [`MAX_FILE`](super::limits::MAX_FILE) or not UTF-8, if its
    /// frontmatter is never closed or exceeds one of the [limits](super::limits), or if a file
    /// cannot be included.
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
    /// Reads a file of this program's own format, without the files that it includes.
    ///
    /// # Errors
    /// Fails if the file is not a prompt, as [`FileSuffix::parse`] does.
    pub fn parse(name: Name, bytes: &[u8]) -> Result<Prompt, Diagnostic> {
        markdown::parse(&name, decode_without_bom(bytes)?)
    }
}

/// The suffixes of files that are not prompts in any format, and what such files are.
const OTHER_PURPOSES: [(&str, &str); 2] = [
    (
        ".instructions.md",
        "instructions that VS Code adds to a chat by itself",
    ),
    (".agent.md", "the definition of an agent"),
];

impl Format {
    /// The format of this program.
    pub const OWN: &'static Format = &FORMATS[0];

    /// The format of prompts that a service renders.
    pub const OPENAPI: &'static Format = &OPENAPI;

    /// Returns whether this is the format of this program.
    pub fn is_own(&self) -> bool {
        self == Format::OWN
    }

    /// Returns the format with this name.
    pub fn by_name(name: &str) -> Option<&'static Format> {
        FORMATS
            .iter()
            .chain([&OPENAPI])
            .find(|format| format.name == name)
    }

    /// Returns the format and the path in the value of `--prompts`: Claude Code and `x/commands`
    /// for `claude:x/commands`. There is no format if the text is a path alone, such as `C:\x`.
    pub fn split_prefix(text: &str) -> (Option<&'static Format>, &str) {
        if let Some((name, path)) = text.split_once(':')
            && let Some(format) = FORMATS.iter().find(|format| format.name == name)
        {
            return (Some(format), path);
        }
        (None, text)
    }

    /// Returns the format of the prompts in a folder, by the suffix of its path: Claude Code for
    /// `x/.claude/commands`, and this program for an unknown suffix. Reads no file.
    pub fn for_folder(path: &Path) -> &'static Format {
        FORMATS
            .iter()
            .find(|format| format.folders.iter().any(|suffix| path.ends_with(suffix)))
            .unwrap_or(Format::OWN)
    }

    /// Returns the path of each folder that agents read, such as `.claude/commands`, with its
    /// format. The paths are relative to the home directory or to a project.
    pub fn agent_folders() -> impl Iterator<Item = (&'static Format, &'static str)> + Clone {
        FORMATS
            .iter()
            .flat_map(|format| format.folders.iter().map(move |path| (format, *path)))
            // Only a folder of an agent begins with a dot. Others, such as `fabric/patterns`, may
            // be below any folder.
            .filter(|(_, path)| path.starts_with('.'))
    }

    /// Returns the suffixes of the paths of prompt files, each with the way to read such a file.
    pub fn file_suffixes(&self) -> impl Iterator<Item = FileSuffix> + use<> {
        self.files.iter().map(|(suffix, parse)| FileSuffix {
            suffix,
            parse: *parse,
        })
    }

    /// Returns the name of the prompt in a file, and how the file is read; `None` if the file is
    /// not a prompt, such as a [partial](is_partial).
    ///
    /// `path` is relative to the folder of prompts, with `/` between its parts. The suffix `.md` is
    /// matched in any letter case. If several suffixes match, the longest wins: `/SKILL.md` before
    /// `.md`.
    pub fn split_path<'p>(&self, path: &'p str) -> Option<(&'p str, FileSuffix)> {
        if (self.is_own() && is_partial(path)) || Format::non_prompt_suffix(path).is_some() {
            return None;
        }
        self.file_suffixes()
            .filter_map(|file| Some((without_suffix(path, file.suffix)?, file)))
            .max_by_key(|(_, file)| file.suffix.len())
    }

    /// Returns whether a path ends with a suffix that has a meaning of its own for a program, such
    /// as `/SKILL.md` or `.agent.md`. The plain `.md` has none.
    ///
    /// Letter case and invisible characters make no difference, because some file systems ignore
    /// them.
    pub fn has_special_suffix(&self, path: &str) -> bool {
        let path = in_any_case(path);
        let own_suffixes = self.files.iter().map(|(suffix, _)| *suffix);
        own_suffixes
            .chain(OTHER_PURPOSES.map(|(suffix, _)| suffix))
            .filter(|suffix| *suffix != FileSuffix::OWN.suffix)
            .any(|suffix| path.ends_with(&in_any_case(suffix)))
    }

    /// Returns the suffix of a file that is not a prompt in any format, and what such a file is:
    /// `.agent.md` and `the definition of an agent` for `x/review.agent.md`.
    pub fn non_prompt_suffix(path: &str) -> Option<(&'static str, &'static str)> {
        OTHER_PURPOSES
            .into_iter()
            .find(|(suffix, _)| without_suffix(path, suffix).is_some())
    }
}

/// Returns a path in a form in which two paths are equal if any file system treats them as the same
/// file: `/skill.md` for `/SKILL.md`. Zero-width joiners are dropped, because HFS+ ignores them.
fn in_any_case(path: &str) -> String {
    // Upper case comes first, because only then `ſ` becomes `s`.
    path.to_uppercase()
        .to_lowercase()
        .replace(['\u{200c}', '\u{200d}'], "")
}

/// Returns the name of a prompt from the path of its file: `git/commit` of `git/commit.MD`, if the
/// suffix is `.md`. Returns `None` if the path has another suffix, or no name before it.
fn without_suffix<'p>(path: &'p str, suffix: &str) -> Option<&'p str> {
    let name_length = path.len().checked_sub(suffix.len())?;
    let (name, path_suffix) = path.split_at_checked(name_length)?;
    let is_in_folder = suffix.starts_with('/'); // `/SKILL.md`, which has only this spelling
    let fits = if is_in_folder {
        path_suffix == suffix
    } else {
        is_same_suffix(path_suffix, suffix)
    };
    if !fits || name.is_empty() || name.ends_with('/') {
        return None;
    }
    Some(name)
}

/// Returns whether the suffix of a path is the expected one. A final `md` matches in any letter
/// case, so `.MD` is the suffix `.md`.
fn is_same_suffix(path_suffix: &str, expected: &str) -> bool {
    match expected.strip_suffix("md") {
        Some(before_md) => path_suffix
            .strip_prefix(before_md)
            .is_some_and(|md| md.eq_ignore_ascii_case("md")),
        None => path_suffix == expected,
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

    /// Checks what a file expands to for a text.
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

    /// Checks the error about a file that is not a prompt.
    #[track_caller]
    pub(crate) fn refused(parse: Parse, file: &str, want: &str) {
        assert_eq!(
            shown(&parse(&Name::new("p").unwrap(), file).unwrap_err()),
            want,
            "{file:?}"
        );
    }

    /// Checks all warnings about a file.
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
