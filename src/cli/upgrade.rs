//! `prompt-expander upgrade --how`: the command that updates this program, which never updates
//! itself.

use super::install_method::InstallMethod;
use super::output;
use anyhow::{Context, ensure};
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander upgrade --how
  sh -c \"$(prompt-expander upgrade --how)\"";

#[derive(Debug, Args)]
pub(super) struct Upgrade {
    /// Print the command
    #[arg(long)]
    how: bool,
}

impl Upgrade {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let InstallMethod {
            description,
            update,
        } = InstallMethod::of_this()?;
        let unknown = || {
            format!(
                "this program is {description}; replace that file with the one of a newer release"
            )
        };
        let command = update.with_context(unknown)?;
        ensure!(
            self.how,
            "this program does not update itself; run `{command}`"
        );
        output::print_verbatim(format!("{command}\n").as_bytes())
    }
}
