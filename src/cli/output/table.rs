//! Prints tables: aligned columns with a header for people, and tab-separated values for scripts.

use super::stream::{Styled, print, styled};
use super::text::{FAINT, NAME, terminal_width};
use crate::wording::printable_text;
use unicode_width::UnicodeWidthStr;

/// The minimum number of spaces between two fields of a row.
const GAP: usize = 2;

/// Prints a table: on a terminal, as aligned columns with a header, and otherwise as tab-separated
/// values without a header. Prints nothing if there are no rows.
pub(crate) fn print_table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    if terminal_width().is_some() {
        return print(&aligned(header, rows));
    }
    let mut lines = String::new();
    for row in rows {
        lines += &row.join("\t");
        lines.push('\n');
    }
    print(&lines.into())
}

/// Lays out a table for a terminal. Each column is as wide as its widest field. The first column
/// contains the names, which are colored:
///
/// ```text
/// NAME  REF   TEXTS
/// team  HEAD  12
/// ```
fn aligned<const COLUMNS: usize>(header: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> Styled {
    let mut widths = header.map(UnicodeWidthStr::width);
    for row in rows {
        for (width, field) in widths.iter_mut().zip(row) {
            *width = printable_text(field).width().max(*width);
        }
    }
    let mut table = styled(FAINT, aligned_line(&header, &widths)).plain("\n");
    for row in rows {
        let fields = row.each_ref().map(|field| printable_text(field));
        let name = &fields[0];
        let padding = " ".repeat(widths[0] - name.width() + GAP);
        let other_fields = format!("{padding}{}", aligned_line(&fields[1..], &widths[1..]));
        let row = styled(NAME, name.as_ref()).plain(other_fields.trim_end());
        table.append(row.plain("\n"));
    }
    table
}

/// Joins fields, each padded to the width of its column. Trims the end of the line.
///
/// # Panics
/// Panics if a field is wider than its column.
fn aligned_line(fields: &[impl AsRef<str>], widths: &[usize]) -> String {
    let mut line = String::new();
    for (field, width) in fields.iter().zip(widths) {
        let field = field.as_ref();
        line += field;
        line += &" ".repeat(width - field.width() + GAP);
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_fields_on_a_screen() {
        let rows = [["日本", "HEAD", ""], ["x", "", "1"]].map(|row| row.map(str::to_owned));
        assert_eq!(
            aligned(["NAME", "REF", "TEXTS"], &rows).for_terminal(),
            "\u{1b}[2mNAME  REF   TEXTS\u{1b}[0m\n\
             \u{1b}[36m日本\u{1b}[0m  HEAD\n\
             \u{1b}[36mx\u{1b}[0m           1\n"
        );
    }
}
