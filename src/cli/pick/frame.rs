//! What the picker looks like: lines that fit the terminal. No text of a prompt gets there with a
//! character that a terminal acts on.

use super::keys::Input;
use super::state::{Chosen, Field, Form, State, Step};
use crate::cli::output::{ERROR, FAINT, MARK, NAME, WARNING, one_line};
use crate::library::Found;
use crate::wording::{thousands, visible};
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

/// With fewer rows than this, there is no preview in the list.
const LEAST_ROWS: usize = 10;

impl State {
    /// The frame for a terminal with so many columns and rows, with what has been read meanwhile.
    pub(super) fn frame(&mut self, columns: usize, rows: usize) -> Frame {
        self.update();
        let below = match (self.note.as_str(), rows) {
            ("", 0..4) => Vec::new(),
            ("", _) => vec![vec![(FAINT, self.hint().to_owned())]],
            (note, _) => wrapped(&one_line(note), &[], ERROR, columns, 2),
        };
        let above = rows.saturating_sub(below.len()).max(1);
        let mut frame = match &mut self.step {
            Step::List => self.list(columns, above),
            Step::Form(form) => of_form(form, columns, above),
            Step::Chosen(chosen) => of_chosen(chosen, columns, above),
        };
        frame.lines.resize(above, Line::new());
        frame.lines.extend(below);
        frame.lines.truncate(rows);
        frame.lines.iter_mut().for_each(|line| cut(line, columns));
        frame.cursor = frame.cursor.filter(|(row, _)| *row < above);
        frame
    }

    /// What the keys do.
    pub(super) fn hint(&self) -> &'static str {
        match (&self.step, self.purpose.is_draft) {
            (Step::List, true) => "Enter use  Tab fill in  Esc end  ^O edit",
            (Step::List, false) => "Enter choose  ↑↓ move  Esc end",
            (Step::Form(_), _) => "Enter done  Tab next  Esc back",
            (Step::Chosen(_), true) => "Enter use  e edit  Esc back  ↑↓ scroll",
            (Step::Chosen(_), false) => "Enter print  c copy  e edit  Esc back",
        }
    }

    fn list(&self, columns: usize, rows: usize) -> Frame {
        let count = format!(
            " {}/{}",
            thousands(self.matching.len()),
            thousands(self.choices.found.len())
        );
        let room = columns.saturating_sub(2);
        let room = room
            .checked_sub(count.len())
            .filter(|room| *room >= 8)
            .unwrap_or(room);
        let (query, column) = window(&self.query, room);
        let gap = " ".repeat(room.saturating_sub(query.width()));
        let mut lines = vec![vec![
            (NAME, "> ".to_owned()),
            (PLAIN, query + &gap),
            (FAINT, count),
        ]];
        let listed = if rows < LEAST_ROWS {
            rows - 1
        } else {
            (rows - 1) * 2 / 5
        };
        let top = self.selected.saturating_sub(listed.saturating_sub(1));
        let shown: Vec<usize> = self
            .matching
            .iter()
            .skip(top)
            .take(listed)
            .copied()
            .collect();
        let names = shown
            .iter()
            .map(|index| self.choices.found[*index].name.width() + 1);
        let width = names
            .max()
            .unwrap_or(0)
            .min(columns.saturating_sub(2) / if columns < 24 { 1 } else { 2 });
        let of_prompt = |(row, index): (usize, &usize)| {
            self.of_prompt(*index, top + row == self.selected, width)
        };
        lines.extend(shown.iter().enumerate().map(of_prompt));
        if shown.is_empty() {
            lines.extend(wrapped(self.why_empty(), &[], FAINT, columns, listed));
        }
        if let Some(found) = self.selected().filter(|_| rows >= LEAST_ROWS) {
            lines.resize(1 + listed, Line::new());
            lines.extend(preview(found, columns, rows - lines.len()));
        }
        Frame {
            lines,
            cursor: Some((0, 2 + column)),
        }
    }

    /// A row of the list: the name, then title and description.
    fn of_prompt(&self, index: usize, is_selected: bool, width: usize) -> Line {
        let found = &self.choices.found[index];
        let name = fit(&format!(":{}", found.name), width);
        let gap = " ".repeat(width - name.width() + 2);
        let (style, about) = match self.choices.infos.get(index) {
            None => (PLAIN, String::new()),
            Some(Ok(summary)) => {
                let texts = [&summary.title, &summary.description].into_iter().flatten();
                let texts: Vec<&str> = texts
                    .map(String::as_str)
                    .filter(|text| text.to_lowercase() != *found.name.as_str())
                    .collect();
                (PLAIN, found.layer.mark.to_owned() + &texts.join(" — "))
            }
            Some(Err(why)) => (ERROR, why.message.clone()),
        };
        let (mark, name_style, style) = if is_selected {
            ("> ", NAME.bold(), style.bold())
        } else {
            ("  ", NAME, style)
        };
        vec![
            (name_style, mark.to_owned() + &name),
            (style, gap + &one_line(&about)),
        ]
    }
}

