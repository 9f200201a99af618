//! `prompt-expander edit`: opens a prompt in the user's editor.

use super::history::editor;
use super::output::{Reporter, full_path};
use super::source::PromptSource;
use super::stored;
use super::text_editor::{self, Ended};
use crate::library::{Caller, Found, Layer, Library, create_prompt_file, delete_unchanged};
use crate::prompt::{Diagnostic, Format, Revision, Severity};
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  EDITOR='code -w' prompt-expander edit research
  prompt-expander edit --project research   a copy for this project";

#[derive(Debug, Args)]
pub(super) struct Edit {
    /// The prompt's name, with or without a colon: `research`, `:git/commit`
    name: String,
}

impl Edit {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let view = library.view();
        let found = view
            .find(&self.name)
            .map_err(reporter.failure(&view, "edit"))?;
        let place = found.place();
        let is_here = !source.project || found.layer == Layer::PROJECT;
        if let Some(pack) = found.pack_version() {
            let name = &found.name;
            bail!(
                "{} is of the pack {pack}; `prompt-expander show {name} | prompt-expander new NAME` copies it",
                named(name)
            );
        }
        match &place.file {
            _ if source.has_store || (found.layer == Layer::TEAM && !source.project) => {
                let layer = if source.has_store {
                    Layer::USER
                } else {
                    Layer::TEAM
                };
                let (editor, text) = (library.editor_of(layer, &Caller::local())?, found.text()?);
                let expected = editor
                    .in_store(&found.name)
                    .map(|_| Revision::of(text.as_bytes()));
                stored::write(
                    &editor,
                    (&found.name, expected),
                    &text,
                    (true, false),
                    reporter,
                )
            }
            Some(file) if is_here && place.is_editable && file.is_file() => {
                edit_file(&library, file, &found, reporter)
            }
            Some(file)
                if found.layer == Layer::SERVICE || found.format != Format::OWN || is_here =>
            {
                found.text()?;
                let (name, file) = (named(&found.name), full_path(file));
                bail!(
                    "{name} is in {file}, and cannot be edited or copied from here; change that file yourself"
                )
            }
            _ => edit_copy(&library, source, &found, reporter),
        }
    }
}

/// Opens the file of a prompt. The old text stays in the history, as after `rm`.
fn edit_file(
    library: &Library,
    file: &Path,
    found: &Found,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    if let Ok(editor) = editor(library, found.layer == Layer::PROJECT)
        && editor
            .in_store(&found.name)
            .is_some_and(|own| own.is_in(file))
        && let Err(why) = editor.record_current(found)
    {
        reporter.warn(&format!("the old text is not kept in the history: {why}"));
    }
    let ended = text_editor::open(file, reporter)
        .with_context(|| format!("{} cannot be opened", full_path(file)))?;
    checked(library, file, ended, reporter)
}

/// Checks a file after an editor has ended, and opens it again while it is broken and the user
/// wants to; returns the exit status of `check`.
pub(super) fn checked(
    library: &Library,
    file: &Path,
    mut ended: Ended,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    loop {
        let checked = check(library, file, reporter);
        ended.check().map_err(|why| {
            anyhow!(
                "{why}; {} may have been changed by the editor",
                full_path(file)
            )
        })?;
        let is_broken = checked != ExitCode::SUCCESS;
        if !is_broken
            || !reporter
                .confirm("It is broken. Edit it again?", "")
                .unwrap_or(false)
        {
            return Ok(checked);
        }
        ended = text_editor::open(file, reporter)?;
    }
}

/// Opens a copy of a prompt in the user's folder, or in the project's. The copy is deleted if it
/// was not changed; otherwise it would override later versions of the original.
fn edit_copy(
    library: &Library,
    source: &PromptSource,
    found: &Found,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    let original = found.place().file.map(|file| full_path(&file));
    let original =
        original.unwrap_or_else(|| format!("the {} {}", found.layer.name, named(&found.name)));
    let text = found.text()?;
    let file = create_prompt_file(&source.folder_of_new(library)?, &found.name, &text)?;
    let checked = text_editor::open(&file, reporter)
        .and_then(|ended| checked(library, &file, ended, reporter));
    let is_unchanged = delete_unchanged(&file, &text)
        .with_context(|| format!("the copy {} cannot be deleted", full_path(&file)))?;
    if is_unchanged || is_deleted(&file) {
        checked?;
        reporter.note(&format!(
            "nothing was changed, and {original} stays in use; {}",
            text_editor::WAIT
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let file = full_path(&file);
    reporter.note(&format!(
        "{file} overrides {original}; delete the file to restore that prompt"
    ));
    checked
}

fn is_deleted(file: &Path) -> bool {
    fs::symlink_metadata(file).is_err()
}

/// Warns of what `check` finds in a file, or that the file is gone; returns the exit status of
/// `check`.
pub(super) fn check(library: &Library, file: &Path, reporter: &Reporter) -> ExitCode {
    if is_deleted(file) {
        reporter.warn(&format!("{} was deleted", full_path(file)));
    }
    say(&library.view().check(Some(file)).problems, reporter)
}

/// Warns of problems; returns the exit status of `check`.
pub(super) fn say(problems: &[Diagnostic], reporter: &Reporter) -> ExitCode {
    for problem in problems {
        if problem.severity() == Severity::Error {
            reporter.error(&problem.to_string());
        } else {
            reporter.warn(&problem.to_string());
        }
    }
    let has_errors = problems
        .iter()
        .any(|problem| problem.severity() == Severity::Error);
    if has_errors {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
