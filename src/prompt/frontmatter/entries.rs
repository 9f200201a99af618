//! The lines of a frontmatter, read as `key: value` without YAML: the lenient reading.
//!
//! It is asked for what a strict reader refuses, and for a value as it was written. It never fails.

use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;
use gray_matter::Pod;
use std::collections::BTreeSet;

/// The keys that mean something to us.
pub(super) const KNOWN: [&str; 3] = ["title", "description", "arguments"];

/// The longest line that a repair repeats, in bytes.
const REPEATED: usize = 200;

/// A header as entries, and the lines that belong to none.
#[derive(Debug)]
pub(super) struct Entries<'h> {
    header: &'h str,
    pub(super) entries: Vec<Entry<'h>>,
    pub(super) strays: Vec<Stray<'h>>,
}

/// A line that is neither `key: value` nor a continuation of one.
#[derive(Debug)]
pub(super) struct Stray<'h> {
    pub(super) text: &'h str,
    pub(super) position: Position,
}

/// A `key: value` with the lines that continue it.
#[derive(Debug)]
pub(super) struct Entry<'h> {
    pub(super) key: &'h str,
    /// What follows the colon in the same line, without blanks at the two ends.
    pub(super) raw: &'h str,
    /// All its lines.
    pub(super) block: &'h str,
    /// The line of the key in the file, from 1.
    pub(super) line: usize,
    /// The first line up to `raw`.
    before: &'h str,
}

/// One `- …` of a list.
#[derive(Debug)]
pub(super) struct Item<'h> {
    pub(super) position: Position,
    /// `- word`
    word: Option<&'h str>,
    /// `- key: value`, and more such lines.
    fields: Vec<(&'h str, String)>,
}

/// Splits a header, whose first line counts as `first_line`, into entries.
pub(super) fn of(header: &str, first_line: usize) -> Entries<'_> {
    let mut found = Entries { header, entries: Vec::new(), strays: Vec::new() };
    // A header that is indented as a whole is one.
    let indent = header.lines().find(|line| !is_blank_or_comment(line)).map_or(0, indent_of);
    let mut open = None; // where the entry begins that the next line may continue
    let mut end = 0;
    for (count, line) in header.split_inclusive('\n').enumerate() {
        let start = end;
        end += line.len();
        if let Some((key, raw)) = key_value(line).filter(|_| indent_of(line) <= indent) {
            let before = &line[..line.trim_end().len() - raw.len()];
            open = Some(start);
            found.entries.push(Entry { key, raw, block: line, line: first_line + count, before });
        } else if let (Some(entry), Some(start), true) = (found.entries.last_mut(), open, continues(line, indent)) {
            entry.block = &header[start..end];
        } else if !is_blank_or_comment(line) {
            let position = Position { line: first_line + count, column: indent_of(line) + 1 };
            found.strays.push(Stray { text: line.trim(), position });
            open = None;
        }
    }
    found
}

/// The last line, of those that `text` begins with, that looks like a part of a frontmatter.
pub(super) fn last_line(text: &str, first_line: usize) -> Option<usize> {
    let looks = |line: &&str| key_value(line).is_some() || (!line.trim().is_empty() && continues(line, 0));
    text.lines().take_while(looks).count().checked_sub(1).map(|count| first_line + count)
}

fn indent_of(line: &str) -> usize {
    line.chars().take_while(|&character| character == ' ' || character == '\t').count()
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn continues(line: &str, indent: usize) -> bool {
    let text = line.trim();
    is_blank_or_comment(line) || indent_of(line) > indent || text == "-" || text.starts_with("- ")
}

/// `key: value` of one line; a blank after the colon may be missing behind a key that we know.
fn key_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let key = unquote(key.trim_end());
    let is_key = !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter));
    let blank = value.is_empty() || value.starts_with([' ', '\t']);
    (is_key && !key.starts_with('-') && (blank || KNOWN.contains(&key))).then(|| (key, value.trim()))
}

