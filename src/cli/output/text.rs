//! Text for a terminal, and for scripts: styles, lines that fit, problems, and where it is written.

use super::paths::abbreviated;
use crate::api;
use crate::prompt::{Diagnostic, Severity};
use crate::wording::{is_control, printable, printable_json};
use anstyle::{AnsiColor, Style};
use anyhow::Context;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;
use textwrap::core::Word;
use textwrap::{WordSeparator, WordSplitter};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Writes text for people; colors are removed if there is no terminal or `NO_COLOR` is set.
pub(crate) fn print(text: &[u8]) -> anyhow::Result<()> {
    write(anstream::stdout(), text)
}

/// Prints a line, in as many as it needs on a terminal.
pub(crate) fn print_line(line: &str) -> anyhow::Result<()> {
    let line = terminal_width().map_or_else(|| line.to_owned(), |columns| wrapped(line, 0, columns));
    print(format!("{line}\n").as_bytes())
}

/// Writes one line of JSON for scripts.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let line = printable_json(&serde_json::to_string(value)?);
    print_verbatim(format!("{line}\n").as_bytes())
}

/// Writes bytes as they are, escape sequences included.
pub(crate) fn print_verbatim(text: &[u8]) -> anyhow::Result<()> {
    write(std::io::stdout().lock(), text)
}

fn write(mut stdout: impl Write, text: &[u8]) -> anyhow::Result<()> {
    stdout.write_all(text).and_then(|()| stdout.flush()).context("standard output cannot be written")
}

/// A problem as `check` prints it, with the fix on a line of its own.
pub(crate) fn problem_in_two_lines(problem: &Diagnostic) -> String {
    let Diagnostic { file, position, message, fix, .. } = problem;
    let severity = problem.severity();
    let style = style_of(severity);
    let file = file.as_ref().map(|file| printable(&file.display().to_string())).unwrap_or_default();
    let position = position.map(|position| format!(":{position}")).unwrap_or_default();
    format!("{file}{position}: {style}{severity}:{style:#} {message}\n    {FAINT}fix:{FAINT:#} {fix}\n")
}

/// A problem as `list` shows it, which succeeds all the same: a paragraph of this many columns. The path is not broken, so that
/// a terminal can make it a link.
pub(crate) fn problem_in_a_paragraph(problem: &api::Problem, columns: usize) -> String {
    let text = abbreviated(&format!("warning: {problem}"));
    let filled = textwrap::fill(&text, paragraph(columns, "    "));
    filled.replacen("warning:", &format!("{WARNING}warning:{WARNING:#}"), 1)
}

fn style_of(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning | Severity::Hint => WARNING,
    }
}

/// A path for standard output: abbreviated on a terminal, with control characters escaped.
pub(crate) fn shown(path: &Path) -> String {
    abbreviated(&full_path(path))
}

/// A path for messages and questions, which abbreviate it if standard error is a terminal.
pub(crate) fn full_path(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// An error in the arguments in one line.
pub(crate) fn without_usage(error: &clap::Error) -> String {
    let text = error.to_string();
    let parts = text.trim_start_matches("error: ").split("\n\n");
    let said = parts.take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more information"));
    one_line(&said.collect::<Vec<_>>().join("; "))
}

/// The width of the terminal in columns; `None` if standard output is not a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    let is_terminal = std::io::stdout().is_terminal();
    is_terminal.then(|| terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)))
}

/// A text in one line: each run of whitespace and control characters becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|character: char| character.is_whitespace() || is_control(character));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The width of a text on a terminal, in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text in lines of at most this many columns. A longer word stays whole, so that it can be copied.
pub(crate) fn in_lines(text: &str, columns: usize) -> Vec<String> {
    textwrap::wrap(text, options(columns)).into_iter().map(Cow::into_owned).collect()
}

fn options<'i>(columns: usize) -> textwrap::Options<'i> {
    textwrap::Options::new(columns.max(1))
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false)
}

/// Punctuation that stays with the character before it, and with the one after it, in Japanese and Chinese.
const CLOSING: &str = "、。，．・：；？！ー々…）」』】〉》〕］｝ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ";
const OPENING: &str = "（「『【〈《〔［｛";

/// Words end at spaces, and also next to wide characters, whose scripts have no spaces.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_wide = |character: char| character.width() == Some(2);
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, character) in line.char_indices() {
        let is_break = before.is_some_and(|before| match (before, character) {
            (_, ' ') => false,
            (' ', _) => true,
            _ => (is_wide(before) || is_wide(character)) && !OPENING.contains(before) && !CLOSING.contains(character),
        });
        if is_break {
            words.push(Word::from(&line[start..at]));
            start = at;
        }
        before = Some(character);
    }
    words.push(Word::from(&line[start..]));
    Box::new(words.into_iter())
}

/// A text in lines of at most this many columns. The first begins after `indent` columns, the others are indented by four.
/// Words are not broken, so that they can be copied.
pub(crate) fn wrapped(text: &str, indent: usize, columns: usize) -> String {
    let before = " ".repeat(indent);
    textwrap::fill(text, paragraph(columns, "    ").initial_indent(&before)).split_off(indent)
}

fn paragraph(columns: usize, indent: &str) -> textwrap::Options<'_> {
    options(columns).subsequent_indent(indent)
}

/// A line cut to this many columns; it ends in `…` if it was cut.
pub(crate) fn fit(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |character: &char| {
        let width = character.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let cut: String = line.chars().take_while(fits).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_spaces_and_a_long_word_stays_whole() {
        assert_eq!(wrapped("one two three", 0, 80), "one two three");
        assert_eq!(wrapped("one two three", 4, 11), "one two\n    three");
        assert_eq!(wrapped("a /a/very/long/path b", 0, 10), "a\n    /a/very/long/path\n    b");
        assert_eq!(wrapped("日本 日本", 0, 8), "日本 日\n    本");
    }

    #[test]
    fn a_line_is_cut_to_columns_not_to_bytes() {
        for (line, columns, want) in [
            ("short", 5, "short"),
            ("longer line", 7, "longer…"),
            ("要約する", 8, "要約する"),
            ("要約する", 7, "要約す…"),
            ("要約する", 6, "要約…"),
            ("xy", 1, "…"),
        ] {
            assert_eq!(fit(line, columns), want, "{line} in {columns}");
        }
    }

    #[test]
    fn a_line_is_broken_after_words_by_columns_not_by_bytes() {
        for (line, columns, want) in [
            ("short", 5, &["short"][..]),
            ("longer line", 7, &["longer", "line"]),
            ("a longer line", 8, &["a longer", "line"]),
            ("a git-commit", 8, &["a", "git-commit"]),
            ("unbreakable", 4, &["unbreakable"]),
            ("要約する", 8, &["要約する"]),
            ("要約する", 7, &["要約す", "る"]),
            ("a要約。b", 5, &["a要", "約。b"]),
            ("a/path,list", 3, &["a/path,list"]),
            ("x", 0, &["x"]),
            ("", 9, &[""]),
        ] {
            assert_eq!(in_lines(line, columns), want, "{line} in {columns}");
        }
        assert_eq!(one_line(" a\n\tb\u{1b}[31m  c "), "a b [31m c");
    }
}
