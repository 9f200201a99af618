//! What the picker looks like: lines that fit the terminal. No text of a prompt gets there with a
//! character that a terminal acts on.

use super::form::{Field, Form};
use super::keys::TypedText;
use super::state::{Chosen, State, Step};
use crate::cli::list::without_name;
use crate::cli::output::{ERROR, FAINT, MARK, NAME, WARNING, one_line};
use crate::library::Found;
use crate::wording::{thousands, visible};
use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Parts of a line with their styles.
pub(super) type FrameLine = Vec<(Style, String)>;

/// A picture of the whole terminal.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) lines: Vec<FrameLine>,
    pub(super) cursor: Option<Cursor>,
}

/// A place on the terminal, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) row: usize,
    pub(super) column: usize,
}

const PLAIN: Style = Style::new();

/// With fewer rows than this, there is no preview below the list.
const LEAST_ROWS: usize = 10;

/// With fewer columns than this between the prompt sign and the number of matches, that number is
/// left out.
const LEAST_QUERY: usize = 8;

impl State {
    /// Returns the frame for a terminal of this size. Prompts that have been read since the last
    /// frame are in it.
    pub(super) fn frame(&mut self, columns: usize, rows: usize) -> Frame {
        self.update();
        let last_lines = self.last_lines(columns, rows);
        let above = rows.saturating_sub(last_lines.len()).max(1);
        let mut frame = match &mut self.step {
            Step::List => self.list_frame(columns, above),
            Step::Form(form) => form_frame(form, columns, above),
            Step::Chosen(chosen) => text_frame(chosen, columns, above),
        };
        frame.lines.resize(above, FrameLine::new());
        frame.lines.extend(last_lines);
        frame.lines.truncate(rows);
        for line in &mut frame.lines {
            cut(line, columns);
        }
        if frame.cursor.is_some_and(|cursor| cursor.row >= above) {
            frame.cursor = None;
        }
        frame
    }

    /// Returns the last lines of the frame: the note, else what the keys do if there is room.
    fn last_lines(&self, columns: usize, rows: usize) -> Vec<FrameLine> {
        if !self.note.is_empty() {
            return wrapped(&one_line(&self.note), ERROR, columns, 2);
        }
        if rows < 4 {
            return Vec::new();
        }
        vec![vec![(FAINT, self.key_help().to_owned())]]
    }