/// A text without the quotes around it, if there are two of a kind, and without a `"` that is never closed.
fn unquote(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    let unclosed = || text.strip_prefix('"').filter(|rest| !rest.contains('"'));
    inside('"').or_else(|| inside('\'')).or_else(unclosed).unwrap_or(text)
}

/// Where a comment begins in a value that is not quoted.
fn comment_at(value: &str) -> Option<usize> {
    if value.starts_with('#') {
        return Some(0);
    }
    value.match_indices('#').map(|(at, _)| at).find(|&at| value[..at].ends_with([' ', '\t']))
}

/// A scalar of one line: no comment, no quotes.
fn scalar(value: &str) -> &str {
    if value.starts_with(['"', '\'']) {
        return unquote(value);
    }
    comment_at(value).map_or(value, |at| value[..at].trim_end())
}

impl Entries<'_> {
    /// Whether every line is so plain that YAML cannot but read it as we do: `key: words`, each key once. Most headers
    /// are, and reading them as YAML is most of what a prompt costs.
    pub(super) fn are_plain(&self) -> bool {
        let mut keys = BTreeSet::new();
        let returns = self.header.matches('\r').count() - self.header.matches("\r\n").count();
        let control = |letter: char| letter.is_control() && letter != '\n' && letter != '\r';
        self.strays.is_empty()
            && returns == 0
            && !self.header.contains(control)
            && self.entries.iter().all(|entry| entry.is_plain() && keys.insert(entry.key))
    }
}

impl<'h> Entry<'h> {
    /// Whether it is `key: words` or `key: "words"` in one line, without anything else that means something to YAML.
    fn is_plain(&self) -> bool {
        let begins_as_word = |text: &str| text.starts_with(|first: char| first.is_ascii_alphabetic());
        let words = begins_as_word(self.raw)
            && !self.raw.ends_with(':')
            && !self.raw.contains(": ")
            && !self.raw.contains(" #")
            && !self.raw.eq_ignore_ascii_case("null");
        let in_quotes = |quote: char| {
            let inside = self.raw.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
            inside.is_some_and(|inside| !inside.contains([quote, '\\']))
        };
        let key = begins_as_word(self.key)
            && self.before.trim_end_matches(' ').strip_suffix(':') == Some(self.key)
            && self.key.len() < REPEATED;
        let space = self.raw.is_empty() || self.before.ends_with(' ');
        (words || in_quotes('"') || in_quotes('\'') || self.raw.is_empty())
            && key
            && space
            && self.block.lines().skip(1).all(is_blank_or_comment)
    }

    /// Where the key stands.
    pub(super) fn key_position(&self) -> Position {
        Position { line: self.line, column: indent_of(self.before) + 1 }
    }

    /// Where the value begins, or would.
    pub(super) fn value_position(&self) -> Position {
        self.position_in_value(0)
    }

    /// The place of the byte `at` of `raw`.
    pub(super) fn position_in_value(&self, at: usize) -> Position {
        Position { line: self.line, column: self.before.chars().count() + self.raw[..at].chars().count() + 1 }
    }

