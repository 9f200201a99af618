//! `prompt-expander path`: where prompts are.

use super::output::{self, Reporter, shown};
use super::source::PromptSource;
use crate::wording::named;
use anyhow::Context;
use clap::Args;
use serde_json::json;
use std::path::Path;

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
            Some(name) => {
                let view = source.library_with_warnings(reporter).view();
                let found = view.find(name).map_err(reporter.failure(&view, "path"))?;
                found.place().file.with_context(|| {
                    format!(
                        "the {} prompt {} has no file; `prompt-expander show {name}` prints it",
                        found.layer.name,
                        named(name)
                    )
                })?
            }
            None => source.folder_of_new(&source.library())?,
        };
        print_as("path", &path, self.json)?;
        if self.name.is_none() && !path.exists() {
            let option = source.project_option();
            reporter.note(&format!(
                "the folder does not exist yet; `prompt-expander new NAME{option}` creates it"
            ));
        }
        Ok(())
    }
}

/// Prints a path alone or, with --json, as an object with this key.
pub(super) fn print_as(key: &str, path: &Path, is_json: bool) -> anyhow::Result<()> {
    match is_json {
        true => output::print_json(&json!({ key: path.display().to_string() })),
        false => print("", path),
    }
}

/// Prints a path: for a person what was done with it and how messages show it, for a script the
/// path alone, byte for byte.
pub(super) fn print(done: &str, path: &Path) -> anyhow::Result<()> {
    if output::terminal_width().is_some() {
        output::print(&format!("{done}{}\n", shown(path)).into())
    } else {
        output::print_verbatim(&[path.as_os_str().as_encoded_bytes(), b"\n"].concat())
    }
}
