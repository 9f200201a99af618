//! Agents on the command line: the parser of their names, and the system on which they run.

use super::user_folders;
use crate::agents::{AGENTS, Agent, System};
use crate::prompt::Format;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::env;
use std::path::PathBuf;

/// Returns the parser of an agent's name, which also takes its aliases. Help and completion list
/// the names with their titles.
pub(super) fn agent_parser() -> impl TypedValueParser<Value = &'static Agent> {
    PossibleValuesParser::new(AGENTS.map(possible_value))
        .try_map(|name| Agent::by_name(&name).ok_or("unknown agent"))
}

/// Returns the name of an agent as a value of an option, with its title as help.
fn possible_value(agent: &Agent) -> PossibleValue {
    PossibleValue::new(agent.name)
        .help(agent.title)
        .aliases(agent.aliases)
}

/// Returns the system on which agents run here, with the working directory as their project.
pub(super) fn system() -> anyhow::Result<System> {
    let mut system = system_without_project();
    system.project = env::current_dir().context("the working directory cannot be found")?;
    Ok(system)
}

/// Returns the user's folders and the environment, as agents see them, with an empty project. A
/// variable that names a folder in a repository that the user does not trust is left out.
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

/// Returns the user's folders with prompt files of other programs, which may be missing.
pub(super) fn prompt_folders() -> Vec<(&'static Format, PathBuf)> {
    Agent::user_prompt_folders(&system_without_project())
}
