//! Tells the prose of a message from code, quotations, links and URLs.
//!
//! This works line by line, without a Markdown parser. People put code between XML tags, and a
//! Markdown parser ignores code fences in an HTML block. It would also take most of the time for a
//! long message.

use crate::wording::is_invisible;
use memchr::{memchr_iter, memchr2, memchr2_iter, memmem};
use std::collections::HashMap;
use std::ops::Range;

/// The opening brackets that may precede a mention.
pub(super) const OPENING: [char; 9] = ['(', '[', '{', '（', '［', '｛', '「', '『', '【'];

/// What ends a line besides `\n` and `\r`: vertical tab, form feed, next line, line separator, and
/// paragraph separator.
const RARE_LINE_ENDS: [char; 5] = ['\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// A cursor over the lines of a message. It only moves forward.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Whether the text contains any of the [`RARE_LINE_ENDS`], which take longer to find.
    has_rare_line_ends: bool,
    /// The byte offset where the current line starts.
    pub(super) start: usize,
    /// The byte offset where the next line starts.
    next_start: usize,
    /// Whether all lines before the current line are blank.
    pub(super) is_at_start_of_message: bool,
    /// Whether the current line is in a fenced code block, including its fences. A line with other
    /// text before the opening fence is not.
    pub(super) is_fenced: bool,
    /// The fence of the code block that is open after the current line.
    open_fence: Option<CodeFence>,
    /// The byte offset where the paragraph of the current line starts.
    paragraph_start: usize,
    /// The code spans of one paragraph, not necessarily the current one.
    code_spans: CodeSpans,
}

/// The code between backticks in a paragraph. As in Markdown, a span starts and ends with equally
/// many backticks.
#[derive(Default)]
struct CodeSpans {
    paragraph: Range<usize>,
    /// Their byte ranges in the message, in order.
    spans: Vec<Range<usize>>,
}

impl<'t> Lines<'t> {
    /// Returns a cursor before the first line. Call [`advance`](Self::advance) before anything
    /// else.
    pub(super) fn new(text: &'t str) -> Lines<'t> {
        Lines {
            text,
            has_rare_line_ends: has_rare_line_ends(text),
            start: 0,
            next_start: 0,
            is_at_start_of_message: true,
            is_fenced: false,
            open_fence: None,
            paragraph_start: 0,
            code_spans: CodeSpans::default(),
        }
    }

    /// Moves forward to the line that contains a byte offset, which must be less than the length of
    /// the text. Does nothing if that line isn't after the current one.
    pub(super) fn advance(&mut self, offset: usize) {
        while self.next_start <= offset {
            // `start..next_start` is still the previous line.
            let is_blank = is_blank(&self.text[self.start..self.next_start]);
            self.is_at_start_of_message &= is_blank; // true before the first line, which is empty
            if is_blank || self.is_fenced {
                self.paragraph_start = self.next_start;
            }
            self.start = self.next_start;
            self.next_start = self.start + self.line_length(self.start);
            self.update_fence();
        }
    }

    /// Updates `is_fenced` and `open_fence` for the current line.
    fn update_fence(&mut self) {
        let line = &self.text[self.start..self.next_start];
        if let Some(opening) = &self.open_fence {
            self.is_fenced = true;
            if opening.is_closed_by(line) {
                self.open_fence = None;
            }
            return;
        }
        self.is_fenced = false;
        if let Some(fence) = CodeFence::find(line)
            && fence.may_open
        {
            self.is_fenced = fence.starts_line;
            self.open_fence = Some(fence);
        }
    }

    /// Returns the rest of the current line from a byte offset on.
    pub(super) fn rest_from(&self, offset: usize) -> &'t str {
        &self.text[offset..self.next_start]
    }

    /// Returns whether a colon at a byte offset of the current line is in prose, i.e. not in code,
    /// a quotation, a link or a URL. The colon must follow whitespace or an opening bracket.
    pub(super) fn is_prose(&mut self, offset: usize) -> bool {
        let line = &self.text[self.start..self.next_start];
        let (before, after) = line.split_at(offset - self.start);
        if self.is_fenced || starts_code_or_quotation(before) {
            return false;
        }
        let before = last_bytes(before, MAX_CONTEXT);
        let start_of_word = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        if is_call(start_of_word) || start_of_word.contains("://") || is_in_link(before, after) {
            return false;
        }
        !self.is_in_code_span(offset)
    }

