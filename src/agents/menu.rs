//! The entries for prompts in agents' own menus: small files that `prompt-expander sync` writes
//! into an agent's folder of skills or commands.
//!
//! An entry has one line of text. The agent shows its name in the menu that opens at `/` or `$`;
//! the prompt-submit hook adds the text of the prompt for what the user typed.

use super::environment::System;
use std::path::{Path, PathBuf};

/// How an agent's menu gets an entry for a prompt.
#[derive(Debug)]
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
    /// What an entry says to the model.
    pub body: MenuBody,
    /// Whether the menu shows the key `argument-hint`.
    pub shows_argument_hint: bool,
    /// Lines of the frontmatter that all entries have, such as one that hides them from the model.
    pub further_keys: &'static str,
    /// Files that all entries have besides the Markdown file: their paths and texts.
    pub further_files: &'static [(&'static str, &'static str)],
    /// Whether a running agent shows a changed menu only after a restart.
    pub needs_restart: bool,
    /// Returns other folders from which the agent reads names for its menu. Their files are the
    /// user's.
    pub(super) other_folders: fn(&System) -> Vec<PathBuf>,
    /// Returns whether the agent takes a name without changes. The name has no `/`.
    pub takes_name: fn(&str) -> bool,
    /// The names of the agent's own commands, in lowercase, and separated by whitespace. An entry
    /// with such a name would hide the agent's own command, or could never be called.
    pub(super) builtin_names: &'static str,
}

/// What an entry of a menu says to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuBody {
    /// A sentence that names the tool `expand_prompt`. The agent shows the user's words to the
    /// model, too.
    Sentence,
    /// A sentence that begins with [`COMMAND_ENTRY_START`], an empty line, and the command `:NAME
    /// $ARGUMENTS`. The agent replaces the placeholder by the user's words.
    Command,
}

/// How each entry with a command begins, by which the hook knows it. The server is
/// [`SERVER_NAME`](super::SERVER_NAME).
pub const COMMAND_ENTRY_START: &str = "Call the tool expand_prompt of the server `prompts`";

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

impl Menu {
    /// Returns whether the agent uses a name itself, in any letter case.
    pub fn is_builtin(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.builtin_names
            .split_whitespace()
            .any(|builtin| builtin == name)
    }

    /// Returns the path of the Markdown file of an entry.
    pub(super) fn entry_path(&self, folder: &Path, name: &str) -> PathBuf {
        match self.layout {
            MenuLayout::Skill => folder.join(name).join("SKILL.md"),
            MenuLayout::File => folder.join(format!("{name}.md")),
        }
    }
}

/// Returns the personal folder of skills that most agents read.
pub(super) fn shared_skills(system: &System) -> Vec<PathBuf> {
    system.join_home(".agents/skills").into_iter().collect()
}
