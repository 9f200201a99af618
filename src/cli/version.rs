//! `prompt-expander --version`, with the commit that the program was built from if that is known,
//! and how it was installed.

use super::install_method;
use super::output;
use serde_json::json;

pub(super) fn print(is_json: bool) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    // Set by `build.rs`.
    let (commit, date) = (
        option_env!("PROMPT_EXPANDER_COMMIT"),
        option_env!("PROMPT_EXPANDER_DATE"),
    );
    let installed = install_method::of_this_program()?;
    if is_json {
        return output::print_json(
            &json!({ "version": version, "commit": commit, "date": date, "installed": installed }),
        );
    }
    let built = commit
        .zip(date)
        .map(|(commit, date)| format!(" ({commit} {date})"))
        .unwrap_or_default();
    let name = env!("CARGO_PKG_NAME");
    output::print(&format!("{name} {version}{built}\n{installed}\n").into())
}
