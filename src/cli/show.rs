//! `prompt-expander show`: the file of a prompt, byte for byte.

use super::path::{self, Found};
#[cfg(feature = "http")]
use super::prompts::no_report;
use super::prompts::{OnServer, Prompts};
use super::source::PromptSource;
use super::{completions, output};
use crate::library::{Library, Location, read_whole};
use crate::prompt::System;
use crate::report;
use anyhow::{Context, anyhow};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander show research
  prompt-expander show research | prompt-expander new my-research";

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The prompt's name, with or without a colon: `research`, `:git/commit`
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: String,
    /// Print one JSON object: `name`, `layer`, `path` (unless the prompt is built in), `revision` and `text`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: OnServer,
}

impl Show {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        match self.server.prompts(source)? {
            Prompts::Local(library) => self.show(&library)?,
            #[cfg(feature = "http")]
            Prompts::Remote(remote) => {
                let shown = remote.show(&self.name).map_err(no_report)?;
                if self.json { output::print_json(&shown)? } else { print(shown.text.as_bytes())? }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, library: &Library) -> anyhow::Result<()> {
        let view = library.view();
        if self.json {
            return output::print_json(&report::show(&view, &self.name).map_err(output::failure)?);
        }
        let Found { name, location, .. } = path::find(&view, &self.name, "show")?;
        let text = || {
            let text = view.raw(&name).context("the prompt was deleted just now; run the command again")?;
            text.map_err(|problem| anyhow!("{problem}"))
        };
        let bytes = match &location {
            // A file that cannot be a prompt is shown too; of hexai's, which have many prompts, one line.
            Location::File(file) if view.is_editable(file) && view.system(&name) != Some(System::Hexai) => {
                read_whole(file).with_context(|| format!("{} cannot be read", output::shown(file)))?
            }
            _ => text()?.into_bytes(),
        };
        print(&bytes)
    }
}

/// Prints a file, for a person without its escape sequences.
fn print(bytes: &[u8]) -> anyhow::Result<()> {
    if io::stdout().is_terminal() { output::print_paged(bytes) } else { output::print_verbatim(bytes) }
}
