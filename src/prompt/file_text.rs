//! The text of a file.

use super::diagnostic::{Diagnostic, Position};
use super::limits::MAX_FILE;
use crate::input::without_bom;
use crate::wording::size_and_limit;

/// Returns the text of a file, without its byte order mark.
///
/// # Errors
/// Fails if the file is longer than [`MAX_FILE`], or not UTF-8.
pub(super) fn decode_without_bom(bytes: &[u8]) -> Result<&str, Diagnostic> {
    let text = decode_utf8(bytes)?;
    Ok(without_bom(text))
}

/// Returns the text of a file, with its byte order mark.
///
/// # Errors
/// Fails if the file is longer than [`MAX_FILE`], or not UTF-8.
pub(super) fn decode_utf8(bytes: &[u8]) -> Result<&str, Diagnostic> {
    if bytes.len() > MAX_FILE {
        return Err(Diagnostic::error(
            None,
            format!("the file is {}", size_and_limit(bytes.len(), MAX_FILE)),
            "keep the instructions here, and give the path of the material for the agent to read",
        ));
    }
    std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))
}

/// Returns the text of a file of any length, with its byte order mark.
///
/// # Errors
/// It is not UTF-8.
pub fn decode_utf8_owned(bytes: Vec<u8>) -> Result<String, Diagnostic> {
    String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// Returns the error about a file that is not UTF-8, at the position of the first wrong byte.
/// `valid_up_to` is the number of the bytes before it.
pub fn not_utf8(bytes: &[u8], valid_up_to: usize) -> Diagnostic {
    let valid = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let position = Position::in_text(&valid, valid.len(), 1);
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let message = if is_utf16 {
        "the file is UTF-16, not UTF-8"
    } else {
        "the file is not UTF-8 from here on"
    };
    Diagnostic::error(Some(position), message, "save it with the encoding UTF-8")
}

/// Returns at most the first `max` bytes of a text, without a part of a character: `a` for the first
/// two bytes of `aé`.
pub(super) fn truncate_at_boundary(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A body without the empty lines at its start and end.
pub(super) struct TrimmedBody<'t> {
    pub(super) text: &'t str,
    /// How many lines at the start were dropped.
    pub(super) dropped: usize,
}

/// Drops the empty lines at the start and end of a body, and the line break of its last line: one
/// line is dropped before the text `  a ` in `\n  a \n\n`. A line of spaces is empty, too.
pub(super) fn trim_blank_lines(body: &str) -> TrimmedBody<'_> {
    let mut text = body;
    let mut dropped = 0;
    while let Some((line, lines_after)) = text.split_once('\n')
        && line.trim().is_empty()
    {
        text = lines_after;
        dropped += 1;
    }
    let last_word_end = text.trim_end().len();
    if last_word_end == 0 {
        return TrimmedBody { text: "", dropped };
    }
    // The last line keeps the spaces at its end.
    if let Some(newline) = text[last_word_end..].find('\n') {
        text = &text[..last_word_end + newline];
    }
    TrimmedBody { text, dropped }
}
