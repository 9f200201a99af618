//! Labels in a column, and next to each what is said of it.

use super::stream::Styled;
use super::text::in_lines;
use crate::wording::visible;
use anstyle::Style;
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

/// Returns rows in this many columns; nothing is cut off. A label that would take a third of them
/// has a line of its own.
pub(crate) fn in_columns(rows: &[Row], columns: usize) -> Styled {
    let widths = rows
        .iter()
        .map(|row| visible(&row.label).width())
        .filter(|width| *width < columns / 3);
    let labels = widths.max().unwrap_or(0);
    let is_narrow = columns < GAP + labels + GAP + LEAST_TEXT;
    let indent = if is_narrow {
        2 * GAP
    } else {
        GAP + labels + GAP
    };
    let mut page = Styled::default();
    for row in rows {
        let label = visible(&row.label);
        let mut lines = row.lines(columns.saturating_sub(indent)).into_iter();
        page = page.plain(" ".repeat(GAP)).with(row.style, label.clone());
        if !is_narrow
            && label.width() <= labels
            && let Some((style, line)) = lines.next()
        {
            let gap = " ".repeat(labels - label.width() + GAP);
            page = page.plain(gap).with(style, line);
        }
        page.push("\n");
        for (style, line) in lines {
            page = page.plain(" ".repeat(indent)).with(style, line).plain("\n");
        }
    }
    page
}

impl Row {
    /// Returns the lines of its texts, in so many columns.
    fn lines(&self, columns: usize) -> Vec<(Style, String)> {
        let mut lines = Vec::new();
        for (style, text) in self.texts.iter().filter(|(_, text)| !text.is_empty()) {
            for line in in_lines(&visible(text), columns) {
                lines.push((*style, line));
            }
        }
        lines
    }
}
