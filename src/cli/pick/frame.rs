//! Lays out the picker: lines that fit the terminal. Characters that a terminal would interpret are
//! escaped in all texts.

use super::form::{Form, FormField};
use super::keys::TypedText;
use super::state::{Chosen, State, Step};
use crate::cli::list::without_name;
use crate::cli::output::{ERROR, FAINT, HIGHLIGHT, NAME, WARNING, one_line};
use crate::library::Found;
use crate::wording::{printable_text, with_commas};
use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The styled parts of a line.
pub(super) type FrameLine = Vec<(Style, String)>;

/// The contents of the whole terminal.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) lines: Vec<FrameLine>,
    /// `None` hides the cursor.
    pub(super) cursor: Option<Cursor>,
}

/// A zero-based position on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) row: usize,
    pub(super) column: usize,
}

const PLAIN: Style = Style::new();

/// Marks the line that has the focus, e.g. the query. Other lines begin with [`NO_POINTER`], which
/// has the same width.
const POINTER: &str = "> ";
const POINTER_WIDTH: usize = POINTER.len(); // ASCII: one column per byte
const NO_POINTER: &str = "  ";

/// Separates a name from its description, and a label from its value.
const GAP: &str = "  ";
const GAP_WIDTH: usize = GAP.len(); // ASCII: one column per byte

/// The indentation of the details of a field.
const DETAIL_INDENT: &str = "    ";

/// A terminal needs this many rows for a preview below the list.
const MIN_ROWS_WITH_PREVIEW: usize = 10;

/// A terminal needs this many rows for a line about the keys.
const MIN_ROWS_WITH_KEY_HELP: usize = 4;

/// A preview below a form has at least this many rows; otherwise, there is none.
const MIN_PREVIEW_ROWS: usize = 4;

/// The number of matches is only shown if it leaves the query this many columns.
const MIN_QUERY_COLUMNS: usize = 8;

/// In a list with at least this many columns, names take at most half of the width. In a narrower
/// one, they may take all of it.
const MIN_COLUMNS_WITH_DESCRIPTION: usize = 24;

const MAX_NOTE_ROWS: usize = 2;
const MAX_WARNING_ROWS: usize = 3;

/// The maximum number of rows for the description of a field, and also for its choices.
const MAX_ROWS_PER_DETAIL: usize = 2;
/// The maximum number of rows for the description and the choices together.
const MAX_DETAIL_ROWS: usize = 3;

/// The maximum number of characters per column. Limits texts with many characters that have no
/// width: one with 5,000 combining accents would fit into one column.
const MAX_CHARACTERS_PER_COLUMN: usize = 4;

impl State {
    /// Returns the frame for a terminal of this size: the current step, and below it the note or
    /// the line about the keys. Includes prompts that have been read in the meantime.
    pub(super) fn frame(&mut self, columns: usize, rows: usize) -> Frame {
        self.update_matches();
        let bottom_lines = self.bottom_lines(columns, rows);
        let main_rows = rows.saturating_sub(bottom_lines.len()).max(1); // the layouts need a row
        let mut frame = match &mut self.step {
            Step::List => self.list_frame(columns, main_rows),
            Step::Form(form) => form_frame(form, columns, main_rows),
            Step::Chosen(chosen) => text_frame(chosen, columns, main_rows),
        };
        frame.lines.resize(main_rows, FrameLine::new());
        frame.lines.extend(bottom_lines);
        frame.lines.truncate(rows);
        for line in &mut frame.lines {
            truncate_line(line, columns);
        }
        // With only one or two rows, the row of the cursor may have been truncated.
        if frame.cursor.is_some_and(|cursor| cursor.row >= main_rows) {
            frame.cursor = None;
        }
        frame
    }

    /// Returns the lines at the bottom: the note or, if there is none and enough rows, the line
    /// about the keys.
    fn bottom_lines(&self, columns: usize, rows: usize) -> Vec<FrameLine> {
        if !self.note.is_empty() {
            return wrap_lines(&one_line(&self.note), ERROR, columns, MAX_NOTE_ROWS);
        }
        if rows < MIN_ROWS_WITH_KEY_HELP {
            return Vec::new();
        }
        vec![vec![(FAINT, self.key_help().to_owned())]]
    }

