//! `prompt-expander copy`: copies the expansion to the clipboard.

use super::call::Call;
use super::expand::expansion;
use super::output::Reporter;
use super::source::PromptSource;
use super::{clipboard, output};
use crate::wording::count;
use clap::Args;
use serde_json::json;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander copy research solar cells
  git diff | prompt-expander copy review focus on locks";

#[derive(Debug, Args)]
pub(super) struct Copy {
    #[command(flatten)]
    call: Call,
    /// Print one JSON object: `copied`, the number of characters
    #[arg(long)]
    json: bool,
}

impl Copy {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let (text, note) = expansion(self.call, &source.library_with_warnings(reporter), reporter)?;
        clipboard::copy(&text, reporter)?;
        let characters = text.chars().count();
        if self.json {
            return output::print_json(&json!({ "copied": characters }));
        }
        output::print(&format!("copied {}\n", count(characters, "character")).into())?;
        reporter.note_if_any(note);
        Ok(())
    }
}
