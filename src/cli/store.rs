//! `prompt-expander store`: prepares a database for prompts.

use super::database::StoreOptions;
use super::output;
use crate::library::Postgres;
use clap::{Args, Subcommand};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander store init --store postgres://owner@db.example.com/prompts";

#[derive(Debug, Args)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create the tables; connect as the owner of the database
    Init(StoreOptions),
}

impl StoreCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::Init(store) => {
                let address = store.required()?;
                let is_new = Postgres::init(&address)?;
                let done = if is_new { "is ready for prompts" } else { "was ready before; nothing is changed" };
                output::note(&format!("{address} {done}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
