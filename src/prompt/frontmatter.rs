//! The frontmatter of a prompt file: where it ends, and what its keys say.
//!
//! The YAML itself is gray_matter's (`frontmatter/yaml.rs`). The two `---` lines are found here, and the body is a
//! slice of the original text, because gray_matter 0.3.2 drops the body of a file of three bytes or fewer, the last
//! newline and every CR, overlooks a frontmatter behind a BOM, and takes an unclosed one for body.
//!
//! The reading is strict YAML first. What a strict reader refuses is read again, entry by entry ([`entries`]), so that
//! a slip in one entry costs no other. Nothing here fails on a slip; it is reported, with its repair.

mod entries;
mod value;
mod yaml;

use super::arguments::{Argument, MAX_ARGUMENTS};
use super::diagnostic::{Diagnostic, Position};
use crate::suggestion::closest;
use crate::wording::quoted;
use entries::{Entries, Entry, Item};
use std::collections::{HashMap, HashSet};
use value::{Map, Value};
pub use yaml::MAX_WEIGHT;

/// The longest frontmatter, in bytes.
pub const MAX_FRONTMATTER: usize = 64 * 1024;

/// A file's text, cut at its two `---` lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split<'t> {
    /// What stands between the lines; it begins in line 2. `None` where line 1 is no `---`.
    pub(super) yaml: Option<&'t str>,
    /// What follows them.
    pub(super) body: &'t str,
    /// The line that the body begins in, from 1.
    pub(super) body_line: usize,
}

/// What the frontmatter says. Every field may be missing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frontmatter {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) arguments: Vec<Argument>,
    pub(super) tags: Vec<String>,
}

/// Finds the frontmatter: the lines between a first line `---` and the next line `---`, spaces after them allowed.
///
/// # Errors
/// The frontmatter is never closed, or it is longer than [`MAX_FRONTMATTER`].
pub(super) fn split(text: &str) -> Result<Split<'_>, Diagnostic> {
    let mut lines = lines(text);
    let Some(opening) = lines.next().filter(|line| is_fence(line)) else {
        return Ok(Split { yaml: None, body: text, body_line: 1 });
    };
    let mut end = opening.len();
    for (count, line) in lines.enumerate() {
        if is_fence(line) {
            let yaml = &text[opening.len()..end];
            if yaml.len() > MAX_FRONTMATTER {
                return Err(Diagnostic::error(
                    Some(Position::START),
                    format!("the frontmatter is {} bytes long, the limit is {MAX_FRONTMATTER}", yaml.len()),
                    "move what is not `title`, `description`, `arguments` or `tags` into the body",
                ));
            }
            return Ok(Split { yaml: Some(yaml), body: &text[end + line.len()..], body_line: count + 3 });
        }
        end += line.len();
    }
    let rest = &text[opening.len()..];
    let meant = rest.lines().position(is_almost_fence).map(|count| count + 2);
    let last = entries::last_line(rest, 2).unwrap_or(1);
    let close = match meant {
        Some(line) => format!("write line {line} as `---`"),
        None => format!("add a line `---` after line {last}"),
    };
    Err(Diagnostic::error(
        Some(Position::START),
        "the frontmatter that line 1 opens with `---` is never closed",
        format!("{close}, or write the rule in line 1 as `***` if no frontmatter is meant"),
    ))
}

/// The lines with their ends. (As `split_inclusive` gives them, which takes three times as long with short ones.)
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |newline| newline + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|after| after.trim_end().is_empty())
}

/// A line that is no fence, but was perhaps meant as one: indented, too long or too short, of other dashes or dots.
fn is_almost_fence(line: &str) -> bool {
    let mark = line.trim();
    let letters = mark.chars().count();
    !is_fence(line) && (letters >= 2 || mark == "—") && (mark == "..." || mark.chars().all(|dash| "-–—".contains(dash)))
}

