//! The variables that an agent replaces in the texts of its config.

use super::environment::System;

/// The variables that an agent replaces in the texts of its config.
pub struct Variables {
    /// What begins a variable.
    pub(super) mark: &'static str,
    /// The value of a name; `None` leaves the text as it is.
    pub(super) value: fn(&str, &System) -> Option<String>,
}

impl Variables {
    /// A text with the variables in it replaced. What is not set stays as it is written.
    pub fn replace(&self, text: &str, system: &System) -> String {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(self.mark) {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            replaced.push_str(before);
            match (self.value)(name, system) {
                Some(value) => replaced.push_str(&value),
                None => replaced.push_str(&rest[before.len()..rest.len() - after.len()]),
            }
            rest = after;
        }
        replaced + rest
    }

    /// `NAME` and `NAME:-default`.
    pub(super) fn with_default(name: &str, system: &System) -> Option<String> {
        match name.split_once(":-") {
            Some((name, default)) => system
                .environment
                .text(name)
                .or_else(|| Some(default.to_owned())),
            None => system.environment.text(name),
        }
    }

    /// `env:NAME`, and the predefined variables of VS Code.
    pub(super) fn of_editor(name: &str, system: &System) -> Option<String> {
        match name {
            "workspaceFolder" => Some(system.project.display().to_string()),
            "userHome" => {
                system
                    .environment
                    .text(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
            }
            name => name
                .strip_prefix("env:")
                .and_then(|name| system.environment.text(name)),
        }
    }
}
