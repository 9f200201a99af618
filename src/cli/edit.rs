//! `prompt-expander edit`: opens a prompt in the user's editor, and checks it afterwards.

#[cfg(unix)]
use super::interrupts;
use super::output::{Reporter, full_path};
use super::path;
use super::source_options::PromptSource;
use super::stored::{self, NewText};
use super::text_editor::{self, EditorExit};
use crate::library::{
    Caller, Found, Layer, Library, View, create_prompt_file, delete_if_unchanged,
};
use crate::prompt::{Diagnostic, Format, Kind, Name, Revision, Severity};
use crate::wording::in_backticks;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
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
        let found = self.find(&view, reporter)?;
        if let Some(pack) = found.pack_version() {
            let name = &found.name;
            bail!(
                "{} comes from the pack {pack}; `prompt-expander show {name} | prompt-expander new NAME` makes a copy that you can edit",
                in_backticks(name)
            );
        }
        match edit_target(source, &found) {
            EditTarget::Store(layer) => edit_in_store(&library, layer, &found, reporter),
            EditTarget::File(file) => edit_file(&library, &file, &found, reporter),
            EditTarget::Copy => edit_copy(&library, source, &found, reporter),
            EditTarget::ForeignFile(file) => {
                found.text()?; // an unreadable file is the more important error
                bail!(
                    "{} is in {}, which this program does not change; edit that file yourself",
                    in_backticks(&found.name),
                    full_path(&file)
                )
            }
        }
    }

    /// Finds the prompt. If it doesn't exist, the error contains the command that creates it.
    fn find(&self, view: &View, reporter: &Reporter) -> anyhow::Result<Found> {
        view.find(&self.name).map_err(|diagnostic| {
            let is_missing = matches!(diagnostic.kind, Kind::NoSuchPrompt { .. });
            match Name::for_new_file(&self.name) {
                Ok(name) if is_missing => {
                    reporter.warn_all(view.unreadable());
                    anyhow!("{diagnostic} (`prompt-expander new {name} --edit` makes a new one)")
                }
                _ => reporter.prompt_error(view, "edit")(diagnostic),
            }
        })
    }
}

/// What to edit in order to change a prompt.
enum EditTarget {
    /// The prompt in the database, or on the team's server.
    Store(Layer),
    /// The prompt's own file.
    File(PathBuf),
    /// A copy in the user's (or the project's) folder, which overrides the prompt.
    Copy,
    /// Nothing: this program doesn't modify files such as this one.
    ForeignFile(PathBuf),
}

/// Decides what to edit in order to change a prompt.
fn edit_target(source: &PromptSource, found: &Found) -> EditTarget {
    if source.has_store {
        return EditTarget::Store(Layer::USER);
    }
    if found.layer == Layer::TEAM && !source.project {
        return EditTarget::Store(Layer::TEAM);
    }
    let location = found.location();
    let Some(file) = location.file else {
        return EditTarget::Copy;
    };
    // With --project, only the project's own prompts are edited in place.
    let is_in_scope = !source.project || found.layer == Layer::PROJECT;
    if is_in_scope && location.is_editable && file.is_file() {
        return EditTarget::File(file);
    }
    let can_be_copied = found.layer != Layer::SERVICE && found.format == Format::OWN;
    if can_be_copied && !is_in_scope {
        return EditTarget::Copy;
    }
    EditTarget::ForeignFile(file)
}

