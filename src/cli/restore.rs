//! `prompt-expander restore`: restores an earlier version of a prompt.

use super::history::{editor_for, revision};
use super::output::{self, Reporter};
use super::path;
use super::source_options::PromptSource;
use crate::library::{Authorship, Editor, Found, Library, current_version};
use crate::prompt::{Diagnostic, Revision};
use crate::wording::in_backticks;
use anyhow::Context;
use clap::Args;
use serde_json::json;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander restore standup            undo the last change, or the deletion
  prompt-expander restore standup 3fa2c1d0   write this version again";

#[derive(Debug, Args)]
pub(super) struct Restore {
    /// The name of the prompt, with or without a colon, even if the prompt was deleted
    name: String,
    /// The first characters of the revision to restore; by default, the version before the current
    /// one or, if the prompt was deleted, the deleted version
    revision: Option<String>,
    /// Print one JSON object: `path` and `revision`
    #[arg(long)]
    json: bool,
}

impl Restore {
    /// Restores the chosen version of a prompt. By default, undoes the last change or the deletion.
    /// Prints the path of the prompt if its text has changed.
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let library = source.library_with_warnings(reporter);
        let editor = editor_for(&library, source, &self.name)?;
        let restored = self.restore(&editor)?;
        self.print(&restored)?;
        reporter.warn_all(&restored.warnings);
        reporter.note_if_any(restored.note(&library, source));
        Ok(())
    }

    /// Writes the chosen version to the prompt's file.
    ///
    /// # Errors
    /// Fails if there is no such version, if the prompt has changed in the meantime, or if it can't
    /// be written.
    fn restore(&self, editor: &Editor<'_>) -> anyhow::Result<RestoredPrompt> {
        let name = editor.resolve_name(&self.name)?;
        let versions = editor.history(&name)?;
        let replaced_revision = current_version(&versions).map(|version| version.revision);
        let chosen_revision = match &self.revision {
            Some(typed) => Some(revision(&name, &versions, typed)?),
            None => None,
        };
        let completed_write = editor.restore(
            &name,
            replaced_revision,
            chosen_revision,
            &Authorship::default(),
        )?;
        let found = editor
            .find_in_store(&name)
            .with_context(|| format!("{} was deleted just now", in_backticks(&name)))?;
        Ok(RestoredPrompt {
            found,
            replaced_revision,
            revision: completed_write.revision,
            warnings: completed_write.warnings,
        })
    }

    /// Prints the path of the prompt if its text has changed. With --json, always prints the path
    /// and the revision.
    fn print(&self, restored: &RestoredPrompt) -> anyhow::Result<()> {
        let file = restored.found.location().path();
        if self.json {
            return output::print_json(
                &json!({ "path": file.display().to_string(), "revision": restored.revision }),
            );
        }
        if restored.is_changed() {
            path::print_done("restored", &file)?;
        }
        Ok(())
    }
}

/// A prompt after an earlier version of it was restored.
struct RestoredPrompt {
    found: Found,
    /// The revision before, or `None` if the prompt was deleted.
    replaced_revision: Option<Revision>,
    /// The revision that the prompt has now.
    revision: Revision,
    /// The problems of the restored text.
    warnings: Vec<Diagnostic>,
}

impl RestoredPrompt {
    /// Returns whether the prompt has another text than before. It doesn't if the user chose the
    /// current version, or an older one with the same text.
    fn is_changed(&self) -> bool {
        self.replaced_revision != Some(self.revision)
    }

    /// Returns a note on how to undo the change or, if the prompt was deleted, how to use it.
    fn note(&self, library: &Library, source: &PromptSource) -> Option<String> {
        let name = &self.found.name;
        let Some(replaced_revision) = self.replaced_revision else {
            return use_note(library, &self.found);
        };
        if !self.is_changed() {
            return Some(format!(
                "{} has this text already; nothing is changed",
                in_backticks(name)
            ));
        }
        Some(format!(
            "`prompt-expander restore {name} {}{}` undoes this",
            replaced_revision.short(),
            source.project_option()
        ))
    }
}

/// Returns a note on how to use a prompt that was deleted before. Returns `None` if another prompt
/// overrides it.
fn use_note(library: &Library, restored: &Found) -> Option<String> {
    if !is_used(library, restored) {
        return None;
    }
    Some(format!("type `:{} …` in a chat", restored.name))
}

/// Returns whether no other prompt overrides this one, so that its name in a chat refers to it.
fn is_used(library: &Library, prompt: &Found) -> bool {
    let found = library.view().get(&prompt.name);
    found.is_some_and(|found| found.location() == prompt.location())
}
