//! `prompt-expander mv`: renames a prompt file.

use super::history::editor_for;
use super::output::{self, Reporter, full_path};
use super::source_options::PromptSource;
use super::{edit, new, path, rm};
use crate::library::{Editor, TestFile};
use crate::prompt::Name;
use crate::wording::in_backticks;
use anyhow::anyhow;
use clap::Args;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander mv standup team/standup
  prompt-expander mv --project deploy release";

#[derive(Debug, Args)]
pub(super) struct Mv {
    /// The exact current name of the prompt
    old: String,
    /// The new name of the prompt: `standup`, `git/commit`
    new: String,
    /// Rename the prompt without asking, even if an attachment or an include breaks
    #[arg(long)]
    yes: bool,
    /// Print one JSON object with the paths `from` and `to` and, if the prompt has a test file, its
    /// new path as `tests`
    #[arg(long)]
    json: bool,
}

impl Mv {
    /// Renames the prompt and its test file. If that breaks attachments or includes of other
    /// prompts, warns about them, and asks first. Exits with 1 if anything is broken by the new
    /// name.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings(reporter);
        let editor = editor_for(&library, source, &self.old)?;
        let found = rm::own(&editor, &self.old)?;
        let name = Name::for_new_file(&self.new).map_err(|error| anyhow!(error))?;
        let name = editor.view().existing_lookalike_or(name);
        // What the old files contain must be read before they are renamed.
        let had_tests = editor.view().test_file(&found).is_some();
        let old_problems = found.check();
        let broken_references = editor.broken_by_rename(&found, &name);
        reporter.warn_all(&broken_references);
        let breaks_references = !broken_references.is_empty();
        let may_rename =
            !breaks_references || self.yes || prompt_user_to_rename(&found.name, &name, reporter)?;
        if !may_rename {
            reporter.note("nothing is renamed");
            return Ok(ExitCode::SUCCESS);
        }
        let from = found.location().path();
        let renamed = editor.rename(&found, &name)?;
        // A test file at the new name that was there before isn't worth mentioning.
        let tests = if had_tests {
            editor.view().test_file(&renamed)
        } else {
            None
        };
        self.print(&from, &renamed.location().path(), tests, reporter)?;
        let problems = renamed.check();
        if !breaks_references {
            edit::print_problems(&problems, reporter); // otherwise, they were already shown
        }
        rm::note_what_is_used_now(editor.view(), &found.name, reporter);
        new::warn_of_same_name(&library, &name, &renamed.location().path(), reporter);
        let new_errors = Editor::new_errors(&old_problems, problems);
        if breaks_references || !new_errors.is_empty() {
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the new paths of the prompt and its test file or, with --json, also the old path.
    fn print(
        &self,
        from: &Path,
        to: &Path,
        tests: Option<TestFile>,
        reporter: &Reporter,
    ) -> anyhow::Result<()> {
        if self.json {
            let mut paths = json!({
                "from": from.display().to_string(),
                "to": to.display().to_string(),
            });
            if let Some(tests) = &tests {
                paths["tests"] = tests.path.display().to_string().into();
            }
            return output::print_json(&paths);
        }
        path::print_done("renamed to", to)?;
        if let Some(tests) = &tests {
            let file = full_path(&tests.path);
            reporter.note(&format!("its test file is now {file}"));
        }
        Ok(())
    }
}

/// Asks whether to rename a prompt even though that breaks attachments or includes. Returns whether
/// the user agreed.
fn prompt_user_to_rename(from: &Name, to: &Name, reporter: &Reporter) -> anyhow::Result<bool> {
    let question = format!(
        "Rename {} to {} anyway?",
        in_backticks(from),
        in_backticks(to)
    );
    reporter.confirm(&question, &format!("rename {}", in_backticks(from)))
}