    /// The value as written, where it is a scalar of one line.
    pub(super) fn scalar(&self) -> &'h str {
        scalar(self.raw)
    }

    /// The lines that continue the entry, trimmed, without blank lines and comments.
    fn continuation(&self) -> impl Iterator<Item = (usize, &'h str)> {
        self.block.lines().enumerate().skip(1).filter(|(_, line)| !is_blank_or_comment(line))
    }

    /// The value as whoever wrote it probably meant it.
    pub(super) fn lenient_value(&self) -> Pod {
        if self.key == "arguments" && self.raw.is_empty() {
            return Pod::Array(self.items().into_iter().map(Item::into_pod).collect());
        }
        let is_block = self.raw.starts_with(['|', '>']) && self.raw.len() <= 3;
        let separator = if self.raw.starts_with('|') && is_block { "\n" } else { " " };
        let first = (!is_block && !self.raw.is_empty()).then_some(self.raw);
        let lines: Vec<&str> = first.into_iter().chain(self.continuation().map(|(_, line)| line.trim())).collect();
        Pod::String(unquote(&lines.join(separator)).to_owned())
    }

    /// The `- …` lines below the key, each with the `key: value` lines that follow it.
    pub(super) fn items(&self) -> Vec<Item<'h>> {
        let mut items: Vec<Item<'h>> = Vec::new();
        for (count, line) in self.continuation() {
            let text = line.trim();
            let field =
                if let Some(rest) = text.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
                    let position = Position { line: self.line + count, column: indent_of(line) + 1 };
                    items.push(Item { position, word: None, fields: Vec::new() });
                    rest.trim()
                } else {
                    text
                };
            let Some(item) = items.last_mut() else { continue };
            match (key_value(field), item.fields.last_mut()) {
                (Some((key, value)), _) => item.fields.push((key, scalar(value).to_owned())),
                (None, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(field);
                }
                (None, None) if !field.is_empty() => item.word = Some(scalar(field)),
                (None, None) => {}
            }
        }
        items
    }

    /// What a strict reader leaves out of the value: what it takes it for, and its bytes in `raw`.
    pub(super) fn dropped_by_yaml(&self) -> Option<(&'static str, std::ops::Range<usize>)> {
        let word = self.raw.find([' ', '\t']).unwrap_or(self.raw.len());
        match self.raw.chars().next()? {
            '"' | '\'' | '|' | '>' | '[' | '{' | '*' => None,
            '&' => Some(("an anchor", 0..word)),
            '!' => Some(("a tag", 0..word)),
            _ => comment_at(self.raw).map(|at| ("a comment", at..self.raw.len())),
        }
    }

    /// The slip that made YAML refuse the entry; `at` is what YAML said.
    pub(super) fn slip(&self, at: Option<Diagnostic>) -> Diagnostic {
        let value = Some(self.value_position());
        let first = self.raw.chars().next();
        let (position, message) = match (at, first) {
            (at, _) if self.block.lines().nth(1).is_some_and(|line| !is_blank_or_comment(line)) => {
                // It has more than one line: YAML knows better where.
                let at = at.and_then(|at| Some((at.position?, at.message)));
                at.map_or((value, "not the YAML that was meant".to_owned()), |(at, message)| (Some(at), message))
            }
            (_, _) if !self.before.ends_with([' ', '\t', ':']) || (self.before.ends_with(':') && first.is_some()) => {
                (value, "no blank after the colon".to_owned())
            }
            (_, _) if self.before.ends_with('\t') => (value, "a tab after the colon".to_owned()),
            (_, Some(mark)) if "[]{},&*!|>%@`?-#".contains(mark) => {
                (value, format!("a value that begins with {} needs quotes", quoted(&mark.to_string())))
            }
            (Some(at), _) => (at.position, at.message),
            (None, _) => (value, "not the YAML that was meant".to_owned()),
        };
        let message = format!("{message}; {} is read line by line", quoted(self.key));
        Diagnostic::warning(position, message, self.quote_it())
    }

    /// The line with its value in quotes, as a repair.
    pub(super) fn quote_it(&self) -> String {
        let one_line = self.block.lines().skip(1).all(is_blank_or_comment);
        if self.raw.contains(char::is_control) {
            return "delete the control characters, and put the value in quotes".to_owned();
        }
        if !one_line || self.raw.is_empty() || self.raw.len() > REPEATED {
            return "put the value in quotes".to_owned();
        }
        let text = unquote(self.raw);
        let value =
            if text.contains(['"', '\\']) { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") };
        format!("write `{}: {value}`", self.key)
    }
}

impl Item<'_> {
    /// The text of a key, as written.
    pub(super) fn scalar(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str())
    }

    fn into_pod(self) -> Pod {
        match self.word {
            Some(word) if self.fields.is_empty() => Pod::String(word.to_owned()),
            _ => Pod::Hash(self.fields.into_iter().map(|(key, value)| (key.to_owned(), Pod::String(value))).collect()),
        }
    }
}