    /// Returns whether a name after the sign of a menu, at a byte offset of the current line, can
    /// be in a sentence: the line has no other word with that sign, and doesn't look like a line
    /// of a program or a shell.
    ///
    /// The words of the line are counted again, because [`has_single_signed_word`] leaves out the
    /// one at the start of the message: a name in the same line belongs to the input of that
    /// command.
    pub(super) fn is_menu_sentence(&self, sign: char, offset: usize) -> bool {
        let line = &self.text[self.start..self.next_start];
        let before = &self.text[self.start..offset];
        count_signed_words(line, sign) == 1
            && !line.contains('=')
            && !line.trim_end().ends_with(['{', '}', ';', '\\'])
            && !starts_with_shell_command(line)
            && !ends_in_capitals(before)
            && (sign != '/' || !precedes_place(before))
    }

    /// Returns whether a byte offset in the current paragraph is between backticks.
    fn is_in_code_span(&mut self, offset: usize) -> bool {
        let cached = &self.code_spans.paragraph;
        if cached.start != self.paragraph_start || !cached.contains(&offset) {
            let paragraph = self.paragraph_start..self.paragraph_end();
            self.code_spans = CodeSpans::find(self.text, paragraph);
        }
        self.code_spans.contains(offset)
    }

    /// Returns the byte offset where the current paragraph ends: before the next blank line.
    fn paragraph_end(&self) -> usize {
        let mut end = self.next_start;
        while end < self.text.len() {
            let next = end + self.line_length(end);
            if is_blank(&self.text[end..next]) {
                break;
            }
            end = next;
        }
        end
    }

    /// Returns the length of the line that starts at a byte offset, with its line ending.
    fn line_length(&self, start: usize) -> usize {
        let text = &self.text[start..];
        let line_end = if self.has_rare_line_ends {
            text.find(is_line_end)
        } else {
            memchr2(b'\n', b'\r', text.as_bytes())
        };
        let Some(line_end) = line_end else {
            return text.len();
        };
        let ending = &text[line_end..];
        if ending.starts_with("\r\n") {
            return line_end + 2;
        }
        line_end + ending.chars().next().map_or(0, char::len_utf8)
    }
}

/// Returns whether a text contains any of the [`RARE_LINE_ENDS`]. Most messages are ASCII, which
/// can contain only two of them: checking that first keeps long messages fast.
fn has_rare_line_ends(text: &str) -> bool {
    if memchr2(b'\x0b', b'\x0c', text.as_bytes()).is_some() {
        return true;
    }
    if text.is_ascii() {
        return false;
    }
    RARE_LINE_ENDS.iter().any(|line_end| {
        let mut bytes = [0; 4];
        memmem::find(text.as_bytes(), line_end.encode_utf8(&mut bytes).as_bytes()).is_some()
    })
}

/// Returns whether a character ends a line.
pub(super) fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r') || RARE_LINE_ENDS.contains(&character)
}

/// Returns whether a text consists of whitespace and invisible characters.
fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|character| character.is_whitespace() || is_invisible_filler(character))
}

/// Returns the text without invisible characters at its beginning, such as a zero-width space.
pub(super) fn trim_invisible_start(text: &str) -> &str {
    // Most texts begin with a visible ASCII character. The check keeps long messages fast.
    if text.starts_with(|first: char| first.is_ascii_graphic()) {
        return text;
    }
    text.trim_start_matches(is_invisible_filler)
}

/// Returns whether a character is ignored before a colon, a fence or `>`: it is invisible, but
/// neither whitespace nor a control character.
pub(super) fn is_invisible_filler(character: char) -> bool {
    let is_joiner = matches!(character, '\u{200c}' | '\u{200d}');
    let is_excluded = character.is_whitespace() || character.is_control();
    (is_joiner || is_invisible(character)) && !is_excluded
}

/// Returns whether the start of a line makes it indented code, or a quotation with `>`.
fn starts_code_or_quotation(start_of_line: &str) -> bool {
    let start_of_line = trim_invisible_start(start_of_line);
    start_of_line.starts_with('\t')
        || start_of_line.starts_with("    ")
        || start_of_line.trim_start().starts_with('>')
}

