//! The clipboard, by the system's own command.

use super::output;
use crate::wording::alternatives;
use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::env;
use std::io::{ErrorKind, IsTerminal, Read, Seek, Write};
use std::process::{Command, Stdio};

/// A command that copies its standard input, as UTF-8.
type CopyCommand = &'static [&'static str];

const MACOS: CopyCommand = &["pbcopy"];
const TERMUX: CopyCommand = &["termux-clipboard-set"];
const WAYLAND: CopyCommand = &["wl-copy"];
const X11: [CopyCommand; 2] = [&["xclip", "-selection", "clipboard"], &["xsel", "--clipboard", "--input"]];
/// `clip.exe` would read the text in the code page of the console.
const WINDOWS: CopyCommand = &[
    "powershell.exe",
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    "[Console]::InputEncoding = [Text.UTF8Encoding]::new($false); Set-Clipboard -Value ([Console]::In.ReadToEnd())",
];

/// The commands that may reach the clipboard in this environment, the best first.
fn commands() -> Vec<CopyCommand> {
    if cfg!(windows) {
        return vec![WINDOWS];
    }
    if cfg!(target_os = "macos") {
        return vec![MACOS];
    }
    let mut commands = Vec::new();
    if is_set("TERMUX_VERSION") {
        commands.push(TERMUX);
    }
    if is_set("WSL_DISTRO_NAME") {
        commands.push(WINDOWS);
    }
    if is_set("WAYLAND_DISPLAY") {
        commands.push(WAYLAND);
    }
    if is_set("DISPLAY") {
        commands.extend(X11);
    }
    commands
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
    let commands = commands();
    let mut failures = Vec::new();
    for command in &commands {
        match run(command, text)? {
            Outcome::Copied => return Ok(()),
            Outcome::NotInstalled => {}
            Outcome::Failed(why) => failures.push(format!("{}: {why}", command[0])),
        }
    }
    let is_remote = ["SSH_TTY", "SSH_CONNECTION"].into_iter().any(is_set);
    if is_remote && std::io::stdout().is_terminal() {
        return copy_by_terminal(text);
    }
    if !failures.is_empty() {
        let why = failures.join("; ");
        bail!("the clipboard cannot be reached: {why}; use `prompt-expander expand NAME | …` instead");
    }
    let programs: Vec<&str> = commands.iter().map(|command| command[0]).collect();
    match programs.is_empty() {
        true => bail!(
            "there is no clipboard: neither WAYLAND_DISPLAY nor DISPLAY is set; use `prompt-expander expand NAME | …` instead"
        ),
        false => bail!(
            "no program that copies to the clipboard is installed; install {}, or use `prompt-expander expand NAME | …`",
            alternatives(&programs)
        ),
    }
}

enum Outcome {
    Copied,
    NotInstalled,
    /// With the reason.
    Failed(String),
}

fn run(command: CopyCommand, text: &str) -> anyhow::Result<Outcome> {
    // A file, not a pipe: xclip, xsel and wl-copy leave a process that keeps standard error open for as long as it has the
    // clipboard.
    let mut errors = tempfile::tempfile().context("no temporary file can be created")?;
    let mut child = Command::new(command[0]);
    child.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(errors.try_clone()?);
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Outcome::NotInstalled),
        Err(error) => return Ok(Outcome::Failed(error.to_string())),
    };
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    let status = child.wait().with_context(|| format!("{} cannot be awaited", command[0]))?;
    if status.success() && written.is_ok() {
        return Ok(Outcome::Copied);
    }
    let mut said = Vec::new();
    errors.rewind().and_then(|()| errors.read_to_end(&mut said)).context("the temporary file cannot be read")?;
    let said = output::one_line(&String::from_utf8_lossy(&said));
    Ok(Outcome::Failed(match said.is_empty() {
        false => said,
        true if status.success() => "it did not read the whole text".to_owned(),
        true => status.to_string(),
    }))
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
