//! Finds the `---` lines that open and close the frontmatter of a Markdown file.

use super::frontmatter::{Dialect, FIRST_KEY_LINE, KEYS};
use super::lenient;
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::MAX_FRONTMATTER;
use crate::wording::{quoted, size_and_limit};

/// A file split into frontmatter and body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split<'t> {
    /// The lines between the two fences, beginning on line 2. `None` if there is no frontmatter.
    pub(crate) yaml: Option<&'t str>,
    /// The text below the closing fence.
    pub(crate) body: &'t str,
    /// The line number at which the body begins.
    pub(crate) body_line: usize,
    /// A warning if the closing fence is misspelled, e.g. `----`.
    pub(crate) warning: Option<Diagnostic>,
}

impl Split<'_> {
    /// Creates the split of a text without frontmatter.
    pub(crate) fn body_only(text: &str) -> Split<'_> {
        Split {
            yaml: None,
            body: text,
            body_line: 1,
            warning: None,
        }
    }
}

/// Splits a file into frontmatter and body, if its first line is `---`. The next `---` closes the
/// frontmatter.
///
/// In this program's own files, a line such as `----` closes it, too, with a warning, provided that
/// there is a key above it (see [`looks_like_fence`]).
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
    let mut has_key = false; // whether a line above the current one has a key
    for (number, line) in (FIRST_KEY_LINE..).zip(lines) {
        let is_misspelled_fence = dialect == Dialect::Own && has_key && looks_like_fence(line);
        if is_fence(line) || is_misspelled_fence {
            let yaml = &text[yaml_start..line_start];
            reject_too_long(yaml)?;
            return Ok(Split {
                yaml: Some(yaml),
                body: &text[line_start + line.len()..],
                body_line: number + 1,
                warning: is_misspelled_fence.then(|| misspelled_fence_warning(line, number)),
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

/// Fails if the frontmatter is longer than [`MAX_FRONTMATTER`].
fn reject_too_long(yaml: &str) -> Result<(), Diagnostic> {
    if yaml.len() <= MAX_FRONTMATTER {
        return Ok(());
    }
    let length = size_and_limit(yaml.len(), MAX_FRONTMATTER);
    Err(Diagnostic::error(
        Some(Position::START),
        format!("the frontmatter is {length}"),
        "move what is not `title`, `description`, `arguments` or `tags` into the body",
    ))
}

/// Returns whether a line is `---`. Trailing spaces are ignored.
fn is_fence(line: &str) -> bool {
    match line.strip_prefix("---") {
        Some(after_dashes) => after_dashes.trim_end().is_empty(),
        None => false,
    }
}

/// Returns whether a line was probably meant as `---`: at least three dashes or dots with nothing
/// but a comment after them, e.g. `...`, `----` or `--- # end`. Returns `false` for `---` itself.
fn looks_like_fence(line: &str) -> bool {
    let dash = if line.starts_with('.') { '.' } else { '-' };
    let after_dashes = line.trim_start_matches(dash);
    let dash_count = line.len() - after_dashes.len();
    if dash_count < 3 || is_fence(line) {
        return false;
    }
    let has_comment =
        after_dashes.starts_with([' ', '\t']) && after_dashes.trim_start().starts_with('#');
    has_comment || after_dashes.trim_end().is_empty()
}

fn misspelled_fence_warning(line: &str, number: usize) -> Diagnostic {
    Diagnostic::warning(
        Some(Position::at_line(number)),
        format!("{} closes the frontmatter here", quoted(line.trim_end())),
        "write `---` instead, or, if the frontmatter continues below it, delete the line",
    )
}

/// For a text without frontmatter, returns a warning if it was probably meant to have some: known
/// keys come before the first `---`, or the first line is a misspelled `---`.
pub(super) fn misplaced_frontmatter_warning(text: &str) -> Option<Diagnostic> {
    if lacks_opening_fence(text) {
        return Some(Diagnostic::warning(
            Some(Position::START),
            "the keys above the first `---` are part of the prompt's text",
            "write `---` alone in a line before them, too, if they are meant as frontmatter",
        ));
    }
    let text_after_blanks = text.trim_start();
    let first_line = text_after_blanks.lines().next()?;
    let is_like_fence = FENCE_TYPOS.iter().any(|typo| first_line.starts_with(typo));
    if !is_like_fence {
        return None;
    }
    let line_start = text.len() - text_after_blanks.len();
    let line = quoted(first_line);
    Some(Diagnostic::warning(
        Some(Position::in_file_text(text, line_start)),
        format!("the line {line} does not open frontmatter, and is part of the prompt's text"),
        "write `---` alone in line 1, and once more after the last key; or write a rule as `***`",
    ))
}

/// Prefixes of a first line that was probably meant as `---`.
const FENCE_TYPOS: [&str; 4] = ["--", "+++", "—", "–"];

/// Returns whether only the opening `---` seems to be missing: the text begins with a known key,
/// and a `---` follows the keys.
fn lacks_opening_fence(text: &str) -> bool {
    let first_line = text.lines().next().unwrap_or_default();
    let Some((first_key, _)) = lenient::split_unindented_key(first_line) else {
        return false;
    };
    if !KEYS.contains(&first_key) {
        return false;
    }
    for line in text.lines() {
        if is_fence(line) || looks_like_fence(line) {
            return true;
        }
        if !lenient::belongs_to_keys(line) {
            return false;
        }
    }
    false
}
