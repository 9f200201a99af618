//! What the picker looks like: lines that fit the terminal. No text of a prompt gets there with a
//! character that a terminal acts on.

use super::form::{Form, FormField};
use super::keys::TypedText;
use super::state::{Chosen, State, Step};
use crate::cli::list::without_name;
use crate::cli::output::{ERROR, FAINT, HIGHLIGHT, NAME, WARNING, one_line};
use crate::library::Found;
use crate::wording::{printable_text, thousands};
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

/// Begins the line that keys act on: the query, the selected prompt, the current field. Other lines
/// begin with `NO_POINTER`, which is as wide.
const POINTER: &str = "> ";
const NO_POINTER: &str = "  ";

/// Separates a name from its description, and a label from its value.
const GAP: &str = "  ";

/// Begins a line of the details of a field.
const DETAIL_INDENT: &str = "    ";

/// With fewer rows than this, there is no preview below the list.
const MIN_ROWS_WITH_PREVIEW: usize = 10;

/// With fewer rows than this, there is no line that says what the keys do.
const MIN_ROWS_WITH_KEY_HELP: usize = 4;

/// The preview below a form has at least this many rows.
const MIN_PREVIEW_ROWS: usize = 4;

/// With fewer columns than this for the query, the number of matches is left out.
const MIN_QUERY_COLUMNS: usize = 8;

/// With fewer columns than this, a name may take the whole line in the list, otherwise half of it.
const MIN_COLUMNS_WITH_DESCRIPTION: usize = 24;

const MAX_NOTE_ROWS: usize = 2;
const MAX_WARNING_ROWS: usize = 3;

/// The most rows for the description of a field, for its choices, and for both.
const MAX_ROWS_PER_DETAIL: usize = 2;
const MAX_DETAIL_ROWS: usize = 3;

/// A line has at most this many characters for each column. Many more would fit, because some have
/// no width, such as accents: a text of 5,000 accents is one column wide.
const MAX_CHARACTERS_PER_COLUMN: usize = 4;

impl State {
    /// Returns the frame for a terminal of this size: the list, the form or the chosen text, and
    /// at the bottom the note or what the keys do. Lists also the prompts that have been read since
    /// the last frame.
    pub(super) fn frame(&mut self, columns: usize, rows: usize) -> Frame {
        self.update();
        let bottom_lines = self.bottom_lines(columns, rows);
        let main_rows = rows.saturating_sub(bottom_lines.len()).max(1);
        let mut frame = match &mut self.step {
            Step::List => self.list_frame(columns, main_rows),
            Step::Form(form) => form_frame(form, columns, main_rows),
            Step::Chosen(chosen) => text_frame(chosen, columns, main_rows),
        };
        frame.lines.resize(main_rows, FrameLine::new());
        frame.lines.extend(bottom_lines);
        frame.lines.truncate(rows);
        for line in &mut frame.lines {
            cut(line, columns);
        }
        // On a terminal of one or two rows, the row of the cursor may have been cut off.
        if frame.cursor.is_some_and(|cursor| cursor.row >= main_rows) {
            frame.cursor = None;
        }
        frame
    }

