//! How text, names and numbers are shown in messages.

mod passwords;

pub(crate) use passwords::{without_password, without_passwords};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

/// The longest text that an error repeats, in characters; a longer one is cut and ends in `…`.
const SHOWN: usize = 60;

/// Returns a text in backticks for a message: `` `git:commit` ``.
///
/// The text is truncated to [`SHOWN`] characters, its password is replaced by `…`, and its
/// invisible characters are escaped. Two backticks delimit a text that contains one.
pub(crate) fn quoted(text: &str) -> String {
    let shown = printable(&cut(&without_password(text), SHOWN));
    if shown.contains('`') {
        format!("`` {shown} ``")
    } else {
        format!("`{shown}`")
    }
}

/// Returns whether a character is invisible: control characters, separators of lines, characters
/// that change the direction of a text, and most of Unicode's `Default_Ignorable_Code_Point`. The
/// joiners U+200C and U+200D and the selectors U+FE0E and U+FE0F are not among them: some scripts
/// and emoji need them.
pub(crate) fn is_invisible(character: char) -> bool {
    let is_format = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    character.is_control() || is_format
}

/// Returns whether an invisible character is ordinary in a text: tabs, ends of lines, soft hyphens,
/// and the marks of right-to-left scripts.
pub(crate) fn is_usual(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | '\u{ad}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
    )
}

/// Returns the first `max` characters of a text, and `…` if there are more.
pub(crate) fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Returns a text of at most `max` characters. A longer one is cut after a word, and ends in `…`.
pub(crate) fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max || text.char_indices().nth(max).is_none() {
        return text.into();
    }
    let end = text.char_indices().nth(max - 1).map_or(0, |(at, _)| at); // leaves one character for the `…`
    let is_after_a_word = text[end..].starts_with(char::is_whitespace);
    let cut = if is_after_a_word {
        end
    } else {
        text[..end].rfind(char::is_whitespace).unwrap_or(end)
    };
    format!("{}…", text[..cut].trim_end()).into()
}

/// Encodes a path for a URI: all characters except `/` and the unreserved ones of RFC 3986, section
/// 2.3.
pub(crate) fn encoded_path(path: &str) -> impl Display + '_ {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'/');
    utf8_percent_encode(path, ENCODED)
}

/// Returns a text that can be printed in one line. Control characters and invisible ones are
/// escaped, as in `\n` and `\u{202e}`, but soft hyphens and the marks of right-to-left scripts
/// stay.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || must_be_escaped(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns a text that a terminal can show, like [`printable`], but with its tabs and line ends.
pub(crate) fn printable_text(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| character == '\r' || must_be_escaped(character)) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_lone_return = character == '\r' && characters.peek() != Some(&'\n');
        if is_lone_return || must_be_escaped(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

/// Returns JSON that a terminal can show. Like [`visible`], but it writes an escape as JSON does:
/// `\u202e`.
pub(crate) fn printable_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        // An ASCII control character is either escaped in JSON, or whitespace between values. Only
        // U+007F is a control character that JSON does not escape.
        let is_safe_ascii = character.is_ascii() && character != '\u{7f}';
        if is_safe_ascii || !must_be_escaped(character) {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            shown += &format!("\\u{unit:04x}");
        }
    }
    shown
}

/// Returns whether a character may hide something, or control a terminal.
fn must_be_escaped(character: char) -> bool {
    is_invisible(character) && !is_usual(character)
}

/// Returns a name in backticks for a message, in full so that it can be copied: `` `git:commit` ``.
pub(crate) fn in_backticks(name: &str) -> String {
    format!("`{}`", printable(&without_password(name)))
}

/// Returns a whole path for messages and questions, without backticks.
pub(crate) fn full_path(path: &Path) -> String {
    printable(&without_password(&path.display().to_string()))
}

/// Returns a path in backticks for a message, in full: `` `/home/me/a.md` ``.
pub(crate) fn path_in_backticks(path: &Path) -> String {
    in_backticks(&path.display().to_string())
}

/// Lists names as alternatives: `` `a` ``, `` `a` or `b` ``, `` `a`, `b` or `c` ``.
pub(crate) fn or_list(names: &[impl AsRef<str>]) -> String {
    enumeration(names, "or")
}

/// Lists all of the names: `` `a` ``, `` `a` and `b` ``, `` `a`, `b` and `c` ``.
pub(crate) fn and_list(names: &[impl AsRef<str>]) -> String {
    enumeration(names, "and")
}

/// Lists names in backticks, with the conjunction before the last one.
fn enumeration(names: &[impl AsRef<str>], conjunction: &str) -> String {
    let quoted_names: Vec<String> = names
        .iter()
        .map(|name| in_backticks(name.as_ref()))
        .collect();
    join_words(
        &quoted_names.iter().map(String::as_str).collect::<Vec<_>>(),
        conjunction,
    )
}

/// Lists words, with the conjunction before the last one: `a`, `a and b`, `a, b and c`.
pub(crate) fn join_words(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} {conjunction} {last}", most.join(", ")),
    }
}

/// Returns a number with commas: `1,234`.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// Returns a length in the largest unit that gives a whole number: `4 MiB`, `4,194,305 bytes`.
pub(crate) fn format_size(length: usize) -> String {
    for (bits, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        let size_of_unit = 1 << bits;
        if length > 0 && length.is_multiple_of(size_of_unit) {
            return format!("{} {unit}", thousands(length / size_of_unit));
        }
    }
    count(length, "byte")
}

/// Returns the clause after `it is` for something too long: `5 MiB long, the limit is 4 MiB`.
pub(crate) fn too_long(length: usize, limit: usize) -> String {
    format!(
        "{} long, the limit is {}",
        format_size(length),
        format_size(limit)
    )
}

/// Returns a number with its noun: `1 line`, `1,000 lines`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!(
        "{} {thing}{}",
        thousands(number),
        if number == 1 { "" } else { "s" }
    )
}

/// Returns bytes as lower-case hexadecimal digits, two for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether a text has `length` lower-case hexadecimal digits and nothing else.
pub(crate) fn is_hex(text: &str, length: usize) -> bool {
    let mut bytes = text.bytes();
    text.len() == length && bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_ends_in_an_ellipsis() {
        assert_eq!(cut("要約", 2), "要約");
        assert_eq!(cut("要約する", 2), "要約…");
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
            assert_eq!(shortened(text, 8), shown, "{text}");
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
            assert_eq!(thousands(number), shown);
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
}
