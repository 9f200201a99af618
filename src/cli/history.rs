//! `prompt-expander history`: lists the versions of a prompt. Also contains what `diff` and
//! `restore` share with it.

use super::output::{self, Reporter};
use super::source_options::PromptSource;
use crate::library::{Caller, Editor, Layer, Library, Operation, Version};
use crate::prompt::{Name, Revision};
use crate::wording::{or_list, quoted};
use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use std::collections::BTreeSet;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander history standup
  prompt-expander history standup | cut -f 1   only the revisions";

#[derive(Debug, Args)]
pub(super) struct HistoryCommand {
    /// The name of the prompt, with or without a colon, even if the prompt was deleted
    name: String,
    /// Print one JSON object with `name` and `versions`, newest first, each with revision, at (the
    /// time), operation (`create`, `update`, `delete`, `restore` or `by_hand`), author, note and
    /// current
    #[arg(long)]
    json: bool,
}

impl HistoryCommand {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let library = source.library_with_warnings(reporter);
        let editor = editor_for(&library, source, &self.name)?;
        let name = editor.resolve_name(&self.name)?;
        let versions = editor.history(&name)?;
        if self.json {
            return output::print_json(&json!({ "name": name, "versions": versions }));
        }
        let is_for_people = output::terminal_width().is_some();
        let now = Timestamp::now();
        let mut rows = Vec::new();
        for version in &versions {
            rows.push(if is_for_people {
                row_for_people(version, now)
            } else {
                row_for_scripts(version)
            });
        }
        output::print_table(["REVISION", "WHEN", "CHANGE", "AUTHOR", "NOTE"], &rows)
    }
}

/// Returns the editor for a prompt: the project's with `--project`, the team's if only the team has
/// this prompt, and otherwise the user's.
///
/// # Errors
/// Fails if there is no folder to write to.
pub(super) fn editor_for<'l>(
    library: &'l Library,
    source: &PromptSource,
    name: &str,
) -> anyhow::Result<Editor<'l>> {
    let caller = Caller::local();
    if source.project {
        return Ok(library.editor_for_layer(Layer::PROJECT, &caller)?);
    }
    let own = library.editor_for_layer(Layer::USER, &caller)?;
    if own.resolve_name(name).is_err()
        && let Ok(team) = library.editor_for_layer(Layer::TEAM, &caller)
        && team.resolve_name(name).is_ok()
    {
        return Ok(team);
    }
    Ok(own)
}

/// Returns the revision that the user identified by its first characters.
///
/// # Errors
/// Fails if no revision, or more than one, begins with these characters.
pub(super) fn revision(name: &Name, versions: &[Version], typed: &str) -> anyhow::Result<Revision> {
    let prefix = typed.to_ascii_lowercase();
    let mut matching = BTreeSet::new(); // several versions may have the same revision
    for version in versions {
        let revision = version.revision.to_string();
        if revision.starts_with(&prefix) {
            matching.insert(revision);
        }
    }
    let matching: Vec<&String> = matching.iter().collect();
    match matching[..] {
        [revision] => revision.parse().map_err(anyhow::Error::msg),
        [] => bail!(
            "no version has the revision {}; `prompt-expander history {name}` lists all",
            quoted(typed)
        ),
        _ => bail!(
            "several revisions begin with {}: {}; write more of it",
            quoted(typed),
            or_list(&matching)
        ),
    }
}

fn operation_label(version: &Version) -> &'static str {
    match version.operation {
        Operation::Create => "created",
        Operation::Update => "updated",
        Operation::Delete => "deleted",
        Operation::Restore => "restored",
        Operation::ByHand => "by hand",
    }
}

fn row_for_scripts(version: &Version) -> [String; 5] {
    [
        version.revision.to_string(),
        version.at.to_string(),
        operation_label(version).to_owned(),
        in_one_line(&version.author),
        in_one_line(&version.note),
    ]
}

/// Returns the row for a terminal: with a short revision, a relative time, and a mark if the
/// version is the current one.
fn row_for_people(version: &Version, now: Timestamp) -> [String; 5] {
    let mut note = in_one_line(&version.note);
    if version.is_current {
        note = format!("(current) {note}");
    }
    [
        version.revision.short(),
        relative_time(version.at, now),
        operation_label(version).to_owned(),
        in_one_line(&version.author),
        note,
    ]
}

fn in_one_line(text: &Option<String>) -> String {
    output::one_line(text.as_deref().unwrap_or_default())
}

/// Formats a time relative to now, e.g. `2 hours ago`. Formats it as a date if it is more than 30
/// days ago, or in the future.
fn relative_time(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - time.as_second();
    let (number, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400..=2_592_000 => (seconds / 86_400, "day"),
        _ => return time.strftime("%Y-%m-%d").to_string(),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_relative_for_a_month() {
        let now = Timestamp::from_second(1_780_000_000).unwrap();
        for (seconds, want) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (7_199, "1 hour ago"),
            (7_200, "2 hours ago"),
            (86_400, "1 day ago"),
            (2_592_000, "30 days ago"),
            (2_592_001, "2026-04-28"),
            (-60, "2026-05-28"),
        ] {
            let time = Timestamp::from_second(1_780_000_000 - seconds).unwrap();
            assert_eq!(relative_time(time, now), want, "{seconds}");
        }
    }
}