    /// Returns a line that says what the keys do.
    pub(super) fn key_help(&self) -> &'static str {
        match (&self.step, self.purpose.is_draft) {
            (Step::List, true) => "Enter use  Tab fill in  Esc end  ^O edit",
            (Step::List, false) => "Enter choose  ↑↓ move  Esc end",
            (Step::Form(_), _) => "Enter done  Tab next  Esc back",
            (Step::Chosen(_), true) => "Enter use  e edit  Esc back  ↑↓ scroll",
            (Step::Chosen(_), false) => "Enter print  c copy  e edit  Esc back",
        }
    }

    /// Returns the frame of the list: the query, the prompts that match, and a preview of the
    /// selected one.
    fn list_frame(&self, columns: usize, rows: usize) -> Frame {
        let has_preview = rows >= LEAST_ROWS;
        let list_rows = if has_preview {
            (rows - 1) * 2 / 5
        } else {
            rows - 1
        };
        let query = self.query_line(columns);
        let mut lines = vec![query.line];
        if self.matching.is_empty() {
            let message = self.empty_list_message();
            lines.extend(wrapped(message, FAINT, columns, list_rows));
        } else {
            lines.extend(self.prompt_lines(columns, list_rows));
        }
        if let Some(found) = self.selected()
            && has_preview
        {
            lines.resize(1 + list_rows, FrameLine::new());
            lines.extend(preview(found, columns, rows - lines.len()));
        }
        let cursor = Cursor {
            row: 0,
            column: query.cursor,
        };
        Frame {
            lines,
            cursor: Some(cursor),
        }
    }

    /// Returns the line with the query and, at its end, how many of all prompts match.
    fn query_line(&self, columns: usize) -> QueryLine {
        let sign = "> ";
        let count = format!(
            " {}/{}",
            thousands(self.matching.len()),
            thousands(self.choices.prompts.len())
        );
        let mut room = columns.saturating_sub(sign.len());
        if room >= LEAST_QUERY + count.len() {
            room -= count.len();
        }
        let query = window(&self.query, room);
        let gap = " ".repeat(room.saturating_sub(query.text.width()));
        QueryLine {
            cursor: sign.len() + query.cursor,
            line: vec![
                (NAME, sign.to_owned()),
                (PLAIN, query.text + &gap),
                (FAINT, count),
            ],
        }
    }

    /// Returns a line for each of the matching prompts that are shown. The selected one is among
    /// them.
    fn prompt_lines(&self, columns: usize, rows: usize) -> Vec<FrameLine> {
        let top = self.selected.saturating_sub(rows.saturating_sub(1));
        let end = self.matching.len().min(top + rows);
        let shown = &self.matching[top..end];
        let mut name_width = 0;
        for index in shown {
            name_width = name_width.max(self.choices.prompts[*index].name.width() + 1);
        }
        let room = columns.saturating_sub(2);
        // On a wider terminal, at least half of a line is for the description.
        let max_name_width = if columns < 24 { room } else { room / 2 };
        let name_width = name_width.min(max_name_width);
        let mut lines = Vec::new();
        for (row, index) in shown.iter().enumerate() {
            let is_selected = top + row == self.selected;
            lines.push(self.prompt_line(*index, is_selected, name_width));
        }
        lines
    }

    /// Returns the line of a prompt in the list: its name, then its title and description, or why
    /// it is broken.
    fn prompt_line(&self, index: usize, is_selected: bool, name_width: usize) -> FrameLine {
        let found = &self.choices.prompts[index];
        let name = fit(&format!(":{}", found.name), name_width);
        let gap = " ".repeat(name_width - name.width() + 2);
        let mut about = String::new();
        let mut style = PLAIN;
        match self.choices.summaries.get(index) {
            None => {}
            Some(Ok(summary)) => {
                about.push_str(found.layer.mark);
                let texts = [&summary.title, &summary.description];
                about.push_str(&without_name(&found.name, texts.map(Option::as_deref)));
            }
            Some(Err(diagnostic)) => {
                about.push_str(&diagnostic.message);
                style = ERROR;
            }
        }
        let about = gap + &one_line(&about);
        if is_selected {
            vec![(NAME.bold(), format!("> {name}")), (style.bold(), about)]
        } else {
            vec![(NAME, format!("  {name}")), (style, about)]
        }
    }
}

/// The first line of the list.
struct QueryLine {
    line: FrameLine,
    /// The column of the cursor.
    cursor: usize,
}

/// Returns a line that names a prompt, and below it its text with the placeholders marked.
fn preview(found: &Found, columns: usize, rows: usize) -> Vec<FrameLine> {
    let prompt = match found.prompt() {
        Ok(prompt) => prompt,
        Err(diagnostic) => return wrapped(&diagnostic.to_string(), ERROR, columns, rows),
    };
    let usage = prompt.usage().unwrap_or_else(|| format!(":{}", found.name));
    let title = format!("── {} ({}) ", one_line(&usage), found.layer.name);
    let rule = "─".repeat(columns.saturating_sub(title.width()));
    let text = prompt.template_text();
    let template = prompt.template_of(&text);
    let body = template.body();
    let mut text = WrappedText::new(columns, rows.saturating_sub(1));
    let mut end = 0;
    for placeholder in template.placeholders() {
        text.push(&body[end..placeholder.range.start], PLAIN);
        text.push(&body[placeholder.range.clone()], MARK);
        end = placeholder.range.end;
    }
    text.push(&body[end..], PLAIN);
    let mut lines = vec![vec![(FAINT, title + &rule)]];
    lines.extend(text.into_lines());
    lines
}

