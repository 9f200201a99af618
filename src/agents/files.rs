//! All files of an agent that register servers or hooks, each read once.

use super::config_file::ConfigFile;
use super::edit::Syntax;
use super::environment::{Scope, is_same_file};
use crate::prompt::Diagnostic;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an agent reads in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Servers,
    /// Hooks and other settings.
    Settings,
}

/// A file that an agent may have.
#[derive(Debug)]
pub(super) struct AgentFile {
    pub(super) content: Content,
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
    pub(super) syntax: Syntax,
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
    /// Reads these files. One of a project that is the user's, as in the home directory, is only
    /// the user's.
    pub(super) fn read(mut listed: Vec<AgentFile>) -> AgentFiles {
        let users = listed
            .iter()
            .filter(|file| file.scope == Scope::User)
            .map(|file| (file.content, file.path.clone()));
        let users: Vec<(Content, PathBuf)> = users.collect();
        listed.retain(
            |AgentFile {
                 scope,
                 content,
                 path,
                 ..
             }| {
                *scope == Scope::User
                    || !users
                        .iter()
                        .any(|(of, user)| of == content && is_same_file(user, path))
            },
        );
        let mut files = BTreeMap::new();
        for AgentFile {
            path,
            syntax,
            scope,
            ..
        } in &listed
        {
            if !files.contains_key(path)
                && let Some(file) = ConfigFile::read(path, *syntax, *scope).transpose()
            {
                files.insert(path.clone(), file);
            }
        }
        AgentFiles { listed, files }
    }

    /// The file of this path, if it is one of them and exists.
    pub(super) fn at(&self, path: &Path) -> Option<Result<&ConfigFile, &Diagnostic>> {
        self.files.get(path).map(Result::as_ref)
    }

    /// The files that register servers for a scope, or why one cannot be read.
    pub fn configs(&self, scope: Scope) -> impl Iterator<Item = Result<&ConfigFile, &Diagnostic>> {
        let scope = if scope == Scope::Local {
            Scope::User
        } else {
            scope
        };
        self.with(Content::Servers)
            .filter(move |file| file.scope == scope)
            .filter_map(|file| self.at(&file.path))
    }

    /// The same for those that have hooks and other settings, of both scopes.
    pub fn settings(&self) -> impl Iterator<Item = Result<&ConfigFile, &Diagnostic>> {
        self.with(Content::Settings)
            .filter_map(|file| self.at(&file.path))
    }

    fn with(&self, content: Content) -> impl Iterator<Item = &AgentFile> {
        self.listed
            .iter()
            .filter(move |file| file.content == content)
    }

    /// Why a file cannot be read.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.files.values().filter_map(|file| file.as_ref().err())
    }

    /// A value of the configs, from the first that has one there.
    pub(super) fn setting(&self, pointer: &str) -> Option<&Value> {
        let scopes = [Scope::Project, Scope::User].into_iter();
        scopes
            .flat_map(|scope| self.configs(scope).flatten())
            .find_map(|file| file.value.pointer(pointer))
    }
}
