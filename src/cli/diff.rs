//! `prompt-expander diff`: shows what has changed in a prompt since an earlier version.

use super::history::{editor_for, revision};
use super::output::{self, ADDED, FAINT, REMOVED, Reporter, Styled, styled};
use super::source_options::PromptSource;
use crate::library::{Editor, VersionText, current_version, unified_diff};
use crate::prompt::{Name, Revision};
use crate::wording::{in_backticks, printable_text};
use anstyle::Style;
use clap::Args;
use serde_json::json;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander diff standup            what the last change was
  prompt-expander diff standup 3fa2c1d0   what has changed since then";

#[derive(Debug, Args)]
pub(super) struct Diff {
    /// The name of the prompt, with or without a colon, even if the prompt was deleted
    name: String,
    /// The first characters of the revision to compare with; by default, the version before the
    /// current one
    revision: Option<String>,
    /// Print one JSON object with `name`, the two revisions `from` and `to`, and `diff`; for a
    /// deleted prompt, `to` is `null`
    #[arg(long)]
    json: bool,
}

impl Diff {
    /// Prints the changes since the chosen version of a prompt, by default those of the last
    /// change.
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let library = source.library_with_warnings(reporter);
        let editor = editor_for(&library, source, &self.name)?;
        let comparison = self.compare(&editor)?;
        let diff = comparison.diff();
        if self.json {
            output::print_json(&json!({
                "name": comparison.name,
                "from": comparison.old.revision,
                "to": comparison.new_revision(),
                "diff": diff,
            }))?;
        } else {
            print_diff(&diff)?;
        }
        if diff.is_empty() {
            reporter.note(&format!(
                "{} has the same text as that version",
                in_backticks(&comparison.name)
            ));
        }
        Ok(())
    }

    /// Reads the chosen version of the prompt, and the current one.
    fn compare(&self, editor: &Editor<'_>) -> anyhow::Result<Comparison> {
        let name = editor.resolve_name(&self.name)?;
        let versions = editor.history(&name)?;
        let current_revision = current_version(&versions).map(|version| version.revision);
        let old = match &self.revision {
            Some(typed) => read_version(editor, &name, revision(&name, &versions, typed)?)?,
            None => editor.version_before(&name, current_revision)?,
        };
        let new = match current_revision {
            Some(revision) => Some(read_version(editor, &name, revision)?),
            None => None,
        };
        Ok(Comparison { name, old, new })
    }
}

fn read_version(
    editor: &Editor<'_>,
    name: &Name,
    revision: Revision,
) -> anyhow::Result<VersionText> {
    let text = editor.version(name, revision)?;
    Ok(VersionText { revision, text })
}

/// The two versions of a prompt to compare.
struct Comparison {
    name: Name,
    old: VersionText,
    /// The current version, or `None` if the prompt was deleted.
    new: Option<VersionText>,
}

impl Comparison {
    fn new_revision(&self) -> Option<Revision> {
        self.new.as_ref().map(|version| version.revision)
    }

    /// Returns the diff, which is empty if both versions have the same text. A deleted prompt
    /// counts as an empty text.
    fn diff(&self) -> String {
        let old_label = self.old.revision.to_string();
        let old = (old_label.as_str(), self.old.text.as_str());
        match &self.new {
            Some(new) => unified_diff(old, (&new.revision.to_string(), &new.text)),
            None => unified_diff(old, ("deleted", "")),
        }
    }
}

/// Prints a diff: colored on a terminal, and otherwise byte for byte.
pub(super) fn print_diff(diff: &str) -> anyhow::Result<()> {
    if output::terminal_width().is_none() {
        return output::print_verbatim(diff.as_bytes());
    }
    output::print(&diff.lines().map(colored).collect())
}

/// Colors a line of a diff, and makes it printable even where it isn't printed on a terminal, e.g.
/// in the log of a test run.
pub(super) fn colored(line: &str) -> Styled {
    let is_header = line.starts_with("--- ") || line.starts_with("+++ ");
    let style = if is_header { FAINT } else { style_of(line) };
    styled(style, printable_text(line)).plain("\n")
}

/// Returns the color of a line in a diff, below its header.
pub(super) fn style_of(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'@') => FAINT,
        Some(b'-') => REMOVED,
        Some(b'+') => ADDED,
        _ => Style::new(),
    }
}
