//! A pager for output that is longer than the terminal, as git does it.

use crate::cli::interrupts::ignored_during;
use crate::cli::shell_words::words;
use crate::wording::{named, quoted};
use anstream::adapter::strip_bytes;
use anstream::{AutoStream, ColorChoice};
use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::UnicodeWidthStr;

/// The environment variable with the command of the pager; if it is empty, there is none.
const VARIABLE: &str = "PAGER";

const DEFAULT: &str = "less";

/// The options of `less` unless the user has set them: quit if the text fits, pass colors on, leave the text on the screen.
const LESS: (&str, &str) = ("LESS", "FRX");

/// Set by --no-pager.
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// From now on, nothing is paged.
pub(in crate::cli) fn turn_pager_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// Writes text for people: through the pager if it has more lines than the terminal, otherwise as [`super::print`] does.
pub(in crate::cli) fn print_paged(text: &[u8]) -> anyhow::Result<()> {
    match pager(text) {
        Some(words) => page(&words, text),
        None => super::print(text),
    }
}

/// The command of the pager; `None` if the text is to be printed without it.
fn pager(text: &[u8]) -> Option<Vec<OsString>> {
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
    let command = env::var_os(VARIABLE).unwrap_or_else(|| OsString::from(if cfg!(windows) { "" } else { DEFAULT }));
    if command.to_string_lossy().trim().is_empty() {
        return None;
    }
    let Some(words) = words(&command) else {
        let command = quoted(&command.to_string_lossy());
        super::warning(&format!("{VARIABLE} is {command}, which has an unclosed quote; correct or unset {VARIABLE}"));
        return None;
    };
    (words != ["cat"]).then_some(words)
}

fn page(words: &[OsString], text: &[u8]) -> anyhow::Result<()> {
    let plain = strip_bytes(text).into_vec();
    let has_colors = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped());
    if env::var_os(LESS.0).is_none() {
        command.env(LESS.0, LESS.1);
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let is_default = error.kind() == ErrorKind::NotFound && env::var_os(VARIABLE).is_none();
            if !is_default {
                let pager = named(&words[0].to_string_lossy());
                super::warning(&format!("the pager {pager} cannot be started: {error}; correct {VARIABLE}"));
            }
            return super::print(text);
        }
    };
    // Ctrl-C reaches this process, too; if it ended, the pager and the shell would both read the keyboard.
    let ended = ignored_during(|| {
        if let Some(mut stdin) = child.stdin.take() {
            // An error means that the user has left the pager before the end.
            let _ = stdin.write_all(if has_colors { text } else { &plain });
        }
        child.wait()
    });
    ended?;
    Ok(())
}
