//! `prompt-expander mv`: renames a prompt file.

use super::output::{self, full_path};
use super::source::PromptSource;
use super::{completions, new, path, rm};
use crate::library::{Caller, Found, Library, OwnFile};
use crate::prompt::{Name, Severity};
use crate::wording::named;
use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::fs;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander mv standup team/standup
  prompt-expander mv --project deploy release";

#[derive(Debug, Args)]
pub(super) struct Mv {
    /// The prompt's present name, spelled exactly
    #[arg(add = ArgValueCompleter::new(completions::names))]
    old: String,
    /// Its new name: `standup`, `git/commit`
    new: String,
    /// Rename it without asking, even if that breaks it
    #[arg(long)]
    yes: bool,
    /// Print one JSON object: the paths `from` and `to`, and `tests` of its test file, if it has one
    #[arg(long)]
    json: bool,
}

impl Mv {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings();
        let file = rm::own_file(&library, source.project, &self.old, "mv")?;
        let name = Name::for_new_file(&self.new).map_err(|why| anyhow!(why))?;
        let name = library.view().stored_spelling(name);
        let broken = broken(&library, source.project, &file, &name);
        broken.iter().for_each(|broken| output::warning(&format!("after that, {broken}")));
        if !broken.is_empty() && !self.yes && !output::confirm("Rename it anyway?", "rename it anyway")? {
            output::note("nothing is renamed");
            return Ok(ExitCode::SUCCESS);
        }
        let (to, tests) = file.rename(&name).map_err(|why| anyhow!("{why}"))?;
        if self.json {
            let [from, to] = [&file.path, &to].map(|path| path.display().to_string());
            let mut renamed = json!({ "from": from, "to": to });
            if let Some(tests) = &tests {
                renamed["tests"] = tests.display().to_string().into();
            }
            output::print_json(&renamed)?;
        } else {
            path::print("renamed to ", &to)?;
            if let Some(tests) = &tests {
                output::note(&format!("its test file is now {}", full_path(tests)));
            }
        }
        match file.rename_history(&name) {
            Ok(true) => {}
            Ok(false) => output::note(&format!(
                "its earlier versions stay under the old name, because {} has a history already",
                named(&name)
            )),
            Err(why) => output::warning(&format!("its earlier versions stay under the old name: {why}")),
        }
        rm::note_what_is_used_now(&library, &file.name);
        if tests.is_none() {
            rm::note_tests_that_stay(&file);
        }
        new::warn_of_the_same_name(&library, &name, &to);
        Ok(ExitCode::SUCCESS)
    }
}

/// What would break: relative attachments and includes of the file, and prompts that include it.
fn broken(library: &Library, project: bool, file: &OwnFile, name: &Name) -> Vec<String> {
    let view = library.view();
    let errors = |name: &Name| {
        let text = fs::read_to_string(&file.path).ok()?;
        let mut problems = library.store(project)?.ok()?.draft(name, &text, &Caller::local()).check();
        problems.retain(|problem| problem.severity() == Severity::Error);
        Some(problems)
    };
    let new = errors(name).filter(|_| errors(&file.name).is_some_and(|now| now.is_empty()));
    let includes = |found: &Found| {
        found.prompt().is_ok_and(|prompt| prompt.included().iter().any(|included| included.path == file.path))
    };
    let others = view.list().found.into_iter().filter(includes);
    let others = others.map(|found| format!("{} would not find what it includes", named(&found.name)));
    new.into_iter().flatten().map(|problem| problem.to_string()).chain(others).collect()
}
