//! Splits the text of a call into words, and finds `name=value` pairs in it. As in a shell, quotes
//! group words.

use super::model::Argument;
use std::ops::Range;

/// Splits a text into words. A quoted group is one word, including its quotes.
pub(super) fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut quotes = QuoteFinder::default();
    let mut end = 0;
    while let Some(start) = next_word_start(text, end) {
        end = word_end(text, start, &mut quotes);
        words.push(&text[start..end]);
    }
    words
}

/// Returns the byte offset of the next word at or after `from`.
fn next_word_start(text: &str, from: usize) -> Option<usize> {
    let space_length = text[from..].find(|character: char| !character.is_whitespace())?;
    Some(from + space_length)
}

/// Finds closing quotes while a text is scanned from its beginning to its end.
///
/// Remembers which kinds of quotes are not closed in the rest of the text. Otherwise, scanning a
/// text with many unclosed quotes would take quadratic time. Use a new one for each text.
#[derive(Default)]
pub(super) struct QuoteFinder {
    /// The quotes, `'` or `"`, that nothing closes in the rest of the text.
    unclosed: Vec<char>,
}

impl QuoteFinder {
    /// Returns the byte offset of the quote that closes the one at `open`. Returns `None` if there
    /// is no opening quote at `open`, or if it is never closed. A quote after a letter, as in
    /// `it's`, is not an opening quote.
    ///
    /// Calls for the same text must have ascending `open`.
    fn find_closing(&mut self, text: &str, open: usize) -> Option<usize> {
        let quote = char::from(text.as_bytes()[open]);
        if !matches!(quote, '\'' | '"') {
            return None;
        }
        if self.unclosed.contains(&quote) || follows_letter(text, open) {
            return None;
        }
        let closing = find_closing_quote(text, open);
        if closing.is_none() {
            self.unclosed.push(quote);
        }
        closing
    }
}

/// Typographic quotation marks, each with the marks that can close it. Keyboards of phones and
/// editors insert them in place of `"`.
const QUOTATION_MARKS: [(char, &[char]); 17] = [
    ('“', &['”']),
    ('”', &['”']),
    ('„', &['“', '”']),
    ('‘', &['’']),
    ('‚', &['‘', '’']),
    ('«', &['»']),
    ('»', &['«']),
    ('‹', &['›']),
    ('›', &['‹']),
    ('‛', &['’']),
    ('‟', &['”']),
    ('「', &['」']),
    ('｢', &['｣']),
    ('『', &['』']),
    ('《', &['》']),
    ('〝', &['〞', '〟']),
    ('＂', &['＂']),
];

/// Marks that people mix by mistake, as in `“x y"` and `"x y”`.
const MIXED_MARKS: [&[char]; 2] = [&['"', '“', '”', '„', '‟'], &['\'', '‘', '’', '‚', '‛']];

/// A text in quotation marks.
struct QuotedGroup {
    /// The byte range of the text between the marks.
    inside: Range<usize>,
    /// The byte offset after the closing mark.
    end: usize,
}

/// Returns the group in typographic or mixed quotation marks that starts at `start`, if there is
/// one. [`QuoteFinder`] finds groups between two equal straight quotes.
fn typographic_group(text: &str, start: usize) -> Option<QuotedGroup> {
    let open = text[start..].chars().next()?;
    let limit = if matches!(open, '\'' | '"') {
        end_before_straight_quote(text, start)?
    } else {
        end_before_next_value(text, start, open)
    };
    let candidate = &text[..limit];
    if let Some((_, closing_marks)) = QUOTATION_MARKS.iter().find(|(mark, _)| *mark == open)
        && let Some(group) = group_closed_by(candidate, start, closing_marks)
    {
        return Some(group);
    }
    let mixed_marks = MIXED_MARKS.iter().find(|marks| marks.contains(&open))?;
    group_closed_by(candidate, start, mixed_marks)
}

