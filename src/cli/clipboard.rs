//! The clipboard, by the system's own command.

use super::output::{self, Reporter};
use anyhow::{Context, bail, ensure};
use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};

/// A command that copies its standard input, as UTF-8.
type CopyCommand = &'static [&'static str];

/// `clip.exe` would read the text in the code page of the console.
const WINDOWS: CopyCommand = &[
    "powershell.exe",
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    "[Console]::InputEncoding = [Text.UTF8Encoding]::new($false); Set-Clipboard -Value ([Console]::In.ReadToEnd())",
];

/// The commands that may reach the clipboard, the best first. Where a variable is named, it must be
/// set.
const COMMANDS: &[(&str, CopyCommand)] = if cfg!(windows) {
    &[("", WINDOWS)]
} else if cfg!(target_os = "macos") {
    &[("", &["pbcopy"])]
} else {
    &[
        ("TERMUX_VERSION", &["termux-clipboard-set"]),
        ("WSL_DISTRO_NAME", WINDOWS),
        ("WAYLAND_DISPLAY", &["wl-copy"]),
        ("DISPLAY", &["xclip", "-selection", "clipboard"]),
        ("DISPLAY", &["xsel", "--clipboard", "--input"]),
    ]
};

/// Copies the text with the first command that works; if there is none, through the terminal.
///
/// # Errors
/// There is no clipboard, or no way to reach it that works.
pub(super) fn copy(text: &str, reporter: &Reporter) -> anyhow::Result<()> {
    let mut failures = Vec::new();
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    for (_, command) in COMMANDS
        .iter()
        .filter(|(variable, _)| variable.is_empty() || is_set(variable))
    {
        match run(command, text) {
            Ok(()) => return Ok(()),
            Err(why) => failures.push(format!("{}: {why:#}", command[0])),
        }
    }
    // A dumb terminal would show the sequence.
    if io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|terminal| terminal != "dumb") {
        return copy_by_terminal(text, reporter);
    }
    if failures.is_empty() {
        failures.push("neither WAYLAND_DISPLAY nor DISPLAY is set".to_owned());
    }
    let why = failures.join("; ");
    bail!("the clipboard cannot be reached: {why}; use `prompt-expander expand NAME | …` instead")
}

fn run(command: CopyCommand, text: &str) -> anyhow::Result<()> {
    let mut child = Command::new(command[0]);
    // xclip, xsel and wl-copy leave a process that would keep standard error open for as long as it
    // has the clipboard.
    child
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = match child.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("not installed"),
        spawned => spawned?,
    };
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    let status = child.wait()?;
    ensure!(status.success(), "{status}");
    written.context("it did not read the whole text")
}

/// Terminals accept no longer sequence.
const MAX_SEQUENCE: usize = 100_000;

/// Asks the terminal to copy the text to the clipboard of the machine that it runs on, with the
/// escape sequence OSC 52.
fn copy_by_terminal(text: &str, reporter: &Reporter) -> anyhow::Result<()> {
    if output::clipboard_sequence(text).len() > MAX_SEQUENCE {
        bail!(
            "the text is too long for the terminal's clipboard; use `prompt-expander expand NAME > FILE`"
        );
    }
    output::ask_terminal_to_copy(text)?;
    reporter.note(
        "the terminal was asked to copy (OSC 52); if the clipboard is unchanged, your terminal does not support that",
    );
    Ok(())
}
