//! What the picker looks like: lines that fit the terminal. No text of a prompt gets there with a character that a terminal acts on.

use super::keys::Input;
use super::state::{Chosen, Form, State, Step};
use crate::cli::output::{ERROR, FAINT, MARK, NAME, WARNING, one_line};
use crate::library::Found;
use crate::prompt::Summary;
use crate::wording::{is_control, thousands};
use anstyle::Style;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Parts of a line with their styles.
pub(super) type Line = Vec<(Style, String)>;

/// A picture of the whole terminal.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) lines: Vec<Line>,
    /// The row and the column.
    pub(super) cursor: Option<(usize, usize)>,
}

const PLAIN: Style = Style::new();

/// With fewer rows than this below the query, there is no preview.
const LEAST_ROWS: usize = 9;

impl State {
    /// The frame for a terminal with so many columns and rows.
    pub(super) fn frame(&self, columns: usize, rows: usize) -> Frame {
        let has_hint = rows >= 4;
        let rows_above = rows - usize::from(has_hint);
        let mut frame = match &self.step {
            Step::List => self.list(columns, rows_above),
            Step::Form(form) => of_form(form, columns, rows_above),
            Step::Chosen(chosen) => of_chosen(chosen, columns, rows_above),
        };
        let hint = match (&self.step, self.purpose.is_draft) {
            (Step::List, true) => "Enter use  Tab fill in  Esc keep the draft  ^O editor",
            (Step::List, false) => "Enter choose  ↑↓ move  Esc end",
            (Step::Form(form), _) if form.fields.len() < 2 => "Enter done  Esc back",
            (Step::Form(_), _) => "Enter done  Tab next  Esc back",
            (Step::Chosen(_), true) => "Enter use  e editor  ↑↓ scroll  Esc back",
            (Step::Chosen(_), false) => "Enter print  c copy  e editor  ↑↓ scroll  Esc back",
        };
        frame.lines.truncate(rows_above);
        if !self.note.is_empty() {
            frame.lines.truncate(rows.saturating_sub(2).max(1));
            let note = wrapped(&one_line(&self.note), &[], ERROR, columns, 0, 2);
            frame.lines.resize(rows.saturating_sub(note.len()).max(frame.lines.len()), Line::new());
            frame.lines.extend(note);
        } else if has_hint {
            frame.lines.resize(rows_above, Line::new());
            frame.lines.push(vec![(FAINT, fit(hint, columns))]);
        }
        frame.lines.truncate(rows);
        frame.lines.iter_mut().for_each(|line| cut(line, columns));
        frame
    }

    fn list(&self, columns: usize, rows: usize) -> Frame {
        let count = format!(" {}/{}", thousands(self.matching.len()), thousands(self.choices.found.len()));
        let room = columns.saturating_sub(2 + count.len());
        let room = if room < 8 { columns.saturating_sub(2) } else { room };
        let (query, column) = window(&self.query, room);
        let gap = " ".repeat(room.saturating_sub(query.width()));
        let mut lines = vec![vec![(NAME, "> ".to_owned()), (PLAIN, query), (FAINT, fit(&(gap + &count), columns))]];
        lines[0].truncate(if room == columns.saturating_sub(2) { 2 } else { 3 });
        let below = rows.saturating_sub(1);
        let listed = if below < LEAST_ROWS { below } else { below * 2 / 5 };
        let top = self.selected.saturating_sub(listed.saturating_sub(1));
        let shown: Vec<usize> = self.matching.iter().skip(top).take(listed).copied().collect();
        let names = shown.iter().map(|index| self.choices.found[*index].name.width() + 1);
        let width = names.max().unwrap_or(0).min(columns.saturating_sub(2) / if columns < 24 { 1 } else { 2 });
        for (row, index) in shown.iter().enumerate() {
            let info = self.choices.infos[*index].as_ref();
            lines.push(of_prompt(&self.choices.found[*index], info, top + row == self.selected, width, columns));
        }
        if shown.is_empty() && below > 0 {
            lines.push(vec![(FAINT, fit("  no prompt matches", columns))]);
        }
        if below >= LEAST_ROWS {
            lines.resize(1 + listed, Line::new());
            let preview = self.selected().map(|found| preview(found, columns, below - listed));
            lines.extend(preview.unwrap_or_default());
        }
        Frame { lines, cursor: Some((0, 2 + column)) }
    }
}

