//! The lines of a frontmatter, read as `key: value` without YAML: the lenient reading.
//!
//! It is asked for what a strict reader refuses, and for a value as it was written. It never fails.

use super::lines;
use super::value::{Map, Value};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

/// The longest line that a repair repeats, in bytes.
const REPEATED: usize = 200;

/// How many entries or items are read without YAML, which is the faster with many.
const MAX_PLAIN: usize = 64;

/// The longest key that YAML reads without a `?` before it, in bytes (YAML 1.2, "Implicit keys").
const SIMPLE_KEY: usize = 1024;

/// A map as its entries: a whole frontmatter, or one item of a list of maps.
#[derive(Debug)]
pub(super) struct Entries<'h> {
    text: &'h str,
    pub(super) entries: Vec<Entry<'h>>,
    /// The lines before the first entry that are neither blank nor a comment.
    pub(super) strays: Vec<Stray<'h>>,
}

/// A line that belongs to no entry.
#[derive(Debug)]
pub(super) struct Stray<'h> {
    pub(super) text: &'h str,
    pub(super) position: Position,
}

/// A `key: value` with the lines that continue it.
#[derive(Debug)]
pub(super) struct Entry<'h> {
    pub(super) key: &'h str,
    /// What follows the colon in the same line, without whitespace at its ends.
    pub(super) raw: &'h str,
    /// All its lines.
    pub(super) block: &'h str,
    /// The line of the key in the file, from 1.
    pub(super) line: usize,
    /// How far the key is indented, in characters.
    indent: usize,
    /// How many columns stand before `before`.
    lead: usize,
    /// The first line up to `raw`.
    before: &'h str,
    items: OnceCell<Vec<Item<'h>>>,
}

/// One `- …` of a list.
#[derive(Debug)]
pub(super) struct Item<'h> {
    /// All that follows the dash.
    pub(super) text: &'h str,
    /// Where the dash stands.
    pub(super) position: Position,
    entries: OnceCell<Entries<'h>>,
}

/// Where a slip is, what it is, and the repair.
type Slip = (Position, String, String);

/// Splits a map, whose first line counts as `first_line`, into entries. A line that begins none continues the one
/// before it.
pub(super) fn of(text: &str, first_line: usize) -> Entries<'_> {
    behind(0, text, first_line)
}

/// The same, where so many columns stand before the first line.
fn behind(lead: usize, text: &str, first_line: usize) -> Entries<'_> {
    let mut found = Entries { text, entries: Vec::new(), strays: Vec::new() };
    // A map that is indented as a whole is one.
    let mut indent = None;
    let mut entry_start = 0;
    let mut end = 0;
    for (count, line) in lines(text).enumerate() {
        let start = end;
        end += line.len();
        let lead = if count == 0 { lead } else { 0 };
        let indented = lead + indent_of(line);
        if indent.is_none() && !is_blank_or_comment(line) {
            indent = Some(indented);
        }
        let begins = indented <= indent.unwrap_or(0);
        if let Some((key, raw)) = begins.then(|| key_value(line)).flatten() {
            entry_start = start;
            let before = &line[..line.trim_end().len() - raw.len()];
            let line_number = first_line + count;
            let items = OnceCell::new();
            found.entries.push(Entry {
                key,
                raw,
                block: line,
                line: line_number,
                indent: indented,
                lead,
                before,
                items,
            });
        } else if let Some(entry) = found.entries.last_mut() {
            entry.block = &text[entry_start..end];
        } else if !is_blank_or_comment(line) {
            let position = Position { line: first_line + count, column: indented + 1 };
            found.strays.push(Stray { text: line.trim(), position });
        }
    }
    found
}

/// The last line, of those that `text` begins with, that looks like a part of a frontmatter.
pub(super) fn last_line(text: &str, first_line: usize) -> Option<usize> {
    let continues = |line: &str| line.starts_with([' ', '\t', '#']) || line.starts_with("- ");
    let looks = |line: &&str| key_value(line).is_some() || (!line.trim().is_empty() && continues(line));
    text.lines().take_while(looks).count().checked_sub(1).map(|count| first_line + count)
}

