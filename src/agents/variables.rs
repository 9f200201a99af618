//! The variables that an agent replaces in the texts of its config.

use super::environment::System;

/// The variables that an agent replaces in the texts of its config.
pub struct Variables {
    /// What begins a variable, such as `${`. A `}` ends it.
    pub(super) mark: &'static str,
    /// Returns the value of a variable. `None`: it has none, and its text stays as it is.
    pub(super) value: fn(name: &str, &System) -> Option<String>,
}

impl Variables {
    /// Returns a text in which each variable that has a value is replaced: `${HOME}/x` →
    /// `/home/me/x`. Any other variable stays as it is.
    pub fn replace(&self, text: &str, system: &System) -> String {
        let mut replaced = String::new();
        let mut remaining = text;
        while let Some((before, after_mark)) = remaining.split_once(self.mark) {
            let Some((name, after)) = after_mark.split_once('}') else {
                break; // it is not closed, so it is no variable
            };
            replaced.push_str(before);
            match (self.value)(name, system) {
                Some(value) => replaced.push_str(&value),
                None => replaced.push_str(&format!("{}{name}}}", self.mark)),
            }
            remaining = after;
        }
        replaced + remaining
    }

    /// Returns the value of `NAME` or `NAME:-default`. The default stands for a variable that is
    /// not set.
    pub(super) fn with_default(expression: &str, system: &System) -> Option<String> {
        let Some((name, default)) = expression.split_once(":-") else {
            return system.environment.text(expression);
        };
        let value = system.environment.text(name);
        Some(value.unwrap_or_else(|| default.to_owned()))
    }

    /// Returns the value of `env:NAME`, or of a predefined variable of VS Code.
    pub(super) fn of_editor(name: &str, system: &System) -> Option<String> {
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
