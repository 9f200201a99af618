//! The programs whose prompt files are read: their names, their folders, and which files in those are prompts.

use super::Format;
use std::path::Path;

/// A program whose prompt files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum System {
    /// This one.
    PromptExpander,
    /// Claude Code: commands, and skills beside them.
    ClaudeCode,
    /// The skills of Claude Code, Codex, Copilot and opencode.
    Skills,
    /// Codex: custom prompts.
    Codex,
    /// Gemini CLI: commands.
    Gemini,
    /// opencode: commands.
    OpenCode,
    /// VS Code and GitHub Copilot: prompt files.
    VsCode,
    /// Cursor: commands.
    Cursor,
    /// fabric: patterns.
    Fabric,
    /// llm: templates.
    Llm,
    /// Continue: prompts.
    Continue,
    /// hexai: prompts, one in each line of a file.
    Hexai,
    /// The service that an OpenAPI document describes: prompts that it renders.
    OpenApi,
}

/// The end of the path of a prompt file, after the prompt's name: a suffix such as `.md`, or a file in a folder of that
/// name, such as `/SKILL.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileName {
    /// With its `.` or `/`.
    pub end: &'static str,
    /// How such a file is read.
    pub format: Format,
}

impl FileName {
    /// The end in every spelling, in byte order: letter case makes no difference in `md`. Where file names ignore it, one
    /// spelling finds all.
    pub fn spellings(self) -> impl Iterator<Item = String> {
        let start = self.end.strip_suffix("md").filter(|_| !self.is_in_folder());
        let spelled: &[&str] =
            if cfg!(any(windows, target_os = "macos")) { &["md"] } else { &["MD", "Md", "mD", "md"] };
        let as_it_is = start.is_none().then(|| self.end.to_owned());
        let of_suffix = start.into_iter().flat_map(move |start| spelled.iter().map(move |md| format!("{start}{md}")));
        as_it_is.into_iter().chain(of_suffix)
    }

    /// Whether the prompt is a folder, and this is the file in it that has its text.
    pub fn is_in_folder(self) -> bool {
        self.end.starts_with('/')
    }
}

const fn file_name(end: &'static str, format: Format) -> FileName {
    FileName { end, format }
}

/// Suffixes of files for other purposes, in the folders of any system; and what such a file is.
const NO_PROMPTS: [(&str, &str); 2] = [
    (".instructions.md", "instructions that VS Code adds to a chat by itself"),
    (".agent.md", "the definition of an agent"),
];

impl System {
    /// Those whose folders or files `--prompts` names.
    pub const ALL: [System; 12] = [
        System::PromptExpander,
        System::ClaudeCode,
        System::Skills,
        System::Codex,
        System::Gemini,
        System::OpenCode,
        System::VsCode,
        System::Cursor,
        System::Fabric,
        System::Llm,
        System::Continue,
        System::Hexai,
    ];

