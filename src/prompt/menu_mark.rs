//! The mark in the files that `prompt-expander sync` writes into agents' folders.
//!
//! A file with the mark is an entry of an agent's menu. It is not a prompt, even if it is in a
//! folder from which prompts are read.

use super::revision::sha256;

/// The key in the frontmatter of an entry that marks it as prompt-expander's.
const MARK_KEY: &str = "prompt-expander";

/// The mark of an entry: what it was written from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuMark {
    /// The version of prompt-expander that wrote the entry.
    pub version: String,
    /// A hash of the text, except for the mark.
    pub hash: String,
    /// The percent-encoded path of the `config.toml` that was used.
    pub library: String,
    /// The name of the prompt. It may differ from that of the entry.
    pub prompt: String,
}

/// How many hexadecimal digits of a hash are in a mark. Enough to detect an edit. They do not
/// protect against an attacker, who could also write the hash.
const HASH_DIGITS: usize = 16;

impl MenuMark {
    /// The maximum size of a file with a mark, in bytes. A larger one is the user's.
    pub const MAX_FILE_BYTES: u64 = 16 * 1024;

    /// Returns the hash of a text without a mark.
    pub fn hash_of(text_without_mark: &str) -> String {
        sha256(text_without_mark.as_bytes())[..HASH_DIGITS].to_owned()
    }

    /// Returns whether a text with this mark is as it was written.
    pub fn matches(&self, text: &str) -> bool {
        let text_without_mark = text.replacen(&self.to_yaml(), "", 1);
        MenuMark::hash_of(&text_without_mark) == self.hash
    }

    /// Returns whether an entry with this mark does the same as one with the `other` mark: only the
    /// versions and the libraries may differ.
    pub fn is_same_entry(&self, other: &MenuMark) -> bool {
        self.hash == other.hash && self.prompt == other.prompt
    }

    /// Returns the lines of YAML that mark an entry, for its frontmatter.
    pub fn to_yaml(&self) -> String {
        let fields = [&self.version, &self.hash, &self.library, &self.prompt];
        let value = fields.map(String::as_str).join(" ");
        format!(
            "metadata:\n  {MARK_KEY}: {}\n",
            serde_json::Value::from(value)
        )
    }

    /// Returns the mark of an entry, given its text. Returns `None` if prompt-expander has not
    /// written it. An editor may have changed the line endings.
    pub fn parse(text: &str) -> Option<MenuMark> {
        let text = text.replace("\r\n", "\n");
        let (frontmatter, _body) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
        let line_start = format!("  {MARK_KEY}: ");
        let mut lines = frontmatter.lines();
        let quoted_value = lines.find_map(|line| line.strip_prefix(&line_start))?;
        let value: String = serde_json::from_str(quoted_value).ok()?;
        // The prompt is the last field, because its name may contain blanks.
        let mut fields = value.splitn(4, ' ').map(str::to_owned);
        Some(MenuMark {
            version: fields.next()?,
            hash: fields.next()?,
            library: fields.next()?,
            prompt: fields.next()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::MenuMark;

    #[test]
    fn a_mark_that_was_written_is_read_again_and_other_texts_have_none() {
        let mark = MenuMark {
            version: "0.2.0".to_owned(),
            hash: "9f86d081".to_owned(),
            library: "/home/me/my%20config.toml".to_owned(),
            prompt: "git/a \"new\" one".to_owned(),
        };
        let yaml = mark.to_yaml();
        let text = format!("---\nname: git-a-new-one\n{yaml}---\nA line.\n");
        let windows_text = text.replace('\n', "\r\n");
        assert_eq!(MenuMark::parse(&windows_text), Some(mark.clone()));
        assert!(!mark.matches(&windows_text));
        assert_eq!(MenuMark::parse(&text), Some(mark));
        assert_eq!(MenuMark::parse(&format!("---\nname: x\n---\n{yaml}")), None);
        assert_eq!(MenuMark::parse(&yaml), None);
        let without_end = format!("---\nname: x\n{yaml}");
        assert_eq!(MenuMark::parse(&without_end), None);
    }
}
