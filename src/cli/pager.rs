//! Shows long texts in the user's pager.

use super::output::{self, Styled};
use super::text_editor::words;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

/// Shows a text in the pager in PAGER, which defaults to `less`. Prints the text instead if there
/// is no terminal, or the pager fails.
pub(super) fn show(text: &Styled) -> anyhow::Result<()> {
    let words = pager_words();
    let is_at_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    if !is_at_terminal || words[0] == "cat" {
        return output::print(text);
    }
    let was_shown = run_pager(&words, text)?;
    if !was_shown {
        return output::print(text);
    }
    Ok(())
}

/// Returns the pager's program and arguments, e.g. `less` and `-R`. Never returns an empty list.
fn pager_words() -> Vec<OsString> {
    match env::var_os("PAGER") {
        Some(pager) if !pager.is_empty() => words(&pager),
        _ => vec!["less".into()],
    }
}

/// Runs a pager, given as its program and arguments, until the user closes it. Returns whether it
/// has shown the text: false if it can't be started, or exits with an error.
fn run_pager(words: &[OsString], text: &Styled) -> io::Result<bool> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX"); // same as git: show colors, and exit if the text fits the screen
    }
    let Ok(mut pager) = command.spawn() else {
        return Ok(false);
    };
    if let Some(mut input) = pager.stdin.take() {
        // This fails if the user closes the pager early.
        let _ = input.write_all(text.for_terminal().as_bytes());
        // Dropping `input` here tells the pager that the text is complete.
    }
    Ok(pager.wait()?.success())
}
