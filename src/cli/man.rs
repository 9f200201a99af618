//! `prompt-expander man`: the manual page.

use super::output;
use clap::Args;
use std::process::ExitCode;

/// Made from the commands and options by a test (`tests/it/man.rs`), which fails where the page is not up to date.
const PAGE: &str = include_str!("../../docs/man/prompt-expander.1");

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander man | man -l -
  prompt-expander man > ~/.local/share/man/man1/prompt-expander.1";

#[derive(Debug, Args)]
pub(super) struct Man {}

impl Man {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        output::print_verbatim(PAGE.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