fn indent_of(line: &str) -> usize {
    line.chars().take_while(|&character| character == ' ' || character == '\t').count()
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// `key: value` of one line, or `key:value`, if that is not `https://…`, `std::vec`, `C:\…` or `10:30`.
fn key_value(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let split = |at: usize| (unquote(line[..at].trim_end()), &line[at + 1..]);
    let (key, value) = split(line.find(':')?);
    let glued = key.starts_with(char::is_alphabetic) && !value.starts_with(['/', ':', '\\']);
    if is_word(key) && (glued || is_spaced(value)) {
        return Some((key, value.trim()));
    }
    // Any other text before a colon and a space is a key too, as in YAML.
    let (key, value) = split(line.match_indices(':').map(|(at, _)| at).find(|at| is_spaced(&line[at + 1..]))?);
    let is_key = !key.is_empty()
        && !key.starts_with(['-', '?', '[', ']', '{', '}', ',', '#', '&', '*', '!', '|', '>', '"', '\'']);
    is_key.then(|| (key, value.trim()))
}

fn is_word(key: &str) -> bool {
    let letters = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    !key.is_empty() && !key.starts_with('-') && key.chars().all(letters)
}

fn is_spaced(value: &str) -> bool {
    value.is_empty() || value.starts_with([' ', '\t'])
}

/// A text without the quotes around it, and without a `"` that is never closed.
///
/// `'don't'` has quotes around it, `"yes" or "no"` has not: a quote inside stands between two letters.
fn unquote(text: &str) -> &str {
    let between_letters = |inside: &str, quote: char| {
        let letter = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
        let mut quotes = inside.match_indices(quote).map(|(at, _)| at);
        quotes.all(|at| letter(inside[..at].chars().next_back()) && letter(inside[at + 1..].chars().next()))
    };
    let inside = |quote: char| {
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        between_letters(inside, quote).then_some(inside)
    };
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

/// `|`, `>`, `|-`, `>2` …: the value is in the lines that follow.
fn is_block_mark(value: &str) -> bool {
    let Some(rest) = value.strip_prefix(['|', '>']) else { return false };
    rest.len() <= 2 && rest.chars().all(|letter| letter == '+' || letter == '-' || letter.is_ascii_digit())
}

impl<'h> Entries<'h> {
    /// The entry of a key; the last, if there are several.
    pub(super) fn get(&self, key: &str) -> Option<&Entry<'h>> {
        self.entries.iter().rfind(|entry| entry.key == key)
    }

    /// Whether there is a key of one word, as frontmatter has and text has not.
    pub(super) fn has_keys(&self) -> bool {
        self.entries.iter().any(|entry| is_word(entry.key) && entry.key.starts_with(char::is_alphabetic))
    }

    /// Whether there is any line that is neither blank nor a comment.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.strays.is_empty()
    }

    /// What YAML makes of them, if every line is so plain that YAML cannot but read it as we do: `key: words`, each key
    /// once, and lists of words or of such maps. Most frontmatters are, and to read them as YAML costs five times what all
    /// else costs that a list does with a file. A number or a truth value is text here, as it is to those who ask.
    pub(super) fn plain(&self) -> Option<Value<'h>> {
        let text = self.text.as_bytes();
        let mut returns = memchr::memchr_iter(b'\r', text);
        if returns.any(|at| text.get(at + 1) != Some(&b'\n')) || has_controls(self.text) {
            return None;
        }
        if self.is_empty() { Some(Value::Nothing) } else { self.plain_map(true) }
    }

    /// `is_outer`: its values may be lists of maps.
    fn plain_map(&self, is_outer: bool) -> Option<Value<'h>> {
        let first = self.entries.first().filter(|_| self.strays.is_empty() && self.entries.len() <= MAX_PLAIN)?;
        let mut map = Map::with_capacity(self.entries.len());
        for entry in &self.entries {
            let value = entry.plain_value(is_outer).filter(|_| entry.indent == first.indent)?;
            if map.iter().any(|(key, _)| key == entry.key) {
                return None;
            }
            map.push((entry.key.into(), value));
        }
        Some(Value::Map(map))
    }

    /// What a strict reader leaves out of the value of an entry: what it takes it for, and its bytes in `raw`.
    pub(super) fn dropped_by_yaml(&self, entry: &Entry<'_>) -> Option<(&'static str, Range<usize>)> {
        let raw = entry.raw;
        let word = 0..raw.find([' ', '\t']).unwrap_or(raw.len());
        match raw.chars().next()? {
            '"' | '\'' | '|' | '>' | '[' | '{' | '*' => None,
            '&' if self.text.contains(&format!("*{}", &raw[1..word.end])) => None, // it is meant
            '&' => Some(("an anchor", word)),
            '!' => Some(("a tag", word)),
            _ => comment_at(raw).map(|at| ("a comment", at..raw.len())),
        }
    }
}

