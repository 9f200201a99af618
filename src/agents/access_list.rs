//! Lists in agents' settings that keep a server or its tools from the model.

use super::config_text::value_at;
use super::registration::Registration;
use crate::wording::in_backticks;
use serde_json::Value;

/// A list of servers or tools in an agent's settings, e.g. `mcp.allowed` of Gemini CLI.
pub struct AccessList {
    pub(super) location: ListLocation,
    /// The path of keys to the list, e.g. `["mcp", "allowed"]`.
    pub(super) keys: &'static [&'static str],
    pub(super) effect: ListEffect,
    /// Returns the items that stand for a server or for its tool `expand_prompt`. The first one is
    /// suggested if a list lacks them.
    pub(super) items: fn(&Registration) -> Vec<Value>,
}

/// Where an [`AccessList`] is.
pub(super) enum ListLocation {
    /// In the entry of the server.
    ServerEntry,
    /// In each of the settings files.
    Settings,
}

/// What an [`AccessList`] does to its items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEffect {
    /// The model gets nothing else.
    Allows,
    /// The model gets nothing else, unless the list is empty.
    AllowsUnlessEmpty,
    /// The model doesn't get them.
    Denies,
}

/// Why a list keeps a tool from the model, and what to do about it.
pub(super) struct ListProblem {
    pub(super) message: String,
    pub(super) fix: &'static str,
}

impl AccessList {
    /// Creates a list of tools in the entry of their server.
    pub(super) const fn in_server_entry(
        keys: &'static [&'static str],
        effect: ListEffect,
    ) -> AccessList {
        AccessList {
            location: ListLocation::ServerEntry,
            keys,
            effect,
            items: |_| vec![Value::from("expand_prompt")],
        }
    }

    /// Creates a list in the settings files.
    pub(super) const fn in_settings(
        keys: &'static [&'static str],
        effect: ListEffect,
        items: fn(&Registration) -> Vec<Value>,
    ) -> AccessList {
        AccessList {
            location: ListLocation::Settings,
            keys,
            effect,
            items,
        }
    }

    /// Returns why the list in `container`, which is the server's entry or a settings file, keeps
    /// `expand_prompt` from the model. Returns `None` if it doesn't, or if there is no list. `title`
    /// is the agent's.
    pub(super) fn problem_in(
        &self,
        container: &Value,
        server: &Registration,
        title: &str,
    ) -> Option<ListProblem> {
        let list = value_at(container, self.keys)?.as_array()?;
        let items = (self.items)(server);
        let listed_item = items.iter().find(|item| list.contains(item));
        let key = self.keys.join(".");
        if self.effect == ListEffect::Denies {
            return Some(ListProblem {
                message: listed_message(&key, listed_item?, title),
                fix: "remove it from the list",
            });
        }
        if listed_item.is_some() || self.allows_all(list) {
            return None;
        }
        Some(ListProblem {
            message: not_listed_message(&key, items.first()?, title),
            fix: ADD_TO_LIST,
        })
    }

    /// Returns whether a list allows every server or tool, because it is empty.
    fn allows_all(&self, list: &[Value]) -> bool {
        self.effect == ListEffect::AllowsUnlessEmpty && list.is_empty()
    }
}

const HIDES_TOOL: &str = "does not offer `expand_prompt` to the model";

/// What to do about an item that is [not listed](not_listed_message).
pub(super) const ADD_TO_LIST: &str = "add it to the list";

/// Returns the message that an item is in a list that denies its items. `title` is the agent's.
fn listed_message(key: &str, item: &Value, title: &str) -> String {
    let item = describe_item(item);
    format!("`{key}` lists {item}, so {title} {HIDES_TOOL}")
}

/// Returns the message that an item is missing in a list that allows only its items. `title` is the
/// agent's.
pub(super) fn not_listed_message(key: &str, item: &Value, title: &str) -> String {
    let item = describe_item(item);
    format!("`{key}` does not list {item}, so {title} {HIDES_TOOL}")
}

/// Returns an item in backticks: a string as it is, anything else as JSON.
fn describe_item(item: &Value) -> String {
    match item.as_str() {
        Some(text) => in_backticks(text),
        None => in_backticks(&item.to_string()),
    }
}
