//! Lists in agents' settings that keep a server or its tools from the model.

use super::config_text::value_at;
use super::registration::Registration;
use crate::prompt::Kind;
use crate::wording::{in_backticks, matches_pattern};
use serde_json::Value;

/// A list of servers or tools in an agent's settings, e.g. `mcp.allowed` of Gemini CLI.
pub struct AccessList {
    pub(super) location: ListLocation,
    /// The path of keys to the list, e.g. `["mcp", "allowed"]`.
    pub(super) keys: &'static [&'static str],
    pub(super) effect: ListEffect,
    pub(super) notation: ItemNotation,
    /// Returns the items that stand for a server or for its tool `expand_prompt`. The first one is
    /// suggested if a list lacks them.
    pub(super) items: fn(&Registration) -> Vec<Value>,
}

/// How a list can write an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemNotation {
    /// As it is.
    Exact,
    /// With `*` for any text, e.g. `mcp__prompts__*`.
    Pattern,
    /// As it is or with arguments, e.g. `expand_prompt(x)`.
    Call,
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
    /// Only the listed items are offered to the model.
    Allows,
    /// Only the listed items are offered to the model. An empty list allows all.
    AllowsUnlessEmpty,
    /// The listed items are not offered.
    Denies,
    /// The agent asks the user before each call of a listed item.
    Asks,
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
            notation: ItemNotation::Exact,
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
            notation: ItemNotation::Exact,
            items,
        }
    }

    /// Returns the problem if a list keeps `expand_prompt` from the model. `container` is the
    /// server's entry or a settings file, and `title` is the agent's. Without the list, there is no
    /// problem.
    pub(super) fn problem_in(
        &self,
        container: &Value,
        server: &Registration,
        title: &str,
    ) -> Option<ListProblem> {
        let list = value_at(container, self.keys)?.as_array()?;
        let items = (self.items)(server);
        let listed_item = list
            .iter()
            .find(|listed| items.iter().any(|item| self.notation.matches(listed, item)));
        let key = self.keys.join(".");
        match self.effect {
            ListEffect::Allows | ListEffect::AllowsUnlessEmpty => {
                if listed_item.is_some() || self.allows_all(list) {
                    return None;
                }
                Some(ListProblem {
                    message: not_listed_message(&key, items.first()?, title),
                    fix: ADD_TO_LIST,
                })
            }
            ListEffect::Denies | ListEffect::Asks => Some(ListProblem {
                message: self.listed_message(&key, listed_item?, title),
                fix: "remove it from the list",
            }),
        }
    }

    /// Returns the message that a list denies an item, or asks before each call of it.
    fn listed_message(&self, key: &str, item: &Value, title: &str) -> String {
        let item = describe_item(item);
        let consequence = if self.effect == ListEffect::Asks {
            "asks before each call of `expand_prompt`"
        } else {
            HIDES_TOOL
        };
        format!("`{key}` lists {item}, so {title} {consequence}")
    }

    /// Returns the kind of the problem: a list that asks is only a warning.
    pub(super) fn problem_kind(&self) -> Kind {
        if self.effect == ListEffect::Asks {
            Kind::Warning
        } else {
            Kind::Invalid
        }
    }

    /// Returns whether a list allows every server or tool, because it is empty.
    fn allows_all(&self, list: &[Value]) -> bool {
        self.effect == ListEffect::AllowsUnlessEmpty && list.is_empty()
    }
}

impl ItemNotation {
    /// Returns whether an item of a list stands for `item`.
    fn matches(self, listed: &Value, item: &Value) -> bool {
        let (Some(listed_text), Some(text)) = (listed.as_str(), item.as_str()) else {
            return listed == item;
        };
        match self {
            ItemNotation::Exact => listed_text == text,
            ItemNotation::Pattern => matches_pattern(listed_text, text),
            ItemNotation::Call => listed_text.split('(').next() == Some(text),
        }
    }
}

const HIDES_TOOL: &str = "does not offer `expand_prompt` to the model";

/// What to do about an item that is [not listed](not_listed_message).
pub(super) const ADD_TO_LIST: &str = "add it to the list";

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
