//! Any body, any values: only placeholders are replaced, and no value is looked at.
//!
//! The rules of expansion are read here a second time, letter by letter.

use prompt_expander::prompt::{ExpandError, INPUT, MAX_EXPANSION, Template, Values};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// From here on, characters that are no part of any body or value of ours.
const MARK: u32 = 0xf0000;

/// Reads sections between lines `===`: declared names, the input, a value for each name, and the body, which may have
/// such lines itself. What is missing is empty.
pub(super) fn check_bytes(case: &[u8]) {
    let case = String::from_utf8_lossy(case);
    let mut rest = case.as_ref();
    let mut section = || {
        let (section, after) = rest.split_once("\n===\n").unwrap_or((rest, ""));
        rest = after;
        section
    };
    let (names, input) = (section(), section());
    let arguments: Vec<(&str, &str)> = names.split_whitespace().map(|name| (name, section())).collect();
    check(rest, &arguments, input);
}

/// Expands the body with these values by name, and this input.
pub(super) fn check(body: &str, arguments: &[(&str, &str)], input: &str) {
    // No prompt declares a name twice, or one that cannot stand in a placeholder.
    let mut known = BTreeSet::new();
    let cannot = |name: &str| name.is_empty() || name.contains(|l: char| l.is_whitespace() || "{}<>".contains(l));
    let arguments: Vec<_> =
        arguments.iter().copied().filter(|(name, _)| !cannot(name) && known.insert(*name)).collect();
    let template = Template::parse(body, arguments.iter().map(|(name, _)| *name));
    assert_eq!(template.body(), body);
    let expand = |input: &str, value_of: &dyn Fn(usize) -> String| {
        let values = arguments.iter().enumerate().map(|(index, (name, _))| (*name, value_of(index).into())).collect();
        template.expand(Values { input, arguments: values }).map(String::from)
    };
    let expanded = expand(input, &|index| arguments[index].1.to_owned()).unwrap();

    // As the rules have it.
    let pieces = pieces(body, &known);
    let value = |name: &str| arguments.iter().find(|(known, _)| *known == name).map_or(input, |(_, value)| value);
    let has_placeholders = pieces.iter().any(|piece| matches!(piece, Piece::Placeholder(..)));
    let mut want: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Placeholder(name, _) => value(name),
        })
        .collect();
    if !has_placeholders && !input.is_empty() {
        want = format!("{want}\n\n{input}");
    }
    assert_eq!(expanded, want);

    let placeholders = pieces.iter().filter_map(|piece| match piece {
        Piece::Placeholder(name, text) => Some((*name, *text)),
        Piece::Text(_) => None,
    });
    let found =
        template.placeholders().map(|placeholder| (placeholder.name.as_str(), &body[placeholder.range.clone()]));
    assert!(found.eq(placeholders));

    // A mark that goes where a value goes, and is replaced by the value afterwards: no value was looked at.
    let is_mark = |letter: char| u32::from(letter) >= MARK;
    if !body.contains(is_mark) {
        let mark = |index: u32| char::from_u32(MARK + index).unwrap().to_string();
        let of_input = if input.is_empty() { String::new() } else { mark(0) };
        let marked = expand(&of_input, &|index| mark(1 + index as u32)).unwrap();
        let replaced = marked.chars().map(|letter| match u32::from(letter).checked_sub(MARK) {
            None => letter.to_string(),
            Some(0) => input.to_owned(),
            Some(index) => arguments[index as usize - 1].1.to_owned(),
        });
        assert_eq!(expanded, replaced.collect::<String>());
    }

    // The limit holds, and is said without the text being made.
    static LARGE: LazyLock<String> = LazyLock::new(|| "{{input}}".repeat(1024 * 1024));
    let inputs = template.placeholders().filter(|placeholder| placeholder.name == INPUT).count();
    if inputs > MAX_EXPANSION / LARGE.len() {
        let text = expand("", &|_| String::new()).unwrap().len();
        let length = text + inputs * LARGE.len();
        let refused = template.expand(Values { input: &LARGE, arguments: Vec::new() });
        assert_eq!(refused.map(String::from), Err(ExpandError::TooLong { length }));
    }
}

enum Piece<'b> {
    Text(&'b str),
    /// Its name, and all of it.
    Placeholder(&'b str, &'b str),
}

fn pieces<'b>(body: &'b str, names: &BTreeSet<&'b str>) -> Vec<Piece<'b>> {
    let mut pieces = Vec::new();
    let mut rest = body;
    while let Some(letter) = rest.chars().next() {
        let escaped = rest.strip_prefix('\\').and_then(|behind| placeholder(behind, names));
        let (piece, length) = if let Some((name, text)) = placeholder(rest, names) {
            (Piece::Placeholder(name, text), text.len())
        } else if let Some((_, text)) = escaped {
            (Piece::Text(text), 1 + text.len())
        } else {
            (Piece::Text(&rest[..letter.len_utf8()]), letter.len_utf8())
        };
        pieces.push(piece);
        rest = &rest[length..];
    }
    pieces
}

/// The placeholder that the text begins with: its name, and all of it.
fn placeholder<'b>(text: &'b str, names: &BTreeSet<&'b str>) -> Option<(&'b str, &'b str)> {
    let (close, inside) = match text.strip_prefix("{{") {
        Some(inside) => ("}}", inside),
        None => (">>", text.strip_prefix("<<")?),
    };
    let inside = inside.trim_start_matches([' ', '\t']);
    names.iter().chain([&INPUT]).find_map(|name| {
        let rest = inside.strip_prefix(name)?.trim_start_matches([' ', '\t']).strip_prefix(close)?;
        Some((*name, &text[..text.len() - rest.len()]))
    })
}
