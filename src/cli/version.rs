//! `prompt-expander --version`, with the commit that the program was built from if that is known.

use super::output;
use serde_json::json;
use std::process::ExitCode;

pub(super) fn print(is_json: bool) -> anyhow::Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    // Set by `build.rs`.
    let (commit, date) = (option_env!("PROMPT_EXPANDER_COMMIT"), option_env!("PROMPT_EXPANDER_DATE"));
    if is_json {
        output::print_json(&json!({ "version": version, "commit": commit, "date": date }))?;
    } else {
        let built = commit.zip(date).map(|(commit, date)| format!(" ({commit} {date})")).unwrap_or_default();
        output::print(format!("{} {version}{built}\n", env!("CARGO_PKG_NAME")).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
