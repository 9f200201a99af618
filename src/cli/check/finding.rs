//! Formats diagnostics for people, grouped by file, with an excerpt of the line that each is about.

use crate::cli::output::{self, FAINT, HIGHLIGHT, NAME, Styled, styled};
use crate::library::read_regular;
use crate::prompt::{Diagnostic, MAX_FILE, Position};
use crate::wording::printable_text;
use anstyle::Style;
use std::collections::BTreeMap;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// How many diagnostics with the same text, apart from its [details](text_without_details), are
/// shown as one finding.
const REPEATED_FROM: usize = 4;

/// The maximum number of places that are shown for a repeated finding with the same text in each.
const MAX_PLACES: usize = 3;

/// The same for a finding whose text has other details in each place.
const MAX_DIFFERENT_PLACES: usize = 20;

/// Formats diagnostics for standard output: grouped by file and with excerpts on a terminal,
/// otherwise as two lines each. Those that are [repeated](REPEATED_FROM) follow, each as one
/// finding.
pub(in crate::cli) fn format_findings(diagnostics: &[Diagnostic]) -> Styled {
    let findings = Findings::divide(diagnostics);
    let mut output = match output::terminal_width() {
        Some(columns) => format_by_file(&findings.single, columns),
        None => findings
            .single
            .into_iter()
            .map(output::problem_in_two_lines)
            .collect(),
    };
    for repeated in &findings.repeated {
        output.append(format_repeated(repeated));
    }
    output
}

/// Diagnostics, divided by how they are shown.
struct Findings<'d> {
    /// Those that are shown one by one.
    single: Vec<&'d Diagnostic>,
    /// Lists of diagnostics with the same text. Each list is shown as one finding.
    repeated: Vec<Vec<&'d Diagnostic>>,
}

impl Findings<'_> {
    /// Divides diagnostics: those whose text occurs fewer than [`REPEATED_FROM`] times, apart from
    /// its details, are shown one by one, in their order. The others are grouped by it.
    fn divide(diagnostics: &[Diagnostic]) -> Findings<'_> {
        let mut by_text: BTreeMap<String, Vec<&Diagnostic>> = BTreeMap::new();
        for diagnostic in diagnostics {
            by_text
                .entry(text_without_details(diagnostic))
                .or_default()
                .push(diagnostic);
        }
        let mut single = Vec::new();
        for diagnostic in diagnostics {
            if by_text[&text_without_details(diagnostic)].len() < REPEATED_FROM {
                single.push(diagnostic);
            }
        }
        by_text.retain(|_, repeated| repeated.len() >= REPEATED_FROM);
        Findings {
            single,
            repeated: by_text.into_values().collect(),
        }
    }
}

/// Returns the text of a diagnostic with the same placeholder for each of its details: the numbers,
/// the paths, and the name of the folder that its file is in.
fn text_without_details(diagnostic: &Diagnostic) -> String {
    const PLACEHOLDER: &str = "…";
    let file = diagnostic.file.as_deref();
    let folder = file.and_then(Path::parent).and_then(Path::file_name);
    let text = diagnostic.text();
    let mut words = Vec::new();
    for word in text.split(' ') {
        let core = word.trim_matches(|letter: char| "`'\".,;:()".contains(letter));
        let is_number =
            !core.is_empty() && core.chars().all(|letter| "0123456789,.".contains(letter));
        let is_path = core.contains(['/', '\\']);
        let is_folder = folder.is_some_and(|folder| *folder == *core);
        words.push(if is_number || is_path || is_folder {
            word.replace(core, PLACEHOLDER)
        } else {
            word.to_owned()
        });
    }
    words.join(" ")
}

/// Formats diagnostics with the same text, apart from its details, as one finding:
///
/// ```text
/// warning: the skill has no `name`, so opencode does not load it
///     fix: write `name: pdf`
///     112 times: a/SKILL.md, b/SKILL.md, c/SKILL.md and 109 more, which `--json` lists
/// ```
fn format_repeated(diagnostics: &[&Diagnostic]) -> Styled {
    let first = diagnostics[0];
    let (style, label) = output::severity_label(first);
    let finding = styled(style, label).plain(format!(" {}\n", first.message));
    append_fix(finding, diagnostics).plain(places_line(diagnostics))
}

/// Appends the line with the fix of the first diagnostic, if it has one.
fn append_fix(finding: Styled, diagnostics: &[&Diagnostic]) -> Styled {
    let fix = &diagnostics[0].fix;
    if fix.is_empty() {
        return finding;
    }
    let have_same_fix = diagnostics.iter().all(|other| other.fix == *fix);
    let label = if have_same_fix {
        "fix:"
    } else {
        "fix of the first:"
    };
    finding
        .plain("    ")
        .with(HIGHLIGHT, label)
        .plain(format!(" {fix}\n"))
}

/// Returns the line that says how often a diagnostic occurs, and names the first places.
fn places_line(diagnostics: &[&Diagnostic]) -> String {
    let text = diagnostics[0].text();
    let have_same_text = diagnostics.iter().all(|other| other.text() == text);
    let max_places = if have_same_text {
        MAX_PLACES
    } else {
        MAX_DIFFERENT_PLACES
    };
    let shown = &diagnostics[..diagnostics.len().min(max_places)];
    let mut places = Vec::new();
    for diagnostic in shown {
        places.push(output::problem_location(diagnostic));
    }
    let places = places.join(", ");
    let count = diagnostics.len();
    let hidden_count = count - shown.len();
    if hidden_count == 0 {
        return format!("    {count} times: {places}\n");
    }
    format!("    {count} times: {places} and {hidden_count} more, which `--json` lists\n")
}

