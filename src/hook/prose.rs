//! Which parts of a message are prose, and which are code, a quotation, a link or an address.
//!
//! Fences are found line by line, not by a Markdown parser: people put code between tags, and in an
//! HTML block a fence means nothing to Markdown. A parser would also cost more than all else that
//! is done for a long message.

use memchr::{memchr, memchr2_iter};

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
    pub(super) fn is_prose(&self, at: usize) -> bool {
        let (before, after) = self.text[self.start..self.end].split_at(at - self.start);
        let is_block =
            before.starts_with(['\t', '>']) || before.starts_with("    ") || self.is_fenced;
        let word = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        // As in `validates(:name)`; languages without blanks have a bracket after a letter, too.
        let is_call = word
            .trim_end_matches(OPENING)
            .ends_with(|end: char| end.is_ascii_alphanumeric() || end == '_');
        let is_elsewhere =
            is_block || is_call || before.trim_start().starts_with('>') || word.contains("://");
        !is_elsewhere && !is_in_link(before, after) && !self.is_in_code_span(at)
    }

    /// Whether this byte of the current paragraph is between backticks: as in Markdown, a span ends
    /// with as many as it begins with.
    fn is_in_code_span(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        if memchr(b'`', &bytes[self.paragraph..at]).is_none() {
            return false;
        }
        let following = self.text[self.end..]
            .split_inclusive('\n')
            .take_while(|line| !line.trim_start().is_empty());
        let end = self.end + following.map(str::len).sum::<usize>();
        let (mut runs, mut next) = (Vec::new(), self.paragraph);
        while let Some(found) = memchr(b'`', &bytes[next..end]) {
            let length = bytes[next + found..end]
                .iter()
                .take_while(|byte| **byte == b'`')
                .count();
            runs.push((next + found, length));
            next += found + length;
        }
        let mut runs = &runs[..];
        while let Some(((_, length), further)) =
            runs.split_first().filter(|((opening, _), _)| *opening < at)
        {
            runs = match further.iter().position(|(_, other)| other == length) {
                Some(closing) if further[closing].0 > at => return true,
                Some(closing) => &further[closing + 1..],
                None => further,
            };
        }
        false
    }
}

/// Whether what is between these parts of a line belongs to a link: `[text](address)`,
/// `[text][name]` or `[name]: address`.
fn is_in_link(before: &str, after: &str) -> bool {
    let closing = unmatched(after, memchr2_iter(b'[', b']', after.as_bytes()), b'[');
    let opening = unmatched(
        before,
        memchr2_iter(b'(', b')', before.as_bytes()).rev(),
        b')',
    );
    closing.is_some_and(|at| after[at + 1..].starts_with(['(', '[', ':']))
        || opening.is_some_and(|at| before[..at].ends_with(']'))
}

/// Where the first of these brackets is that has no partner before it.
fn unmatched(text: &str, mut brackets: impl Iterator<Item = usize>, partner: u8) -> Option<usize> {
    let mut open = 0;
    brackets.find(|at| {
        let is_partner = text.as_bytes()[*at] == partner;
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
