//! How a client stands to us: what is registered there, and where.

use super::{Client, ConfigError, Hook, Registration, SERVER, Scope, Surroundings, is_same_file};
use std::path::{Path, PathBuf};

/// How a client stands to us.
#[derive(Debug)]
pub struct State {
    /// The client.
    pub client: Client,
    /// Whether it was found on this machine.
    pub is_found: bool,
    /// Every server that is us, or is registered under our name, in the user's configs and the project's.
    pub registrations: Vec<Registration>,
    /// The files in which our hook is registered.
    pub hooks: Vec<PathBuf>,
    /// Why a config could not be read.
    pub errors: Vec<ConfigError>,
}

impl Client {
    /// How it stands to us. Reads its configs.
    pub fn state(self, surroundings: &Surroundings) -> State {
        let mut state = State {
            client: self,
            is_found: self.is_found(surroundings),
            registrations: Vec::new(),
            hooks: Vec::new(),
            errors: Vec::new(),
        };
        let files = self.read_files(surroundings);
        let mut seen: Vec<&Path> = Vec::new();
        for scope in [Scope::User, Scope::Local, Scope::Project] {
            for config in files.configs(scope) {
                let read = config.map_err(Clone::clone);
                match read.and_then(|config| Ok((config.registrations(scope, surroundings)?, &config.path))) {
                    // Two names of one file.
                    Ok((_, path)) if scope == Scope::Project && seen.iter().any(|seen| is_same_file(seen, path)) => {}
                    Ok((registrations, path)) => {
                        seen.push(path);
                        let ours = registrations.into_iter().filter(|server| server.name == SERVER || server.is_ours());
                        state.registrations.extend(ours);
                    }
                    Err(error) => state.add_error(&error),
                }
            }
            let (hooks, errors) = files.own_hooks(scope);
            for Hook { path, .. } in hooks {
                if !state.hooks.contains(&path) {
                    state.hooks.push(path);
                }
            }
            errors.into_iter().for_each(|error| state.add_error(error));
        }
        state
    }
}

impl State {
    /// What is wrong with a file for two reasons, is said once.
    fn add_error(&mut self, error: &ConfigError) {
        if !self.errors.contains(error) {
            self.errors.push(error.clone());
        }
    }
}
