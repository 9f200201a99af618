//! Commands and skills of Claude Code: Markdown in which `$ARGUMENTS` is the whole text, and `$name` is a word of it if the
//! frontmatter names it in `arguments`.

use super::markdown;
use crate::prompt::{Diagnostic, Format, Name, Prompt};

/// Reads the text of a command, or of a skill.
///
/// # Errors
/// Those of the frontmatter; or it is a skill without text.
pub(super) fn parse(format: Format, name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let source = markdown::read(format, text)?;
    if format == Format::Skill && source.body.is_empty() {
        return Err(Diagnostic::error(None, "the skill has no text", "write its instructions below the frontmatter"));
    }
    Ok(source.into_prompt(format, name))
}
