//! Hides the passwords of addresses in what is printed, whatever is wrong with an address.
//!
//! The password is what is between the first colon of the login and the last `@` of the address.
//! The login begins:
//!
//! | where | in an address such as |
//! |---|---|
//! | after the slashes | `git+https://me:pw@host` |
//! | after a known scheme, also if slashes are missing | `https:/me:pw@host`, `https:me:pw@host` |
//! | at the beginning | `me:pw@host:x.git` |
//! | in the path of a file, after `:/` | `/tmp/x+https:/me:pw@host` |
//! | in the path of a file, after the last slash before its first colon, if it has a second one | `/tmp/me:pw@host:x.git` |
//!
//! Such a path comes from a program that took an address for a path, and put the working directory
//! before it.

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

/// Returns a text in which `…` replaces each password of an address, as in `https://me:…@host`, and
/// each value of `password=`.
///
/// The text is divided into gaps (blanks, quotes and brackets) and what is between them. An address
/// ends at the next gap or, if a quote precedes it, at the closing quote.
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

/// Returns an address in which `…` replaces its password, and each value of `password=`:
/// `https://me:…@host` for `https://me:pw@host`.
///
/// The address is the whole text, even if there are spaces in it.
pub(crate) fn without_password(address: &str) -> String {
    let mut output = without_password_values(address, ends_value_in_address).into_owned();
    if let Some(password) = password_range(&output) {
        output.replace_range(password, "…");
    }
    output
}

/// Returns whether a character separates an address from other text: a blank or a quote.
fn is_gap(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '`')
}

/// Returns the length of the address at the start of `text`. `gap` is what precedes the address.
///
/// - After a quote, the address ends at the closing quote or at the end of the line: `a b` of
///   `a b' c`, if the gap ends in `'`.
/// - Otherwise, it ends at the next gap: `a` of `a b' c`.
/// - If this is within a password, as in `https://me:p w'x@host`, the address ends after the last
///   `@` of the line.
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
    // The password may contain an `@` itself, so the last one ends it.
    let line_after = text[end..].split('\n').next().unwrap_or_default();
    match line_after.rfind('@') {
        Some(at_sign) => end + at_sign + "@".len(),
        None => end,
    }
}

/// Returns whether an address was cut within its password, at a blank or a quote: `https://me:p` of
/// `https://me:p w@host`.
///
/// It was cut if a colon is in its login, and no `@` follows. Two kinds of text look like that and
/// are complete:
/// - A word such as `note:`. Only after a scheme, slashes or a folder can there be a login.
/// - A colon before a number, which is a port or a line: `https://host:8080/x`, `/tmp/a.md:3:1:`.
fn ends_within_password(address: &str) -> bool {
    let Some(start) = login_start(address) else {
        return false;
    };
    if start == 0 {
        return false;
    }
    let Some((_, password_or_port)) = address[start..].split_once(':') else {
        return false;
    };
    let port = password_or_port.split('/').next().unwrap_or_default();
    let is_port = port.chars().all(|c| c.is_ascii_digit() || c == ':');
    !is_port && !password_or_port.contains('@')
}

/// Returns the range of the secret in an address: `pw` of `https://me:pw@host`.
///
/// If the password is empty or `x-oauth-basic`, the user is a token of GitHub, so the range is that
/// of the whole login: `token:x-oauth-basic` of `https://token:x-oauth-basic@host`.
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
        login_start + colon + 1 // of `%3a`, `3a` is hidden, too
    };
    Some(secret_start..login_end)
}

/// Returns whether a text before an `@`, without a scheme, has words of a sentence, such as
/// `write NAME: @FILE`.
fn is_sentence(text: &str) -> bool {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    user.contains(char::is_whitespace) || password.starts_with(char::is_whitespace)
}

/// Returns the byte at which the login of an address may begin:
///
/// | address | byte |
/// |---|---|
/// | `git+https://me:pw@host` | 12, after the slashes |
/// | `https:me:pw@host` | 6, after a known scheme |
/// | `/tmp/me:pw@host:x.git` | 5, after the last slash before the first colon |
/// | `me:pw@host:x.git` | 0 |
/// | `file:///tmp/a:b@c`, `/tmp/a:b@c` | `None`: the path of a file |
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

/// Returns the offset after the first known scheme and its slashes: 7 for `https:/me:pw@host`.
///
/// The scheme must begin the address, or one of its path segments as in `/tmp/https:/me:pw@host`.
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

/// Returns whether an address is the path of a file.
fn is_path(address: &str) -> bool {
    let is_absolute = address.starts_with('/') && !address.starts_with("//");
    let is_on_a_drive = address.get(1..3) == Some(":\\");
    is_absolute || is_on_a_drive || address.starts_with(['.', '~', '\\'])
}

/// Returns the offset at which a login may begin in the path of a file:
///
/// - In `/tmp/x+https:/me:pw@host`, it begins after `:/`.
/// - In `/tmp/me:pw@host:x.git`, which has two colons and an `@`, it begins after the slash before
///   the first colon.
/// - A path with one colon, such as `/tmp/a:b@c`, has no login.
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

/// Returns a text in which `…` replaces each value of `password=`: `host=h password=… user=me` for
/// `host=h password='x y' user=me`.
///
/// A value without quotes ends before a character for which `ends_value` is true.
fn without_password_values(text: &str, ends_value: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains('=') {
        return text.into();
    }
    let mut output = String::new();
    let mut copy_start = 0; // what precedes this byte of `text` is in the output
    // Lower case of ASCII letters keeps all offsets.
    for (key_start, key) in text.to_ascii_lowercase().match_indices("password") {
        let Some(value) = value_range(text, key_start + key.len(), ends_value) else {
            continue;
        };
        if value.start < copy_start {
            continue; // the key is part of a value that is replaced already
        }
        output += &text[copy_start..value.start];
        output += "…";
        copy_start = value.end;
    }
    output += &text[copy_start..];
    output.into()
}

/// Returns whether a value of `password=` without quotes ends before this character, if the text is
/// an address and nothing else.
fn ends_value_in_address(character: char) -> bool {
    character == '&' || character.is_whitespace()
}

/// Returns whether a value of `password=` without quotes ends before this character, if the text
/// may have several addresses and other words.
fn ends_value_in_text(character: char) -> bool {
    character == '&' || is_gap(character)
}

/// Returns the range of the value after a key, which ends at the byte `key_end`; `None` if no `=`
/// follows the key:
///
/// | text | value |
/// |---|---|
/// | `password = 'x y' user=me` | `'x y'`, with its quotes |
/// | `password='x y` | `'x y`, because no quote closes it |
/// | `?password=x&sslmode=require` | `x` |
///
/// A value without quotes ends before a character for which `ends_value` is true.
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

/// Returns the offset of the first character at or after `start` that is not a space.
fn skip_spaces(text: &str, start: usize) -> usize {
    let after_spaces = text[start..].trim_start_matches(' ');
    text.len() - after_spaces.len()
}

/// Returns the length of the value in single quotes at the start of a text, with its quotes: 5 for
/// `'x y' user=me`. Without a closing quote, the value is the whole text.
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
