//! The name of a prompt, and the commands that a person types for it.

use super::limits::{MAX_NAME, MAX_NAME_FOLDERS};
use serde::{Serialize, Serializer};
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// A prompt's name: its path below the prompts folder, `/`-separated, without the file's suffix.
///
/// No part of it is empty or begins with a dot (such files are hidden), and it has no backslash and
/// no control character: a name joined to a folder never leaves that folder. It has at most
/// [`MAX_NAME`] bytes and [`MAX_NAME_FOLDERS`] folders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Creates the name that is spelled exactly like this.
    ///
    /// # Errors
    /// The reason why no file can have the name (see [`Name`]), as a clause for a person.
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
        if !text.split('/').all(is_part) {
            let reason = "a part of it is empty, begins with a dot, or has a backslash or a \
                          control character";
            return Err(reason.to_owned());
        }
        Ok(Name(text.into()))
    }

    /// Returns the name as a text.
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

/// Returns whether this can be one part of a name, between two slashes.
pub(crate) fn is_part(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && !part.contains(is_forbidden)
}

fn is_forbidden(character: char) -> bool {
    character == '\\' || character.is_control() || (cfg!(windows) && character == ':')
}

/// The colons with which a command begins, and which may separate the parts of its name: the usual
/// one, and the full-width one of Japanese and Chinese keyboards.
pub(crate) const COLONS: [char; 2] = [':', '：'];

/// Returns a command without the spaces around it and the colon before it.
pub(crate) fn strip_colon(command: &str) -> &str {
    let command = command.trim();
    command.strip_prefix(COLONS).unwrap_or(command).trim()
}

/// Returns the names that a command may stand for, the most likely first: as typed, stripped, with
/// `/` for colons, and each of these with composed and with separate accents, since systems store
/// them differently.
pub(crate) fn possible_names(command: &str) -> Vec<String> {
    let stripped = strip_colon(command);
    let mut spellings = vec![
        command.to_owned(),
        stripped.to_owned(),
        stripped.replace(COLONS, "/"),
    ];
    if !command.is_ascii() && command.len() <= MAX_TYPED {
        for index in 0..spellings.len() {
            let composed = spellings[index].nfc().collect();
            let separate = spellings[index].nfd().collect();
            spellings.extend([composed, separate]);
        }
    }
    let mut known = HashSet::new();
    spellings.retain(|name| known.insert(name.clone()));
    spellings
}

/// The longest text that can be a name, in bytes: a composed accent may be a quarter of what was
/// typed.
const MAX_TYPED: usize = 4 * MAX_NAME;

/// Returns the form in which all spellings of a name are equal: letter case, a colon for `/`, and
/// composed or separate accents (macOS separates them in file names) make no difference. A text
/// that is too long for a name becomes empty.
pub(crate) fn fold_name(command: &str) -> String {
    let name = strip_colon(command);
    if name.len() > MAX_TYPED {
        return String::new();
    }
    name.replace(COLONS, "/").to_lowercase().nfc().collect()
}

/// Returns the spelling of `name` that starts with `typed`: `git:commit` for `git/commit` and
/// `git:c`.
/// `None` if no spelling does. A person may type colons for `/`, and composed or separate accents.
pub(crate) fn spelling_starting_with(name: &str, typed: &str) -> Option<String> {
    let mut name = name.to_owned();
    if !name.starts_with(typed)
        && let Some(colon) = typed.chars().find(|letter| COLONS.contains(letter))
    {
        name = name.replace('/', &colon.to_string());
    }
    let separate = name.nfd().collect();
    let composed = name.nfc().collect();
    [name, separate, composed]
        .into_iter()
        .find(|spelling| spelling.starts_with(typed))
}

/// Words that follow a blank and a colon in code and in chats, found in 500,000 messages: commands
/// of vim, labels, keywords, tags, types.
const USUAL_AFTER_COLON: &str = "wq qa set lsp-enable blk label loop restart_work foo latest cli free cheapest noreply messages \
    browser index user reply process get text status type name body id uuid var Self this";

/// Returns whether a word often follows a blank and a colon where no prompt is meant.
pub(crate) fn is_common_after_colon(word: &str) -> bool {
    USUAL_AFTER_COLON.split(' ').any(|usual| usual == word)
}

/// Returns a text as one word, with hyphens for its spaces.
pub(super) fn hyphenated(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join("-")
}

/// Returns a text with ASCII characters for their full-width forms.
pub(super) fn half_width(text: &str) -> String {
    text.chars().map(half_width_character).collect()
}

fn half_width_character(character: char) -> char {
    match character {
        '！'..='～' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        other => other,
    }
}

/// Describes a text that has a colon but is no command: `an emoticon`, `an address`. Returns `None`
/// if the text may be a command. Full-width characters count like those of ASCII.
pub(crate) fn non_command_kind(command: &str) -> Option<&'static str> {
    let text = half_width(command.trim());
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
    if text.ends_with(':') && bare.chars().all(is_letter_of_emoji) {
        return Some("an emoji");
    }
    if matches!(bare, "D" | "P" | "p" | "O" | "o") {
        return Some("an emoticon");
    }
    None
}

/// Returns whether the name of an emoji, such as `:+1:`, may have this character.
fn is_letter_of_emoji(character: char) -> bool {
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
