//! `prompt-expander rm`: removes prompt files.

use super::output::{self, full_path};
use super::source::PromptSource;
use super::{completions, path};
use crate::library::{Library, OwnFile};
use crate::prompt::{Kind, Name};
use crate::wording::{count, named, quoted};
use anyhow::{anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
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
    #[arg(required = true, value_name = "NAME", add = ArgValueCompleter::new(completions::names))]
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
        let mut files: Vec<OwnFile> = Vec::new();
        for typed in &self.names {
            let file = own_file(&library, source.project, typed, "rm")?;
            if files.iter().all(|other| other.path != file.path) {
                files.push(file);
            }
        }
        let mut removed: Vec<PathBuf> = Vec::new();
        let mut result = Ok(ExitCode::SUCCESS);
        if self.yes || is_confirmed(&files)? {
            for file in &files {
                let (paths, done) = remove(&library, file);
                removed.extend(paths);
                result = done.map(|()| ExitCode::SUCCESS);
                if result.is_err() {
                    break;
                }
            }
        } else {
            output::note("nothing is removed");
        }
        if self.json {
            let paths: Vec<String> = removed.iter().map(|path| path.display().to_string()).collect();
            output::print_json(&json!({ "removed": paths }))?;
        } else {
            removed.iter().try_for_each(|path| path::print("removed ", path))?;
        }
        result
    }
}

/// Removes a prompt, unless its text cannot be kept. Returns what was removed, and what went wrong.
fn remove(library: &Library, file: &OwnFile) -> (Vec<PathBuf>, anyhow::Result<()>) {
    let shown = full_path(&file.path);
    let is_kept = match file.keep() {
        Ok(is_kept) => is_kept,
        Err(why) if why.kind == Kind::TooLong || why.kind == Kind::Invalid => {
            output::warning(&format!("{shown} is not kept in the history: {why}"));
            false
        }
        Err(why) => {
            let why =
                anyhow!("{shown} cannot be kept in the history, and is not removed: {why}; or delete it yourself");
            return (Vec::new(), Err(why));
        }
    };
    let (paths, error) = file.remove();
    if !paths.is_empty() {
        if is_kept && file.is_name_unused() {
            let but = if paths.len() > 1 { ", but not its test file" } else { "" };
            output::note(&format!("`prompt-expander restore {}` brings it back{but}", file.name));
        }
        note_what_is_used_now(library, &file.name);
        note_tests_that_stay(file);
    }
    let result = error.map_or(Ok(()), |(path, error)| Err(anyhow!("{} cannot be removed: {error}", full_path(&path))));
    (paths, result)
}

/// The user's file, or with `project` the project's, of exactly this name. `command` is the name of the command, for the error.
pub(super) fn own_file(library: &Library, project: bool, typed: &str, command: &str) -> anyhow::Result<OwnFile> {
    if let Some(file) = library.own_file(project, typed) {
        if file.is_in_folder {
            let folder = full_path(file.path.parent().unwrap_or(&file.path));
            bail!("{} is a folder with other files; change {folder} itself", named(&file.name));
        }
        return Ok(file);
    }
    if let Some(Err(why)) = library.store(project) {
        bail!("{why}"); // the folder is outside the project
    }
    let view = library.view();
    let found = view.find(typed).map_err(output::failure(&view, command))?;
    let (name, place) = (named(&found.name), found.place());
    let file = place.file.map_or_else(|| format!("the {} prompt", found.layer.name), |file| full_path(&file));
    let whose = if project { "the project's" } else { "your own" };
    bail!("{} is not among {whose} prompts, so `{command}` changes nothing: {name} is {file}", quoted(typed));
}

/// Says which prompt has a name after its file was removed or renamed, if there is one.
pub(super) fn note_what_is_used_now(library: &Library, name: &Name) {
    if let Some(found) = library.view().get(name) {
        let place = found.place();
        let place = place.file.map_or(format!("the {} prompt", place.shown), |file| full_path(&file));
        output::note(&format!("{} now refers to {place}", named(name)));
    }
}

/// Says that the test file of a prompt that was removed or renamed stays, if it does.
pub(super) fn note_tests_that_stay(file: &OwnFile) {
    if let Some(tests) = file.tests() {
        output::note(&format!("its test file {} stays, because another file has the name", full_path(&tests)));
    }
}

/// Shows the files, and asks at the terminal whether to remove them.
fn is_confirmed(files: &[OwnFile]) -> anyhow::Result<bool> {
    let with_tests = |file: &OwnFile| [Some(file.path.clone()), file.tests()].into_iter().flatten();
    let shown: Vec<String> = files.iter().flat_map(with_tests).map(|path| full_path(&path)).collect();
    let undone = match files.iter().all(|file| !file.is_linked) {
        true => "`restore` brings prompts back",
        false => "a symlink cannot be brought back",
    };
    let question = match shown.as_slice() {
        [file] => format!("Remove {file}? ({undone})"),
        _ => format!("{}\nRemove these {}? ({undone})", shown.join("\n"), count(shown.len(), "file")),
    };
    output::confirm(&question, &format!("remove {}", shown.join(", ")))
}
