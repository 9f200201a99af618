//! Prompt files of VS Code: Markdown in which `${input:name:hint}` asks for a value. VS Code leaves that to the model; here it is
//! an optional argument, and stays as written without a value. `${file}`, `${selection}` and the like always stay.

use super::markdown;
use crate::prompt::{Argument, Diagnostic, Format, Name, Prompt};

/// Reads the text of a prompt file.
///
/// # Errors
/// Those of the frontmatter.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let format = Format::VsCodePrompt;
    let mut source = markdown::read(format, text)?;
    let arguments = source.body.split("${input:").skip(1).filter_map(|rest| {
        let (name, hint) = match rest.split_once('}')?.0.split_once(':') {
            Some((name, hint)) => (name, Some(hint)),
            None => (rest.split_once('}')?.0, None),
        };
        let description = hint.map(str::trim).filter(|hint| !hint.is_empty()).map(str::to_owned);
        Some(Argument { name: name.to_owned(), description, ..Argument::default() })
    });
    let arguments = arguments.collect();
    source.declare(format, arguments)?;
    Ok(source.into_prompt(format, name))
}
