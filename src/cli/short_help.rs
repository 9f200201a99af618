//! What `-h` prints: the commands, each in one line.

use super::output::{self, NAME, Styled};
use clap::Command;

/// The commands by what they are for.
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
        &["install", "uninstall", "doctor", "trust", "hook"],
    ),
    ("Server", &["serve", "token", "store", "completions", "man"]),
];

/// Returns the short help of the program.
pub(super) fn text(program: &Command) -> Styled {
    let columns = output::terminal_width().unwrap_or(80).clamp(40, 100);
    let room = columns - 16; // besides the name and the `…`
    let mut text = Styled::default().plain(
        "Expands `:research solar cells`, typed in a chat, into the prompt from a file\n\
         Usage: prompt-expander COMMAND, or :NAME INPUT; more: COMMAND --help, --help\n",
    );
    for (title, names) in GROUPS {
        text.push(format!("\n{title}:\n"));
        for name in names {
            // A build without all features has fewer commands.
            let Some(command) = program.find_subcommand(name) else {
                continue;
            };
            let about = command.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            let about = output::cut(&about, room);
            text = text
                .plain("  ")
                .with(NAME, format!("{name:<11}"))
                .plain(format!("  {about}\n"));
        }
    }
    text
}