/// A line that names a prompt, and its text with the placeholders marked.
fn preview(found: &Found, columns: usize, rows: usize) -> Vec<Line> {
    let prompt = match found.prompt() {
        Ok(prompt) => prompt,
        Err(why) => return wrapped(&why.to_string(), &[], ERROR, columns, rows),
    };
    let usage = prompt.usage().unwrap_or_else(|| format!(":{}", found.name));
    let title = format!("── {} ({}) ", one_line(&usage), found.layer.name);
    let text = prompt.template_text();
    let template = prompt.template_of(&text);
    let marks: Vec<Range<usize>> = template
        .placeholders()
        .map(|placeholder| placeholder.range.clone())
        .collect();
    let rule = "─".repeat(columns.saturating_sub(title.width()));
    let mut lines = vec![vec![(FAINT, title + &rule)]];
    lines.extend(wrapped(
        template.body(),
        &marks,
        PLAIN,
        columns,
        rows.saturating_sub(1),
    ));
    lines
}

fn of_form(form: &Form, columns: usize, rows: usize) -> Frame {
    let about = form
        .prompt
        .title
        .as_deref()
        .or(form.prompt.description.as_deref())
        .unwrap_or_default();
    let mut lines = vec![vec![
        (NAME, format!(":{}  ", form.found.name)),
        (PLAIN, one_line(about)),
    ]];
    let label = |field: &Field| one_line(&field.name) + if field.is_needed { "*" } else { "" };
    let width = form
        .fields
        .iter()
        .map(|field| label(field).width())
        .max()
        .unwrap_or(0)
        .min(columns / 3);
    let mut cursor = None;
    // The current field, and what is said of it, are always shown.
    let details = details(&form.fields[form.current], columns);
    let first = (form.current + 2 + details.len())
        .saturating_sub(rows)
        .min(form.current);
    for (index, field) in form.fields.iter().enumerate().skip(first) {
        let label = fit(&label(field), width);
        let gap = " ".repeat(width - label.width() + 2);
        let (value, column) = window(&field.input, columns.saturating_sub(width + 4).max(1));
        let (mark, style) = if index == form.current {
            ("> ", NAME.bold())
        } else {
            ("  ", PLAIN)
        };
        lines.push(vec![
            (style, mark.to_owned() + &label),
            (PLAIN, gap + &value),
        ]);
        if index == form.current {
            cursor = Some((lines.len() - 1, width + 4 + column));
            lines.extend(details.clone());
        }
    }
    if rows > lines.len() + 4 {
        lines.push(Line::new());
        lines.extend(preview(&form.found, columns, rows - lines.len()));
    }
    Frame { lines, cursor }
}

/// What a field is for, and its choices.
fn details(field: &Field, columns: usize) -> Vec<Line> {
    let choices =
        Some(format!("↑↓ {}", field.choices.join(" · "))).filter(|_| !field.choices.is_empty());
    let texts = [
        one_line(&field.about),
        one_line(&choices.unwrap_or_default()),
    ];
    let texts = texts.iter().filter(|text| !text.is_empty());
    let mut lines: Vec<Line> = texts
        .flat_map(|text| wrapped(text, &[], FAINT, columns.saturating_sub(4), 2))
        .take(3)
        .collect();
    lines
        .iter_mut()
        .for_each(|line| line.insert(0, (PLAIN, "    ".to_owned())));
    lines
}

/// The text from the row `top` on, after `top` was limited to the rows that exist.
fn of_chosen(chosen: &mut Chosen, columns: usize, rows: usize) -> Frame {
    let notes = chosen
        .notes
        .iter()
        .flat_map(|note| wrapped(&one_line(note), &[], WARNING, columns, 3));
    let mut lines: Vec<Line> = notes.take(rows.saturating_sub(1)).collect();
    let text = wrapped(
        chosen.text.trim_end(),
        &[],
        PLAIN,
        columns,
        chosen.top + rows - lines.len(),
    );
    chosen.top = chosen.top.min(text.len().saturating_sub(1));
    lines.extend(text.into_iter().skip(chosen.top));
    Frame {
        lines,
        cursor: None,
    }
}

