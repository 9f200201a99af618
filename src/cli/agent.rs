//! Agents on the command line: the parser of their names, and the system on which they run.

use crate::agents::{AGENTS, Agent, System};
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::env;

/// The agents that can be named.
pub(super) fn agent_parser() -> impl TypedValueParser<Value = &'static Agent> {
    let value = |agent: &Agent| PossibleValue::new(agent.name).help(agent.title).aliases(agent.aliases);
    PossibleValuesParser::new(AGENTS.map(value)).try_map(|name| Agent::named(&name).ok_or("unknown agent"))
}

/// What the agents find on this machine.
pub(super) fn system() -> anyhow::Result<System> {
    Ok(System {
        home: dirs::home_dir(),
        config: dirs::config_dir(),
        environment: env::vars_os().collect(),
        project: env::current_dir().context("the working directory cannot be found")?,
    })
}
