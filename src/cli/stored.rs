//! Prompts in a database or on a team's server, and in no folder of this machine: commands write
//! them as texts.

use super::output::{Reporter, full_path};
use super::text_editor;
use crate::library::{Authorship, Editor};
use crate::prompt::{Diagnostic, Name, Revision};
use anyhow::bail;
use std::path::PathBuf;

/// A new text of a prompt.
#[derive(Clone, Copy)]
pub(super) struct NewText<'t> {
    pub(super) name: &'t Name,
    /// The revision that the text replaces; `None` for a new prompt.
    pub(super) expected: Option<Revision>,
    pub(super) text: &'t str,
}

/// Writes the new text of a prompt to its store, prints the warnings about the text, and returns
/// the path that stands for the prompt there.
///
/// # Errors
/// The store does not take the text, or somebody else has changed the prompt since its expected
/// revision.
pub(super) fn write(
    editor: &Editor<'_>,
    new: NewText<'_>,
    reporter: &Reporter,
) -> Result<PathBuf, Diagnostic> {
    let authorship = Authorship::default();
    let change = match new.expected {
        Some(expected) => editor.update(new.name, expected, new.text, &authorship)?,
        None => editor.create(new.name, new.text, &authorship)?,
    };
    reporter.warn_all(change.warnings);
    let prompt = editor.find_in_store(new.name);
    Ok(prompt
        .map(|found| found.location().path())
        .unwrap_or_default())
}

/// Opens the text of a prompt in the user's editor, then writes what the user has made of it.
/// Returns the path that stands for the prompt in its store; `None` if the user has changed
/// nothing.
///
/// # Errors
/// The editor fails, or the text cannot be written. The text stays in a file that the error names.
pub(super) fn edit(
    editor: &Editor<'_>,
    new: NewText<'_>,
    reporter: &Reporter,
) -> anyhow::Result<Option<PathBuf>> {
    let edited = text_editor::edit_text(new.text, reporter)?;
    if edited.text == new.text {
        reporter.note(&format!("nothing was changed; {}", text_editor::WAIT_HINT));
        return Ok(None);
    }
    let text = &edited.text;
    match write(editor, NewText { text, ..new }, reporter) {
        Ok(path) => Ok(Some(path)),
        Err(diagnostic) => {
            let file = edited.file.keep()?;
            bail!("{diagnostic}; your text is in {}", full_path(&file))
        }
    }
}