/// A row of the list: the name, then title and description.
fn of_prompt(
    found: &Found,
    info: Option<&Result<std::sync::Arc<Summary>, crate::prompt::Diagnostic>>,
    is_selected: bool,
    width: usize,
    columns: usize,
) -> Line {
    let name = fit(&format!(":{}", found.name), columns.saturating_sub(2).min(width));
    let room = columns.saturating_sub(width + 4);
    let gap = " ".repeat(if room == 0 { 0 } else { width.saturating_sub(name.width()) + 2 });
    let (style, about) = match info {
        None => (FAINT, String::new()),
        Some(Ok(summary)) => {
            let texts = [summary.title.as_deref(), summary.description.as_deref()].map(Option::unwrap_or_default);
            let texts =
                texts.into_iter().filter(|text| !text.is_empty() && text.to_lowercase() != *found.name.as_str());
            (PLAIN, found.layer.mark.to_owned() + &texts.collect::<Vec<_>>().join(" — "))
        }
        Some(Err(why)) => (ERROR, why.message.clone()),
    };
    let about = fit(&one_line(&about), room);
    match is_selected {
        true => vec![(NAME.bold(), "> ".to_owned()), (NAME.bold(), name), (style.bold(), gap + &about)],
        false => vec![(PLAIN, "  ".to_owned()), (NAME, name), (style, gap + &about)],
    }
}

/// A line that names a prompt, and its text with the placeholders marked.
fn preview(found: &Found, columns: usize, rows: usize) -> Vec<Line> {
    let prompt = match found.prompt() {
        Ok(prompt) => prompt,
        Err(why) => return wrapped(&why.to_string(), &[], ERROR, columns, 0, rows),
    };
    let usage = prompt.usage().unwrap_or_else(|| format!(":{}", found.name));
    let title = fit(&format!("── {} ({}) ", one_line(&usage), found.layer.name), columns);
    let rule = "─".repeat(columns.saturating_sub(title.width()));
    let text = prompt.template_text();
    let template = prompt.template_of(&text);
    let marks: Vec<Range<usize>> = template.placeholders().map(|placeholder| placeholder.range.clone()).collect();
    let mut lines = vec![vec![(FAINT, title + &rule)]];
    lines.extend(wrapped(template.body(), &marks, PLAIN, columns, 0, rows.saturating_sub(1)));
    lines
}

fn of_form(form: &Form, columns: usize, rows: usize) -> Frame {
    let about = form.prompt.title.as_deref().or(form.prompt.description.as_deref()).unwrap_or_default();
    let name = fit(&format!(":{}", form.found.name), columns);
    let about = fit(&format!("  {}", one_line(about)), columns.saturating_sub(name.width()));
    let mut lines = vec![vec![(NAME, name), (PLAIN, about)]];
    let label = |field: &super::state::Field| one_line(&field.name) + if field.is_needed { "*" } else { "" };
    let width = form.fields.iter().map(|field| label(field).width()).max().unwrap_or(0).min(columns / 3);
    let room = columns.saturating_sub(width + 4).max(1);
    let mut cursor = None;
    // The current field, and what is said of it, are always shown.
    let details = form.fields.get(form.current).map(|field| details(field, columns, 3)).unwrap_or_default();
    let first = (form.current + 2 + details.len()).saturating_sub(rows).min(form.current);
    for (index, field) in form.fields.iter().enumerate().skip(first) {
        let is_current = index == form.current;
        let label = fit(&label(field), width);
        let gap = " ".repeat(width - label.width() + 2);
        let (value, column) = window(&field.input, room);
        let (mark, style) = if is_current { ("> ", NAME.bold()) } else { ("  ", PLAIN) };
        if is_current {
            cursor = Some((lines.len(), width + 4 + column));
        }
        lines.push(vec![(style, mark.to_owned()), (style, label), (PLAIN, gap + &value)]);
        if is_current {
            lines.extend(details.clone());
        }
    }
    if rows > lines.len() + 4 {
        lines.push(Line::new());
        lines.extend(preview(&form.found, columns, rows - lines.len()));
    }
    Frame { lines, cursor: cursor.filter(|(row, _)| *row < rows) }
}

/// What a field is for, and its choices.
fn details(field: &super::state::Field, columns: usize, max: usize) -> Vec<Line> {
    let indented = |text: &str, rows| {
        let lines = wrapped(&one_line(text), &[], FAINT, columns.saturating_sub(4).max(1), 0, rows);
        lines.into_iter().map(|mut line| {
            line.insert(0, (PLAIN, "    ".to_owned()));
            line
        })
    };
    let choices = format!("↑↓ {}", field.choices.join(" · "));
    let choices = if field.choices.is_empty() { "" } else { &choices };
    let texts = [&*field.about, choices].into_iter().filter(|text| !text.is_empty());
    texts.flat_map(|text| indented(text, max - 1)).take(max).collect()
}

