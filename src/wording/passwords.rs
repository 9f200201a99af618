//! Hides the passwords of URLs in output, even if a URL is malformed.
//!
//! A password extends from the first colon of the login to the last `@` of the URL. The login
//! starts:
//!
//! | where | example |
//! |---|---|
//! | after the slashes | `git+https://me:pw@host` |
//! | after a known scheme, even if slashes are missing | `https:/me:pw@host`, `https:me:pw@host` |
//! | at the beginning | `me:pw@host:x.git` |
//! | in a file path, after `:/` | `/tmp/x+https:/me:pw@host` |
//! | in a file path with two colons, after the last slash before the first one | `/tmp/me:pw@host:x.git` |
//!
//! Such file paths come from programs that mistook a URL for a relative path, and prepended the
//! working directory.

use std::borrow::Cow;
use std::ops::Range;

/// Schemes after which a login may follow even if the slashes are missing.
const SCHEMES: [&str; 8] = [
    "http:",
    "https:",
    "postgres:",
    "postgresql:",
    "ssh:",
    "git:",
    "mailto:",
    "socks5:",
];

/// Replaces the passwords of all URLs in a text by `…`, as in `https://me:…@host`, and also the
/// values of `password=`.
///
/// The text is divided into gaps (whitespace and quotes) and what is between them. A URL extends to
/// the next gap or, after a quote, to the closing quote.
pub(crate) fn without_passwords(text: &str) -> Cow<'_, str> {
    let text = without_password_values(text, ends_value_in_text);
    if !text.contains('@') {
        return text;
    }
    let mut output = String::with_capacity(text.len());
    let mut remainder = &*text;
    while let Some(gap_end) = remainder.find(|character| !is_gap(character)) {
        let (gap, after_gap) = remainder.split_at(gap_end);
        let (address, after_address) = after_gap.split_at(address_end(gap, after_gap));
        output += gap;
        output += &without_password(address);
        remainder = after_address;
    }
    output += remainder;
    output.into()
}

/// Replaces the password of a URL by `…`, and also the values of `password=`: `https://me:…@host`
/// for `https://me:pw@host`.
///
/// The whole text is the URL, even if it contains spaces.
pub(crate) fn without_password(address: &str) -> String {
    let mut output = without_password_values(address, ends_value_in_address).into_owned();
    if let Some(password) = password_range(&output) {
        output.replace_range(password, "…");
    }
    output
}

/// Returns whether a character separates a URL from other text: whitespace or a quote.
fn is_gap(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '`')
}

/// Returns the length of the URL at the start of `text`. `gap` is what precedes it.
///
/// - After a quote, the URL extends to the closing quote, or to the end of the line: `a b` in `a b'
///   c` if `gap` ends with `'`.
/// - Otherwise, it extends to the next gap: `a` in `a b' c`.
/// - If that is inside a password, as in `https://me:p w'x@host`, it extends to the last `@` of the
///   line and ends there.
fn address_end(gap: &str, text: &str) -> usize {
    let before_address = gap.chars().next_back();
    let gap_or_quote = match before_address.filter(|last| !last.is_whitespace()) {
        Some(quote) => text.find([quote, '\n']),
        None => text.find(is_gap),
    };
    let end = gap_or_quote.unwrap_or(text.len());
    if !ends_within_password(&text[..end]) {
        return end;
    }
    // The password may contain an `@`, so use the last one.
    let line_after = text[end..].split('\n').next().unwrap_or_default();
    match line_after.rfind('@') {
        Some(at_sign) => end + at_sign + "@".len(),
        None => end,
    }
}

/// Returns whether a URL was cut off inside its password, at a space or a quote: `https://me:p` of
/// `https://me:p w@host`.
///
/// That is the case if its login contains a colon but no `@` follows. Two kinds of complete texts
/// look the same, and are excluded:
///
/// - Words such as `note:`. A login needs a scheme, slashes or a folder before it.
/// - Colons before a number, which is a port or a line: `https://host:8080/x`, `/tmp/a.md:3:1:`.
fn ends_within_password(address: &str) -> bool {
    let Some(start) = login_start(address) else {
        return false;
    };
    let follows_scheme_or_folder = start > 0;
    if !follows_scheme_or_folder {
        return false;
    }
    let Some((_, password_or_port)) = address[start..].split_once(':') else {
        return false;
    };
    let port = password_or_port.split('/').next().unwrap_or_default();
    let is_port = port.chars().all(|c| c.is_ascii_digit() || c == ':');
    !is_port && !password_or_port.contains('@')
}

