//! The frontmatter of a prompt file: where it ends, and what its keys say.
//!
//! The only file that names gray_matter, which reads the YAML. The two `---` lines are found here, and the body is a
//! slice of the original text, because gray_matter 0.3.2 drops the body of a file of three bytes or fewer, the last
//! newline and every CR, overlooks a header behind a BOM, and takes an unclosed header for body.
//!
//! The reading is strict YAML first. What a strict reader refuses is read again, entry by entry ([`entries`]), so that
//! a slip in one entry costs no other. Nothing here fails on a slip; it is reported, with its repair.

mod entries;
mod yaml;

use super::arguments::{Argument, MAX_ARGUMENTS};
use super::diagnostic::{Diagnostic, Position};
use crate::wording::{closest, quoted};
use entries::{Entry, Item};
use gray_matter::Pod;
use std::collections::BTreeMap;

/// The longest frontmatter, in bytes.
pub const MAX_FRONTMATTER: usize = 64 * 1024;

/// A file's text, cut at its two `---` lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split<'t> {
    /// What stands between the lines; it begins in line 2. `None` where line 1 is no `---`.
    pub(super) header: Option<&'t str>,
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
}

/// Finds the frontmatter: the lines between a first line `---` and the next line `---`, blanks after them allowed.
///
/// # Errors
/// The header is never closed, or it is longer than [`MAX_FRONTMATTER`].
pub(super) fn split(text: &str) -> Result<Split<'_>, Diagnostic> {
    let mut lines = text.split_inclusive('\n');
    let Some(opening) = lines.next().filter(|line| is_fence(line)) else {
        return Ok(Split { header: None, body: text, body_line: 1 });
    };
    let mut end = opening.len();
    for (count, line) in lines.enumerate() {
        if is_fence(line) {
            let header = &text[opening.len()..end];
            if header.len() > MAX_FRONTMATTER {
                return Err(Diagnostic::error(
                    Some(Position::START),
                    format!("the frontmatter is {} bytes long, the limit is {MAX_FRONTMATTER}", header.len()),
                    "move what is not `title`, `description` or `arguments` into the body",
                ));
            }
            return Ok(Split { header: Some(header), body: &text[end + line.len()..], body_line: count + 3 });
        }
        end += line.len();
    }
    let last = entries::last_line(&text[opening.len()..], 2).unwrap_or(1);
    Err(Diagnostic::error(
        Some(Position::START),
        "the frontmatter that line 1 opens with `---` is never closed",
        format!("add a line `---` after line {last}, or write the rule in line 1 as `***` if no frontmatter is meant"),
    ))
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Reads a header, whose first line is line 2 of the file. What was not as it should be is added to `found`.
///
/// `None`: no line of it is a `key: value`, so it is no frontmatter but text between two rules.
///
/// # Errors
/// The YAML would grow beyond all measure through its aliases.
pub(super) fn read(header: &str, found: &mut Vec<Diagnostic>) -> Result<Option<Frontmatter>, Diagnostic> {
    const FIRST_LINE: usize = 2;
    let lines = entries::of(header, FIRST_LINE);
    let loaded = if lines.are_plain() {
        Ok(plain(&lines))
    } else {
        yaml::load(header, FIRST_LINE, &mut yaml::Budget::default())
    };
    let fields = match loaded {
        Ok(Pod::Hash(mut map)) => {
            found.extend(lines.entries.iter().filter_map(misspelled_key));
            found.extend(lines.entries.iter().filter_map(dropped_by_yaml));
            let field = |key| {
                let entry = lines.entries.iter().find(|entry| entry.key == key);
                Some(Field { key, value: map.remove(key)?, entry })
            };
            entries::KNOWN.into_iter().filter_map(field).collect()
        }
        Ok(Pod::Null) => Vec::new(),
        Err(yaml::Refusal::Bomb(bomb)) => return Err(bomb),
        Ok(_) if lines.entries.is_empty() => return Ok(None),
        Err(yaml::Refusal::Syntax(_)) if lines.entries.is_empty() => return Ok(None),
        Ok(_) => lenient(&lines, None, found)?,
        Err(yaml::Refusal::Syntax(whole)) => lenient(&lines, Some(whole), found)?,
    };
    let mut frontmatter = Frontmatter::default();
    for field in fields {
        match field.key {
            "title" => frontmatter.title = text(&field, found),
            "description" => frontmatter.description = text(&field, found),
            "arguments" => frontmatter.arguments = arguments(&field, found),
            _ => {}
        }
    }
    Ok(Some(frontmatter))
}

