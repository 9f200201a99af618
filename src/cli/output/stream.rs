//! The one door to a terminal: only this file writes to standard output and standard error, and
//! only it turns styles into escape sequences. On a terminal, texts are made [visible]: no text can
//! bring escape sequences of its own, or hide a part of itself. In a pipe, they are unchanged.
//!
//! `pick/terminal.rs`, which draws on the terminal itself, takes its lines from [`for_terminal`].

use crate::wording::{printable_json, printable_text, without_passwords};
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// A text for people, in parts that each have a style.
#[derive(Debug, Clone, Default)]
pub(crate) struct Styled(Vec<(Style, String)>);

/// Returns a text in one style, to which more can be added.
pub(crate) fn styled(style: Style, text: impl Into<String>) -> Styled {
    Styled(vec![(style, text.into())])
}

impl Styled {
    /// Adds a text without a style.
    pub(crate) fn plain(self, text: impl Into<String>) -> Styled {
        self.with(Style::new(), text)
    }

    /// Adds a text in a style.
    pub(crate) fn with(mut self, style: Style, text: impl Into<String>) -> Styled {
        self.0.push((style, text.into()));
        self
    }

    /// Adds a text without a style to this text.
    pub(crate) fn push(&mut self, text: impl Into<String>) {
        self.0.push((Style::new(), text.into()));
    }

    pub(crate) fn append(&mut self, other: Styled) {
        self.0.extend(other.0);
    }

    /// Returns whether nothing, or a line break, is at the end.
    pub(super) fn ends_line(&self) -> bool {
        let last_part = self.0.iter().rev().find(|(_, text)| !text.is_empty());
        last_part.is_none_or(|(_, text)| text.ends_with('\n'))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Returns the text with escape sequences for its styles, and no others.
    pub(crate) fn for_terminal(&self) -> String {
        for_terminal(&self.0)
    }

    pub(crate) fn without_styles(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl From<String> for Styled {
    fn from(text: String) -> Styled {
        styled(Style::new(), text)
    }
}

impl Extend<Styled> for Styled {
    fn extend<T: IntoIterator<Item = Styled>>(&mut self, texts: T) {
        texts.into_iter().for_each(|text| self.append(text));
    }
}

impl FromIterator<Styled> for Styled {
    fn from_iter<T: IntoIterator<Item = Styled>>(texts: T) -> Styled {
        let mut all = Styled::default();
        all.extend(texts);
        all
    }
}

/// Returns parts of a text as a terminal may get them: printable_text, with escape sequences for their
/// styles only.
pub(crate) fn for_terminal(parts: &[(Style, String)]) -> String {
    let mut line = String::new();
    for (style, text) in parts {
        let start = style.render();
        let end = style.render_reset();
        line += &format!("{start}{}{end}", printable_text(text));
    }
    line
}

/// Writes text for people to standard output.
pub(crate) fn print(text: &Styled) -> anyhow::Result<()> {
    print_laid_out(text, unwrapped)
}

/// Leaves the lines of a text as they are, for [`print_laid_out`] and [`print_message`].
pub(super) fn unwrapped(text: String) -> String {
    text
}

/// Writes text for people to standard output. On a terminal, the text has colors, and `lay_out`
/// breaks its lines; in a pipe, it has neither.
pub(super) fn print_laid_out(
    text: &Styled,
    lay_out: impl FnOnce(String) -> String,
) -> anyhow::Result<()> {
    let stdout = io::stdout();
    let color_choice = AutoStream::choice(&stdout);
    // A variable may ask for colors in a pipe, for example to a pager.
    if stdout.is_terminal() || color_choice != ColorChoice::Never {
        let terminal_text = lay_out(text.for_terminal());
        return write(
            AutoStream::new(stdout, color_choice),
            terminal_text.as_bytes(),
        );
    }
    write(stdout, text.without_styles().as_bytes())
}

/// Writes a text for scripts, or the text of a prompt, to standard output. In a pipe, no byte is
/// changed.
pub(crate) fn print_verbatim(text: &[u8]) -> anyhow::Result<()> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return write(stdout, visible_bytes(text).as_bytes());
    }
    write(stdout.lock(), text)
}

/// Writes one line of JSON for scripts to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print_json_line(&printable_json(&serde_json::to_string(value)?))
}

