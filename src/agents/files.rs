//! Reads all files in which an agent registers servers or hooks, each of them once.

use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, value_at};
use super::environment::{Scope, is_same_file};
use crate::prompt::Diagnostic;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an agent looks for in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigContent {
    Servers,
    /// Hooks and other settings.
    Settings,
}

/// A file that an agent reads if it exists.
#[derive(Debug, Clone)]
pub(super) struct AgentFile {
    pub(super) content: ConfigContent,
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    pub(super) syntax: ConfigSyntax,
}

/// The files in which an agent registers servers or hooks.
#[derive(Debug)]
pub struct AgentFiles {
    /// All files that the agent would read. Files with the same content are in order of precedence.
    /// A path is listed twice if the agent reads it both for servers and for settings.
    candidates: Vec<AgentFile>,
    /// The files that exist, or why they can't be read.
    existing: BTreeMap<PathBuf, Result<ConfigFile, Diagnostic>>,
}

impl AgentFiles {
    /// Reads the files that exist.
    ///
    /// If the project is the home directory, a project file may be the same as a user file. It then
    /// counts only as the user's.
    pub(super) fn read(mut candidates: Vec<AgentFile>) -> AgentFiles {
        let all = candidates.clone();
        candidates.retain(|file| file.scope != Scope::Project || !is_also_users_file(file, &all));
        let mut existing = BTreeMap::new();
        for file in &candidates {
            if existing.contains_key(&file.path) {
                continue;
            }
            match ConfigFile::read(&file.path, file.syntax, file.scope) {
                Ok(Some(config)) => _ = existing.insert(file.path.clone(), Ok(config)),
                Ok(None) => {} // it doesn't exist
                Err(error) => _ = existing.insert(file.path.clone(), Err(error)),
            }
        }
        AgentFiles {
            candidates,
            existing,
        }
    }

    /// Returns the file with this path, or why it can't be read. Returns `None` if it doesn't exist
    /// or is not one of the agent's files.
    pub(super) fn get(&self, path: &Path) -> Option<Result<&ConfigFile, &Diagnostic>> {
        self.existing.get(path).map(Result::as_ref)
    }

    /// Returns the existing files that register servers for a scope, in order of precedence, or why
    /// they can't be read. [`Scope::Local`] shares the user's files.
    pub fn configs(&self, scope: Scope) -> impl Iterator<Item = Result<&ConfigFile, &Diagnostic>> {
        let file_scope = if scope == Scope::Local {
            Scope::User
        } else {
            scope
        };
        self.candidates_with(ConfigContent::Servers)
            .filter(move |file| file.scope == file_scope)
            .filter_map(|file| self.get(&file.path))
    }

    /// Returns the existing files with hooks and other settings, of the project and of the user, in
    /// order of precedence, or why they can't be read.
    pub fn settings(&self) -> impl Iterator<Item = Result<&ConfigFile, &Diagnostic>> {
        self.candidates_with(ConfigContent::Settings)
            .filter_map(|file| self.get(&file.path))
    }

    fn candidates_with(&self, content: ConfigContent) -> impl Iterator<Item = &AgentFile> {
        self.candidates
            .iter()
            .filter(move |file| file.content == content)
    }

    /// Returns the errors of the files that can't be read.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.existing
            .values()
            .filter_map(|file| file.as_ref().err())
    }

    /// Returns the value at a path of keys in the files that register servers. The project's files
    /// override the user's.
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

/// Returns whether the agent also reads the file as the user's, for the same content.
fn is_also_users_file(file: &AgentFile, all: &[AgentFile]) -> bool {
    all.iter().any(|other| {
        other.scope == Scope::User
            && other.content == file.content
            && is_same_file(&file.path, &other.path)
    })
}
