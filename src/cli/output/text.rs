//! Formats text for a terminal: styles, wrapping, diagnostics and paths.

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
/// For placeholders, and for the label `fix:`.
pub(crate) const HIGHLIGHT: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Prints a text to standard output, and adds a final line break if there is none. On a terminal,
/// wraps long lines to its width.
pub(crate) fn print_lines(text: &Styled) -> anyhow::Result<()> {
    let mut lines = text.clone();
    if !lines.ends_with_newline() {
        lines.push("\n");
    }
    print_laid_out(&lines, |unwrapped| {
        wrap_each_line(&unwrapped, terminal_width())
    })
}

/// Wraps each line of a text with [`wrap_with_indent`]. With `None`, leaves the lines as they are.
pub(super) fn wrap_each_line(text: &str, columns: Option<usize>) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        match columns {
            Some(columns) => wrapped += &wrap_with_indent(line, columns),
            None => wrapped += line,
        }
        wrapped.push('\n');
    }
    wrapped
}

/// Returns the label of a diagnostic, such as `error:`, and the label's style.
pub(crate) fn severity_label(problem: &Diagnostic) -> (Style, &'static str) {
    match problem.severity() {
        Severity::Error => (ERROR, "error:"),
        Severity::Warning => (WARNING, "warning:"),
        Severity::Hint => (WARNING, "hint:"),
    }
}

/// Formats a diagnostic as `check` prints it in a pipe, with the fix on a second line:
///
/// ```text
/// prompts/review.md:6:4: warning: `{{inptu}}` is not a placeholder, and is left as it is
///     fix: write `{{input}}` if it is meant to be replaced
/// ```
pub(crate) fn problem_in_two_lines(problem: &Diagnostic) -> Styled {
    let (style, label) = severity_label(problem);
    Styled::from(format!("{}: ", problem_location(problem)))
        .with(style, label)
        .plain(format!(" {}\n    ", problem.message))
        .with(FAINT, "fix:")
        .plain(format!(" {}\n", problem.fix))
}

/// Returns the file and the position of a diagnostic, as far as they are known, e.g.
/// `prompts/review.md:6:4`.
pub(crate) fn problem_location(problem: &Diagnostic) -> String {
    let mut location = String::new();
    if let Some(file) = &problem.file {
        location += &display_path(file);
    }
    if let Some(position) = problem.position {
        location += &format!(":{position}");
    }
    location
}

/// Formats a path for standard output, with invisible characters escaped. On a terminal, the path
/// is relative to the working directory or, outside of it, begins with `~` for the home directory.
pub(crate) fn display_path(path: &Path) -> String {
    if std::io::stdout().is_terminal() {
        full_path(&shorten(path))
    } else {
        full_path(path)
    }
}

fn shorten(path: &Path) -> PathBuf {
    let Some(home) = dirs::home_dir() else {
        return path.to_owned();
    };
    // In the home directory itself, `~/notes.md` is clearer than `notes.md`.
    if let Ok(working_dir) = std::env::current_dir()
        && working_dir != home
        && let Some(relative) = strip_folder(path, &working_dir)
    {
        return relative.to_owned();
    }
    match strip_folder(path, &home) {
        Some(relative) => Path::new("~").join(relative),
        None => path.to_owned(),
    }
}

/// Returns the path relative to a folder that contains it. Returns `None` if the folder doesn't
/// contain it, or is itself the path.
fn strip_folder<'p>(path: &'p Path, folder: &Path) -> Option<&'p Path> {
    let relative = path.strip_prefix(folder).ok()?;
    if relative.as_os_str().is_empty() {
        None
    } else {
        Some(relative)
    }
}

/// Reduces a rendered clap error to one line, without the usage and without passwords:
/// `unexpected argument '--jsn' found; tip: …`.
pub(crate) fn without_usage(clap_error: &str) -> String {
    let mut paragraphs = Vec::new();
    for paragraph in clap_error.trim_start_matches("error: ").split("\n\n") {
        if paragraph.starts_with("Usage:") || paragraph.starts_with("For more information") {
            break;
        }
        paragraphs.push(paragraph);
    }
    without_passwords(&one_line(&paragraphs.join("; "))).into_owned()
}

/// Returns the width of the terminal in columns, or `None` if standard output isn't a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    terminal_width_if(std::io::stdout().is_terminal())
}

/// Returns the width of the terminal in columns, or 80 if it is unknown. Returns `None` if the
/// caller's stream isn't a terminal.
pub(super) fn terminal_width_if(is_terminal: bool) -> Option<usize> {
    if !is_terminal {
        return None;
    }
    match terminal_size::terminal_size() {
        Some((width, _)) => Some(width.0.into()),
        None => Some(80),
    }
}

/// Replaces each run of whitespace, including line breaks, with one space. Trims the ends.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Wraps a text to at most `columns` columns, and returns its lines. Doesn't break words, so that
/// a long path or URL can be copied.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let lines = textwrap::wrap(text, wrap_options(columns)).into_iter();
    lines.map(Cow::into_owned).collect()
}

/// Wraps a line to at most `columns` columns, and indents the continuation lines by four spaces.
/// Doesn't break words, so that a long path or URL can be copied.
pub(crate) fn wrap_with_indent(line: &str, columns: usize) -> String {
    textwrap::fill(line, wrap_options(columns).subsequent_indent("    "))
}

/// Returns options for textwrap that allow line breaks only at spaces.
fn wrap_options<'i>(columns: usize) -> textwrap::Options<'i> {
    textwrap::Options::new(columns.max(1))
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_spaces_and_a_long_word_stays_whole() {
        assert_eq!(wrap_with_indent("one two three", 80), "one two three");
        assert_eq!(
            wrap_with_indent("    one two three", 11),
            "    one two\n    three"
        );
        assert_eq!(
            wrap_with_indent("a /a/very/long/path b", 10),
            "a\n    /a/very/long/path\n    b"
        );
        assert_eq!(wrap_with_indent("日本 日本 日本", 9), "日本 日本\n    日本");
        assert_eq!(wrap("a git-commit", 8), ["a", "git-commit"]);
        assert_eq!(wrap("x", 0), ["x"]);
        assert_eq!(one_line(" a\n\tb\u{2028}  c "), "a b c");
    }
}