/// Edits a prompt in the database, or on the team's server. Prints its path if it was changed.
fn edit_in_store(
    library: &Library,
    layer: Layer,
    found: &Found,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    let editor = library.editor_for_layer(layer, &Caller::local())?;
    let text = found.text()?;
    let is_in_store = editor.find_in_store(&found.name).is_some();
    let new = NewText {
        name: &found.name,
        expected: is_in_store.then(|| Revision::of_contents(text.as_bytes())),
        text: &text,
    };
    if let Some(place) = stored::edit(&editor, new, reporter)? {
        path::print(&place)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Edits the file of a prompt. Keeps its old text in the history.
fn edit_file(
    library: &Library,
    file: &Path,
    found: &Found,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    if let Err(diagnostic) = keep_in_history(library, file, found) {
        reporter.warn(&format!(
            "the old text is not kept in the history: {diagnostic}"
        ));
    }
    let exit = text_editor::open(file, reporter)
        .with_context(|| format!("{} cannot be opened", full_path(file)))?;
    check_edited(library, file, exit, reporter)
}

/// Records the current text of a prompt in the history. Does nothing if its folder has no history.
fn keep_in_history(library: &Library, file: &Path, found: &Found) -> Result<(), Diagnostic> {
    let layer = if found.layer == Layer::PROJECT {
        Layer::PROJECT
    } else {
        Layer::USER
    };
    let Ok(editor) = library.editor_for_layer(layer, &Caller::local()) else {
        return Ok(());
    };
    let Some(own) = editor.find_in_store(&found.name) else {
        return Ok(());
    };
    if own.is_in(file) {
        editor.record_current_text(found)?;
    }
    Ok(())
}

/// Checks a file after it was edited, and prints its problems. As long as it is broken and the user
/// wants to fix it, opens it again. Returns the exit status of the last check.
///
/// # Errors
/// Fails if the editor failed.
pub(super) fn check_edited(
    library: &Library,
    file: &Path,
    mut exit: EditorExit,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    loop {
        let status = check(library, file, reporter);
        exit.check().map_err(|error| {
            anyhow!(
                "{error}; {} may have been changed by the editor",
                full_path(file)
            )
        })?;
        if status == ExitCode::SUCCESS {
            return Ok(status);
        }
        if !prompt_user_to_edit_again(reporter) {
            return Ok(status);
        }
        exit = text_editor::open(file, reporter)?;
    }
}

/// Asks whether to edit a broken file again. If standard input isn't a terminal, the answer is no.
fn prompt_user_to_edit_again(reporter: &Reporter) -> bool {
    // The edited text is saved, so Ctrl-C may end this process again.
    #[cfg(unix)]
    interrupts::allow();
    let action = "edit it again"; // only occurs in the error, which counts as no
    let answer = reporter.confirm("It is broken. Edit it again?", action);
    answer.unwrap_or(false)
}

/// Copies a prompt into the user's (or the project's) folder, and edits the copy. Deletes the copy
/// if the user hasn't changed it, because it would override later versions of the original.
fn edit_copy(
    library: &Library,
    source: &PromptSource,
    found: &Found,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    let original = path::location(found);
    let text = found.text()?;
    let folder = source.new_prompts_folder(library)?;
    let file = create_prompt_file(&folder, &found.name, &text)?;
    let result = text_editor::open(&file, reporter)
        .and_then(|exit| check_edited(library, &file, exit, reporter));
    // Whatever the result is: an unchanged copy must not stay, even if the editor failed.
    let is_unchanged = delete_if_unchanged(&file, &text)
        .with_context(|| format!("the copy {} cannot be deleted", full_path(&file)))?;
    let name = &found.name;
    if !is_unchanged && !is_deleted(&file) {
        let option = source.project_option();
        reporter.note(&format!(
            "`:{name}` now replaces {original}; `prompt-expander rm {name}{option}` brings that back"
        ));
        return result;
    }
    result?;
    reporter.note(&format!(
        "nothing was changed, and {original} stays in use; {}",
        text_editor::WAIT_HINT
    ));
    Ok(ExitCode::SUCCESS)
}

fn is_deleted(file: &Path) -> bool {
    fs::symlink_metadata(file).is_err()
}

/// Checks a file, and prints its problems, or a warning if it was deleted. Returns the exit status.
pub(super) fn check(library: &Library, file: &Path, reporter: &Reporter) -> ExitCode {
    if is_deleted(file) {
        reporter.warn(&format!("{} was deleted", full_path(file)));
    }
    print_problems(&library.view().check(Some(file)).problems, reporter)
}

/// Prints problems as errors and warnings. Returns failure if there are errors.
pub(super) fn print_problems(problems: &[Diagnostic], reporter: &Reporter) -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for problem in problems {
        if problem.severity() == Severity::Error {
            reporter.error(&problem.to_string());
            status = ExitCode::FAILURE;
        } else {
            reporter.warn(&problem.to_string());
        }
    }
    status
}