/// What YAML makes of lines that are plain.
fn plain(lines: &entries::Entries<'_>) -> Pod {
    if lines.entries.is_empty() {
        return Pod::Null;
    }
    let value = |entry: &Entry<'_>| match entry.raw {
        "" => Pod::Null,
        _ => Pod::String(entry.scalar().to_owned()),
    };
    Pod::Hash(lines.entries.iter().map(|entry| (entry.key.to_owned(), value(entry))).collect())
}

/// One key of the frontmatter with its value, and the lines that it was read from where they are known.
struct Field<'e> {
    key: &'e str,
    value: Pod,
    entry: Option<&'e Entry<'e>>,
}

impl Field<'_> {
    fn position(&self) -> Option<Position> {
        self.entry.map(Entry::value_position)
    }
}

/// Reads entry by entry what YAML refused as a whole; `whole` is why.
fn lenient<'e>(
    lines: &'e entries::Entries<'e>,
    whole: Option<Diagnostic>,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<Field<'e>>, Diagnostic> {
    let before = found.len();
    found.extend(lines.entries.iter().filter_map(misspelled_key));
    let mut fields: BTreeMap<&str, Field<'_>> = BTreeMap::new();
    let mut budget = yaml::Budget::default();
    for entry in &lines.entries {
        let value = match yaml::load(entry.block, entry.line, &mut budget) {
            Ok(Pod::Hash(mut map)) if map.len() == 1 && map.contains_key(entry.key) => {
                found.extend(dropped_by_yaml(entry));
                map.remove(entry.key).unwrap_or(Pod::Null)
            }
            Ok(_) => {
                found.push(entry.slip(None));
                entry.lenient_value()
            }
            Err(yaml::Refusal::Bomb(bomb)) => return Err(bomb),
            Err(yaml::Refusal::Syntax(at)) => {
                found.push(entry.slip(Some(at)));
                entry.lenient_value()
            }
        };
        let earlier = fields.insert(entry.key, Field { key: entry.key, value, entry: Some(entry) });
        if let Some(earlier) = earlier.and_then(|earlier| earlier.entry) {
            let message =
                format!("{} stands twice, first in line {}; this one is used", quoted(entry.key), earlier.line);
            found.push(Diagnostic::warning(Some(entry.key_position()), message, "keep one of the two"));
        }
    }
    found.extend(lines.strays.iter().map(|stray| {
        Diagnostic::warning(
            Some(stray.position),
            format!("the line {} is no `key: value`, and is ignored", quoted(stray.text)),
            "give it a key, indent it below the key that it belongs to, or drop it",
        )
    }));
    if let Some(whole) = whole.filter(|_| found.len() == before) {
        found.push(whole);
    }
    Ok(fields.into_values().collect())
}

/// A key that means nothing here, but is one slip away from one that does.
fn misspelled_key(entry: &Entry<'_>) -> Option<Diagnostic> {
    if entries::KNOWN.contains(&entry.key) {
        return None;
    }
    let meant = closest(entry.key, entries::KNOWN)?;
    let message = format!("the key {} means nothing here", quoted(entry.key));
    Some(Diagnostic::warning(Some(entry.key_position()), message, format!("write `{meant}:` if that is meant")))
}

