//! prompt-expander's opencode plugin: a JavaScript file that plays the role of a hook. It is
//! written as a whole, and recognized by its first line.

use crate::prompt::{Diagnostic, Kind};
use serde_json::{Value, json};

/// The source of the plugin, with an empty list in place of the command.
const TEMPLATE: &str = include_str!("plugin.js");

/// The start of the line that contains the command as a JSON list.
const COMMAND_PREFIX: &str = "\nconst command = ";

/// The opencode event that the plugin handles.
const EVENT: &str = "chat.message";

/// Returns the hook, in the form of a hooks file in JSON, that does the same as the source of an
/// opencode plugin: `{"hooks": {"chat.message": […]}}` with the command that the plugin runs.
///
/// Only a plugin that [`set`] has written has such a hook. For any other plugin, or one without a
/// command, returns an empty object.
pub(super) fn parse(text: &str) -> Value {
    match command_line(text) {
        Some(line) => {
            json!({"hooks": {EVENT: [{"hooks": [{"type": "command", "command": line}]}]}})
        }
        None => json!({}),
    }
}

/// Returns the command that a plugin runs as a line for a shell. Returns `None` if [`set`] has not
/// written the plugin, or if its command is empty.
fn command_line(text: &str) -> Option<String> {
    let words = command_words(text)?;
    if words.is_empty() {
        return None;
    }
    // Quoting fails only for a NUL character, which no command contains.
    shlex::try_join(words.iter().map(String::as_str)).ok()
}

/// Returns the words of the command that a plugin runs, or `None` if [`set`] has not written the
/// plugin.
fn command_words(text: &str) -> Option<Vec<String>> {
    if text.lines().next() != TEMPLATE.lines().next() {
        return None;
    }
    let (_, command) = text.split_once(COMMAND_PREFIX)?;
    serde_json::from_str(command.lines().next()?).ok()
}

/// Returns the source of the plugin that runs this command, which is a JSON list of words.
///
/// # Errors
/// Fails if the existing text is a plugin that this function has not written.
pub(super) fn set(existing_text: &str, command: &Value) -> Result<String, Diagnostic> {
    if !existing_text.trim().is_empty() && command_words(existing_text).is_none() {
        let message = "it is another plugin, which is not overwritten";
        let fix = "rename it, or use --no-hook";
        return Err(Diagnostic::new(Kind::NameCollision, message, fix));
    }
    Ok(TEMPLATE.replace(
        "\nconst command = []",
        &format!("{COMMAND_PREFIX}{command}"),
    ))
}

/// Returns an empty text if the text is prompt-expander's plugin. Keeps any other text.
pub(super) fn remove(text: &str) -> String {
    if command_words(text).is_some() {
        String::new()
    } else {
        text.to_owned()
    }
}
