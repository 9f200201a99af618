//! What `check` has found, for a person at a terminal: for each file, its findings, each with the
//! line of the file that it is about.

use crate::cli::output::{self, ERROR, FAINT, MARK, NAME, Styled, WARNING, styled};
use crate::library::read_regular;
use crate::prompt::{Diagnostic, MAX_FILE, Position, Severity};
use crate::wording::visible;
use anstyle::Style;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// Returns findings for standard output: on a terminal below their files, each with an empty line
/// after it; in a pipe as two lines each.
pub(in crate::cli) fn findings(diagnostics: &[Diagnostic]) -> Styled {
    let Some(columns) = output::terminal_width() else {
        let lines = diagnostics.iter().map(output::problem_in_two_lines);
        return lines.collect();
    };
    let mut page = Styled::default();
    for group in diagnostics.chunk_by(|one, next| one.file == next.file) {
        let mut text = None;
        if let Some(file) = &group[0].file {
            page = page.with(NAME, output::shown(file)).plain("\n");
            text = text_of(file);
        }
        for diagnostic in group {
            page.append(finding(diagnostic, text.as_deref(), columns));
        }
    }
    page
}

/// Returns the text of a file, unless it cannot be a prompt.
fn text_of(file: &Path) -> Option<String> {
    let bytes = read_regular(file, MAX_FILE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns a finding in a file with this text:
///
/// ```text
///   6:4 warning: `{{inptu}}` is not a placeholder, and is left as it is
///     6 | On {{inptu}} and {{input}}
///       |    ^
///   fix: write `{{input}}` if it is meant to be replaced
/// ```
fn finding(diagnostic: &Diagnostic, text: Option<&str>, columns: usize) -> Styled {
    let (style, severity) = match diagnostic.severity() {
        Severity::Error => (ERROR, "error:"),
        Severity::Warning => (WARNING, "warning:"),
        Severity::Hint => (WARNING, "hint:"),
    };
    let mut finding = styled(Style::new(), "  ");
    if let Some(position) = diagnostic.position {
        finding = finding.with(FAINT, format!("{position} "));
    }
    finding = finding
        .with(style, severity)
        .plain(format!(" {}\n", diagnostic.message));
    if let Some(position) = diagnostic.position
        && let Some(line) = text.and_then(|text| text.lines().nth(position.line - 1))
    {
        finding.append(marked_line(line, position, style, columns));
    }
    if !diagnostic.fix.is_empty() {
        finding = finding
            .plain("  ")
            .with(MARK, "fix:")
            .plain(format!(" {}\n", diagnostic.fix));
    }
    finding.plain("\n")
}

/// Returns a line of a file with its number, and below it a mark at the position.
fn marked_line(line: &str, position: Position, style: Style, columns: usize) -> Styled {
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    let room = columns.saturating_sub(number.len() + "     | ".len());
    let excerpt = Excerpt::new(line, position.column, room);
    styled(FAINT, format!("    {number} | "))
        .plain(format!("{}\n", excerpt.text))
        .with(FAINT, format!("    {margin} | "))
        .plain(" ".repeat(excerpt.mark))
        .with(style, "^")
        .plain("\n")
}

/// The part of a line around a mark.
struct Excerpt {
    text: String,
    /// How many columns are before the mark.
    mark: usize,
}

impl Excerpt {
    /// Cuts a line at both ends to fit into `room`, so that the character in this column, counted
    /// from 1, is shown.
    fn new(line: &str, column: usize, room: usize) -> Excerpt {
        let split = line.char_indices().nth(column - 1);
        let (before, after) = line.split_at(split.map_or(line.len(), |(index, _)| index));
        let before = last_columns(&on_one_line(before), room / 2);
        let mark = before.width();
        let after = first_columns(&on_one_line(after), room.saturating_sub(mark));
        Excerpt {
            text: before + &after,
            mark,
        }
    }
}

fn on_one_line(text: &str) -> String {
    visible(text).replace('\t', "    ")
}

/// Returns the beginning of a text. If it is wider than `columns`, it ends with `…`.
fn first_columns(text: &str, columns: usize) -> String {
    let mut start: String = text.chars().take(columns).collect();
    if start.len() == text.len() && start.width() <= columns {
        return start;
    }
    while start.width() >= columns && start.pop().is_some() {}
    start + "…"
}

/// Returns the end of a text. If it is wider than `columns`, it begins with `…`.
fn last_columns(text: &str, columns: usize) -> String {
    let skipped = text.chars().count().saturating_sub(columns);
    let mut end: String = text.chars().skip(skipped).collect();
    if skipped == 0 && end.width() <= columns {
        return end;
    }
    while end.width() >= columns && !end.is_empty() {
        end.remove(0);
    }
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the finding about a place in a text, without styles.
    fn shown(text: &str, line: usize, column: usize, columns: usize) -> String {
        let diagnostic =
            Diagnostic::warning(Some(Position { line, column }), "it is wrong", "mend it");
        finding(&diagnostic, Some(text), columns).without_styles()
    }

    #[test]
    fn a_finding_shows_the_line_with_the_place_marked_and_the_fix_below_it() {
        let want =
            "  2:4 warning: it is wrong\n    2 | On {{inptu}}.\n      |    ^\n  fix: mend it\n\n";
        assert_eq!(shown("First\nOn {{inptu}}.\nLast", 2, 4, 80), want);
    }

    #[test]
    fn a_finding_without_a_line_or_a_fix_is_its_message() {
        let nowhere = Diagnostic::error(None, "it is empty", "");
        let text = finding(&nowhere, Some("text"), 80);
        assert_eq!(text.without_styles(), "  error: it is empty\n\n");
        let want = "  9:1 warning: it is wrong\n  fix: mend it\n\n";
        assert_eq!(shown("one line", 9, 1, 80), want);
    }

    #[test]
    fn a_line_is_cut_around_the_mark_which_counts_columns_as_they_are_shown() {
        for (line, column, want_line, want_mark) in [
            ("a\tb", 3, "a    b", "     ^"),
            ("日本 x", 4, "日本 x", "     ^"),
            ("abc", 4, "abc", "   ^"),
            ("0123456789abcdefghijklmno", 2, "0123456789abcdefghi…", " ^"),
            (
                "0123456789abcdefghijklmno",
                23,
                "…defghijklmno",
                "          ^",
            ),
        ] {
            let shown = shown(line, 1, column, 28);
            let lines: Vec<&str> = shown.lines().collect();
            assert_eq!(lines[1].strip_prefix("    1 | "), Some(want_line), "{line}");
            assert_eq!(lines[2].strip_prefix("      | "), Some(want_mark), "{line}");
        }
    }
}
