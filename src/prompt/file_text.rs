//! Decodes the contents of prompt files.

use super::diagnostic::{Diagnostic, Position};
use super::limits::MAX_FILE;
use crate::input::without_bom;
use crate::wording::size_and_limit;

/// Decodes the contents of a file, and strips the byte order mark.
///
/// # Errors
/// Fails if the file is longer than [`MAX_FILE`] or isn't UTF-8.
pub(super) fn decode_without_bom(bytes: &[u8]) -> Result<&str, Diagnostic> {
    let text = decode_utf8(bytes)?;
    Ok(without_bom(text))
}

/// Decodes the contents of a file. A byte order mark is kept.
///
/// # Errors
/// Fails if the file is longer than [`MAX_FILE`] or isn't UTF-8.
pub(super) fn decode_utf8(bytes: &[u8]) -> Result<&str, Diagnostic> {
    if bytes.len() > MAX_FILE {
        return Err(Diagnostic::invalid(
            format!("the file is {}", size_and_limit(bytes.len(), MAX_FILE)),
            "keep the instructions here, and give the path of the material for the agent to read",
        ));
    }
    std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))
}

/// Decodes the contents of a file of any length. A byte order mark is kept.
///
/// # Errors
/// Fails if the file isn't UTF-8.
pub fn decode_utf8_owned(bytes: Vec<u8>) -> Result<String, Diagnostic> {
    String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// Returns the error for a file that isn't UTF-8. `valid_up_to` is the offset of the first invalid
/// byte, where the error is reported.
pub fn not_utf8(bytes: &[u8], valid_up_to: usize) -> Diagnostic {
    let valid = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let position = Position::in_file_text(&valid, valid.len());
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let message = if is_utf16 {
        "the file is UTF-16, not UTF-8"
    } else {
        "the file is not UTF-8 from here on"
    };
    Diagnostic::error(Some(position), message, "save it with the encoding UTF-8")
}

/// Truncates a text to at most `max_bytes`, rounded down to a character boundary: `aé` to 2 bytes
/// is `a`.
pub(super) fn truncate_at_boundary(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The result of [`trim_blank_lines`].
pub(super) struct TrimmedBody<'t> {
    pub(super) text: &'t str,
    /// The number of lines that were removed at the start.
    pub(super) leading_blank_lines: usize,
}

/// Removes blank lines at the start and end of a body, and the line break of its last line. Other
/// spaces are kept: `\n  a \n\n` becomes `  a `.
pub(super) fn trim_blank_lines(body: &str) -> TrimmedBody<'_> {
    let mut text = body;
    let mut leading_blank_lines = 0;
    while let Some((line, lines_after)) = text.split_once('\n')
        && line.trim().is_empty()
    {
        text = lines_after;
        leading_blank_lines += 1;
    }
    let last_word_end = text.trim_end().len();
    if last_word_end == 0 {
        return TrimmedBody {
            text: "",
            leading_blank_lines,
        };
    }
    // Keep trailing spaces on the last line, but not its line break.
    if let Some(newline) = text[last_word_end..].find('\n') {
        text = &text[..last_word_end + newline];
    }
    TrimmedBody {
        text,
        leading_blank_lines,
    }
}
