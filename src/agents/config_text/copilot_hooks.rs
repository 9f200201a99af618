//! The hooks files of Copilot CLI, e.g. `{"version": 1, "hooks": {EVENT: [{"bash": LINE}]}}`.

use super::entry::Entry;
use super::json::{self, HookLayout, JsonSyntax};
use crate::prompt::Diagnostic;
use serde_json::{Value, json};

/// The contents of a new file, before any edit.
pub(super) const NEW_FILE: &str = "{\n  \"version\": 1\n}\n";

/// The key of a command in the shell of this system.
const COMMAND_KEY: &str = if cfg!(windows) { "powershell" } else { "bash" };

const LAYOUT: HookLayout = HookLayout {
    is_grouped: false,
    command_key: COMMAND_KEY,
};

/// Returns the hooks, in the form of the other agents: `{"hooks": {EVENT: [{"bash": LINE}]}}`
/// becomes `{"hooks": {EVENT: [{"hooks": [{"command": LINE}]}]}}`.
///
/// # Errors
/// Fails if the text is invalid.
pub(super) fn parse(text: &str) -> Result<Value, Diagnostic> {
    let mut value = json::parse(JsonSyntax::Strict, text)?;
    let events = value.get_mut("hooks").and_then(Value::as_object_mut);
    for handlers in events.into_iter().flatten().map(|(_, handlers)| handlers) {
        for handler in handlers.as_array_mut().into_iter().flatten() {
            *handler = json!({"hooks": [{"command": handler[COMMAND_KEY]}]});
        }
    }
    Ok(value)
}

/// Sets the hook for an event. `handler` has the keys of the other agents.
pub(super) fn set(
    text: &str,
    event: &str,
    handler: &Entry,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    let mut initial = handler.initial.clone();
    for (key, _) in &mut initial {
        if *key == "timeout" {
            *key = "timeoutSec";
        }
    }
    let handler = Entry {
        required: vec![
            ("type", Some(json!("command"))),
            (COMMAND_KEY, Some(handler.required_value("command"))),
        ],
        initial,
    };
    json::set_hook(JsonSyntax::Strict, LAYOUT, text, event, &handler, is_ours)
}

/// Removes this program's hooks for an event.
pub(super) fn remove(
    text: &str,
    event: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    json::remove_hook(JsonSyntax::Strict, LAYOUT, text, event, is_ours)
}
