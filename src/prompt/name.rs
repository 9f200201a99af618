//! The name of a prompt, and the commands that people type to invoke it.

use super::limits::{MAX_NAME, MAX_NAME_FOLDERS};
use serde::{Serialize, Serializer};
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// The name of a prompt: the path of its file relative to the prompts folder, separated by `/` and
/// without the suffix.
///
/// None of its parts is empty or begins with a dot, and it contains no backslashes or control
/// characters. So a folder joined with a name is always a path inside that folder. It has at most
/// [`MAX_NAME`] bytes and [`MAX_NAME_FOLDERS`] folders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Creates a name. The text is not normalized.
    ///
    /// # Errors
    /// Fails if the text doesn't meet the rules of [`Name`]. The error is the reason, as a clause
    /// of a message.
    pub fn new(text: &str) -> Result<Name, String> {
        if text.len() > MAX_NAME {
            return Err(format!(
                "it is {} bytes long, the limit is {MAX_NAME}",
                text.len()
            ));
        }
        if text.split('/').count() > MAX_NAME_FOLDERS + 1 {
            return Err(format!("it has more than {MAX_NAME_FOLDERS} folders"));
        }
        if !text.split('/').all(is_valid_part) {
            let reason = "a part of it is empty, begins with a dot, or has a backslash or a \
                          control character";
            return Err(reason.to_owned());
        }
        Ok(Name(text.into()))
    }

    /// Returns the name as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// Returns whether this is a valid part of a name, i.e. of what is between two slashes.
pub(crate) fn is_valid_part(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && !part.contains(is_forbidden_character)
}

fn is_forbidden_character(character: char) -> bool {
    character == '\\' || character.is_control() || (cfg!(windows) && character == ':')
}

/// The colons that begin a command, and that people may type instead of `/`. The second one is the
/// full-width colon of Japanese and Chinese keyboards.
pub(crate) const COLONS: [char; 2] = [':', '：'];

/// Strips the leading colon of a command, and surrounding spaces.
pub(crate) fn strip_colon(command: &str) -> &str {
    let command = command.trim();
    command.strip_prefix(COLONS).unwrap_or(command).trim()
}

