//! `prompt-expander --version`, with the commit that the program was built from if that is known.

use super::output;
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;

/// Set by `build.rs`: version, commit and date.
pub(super) const VERSION: &str = env!("PROMPT_EXPANDER_VERSION");

#[derive(Serialize)]
struct Json {
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<&'static str>,
}

/// Whether these are `--version --json` in any order.
pub(super) fn is_asked_for(words: &[OsString]) -> bool {
    words.len() == 2 && words.iter().any(|word| word == "--version" || word == "-V")
}

pub(super) fn print_json() -> anyhow::Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    output::print_json(&Json {
        version,
        commit: option_env!("PROMPT_EXPANDER_COMMIT"),
        date: option_env!("PROMPT_EXPANDER_DATE"),
    })?;
    Ok(ExitCode::SUCCESS)
}
