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
    let text = without_password_values(text, is_gap);
    if !text.contains('@') {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(start) = rest.find(|character| !is_gap(character)) {
        let (gap, after) = rest.split_at(start);
        let (address, following) = after.split_at(address_end(gap, after));
        shown += gap;
        shown += &without_password(address);
        rest = following;
    }
    shown += rest;
    shown.into()
}

/// Returns an address in which `…` replaces its password, and each value of `password=`.
pub(crate) fn without_password(address: &str) -> String {
    let mut shown = without_password_values(address, char::is_whitespace).into_owned();
    if let Some(password) = password_range(&shown) {
        shown.replace_range(password, "…");
    }
    shown
}

/// Returns whether a character separates an address from other text: a blank or a quote.
fn is_gap(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '`')
}

/// Returns the length of the address at the start of `text`. `gap` is what precedes the address.
///
/// A password may contain blanks and quotes, as in `https://me:p w'x@host`.
fn address_end(gap: &str, text: &str) -> usize {
    let end = match gap.chars().next_back() {
        Some(quote) if !quote.is_whitespace() => text.find([quote, '\n']),
        _ => text.find(is_gap),
    };
    let end = end.unwrap_or(text.len());
    if !ends_within_password(&text[..end]) {
        return end;
    }
    // The password goes on up to an `@`. It may contain an `@` itself, so the last one counts.
    let rest_of_line = text[end..].split('\n').next().unwrap_or_default();
    rest_of_line.rfind('@').map_or(end, |at| end + at + 1)
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

/// Returns the range of the password in an address: `pw` of `https://me:pw@host`.
fn password_range(address: &str) -> Option<Range<usize>> {
    let end = address.rfind('@')?;
    let start = login_start(address)?;
    let login = address.get(start..end)?;
    if start == 0 && is_sentence(login) {
        return None;
    }
    let colon = match login.find(':') {
        Some(colon) => colon,
        None => login.to_ascii_lowercase().find("%3a")?,
    };
    // GitHub accepts a token as the user, with this password or none. The token is the secret.
    let is_token = matches!(&login[colon..], ":" | ":x-oauth-basic");
    let hidden = if is_token { 0 } else { colon + 1 };
    Some(start + hidden..end)
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
    if let Some(at) = address.find("://") {
        let is_file = address[at..].starts_with(":///") && address[..at].ends_with("file");
        return (!is_file).then_some(at + "://".len());
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
    if let Some(at) = path.find(":/") {
        return Some(at + ":/".len());
    }
    let first_colon = path.find(':')?;
    let has_second_colon = path[first_colon + 1..].contains(':');
    if !has_second_colon || !path.contains('@') {
        return None;
    }
    let slash = path[..first_colon].rfind(['/', '\\']);
    Some(slash.map_or(0, |at| at + 1))
}

/// Returns a text in which `…` replaces each value of `password=`, as in `host=h password='x'` or
/// `?password=x&sslmode=require`. A value without quotes ends at `&`, or where `is_end` says so.
fn without_password_values(text: &str, is_end: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains('=') {
        return text.into();
    }
    let mut shown = String::new();
    let mut copied = 0;
    for (at, key) in text.to_ascii_lowercase().match_indices("assword") {
        let Some(value) = value_range(text, at + key.len(), is_end) else {
            continue;
        };
        if value.start < copied {
            continue; // the key is part of a value that is replaced already
        }
        shown += &text[copied..value.start];
        shown += "…";
        copied = value.end;
    }
    shown += &text[copied..];
    shown.into()
}

/// Returns the range of the value that follows the key ending at `key_end`, with its quotes: `'x'`
/// of `password='x'`, or `x` of `?password=x&sslmode=require`. `None` if no `=` follows the key.
///
/// `is_end` says which characters end a value without quotes, besides `&`.
fn value_range(text: &str, key_end: usize, is_end: fn(char) -> bool) -> Option<Range<usize>> {
    let after_key = text[key_end..].trim_start_matches(' ');
    let value = after_key.strip_prefix('=')?.trim_start_matches(' ');
    let value_start = text.len() - value.len();
    let length = match value.strip_prefix('\'') {
        Some(after_quote) => after_quote.find('\'').map(|inside| inside + "''".len()),
        None => value.find(|character| character == '&' || is_end(character)),
    };
    Some(value_start..value_start + length.unwrap_or(value.len()))
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