    /// The word for it, in `--prompts FORMAT:DIR` and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            System::PromptExpander => "prompt-expander",
            System::ClaudeCode => "claude",
            System::Skills => "skills",
            System::Codex => "codex",
            System::Gemini => "gemini",
            System::OpenCode => "opencode",
            System::VsCode => "vscode",
            System::Cursor => "cursor",
            System::Fabric => "fabric",
            System::Llm => "llm",
            System::Continue => "continue",
            System::Hexai => "hexai",
            System::OpenApi => "openapi",
        }
    }

    /// What it is called in a text.
    pub fn title(self) -> &'static str {
        match self {
            System::PromptExpander => "prompt-expander",
            System::ClaudeCode => "Claude Code",
            System::Skills => "Agent Skills",
            System::Codex => "Codex",
            System::Gemini => "Gemini CLI",
            System::OpenCode => "opencode",
            System::VsCode => "VS Code",
            System::Cursor => "Cursor",
            System::Fabric => "fabric",
            System::Llm => "llm",
            System::Continue => "Continue",
            System::Hexai => "hexai",
            System::OpenApi => "OpenAPI",
        }
    }

    /// The system with this [name](System::name).
    pub fn named(name: &str) -> Option<System> {
        System::ALL.into_iter().chain([System::OpenApi]).find(|system| system.name() == name)
    }

    /// The system and the path in `FORMAT:DIR`, as `--prompts` takes it; `None` if the text is a path alone, such as `C:\\x`.
    pub fn of_option(text: &str) -> (Option<System>, &str) {
        match text.split_once(':').map(|(name, path)| (System::named(name), path)) {
            Some((Some(system), path)) if System::ALL.contains(&system) => (Some(system), path),
            _ => (None, text),
        }
    }

    /// The system whose prompts a folder holds, by the end of its path. Nothing is read.
    pub fn of_folder(path: &Path) -> System {
        const FOLDERS: [(&str, System); 17] = [
            (".claude/commands", System::ClaudeCode),
            (".claude/skills", System::Skills),
            (".agents/skills", System::Skills),
            (".codex/skills", System::Skills),
            (".codex/prompts", System::Codex),
            (".gemini/commands", System::Gemini),
            (".opencode/command", System::OpenCode),
            (".opencode/commands", System::OpenCode),
            ("opencode/command", System::OpenCode),
            ("opencode/commands", System::OpenCode),
            (".github/prompts", System::VsCode),
            (".cursor/commands", System::Cursor),
            ("fabric/patterns", System::Fabric),
            ("fabric/data/patterns", System::Fabric),
            ("io.datasette.llm/templates", System::Llm),
            (".continue/prompts", System::Continue),
            ("hexai/prompts", System::Hexai),
        ];
        let known = FOLDERS.iter().find(|(end, _)| path.ends_with(end));
        known.map_or(System::PromptExpander, |(_, system)| *system)
    }

    /// Which files of such a folder are prompts, in byte order, in which the first one of a name wins. Where the ends of
    /// several fit, as `.md` and `.prompt.md` do, the longest counts. hexai's have many prompts each; see
    /// [`hexai_prompts`](super::hexai_prompts).
    pub fn files(self) -> &'static [FileName] {
        match self {
            System::PromptExpander => {
                const {
                    &[
                        file_name(".md", Format::Markdown),
                        file_name(".prompt.md", Format::VsCodePrompt),
                        file_name(".toml", Format::GeminiToml),
                        file_name("/SKILL.md", Format::Skill),
                        file_name("/system.md", Format::FabricPattern),
                    ]
                }
            }
            System::ClaudeCode => {
                const { &[file_name(".md", Format::ClaudeCommand), file_name("/SKILL.md", Format::Skill)] }
            }
            System::Skills => const { &[file_name("/SKILL.md", Format::Skill)] },
            System::Codex => const { &[file_name(".md", Format::CodexPrompt)] },
            System::Gemini => const { &[file_name(".toml", Format::GeminiToml)] },
            System::OpenCode => const { &[file_name(".md", Format::OpenCodeCommand)] },
            System::VsCode => const { &[file_name(".prompt.md", Format::VsCodePrompt)] },
            System::Cursor => const { &[file_name(".md", Format::CursorCommand)] },
            System::Fabric => const { &[file_name("/system.md", Format::FabricPattern)] },
            System::Llm => const { &[file_name(".yaml", Format::LlmTemplate)] },
            System::Continue => {
                const { &[file_name(".md", Format::ContinuePrompt), file_name(".prompt", Format::ContinuePrompt)] }
            }
            System::Hexai | System::OpenApi => &[],
        }
    }

    /// The name of the prompt in a file, and how it is read. `path` is below the folder, `/`-separated. `None` if the file
    /// is not a prompt, such as a [partial](is_partial). Letter case makes no difference in the suffix `.md`.
    pub fn prompt_file(self, path: &str) -> Option<(&str, FileName)> {
        let is_partial = self == System::PromptExpander && is_partial(path);
        if is_partial || System::other_purpose(path).is_some() {
            return None;
        }
        let fitting = self.files().iter().filter_map(|file| Some((without(path, file.end)?, *file)));
        fitting.max_by_key(|(_, file)| file.end.len())
    }

    /// The suffix of a file for another purpose, such as `.instructions.md`, and what such a file is.
    pub fn other_purpose(path: &str) -> Option<(&'static str, &'static str)> {
        NO_PROMPTS.into_iter().find(|(end, _)| without(path, end).is_some())
    }

    /// Whether the files in subfolders are prompts too.
    pub fn is_recursive(self) -> bool {
        self != System::Codex
    }
}

