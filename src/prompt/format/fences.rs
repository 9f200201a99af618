//! The lines that open and close the frontmatter of a Markdown file.

use super::frontmatter::{Dialect, KEYS};
use super::lenient;
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::MAX_FRONTMATTER;
use crate::wording::{quoted, too_long};

/// The text of a file, divided at the lines that open and close its frontmatter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split<'t> {
    /// The text between these two lines, which begins in line 2. `None` if line 1 is not `---`.
    pub(crate) yaml: Option<&'t str>,
    /// The text after the closing line.
    pub(crate) body: &'t str,
    /// The line of the file in which the body begins, counted from 1.
    pub(crate) body_line: usize,
    /// A warning about a closing line that is not `---`.
    pub(crate) warning: Option<Diagnostic>,
}

impl Split<'_> {
    /// Returns the split of a text that has no frontmatter: all of it is the body.
    pub(crate) fn body_only(text: &str) -> Split<'_> {
        Split {
            yaml: None,
            body: text,
            body_line: 1,
            warning: None,
        }
    }
}

/// Divides a text at the first line, if it is `---`, and at the next line `---`.
///
/// Spaces may follow the `---`. In this program's own files, a line that is only similar to `---`
/// closes the frontmatter, too, if a key is above it ([`is_similar_to_fence`]).
///
/// # Errors
/// Fails if the frontmatter is never closed, or is longer than [`MAX_FRONTMATTER`].
pub(crate) fn split(text: &str, dialect: Dialect) -> Result<Split<'_>, Diagnostic> {
    let mut lines = text.split_inclusive('\n');
    let Some(opening) = lines.next().filter(|line| is_fence(line)) else {
        return Ok(Split::body_only(text));
    };
    let yaml_start = opening.len();
    let mut line_start = yaml_start;
    let mut has_key = false;
    for (number, line) in (2..).zip(lines) {
        let mut warning = None;
        if dialect == Dialect::Own && has_key && is_similar_to_fence(line) {
            warning = Some(similar_fence_warning(line, number));
        }
        if is_fence(line) || warning.is_some() {
            let yaml = &text[yaml_start..line_start];
            refuse_long(yaml)?;
            return Ok(Split {
                yaml: Some(yaml),
                body: &text[line_start + line.len()..],
                body_line: number + 1,
                warning,
            });
        }
        line_start += line.len();
        has_key = has_key || lenient::has_key(line);
    }
    Err(Diagnostic::error(
        Some(Position::START),
        "the frontmatter that line 1 opens with `---` is never closed",
        "add a line `---` after its last key, or write the rule in line 1 as `***` if no frontmatter is meant",
    ))
}

/// Refuses a frontmatter that is longer than [`MAX_FRONTMATTER`].
fn refuse_long(yaml: &str) -> Result<(), Diagnostic> {
    if yaml.len() <= MAX_FRONTMATTER {
        return Ok(());
    }
    let length = too_long(yaml.len(), MAX_FRONTMATTER);
    Err(Diagnostic::error(
        Some(Position::START),
        format!("the frontmatter is {length}"),
        "move what is not `title`, `description`, `arguments` or `tags` into the body",
    ))
}

/// Returns whether a line is `---`, perhaps with spaces after it.
fn is_fence(line: &str) -> bool {
    match line.strip_prefix("---") {
        Some(after_dashes) => after_dashes.trim_end().is_empty(),
        None => false,
    }
}

/// Returns whether a line closes frontmatter for other programs, or was meant to: it has three or
/// more dashes or dots, and nothing after them but a comment, as in `...`, `----` or `--- # end`.
/// The line `---` itself is not similar.
fn is_similar_to_fence(line: &str) -> bool {
    let mark = if line.starts_with('.') { '.' } else { '-' };
    let after_marks = line.trim_start_matches(mark);
    let mark_count = line.len() - after_marks.len();
    if mark_count < 3 || is_fence(line) {
        return false;
    }
    let has_comment =
        after_marks.starts_with([' ', '\t']) && after_marks.trim_start().starts_with('#');
    has_comment || after_marks.trim_end().is_empty()
}

/// Returns the warning about a line that closes the frontmatter and is not `---`.
fn similar_fence_warning(line: &str, number: usize) -> Diagnostic {
    Diagnostic::warning(
        Some(Position::at_line(number)),
        format!("{} closes the frontmatter here", quoted(line.trim_end())),
        "write `---` instead, or, if the frontmatter goes on below it, delete the line",
    )
}

/// Returns a warning about a text without frontmatter if something in it looks like frontmatter:
/// known keys without a `---` above them, or a first line that is similar to `---`.
pub(super) fn misplaced(text: &str) -> Option<Diagnostic> {
    if has_unopened_keys(text) {
        return Some(Diagnostic::warning(
            Some(Position::START),
            "the keys above the first `---` are part of the prompt's text",
            "write `---` alone in a line before them, too, if they are meant as frontmatter",
        ));
    }
    let text_after_blanks = text.trim_start();
    let first_line = text_after_blanks.lines().next()?;
    let is_like_fence = LIKE_FENCE.iter().any(|mark| first_line.starts_with(mark));
    if !is_like_fence {
        return None;
    }
    let line_start = text.len() - text_after_blanks.len();
    let line = quoted(first_line);
    Some(Diagnostic::warning(
        Some(Position::in_text(text, line_start, 1)),
        format!("the line {line} does not open frontmatter, and is part of the prompt's text"),
        "write `---` alone in line 1, and once more after the last key; or write a rule as `***`",
    ))
}

/// The beginnings of a first line that was perhaps meant as `---`.
const LIKE_FENCE: [&str; 4] = ["--", "+++", "—", "–"];

/// Returns whether the `---` that opens the frontmatter seems to be missing: the text begins with a
/// known key, and a line `---` follows the keys.
fn has_unopened_keys(text: &str) -> bool {
    let first_line = text.lines().next().unwrap_or_default();
    let Some((first_key, _)) = lenient::split_unindented_key(first_line) else {
        return false;
    };
    if !KEYS.contains(&first_key) {
        return false;
    }
    for line in text.lines() {
        if is_fence(line) || is_similar_to_fence(line) {
            return true;
        }
        if !lenient::belongs_to_keys(line) {
            return false;
        }
    }
    false
}
