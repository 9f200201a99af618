//! Validates the name that a person typed for a new prompt.

use super::format::Format;
use super::name::{COLONS, Name, hyphenated, non_command_kind, strip_colon};
use crate::wording::{in_backticks, is_invisible, quoted};

impl Name {
    /// Parses the name that a person typed for a new prompt. Strips surrounding spaces and a
    /// leading [colon](COLONS), and replaces the other colons with `/`.
    ///
    /// # Errors
    /// Fails if the name can't be typed in a chat, or isn't a valid file name on every operating
    /// system, since prompt folders are shared. The error is a complete message of one line.
    pub fn for_new_file(typed: &str) -> Result<Name, String> {
        parse_new_name(strip_colon(typed))
            .map_err(|reason| format!("{} cannot be the name of a prompt: {reason}", quoted(typed)))
    }
}

/// Parses a name without the leading colon: `git:commit` is `git/commit`. The error is the reason,
/// as a clause of a message.
fn parse_new_name(stripped: &str) -> Result<Name, String> {
    check_typable(stripped)?;
    let name = stripped.replace(COLONS, "/");
    for part in name.split('/') {
        check_part(part)?;
    }
    check_file_round_trip(&name)?;
    Name::new(&name)
}

/// Checks that `:name` would be recognized as a command in a chat. The error is a clause.
fn check_typable(stripped: &str) -> Result<(), String> {
    if stripped.is_empty() {
        return Err("it is empty; write a word, such as `standup`".to_owned());
    }
    if stripped.contains(char::is_whitespace) {
        let suggestion = in_backticks(&hyphenated(stripped));
        return Err(format!(
            "a space ends a command in a chat; write {suggestion}"
        ));
    }
    if let Some(character) = stripped.chars().find(|character| is_invisible(*character)) {
        let code = u32::from(character);
        return Err(format!("it has an invisible character, U+{code:04X}"));
    }
    // `non_command_kind` treats every `//` as part of an address. Leave `a//b` to `check_part`,
    // which has a better message for it.
    let has_empty_part = stripped.contains("//") && !stripped.contains("://");
    if !has_empty_part && let Some(kind) = non_command_kind(&format!(":{stripped}")) {
        return Err(format!("after a colon it looks like {kind}"));
    }
    Ok(())
}

/// The characters that Windows forbids in file names. `:` and `\` are rejected elsewhere.
const FORBIDDEN_ON_WINDOWS: [char; 6] = ['<', '>', '"', '|', '?', '*'];

/// File names that Windows reserves for devices, with any extension. So are `com` and `lpt` plus a
/// digit.
const WINDOWS_DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Checks that one part of a name is a valid file name on every operating system. The error is a
/// clause.
fn check_part(part: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err("`/` separates a folder and a name, and one of them is empty".to_owned());
    }
    let shown = in_backticks(part);
    if part.starts_with('.') {
        return Err(format!(
            "a file or folder whose name begins with a dot, {shown}, is hidden and ignored"
        ));
    }
    if part.ends_with('.') || part.contains(FORBIDDEN_ON_WINDOWS) || is_windows_device(part) {
        return Err(format!("Windows has no files and folders named {shown}"));
    }
    Ok(())
}

/// Returns whether Windows reserves the file name for a device, e.g. `nul`, `Aux.md` or `com1`.
fn is_windows_device(part: &str) -> bool {
    let lowercase = part.to_lowercase();
    let stem = lowercase.split('.').next().unwrap_or_default();
    if WINDOWS_DEVICES.contains(&stem) {
        return true;
    }
    let digit = stem.strip_prefix("com").or(stem.strip_prefix("lpt"));
    digit.is_some_and(|digit| matches!(digit.as_bytes(), [b'0'..=b'9']))
}

/// Checks that the file `<name>.md` would be loaded as a prompt called `name`, and that `name`
/// doesn't include a file suffix already.
fn check_file_round_trip(name: &str) -> Result<(), String> {
    if let Some((stem, _)) = Format::OWN.split_path(name) {
        return Err(format!(
            "the name has no suffix; write {}",
            in_backticks(stem)
        ));
    }
    let file = format!("{name}.md");
    match Format::OWN.split_path(&file) {
        Some((parsed_name, _)) if parsed_name == name && !Format::OWN.has_special_suffix(&file) => {
            Ok(())
        }
        _ => Err("a file of this name is not read as this prompt".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::{MAX_NAME, MAX_NAME_FOLDERS};
    use super::*;

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
            ("a/skills", "a/skills"),
            ("skill", "skill"),
            ("prompt", "prompt"),
            ("：要約", "要約"),
            ("：仕事：要約", "仕事/要約"),
        ] {
            assert_eq!(Name::for_new_file(typed).as_deref(), Ok(name), "{typed:?}");
        }
        let deep = "d/".repeat(MAX_NAME_FOLDERS) + "x";
        assert_eq!(Name::for_new_file(&deep).as_deref(), Ok(deep.as_str()));
    }

    #[test]
    fn a_new_name_that_cannot_be_typed_or_saved_on_every_system_is_refused_with_the_reason() {
        for (typed, reason) in [
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
            ("a./x", "Windows has no files and folders named `a.`"),
            ("a?", "named `a?`"),
            ("nul", "named `nul`"),
            ("git/CON.x", "named `CON.x`"),
            ("COM1", "named `COM1`"),
            ("standup.md", "write `standup`"),
            ("git/x.MD", "write `git/x`"),
            ("git/.md", "is hidden"),
            ("a/SKILL", "not read as this prompt"),
            ("a/Skill", "not read as this prompt"),
            ("a/\u{17f}kill", "not read as this prompt"),
            ("a/s\u{212a}ill", "not read as this prompt"),
            ("a/sk\u{200d}ill", "not read as this prompt"),
            ("a/System", "not read as this prompt"),
            ("a.Prompt", "not read as this prompt"),
            ("a.AGENT", "not read as this prompt"),
        ] {
            let message = Name::for_new_file(typed).unwrap_err();
            assert!(message.contains(reason), "{typed:?}: {message}");
        }
        let message = Name::for_new_file(&"x".repeat(MAX_NAME + 1)).unwrap_err();
        assert!(message.contains("1025 bytes long"), "{message}");
        let deep = "d/".repeat(MAX_NAME_FOLDERS + 1) + "x";
        let message = Name::for_new_file(&deep).unwrap_err();
        assert!(message.contains("more than 32 folders"), "{message}");
    }
}
