//! A review: shows the texts of somebody else, and what should not be overlooked in them, before
//! the user decides whether to take them.

use super::diff::style_of;
use super::output::{self, NAME, Reporter, Styled, WARNING, cut, one_line, styled};
use super::pager;
use crate::library::{Found, unified_diff};
use crate::prompt::Severity;
use crate::prompt::notable::{find_notable, with_invisible_escaped};
use crate::wording::count;
use anyhow::bail;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

/// The most notes that are shown after the texts. A longer list comes before them.
const MAX_NOTES: usize = 40;

/// The length at which a description or a line is cut off, in characters.
const MAX_SHOWN: usize = 200;

/// The heading of the notes.
const NOTES_HEADING: &str = "\nNew in these texts:\n";

/// What the user reviews. Every invisible character is shown, even a usual one.
#[derive(Default)]
pub(super) struct Review {
    /// How many texts are not shown, because the user has accepted them before.
    pub(super) unchanged: usize,
    /// A line for each prompt that is new, changed or removed.
    summary: Styled,
    /// The texts, as differences.
    texts: Styled,
    /// What should not be overlooked in what is new.
    notes: BTreeSet<ReviewNote>,
}

/// A text to review.
pub(super) struct ReviewedText<'t> {
    /// The name of the prompt, or the path of a file that is not a prompt.
    pub(super) name: &'t str,
    /// The description of the prompt, or what its text is for.
    pub(super) about: &'t str,
    /// The text that the user has accepted before; empty for a new text.
    pub(super) before: &'t str,
    pub(super) text: &'t str,
}

/// Something notable in a text, such as an address.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ReviewNote {
    /// The note with the name of the prompt: `address https://a.example  (:acme/review)`.
    text: String,
    /// The line of an address or a path, with its number.
    line: Option<String>,
}

impl Review {
    /// Returns whether no text is new, changed or removed.
    pub(super) fn is_empty(&self) -> bool {
        self.summary.is_empty()
    }

    /// Adds a text that is new or was changed.
    pub(super) fn add(&mut self, reviewed: &ReviewedText<'_>) {
        let name = with_invisible_escaped(reviewed.name);
        let name_line = styled(NAME, format!(":{name}"));
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
        let about = with_invisible_escaped(&about);
        let summary = format!("  {change} {lines}, {characters}: {about}\n");
        self.summary.append(name_line.clone().plain(summary));
        self.texts.push("\n");
        self.texts.append(name_line.plain("\n"));
        let difference = unified_diff(("", &before), ("", &text));
        for line in difference.split_terminator('\n').skip(2) {
            let shown = styled(style_of(line), with_invisible_escaped(line)).plain("\n");
            self.texts.append(shown);
        }
        self.add_notes(&name, &before, &text);
    }

    /// Adds what is notable in a text and was not before.
    fn add_notes(&mut self, name: &str, before: &str, text: &str) {
        if name.split('/').any(mixes_scripts) {
            self.notes.insert(ReviewNote {
                text: format!("name {}  (:{name})", name.escape_default()),
                line: None,
            });
        }
        let known = find_notable(before);
        let lines: Vec<&str> = text.lines().collect();
        for (note, number) in find_notable(text) {
            if known.contains_key(&note) {
                continue;
            }
            let mut line = None;
            if note.starts_with("path ") || note.starts_with("address ") {
                let shown = cut(lines[number - 1].trim(), MAX_SHOWN);
                let shown = with_invisible_escaped(&shown);
                line = Some(format!("line {number}: {shown}"));
            }
            self.notes.insert(ReviewNote {
                text: format!("{}  (:{name})", with_invisible_escaped(&note)),
                line,
            });
        }
    }

    /// Adds a prompt that is removed.
    pub(super) fn add_removed(&mut self, name: &str) {
        let name = styled(NAME, format!(":{}", with_invisible_escaped(name)));
        self.summary.append(name.plain("  removed\n"));
    }

    /// Shows everything, and asks unless `yes`. Returns whether the user agrees.
    ///
    /// # Errors
    /// There is no terminal to show the texts on, and no `yes`. The error names the `options` that
    /// take the texts without a question, such as `--yes`.
    pub(super) fn is_accepted(
        &self,
        question: &str,
        yes: bool,
        options: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        if !yes && !io::stdout().is_terminal() {
            bail!("not on a terminal: read the texts elsewhere, then use {options}");
        }
        let NotePages { first, last } = self.note_pages();
        let mut page = self.summary.clone();
        if self.unchanged > 0 {
            page.push(format!("{} unchanged\n", count(self.unchanged, "text")));
        }
        page.append(first);
        page.append(self.texts.clone());
        pager::show(&page)?;
        if !last.is_empty() {
            output::print(&last.plain("\n"))?;
        }
        Ok(yes || reporter.confirm(question, "take them unseen")?)
    }

    /// Divides the notes into those before the texts and those after them.
    ///
    /// What is read last is remembered best, so they come after the texts. A long list would push
    /// itself out of sight, so that it comes before them, except for the hidden characters, which
    /// nobody sees in the texts.
    fn note_pages(&self) -> NotePages {
        let is_long = self.notes.len() > MAX_NOTES;
        let mut pages = NotePages::default();
        let mut first_count = 0;
        for note in &self.notes {
            if is_long && !note.is_hidden() {
                note.add_to(&mut pages.first);
                first_count += 1;
            } else {
                note.add_to(&mut pages.last);
            }
        }
        if first_count > 0 {
            let lines = count(first_count, "line");
            let line = format!("  addresses, commands and paths: {lines} before the texts\n");
            if pages.last.is_empty() {
                add_heading(&mut pages.last);
            }
            pages.last.push(line);
        }
        pages
    }
}

/// The notes before and after the texts, each with a heading.
#[derive(Default)]
struct NotePages {
    first: Styled,
    last: Styled,
}

impl ReviewNote {
    /// Returns whether the note is about characters that nobody sees in the texts.
    fn is_hidden(&self) -> bool {
        self.text.starts_with("hidden")
    }

    /// Adds the note to a page, which gets a heading before its first note.
    fn add_to(&self, page: &mut Styled) {
        if page.is_empty() {
            add_heading(page);
        }
        page.push("  ");
        page.append(styled(WARNING, self.text.as_str()).plain("\n"));
        if let Some(line) = &self.line {
            page.push(format!("    {line}\n"));
        }
    }
}

fn add_heading(page: &mut Styled) {
    page.push(NOTES_HEADING);
}

/// Returns whether a name mixes ASCII letters with others, which may look like them.
fn mixes_scripts(part: &str) -> bool {
    !part.is_ascii() && part.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// Returns the description of a prompt, or why it is broken.
pub(super) fn about(found: &Found) -> String {
    for problem in found.check() {
        if problem.severity() == Severity::Error {
            return format!("broken: {}", problem.message);
        }
    }
    match found.info().summary {
        Ok(summary) => summary.description.clone().unwrap_or_default(),
        Err(_) => String::new(),
    }
}
