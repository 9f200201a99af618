//! Lets the user review texts that somebody else wrote before accepting them.
//!
//! A review shows each new or changed text as a diff, plus notes about what is easy to miss in it:
//! addresses, paths, commands and invisible characters.

use super::diff::style_of;
use super::output::{self, NAME, Reporter, Styled, WARNING, one_line, styled, truncate};
use super::pager;
use crate::library::{Found, unified_diff};
use crate::prompt::Severity;
use crate::prompt::notable::{find_notable, with_invisible_escaped};
use crate::wording::count;
use anyhow::bail;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

/// With more notes than this, most of them are shown before the diffs instead of after them.
const MAX_NOTES_AFTER_DIFFS: usize = 40;

/// Descriptions and quoted lines are truncated to this many characters.
const MAX_EXCERPT_CHARS: usize = 200;

const NOTES_HEADING: &str = "\nNew in these texts:\n";

/// The texts for the user to review. Every invisible character in them is escaped, even those that
/// are common in ordinary text.
#[derive(Default)]
pub(super) struct Review {
    /// The number of texts that aren't shown because the user has already accepted them.
    pub(super) unchanged: usize,
    /// One line per new, changed or removed prompt.
    summary: Styled,
    /// A diff of each new or changed text.
    diffs: Styled,
    /// What is notable in the new texts, except for what the old texts already contained.
    notes: BTreeSet<ReviewNote>,
}

/// A new or changed text, to be added to a [`Review`].
pub(super) struct ReviewedText<'t> {
    /// The name of the prompt, or the path of a file that isn't a prompt.
    pub(super) name: &'t str,
    /// The prompt's description, or what the file is used for.
    pub(super) description: &'t str,
    /// The version that the user accepted last; empty if the text is new.
    pub(super) old_text: &'t str,
    pub(super) new_text: &'t str,
}

/// Something notable in a text, e.g. an address.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ReviewNote {
    /// What was found, and in which prompt: `address https://a.example  (:acme/review)`.
    finding: String,
    /// For an address or a path, the line that contains it: `line 3: See https://a.example`.
    excerpt: Option<String>,
}

impl Review {
    /// Returns whether there is nothing to review: no text is new, changed or removed.
    pub(super) fn is_empty(&self) -> bool {
        self.summary.is_empty()
    }

    /// Adds a new or changed text.
    pub(super) fn add(&mut self, reviewed: &ReviewedText<'_>) {
        // A change of only the line endings isn't worth a diff.
        let old_text = reviewed.old_text.replace("\r\n", "\n");
        let new_text = reviewed.new_text.replace("\r\n", "\n");
        let name = with_invisible_escaped(reviewed.name);
        let styled_name = styled(NAME, format!(":{name}"));
        let change = if old_text.is_empty() {
            "new,"
        } else {
            "changed, now"
        };
        let lines = count(new_text.lines().count(), "line");
        let characters = count(new_text.chars().count(), "character");
        let description = excerpt(&one_line(reviewed.description));
        let summary_line = format!("  {change} {lines}, {characters}: {description}\n");
        self.summary.append(styled_name.clone().plain(summary_line));
        self.diffs.push("\n");
        self.diffs.append(styled_name.plain("\n"));
        self.add_diff(&old_text, &new_text);
        self.add_notes(&name, &old_text, &new_text);
    }

    fn add_diff(&mut self, old_text: &str, new_text: &str) {
        let diff = unified_diff(("", old_text), ("", new_text));
        // The first two lines are the `---` and `+++` headers, which have no file names here.
        for line in diff.split_terminator('\n').skip(2) {
            let diff_line = styled(style_of(line), with_invisible_escaped(line));
            self.diffs.append(diff_line.plain("\n"));
        }
    }

    /// Adds a note for everything notable in `new_text` that isn't in `old_text`.
    fn add_notes(&mut self, name: &str, old_text: &str, new_text: &str) {
        if name.split('/').any(mixes_scripts) {
            self.notes.insert(ReviewNote {
                finding: format!("name {}  (:{name})", name.escape_default()),
                excerpt: None,
            });
        }
        let old_findings = find_notable(old_text);
        let lines: Vec<&str> = new_text.lines().collect();
        for (finding, line_number) in find_notable(new_text) {
            if old_findings.contains_key(&finding) {
                continue;
            }
            // As `find_notable` words its findings.
            let needs_context = finding.starts_with("path ") || finding.starts_with("address ");
            self.notes.insert(ReviewNote {
                finding: format!("{}  (:{name})", with_invisible_escaped(&finding)),
                excerpt: needs_context.then(|| {
                    let line = excerpt(lines[line_number - 1].trim());
                    format!("line {line_number}: {line}")
                }),
            });
        }
    }

