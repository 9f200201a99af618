//! `prompt-expander history`: the versions of a prompt; and what `diff` and `restore` have in
//! common with it.

use super::output::{self, Reporter, Styled, Table, relative_time};
use super::source::PromptSource;
use crate::library::{Caller, Editor, Layer, Library, Operation, Version};
use crate::prompt::{Name, Revision};
use crate::wording::{alternatives, quoted};
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
pub(super) struct History {
    /// The prompt's name, with or without a colon; it may have been deleted
    name: String,
    /// Print one JSON object: `name`, and `versions` with revision, at (the time), operation
    /// (`create`, `update`, `delete`, `restore` or `by_hand`), author, note and current, the newest
    /// first
    #[arg(long)]
    json: bool,
}

impl History {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let library = source.library_with_warnings(reporter);
        let editor = editor_for(&library, source, &self.name)?;
        let name = editor.resolve(&self.name)?;
        let versions = editor.history(&name)?;
        if self.json {
            return output::print_json(&json!({ "name": name, "versions": versions }));
        }
        if output::terminal_width().is_some() {
            return output::print(&table(&versions, Timestamp::now()));
        }
        let mut lines = String::new();
        for version in &versions {
            lines += &line_for_scripts(version);
        }
        output::print_verbatim(lines.as_bytes())
    }
}

/// Returns the editor of a prompt: with --project, that of the project; else that of the user or,
/// if only the team has the prompt, that of the team.
///
/// # Errors
/// There is no folder to write to.
pub(super) fn editor_for<'l>(
    library: &'l Library,
    source: &PromptSource,
    name: &str,
) -> anyhow::Result<Editor<'l>> {
    let caller = Caller::local();
    if source.project {
        return Ok(library.editor_of(Layer::PROJECT, &caller)?);
    }
    let own = library.editor_of(Layer::USER, &caller)?;
    if own.resolve(name).is_err()
        && let Ok(team) = library.editor_of(Layer::TEAM, &caller)
        && team.resolve(name).is_ok()
    {
        return Ok(team);
    }
    Ok(own)
}

/// Returns the revision of the current text; `None` if the prompt was deleted.
pub(super) fn current_revision(versions: &[Version]) -> Option<Revision> {
    let newest = versions.first()?;
    newest.is_current.then_some(newest.revision)
}

/// Returns the revision of a prompt that begins with what was typed.
///
/// # Errors
/// None of the versions has such a revision, or several have.
pub(super) fn revision(name: &Name, versions: &[Version], typed: &str) -> anyhow::Result<Revision> {
    let start = typed.to_ascii_lowercase();
    let mut matching = BTreeSet::new();
    for version in versions {
        let revision = version.revision.to_string();
        if revision.starts_with(&start) {
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
            alternatives(&matching)
        ),
    }
}

fn change(version: &Version) -> &'static str {
    match version.operation {
        Operation::Create => "created",
        Operation::Update => "updated",
        Operation::Delete => "deleted",
        Operation::Restore => "restored",
        Operation::ByHand => "by hand",
    }
}

/// Returns a line with tabs between revision, time, change, author and note.
fn line_for_scripts(version: &Version) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}\n",
        version.revision,
        version.at,
        change(version),
        in_one_line(&version.author),
        in_one_line(&version.note)
    )
}

fn in_one_line(text: &Option<String>) -> String {
    output::one_line(text.as_deref().unwrap_or_default())
}

/// Returns the versions as a table for people, with the times relative to `now`.
fn table(versions: &[Version], now: Timestamp) -> Styled {
    let mut table = Table::new(["REVISION", "WHEN", "CHANGE", "AUTHOR", "NOTE"]);
    for version in versions {
        let mut note = in_one_line(&version.note);
        if version.is_current {
            note = format!("(current) {note}").trim_end().to_owned();
        }
        table.add([
            version.revision.short(),
            relative_time(version.at, now),
            change(version).to_owned(),
            in_one_line(&version.author),
            note,
        ]);
    }
    table.styled()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(at: &str, operation: Operation) -> Version {
        Version {
            revision: Revision::of(at.as_bytes()),
            at: at.parse().unwrap(),
            operation,
            ..Version::default()
        }
    }

    #[test]
    fn people_get_a_table_with_relative_times_without_empty_columns() {
        let newest = Version {
            note: Some("shorter\nnow".to_owned()),
            is_current: true,
            ..version("2026-03-01T11:58:00Z", Operation::Update)
        };
        let oldest = version("2025-12-24T10:00:00Z", Operation::ByHand);
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        let want = format!(
            "REVISION  WHEN           CHANGE   NOTE\n\
             {}  2 minutes ago  updated  (current) shorter now\n\
             {}  2025-12-24     by hand\n",
            newest.revision.short(),
            oldest.revision.short()
        );
        assert_eq!(table(&[newest, oldest], now).without_styles(), want);
    }
}
