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

/// Converts the plugin to the equivalent hook in JSON. Another plugin becomes an empty object.
pub(super) fn parse(text: &str) -> Value {
    let words = command_words(text).unwrap_or_default();
    match shlex::try_join(words.iter().map(String::as_str)) {
        Ok(line) if !line.is_empty() => {
            json!({"hooks": {EVENT: [{"hooks": [{"type": "command", "command": line}]}]}})
        }
        _ => json!({}),
    }
}

/// Returns the words of the plugin's command, or `None` for another plugin.
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
/// Fails if the existing text is another plugin.
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
