//! A pager for output that is longer than the terminal, as git does it.

use super::messages::warning;
use super::text::print;
use crate::cli::interrupts::ignored_during;
use crate::wording::quoted;
use anstream::adapter::strip_bytes;
use anstream::{AutoStream, ColorChoice};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::UnicodeWidthStr;

/// The environment variable with the command of the pager; if it is empty, there is none.
const VARIABLE: &str = "PAGER";

const DEFAULT: &str = if cfg!(windows) { "" } else { "less" };

/// The options of `less` unless the user has set them: quit if the text fits, pass colors on, leave the text on the screen.
const LESS: (&str, &str) = ("LESS", "FRX");

/// Set by --no-pager.
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// From now on, nothing is paged.
pub(crate) fn turn_pager_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// Writes text for people: through the pager if it has more lines than the terminal, otherwise as [`print()`] does.
pub(crate) fn print_paged(text: &[u8]) -> anyhow::Result<()> {
    match pager(text) {
        Some(pager) => page(&pager, text),
        None => print(text),
    }
}

/// The command of the pager; `None` if the text is to be printed without it.
fn pager(text: &[u8]) -> Option<OsString> {
    if IS_OFF.load(Ordering::Relaxed) || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return None;
    }
    let (width, height) = terminal_size::terminal_size()?;
    let width = usize::from(width.0).max(1);
    let plain = strip_bytes(text).into_vec();
    let rows = |line: &str| line.width().div_ceil(width).max(1);
    let lines: usize = String::from_utf8_lossy(&plain).lines().map(rows).sum();
    if lines < usize::from(height.0) {
        return None;
    }
    let command = env::var_os(VARIABLE).unwrap_or_else(|| DEFAULT.into());
    (!matches!(command.to_string_lossy().trim(), "" | "cat")).then_some(command)
}

fn page(pager: &OsStr, text: &[u8]) -> anyhow::Result<()> {
    let plain = strip_bytes(text).into_vec();
    let has_colors = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    // The variable may hold a pipe of commands.
    let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(pager).stdin(Stdio::piped());
    if env::var_os(LESS.0).is_none() {
        command.env(LESS.0, LESS.1);
    }
    // Without `less`, which nobody asked for, the text is printed without a word.
    let is_default = env::var_os(VARIABLE).is_none();
    if is_default {
        command.stderr(Stdio::null());
    }
    // Ctrl-C reaches this process, too; if it ended, the pager and the shell would both read the keyboard.
    let ended = ignored_during(|| {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // An error means that the user has left the pager before the end.
            let _ = stdin.write_all(if has_colors { text } else { &plain });
        }
        child.wait()
    });
    let failure = match ended {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    if !is_default {
        let pager = quoted(&pager.to_string_lossy());
        warning(&format!("the pager {pager} failed ({failure}); correct or unset {VARIABLE}"));
    }
    print(text)
}
