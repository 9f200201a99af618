//! `prompt-expander history`: the versions of a prompt; and what `diff` and `restore` have in
//! common with it.

use super::output::{self, FAINT, NAME, Reporter, Styled, styled};
use super::source::PromptSource;
use crate::library::{Caller, Editor, Layer, Library, Operation, Version};
use crate::prompt::Revision;
use crate::wording::{alternatives, quoted};
use anyhow::bail;
use clap::Args;
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
        let editor = editor_for(&library, source.project, &self.name)?;
        let versions = editor.history(&self.name)?;
        let name = editor.resolve(&self.name)?;
        if self.json {
            return output::print_json(&json!({ "name": name, "versions": versions }));
        }
        if output::terminal_width().is_some() {
            output::print(&versions.iter().map(for_people).collect())
        } else {
            let lines: String = versions.iter().map(for_scripts).collect();
            output::print_verbatim(lines.as_bytes())
        }
    }
}

/// The editor for the user of this machine, in their folder or in the project's. It removes no
/// versions.
///
/// # Errors
/// There is no folder to write to.
pub(super) fn editor(library: &Library, project: bool) -> anyhow::Result<Editor<'_>> {
    Ok(library.editor_of(
        if project { Layer::PROJECT } else { Layer::USER },
        &Caller::local(),
    )?)
}

/// The same for a prompt, which may be the team's if the user has none of this name.
pub(super) fn editor_for<'l>(
    library: &'l Library,
    project: bool,
    name: &str,
) -> anyhow::Result<Editor<'l>> {
    let own = editor(library, project)?;
    if project || own.resolve(name).is_ok() {
        return Ok(own);
    }
    let team = library.editor_of(Layer::TEAM, &Caller::local()).ok();
    Ok(team
        .filter(|team| team.resolve(name).is_ok())
        .unwrap_or(own))
}

/// The revision that begins with what was typed.
pub(super) fn revision(versions: &[Version], typed: &str) -> anyhow::Result<Revision> {
    let known: BTreeSet<String> = versions
        .iter()
        .map(|version| version.revision.to_string())
        .collect();
    let matching: Vec<&String> = known
        .iter()
        .filter(|known| known.starts_with(&typed.to_ascii_lowercase()))
        .collect();
    match matching[..] {
        [only] => only.parse().map_err(anyhow::Error::msg),
        [] => bail!(
            "no version has the revision {}; `prompt-expander history NAME` lists all",
            quoted(typed)
        ),
        _ => bail!(
            "several revisions begin with {}: {}; write more of it",
            quoted(typed),
            alternatives(&matching)
        ),
    }
}

fn done(version: &Version) -> &'static str {
    match version.operation {
        Operation::Create => "created",
        Operation::Update => "updated",
        Operation::Delete => "deleted",
        Operation::Restore => "restored",
        Operation::ByHand => "by hand",
    }
}

/// With tabs between revision, time, what was done, author and note.
fn for_scripts(version: &Version) -> String {
    let text = |text: &Option<String>| output::one_line(text.as_deref().unwrap_or_default());
    let Version {
        revision,
        at,
        author,
        note,
        ..
    } = version;
    format!(
        "{revision}\t{at}\t{}\t{}\t{}\n",
        done(version),
        text(author),
        text(note)
    )
}

fn for_people(version: &Version) -> Styled {
    let at = version.at.strftime("%Y-%m-%d %H:%M:%S UTC");
    let mut about = format!("  {at}  {:<8}", done(version));
    for text in [&version.author, &version.note].into_iter().flatten() {
        about += &format!("  {}", output::one_line(text));
    }
    let line = styled(NAME, version.revision.short());
    if version.is_current {
        let line = line.plain(about + "  ").with(FAINT, "(current)");
        return line.plain("\n");
    }
    line.plain(format!("{}\n", about.trim_end()))
}
