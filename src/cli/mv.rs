//! `prompt-expander mv`: renames a prompt file.

use super::history::editor_for;
use super::output::{self, Reporter, full_path};
use super::source::PromptSource;
use super::{edit, new, path, rm};
use crate::library::Editor;
use crate::prompt::Name;
use crate::wording::named;
use anyhow::anyhow;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander mv standup team/standup
  prompt-expander mv --project deploy release";

#[derive(Debug, Args)]
pub(super) struct Mv {
    /// The prompt's current name, spelled exactly
    old: String,
    /// Its new name: `standup`, `git/commit`
    new: String,
    /// Rename it without asking, even if that breaks an attachment or an include
    #[arg(long)]
    yes: bool,
    /// Print one JSON object: the paths `from` and `to`, and `tests` of its test file, if it has
    /// one
    #[arg(long)]
    json: bool,
}

impl Mv {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings(reporter);
        let editor = editor_for(&library, source.project, &self.old)?;
        let found = rm::own(&editor, &self.old)?;
        let (from, tests) = (found.place().path(), editor.view().test_file(&found));
        let name = Name::for_new_file(&self.new).map_err(|why| anyhow!(why))?;
        let name = editor.view().stored_spelling(name);
        let before = found.check();
        let broken = editor.broken_by_rename(&found, &name);
        reporter.warn_all(&broken);
        if !broken.is_empty() && !self.yes && !is_confirmed(&found.name, &name, reporter)? {
            reporter.note("nothing is renamed");
            return Ok(ExitCode::SUCCESS);
        }
        let renamed = editor.rename(&found, &name)?;
        let to = renamed.place().path();
        let tests = tests
            .and_then(|_| editor.view().test_file(&renamed))
            .map(|tests| tests.path);
        if self.json {
            let [from, to] = [&from, &to].map(|path| path.display().to_string());
            let mut renamed = json!({ "from": from, "to": to });
            if let Some(tests) = &tests {
                renamed["tests"] = tests.display().to_string().into();
            }
            output::print_json(&renamed)?;
        } else {
            path::print("renamed to ", &to)?;
            if let Some(tests) = &tests {
                reporter.note(&format!("its test file is now {}", full_path(tests)));
            }
        }
        let problems = renamed.check();
        if broken.is_empty() {
            edit::say(&problems, reporter); // else they were shown before
        }
        rm::note_what_is_used_now(editor.view(), &found.name, reporter);
        new::warn_of_the_same_name(&library, &name, &to, reporter);
        let is_broken = !broken.is_empty() || !Editor::new_errors(&before, problems).is_empty();
        Ok(if is_broken {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// Asks whether to rename a prompt although that breaks attachments or includes.
fn is_confirmed(from: &Name, to: &Name, reporter: &Reporter) -> anyhow::Result<bool> {
    let question = format!("Rename {} to {} anyway?", named(from), named(to));
    reporter.confirm(&question, &format!("rename {}", named(from)))
}
