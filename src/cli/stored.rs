//! Writes prompts that aren't files on this machine, but are in a database or on the team's server.

use super::output::{Reporter, full_path};
use super::text_editor;
use crate::library::{Authorship, Editor, current_version, unified_diff};
use crate::prompt::{Diagnostic, Kind, Name, Revision};
use crate::wording::{in_backticks, printable};
use anyhow::bail;
use std::path::PathBuf;

/// A new version of a prompt.
#[derive(Clone, Copy)]
pub(super) struct NewText<'t> {
    pub(super) name: &'t Name,
    /// The revision that this version replaces; `None` for a new prompt.
    pub(super) expected: Option<Revision>,
    pub(super) text: &'t str,
}

/// Writes a prompt to its store, and prints the store's warnings. Returns the path that identifies
/// the prompt in the store, or an empty path if somebody has deleted it in the meantime.
///
/// # Errors
/// Fails if the store rejects the text, or somebody has changed the prompt since the expected
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

/// Opens the text of a prompt in the user's editor, and writes the edited text to its store.
/// Returns the path that identifies the prompt in the store, or `None` if the user hasn't changed
/// anything.
///
/// # Errors
/// Fails if the editor fails, or the text can't be written. In the latter case, the edited text is
/// kept in a file, whose path is in the error. If somebody else has changed the prompt in the
/// meantime, the error ends with what both have changed.
pub(super) fn edit(
    editor: &Editor<'_>,
    original: NewText<'_>,
    reporter: &Reporter,
) -> anyhow::Result<Option<PathBuf>> {
    let edited = text_editor::edit_text(original.text, reporter)?;
    if edited.text == original.text {
        reporter.note(&format!("nothing was changed; {}", text_editor::WAIT_HINT));
        return Ok(None);
    }
    let new = NewText {
        text: &edited.text,
        ..original
    };
    let error = match write(editor, new, reporter) {
        Ok(path) => return Ok(Some(path)),
        Err(error) => error,
    };
    let kept_file = edited.file.keep()?;
    let file = full_path(&kept_file);
    if !is_changed_by_other(&error) {
        bail!("{error}; your text is in {file}");
    }
    let name = original.name;
    let changes = changes_of_both(editor, new, original.text);
    bail!(
        "{} has changed since you read it, so nothing was written; run `prompt-expander edit {name}` again to put your \
         change into the new text; your text is in {file}{changes}",
        in_backticks(name)
    )
}

/// Returns whether a write failed because somebody else has changed the prompt, but not deleted it.
fn is_changed_by_other(error: &Diagnostic) -> bool {
    let Kind::Conflict { current, .. } = &error.kind else {
        return false;
    };
    current.is_some()
}

/// Returns two diffs from the text that the user has read to that of somebody else, with its author
/// and time, and to the user's own.
fn changes_of_both(editor: &Editor<'_>, own: NewText<'_>, read: &str) -> String {
    let current = editor.find_in_store(own.name);
    let theirs = current
        .and_then(|found| found.text().ok())
        .unwrap_or_default();
    let versions = editor.history(own.name).unwrap_or_default();
    let mut label = "as it is now".to_owned();
    if let Some(version) = current_version(&versions) {
        let author = version.author.as_deref().unwrap_or("somebody");
        let time = version.at.strftime("%Y-%m-%d %H:%M UTC");
        label = format!("{label}, written by {} at {time}", printable(author));
    }
    let before = ("as you read it", read);
    let their_change = unified_diff(before, (&label, &theirs));
    let own_change = unified_diff(before, ("as you have written it", own.text));
    format!("\n\n{their_change}\n{}", own_change.trim_end())
}
