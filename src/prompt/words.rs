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

/// Returns the position of the next word from the byte `from` on.
fn next_word_start(text: &str, from: usize) -> Option<usize> {
    let space_length = text[from..].find(|character: char| !character.is_whitespace())?;
    Some(from + space_length)
}

/// Finds closing quotes.
///
/// It remembers which quotes are closed nowhere in the rest of the text. Without this, a long text
/// full of quotes would be searched once for each.
#[derive(Default)]
pub(super) struct Quotes {
    single_is_unclosed: bool,
    double_is_unclosed: bool,
    unclosed_marks: Vec<char>,
}

/// Typographic quotation marks, each with the marks that can close it. Keyboards of phones and
/// editors insert them in place of `"`.
const QUOTATION_MARKS: [(char, &[char]); 11] = [
    ('“', &['”']),
    ('”', &['”']),
    ('„', &['“', '”']),
    ('‘', &['’']),
    ('‚', &['‘', '’']),
    ('«', &['»']),
    ('»', &['«']),
    ('‹', &['›']),
    ('「', &['」']),
    ('『', &['』']),
    ('＂', &['＂']),
];

/// A value in typographic quotation marks.
struct QuotedValue {
    /// The text between the marks.
    inside: Range<usize>,
    /// The position after the closing mark.
    end: usize,
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

    /// Returns the value in typographic quotation marks that starts at `start`, if there is one.
    fn quoted_value(&mut self, text: &str, start: usize) -> Option<QuotedValue> {
        let open = text[start..].chars().next()?;
        let (_, closing_marks) = QUOTATION_MARKS.iter().find(|(mark, _)| *mark == open)?;
        if self.unclosed_marks.contains(&open) {
            return None;
        }
        let inside_start = start + open.len_utf8();
        for (offset, character) in text[inside_start..].char_indices() {
            let position = inside_start + offset;
            let end = position + character.len_utf8();
            let is_apostrophe = character == '’'
                && is_after_letter(text, position)
                && starts_with_letter(&text[end..]);
            if closing_marks.contains(&character) && !is_apostrophe {
                return Some(QuotedValue {
                    inside: inside_start..position,
                    end,
                });
            }
        }
        self.unclosed_marks.push(open);
        None
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
            quote == b'\'' && is_after_letter(text, candidate) && starts_with_letter(&text[at..]);
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

fn starts_with_letter(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric)
}

/// Returns the end of the word that begins at `start`, or continues there. A quoted group belongs
/// to the word, with its spaces: the whole `criteria="speed and size"` is one word.
pub(super) fn word_end(text: &str, start: usize, quotes: &mut Quotes) -> usize {
    let mut end = start;
    while let Some(character) = text[end..].chars().next() {
        if character.is_whitespace() {
            break;
        }
        end = match quotes.closing(text, end) {
            Some(closing) => closing + 1,
            None => end + character.len_utf8(),
        };
    }
    end
}

/// Returns the end of the value that starts at `start`, right after `name=`. Unlike other words, a
/// value may also be grouped by typographic quotation marks: `criteria=“speed and size”`.
pub(super) fn value_end(text: &str, start: usize, quotes: &mut Quotes) -> usize {
    match quotes.quoted_value(text, start) {
        Some(value) => word_end(text, value.end, quotes),
        None => word_end(text, start, quotes),
    }
}

/// Returns the value of a pair without the quotes that group it.
pub(super) fn unquoted_value(value: &str) -> String {
    match Quotes::default().quoted_value(value, 0) {
        Some(quoted) => value[quoted.inside].to_owned() + &unquoted(&value[quoted.end..]),
        None => unquoted(value),
    }
}

/// Returns a word without the quotes that group it: `criteria="a b"` → `criteria=a b`.
pub(super) fn unquoted(word: &str) -> String {
    let mut quotes = Quotes::default();
    let mut text = String::with_capacity(word.len());
    let mut at = 0;
    while let Some(character) = word[at..].chars().next() {
        let Some(closing) = quotes.closing(word, at) else {
            text.push(character);
            at += character.len_utf8();
            continue;
        };
        let quoted = &word[at + 1..closing];
        if character == '"' {
            push_unescaped(&mut text, quoted);
        } else {
            text.push_str(quoted);
        }
        at = closing + 1;
    }
    text
}

/// Appends the text between two double quotes, with the escapes `\"` and `\\` resolved: `say
/// \"hi\"` becomes `say "hi"`. A backslash before anything else stays.
fn push_unescaped(text: &mut String, quoted: &str) {
    let mut rest = quoted;
    while let Some(backslash) = rest.find('\\') {
        text.push_str(&rest[..backslash]);
        rest = &rest[backslash..];
        if is_escape(rest) {
            rest = &rest[1..]; // without the backslash
        }
        // The next character is a quote or a backslash, so it has one byte.
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

/// Returns the `name=value` pairs of a text. A second pair for an argument is text, and so are all
/// pairs in later lines than the first text: `a=1 b=2 a=3` has the pairs `a=1` and `b=2`.
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
        end = value_end(text, value_start, &mut quotes);
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

/// Returns the `name=` of a declared argument at the beginning of a text; `None` if the text begins
/// with anything else.
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