/// What a strict reader drops from a value without a word: a comment, an anchor, a tag.
fn dropped_by_yaml(entry: &Entry<'_>) -> Option<Diagnostic> {
    if !matches!(entry.key, "title" | "description") {
        return None;
    }
    let (dropped, range) = entry.dropped_by_yaml()?;
    Some(Diagnostic::warning(
        Some(entry.position_in_value(range.start)),
        format!("{} is {dropped} to YAML, and no part of {}", quoted(&entry.raw[range]), quoted(entry.key)),
        entry.quote_it(),
    ))
}

/// A value that should be text. What YAML takes for a number or a truth value is the text as written.
fn text(field: &Field<'_>, found: &mut Vec<Diagnostic>) -> Option<String> {
    let text = match &field.value {
        Pod::Null => return None,
        Pod::String(text) => text.trim().to_owned(),
        scalar @ (Pod::Integer(_) | Pod::Float(_) | Pod::Boolean(_)) => match field.entry {
            Some(entry) => entry.scalar().to_owned(),
            None => scalar_text(scalar).unwrap_or_default(),
        },
        Pod::Array(_) | Pod::Hash(_) => {
            let text = field.entry.map_or("", |entry| entry.raw.trim());
            let (message, repair) = if text.is_empty() {
                (format!("{} is not a text, and is left out", quoted(field.key)), "write it as one line of text".into())
            } else {
                (
                    format!(
                        "{} is a list or a map to YAML; it is read as the text {}",
                        quoted(field.key),
                        quoted(text)
                    ),
                    field.entry.map(Entry::quote_it).unwrap_or_default(),
                )
            };
            found.push(Diagnostic::warning(field.position(), message, repair));
            text.to_owned()
        }
    };
    (!text.is_empty()).then_some(text)
}

fn scalar_text(value: &Pod) -> Option<String> {
    match value {
        Pod::String(text) => Some(text.clone()),
        Pod::Integer(number) => Some(number.to_string()),
        Pod::Float(number) => Some(number.to_string()),
        Pod::Boolean(truth) => Some(truth.to_string()),
        Pod::Null | Pod::Array(_) | Pod::Hash(_) => None,
    }
}

/// `arguments` as a list of maps, or, more shortly, of names.
fn arguments(field: &Field<'_>, found: &mut Vec<Diagnostic>) -> Vec<Argument> {
    let written = field.entry.map(Entry::items).unwrap_or_default();
    let names: Vec<Pod>;
    let values = match &field.value {
        Pod::Null => return Vec::new(),
        Pod::Array(values) => values,
        Pod::String(text) => {
            found.push(Diagnostic::warning(
                field.position(),
                "`arguments` is not a list; its words are read as names",
                "write one line `  - name: …` for each argument below `arguments:`",
            ));
            let words = text.split([' ', ',', '[', ']']).filter(|word| !word.is_empty());
            names = words.map(|word| Pod::String(word.to_owned())).collect();
            &names
        }
        Pod::Integer(_) | Pod::Float(_) | Pod::Boolean(_) | Pod::Hash(_) => {
            found.push(Diagnostic::warning(
                field.position(),
                "`arguments` is not a list, and is left out",
                "write one line `  - name: …` for each argument below `arguments:`",
            ));
            return Vec::new();
        }
    };
    let mut arguments: Vec<Argument> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let item = written.get(index).filter(|_| written.len() == values.len());
        let position = item.map(|item| item.position).or_else(|| field.position());
        let Some(argument) = argument(value, item, position, found) else {
            found.push(Diagnostic::warning(
                position,
                format!("argument {} has no name, and is left out", index + 1),
                "write `- name: …`, with a name without blanks or braces",
            ));
            continue;
        };
        if arguments.iter().any(|earlier| earlier.name == argument.name) {
            found.push(Diagnostic::warning(
                position,
                format!("the argument {} is declared twice; the first is used", quoted(&argument.name)),
                "give one of the two another name, or drop it",
            ));
            continue;
        }
        if arguments.len() == MAX_ARGUMENTS {
            let message = format!("more than {MAX_ARGUMENTS} arguments are declared; the rest is left out");
            found.push(Diagnostic::warning(position, message, "declare fewer, or take them all as `{{input}}`"));
            break;
        }
        arguments.push(argument);
    }
    arguments
}

