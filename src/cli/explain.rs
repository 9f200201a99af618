//! `prompt-expander explain`: where an expansion comes from, and which agents show all of it.
//!
//! `explain/page.rs` prints the explanation for people.

mod page;

use super::call::Call;
use super::output;
use super::prompts::OnServer;
use super::source::PromptSource;
use clap::Args;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander explain research solar cells
  prompt-expander explain compare --arg options='Rust or Go'
  git diff | prompt-expander explain review focus on locks
  prompt-expander explain ./draft.md solar cells";

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    call: Call,
    /// Print one JSON object: `name`, `title`, `description`, `layer`, `format`, `source`, `includes`, `shadows`, `tags`, `icons`
    /// (their addresses), `usage`, `messages` (the roles of several), `attachments`, `arguments`, `input`, `placeholders`, `left`,
    /// `request` (of a prompt that a service renders),
    /// `expansion` (or `error`) with all `limits`, `warnings` of this call, and `problems` of the file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: OnServer,
}

impl Explain {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let explanation = self.server.prompts(source)?.explain(self.call)?;
        for warning in &explanation.skipped {
            output::warning(warning);
        }
        if self.json {
            output::print_json(&explanation.for_scripts())?;
        } else {
            output::print_paged(&page::of(&explanation, output::terminal_width().unwrap_or(usize::MAX))?)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
