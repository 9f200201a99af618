//! Puts quotes around values of YAML, and removes them.

/// The characters that begin and end a value in quotes.
pub(super) const QUOTES: [char; 2] = ['"', '\''];

/// Removes the quotes around a value, or a double quote at its start that is never closed:
///
/// | value | result |
/// |---|---|
/// | `"a "b" c"` | `a "b" c` |
/// | `"a" and "b"` | unchanged, because the first and the last quote are not a pair |
/// | `"a b` | `a b` |
pub(super) fn unquoted(value: &str) -> &str {
    for quote in QUOTES {
        if let Some(after_quote) = value.strip_prefix(quote)
            && let Some(inside) = after_quote.strip_suffix(quote)
            && has_paired_quotes(inside, quote)
        {
            return inside;
        }
    }
    if let Some(after_quote) = value.strip_prefix('"')
        && !after_quote.contains('"')
    {
        return after_quote;
    }
    value
}

/// Returns whether the quotes in a text form pairs: each quote that begins a word has one later
/// that ends a word. Then quotes around the whole text are a pair, too.
///
/// | text | result |
/// |---|---|
/// | `a "b" c` | true |
/// | `a" and "b` | false, because the first quote ends a word, but no quote began one |
/// | `a "b` | false, because the quote is never closed |
/// | `it's`, `a " b` | true: quotes within a word don't count, and one alone begins and ends a word |
fn has_paired_quotes(text: &str, quote: char) -> bool {
    let mut open_count = 0_usize;
    for word in text.split(' ') {
        if word.starts_with(quote) {
            open_count += 1;
        }
        if word.ends_with(quote) {
            if open_count == 0 {
                return false;
            }
            open_count -= 1;
        }
    }
    open_count == 0
}

/// Formats a text as a quoted YAML string. Uses single quotes if it contains `"` or a backslash.
pub(super) fn in_quotes(text: &str) -> String {
    if text.contains(['"', '\\']) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        format!("\"{text}\"")
    }
}