/// Returns where the value after the straight quote at `start` ends at the latest: before the next
/// such quote if that opens another value, as in `a="x y” b="z"`, or at the end of the text.
///
/// Returns `None` if the next such quote closes the value.
fn end_before_straight_quote(text: &str, start: usize) -> Option<usize> {
    let Some(next) = find_closing_quote(text, start) else {
        return Some(text.len());
    };
    let is_followed_by_text =
        text[next + 1..].starts_with(|character: char| !character.is_whitespace());
    if text[..next].ends_with('=') && is_followed_by_text {
        Some(next)
    } else {
        None
    }
}

/// Returns where a value after the opening mark at `start` ends at the latest: before the same mark
/// of another value, as in `a=“x y" b=“z”`, or at the end of the text. The limit also keeps the
/// time for many unclosed values linear.
fn end_before_next_value(text: &str, start: usize, open: char) -> usize {
    match text[start..].find(&format!("={open}")) {
        Some(next_value) => start + next_value,
        None => text.len(),
    }
}

/// Returns the group after the opening mark at `start` and before the first of some closing marks.
/// An apostrophe between two letters is not a closing mark.
fn group_closed_by(text: &str, start: usize, closing_marks: &[char]) -> Option<QuotedGroup> {
    let inside_start = start + text[start..].chars().next()?.len_utf8();
    for (offset, mark) in text[inside_start..].match_indices(closing_marks) {
        let position = inside_start + offset;
        let end = position + mark.len();
        let is_apostrophe = matches!(mark, "’" | "'") && is_between_letters(text, position..end);
        if !is_apostrophe {
            return Some(QuotedGroup {
                inside: inside_start..position,
                end,
            });
        }
    }
    None
}

/// Returns the byte offset of the quote that closes the one at `open`: 5 for `'it's'`, because an
/// apostrophe between two letters is not a closing quote. In double quotes, neither is `\"`.
fn find_closing_quote(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[open];
    let mut search_start = open + 1;
    while let Some(offset) = memchr::memchr2(quote, b'\\', &bytes[search_start..]) {
        let candidate = search_start + offset;
        search_start = candidate + 1;
        if bytes[candidate] == b'\\' {
            // There are no escapes in single quotes.
            if quote == b'"' && starts_with_escape(&text[candidate..]) {
                search_start += 1;
            }
            continue;
        }
        let is_apostrophe = quote == b'\'' && is_between_letters(text, candidate..search_start);
        if !is_apostrophe {
            return Some(candidate);
        }
    }
    None
}

/// Returns whether a text begins with `\"` or `\\`.
fn starts_with_escape(text: &str) -> bool {
    text.starts_with("\\\"") || text.starts_with("\\\\")
}

/// Returns whether a letter or digit precedes the byte offset of a quote, as in `it's`.
fn follows_letter(text: &str, quote_offset: usize) -> bool {
    let before = text[..quote_offset].chars().next_back();
    before.is_some_and(char::is_alphanumeric)
}

/// Returns whether the quote in a byte range has a letter or digit on both sides, so that it is an
/// apostrophe.
fn is_between_letters(text: &str, quote: Range<usize>) -> bool {
    follows_letter(text, quote.start) && text[quote.end..].starts_with(char::is_alphanumeric)
}

/// Returns the byte offset of the end of a word. `start` is its start, or an offset inside of it.
///
/// Quoted spaces don't end the word: `criteria="speed and size"` is one word. Calls with the same
/// `quotes` must have the same text and ascending offsets.
pub(super) fn word_end(text: &str, start: usize, quotes: &mut QuoteFinder) -> usize {
    let mut end = start;
    while let Some(character) = text[end..].chars().next() {
        if character.is_whitespace() {
            break;
        }
        end = match quotes.find_closing(text, end) {
            Some(closing) => closing + 1,
            None => end + character.len_utf8(),
        };
    }
    end
}

/// Returns the byte offset where the value of a pair ends. `start` is the offset after `name=`.
///
/// A value is a word, and can also begin with a group in typographic quotation marks:
/// `criteria=“speed and size”`. `quotes` must have been used only for offsets of `text` before
/// `start`.
pub(super) fn value_end(text: &str, start: usize, quotes: &mut QuoteFinder) -> usize {
    let group_end = match typographic_group(text, start) {
        Some(group) => group.end,
        None => start, // no such group
    };
    // Characters right after the group belong to the value, e.g. the comma in `a=“b c”,`.
    word_end(text, group_end, quotes)
}

