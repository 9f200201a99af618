//! The name of a prompt, and what a person types for it.

use super::System;
use super::limits::{MAX_DEPTH, MAX_NAME};
use crate::wording::{named, quoted};
use serde::{Serialize, Serializer};
use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// A prompt's name: its path below the prompts folder, `/`-separated, without the file's suffix.
///
/// No part of it is empty or begins with a dot (such files are hidden), and it has no backslash and no control
/// character: a name joined to a folder never leaves that folder. It has at most [`MAX_NAME`] bytes and [`MAX_DEPTH`]
/// folders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// Why a text is not a [`Name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidName {
    /// Longer than [`MAX_NAME`].
    TooLong,
    /// More than [`MAX_DEPTH`] folders.
    TooDeep,
    /// A part between slashes is empty, hidden, or has a character that no name has.
    Part,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidName::TooLong => write!(f, "it is longer than {MAX_NAME} bytes"),
            InvalidName::TooDeep => write!(f, "it has more than {MAX_DEPTH} folders"),
            InvalidName::Part => {
                f.write_str("a part of it is empty, begins with a dot, or has a backslash or a control character")
            }
        }
    }
}

impl std::error::Error for InvalidName {}

impl Name {
    /// The name that is spelled exactly like this.
    ///
    /// # Errors
    /// No file can have it; see [`Name`].
    pub fn new(text: &str) -> Result<Name, InvalidName> {
        if text.len() > MAX_NAME {
            return Err(InvalidName::TooLong);
        }
        if text.split('/').count() > MAX_DEPTH + 1 {
            return Err(InvalidName::TooDeep);
        }
        if !text.split('/').all(is_part) {
            return Err(InvalidName::Part);
        }
        Ok(Name(text.into()))
    }

    /// The name for a new prompt, from what a person typed: without spaces around it and a [colon](COLONS) before it, and with
    /// `/` for each colon.
    ///
    /// # Errors
    /// It could not be typed in a chat, or some system cannot store a file of that name. Names are refused on all systems, because
    /// folders of prompts are shared. The reason is one line for a person.
    pub fn for_new_file(typed: &str) -> Result<Name, String> {
        let refused = |why: &str| Err(format!("{} cannot be the name of a prompt: {why}", quoted(typed)));
        let bare = strip(typed);
        if bare.is_empty() {
            return refused("it is empty; write a word, such as `standup`");
        }
        if bare.contains(char::is_whitespace) {
            let hyphenated = bare.split_whitespace().collect::<Vec<_>>().join("-");
            return refused(&format!("a space ends a command in a chat; write {}", named(&hyphenated)));
        }
        if let Some(character) = bare.chars().find(|character| is_invisible(*character)) {
            return refused(&format!("it has an invisible character, U+{:04X}", u32::from(character)));
        }
        let has_scheme = bare.contains("://");
        if let Some(kind) = not_a_command(&format!(":{bare}")).filter(|_| has_scheme || !bare.contains("//")) {
            return refused(&format!("after a colon it looks like {kind}"));
        }
        let name = bare.replace(COLONS, "/");
        let parts: Vec<&str> = name.split('/').collect();
        for part in &parts {
            if let Err(why) = check_portable(part) {
                return refused(&why);
            }
        }
        if let Some((stem, _)) = System::PromptExpander.prompt_file(&name) {
            return refused(&format!("the name has no suffix; write {}", named(stem)));
        }
        match System::PromptExpander.prompt_file(&format!("{name}.md")) {
            Some((read, _)) if read == name => {}
            Some((other, _)) => return refused(&format!("a file of this name would be the prompt {}", named(other))),
            None => return refused("a file of this name is not read as a prompt"),
        }
        match Name::new(&name) {
            Ok(name) => Ok(name),
            Err(InvalidName::TooLong) => {
                refused(&format!("it is {} bytes long, and the limit is {MAX_NAME}", name.len()))
            }
            Err(InvalidName::TooDeep) => {
                refused(&format!("it has {} folders, and the limit is {MAX_DEPTH}", parts.len() - 1))
            }
            Err(InvalidName::Part) => refused(&InvalidName::Part.to_string()),
        }
    }

    /// The name as a text.
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

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// Whether this can be one part of a name, between two slashes.
pub(crate) fn is_part(part: &str) -> bool {
    let forbidden =
        |character: char| character == '\\' || character.is_control() || (cfg!(windows) && character == ':');
    !part.is_empty() && !part.starts_with('.') && !part.contains(forbidden)
}

/// What Windows forbids in the name of a file, besides `:` and `\`.
const FORBIDDEN: [char; 6] = ['<', '>', '"', '|', '?', '*'];

/// Names that Windows reserves for devices, with any suffix. `COM` and `LPT` with a digit are reserved too.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Checks that one part of a name can be the name of a file on every system.
fn check_portable(part: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err("`/` separates a folder and a name, and one of them is empty".to_owned());
    }
    if part.starts_with('.') {
        return Err(format!("a file or folder whose name begins with a dot, {}, is hidden and ignored", named(part)));
    }
    if part.ends_with('.') {
        return Err("on Windows, no file or folder ends in a dot".to_owned());
    }
    if let Some(character) = part.chars().find(|character| FORBIDDEN.contains(character)) {
        return Err(format!("Windows forbids `{character}` in the names of files"));
    }
    let stem = part.split('.').next().unwrap_or(part).to_lowercase();
    let is_port = |port: &str| {
        let number = stem.strip_prefix(port).map(|number| number.chars().collect::<Vec<_>>());
        number.is_some_and(|number| matches!(number[..], ['0'..='9' | '¹' | '²' | '³']))
    };
    if DEVICES.contains(&stem.as_str()) || is_port("com") || is_port("lpt") {
        return Err(format!("Windows reserves {} for a device", named(&stem)));
    }
    Ok(())
}

