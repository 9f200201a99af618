//! `prompt-expander rm`: removes prompt files.

use super::output::{self, full_path};
use super::path;
use super::source::PromptSource;
use super::{completions, edit};
use crate::library::{EditError, Layer, Library, Location, Lookup, OwnFile, View};
use crate::prompt::{Name, System};
use crate::report;
use crate::wording::{count, named, quoted};
use anyhow::{anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::fs;
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
    #[arg(required = true, value_name = "NAME", add = ArgValueCompleter::new(completions::own_names))]
    names: Vec<String>,
    /// Remove the files without asking
    #[arg(long)]
    yes: bool,
    /// Print one JSON object: `removed`, a list of paths
    #[arg(long)]
    json: bool,
}

impl Rm {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings();
        let view = library.view();
        let mut files: Vec<OwnFile<'_>> = Vec::new();
        for typed in &self.names {
            let file = own_file(&library, &view, source.project, typed, "removed")?;
            if files.iter().all(|other| other.path != file.path) {
                files.push(file);
            }
        }
        let mut removed = Vec::new();
        let mut failure = None;
        if self.yes || is_confirmed(&files)? {
            for file in &files {
                let (done, error) = remove(file);
                removed.push(done);
                failure = error;
                if failure.is_some() {
                    break;
                }
            }
        } else {
            output::note("nothing is removed");
        }
        let mut paths = removed.iter().flat_map(|removed| &removed.paths);
        if self.json {
            let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
            output::print_json(&json!({ "removed": paths }))?;
        } else {
            paths.try_for_each(|path| path::print("removed ", path))?;
        }
        for Removed { file, paths, is_kept } in removed.iter().filter(|removed| !removed.paths.is_empty()) {
            if *is_kept && file.is_name_unused() {
                let but = if paths.len() > 1 { ", but not its test file" } else { "" };
                output::note(&format!("`prompt-expander restore {}` brings it back{but}", file.name));
            }
            note_what_is_used_now(&library, &file.name);
            if failure.is_none() {
                note_tests_that_stay(file);
            }
        }
        failure.map_or(Ok(ExitCode::SUCCESS), Err)
    }
}

/// What was removed of a prompt.
struct Removed<'f> {
    file: &'f OwnFile<'f>,
    /// Its file, and its test file.
    paths: Vec<PathBuf>,
    /// Whether `restore` finds its text.
    is_kept: bool,
}

/// Removes a prompt, unless its text cannot be kept. Also returns what went wrong.
fn remove<'f>(file: &'f OwnFile<'f>) -> (Removed<'f>, Option<anyhow::Error>) {
    let shown = full_path(&file.path);
    let mut removed = Removed { file, paths: Vec::new(), is_kept: false };
    match file.keep() {
        Ok(is_kept) => removed.is_kept = is_kept,
        Err(why @ EditError::Invalid(_)) => {
            output::warning(&format!("{shown} is not kept in the history: {why}"));
        }
        Err(why) => {
            return (
                removed,
                Some(anyhow!(
                    "{shown} cannot be kept in the history, and is not removed: {why}, or delete the file yourself, without a copy"
                )),
            );
        }
    }
    let (paths, error) = file.remove();
    removed.paths = paths;
    (removed, error.map(|(path, error)| anyhow!("{} cannot be removed: {error}", full_path(&path))))
}

