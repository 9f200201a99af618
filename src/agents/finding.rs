//! Findings about the files of an agent, and the input of its checks.

use super::{Agent, AgentFiles, ConfigFile, HookLine, Position, Registration, Scope, System};
use crate::wording::named;
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something does not work.
    Broken,
    /// It works, but perhaps not always, or not as one would expect.
    Warning,
    /// It works.
    Fine,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Broken => "broken",
            Severity::Warning => "warning",
            Severity::Fine => "fine",
        })
    }
}

/// A problem or a result, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The agent that it is about. `None`: all of them.
    pub agent: Option<&'static Agent>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in lower case.
    pub message: String,
    /// What to do; `None` where there is nothing to do.
    pub fix: Option<String>,
    /// The file where it was found, or that is to be changed.
    pub file: Option<PathBuf>,
    /// The position in that file.
    pub position: Option<Position>,
}

impl Finding {
    /// A finding without a fix or a file.
    pub fn new(agent: Option<&'static Agent>, severity: Severity, message: impl Into<String>) -> Finding {
        Finding { agent, severity, message: message.into(), fix: None, file: None, position: None }
    }

    /// The same with what to do.
    pub fn fix(self, fix: impl Into<String>) -> Finding {
        Finding { fix: Some(fix.into()), ..self }
    }

    /// The same with a file, and a position in it.
    pub fn at(self, file: &Path, position: Option<Position>) -> Finding {
        Finding { file: Some(file.to_owned()), position, ..self }
    }
}

/// A registered server, with the files of its agent.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredServer<'a> {
    /// Where the agent is examined.
    pub system: &'a System,
    /// All files of the agent.
    pub files: &'a AgentFiles<'a>,
    /// The server.
    pub server: &'a Registration,
}

impl RegisteredServer<'_> {
    /// The agent.
    pub fn agent(&self) -> &'static Agent {
        self.files.agent
    }

    /// The name of the server, as it is shown.
    pub fn name(&self) -> String {
        named(&self.server.name)
    }

    /// A finding at the position of the registration.
    pub fn broken(&self, message: impl Into<String>) -> Finding {
        Finding::new(Some(self.agent()), Severity::Broken, message).at(&self.server.path, self.server.position)
    }

    /// The same for what works, but perhaps not always.
    pub fn warning(&self, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..self.broken(message) }
    }

    /// A value of the configs, from the first that has one there.
    pub(super) fn setting(&self, pointer: &str) -> Option<&Value> {
        let scopes = [Scope::Local, Scope::Project, Scope::User].into_iter();
        scopes.flat_map(|scope| self.files.configs(scope).flatten()).find_map(|file| file.value.pointer(pointer))
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
    /// All files of the agent.
    pub files: &'a AgentFiles<'a>,
    /// The hook.
    pub hook: &'a HookLine,
}

impl RegisteredHook<'_> {
    /// The agent.
    pub fn agent(&self) -> &'static Agent {
        self.files.agent
    }

    /// A finding at the position of the hook.
    pub fn broken(&self, message: impl Into<String>) -> Finding {
        Finding::new(Some(self.agent()), Severity::Broken, message).at(&self.hook.path, self.hook.position)
    }

    /// The same for what works, but perhaps not always.
    pub fn warning(&self, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..self.broken(message) }
    }

    /// The files with settings, the one that takes precedence first.
    pub(super) fn settings(&self) -> impl Iterator<Item = &ConfigFile> {
        self.files.settings().filter_map(Result::ok)
    }

    /// A finding if the setting with this dotted key has this value, which disables all hooks.
    pub(super) fn all_disabled_by(&self, key: &str, value: bool) -> Option<Finding> {
        let pointer = format!("/{}", key.replace('.', "/"));
        let file = self.settings().find(|file| file.value.pointer(&pointer) == Some(&Value::Bool(value)))?;
        let keys: Vec<&str> = key.split('.').collect();
        let message = format!("{} runs no hooks: `{key}` is {value}", self.agent().title);
        let finding = self.broken(message).fix(format!("set `{key}` to {}", !value));
        Some(finding.at(&file.path, file.position(&keys)))
    }
}