fn argument(
    value: &Pod,
    item: Option<&Item<'_>>,
    position: Option<Position>,
    found: &mut Vec<Diagnostic>,
) -> Option<Argument> {
    let name_of = |value: &Pod| {
        let name = scalar_text(value)?.trim().to_owned();
        let usable = |character: char| !character.is_whitespace() && !"{}<>".contains(character);
        (!name.is_empty() && name.chars().all(usable)).then_some(name)
    };
    let Pod::Hash(map) = value else {
        return Some(Argument { name: name_of(value)?, ..Argument::default() });
    };
    // What YAML takes for a number or a truth value is the text as written: `1.10` stays `1.10`.
    let text = |key: &str| match map.get(key)? {
        Pod::String(text) => Some(text.clone()),
        other => item.and_then(|item| item.scalar(key)).map(str::to_owned).or_else(|| scalar_text(other)),
    };
    let required = match map.get("required") {
        None | Some(Pod::Null) => false,
        Some(Pod::Boolean(required)) => *required,
        Some(other) => match scalar_text(other).unwrap_or_default().to_lowercase().as_str() {
            "yes" | "on" | "true" => true,
            "no" | "off" | "false" => false,
            _ => {
                found.push(Diagnostic::warning(
                    position,
                    "`required` is neither `true` nor `false`, and is read as `false`",
                    "write `required: true` or `required: false`",
                ));
                false
            }
        },
    };
    Some(Argument {
        name: name_of(map.get("name")?)?,
        description: text("description"),
        required,
        default: text("default"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value as our fields see it: a number or a truth value is text to them, blanks around it and an empty text are
    /// nothing.
    fn as_text(pod: &Pod) -> Option<String> {
        scalar_text(pod).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn words() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z0-9 ]{0,6}",
            2 => "[a-z][a-z ,.;()/_-]{0,9}",
            1 => "\"[a-z :#'\\[\\]&*]{0,9}\"",
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
        prop_oneof![
            6 => (key, separator, words()).prop_map(|(key, separator, value)| format!("{key}{separator}{value}")),
            1 => words().prop_map(|words| format!("# {words}")),
            1 => Just(String::new()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn plain_lines_are_to_yaml_what_they_are_to_us(lines in prop::collection::vec(line(), 1..4)) {
            let header = lines.join("\n") + "\n";
            let entries = entries::of(&header, 2);
            if !entries.are_plain() {
                return Ok(());
            }
            match (plain(&entries), yaml::load(&header, 2, &mut yaml::Budget::default())) {
                (Pod::Hash(plain), Ok(Pod::Hash(yaml))) => {
                    for (key, value) in &yaml {
                        prop_assert!(!matches!(value, Pod::Array(_) | Pod::Hash(_)), "{} in {:?}", key, header);
                        prop_assert_eq!(plain.get(key).map(as_text), Some(as_text(value)), "{} in {:?}", key, header);
                    }
                    prop_assert_eq!(plain.len(), yaml.len(), "{:?}", header);
                }
                (plain, yaml) => prop_assert_eq!(Ok(plain), yaml, "{:?}", header),
            }
        }
    }

    #[test]
    fn the_usual_header_is_plain_and_a_slip_is_not() {
        let is_plain = |header: &str| entries::of(header, 2).are_plain();
        assert!(is_plain(
            "title: Code review\ndescription: Review a change, and get its defects; ranked (worst first).\n"
        ));
        assert!(is_plain("# A note\n\nname: x\r\ntags:\n".replace('\r', "").as_str()));
        for header in
            ["a: b: c\n", "a: [b]\n", "a: b #c\n", "a: null\n", "a: 1.10\n", "a: b\na: c\n", "a:\n  - b\n", "a\n"]
        {
            assert!(!is_plain(header), "{header:?}");
        }
    }
}
