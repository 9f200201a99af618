//! `prompt-expander --version`, with the commit that the program was built from if that is known,
//! and how it was installed.

use super::install_method;
use super::output;
use serde_json::json;

/// Prints the version in two lines, or as one JSON object.
pub(super) fn print(is_json: bool) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    // Set by `build.rs` in a checkout.
    let commit = option_env!("PROMPT_EXPANDER_COMMIT");
    let date = option_env!("PROMPT_EXPANDER_DATE");
    let installed = install_method::of_this_program()?;
    if is_json {
        return output::print_json(
            &json!({ "version": version, "commit": commit, "date": date, "installed": installed }),
        );
    }
    let mut line = format!("prompt-expander {version}");
    if let (Some(commit), Some(date)) = (commit, date) {
        line += &format!(" ({commit} {date})");
    }
    output::print(&format!("{line}\n{installed}\n").into())
}