/// Returns the names that a command may refer to, most likely first and without duplicates: as
/// typed, without its colon, and with `/` for colons. Then follow their NFC and NFD forms, since
/// file systems store accents in different ways.
pub(crate) fn possible_names(command: &str) -> Vec<String> {
    let stripped = strip_colon(command);
    let mut names = vec![
        command.to_owned(),
        stripped.to_owned(),
        stripped.replace(COLONS, "/"),
    ];
    if !command.is_ascii() && command.len() <= MAX_TYPED_BYTES {
        for index in 0..names.len() {
            let composed = names[index].nfc().collect();
            let decomposed = names[index].nfd().collect();
            names.extend([composed, decomposed]);
        }
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// The length of the longest text that can be a name, in bytes. It is larger than [`MAX_NAME`],
/// because composing accents can shrink a text to a quarter.
pub(crate) const MAX_TYPED_BYTES: usize = 4 * MAX_NAME;

/// What [`fold_name`] returns for a text that is too long. No name folds to an empty string.
const MATCHES_NO_NAME: &str = "";

/// Normalizes a command or a name for comparison: strips the leading colon, replaces colons with
/// `/`, and folds letter case and Unicode form (macOS decomposes accents in file names).
///
/// Returns an empty string, which no name folds to, if the text is too long for a name.
pub(crate) fn fold_name(command: &str) -> String {
    let name = strip_colon(command);
    if name.len() > MAX_TYPED_BYTES {
        return MATCHES_NO_NAME.to_owned();
    }
    name.replace(COLONS, "/").to_lowercase().nfc().collect()
}

/// Respells `name` such that it starts with `typed`: `git/commit` becomes `git:commit` for `git:c`.
///
/// People may type colons instead of `/`, and accents in NFC or NFD. Returns `None` if no spelling
/// of the name starts with `typed`.
pub(crate) fn spelling_starting_with(name: &str, typed: &str) -> Option<String> {
    let mut spelling = name.to_owned();
    if !name.starts_with(typed)
        && let Some(colon) = typed.chars().find(|letter| COLONS.contains(letter))
    {
        spelling = name.replace('/', &colon.to_string());
    }
    let decomposed = spelling.nfd().collect();
    let composed = spelling.nfc().collect();
    [spelling, decomposed, composed]
        .into_iter()
        .find(|spelling| spelling.starts_with(typed))
}

/// Words that often follow a space and a colon in code and chats, e.g. Vim commands, labels, tags
/// and types. Found in 500,000 messages.
const COMMON_AFTER_COLON: &str = "wq qa set lsp-enable blk label loop restart_work foo latest cli free cheapest noreply messages \
    browser index user reply process get text status type name body id uuid var Self this";

/// Returns whether a word often follows a space and a colon without being a command.
pub(crate) fn is_common_after_colon(word: &str) -> bool {
    COMMON_AFTER_COLON.split(' ').any(|common| common == word)
}

/// Replaces the spaces of a text with hyphens.
pub(super) fn hyphenated(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join("-")
}

/// Replaces full-width characters, e.g. `：`, with their ASCII equivalents.
pub(super) fn to_half_width(text: &str) -> String {
    text.chars().map(to_half_width_character).collect()
}

fn to_half_width_character(character: char) -> char {
    match character {
        '！'..='～' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        other => other,
    }
}

/// If a text with a colon can't be a command, returns what it is instead, e.g. `an emoticon` for
/// `:)` or `an address` for `https://x`. Full-width characters are treated like ASCII.
pub(crate) fn non_command_kind(command: &str) -> Option<&'static str> {
    let text = to_half_width(command.trim());
    let bare = text.trim_matches(':');
    if !bare.contains(char::is_alphanumeric) {
        return Some("an emoticon");
    }
    if text.contains("//") {
        return Some("an address");
    }
    if text.contains('\\') {
        return Some("a Windows path");
    }
    if text.contains("::") {
        return Some("a path in code");
    }
    if bare.starts_with(|first: char| first.is_ascii_digit()) && !bare.contains(char::is_alphabetic)
    {
        return Some("a time or a number");
    }
    if text.ends_with(':') && bare.chars().all(is_emoji_name_character) {
        return Some("an emoji");
    }
    if matches!(bare, "D" | "P" | "p" | "O" | "o") {
        return Some("an emoticon");
    }
    None
}

/// Returns whether the character can be part of an emoji's name, e.g. `:+1:`.
fn is_emoji_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_+-".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_its_folder() {
        for name in [
            "research",
            "git/commit",
            "a/b/c",
            "要約",
            "my prompt",
            "x.md",
            "a:b",
        ] {
            assert_eq!(
                Name::new(name).is_ok(),
                !(cfg!(windows) && name.contains(':')),
                "{name}"
            );
        }
        for name in [
            "", "/a", "a/", "a//b", "..", "a/../b", ".hidden", "a/.b", "a\\b", "a\0b", "a\nb",
        ] {
            let reason = Name::new(name).unwrap_err();
            assert!(reason.starts_with("a part of it is empty"), "{name:?}");
        }
        assert!(Name::new(&"x".repeat(MAX_NAME + 1)).is_err());
        assert!(Name::new(&("d/".repeat(MAX_NAME_FOLDERS + 1) + "x")).is_err());
        assert!(Name::new(&("d/".repeat(MAX_NAME_FOLDERS) + "x")).is_ok());
    }

    #[test]
    fn text_that_was_never_meant_as_a_command_is_recognized() {
        for (text, kind) in [
            ("10:30", Some("a time or a number")),
            ("30", Some("a time or a number")),
            ("3.14", Some("a time or a number")),
            ("std::vec", Some("a path in code")),
            ("::vec", Some("a path in code")),
            (":smile:", Some("an emoji")),
            ("smile:", Some("an emoji")),
            (":+1:", Some("an emoji")),
            (")", Some("an emoticon")),
            (":-/", Some("an emoticon")),
            (":D", Some("an emoticon")),
            ("C:\\temp", Some("a Windows path")),
            ("10：30", Some("a time or a number")),
            ("１０：３０", Some("a time or a number")),
            ("：smile：", Some("an emoji")),
            ("：Ｄ", Some("an emoticon")),
            ("：）", Some("an emoticon")),
            ("std：：vec", Some("a path in code")),
            ("：要約", None),
            ("https://example.com", Some("an address")),
            ("//example.com", Some("an address")),
            ("reserch", None),
            (":git:comit", None),
            ("5whys", None),
            ("a", None),
        ] {
            assert_eq!(non_command_kind(text), kind, "{text:?}");
        }
    }

    #[test]
    fn all_spellings_of_a_name_fold_alike() {
        assert_eq!(fold_name(" :Git:Commit "), "git/commit");
        assert_eq!(fold_name("e\u{301}"), fold_name("É"));
        assert_eq!(fold_name("：Git：Commit"), "git/commit");
        assert_eq!(fold_name(&"R".repeat(100_000)), "");
        assert_eq!(possible_names(" :a:b"), [" :a:b", "a:b", "a/b"]);
        assert_eq!(possible_names("\u{e9}"), ["\u{e9}", "e\u{301}"]);
        assert_eq!(possible_names(&"\u{e9}".repeat(100_000)).len(), 1);
    }

    #[test]
    fn a_completion_is_spelled_as_it_was_typed() {
        for (name, typed, want) in [
            ("git/commit", "gi", Some("git/commit")),
            ("git/commit", "git:c", Some("git:commit")),
            ("git/commit", "git：c", Some("git：commit")),
            ("a:b", "a:", Some("a:b")),
            ("cafe\u{301}", "caf\u{e9}", Some("caf\u{e9}")),
            ("caf\u{e9}", "cafe\u{301}", Some("cafe\u{301}")),
            ("cafe\u{301}", "caf", Some("cafe\u{301}")),
            ("git/commit", "com", None),
        ] {
            assert_eq!(
                spelling_starting_with(name, typed).as_deref(),
                want,
                "{name:?} {typed:?}"
            );
        }
    }
}