/// Returns whether a message has exactly one word with the sign of a menu, outside of fenced code
/// blocks and besides one at its start. If it has several, they are probably variables in the case
/// of `$`, as in `$HOME`, `${HOME}` and `$(ls)`, and absolute paths in the case of `/`.
pub(super) fn has_single_signed_word(text: &str, sign: char) -> bool {
    let indentation = text.len() - text.trim_start().len();
    let first_counted = if text[indentation..].starts_with(sign) {
        indentation + sign.len_utf8()
    } else {
        indentation
    };
    let mut lines = Lines::new(text);
    let mut count = 0;
    while lines.next_start < text.len() {
        lines.advance(lines.next_start);
        let start = lines.start.max(first_counted);
        if !lines.is_fenced && start < lines.next_start {
            count += count_signed_words(&text[start..lines.next_start], sign);
        }
    }
    count == 1
}

/// Returns how many words of a text start with the sign of a menu.
fn count_signed_words(text: &str, sign: char) -> usize {
    let mut count = 0;
    for (offset, _) in text.match_indices(sign) {
        let before = &text[..offset];
        let after = &text[offset + sign.len_utf8()..];
        let is_inside_path = sign == '/'
            && before.ends_with(|last: char| last.is_alphanumeric() || "./~-_".contains(last));
        let starts_name =
            after.starts_with(|first: char| first.is_alphabetic() || "_{(".contains(first));
        if starts_name && !is_inside_path {
            count += 1;
        }
    }
    count
}

/// Words that start a line of a shell. Some are also English: a sentence that begins with `make`,
/// `find` or `test` mentions nothing, and its user has to type a colon.
const SHELL_COMMANDS: &[&str] = &[
    "$", "alias", "cat", "cd", "chmod", "chown", "cp", "curl", "docker", "echo", "export", "find",
    "git", "grep", "kubectl", "ls", "make", "mkdir", "mv", "npm", "printf", "python", "read", "rm",
    "sed", "set", "source", "sudo", "test", "touch", "unset", "wget",
];

/// Returns whether the first word of a line is a shell's.
fn starts_with_shell_command(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    SHELL_COMMANDS.contains(&first)
}

