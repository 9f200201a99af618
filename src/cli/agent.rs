//! Agents on the command line: the parser of their names, and the system on which they run.

use super::user_folders;
use crate::agents::{AGENTS, Agent, System};
use crate::prompt::Format;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::env;
use std::path::PathBuf;

/// The agents that can be named.
pub(super) fn agent_parser() -> impl TypedValueParser<Value = &'static Agent> {
    let value = |agent: &Agent| {
        PossibleValue::new(agent.name)
            .help(agent.title)
            .aliases(agent.aliases)
    };
    PossibleValuesParser::new(AGENTS.map(value))
        .try_map(|name| Agent::named(&name).ok_or("unknown agent"))
}

/// What the agents find on this machine.
pub(super) fn system() -> anyhow::Result<System> {
    let project = env::current_dir().context("the working directory cannot be found")?;
    Ok(System {
        project,
        ..system_of_user()
    })
}

fn system_of_user() -> System {
    System {
        home: user_folders::usual_home(),
        config: user_folders::system_config(),
        environment: env::vars_os()
            .filter(|(name, _)| {
                name.to_str()
                    .is_none_or(|name| !user_folders::is_refused(name))
            })
            .collect(),
        project: PathBuf::new(),
    }
}

/// The user's folders with prompt files of other programs, which may be missing.
pub(super) fn prompt_folders() -> Vec<(&'static Format, PathBuf)> {
    Agent::prompt_folders(&system_of_user())
}