/// Writes a text that is JSON to standard output as one line. In a pipe, no byte of it is changed.
pub(crate) fn print_json_line(line: &str) -> anyhow::Result<()> {
    let line = line.trim_end_matches('\n');
    let stdout = io::stdout();
    let line = if stdout.is_terminal() {
        printable_json(line)
    } else {
        line.to_owned()
    };
    write(stdout.lock(), format!("{line}\n").as_bytes())
}

/// Writes a message to standard error, without passwords. Its characters are made visible even if
/// standard error is a file. `lay_out` breaks its lines.
pub(super) fn print_message(
    text: &Styled,
    lay_out: impl FnOnce(String) -> String,
) -> io::Result<()> {
    let text = text.for_terminal();
    let text = lay_out(without_passwords(&text).into_owned());
    let mut stderr = AutoStream::auto(io::stderr());
    stderr.write_all(text.as_bytes())?;
    stderr.flush()
}

/// Writes messages to standard error as one line of JSON.
pub(super) fn print_json_message(line: &str) -> io::Result<()> {
    io::stderr().write_all(format!("{}\n", printable_json(line)).as_bytes())
}

/// Writes the help that clap makes, with its styles, to standard output or standard error.
pub(super) fn print_help(help: &clap::builder::StyledStr, is_error: bool) {
    let help = help.ansi().to_string();
    // A reader that has closed its pipe, such as `head`, has seen enough.
    let _ = if is_error {
        AutoStream::auto(io::stderr()).write_all(help.as_bytes())
    } else {
        AutoStream::auto(io::stdout()).write_all(help.as_bytes())
    };
}

/// Asks the terminal of standard error to copy a text to the clipboard of the machine that it runs
/// on, with the escape sequence OSC 52. Standard output may be a file.
pub(crate) fn ask_terminal_to_copy(text: &str) -> io::Result<()> {
    io::stderr().write_all(clipboard_sequence(text).as_bytes())
}

/// Returns the escape sequence that asks a terminal to copy a text.
pub(crate) fn clipboard_sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", BASE64.encode(text))
}

/// How the control characters of a text for programs are escaped on a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Escaping {
    Text,
    Json,
}

/// A stream for texts of other code, such as the log. On a terminal, the texts are made printable_text;
/// elsewhere, they are unchanged.
pub(crate) struct Guarded<W> {
    stream: W,
    escaping: Escaping,
}

/// Returns standard error for a log.
pub(crate) fn log_stream(escaping: Escaping) -> Guarded<io::Stderr> {
    Guarded {
        stream: io::stderr(),
        escaping,
    }
}

/// Returns standard output for the messages of the protocol. In a pipe, it has no buffer: the one of
/// the standard library ends at each line break, so that a message could be written in two pieces.
pub(crate) fn protocol_stream() -> io::Result<Box<dyn Write + Send>> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Ok(Box::new(Guarded {
            stream: stdout,
            escaping: Escaping::Json,
        }));
    }
    #[cfg(unix)]
    let stdout = std::fs::File::from(std::os::fd::AsFd::as_fd(&stdout).try_clone_to_owned()?);
    Ok(Box::new(stdout))
}

impl<W: Write + IsTerminal> Write for Guarded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.stream.is_terminal() {
            return self.stream.write(bytes);
        }
        let text = match self.escaping {
            Escaping::Text => visible_bytes(bytes),
            Escaping::Json => printable_json(&String::from_utf8_lossy(bytes)),
        };
        self.stream.write_all(text.as_bytes())?;
        Ok(bytes.len()) // a caller counts its own bytes, not those that were written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Returns bytes as a visible text. A byte that is not UTF-8 is written as `\x9b`.
fn visible_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text += &printable_text(chunk.valid());
        text += &chunk.invalid().escape_ascii().to_string();
    }
    text
}

/// Writes a text to standard output at once.
fn write(mut stream: impl Write, text: &[u8]) -> anyhow::Result<()> {
    stream
        .write_all(text)
        .and_then(|()| stream.flush())
        .context("standard output cannot be written")
}