/// The user's file, or with `project` the project's, of exactly this name. `what` is what the command does to it, for the error.
pub(super) fn own_file<'v>(
    library: &Library,
    view: &'v View,
    project: bool,
    typed: &str,
    what: &str,
) -> anyhow::Result<OwnFile<'v>> {
    let layer = if project { Layer::Project } else { Layer::User };
    if project {
        edit::directory(library, project, "--prompts")?; // fails if the folder is outside the project
    }
    if let Some(file) = view.find_to_change(layer, typed) {
        if file.is_in_folder {
            let folder = file.path.parent().unwrap_or(&file.path);
            bail!(
                "{} is a folder, whose other files belong to it, and is not {what}; change the folder itself: {}",
                named(&file.name),
                full_path(folder)
            );
        }
        return Ok(file);
    }
    let similar = match view.find(typed) {
        Lookup::Found(prompt) => prompt.name.clone(),
        Lookup::Broken(problem) => bail!("no prompt is named exactly {}; nothing is {what} ({problem})", quoted(typed)),
        Lookup::Unknown { why, skipped } => {
            for problem in skipped {
                output::warning(&problem.to_string());
            }
            bail!("{why} (nothing is {what}; `prompt-expander list` shows all prompts)");
        }
    };
    let foreign = view.system(&similar).filter(|system| report::format(*system).is_some());
    match view.locate(&similar) {
        Some((Layer::Builtin, _)) => bail!(
            "the built-in prompt {0} cannot be {what}; `prompt-expander edit {similar}` makes a copy of your own, and \
             --no-builtin leaves out all built-in prompts",
            named(&similar)
        ),
        Some((_, Location::File(file))) if foreign.is_some() => bail!(
            "{} is a prompt for {}, and files of other programs are not {what}; if you want to, change {} yourself",
            named(&similar),
            foreign.map(System::title).unwrap_or_default(),
            full_path(&file)
        ),
        Some((_, Location::Document(document))) => bail!(
            "{} is an operation of {}, and is not {what}; leave out --openapi, or change the document",
            named(&similar),
            full_path(&document)
        ),
        Some((found, Location::File(file))) if found != layer => {
            bail!(
                "{} is not a prompt of the project: its file is {}; leave out --project",
                named(&similar),
                full_path(&file)
            )
        }
        _ => {
            bail!("no prompt is named exactly {}; nothing is {what}; did you mean {}?", quoted(typed), named(&similar))
        }
    }
}

/// Says which prompt has a name after its file was removed or renamed, if there is one.
pub(super) fn note_what_is_used_now(library: &Library, name: &Name) {
    let name_shown = named(name);
    match library.view().locate(name) {
        Some((_, Location::Builtin)) => output::note(&format!("{name_shown} now refers to the built-in prompt")),
        Some((_, Location::File(file))) => output::note(&format!("{name_shown} now refers to {}", full_path(&file))),
        Some((_, Location::Document(document))) => {
            output::note(&format!("{name_shown} now refers to the operation in {}", full_path(&document)))
        }
        None => {}
    }
}

/// Says that the test file of a prompt that was removed or renamed stays, if it does.
pub(super) fn note_tests_that_stay(file: &OwnFile<'_>) {
    if let Some(tests) = file.tests() {
        output::note(&format!("its test file {} stays, because another file has the name", full_path(&tests)));
    }
}

/// Shows the files, and asks at the terminal whether to remove them.
fn is_confirmed(files: &[OwnFile<'_>]) -> anyhow::Result<bool> {
    let with_tests = |file| [Some(described(file)), file.tests().map(|tests| full_path(&tests))].into_iter().flatten();
    let shown: Vec<String> = files.iter().flat_map(with_tests).collect();
    let question = match shown.as_slice() {
        [file] => format!("Remove {file}?"),
        _ => format!("{}\nRemove these {}?", shown.join("\n"), count(shown.len(), "file")),
    };
    output::confirm(&question, &format!("remove {}", shown.join(", ")))
}

/// The path of a file, and what it is if the path does not show that.
fn described(file: &OwnFile<'_>) -> String {
    let path = full_path(&file.path);
    if !file.is_symlinked {
        return path;
    }
    match (fs::read_link(&file.path), fs::canonicalize(&file.path)) {
        (Ok(target), _) => format!("{path} (a symlink; its target {} stays)", full_path(&target)),
        (_, Ok(real)) => format!("{path} (which is {})", full_path(&real)),
        _ => path,
    }
}