/// Returns the frame of a form: the prompt, its fields with the details of the current one, and, if
/// there is room, a preview.
fn form_frame(form: &Form, columns: usize, rows: usize) -> Frame {
    let details = details(&form.fields[form.current], columns);
    // The current field and its details are always shown.
    let last_needed = form.current + 2 + details.len();
    let first = last_needed.saturating_sub(rows).min(form.current);
    let label_width = label_width(&form.fields).min(columns / 3);
    let mut lines = vec![heading(form)];
    let mut cursor = None;
    for (index, field) in form.fields.iter().enumerate().skip(first) {
        let value = window(&field.input, columns.saturating_sub(label_width + 4).max(1));
        if index == form.current {
            cursor = Some(Cursor {
                row: lines.len(),
                column: label_width + 4 + value.cursor,
            });
            lines.push(field_line(
                "> ",
                NAME.bold(),
                field,
                label_width,
                value.text,
            ));
            lines.extend(details.clone());
        } else {
            lines.push(field_line("  ", PLAIN, field, label_width, value.text));
        }
    }
    if rows > lines.len() + 4 {
        lines.push(FrameLine::new());
        lines.extend(preview(&form.found, columns, rows - lines.len()));
    }
    Frame { lines, cursor }
}

/// Returns the first line of a form: the name of the prompt, then its title or description.
fn heading(form: &Form) -> FrameLine {
    let prompt = &form.prompt;
    let title = prompt.title.as_ref().or(prompt.description.as_ref());
    let about = title.map(|title| one_line(title)).unwrap_or_default();
    vec![(NAME, format!(":{}  ", form.found.name)), (PLAIN, about)]
}

/// Returns the label of a field: its name, with a star if it needs a value.
fn label(field: &Field) -> String {
    let star = if field.is_required { "*" } else { "" };
    one_line(&field.name) + star
}

fn label_width(fields: &[Field]) -> usize {
    let widths = fields.iter().map(|field| label(field).width());
    widths.max().unwrap_or(0)
}

fn field_line(
    mark: &str,
    style: Style,
    field: &Field,
    label_width: usize,
    value: String,
) -> FrameLine {
    let label = fit(&label(field), label_width);
    let gap = " ".repeat(label_width - label.width() + 2);
    vec![(style, mark.to_owned() + &label), (PLAIN, gap + &value)]
}

/// Returns up to three lines that say what a field is for, and which choices it has.
fn details(field: &Field, columns: usize) -> Vec<FrameLine> {
    let room = columns.saturating_sub(4);
    let mut lines = Vec::new();
    if !field.description.trim().is_empty() {
        lines.extend(wrapped(&one_line(&field.description), FAINT, room, 2));
    }
    if !field.choices.is_empty() {
        let choices = format!("↑↓ {}", field.choices.join(" · "));
        lines.extend(wrapped(&one_line(&choices), FAINT, room, 2));
    }
    lines.truncate(3);
    for line in &mut lines {
        line.insert(0, (PLAIN, "    ".to_owned()));
    }
    lines
}

/// Returns the frame of the chosen text from the row `top` on, below the warnings. Limits `top` to
/// the rows that exist.
fn text_frame(chosen: &mut Chosen, columns: usize, rows: usize) -> Frame {
    let mut lines = Vec::new();
    for warning in &chosen.warnings {
        lines.extend(wrapped(&one_line(warning), WARNING, columns, 3));
    }
    lines.truncate(rows.saturating_sub(1));
    let last_row = chosen.top + rows - lines.len();
    let text = wrapped(chosen.text.trim_end(), PLAIN, columns, last_row);
    chosen.top = chosen.top.min(text.len().saturating_sub(1));
    lines.extend(text.into_iter().skip(chosen.top));
    Frame {
        lines,
        cursor: None,
    }
}

/// Returns the frame of a message that a key closes, with a last line that says what the keys do.
pub(super) fn message_frame(text: &str, key_help: &str, columns: usize, rows: usize) -> Frame {
    let mut lines = wrapped(text, PLAIN, columns, rows.saturating_sub(1).max(1));
    lines.push(vec![(FAINT, fit(key_help, columns))]);
    Frame {
        lines,
        cursor: None,
    }
}

/// Cuts a line to `columns`, and makes its characters visible.
fn cut(line: &mut FrameLine, columns: usize) {
    let mut room = columns;
    for (_, text) in line {
        *text = fit(text, room);
        room = room.saturating_sub(text.width());
    }
}

/// Returns a text for one row of at most `columns`. If it is longer, it ends with `…`.
fn fit(text: &str, columns: usize) -> String {
    // More characters than this are not looked at: they may have no width.
    let text: String = text.chars().take(4 * columns + 4).collect();
    let text = in_one_row(&text);
    if text.width() <= columns {
        return text;
    }
    let start: String = start_that_fits(text.chars(), columns).collect();
    if columns == 0 {
        return start;
    }
    start + "…"
}

