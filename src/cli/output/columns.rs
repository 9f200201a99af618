//! A list in two columns: labels, and the texts that describe them.

use super::stream::{Styled, styled};
use super::text::in_lines;
use crate::wording::printable_text;
use anstyle::Style;
use unicode_width::UnicodeWidthStr;

/// Columns before a label, and between it and its texts.
const GAP: usize = 2;

/// If fewer columns than this remain for the texts, they are below the labels.
const MIN_TEXT_WIDTH: usize = 24;

/// A label and its texts. Each text begins a new line.
pub(crate) struct LabeledRow {
    pub(crate) label: String,
    pub(crate) style: Style,
    pub(crate) texts: Vec<(Style, String)>,
}

/// Lays out rows in this many columns: labels at the left, and their texts next to them. Nothing is
/// cut off. A label that takes a third of the columns or more has a line of its own:
///
/// ```text
///   :review  Reviews a change
///            #work
///   :a-very-long-name
///            Does something else
/// ```
pub(crate) fn in_columns(rows: &[LabeledRow], columns: usize) -> Styled {
    let label_width = widest_label(rows, columns / 3);
    let text_column = GAP + label_width + GAP;
    if columns < text_column + MIN_TEXT_WIDTH {
        return below_labels(rows, columns);
    }
    let mut page = Styled::default();
    for row in rows {
        let label = printable_text(&row.label);
        let end_of_label = GAP + label.width();
        let has_text_beside = label.width() <= label_width;
        page = page.plain(" ".repeat(GAP)).with(row.style, label);
        let mut lines = row.lines(columns - text_column).into_iter();
        if has_text_beside && let Some((style, line)) = lines.next() {
            page = page
                .plain(" ".repeat(text_column - end_of_label))
                .with(style, line);
        }
        page.push("\n");
        add_indented(&mut page, lines, text_column);
    }
    page
}

/// Returns the width of the widest label that is narrower than `limit` columns.
fn widest_label(rows: &[LabeledRow], limit: usize) -> usize {
    let mut widest = 0;
    for row in rows {
        let width = printable_text(&row.label).width();
        if width < limit {
            widest = widest.max(width);
        }
    }
    widest
}

/// Lays out rows on a narrow terminal, with the texts below their labels and indented further.
fn below_labels(rows: &[LabeledRow], columns: usize) -> Styled {
    let indent = 2 * GAP;
    let mut page = Styled::default();
    for row in rows {
        page = page
            .plain(" ".repeat(GAP))
            .with(row.style, printable_text(&row.label))
            .plain("\n");
        let lines = row.lines(columns.saturating_sub(indent)).into_iter();
        add_indented(&mut page, lines, indent);
    }
    page
}

/// Adds lines with `indent` spaces before each of them.
fn add_indented(page: &mut Styled, lines: impl Iterator<Item = (Style, String)>, indent: usize) {
    for (style, line) in lines {
        page.push(" ".repeat(indent));
        page.append(styled(style, line).plain("\n"));
    }
}

impl LabeledRow {
    /// Returns the texts that are not empty in lines of at most this many columns, each with its
    /// style.
    fn lines(&self, columns: usize) -> Vec<(Style, String)> {
        let mut lines = Vec::new();
        for (style, text) in &self.texts {
            if text.is_empty() {
                continue;
            }
            for line in in_lines(&printable_text(text), columns) {
                lines.push((*style, line));
            }
        }
        lines
    }
}
