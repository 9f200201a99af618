//! Copies text to the clipboard, with the system's own command or through the terminal.

use super::output;
use crate::wording::count;
use anyhow::{Context, bail, ensure};
use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};

/// A command that copies its standard input, which is UTF-8.
type CopyCommand = &'static [&'static str];

/// Not `clip.exe`, which expects the console's code page.
const WINDOWS: CopyCommand = &[
    "powershell.exe",
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    "[Console]::InputEncoding = [Text.UTF8Encoding]::new($false); Set-Clipboard -Value ([Console]::In.ReadToEnd())",
];

struct ClipboardTool {
    /// The environment variable that must be set for this tool to work, if any.
    variable: Option<&'static str>,
    command: CopyCommand,
}

impl ClipboardTool {
    const fn new(command: CopyCommand) -> ClipboardTool {
        ClipboardTool {
            variable: None,
            command,
        }
    }

    const fn if_set(variable: &'static str, command: CopyCommand) -> ClipboardTool {
        ClipboardTool {
            variable: Some(variable),
            command,
        }
    }
}

/// The tools to try, in this order.
const TOOLS: &[ClipboardTool] = if cfg!(windows) {
    &[ClipboardTool::new(WINDOWS)]
} else if cfg!(target_os = "macos") {
    &[ClipboardTool::new(&["pbcopy"])]
} else {
    &[
        ClipboardTool::if_set("TERMUX_VERSION", &["termux-clipboard-set"]),
        ClipboardTool::if_set("WSL_DISTRO_NAME", WINDOWS),
        ClipboardTool::if_set("WAYLAND_DISPLAY", &["wl-copy"]),
        ClipboardTool::if_set("DISPLAY", &["xclip", "-selection", "clipboard"]),
        ClipboardTool::if_set("DISPLAY", &["xsel", "--clipboard", "--input"]),
    ]
};

/// Copies a text with the first tool that works, or otherwise through the terminal. Returns a
/// success message.
///
/// # Errors
/// Fails if neither a tool nor the terminal can copy the text.
pub(super) fn copy(text: &str) -> anyhow::Result<String> {
    let characters = count(text.chars().count(), "character");
    let mut failures = Vec::new();
    for tool in TOOLS {
        if tool.variable.is_some_and(|variable| !is_set(variable)) {
            continue;
        }
        match run(tool.command, text) {
            Ok(()) => return Ok(format!("copied {characters}")),
            Err(error) => failures.push(format!("{}: {error:#}", tool.command[0])),
        }
    }
    // A dumb terminal would print the escape sequence.
    let is_dumb = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    if io::stderr().is_terminal() && !is_dumb {
        copy_by_terminal(text)?;
        return Ok(format!(
            "sent {characters} to your terminal's clipboard (OSC 52)"
        ));
    }
    if failures.is_empty() {
        failures.push("neither WAYLAND_DISPLAY nor DISPLAY is set".to_owned());
    }
    bail!(
        "the clipboard cannot be reached: {}; use `prompt-expander expand NAME | …` instead",
        failures.join("; ")
    )
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Runs a command with the text as its standard input, and waits until it exits.
///
/// # Errors
/// Fails if the command isn't installed, exits with an error, or doesn't read the whole text.
fn run(command: CopyCommand, text: &str) -> anyhow::Result<()> {
    // Don't let it inherit standard error: xclip, xsel and wl-copy leave a process running for as
    // long as it owns the clipboard, which would keep a pipe open.
    let spawned = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match spawned {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("not installed"),
        spawned => spawned?,
    };
    let mut write_result = Ok(());
    if let Some(mut stdin) = child.stdin.take() {
        write_result = stdin.write_all(text.as_bytes());
        // Dropping `stdin` here closes the pipe. Otherwise, the command would wait for more text.
    }
    let status = child.wait()?;
    // A command that failed may not have read the text, either: its status says more.
    ensure!(status.success(), "{status}");
    write_result.context("it did not read the whole text")
}

/// Terminals ignore longer escape sequences.
const MAX_SEQUENCE_BYTES: usize = 100_000;

/// Asks the terminal to copy the text. There is no way to tell whether the terminal supports it.
fn copy_by_terminal(text: &str) -> anyhow::Result<()> {
    if output::clipboard_sequence(text).len() > MAX_SEQUENCE_BYTES {
        bail!(
            "the text is too long for the terminal's clipboard; use `prompt-expander expand NAME > FILE`"
        );
    }
    output::ask_terminal_to_copy(text)?;
    Ok(())
}