/// Returns the range of the secret in a URL: `pw` in `https://me:pw@host`.
///
/// If the password is empty or `x-oauth-basic`, the user name is a GitHub token, so the whole login
/// is secret: `token:x-oauth-basic` in `https://token:x-oauth-basic@host`.
fn password_range(address: &str) -> Option<Range<usize>> {
    let login_end = address.rfind('@')?;
    let login_start = login_start(address)?;
    let login = address.get(login_start..login_end)?;
    if login_start == 0 && is_sentence(login) {
        return None;
    }
    let colon = match login.find(':') {
        Some(colon) => colon,
        None => login.to_ascii_lowercase().find("%3a")?,
    };
    let has_token = matches!(&login[colon..], ":" | ":x-oauth-basic");
    let secret_start = if has_token {
        login_start
    } else {
        login_start + colon + 1 // for an encoded colon, this hides the `3a` of `%3a`, too
    };
    Some(secret_start..login_end)
}

/// Returns whether the text before an `@` is prose instead of a login, e.g. `write NAME: ` in
/// `write NAME: @FILE`.
fn is_sentence(text: &str) -> bool {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    user.contains(char::is_whitespace) || password.starts_with(char::is_whitespace)
}

/// Returns the byte offset at which the login of a URL may start:
///
/// | URL | offset |
/// |---|---|
/// | `git+https://me:pw@host` | 12, after the slashes |
/// | `https:me:pw@host` | 6, after a known scheme |
/// | `/tmp/me:pw@host:x.git` | 5, after the last slash before the first colon |
/// | `me:pw@host:x.git` | 0 |
/// | `file:///tmp/a:b@c`, `/tmp/a:b@c` | `None`, because it is a file path |
fn login_start(address: &str) -> Option<usize> {
    if let Some(colon) = address.find("://") {
        let is_file = address[colon..].starts_with(":///") && address[..colon].ends_with("file");
        if is_file {
            return None;
        }
        return Some(colon + "://".len());
    }
    if let Some(end) = scheme_end(address) {
        return Some(end);
    }
    if is_path(address) {
        return login_start_in_path(address);
    }
    Some(0)
}

/// Returns the byte offset after the first known scheme and its slashes: 7 for `https:/me:pw@host`.
///
/// The scheme must be at the start of the URL, or of a path segment, as in
/// `/tmp/https:/me:pw@host`.
fn scheme_end(address: &str) -> Option<usize> {
    let mut segment_start = 0;
    for segment in address.split_inclusive(['/', '\\']) {
        if let Some(scheme) = SCHEMES.iter().find(|scheme| segment.starts_with(**scheme)) {
            let after_scheme = address[segment_start + scheme.len()..].trim_start_matches('/');
            return Some(address.len() - after_scheme.len());
        }
        segment_start += segment.len();
    }
    None
}

/// Returns whether a text is a file path.
fn is_path(address: &str) -> bool {
    let is_absolute = address.starts_with('/') && !address.starts_with("//");
    let is_on_a_drive = address.get(1..3) == Some(":\\");
    is_absolute || is_on_a_drive || address.starts_with(['.', '~', '\\'])
}

/// Returns the byte offset at which a login may start in a file path:
///
/// - After `:/`, as in `/tmp/x+https:/me:pw@host`.
/// - After the last slash before the first colon, if there is a second colon and an `@`, as in
///   `/tmp/me:pw@host:x.git`.
///
/// Other paths, such as `/tmp/a:b@c`, contain no login.
fn login_start_in_path(path: &str) -> Option<usize> {
    if let Some(colon) = path.find(":/") {
        return Some(colon + ":/".len());
    }
    let first_colon = path.find(':')?;
    let has_second_colon = path[first_colon + 1..].contains(':');
    if !has_second_colon || !path.contains('@') {
        return None;
    }
    match path[..first_colon].rfind(['/', '\\']) {
        Some(slash) => Some(slash + 1),
        None => Some(0),
    }
}

/// Replaces the values of `password=` by `…`: `host=h password=… user=me` for `host=h password='x
/// y' user=me`.
///
/// An unquoted value ends before the first character for which `ends_value` returns true.
fn without_password_values(text: &str, ends_value: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains('=') {
        return text.into();
    }
    let mut output = String::new();
    let mut copied_to = 0; // the offset in `text` up to which the output is complete
    // ASCII lowercase keeps all offsets.
    for (key_start, key) in text.to_ascii_lowercase().match_indices("password") {
        let Some(value) = value_range(text, key_start + key.len(), ends_value) else {
            continue;
        };
        if value.start < copied_to {
            continue; // the key is inside a value that was already replaced
        }
        output += &text[copied_to..value.start];
        output += "…";
        copied_to = value.end;
    }
    output += &text[copied_to..];
    output.into()
}

/// Returns whether an unquoted value of `password=` ends before this character, in a text that is a
/// single URL.
fn ends_value_in_address(character: char) -> bool {
    character == '&' || character.is_whitespace()
}