/// In a text that has no frontmatter: what was perhaps meant as one, but does not begin in line 1, or not with `---`.
pub(super) fn missed(text: &str) -> Option<Diagnostic> {
    let late = text.trim_start();
    let position = Some(Position::in_text(text, text.len() - late.len(), 1));
    let is_frontmatter = || match split(late) {
        Ok(Split { yaml: Some(yaml), .. }) => read(yaml, &mut Vec::new()).is_ok_and(|read| read.is_some()),
        Ok(_) => false,
        Err(_) => true,
    };
    if late.len() < text.len() && is_frontmatter() {
        return Some(Diagnostic::warning(
            position,
            "a frontmatter that does not begin with the file is part of the prompt's text",
            "delete the spaces and blank lines before the first `---`",
        ));
    }
    let first = late.lines().next()?;
    (is_almost_fence(first) || first.starts_with("---") || first.trim() == "+++").then(|| {
        Diagnostic::warning(
            position,
            format!("the line {} opens no frontmatter, and is part of the prompt's text", quoted(first)),
            "write `---` alone in line 1, and once more after the last key; or write a rule as `***`",
        )
    })
}

/// The keys of a frontmatter that mean something to us, and of one of its arguments.
const KEYS: [&str; 4] = ["title", "description", "arguments", "tags"];
const ARGUMENT_KEYS: [&str; 5] = ["name", "description", "required", "default", "choices"];

/// Those whose value may be a text, of which nothing may be lost in silence.
const TEXTS: [&str; 5] = ["title", "description", "default", "choices", "tags"];

/// Reads a frontmatter, whose first line is line 2 of the file. What was not as it should be is added to `found`.
///
/// `None`: no line of it has a key of one word, so it is no frontmatter but text between two rules.
///
/// # Errors
/// The YAML would grow beyond all measure through its aliases, or there are more than [`MAX_ARGUMENTS`].
pub(super) fn read(yaml: &str, found: &mut Vec<Diagnostic>) -> Result<Option<Frontmatter>, Diagnostic> {
    const FIRST_LINE: usize = 2;
    let mut reader = Reader { found, budget: yaml::Budget::default() };
    let lines = entries::of(yaml, FIRST_LINE);
    let loaded = lines.plain().map_or_else(|| yaml::load(yaml, FIRST_LINE, &mut reader.budget), Ok);
    let values = match loaded {
        Err(yaml::Refusal::Bomb(bomb)) => return Err(bomb),
        Ok(Value::Nothing) if lines.is_empty() => {
            if yaml.contains('#') {
                let message = "the lines between the first two `---` are comments to YAML, and no part of the prompt";
                reader.warn(Some(Position::START), message, "write rules as `***` if they are text of the prompt");
            }
            return Ok(Some(Frontmatter::default()));
        }
        Ok(Value::Map(map)) if KEYS.iter().any(|key| has(&map, key)) && !glued_to(&lines, &map) => map,
        _ if !lines.has_keys() => return Ok(None),
        Ok(Value::Map(map)) if !glued_to(&lines, &map) => map,
        Ok(_) => reader.lenient(&lines, None)?,
        Err(yaml::Refusal::Syntax(whole)) => {
            reader.budget = yaml::Budget::default();
            reader.lenient(&lines, Some(whole))?
        }
    };
    let mut map = ReadMap { values, lines: &lines, position: None };
    reader.lint(&lines, &KEYS);
    Ok(Some(Frontmatter {
        title: reader.text(&mut map, "title"),
        description: reader.text(&mut map, "description"),
        arguments: reader.arguments(&mut map)?,
        tags: reader.texts(&mut map, "tags"),
    }))
}

/// Whether a key that we know was lost in a longer one: `description:Review: the code` is the key `description:Review`
/// to YAML.
fn glued_to(lines: &Entries<'_>, map: &Map<'_>) -> bool {
    KEYS.iter().any(|key| !has(map, key) && lines.get(key).is_some())
}

fn has(map: &Map<'_>, key: &str) -> bool {
    map.iter().any(|(own, _)| own == key)
}