    /// Returns the lines at the bottom of the frame: the note if there is one, else what the keys
    /// do if the terminal has the rows.
    fn bottom_lines(&self, columns: usize, rows: usize) -> Vec<FrameLine> {
        if !self.note.is_empty() {
            return wrapped(&one_line(&self.note), ERROR, columns, MAX_NOTE_ROWS);
        }
        if rows < MIN_ROWS_WITH_KEY_HELP {
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

    /// Returns the frame of the list: the query, the prompts that match, and, if there is room, a
    /// preview of the selected one:
    ///
    /// ```text
    /// > re                       2/13
    /// > :review    Reviews a change
    ///   :research  Plans a research
    ///
    /// ── :review [INPUT] (built-in) ──
    /// Review {{input}} …
    /// ```
    fn list_frame(&self, columns: usize, rows: usize) -> Frame {
        let rows_below_query = rows - 1;
        let has_preview = rows >= MIN_ROWS_WITH_PREVIEW;
        let list_rows = if has_preview {
            rows_below_query * 2 / 5 // the preview gets three fifths
        } else {
            rows_below_query
        };
        let query = self.query_line(columns);
        let mut lines = vec![query.line];
        if self.matching.is_empty() {
            let message = self.empty_list_message();
            lines.extend(wrapped(message, FAINT, columns, list_rows));
        } else {
            lines.extend(self.prompt_lines(columns, list_rows));
        }
        if let Some(found) = self.selected_prompt()
            && has_preview
        {
            lines.resize(1 + list_rows, FrameLine::new());
            lines.extend(preview(found, columns, rows - lines.len()));
        }
        let cursor = Cursor {
            row: 0,
            column: query.cursor_column,
        };
        Frame {
            lines,
            cursor: Some(cursor),
        }
    }

    /// Returns the line with the query and, at its end, how many of all prompts match:
    /// `> revi                 2/13`. In a narrow terminal, the numbers are left out.
    fn query_line(&self, columns: usize) -> QueryLine {
        let count = format!(
            " {}/{}",
            thousands(self.matching.len()),
            thousands(self.choices.prompts.len())
        );
        let columns_after_pointer = columns.saturating_sub(POINTER.len());
        let query_columns = match columns_after_pointer.checked_sub(count.len()) {
            Some(columns) if columns >= MIN_QUERY_COLUMNS => columns,
            _ => columns_after_pointer, // the count is cut off with the rest of the line
        };
        let query = window(&self.query, query_columns);
        let padding = " ".repeat(query_columns.saturating_sub(query.text.width()));
        QueryLine {
            cursor_column: POINTER.len() + query.cursor_column,
            line: vec![
                (NAME, POINTER.to_owned()),
                (PLAIN, query.text + &padding),
                (FAINT, count),
            ],
        }
    }

    /// Returns a line for each prompt that matches, as many as there are rows. The list scrolls if
    /// the selected prompt would be below the last row: that prompt is in the last row then.
    fn prompt_lines(&self, columns: usize, rows: usize) -> Vec<FrameLine> {
        let first = (self.selected + 1).saturating_sub(rows);
        let end = self.matching.len().min(first + rows);
        let visible_prompts = &self.matching[first..end];
        let name_width = self.name_width(visible_prompts, columns);
        let mut lines = Vec::new();
        for (row, index) in visible_prompts.iter().enumerate() {
            let is_selected = first + row == self.selected;
            lines.push(self.prompt_line(*index, is_selected, name_width));
        }
        lines
    }

    /// Returns the width of the column of names, such as `:review`, in a list of these prompts.
    fn name_width(&self, prompts: &[usize], columns: usize) -> usize {
        let columns_after_pointer = columns.saturating_sub(POINTER.len());
        let max_width = if columns < MIN_COLUMNS_WITH_DESCRIPTION {
            columns_after_pointer
        } else {
            columns_after_pointer / 2
        };
        let mut widest = 0;
        for index in prompts {
            let name = &self.choices.prompts[*index].name;
            widest = widest.max(":".len() + name.width());
        }
        widest.min(max_width)
    }

    /// Returns the line of a prompt in the list: its name, then its title and description, or why
    /// it is broken. Until its file has been read, only its name:
    ///
    /// ```text
    /// > :review    Reviews a change
    /// ```
    fn prompt_line(&self, index: usize, is_selected: bool, name_width: usize) -> FrameLine {
        let found = &self.choices.prompts[index];
        let name = padded(&format!(":{}", found.name), name_width);
        let mut description = String::new();
        let mut style = PLAIN;
        match self.choices.summaries.get(index) {
            None => {}
            Some(Ok(summary)) => {
                description.push_str(found.layer.list_label);
                let texts = [&summary.title, &summary.description];
                description.push_str(&without_name(&found.name, texts.map(Option::as_deref)));
            }
            Some(Err(diagnostic)) => {
                description.push_str(&diagnostic.message);
                style = ERROR;
            }
        }
        let description = GAP.to_owned() + &one_line(&description);
        if is_selected {
            let name = POINTER.to_owned() + &name;
            vec![(NAME.bold(), name), (style.bold(), description)]
        } else {
            let name = NO_POINTER.to_owned() + &name;
            vec![(NAME, name), (style, description)]
        }
    }
}

/// The first line of the list.
struct QueryLine {
    line: FrameLine,
    cursor_column: usize,
}

/// Returns the preview of a prompt: a line with its usage, and below it its text with the
/// placeholders marked. For a broken prompt, the preview says what is wrong.
///
/// ```text
/// ── :review [INPUT] (built-in) ──────
/// Review {{input}} …
/// ```
fn preview(found: &Found, columns: usize, rows: usize) -> Vec<FrameLine> {
    let prompt = match found.prompt() {
        Ok(prompt) => prompt,
        Err(diagnostic) => return wrapped(&diagnostic.to_string(), ERROR, columns, rows),
    };
    let usage = prompt.usage().unwrap_or_else(|| format!(":{}", found.name));
    let title = format!("── {} ({}) ", one_line(&usage), found.layer.name);
    let rule = "─".repeat(columns.saturating_sub(title.width()));
    let mut lines = vec![vec![(FAINT, title + &rule)]];
    let text = prompt.template_text();
    let template = prompt.parse_template(&text);
    let body = template.body();
    let mut wrapped_body = WrappedText::new(columns, rows.saturating_sub(1));
    let mut end_of_last = 0;
    for placeholder in template.placeholders() {
        wrapped_body.push(&body[end_of_last..placeholder.range.start], PLAIN);
        wrapped_body.push(&body[placeholder.range.clone()], HIGHLIGHT);
        end_of_last = placeholder.range.end;
    }
    wrapped_body.push(&body[end_of_last..], PLAIN);
    lines.extend(wrapped_body.into_lines());
    lines
}

/// Returns the frame of a form: the prompt, its fields with the details of the current one, and, if
/// there is room, a preview:
///
/// ```text
/// :compare  Compares options
///   options*  Rust or Go
/// > criteria  speed
///     What to compare them by
///     ↑↓ cost · speed
///
/// ── :compare OPTIONS [criteria=VALUE] (user) ──
/// Compare {{options}} by {{criteria}}.
/// ```
///
/// If there are too few rows, the form scrolls: its first fields are left out.
fn form_frame(form: &Form, columns: usize, rows: usize) -> Frame {
    let field_columns = FieldColumns::new(&form.fields, columns);
    let current_details = detail_lines(&form.fields[form.current], columns);
    let mut lines = vec![heading(form)];
    let mut cursor = None;
    let first = first_visible_field(form.current, current_details.len(), rows);
    for (index, field) in form.fields.iter().enumerate().skip(first) {
        let is_current = index == form.current;
        let value = window(&field.value, field_columns.value_width);
        if is_current {
            cursor = Some(Cursor {
                row: lines.len(),
                column: field_columns.value_start + value.cursor_column,
            });
        }
        let label = padded(&label(field), field_columns.label_width);
        lines.push(field_line(&label, &value.text, is_current));
        if is_current {
            lines.extend(current_details.clone());
        }
    }
    let rows_below_empty_line = rows.saturating_sub(lines.len() + 1);
    if rows_below_empty_line >= MIN_PREVIEW_ROWS {
        lines.push(FrameLine::new());
        lines.extend(preview(&form.found, columns, rows_below_empty_line));
    }
    Frame { lines, cursor }
}

/// Returns the index of the first field of a form that is shown: 0 if there are enough rows for the
/// heading, all fields up to the current one, and the details of that one. Otherwise, as many of
/// the first fields are left out as there are rows too few, but never the current one.
fn first_visible_field(current: usize, current_details: usize, rows: usize) -> usize {
    let fields_up_to_current = current + 1;
    let needed_rows = 1 + fields_up_to_current + current_details; // 1 for the heading
    needed_rows.saturating_sub(rows).min(current)
}

/// Where a form shows the labels and the values of its fields: `> `, the label, two spaces, the
/// value.
struct FieldColumns {
    label_width: usize,
    /// The column in which the values begin.
    value_start: usize,
    value_width: usize,
}

impl FieldColumns {
    /// Makes the labels as wide as the widest one, but takes at most a third of the columns.
    fn new(fields: &[FormField], columns: usize) -> FieldColumns {
        let mut label_width = 0;
        for field in fields {
            label_width = label_width.max(label(field).width());
        }
        let label_width = label_width.min(columns / 3);
        let value_start = POINTER.len() + label_width + GAP.len();
        FieldColumns {
            label_width,
            value_start,
            value_width: columns.saturating_sub(value_start).max(1),
        }
    }
}

/// Returns the first line of a form: the name of the prompt, then its title or description.
fn heading(form: &Form) -> FrameLine {
    let prompt = &form.prompt;
    let title = prompt.title.as_ref().or(prompt.description.as_ref());
    let about = title.map(|title| one_line(title)).unwrap_or_default();
    vec![(NAME, format!(":{}  ", form.found.name)), (PLAIN, about)]
}

/// Returns the label of a field: its name, with a star if it needs a value.
fn label(field: &FormField) -> String {
    let star = if field.is_required { "*" } else { "" };
    one_line(&field.name) + star
}

/// Returns the line of a field: `> options*  Rust or Go` if keys go to it.
fn field_line(label: &str, value: &str, is_current: bool) -> FrameLine {
    let value = GAP.to_owned() + value;
    if is_current {
        vec![(NAME.bold(), POINTER.to_owned() + label), (PLAIN, value)]
    } else {
        vec![(PLAIN, NO_POINTER.to_owned() + label), (PLAIN, value)]
    }
}

/// Returns up to three indented lines that say what a field is for, and which choices it has:
/// `↑↓ cost · speed`.
fn detail_lines(field: &FormField, columns: usize) -> Vec<FrameLine> {
    let text_columns = columns.saturating_sub(DETAIL_INDENT.len());
    let mut lines = Vec::new();
    if !field.description.trim().is_empty() {
        let description = one_line(&field.description);
        lines.extend(wrapped(
            &description,
            FAINT,
            text_columns,
            MAX_ROWS_PER_DETAIL,
        ));
    }
    if !field.choices.is_empty() {
        let choices = one_line(&format!("↑↓ {}", field.choices.join(" · ")));
        lines.extend(wrapped(&choices, FAINT, text_columns, MAX_ROWS_PER_DETAIL));
    }
    lines.truncate(MAX_DETAIL_ROWS);
    for line in &mut lines {
        line.insert(0, (PLAIN, DETAIL_INDENT.to_owned()));
    }
    lines
}

/// Returns the frame of the chosen text, below the warnings. The text is scrolled: its first
/// `chosen.top` rows are left out. A `top` after the last row is corrected to the last row, because
/// only this function knows how many rows the text takes.
fn text_frame(chosen: &mut Chosen, columns: usize, rows: usize) -> Frame {
    let mut lines = Vec::new();
    for warning in &chosen.warnings {
        lines.extend(wrapped(
            &one_line(warning),
            WARNING,
            columns,
            MAX_WARNING_ROWS,
        ));
    }
    lines.truncate(rows.saturating_sub(1)); // at least one row is for the text
    let rows_below_warnings = rows - lines.len();
    let end = chosen.top + rows_below_warnings; // the rows after it are not made
    let text_lines = wrapped(chosen.text.trim_end(), PLAIN, columns, end);
    chosen.top = chosen.top.min(text_lines.len().saturating_sub(1));
    lines.extend(text_lines.into_iter().skip(chosen.top));
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
    let mut free_columns = columns;
    for (_, text) in line {
        *text = fit(text, free_columns);
        free_columns = free_columns.saturating_sub(text.width());
    }
}

/// Returns a text cut to `columns` as [`fit`] does, with spaces after it up to that width.
fn padded(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let padding = " ".repeat(columns.saturating_sub(text.width()));
    text + &padding
}

/// Returns a text for one row of at most `columns`. A longer text ends with `…`: `research` in 5
/// columns is `rese…`.
fn fit(text: &str, columns: usize) -> String {
    let max_characters = MAX_CHARACTERS_PER_COLUMN * (columns + 1);
    let text: String = text.chars().take(max_characters).collect();
    let text = in_one_row(&text);
    if text.width() <= columns {
        return text;
    }
    if columns == 0 {
        return String::new();
    }
    start_that_fits(&text, columns).to_owned() + "…"
}

/// Returns the first characters of a text that fit into `columns` and leave one column free, for
/// `…`: `rese` of `research` for 5 columns.
fn start_that_fits(text: &str, columns: usize) -> &str {
    let mut used_columns = 0;
    for (index, character) in text.char_indices() {
        used_columns += width(character);
        if used_columns >= columns {
            return &text[..index];
        }
    }
    text
}

/// Returns the last characters of a text for one row that fit into `columns` and leave one column
/// free, for the cursor: `arch` of `research` for 5 columns.
fn end_that_fits(text: &str, columns: usize) -> String {
    let end = last_characters(text, MAX_CHARACTERS_PER_COLUMN * columns);
    let end = in_one_row(end);
    let mut used_columns = 0;
    for (index, character) in end.char_indices().rev() {
        used_columns += width(character);
        if used_columns >= columns {
            return end[index + character.len_utf8()..].to_owned();
        }
    }
    end
}

/// Returns the last `max` characters of a text.
fn last_characters(text: &str, max: usize) -> &str {
    match text.char_indices().rev().take(max).last() {
        Some((start, _)) => &text[start..],
        None => "",
    }
}

/// Returns a visible text without tabs and line breaks.
fn in_one_row(text: &str) -> String {
    printable_text(text).replace('\t', " ").replace('\n', "⏎")
}

/// The part of a text that is shown while it is edited.
struct Window {
    text: String,
    /// The column of the cursor in `text`.
    cursor_column: usize,
}

/// Returns the part of a text around its cursor that fits into `columns`. A long text scrolls: with
/// the cursor at the end of `research` and 5 columns, the window is `arch`.
fn window(input: &TypedText, columns: usize) -> Window {
    let (before, after) = input.text.split_at(input.cursor);
    let before = end_that_fits(before, columns);
    let cursor_column = before.width();
    Window {
        text: before + &fit(after, columns.saturating_sub(cursor_column)),
        cursor_column,
    }
}

/// Breaks a text into lines of at most `columns`, and returns the first `max_lines` of them.
fn wrapped(text: &str, style: Style, columns: usize, max_lines: usize) -> Vec<FrameLine> {
    let mut wrapped_text = WrappedText::new(columns, max_lines);
    wrapped_text.push(text, style);
    wrapped_text.into_lines()
}

/// A text that is broken into lines of at most `columns`, after a space if a line has one.
struct WrappedText {
    columns: usize,
    max_lines: usize,
    lines: Vec<FrameLine>,
    /// The characters of the line that is not complete yet, and their width.
    row: Vec<(Style, char)>,
    row_width: usize,
}

impl WrappedText {
    fn new(columns: usize, max_lines: usize) -> WrappedText {
        WrappedText {
            columns,
            max_lines,
            lines: Vec::new(),
            row: Vec::new(),
            row_width: 0,
        }
    }

    /// Adds a text, and makes its characters visible. Ignores the text after the last line that is
    /// wanted.
    fn push(&mut self, text: &str, style: Style) {
        for (index, character) in text.char_indices() {
            if self.lines.len() >= self.max_lines {
                return;
            }
            match character {
                '\n' => self.end_line(),
                '\r' if text[index..].starts_with("\r\n") => {} // the `\n` ends the line
                '\t' => self.push_visible("    ", style),
                _ => self.push_visible(&printable_text(character.encode_utf8(&mut [0; 4])), style),
            }
        }
    }

    /// Adds characters that are visible and not line breaks. A character for which the line has no
    /// room begins the next one, together with the letters of its word; a space is left out.
    fn push_visible(&mut self, text: &str, style: Style) {
        for character in text.chars() {
            let is_full = self.row_width + width(character) > self.columns;
            let has_too_many_characters = self.row.len() > MAX_CHARACTERS_PER_COLUMN * self.columns;
            if has_too_many_characters {
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

    /// Completes the line. Neighbours of one style become one part of it.
    fn end_line(&mut self) {
        let mut line = FrameLine::new();
        for part in self.row.chunk_by(|one, next| one.0 == next.0) {
            let (style, _) = part[0];
            let text = part.iter().map(|(_, character)| *character).collect();
            line.push((style, text));
        }
        self.lines.push(line);
        self.row.clear();
        self.row_width = 0;
    }

    fn into_lines(mut self) -> Vec<FrameLine> {
        self.end_line();
        self.lines.truncate(self.max_lines);
        self.lines
    }
}

/// Returns how many columns a character takes: 2 for `要`, 0 for an accent.
fn width(character: char) -> usize {
    character.width().unwrap_or(0)
}
