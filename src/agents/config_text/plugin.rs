//! The plugin of opencode, in JavaScript, which runs this program as a hook of other agents would.
//! It is written as a whole file, and recognized by its first line.

use crate::prompt::{Diagnostic, Kind};
use serde_json::{Value, json};

/// The plugin, with an empty list as the words of its command.
const PLUGIN: &str = include_str!("plugin.js");

/// The beginning of the line with the words of the command.
const COMMAND: &str = "\nconst command = ";

/// The event of opencode that the plugin handles.
const EVENT: &str = "chat.message";

/// Returns the value that a file of hooks in JSON would have. A foreign plugin is an empty object.
pub(super) fn parse(text: &str) -> Value {
    let words = words(text).unwrap_or_default();
    match shlex::try_join(words.iter().map(String::as_str)) {
        Ok(line) if !line.is_empty() => {
            json!({"hooks": {EVENT: [{"hooks": [{"type": "command", "command": line}]}]}})
        }
        _ => json!({}),
    }
}

/// Returns the words of the command. `None`: the text is another plugin.
fn words(text: &str) -> Option<Vec<String>> {
    if text.lines().next() != PLUGIN.lines().next() {
        return None;
    }
    let (_, after) = text.split_once(COMMAND)?;
    serde_json::from_str(after.lines().next()?).ok()
}

/// Returns the plugin that runs a command of these words.
///
/// # Errors
/// The text is another plugin.
pub(super) fn set(text: &str, words_of_command: &Value) -> Result<String, Diagnostic> {
    if !text.trim().is_empty() && words(text).is_none() {
        let message = "it is another plugin, which stays as it is";
        let fix = "rename it, or use --no-hook";
        return Err(Diagnostic::new(Kind::NameCollision, message, fix));
    }
    Ok(PLUGIN.replace(
        "\nconst command = []",
        &format!("{COMMAND}{words_of_command}"),
    ))
}

/// Returns an empty text if the text is this plugin, else the text.
pub(super) fn remove(text: &str) -> String {
    if words(text).is_some() {
        String::new()
    } else {
        text.to_owned()
    }
}
