//! `prompt-expander restore`: restores an earlier version of a prompt.

use super::history::{editor_for, revision};
use super::output::{self, Reporter};
use super::path;
use super::source_options::PromptSource;
use crate::library::{Authorship, Found, Library, current_version};
use crate::prompt::{Name, Revision};
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
        let name = editor.resolve_name(&self.name)?;
        let versions = editor.history(&name)?;
        let current = current_version(&versions).map(|version| version.revision);
        let target = match &self.revision {
            Some(typed) => Some(revision(&name, &versions, typed)?),
            None => None,
        };
        let new_version = editor.restore(&name, current, target, &Authorship::default())?;
        let restored = editor
            .find_in_store(&name)
            .with_context(|| format!("{} was deleted just now", in_backticks(&name)))?;
        // The target may have the same text as the current version.
        let is_changed = current != Some(new_version.revision);
        let file = restored.location().path();
        if self.json {
            output::print_json(
                &json!({ "path": file.display().to_string(), "revision": new_version.revision }),
            )?;
        } else if is_changed {
            path::print_done("restored", &file)?;
        }
        reporter.warn_all(&new_version.warnings);
        reporter.note_if_any(match current {
            Some(_) if !is_changed => Some(format!(
                "{} has this text already; nothing is changed",
                in_backticks(&name)
            )),
            Some(replaced) => Some(undo_note(&name, replaced, source)),
            None => use_note(&library, &restored), // the prompt was deleted, and exists again
        });
        Ok(())
    }
}

/// Returns a note with the command that restores the version that was replaced.
fn undo_note(name: &Name, replaced: Revision, source: &PromptSource) -> String {
    format!(
        "`prompt-expander restore {name} {}{}` undoes this",
        replaced.short(),
        source.project_option()
    )
}

/// Returns a note on how to use a restored prompt, unless another prompt overrides it.
fn use_note(library: &Library, restored: &Found) -> Option<String> {
    let name = &restored.name;
    is_used(library, restored).then(|| format!("type `:{name} …` in a chat"))
}

/// Returns whether no other prompt overrides this one, so that its name in a chat refers to it.
fn is_used(library: &Library, prompt: &Found) -> bool {
    let found = library.view().get(&prompt.name);
    found.is_some_and(|found| found.location() == prompt.location())
}
