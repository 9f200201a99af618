//! Parses the names of agents on the command line, and describes the system that agents run on.

use super::user_folders;
use crate::agents::{AGENTS, Agent, System};
use crate::prompt::Format;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Parses any name of an agent, e.g. `claude`. The help, the shell completion and errors show only
/// the usual names, e.g. `claude-code`.
#[derive(Debug, Clone)]
pub(super) struct AgentParser;

impl TypedValueParser for AgentParser {
    type Value = &'static Agent;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<&'static Agent, clap::Error> {
        let usual_name = match Agent::by_name(&value.to_string_lossy()) {
            Some(agent) => OsStr::new(agent.name),
            None => value, // for the error
        };
        PossibleValuesParser::new(AGENTS.map(possible_value))
            .try_map(|name| Agent::by_name(&name).ok_or("unknown agent"))
            .parse_ref(command, argument, usual_name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(AGENTS.into_iter().map(possible_value)))
    }
}

fn possible_value(agent: &Agent) -> PossibleValue {
    PossibleValue::new(agent.name).help(agent.title)
}

/// Returns the system that agents run on. Their project is the working directory.
pub(super) fn system() -> anyhow::Result<System> {
    let mut system = system_without_project();
    system.project = env::current_dir().context("the working directory cannot be found")?;
    Ok(system)
}

/// Returns the system that agents run on, with this folder as their project. Without a folder, the
/// project is the working directory.
pub(super) fn system_in(folder: Option<&Path>) -> System {
    let mut system = system_without_project();
    system.project = match folder {
        Some(folder) => folder.to_owned(),
        None => env::current_dir().unwrap_or_default(),
    };
    system
}

/// Returns the system that agents run on, with an empty project. Excludes environment variables
/// that point into an untrusted repository.
fn system_without_project() -> System {
    let environment = env::vars_os().filter(|(name, _)| match name.to_str() {
        Some(name) => !user_folders::is_ignored(name),
        None => true,
    });
    System {
        home: user_folders::usual_home(),
        config: user_folders::system_config(),
        root: PathBuf::from(if cfg!(windows) { "C:\\" } else { "/" }),
        environment: environment.collect(),
        project: PathBuf::new(),
    }
}

/// Returns the user's folders from which agents read prompts. They may not exist.
pub(super) fn prompt_folders() -> Vec<(&'static Format, PathBuf)> {
    Agent::user_prompt_folders(&system_without_project())
}