    /// Adds a prompt that was removed.
    pub(super) fn add_removed(&mut self, name: &str) {
        let name = styled(NAME, format!(":{}", with_invisible_escaped(name)));
        self.summary.append(name.plain("  removed\n"));
    }

    /// Shows the review, then asks the user to accept it. With `assume_yes`, shows it without
    /// asking. Returns whether the user accepted.
    ///
    /// # Errors
    /// Fails if standard output isn't a terminal, unless `assume_yes` is set. The error recommends
    /// `yes_options`, the options that accept without asking, e.g. `--yes`.
    pub(super) fn prompt_user_to_accept(
        &self,
        question: &str,
        assume_yes: bool,
        yes_options: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        if !assume_yes && !io::stdout().is_terminal() {
            bail!("not on a terminal: read the texts elsewhere, then use {yes_options}");
        }
        self.show()?;
        let action_of_yes_option = "take them unseen";
        Ok(assume_yes || reporter.confirm(question, action_of_yes_option)?)
    }

    /// Shows the summary, the diffs and possibly notes in the pager. After the pager has closed,
    /// prints the other notes, so that they stay on the screen above the question.
    fn show(&self) -> anyhow::Result<()> {
        let NotePages {
            notes_before_diffs,
            notes_after_diffs,
        } = self.note_pages();
        let mut page = self.summary.clone();
        if self.unchanged > 0 {
            page.push(format!("{} unchanged\n", count(self.unchanged, "text")));
        }
        page.append(notes_before_diffs);
        page.append(self.diffs.clone());
        pager::show(&page)?;
        if !notes_after_diffs.is_empty() {
            output::print(&notes_after_diffs.plain("\n"))?;
        }
        Ok(())
    }

    /// Decides which notes to show before the diffs, and which after them.
    ///
    /// Notes go after the diffs, because people remember best what they read last. A long list
    /// would scroll off the screen, so it goes before the diffs. Hidden characters are the
    /// exception: their notes always come last, because the diffs don't reveal them.
    fn note_pages(&self) -> NotePages {
        let has_many_notes = self.notes.len() > MAX_NOTES_AFTER_DIFFS;
        let mut pages = NotePages::default();
        let mut count_before_diffs = 0;
        for note in &self.notes {
            if has_many_notes && !note.is_about_hidden_characters() {
                note.add_to(&mut pages.notes_before_diffs);
                count_before_diffs += 1;
            } else {
                note.add_to(&mut pages.notes_after_diffs);
            }
        }
        if count_before_diffs > 0 {
            add_heading_if_empty(&mut pages.notes_after_diffs);
            let lines = count(count_before_diffs, "line");
            pages.notes_after_diffs.push(format!(
                "  addresses, commands and paths: {lines} before the texts\n"
            ));
        }
        pages
    }
}

/// The notes to show before and after the diffs. Without notes, a page is empty; otherwise, it
/// begins with a heading.
#[derive(Default)]
struct NotePages {
    notes_before_diffs: Styled,
    notes_after_diffs: Styled,
}

impl ReviewNote {
    fn is_about_hidden_characters(&self) -> bool {
        self.finding.starts_with("hidden") // as `find_notable` words it
    }

    fn add_to(&self, page: &mut Styled) {
        add_heading_if_empty(page);
        page.push("  ");
        page.append(styled(WARNING, self.finding.as_str()).plain("\n"));
        if let Some(excerpt) = &self.excerpt {
            page.push(format!("    {excerpt}\n"));
        }
    }
}

fn add_heading_if_empty(page: &mut Styled) {
    if page.is_empty() {
        page.push(NOTES_HEADING);
    }
}

/// Truncates a line of somebody else's text, and escapes its invisible characters.
fn excerpt(line: &str) -> String {
    with_invisible_escaped(&truncate(line, MAX_EXCERPT_CHARS)).into_owned()
}

/// Returns whether a name contains both ASCII letters and non-ASCII characters, which could be
/// lookalikes of ASCII letters.
fn mixes_scripts(name: &str) -> bool {
    !name.is_ascii() && name.contains(|character: char| character.is_ascii_alphabetic())
}

/// Returns the description of a prompt, or `broken: …` if it can't be used.
pub(super) fn describe(found: &Found) -> String {
    for problem in found.check() {
        if problem.severity() == Severity::Error {
            return format!("broken: {}", problem.message);
        }
    }
    match found.info().summary {
        Ok(summary) => summary.description.clone().unwrap_or_default(),
        Err(diagnostic) => format!("broken: {}", diagnostic.message),
    }
}