    /// Returns the line about the keys.
    pub(super) fn key_help(&self) -> &'static str {
        match (&self.step, self.purpose.is_draft) {
            (Step::List, true) => "Enter use  Tab fill in  Esc end  ^O edit",
            (Step::List, false) => "Enter choose  ↑↓ move  Esc end",
            (Step::Form(_), true) => "Enter use  Tab next  Esc back  ^O edit",
            (Step::Form(_), false) => "Enter done  Tab next  Esc back",
            (Step::Chosen(_), true) => "Enter use  e edit  Esc back  ↑↓ scroll",
            (Step::Chosen(_), false) => "Enter print  c copy  e edit  Esc back",
        }
    }

    /// Lays out the list: the query, the matching prompts and, if there is room, a preview of the
    /// selected one:
    ///
    /// ```text
    /// > re                       2/13
    /// > :review    Reviews a change
    ///   :research  Plans a research
    ///
    /// ── :review [INPUT] (built-in) ──
    /// Review {{input}} …
    /// ```
    ///
    /// `rows` must be at least 1.
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
            lines.extend(wrap_lines(message, FAINT, columns, list_rows));
        } else {
            lines.extend(self.prompt_lines(columns, list_rows));
        }
        if let Some(found) = self.selected_prompt()
            && has_preview
        {
            lines.resize(1 + list_rows, FrameLine::new()); // the query, and the whole list
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

    /// Returns the line with the query and the number of matches: `> revi                 2/13`. On
    /// a narrow terminal, only the query is visible.
    fn query_line(&self, columns: usize) -> QueryLine {
        let count = format!(
            " {}/{}",
            with_commas(self.matching.len()),
            with_commas(self.choices.prompts.len())
        );
        let columns_after_pointer = columns.saturating_sub(POINTER_WIDTH);
        let columns_before_count = columns_after_pointer.saturating_sub(count.len());
        let query_columns = if columns_before_count >= MIN_QUERY_COLUMNS {
            columns_before_count
        } else {
            columns_after_pointer // `frame` truncates the line before the count
        };
        let query = visible_part(&self.query, query_columns);
        let padding = " ".repeat(query_columns.saturating_sub(query.text.width()));
        QueryLine {
            cursor_column: POINTER_WIDTH + query.cursor_column,
            line: vec![
                (NAME, POINTER.to_owned()),
                (PLAIN, query.text + &padding),
                (FAINT, count),
            ],
        }
    }

    /// Returns the lines of the matching prompts that fit into `rows`. Scrolls just as far as
    /// needed to show the selected prompt.
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

    /// Returns the width of the column of names, e.g. `:review`, for these prompts.
    fn name_width(&self, prompts: &[usize], columns: usize) -> usize {
        let columns_after_pointer = columns.saturating_sub(POINTER_WIDTH);
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

    /// Returns the line of a prompt in the list: its name, and its title and description. If it is
    /// broken, the error takes their place; if it hasn't been read yet, there is only the name.
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

/// Returns the preview of a prompt: its usage, and its text with the placeholders highlighted. For
/// a broken prompt, returns the error.
///
/// ```text
/// ── :review [INPUT] (built-in) ──────
/// Review {{input}} …
/// ```
fn preview(found: &Found, columns: usize, rows: usize) -> Vec<FrameLine> {
    let prompt = match found.prompt() {
        Ok(prompt) => prompt,
        Err(diagnostic) => return wrap_lines(&diagnostic.to_string(), ERROR, columns, rows),
    };
    let usage = prompt.usage().unwrap_or_else(|| format!(":{}", found.name));
    let title = format!("── {} ({}) ", one_line(&usage), found.layer.name);
    let rule = "─".repeat(columns.saturating_sub(title.width()));
    let mut lines = vec![vec![(FAINT, title + &rule)]];
    let text = prompt.template_text();
    let template = prompt.parse_template(&text);
    let body = template.body();
    let mut wrapped_body = WrappedText::new(columns, rows.saturating_sub(1));
    let mut previous_end = 0;
    for placeholder in template.placeholders() {
        wrapped_body.push(&body[previous_end..placeholder.range.start], PLAIN);
        wrapped_body.push(&body[placeholder.range.clone()], HIGHLIGHT);
        previous_end = placeholder.range.end;
    }
    wrapped_body.push(&body[previous_end..], PLAIN);
    lines.extend(wrapped_body.into_lines());
    lines
}

/// Lays out a form: the prompt, its fields, the details of the current field and, if there is room,
/// a preview:
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
/// If there are too few rows, the form scrolls, so that the current field is visible.
fn form_frame(form: &Form, columns: usize, rows: usize) -> Frame {
    let field_columns = FieldColumns::new(&form.fields, columns);
    let current_details = detail_lines(&form.fields[form.current], columns);
    let mut lines = vec![heading(form)];
    let mut cursor = None;
    let first = first_visible_field(form.current, current_details.len(), rows);
    for (index, field) in form.fields.iter().enumerate().skip(first) {
        let is_current = index == form.current;
        let value = visible_part(&field.value, field_columns.value_width);
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

/// Returns the index of the first visible field of a form. Hides only as many fields as necessary
/// to show the current one with its details, which take `detail_rows`.
fn first_visible_field(current: usize, detail_rows: usize, rows: usize) -> usize {
    let fields_up_to_current = current + 1;
    let needed_rows = 1 + fields_up_to_current + detail_rows; // 1 for the heading
    needed_rows.saturating_sub(rows).min(current)
}

/// The columns of the labels and values in a form. A line consists of `> `, the label, two spaces
/// and the value.
struct FieldColumns {
    label_width: usize,
    /// The column in which the values begin.
    value_start: usize,
    value_width: usize,
}

impl FieldColumns {
    /// Makes the labels as wide as the widest one, but at most a third of the terminal.
    fn new(fields: &[FormField], columns: usize) -> FieldColumns {
        let mut label_width = 0;
        for field in fields {
            label_width = label_width.max(label(field).width());
        }
        let label_width = label_width.min(columns / 3);
        let value_start = POINTER_WIDTH + label_width + GAP_WIDTH;
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
    let title = title.map(|title| one_line(title)).unwrap_or_default();
    vec![(NAME, format!(":{}  ", form.found.name)), (PLAIN, title)]
}

/// Returns the label of a field: its name, followed by a star if it is required.
fn label(field: &FormField) -> String {
    let star = if field.is_required { "*" } else { "" };
    one_line(&field.name) + star
}

/// Returns the line of a field, e.g. `> options*  Rust or Go` if it is the current one.
fn field_line(label: &str, value: &str, is_current: bool) -> FrameLine {
    let value = GAP.to_owned() + value;
    if is_current {
        vec![(NAME.bold(), POINTER.to_owned() + label), (PLAIN, value)]
    } else {
        vec![(PLAIN, NO_POINTER.to_owned() + label), (PLAIN, value)]
    }
}

/// Returns up to three indented lines with the description of a field, and its choices, e.g.
/// `↑↓ cost · speed`.
fn detail_lines(field: &FormField, columns: usize) -> Vec<FrameLine> {
    let text_columns = columns.saturating_sub(DETAIL_INDENT.len());
    let mut lines = Vec::new();
    if !field.description.trim().is_empty() {
        let description = one_line(&field.description);
        lines.extend(wrap_lines(
            &description,
            FAINT,
            text_columns,
            MAX_ROWS_PER_DETAIL,
        ));
    }
    if !field.choices.is_empty() {
        let choices = one_line(&format!("↑↓ {}", field.choices.join(" · ")));
        lines.extend(wrap_lines(
            &choices,
            FAINT,
            text_columns,
            MAX_ROWS_PER_DETAIL,
        ));
    }
    lines.truncate(MAX_DETAIL_ROWS);
    for line in &mut lines {
        line.insert(0, (PLAIN, DETAIL_INDENT.to_owned()));
    }
    lines
}

/// Lays out the chosen text, scrolled to `chosen.top_row`, and the warnings above it.
///
/// If `top_row` is past the last row, sets it to the last row. Only this function knows how many
/// rows the text takes. `rows` must be at least 1.
fn text_frame(chosen: &mut Chosen, columns: usize, rows: usize) -> Frame {
    let mut lines = Vec::new();
    for warning in &chosen.warnings {
        lines.extend(wrap_lines(
            &one_line(warning),
            WARNING,
            columns,
            MAX_WARNING_ROWS,
        ));
    }
    lines.truncate(rows.saturating_sub(1)); // leave at least one row for the text
    let rows_below_warnings = rows - lines.len();
    let end_row = chosen.top_row + rows_below_warnings; // rows below it aren't needed
    let text_lines = wrap_lines(chosen.text.trim_end(), PLAIN, columns, end_row);
    chosen.top_row = chosen.top_row.min(text_lines.len().saturating_sub(1));
    lines.extend(text_lines.into_iter().skip(chosen.top_row));
    Frame {
        lines,
        cursor: None,
    }
}

/// Lays out a message, and the line about the keys below it.
pub(super) fn message_frame(text: &str, key_help: &str, columns: usize, rows: usize) -> Frame {
    let mut lines = wrap_lines(text, PLAIN, columns, rows.saturating_sub(1).max(1));
    lines.push(vec![(FAINT, fit(key_help, columns))]);
    Frame {
        lines,
        cursor: None,
    }
}

/// Truncates a line to `columns`, and makes its characters printable.
fn truncate_line(line: &mut FrameLine, columns: usize) {
    let mut free_columns = columns;
    for (_, text) in line {
        *text = fit(text, free_columns);
        free_columns = free_columns.saturating_sub(text.width());
    }
}

/// Truncates a text with [`fit`], or pads it with spaces, so that it is `columns` wide.
fn padded(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let padding = " ".repeat(columns.saturating_sub(text.width()));
    text + &padding
}

/// Truncates a text to one row of `columns`. `research` becomes `rese…` for 5 columns.
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

/// Returns the longest start of a text that leaves one of `columns` free for `…`, e.g. `rese` of
/// `research` for 5 columns.
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

/// Returns the longest end of a text, in one row, that leaves one of `columns` free for the cursor,
/// e.g. `arch` of `research` for 5 columns.
fn end_that_fits(text: &str, columns: usize) -> String {
    // Not the whole text, which may be long.
    let last_characters = last_characters(text, MAX_CHARACTERS_PER_COLUMN * columns);
    let row = in_one_row(last_characters);
    let mut used_columns = 0;
    for (index, character) in row.char_indices().rev() {
        used_columns += width(character);
        if used_columns >= columns {
            return row[index + character.len_utf8()..].to_owned();
        }
    }
    row
}

fn last_characters(text: &str, max_chars: usize) -> &str {
    match text.char_indices().rev().take(max_chars).last() {
        Some((start, _)) => &text[start..],
        None => "",
    }
}

/// Makes a text printable, and replaces tabs and line breaks.
fn in_one_row(text: &str) -> String {
    printable_text(text).replace('\t', " ").replace('\n', "⏎")
}

/// The visible part of a text that is being edited.
struct VisiblePart {
    text: String,
    /// The column of the cursor in `text`.
    cursor_column: usize,
}

/// Returns the part of a text around its cursor that fits into `columns`. If the cursor is at the
/// end of `research`, only `arch` is visible in 5 columns.
fn visible_part(input: &TypedText, columns: usize) -> VisiblePart {
    let (before, after) = input.text.split_at(input.cursor);
    let before = end_that_fits(before, columns);
    let cursor_column = before.width();
    VisiblePart {
        text: before + &fit(after, columns.saturating_sub(cursor_column)),
        cursor_column,
    }
}

/// Wraps a text to `columns`, and returns the first `max_lines` lines.
fn wrap_lines(text: &str, style: Style, columns: usize, max_lines: usize) -> Vec<FrameLine> {
    let mut wrapped_text = WrappedText::new(columns, max_lines);
    wrapped_text.push(text, style);
    wrapped_text.into_lines()
}

/// Wraps styled text to lines of at most `columns`, at spaces if possible.
struct WrappedText {
    columns: usize,
    max_lines: usize,
    /// The complete lines.
    lines: Vec<FrameLine>,
    /// The characters of the incomplete last line.
    row: Vec<(Style, char)>,
    /// The width of `row` in columns.
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

    /// Appends a text, and makes its characters printable. Ignores text beyond `max_lines`.
    fn push(&mut self, text: &str, style: Style) {
        for (index, character) in text.char_indices() {
            if self.lines.len() >= self.max_lines {
                return;
            }
            match character {
                '\n' => self.end_line(),
                '\r' if text[index..].starts_with("\r\n") => {} // the `\n` ends the line
                '\t' => self.push_printable("    ", style),
                _ => {
                    let mut buffer = [0; 4];
                    let character = printable_text(character.encode_utf8(&mut buffer));
                    self.push_printable(&character, style);
                }
            }
        }
    }

    /// Appends printable characters without line breaks. If the line is full, moves its last word
    /// to the next line.
    fn push_printable(&mut self, text: &str, style: Style) {
        for character in text.chars() {
            let is_full = self.row_width + width(character) > self.columns;
            let has_too_many_characters = self.row.len() > MAX_CHARACTERS_PER_COLUMN * self.columns;
            if has_too_many_characters {
                self.end_line();
            } else if is_full && character == ' ' {
                self.end_line();
                continue; // the line break replaces the space
            } else if is_full {
                self.end_line_after_space();
            }
            self.row.push((style, character));
            self.row_width += width(character);
        }
    }

    /// Ends the line after its last space, and moves the rest to the next line. If the line has no
    /// space, ends it within the word.
    fn end_line_after_space(&mut self) {
        let last_space = self
            .row
            .iter()
            .rposition(|(_, character)| *character == ' ');
        let word = match last_space {
            Some(index) if index > 0 => self.row.split_off(index + 1),
            _ => Vec::new(), // nothing before the space, or no space at all
        };
        self.end_line();
        self.row_width = word.iter().map(|(_, character)| width(*character)).sum();
        self.row = word;
    }

    /// Completes the line. Joins neighboring characters of the same style.
    fn end_line(&mut self) {
        let mut line = FrameLine::new();
        for part in self.row.chunk_by(|left, right| left.0 == right.0) {
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

/// Returns the width of a character in columns: 2 for `要`, and 0 for a combining accent.
fn width(character: char) -> usize {
    character.width().unwrap_or(0)
}
