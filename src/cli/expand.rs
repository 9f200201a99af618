//! `prompt-expander expand`: the text that an agent gets, byte for byte.

use super::call::{Call, Texts, cannot};
use super::output;
use crate::library::Library;
use crate::prompt::Prompt;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander expand research solar cells
  prompt-expander expand compare --arg options='Rust or Go'
  git diff | prompt-expander expand review
  git diff | prompt-expander expand review focus on locks
  ls | prompt-expander expand compare - criteria='ease of use'
  prompt-expander expand ./draft.md solar cells";

#[derive(Debug, Args)]
pub(super) struct Expand {
    #[command(flatten)]
    call: Call,
    /// Print one JSON object: `prompt`
    #[arg(long)]
    json: bool,
}

impl Expand {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let prompt = self.call.find(library)?;
        let texts = self.call.texts(&prompt)?;
        let mut text = expansion(library, &texts, &prompt)?;
        if self.json {
            output::print_json(&json!({ "prompt": text }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if !text.ends_with('\n') {
            text.push('\n'); // for the terminal or the next command; nothing else is added
        }
        output::print_verbatim(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The expansion. Warnings are printed.
pub(super) fn expansion(library: &Library, texts: &Texts, prompt: &Prompt) -> anyhow::Result<String> {
    let text = texts.expand(library, prompt).map_err(|error| cannot(prompt, &error))?;
    for warning in texts.warnings(prompt) {
        output::warning(&warning);
    }
    Ok(text)
}
