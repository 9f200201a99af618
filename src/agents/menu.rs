//! The entries for prompts in agents' own menus: small files that `prompt-expander sync` writes
//! into an agent's folder of skills or commands.
//!
//! An entry has one line of text. The agent shows its name in the menu that opens at `/` or `$`;
//! the prompt-submit hook adds the text of the prompt for what the user typed.

use super::agent::Agent;
use super::environment::System;
use crate::whole_file;
use std::path::{Path, PathBuf};

/// How an agent's menu gets an entry for a prompt.
pub struct Menu {
    /// What the user types before the name of an entry: `/` or `$`.
    pub sign: char,
    /// Where the sign counts in a message.
    pub sign_place: SignPlace,
    /// The folder of the entries, relative to the settings folder. Only this agent reads it, unlike
    /// `~/.agents/skills`: another agent's menu must not get the same name twice.
    pub(super) folder: &'static str,
    /// What an entry consists of.
    pub layout: MenuLayout,
    /// Returns whether the agent takes a name without changes. The name has no `/`.
    pub takes_name: fn(&str) -> bool,
    /// The names that the agent uses itself, so that an entry would hide them, or never be used.
    pub builtin_names: &'static [&'static str],
}

/// Where the sign of a menu counts in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignPlace {
    /// Only at the start of the message.
    StartOfMessage,
    /// At the start of the message, and without input in sentences.
    StartAndSentences,
    /// At the start of each line, and without input in sentences.
    EveryLine,
}

/// What an entry of a menu consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuLayout {
    /// A folder with a `SKILL.md`.
    Skill,
    /// A Markdown file: a prompt template or a command.
    File,
}

/// The key in the frontmatter of an entry that marks it as prompt-expander's.
const MARK_KEY: &str = "prompt-expander";

/// The mark of an entry: what it was written from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuMark {
    /// The version of prompt-expander that wrote the entry.
    pub version: String,
    /// A hash of all that was written, except for the mark.
    pub hash: String,
    /// A hash of the path of the `config.toml` that was used.
    pub library: String,
    /// The name of the prompt. It may differ from that of the entry.
    pub prompt: String,
}

impl Menu {
    /// Returns the path of the Markdown file of an entry.
    pub fn entry_path(&self, folder: &Path, name: &str) -> PathBuf {
        match self.layout {
            MenuLayout::Skill => folder.join(name).join("SKILL.md"),
            MenuLayout::File => folder.join(format!("{name}.md")),
        }
    }
}

impl MenuMark {
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
    /// written it.
    pub fn parse(text: &str) -> Option<MenuMark> {
        let frontmatter = text.strip_prefix("---\n")?.split("\n---\n").next()?;
        let line_start = format!("  {MARK_KEY}: ");
        let value = frontmatter
            .lines()
            .find_map(|line| line.strip_prefix(&line_start))?;
        let value: String = serde_json::from_str(value).ok()?;
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

impl Agent {
    /// Returns the folder of the agent's menu entries, or `None` if it has none, or the home
    /// directory is unknown. It may not exist.
    pub fn menu_folder(&self, system: &System) -> Option<PathBuf> {
        let settings_folder = (self.settings_folder)(system)?;
        Some(settings_folder.join(self.menu.as_ref()?.folder))
    }

    /// Returns the name of the prompt of our server that has this name in the agent's menu, e.g.
    /// `research` for `mcp__prompts__research` in Claude Code. Returns `None` if the name is not
    /// that of such a prompt, or if the server gets all of the words after it.
    pub fn server_prompt<'n>(&self, name: &'n str) -> Option<&'n str> {
        let mut prefixes = self.server_prompt_prefixes.iter();
        prefixes.find_map(|prefix| name.strip_prefix(prefix))
    }

    /// Returns the name of the prompt for which `sync` has written the menu entry with this name.
    /// Returns `None` if there is no such entry. Never looks outside of the menu's folder.
    pub fn prompt_of_menu_entry(&self, name: &str, system: &System) -> Option<String> {
        let is_file_name =
            !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
        if !is_file_name {
            return None;
        }
        let menu = self.menu.as_ref()?;
        let path = menu.entry_path(&self.menu_folder(system)?, name);
        let text = whole_file::read_text(&path).ok()?;
        Some(MenuMark::parse(&text)?.prompt)
    }
}

/// Returns whether every agent takes this name for a skill: it has only lowercase letters from `a`
/// to `z`, digits and hyphens, as agentskills.io requires.
pub(super) fn is_name_of_skill(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::MenuMark;

    #[test]
    fn a_mark_that_was_written_is_read_again_and_other_texts_have_none() {
        let mark = MenuMark {
            version: "0.2.0".to_owned(),
            hash: "9f86d081".to_owned(),
            library: "3f2a9c0d".to_owned(),
            prompt: "git/a \"new\" one".to_owned(),
        };
        let yaml = mark.to_yaml();
        let text = format!("---\nname: git-a-new-one\n{yaml}---\nA line.\n");
        assert_eq!(MenuMark::parse(&text), Some(mark));
        assert_eq!(MenuMark::parse(&format!("---\nname: x\n---\n{yaml}")), None);
        assert_eq!(MenuMark::parse(&yaml), None);
    }
}
