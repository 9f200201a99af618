//! `prompt-expander new`: creates a prompt file.

use super::output::shown;
use super::source::absolute;
use super::{edit, editor, output, stdin};
use crate::library::{CreateError, Library, Location, Lookup, PROJECT_FOLDER, create};
use crate::prompt::{DraftError, MAX_FILE, Name, draft, draft_around};
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander new standup --edit         create a prompt and write it
  pbpaste | prompt-expander new git/commit   create a prompt from copied text";

#[derive(Debug, Args)]
pub(super) struct New {
    /// What you will type after a colon: `standup`, `git/commit`
    name: String,
    /// What the prompt is for, in one line
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    description: Option<String>,
    /// The folder to create the file in; by default the first --prompts folder or, without one, your own folder
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Open the file in your editor ($VISUAL or $EDITOR), and check it afterwards
    #[arg(long)]
    edit: bool,
}

impl New {
    pub(super) fn run(self, library: Library) -> anyhow::Result<ExitCode> {
        let name = Name::for_new_file(&self.name).map_err(|why| anyhow!(why))?;
        let directory = match &self.dir {
            Some(dir) => absolute(dir),
            None => edit::directory(&library, "--dir")?.to_owned(),
        };
        // Before the file is created: afterwards, its own name would be found.
        let neighbor = match library.view().find(&name) {
            Lookup::Found(prompt) if prompt.name != name => Some(prompt.name.to_string()),
            _ => None,
        };
        let piped = if io::stdin().is_terminal() { String::new() } else { stdin::text(MAX_FILE, "a prompt file")? };
        let description = self.description.as_deref();
        let is_template = piped.trim().is_empty();
        let text = if is_template {
            draft(&name, description)
        } else {
            draft_around(&name, &piped, description).map_err(refusal)?
        };
        let file = create(&directory, &name, &text).map_err(|error| match &error {
            CreateError::Exists(file) if is_used(&library, &name, file) => {
                anyhow!("{error}; `prompt-expander edit {name}` opens it")
            }
            _ => anyhow!(error),
        })?;
        output::print_verbatim(&[file.as_os_str().as_encoded_bytes(), b"\n"].concat())?;
        let is_served = warn_of_the_same_name(&library, &name, &file, &directory);
        if let Some(neighbor) = neighbor {
            output::warning(&format!("{} has almost the same name; type each name exactly", named(&neighbor)));
        }
        if is_template && !self.edit {
            output::note(&format!("write the prompt with `prompt-expander edit {name}`; the file is a template"));
            return Ok(ExitCode::SUCCESS);
        }
        let ended = self.edit.then(|| editor::open(&file)).transpose();
        let ended = ended.with_context(|| format!("{} was created, but could not be opened", shown(&file)))?;
        let library = if is_served { library } else { Library::named([directory]) };
        let checked = edit::check(&library, &file);
        if let Some(Err(why)) = ended.map(|ended| ended.check()) {
            bail!("{why}; {} may have been changed by the editor", shown(&file));
        }
        if is_used(&library, &name, &file) && is_served && checked == ExitCode::SUCCESS {
            output::note(&format!("type `:{name} …` in a chat; `prompt-expander edit {name}` opens the file"));
        }
        Ok(checked)
    }
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
fn warn_of_the_same_name(library: &Library, name: &Name, file: &Path, directory: &Path) -> bool {
    let sources: Vec<Location> = library.view().locations(name).into_iter().map(|(_, source)| source).collect();
    let Some(place) = sources.iter().position(|source| *source == Location::File(file.to_owned())) else {
        let is_project = directory.file_name().is_some_and(|folder| folder == PROJECT_FOLDER);
        let directory = shown(directory);
        let option = if is_project { "--project".to_owned() } else { format!("--prompts {directory}") };
        output::warning(&format!("{directory} is not served; start the server with `{option}`"));
        return false;
    };
    let what = |source: &Location| match source {
        Location::File(path) => shown(path),
        Location::Builtin => "the built-in prompt".to_owned(),
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
