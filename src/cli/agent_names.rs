//! Parses the names of agents on the command line, and describes the system that agents run on.

use super::user_folders;
use crate::agents::{AGENTS, Agent, System};
use crate::prompt::Format;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::env;
use std::path::PathBuf;

/// Returns a parser for the name or an alias of an agent. The help and the shell completion show
/// the titles of agents.
pub(super) fn agent_parser() -> impl TypedValueParser<Value = &'static Agent> {
    PossibleValuesParser::new(AGENTS.map(possible_value))
        .try_map(|name| Agent::by_name(&name).ok_or("unknown agent"))
}

fn possible_value(agent: &Agent) -> PossibleValue {
    PossibleValue::new(agent.name)
        .help(agent.title)
        .aliases(agent.aliases)
}

/// Returns the system that agents run on. Their project is the working directory.
pub(super) fn system() -> anyhow::Result<System> {
    let mut system = system_without_project();
    system.project = env::current_dir().context("the working directory cannot be found")?;
    Ok(system)
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
        environment: environment.collect(),
        project: PathBuf::new(),
    }
}

/// Returns the user's folders from which agents read prompts. They may not exist.
pub(super) fn prompt_folders() -> Vec<(&'static Format, PathBuf)> {
    Agent::user_prompt_folders(&system_without_project())
}