fn of_chosen(chosen: &Chosen, columns: usize, rows: usize) -> Frame {
    let notes = chosen.notes.iter().flat_map(|note| wrapped(&one_line(note), &[], WARNING, columns, 0, 3));
    let mut lines: Vec<Line> = notes.take(rows.saturating_sub(1)).collect();
    lines.extend(wrapped(&chosen.text, &[], PLAIN, columns, chosen.top, rows - lines.len()));
    Frame { lines, cursor: None }
}

/// Cuts a line that is too long, as in a terminal with fewer columns than any line needs.
fn cut(line: &mut Line, columns: usize) {
    let mut left = columns;
    for (_, text) in line {
        *text = fit(text, left);
        left = left.saturating_sub(text.width());
    }
}

/// A message that a key closes.
pub(super) fn of_message(text: &str, columns: usize, rows: usize) -> Frame {
    let mut lines = wrapped(text, &[], PLAIN, columns, 0, rows.saturating_sub(1).max(1));
    lines.push(vec![(FAINT, fit("Any key: go on. Esc: keep the draft.", columns))]);
    Frame { lines, cursor: None }
}

/// A text for one line: without what a terminal acts on, and cut to so many columns.
pub(super) fn fit(text: &str, columns: usize) -> String {
    let text: String = text.chars().take(4 * columns + 4).map(shown).collect();
    if text.width() <= columns {
        return text;
    }
    let mut cut = String::new();
    for character in text.chars() {
        if cut.width() + character.width().unwrap_or(0) + 1 > columns {
            break;
        }
        cut.push(character);
    }
    if columns > 0 { cut + "…" } else { cut }
}

/// What is shown for a character: nothing that a terminal acts on.
fn shown(character: char) -> char {
    match character {
        '\t' => ' ',
        '\n' => '⏎',
        _ if is_control(character) || is_direction_mark(character) => '�',
        _ => character,
    }
}

/// Marks that set the direction of the text around them.
fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
}

/// The part of a text around its cursor that fits so many columns, and the column of the cursor in it.
fn window(input: &Input, columns: usize) -> (String, usize) {
    let before: String = input.text[..input.cursor].chars().map(shown).collect();
    let mut start = before.len();
    let mut column = 0;
    for (at, character) in before.char_indices().rev().take(4 * columns) {
        let width = character.width().unwrap_or(0);
        if column + width >= columns {
            break;
        }
        (start, column) = (at, column + width);
    }
    let rest: String = input.text[input.cursor..].chars().take(columns).map(shown).collect();
    (before[start..].to_owned() + &fit(&rest, columns.saturating_sub(column)), column)
}

/// A text in lines of at most so many columns, with ranges of it marked: at most `max` lines, from the line `skip` of the text on.
pub(super) fn wrapped(
    text: &str,
    marks: &[Range<usize>],
    style: Style,
    columns: usize,
    skip: usize,
    max: usize,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (number, line) in text.split('\n').enumerate() {
        if lines.len() >= max {
            break;
        }
        if number >= skip {
            let is_marked = |at: usize| marks.iter().any(|mark| mark.contains(&(start + at)));
            let cells = line.char_indices().flat_map(|(at, character)| {
                let times = if character == '\t' { 4 } else { 1 };
                std::iter::repeat_n((is_marked(at), shown(character)), times)
            });
            wrap_line(cells, columns, max, &mut lines, style);
        }
        start += line.len() + 1;
    }
    lines.truncate(max);
    lines
}

/// Adds the rows of one line, broken after a space if there is one.
fn wrap_line(
    cells: impl Iterator<Item = (bool, char)>,
    columns: usize,
    max: usize,
    lines: &mut Vec<Line>,
    style: Style,
) {
    let width = |cells: &[(bool, char)]| cells.iter().map(|(_, cell)| cell.width().unwrap_or(0)).sum::<usize>();
    let (mut row, mut used): (Vec<(bool, char)>, usize) = (Vec::new(), 0);
    for cell in cells {
        let is_flood = row.len() > 4 * columns; // of characters without a width
        let more = cell.1.width().unwrap_or(0);
        if used + more > columns || is_flood {
            let space = row.iter().rposition(|(_, cell)| *cell == ' ').filter(|at| *at > 0 && !is_flood);
            let rest = if cell.1 == ' ' { Vec::new() } else { space.map_or(Vec::new(), |at| row.split_off(at + 1)) };
            lines.push(styled(&row, style));
            (used, row) = (width(&rest), rest);
            if lines.len() >= max {
                return;
            }
            if cell.1 == ' ' {
                continue;
            }
        }
        row.push(cell);
        used += more;
    }
    lines.push(styled(&row, style));
}

/// A row as parts of one style.
fn styled(row: &[(bool, char)], style: Style) -> Line {
    let runs = row.chunk_by(|one, other| one.0 == other.0);
    runs.map(|run| (if run[0].0 { MARK } else { style }, run.iter().map(|(_, cell)| *cell).collect())).collect()
}
