//! `prompt-expander --version`: prints the version, and how the program was installed.

use super::install_method;
use super::output;
use serde_json::json;

/// Prints the version, the commit if it is known, and how the program was installed. Prints two
/// lines, or one JSON object:
///
/// ```text
/// prompt-expander 1.2.0 (0123abc 2025-01-31)
/// installed with npm
/// ```
pub(super) fn print(is_json: bool) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    // `build.rs` sets these if the program is built from a git checkout.
    let commit = option_env!("PROMPT_EXPANDER_COMMIT");
    let date = option_env!("PROMPT_EXPANDER_DATE");
    let install_method = install_method::of_this_program()?;
    if is_json {
        return output::print_json(
            &json!({ "version": version, "commit": commit, "date": date, "installed": install_method }),
        );
    }
    let mut line = format!("prompt-expander {version}");
    if let (Some(commit), Some(date)) = (commit, date) {
        line += &format!(" ({commit} {date})");
    }
    output::print(&format!("{line}\n{install_method}\n").into())
}
