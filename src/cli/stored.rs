//! Prompts that are in no folder of this machine: commands write them as texts.

use super::output::{Reporter, full_path};
use super::{path, text_editor};
use crate::library::{Authorship, Editor};
use crate::prompt::{Name, Revision};
use anyhow::bail;
use std::process::ExitCode;

/// Writes the text of a prompt, after the user has edited it if `is_edited`, and prints where it
/// is. `expected` is `None` for a new one.
///
/// # Errors
/// It cannot be written. What the user has edited stays in a file that the error names.
pub(super) fn write(
    editor: &Editor<'_>,
    (name, expected): (&Name, Option<Revision>),
    original: &str,
    (is_edited, json): (bool, bool),
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    let edited = is_edited
        .then(|| text_editor::edited(original, reporter))
        .transpose()?;
    let text = edited.as_ref().map_or(original, |(text, _)| text);
    let written = match expected {
        _ if is_edited && text == original => {
            reporter.note(&format!("nothing was changed; {}", text_editor::WAIT));
            return Ok(ExitCode::SUCCESS);
        }
        Some(expected) => editor.update(name, expected, text, &Authorship::default()),
        None => editor.create(name, text, &Authorship::default()),
    };
    match (written, edited) {
        (Ok(written), _) => reporter.warn_all(written.warnings),
        (Err(why), Some((_, file))) => {
            bail!(
                "{why}; it is not written, and your text is in {}",
                full_path(&file.keep()?)
            )
        }
        (Err(why), None) => return Err(why.into()),
    }
    let place = editor
        .in_store(name)
        .map(|found| found.place().path())
        .unwrap_or_default();
    path::print_as("path", &place, json)?;
    Ok(ExitCode::SUCCESS)
}