/// A message that a key closes, and what the keys do.
pub(super) fn of_message(text: &str, keys: &str, columns: usize, rows: usize) -> Frame {
    let mut lines = wrapped(text, &[], PLAIN, columns, rows.saturating_sub(1).max(1));
    lines.push(vec![(FAINT, fit(keys, columns))]);
    Frame {
        lines,
        cursor: None,
    }
}

/// Cuts a line at so many columns, and takes out what a terminal acts on.
fn cut(line: &mut Line, columns: usize) {
    let mut left = columns;
    for (_, text) in line {
        *text = fit(text, left);
        left = left.saturating_sub(text.width());
    }
}

/// A text for one line: visible, and cut to so many columns.
fn fit(text: &str, columns: usize) -> String {
    let text: String = text.chars().take(4 * columns + 4).collect();
    let text = in_one_row(&text);
    if text.width() <= columns {
        return text;
    }
    let cut = beginning(text.chars(), columns).collect::<String>();
    if columns > 0 { cut + "…" } else { cut }
}

/// The first characters that fit while one column stays free.
fn beginning(characters: impl Iterator<Item = char>, columns: usize) -> impl Iterator<Item = char> {
    let mut used = 0;
    characters.take_while(move |character| {
        used += character.width().unwrap_or(0);
        used < columns
    })
}

/// Returns a visible text in one row.
fn in_one_row(text: &str) -> String {
    visible(text).replace('\t', " ").replace('\n', "⏎")
}

/// The part of a text around its cursor that fits so many columns, and the column of the cursor in
/// it.
fn window(input: &Input, columns: usize) -> (String, usize) {
    let (before, after) = input.text.split_at(input.cursor);
    let before: String = before.chars().rev().take(4 * columns).collect();
    let before: String = before.chars().rev().collect();
    let before = in_one_row(&before);
    let before: Vec<char> = beginning(before.chars().rev(), columns).collect();
    let before: String = before.into_iter().rev().collect();
    let column = before.width();
    (before + &fit(after, columns.saturating_sub(column)), column)
}

/// A text in lines of at most so many columns, broken after a space if there is one, with ranges of
/// it marked: the first `max` lines.
fn wrapped(
    text: &str,
    marks: &[Range<usize>],
    style: Style,
    columns: usize,
    max: usize,
) -> Vec<Line> {
    let style_at = |at: usize| {
        let mark = marks.get(marks.partition_point(|mark| mark.end <= at));
        if mark.is_some_and(|mark| mark.start <= at) {
            MARK
        } else {
            style
        }
    };
    let cells = text.char_indices().flat_map(|(at, character)| {
        let shown = match character {
            '\t' => "    ".to_owned(),
            '\r' if text[at..].starts_with("\r\n") => String::new(),
            _ => visible(character.encode_utf8(&mut [0; 4])).into_owned(),
        };
        let cells: Vec<char> = shown.chars().collect();
        cells.into_iter().map(move |cell| (style_at(at), cell))
    });
    let (mut lines, mut row, mut used) = (Vec::new(), Vec::<(Style, char)>::new(), 0);
    for (style, cell) in cells.chain([(style, '\n')]) {
        if lines.len() >= max {
            break;
        }
        let is_flood = row.len() > 4 * columns; // of characters without a width
        if cell == '\n' || used + cell.width().unwrap_or(0) > columns || is_flood {
            let is_in_word = !matches!(cell, '\n' | ' ') && !is_flood;
            let space = row
                .iter()
                .rposition(|(_, cell)| *cell == ' ')
                .filter(|at| is_in_word && *at > 0);
            let rest = space.map_or(Vec::new(), |at| row.split_off(at + 1));
            let runs = row.chunk_by(|one, other| one.0 == other.0);
            lines.push(
                runs.map(|run| (run[0].0, run.iter().map(|(_, cell)| *cell).collect()))
                    .collect(),
            );
            (used, row) = (
                rest.iter().map(|(_, cell)| cell.width().unwrap_or(0)).sum(),
                rest,
            );
            if matches!(cell, '\n' | ' ') {
                continue;
            }
        }
        row.push((style, cell));
        used += cell.width().unwrap_or(0);
    }
    lines
}
