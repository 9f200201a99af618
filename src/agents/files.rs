//! The files in which an agent registers servers or hooks, each of them read once.

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

/// A config file that was read, or why it can't be read.
pub(super) type ReadConfig<'f> = Result<&'f ConfigFile, &'f Diagnostic>;

/// The files in which an agent registers servers or hooks.
#[derive(Debug)]
pub struct AgentFiles {
    /// The files that the agent would read, whether or not they exist. Those with the same content
    /// are in order of precedence. A path is listed twice if the agent reads it both for servers
    /// and for settings.
    candidates: Vec<AgentFile>,
    /// The config at each path, or why it can't be read. A path without a file is missing.
    results: BTreeMap<PathBuf, Result<ConfigFile, Diagnostic>>,
}

impl AgentFiles {
    /// Reads the candidates that exist.
    ///
    /// If the project is the home directory, a project file may be the same as a user file. It then
    /// counts only as the user's.
    pub(super) fn read(mut candidates: Vec<AgentFile>) -> AgentFiles {
        remove_users_files_from_project(&mut candidates);
        let mut results = BTreeMap::new();
        for file in &candidates {
            if results.contains_key(&file.path) {
                continue;
            }
            let config = ConfigFile::read(&file.path, file.syntax, file.scope);
            // There is no result for a file that doesn't exist.
            if let Some(result) = config.transpose() {
                results.insert(file.path.clone(), result);
            }
        }
        AgentFiles {
            candidates,
            results,
        }
    }

    /// Returns the file with this path. Returns `None` if it doesn't exist or is not one of the
    /// agent's files.
    pub(super) fn get(&self, path: &Path) -> Option<ReadConfig<'_>> {
        self.results.get(path).map(Result::as_ref)
    }

    /// Returns the existing files that register servers for a scope, in order of precedence.
    /// [`Scope::Local`] shares the user's files.
    pub fn configs(&self, scope: Scope) -> impl Iterator<Item = ReadConfig<'_>> {
        let file_scope = match scope {
            Scope::User | Scope::Local => Scope::User,
            Scope::Project => Scope::Project,
        };
        self.candidates_with(ConfigContent::Servers)
            .filter(move |file| file.scope == file_scope)
            .filter_map(|file| self.get(&file.path))
    }

    /// Returns the existing files with hooks and other settings, of the project and of the user, in
    /// order of precedence.
    pub fn settings(&self) -> impl Iterator<Item = ReadConfig<'_>> {
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
        self.results.values().filter_map(|file| file.as_ref().err())
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

/// Removes the project's files that the agent also reads as the user's, for the same content.
fn remove_users_files_from_project(files: &mut Vec<AgentFile>) {
    let mut users_files = files.clone();
    users_files.retain(|file| file.scope == Scope::User);
    files.retain(|file| file.scope == Scope::User || !is_among(&users_files, file));
}

/// Returns whether one of the files is the same file, with the same content.
fn is_among(files: &[AgentFile], file: &AgentFile) -> bool {
    files
        .iter()
        .any(|other| other.content == file.content && is_same_file(&other.path, &file.path))
}