/// Returns the first characters that fit into `columns` while one column stays free.
fn start_that_fits(
    characters: impl Iterator<Item = char>,
    columns: usize,
) -> impl Iterator<Item = char> {
    let mut used = 0;
    characters.take_while(move |character| {
        used += width(*character);
        used < columns
    })
}

/// Returns a visible text without tabs and line breaks.
fn in_one_row(text: &str) -> String {
    visible(text).replace('\t', " ").replace('\n', "⏎")
}

/// The part of a text that is shown while it is edited.
struct Window {
    text: String,
    /// The column of the cursor in it.
    cursor: usize,
}

/// Returns the part of a text around its cursor that fits into `columns`.
fn window(input: &TypedText, columns: usize) -> Window {
    let (before, after) = input.text.split_at(input.cursor);
    let last: String = before.chars().rev().take(4 * columns).collect();
    let last: String = last.chars().rev().collect();
    let last = in_one_row(&last);
    let reversed: String = start_that_fits(last.chars().rev(), columns).collect();
    let shown: String = reversed.chars().rev().collect();
    let cursor = shown.width();
    Window {
        text: shown + &fit(after, columns.saturating_sub(cursor)),
        cursor,
    }
}

/// Returns the first `max` lines of a text that is broken into lines of at most `columns`.
fn wrapped(text: &str, style: Style, columns: usize, max: usize) -> Vec<FrameLine> {
    let mut lines = WrappedText::new(columns, max);
    lines.push(text, style);
    lines.into_lines()
}

/// A text that is broken into lines of at most `columns`, after a space if a line has one.
struct WrappedText {
    columns: usize,
    /// How many lines are wanted.
    max: usize,
    lines: Vec<FrameLine>,
    /// The characters of the line that is not complete yet, and their width.
    row: Vec<(Style, char)>,
    row_width: usize,
}

impl WrappedText {
    fn new(columns: usize, max: usize) -> WrappedText {
        WrappedText {
            columns,
            max,
            lines: Vec::new(),
            row: Vec::new(),
            row_width: 0,
        }
    }

    /// Adds a text, whose characters are made visible.
    fn push(&mut self, text: &str, style: Style) {
        for (index, character) in text.char_indices() {
            if self.lines.len() >= self.max {
                return;
            }
            match character {
                '\n' => self.end_line(),
                '\r' if text[index..].starts_with("\r\n") => {}
                '\t' => self.push_visible("    ", style),
                _ => self.push_visible(&visible(character.encode_utf8(&mut [0; 4])), style),
            }
        }
    }

    fn push_visible(&mut self, text: &str, style: Style) {
        for character in text.chars() {
            let is_full = self.row_width + width(character) > self.columns;
            // Characters without a width could make an endless line.
            let is_flood = self.row.len() > 4 * self.columns;
            if is_flood {
                self.end_line();
            } else if is_full && character == ' ' {
                self.end_line();
                continue; // the line break takes the place of the space
            } else if is_full {
                self.end_line_after_space();
            }
            self.row.push((style, character));
            self.row_width += width(character);
        }
    }

    /// Ends the line after its last space, and moves the word that follows to the next line. A word
    /// that fills the line is broken.
    fn end_line_after_space(&mut self) {
        let space = self
            .row
            .iter()
            .rposition(|(_, character)| *character == ' ');
        let word = match space {
            Some(index) if index > 0 => self.row.split_off(index + 1),
            _ => Vec::new(),
        };
        self.end_line();
        self.row_width = word.iter().map(|(_, character)| width(*character)).sum();
        self.row = word;
    }

    fn end_line(&mut self) {
        let mut line = FrameLine::new();
        for run in self.row.chunk_by(|one, other| one.0 == other.0) {
            let text = run.iter().map(|(_, character)| *character).collect();
            line.push((run[0].0, text));
        }
        self.lines.push(line);
        self.row.clear();
        self.row_width = 0;
    }

    fn into_lines(mut self) -> Vec<FrameLine> {
        self.end_line();
        self.lines.truncate(self.max);
        self.lines
    }
}

fn width(character: char) -> usize {
    character.width().unwrap_or(0)
}
