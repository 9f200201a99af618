//! A client as the command line knows it: by the name that somebody writes, and by the files that the environment leads to.

use crate::client::{Client, Surroundings};
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::env;
use std::path::PathBuf;

/// Which clients can be named.
pub(super) fn client_parser() -> impl TypedValueParser<Value = Client> {
    let value = |client: Client| {
        let value = PossibleValue::new(client.name()).help(client.title());
        if client == Client::GeminiCli { value.alias("gemini-cli") } else { value }
    };
    PossibleValuesParser::new(Client::ALL.map(value)).try_map(|name| Client::named(&name).ok_or("no such client"))
}

/// What the environment says of where things are.
pub(super) fn surroundings() -> anyhow::Result<Surroundings> {
    let named = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    Ok(Surroundings {
        home: dirs::home_dir(),
        config: dirs::config_dir(),
        xdg_config: named("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute()),
        codex_home: named("CODEX_HOME"),
        claude_config: named("CLAUDE_CONFIG_DIR"),
        gemini_home: named("GEMINI_CLI_HOME"),
        path: env::var_os("PATH"),
        project: env::current_dir().context("the working directory cannot be found")?,
    })
}
