//! Lays out a list in two columns: labels, and the texts that describe them.

use super::stream::{Styled, styled};
use super::text::wrap;
use crate::wording::printable_text;
use anstyle::Style;
use unicode_width::UnicodeWidthStr;

/// The number of spaces before a label, and between the label and its texts.
const GAP: usize = 2;

/// If fewer columns than this remain for the texts, they go below their labels.
const MIN_TEXT_WIDTH: usize = 24;

pub(crate) struct LabeledRow {
    pub(crate) label: String,
    pub(crate) label_style: Style,
    /// The descriptions of the label. Each begins on a new line; empty ones are skipped.
    pub(crate) texts: Vec<(Style, String)>,
}

/// Lays out rows in `columns` columns, with the texts to the right of their labels. Wraps long
/// texts, and truncates nothing. A label that is at least a third of the columns wide gets a line
/// of its own:
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
        let label_end = GAP + label.width();
        let fits_beside_text = label.width() <= label_width;
        page = page.plain(" ".repeat(GAP)).with(row.label_style, label);
        let mut lines = row.wrapped_texts(columns - text_column).into_iter();
        if fits_beside_text && let Some((style, first_line)) = lines.next() {
            page = page
                .plain(" ".repeat(text_column - label_end))
                .with(style, first_line);
        }
        page.push("\n");
        add_indented(&mut page, lines, text_column);
    }
    page
}

/// Returns the width of the widest label, ignoring those that are `limit` columns or wider.
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

/// Lays out rows for a narrow terminal, with the texts below their labels.
fn below_labels(rows: &[LabeledRow], columns: usize) -> Styled {
    let indent = 2 * GAP;
    let mut page = Styled::default();
    for row in rows {
        page = page
            .plain(" ".repeat(GAP))
            .with(row.label_style, printable_text(&row.label))
            .plain("\n");
        let lines = row.wrapped_texts(columns.saturating_sub(indent));
        add_indented(&mut page, lines.into_iter(), indent);
    }
    page
}

fn add_indented(page: &mut Styled, lines: impl Iterator<Item = (Style, String)>, indent: usize) {
    for (style, line) in lines {
        page.push(" ".repeat(indent));
        page.append(styled(style, line).plain("\n"));
    }
}

impl LabeledRow {
    /// Returns the lines of all texts, wrapped to `columns` columns.
    fn wrapped_texts(&self, columns: usize) -> Vec<(Style, String)> {
        let mut lines = Vec::new();
        for (style, text) in &self.texts {
            if text.is_empty() {
                continue;
            }
            for line in wrap(&printable_text(text), columns) {
                lines.push((*style, line));
            }
        }
        lines
    }
}
