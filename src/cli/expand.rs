//! `prompt-expander expand`: the text that an agent gets, byte for byte.

use super::call::{Call, Prepared};
use super::output;
use super::source::PromptSource;
use crate::api::{self, Expansion};
use crate::library::Library;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander expand research solar cells
  prompt-expander expand --arg options='Rust or Go' compare
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
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let mut text = expansion(self.call, &source.library_with_warnings())?;
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
pub(super) fn expansion(call: Call, library: &Library) -> anyhow::Result<String> {
    let Prepared { view, found, call } = call.prepare(library)?;
    let Expansion { prompt, warnings } = api::expand(&found, &call).map_err(output::failure(&view, "expand"))?;
    for warning in warnings {
        output::warning(&warning);
    }
    Ok(prompt)
}
