//! `prompt-expander expand`: the text that an agent gets, byte for byte.

use super::call::Call;
use super::output;
use super::prompts::{OnServer, Prompts};
use super::source::PromptSource;
use crate::report::Expansion;
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
    #[command(flatten)]
    server: OnServer,
}

impl Expand {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let mut text = expansion(self.call, &self.server.prompts(source)?)?;
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
pub(super) fn expansion(call: Call, prompts: &Prompts) -> anyhow::Result<String> {
    let Expansion { prompt, warnings } = prompts.expand(call)?;
    for warning in warnings {
        output::warning(&warning);
    }
    Ok(prompt)
}