/// A map that was read, and the lines that it was read from.
struct ReadMap<'m, 'h> {
    values: Map<'h>,
    lines: &'m Entries<'h>,
    /// Where it stands, for what is not in a line of its own.
    position: Option<Position>,
}

impl<'h> ReadMap<'_, 'h> {
    /// The value of a key, which is asked for once; of several, the last.
    fn take(&mut self, key: &str) -> Option<Value<'h>> {
        let (_, value) = self.values.iter_mut().rfind(|(own, _)| own == key)?;
        Some(std::mem::replace(value, Value::Nothing))
    }

    fn position(&self, key: &str) -> Option<Position> {
        self.lines.get(key).map(Entry::value_position).or(self.position)
    }
}

/// What the reading of one frontmatter has found so far, and what is left of the measure for its aliases.
struct Reader<'f> {
    found: &'f mut Vec<Diagnostic>,
    budget: yaml::Budget,
}

impl Reader<'_> {
    fn warn(&mut self, position: Option<Position>, message: impl Into<String>, repair: impl Into<String>) {
        self.found.push(Diagnostic::warning(position, message, repair));
    }

    /// Reads entry by entry what YAML refused as a whole; `whole` is why.
    fn lenient<'h>(&mut self, lines: &Entries<'h>, whole: Option<Diagnostic>) -> Result<Map<'h>, Diagnostic> {
        let before = self.found.len();
        for stray in &lines.strays {
            let message = format!("the line {} is not a `key: value`, and is ignored", quoted(stray.text));
            self.warn(Some(stray.position), message, "give it a key, or drop it");
        }
        let mut values = Map::new();
        let mut first_lines = HashMap::new();
        for entry in &lines.entries {
            let value = match yaml::load(entry.block, entry.line, &mut self.budget) {
                Ok(Value::Map(mut map)) if map.len() == 1 && has(&map, entry.key) => map.pop().map(|(_, value)| value),
                Err(yaml::Refusal::Bomb(bomb)) => return Err(bomb),
                Ok(_) => Some(self.lenient_value(entry, None)?),
                Err(yaml::Refusal::Syntax(at)) => Some(self.lenient_value(entry, Some(at))?),
            };
            values.push((entry.key.into(), value.unwrap_or(Value::Nothing)));
            if let Some(first) = first_lines.insert(entry.key, entry.line) {
                let message = format!("{} appears twice, first in line {first}; the last is used", quoted(entry.key));
                self.warn(Some(entry.key_position()), message, "keep one of the two");
            }
        }
        if let Some(whole) = whole.filter(|_| self.found.len() == before) {
            self.found.push(whole);
        }
        Ok(values)
    }

    /// Reads an entry that YAML refuses; `at` is why.
    fn lenient_value<'h>(&mut self, entry: &Entry<'h>, at: Option<Diagnostic>) -> Result<Value<'h>, Diagnostic> {
        if entry.key != "arguments" {
            self.found.push(entry.slip(at));
            return Ok(Value::Text(entry.lenient_text().into()));
        }
        let items = entry.items();
        if items.is_empty() {
            return Ok(Value::Text(entry.lenient_text().into())); // `arguments` says that it is no list
        }
        let before = self.found.len();
        let mut values = Vec::new();
        for item in items {
            values.push(match yaml::load(&item.block(), item.position.line, &mut self.budget) {
                Ok(value) => value,
                Err(yaml::Refusal::Bomb(bomb)) => return Err(bomb),
                Err(yaml::Refusal::Syntax(whole)) if item.text.trim_start().starts_with('{') => {
                    self.found.push(whole);
                    Value::Text(names_in(item.text).next().unwrap_or_default().into())
                }
                Err(yaml::Refusal::Syntax(whole)) => Value::Map(self.lenient(item.entries(), Some(whole))?),
            });
        }
        self.found.extend(at.filter(|_| self.found.len() == before));
        Ok(Value::List(values))
    }

    /// Keys that mean nothing but are one slip away from one that does, and what a strict reader drops from a text
    /// without a word.
    fn lint(&mut self, lines: &Entries<'_>, keys: &[&str]) {
        for entry in &lines.entries {
            if !keys.contains(&entry.key) {
                if let Some(meant) = closest(entry.key, keys.iter().copied()) {
                    let message = format!("unknown key {}", quoted(entry.key));
                    self.warn(Some(entry.key_position()), message, format!("write `{meant}:` if that is meant"));
                }
            } else if self.found.iter().any(|slip| slip.position.is_some_and(|at| at.line == entry.line)) {
                // It was read leniently, and nothing was dropped.
            } else if let Some((dropped, range)) = lines.dropped_by_yaml(entry)
                && TEXTS.contains(&entry.key)
                // An alias in another argument may name what one anchors.
                && (keys == KEYS || dropped != "an anchor")
            {
                let position = Some(entry.position_in_value(range.start));
                let part = quoted(&entry.raw[range]);
                let message = format!("{part} is {dropped} to YAML, and no part of {}", quoted(entry.key));
                self.warn(position, message, entry.quote_it());
            }
        }
    }

    /// A value that should be text. What YAML takes for a number or a truth value is the text as written.
    fn text(&mut self, map: &mut ReadMap<'_, '_>, key: &str) -> Option<String> {
        let entry = map.lines.get(key);
        let position = map.position(key);
        let text = match map.take(key)? {
            Value::Nothing => return None,
            // A default in quotes, in the line of its key, is as it stands.
            Value::Text(text) if key == "default" && entry.is_some_and(Entry::is_quoted) => text.into_owned(),
            Value::Text(text) => text.trim().to_owned(),
            Value::Scalar(scalar) => match entry.and_then(Entry::scalar) {
                // Not an alias, and not inside a flow map of several lines.
                Some(text) if !text.starts_with('*') && !text.ends_with([',', '}']) => text.to_owned(),
                _ => {
                    let message =
                        format!("{} is a number or a truth value to YAML, read as {}", quoted(key), quoted(&scalar));
                    self.warn(position, message, "put the value in quotes");
                    scalar
                }
            },
            Value::List(_) | Value::Map(_) => match entry {
                Some(entry) if entry.scalar().is_some() || !entry.raw.is_empty() => {
                    let message = format!("{} is a list or a map to YAML; it is read as text", quoted(key));
                    self.warn(position, message, entry.quote_it());
                    entry.scalar().map_or_else(|| entry.lenient_text(), str::to_owned)
                }
                _ => {
                    self.warn(position, format!("{} is not a text, and is left out", quoted(key)), "write it as text");
                    return None;
                }
            },
        };
        (!text.is_empty()).then_some(text)
    }

    /// `arguments` as a list of maps, or, more shortly, of names.
    fn arguments(&mut self, map: &mut ReadMap<'_, '_>) -> Result<Vec<Argument>, Diagnostic> {
        let position = map.position("arguments");
        let items = map.lines.get("arguments").map(Entry::items).unwrap_or_default();
        const AS_A_LIST: &str = "write one line `  - name: …` for each argument below `arguments:`";
        let values = match map.take("arguments").unwrap_or(Value::Nothing) {
            Value::Nothing => return Ok(Vec::new()),
            Value::List(values) => values,
            Value::Text(text) => {
                self.warn(position, "`arguments` is not a list; only names are read from it", AS_A_LIST);
                names_in(&text).map(|name| Value::Text(name.to_owned().into())).collect()
            }
            Value::Scalar(_) | Value::Map(_) => {
                self.warn(position, "`arguments` is not a list, and is left out", AS_A_LIST);
                return Ok(Vec::new());
            }
        };
        let mut arguments: Vec<Argument> = Vec::new();
        let aligned = items.len() == values.len();
        for (index, value) in values.into_iter().enumerate() {
            let item = items.get(index).filter(|_| aligned);
            let position = item.map(|item| item.position).or(position);
            let argument = self.argument(value, item, position);
            if argument.name.is_empty() {
                let message = format!("argument {} has no usable name, and is left out", index + 1);
                self.warn(position, message, "write `- name: …`, with a name without spaces or braces");
            } else if arguments.iter().any(|earlier| earlier.name == argument.name) {
                let message = format!("the argument {} is declared twice; the first is used", quoted(&argument.name));
                self.warn(position, message, "give one of the two another name, or drop it");
            } else if arguments.len() == MAX_ARGUMENTS {
                let message = format!("more than {MAX_ARGUMENTS} arguments are declared");
                return Err(Diagnostic::error(position, message, "declare fewer, or take them all as `{{input}}`"));
            } else {
                arguments.push(argument);
            }
        }
        Ok(arguments)
    }

    /// One argument; its name is empty where there is none that can be used.
    fn argument<'h>(&mut self, value: Value<'h>, item: Option<&Item<'h>>, position: Option<Position>) -> Argument {
        let no_lines = entries::of("", 1);
        let lines = item.map_or(&no_lines, Item::entries);
        self.lint(lines, &ARGUMENT_KEYS);
        let forbidden = |letter: char| letter.is_whitespace() || letter.is_control() || "{}<>".contains(letter);
        let usable = |name: &String| !name.contains(forbidden);
        let Value::Map(values) = value else {
            let name = match (&value, item) {
                (Value::Scalar(_), Some(item)) => Some(item.text),
                (value, _) => value.text(),
            };
            let name = name.map(|name| name.trim().to_owned()).filter(usable).unwrap_or_default();
            return Argument { name, ..Argument::default() };
        };
        let mut map = ReadMap { values, lines, position };
        Argument {
            name: self.text(&mut map, "name").filter(usable).unwrap_or_default(),
            description: self.text(&mut map, "description"),
            required: self.truth(&mut map, "required"),
            default: self.text(&mut map, "default"),
            choices: self.texts(&mut map, "choices"),
        }
    }

    /// A value that should be a list of texts; a text is one of them, or several between commas.
    fn texts(&mut self, map: &mut ReadMap<'_, '_>, key: &str) -> Vec<String> {
        let entry = map.lines.get(key);
        let position = map.position(key);
        let values = match map.take(key) {
            None | Some(Value::Nothing) => return Vec::new(),
            Some(Value::List(values)) => values,
            Some(Value::Text(text)) if !entry.is_some_and(Entry::is_quoted) => {
                self.texts_between_commas(key, &text, position)
            }
            Some(value) => vec![value],
        };
        let items = entry.map(Entry::items).unwrap_or_default();
        let aligned = items.len() == values.len();
        let mut texts = Vec::new();
        for (index, value) in values.into_iter().enumerate() {
            let item = items.get(index).filter(|_| aligned);
            let position = item.map(|item| item.position).or(position);
            match (value, item) {
                (Value::Text(text), _) => texts.push(text.into_owned()),
                (Value::Scalar(_) | Value::Nothing, Some(item)) => texts.push(item.scalar().to_owned()),
                (Value::Nothing, None) => {
                    let message = format!("part {} of {} is nothing to YAML, and is left out", index + 1, quoted(key));
                    self.warn(position, message, "put it in quotes if it is text, or drop it");
                }
                (Value::Scalar(text), None) => {
                    self.lint_scalar_of_a_flow_list(key, &text, entry, position);
                    texts.push(text);
                }
                (Value::List(_) | Value::Map(_), _) => {
                    let message = format!("part {} of {} is not a text, and is left out", index + 1, quoted(key));
                    self.warn(position, message, "write it as text, in quotes if it begins with `[` or `{`");
                }
            }
        }
        texts.retain(|text| !text.is_empty());
        without_repetitions(texts)
    }

    fn texts_between_commas(&mut self, key: &str, text: &str, position: Option<Position>) -> Vec<Value<'static>> {
        let unclosed = text.trim().strip_prefix('['); // a slip that has its warning already
        if text.contains(',') && key != "tags" && unclosed.is_none() {
            let message = format!("{} is not a list, and is read as one at its commas", quoted(key));
            self.warn(position, message, format!("write `{key}: [{}]`", text.trim().replace(char::is_control, " ")));
        }
        let texts = unclosed.unwrap_or(text).split(',').map(|text| text.trim().trim_matches(['"', '\'', ']']));
        texts.map(|text| Value::Text(text.to_owned().into())).collect()
    }

    /// What YAML takes for a number or a truth value, in a list whose parts have no lines of their own.
    fn lint_scalar_of_a_flow_list(
        &mut self,
        key: &str,
        text: &str,
        entry: Option<&Entry<'_>>,
        position: Option<Position>,
    ) {
        let is_as_written = |entry: &Entry<'_>| entry.block.split([',', '[', ']', ' ', '\n']).any(|part| part == text);
        if !entry.is_some_and(is_as_written) {
            let (key, text) = (quoted(key), quoted(text));
            let message = format!("a part of {key} is a number or a truth value to YAML, read as {text}");
            self.warn(position, message, "put it in quotes");
        }
    }

    /// A value that should be `true` or `false`; nothing is `false`.
    fn truth(&mut self, map: &mut ReadMap<'_, '_>, key: &str) -> bool {
        let value = match map.take(key) {
            None | Some(Value::Nothing) => return false,
            Some(value) => value,
        };
        match value.text().map(str::to_lowercase).as_deref().unwrap_or("a list or a map") {
            "true" | "yes" | "on" => true,
            "" | "false" | "no" | "off" => false,
            _ => {
                let message = format!("{} is neither `true` nor `false`, and is read as `false`", quoted(key));
                self.warn(map.position(key), message, format!("write `{key}: true` or `{key}: false`"));
                false
            }
        }
    }
}

