//! The clipboard, by the system's own command.

use super::output;
use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::env;
use std::io::{ErrorKind, IsTerminal, Read, Seek, Write};
use std::process::{Command, Stdio};

/// A command that copies its standard input, as UTF-8.
type CopyCommand = &'static [&'static str];

const MACOS: CopyCommand = &["pbcopy"];
/// `clip.exe` would read the text in the code page of the console.
const WINDOWS: CopyCommand = &[
    "powershell.exe",
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    "[Console]::InputEncoding = [Text.UTF8Encoding]::new($false); Set-Clipboard -Value ([Console]::In.ReadToEnd())",
];

/// On other systems, the commands that may reach the clipboard where a variable is set, the best first.
const BY_VARIABLE: [(&str, CopyCommand); 5] = [
    ("TERMUX_VERSION", &["termux-clipboard-set"]),
    ("WSL_DISTRO_NAME", WINDOWS),
    ("WAYLAND_DISPLAY", &["wl-copy"]),
    ("DISPLAY", &["xclip", "-selection", "clipboard"]),
    ("DISPLAY", &["xsel", "--clipboard", "--input"]),
];

fn commands() -> Vec<CopyCommand> {
    if cfg!(windows) {
        return vec![WINDOWS];
    }
    if cfg!(target_os = "macos") {
        return vec![MACOS];
    }
    BY_VARIABLE.iter().filter(|(variable, _)| is_set(variable)).map(|(_, command)| *command).collect()
}

/// Whether an environment variable is set and not empty.
fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Copies the text with the first command that works; if there is none, through the terminal of an ssh connection.
///
/// # Errors
/// There is no clipboard, or no way to reach it that works.
pub(super) fn copy(text: &str) -> anyhow::Result<()> {
    let mut failures = Vec::new();
    for command in commands() {
        match run(command, text) {
            Ok(()) => return Ok(()),
            Err(why) => failures.push(format!("{}: {why:#}", command[0])),
        }
    }
    let is_remote = ["SSH_TTY", "SSH_CONNECTION"].into_iter().any(is_set);
    if is_remote && std::io::stdout().is_terminal() {
        return copy_by_terminal(text);
    }
    if failures.is_empty() {
        failures.push("neither WAYLAND_DISPLAY nor DISPLAY is set".to_owned());
    }
    let why = failures.join("; ");
    bail!("the clipboard cannot be reached: {why}; use `prompt-expander expand NAME | …` instead")
}

fn run(command: CopyCommand, text: &str) -> anyhow::Result<()> {
    // A file, not a pipe: xclip, xsel and wl-copy leave a process that keeps standard error open for as long as it has the
    // clipboard.
    let mut errors = tempfile::tempfile().context("no temporary file can be created")?;
    let mut child = Command::new(command[0]);
    child.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(errors.try_clone()?);
    let mut child = match child.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("not installed"),
        spawned => spawned?,
    };
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    let status = child.wait()?;
    if !status.success() {
        let mut said = Vec::new();
        errors.rewind().and_then(|()| errors.read_to_end(&mut said))?;
        let said = output::one_line(&String::from_utf8_lossy(&said));
        bail!(if said.is_empty() { status.to_string() } else { said });
    }
    written.context("it did not read the whole text")
}

/// Terminals accept no longer sequence.
const MAX_SEQUENCE: usize = 100_000;

/// Asks the terminal to copy the text to the clipboard of the machine that it runs on, with the escape sequence OSC 52.
fn copy_by_terminal(text: &str) -> anyhow::Result<()> {
    let sequence = format!("\x1b]52;c;{}\x07", BASE64.encode(text));
    if sequence.len() > MAX_SEQUENCE {
        bail!("the text is too long for the terminal's clipboard; use `prompt-expander expand NAME > FILE`");
    }
    output::print_verbatim(sequence.as_bytes())?;
    output::note(
        "the terminal was asked to copy (OSC 52); if the clipboard is unchanged, your terminal does not support that",
    );
    Ok(())
}