/// Formats diagnostics for a terminal, grouped by file and with excerpts.
fn format_by_file(diagnostics: &[&Diagnostic], columns: usize) -> Styled {
    let mut output = Styled::default();
    for group in diagnostics.chunk_by(|one, next| one.file == next.file) {
        let mut file_text = None;
        if let Some(file) = &group[0].file {
            output = output.with(NAME, output::display_path(file)).plain("\n");
            file_text = read_lossy(file);
        }
        for diagnostic in group {
            output.append(format_finding(diagnostic, file_text.as_deref(), columns));
        }
    }
    output
}

/// Reads a file for excerpts. Returns `None` if it can't be read, or is too long for a prompt.
fn read_lossy(file: &Path) -> Option<String> {
    let bytes = read_regular(file, MAX_FILE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Formats a diagnostic about a file with this text:
///
/// ```text
///   6:4 warning: `{{inptu}}` is not a placeholder, and is left as it is
///     6 | On {{inptu}} and {{input}}
///       |    ^
///   fix: write `{{input}}` if it is meant to be replaced
/// ```
fn format_finding(diagnostic: &Diagnostic, file_text: Option<&str>, columns: usize) -> Styled {
    let (style, label) = output::severity_label(diagnostic);
    let mut finding = styled(Style::new(), "  ");
    if let Some(position) = diagnostic.position {
        finding = finding.with(FAINT, format!("{position} "));
    }
    finding = finding
        .with(style, label)
        .plain(format!(" {}\n", diagnostic.message));
    if let Some(position) = diagnostic.position
        && let Some(line) = file_text.and_then(|text| text.lines().nth(position.line - 1))
    {
        finding.append(format_excerpt(line, position, style, columns));
    }
    if !diagnostic.fix.is_empty() {
        finding = finding
            .plain("  ")
            .with(HIGHLIGHT, "fix:")
            .plain(format!(" {}\n", diagnostic.fix));
    }
    finding.plain("\n")
}

/// Formats a line with its number, and below it a `^` at the position:
///
/// ```text
///     6 | On {{inptu}} and {{input}}
///       |    ^
/// ```
fn format_excerpt(line: &str, position: Position, style: Style, columns: usize) -> Styled {
    let number_margin = format!("    {} | ", position.line);
    let empty_margin = format!("    {} | ", " ".repeat(position.line.to_string().len()));
    let free_columns = columns.saturating_sub(number_margin.len());
    let excerpt = Excerpt::new(line, position.column, free_columns);
    styled(FAINT, number_margin)
        .plain(format!("{}\n", excerpt.text))
        .with(FAINT, empty_margin)
        .plain(" ".repeat(excerpt.caret_column))
        .with(style, "^")
        .plain("\n")
}

/// The part of a line around a position.
struct Excerpt {
    text: String,
    /// The display column of the position in `text`, counted from 0.
    caret_column: usize,
}

impl Excerpt {
    /// Truncates a line at both ends to at most `max_width` columns around the `char_number`th
    /// character, counted from 1. At most half of the columns are before that character.
    ///
    /// For 20 columns around the `m`, `0123456789abcdefghijklmno` becomes `…defghijklmno`.
    fn new(line: &str, char_number: usize, max_width: usize) -> Excerpt {
        let byte_offset = match line.char_indices().nth(char_number - 1) {
            Some((byte_offset, _)) => byte_offset,
            None => line.len(), // the position is after the end of the line
        };
        let (before, after) = line.split_at(byte_offset);
        let before = truncate_start(&make_printable(before), max_width / 2);
        let caret_column = before.width();
        let after = truncate_end(
            &make_printable(after),
            max_width.saturating_sub(caret_column),
        );
        Excerpt {
            text: before + &after,
            caret_column,
        }
    }
}

/// Escapes invisible characters, and replaces tabs by spaces.
fn make_printable(text: &str) -> String {
    printable_text(text).replace('\t', "    ")
}

/// Truncates a text at its end to fit into `columns`: for 4 columns, `abcdef` becomes `abc…`.
fn truncate_end(text: &str, columns: usize) -> String {
    // The loop below is quadratic, and a line may be very long. So first take as many characters as
    // would fit if none were wide.
    let mut start: String = text.chars().take(columns).collect();
    let is_complete = start.len() == text.len();
    if is_complete && start.width() <= columns {
        return start;
    }
    // `>=` leaves a column for the `…`.
    while start.width() >= columns && !start.is_empty() {
        start.pop();
    }
    start + "…"
}

/// Truncates a text at its start to fit into `columns`: for 4 columns, `abcdef` becomes `…def`.
fn truncate_start(text: &str, columns: usize) -> String {
    // As in `truncate_end`, first take as many characters as would fit if none were wide.
    let skipped_chars = text.chars().count().saturating_sub(columns);
    let mut end: String = text.chars().skip(skipped_chars).collect();
    let is_complete = skipped_chars == 0;
    if is_complete && end.width() <= columns {
        return end;
    }
    // `>=` leaves a column for the `…`.
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
        format_finding(&diagnostic, Some(text), columns).without_styles()
    }

    #[test]
    fn a_finding_shows_the_line_with_the_place_marked_and_the_fix_below_it() {
        let want =
            "  2:4 warning: it is wrong\n    2 | On {{inptu}}.\n      |    ^\n  fix: mend it\n\n";
        assert_eq!(shown("First\nOn {{inptu}}.\nLast", 2, 4, 80), want);
    }

    #[test]
    fn a_finding_without_a_line_or_a_fix_is_its_message() {
        let nowhere = Diagnostic::invalid("it is empty", "");
        let text = format_finding(&nowhere, Some("text"), 80);
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
