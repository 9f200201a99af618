//! `prompt-expander explain`: explains where a prompt comes from, and how its arguments are filled
//! in. `explain/report.rs` formats the explanation for people.

mod report;
mod uses_so_far;

use super::call::{CallArgs, Prepared};
use super::output::{self, Reporter};
use super::source_options::PromptSource;
use crate::api::{self, Explanation};
use clap::Args;
use report::page;
use serde::Serialize;
use uses_so_far::UsesSoFar;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander explain research solar cells
  prompt-expander explain --arg options='Rust or Go' compare
  git diff | prompt-expander explain review focus on locks
  prompt-expander explain ./draft.md solar cells";

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    call: CallArgs,
    /// Print one JSON object with the same facts, and with the limits of all agents
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let Prepared { view, found, call } = self
            .call
            .prepare(&source.library_with_warnings(reporter), reporter)?;
        let explanation =
            api::explain(&view, &found, &call).map_err(reporter.prompt_error(&view, "expand"))?;
        let uses = match explanation.prompt.origin.layer {
            Some(layer) => UsesSoFar::read(source, layer, &found.name),
            None => None, // only a file
        };
        if self.json {
            return output::print_json(&ExplanationWithUses { explanation, uses });
        }
        let columns = output::terminal_width().unwrap_or(usize::MAX); // in a pipe, wraps nothing
        output::print(&page(&explanation, uses.as_ref(), columns))
    }
}

/// An explanation as JSON.
#[derive(Serialize)]
struct ExplanationWithUses {
    #[serde(flatten)]
    explanation: Explanation,
    #[serde(flatten)]
    uses: Option<UsesSoFar>,
}
