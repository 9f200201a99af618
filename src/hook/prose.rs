//! Which parts of a message are prose, and which are code, a quotation, a link or an address.
//!
//! Fences are found line by line, not by a Markdown parser: people put code between tags, and in an
//! HTML block a fence means nothing to Markdown. A parser would also cost more than all else that
//! is done for a long message.

use memchr::{memchr, memchr_iter, memchr2_iter};
use std::collections::HashMap;
use std::ops::Range;

/// The brackets that may be before a mention.
pub(super) const OPENING: [char; 9] = ['(', '[', '{', '（', '［', '｛', '「', '『', '【'];

/// The lines of a message, read one after the other.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Where the current line begins.
    pub(super) start: usize,
    /// Where the next one begins.
    end: usize,
    /// Whether all lines before it are blank.
    pub(super) is_first: bool,
    /// Whether it is part of a fenced code block, or begins or ends one; not if it begins one after
    /// other text.
    pub(super) is_fenced: bool,
    fence: Option<CodeFence>,
    /// Where its paragraph begins.
    paragraph: usize,
    code: CodeSpans,
}

/// The code between backticks in a paragraph: as in Markdown, a span ends with as many as it begins
/// with.
#[derive(Default)]
struct CodeSpans {
    paragraph: Range<usize>,
    /// In the order of the text.
    spans: Vec<Range<usize>>,
}

impl<'t> Lines<'t> {
    /// Returns the lines of a text, before the first one is read.
    pub(super) fn new(text: &'t str) -> Lines<'t> {
        Lines {
            text,
            start: 0,
            end: 0,
            is_first: true,
            is_fenced: false,
            fence: None,
            paragraph: 0,
            code: CodeSpans::default(),
        }
    }

    /// Moves on to the line with this byte.
    pub(super) fn advance(&mut self, position: usize) {
        while self.end <= position {
            let is_blank = self.text[self.start..self.end].trim_start().is_empty();
            self.is_first &= is_blank;
            if is_blank || self.is_fenced {
                self.paragraph = self.end;
            }
            self.start = self.end;
            let newline = memchr(b'\n', &self.text.as_bytes()[self.start..]);
            self.end = newline.map_or(self.text.len(), |length| self.start + length + 1);
            self.read_fence();
        }
    }

    /// Finds out whether the current line belongs to a fenced code block.
    fn read_fence(&mut self) {
        let line = &self.text[self.start..self.end];
        if let Some(opening) = &self.fence {
            self.is_fenced = true;
            if opening.is_closed_by(line) {
                self.fence = None;
            }
            return;
        }
        self.is_fenced = false;
        if let Some(fence) = CodeFence::find(line)
            && fence.may_open
        {
            self.is_fenced = fence.is_alone;
            self.fence = Some(fence);
        }
    }

    /// Returns the part of the current line from a byte on.
    pub(super) fn after(&self, position: usize) -> &'t str {
        &self.text[position..self.end]
    }

    /// Returns whether a byte of the current line is neither in code nor in a quotation, a link or
    /// an address. A blank or an opening bracket is before the byte, or nothing.
    pub(super) fn is_prose(&mut self, position: usize) -> bool {
        let line = &self.text[self.start..self.end];
        let (before, after) = line.split_at(position - self.start);
        if self.is_fenced || begins_code_or_quotation(before) {
            return false;
        }
        let near = end_of(before, MAX_NEAR);
        let word = near.rsplit(char::is_whitespace).next().unwrap_or_default();
        if is_call(word) || word.contains("://") || is_in_link(near, after) {
            return false;
        }
        !self.is_code(position)
    }

    /// Returns whether this byte of the current paragraph is between backticks.
    fn is_code(&mut self, position: usize) -> bool {
        // The spans of a paragraph are found once.
        let known = &self.code.paragraph;
        if known.start != self.paragraph || !known.contains(&position) {
            self.code = CodeSpans::find(self.text, self.paragraph..self.paragraph_end());
        }
        self.code.contains(position)
    }

    /// Returns where the current paragraph ends: before the next blank line.
    fn paragraph_end(&self) -> usize {
        let mut end = self.end;
        for line in self.text[self.end..].split_inclusive('\n') {
            if line.trim_start().is_empty() {
                break;
            }
            end += line.len();
        }
        end
    }
}

/// Returns whether a line that begins like this is indented code, or quoted with `>`.
fn begins_code_or_quotation(line: &str) -> bool {
    line.starts_with('\t') || line.starts_with("    ") || line.trim_start().starts_with('>')
}

/// Returns whether a word is the beginning of a call, as in `validates(:name)`: a letter is before
/// its brackets. Languages without blanks have a bracket after their letters in prose, too, so only
/// ASCII counts.
fn is_call(word: &str) -> bool {
    word.trim_end_matches(OPENING)
        .ends_with(|end: char| end.is_ascii_alphanumeric() || end == '_')
}

