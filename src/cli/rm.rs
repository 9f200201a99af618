//! `prompt-expander rm`: removes prompt files.

use super::history::editor_for;
use super::output::{self, Reporter, full_path};
use super::path;
use super::source_options::PromptSource;
use crate::library::{Authorship, Editor, Found, Layer, Library, View};
use crate::prompt::Name;
use crate::wording::{count, in_backticks};
use anyhow::Context;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander rm standup
  prompt-expander rm --yes old/one old/two
  prompt-expander rm --project git/commit";

#[derive(Debug, Args)]
pub(super) struct Rm {
    /// The exact names of the prompts: `standup`, `git/commit`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Remove the files without asking
    #[arg(long)]
    yes: bool,
    /// Print one JSON object: `removed`, a list of paths
    #[arg(long)]
    json: bool,
}

impl Rm {
    /// Removes the prompts once the user has confirmed, and prints the paths of the removed files.
    /// Stops at the first error.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings(reporter);
        let prompts = self.prompts(&library, source)?;
        let mut removed = Vec::new();
        let mut result = Ok(());
        if self.yes || prompt_user_to_remove(&prompts, reporter)? {
            result = remove_all(&prompts, &mut removed, reporter);
        } else {
            reporter.note("nothing is removed");
        }
        // Even if one prompt couldn't be removed, the ones before it were.
        self.print(&removed)?;
        result.map(|()| ExitCode::SUCCESS)
    }

    /// Finds the prompts to remove. Ignores duplicates.
    fn prompts<'l>(
        &self,
        library: &'l Library,
        source: &PromptSource,
    ) -> anyhow::Result<Vec<OwnPrompt<'l>>> {
        let mut prompts: Vec<OwnPrompt<'l>> = Vec::new();
        for typed in &self.names {
            let editor = editor_for(library, source, typed)?;
            let found = own(&editor, typed)?;
            if prompts.iter().all(|other| other.found.name != found.name) {
                prompts.push(OwnPrompt { editor, found });
            }
        }
        Ok(prompts)
    }

    fn print(&self, removed: &[PathBuf]) -> anyhow::Result<()> {
        if self.json {
            let mut paths = Vec::new();
            for path in removed {
                paths.push(path.display().to_string());
            }
            return output::print_json(&json!({ "removed": paths }));
        }
        for path in removed {
            path::print_done("removed", path)?;
        }
        Ok(())
    }
}

/// A prompt to remove, and the editor to remove it with.
struct OwnPrompt<'l> {
    editor: Editor<'l>,
    found: Found,
}

impl OwnPrompt<'_> {
    /// Returns the paths of the prompt and of its test file, if it has one.
    fn paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.found.location().path()];
        if let Some(tests) = self.editor.view().test_file(&self.found) {
            paths.push(tests.path);
        }
        paths
    }

    /// Removes the prompt and its test file, and appends their paths to `removed`. The text of the
    /// prompt is kept in the history.
    ///
    /// Keeps the test file if another prompt in the store takes over the name.
    fn remove(&self, removed: &mut Vec<PathBuf>, reporter: &Reporter) -> anyhow::Result<()> {
        let OwnPrompt { editor, found } = self;
        let name = &found.name;
        let revision = found.info().revision.with_context(|| {
            format!("{} cannot be read; delete it yourself", in_backticks(name))
        })?;
        let tests = editor.view().test_file(found);
        editor.delete(name, revision, &Authorship::default())?;
        removed.push(found.location().path());
        let has_successor = editor.find_in_store(name).is_some();
        if !has_successor {
            let mut restored = "it back";
            if let Some(tests) = tests {
                editor.delete_tests(name, &tests)?;
                removed.push(tests.path);
                restored = "the prompt back, not its test file";
            }
            reporter.note(&format!(
                "`prompt-expander restore {name}{}` brings {restored}",
                project_option(found)
            ));
        }
        note_what_is_used_now(editor.view(), name, reporter);
        Ok(())
    }
}

fn remove_all(
    prompts: &[OwnPrompt<'_>],
    removed: &mut Vec<PathBuf>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    for prompt in prompts {
        prompt.remove(removed, reporter)?;
    }
    Ok(())
}

/// Lists the files, and asks whether to remove them. Returns whether the user agreed.
fn prompt_user_to_remove(prompts: &[OwnPrompt<'_>], reporter: &Reporter) -> anyhow::Result<bool> {
    let mut files = Vec::new();
    for prompt in prompts {
        files.extend(prompt.paths().iter().map(|path| full_path(path)));
    }
    let question = format!(
        "{}\nRemove {}? (`restore` brings prompts back)",
        files.join("\n"),
        count(files.len(), "file")
    );
    reporter.confirm(&question, &format!("remove {}", files.join(", ")))
}

/// Returns the command that removes a prompt.
pub(super) fn command(found: &Found) -> String {
    format!("prompt-expander rm {}{}", found.name, project_option(found))
}

/// Returns the option that commands need to modify this prompt.
fn project_option(found: &Found) -> &'static str {
    if found.layer == Layer::PROJECT {
        " --project"
    } else {
        ""
    }
}

/// Returns the prompt with exactly this name in the editor's store.
pub(super) fn own(editor: &Editor<'_>, typed: &str) -> anyhow::Result<Found> {
    let name = editor.resolve_name(typed)?;
    editor.find_in_store(&name).with_context(|| {
        format!(
            "{} was deleted; `prompt-expander restore {name}` brings it back",
            in_backticks(&name)
        )
    })
}

/// After a prompt was removed or renamed, prints a note if another prompt has its old name now.
pub(super) fn note_what_is_used_now(view: &View, name: &Name, reporter: &Reporter) {
    if let Some(found) = view.get(name) {
        reporter.note(&format!("`:{name}` is now {}", path::location(&found)));
    }
}
