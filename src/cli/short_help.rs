//! The short help for `-h`: one line per command.

use super::line::USAGE;
use super::output::{NAME, Styled};
use clap::Command;

/// The commands, grouped by purpose.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Use prompts",
        &[
            "pick", "list", "expand", "explain", "copy", "show", "compose", "pack",
        ],
    ),
    (
        "Write prompts",
        &[
            "new", "edit", "check", "test", "path", "rm", "mv", "history", "diff", "restore",
            "import",
        ],
    ),
    (
        "Agents",
        &["install", "uninstall", "sync", "doctor", "trust", "hook"],
    ),
    (
        "Team and server",
        &["team", "serve", "token", "store", "completions", "man"],
    ),
];

/// The width of the longest name of a command.
const NAME_WIDTH: usize = "completions".len();

/// Returns the short help. It fits into 80 columns, because a test limits the summaries of commands
/// to 55 characters.
pub(super) fn text(program: &Command) -> Styled {
    let mut text = Styled::default().plain(format!("{}\n\nUsage: {USAGE}\n", summary(program)));
    for (title, names) in GROUPS {
        text.push(format!("\n{title}:\n"));
        for name in names {
            // A build without all features has fewer commands.
            let Some(command) = program.find_subcommand(name) else {
                continue;
            };
            text = text
                .with(NAME, format!("  {name:<NAME_WIDTH$}"))
                .plain(format!("  {}\n", summary(command)));
        }
    }
    text.push("\n`prompt-expander COMMAND --help` describes a command, `--help` all options.\n");
    text
}

/// Returns the summary of a command, or an empty string if it has none.
fn summary(command: &Command) -> String {
    match command.get_about() {
        Some(summary) => summary.to_string(),
        None => String::new(),
    }
}
