//! The formats of prompt files: a row for each program whose files are read where they are. What is
//! known of a format is in its row and in the file of its parser.

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
use super::include::{IncludeReader, is_partial};
use super::model::Prompt;
use super::name::Name;
use super::text::text_of;
use std::path::Path;

/// How files of a program are written, and where they are.
#[derive(Debug)]
pub struct Format {
    /// The word for it, in `--prompts FORMAT:DIR` and in JSON.
    pub name: &'static str,
    /// What it is called in a text.
    pub title: &'static str,
    /// The ends of the paths of prompt files, after the prompt's name, and how such a file is read.
    /// They are in byte order. Of several files with the same name, the first wins; if several ends
    /// fit a path, such as `.md` and `.prompt.md`, the longest counts.
    pub files: &'static [(&'static str, Parse)],
    /// The ends of the paths of folders in this format. One that begins with a dot is below a home
    /// directory or a project.
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
            &[(".md", codex::pi)],
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

/// The end of the path of a prompt file, after the prompt's name, and how such a file is read.
///
/// It is a suffix such as `.md`, or a file in a folder of that name, such as `/SKILL.md`.
#[derive(Debug, Clone, Copy)]
pub struct FileName {
    /// With its `.` or `/`.
    pub end: &'static str,
    parse: Parse,
}

impl FileName {
    /// The Markdown files of this program.
    pub const OWN: FileName = FileName {
        end: ".md",
        parse: markdown::parse,
    };

    /// Returns the end in every spelling, in byte order: letter case makes no difference in `md`.
    ///
    /// On systems whose file names ignore letter case, one spelling finds all files.
    pub fn spellings(self) -> impl Iterator<Item = String> {
        let mut spellings = Vec::new();
        if !cfg!(any(windows, target_os = "macos"))
            && !self.is_in_folder()
            && let Some(start) = self.end.strip_suffix("md")
        {
            spellings.extend(["MD", "Md", "mD"].map(|md| format!("{start}{md}")));
        }
        spellings.push(self.end.to_owned());
        spellings.into_iter()
    }

    /// Returns whether the prompt is a folder, and this file in it has its text.
    pub fn is_in_folder(self) -> bool {
        self.end.starts_with('/')
    }

    /// Returns whether the file is Markdown of this program.
    pub fn is_own(self) -> bool {
        self.end == ".md" && std::ptr::fn_addr_eq(self.parse, markdown::parse as Parse)
    }

    /// Reads the whole file of a prompt. [`Prompt::warnings`] has the mistakes in the frontmatter.
    ///
    /// Without a reader, lines that include another file stay as written.
    ///
    /// # Errors
    /// The file is not a prompt: longer than [`MAX_FILE`](super::limits::MAX_FILE), not UTF-8, or
    /// with a frontmatter that is never closed or beyond one of the [limits](super::limits); a file
    /// cannot be included.
    pub fn parse(
        self,
        name: &Name,
        bytes: &[u8],
        includes: Option<&mut dyn IncludeReader>,
    ) -> Result<Prompt, Diagnostic> {
        let text = text_of(bytes)?;
        match includes {
            Some(reader) if self.is_own() => markdown::parse_with_includes(name, text, reader),
            _ => (self.parse)(name, text),
        }
    }
}

impl Prompt {
    /// Reads a file of this program's own format, without those that it includes.
    ///
    /// # Errors
    /// Those of [`FileName::parse`].
    pub fn parse(name: Name, bytes: &[u8]) -> Result<Prompt, Diagnostic> {
        markdown::parse(&name, text_of(bytes)?)
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

    /// Returns whether its files are written by this program.
    pub fn is_own(&self) -> bool {
        self == Format::OWN
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS
            .iter()
            .chain([&OPENAPI])
            .find(|format| format.name == name)
    }

    /// Returns the format and the path in `FORMAT:DIR`, as `--prompts` takes it. There is no format
    /// if the text is a path alone, such as `C:\\x`.
    pub fn of_option(text: &str) -> (Option<&'static Format>, &str) {
        if let Some((name, path)) = text.split_once(':')
            && let Some(format) = FORMATS.iter().find(|format| format.name == name)
        {
            return (Some(format), path);
        }
        (None, text)
    }

    /// Returns the format of the prompts in a folder, by the end of its path. Nothing is read.
    pub fn of_folder(path: &Path) -> &'static Format {
        FORMATS
            .iter()
            .find(|format| format.folders.iter().any(|end| path.ends_with(end)))
            .unwrap_or(Format::OWN)
    }

