//! Text for a terminal: styles, lines that fit, problems and paths.

use super::stream::{Styled, print_laid_out};
use crate::prompt::{Diagnostic, Severity};
use crate::wording::{full_path, without_passwords};
use anstyle::{AnsiColor, Style};
use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use textwrap::WordSplitter;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
/// The style of a placeholder.
pub(crate) const MARK: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Writes lines for people to standard output. On a terminal, long lines are [wrapped].
pub(crate) fn print_lines(text: &Styled) -> anyhow::Result<()> {
    let mut text = text.clone();
    if !text.ends_line() {
        text.push("\n");
    }
    print_laid_out(&text, |shown| wrapped_lines(&shown, terminal_width()))
}

/// Returns the lines of a text, each [wrapped] to at most this many columns; without a number of
/// columns, unchanged.
pub(super) fn wrapped_lines(text: &str, columns: Option<usize>) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        match columns {
            Some(columns) => lines += &wrapped(line, columns),
            None => lines += line,
        }
        lines.push('\n');
    }
    lines
}

/// Returns the label that begins a problem, such as `error:`, and its style.
pub(crate) fn severity_label(problem: &Diagnostic) -> (Style, &'static str) {
    match problem.severity() {
        Severity::Error => (ERROR, "error:"),
        Severity::Warning => (WARNING, "warning:"),
        Severity::Hint => (WARNING, "hint:"),
    }
}

/// Returns a problem as `check` prints it in a pipe, with the fix on a line of its own:
///
/// ```text
/// prompts/review.md:6:4: warning: `{{inptu}}` is not a placeholder, and is left as it is
///     fix: write `{{input}}` if it is meant to be replaced
/// ```
pub(crate) fn problem_in_two_lines(problem: &Diagnostic) -> Styled {
    let mut place = String::new();
    if let Some(file) = &problem.file {
        place += &shown(file);
    }
    if let Some(position) = problem.position {
        place += &format!(":{position}");
    }
    let (style, label) = severity_label(problem);
    Styled::from(format!("{place}: "))
        .with(style, label)
        .plain(format!(" {}\n    ", problem.message))
        .with(FAINT, "fix:")
        .plain(format!(" {}\n", problem.fix))
}

/// Returns a path for standard output, with invisible characters escaped. On a terminal, a path in
/// the working directory is relative, and the home directory is `~`.
pub(crate) fn shown(path: &Path) -> String {
    if std::io::stdout().is_terminal() {
        full_path(&shortened(path))
    } else {
        full_path(path)
    }
}

/// Returns the path relative to the working directory, else with `~` for the home directory, else
/// as it is. In the home directory itself, `~/notes.md` says more than `notes.md`.
fn shortened(path: &Path) -> PathBuf {
    let Some(home) = dirs::home_dir() else {
        return path.to_owned();
    };
    if let Ok(working) = std::env::current_dir()
        && working != home
        && let Some(below) = path_below(path, &working)
    {
        return below.to_owned();
    }
    match path_below(path, &home) {
        Some(below) => Path::new("~").join(below),
        None => path.to_owned(),
    }
}

/// Returns the path from a folder to something inside of it: `git/commit.md`. Returns `None` for the
/// folder itself, and for a path outside of it.
fn path_below<'p>(path: &'p Path, folder: &Path) -> Option<&'p Path> {
    let below = path.strip_prefix(folder).ok()?;
    if below.as_os_str().is_empty() {
        None
    } else {
        Some(below)
    }
}

/// Returns the text of clap's error about the arguments in one line, without passwords, the usage
/// and what follows that: `unexpected argument '--jsn' found; tip: …`.
pub(crate) fn without_usage(text: &str) -> String {
    let mut parts = Vec::new();
    for part in text.trim_start_matches("error: ").split("\n\n") {
        if part.starts_with("Usage:") || part.starts_with("For more information") {
            break;
        }
        parts.push(part);
    }
    without_passwords(&one_line(&parts.join("; "))).into_owned()
}

/// Returns the number of columns of the terminal; `None` if standard output is not a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    width_if(std::io::stdout().is_terminal())
}

/// Returns the number of columns of the terminal, or 80 if it does not tell; `None` for a stream
/// that is not a terminal.
pub(super) fn width_if(is_terminal: bool) -> Option<usize> {
    if !is_terminal {
        return None;
    }
    match terminal_size::terminal_size() {
        Some((width, _)) => Some(width.0.into()),
        None => Some(80),
    }
}

/// Returns a text in one line: each run of whitespace becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Breaks a text into lines of at most this many columns. A longer word stays whole, so that it can
/// be copied.
pub(crate) fn in_lines(text: &str, columns: usize) -> Vec<String> {
    let lines = textwrap::wrap(text, options(columns)).into_iter();
    lines.map(Cow::into_owned).collect()
}

/// Breaks a line into lines of at most this many columns, with four spaces before each but the
/// first. A longer word stays whole, so that it can be copied.
pub(crate) fn wrapped(line: &str, columns: usize) -> String {
    textwrap::fill(line, options(columns).subsequent_indent("    "))
}

/// Returns how a text is broken into lines: only at spaces.
fn options<'i>(columns: usize) -> textwrap::Options<'i> {
    textwrap::Options::new(columns.max(1))
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_spaces_and_a_long_word_stays_whole() {
        assert_eq!(wrapped("one two three", 80), "one two three");
        assert_eq!(wrapped("    one two three", 11), "    one two\n    three");
        assert_eq!(
            wrapped("a /a/very/long/path b", 10),
            "a\n    /a/very/long/path\n    b"
        );
        assert_eq!(wrapped("日本 日本 日本", 9), "日本 日本\n    日本");
        assert_eq!(in_lines("a git-commit", 8), ["a", "git-commit"]);
        assert_eq!(in_lines("x", 0), ["x"]);
        assert_eq!(one_line(" a\n\tb\u{2028}  c "), "a b c");
    }
}
