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
/// Of a placeholder.
pub(crate) const MARK: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Writes lines for people; on a terminal, each is [wrapped].
pub(crate) fn print_lines(text: &Styled) -> anyhow::Result<()> {
    let mut text = text.clone();
    if !text.ends_line() {
        text.push("\n");
    }
    print_laid_out(&text, |shown| wrapped_lines(&shown, terminal_width()))
}

/// Each line of a text, [wrapped] if there is a terminal.
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

/// A problem as `check` prints it, with the fix on a line of its own.
pub(crate) fn problem_in_two_lines(problem: &Diagnostic) -> Styled {
    let Diagnostic {
        file,
        position,
        message,
        fix,
        ..
    } = problem;
    let (style, severity) = match problem.severity() {
        Severity::Error => (ERROR, "error"),
        Severity::Warning => (WARNING, "warning"),
        Severity::Hint => (WARNING, "hint"),
    };
    let file = file.as_deref().map(shown).unwrap_or_default();
    let position = position
        .map(|position| format!(":{position}"))
        .unwrap_or_default();
    Styled::from(format!("{file}{position}: "))
        .with(style, format!("{severity}:"))
        .plain(format!(" {message}\n    "))
        .with(FAINT, "fix:")
        .plain(format!(" {fix}\n"))
}

/// A path for standard output, with invisible characters escaped: on a terminal relative in the
/// working directory, and with `~` in the home directory.
pub(crate) fn shown(path: &Path) -> String {
    let home = dirs::home_dir().filter(|_| std::io::stdout().is_terminal());
    // In the home directory itself, `~/notes.md` says more than `notes.md`.
    let working = std::env::current_dir()
        .ok()
        .filter(|folder| home.as_ref().is_some_and(|home| folder != home));
    let below = |folder: Option<PathBuf>| {
        path.strip_prefix(folder?)
            .ok()
            .filter(|below| below.iter().next().is_some())
    };
    match below(working) {
        Some(below) => full_path(below),
        None => full_path(
            &below(home).map_or_else(|| path.to_owned(), |below| Path::new("~").join(below)),
        ),
    }
}

/// Returns the text of an error in the arguments in one line, without its passwords.
pub(crate) fn without_usage(text: &str) -> String {
    let parts = text.trim_start_matches("error: ").split("\n\n");
    let said = parts.take_while(|part| {
        !part.starts_with("Usage:") && !part.starts_with("For more information")
    });
    without_passwords(&one_line(&said.collect::<Vec<_>>().join("; "))).into_owned()
}

/// The width of the terminal in columns; `None` if standard output is not a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    width_if(std::io::stdout().is_terminal())
}

pub(super) fn width_if(is_terminal: bool) -> Option<usize> {
    is_terminal
        .then(|| terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)))
}

/// A text in one line: each run of whitespace becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text in lines of at most this many columns. A longer word stays whole, so that it can be
/// copied.
pub(crate) fn in_lines(text: &str, columns: usize) -> Vec<String> {
    textwrap::wrap(text, options(columns))
        .into_iter()
        .map(Cow::into_owned)
        .collect()
}

/// A line in lines of at most this many columns, which continue it with an indent. Words are not
/// broken, so that they can be copied.
pub(crate) fn wrapped(line: &str, columns: usize) -> String {
    textwrap::fill(line, options(columns).subsequent_indent("    "))
}

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
