//! The formats of prompt files.

pub(super) mod claude_command;
mod codex_prompt;
mod continue_prompt;
pub(super) mod draft;
mod fabric_pattern;
mod frontmatter;
pub(super) mod gemini_toml;
pub(super) mod hexai_jsonl;
mod llm_template;
pub(super) mod markdown;
pub(super) mod markdown_editor;
pub(super) mod markdown_writer;
mod messages;
mod vscode_prompt;
pub(crate) mod yaml;

use super::limits::MAX_FILE;
use super::{Diagnostic, IncludeReader, Name, Position, Prompt, System};
pub use hexai_jsonl::hexai_prompts;

/// How a prompt is written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Markdown with an optional YAML frontmatter, and placeholders in braces: this program's own.
    Markdown,
    /// A Markdown command of Claude Code.
    ClaudeCommand,
    /// A `SKILL.md`.
    Skill,
    /// A Markdown prompt of Codex.
    CodexPrompt,
    /// A TOML command of Gemini CLI.
    GeminiToml,
    /// A Markdown command of opencode.
    OpenCodeCommand,
    /// A Markdown prompt file of VS Code.
    VsCodePrompt,
    /// A Markdown command of Cursor.
    CursorCommand,
    /// A `system.md` of fabric.
    FabricPattern,
    /// A YAML template of llm.
    LlmTemplate,
    /// A prompt of Continue: a body, with or without YAML before it.
    ContinuePrompt,
    /// A line of hexai's JSONL: a JSON object.
    HexaiPrompt,
    /// An operation of an OpenAPI document: a service renders the prompt.
    OpenApiOperation,
}

impl Format {
    /// The program for which a file of this format is written, and which reads it by the rules of the format.
    pub fn system(self) -> System {
        match self {
            Format::Markdown => System::PromptExpander,
            Format::ClaudeCommand | Format::Skill => System::ClaudeCode,
            Format::CodexPrompt => System::Codex,
            Format::GeminiToml => System::Gemini,
            Format::OpenCodeCommand => System::OpenCode,
            Format::VsCodePrompt => System::VsCode,
            Format::CursorCommand => System::Cursor,
            Format::FabricPattern => System::Fabric,
            Format::LlmTemplate => System::Llm,
            Format::ContinuePrompt => System::Continue,
            Format::HexaiPrompt => System::Hexai,
            Format::OpenApiOperation => System::OpenApi,
        }
    }

    /// Reads the whole file of a prompt.
    ///
    /// Mistakes in the frontmatter are read leniently; [`Prompt::warnings`] has them.
    ///
    /// # Errors
    /// The file is not a prompt: longer than [`MAX_FILE`], not UTF-8, or with a frontmatter that is never closed or beyond one
    /// of the [limits](super::limits).
    pub fn parse(self, name: Name, bytes: &[u8]) -> Result<Prompt, Diagnostic> {
        self.parse_with(name, bytes, None)
    }

    /// The same, with the files that it includes. Without a reader, the lines that include a file stay as written.
    ///
    /// # Errors
    /// Those of [`Format::parse`]; a file cannot be included, or a limit is exceeded.
    pub fn parse_with(
        self,
        name: Name,
        bytes: &[u8],
        includes: Option<&mut dyn IncludeReader>,
    ) -> Result<Prompt, Diagnostic> {
        let text = text_of(bytes)?;
        match self {
            Format::Markdown => markdown::parse_with(name, text, includes),
            Format::OpenCodeCommand | Format::CursorCommand => markdown::parse(self, name, text),
            Format::ClaudeCommand | Format::Skill => claude_command::parse(self, name, text),
            Format::CodexPrompt => codex_prompt::parse(name, text),
            Format::GeminiToml => gemini_toml::parse(name, text),
            Format::VsCodePrompt => vscode_prompt::parse(name, text),
            Format::FabricPattern => fabric_pattern::parse(name, text),
            Format::LlmTemplate => llm_template::parse(name, text),
            Format::ContinuePrompt => continue_prompt::parse(name, text),
            Format::HexaiPrompt => hexai_jsonl::parse(name, text),
            Format::OpenApiOperation => {
                let message = "an operation of an OpenAPI document is not a file of its own";
                Err(Diagnostic::error(None, message, "name the document with `--openapi`"))
            }
        }
    }
}

/// The text of a file, without its byte order mark.
///
/// # Errors
/// It is longer than [`MAX_FILE`], or not UTF-8.
pub(super) fn text_of(bytes: &[u8]) -> Result<&str, Diagnostic> {
    if bytes.len() > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The diagnostic for a file of `length` bytes, more than [`MAX_FILE`].
pub fn too_large(length: u64) -> Diagnostic {
    Diagnostic::error(
        None,
        format!("the file is {length} bytes long, the limit for a prompt is {MAX_FILE}"),
        "keep the instructions here, and give the path of the material for the agent to read",
    )
}

/// The diagnostic for a file of which only the first `valid_up_to` bytes are UTF-8.
pub fn not_utf8(bytes: &[u8], valid_up_to: usize) -> Diagnostic {
    let before = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    Diagnostic::error(
        Some(Position::in_text(&before, before.len(), 1)),
        if is_utf16 { "the file is UTF-16, not UTF-8" } else { "the file is not UTF-8 from here on" },
        "save it with the encoding UTF-8",
    )
}

#[cfg(test)]
mod tests;

/// For the tests of the parsers.
#[cfg(test)]
mod testing {
    use super::*;
    use crate::prompt::{Call, Messages};

    #[track_caller]
    pub(super) fn parsed(format: Format, file: &str) -> Prompt {
        format.parse(Name::new("p").unwrap(), file.as_bytes()).unwrap_or_else(|error| panic!("{file:?}: {error}"))
    }

    /// What a file expands to for a text.
    #[track_caller]
    pub(super) fn check(format: Format, file: &str, text: &str, want: &str) {
        let expansion = parsed(format, file).expand(Call::Text(text)).map(Messages::into_text);
        assert_eq!(expansion.map_err(|error| error.to_string()).as_deref(), Ok(want), "{file:?} {text:?}");
    }

    /// Why a file is not a prompt.
    #[track_caller]
    pub(super) fn refused(format: Format, file: &str, want: &str) {
        assert_eq!(shown(&format.parse(Name::new("p").unwrap(), file.as_bytes()).unwrap_err()), want, "{file:?}");
    }

    /// All warnings about a file.
    #[track_caller]
    pub(super) fn warned(format: Format, file: &str, want: &[&str]) {
        assert_eq!(parsed(format, file).warnings().iter().map(shown).collect::<Vec<_>>(), want, "{file:?}");
    }

    pub(super) fn shown(diagnostic: &Diagnostic) -> String {
        match diagnostic.position {
            Some(Position { line, column }) => format!("{line}:{column}: {diagnostic}"),
            None => diagnostic.to_string(),
        }
    }
}
