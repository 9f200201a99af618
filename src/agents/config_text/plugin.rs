//! prompt-expander's own plugins for agents: files in JavaScript or TypeScript that play the role
//! of a hook. They are written as a whole, and recognized by their first line.

use crate::prompt::{Diagnostic, Kind};
use serde_json::{Value, json};

/// The start of the line that contains the command as a JSON list.
const COMMAND_PREFIX: &str = "\nconst command = ";

/// A plugin of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plugin {
    /// The source, with an empty list in place of the command.
    pub(crate) template: &'static str,
    /// The agent's event that the plugin handles.
    pub(crate) event: &'static str,
}

impl Plugin {
    /// Returns the hook, in the form of a hooks file in JSON, that does the same as the source of a
    /// plugin: `{"hooks": {EVENT: […]}}` with the command that the plugin runs.
    ///
    /// Only a plugin that [`set`](Self::set) has written has such a hook. For any other plugin, or
    /// one without a command, returns an empty object.
    pub(super) fn parse(self, text: &str) -> Value {
        let Some(line) = self.command_line(text) else {
            return json!({});
        };
        json!({"hooks": {self.event: [{"hooks": [{"type": "command", "command": line}]}]}})
    }

    /// Returns the command that a plugin runs as a line for a shell. Returns `None` if
    /// [`set`](Self::set) has not written the plugin, or if its command is empty.
    fn command_line(self, text: &str) -> Option<String> {
        let words = self.command_words(text)?;
        if words.is_empty() {
            return None;
        }
        // Quoting fails only for a NUL character, which no command contains.
        shlex::try_join(words.iter().map(String::as_str)).ok()
    }

    /// Returns the words of the command that a plugin runs, or `None` if [`set`](Self::set) has not
    /// written the plugin.
    fn command_words(self, text: &str) -> Option<Vec<String>> {
        if text.lines().next() != self.template.lines().next() {
            return None;
        }
        let (_, command) = text.split_once(COMMAND_PREFIX)?;
        serde_json::from_str(command.lines().next()?).ok()
    }

    /// Returns the source of the plugin that runs this command, which is a JSON list of words.
    ///
    /// # Errors
    /// Fails if the existing text is a plugin that this function has not written.
    pub(super) fn set(self, existing_text: &str, command: &Value) -> Result<String, Diagnostic> {
        if !existing_text.trim().is_empty() && self.command_words(existing_text).is_none() {
            let message = "it is another plugin, which is not overwritten";
            let fix = "rename it, or use --no-hook";
            return Err(Diagnostic::new(Kind::NameCollision, message, fix));
        }
        let empty_command = format!("{COMMAND_PREFIX}[]");
        let new_command = format!("{COMMAND_PREFIX}{command}");
        Ok(self.template.replace(&empty_command, &new_command))
    }

    /// Returns an empty text if the text is prompt-expander's plugin. Keeps any other text.
    pub(super) fn remove(self, text: &str) -> String {
        if self.command_words(text).is_some() {
            String::new()
        } else {
            text.to_owned()
        }
    }
}
