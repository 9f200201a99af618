//! `prompt-expander copy`: copies the expansion to the clipboard.

use super::call::CallArgs;
use super::clipboard;
use super::expand::expand;
use super::output::{self, Reporter};
use super::source_options::PromptSource;
use clap::Args;
use serde_json::json;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander copy research solar cells
  git diff | prompt-expander copy review focus on locks";

#[derive(Debug, Args)]
pub(super) struct Copy {
    #[command(flatten)]
    call: CallArgs,
    /// Print one JSON object: `copied`, the number of characters
    #[arg(long)]
    json: bool,
}

impl Copy {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let expansion = expand(self.call, &source.library_with_warnings(reporter), reporter)?;
        let message = clipboard::copy(&expansion.text)?;
        source.count_uses(expansion.counted.as_slice());
        if self.json {
            let characters = expansion.text.chars().count();
            return output::print_json(&json!({ "copied": characters }));
        }
        output::print(&format!("{message}\n").into())?;
        reporter.note_if_any(expansion.note);
        Ok(())
    }
}
