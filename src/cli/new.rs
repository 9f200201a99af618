//! `prompt-expander new`: creates a prompt file.

use super::output::full_path;
use super::source::{PromptSource, absolute};
use super::text_editor::{self, Ended};
use super::{edit, output, path, stdin, test};
use crate::library::{
    FileState, Layer, Library, Location, Lookup, PROJECT_FOLDER, View, WriteError, create, create_file, delete_if,
};
use crate::prompt::{DraftError, MAX_FILE, Name, draft, draft_around, draft_tests};
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander new standup --edit         create a prompt and write it
  pbpaste | prompt-expander new git/commit   create a prompt from the clipboard
  prompt-expander new --project deploy       create it in the project's folder
  prompt-expander new --test standup         create a file for its tests, too";

#[derive(Debug, Args)]
pub(super) struct New {
    /// What you will type after a colon: `standup`, `git/commit`
    name: String,
    /// What the prompt is for, in one line
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    description: Option<String>,
    /// Create the file in this folder, instead of the first --prompts folder or, without one, your own folder; cannot be
    /// combined with --project
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Open the file in your editor ($VISUAL or $EDITOR), and check it afterwards; a template that you leave unchanged is
    /// removed
    #[arg(long)]
    edit: bool,
    /// Create a template even if another prompt has the same name
    #[arg(long)]
    empty: bool,
    /// Also create a file for its tests, `NAME.test.txt`; if the prompt exists, only that file. See `prompt-expander test`
    #[arg(long)]
    test: bool,
    /// Print one JSON object: `path` and with --test `tests`, or `removed` for a template that you left unchanged
    #[arg(long)]
    json: bool,
}

