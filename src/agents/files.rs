//! All files of an agent that register servers or hooks, each read once.

use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, value_at};
use super::environment::{Scope, is_same_file};
use crate::prompt::Diagnostic;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an agent reads in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigContent {
    Servers,
    /// Hooks and other settings.
    Settings,
}

/// A file that an agent may have.
#[derive(Debug, Clone)]
pub(super) struct AgentFile {
    pub(super) content: ConfigContent,
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    pub(super) syntax: ConfigSyntax,
}

/// The files of an agent that register servers or hooks.
#[derive(Debug)]
pub struct AgentFiles {
    /// Those that may exist. Of files with the same content, the one that takes precedence comes
    /// first.
    listed: Vec<AgentFile>,
    /// Those that exist, or why one cannot be read.
    files: BTreeMap<PathBuf, Result<ConfigFile, Diagnostic>>,
}

impl AgentFiles {
    /// Reads those of the listed files that exist.
    ///
    /// In the home directory, a file may be both the user's and the project's. It counts as the
    /// user's only.
    pub(super) fn read(listed: Vec<AgentFile>) -> AgentFiles {
        let mut agent_files = Vec::new();
        let mut files = BTreeMap::new();
        for file in &listed {
            if file.scope == Scope::Project && is_users_file(file, &listed) {
                continue;
            }
            if !files.contains_key(&file.path) {
                let result = ConfigFile::read(&file.path, file.syntax, file.scope);
                // `transpose` makes `None` of a file that does not exist.
                if let Some(existing) = result.transpose() {
                    files.insert(file.path.clone(), existing);
                }
            }
            agent_files.push(file.clone());
        }
        AgentFiles {
            listed: agent_files,
            files,
        }
    }

    /// Returns the file of this path, or why it cannot be read. `None`: the agent has no such file.
    pub(super) fn at(&self, path: &Path) -> Option<Result<&ConfigFile, &Diagnostic>> {
        self.files.get(path).map(Result::as_ref)
    }

    /// Returns the files that register servers for a scope; for each that cannot be read, the
    /// error.
    ///
    /// The servers of [`Scope::Local`] are in the user's files.
    pub fn configs(&self, scope: Scope) -> impl Iterator<Item = Result<&ConfigFile, &Diagnostic>> {
        let file_scope = if scope == Scope::Local {
            Scope::User
        } else {
            scope
        };
        self.listed_with(ConfigContent::Servers)
            .filter(move |file| file.scope == file_scope)
            .filter_map(|file| self.at(&file.path))
    }

    /// Returns the user's and the project's files with hooks and other settings; for each that
    /// cannot be read, the error.
    pub fn settings(&self) -> impl Iterator<Item = Result<&ConfigFile, &Diagnostic>> {
        self.listed_with(ConfigContent::Settings)
            .filter_map(|file| self.at(&file.path))
    }

    /// Returns the listed files that the agent reads for this content, also those that do not
    /// exist.
    fn listed_with(&self, content: ConfigContent) -> impl Iterator<Item = &AgentFile> {
        self.listed
            .iter()
            .filter(move |file| file.content == content)
    }

    /// Returns why files cannot be read.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.files.values().filter_map(|file| file.as_ref().err())
    }

    /// Returns the value at the end of these keys, from the first file that registers servers and
    /// has one there. The project's files come first.
    pub(super) fn setting(&self, keys: &[&str]) -> Option<&Value> {
        for scope in [Scope::Project, Scope::User] {
            for file in self.configs(scope).flatten() {
                if let Some(value) = value_at(&file.value, keys) {
                    return Some(value);
                }
            }
        }
        None
    }
}

/// Returns whether a file is also one of the user's, with the same content.
fn is_users_file(file: &AgentFile, listed: &[AgentFile]) -> bool {
    listed.iter().any(|other| {
        other.scope == Scope::User
            && other.content == file.content
            && is_same_file(&other.path, &file.path)
    })
}
