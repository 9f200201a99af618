//! The words and pairs of a text: quotes group words, as in a shell, and a pair is a declared name,
//! `=`, and a word.

use super::model::Argument;
use std::ops::Range;

/// Returns the words and quoted groups of a text, with their quotes.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut quotes = Quotes::default();
    let mut end = 0;
    while let Some(start) = next_word_start(text, end) {
        end = word_end(text, start, &mut quotes);
        words.push(&text[start..end]);
    }
    words
}

fn next_word_start(text: &str, from: usize) -> Option<usize> {
    let space = text[from..].find(|letter: char| !letter.is_whitespace())?;
    Some(from + space)
}

/// Finds closing quotes.
///
/// It remembers which quotes are closed nowhere in the rest of the text. Without this, a long text
/// full of quotes would be searched once for each.
#[derive(Default)]
pub(super) struct Quotes {
    single_is_unclosed: bool,
    double_is_unclosed: bool,
}

impl Quotes {
    /// Returns the position of the quote that closes the one at `open`; `None` if there is no quote
    /// at `open`, or it is an apostrophe or is never closed.
    ///
    /// If a quote is never closed, no later one of its kind is. Remembering this keeps the scan of
    /// a text linear.
    fn closing(&mut self, text: &str, open: usize) -> Option<usize> {
        let is_unclosed = match text.as_bytes()[open] {
            b'\'' => &mut self.single_is_unclosed,
            b'"' => &mut self.double_is_unclosed,
            _ => return None,
        };
        if *is_unclosed || is_after_letter(text, open) {
            return None;
        }
        let closing = find_closing_quote(text, open);
        *is_unclosed = closing.is_none();
        closing
    }
}

/// Returns the position of the quote that closes the one at `open`: 5 in `'it's'` for 0, since the
/// apostrophe between two letters closes nothing. Between double quotes, `\"` is text.
fn find_closing_quote(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[open];
    let mut at = open + 1;
    while let Some(offset) = memchr::memchr2(quote, b'\\', &bytes[at..]) {
        let candidate = at + offset;
        at = candidate + 1;
        if bytes[candidate] == b'\\' {
            // In single quotes, nothing is escaped.
            if quote == b'"' && is_escape(&text[candidate..]) {
                at += 1;
            }
            continue;
        }
        let is_apostrophe =
            quote == b'\'' && is_after_letter(text, candidate) && is_before_letter(text, candidate);
        if !is_apostrophe {
            return Some(candidate);
        }
    }
    None
}

/// Returns whether a text begins with `\"` or `\\`.
fn is_escape(text: &str) -> bool {
    text.starts_with("\\\"") || text.starts_with("\\\\")
}

fn is_after_letter(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_some_and(char::is_alphanumeric)
}

fn is_before_letter(text: &str, at: usize) -> bool {
    let after = text[at + 1..].chars().next();
    after.is_some_and(char::is_alphanumeric)
}

/// Returns the end of the word that begins at `start`, or continues there. A quoted group belongs
/// to the word, with its spaces: the whole `criteria="speed and size"` is one word.
pub(super) fn word_end(text: &str, start: usize, quotes: &mut Quotes) -> usize {
    let mut end = start;
    while let Some(letter) = text[end..].chars().next() {
        if letter.is_whitespace() {
            break;
        }
        end = match quotes.closing(text, end) {
            Some(closing) => closing + 1,
            None => end + letter.len_utf8(),
        };
    }
    end
}

/// Returns a word without the quotes that group it: `criteria="a b"` → `criteria=a b`.
pub(super) fn unquoted(word: &str) -> String {
    let mut quotes = Quotes::default();
    let mut text = String::with_capacity(word.len());
    let mut at = 0;
    while let Some(letter) = word[at..].chars().next() {
        if let Some(closing) = quotes.closing(word, at) {
            push_quoted(&mut text, &word[at + 1..closing], letter);
            at = closing + 1;
        } else {
            text.push(letter);
            at += letter.len_utf8();
        }
    }
    text
}

/// Appends the text between two quotes. Between double quotes, escapes such as `\"` are resolved.
fn push_quoted(text: &mut String, inside: &str, quote: char) {
    if quote != '"' {
        text.push_str(inside);
        return;
    }
    let mut rest = inside;
    while let Some(backslash) = rest.find('\\') {
        text.push_str(&rest[..backslash]);
        rest = &rest[backslash..];
        if is_escape(rest) {
            rest = &rest[1..]; // the backslash is left out
        }
        // What is kept is ASCII: the escaped character, or a backslash that escapes nothing.
        text.push_str(&rest[..1]);
        rest = &rest[1..];
    }
    text.push_str(rest);
}

/// A `name=value` of the text.
pub(super) struct Pair {
    /// The index of the argument.
    pub(super) argument: usize,
    /// The whole pair.
    pub(super) range: Range<usize>,
    /// Where the value begins.
    pub(super) value_start: usize,
}

/// The `name=` of a declared argument.
pub(super) struct PairStart {
    /// The index of the argument.
    pub(super) argument: usize,
    /// The length of `name=`.
    pub(super) length: usize,
}

/// Returns the `name=value` pairs of a text, the first for each argument. A further one is text.
/// After any text, the pairs in later lines are text, too.
pub(super) fn pairs(arguments: &[Argument], text: &str) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut quotes = Quotes::default();
    let mut has_text_before = false;
    let mut end = 0;
    while let Some(start) = next_word_start(text, end) {
        if has_text_before && text[end..start].contains('\n') {
            break;
        }
        let Some(pair) = pair_start(arguments, &text[start..]) else {
            end = word_end(text, start, &mut quotes);
            has_text_before = true;
            continue;
        };
        let value_start = start + pair.length;
        end = word_end(text, value_start, &mut quotes);
        if pairs
            .iter()
            .any(|earlier| earlier.argument == pair.argument)
        {
            has_text_before = true;
        } else {
            pairs.push(Pair {
                argument: pair.argument,
                range: start..end,
                value_start,
            });
        }
    }
    pairs
}

/// Returns the `name=` of an argument that a text begins with.
pub(super) fn pair_start(arguments: &[Argument], text: &str) -> Option<PairStart> {
    for (index, argument) in arguments.iter().enumerate() {
        if let Some(rest) = text.strip_prefix(&argument.name)
            && rest.starts_with('=')
        {
            return Some(PairStart {
                argument: index,
                length: argument.name.len() + 1,
            });
        }
    }
    None
}
