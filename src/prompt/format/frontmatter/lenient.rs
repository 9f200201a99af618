//! The lenient reading of a frontmatter: its lines as `key: value`, without YAML. It never fails.

use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::wording::quoted;

/// The longest line that a fix repeats, in bytes.
const MAX_REPEATED: usize = 200;

/// A map as its entries: a whole frontmatter, or one item of a list of maps.
#[derive(Debug)]
pub(super) struct Entries<'t> {
    pub(super) entries: Vec<Entry<'t>>,
    /// The lines before the first entry that are neither empty nor a comment, without the spaces around them.
    pub(super) strays: Vec<(Position, &'t str)>,
}

/// A `key: value` with the lines that continue it.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    pub(super) key: &'t str,
    /// What follows the colon in the same line, without the spaces around it.
    pub(super) raw: &'t str,
    /// All its lines.
    pub(super) block: &'t str,
    /// The line of the key in the file, from 1.
    pub(super) line: usize,
    /// How far the key is indented, in characters.
    indent: usize,
    /// The first line up to `raw`.
    before: &'t str,
}

/// One `- …` of a list.
#[derive(Debug)]
pub(super) struct Item {
    /// Its lines, with a space instead of the dash, so that columns stay the same.
    pub(super) block: String,
    /// Where the dash is.
    pub(super) position: Position,
}

/// Where a mistake is, what it is, and the fix.
type Mistake = (Position, String, String);

/// Splits a map, whose first line counts as `first_line`, into entries. A line that begins none continues the one before
/// it.
pub(super) fn entries(text: &str, first_line: usize) -> Entries<'_> {
    let mut found = Entries { entries: Vec::new(), strays: Vec::new() };
    let mut indent = None; // of the first entry: the map may be indented as a whole
    let mut entry_start = 0;
    let mut end = 0;
    for (count, line) in text.split_inclusive('\n').enumerate() {
        let start = end;
        end += line.len();
        let indented = indent_of(line);
        if indent.is_none() && !is_empty_or_comment(line) {
            indent = Some(indented);
        }
        let may_begin = indented <= indent.unwrap_or(0);
        if let Some((key, raw)) = may_begin.then(|| key_value(line)).flatten() {
            entry_start = start;
            let before = &line[..line.trim_end().len() - raw.len()];
            found.entries.push(Entry { key, raw, block: line, line: first_line + count, indent: indented, before });
        } else if let Some(entry) = found.entries.last_mut() {
            entry.block = &text[entry_start..end];
        } else if !is_empty_or_comment(line) {
            let position = Position { line: first_line + count, column: indented + 1 };
            found.strays.push((position, line.trim()));
        }
    }
    found
}

/// The last of the lines at the beginning of `text` that look like frontmatter.
pub(super) fn last_line(text: &str, first_line: usize) -> Option<usize> {
    let continues = |line: &str| line.starts_with([' ', '\t', '#']) || line.starts_with("- ");
    let looks = |line: &&str| key_value(line).is_some() || (!line.trim().is_empty() && continues(line));
    text.lines().take_while(looks).count().checked_sub(1).map(|count| first_line + count)
}

fn indent_of(line: &str) -> usize {
    line.chars().take_while(|&character| character == ' ' || character == '\t').count()
}

