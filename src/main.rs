//! The program: arguments to a command, and the only exit code.

use prompt_expander::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