impl CodeSpans {
    /// Returns the code in a paragraph of a text.
    fn find(text: &str, paragraph: Range<usize>) -> CodeSpans {
        let runs = runs_of_backticks(text, paragraph.clone());
        let mut spans = Vec::new();
        let mut index = 0;
        while let Some(opening) = runs.get(index) {
            if let Some(closing) = opening.closing {
                spans.push(opening.start..runs[closing].start);
                index = closing;
            }
            index += 1;
        }
        CodeSpans { paragraph, spans }
    }

    /// Returns whether a position is in one of the spans.
    fn contains(&self, position: usize) -> bool {
        let following = self.spans.partition_point(|span| span.end <= position);
        match self.spans.get(following) {
            Some(span) => span.start < position,
            None => false,
        }
    }
}

/// Backticks that follow each other.
struct Run {
    start: usize,
    length: usize,
    /// The index of the next run of this length.
    closing: Option<usize>,
}

/// Returns the runs of backticks in a part of a text.
fn runs_of_backticks(text: &str, part: Range<usize>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for offset in memchr_iter(b'`', &text.as_bytes()[part.clone()]) {
        let start = part.start + offset;
        match runs.last_mut() {
            Some(run) if run.start + run.length == start => run.length += 1,
            _ => runs.push(Run {
                start,
                length: 1,
                closing: None,
            }),
        }
    }
    let mut next_of_length = HashMap::new();
    for (index, run) in runs.iter_mut().enumerate().rev() {
        run.closing = next_of_length.insert(run.length, index);
    }
    runs
}

/// How many bytes of a line are searched on each side for the brackets of a link, and before it for
/// the beginning of an address.
const MAX_NEAR: usize = 2_000;

/// Returns at most the last `max` bytes of a text.
fn end_of(text: &str, max: usize) -> &str {
    let mut start = text.len().saturating_sub(max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns whether the place between these parts of a line belongs to a link: `[text](address)`,
/// `[text][name]` or `[name]: address`.
fn is_in_link(before: &str, after: &str) -> bool {
    let after = &after.as_bytes()[..after.len().min(MAX_NEAR)];
    let square_brackets = memchr2_iter(b'[', b']', after);
    if let Some(closing) = unmatched(after, square_brackets, b'[')
        && matches!(after.get(closing + 1), Some(b'(' | b'[' | b':'))
    {
        return true;
    }
    let before = before.as_bytes();
    let round_brackets = memchr2_iter(b'(', b')', before).rev();
    match unmatched(before, round_brackets, b')') {
        Some(opening) => before[..opening].ends_with(b"]"),
        None => false,
    }
}

/// Returns the position of the first of these brackets that has no `partner` before it.
fn unmatched(text: &[u8], brackets: impl Iterator<Item = usize>, partner: u8) -> Option<usize> {
    let mut open_partners = 0;
    for position in brackets {
        if text[position] == partner {
            open_partners += 1;
        } else if open_partners == 0 {
            return Some(position);
        } else {
            open_partners -= 1;
        }
    }
    None
}

/// A line that opens or closes a fenced code block, as in Markdown. Backticks at the end of a line
/// open one, too: people type `:debug ```rust`, and paste.
struct CodeFence {
    mark: u8,
    length: usize,
    /// Whether no other text is before it.
    is_alone: bool,
    may_open: bool,
    may_close: bool,
}

impl CodeFence {
    /// Returns the fence at the start or the end of a line, such as `~~~~` or ` ```rust `.
    fn find(line: &str) -> Option<CodeFence> {
        let line = without_indentation(line);
        let is_alone = line.starts_with(['`', '~']);
        let fence = if is_alone {
            line
        } else {
            last_backticks(line)?
        };
        let mark = *fence.as_bytes().first()?;
        let length = fence.bytes().take_while(|byte| *byte == mark).count();
        if length < 3 {
            return None;
        }
        let info = &fence[length..];
        Some(CodeFence {
            mark,
            length,
            is_alone,
            may_open: mark == b'~' || !info.contains('`'), // otherwise it is a code span
            may_close: is_alone && info.trim().is_empty(),
        })
    }

    /// Returns whether a line closes the code block that this fence opens. If text is before the
    /// fence, text may also be before the closing one.
    fn is_closed_by(&self, line: &str) -> bool {
        if !self.is_alone && line.trim_end().ends_with("```") {
            return true;
        }
        match CodeFence::find(line) {
            Some(fence) => {
                fence.may_close && fence.mark == self.mark && fence.length >= self.length
            }
            None => false,
        }
    }
}

/// Returns a line without the spaces at its start; of more than three, the first three are removed.
fn without_indentation(line: &str) -> &str {
    let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
    &line[spaces.min(3)..]
}

/// Returns the last word of a line if it begins with a backtick. A line that is quoted or indented
/// has none.
fn last_backticks(line: &str) -> Option<&str> {
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