/// Returns whether an unquoted value of `password=` ends before this character, in a text that
/// contains other words too.
fn ends_value_in_text(character: char) -> bool {
    character == '&' || is_gap(character)
}

/// Returns the range of the value after a key, which ends at byte offset `key_end`. Returns `None`
/// if no `=` follows.
///
/// | text | value |
/// |---|---|
/// | `password = 'x y' user=me` | `'x y'`, including the quotes |
/// | `password='x y` | `'x y`, because the quote is never closed |
/// | `?password=x&sslmode=require` | `x` |
///
/// An unquoted value ends before the first character for which `ends_value` returns true.
fn value_range(text: &str, key_end: usize, ends_value: fn(char) -> bool) -> Option<Range<usize>> {
    let equals_sign = skip_spaces(text, key_end);
    if !text[equals_sign..].starts_with('=') {
        return None;
    }
    let value_start = skip_spaces(text, equals_sign + "=".len());
    let value = &text[value_start..];
    let length = if value.starts_with('\'') {
        quoted_length(value)
    } else {
        value.find(ends_value).unwrap_or(value.len())
    };
    Some(value_start..value_start + length)
}

/// Returns the byte offset of the first character at or after `start` that isn't a space.
fn skip_spaces(text: &str, start: usize) -> usize {
    let after_spaces = text[start..].trim_start_matches(' ');
    text.len() - after_spaces.len()
}

/// Returns the length of the single-quoted value at the start of a text, including its quotes: 5
/// for `'x y' user=me`. If the quote is never closed, the value is the whole text.
fn quoted_length(text: &str) -> usize {
    match text.match_indices('\'').nth(1) {
        Some((closing_quote, _)) => closing_quote + "'".len(),
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wording::quoted;

    #[test]
    fn a_password_is_hidden_whatever_is_wrong_with_the_address() {
        for (text, shown) in [
            (
                "see https://me:pw@host/p.git now",
                "see https://me:…@host/p.git now",
            ),
            ("'https://me:p w@host' x", "'https://me:…@host' x"),
            (
                "postgres://app:p/w@d?x#y@host/db",
                "postgres://app:…@host/db",
            ),
            ("postgres:/app:pw@host", "postgres:/app:…@host"),
            ("me:pw@host:x.git", "me:…@host:x.git"),
            ("//me:pw@host", "//me:…@host"),
            ("/tmp/https:/me:pw@host", "/tmp/https:/me:…@host"),
            ("https://me:p w'x@host y", "https://me:…@host y"),
            ("'https://me:p'w@host'", "'https://me:…@host'"),
            (
                "postgres://h/d?user=a&password=pw&x=1",
                "postgres://h/d?user=a&password=…&x=1",
            ),
            ("\"host=h password=pw\"", "\"host=h password=…\""),
            ("?password=a&Password=b&x", "?password=…&Password=…&x"),
            ("no password='p w' user=x", "no password=… user=x"),
            ("password = pw user=x", "password = … user=x"),
            ("https://:pw@host", "https://:…@host"),
            ("https:///me:pw@host", "https:///me:…@host"),
            ("https://me%3Apw@host", "https://me%…@host"),
            ("https://token:x-oauth-basic@host", "https://…@host"),
            ("https://token:@host", "https://…@host"),
            ("/tmp/git+https:/me:pw@host", "/tmp/git+https:/me:…@host"),
            ("/tmp/me:pw@host:x.git", "/tmp/me:…@host:x.git"),
            ("https:me:pw@host/x", "https:me:…@host/x"),
            ("https::pw@host", "https::…@host"),
            ("/tmp/https:me:p/w@host/x", "/tmp/https:me:…@host/x"),
            ("/tmp/postgres:me:pw@host", "/tmp/postgres:me:…@host"),
            ("/tmp/x+https:me:pw@host/x", "/tmp/x+https:…@host/x"),
            ("C:\\x\\https:me:pw@host", "C:\\x\\https:me:…@host"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
        for text in [
            "git@host:acme/x.git",
            "ssh://git@host:22/x",
            "http://127.0.0.1:3333/mcp acme@0123",
            "mailto:me@host",
            "/tmp/a:b@c",
            "file:///tmp/a:b@c",
            "C:\\x@y",
            "/tmp/git:commit.md:3:1: a letter to me@host",
            "/tmp/a.md:3:1: a letter to me@host",
            "`git:commit` for git:me@host",
            "invalid value for '--header <NAME: @FILE>': write NAME: @FILE, as in 'X: @y'",
        ] {
            assert_eq!(without_passwords(text), text);
        }
        assert_eq!(
            quoted(&format!("https://me:{}@h", "x".repeat(90))),
            "`https://me:…@h`"
        );
    }
}
