//! The plugin of opencode, in JavaScript, which runs this program as a hook of other agents would:
//! a whole file is written, and recognized by its first line.

use crate::prompt::{Diagnostic, Kind};
use serde_json::{Value, json};

/// The plugin, but for the words of the command.
const PLUGIN: &str = include_str!("plugin.js");

/// The beginning of the line with the words of the command.
const COMMAND: &str = "\nconst command = ";

/// The event of opencode that the plugin handles.
const EVENT: &str = "chat.message";

/// The value of the plugin, as if it were a file of hooks in JSON; an empty object for the plugin
/// of somebody else.
pub(super) fn parse(text: &str) -> Value {
    let line = |words: Vec<String>| shlex::try_join(words.iter().map(String::as_str)).ok();
    match words(text).and_then(line) {
        Some(line) => {
            json!({"hooks": {EVENT: [{"hooks": [{"type": "command", "command": line}]}]}})
        }
        None => json!({}),
    }
}

/// The words of the command, if the text is this plugin.
fn words(text: &str) -> Option<Vec<String>> {
    let is_ours = text.lines().next() == PLUGIN.lines().next();
    let (_, after) = text.split_once(COMMAND).filter(|_| is_ours)?;
    serde_json::from_str(after.lines().next()?).ok()
}

/// The plugin that runs a command of these words.
///
/// # Errors
/// The file is the plugin of somebody else.
pub(super) fn set(text: &str, words: &Value) -> Result<String, Diagnostic> {
    if !text.trim().is_empty() && remove(text) == text {
        let message = "it is another plugin, which is left alone";
        return Err(Diagnostic::new(
            Kind::Clash,
            message,
            "rename it, or use --no-hook",
        ));
    }
    Ok(PLUGIN.replace("\nconst command = []", &format!("{COMMAND}{words}")))
}

/// Nothing, if the text is this plugin, else the text.
pub(super) fn remove(text: &str) -> String {
    if words(text).is_some() {
        String::new()
    } else {
        text.to_owned()
    }
}
