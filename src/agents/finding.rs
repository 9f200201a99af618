//! What `doctor` reports about the files of an agent, and the input of its checks.

use super::config_file::ConfigFile;
use super::environment::System;
use super::files::AgentFiles;
use super::hook_line::HookLine;
use super::registration::Registration;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::named;
use serde_json::Value;

/// A problem or a result: a hint says what works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the agent that it is about. `None`: all of them.
    pub agent: Option<&'static str>,
    /// What it is, where, and what to do.
    pub diagnostic: Diagnostic,
}

/// A registered server, with the files of its agent.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredServer<'a> {
    /// The name of the agent.
    pub agent: &'static str,
    /// Where the agent is examined.
    pub system: &'a System,
    /// All files of the agent.
    pub files: &'a AgentFiles,
    /// Whether the hook is registered with the agent, too.
    pub has_hook: bool,
    /// The server.
    pub server: &'a Registration,
}

impl RegisteredServer<'_> {
    /// The name of the server, as it is shown.
    pub fn name(&self) -> String {
        named(&self.server.name)
    }

    /// A finding at the position of the registration.
    pub fn broken(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        let diagnostic = Diagnostic::new(Kind::Invalid, message, fix).at(self.server.position);
        Finding { agent: Some(self.agent), diagnostic: diagnostic.in_file(&*self.server.path) }
    }

    /// The same for what works, but perhaps not always.
    pub fn warning(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        warning(self.broken(message, fix))
    }

    /// Whether a list has the name of the server.
    pub(super) fn is_in(&self, list: Option<&Value>) -> bool {
        let list = list.and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|item| item == &self.server.name))
    }
}

/// A registered hook, with the files of its agent.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredHook<'a> {
    /// The name of the agent, and what it calls itself.
    pub agent: [&'static str; 2],
    /// All files of the agent.
    pub files: &'a AgentFiles,
    /// The hook.
    pub hook: &'a HookLine,
    /// The agent's record that the user trusts it.
    pub trust: Option<&'a Value>,
}

impl RegisteredHook<'_> {
    /// A finding at the position of the hook.
    pub fn broken(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        let diagnostic = Diagnostic::new(Kind::Invalid, message, fix).at(self.hook.position);
        Finding { agent: Some(self.agent[0]), diagnostic: diagnostic.in_file(&*self.hook.path) }
    }

    /// The same for what works, but perhaps not always.
    pub fn warning(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        warning(self.broken(message, fix))
    }

    /// A finding if the setting with this dotted key has this value, which disables all hooks.
    pub(super) fn all_disabled_by(&self, key: &str, value: bool) -> Option<Finding> {
        let pointer = format!("/{}", key.replace('.', "/"));
        let mut settings = self.files.settings().flatten();
        let file = settings.find(|file| file.value.pointer(&pointer) == Some(&Value::Bool(value)))?;
        let message = format!("{} runs no hooks: `{key}` is {value}", self.agent[1]);
        let finding = self.broken(message, format!("set `{key}` to {}", !value));
        Some(finding.at(file, &key.split('.').collect::<Vec<_>>()))
    }
}

impl Finding {
    /// The same at the end of these keys in another file.
    pub(super) fn at(self, file: &ConfigFile, keys: &[&str]) -> Finding {
        let diagnostic = Diagnostic { file: Some(file.path.as_path().into()), ..self.diagnostic };
        Finding { diagnostic: diagnostic.at(file.position(keys)), ..self }
    }
}

fn warning(finding: Finding) -> Finding {
    Finding { diagnostic: Diagnostic { kind: Kind::Warning, ..finding.diagnostic }, ..finding }
}