/// Removes the quotes or typographic quotation marks from the value of a pair, and the blanks
/// inside of `« x y »`.
pub(super) fn unquote_value(value: &str) -> String {
    let Some(group) = typographic_group(value, 0) else {
        return unquote(value);
    };
    let mut inside = &value[group.inside];
    if value.starts_with(['«', '‹']) {
        inside = inside.trim();
    }
    inside.to_owned() + &unquote(&value[group.end..])
}

/// Removes the quotes from a word: `criteria="a b"` becomes `criteria=a b`.
pub(super) fn unquote(word: &str) -> String {
    let mut quotes = QuoteFinder::default();
    let mut output = String::with_capacity(word.len());
    let mut offset = 0;
    while let Some(character) = word[offset..].chars().next() {
        let Some(closing) = quotes.find_closing(word, offset) else {
            output.push(character);
            offset += character.len_utf8();
            continue;
        };
        let quoted = &word[offset + 1..closing];
        if character == '"' {
            push_unescaped(&mut output, quoted);
        } else {
            output.push_str(quoted);
        }
        offset = closing + 1;
    }
    output
}

/// Appends the contents of double quotes to `output`, and replaces the escapes `\"` and `\\`. Other
/// backslashes are kept.
fn push_unescaped(output: &mut String, quoted: &str) {
    let mut rest = quoted;
    while let Some(backslash) = rest.find('\\') {
        output.push_str(&rest[..backslash]);
        rest = &rest[backslash..];
        if starts_with_escape(rest) {
            rest = &rest[1..]; // drop the backslash
        }
        // The next character is one byte long: an escaped `"` or `\`, or the backslash itself.
        output.push_str(&rest[..1]);
        rest = &rest[1..];
    }
    output.push_str(rest);
}

/// A `name=value` in a text.
pub(super) struct Pair {
    /// The index of the argument in the prompt's list.
    pub(super) argument_index: usize,
    /// The byte range of the whole pair.
    pub(super) range: Range<usize>,
    /// The byte offset of the value.
    pub(super) value_start: usize,
}

/// The `name=` of a declared argument.
pub(super) struct PairStart {
    /// The index of the argument in the prompt's list.
    pub(super) argument_index: usize,
    /// The length of `name=` in bytes.
    pub(super) length: usize,
}

/// Finds the `name=value` pairs in a text, in order. The rest of the text is free text.
///
/// A second pair for the same argument is free text: in `a=1 b=2 a=3`, the pairs are `a=1` and
/// `b=2`. Pairs on lines below the first free text are free text, too.
pub(super) fn find_pairs(arguments: &[Argument], text: &str) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut quotes = QuoteFinder::default();
    let mut has_free_text = false;
    let mut end = 0;
    while let Some(start) = next_word_start(text, end) {
        if has_free_text && text[end..start].contains('\n') {
            break;
        }
        let Some(pair) = parse_pair_start(arguments, &text[start..]) else {
            end = word_end(text, start, &mut quotes);
            has_free_text = true;
            continue;
        };
        let value_start = start + pair.length;
        end = value_end(text, value_start, &mut quotes);
        if pairs
            .iter()
            .any(|earlier| earlier.argument_index == pair.argument_index)
        {
            has_free_text = true;
        } else {
            pairs.push(Pair {
                argument_index: pair.argument_index,
                range: start..end,
                value_start,
            });
        }
    }
    pairs
}

/// Parses the `name=` of a declared argument at the start of a text.
pub(super) fn parse_pair_start(arguments: &[Argument], text: &str) -> Option<PairStart> {
    for (index, argument) in arguments.iter().enumerate() {
        if let Some(rest) = text.strip_prefix(&argument.name)
            && rest.starts_with('=')
        {
            return Some(PairStart {
                argument_index: index,
                length: argument.name.len() + 1,
            });
        }
    }
    None
}
