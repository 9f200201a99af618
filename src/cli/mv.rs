//! `prompt-expander mv`: renames a prompt file.

use super::source::PromptSource;
use super::{completions, new, output, path, rm};
use crate::prompt::Name;
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
    /// Print one JSON object: the paths `from` and `to`
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
        let to = file.rename(&name)?;
        if self.json {
            let [from, to] = [&file.path, &to].map(|path| path.display().to_string());
            output::print_json(&json!({ "from": from, "to": to }))?;
        } else {
            path::print("renamed to ", &to)?;
        }
        rm::note_what_is_used_now(&library, &file.name);
        new::warn_of_the_same_name(&library, &name, &to);
        Ok(ExitCode::SUCCESS)
    }
}
