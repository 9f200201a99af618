//! Finds the lines of a prompt's body that a frontmatter has swallowed, because no `---` closes it
//! where it was meant to end.
//!
//! YAML accepts many of them: a heading is a comment, and `First: read it.` is a key.

use super::lenient::{has_key, split_unindented_key};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;

/// The kind of a line of a frontmatter, which only the line and the [`KeyStyle`] determine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Empty,
    Comment,
    /// A heading, or a comment that looks like one.
    Heading,
    Key,
    /// A capitalized key, if the first key is not capitalized: `Note: read it.`.
    CapitalizedKey,
    /// A line that may belong to the key above it.
    Continuation,
    Fence,
    Text,
}

/// How the first key of a frontmatter is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyStyle {
    Lowercase,
    Capitalized,
}

/// Refuses a frontmatter that contains the beginning of the prompt's body, because its closing
/// `---` was forgotten. The `yaml` of the frontmatter must have at least one key.
///
/// # Errors
/// Fails if a line belongs to a body; see [`body_start`].
pub(super) fn refuse_body(yaml: &str, first_line: usize) -> Result<(), Diagnostic> {
    let lines: Vec<&str> = yaml.lines().collect();
    let Some(index) = body_start(&lines) else {
        return Ok(());
    };
    let message = format!(
        "the line {} is in the frontmatter, which ends in line {}",
        quoted(lines[index].trim()),
        first_line + lines.len()
    );
    let fix = "write `---` alone in a line after the last key, or delete this line";
    let position = Position::at_line(first_line + index);
    Err(Diagnostic::error(Some(position), message, fix))
}

/// Returns the index of the first line that belongs to a body:
///
/// - a fence;
/// - a line without a key that has a placeholder, or follows an empty line or a heading;
/// - a capitalized key that follows an empty line or a heading;
/// - a list that follows a heading and belongs to no key;
/// - a heading before such a line, or at the end if it is a [title](is_title).
fn body_start(lines: &[&str]) -> Option<usize> {
    let style = KeyStyle::of(lines);
    let mut above = LinesAbove::default();
    for (index, line) in lines.iter().enumerate() {
        let kind = LineKind::of(line, style);
        if above.are_followed_by_body(kind, line) {
            return Some(above.heading.unwrap_or(index));
        }
        above.add(kind, index, line);
    }
    above.heading.filter(|index| is_title(lines[*index]))
}

/// What is known of the lines above a line.
#[derive(Default)]
struct LinesAbove {
    /// The first line that looks like a heading. If a key follows, it was a comment of YAML.
    heading: Option<usize>,
    /// Whether the last key has its value in the lines below it, such as a list.
    has_open_key: bool,
    end_with_empty_line: bool,
}

impl LinesAbove {
    /// Returns whether the body begins with the next line, or with the heading above it.
    fn are_followed_by_body(&self, next: LineKind, line: &str) -> bool {
        let begins_paragraph = self.end_with_empty_line || self.heading.is_some();
        match next {
            LineKind::Fence => true,
            LineKind::Text => begins_paragraph || has_placeholder(line),
            LineKind::CapitalizedKey => begins_paragraph,
            LineKind::Continuation => self.heading.is_some() && !self.has_open_key,
            LineKind::Empty | LineKind::Comment | LineKind::Heading | LineKind::Key => false,
        }
    }

    /// Adds a line of the frontmatter, which has this index and kind, to those above the next one.
    fn add(&mut self, kind: LineKind, index: usize, line: &str) {
        match kind {
            LineKind::Heading => {
                self.heading.get_or_insert(index);
            }
            LineKind::Key | LineKind::CapitalizedKey => {
                self.heading = None;
                self.has_open_key = is_open(line);
            }
            LineKind::Continuation => self.heading = None,
            LineKind::Empty | LineKind::Comment | LineKind::Fence | LineKind::Text => {}
        }
        self.end_with_empty_line = kind == LineKind::Empty;
    }
}

impl LineKind {
    /// Returns the kind of a line of a frontmatter whose first key has this style. The first kind
    /// that fits counts, so a heading is no comment.
    fn of(line: &str, style: KeyStyle) -> LineKind {
        if line.trim().is_empty() {
            LineKind::Empty
        } else if is_heading(line) {
            LineKind::Heading
        } else if line.trim_start().starts_with('#') {
            LineKind::Comment
        } else if line.starts_with("```") || line.starts_with("~~~") {
            LineKind::Fence
        } else if line.starts_with([' ', '\t', '-', ']', '}']) {
            LineKind::Continuation
        } else if !is_key(line) {
            LineKind::Text
        } else if style == KeyStyle::Lowercase && line.starts_with(char::is_uppercase) {
            LineKind::CapitalizedKey
        } else {
            LineKind::Key
        }
    }
}

impl KeyStyle {
    /// Returns the style of the first key in the lines; without a key, `Lowercase`.
    fn of(lines: &[&str]) -> KeyStyle {
        match lines.iter().find(|line| has_key(line)) {
            Some(line) if line.starts_with(char::is_uppercase) => KeyStyle::Capitalized,
            _ => KeyStyle::Lowercase,
        }
    }
}

/// Returns whether a line begins with a key that is one word, or in quotes.
fn is_key(line: &str) -> bool {
    split_unindented_key(line).is_some_and(|(key, _)| line.starts_with('"') || is_word(key))
}

/// Returns whether a key is one word, and not the number of a step such as `1`.
fn is_word(key: &str) -> bool {
    !key.contains(char::is_whitespace) && !key.starts_with(char::is_numeric)
}

/// Returns whether the value of a key is in the lines below it, as after `tags:` or `title: |`.
fn is_open(line: &str) -> bool {
    split_unindented_key(line)
        .is_some_and(|(_, value)| value.is_empty() || value.starts_with(['|', '>']))
}

/// Returns whether a line looks like a heading of Markdown: one to six `#` and a space.
fn is_heading(line: &str) -> bool {
    let after_signs = line.trim_start_matches('#');
    let level = line.len() - after_signs.len();
    matches!(level, 1..=6) && after_signs.starts_with(' ')
}

/// Returns whether a heading is a title, unlike a comment such as `# end` or `# model: fast`.
fn is_title(heading: &str) -> bool {
    let text = heading.trim_start_matches('#').trim();
    !text.is_empty() && !text.starts_with(char::is_lowercase) && !has_key(text)
}

/// Returns whether a line has the beginning of a placeholder, which no frontmatter needs.
fn has_placeholder(line: &str) -> bool {
    line.contains("{{") || line.contains("<<input>>") || line.contains("$ARGUMENTS")
}
