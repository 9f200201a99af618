//! Any body, any values: only placeholders are replaced, and no value is looked at.
//!
//! The rules of expansion are read here a second time, letter by letter.

use prompt_expander::prompt::{Argument, Call, INPUT, Kind, MAX_EXPANSION, Messages, Name, Prompt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// From here on, characters that no body and no value in these tests has.
const MARK: u32 = 0xf0000;

/// Reads sections between lines `===`: declared names, the input, a value for each name, and the
/// body, which may have such lines itself. What is missing is empty.
pub(super) fn check_bytes(case: &[u8]) {
    let case = String::from_utf8_lossy(case);
    let mut rest = case.as_ref();
    let mut section = || {
        let (section, after) = rest.split_once("\n===\n").unwrap_or((rest, ""));
        rest = after;
        section
    };
    let (names, input) = (section(), section());
    let arguments: Vec<(&str, &str)> = names
        .split_whitespace()
        .map(|name| (name, section()))
        .collect();
    check(rest, &arguments, input);
}

/// Expands the body with these values by name, and this input.
pub(super) fn check(body: &str, arguments: &[(&str, &str)], input: &str) {
    // No prompt declares a name twice, or one that cannot stand in a placeholder.
    let mut known = BTreeSet::new();
    let cannot = |name: &str| {
        name.is_empty() || name.contains(|l: char| l.is_whitespace() || "{}<>".contains(l))
    };
    let arguments: Vec<_> = arguments
        .iter()
        .copied()
        .filter(|(name, _)| !cannot(name) && known.insert(*name))
        .collect();
    let mut prompt = Prompt::parse(Name::new("p").unwrap(), b"").unwrap();
    let declared = |(name, _): &(&str, &str)| Argument {
        name: (*name).to_owned(),
        ..Argument::default()
    };
    prompt.arguments = arguments.iter().map(declared).collect();
    let template = prompt.parse_template(body);
    assert_eq!(template.body(), body);
    prompt.messages = vec![template.clone()];
    let expand = |input: &str, value_of: &dyn Fn(usize) -> String| {
        let values = arguments
            .iter()
            .enumerate()
            .map(|(index, (name, _))| ((*name).to_owned(), value_of(index)));
        let mut values: BTreeMap<String, String> = values.collect();
        // Without any value, the text would be divided; and an `input` among them would be the
        // input.
        values.insert("not a name".to_owned(), String::new());
        prompt
            .expand(Call::Named {
                values: &values,
                input,
                is_strict: false,
            })
            .map(Messages::into_text)
    };
    let expanded = expand(input, &|index| arguments[index].1.to_owned()).unwrap();

    // As the rules have it.
    let mut pieces = pieces(body, &known, false);
    if !pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Placeholder(name, _) if *name == INPUT))
    {
        pieces = self::pieces(body, &known, true);
    }
    let value = |name: &str| {
        arguments
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(input, |(_, value)| value)
    };
    let input = arguments
        .iter()
        .find(|(name, _)| *name == INPUT)
        .map_or(input, |(_, value)| value);
    let has_placeholders = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Placeholder(..)));
    let mut want: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Placeholder(name, _) => value(name),
        })
        .collect();
    if !has_placeholders && !input.is_empty() {
        want = if body.is_empty() {
            input.to_owned()
        } else {
            format!("{want}\n\n{input}")
        };
    }
    assert_eq!(expanded, want);

    let placeholders = pieces.iter().filter_map(|piece| match piece {
        Piece::Placeholder(name, text) => Some((*name, *text)),
        Piece::Text(_) => None,
    });
    let found = template
        .placeholders()
        .map(|placeholder| (placeholder.name.as_str(), &body[placeholder.range.clone()]));
    assert!(found.eq(placeholders));

    // A mark that goes where a value goes, and is replaced by the value afterwards: no value was
    // looked at.
    let is_mark = |letter: char| u32::from(letter) >= MARK;
    if !body.contains(is_mark) {
        let mark = |index: u32| char::from_u32(MARK + index).unwrap().to_string();
        let mark_of = |index: u32, value: &str| {
            if value.is_empty() {
                String::new()
            } else {
                mark(index)
            }
        };
        let marked = expand(&mark_of(0, input), &|index| {
            mark_of(1 + index as u32, arguments[index].1)
        })
        .unwrap();
        let replaced = marked
            .chars()
            .map(|letter| match u32::from(letter).checked_sub(MARK) {
                None => letter.to_string(),
                Some(0) => input.to_owned(),
                Some(index) => arguments[index as usize - 1].1.to_owned(),
            });
        assert_eq!(expanded, replaced.collect::<String>());
    }

    // A too long expansion is refused before it is allocated.
    static LARGE: LazyLock<String> = LazyLock::new(|| "{{input}}".repeat(1024 * 1024));
    let inputs = template
        .placeholders()
        .filter(|placeholder| placeholder.name == INPUT)
        .count();
    if inputs > MAX_EXPANSION / LARGE.len() && !known.contains(INPUT) {
        assert_eq!(
            expand(&LARGE, &|_| String::new()).unwrap_err().kind,
            Kind::TooLong
        );
    }
}

