//! Shows a long text with the user's pager.

use super::output::{self, Styled};
use super::text_editor::words;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

/// Shows a text with the program that PAGER names, else with `less`; without a terminal, or if the
/// pager fails, prints it.
///
/// # Errors
/// It cannot be printed.
pub(super) fn show(text: &Styled) -> anyhow::Result<()> {
    let pager = std::env::var_os("PAGER")
        .filter(|pager| !pager.is_empty())
        .unwrap_or_else(|| OsString::from("less"));
    let words = words(&pager);
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() || words[0] == "cat" {
        return output::print(text);
    }
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX"); // as git does: colors, and no question if one screen is enough
    }
    let Ok(mut pager) = command.spawn() else {
        return output::print(text);
    };
    let written = pager
        .stdin
        .take()
        .map(|mut input| input.write_all(text.for_terminal().as_bytes()));
    drop(written); // a pager may be closed before the end
    if pager.wait()?.success() {
        Ok(())
    } else {
        output::print(text)
    }
}
