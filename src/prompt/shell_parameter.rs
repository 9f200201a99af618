//! Parses the placeholders of pi, which look like the parameters of a shell.
//!
//! | placeholder | is replaced by |
//! |---|---|
//! | `$1`, `${1:-default}` | the first word |
//! | `$@`, `$ARGUMENTS`, `${@:-default}` | the input |
//! | `${@:2}` | the words from the second on |
//! | `${@:2:3}` | three words from the second on |
//! | `$0`, or a word that the text does not have | nothing |

use super::file_text::truncate_at_boundary;
use super::placeholder::{DeclaredNames, Extent, FoundName, INPUT};

/// The maximum length of a placeholder inside its braces. Closing braces that come later probably
/// don't belong to the opening one.
const MAX_BRACED_BYTES: usize = 1000;

/// Parses what follows the `$` of a placeholder: `1`, or `{1:-default}`. The declared arguments are
/// the words, in order.
///
/// Returns `None` if it isn't a placeholder.
pub(super) fn parse<'b>(rest: &'b str, names: &DeclaredNames<'b>) -> Option<FoundName<'b>> {
    if let Some(after_brace) = rest.strip_prefix('{') {
        let length = truncate_at_boundary(after_brace, MAX_BRACED_BYTES).find('}')?;
        let after = &after_brace[length + "}".len()..];
        return parse_in_braces(&after_brace[..length], after, names);
    }
    let (parameter, after) = rest.split_at(parameter_length(rest));
    find_parameter(parameter, after, names)
}

/// Parses the inside of the braces: `1:-default`, `@:2` or `@:2:3`.
fn parse_in_braces<'b>(
    inside: &'b str,
    after: &'b str,
    names: &DeclaredNames<'b>,
) -> Option<FoundName<'b>> {
    if let Some((parameter, default)) = inside.split_once(":-") {
        return Some(FoundName {
            default: Some(default),
            ..find_parameter(parameter, after, names)?
        });
    }
    let slice = inside.strip_prefix("@:")?;
    let (start, extent) = match slice.split_once(':') {
        Some((start, count)) => (start, Extent::Count(parse_number(count)?)),
        None => (slice, Extent::Rest),
    };
    // As in a shell, `${@:0}` begins with the first word, too.
    let first_number = parse_number(start)?.max(1);
    Some(word_argument(first_number, extent, after, names))
}

/// Returns the length of the parameter at the start of a text: 1 for `@x`, 2 for `12x`, and 0 if
/// there is none.
fn parameter_length(text: &str) -> usize {
    for whole_text in WHOLE_TEXT {
        if text.starts_with(whole_text) {
            return whole_text.len();
        }
    }
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The parameters that stand for the input.
const WHOLE_TEXT: [&str; 2] = ["@", "ARGUMENTS"];

/// Returns the name for a parameter such as `1`: that of a word or, for `@`, [`INPUT`].
fn find_parameter<'b>(
    parameter: &'b str,
    after: &'b str,
    names: &DeclaredNames<'b>,
) -> Option<FoundName<'b>> {
    if WHOLE_TEXT.contains(&parameter) {
        return Some(FoundName::new(INPUT, after));
    }
    let number = parse_number(parameter)?;
    Some(word_argument(number, Extent::One, after, names))
}

/// Returns the argument for the `number`th word, or an empty one if the prompt declares fewer.
/// The word 0 does not exist.
fn word_argument<'b>(
    number: usize,
    extent: Extent,
    after: &'b str,
    names: &DeclaredNames<'b>,
) -> FoundName<'b> {
    let index = number.checked_sub(1);
    let Some(name) = index.and_then(|index| names.in_order.get(index)) else {
        return FoundName {
            extent: Extent::Count(0),
            ..FoundName::new("", after)
        };
    };
    FoundName {
        extent,
        ..FoundName::new(name, after)
    }
}

/// Parses a number that consists of digits alone. A number that is too large becomes `usize::MAX`.
fn parse_number(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    Some(text.parse().unwrap_or(usize::MAX))
}