/// Whether a character is invisible. The joiners U+200C and U+200D are not among them: some scripts need them.
pub(super) fn is_invisible(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{ad}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    );
    character.is_control() || is_format
}

/// What a command begins with, and what may separate the parts of its name: a colon, or the full-width one of Japanese and
/// Chinese keyboards.
pub(crate) const COLONS: [char; 2] = [':', '：'];

/// A command as typed, without the spaces around it and the colon before it.
pub(crate) fn strip(command: &str) -> &str {
    let command = command.trim();
    command.strip_prefix(COLONS).unwrap_or(command).trim()
}

/// The most spellings of a name that differ in their accents; a name with more parts that have accents gets only those in
/// which all parts are alike.
const MAX_SPELLINGS: usize = 16;

/// The names that a command may stand for, the most likely first: as typed, stripped, with `/` for colons, and each with
/// composed and with separate accents, as different systems store them.
pub(crate) fn spellings(command: &str) -> Vec<String> {
    let stripped = strip(command);
    let typed = [command.to_owned(), stripped.to_owned(), stripped.replace(COLONS, "/")];
    let mut all = typed.to_vec();
    if !command.is_ascii() && command.len() <= MAX_TYPED {
        all.extend(typed.iter().flat_map(|name| with_any_accents(name)));
    }
    let mut known = HashSet::new();
    all.retain(|name| known.insert(name.clone()));
    all
}

/// A name with composed or separate accents in each of its parts.
fn with_any_accents(name: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for (index, part) in name.split('/').enumerate() {
        let slash = if index == 0 { "" } else { "/" };
        let mut forms = vec![part.nfc().collect::<String>(), part.nfd().collect()];
        forms.dedup();
        if all.len() * forms.len() > MAX_SPELLINGS {
            return vec![name.nfc().collect(), name.nfd().collect()];
        }
        all = all.iter().flat_map(|start| forms.iter().map(move |form| format!("{start}{slash}{form}"))).collect();
    }
    all
}

/// The longest text that can be a name, in bytes: a composed accent may be a quarter of what was typed.
const MAX_TYPED: usize = 4 * MAX_NAME;

/// The form in which all spellings of a name are equal: letter case, a colon for `/`, and composed or separate accents
/// (macOS separates them in file names) make no difference. A text too long to be a name becomes empty.
pub(crate) fn fold(command: &str) -> String {
    let name = strip(command);
    if name.len() > MAX_TYPED {
        return String::new();
    }
    name.replace(COLONS, "/").to_lowercase().nfc().collect()
}

/// The spelling of a name that begins with what a person has typed of it: with colons for `/`, or other accents. `None`: none
/// does.
pub(crate) fn spelled_as_typed(name: &str, typed: &str) -> Option<String> {
    let name = match typed.chars().find(|letter| COLONS.contains(letter)) {
        Some(colon) if !name.starts_with(typed) => name.replace('/', colon.encode_utf8(&mut [0; 4])),
        _ => name.to_owned(),
    };
    let spellings = [name.nfc().collect(), name.nfd().collect(), name];
    spellings.into_iter().rev().find(|name: &String| name.starts_with(typed))
}

/// Full-width forms of ASCII characters as ASCII.
pub(super) fn half_width(text: &str) -> String {
    let half = |letter: char| match letter {
        '！'..='～' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        other => other,
    };
    text.chars().map(half).collect()
}