/// The names in what should be a list of arguments: what follows each `name:`, or else all words.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let separators = [' ', '\n', '\r', ',', ':', '[', ']', '{', '}', '"', '\''];
    let is_map = text.contains('{');
    let pieces = text.split(if is_map { "name:" } else { "\n" }).skip(usize::from(is_map));
    pieces.flat_map(move |piece| {
        piece.split(separators).filter(|word| !word.is_empty()).take(if is_map { 1 } else { usize::MAX })
    })
}

/// Each text once, where it comes first.
fn without_repetitions(texts: Vec<String>) -> Vec<String> {
    const FEW: usize = 16; // to compare them costs less than to hash them
    if texts.len() <= FEW {
        let mut kept: Vec<String> = Vec::with_capacity(texts.len());
        for text in texts {
            if !kept.contains(&text) {
                kept.push(text);
            }
        }
        return kept;
    }
    let mut known = HashSet::new();
    texts.into_iter().filter(|text| known.insert(text.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value as our fields see it: a number or a truth value is text to them, spaces around it and an empty text are
    /// nothing.
    fn as_seen<'v>(value: &'v Value<'_>) -> Value<'v> {
        match value {
            Value::List(values) => Value::List(values.iter().map(as_seen).collect()),
            Value::Map(map) => {
                let mut map: Map<'_> = map.iter().map(|(key, value)| (key.as_ref().into(), as_seen(value))).collect();
                map.sort_by(|(a, _), (b, _)| a.cmp(b));
                Value::Map(map)
            }
            scalar => {
                let text = scalar.text().map(str::trim).filter(|text| !text.is_empty());
                text.map_or(Value::Nothing, |text| Value::Text(text.into()))
            }
        }
    }

    fn words() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z0-9 ]{0,6}",
            2 => "[a-z][a-z ,.;()/_-]{0,9}",
            1 => "\"[a-z :#'\\[\\]&*]{0,9}\"",
            1 => "\"([a-z :#]|\\\\.){0,5}\"",
            1 => "'[a-z :#\"\\[\\]&*]{0,9}'",
            1 => "[-:#&*!|>'\"%@`,?\\[\\]{}~. \t]{0,3}",
            1 => Just(": ".to_owned()),
            1 => Just(" #".to_owned()),
            1 => Just("null".to_owned()),
            1 => Just("true".to_owned()),
            1 => Just("x".to_owned()),
            1 => ".{0,2}",
        ];
        prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
    }

    fn line() -> impl Strategy<Value = String> {
        let key = prop_oneof![
            4 => "[a-z]{1,8}",
            1 => Just("description".to_owned()),
            1 => Just("title".to_owned()),
            1 => words(),
        ];
        let separator = prop_oneof![8 => Just(": "), 1 => Just(":"), 1 => Just(" : "), 1 => Just(":  "), 1 => Just("")];
        let dash =
            prop_oneof![12 => Just("  - "), 2 => Just("- "), 1 => Just(" - "), 1 => Just("  -"), 1 => Just("    - ")];
        let indent = prop_oneof![8 => Just("    "), 1 => Just("  "), 1 => Just("   "), 1 => Just("     ")];
        let pair = (key.clone(), separator.clone(), words())
            .prop_map(|(key, separator, value)| format!("{key}{separator}{value}"))
            .boxed();
        prop_oneof![
            6 => pair.clone(),
            2 => key.prop_map(|key| format!("{key}:")),
            1 => prop_oneof![Just("text: >-".to_owned()), Just("text: |".to_owned()), Just("text: >".to_owned())],
            1 => words().prop_map(|words| format!("  {words}")),
            1 => Just("  some text: here # too".to_owned()),
            3 => (dash.clone(), prop_oneof![words(), Just("word".to_owned())]).prop_map(|(dash, words)| format!("{dash}{words}")),
            3 => (dash, pair.clone()).prop_map(|(dash, pair)| format!("{dash}{pair}")),
            3 => (indent, pair).prop_map(|(indent, pair)| format!("{indent}{pair}")),
            2 => prop::collection::vec("[a-z][a-z -]{0,3}|[a-zA-Z0-9~.:#\"]{0,4}|true|No", 0..4)
                .prop_map(|words| format!("tags: [{}]", words.join(", "))),
            1 => words().prop_map(|words| format!("# {words}")),
            1 => Just(String::new()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn plain_lines_are_to_yaml_what_they_are_to_us(lines in prop::collection::vec(line(), 1..6)) {
            let frontmatter = lines.join("\n") + "\n";
            if let Some(plain) = entries::of(&frontmatter, 2).plain() {
                let yaml = yaml::load(&frontmatter, 2, &mut yaml::Budget::default());
                prop_assert_eq!(Ok(as_seen(&plain)), yaml.as_ref().map(as_seen), "{:?}", frontmatter);
            }
        }
    }

    #[test]
    fn the_usual_frontmatter_is_plain_and_a_slip_is_not() {
        let is_plain = |frontmatter: &str| entries::of(frontmatter, 2).plain().is_some();
        assert!(is_plain(
            "title: Code review\ndescription: Review a change, and get its defects; ranked (worst first).\n"
        ));
        assert!(is_plain("# A note\n\nname: x\r\ntags:\n".replace('\r', "").as_str()));
        assert!(is_plain(
            "arguments:\n  - name: a\n    description: \"What \\\"it\\\" is\"\n    required: true\n    choices: [b, c d]\n  - name: e\n\
             tags:\n- x\n# A note\n- y z\n"
        ));
        for frontmatter in [
            "a: b: c\n",
            "a: [b, 1]\n",
            "a: [b\n",
            "a: b #c\n",
            "a: null\n",
            "a: 1.10\n",
            "a: b\na: c\n",
            "a:\n  - b\n - c\n",
            "a:\n  - b: c\n   d: e\n",
            "a:\n  - b\n    c\n",
            "a: b\n  - c\n",
            "a:\n  - - b\n",
            "a:\n  b: c\n",
            "a\n",
        ] {
            assert!(!is_plain(frontmatter), "{frontmatter:?}");
        }
    }
}
