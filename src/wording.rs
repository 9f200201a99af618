//! Formats text, names and numbers for messages.

mod passwords;

pub(crate) use passwords::{without_password, without_passwords};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

/// The maximum length of a [`quoted`] text, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// Quotes a text in backticks for a message: `` `git:commit` ``. The text comes from outside, so it
/// is truncated to [`MAX_QUOTED_CHARS`] characters, passwords are replaced by `…`, and invisible
/// characters are escaped.
///
/// If the text contains a backtick itself, two of them delimit it.
pub(crate) fn quoted(text: &str) -> String {
    let text = printable(&truncate(&without_password(text), MAX_QUOTED_CHARS));
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

/// Returns whether a character is invisible: control characters, line separators, characters that
/// change the text direction, and most of Unicode's `Default_Ignorable_Code_Point`. Excludes the
/// joiners U+200C and U+200D and the variation selectors U+FE0E and U+FE0F, which some scripts and
/// emoji need.
pub(crate) fn is_invisible(character: char) -> bool {
    let is_format = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    character.is_control() || is_format
}

/// Returns whether an invisible character is common in ordinary text: tabs, line endings, soft
/// hyphens, and the direction marks of right-to-left scripts.
pub(crate) fn is_common_invisible(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | '\u{ad}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
    )
}

/// Replaces each run of whitespace and invisible characters with a space.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || is_invisible(letter));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Truncates a text to `max_chars` characters, followed by `…` if there were more.
pub(crate) fn truncate(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Truncates a text after a word. The result, including a final `…`, has at most `max_chars`
/// characters. `max_chars` must not be 0.
pub(crate) fn truncate_at_word(text: &str, max_chars: usize) -> Cow<'_, str> {
    // A text has at most as many characters as bytes, which are faster to count.
    if text.len() <= max_chars || text.char_indices().nth(max_chars).is_none() {
        return text.into();
    }
    // Leave one character for the `…`.
    let char_limit = text.char_indices().nth(max_chars - 1);
    let (first_chars, remaining) = text.split_at(char_limit.map_or(0, |(offset, _)| offset));
    let breaks_word = !remaining.starts_with(char::is_whitespace);
    let kept = match first_chars.rfind(char::is_whitespace) {
        Some(last_space) if breaks_word => &first_chars[..last_space],
        _ => first_chars, // it ends with a word, or with a part of the only one
    };
    format!("{}…", kept.trim_end()).into()
}

/// Percent-encodes a path for a URI: everything except `/` and the unreserved characters of RFC
/// 3986, section 2.3.
pub(crate) fn encoded_path(path: &str) -> impl Display + '_ {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'/');
    utf8_percent_encode(path, ENCODED)
}

/// Decodes a path that [`encoded_path`] has encoded.
pub(crate) fn decoded_path(encoded: &str) -> String {
    percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

/// Makes a text printable on a single line. Escapes control characters and invisible characters, as
/// in `\n` and `\u{202e}`, but keeps soft hyphens and the direction marks of right-to-left scripts.
pub(crate) fn printable(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || must_be_escaped(character) {
            output.extend(character.escape_default());
        } else {
            output.push(character);
        }
    }
    output
}

/// Makes a text of several lines printable. Escapes control characters and invisible characters, as
/// in `\u{202e}`, but keeps tabs and line endings.
pub(crate) fn printable_text(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| character == '\r' || must_be_escaped(character)) {
        return text.into();
    }
    let mut output = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        // Without a line feed, a carriage return lets a terminal overwrite the line.
        let is_lone_return = character == '\r' && characters.peek() != Some(&'\n');
        if is_lone_return || must_be_escaped(character) {
            output.extend(character.escape_default());
        } else {
            output.push(character);
        }
    }
    output.into()
}