/// Whether there are control characters, besides those that end lines.
fn has_controls(text: &str) -> bool {
    let control = |letter: char| letter.is_control() && letter != '\n' && letter != '\r';
    // To ask all bytes is to ask many at once. 0xc2 begins the controls that are no ASCII, and some letters.
    let suspect = |byte: u8| (byte < b' ' && byte != b'\n' && byte != b'\r') || byte == 0x7f || byte == 0xc2;
    text.bytes().fold(false, |found, byte| found | suspect(byte)) && text.contains(control)
}

fn begins_as_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// A value that is text to YAML as it is to us, or a truth value.
fn plain_text(raw: &str) -> Option<Value<'_>> {
    let in_quotes = |quote: char| {
        let inside = raw.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains([quote, '\\'])).then_some(inside)
    };
    let bytes = raw.as_bytes();
    let ends_a_key = |at: usize| matches!(bytes.get(at + 1), None | Some(b' '));
    let begins_a_comment = |at: usize| at > 0 && bytes[at - 1] == b' ';
    let is_words = begins_as_word(raw)
        && !memchr::memchr_iter(b':', bytes).any(ends_a_key)
        && !memchr::memchr_iter(b'#', bytes).any(begins_a_comment)
        && !raw.eq_ignore_ascii_case("null");
    let text = if is_words { Some(raw) } else { in_quotes('"').or_else(|| in_quotes('\'')) };
    text.map(Cow::Borrowed).or_else(|| with_escaped_quotes(raw).map(Cow::Owned)).map(Value::Text)
}

/// A text in double quotes in which no escapes but `\"` and `\\` stand.
fn with_escaped_quotes(raw: &str) -> Option<String> {
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) {
        let escape = rest.get(at..at + 2).filter(|escape| matches!(*escape, r#"\""# | r"\\"))?;
        text.push_str(&rest[..at]);
        text.push_str(&escape[1..]);
        rest = &rest[at + 2..];
    }
    text.push_str(rest);
    Some(text)
}

/// A part of a list in brackets.
fn plain_word(part: &str) -> Option<Value<'_>> {
    let word = part.trim_matches(' ');
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./ ".contains(letter);
    let is_another = |other: &&str| word.eq_ignore_ascii_case(other);
    // yaml-rust2 takes a dash behind a space for a list's.
    let is_text = begins_as_word(word)
        && !word.contains(" -")
        && word.chars().all(is_plain)
        && !["null", "true", "false"].iter().any(is_another);
    is_text.then(|| Value::Text(word.into()))
}

impl<'h> Item<'h> {
    /// What it is as a map.
    pub(super) fn entries(&self) -> &Entries<'h> {
        self.entries.get_or_init(|| behind(self.position.column, self.text, self.position.line))
    }

    /// Its lines as a text of their own, in which a space stands for the dash, so that columns stay.
    pub(super) fn block(&self) -> String {
        " ".repeat(self.position.column) + self.text
    }

    /// Its one line as written, without a comment.
    pub(super) fn scalar(&self) -> &'h str {
        let text = self.text.trim();
        comment_at(text).map_or(text, |at| text[..at].trim_end())
    }
}

