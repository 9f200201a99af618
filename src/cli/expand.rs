//! `prompt-expander expand`: the text that an agent gets, byte for byte.

use super::call::{Call, Prepared};
use super::output::{self, Reporter};
use super::source::PromptSource;
use crate::api::{self, ExpandedPrompt};
use crate::library::Library;
use crate::prompt::Severity;
use crate::wording::count;
use clap::Args;
use serde_json::json;

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
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let (mut text, note) =
            expansion(self.call, &source.library_with_warnings(reporter), reporter)?;
        if self.json {
            return output::print_json(&json!({ "prompt": text }));
        }
        if !text.ends_with('\n') {
            text.push('\n'); // for the terminal or the next command; nothing else is added
        }
        output::print_verbatim(text.as_bytes())?;
        reporter.note_if_any(note);
        Ok(())
    }
}

/// The expansion, and what to say after it to a person at a terminal. Warnings of the call are
/// printed.
pub(super) fn expansion(
    call: Call,
    library: &Library,
    reporter: &Reporter,
) -> anyhow::Result<(String, Option<String>)> {
    let path = call.file().map(|_| call.name().to_owned());
    let Prepared { view, found, call } = call.prepare(library, reporter)?;
    let ExpandedPrompt { prompt, warnings } =
        api::expand(&found, &call).map_err(reporter.failure(&view, "expand"))?;
    reporter.warn_all(warnings);
    let note = output::terminal_width().and_then(|_| {
        let warnings = found
            .check()
            .iter()
            .filter(|problem| problem.severity() != Severity::Hint)
            .count();
        let typed = path.unwrap_or_else(|| format!(":{}", found.name));
        let command = shlex::try_join(["prompt-expander", "check", &typed]).ok()?;
        (warnings > 0).then(|| {
            format!(
                "`check` has {} for this file: `{command}`",
                count(warnings, "warning")
            )
        })
    });
    Ok((prompt, note))
}
