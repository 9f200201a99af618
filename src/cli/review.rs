//! A review: shows the texts of somebody else, and what should not be overlooked in them, before
//! the user decides whether to take them.

use super::diff::style_of;
use super::output::{self, NAME, Reporter, Styled, cut, one_line, styled};
use super::pager;
use crate::library::{Found, difference};
use crate::prompt::Severity;
use crate::prompt::notable::{notable, with_invisible_escaped};
use crate::wording::count;
use anyhow::bail;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

/// The most notes that are shown after the texts; more come before them.
const MAX_NOTES: usize = 40;

/// How much of a description or a line is shown, in characters.
const MAX_SHOWN: usize = 200;

/// What the user reviews. Every invisible character is shown, even a usual one.
#[derive(Default)]
pub(super) struct Review {
    /// A line for each prompt that is new, changed or removed.
    summary: Vec<Styled>,
    /// The texts, as differences.
    texts: Styled,
    /// What should not be overlooked in what is new.
    notes: BTreeSet<String>,
}

/// A text to review.
pub(super) struct ReviewedText<'t> {
    /// The name of the prompt, or the path of a file that is no prompt.
    pub(super) name: &'t str,
    /// The description of the prompt, or what its text is for.
    pub(super) about: &'t str,
    /// The text that the user has accepted before; empty for a new text.
    pub(super) before: &'t str,
    pub(super) text: &'t str,
}

impl Review {
    pub(super) fn is_empty(&self) -> bool {
        self.summary.is_empty()
    }

    /// Adds a text that is new or was changed.
    pub(super) fn add(&mut self, reviewed: &ReviewedText<'_>) {
        let name = with_invisible_escaped(reviewed.name);
        let before = reviewed.before.replace("\r\n", "\n");
        let text = reviewed.text.replace("\r\n", "\n");
        let change = if before.is_empty() {
            "new,"
        } else {
            "changed, now"
        };
        let lines = count(text.lines().count(), "line");
        let characters = count(text.chars().count(), "character");
        let about = one_line(reviewed.about);
        let about = cut(&about, MAX_SHOWN);
        let name_line = styled(NAME, format!(":{name}"));
        let about = with_invisible_escaped(&about);
        self.summary.push(
            name_line
                .clone()
                .plain(format!("  {change} {lines}, {characters}: {about}\n")),
        );
        self.texts.push("\n");
        self.texts.append(name_line.plain("\n"));
        let difference = difference(("", &before), ("", &text));
        for line in difference.split_terminator('\n').skip(2) {
            let shown = styled(style_of(line), with_invisible_escaped(line)).plain("\n");
            self.texts.append(shown);
        }
        self.add_notes(&name, &before, &text);
    }

    /// Adds what is notable in a text and was not before.
    fn add_notes(&mut self, name: &str, before: &str, text: &str) {
        if name.split('/').any(mixes_scripts) {
            let note = format!("  name {}  (:{name})\n", name.escape_default());
            self.notes.insert(note);
        }
        let known = notable(before);
        let lines: Vec<&str> = text.lines().collect();
        for (note, number) in notable(text) {
            if known.contains_key(&note) {
                continue;
            }
            let mut shown = format!("  {}  (:{name})\n", with_invisible_escaped(&note));
            if note.starts_with("path ") || note.starts_with("address ") {
                let line = cut(lines[number - 1].trim(), MAX_SHOWN);
                shown += &format!("    line {number}: {}\n", with_invisible_escaped(&line));
            }
            self.notes.insert(shown);
        }
    }

    /// Adds a prompt that is removed.
    pub(super) fn add_removed(&mut self, name: &str) {
        let name = styled(NAME, format!(":{}", with_invisible_escaped(name)));
        self.summary.push(name.plain("  removed\n"));
    }

    /// Adds a line after those of the prompts.
    pub(super) fn add_line(&mut self, line: &str) {
        self.summary.push(format!("{line}\n").into());
    }

    /// Shows everything, and asks unless `yes`. Returns whether the user agrees. `unseen` says what
    /// --yes would do.
    ///
    /// # Errors
    /// There is no terminal to show the texts on, and no `yes`.
    pub(super) fn is_accepted(
        &self,
        question: &str,
        yes: bool,
        unseen: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        const HEAD: &str = "\nNew in these texts:\n";
        if !yes && !io::stdout().is_terminal() {
            bail!(
                "the texts are shown only on a terminal, and there is none; add --yes to {unseen}"
            );
        }
        // What is read last is remembered best. A long list would push itself out of sight, except
        // what nobody sees in the texts.
        let is_short = self.notes.len() <= MAX_NOTES;
        let mut first: Vec<&str> = Vec::new();
        let mut last: Vec<&str> = Vec::new();
        for note in &self.notes {
            if is_short || note.starts_with("  hidden") {
                last.push(note);
            } else {
                first.push(note);
            }
        }
        let more = format!(
            "  addresses, commands and paths: {} before the texts\n",
            count(first.len(), "line")
        );
        if !first.is_empty() {
            first.insert(0, HEAD);
            last.push(&more);
        }
        let mut page: Styled = self.summary.iter().cloned().collect();
        page.push(first.concat());
        page.append(self.texts.clone());
        pager::show(&page)?;
        if !last.is_empty() {
            output::print(&format!("{HEAD}{}\n", last.concat()).into())?;
        }
        Ok(yes || reporter.confirm(question, unseen)?)
    }
}

/// Returns whether a name mixes ASCII letters with others, which may look like them.
fn mixes_scripts(part: &str) -> bool {
    !part.is_ascii() && part.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// Returns the description of a prompt, or why it is broken.
pub(super) fn about(found: &Found) -> String {
    let error = found
        .check()
        .into_iter()
        .find(|problem| problem.severity() == Severity::Error);
    if let Some(error) = error {
        return format!("broken: {}", error.message);
    }
    let summary = found.info().summary;
    let description = summary.ok().and_then(|summary| summary.description.clone());
    description.unwrap_or_default()
}
