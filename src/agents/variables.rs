//! The variables that an agent expands in its config.

use super::environment::System;

/// The syntax of an agent's variables, and how it looks them up.
pub struct Variables {
    /// What starts a variable, e.g. `${`. A `}` ends it.
    pub(super) prefix: &'static str,
    /// Returns the value of the variable between `prefix` and `}`, or `None` if it has none.
    pub(super) lookup: fn(name: &str, &System) -> Option<String>,
}

impl Variables {
    /// Expands all variables in a string: `${HOME}/x` becomes `/home/me/x`. Variables without a
    /// value are kept as written.
    pub fn expand(&self, string: &str, system: &System) -> String {
        let mut expanded = String::new();
        let mut remaining = string;
        while let Some((before, after_prefix)) = remaining.split_once(self.prefix) {
            let Some((name, after)) = after_prefix.split_once('}') else {
                break; // unclosed, so not a variable
            };
            expanded.push_str(before);
            match (self.lookup)(name, system) {
                Some(value) => expanded.push_str(&value),
                None => expanded.push_str(&format!("{}{name}}}", self.prefix)),
            }
            remaining = after;
        }
        expanded + remaining
    }

    /// Looks up an environment variable: `NAME`, or `NAME:-default` with a default for a variable
    /// that is not set.
    pub(super) fn lookup_with_default(expression: &str, system: &System) -> Option<String> {
        let Some((name, default)) = expression.split_once(":-") else {
            return system.environment.text(expression);
        };
        let value = system.environment.text(name);
        Some(value.unwrap_or_else(|| default.to_owned()))
    }

    /// Looks up a variable of VS Code: `env:NAME`, `workspaceFolder` or `userHome`.
    pub(super) fn lookup_in_editor(name: &str, system: &System) -> Option<String> {
        if name == "workspaceFolder" {
            return Some(system.project.display().to_string());
        }
        if name == "userHome" {
            let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
            return system.environment.text(variable);
        }
        system.environment.text(name.strip_prefix("env:")?)
    }
}
