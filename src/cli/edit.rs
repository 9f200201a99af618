//! `prompt-expander edit`: a prompt's file in the user's editor.

use super::output::{self, shown};
use super::{completions, editor};
use crate::library::{Library, Lookup, Problem, Source, Unknown, create, new_name};
use crate::prompt::Severity;
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Example:
  EDITOR='code -w' prompt-expander edit research";

#[derive(Debug, Args)]
pub(super) struct Edit {
    /// The prompt, with or without a colon: `research`, `:git/commit`
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: String,
}

impl Edit {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let (name, source) = match library.find(&self.name) {
            Lookup::Found(prompt) => {
                let winner = library.sources(&prompt.name).into_iter().next();
                (prompt.name.clone(), winner.map(|(_, source)| source))
            }
            Lookup::Broken(problem) => (String::new(), Some(Source::File(editable(library, problem)?))),
            Lookup::Unknown { why, unseen } => {
                for problem in unseen {
                    output::warning(&problem.to_string());
                }
                return Err(refusal(&why));
            }
        };
        match source {
            Some(Source::File(file)) => {
                let ended = editor::open(&file)?;
                let checked = check(library, &file)?;
                ended.well().map_err(|why| anyhow!("{why}; {} is as it left it", shown(&file)))?;
                Ok(checked)
            }
            Some(Source::Builtin) => edit_copy(library, &name),
            None => bail!("{} was deleted in this moment; write the name again", named(&name)),
        }
    }
}

/// Opens a copy of a built-in prompt in the user's directory. It is kept if it was changed; else it would only hide what
/// later versions of the program have.
fn edit_copy(library: &Library, name: &str) -> anyhow::Result<ExitCode> {
    let shipped = library
        .file(name)
        .context("the prompt has gone in this moment; write the name again")?
        .map_err(|problem| anyhow!("{problem}"))?
        .text;
    let file = create(directory(library, "--prompts")?, name, &shipped)?;
    let ended = editor::open(&file);
    let well = |ended: anyhow::Result<editor::Ended>| ended.and_then(|ended| ended.well().map_err(|why| anyhow!(why)));
    let as_before = format!("the built-in {} is used as before", named(name));
    if fs::read(&file).is_ok_and(|text| text == shipped.as_bytes()) {
        fs::remove_file(&file).with_context(|| format!("the copy {} cannot be deleted again", shown(&file)))?;
        well(ended)?;
        output::note(&format!(
            "nothing was changed, and {as_before}; an editor in a window of its own must wait until that is closed, as \
             `code --wait` does"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if fs::symlink_metadata(&file).is_err() {
        well(ended)?;
        output::note(&format!("the copy is gone, and {as_before}"));
        return Ok(ExitCode::SUCCESS);
    }
    let built_in = named(name);
    output::note(&format!("{} goes before the built-in {built_in}; delete it to have that one again", shown(&file)));
    let checked = check(library, &file)?;
    well(ended)?;
    Ok(checked)
}

/// The file of a problem, if an editor can do something about it.
fn editable(library: &Library, problem: Problem) -> anyhow::Result<PathBuf> {
    // To open a FIFO is to wait for its writer; what is behind a broken link, is said. And what is saved behind a link that
    // a project has to elsewhere, would change a file that nobody has named.
    let is_file = fs::metadata(&problem.path).is_ok_and(|file| file.is_file());
    if is_file && !library.leads_out(&problem.path) { Ok(problem.path) } else { bail!("{problem}") }
}

fn refusal(why: &Unknown) -> anyhow::Error {
    match why {
        Unknown::NoSuchPrompt { command, .. } => match new_name(command) {
            Ok(name) => anyhow!("{why} (`prompt-expander new {name}` makes a new one)"),
            Err(_) => anyhow!("{why} (`prompt-expander list` shows all prompts)"),
        },
        Unknown::WithText { name, .. } => anyhow!("{why}: `prompt-expander edit {name}`"),
        _ => anyhow!("{why} (`prompt-expander list` shows all prompts)"),
    }
}

/// The directory of the user's that new files go into; `option` names another.
pub(super) fn directory<'l>(library: &'l Library, option: &str) -> anyhow::Result<&'l Path> {
    library.first_directory().with_context(|| {
        format!("the folder of your own prompts is not known, because no home directory is; name one with {option} DIR")
    })
}

/// Says what `check` says of a file, or that it is gone; the exit status is that of `check`.
pub(super) fn check(library: &Library, file: &Path) -> anyhow::Result<ExitCode> {
    match fs::symlink_metadata(file) {
        Err(_) => output::warning(&format!("{} is gone", shown(file))),
        Ok(now) if now.is_dir() => output::warning(&format!("{} is a folder now", shown(file))),
        Ok(_) => {}
    }
    let mut problems = library.check().problems;
    problems.retain(|problem| is_same(&problem.path, file));
    output::report(&problems);
    let has_errors = problems.iter().any(|problem| problem.diagnostic.severity == Severity::Error);
    Ok(if has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether two paths name one file; where letter case makes no difference, what was typed may differ from what is listed.
fn is_same(a: &Path, b: &Path) -> bool {
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    a == b || (cfg!(any(windows, target_os = "macos")) && lower(a) == lower(b))
}
