//! `prompt-expander expand`: the text that an agent gets, byte for byte.

use super::call::{Call, cannot};
use super::output;
use crate::library::Library;
use clap::Args;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander expand research solar cells
  prompt-expander expand compare --arg options='Rust or Go'
  git diff | prompt-expander expand review";

#[derive(Debug, Args)]
pub(super) struct Expand {
    #[command(flatten)]
    call: Call,
}

impl Expand {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let prompt = self.call.find(library)?;
        let texts = self.call.texts(&prompt)?;
        let mut text = texts.expand(&prompt).map_err(|error| cannot(&prompt, &error))?;
        if !text.ends_with('\n') {
            text.push('\n'); // for the terminal or the next command; nothing else is added
        }
        output::print_verbatim(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
