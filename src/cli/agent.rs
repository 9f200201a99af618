//! Agents on the command line: the parser of their names, and the system on which they run.

use crate::agents::{AGENTS, Agent, System};
use crate::prompt;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::env;
use std::path::PathBuf;

/// The agents that can be named.
pub(super) fn agent_parser() -> impl TypedValueParser<Value = &'static Agent> {
    let value = |agent: &Agent| PossibleValue::new(agent.name).help(agent.title).aliases(agent.aliases);
    PossibleValuesParser::new(AGENTS.map(value)).try_map(|name| Agent::named(&name).ok_or("unknown agent"))
}

/// What the agents find on this machine.
pub(super) fn system() -> anyhow::Result<System> {
    let project = env::current_dir().context("the working directory cannot be found")?;
    Ok(System { project, ..system_of_user() })
}

fn system_of_user() -> System {
    System {
        home: dirs::home_dir(),
        config: dirs::config_dir(),
        environment: env::vars_os().collect(),
        project: PathBuf::new(),
    }
}

/// The user's folders with prompt files of the agents, which may be missing.
pub(super) fn prompt_folders() -> Vec<(&'static prompt::Format, PathBuf)> {
    let folders = Agent::prompt_folders(&system_of_user()).into_iter();
    folders.filter_map(|(format, path)| Some((prompt::Format::named(format)?, path))).collect()
}

/// Those in a project, relative to its folder.
pub(super) fn project_prompt_folders() -> Vec<(&'static prompt::Format, &'static str)> {
    let folders = Agent::project_prompt_folders().into_iter();
    folders.filter_map(|(format, name)| Some((prompt::Format::named(format)?, name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_each_agent_s_folder_is_known() {
        let user = Agent::prompt_folders(&System { home: Some("/h".into()), ..System::default() });
        let project = Agent::project_prompt_folders();
        let formats = user.iter().map(|(format, _)| format).chain(project.iter().map(|(format, _)| format));
        formats.for_each(|format| assert!(prompt::Format::named(format).is_some(), "{format}"));
    }
}
