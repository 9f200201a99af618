//! What a change of a client's files comes to, or why there is none, in words.

use super::file::Change;
use super::{Client, ConfigError, Position, Registration, SERVER};
use crate::wording::{named, printable};
use std::fmt;
use std::path::{Path, PathBuf};

/// What would be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// The files that would change, none if all is as it should be.
    pub changes: Vec<Change>,
    /// What the user should know, in lower case.
    pub notes: Vec<String>,
}

/// Why nothing can be planned.
#[derive(Debug)]
pub enum PlanError {
    /// A file cannot be read, or not be changed.
    LeftAlone(ConfigError),
    /// This server of another program has our name.
    Taken(Box<Registration>),
    /// The project's file of this client is that of the user.
    NoProject(Client, PathBuf),
    /// The environment does not say where this client has its config.
    NoConfig(Client),
    /// The environment does not say where this client has its hooks.
    NoHooks(Client),
    /// What a hook is to be started with has a NUL character.
    Nul,
}

impl From<ConfigError> for PlanError {
    fn from(error: ConfigError) -> PlanError {
        PlanError::LeftAlone(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::LeftAlone(error) => {
                write!(f, "{error}; the file is left alone: repair it, then run this again")
            }
            PlanError::Taken(server) => write!(
                f,
                "{}: another server has the name `{SERVER}`; {}. Give it another name, or write --replace to put \
                 prompt-expander in its place",
                location_of(server),
                what_it_runs(server)
            ),
            PlanError::NoProject(client, file) => write!(
                f,
                "the working directory is no project for {}: `{}` is its config for all projects here; leave --project out, \
                 or go to a project",
                client.title(),
                shown(file)
            ),
            PlanError::NoConfig(client) => write!(
                f,
                "nothing says where the config of {} is; set HOME to your home directory, or use --project",
                client.title()
            ),
            PlanError::NoHooks(client) => {
                write!(f, "nothing says where the hooks of {} are; set HOME", client.title())
            }
            PlanError::Nul => f.write_str("a path with a NUL character cannot stand in a line for a shell"),
        }
    }
}

impl std::error::Error for PlanError {}

/// Where a server stands, as it is printed.
pub(super) fn location_of(server: &Registration) -> String {
    location(&server.path, server.position)
}

/// A place in a file, as it is printed.
pub(super) fn location(path: &Path, position: Option<Position>) -> String {
    let position = position.map(|position| format!(":{position}")).unwrap_or_default();
    format!("{}{position}", shown(path))
}

/// A path as it is printed, whatever is in it.
pub(super) fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// What a server of somebody else is.
pub(super) fn what_it_runs(server: &Registration) -> String {
    match (server.faults.first(), server.line()) {
        (Some(fault), _) => fault.clone(),
        (None, line) => format!("it runs {}", named(&line)),
    }
}
