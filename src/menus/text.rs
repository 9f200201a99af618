//! Composes the text of an entry.

use super::selection::MenuPrompt;
use crate::agents::{COMMAND_ENTRY_START, Menu, MenuBody, MenuLayout, SERVER_NAME};
use crate::prompt::{MenuMark, frontmatter_value};

/// A prompt and the name of its entry.
#[derive(Debug)]
pub(super) struct NamedPrompt<'p> {
    pub(super) name: String,
    pub(super) prompt: &'p MenuPrompt,
}

/// The Markdown file of an entry.
#[derive(Debug)]
pub(super) struct EntryText {
    /// The whole text, which contains the mark.
    pub(super) text: String,
    pub(super) mark: MenuMark,
}

/// Returns the text of an entry's Markdown file, with its mark.
pub(super) fn entry_text(menu: &Menu, entry: &NamedPrompt<'_>, library: &str) -> EntryText {
    let NamedPrompt { name, prompt } = entry;
    let mut keys = String::new();
    if menu.layout == MenuLayout::Skill {
        keys += &key("name", name);
    }
    keys += &key("description", &prompt.description);
    if menu.shows_argument_hint && !prompt.argument_hint.is_empty() {
        keys += &key("argument-hint", &prompt.argument_hint);
    }
    keys += menu.further_keys;
    let body = body(menu, name, &prompt.name);
    let mark = MenuMark {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hash: MenuMark::hash_of(&join(&keys, &body)),
        library: library.to_owned(),
        prompt: prompt.name.to_string(),
    };
    EntryText {
        text: join(&(keys + &mark.to_yaml()), &body),
        mark,
    }
}

fn join(keys: &str, body: &str) -> String {
    format!("---\n{keys}---\n{body}\n")
}

/// Returns a line of frontmatter.
fn key(name: &str, value: &str) -> String {
    format!("{name}: \"{}\"\n", frontmatter_value(value))
}

/// Returns what the model gets. With the hook, it gets the text of the prompt, too, or only that;
/// without the hook, this alone must lead it to the tool.
fn body(menu: &Menu, entry: &str, prompt: &str) -> String {
    let sign = menu.sign;
    match menu.body {
        MenuBody::Sentence => format!(
            "A hook has added this prompt's text to the user's message. If you do not see it, call \
             the tool expand_prompt of the server `{SERVER_NAME}` with command `{prompt}` and, as \
             input, the user's words after `{sign}{entry}`; then do what it returns."
        ),
        MenuBody::Command => format!(
            "{COMMAND_ENTRY_START} with command `{prompt}` and, as input, the user's words after \
             `:{prompt}` below; then do what it returns.\n\n:{prompt} $ARGUMENTS"
        ),
    }
}

/// Returns whether the name of a prompt can stand in the body of an entry. Agents run or replace
/// `` !`command` ``, `$1`, `@file` and `<tag>`.
pub(super) fn is_safe_in_body(prompt: &str) -> bool {
    prompt
        .chars()
        .all(|letter| letter.is_alphanumeric() || "-_./ ".contains(letter))
}
