//! The words and pairs of a text: quotes group words, as in a shell, and a pair is a declared name,
//! `=`, and a word.

use super::model::Argument;
use std::ops::Range;

/// The words and quoted groups of a text, with their quotes.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut quotes = Quotes::default();
    let mut at = 0;
    while let Some(space) = text[at..].find(|letter: char| !letter.is_whitespace()) {
        let start = at + space;
        at = word_end(text, start, &mut quotes);
        words.push(&text[start..at]);
    }
    words
}

/// Finds closing quotes.
#[derive(Default)]
pub(super) struct Quotes {
    /// Whether a `'`, or a `"`, is known to be closed nowhere in the rest of the text. Without
    /// this, a long text full of quotes would be searched once for each.
    unclosed: [bool; 2],
}

impl Quotes {
    /// The byte of the quote that closes the one at `open`.
    fn closing(&mut self, text: &str, open: usize) -> Option<usize> {
        let quote = text.as_bytes()[open];
        let unclosed = &mut self.unclosed[usize::from(quote == b'"')];
        if *unclosed || after_a_letter(text, open) {
            return None;
        }
        let mut at = open + 1;
        while let Some(found) = memchr::memchr2(quote, b'\\', &text.as_bytes()[at..]) {
            let found = at + found;
            at = found + 1;
            if text.as_bytes()[found] == b'\\' {
                // An escape is two bytes; in single quotes there is none.
                at += usize::from(quote == b'"' && is_escape(&text[found..]));
            } else if quote == b'"'
                || !(after_a_letter(text, found) && before_a_letter(text, found))
            {
                return Some(found);
            }
        }
        *unclosed = true;
        None
    }
}

fn is_escape(text: &str) -> bool {
    text.starts_with("\\\"") || text.starts_with("\\\\")
}

fn after_a_letter(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_some_and(char::is_alphanumeric)
}

fn before_a_letter(text: &str, at: usize) -> bool {
    text[at + 1..]
        .chars()
        .next()
        .is_some_and(char::is_alphanumeric)
}

/// The end of the word that begins at `start`, or continues there.
pub(super) fn word_end(text: &str, start: usize, quotes: &mut Quotes) -> usize {
    let mut at = start;
    while let Some(letter) = text[at..]
        .chars()
        .next()
        .filter(|letter| !letter.is_whitespace())
    {
        let closing = if matches!(letter, '"' | '\'') {
            quotes.closing(text, at)
        } else {
            None
        };
        at = closing.map_or(at + letter.len_utf8(), |closing| closing + 1);
    }
    at
}

/// A word without the quotes that group it.
pub(super) fn unquoted(word: &str) -> String {
    let mut quotes = Quotes::default();
    let mut text = String::with_capacity(word.len());
    let mut at = 0;
    while let Some(letter) = word[at..].chars().next() {
        let closing = if matches!(letter, '"' | '\'') {
            quotes.closing(word, at)
        } else {
            None
        };
        let Some(closing) = closing else {
            text.push(letter);
            at += letter.len_utf8();
            continue;
        };
        let mut inside = &word[at + 1..closing];
        while let Some(escape) = inside.find('\\').filter(|_| letter == '"') {
            let dropped = usize::from(is_escape(&inside[escape..]));
            text.push_str(&inside[..escape]);
            text.push_str(&inside[escape + dropped..][..1]);
            inside = &inside[escape + dropped + 1..];
        }
        text.push_str(inside);
        at = closing + 1;
    }
    text
}

/// A `name=value` of the text.
pub(super) struct Pair {
    /// The index of the argument.
    pub(super) argument: usize,
    /// The whole pair.
    pub(super) range: Range<usize>,
    /// Where the value begins.
    pub(super) value: usize,
}

/// The pairs of a text, the first for each argument.
pub(super) fn pairs(arguments: &[Argument], text: &str) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut quotes = Quotes::default();
    let mut is_after_text = false;
    let mut end = 0;
    while let Some(space) = text[end..].find(|letter: char| !letter.is_whitespace()) {
        let start = end + space;
        if is_after_text && text[end..start].contains('\n') {
            break; // what continues in further lines is text
        }
        let pair = pair_at(arguments, &text[start..]);
        let value = start + pair.map_or(0, |(_, length)| length);
        end = word_end(text, value, &mut quotes);
        match pair.filter(|(index, _)| pairs.iter().all(|earlier| earlier.argument != *index)) {
            Some((argument, _)) => pairs.push(Pair {
                argument,
                range: start..end,
                value,
            }),
            None => is_after_text = true,
        }
    }
    pairs
}

/// The index of the argument whose `name=` the text begins with, and the length of that.
pub(super) fn pair_at(arguments: &[Argument], text: &str) -> Option<(usize, usize)> {
    let is_pair = |argument: &Argument| {
        text.strip_prefix(&argument.name)
            .is_some_and(|rest| rest.starts_with('='))
    };
    arguments
        .iter()
        .position(is_pair)
        .map(|index| (index, arguments[index].name.len() + 1))
}
