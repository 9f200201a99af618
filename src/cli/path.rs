//! `prompt-expander path`: prints the path of a prompt's file, or of the folder for new prompts.

use super::output::{self, Reporter, display_path, full_path};
use super::source_options::PromptSource;
use crate::library::Found;
use crate::wording::in_backticks;
use anyhow::Context;
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(super) const EXAMPLES: &str = "\
Examples:
  cd \"$(prompt-expander path)\"
  prompt-expander path git/commit";

#[derive(Debug, Args)]
pub(super) struct PathOf {
    /// Print the path of this prompt's file, instead of the folder
    name: Option<String>,
    /// Print one JSON object: `path`
    #[arg(long)]
    json: bool,
}

impl PathOf {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let path = match &self.name {
            Some(name) => file_of_prompt(source, name, reporter)?,
            None => source.new_prompts_folder(&source.library())?,
        };
        if self.json {
            output::print_json(&json!({ "path": path.display().to_string() }))?;
        } else {
            print(&path)?;
        }
        if self.name.is_none() && !path.exists() {
            let option = source.project_option();
            reporter.note(&format!(
                "the folder does not exist yet; `prompt-expander new NAME{option}` creates it"
            ));
        }
        Ok(())
    }
}

/// Returns the path of a prompt's file.
///
/// # Errors
/// Fails if there is no such prompt, or it has no file, e.g. because it is built in.
fn file_of_prompt(
    source: &PromptSource,
    name: &str,
    reporter: &Reporter,
) -> anyhow::Result<PathBuf> {
    let view = source.library_with_warnings(reporter).view();
    let found = view
        .find(name)
        .map_err(reporter.prompt_error(&view, "path"))?;
    found.location().file.with_context(|| {
        format!(
            "{} {} has no file; `prompt-expander show {name}` prints it",
            location(&found),
            in_backticks(name)
        )
    })
}

/// Returns the path of a prompt's file or, if it has none, `the built-in prompt`.
pub(super) fn location(found: &Found) -> String {
    match found.location().file {
        Some(file) => full_path(&file),
        None => format!("the {} prompt", found.layer.name),
    }
}

/// Prints a path: shortened on a terminal, and byte for byte for a script.
pub(super) fn print(path: &Path) -> anyhow::Result<()> {
    if is_at_terminal() {
        return output::print(&format!("{}\n", display_path(path)).into());
    }
    print_for_script(path)
}

/// Prints a path after the action that was performed on it, e.g. `removed`. A script gets only the
/// path.
pub(super) fn print_done(action: &str, path: &Path) -> anyhow::Result<()> {
    if is_at_terminal() {
        return output::print(&format!("{action} {}\n", display_path(path)).into());
    }
    print_for_script(path)
}

fn is_at_terminal() -> bool {
    output::terminal_width().is_some()
}

fn print_for_script(path: &Path) -> anyhow::Result<()> {
    output::print_verbatim(&[path.as_os_str().as_encoded_bytes(), b"\n"].concat())
}
