//! The name for a new prompt, from what a person typed.

use super::format::Format;
use super::name::{COLONS, Name, not_a_command, strip};
use crate::wording::{is_invisible, named, quoted};

impl Name {
    /// The name for a new prompt, from what a person typed: without spaces around it and a
    /// [colon](COLONS) before it, and with `/` for each colon.
    ///
    /// # Errors
    /// It could not be typed in a chat, or some system cannot store a file of that name. Names are
    /// refused on all systems, because folders of prompts are shared. The reason is one line for a
    /// person.
    pub fn for_new_file(typed: &str) -> Result<Name, String> {
        let refused = |why: &str| {
            Err(format!(
                "{} cannot be the name of a prompt: {why}",
                quoted(typed)
            ))
        };
        let bare = strip(typed);
        if bare.is_empty() {
            return refused("it is empty; write a word, such as `standup`");
        }
        if bare.contains(char::is_whitespace) {
            let hyphenated = bare.split_whitespace().collect::<Vec<_>>().join("-");
            return refused(&format!(
                "a space ends a command in a chat; write {}",
                named(&hyphenated)
            ));
        }
        if let Some(character) = bare.chars().find(|character| is_invisible(*character)) {
            return refused(&format!(
                "it has an invisible character, U+{:04X}",
                u32::from(character)
            ));
        }
        let has_scheme = bare.contains("://");
        if let Some(kind) =
            not_a_command(&format!(":{bare}")).filter(|_| has_scheme || !bare.contains("//"))
        {
            return refused(&format!("after a colon it looks like {kind}"));
        }
        let name = bare.replace(COLONS, "/");
        if let Some(why) = name.split('/').find_map(not_portable) {
            return refused(&why);
        }
        if let Some((stem, _)) = Format::OWN.prompt_file(&name) {
            return refused(&format!("the name has no suffix; write {}", named(stem)));
        }
        let file = format!("{name}.md");
        let is_read = Format::OWN
            .prompt_file(&file)
            .is_some_and(|(read, _)| read == name);
        if !is_read || Format::OWN.has_special_end(&file) {
            return refused("a file of this name is not read as this prompt");
        }
        Name::new(&name).or_else(|why| refused(&why))
    }
}

/// What Windows forbids in the name of a file, besides `:` and `\`.
const FORBIDDEN: [char; 6] = ['<', '>', '"', '|', '?', '*'];

/// Names that Windows reserves for devices, with any suffix. `COM` and `LPT` with a digit are
/// reserved too.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Why one part of a name cannot be the name of a file on every system.
fn not_portable(part: &str) -> Option<String> {
    if part.is_empty() {
        return Some("`/` separates a folder and a name, and one of them is empty".to_owned());
    }
    if part.starts_with('.') {
        return Some(format!(
            "a file or folder whose name begins with a dot, {}, is hidden and ignored",
            named(part)
        ));
    }
    let stem = part.split('.').next().unwrap_or(part).to_lowercase();
    let is_port = matches!(
        stem.as_bytes(),
        [b'c', b'o', b'm', b'0'..=b'9'] | [b'l', b'p', b't', b'0'..=b'9']
    );
    let is_portable = !part.ends_with('.')
        && !part.contains(FORBIDDEN)
        && !DEVICES.contains(&stem.as_str())
        && !is_port;
    (!is_portable).then(|| format!("Windows has no files and folders named {}", named(part)))
}

#[cfg(test)]
mod tests {
    use super::super::limits::{MAX_DEPTH, MAX_NAME};
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
            let refused = Name::for_new_file(typed).unwrap_err();
            assert!(refused.contains(why), "{typed:?}: {refused}");
        }
        assert!(
            Name::for_new_file(&"x".repeat(MAX_NAME + 1))
                .unwrap_err()
                .contains("1025 bytes long")
        );
        assert!(
            Name::for_new_file(&("d/".repeat(MAX_DEPTH + 1) + "x"))
                .unwrap_err()
                .contains("more than 32 folders")
        );
    }
}