pub(super) fn is_empty_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// `key: value` of one line, or `key:value`, if that is not `https://…`, `std::vec`, `C:\…` or `10:30`.
pub(super) fn key_value(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let split = |at: usize| (unquote(line[..at].trim_end()), &line[at + 1..]);
    let (key, value) = split(line.find(':')?);
    let may_be_glued = key.starts_with(char::is_alphabetic) && !value.starts_with(['/', ':', '\\']);
    if is_word(key) && (may_be_glued || is_spaced(value)) {
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
/// `'don't'` has quotes around it: the quote inside is between two letters. `"yes" or "no"` has not.
fn unquote(text: &str) -> &str {
    let is_between_letters = |inside: &str, quote: char| {
        let letter = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
        let mut quotes = inside.match_indices(quote).map(|(at, _)| at);
        quotes.all(|at| letter(inside[..at].chars().next_back()) && letter(inside[at + 1..].chars().next()))
    };
    let inside = |quote: char| {
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        is_between_letters(inside, quote).then_some(inside)
    };
    let unclosed = || text.strip_prefix('"').filter(|rest| !rest.contains('"'));
    inside('"').or_else(|| inside('\'')).or_else(unclosed).unwrap_or(text)
}

/// Where a comment begins in a value that is not quoted.
pub(super) fn comment_at(value: &str) -> Option<usize> {
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

/// The names in a text that should be a list of arguments: the one after each `name:`, or else all words.
pub(super) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let separators = [' ', '\n', '\r', ',', ':', '[', ']', '{', '}', '"', '\''];
    let is_map = text.contains('{');
    let pieces = text.split(if is_map { "name:" } else { "\n" }).skip(usize::from(is_map));
    pieces.flat_map(move |piece| {
        piece.split(separators).filter(|word| !word.is_empty()).take(if is_map { 1 } else { usize::MAX })
    })
}

/// A fix: the line with its value in quotes.
pub(super) fn quote_it(key: &str, raw: &str) -> String {
    let control = |letter: char| letter.is_control() && letter != '\t';
    if key.contains(control) || raw.contains(control) {
        return "delete the control characters, and put the value in quotes".to_owned();
    }
    if raw.is_empty() || raw.len() > MAX_REPEATED {
        return "put the value in quotes".to_owned();
    }
    let text = unquote(raw);
    let value =
        if text.contains(['"', '\\']) { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") };
    format!("write `{key}: {value}`")
}

impl Entries<'_> {
    /// Whether there is a key of one word, which frontmatter has and other text has not.
    pub(super) fn have_keys(&self) -> bool {
        self.entries.iter().any(|entry| is_word(entry.key) && entry.key.starts_with(char::is_alphabetic))
    }
}

impl<'t> Entry<'t> {
    /// Where the key is.
    pub(super) fn position(&self) -> Position {
        Position { line: self.line, column: self.indent + 1 }
    }

    /// Where the value is, or would be.
    pub(super) fn value_position(&self) -> Position {
        Position { line: self.line, column: self.before.chars().count() + 1 }
    }

    /// The lines that continue the entry, each with its number in the file.
    fn continuation(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.block.lines().enumerate().skip(1).map(|(count, line)| (self.line + count, line))
    }

    fn is_one_line(&self) -> bool {
        self.continuation().all(|(_, line)| is_empty_or_comment(line))
    }

    /// The value as text: all its lines.
    pub(super) fn text(&self) -> String {
        let lines = self.continuation().map(|(_, line)| line.trim());
        let text = if is_block_mark(self.raw) {
            lines.collect::<Vec<_>>().join(if self.raw.starts_with('|') { "\n" } else { " " })
        } else {
            let lines = lines.filter(|line| !is_empty_or_comment(line));
            std::iter::once(self.raw).chain(lines).collect::<Vec<_>>().join(" ")
        };
        unquote(text.trim()).to_owned()
    }

    /// The `- …` lines below the key, each with the lines that follow it. None, if the value begins otherwise.
    pub(super) fn items(&self) -> Vec<Item> {
        let is_dash = |line: &str| {
            let item = line.trim_start_matches([' ', '\t']);
            item.trim_end() == "-" || item.starts_with("- ")
        };
        let first = self.continuation().find(|(_, line)| !is_empty_or_comment(line));
        let is_mark = self.raw.starts_with(['&', '!']) && !self.raw.contains([' ', '\t']);
        let begins_below = is_empty_or_comment(self.raw) || is_mark;
        let Some((first, line)) = first.filter(|(_, line)| begins_below && is_dash(line)) else {
            return Vec::new();
        };
        let list_indent = indent_of(line); // a deeper dash belongs to an item
        let mut items: Vec<Item> = Vec::new();
        for (count, line) in self.block.split_inclusive('\n').enumerate() {
            let (number, indent) = (self.line + count, indent_of(line));
            if number >= first && indent <= list_indent && is_dash(line) {
                let position = Position { line: number, column: indent + 1 };
                let block = format!("{} {}", &line[..indent], &line[indent + 1..]);
                items.push(Item { block, position });
            } else if let Some(item) = items.last_mut() {
                item.block += line;
            }
        }
        items
    }

    /// The mistake for which YAML refused the entry; `at` is what YAML says.
    pub(super) fn mistake(&self, at: Option<Diagnostic>) -> Diagnostic {
        let (position, message, fix) = self
            .stray_line()
            .or_else(|| self.mistake_below(at.as_ref()))
            .or_else(|| self.mistake_at_the_colon())
            .or_else(|| self.mistake_at_the_first_character())
            .unwrap_or_else(|| {
                let (position, message) = at.and_then(|at| Some((at.position?, at.message))).unwrap_or_else(|| {
                    (self.value_position(), format!("the value of {} cannot be read", quoted(self.key)))
                });
                (position, message, self.quote_it())
            });
        Diagnostic::warning(Some(position), format!("{message}; {} is read line by line", quoted(self.key)), fix)
    }

    /// A line that is not indented and has no key.
    fn stray_line(&self) -> Option<Mistake> {
        let is_stray =
            |line: &str| !is_empty_or_comment(line) && indent_of(line) <= self.indent && !line.contains("- ");
        let (line, text) = self.continuation().find(|(_, line)| is_stray(line))?;
        let position = Position { line, column: indent_of(text) + 1 };
        let message = format!("the line {} is not a `key: value`", quoted(text.trim()));
        Some((position, message, "give it a key, or indent it below the key that it belongs to".to_owned()))
    }

    /// In an entry of several lines, the position that YAML reports is better.
    fn mistake_below(&self, at: Option<&Diagnostic>) -> Option<Mistake> {
        let at = at.filter(|_| !self.is_one_line())?;
        let position = at.position?;
        let line = self.continuation().find(|(line, _)| *line == position.line);
        let fix = match line.and_then(|(_, line)| key_value(line)) {
            Some((key, _)) => {
                let (key, column) = (quoted(key), quoted(self.key));
                format!("write {key} in the column of {column} if it is a key; if not, put the value in quotes")
            }
            None => at.fix.clone(),
        };
        Some((position, at.message.clone(), fix))
    }

    fn mistake_at_the_colon(&self) -> Option<Mistake> {
        let message = match self.before.chars().next_back()? {
            ':' if !self.raw.is_empty() => "no space after the colon",
            '\t' => "a tab after the colon",
            _ => return None,
        };
        Some((self.value_position(), message.to_owned(), self.quote_it()))
    }

    fn mistake_at_the_first_character(&self) -> Option<Mistake> {
        let first = self.raw.chars().next().filter(|first| "[]{},&*!|>%@`?-#".contains(*first))?;
        let first = if first == '`' { "a backquote".to_owned() } else { quoted(&first.to_string()) };
        Some((self.value_position(), format!("a value that begins with {first} needs quotes"), self.quote_it()))
    }

    fn quote_it(&self) -> String {
        quote_it(self.key, if self.is_one_line() { self.raw } else { "" })
    }
}
