//! The lenient reading of a frontmatter that YAML refuses: line by line, as `key: value`.

use super::yaml::{self, Field, Node, Refusal, Value};
use crate::prompt::diagnostic::{Diagnostic, Position};
use crate::prompt::limits::MAX_WEIGHT;
use crate::wording::quoted;

/// The length in bytes of the longest value that a fix shows.
const MAX_LENGTH_IN_FIX: usize = 200;

/// The keys that begin a line, each with the lines that belong to it, so that a mistake in one
/// costs no other. A value that YAML refuses is read as text. What is wrong is added to `warnings`.
///
/// # Errors
/// The aliases of the text exceed the `budget`.
pub(super) fn fields(
    yaml: &str,
    first_line: usize,
    budget: &mut usize,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Field>, Diagnostic> {
    let mut fields = Vec::new();
    let mut lines = (first_line..).zip(yaml.split_inclusive('\n')).peekable();
    while let Some((number, line)) = lines.next() {
        let position = Position {
            line: number,
            column: 1,
        };
        let Some((key, raw)) = key_of(line) else {
            if !is_empty_or_comment(line) {
                let message = format!(
                    "the line {} is not a `key: value`, and is ignored",
                    quoted(line.trim())
                );
                warnings.push(Diagnostic::warning(
                    Some(position),
                    message,
                    "give it a key, or delete it",
                ));
            }
            continue;
        };
        let mut block = line.to_owned();
        let belongs = |line: &str| line.starts_with([' ', '\t', '-']) || is_empty_or_comment(line);
        while let Some((_, line)) = lines.next_if(|(_, line)| belongs(line)) {
            block += line;
        }
        let mut parse = |text: &str| match yaml::parse(text, number, budget) {
            Ok(Node {
                value: Value::Map(mut map),
                ..
            }) if map.len() == 1 && map[0].key == key => Ok(map.pop().map(|field| field.node)),
            Err(Refusal::TooLarge(error)) => Err(error),
            _ => Ok(None),
        };
        let node = match parse(&block)? {
            Some(node) => node,
            None => parse(&repaired(&block, number, warnings))?.unwrap_or_else(|| {
                let lines = block.lines().skip(1).map(str::trim).filter(|line| !is_empty_or_comment(line));
                let text = std::iter::once(unquoted(raw)).chain(lines).collect::<Vec<_>>().join(" ");
                if warnings.last().is_none_or(|warning| warning.position < Some(position)) {
                    let message = format!("{} is read as text, because it is not valid YAML", quoted(key));
                    let fix = "put a text in quotes, or indent all lines of a list with the same number of spaces";
                    warnings.push(Diagnostic::warning(Some(position), message, fix));
                }
                Node { position, value: Value::Text { text, is_quoted: false } }
            }),
        };
        fields.push(Field {
            key: key.to_owned(),
            position,
            node,
        });
    }
    Ok(fields)
}

/// The lines, with quotes around each value that YAML refuses.
fn repaired(block: &str, first_line: usize, warnings: &mut Vec<Diagnostic>) -> String {
    let mut repaired = String::new();
    let mut text_below = usize::MAX; // a text in several lines is indented more than this
    for (number, line) in (first_line..).zip(block.split_inclusive('\n')) {
        let indent = line.len() - line.trim_start().len();
        let is_text = indent > text_below || line.trim().is_empty();
        let item = line.trim_start_matches([' ', '\t', '-']);
        let Some((key, raw)) = key_value(item).filter(|(_, raw)| !is_text && !raw.is_empty())
        else {
            repaired += line;
            continue;
        };
        text_below = if raw.starts_with(['|', '>']) {
            indent
        } else {
            usize::MAX
        };
        let parsed = yaml::parse(item, number, &mut MAX_WEIGHT.clone());
        if matches!(parsed, Ok(Node { value: Value::Map(map), .. }) if map.iter().all(|field| field.key == key))
        {
            repaired += line;
            continue;
        }
        let before = &line[..line.trim_end().len() - raw.len()];
        let position = Position {
            line: number,
            column: before.chars().count() + 1,
        };
        let message = format!(
            "the value of {} is not valid YAML without quotes, and is read as text",
            quoted(key)
        );
        warnings.push(Diagnostic::warning(
            Some(position),
            message,
            quoting_fix(key, raw),
        ));
        repaired += &format!(
            "{}{key}: {}\n",
            &line[..line.len() - item.len()],
            in_quotes(unquoted(raw))
        );
    }
    repaired
}

/// Whether a line has a key of one word, which frontmatter has and other text has not.
pub(super) fn has_keys(yaml: &str) -> bool {
    yaml.lines().any(has_key)
}

/// Returns whether a line begins with a key of one word.
pub(super) fn has_key(line: &str) -> bool {
    let is_word = |key: &str| {
        key.chars()
            .all(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
    };
    key_of(line).is_some_and(|(key, _)| is_word(key) && key.starts_with(char::is_alphabetic))
}

/// Returns whether a line has a key of one word, or may belong to the key above it.
pub(super) fn belongs_to_keys(line: &str) -> bool {
    has_key(line) || line.starts_with([' ', '\t', '-']) || is_empty_or_comment(line)
}

pub(super) fn is_empty_or_comment(line: &str) -> bool {
    matches!(line.trim_start().chars().next(), None | Some('#'))
}

/// The key and the value of a line that begins with a key.
pub(super) fn key_of(line: &str) -> Option<(&str, &str)> {
    key_value(line).filter(|_| !line.starts_with([' ', '\t']))
}

/// Returns the key and the value of a line such as `key: value` or `key:value`. A line such as
/// `https://…`, `std::vec`, `C:\…` or `10:30` has no key.
pub(super) fn key_value(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let colon = key_end(line)?;
    let key = line[..colon].trim_end().trim_matches('"');
    // YAML gives these a meaning, so no plain key begins with them.
    let begins_plain = !key.starts_with(|first| "-?[]{},#&*!|>\"'".contains(first));
    if key.is_empty() || !begins_plain {
        return None;
    }
    Some((key, line[colon + 1..].trim()))
}

/// Returns the offset of the colon that ends the key of a line:
///
/// - The first colon, if a plain word precedes it, as in `title:a: b`. A colon in an address or a
///   path, as in `https://…`, `std::vec` or `C:\…`, ends no key.
/// - Otherwise, the first colon before a blank or the end of the line, as in `my key: value`.
fn key_end(line: &str) -> Option<usize> {
    let first = line.find(':')?;
    let rest = &line[first + 1..];
    let is_address_or_path = rest.starts_with(['/', ':', '\\']);
    if is_plain_key(&line[..first]) && !is_address_or_path {
        return Some(first);
    }
    for (colon, _) in line.match_indices(':') {
        let rest = &line[colon + 1..];
        if rest.is_empty() || rest.starts_with([' ', '\t']) {
            return Some(colon);
        }
    }
    None
}

/// Returns whether a text is a word that begins with a letter, such as `argument-hint`.
fn is_plain_key(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && text
            .chars()
            .all(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
}

/// A value without the quotes around it, or without a quote that is never closed.
fn unquoted(raw: &str) -> &str {
    let inside = |quote: char| {
        let inside = raw.strip_prefix(quote)?.strip_suffix(quote)?;
        // `a "b" c`, in which the quotes belong together, and not `a" and "b`.
        let mut edges = inside
            .split(' ')
            .map(|word| (word.starts_with(quote), word.ends_with(quote)));
        let depth = edges.try_fold(0, |depth: usize, (opens, closes)| {
            (depth + usize::from(opens)).checked_sub(usize::from(closes))
        });
        (depth == Some(0)).then_some(inside)
    };
    let unclosed = || raw.strip_prefix('"').filter(|rest| !rest.contains('"'));
    inside('"')
        .or_else(|| inside('\''))
        .or_else(unclosed)
        .unwrap_or(raw)
}

/// A text as a value in quotes.
fn in_quotes(text: &str) -> String {
    match text.contains(['"', '\\']) {
        true => format!("'{}'", text.replace('\'', "''")),
        false => format!("\"{text}\""),
    }
}

/// Returns a fix that shows the line with its value in quotes, such as `` write `title: "a: b"` ``.
/// If the value cannot be shown, the fix is general advice.
pub(super) fn quoting_fix(key: &str, raw: &str) -> String {
    let has_control = key.contains(char::is_control) || raw.contains(char::is_control);
    if raw.is_empty() || raw.len() > MAX_LENGTH_IN_FIX || has_control {
        return "put the value in quotes".to_owned();
    }
    format!("write `{key}: {}`", in_quotes(unquoted(raw)))
}
