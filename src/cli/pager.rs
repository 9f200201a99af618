//! Shows a long text with the user's pager.

use super::output::{self, Styled};
use super::text_editor::words;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

/// Shows a text with the program that the environment variable PAGER names, else with `less`. The
/// text is printed if there is no terminal, or if the pager fails.
///
/// # Errors
/// The text cannot be printed.
pub(super) fn show(text: &Styled) -> anyhow::Result<()> {
    let words = pager_words();
    let is_at_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    if !is_at_terminal || words[0] == "cat" {
        return output::print(text);
    }
    if run_pager(&words, text)? {
        Ok(())
    } else {
        output::print(text)
    }
}

/// Returns the program of the pager and its arguments: `less -R` → `less`, `-R`. There is always at
/// least the program.
fn pager_words() -> Vec<OsString> {
    match env::var_os("PAGER") {
        Some(pager) if !pager.is_empty() => words(&pager),
        _ => vec!["less".into()],
    }
}

/// Shows a text with a pager, which is a program and its arguments, until the user closes it.
/// Returns false if the pager cannot be started, or fails.
fn run_pager(words: &[OsString], text: &Styled) -> io::Result<bool> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX"); // as git does: colors, and no waiting if one screen is enough
    }
    let Ok(mut pager) = command.spawn() else {
        return Ok(false);
    };
    if let Some(mut input) = pager.stdin.take() {
        // It fails if the user closes the pager before the end.
        let _ = input.write_all(text.for_terminal().as_bytes());
    }
    Ok(pager.wait()?.success())
}