    /// Returns the folders that agents read, below the home directory or in a project, each with
    /// its format.
    pub fn of_agents() -> impl Iterator<Item = (&'static Format, &'static str)> + Clone {
        FORMATS
            .iter()
            .flat_map(|format| format.folders.iter().map(move |end| (format, *end)))
            .filter(|(_, end)| end.starts_with('.'))
    }

    /// Returns the ends of the paths of its files.
    pub fn file_names(&self) -> impl Iterator<Item = FileName> + use<> {
        self.files
            .iter()
            .map(|(end, parse)| FileName { end, parse: *parse })
    }

    /// Returns the name of the prompt in a file, and how the file is read; `None` if the file is not a
    /// prompt, such as a [partial](is_partial).
    ///
    /// `path` is relative to the folder of prompts, with `/` between its parts. The suffix `.md` is
    /// matched in any letter case. If several suffixes match, the longest wins: `/SKILL.md` before
    /// `.md`.
    pub fn prompt_file<'p>(&self, path: &'p str) -> Option<(&'p str, FileName)> {
        if (self.is_own() && is_partial(path)) || Format::other_purpose(path).is_some() {
            return None;
        }
        self.file_names()
            .filter_map(|file| Some((without_end(path, file.end)?, file)))
            .max_by_key(|(_, file)| file.end.len())
    }

    /// Returns whether a path ends with a suffix that has a meaning of its own, such as `/SKILL.md`;
    /// the plain `.md` has none. Letter case and invisible characters are ignored, because some file
    /// systems ignore them.
    pub fn has_special_end(&self, path: &str) -> bool {
        let path = in_any_case(path);
        let own_ends = self.files.iter().map(|(end, _)| *end);
        own_ends
            .chain(OTHER_PURPOSES.map(|(end, _)| end))
            .any(|end| end != FileName::OWN.end && path.ends_with(&in_any_case(end)))
    }

    /// Returns the suffix of a file for another purpose, such as `.instructions.md`, and what such
    /// a file is.
    pub fn other_purpose(path: &str) -> Option<(&'static str, &'static str)> {
        OTHER_PURPOSES
            .into_iter()
            .find(|(end, _)| without_end(path, end).is_some())
    }
}

/// Returns a path in a form in which two paths are equal if any file system treats them as the same
/// file. HFS+ ignores zero-width joiners.
fn in_any_case(path: &str) -> String {
    // Upper case comes first, because only then `ſ` becomes `s`.
    path.to_uppercase()
        .to_lowercase()
        .replace(['\u{200c}', '\u{200d}'], "")
}

/// Returns the part of a path before the end of a prompt file, if the path has this end and a name
/// before it. Letter case makes no difference in the suffix `md`.
fn without_end<'p>(path: &'p str, end: &str) -> Option<&'p str> {
    let name_length = path.len().checked_sub(end.len())?;
    let (name, path_end) = path.split_at_checked(name_length)?;
    let fits = if end.starts_with('/') {
        path_end == end
    } else {
        is_same_suffix(path_end, end)
    };
    (fits && !name.is_empty() && !name.ends_with('/')).then_some(name)
}

fn is_same_suffix(path_end: &str, end: &str) -> bool {
    match end.strip_suffix("md") {
        Some(start) => path_end
            .strip_prefix(start)
            .is_some_and(|rest| rest.eq_ignore_ascii_case("md")),
        None => path_end == end,
    }
}

#[cfg(test)]
mod tests;

/// For the tests of the parsers.
#[cfg(test)]
pub(super) mod testing {
    use super::{Diagnostic, Name, Parse, Prompt};
    use crate::prompt::{Call, Messages};

    #[track_caller]
    pub(crate) fn parsed(parse: Parse, file: &str) -> Prompt {
        parse(&Name::new("p").unwrap(), file).unwrap_or_else(|error| panic!("{file:?}: {error}"))
    }

    /// What a file expands to for a text.
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

    /// Why a file is not a prompt.
    #[track_caller]
    pub(crate) fn refused(parse: Parse, file: &str, want: &str) {
        assert_eq!(
            shown(&parse(&Name::new("p").unwrap(), file).unwrap_err()),
            want,
            "{file:?}"
        );
    }

    /// All warnings about a file.
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
