//! `prompt-expander mv`: renames a prompt file.

use super::history::editor_for;
use super::output::{self, full_path};
use super::source::PromptSource;
use super::{completions, edit, new, path, rm};
use crate::prompt::Name;
use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander mv standup team/standup
  prompt-expander mv --project deploy release";

#[derive(Debug, Args)]
pub(super) struct Mv {
    /// The prompt's current name, spelled exactly
    #[arg(add = ArgValueCompleter::new(completions::names))]
    old: String,
    /// Its new name: `standup`, `git/commit`
    new: String,
    /// Print one JSON object: the paths `from` and `to`, and `tests` of its test file, if it has
    /// one
    #[arg(long)]
    json: bool,
}

impl Mv {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<()> {
        let library = source.library_with_warnings();
        let editor = editor_for(&library, source.project, &self.old)?;
        let found = rm::own(&editor, &self.old)?;
        let (from, tests) = (found.place().path(), editor.view().test_file(&found));
        let name = Name::for_new_file(&self.new).map_err(|why| anyhow!(why))?;
        let name = editor.view().stored_spelling(name);
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
                output::note(&format!("its test file is now {}", full_path(tests)));
            }
        }
        edit::say(&renamed.check()); // a relative path in it may be broken now
        rm::note_what_is_used_now(editor.view(), &found.name);
        new::warn_of_the_same_name(&library, &name, &to);
        Ok(())
    }
}