impl<'h> Entry<'h> {
    /// The value of a plain `key: words`, `key: "words"` or `key: [words, words]` in one line, of a `key:` without a value,
    /// and of a plain list below its key.
    fn plain_value(&self, is_outer: bool) -> Option<Value<'h>> {
        let before = self.before.trim_start_matches(' ').trim_end_matches(' ');
        let is_key = begins_as_word(self.key)
            && is_word(self.key)
            && before.strip_suffix(':') == Some(self.key)
            && self.key.len() <= SIMPLE_KEY;
        if !is_key || !(self.raw.is_empty() || self.before.ends_with(' ')) {
            return None;
        }
        if !self.is_one_line() {
            return match self.raw {
                "" => self.plain_items(is_outer).map(Value::List),
                ">" | ">-" => self.plain_lines(" ").map(|text| Value::Text(text.into())),
                "|" | "|-" => self.plain_lines("\n").map(|text| Value::Text(text.into())),
                _ => None,
            };
        }
        if self.raw.is_empty() {
            return Some(Value::Nothing);
        }
        match self.raw.strip_prefix('[').and_then(|raw| raw.strip_suffix(']')) {
            Some(words) => words.split(',').map(plain_word).collect::<Option<_>>().map(Value::List),
            None => plain_text(self.raw),
        }
    }

    /// The text in the lines below its key, if each begins with a letter and they are indented alike.
    fn plain_lines(&self, between: &str) -> Option<String> {
        let mut lines = self.continuation().map(|(_, line)| line);
        let indent = lines.next().map(indent_of).filter(|indent| *indent > self.indent)?;
        let is_plain = |line: &str| indent_of(line) == indent && begins_as_word(line.trim_start());
        lines.all(is_plain).then(|| {
            let lines = self.continuation().map(|(_, line)| &line[indent..]);
            lines.collect::<Vec<_>>().join(between)
        })
    }

    /// The items of a list below its key, if all of it is plain.
    fn plain_items(&self, is_outer: bool) -> Option<Vec<Value<'h>>> {
        let items = self.items();
        let first = items.first().filter(|first| first.position.column > self.indent)?;
        let is_aligned = |item: &Item<'_>| item.position.column == first.position.column;
        let nothing_before = self.continuation().map(|(_, line)| line).find(|line| !is_blank_or_comment(line));
        nothing_before.filter(|line| line.trim_start().starts_with("- ") && items.iter().all(is_aligned))?;
        let plain = |item: &Item<'h>| {
            let mut lines = lines(item.text);
            // What belongs to an item begins behind its dash, or it is nothing plain.
            let line = lines.next()?.trim();
            match plain_text(line) {
                Some(text) if lines.all(is_blank_or_comment) => Some(text),
                None if is_outer && !is_blank_or_comment(line) => item.entries().plain_map(false),
                _ => None,
            }
        };
        items.iter().map(plain).collect()
    }

    fn is_one_line(&self) -> bool {
        lines(self.block).skip(1).all(is_blank_or_comment)
    }

    /// Whether the value is one text in quotes, in the line of its key.
    pub(super) fn is_quoted(&self) -> bool {
        let inside = |quote: char| self.raw.strip_prefix(quote)?.strip_suffix(quote);
        let double = inside('"').is_some_and(|inside| !inside.replace("\\\"", "").contains('"'));
        double || inside('\'').is_some_and(|inside| !inside.replace("\'\'", "").contains('\''))
    }

    /// Where the key stands.
    pub(super) fn key_position(&self) -> Position {
        Position { line: self.line, column: self.indent + 1 }
    }

    /// Where the value begins, or would.
    pub(super) fn value_position(&self) -> Position {
        self.position_in_value(0)
    }

    /// The place of the byte `at` of `raw`.
    pub(super) fn position_in_value(&self, at: usize) -> Position {
        let column = self.lead + self.before.chars().count() + self.raw[..at].chars().count() + 1;
        Position { line: self.line, column }
    }

    /// The value as written, where all of it is in one line: no comment, anchor or tag, no quotes.
    pub(super) fn scalar(&self) -> Option<&'h str> {
        let continuation = self.continuation().map(|(_, line)| line.trim());
        let mut lines = std::iter::once(self.raw).chain(continuation).filter(|line| !is_blank_or_comment(line));
        let line = lines.next().filter(|_| lines.next().is_none())?;
        let value = match line.split_once([' ', '\t']) {
            Some((_, value)) if line.starts_with(['&', '!']) => value.trim_start(),
            _ => line,
        };
        if value.starts_with(['"', '\'']) {
            return Some(unquote(value));
        }
        Some(comment_at(value).map_or(value, |at| value[..at].trim_end())).filter(|value| !value.is_empty())
    }

    /// The lines that continue the entry, each with its number in the file.
    fn continuation(&self) -> impl Iterator<Item = (usize, &'h str)> {
        let bare = |line: &'h str| line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        lines(self.block).enumerate().skip(1).map(move |(count, line)| (self.line + count, bare(line)))
    }

    /// The value as whoever wrote it probably meant it: the text of all its lines.
    pub(super) fn lenient_text(&self) -> String {
        let lines = self.continuation().map(|(_, line)| line.trim());
        let text = if is_block_mark(self.raw) {
            lines.collect::<Vec<_>>().join(if self.raw.starts_with('|') { "\n" } else { " " })
        } else {
            let lines = lines.filter(|line| !is_blank_or_comment(line));
            std::iter::once(self.raw).chain(lines).collect::<Vec<_>>().join(" ")
        };
        unquote(text.trim()).to_owned()
    }

    /// The `- …` lines below the key, each with the lines that follow it. None, where the value begins otherwise.
    pub(super) fn items(&self) -> &[Item<'h>] {
        self.items.get_or_init(|| self.find_items())
    }

    fn find_items(&self) -> Vec<Item<'h>> {
        // Behind blanks only, which `indent_of` counts; other white space takes more than a byte.
        let dash = |line: &str| {
            let item = line.trim_start_matches([' ', '\t']);
            item.trim_end() == "-" || item.starts_with("- ")
        };
        let first = self.continuation().find(|(_, line)| !is_blank_or_comment(line));
        let is_mark = self.raw.starts_with(['&', '!']) && !self.raw.contains([' ', '\t']);
        let begins_below = is_blank_or_comment(self.raw) || is_mark;
        let Some((first, line)) = first.filter(|(_, line)| begins_below && dash(line)) else {
            return Vec::new();
        };
        let list_indent = indent_of(line); // a deeper dash belongs to an item
        let mut items: Vec<Item<'h>> = Vec::new();
        let (mut start, mut end) = (0, 0);
        for (count, line) in lines(self.block).enumerate() {
            let (number, line_start) = (self.line + count, end);
            end += line.len();
            let indent = indent_of(line);
            if number >= first && indent <= list_indent && dash(line) {
                let position = Position { line: number, column: indent + 1 };
                start = line_start + indent + 1;
                items.push(Item { text: &self.block[start..end], position, entries: OnceCell::new() });
            } else if let Some(item) = items.last_mut() {
                item.text = &self.block[start..end];
            }
        }
        items
    }

    /// The slip that made YAML refuse the entry; `at` is what YAML said.
    pub(super) fn slip(&self, at: Option<Diagnostic>) -> Diagnostic {
        let (position, message, repair) = self
            .stray_line()
            .or_else(|| self.slip_below(at.as_ref()))
            .or_else(|| self.slip_at_the_colon())
            .or_else(|| self.slip_at_the_first_character())
            .unwrap_or_else(|| {
                let said = at.and_then(|at| Some((at.position?, at.message)));
                let (position, message) = said.unwrap_or((self.value_position(), "not what was meant".to_owned()));
                (position, message, self.quote_it())
            });
        Diagnostic::warning(Some(position), format!("{message}; {} is read line by line", quoted(self.key)), repair)
    }

    /// A line that is not indented and has no key.
    fn stray_line(&self) -> Option<Slip> {
        let stray = |line: &str| !is_blank_or_comment(line) && indent_of(line) <= self.indent && !line.contains("- ");
        let (line, text) = self.continuation().find(|(_, line)| stray(line))?;
        let position = Position { line, column: indent_of(text) + 1 };
        let message = format!("the line {} is not a `key: value`", quoted(text.trim()));
        Some((position, message, "give it a key, or indent it below the key that it belongs to".to_owned()))
    }

    /// In an entry of several lines YAML knows better where.
    fn slip_below(&self, at: Option<&Diagnostic>) -> Option<Slip> {
        let at = at.filter(|_| !self.is_one_line())?;
        let position = at.position?;
        let there = self.continuation().find(|(line, _)| *line == position.line);
        let repair = match there.and_then(|(_, line)| key_value(line)) {
            Some((key, _)) => {
                let (key, column) = (quoted(key), quoted(self.key));
                format!("write {key} in the column of {column} if it is a key; if not, put the value in quotes")
            }
            None => at.repair.clone(),
        };
        Some((position, at.message.clone(), repair))
    }

    fn slip_at_the_colon(&self) -> Option<Slip> {
        let message = match self.before.chars().next_back()? {
            ':' if !self.raw.is_empty() => "no space after the colon",
            '\t' => "a tab after the colon",
            _ => return None,
        };
        Some((self.value_position(), message.to_owned(), self.quote_it()))
    }

    fn slip_at_the_first_character(&self) -> Option<Slip> {
        let first = self.raw.chars().next().filter(|first| "[]{},&*!|>%@`?-#".contains(*first))?;
        let first = if first == '`' { "a backquote".to_owned() } else { quoted(&first.to_string()) };
        Some((self.value_position(), format!("a value that begins with {first} needs quotes"), self.quote_it()))
    }

    /// The line with its value in quotes, as a repair.
    pub(super) fn quote_it(&self) -> String {
        let control = |letter: char| letter.is_control() && letter != '\t';
        if self.key.contains(control) || self.raw.contains(control) {
            return "delete the control characters, and put the value in quotes".to_owned();
        }
        if !self.is_one_line() || self.raw.is_empty() || self.raw.len() > REPEATED {
            return "put the value in quotes".to_owned();
        }
        let text = unquote(self.raw);
        let value =
            if text.contains(['"', '\\']) { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") };
        format!("write `{}: {value}`", self.key)
    }
}
