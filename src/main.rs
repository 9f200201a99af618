//! The program: arguments in, exit status out.

use prompt_expander::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
