//! Labels in a column, and next to each what is said of it.

use super::text::in_lines;
use anstyle::Style;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Columns before a label, and between it and its texts.
const GAP: usize = 2;

/// If fewer columns than this remain for the texts, they are below the labels.
const LEAST_TEXT: usize = 24;

/// A label and its texts, each of which begins a line.
pub(crate) struct Row {
    pub(crate) label: String,
    /// The style of the label.
    pub(crate) style: Style,
    pub(crate) texts: Vec<(Style, String)>,
}

/// Writes rows in this many columns; nothing is cut off. A label that would take a third of them
/// has a line of its own.
pub(crate) fn write_rows(text: &mut Vec<u8>, rows: &[Row], columns: usize) -> io::Result<()> {
    let widths = rows
        .iter()
        .map(|row| row.label.width())
        .filter(|width| *width < columns / 3);
    let labels = widths.max().unwrap_or(0);
    let is_narrow = columns < GAP + labels + GAP + LEAST_TEXT;
    let indent = if is_narrow {
        2 * GAP
    } else {
        GAP + labels + GAP
    };
    for Row {
        label,
        style,
        texts,
    } in rows
    {
        let in_lines = |(style, text): &(Style, String)| {
            let style = *style;
            in_lines(text, columns.saturating_sub(indent))
                .into_iter()
                .map(move |line| format!("{style}{line}{style:#}"))
        };
        let mut lines = texts
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .flat_map(in_lines);
        write!(text, "{:GAP$}{style}{label}{style:#}", "")?;
        if !is_narrow
            && label.width() <= labels
            && let Some(line) = lines.next()
        {
            write!(
                text,
                "{:gap$}{line}",
                "",
                gap = labels - label.width() + GAP
            )?;
        }
        writeln!(text)?;
        lines.try_for_each(|line| writeln!(text, "{:indent$}{line}", ""))?;
    }
    Ok(())
}
