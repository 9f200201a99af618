//! `prompt-expander expand`: prints exactly the text that an agent would get.

use super::call::{CallArgs, Prepared};
use super::output::{self, Reporter};
use super::source_options::PromptSource;
use crate::api;
use crate::library::{Found, Library};
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
    call: CallArgs,
    /// Print one JSON object with the key `prompt`
    #[arg(long)]
    json: bool,
}

impl Expand {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let expansion = expand(self.call, &source.library_with_warnings(reporter), reporter)?;
        if self.json {
            output::print_json(&json!({ "prompt": expansion.text }))?;
        } else {
            print_expansion(&expansion.text)?;
            reporter.note_if_any(expansion.note);
        }
        source.count_uses(expansion.counted.as_slice());
        Ok(())
    }
}

/// Prints an expansion, and adds a final line break if it has none.
pub(super) fn print_expansion(text: &str) -> anyhow::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    output::print_verbatim(format!("{text}{end}").as_bytes())
}

/// What `expand` prints.
pub(super) struct PrintedExpansion {
    /// The text that an agent would get.
    pub(super) text: String,
    /// A note to print after the text.
    pub(super) note: Option<String>,
    /// The prompt, or `None` if the user named its file, which may be only a draft.
    pub(super) counted: Option<Found>,
}

/// Expands a prompt, and prints the warnings about the call.
pub(super) fn expand(
    call: CallArgs,
    library: &Library,
    reporter: &Reporter,
) -> anyhow::Result<PrintedExpansion> {
    let path = call.file().map(|_| call.name().to_owned());
    let Prepared { view, found, call } = call.prepare(library, reporter)?;
    let expanded = api::expand(&found, &call).map_err(reporter.prompt_error(&view, "expand"))?;
    reporter.warn_all(expanded.warnings);
    let mut note = None;
    if output::terminal_width().is_some() {
        let typed = path.clone().unwrap_or_else(|| format!(":{}", found.name));
        note = check_note(&found, &typed);
    }
    Ok(PrintedExpansion {
        text: expanded.prompt,
        note,
        counted: path.is_none().then_some(found),
    })
}

/// If the prompt's file has warnings, returns a note with the command that shows them.
fn check_note(found: &Found, typed: &str) -> Option<String> {
    let problems = found.check();
    let hints = Severity::Hint.count_in(&problems);
    let warnings = problems.len() - hints;
    if warnings == 0 {
        return None;
    }
    let command = shlex::try_join(["prompt-expander", "check", typed]).ok()?;
    Some(format!(
        "`check` has {} for this file: `{command}`",
        count(warnings, "warning")
    ))
}
