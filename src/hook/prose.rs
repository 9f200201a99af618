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
    fence: Option<Fence>,
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
    pub(super) fn of(text: &'t str) -> Lines<'t> {
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
    pub(super) fn advance(&mut self, at: usize) {
        while self.end <= at {
            let is_blank = self.text[self.start..self.end].trim_start().is_empty();
            self.is_first &= is_blank;
            if is_blank || self.is_fenced {
                self.paragraph = self.end;
            }
            self.start = self.end;
            self.end = memchr(b'\n', &self.text.as_bytes()[self.start..])
                .map_or(self.text.len(), |at| self.end + at + 1);
            let line = &self.text[self.start..self.end];
            self.is_fenced = match &self.fence {
                None => Fence::of(line)
                    .filter(|fence| fence.may_open)
                    .is_some_and(|opening| self.fence.insert(opening).is_alone),
                Some(opening) => {
                    if opening.is_closed_by(line) {
                        self.fence = None;
                    }
                    true
                }
            };
        }
    }

    /// Returns what the current line has from the byte `at` on.
    pub(super) fn after(&self, at: usize) -> &'t str {
        &self.text[at..self.end]
    }

    /// Whether the byte `at` of the current line, which follows a blank or an opening bracket, is
    /// neither in code nor in a quotation, a link or an address.
    pub(super) fn is_prose(&mut self, at: usize) -> bool {
        let (before, after) = self.text[self.start..self.end].split_at(at - self.start);
        let is_block =
            before.starts_with(['\t', '>']) || before.starts_with("    ") || self.is_fenced;
        let near = end_of(before, MAX_NEAR);
        let word = near.rsplit(char::is_whitespace).next().unwrap_or_default();
        // As in `validates(:name)`; languages without blanks have a bracket after a letter, too.
        let is_call = word
            .trim_end_matches(OPENING)
            .ends_with(|end: char| end.is_ascii_alphanumeric() || end == '_');
        let is_elsewhere =
            is_block || is_call || before.trim_start().starts_with('>') || word.contains("://");
        !is_elsewhere && !is_in_link(near, after) && !self.is_code(at)
    }

    /// Returns whether this byte of the current paragraph is between backticks.
    fn is_code(&mut self, at: usize) -> bool {
        if self.code.paragraph.start != self.paragraph || !self.code.paragraph.contains(&at) {
            let following = self.text[self.end..]
                .split_inclusive('\n')
                .take_while(|line| !line.trim_start().is_empty());
            let end = self.end + following.map(str::len).sum::<usize>();
            self.code = CodeSpans::of(self.text, self.paragraph..end);
        }
        self.code.contain(at)
    }
}

impl CodeSpans {
    fn of(text: &str, paragraph: Range<usize>) -> CodeSpans {
        let runs = runs_of_backticks(text, paragraph.clone());
        let mut spans = Vec::new();
        let mut next = 0;
        while let Some(opening) = runs.get(next) {
            next = opening.closing.unwrap_or(next) + 1;
            spans.extend(
                opening
                    .closing
                    .map(|closing| opening.start..runs[closing].start),
            );
        }
        CodeSpans { paragraph, spans }
    }

    fn contain(&self, at: usize) -> bool {
        let following = self.spans.partition_point(|span| span.end <= at);
        self.spans
            .get(following)
            .is_some_and(|span| span.start < at)
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
    for start in memchr_iter(b'`', &text.as_bytes()[part.clone()]) {
        let start = part.start + start;
        match runs.last_mut() {
            Some(run) if run.start + run.length == start => run.length += 1,
            _ => runs.push(Run {
                start,
                length: 1,
                closing: None,
            }),
        }
    }
    let mut following = HashMap::new();
    for (index, run) in runs.iter_mut().enumerate().rev() {
        run.closing = following.insert(run.length, index);
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

/// Whether what is between these parts of a line belongs to a link: `[text](address)`,
/// `[text][name]` or `[name]: address`.
fn is_in_link(before: &str, after: &str) -> bool {
    let before = before.as_bytes();
    let after = &after.as_bytes()[..after.len().min(MAX_NEAR)];
    let closing = unmatched(after, memchr2_iter(b'[', b']', after), b'[');
    let opening = unmatched(before, memchr2_iter(b'(', b')', before).rev(), b')');
    closing.is_some_and(|at| matches!(after.get(at + 1), Some(b'(' | b'[' | b':')))
        || opening.is_some_and(|at| before[..at].ends_with(b"]"))
}

/// Where the first of these brackets is that has no partner before it.
fn unmatched(text: &[u8], mut brackets: impl Iterator<Item = usize>, partner: u8) -> Option<usize> {
    let mut open = 0;
    brackets.find(|at| {
        let is_partner = text[*at] == partner;
        open += if is_partner { 1 } else { -1 };
        open < 0
    })
}

/// How many spaces a line begins with, up to three.
fn indentation(line: &str) -> usize {
    line.bytes()
        .take(3)
        .take_while(|byte| *byte == b' ')
        .count()
}

/// A line that opens or closes a fenced code block, as in Markdown. Backticks at the end of a line
/// open one, too: people type `:debug ```rust`, and paste.
struct Fence {
    mark: u8,
    length: usize,
    is_alone: bool,
    may_open: bool,
    may_close: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Fence> {
        let line = &line[indentation(line)..];
        let is_alone = line.starts_with(['`', '~']);
        let is_apart = line.starts_with(['>', ' ', '\t']);
        let last = || {
            line.split_whitespace()
                .next_back()
                .filter(|word| !is_apart && word.starts_with('`'))
        };
        let line = if is_alone { line } else { last()? };
        let mark = line
            .bytes()
            .next()
            .filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == mark).count();
        let info = &line[length..];
        let fence = Fence {
            mark,
            length,
            is_alone,
            may_open: mark == b'~' || !info.contains('`'), // otherwise it is a code span
            may_close: is_alone && info.trim().is_empty(),
        };
        (length >= 3).then_some(fence)
    }

    /// One that began after other text may also end after some.
    fn is_closed_by(&self, line: &str) -> bool {
        let is_equal = |other: Fence| {
            other.may_close && other.mark == self.mark && other.length >= self.length
        };
        Fence::of(line).is_some_and(is_equal)
            || (!self.is_alone && line.trim_end().ends_with("```"))
    }
}