/// Returns whether the last word of a text consists of at least three capital letters: a name that
/// follows is part of a request or a query, as in `"GET /users` and `WHERE id > $id`.
fn ends_in_capitals(text: &str) -> bool {
    let word = text.split_whitespace().next_back().unwrap_or_default();
    let word = word.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// English words before the path of a folder or an address, as in `the /health endpoint`. In public
/// messages of developers, a name such as `/docs` after them was never a command.
const WORDS_BEFORE_PLACES: [&str; 16] = [
    "a",
    "an",
    "the",
    "at",
    "from",
    "in",
    "inside",
    "into",
    "of",
    "on",
    "to",
    "under",
    "directory",
    "endpoint",
    "folder",
    "path",
];

/// Returns whether a name with a slash after a text is probably a path, as after `look in`. After
/// `as in`, it is not.
fn precedes_place(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let Some(last) = words.next_back() else {
        return false;
    };
    let is_as_in = last == "in" && words.next_back() == Some("as");
    WORDS_BEFORE_PLACES.contains(&last) && !is_as_in
}

/// Returns whether the start of a word is a function call like `validates(` in `validates(:name)`:
/// its brackets follow an ASCII letter. Other letters don't count, because some languages are
/// written without spaces, even before a bracket.
fn is_call(start_of_word: &str) -> bool {
    start_of_word
        .trim_end_matches(OPENING)
        .ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_')
}

impl CodeSpans {
    /// Finds the code spans in a paragraph of a text.
    fn find(text: &str, paragraph: Range<usize>) -> CodeSpans {
        let runs = find_backtick_runs(text, paragraph.clone());
        let mut spans = Vec::new();
        let mut index = 0;
        while let Some(opening) = runs.get(index) {
            if let Some(closing) = opening.next_of_same_length {
                spans.push(opening.start..runs[closing].start);
                index = closing; // runs in between are part of the code
            }
            index += 1;
        }
        CodeSpans { paragraph, spans }
    }

    /// Returns whether a byte offset is in one of the spans.
    fn contains(&self, offset: usize) -> bool {
        let next = self.spans.partition_point(|span| span.end <= offset);
        match self.spans.get(next) {
            Some(span) => span.start < offset,
            None => false,
        }
    }
}

/// Consecutive backticks, e.g. ```` ``` ````.
struct BacktickRun {
    start: usize,
    length: usize,
    /// The index of the next run with the same length, which closes a code span that this run
    /// opens.
    next_of_same_length: Option<usize>,
}

/// Returns the runs of backticks in a range of a text.
fn find_backtick_runs(text: &str, range: Range<usize>) -> Vec<BacktickRun> {
    let mut runs: Vec<BacktickRun> = Vec::new();
    for offset_in_range in memchr_iter(b'`', &text.as_bytes()[range.clone()]) {
        let start = range.start + offset_in_range;
        match runs.last_mut() {
            Some(run) if run.start + run.length == start => run.length += 1,
            _ => runs.push(BacktickRun {
                start,
                length: 1,
                next_of_same_length: None,
            }),
        }
    }
    // Going backwards, `insert` returns the run that was seen before, i.e. the next one in the
    // text.
    let mut last_seen_by_length = HashMap::new();
    for (index, run) in runs.iter_mut().enumerate().rev() {
        run.next_of_same_length = last_seen_by_length.insert(run.length, index);
    }
    runs
}

/// How many bytes of a line are searched before and after a colon for the brackets of a link, and
/// before it for the start of a URL. Bounds the time for a very long line.
const MAX_CONTEXT: usize = 2_000;

/// Returns at most the last `max_bytes` of a text, starting at a character boundary.
fn last_bytes(text: &str, max_bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns whether the position between `before` and `after` on a line is in a Markdown link:
/// `[text](url)`, `[text][name]` or `[name]: url`.
fn is_in_link(before: &str, after: &str) -> bool {
    let after = &after.as_bytes()[..after.len().min(MAX_CONTEXT)];
    let square_brackets = memchr2_iter(b'[', b']', after);
    if let Some(closing) = first_unmatched(after, square_brackets, b'[')
        && matches!(after.get(closing + 1), Some(b'(' | b'[' | b':'))
    {
        return true;
    }
    let before = before.as_bytes();
    let round_brackets = memchr2_iter(b'(', b')', before).rev();
    match first_unmatched(before, round_brackets, b')') {
        Some(opening) => before[..opening].ends_with(b"]"),
        None => false,
    }
}

/// Returns the offset of the first bracket that isn't matched by an earlier `partner`. `brackets`
/// are the offsets of both kinds of brackets, in the order in which to search.
fn first_unmatched(
    text: &[u8],
    brackets: impl Iterator<Item = usize>,
    partner: u8,
) -> Option<usize> {
    let mut depth = 0;
    for offset in brackets {
        if text[offset] == partner {
            depth += 1;
        } else if depth == 0 {
            return Some(offset);
        } else {
            depth -= 1;
        }
    }
    None
}

/// The opening or closing fence of a code block. As in Markdown, it is at the start of a line. An
/// opening fence may also be at the end of a line, because people type `:debug ```rust` and then
/// paste code.
struct CodeFence {
    /// A backtick or a tilde.
    character: u8,
    length: usize,
    /// Whether there is no other text before it.
    starts_line: bool,
    may_open: bool,
    may_close: bool,
}

impl CodeFence {
    /// Finds a fence at the start or the end of a line, e.g. `~~~~` or ` ```rust `.
    fn find(line: &str) -> Option<CodeFence> {
        let line = strip_indentation(line);
        let starts_line = line.starts_with(['`', '~']);
        let fence = if starts_line {
            line
        } else {
            last_word_with_backtick(line)?
        };
        let character = *fence.as_bytes().first()?;
        let length = fence.bytes().take_while(|byte| *byte == character).count();
        if length < 3 {
            return None;
        }
        let info_string = &fence[length..];
        Some(CodeFence {
            character,
            length,
            starts_line,
            // More backticks on the same line make it a code span.
            may_open: character == b'~' || !info_string.contains('`'),
            may_close: starts_line && is_blank(info_string),
        })
    }

    /// Returns whether a line closes the code block that this fence opens. If there is text before
    /// this fence, there may also be text before the closing one.
    fn is_closed_by(&self, line: &str) -> bool {
        if !self.starts_line && line.trim_end().ends_with("```") {
            return true;
        }
        match CodeFence::find(line) {
            Some(fence) => {
                fence.may_close && fence.character == self.character && fence.length >= self.length
            }
            None => false,
        }
    }
}

/// Removes up to three spaces from the start of a line, as Markdown does before a fence. Also
/// removes invisible characters before them.
fn strip_indentation(line: &str) -> &str {
    let line = trim_invisible_start(line);
    let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
    &line[spaces.min(3)..]
}

/// Returns the last word of a line if it starts with a backtick. Returns `None` for a line that is
/// quoted or indented.
fn last_word_with_backtick(line: &str) -> Option<&str> {
    if line.starts_with(['>', ' ', '\t']) {
        return None;
    }
    let word = line.split_whitespace().next_back()?;
    if word.starts_with('`') {
        Some(word)
    } else {
        None
    }
}
