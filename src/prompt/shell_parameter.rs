//! Parses the placeholders of pi, which look like the parameters of a shell.
//!
//! | placeholder | is replaced by |
//! |---|---|
//! | `$1`, `${1:-default}` | the first word |
//! | `$@`, `$ARGUMENTS`, `${@:-default}` | the input |
//! | `${@:2}` | the words from the second on |
//! | `${@:2:3}` | three words from the second on |

use super::file_text::truncate_at_boundary;
use super::placeholder::{DeclaredNames, Extent, FoundName, INPUT};

/// The maximum length of a placeholder inside its braces. Closing braces that come later probably
/// don't belong to the opening one.
const MAX_BRACED_BYTES: usize = 1000;

/// Parses what follows the `$` of a placeholder: `1`, or `{1:-default}`. The declared arguments are
/// the words, in order.
///
/// Returns `None` if it isn't a placeholder, or if there is no argument for the word.
pub(super) fn parse<'b>(rest: &'b str, names: &DeclaredNames<'b>) -> Option<FoundName<'b>> {
    if let Some(after_brace) = rest.strip_prefix('{') {
        let length = truncate_at_boundary(after_brace, MAX_BRACED_BYTES).find('}')?;
        let after = &after_brace[length + "}".len()..];
        return parse_in_braces(&after_brace[..length], after, names);
    }
    let (parameter, after) = rest.split_at(parameter_length(rest));
    Some(FoundName::new(resolve(parameter, names)?, after))
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
            ..FoundName::new(resolve(parameter, names)?, after)
        });
    }
    let slice = inside.strip_prefix("@:")?;
    let (start, extent) = match slice.split_once(':') {
        Some((start, count)) => (start, Extent::Count(count.parse().ok()?)),
        None => (slice, Extent::Rest),
    };
    // As in a shell, `${@:0}` begins with the first word, too.
    let first_word = if start == "0" { "1" } else { start };
    Some(FoundName {
        extent,
        ..FoundName::new(resolve_word(first_word, names)?, after)
    })
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

/// Returns the name of the argument for a parameter such as `1`, or [`INPUT`] for `@`.
fn resolve<'n>(parameter: &str, names: &DeclaredNames<'n>) -> Option<&'n str> {
    if WHOLE_TEXT.contains(&parameter) {
        return Some(INPUT);
    }
    resolve_word(parameter, names)
}

/// Returns the name of the argument for a word: that of the first one for `1`.
fn resolve_word<'n>(number: &str, names: &DeclaredNames<'n>) -> Option<&'n str> {
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    names.in_order.get(index).copied()
}
