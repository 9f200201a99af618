//! `prompt-expander edit`: opens a prompt in the user's editor.

use super::output::{self, shown};
use super::{completions, editor};
use crate::library::{FileState, Library, Location, Lookup, Unknown, create, delete_if_unchanged};
use crate::prompt::{Name, Severity};
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Example:
  EDITOR='code -w' prompt-expander edit research";

#[derive(Debug, Args)]
pub(super) struct Edit {
    /// The prompt's name, with or without a colon: `research`, `:git/commit`
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: String,
}

impl Edit {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let view = library.view();
        let prompt = match view.find(&self.name) {
            Lookup::Found(prompt) => prompt,
            // A broken file needs an editor most.
            Lookup::Broken(problem) if view.is_editable(&problem.path) => return edit_file(library, &problem.path),
            Lookup::Broken(problem) => bail!("{problem}"),
            Lookup::Unknown { why, skipped } => {
                for problem in skipped {
                    output::warning(&problem.to_string());
                }
                return Err(refusal(&why));
            }
        };
        match view.locate(&prompt.name) {
            Some((_, Location::File(file))) => edit_file(library, &file),
            Some((_, Location::Builtin)) => edit_copy(library, &prompt.name),
            None => bail!("{} was deleted just now; run the command again", named(&prompt.name)),
        }
    }
}

fn edit_file(library: &Library, file: &Path) -> anyhow::Result<ExitCode> {
    let ended = editor::open(file)?;
    let checked = check(library, file);
    ended.check().map_err(|why| anyhow!("{why}; {} may have been changed by the editor", shown(file)))?;
    Ok(checked)
}

/// Opens a copy of a built-in prompt in the user's folder. The copy is deleted if it was not changed; otherwise it would
/// override the prompts of later versions of the program.
fn edit_copy(library: &Library, name: &Name) -> anyhow::Result<ExitCode> {
    let builtin = library
        .view()
        .raw(name)
        .context("the prompt was deleted just now; run the command again")?
        .map_err(|problem| anyhow!("{problem}"))?;
    let file = create(directory(library, "--prompts")?, name, &builtin)?;
    let ended = editor::open(&file).and_then(|ended| ended.check().map_err(|why| anyhow!(why)));
    let still_used = format!("the built-in {} stays in use", named(name));
    let is_unchanged =
        delete_if_unchanged(&file, &builtin).with_context(|| format!("the copy {} cannot be deleted", shown(&file)))?;
    if is_unchanged {
        ended?;
        output::note(&format!(
            "nothing was changed, and {still_used}; an editor with a window of its own needs an option that makes it wait \
             until the file is closed, such as `code --wait`"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if FileState::of(&file) == FileState::Deleted {
        ended?;
        output::note(&format!("the copy was deleted, and {still_used}"));
        return Ok(ExitCode::SUCCESS);
    }
    let built_in = named(name);
    output::note(&format!(
        "{} overrides the built-in {built_in}; delete the file to restore the built-in prompt",
        shown(&file)
    ));
    let checked = check(library, &file);
    ended?;
    Ok(checked)
}

fn refusal(why: &Unknown) -> anyhow::Error {
    match why {
        Unknown::NoSuchPrompt { command, .. } => match Name::for_new_file(command) {
            Ok(name) => anyhow!("{why} (`prompt-expander new {name}` makes a new one)"),
            Err(_) => anyhow!("{why} (`prompt-expander list` shows all prompts)"),
        },
        Unknown::WithText { name, .. } => anyhow!("{why}: `prompt-expander edit {name}`"),
        _ => anyhow!("{why} (`prompt-expander list` shows all prompts)"),
    }
}

/// The user's folder for new files; the error names the option that chooses another.
pub(super) fn directory<'l>(library: &'l Library, option: &str) -> anyhow::Result<&'l Path> {
    library.folder_for_new_prompts().with_context(|| {
        format!("the folder of your own prompts is unknown, because your home directory is; choose a folder with {option} DIR")
    })
}

/// Prints what `check` finds in a file, or that the file is gone; returns the exit status of `check`.
pub(super) fn check(library: &Library, file: &Path) -> ExitCode {
    match FileState::of(file) {
        FileState::Deleted => output::warning(&format!("{} was deleted", shown(file))),
        FileState::Folder => output::warning(&format!("{} is a folder now", shown(file))),
        FileState::Exists => {}
    }
    let problems = library.view().problems_of(file);
    output::report(&problems);
    let has_errors = problems.iter().any(|problem| problem.diagnostic.severity == Severity::Error);
    if has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
