//! `prompt-expander mv`: renames a prompt file.

use super::history::editor_for;
use super::output::{self, Reporter, full_path};
use super::source_options::PromptSource;
use super::{edit, new, path, rm};
use crate::library::{Editor, Found, TestFile};
use crate::prompt::{Diagnostic, Name};
use crate::wording::in_backticks;
use anyhow::anyhow;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
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
        let new_name = self.new_name(&editor)?;
        let broken_references = editor.broken_by_rename(&found, &new_name);
        reporter.warn_all(&broken_references);
        let breaks_references = !broken_references.is_empty();
        if breaks_references && !self.yes && !confirm_rename(&found.name, &new_name, reporter)? {
            reporter.note("nothing is renamed");
            return Ok(ExitCode::SUCCESS);
        }
        let renamed = RenamedPrompt::rename(&editor, &found, &new_name)?;
        self.print(&renamed, reporter)?;
        if !breaks_references {
            edit::print_problems(&renamed.problems, reporter); // otherwise, they were already shown
        }
        rm::note_what_is_used_now(editor.view(), &found.name, reporter);
        new::warn_of_same_name(&library, &new_name, &renamed.new_path, reporter);
        if breaks_references || renamed.has_new_errors {
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the new name. If a prompt exists under another spelling of it, returns that
    /// prompt's name, so that the renaming fails instead of adding a lookalike.
    fn new_name(&self, editor: &Editor<'_>) -> anyhow::Result<Name> {
        let name = Name::for_new_file(&self.new).map_err(|error| anyhow!(error))?;
        Ok(editor.view().existing_lookalike_or(name))
    }

    /// Prints the new paths of the prompt and its test file or, with --json, also the old path.
    fn print(&self, renamed: &RenamedPrompt, reporter: &Reporter) -> anyhow::Result<()> {
        if self.json {
            let mut paths = json!({
                "from": renamed.old_path.display().to_string(),
                "to": renamed.new_path.display().to_string(),
            });
            if let Some(tests) = &renamed.tests {
                paths["tests"] = tests.path.display().to_string().into();
            }
            return output::print_json(&paths);
        }
        path::print_done("renamed to", &renamed.new_path)?;
        if let Some(tests) = &renamed.tests {
            let file = full_path(&tests.path);
            reporter.note(&format!("its test file is now {file}"));
        }
        Ok(())
    }
}

/// A prompt after it was renamed.
struct RenamedPrompt {
    old_path: PathBuf,
    new_path: PathBuf,
    /// The test file that was renamed with the prompt, if it has one.
    tests: Option<TestFile>,
    /// What `check` says about the prompt under its new name.
    problems: Vec<Diagnostic>,
    /// Whether there are errors among the problems that the prompt didn't have before.
    has_new_errors: bool,
}

impl RenamedPrompt {
    /// Renames a prompt and its test file, and checks the prompt.
    fn rename(
        editor: &Editor<'_>,
        found: &Found,
        new_name: &Name,
    ) -> anyhow::Result<RenamedPrompt> {
        // What the old files contain must be read before they are renamed.
        let had_tests = editor.view().test_file(found).is_some();
        let old_problems = found.check();
        let old_path = found.location().path();
        let renamed = editor.rename(found, new_name)?;
        // A test file at the new name that was there before isn't worth mentioning.
        let mut tests = None;
        if had_tests {
            tests = editor.view().test_file(&renamed);
        }
        let problems = renamed.check();
        let new_errors = Editor::new_errors(&old_problems, problems.clone());
        Ok(RenamedPrompt {
            old_path,
            new_path: renamed.location().path(),
            tests,
            problems,
            has_new_errors: !new_errors.is_empty(),
        })
    }
}

/// Asks whether to rename a prompt even though that breaks attachments or includes. Returns whether
/// the user agreed.
fn confirm_rename(from: &Name, to: &Name, reporter: &Reporter) -> anyhow::Result<bool> {
    let question = format!(
        "Rename {} to {} anyway?",
        in_backticks(from),
        in_backticks(to)
    );
    reporter.confirm(&question, &format!("rename {}", in_backticks(from)))
}
