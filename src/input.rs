//! Reads text and JSON that other programs have written, and repairs common mistakes in them.

use serde::de::DeserializeOwned;

/// The length of an escaped UTF-16 code unit: `\ud83d`.
const ESCAPE_LENGTH: usize = 6;

/// Parses JSON. Ignores a byte order mark at the start, and reads an unpaired surrogate, such as
/// `\ud83d` without the second half of its emoji, as U+FFFD.
pub(crate) fn parse_json<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    let json = without_bom(json);
    let result = serde_json::from_str(json);
    if result.is_err()
        && let Some(repaired) = replace_unpaired_surrogates(json)
    {
        return serde_json::from_str(&repaired);
    }
    result
}

/// Parses JSON as [`parse_json`] does. Bytes that are not UTF-8 are an error.
pub(crate) fn parse_json_bytes<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    match str::from_utf8(json) {
        Ok(json) => parse_json(json),
        Err(_) => serde_json::from_slice(json), // whose error says where
    }
}

/// Returns text without the byte order mark with which some programs begin it.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Replaces the escape of each unpaired surrogate with that of U+FFFD. Returns `None` if there is
/// none.
fn replace_unpaired_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::with_capacity(json.len());
    let mut is_repaired = false;
    let mut rest = json;
    while let Some(position) = rest.find('\\') {
        repaired.push_str(&rest[..position]);
        rest = &rest[position..];
        if is_unpaired_surrogate(rest) {
            repaired.push_str("\\ufffd");
            rest = &rest[ESCAPE_LENGTH..];
            is_repaired = true;
            continue;
        }
        let length = escape_length(rest);
        repaired.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    repaired.push_str(rest);
    is_repaired.then_some(repaired)
}

/// Returns whether text starts with the escape of a surrogate that belongs to no pair.
fn is_unpaired_surrogate(json: &str) -> bool {
    let Some(unit) = escaped_code_unit(json) else {
        return false;
    };
    let is_surrogate = (0xd800..=0xdfff).contains(&unit);
    is_surrogate && !is_surrogate_pair(json)
}

/// Returns whether text starts with the escapes of a high surrogate and a low one.
fn is_surrogate_pair(json: &str) -> bool {
    let (Some(high), Some(low)) = (
        escaped_code_unit(json),
        json.get(ESCAPE_LENGTH..).and_then(escaped_code_unit),
    ) else {
        return false;
    };
    (0xd800..=0xdbff).contains(&high) && (0xdc00..=0xdfff).contains(&low)
}

/// Returns the UTF-16 code unit of the escape with which text starts: `0xd83d` for `\ud83d…`.
fn escaped_code_unit(json: &str) -> Option<u16> {
    let digits = json.get(..ESCAPE_LENGTH)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns the length of the escape with which text starts: a surrogate pair, or a backslash and
/// the character after it.
fn escape_length(json: &str) -> usize {
    if is_surrogate_pair(json) {
        return 2 * ESCAPE_LENGTH;
    }
    let escaped = json[1..].chars().next();
    1 + escaped.map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpaired_surrogate_is_read_as_the_replacement_character() {
        for (json, want) in [
            (r#""a \ud83d b""#, "a \u{fffd} b"),
            (r#""\uD83D""#, "\u{fffd}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
            ("\u{feff}\"a\"", "a"),
        ] {
            assert_eq!(parse_json::<String>(json).unwrap(), want, "{json}");
        }
    }

    #[test]
    fn other_mistakes_stay_errors() {
        for json in [
            r#""\u12"#,
            r#""\ud83d"#,
            "\"\\",
            "\"\\é\"",
            "\u{feff}\u{feff}1",
        ] {
            assert!(parse_json::<String>(json).is_err(), "{json}");
        }
    }
}
