//! What `check` has found, for a person at a terminal: for each file, its findings, each with the
//! line of the file that it is about.

use crate::cli::output::{self, FAINT, HIGHLIGHT, NAME, Styled, styled};
use crate::library::read_regular;
use crate::prompt::{Diagnostic, MAX_FILE, Position};
use crate::wording::printable_text;
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
            page = page.with(NAME, output::display_path(file)).plain("\n");
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
    let (style, label) = output::severity_label(diagnostic);
    let mut finding = styled(Style::new(), "  ");
    if let Some(position) = diagnostic.position {
        finding = finding.with(FAINT, format!("{position} "));
    }
    finding = finding
        .with(style, label)
        .plain(format!(" {}\n", diagnostic.message));
    if let Some(position) = diagnostic.position
        && let Some(line) = text.and_then(|text| text.lines().nth(position.line - 1))
    {
        finding.append(marked_line(line, position, style, columns));
    }
    if !diagnostic.fix.is_empty() {
        finding = finding
            .plain("  ")
            .with(HIGHLIGHT, "fix:")
            .plain(format!(" {}\n", diagnostic.fix));
    }
    finding.plain("\n")
}

/// Returns a line of a file with its number, and below it a `^` at the position:
///
/// ```text
///     6 | On {{inptu}} and {{input}}
///       |    ^
/// ```
fn marked_line(line: &str, position: Position, style: Style, columns: usize) -> Styled {
    let number_margin = format!("    {} | ", position.line);
    let empty_margin = format!("    {} | ", " ".repeat(position.line.to_string().len()));
    let free_columns = columns.saturating_sub(number_margin.len());
    let excerpt = Excerpt::new(line, position.column, free_columns);
    styled(FAINT, number_margin)
        .plain(format!("{}\n", excerpt.text))
        .with(FAINT, empty_margin)
        .plain(" ".repeat(excerpt.mark_column))
        .with(style, "^")
        .plain("\n")
}

/// The part of a line around a mark.
struct Excerpt {
    text: String,
    /// The column of `text` that is marked, counted from 0.
    mark_column: usize,
}

impl Excerpt {
    /// Cuts a line at both ends to at most `max_width` columns. The character in `column`, counted
    /// from 1, is marked, and at most half of the columns are before it: for 20 columns,
    /// `0123456789abcdefghijklmno` with a mark at `m` becomes `…defghijklmno`.
    fn new(line: &str, column: usize, max_width: usize) -> Excerpt {
        let marked_character = line.char_indices().nth(column - 1);
        let mark = match marked_character {
            Some((index, _)) => index,
            None => line.len(), // the mark is after the end of the line
        };
        let (before, after) = line.split_at(mark);
        let before = end_of(&on_one_line(before), max_width / 2);
        let mark_column = before.width();
        let after = start_of(&on_one_line(after), max_width.saturating_sub(mark_column));
        Excerpt {
            text: before + &after,
            mark_column,
        }
    }
}

/// Returns a visible text without tabs.
fn on_one_line(text: &str) -> String {
    printable_text(text).replace('\t', "    ")
}

/// Returns the start of a text that fits into `columns`, with `…` if the text is longer: `abc…` of
/// `abcdef` for 4 columns.
fn start_of(text: &str, columns: usize) -> String {
    // A line may be very long, and measuring it after each removed character would be slow. So it is
    // first cut to one character for each column, as if none were wide, and then by its width.
    let mut start: String = text.chars().take(columns).collect();
    let is_whole = start.len() == text.len();
    if is_whole && start.width() <= columns {
        return start;
    }
    // One column stays free for `…`.
    while start.width() >= columns && !start.is_empty() {
        start.pop();
    }
    start + "…"
}

/// Returns the end of a text that fits into `columns`, with `…` before it if the text is longer:
/// `…def` of `abcdef` for 4 columns.
fn end_of(text: &str, columns: usize) -> String {
    // A line may be very long, and measuring it after each removed character would be slow. So it is
    // first cut to one character for each column, as if none were wide, and then by its width.
    let left_out = text.chars().count().saturating_sub(columns);
    let mut end: String = text.chars().skip(left_out).collect();
    let is_whole = left_out == 0;
    if is_whole && end.width() <= columns {
        return end;
    }
    // One column stays free for `…`.
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
