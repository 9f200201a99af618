//! Detects frontmatter that contains the beginning of the prompt's body, because the closing `---`
//! was forgotten and a later `---` closes it.
//!
//! The YAML parser often doesn't notice: a Markdown heading is a YAML comment, and
//! `First: read it.` is a valid key.

use super::lenient::{has_key, split_unindented_key};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;

/// What a line looks like, judged without its context except for the [`KeyStyle`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    Comment,
    /// A Markdown heading, or a YAML comment that looks like one.
    Heading,
    Key,
    /// A capitalized key in frontmatter whose first key is lowercase, e.g. `Note: read it.`
    CapitalizedKey,
    /// An indented line or list item, which may belong to the key above it.
    Continuation,
    /// A line that opens or closes a Markdown code block.
    Fence,
    /// Anything else, i.e. a line that has no key.
    Text,
}

/// How the first key of the frontmatter is capitalized.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyStyle {
    Lowercase,
    Capitalized,
}

/// Fails if a line of the frontmatter belongs to the body; see [`find_body_start`].
///
/// `yaml` begins on `first_line` of the file, and must contain at least one key.
///
/// # Errors
/// The error names the first line of the body.
pub(super) fn reject_swallowed_body(yaml: &str, first_line: usize) -> Result<(), Diagnostic> {
    let lines: Vec<&str> = yaml.lines().collect();
    let Some(index) = find_body_start(&lines) else {
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

/// Returns the index of the first line that belongs to the body. That is one of these:
///
/// - a code fence
/// - a line without a key that contains a placeholder, or follows a blank line or a heading
/// - a capitalized key that follows a blank line or a heading
/// - a list item after a heading, if no key is waiting for its value
///
/// If there is a heading above that line, the body begins with the heading. The same is true of a
/// heading at the end, if it looks like a [title](is_body_title) and not like a comment.
fn find_body_start(lines: &[&str]) -> Option<usize> {
    let style = KeyStyle::of_first_key(lines);
    let mut above = LinesAbove::default();
    for (index, line) in lines.iter().enumerate() {
        let kind = LineKind::classify(line, style);
        if above.precede_body(kind, line) {
            return Some(above.heading.unwrap_or(index));
        }
        above.push(kind, index, line);
    }
    above.heading.filter(|index| is_body_title(lines[*index]))
}

/// A summary of the lines that have been read so far.
#[derive(Default)]
struct LinesAbove {
    /// The index of the first heading since the last key. A heading before a key is a YAML comment.
    heading: Option<usize>,
    /// Whether the value of the last key is in the lines below it, e.g. a list.
    last_key_is_open: bool,
    end_with_blank_line: bool,
}

impl LinesAbove {
    /// Returns whether the next line belongs to the body.
    fn precede_body(&self, next: LineKind, line: &str) -> bool {
        let begins_paragraph = self.end_with_blank_line || self.heading.is_some();
        match next {
            LineKind::Fence => true,
            LineKind::Text => begins_paragraph || has_placeholder(line),
            LineKind::CapitalizedKey => begins_paragraph,
            LineKind::Continuation => self.heading.is_some() && !self.last_key_is_open,
            LineKind::Blank | LineKind::Comment | LineKind::Heading | LineKind::Key => false,
        }
    }

    fn push(&mut self, kind: LineKind, index: usize, line: &str) {
        match kind {
            LineKind::Heading => {
                self.heading.get_or_insert(index);
            }
            LineKind::Key | LineKind::CapitalizedKey => {
                self.heading = None;
                self.last_key_is_open = has_value_below(line);
            }
            LineKind::Continuation => self.heading = None,
            LineKind::Blank | LineKind::Comment | LineKind::Fence | LineKind::Text => {}
        }
        self.end_with_blank_line = kind == LineKind::Blank;
    }
}

impl LineKind {
    /// Classifies a line. `style` is that of the first key of the frontmatter.
    fn classify(line: &str, style: KeyStyle) -> LineKind {
        if line.trim().is_empty() {
            LineKind::Blank
        // Must come before `Comment`, since every heading is also a YAML comment.
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
    /// Returns the style of the first key. Defaults to `Lowercase`.
    fn of_first_key(lines: &[&str]) -> KeyStyle {
        match lines.iter().find(|line| has_key(line)) {
            Some(line) if line.starts_with(char::is_uppercase) => KeyStyle::Capitalized,
            _ => KeyStyle::Lowercase,
        }
    }
}

/// Returns whether a line begins with a key that is one word or quoted.
fn is_key(line: &str) -> bool {
    split_unindented_key(line).is_some_and(|(key, _)| line.starts_with('"') || is_word(key))
}

/// Returns whether a key is one word. A number is not, because `1: read it` is a step.
fn is_word(key: &str) -> bool {
    !key.contains(char::is_whitespace) && !key.starts_with(char::is_numeric)
}

/// Returns whether the value of a key is in the lines below it, as with `tags:` or `title: |`.
fn has_value_below(line: &str) -> bool {
    split_unindented_key(line)
        .is_some_and(|(_, value)| value.is_empty() || value.starts_with(['|', '>']))
}

/// Returns whether a line looks like a Markdown heading, i.e. begins with one to six `#` and a
/// space.
fn is_heading(line: &str) -> bool {
    let after_signs = line.trim_start_matches('#');
    let level = line.len() - after_signs.len();
    matches!(level, 1..=6) && after_signs.starts_with(' ')
}

/// Returns whether a heading looks like a title, not like a comment such as `# end` or
/// `# model: fast`.
fn is_body_title(heading: &str) -> bool {
    let text = heading.trim_start_matches('#').trim();
    !text.is_empty() && !text.starts_with(char::is_lowercase) && !has_key(text)
}

/// Returns whether a line contains a placeholder. Frontmatter has no use for placeholders.
fn has_placeholder(line: &str) -> bool {
    line.contains("{{") || line.contains("<<input>>") || line.contains("$ARGUMENTS")
}
