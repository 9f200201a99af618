//! `prompt-expander edit`: opens a prompt in the user's editor.

use super::output::{self, full_path};
use super::path::{self, Found};
use super::source::PromptSource;
use super::{completions, text_editor};
use crate::library::{FileState, Layer, Library, Location, Problem, create, delete_if};
use crate::prompt::{Name, Severity};
use crate::report;
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  EDITOR='code -w' prompt-expander edit research
  prompt-expander edit --project research   a copy for this project";

#[derive(Debug, Args)]
pub(super) struct Edit {
    /// The prompt's name, with or without a colon: `research`, `:git/commit`
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: String,
}

impl Edit {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let view = library.view();
        let Found { name, layer, location } = path::find(&view, &self.name, "edit")?;
        match location {
            Location::File(file) if !source.project || layer == Layer::Project => {
                // A broken file needs an editor most.
                if !view.is_editable(&file) {
                    bail!(deleted_or_broken(view.raw(&name), &name));
                }
                edit_file(&library, &file)
            }
            Location::Document(document) => bail!(
                "{} is an operation of {}, and a service renders it; to change what is sent, edit that document",
                named(&name),
                full_path(&document)
            ),
            original => {
                let system = view.system(&name).filter(|system| report::format(*system).is_some());
                if let (Some(system), Location::File(file)) = (system, &original) {
                    bail!(
                        "{} is a prompt for {}, and cannot be copied; leave out --project to open {}",
                        named(&name),
                        system.title(),
                        full_path(file)
                    );
                }
                let text = view.raw(&name);
                let Some(Ok(text)) = text else { bail!(deleted_or_broken(text, &name)) };
                edit_copy(&library, source.project, &name, &original, &text)
            }
        }
    }
}

/// Why the text of a prompt cannot be used.
fn deleted_or_broken(text: Option<Result<String, Problem>>, name: &Name) -> anyhow::Error {
    match text {
        Some(Err(problem)) => anyhow!("{problem}"),
        _ => anyhow!("{} was deleted just now; run the command again", named(name)),
    }
}

fn edit_file(library: &Library, file: &Path) -> anyhow::Result<ExitCode> {
    let ended = text_editor::open(file)?;
    let checked = check(library, file, false);
    ended.check().map_err(|why| anyhow!("{why}; {} may have been changed by the editor", full_path(file)))?;
    Ok(checked)
}

/// Opens a copy of a prompt in the user's folder, or in the project's. The copy is deleted if it was not changed; otherwise
/// it would override later versions of the original.
fn edit_copy(
    library: &Library,
    project: bool,
    name: &Name,
    original: &Location,
    text: &str,
) -> anyhow::Result<ExitCode> {
    let original = match original {
        Location::Builtin => format!("the built-in {}", named(name)),
        Location::File(file) | Location::Document(file) => full_path(file),
    };
    let file = create(&directory(library, project, "--prompts")?, name, text)?;
    let ended = text_editor::open(&file).and_then(|ended| ended.check().map_err(|why| anyhow!(why)));
    let is_unchanged = delete_if(&file, |now| now == text.as_bytes())
        .with_context(|| format!("the copy {} cannot be deleted", full_path(&file)))?;
    if is_unchanged {
        ended?;
        output::note(&format!("nothing was changed, and {original} stays in use; {}", text_editor::WAIT));
        return Ok(ExitCode::SUCCESS);
    }
    if FileState::of(&file) == FileState::Deleted {
        ended?;
        output::note(&format!("the copy was deleted, and {original} stays in use"));
        return Ok(ExitCode::SUCCESS);
    }
    let file_shown = full_path(&file);
    output::note(&format!("{file_shown} overrides {original}; delete the file to restore that prompt"));
    let checked = check(library, &file, false);
    ended?;
    Ok(checked)
}

/// The folder for new files: the user's first, or with `project` the project's. It may be missing. `option` chooses another
/// folder; the error names it.
pub(super) fn directory(library: &Library, project: bool, option: &str) -> anyhow::Result<PathBuf> {
    if project && std::env::current_dir().is_err() {
        bail!("the working directory no longer exists, so there is no project; change to another directory");
    }
    let directory = library.folder_for_new_prompts().with_context(|| match library.view().folders().is_empty() {
        true => format!(
            "the folder of your own prompts is unknown, because your home directory is; choose a folder with {option} DIR"
        ),
        false => format!(
            "the folders that were named are for other programs, and nothing is written to them; choose another with {option} DIR"
        ),
    })?;
    directory.map_err(|why| anyhow!(why))
}

/// Prints what `check` finds in a file, or that the file is gone; returns the exit status of `check`.
pub(super) fn check(library: &Library, file: &Path, is_json: bool) -> ExitCode {
    match FileState::of(file) {
        FileState::Deleted => output::warning(&format!("{} was deleted", full_path(file))),
        FileState::Folder => output::warning(&format!("{} is a folder now", full_path(file))),
        FileState::Exists => {}
    }
    let problems = library.view().problems_of(file);
    if is_json {
        problems.iter().for_each(|problem| output::warning(&problem.to_string()));
    } else {
        output::report(&problems);
    }
    let has_errors = problems.iter().any(|problem| problem.diagnostic.severity == Severity::Error);
    if has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
