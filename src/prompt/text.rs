//! The text of a file.

use super::diagnostic::{Diagnostic, Position};
use super::limits::MAX_FILE;
use crate::wording::too_long;

/// The text of a file, without its byte order mark.
///
/// # Errors
/// It is longer than [`MAX_FILE`], or not UTF-8.
pub(super) fn text_of(bytes: &[u8]) -> Result<&str, Diagnostic> {
    utf8_of(bytes).map(|text| text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The same with the mark.
pub(super) fn utf8_of(bytes: &[u8]) -> Result<&str, Diagnostic> {
    if bytes.len() > MAX_FILE {
        let fix =
            "keep the instructions here, and give the path of the material for the agent to read";
        return Err(Diagnostic::error(
            None,
            format!("the file is {}", too_long(bytes.len(), MAX_FILE)),
            fix,
        ));
    }
    std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))
}

/// The text of a file, as it is.
///
/// # Errors
/// It is not UTF-8.
pub fn owned_text(bytes: Vec<u8>) -> Result<String, Diagnostic> {
    String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// The diagnostic for a file of which only the first `valid_up_to` bytes are UTF-8.
pub fn not_utf8(bytes: &[u8], valid_up_to: usize) -> Diagnostic {
    let before = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    Diagnostic::error(
        Some(Position::in_text(&before, before.len(), 1)),
        if is_utf16 {
            "the file is UTF-16, not UTF-8"
        } else {
            "the file is not UTF-8 from here on"
        },
        "save it with the encoding UTF-8",
    )
}

/// At most the first `max` bytes of a text.
pub(super) fn beginning(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The body without the empty lines at its start and end, and how many were dropped at the
/// beginning.
pub(super) fn without_empty_ends(body: &str) -> (&str, usize) {
    let mut rest = body;
    let mut dropped = 0;
    while let Some((_, after)) = rest
        .split_once('\n')
        .filter(|(line, _)| line.trim().is_empty())
    {
        rest = after;
        dropped += 1;
    }
    if rest.trim().is_empty() {
        return ("", dropped);
    }
    let end = rest.trim_end().len();
    // The last line keeps the spaces at its end.
    let line_end = rest[end..]
        .find('\n')
        .map_or(rest.len(), |newline| end + newline);
    (&rest[..line_end], dropped)
}