enum Piece<'b> {
    Text(&'b str),
    /// Its name, and all of it.
    Placeholder(&'b str, &'b str),
}

/// `has_dollar`: whether `$ARGUMENTS` is a placeholder, as it is in a body without another one for
/// the input. `$$ARGUMENTS` is text.
fn pieces<'b>(body: &'b str, names: &BTreeSet<&'b str>, has_dollar: bool) -> Vec<Piece<'b>> {
    let mut pieces = Vec::new();
    let mut rest = body;
    let placeholder = |text: &'b str, is_after_dollar: bool| {
        let dollar = || {
            (has_dollar && !is_after_dollar)
                .then(|| dollar_placeholder(text))
                .flatten()
        };
        placeholder(text, names).or_else(dollar)
    };
    let mut is_after_dollar = false;
    while let Some(letter) = rest.chars().next() {
        let escaped = rest
            .strip_prefix('\\')
            .and_then(|after| placeholder(after, false));
        let (piece, length) = if let Some((name, text)) = placeholder(rest, is_after_dollar) {
            (Piece::Placeholder(name, text), text.len())
        } else if let Some((_, text)) = escaped {
            (Piece::Text(text), 1 + text.len())
        } else {
            // All braces in a row, so that no placeholder begins among them.
            let is_brace = letter == '{' || letter == '<';
            let end = if is_brace {
                rest.find(|other| other != letter).unwrap_or(rest.len())
            } else {
                letter.len_utf8()
            };
            (Piece::Text(&rest[..end]), end)
        };
        is_after_dollar = letter == '$' && matches!(piece, Piece::Text(_));
        pieces.push(piece);
        rest = &rest[length..];
    }
    pieces
}

/// `$ARGUMENTS`, but not `$ARGUMENTS[0]`.
fn dollar_placeholder(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("$ARGUMENTS")?;
    let index = rest
        .strip_prefix('[')
        .map(|inside| inside.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    let is_index = index.is_some_and(|end| end.starts_with(']') && !rest.starts_with("[]"));
    (!is_index).then(|| (INPUT, &text[..text.len() - rest.len()]))
}

/// The placeholder that the text begins with: its name, and all of it.
fn placeholder<'b>(text: &'b str, names: &BTreeSet<&'b str>) -> Option<(&'b str, &'b str)> {
    let forms = [("{{{", "}}}", '{'), ("{{", "}}", '{'), ("<<", ">>", '<')];
    let (open, close, brace) = forms
        .into_iter()
        .find(|(open, ..)| text.starts_with(open))?;
    let inside = &text[open.len()..];
    if inside.starts_with(brace) {
        return None;
    }
    let inside = inside.trim_start_matches([' ', '\t']);
    names.iter().chain([&INPUT]).find_map(|name| {
        let rest = inside
            .strip_prefix(name)?
            .trim_start_matches([' ', '\t'])
            .strip_prefix(close)?;
        Some((*name, &text[..text.len() - rest.len()]))
    })
}
