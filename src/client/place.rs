//! Which files of a client `install` and `uninstall` write, and what stands there.

use super::config::is_of_servers;
use super::draft::Draft;
use super::plan::{PlanError, shown};
use super::{Client, ConfigError, Files, Hook, Registration, SERVER, Scope, Surroundings, is_same_file};
use std::fs;
use std::path::PathBuf;

/// A client, for somebody: its config, and the file of its hooks.
pub(super) struct Place<'s> {
    client: Client,
    scope: Scope,
    surroundings: &'s Surroundings,
    files: Files<'s>,
    /// The config that is written.
    config: PathBuf,
}

impl<'s> Place<'s> {
    /// Reads the client's files.
    ///
    /// An error where the scope makes no sense.
    pub(super) fn of(client: Client, scope: Scope, surroundings: &'s Surroundings) -> Result<Place<'s>, PlanError> {
        let files = client.read_files(surroundings);
        let config = config_to_write(&files, scope, surroundings).ok_or(PlanError::NoConfig(client))?;
        let of_user = client.configs(Scope::User, surroundings);
        if scope == Scope::Project && of_user.iter().any(|of_user| is_same_file(of_user, &config)) {
            return Err(PlanError::NoProject(client, config));
        }
        Ok(Place { client, scope, surroundings, files, config })
    }

    /// Which other clients read the config.
    pub(super) fn notes_of_others(&self) -> Vec<String> {
        let Place { scope, surroundings, config, .. } = self;
        let is_read = |other: &Client| {
            let of = |scope| other.configs(scope, surroundings);
            let mut files = [Scope::User, Scope::Project].into_iter().flat_map(of);
            *other != self.client && files.any(|file| is_same_file(&file, config))
        };
        let note = |other: Client| {
            let is_shared = other.servers(*scope, surroundings) == self.client.servers(*scope, surroundings);
            let what = if is_shared { ", and the entry is one for both" } else { "" };
            format!("{}: this file is the config of {} too{what}", shown(config), other.title())
        };
        Client::ALL.into_iter().filter(is_read).map(note).collect()
    }

    /// The servers of the config; none, if it is not there.
    pub(super) fn registrations(&self) -> Result<Vec<Registration>, ConfigError> {
        let Some(read) = self.files.at(&self.config) else { return Ok(Vec::new()) };
        read.map_err(Clone::clone)?.registrations(self.scope, self.surroundings)
    }

    /// The config, to be changed.
    pub(super) fn server_draft(&self) -> Result<Draft, ConfigError> {
        let mut draft = Draft::of(self.config.clone(), self.client.syntax(), self.client.new_config())?;
        // As they make them.
        draft.is_private = self.scope == Scope::User && matches!(self.client, Client::Codex | Client::ClaudeCode);
        Ok(draft)
    }

    /// The keys of our entry in the config.
    pub(super) fn server_keys(&self, config: &Draft) -> Vec<String> {
        let mut keys = self.client.servers(self.scope, self.surroundings);
        if self.client == Client::Opencode && is_of_servers(&config.value()["mcp"]["servers"]) {
            keys.push("servers".to_owned());
        }
        keys.push(SERVER.to_owned());
        keys
    }

    /// The hooks that `install` may write anew, and those that run us and are not its own: they do more than that, or stand in
    /// another file. Notes what could not be read.
    pub(super) fn hooks(&self, notes: &mut Vec<String>) -> (Vec<Hook>, Vec<Hook>) {
        let (hooks, errors) = self.files.own_hooks(self.scope);
        notes.extend(errors.iter().map(|error| format!("{error}; whether a hook is registered there is not known")));
        hooks.into_iter().partition(|hook| hook.is_of_install(self.client, self.surroundings))
    }

    /// The file of the hooks. An error where the scope makes no sense.
    pub(super) fn hook_file(&self) -> Result<PathBuf, PlanError> {
        let of = |scope| self.client.hook_file(scope, self.surroundings);
        let file = of(self.scope).ok_or(PlanError::NoHooks(self.client))?;
        if self.scope == Scope::Project && of(Scope::User).is_some_and(|of_user| is_same_file(&of_user, &file)) {
            return Err(PlanError::NoProject(self.client, file));
        }
        Ok(file)
    }

    /// The draft of the file of the hooks, which may be there for the server already.
    pub(super) fn hook_draft<'d>(&self, drafts: &'d mut Vec<Draft>) -> Result<&'d mut Draft, PlanError> {
        let file = self.hook_file()?;
        let known = drafts.iter().position(|draft| draft.path == file);
        let at = match known {
            Some(at) => at,
            None => {
                let draft = Draft::of(file, self.client.hook_syntax(), "{}")?;
                draft.check_object()?;
                drafts.push(draft);
                drafts.len() - 1
            }
        };
        Ok(&mut drafts[at])
    }
}

/// The config of a scope that is written: the one that has us, else the first that is there, else the one that the client
/// would make.
fn config_to_write(files: &Files, scope: Scope, surroundings: &Surroundings) -> Option<PathBuf> {
    let paths = files.client.configs(scope, surroundings);
    let there: Vec<&PathBuf> = paths.iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect();
    let has_us = |path: &&&PathBuf| {
        let config = files.at(path).and_then(Result::ok);
        let registrations = config.and_then(|config| config.registrations(scope, surroundings).ok());
        registrations.is_some_and(|servers| servers.iter().any(|server| server.name == SERVER))
    };
    let new = if files.client == Client::Opencode && scope == Scope::User { paths.last() } else { paths.first() };
    there.iter().find(has_us).or(there.first()).copied().or(new).cloned()
}
