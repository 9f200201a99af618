//! `prompt-expander path`: where prompts are.

use super::output::{self, shown};
use super::source::PromptSource;
use super::{completions, edit};
use crate::library::{Layer, Location, Lookup, Unknown, View};
use crate::prompt::Name;
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  cd \"$(prompt-expander path)\"
  prompt-expander path git/commit";

#[derive(Debug, Args)]
pub(super) struct PathOf {
    /// Print the path of this prompt's file, instead of the folder
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: Option<String>,
    /// Print one JSON object: `path`
    #[arg(long)]
    json: bool,
}

impl PathOf {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let path = match &self.name {
            Some(name) => {
                let Found { name, location, .. } = find(&source.library_with_warnings().view(), name, "path")?;
                match location {
                    Location::File(file) | Location::Document(file) => file,
                    Location::Builtin => bail!(
                        "the built-in prompt {} has no file; `prompt-expander show {name}` prints it, and \
                         `prompt-expander edit {name}` copies it into your own folder",
                        named(&name)
                    ),
                }
            }
            None => edit::directory(&source.library(), source.project, "--prompts")?,
        };
        if self.json {
            output::print_json(&json!({ "path": path.display().to_string() }))?;
        } else {
            print("", &path)?;
        }
        if self.name.is_none() && !path.exists() {
            let option = if source.project { " --project" } else { "" };
            output::note(&format!("the folder does not exist yet; `prompt-expander new NAME{option}` creates it"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a path: for a person what was done with it and how messages show it, for a script the path alone, byte for byte.
pub(super) fn print(done: &str, path: &Path) -> anyhow::Result<()> {
    if output::terminal_width().is_some() {
        output::print(format!("{done}{}\n", shown(path)).as_bytes())
    } else {
        output::print_verbatim(&[path.as_os_str().as_encoded_bytes(), b"\n"].concat())
    }
}

/// A prompt that was named on the command line; its file may be broken.
pub(super) struct Found {
    pub(super) name: Name,
    pub(super) layer: Layer,
    pub(super) location: Location,
}

/// Finds a prompt for a command. `command` is the name of the command, for the error.
pub(super) fn find(view: &View, typed: &str, command: &str) -> anyhow::Result<Found> {
    let name = match view.find(typed) {
        Lookup::Found(prompt) => prompt.name.clone(),
        Lookup::Broken(problem) => view.name_of(&problem.path).ok_or_else(|| anyhow!("{problem}"))?,
        Lookup::Unknown { why, skipped } => {
            for problem in skipped {
                output::warning(&problem.to_string());
            }
            return Err(unknown(&why, command));
        }
    };
    let (layer, location) =
        view.locate(&name).with_context(|| format!("{} was deleted just now; run the command again", named(&name)))?;
    Ok(Found { name, layer, location })
}

fn unknown(why: &Unknown, command: &str) -> anyhow::Error {
    match why {
        Unknown::NoSuchPrompt { command: typed, .. } if command == "edit" => match Name::for_new_file(typed) {
            Ok(name) => anyhow!("{why} (`prompt-expander new {name}` makes a new one)"),
            Err(_) => anyhow!("{why} (`prompt-expander list` shows all prompts)"),
        },
        Unknown::WithText { name, .. } => anyhow!("{why}: `prompt-expander {command} {name}`"),
        _ => anyhow!("{why} (`prompt-expander list` shows all prompts)"),
    }
}