/// Makes JSON printable without changing its value. Escapes control characters and invisible
/// characters in JSON syntax, as in `\u202e`.
pub(crate) fn printable_json(json: &str) -> String {
    let mut output = String::with_capacity(json.len());
    for character in json.chars() {
        // JSON already escapes all ASCII control characters in strings, except for U+007F.
        // Elsewhere, they are whitespace.
        let is_safe_ascii = character.is_ascii() && character != '\u{7f}';
        if is_safe_ascii || !must_be_escaped(character) {
            output.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            output += &format!("\\u{unit:04x}");
        }
    }
    output
}

/// Returns whether a character could hide something or control a terminal.
fn must_be_escaped(character: char) -> bool {
    is_invisible(character) && !is_common_invisible(character)
}

/// Quotes a name in backticks, without truncating it, so that it can be copied: `` `git:commit` ``.
pub(crate) fn in_backticks(name: &str) -> String {
    format!("`{}`", printable(&without_password(name)))
}

/// Formats a path without quotes or truncation.
pub(crate) fn full_path(path: &Path) -> String {
    printable(&without_password(&path.display().to_string()))
}

/// Quotes a path in backticks, without truncating it: `` `/home/me/a.md` ``.
pub(crate) fn path_in_backticks(path: &Path) -> String {
    in_backticks(&path.display().to_string())
}

/// Lists names as alternatives: `` `a` ``, `` `a` or `b` ``, `` `a`, `b` or `c` ``.
pub(crate) fn or_list(names: &[impl AsRef<str>]) -> String {
    join_in_backticks(names, "or")
}

/// Lists names: `` `a` ``, `` `a` and `b` ``, `` `a`, `b` and `c` ``.
pub(crate) fn and_list(names: &[impl AsRef<str>]) -> String {
    join_in_backticks(names, "and")
}

fn join_in_backticks(names: &[impl AsRef<str>], conjunction: &str) -> String {
    let mut quoted_names = Vec::with_capacity(names.len());
    for name in names {
        quoted_names.push(in_backticks(name.as_ref()));
    }
    let quoted_names: Vec<&str> = quoted_names.iter().map(String::as_str).collect();
    join_words(&quoted_names, conjunction)
}

/// Joins words with commas and a conjunction: `a`, `a and b`, `a, b and c`.
pub(crate) fn join_words(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} {conjunction} {last}", most.join(", ")),
    }
}

/// Formats a number with commas: `1,234`.
pub(crate) fn with_commas(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// Formats a size in bytes, in the largest unit that gives an integer: `4 MiB`, `4,194,305 bytes`.
pub(crate) fn format_size(length: usize) -> String {
    for (bits, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        let size_of_unit = 1 << bits;
        if length > 0 && length.is_multiple_of(size_of_unit) {
            return format!("{} {unit}", with_commas(length / size_of_unit));
        }
    }
    count(length, "byte")
}

/// Returns what follows "the file is" if a size exceeds its limit: `5 MiB long, the limit is 4
/// MiB`.
pub(crate) fn size_and_limit(length: usize, limit: usize) -> String {
    format!(
        "{} long, the limit is {}",
        format_size(length),
        format_size(limit)
    )
}

/// Formats a number with its noun, in the plural unless it is 1: `1 line`, `1,000 lines`, `2
/// entries`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let number_text = with_commas(number);
    if number == 1 {
        return format!("{number_text} {noun}");
    }
    match noun.strip_suffix("ry") {
        Some(stem) => format!("{number_text} {stem}ries"),
        None => format!("{number_text} {noun}s"),
    }
}

