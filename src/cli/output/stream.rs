//! Writes to standard output and standard error. No other file does, so that no untrusted text can
//! reach a terminal unescaped.
//!
//! On a terminal, text is made [printable](printable_text): it can't contain escape sequences of
//! its own, or hide a part of itself. In a pipe, it is unchanged. `pick/terminal.rs` draws on the
//! terminal itself, but gets its lines from [`for_terminal`].

use crate::wording::{printable_json, printable_text, without_passwords};
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// A styled text for people.
#[derive(Debug, Clone, Default)]
pub(crate) struct Styled(Vec<(Style, String)>);

/// Returns a text in one style. [`Styled::plain`] and [`Styled::with`] extend it.
pub(crate) fn styled(style: Style, text: impl Into<String>) -> Styled {
    Styled(vec![(style, text.into())])
}

impl Styled {
    /// Returns this text, followed by an unstyled one.
    pub(crate) fn plain(self, text: impl Into<String>) -> Styled {
        self.with(Style::new(), text)
    }

    /// Returns this text, followed by a styled one.
    pub(crate) fn with(mut self, style: Style, text: impl Into<String>) -> Styled {
        self.0.push((style, text.into()));
        self
    }

    /// Appends an unstyled text in place.
    pub(crate) fn push(&mut self, text: impl Into<String>) {
        self.0.push((Style::new(), text.into()));
    }

    pub(crate) fn append(&mut self, other: Styled) {
        self.0.extend(other.0);
    }

    /// Returns whether the text is empty or ends with a line break.
    pub(super) fn ends_with_newline(&self) -> bool {
        let last_part = self.0.iter().rev().find(|(_, text)| !text.is_empty());
        last_part.is_none_or(|(_, text)| text.ends_with('\n'))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Renders the text with escape sequences for its styles. All other escape sequences in it are
    /// made printable.
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

/// Renders styled parts for a terminal. The only escape sequences in the result are those for the
/// styles; all others are made [printable](printable_text).
pub(crate) fn for_terminal(parts: &[(Style, String)]) -> String {
    let mut line = String::new();
    for (style, text) in parts {
        let start = style.render();
        let end = style.render_reset();
        line += &format!("{start}{}{end}", printable_text(text));
    }
    line
}

/// Prints a text for people to standard output, without wrapping its lines.
pub(crate) fn print(text: &Styled) -> anyhow::Result<()> {
    print_laid_out(text, unwrapped)
}

/// Draws a line on the terminal of standard error in place of the last such line. The cursor stays
/// in the line, which must not be wider than the terminal. An empty line erases the last one.
pub(super) fn draw_status_line(line: &str) {
    let line = printable_text(line);
    // If standard error is closed, there is nowhere to report that.
    let _ = write!(io::stderr(), "\r{line}\x1b[K");
}

/// A `lay_out` function for [`print_laid_out`] and [`print_message`] that doesn't wrap the lines.
pub(super) fn unwrapped(text: String) -> String {
    text
}

/// Prints a text for people to standard output. On a terminal, it is colored, and `lay_out` wraps
/// its lines. In a pipe, it is neither colored nor wrapped.
pub(super) fn print_laid_out(
    text: &Styled,
    lay_out: impl FnOnce(String) -> String,
) -> anyhow::Result<()> {
    let stdout = io::stdout();
    let color_choice = AutoStream::choice(&stdout);
    // An environment variable such as CLICOLOR_FORCE can enable colors even in a pipe.
    if stdout.is_terminal() || color_choice != ColorChoice::Never {
        let terminal_text = lay_out(text.for_terminal());
        return write(
            AutoStream::new(stdout, color_choice),
            terminal_text.as_bytes(),
        );
    }
    write(stdout, text.without_styles().as_bytes())
}

/// Prints the text of a prompt, or a text for scripts, to standard output. In a pipe, it is
/// unchanged byte for byte.
pub(crate) fn print_verbatim(text: &[u8]) -> anyhow::Result<()> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return write(stdout, visible_bytes(text).as_bytes());
    }
    write(stdout.lock(), text)
}

/// Serializes a value for scripts, and prints it to standard output as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print_json_line(&printable_json(&serde_json::to_string(value)?))
}

/// Prints a line of JSON to standard output. In a pipe, it is unchanged byte for byte.
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

/// Prints a message to standard error, with passwords masked and its lines wrapped by `lay_out`.
/// Even in a pipe or a file, its characters are made [printable](printable_text).
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

/// Prints a line of JSON to standard error.
pub(super) fn print_json_message(line: &str) -> io::Result<()> {
    io::stderr().write_all(format!("{}\n", printable_json(line)).as_bytes())
}

/// Prints help that clap generated to standard error or standard output.
pub(super) fn print_help(help: &clap::builder::StyledStr, use_stderr: bool) {
    let help = help.ansi().to_string();
    // Writing fails if the reader has closed the pipe, as `head` does. That isn't an error.
    let _ = if use_stderr {
        AutoStream::auto(io::stderr()).write_all(help.as_bytes())
    } else {
        AutoStream::auto(io::stdout()).write_all(help.as_bytes())
    };
}

/// Asks the terminal to copy a text to its clipboard, even over SSH. Writes to standard error,
/// because standard output may be redirected.
pub(crate) fn ask_terminal_to_copy(text: &str) -> io::Result<()> {
    io::stderr().write_all(clipboard_sequence(text).as_bytes())
}

/// Returns the escape sequence OSC 52, which asks a terminal to copy a text to its clipboard.
pub(crate) fn clipboard_sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", BASE64.encode(text))
}

/// How to escape control characters on a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Escaping {
    Text,
    /// The result is still the same JSON value.
    Json,
}

/// A writer for the output of other code, such as log lines. On a terminal, escapes the control
/// characters in it; otherwise, passes it through unchanged.
pub(crate) struct Guarded<W> {
    stream: W,
    escaping: Escaping,
}

/// Returns a writer to standard error for log lines.
pub(crate) fn log_stream(escaping: Escaping) -> Guarded<io::Stderr> {
    Guarded {
        stream: io::stderr(),
        escaping,
    }
}

/// Returns a writer to standard output for protocol messages.
///
/// In a pipe, it is unbuffered. The standard library's buffer flushes at line breaks, which could
/// split a message into two writes.
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
        Ok(bytes.len()) // `Write` counts the caller's bytes, not the escaped ones
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Makes bytes [printable](printable_text) as text. Bytes that aren't UTF-8 become escapes such as
/// `\x9b`.
fn visible_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text += &printable_text(chunk.valid());
        text += &chunk.invalid().escape_ascii().to_string();
    }
    text
}

/// Writes to standard output, and flushes it.
fn write(mut stream: impl Write, text: &[u8]) -> anyhow::Result<()> {
    stream
        .write_all(text)
        .and_then(|()| stream.flush())
        .context("standard output cannot be written")
}