/// Whether a file of this program's own folders is only there to be included: its name, or that of a folder that it is in, begins
/// with `_`. `path` is below the prompts folder, `/`-separated.
pub fn is_partial(path: &str) -> bool {
    path.split('/').any(|segment| segment.starts_with('_'))
}

/// A path without the end of a file's name. Letter case makes no difference in `md`.
fn without<'p>(path: &'p str, end: &str) -> Option<&'p str> {
    let at = path.len().checked_sub(end.len()).filter(|at| *at > 0 && path.is_char_boundary(*at))?;
    let (name, found) = path.split_at(at);
    let fits = match end.strip_suffix("md").filter(|start| !start.starts_with('/')) {
        Some(start) => found.strip_prefix(start).is_some_and(|found| found.eq_ignore_ascii_case("md")),
        None => found == end,
    };
    (fits && !name.ends_with('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_says_which_system_a_folder_is() {
        for (path, system) in [
            ("/h/.claude/commands", System::ClaudeCode),
            ("/h/.claude/skills/", System::Skills),
            ("/h/.codex/prompts", System::Codex),
            ("/h/.gemini/commands", System::Gemini),
            ("/p/.opencode/command", System::OpenCode),
            ("/h/.config/opencode/commands", System::OpenCode),
            ("/p/.github/prompts", System::VsCode),
            (".cursor/commands", System::Cursor),
            ("/h/.config/fabric/patterns", System::Fabric),
            ("/h/prompts", System::PromptExpander),
            ("/h/claude/commands", System::PromptExpander),
            ("/p/.prompts", System::PromptExpander),
        ] {
            assert_eq!(System::of_folder(Path::new(path)), system, "{path}");
        }
        for system in System::ALL {
            assert_eq!(System::named(system.name()), Some(system));
        }
        assert_eq!(System::named("C"), None);
        assert_eq!(System::of_option("claude:/x:y"), (Some(System::ClaudeCode), "/x:y"));
        assert_eq!(System::of_option("C:\\prompts"), (None, "C:\\prompts"));
        assert_eq!(System::of_option("/x"), (None, "/x"));
    }

    #[test]
    fn every_spelling_of_an_end_is_read_and_they_are_in_byte_order() {
        for system in System::ALL {
            let ends: Vec<String> = system.files().iter().flat_map(|file| file.spellings()).collect();
            assert!(ends.is_sorted(), "{ends:?}");
            for end in ends {
                assert_eq!(system.prompt_file(&format!("a/x{end}")).unwrap().0, "a/x");
            }
        }
    }

    #[test]
    fn the_name_is_the_path_without_the_end_that_marks_a_prompt() {
        let check = |system: System, path: &str, want: Option<(&str, Format)>| {
            let found = system.prompt_file(path).map(|(name, file)| (name, file.format));
            assert_eq!(found, want, "{} {path}", system.name());
        };
        let ours = System::PromptExpander;
        check(ours, "git/commit.md", Some(("git/commit", Format::Markdown)));
        check(ours, "x.MD", Some(("x", Format::Markdown)));
        check(ours, "x.TOML", None);
        check(ours, "x.prompt.md", Some(("x", Format::VsCodePrompt)));
        check(ours, "x.toml", Some(("x", Format::GeminiToml)));
        check(ours, "pdf/SKILL.md", Some(("pdf", Format::Skill)));
        check(ours, "SKILL.md", Some(("SKILL", Format::Markdown)));
        check(ours, "extract_wisdom/system.md", Some(("extract_wisdom", Format::FabricPattern)));
        check(System::ClaudeCode, "git/system.md", Some(("git/system", Format::ClaudeCommand)));
        check(System::Skills, "pdf/reference.md", None);
        check(System::VsCode, "notes.md", None);
        check(System::Llm, "short.yaml", Some(("short", Format::LlmTemplate)));
        for none in ["a.instructions.md", "a.agent.md", ".md", "a/.md", "a.test.txt", "a.yaml", "a/user.txt", "é"] {
            check(ours, none, None);
        }
    }
}