/// Formats bytes as lowercase hexadecimal, with two digits per byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether a text consists of exactly `length` lowercase hexadecimal digits.
pub(crate) fn is_hex(text: &str, length: usize) -> bool {
    let mut bytes = text.bytes();
    text.len() == length && bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns whether a whole name matches a pattern, in which `*` stands for any text, including `/`:
/// `git/*` matches `git/commit`.
pub(crate) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut remaining) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = remaining.split_once(part) else {
            return false;
        };
        remaining = after;
    }
    remaining.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_only_visible_characters() {
        assert_eq!(one_line(" a\n\tb\u{202e}\u{0}c  "), "a b c");
    }

    #[test]
    fn a_text_that_is_cut_ends_in_an_ellipsis() {
        assert_eq!(truncate("要約", 2), "要約");
        assert_eq!(truncate("要約する", 2), "要約…");
    }

    #[test]
    fn a_shown_text_is_short_and_holds_no_control_characters() {
        assert_eq!(quoted("git:commit"), "`git:commit`");
        assert_eq!(quoted("a\nb\0"), "`a\\nb\\u{0}`");
        assert_eq!(quoted("!`ls`"), "`` !`ls` ``");
        assert_eq!(quoted("a\u{202e}b"), "`a\\u{202e}b`");
        assert_eq!(
            quoted(&"x".repeat(100_000)),
            format!("`{}…`", "x".repeat(60))
        );
    }

    #[test]
    fn an_invisible_character_is_escaped_unless_it_is_usual() {
        for (text, shown) in [
            ("\u{1b}[1A\u{7}\u{9b}\u{7f}", r"\u{1b}[1A\u{7}\u{9b}\u{7f}"),
            (
                "\u{202e}\u{2066}\u{200b}\u{feff}",
                r"\u{202e}\u{2066}\u{200b}\u{feff}",
            ),
            (
                "\u{e0041}\u{1bca0}\u{13430}",
                r"\u{e0041}\u{1bca0}\u{13430}",
            ),
            ("a\rb\r\nc\n\td", "a\\rb\r\nc\n\td"),
            (
                "\u{200c}\u{200d}\u{fe0e}\u{fe0f}",
                "\u{200c}\u{200d}\u{fe0e}\u{fe0f}",
            ),
            ("\u{ad}\u{200f}日本", "\u{ad}\u{200f}日本"),
        ] {
            assert_eq!(printable_text(text), shown);
        }
        assert_eq!(printable("a\tb\n"), r"a\tb\n");
        assert_eq!(
            printable_json("{\"a\":\n\"\u{7f}\u{202e}\u{e0041}\u{200d}\"}"),
            "{\"a\":\n\"\\u007f\\u202e\\udb40\\udc41\u{200d}\"}"
        );
    }

    #[test]
    fn a_shortened_text_ends_after_a_word_and_is_never_longer_than_allowed() {
        for (text, shown) in [
            ("", ""),
            ("one two", "one two"),
            ("one two three", "one two…"),
            ("one tw  o", "one tw…"),
            ("onetwothree", "onetwot…"),
            ("éé éé éé éé", "éé éé…"),
            ("one\ntwo three", "one\ntwo…"),
        ] {
            assert_eq!(truncate_at_word(text, 8), shown, "{text}");
        }
    }

    #[test]
    fn a_long_number_has_commas() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (18_000, "18,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(with_commas(number), shown);
        }
    }

    #[test]
    fn a_length_has_the_largest_unit_of_which_it_is_a_multiple() {
        let lengths = [
            (1, "1 byte"),
            (1000, "1,000 bytes"),
            (0, "0 bytes"),
            (1024, "1 KiB"),
            (1025, "1,025 bytes"),
        ];
        let large = [
            (1536 << 10, "1,536 KiB"),
            (64 << 20, "64 MiB"),
            (1 << 30, "1 GiB"),
            ((1 << 30) + 1, "1,073,741,825 bytes"),
        ];
        for (length, shown) in lengths.into_iter().chain(large) {
            assert_eq!(format_size(length), shown);
        }
    }

    #[test]
    fn a_name_to_be_copied_is_shown_whole() {
        assert_eq!(
            or_list(&["a", "it`s", &"x".repeat(200)]),
            format!("`a`, `it`s` or `{}`", "x".repeat(200))
        );
    }

    #[test]
    fn a_star_in_a_pattern_stands_for_any_text() {
        for (pattern, name, want) in [
            ("git/*", "git/commit", true),
            ("git/*", "github", false),
            ("*", "a/b", true),
            ("*commit", "git/commit", true),
            ("g*t/*m*t", "git/commit", true),
            ("a*a", "a", false),
            ("a*b*b", "ab", false),
            ("research", "research", true),
            ("research", "research2", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), want, "{pattern} {name}");
        }
    }
}
