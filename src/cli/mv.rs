//! `prompt-expander mv`: renames a prompt file.

use super::output::{self, full_path};
use super::source::PromptSource;
use super::{completions, new, path, rm};
use crate::prompt::Name;
use crate::wording::named;
use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander mv standup team/standup
  prompt-expander mv --project deploy release";

#[derive(Debug, Args)]
pub(super) struct Mv {
    /// The prompt's present name, spelled exactly
    #[arg(add = ArgValueCompleter::new(completions::own_names))]
    old: String,
    /// Its new name: `standup`, `git/commit`
    new: String,
    /// Print one JSON object: the paths `from` and `to`, and `tests` of its test file, if it has one
    #[arg(long)]
    json: bool,
}

impl Mv {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings();
        let view = library.view();
        let file = rm::own_file(&library, &view, source.project, &self.old, "renamed")?;
        let name = Name::for_new_file(&self.new).map_err(|why| anyhow!(why))?;
        let name = view.stored_spelling(name);
        let (to, tests) = file.rename(&name)?;
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
