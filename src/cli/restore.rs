//! `prompt-expander restore`: writes an earlier version of a prompt again.

use super::history::{editor_for, revision};
use super::output::Reporter;
use super::source::PromptSource;
use super::{output, path};
use crate::library::Authorship;
use crate::wording::named;
use anyhow::Context;
use clap::Args;
use serde_json::json;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander restore standup            undo the last change, or the deletion
  prompt-expander restore standup 3fa2c1d0   write this version again";

#[derive(Debug, Args)]
pub(super) struct Restore {
    /// The prompt's name, with or without a colon; it may have been deleted
    name: String,
    /// The version, by the first characters of its revision; by default, the one before the current
    /// one or, of a deleted prompt, the one that was deleted
    revision: Option<String>,
    /// Print one JSON object: `path` and `revision`
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let library = source.library_with_warnings(reporter);
        let editor = editor_for(&library, source.project, &self.name)?;
        let name = editor.resolve(&self.name)?;
        let versions = editor.history(&name)?;
        let current = versions
            .first()
            .filter(|first| first.is_current)
            .map(|first| first.revision);
        let to = self
            .revision
            .map(|typed| revision(&versions, &typed))
            .transpose()?;
        let written = editor.restore(&name, current, to, &Authorship::default())?;
        let restored = editor
            .in_store(&name)
            .with_context(|| format!("{} was deleted just now", named(&name)))?;
        let file = restored.place().path();
        if self.json {
            output::print_json(
                &json!({ "path": file.display().to_string(), "revision": written.revision }),
            )?;
        } else if current != Some(written.revision) {
            path::print("restored ", &file)?;
        }
        reporter.warn_all(&written.warnings);
        let is_used = library
            .view()
            .get(&name)
            .is_some_and(|found| found.place() == restored.place());
        match current {
            Some(current) if current == written.revision => {
                reporter.note(&format!(
                    "{} has this text already; nothing is changed",
                    named(&name)
                ));
            }
            Some(current) => {
                let (revision, option) = (current.short(), source.project_option());
                reporter.note(&format!(
                    "`prompt-expander restore {name} {revision}{option}` undoes this"
                ));
            }
            None if is_used => reporter.note(&format!("type `:{name} …` in a chat")),
            None => {}
        }
        Ok(())
    }
}
