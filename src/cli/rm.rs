//! `prompt-expander rm`: removes prompt files.

use super::history::editor_for;
use super::output::{self, Reporter, full_path};
use super::path;
use super::source::PromptSource;
use crate::library::{Authorship, Editor, Found, View};
use crate::prompt::Name;
use crate::wording::{count, named};
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
    /// The names of the prompts, spelled exactly: `standup`, `git/commit`
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
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings(reporter);
        let mut prompts: Vec<(Editor<'_>, Found)> = Vec::new();
        for typed in &self.names {
            let editor = editor_for(&library, source.project, typed)?;
            let found = own(&editor, typed)?;
            if prompts.iter().all(|(_, other)| other.name != found.name) {
                prompts.push((editor, found));
            }
        }
        let mut removed: Vec<PathBuf> = Vec::new();
        let mut result = Ok(());
        if self.yes || is_confirmed(&prompts, reporter)? {
            result = prompts.iter().try_for_each(|(editor, found)| {
                remove(
                    editor,
                    found,
                    source.project_option(),
                    &mut removed,
                    reporter,
                )
            });
        } else {
            reporter.note("nothing is removed");
        }
        if self.json {
            let paths: Vec<String> = removed
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            output::print_json(&json!({ "removed": paths }))?;
        } else {
            removed
                .iter()
                .try_for_each(|path| path::print("removed ", path))?;
        }
        result.map(|()| ExitCode::SUCCESS)
    }
}

/// Removes a prompt, whose text stays in the history, and its test file unless that belongs to
/// another prompt now. `option` is needed to restore it.
fn remove(
    editor: &Editor<'_>,
    found: &Found,
    option: &str,
    removed: &mut Vec<PathBuf>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let (name, info) = (&found.name, found.info());
    let revision = info
        .revision
        .with_context(|| format!("{} cannot be read; delete it yourself", named(name)))?;
    let tests = editor.view().test_file(found);
    editor.delete(name, revision, &Authorship::default())?;
    removed.push(found.place().path());
    if editor.in_store(name).is_none() {
        let what = if tests.is_some() {
            "the prompt back, not its test file"
        } else {
            "it back"
        };
        reporter.note(&format!(
            "`prompt-expander restore {name}{option}` brings {what}"
        ));
        if let Some(tests) = tests {
            editor.delete_tests(name, &tests)?;
            removed.push(tests.path);
        }
    }
    note_what_is_used_now(editor.view(), name, reporter);
    Ok(())
}

/// The prompt of exactly this name in the folder that is written to.
pub(super) fn own(editor: &Editor<'_>, typed: &str) -> anyhow::Result<Found> {
    let name = editor.resolve(typed)?;
    editor
        .in_store(&name)
        .with_context(|| format!("{} was deleted; `restore` brings it back", named(&name)))
}

/// Says which prompt has a name after its file was removed or renamed, if there is one.
pub(super) fn note_what_is_used_now(view: &View, name: &Name, reporter: &Reporter) {
    if let Some(found) = view.get(name) {
        let place = found
            .place()
            .file
            .map_or(format!("the {} prompt", found.layer.name), |file| {
                full_path(&file)
            });
        reporter.note(&format!("{} now refers to {place}", named(name)));
    }
}

/// Shows the files, and asks at the terminal whether to remove them.
fn is_confirmed(prompts: &[(Editor<'_>, Found)], reporter: &Reporter) -> anyhow::Result<bool> {
    let tests = |(editor, found): &(Editor<'_>, Found)| {
        editor.view().test_file(found).map(|tests| tests.path)
    };
    let files = |prompt: &(Editor<'_>, Found)| [Some(prompt.1.place().path()), tests(prompt)];
    let shown: Vec<String> = prompts
        .iter()
        .flat_map(files)
        .flatten()
        .map(|path| full_path(&path))
        .collect();
    let (files, number) = (shown.join("\n"), count(shown.len(), "file"));
    let question = format!("{files}\nRemove {number}? (`restore` brings prompts back)");
    reporter.confirm(&question, &format!("remove {}", shown.join(", ")))
}
