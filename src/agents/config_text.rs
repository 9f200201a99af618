//! Parses and edits agents' configs in JSON and TOML. Edits preserve comments and formatting.
//!
//! If a key appears twice, its last occurrence is read and edited.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod copilot_hooks;
mod entry;
mod json;
mod plugin;
mod toml;

use entry::EntryEdit;
pub(super) use entry::{Entry, SetMode};
use json::HookLayout;
pub(super) use json::JsonSyntax;
pub(super) use plugin::Plugin;

use crate::prompt::{Diagnostic, Position};
use serde_json::Value;

/// The syntax of a config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigSyntax {
    Json(JsonSyntax),
    Toml,
    /// A hooks file of Copilot CLI, in JSON.
    CopilotHooks,
    /// A plugin of prompt-expander's own, which plays the role of a hook.
    Plugin(Plugin),
}

impl ConfigSyntax {
    /// Returns the contents of a new file for hooks, before any edit.
    pub(super) fn new_hooks_file(self) -> &'static str {
        match self {
            ConfigSyntax::CopilotHooks => copilot_hooks::NEW_FILE,
            ConfigSyntax::Plugin(_) => "",
            ConfigSyntax::Json(_) | ConfigSyntax::Toml => "{}\n",
        }
    }

    /// Returns what a map of keys is called in this syntax, for messages.
    pub(super) fn object_name(self) -> &'static str {
        match self {
            ConfigSyntax::Toml => "a table",
            ConfigSyntax::Json(_) | ConfigSyntax::CopilotHooks | ConfigSyntax::Plugin(_) => {
                "an object"
            }
        }
    }

    /// Parses a text. An empty text is an empty object. Like in the agents, the last of duplicate
    /// keys wins.
    pub(super) fn parse(self, text: &str) -> Result<Value, Diagnostic> {
        match self {
            ConfigSyntax::Json(syntax) => json::parse(syntax, text),
            ConfigSyntax::Toml => toml::parse(text),
            ConfigSyntax::CopilotHooks => copilot_hooks::parse(text),
            ConfigSyntax::Plugin(plugin) => Ok(plugin.parse(text)),
        }
    }

    /// Returns the position of the last key in a path of keys, or `None` if the path doesn't exist
    /// or the text is invalid.
    pub(super) fn position(self, text: &str, keys: &[impl AsRef<str>]) -> Option<Position> {
        match self {
            ConfigSyntax::Json(syntax) => json::position(syntax, text, keys),
            ConfigSyntax::Toml => toml::position(text, keys),
            ConfigSyntax::CopilotHooks => json::position(JsonSyntax::Strict, text, keys),
            ConfigSyntax::Plugin(_) => None,
        }
    }

    /// Sets the entry at a path of keys, and creates missing parents. Returns the edited text. A
    /// file that has nothing but hooks is returned unchanged.
    ///
    /// # Errors
    /// Fails if the text is invalid, or if a value in the path isn't an object.
    pub(super) fn set(
        self,
        text: &str,
        keys: &[String],
        entry: &Entry,
        mode: SetMode,
    ) -> Result<String, Diagnostic> {
        let edit = EntryEdit { keys, entry, mode };
        match self {
            ConfigSyntax::Json(syntax) => json::set(syntax, text, &edit),
            ConfigSyntax::Toml => toml::set(text, &edit),
            ConfigSyntax::CopilotHooks | ConfigSyntax::Plugin(_) => Ok(text.to_owned()),
        }
    }

    /// Removes the value at a path of keys, and parents that become empty: `{"a": {"b": 1}, "c":
    /// 2}` without `a.b` is `{"c": 2}`. Returns the edited text. A file that has nothing but hooks
    /// is returned unchanged.
    pub(super) fn remove(self, text: &str, keys: &[String]) -> Result<String, Diagnostic> {
        match self {
            ConfigSyntax::Json(syntax) => json::remove(syntax, text, keys),
            ConfigSyntax::Toml => toml::remove(text, keys),
            ConfigSyntax::CopilotHooks | ConfigSyntax::Plugin(_) => Ok(text.to_owned()),
        }
    }

    /// Sets the hook for an event, and returns the edited text. Updates the existing hook of this
    /// program. `is_ours` returns whether a hook's command runs this program.
    ///
    /// `handler` is the hook's entry. A plugin needs only the list of the command's words, `words`.
    pub(super) fn set_hook(
        self,
        text: &str,
        event: &str,
        handler: &Entry,
        is_ours: &dyn Fn(&str) -> bool,
    ) -> Result<String, Diagnostic> {
        match self {
            ConfigSyntax::Json(syntax) => {
                json::set_hook(syntax, HookLayout::GROUPED, text, event, handler, is_ours)
            }
            ConfigSyntax::CopilotHooks => copilot_hooks::set(text, event, handler, is_ours),
            ConfigSyntax::Plugin(plugin) => plugin.set(text, &handler.required_value("words")),
            ConfigSyntax::Toml => toml::set_hook(text, event, handler, is_ours),
        }
    }

    /// Removes this program's hooks for an event, and returns the edited text. `is_ours` returns
    /// whether a hook's command runs this program.
    pub(super) fn remove_hook(
        self,
        text: &str,
        event: &str,
        is_ours: &dyn Fn(&str) -> bool,
    ) -> Result<String, Diagnostic> {
        match self {
            ConfigSyntax::Json(syntax) => {
                json::remove_hook(syntax, HookLayout::GROUPED, text, event, is_ours)
            }
            ConfigSyntax::CopilotHooks => copilot_hooks::remove(text, event, is_ours),
            ConfigSyntax::Plugin(plugin) => Ok(plugin.remove(text)),
            ConfigSyntax::Toml => toml::remove_hook(text, event, is_ours),
        }
    }
}