/// What a text with a colon is if it is not a command: a noun with its article. Full-width characters are the same as others.
pub(crate) fn not_a_command(command: &str) -> Option<&'static str> {
    let text = half_width(command.trim());
    let bare = text.trim_matches(':');
    if !bare.chars().any(char::is_alphanumeric) {
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
    if bare.starts_with(|first: char| first.is_ascii_digit()) && !bare.chars().any(char::is_alphabetic) {
        return Some("a time or a number");
    }
    let is_shortcode = |letter: char| letter.is_ascii_alphanumeric() || "_+-".contains(letter);
    if text.ends_with(':') && bare.chars().all(is_shortcode) {
        return Some("an emoji");
    }
    let mut letters = bare.chars();
    if matches!(letters.next(), Some('D' | 'P' | 'p' | 'O' | 'o')) && letters.next().is_none() {
        return Some("an emoticon");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_its_folder() {
        for name in ["research", "git/commit", "a/b/c", "要約", "my prompt", "x.md", "a:b"] {
            assert_eq!(Name::new(name).is_ok(), !(cfg!(windows) && name.contains(':')), "{name}");
        }
        for name in ["", "/a", "a/", "a//b", "..", "a/../b", ".hidden", "a/.b", "a\\b", "a\0b", "a\nb"] {
            assert_eq!(Name::new(name), Err(InvalidName::Part), "{name:?}");
        }
        assert_eq!(Name::new(&"x".repeat(MAX_NAME + 1)), Err(InvalidName::TooLong));
        assert_eq!(Name::new(&("d/".repeat(MAX_DEPTH + 1) + "x")), Err(InvalidName::TooDeep));
        assert!(Name::new(&("d/".repeat(MAX_DEPTH) + "x")).is_ok());
    }

    #[test]
    fn a_new_name_is_what_one_types_without_the_colon() {
        for (typed, name) in [
            ("standup", "standup"),
            (":standup", "standup"),
            (" :git:commit ", "git/commit"),
            ("git/commit", "git/commit"),
            ("list", "list"),
            ("5whys", "5whys"),
            ("要約", "要約"),
            ("v1.2", "v1.2"),
            ("it's", "it's"),
            ("console", "console"),
            ("com10", "com10"),
            ("a/b/c", "a/b/c"),
            ("：要約", "要約"),
            ("：仕事：要約", "仕事/要約"),
        ] {
            assert_eq!(Name::for_new_file(typed).as_deref(), Ok(name), "{typed:?}");
        }
        let deep = "d/".repeat(MAX_DEPTH) + "x";
        assert_eq!(Name::for_new_file(&deep).as_deref(), Ok(deep.as_str()));
    }

    #[test]
    fn a_new_name_that_cannot_be_typed_or_saved_on_every_system_is_refused_with_the_reason() {
        for (typed, why) in [
            ("", "empty"),
            (" : ", "empty"),
            ("my prompt", "write `my-prompt`"),
            ("a\u{a0}b", "write `a-b`"),
            ("a\u{1b}b", "U+001B"),
            ("a\u{200b}b", "U+200B"),
            ("10:30", "a time or a number"),
            ("10：30", "a time or a number"),
            ("30", "a time or a number"),
            (":smile:", "an emoji"),
            ("D", "an emoticon"),
            ("...", "an emoticon"),
            ("std::vec", "a path in code"),
            ("C:\\x", "a Windows path"),
            ("a\\b", "a Windows path"),
            ("https://example.com", "an address"),
            ("/etc/passwd", "one of them is empty"),
            ("a//b", "one of them is empty"),
            ("a/", "one of them is empty"),
            ("../x", "`..`, is hidden"),
            ("a/../x", "`..`, is hidden"),
            ("a/./x", "`.`, is hidden"),
            (".x", "`.x`, is hidden"),
            ("a./x", "ends in a dot"),
            ("a?", "forbids `?`"),
            ("a*b", "forbids `*`"),
            ("nul", "reserves `nul`"),
            ("git/CON.x", "reserves `con`"),
            ("COM¹", "reserves `com¹`"),
            ("standup.md", "write `standup`"),
            ("git/x.MD", "write `git/x`"),
            ("git/.md", "is hidden"),
        ] {
            let refused = Name::for_new_file(typed).unwrap_err();
            assert!(refused.contains(why), "{typed:?}: {refused}");
        }
        assert!(Name::for_new_file(&"x".repeat(MAX_NAME + 1)).unwrap_err().contains("the limit is 1024"));
        assert!(Name::for_new_file(&("d/".repeat(MAX_DEPTH + 1) + "x")).unwrap_err().contains("the limit is 32"));
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
            assert_eq!(not_a_command(text), kind, "{text:?}");
        }
    }

    #[test]
    fn all_spellings_of_a_name_fold_alike() {
        assert_eq!(fold(" :Git:Commit "), "git/commit");
        assert_eq!(fold("e\u{301}"), fold("É"));
        assert_eq!(fold("：Git：Commit"), "git/commit");
        assert_eq!(fold(&"R".repeat(100_000)), "");
    }

    #[test]
    fn a_name_may_be_stored_with_composed_or_separate_accents_in_each_of_its_parts() {
        assert_eq!(spellings("a/b"), ["a/b"]);
        assert_eq!(spellings(" :a:b"), [" :a:b", "a:b", "a/b"]);
        let [composed, separate] = ["\u{e9}", "e\u{301}"];
        let parts = [composed, separate].map(|first| [composed, separate].map(|second| format!("{first}/x/{second}")));
        for typed in parts.concat() {
            let found = spellings(&typed);
            assert!(found[0] == typed && parts.concat().iter().all(|name| found.contains(name)), "{found:?}");
            assert_eq!(found.len(), 4);
        }
        assert!(spellings(&"\u{e9}/".repeat(1000)).len() < 10);
        assert_eq!(spellings(&"\u{e9}".repeat(100_000)).len(), 1);
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
            assert_eq!(spelled_as_typed(name, typed).as_deref(), want, "{name:?} {typed:?}");
        }
    }
}