impl New {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let name = Name::for_new_file(&self.name).map_err(|why| anyhow!(why))?;
        let name = library.view().stored_spelling(name);
        let directory = match &self.dir {
            Some(_) if source.project => bail!("--dir and --project each choose a folder; leave out one of them"),
            Some(dir) => absolute(dir),
            None => edit::directory(&library, source.project, "--dir")
                .map_err(|error| tests_refusal(&library, &name).filter(|_| self.test).unwrap_or(error))?,
        };
        // Before the file is created: afterwards, its own name would be found.
        let neighbor = match library.view().find(&name) {
            Lookup::Found(prompt) if prompt.name != name => Some(prompt.name.to_string()),
            _ => None,
        };
        let piped = if io::stdin().is_terminal() { String::new() } else { stdin::text(MAX_FILE, "a prompt file")? };
        let is_template = piped.trim().is_empty();
        if !is_template && self.empty {
            bail!("--empty creates a template, but standard input has text; leave out --empty, or add `< /dev/null`");
        }
        if self.test && is_template && !self.empty && self.description.is_none() {
            let library = if self.dir.is_some() { &Library::named([directory.clone()]) } else { &library };
            let layer = if source.project { Layer::Project } else { Layer::User };
            if let Some(prompt) = library.view().find_to_change(layer, &name) {
                return self.create_tests_only(library, &prompt.name);
            }
            if let Some(error) = tests_refusal(library, &name) {
                return Err(error);
            }
        }
        if is_template && !self.empty {
            refuse_to_override(&library.view(), &name, &directory, source.project)?;
        }
        let edit_command = edit_command(&name, source.project);
        let description = self.description.as_deref();
        let text = if is_template {
            draft(&name, description)
        } else {
            draft_around(&name, &piped, description).map_err(refusal)?
        };
        let file = create(&directory, &name, &text).map_err(|error| match &error {
            WriteError::Exists(file) if is_used(&library, &name, file) => {
                anyhow!("{error}; `{edit_command}` opens it")
            }
            _ => anyhow!(error),
        })?;
        let is_served = warn_of_the_same_name(&library, &name, &file);
        if !is_served {
            warn_of_unserved(&directory);
        }
        if let Some(neighbor) = neighbor {
            output::warning(&format!("{} has almost the same name; type each name exactly", named(&neighbor)));
        }
        let ended = self.edit.then(|| text_editor::open(&file)).transpose();
        if self.edit && is_template && delete_if_template(&file, &name)? {
            return self.finish_without_file(&file, ended);
        }
        let tests = self.test.then(|| create_tests(&Library::named([directory.clone()]), &name)).and_then(|created| {
            created.inspect_err(|why| output::warning(&format!("the prompt is created without tests: {why:#}"))).ok()
        });
        if FileState::of(&file) == FileState::Exists {
            if self.json {
                let mut created = json!({ "path": file.display().to_string() });
                if let Some(tests) = &tests {
                    created["tests"] = tests.display().to_string().into();
                }
                output::print_json(&created)?;
            } else {
                path::print("", &file)?;
                tests.iter().try_for_each(|tests| path::print("", tests))?;
            }
        }
        if is_template && !self.edit {
            let how = if is_used(&library, &name, &file) { format!(" with `{edit_command}`") } else { String::new() };
            output::note(&format!("the file is a template; write the prompt{how}"));
            return Ok(ExitCode::SUCCESS);
        }
        let ended = ended.with_context(|| format!("{} was created, but could not be opened", full_path(&file)))?;
        let library = if is_served { library } else { Library::named([directory]) };
        let checked = edit::check(&library, &file, self.json);
        if let Some(Err(why)) = ended.map(|ended| ended.check()) {
            bail!("{why}; {} may have been changed by the editor", full_path(&file));
        }
        if is_used(&library, &name, &file) && is_served && checked == ExitCode::SUCCESS {
            output::note(&format!("type `:{name} …` in a chat; `{edit_command}` opens the file"));
        }
        Ok(checked)
    }

    /// Creates the first tests of a prompt that exists.
    fn create_tests_only(&self, library: &Library, name: &Name) -> anyhow::Result<ExitCode> {
        let tests = create_tests(library, name)?;
        let ended = self.edit.then(|| text_editor::open(&tests)).transpose();
        if self.json {
            output::print_json(&json!({ "tests": tests.display().to_string() }))?;
        } else {
            path::print("", &tests)?;
        }
        if let Some(Err(why)) = ended?.map(|ended| ended.check()) {
            bail!("{why}; {} may have been changed by the editor", full_path(&tests));
        }
        output::note(&format!("`prompt-expander test {name}` runs the tests"));
        Ok(ExitCode::SUCCESS)
    }

    /// Says that the file was removed, after an editor that did not change it.
    fn finish_without_file(&self, file: &Path, ended: anyhow::Result<Option<Ended>>) -> anyhow::Result<ExitCode> {
        let ended = ended.and_then(|ended| ended.map_or(Ok(()), |ended| ended.check().map_err(|why| anyhow!(why))));
        if let Err(why) = ended {
            bail!("{why}; {} was not changed, so it is removed", full_path(file));
        }
        if self.json {
            output::print_json(&json!({ "removed": file.display().to_string() }))?;
        }
        output::note(&format!(
            "the template was not changed, so {} is removed; {}",
            full_path(file),
            text_editor::WAIT
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// Why no test file is created for a prompt of another program.
fn tests_refusal(library: &Library, name: &Name) -> Option<anyhow::Error> {
    let why = test::not_written(&library.view(), name)?;
    Some(anyhow!("no test file is created for {}: {why}", named(name)))
}

/// Creates the test file of a prompt, and returns its path.
fn create_tests(library: &Library, name: &Name) -> anyhow::Result<PathBuf> {
    let view = library.view();
    let tests = view.test_file(name).with_context(|| format!("{} was deleted just now", named(name)))?;
    let prompt = tests.prompt().with_context(|| format!("{} was deleted just now", named(name)))?;
    let prompt = prompt.map_err(|problem| anyhow!("no test file is created: {problem}"))?;
    let text = draft_tests(&prompt, |call| tests.expand(&prompt, call));
    create_file(&tests.path, &text).map_err(|error| match error {
        WriteError::Exists(_) => anyhow!("{error}; `prompt-expander test {name}` runs its tests"),
        _ => anyhow!(error),
    })?;
    Ok(tests.path)
}

/// Deletes a file in which at most the description of the template was changed, as `git commit` discards a message that was not
/// written. Returns whether it did.
fn delete_if_template(file: &Path, name: &Name) -> anyhow::Result<bool> {
    let template = draft(name, None);
    let is_template = |text: &[u8]| {
        std::str::from_utf8(text).is_ok_and(|text| without_description(text) == without_description(&template))
    };
    delete_if(file, is_template)
        .with_context(|| format!("the template {} was not changed, but cannot be removed", full_path(file)))
}

/// The lines of a file but those of the key `description`, without the spaces at their ends.
fn without_description(text: &str) -> Vec<&str> {
    let mut is_description = false;
    let mut is_other = |line: &&str| {
        is_description = line.starts_with("description:") || (is_description && line.starts_with([' ', '\t']));
        !is_description
    };
    text.trim_end().lines().filter(|line| is_other(line)).map(str::trim_end).collect()
}

/// Refuses a template that would override another prompt or be overridden by one: what the user wants then is a copy.
/// The error for a file that already exists is left to [`create`].
fn refuse_to_override(view: &View, name: &Name, directory: &Path, project: bool) -> anyhow::Result<()> {
    let locations = view.locations(name);
    let own = directory.join(name.as_str());
    let is_there = |location: &Location| matches!(location, Location::File(file) if file.parent() == own.parent());
    let Some((_, first)) = locations.first() else { return Ok(()) };
    if locations.iter().any(|(_, location)| is_there(location)) {
        return Ok(());
    }
    if let Location::Document(_) = first {
        bail!("{} already has the name {}; --empty creates a prompt that overrides it", what(first), named(name));
    }
    let opens = if project || *first == Location::Builtin { "opens a copy to change" } else { "opens it" };
    bail!(
        "{} already has the name {}; `{}` {opens}, and --empty creates a template anyway",
        what(first),
        named(name),
        edit_command(name, project),
    );
}

fn edit_command(name: &Name, project: bool) -> String {
    format!("prompt-expander edit {name}{}", if project { " --project" } else { "" })
}

/// Why the text from the pipe cannot become a prompt.
fn refusal(error: DraftError) -> anyhow::Error {
    match error {
        DraftError::Invalid(diagnostic) => {
            let place = diagnostic.position.map(|position| format!(":{}:{}", position.line, position.column));
            anyhow!("standard input{}: {diagnostic}", place.unwrap_or_default())
        }
        DraftError::HasFrontmatter => {
            anyhow!("the text from the pipe has frontmatter; write the description there, and leave out --description")
        }
    }
}

/// Whether this file is the prompt of this name: no other prompt overrides it.
fn is_used(library: &Library, name: &Name, file: &Path) -> bool {
    library.view().locate(name).is_some_and(|(_, location)| location == Location::File(file.to_owned()))
}

/// Warns of prompts that the new file overrides or that override it. Returns whether its folder is part of the library.
pub(super) fn warn_of_the_same_name(library: &Library, name: &Name, file: &Path) -> bool {
    let sources: Vec<Location> = library.view().locations(name).into_iter().map(|(_, source)| source).collect();
    let Some(place) = sources.iter().position(|source| *source == Location::File(file.to_owned())) else {
        return false;
    };
    if place > 0 {
        let winner = what(&sources[0]);
        output::warning(&format!("{winner} overrides the new file; choose another name"));
    } else if let Some(overridden) = sources.get(1) {
        let overridden = what(overridden);
        output::warning(&format!("the new file overrides {overridden}; delete the new file to restore that prompt"));
    }
    true
}

pub(super) fn warn_of_unserved(directory: &Path) {
    let is_project = directory.file_name().is_some_and(|folder| folder == PROJECT_FOLDER);
    let directory = full_path(directory);
    let option = if is_project { "--project".to_owned() } else { format!("--prompts {directory}") };
    output::warning(&format!("{directory} is not served; start the server with `{option}`"));
}

fn what(location: &Location) -> String {
    match location {
        Location::File(path) => full_path(path),
        Location::Document(path) => format!("the operation in {}", full_path(path)),
        Location::Builtin => "the built-in prompt".to_owned(),
    }
}