/// Returns the value at a path of keys, e.g. `["a", "b"]` for `1` in `{"a": {"b": 1}}`.
pub(super) fn value_at<'v>(value: &'v Value, keys: &[impl AsRef<str>]) -> Option<&'v Value> {
    let mut current = value;
    for key in keys {
        current = current.get(key.as_ref())?;
    }
    Some(current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STRICT: ConfigSyntax = ConfigSyntax::Json(JsonSyntax::Strict);
    pub(super) const LENIENT: ConfigSyntax = ConfigSyntax::Json(JsonSyntax::Lenient);

    #[test]
    fn a_text_is_the_value_that_the_agent_sees() {
        for (syntax, text, want) in [
            (STRICT, "", json!({})),
            (STRICT, " \n", json!({})),
            (
                STRICT,
                "{\"a\": [1, 2.5, null, true, \"\\u00e9\"]}\r\n",
                json!({"a": [1, 2.5, null, true, "é"]}),
            ),
            (STRICT, "{\"a\": 1, \"a\": 2}", json!({"a": 2})),
            (LENIENT, "// c\n{\"a\": /* d */ [1,],}", json!({"a": [1]})),
            (ConfigSyntax::Toml, "", json!({})),
            (
                ConfigSyntax::Toml,
                "# c\r\nx = 1\n[a.b]\nc = [\"d\", 2.5]\ne = {f = true}\n[[g]]\nh = 'i'",
                json!({"x": 1, "a": {"b": {"c": ["d", 2.5], "e": {"f": true}}}, "g": [{"h": "i"}]}),
            ),
        ] {
            assert_eq!(syntax.parse(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn a_syntax_error_has_a_position() {
        for (syntax, text, position, message) in [
            (STRICT, "{\n  // c\n}", "2:3", "comments are not allowed"),
            (
                STRICT,
                "{\"é\": [1,]}",
                "1:9",
                "trailing commas are not allowed",
            ),
            (LENIENT, "{\"a\": 1", "1:1", "unterminated object"),
            (LENIENT, "{\"a\": 1 \"b\": 2}", "1:8", "expected comma"),
            (
                LENIENT,
                "{a: 1}",
                "1:2",
                "expected string for object property",
            ),
            (
                LENIENT,
                "{} {}",
                "1:4",
                "text cannot contain more than one JSON value",
            ),
            (
                ConfigSyntax::Toml,
                "a = 1\nb = \"c\n",
                "2:7",
                "invalid basic string, expected `\"`",
            ),
            (ConfigSyntax::Toml, "a = 1\na = 2\n", "2:1", "duplicate key"),
        ] {
            let error = syntax.parse(text).unwrap_err();
            assert_eq!(
                (
                    error.position.unwrap().to_string().as_str(),
                    error.message.as_str()
                ),
                (position, message),
                "{text}"
            );
        }
    }

    #[test]
    fn a_value_has_a_position() {
        let keys = ["a".to_owned(), "b".to_owned()];
        for (syntax, text, position) in [
            (
                LENIENT,
                "{\n  \"a\": {\"x\": 1,\n    \"b\": {}}}",
                Some("3:5"),
            ),
            (LENIENT, "{\"a\": []}", None),
            (
                LENIENT,
                "{\"a\": {\"b\": 1,\n\"é\": 2, \"c\": 3,\n \"é\": 4, \"b\": 5}}",
                Some("3:10"),
            ),
            (
                ConfigSyntax::Toml,
                "x = 1\n[a]\ny = 2\n[a.b]\n",
                Some("4:4"),
            ),
            (ConfigSyntax::Toml, "[a]\nb = 2\n", Some("2:1")),
        ] {
            let found = syntax
                .position(text, &keys)
                .map(|position| position.to_string());
            assert_eq!(found.as_deref(), position, "{text}");
        }
    }

    pub(super) fn entry(args: &[&str]) -> Entry {
        Entry {
            required: vec![
                ("command", Some(json!("/p"))),
                ("args", (!args.is_empty()).then(|| json!(args))),
            ],
            initial: vec![("env", json!({}))],
        }
    }

    pub(super) fn keys(keys: &str) -> Vec<String> {
        keys.split('.').map(str::to_owned).collect()
    }

    /// Puts an entry in, and takes it out again.
    #[track_caller]
    pub(super) fn there_and_back(syntax: ConfigSyntax, before: &str, with: &str, after: &str) {
        let keys = keys(if syntax == ConfigSyntax::Toml {
            "mcp_servers.prompts"
        } else {
            "s.prompts"
        });
        let mut entry = entry(&["a b"]);
        if syntax == ConfigSyntax::Toml {
            entry.initial.clear();
        }
        let changed = syntax.set(before, &keys, &entry, SetMode::Update).unwrap();
        assert_eq!(changed, with);
        assert_eq!(
            syntax
                .set(&changed, &keys, &entry, SetMode::Update)
                .unwrap(),
            with,
            "twice"
        );
        assert_eq!(syntax.remove(&changed, &keys).unwrap(), after);
    }

    #[test]
    fn an_existing_entry_keeps_the_keys_that_are_not_set() {
        let keys = keys("s.prompts");
        for (syntax, before, after) in [
            (
                LENIENT,
                "{\"s\": {\"prompts\": {\"command\": \"/old\" /* c */, \"args\": [\"x\"], \"env\": {\"E\": \"e\"}}}}",
                "{\"s\": {\"prompts\": {\"command\": \"/p\" /* c */, \"env\": {\"E\": \"e\"}}}}",
            ),
            (
                ConfigSyntax::Toml,
                "[s.prompts]\ncommand = '/old' # c\nargs = [ 'x' ]\nenv = {E = 'e'}\n[s.prompts.tools.t]\nu = 1\n",
                "[s.prompts]\ncommand = \"/p\" # c\nenv = {E = 'e'}\n[s.prompts.tools.t]\nu = 1\n",
            ),
        ] {
            assert_eq!(
                syntax
                    .set(before, &keys, &entry(&[]), SetMode::Update)
                    .unwrap(),
                after
            );
            let replaced = syntax
                .set(before, &keys, &entry(&[]), SetMode::Replace)
                .unwrap();
            assert!(
                !replaced.contains("/old")
                    && !replaced.contains('E')
                    && !replaced.contains("tools"),
                "{replaced}"
            );
        }
    }
}
