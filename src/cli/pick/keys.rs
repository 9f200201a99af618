//! Decodes the keys that a terminal sends, and edits text with them.

use memchr::memmem;
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// A key that was pressed, or a text that was pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    Pasted(String),
    /// Ctrl with a letter. Also stands for keys with the same meaning: Left is `b`, Right is `f`,
    /// Home is `a`, End is `e`, and Delete is `d`.
    Control(char),
    Enter,
    /// Ctrl-J or Alt-Enter.
    NewLine,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
}

/// What a terminal sends before and after a pasted text.
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// A complete byte sequence at the start of the received bytes.
struct Sequence {
    byte_count: usize,
    /// `None` if the sequence isn't a key, e.g. a mouse report.
    key: Option<Key>,
}

impl Sequence {
    fn key(byte_count: usize, key: Key) -> Sequence {
        Sequence {
            byte_count,
            key: Some(key),
        }
    }

    fn ignored(byte_count: usize) -> Sequence {
        Sequence {
            byte_count,
            key: None,
        }
    }
}

/// Removes the next key from the received bytes, and skips sequences that aren't keys. Returns
/// `None` if there is no complete key yet.
///
/// `has_paused` says that no more bytes have arrived for a while. A lone escape byte is then the
/// key Esc. Before, it could still be the start of another key, e.g. `ESC [ A` for Up.
pub(super) fn take_key(bytes: &mut Vec<u8>, has_paused: bool) -> Option<Key> {
    while !bytes.is_empty() {
        let sequence = first_sequence(bytes, has_paused)?;
        bytes.drain(..sequence.byte_count);
        if sequence.key.is_some() {
            return sequence.key;
        }
    }
    None
}

/// Decodes the first sequence in `bytes`. Returns `None` if the sequence is incomplete, and the
/// rest may still arrive.
///
/// # Panics
/// Panics if `bytes` is empty.
fn first_sequence(bytes: &[u8], has_paused: bool) -> Option<Sequence> {
    let key = match bytes[0] {
        0x1b => return escape_sequence(bytes, has_paused),
        b'\r' => Key::Enter,
        b'\n' => Key::NewLine,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        byte @ 1..=26 => Key::Control(char::from(b'a' + byte - 1)), // 1 is Ctrl-A, 26 is Ctrl-Z
        _ => return character(bytes, has_paused),
    };
    Some(Sequence::key(1, key))
}

/// The maximum number of bytes of a character in UTF-8.
const MAX_UTF8_BYTES: usize = 4;

/// Decodes the first character in `bytes`. Ignores control characters and bytes that aren't UTF-8.
/// Returns `None` if the character is incomplete, and the rest may still arrive.
fn character(bytes: &[u8], has_paused: bool) -> Option<Sequence> {
    let bytes = &bytes[..bytes.len().min(MAX_UTF8_BYTES)];
    let valid_text = bytes.utf8_chunks().next()?.valid();
    let Some(character) = valid_text.chars().next() else {
        let may_be_incomplete = bytes.len() < MAX_UTF8_BYTES && !has_paused;
        if may_be_incomplete {
            return None;
        }
        return Some(Sequence::ignored(1));
    };
    let byte_count = character.len_utf8();
    if character.is_control() {
        return Some(Sequence::ignored(byte_count));
    }
    Some(Sequence::key(byte_count, Key::Character(character)))
}

/// Decodes the sequence at the start of `bytes`, which must begin with an escape byte. Returns
/// `None` if the sequence is incomplete, and the rest may still arrive.
///
/// ```text
/// ESC                    the key Esc
/// ESC Enter              Alt-Enter
/// ESC O A                a key: Up
/// ESC [ 3 ~              a key with parameters: Delete
/// ESC [ 200 ~ TEXT …     a pasted text
/// ```
fn escape_sequence(bytes: &[u8], has_paused: bool) -> Option<Sequence> {
    if bytes.len() == 1 {
        return has_paused.then_some(Sequence::key(1, Key::Escape));
    }
    if bytes.starts_with(PASTE_START) {
        return pasted_text(bytes);
    }
    let last_index = match bytes[1] {
        b'\r' | b'\n' => return Some(Sequence::key(2, Key::NewLine)), // Alt-Enter
        b'O' => 2,
        b'[' => final_byte_index(bytes),
        // Either Esc followed by another key, or Alt with a key. Both send the same bytes.
        _ => return Some(Sequence::key(1, Key::Escape)),
    };
    let Some(last_byte) = bytes.get(last_index) else {
        return has_paused.then_some(Sequence::ignored(bytes.len()));
    };
    Some(Sequence {
        byte_count: last_index + 1,
        key: decode_sequence(bytes[1], &bytes[2..last_index], *last_byte),
    })
}

/// Decodes a pasted text at the start of `bytes`, which must begin with [`PASTE_START`]. Returns
/// `None` if [`PASTE_END`] hasn't arrived yet.
fn pasted_text(bytes: &[u8]) -> Option<Sequence> {
    let start = PASTE_START.len();
    let end = start + memmem::find(&bytes[start..], PASTE_END)?;
    let text = String::from_utf8_lossy(&bytes[start..end]);
    let text = text.replace("\r\n", "\n").replace('\r', "\n"); // terminals send `\r`
    Some(Sequence::key(end + PASTE_END.len(), Key::Pasted(text)))
}

/// Returns the index of the final byte of a sequence that begins with `ESC [`, e.g. 5 (the `C`) for
/// `ESC [ 1 ; 5 C`. Returns the length if the final byte is missing.
fn final_byte_index(bytes: &[u8]) -> usize {
    let mut index = 2;
    while index < bytes.len() && !(b'@'..=b'~').contains(&bytes[index]) {
        index += 1;
    }
    index
}

/// Decodes a sequence such as `ESC [ 3 ~`, which consists of an introducer (`[` or `O`), parameters
/// and a final byte. Returns `None` if it isn't a key.
fn decode_sequence(introducer: u8, parameters: &[u8], last: u8) -> Option<Key> {
    let key = match (last, parameters) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Control('f'),
        (b'D', _) => Key::Control('b'),
        (b'H', _) | (b'~', b"1" | b"7") => Key::Control('a'),
        (b'F', _) | (b'~', b"4" | b"8") => Key::Control('e'),
        (b'Z', _) => Key::BackTab,
        (b'M', b"") if introducer == b'O' => Key::Enter, // on the numeric keypad
        (b'~', b"3") => Key::Control('d'),
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => return None,
    };
    Some(key)
}

/// An editable text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TypedText {
    pub(super) text: String,
    /// The byte offset of the cursor in `text`.
    pub(super) cursor: usize,
}

impl TypedText {
    /// Puts the cursor at the end of the text.
    pub(super) fn new(text: impl Into<String>) -> TypedText {
        let text = text.into();
        TypedText {
            cursor: text.len(),
            text,
        }
    }

    /// Edits the text or moves the cursor with the key bindings of a shell, e.g. Ctrl-W deletes the
    /// word before the cursor. Returns whether the text has changed.
    pub(super) fn edit(&mut self, key: &Key) -> bool {
        let cursor = self.cursor;
        let end = self.text.len();
        match key {
            Key::Control('b') => self.move_to(self.previous_position()),
            Key::Control('f') => self.move_to(self.next_position()),
            Key::Control('a') => self.move_to(0),
            Key::Control('e') => self.move_to(end),
            Key::Backspace => self.delete(self.previous_position()..cursor),
            Key::Control('d') => self.delete(cursor..self.next_position()),
            Key::Control('u') => self.delete(0..cursor),
            Key::Control('k') => self.delete(cursor..end),
            Key::Control('w') => self.delete(self.word_start()..cursor),
            Key::Character(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            Key::Pasted(text) => self.insert(text),
            Key::NewLine => self.insert("\n"),
            _ => false,
        }
    }

    /// Moves the cursor. Returns false, because that doesn't change the text.
    fn move_to(&mut self, offset: usize) -> bool {
        self.cursor = offset;
        false
    }

    /// Deletes a range of bytes, and moves the cursor there. Returns whether the text has changed.
    fn delete(&mut self, range: Range<usize>) -> bool {
        let is_changed = !range.is_empty();
        self.cursor = range.start;
        self.text.replace_range(range, "");
        is_changed
    }

    /// Inserts a text at the cursor, and moves the cursor behind it. Returns whether the text has
    /// changed.
    fn insert(&mut self, text: &str) -> bool {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        !text.is_empty()
    }

    /// Returns the byte offset of the character before the cursor. A combining character, e.g. an
    /// accent, counts as part of the character that it follows.
    fn previous_position(&self) -> usize {
        let mut characters = self.text[..self.cursor].char_indices().rev();
        let previous = characters.find(|(_, character)| has_width(*character));
        previous.map_or(0, |(offset, _)| offset)
    }

    /// Returns the byte offset behind the character at the cursor, including its combining
    /// characters.
    fn next_position(&self) -> usize {
        let mut characters = self.text[self.cursor..].char_indices().skip(1);
        let next = characters.find(|(_, character)| has_width(*character));
        next.map_or(self.text.len(), |(offset, _)| self.cursor + offset)
    }

    /// Returns the byte offset of the word before the cursor. Skips spaces between the word and the
    /// cursor: returns 4 if the cursor is at the end of `one two  `.
    fn word_start(&self) -> usize {
        let text_before = self.text[..self.cursor].trim_end();
        text_before
            .trim_end_matches(|character: char| !character.is_whitespace())
            .len()
    }
}

fn has_width(character: char) -> bool {
    character.width().unwrap_or(0) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut bytes = bytes.to_vec();
        std::iter::from_fn(|| take_key(&mut bytes, true)).collect()
    }

    #[test]
    fn bytes_of_a_terminal_are_keys_and_what_is_none_is_dropped() {
        let letters = |text: &str| text.chars().map(Key::Character).collect::<Vec<_>>();
        for (bytes, want) in [
            (
                &b"a\r\n\t\x7f\x15"[..],
                vec![
                    Key::Character('a'),
                    Key::Enter,
                    Key::NewLine,
                    Key::Tab,
                    Key::Backspace,
                    Key::Control('u'),
                ],
            ),
            ("é要😀".as_bytes(), letters("é要😀")),
            (b"\x1b", vec![Key::Escape]),
            (b"\x1b\r", vec![Key::NewLine]),
            (
                b"\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[Z",
                vec![
                    Key::Up,
                    Key::Down,
                    Key::Control('f'),
                    Key::Control('d'),
                    Key::BackTab,
                ],
            ),
            (b"\x1b[Ix\x1b[?1;2cy\x1b[<0;1;1Mz", letters("xyz")),
            (
                b"\x1b[200~a\r\nb\x1bc\x1b[201~d",
                vec![Key::Pasted("a\nb\x1bc".into()), Key::Character('d')],
            ),
            (b"\xff\xc3a\0b", letters("ab")),
            (b"\x1b[12", vec![]),
        ] {
            assert_eq!(keys(bytes), want, "{bytes:?}");
        }
    }

    #[test]
    fn a_key_whose_bytes_arrive_one_by_one_is_one_key() {
        for (bytes, want) in [
            ("要".as_bytes(), Key::Character('要')),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[200~a\x1b[201~", Key::Pasted("a".into())),
        ] {
            let mut received = Vec::new();
            for (index, byte) in bytes.iter().enumerate() {
                received.push(*byte);
                let key = take_key(&mut received, false);
                assert_eq!(
                    key,
                    (index + 1 == bytes.len()).then(|| want.clone()),
                    "{bytes:?}"
                );
            }
        }
    }

    #[test]
    fn a_line_is_edited_by_characters_as_they_are_shown() {
        let mut input = TypedText::new("a e\u{301}要");
        for (key, text, cursor) in [
            (Key::Control('b'), "a e\u{301}要", 5),
            (Key::Backspace, "a 要", 2),
            (Key::Control('w'), "要", 0),
            (Key::Pasted("b\u{3000}c".into()), "b\u{3000}c要", 5),
            (Key::Control('w'), "b\u{3000}要", 4),
            (Key::Control('u'), "要", 0),
            (Key::Character('x'), "x要", 1),
            (Key::Pasted("y\nz".into()), "xy\nz要", 4),
            (Key::Control('d'), "xy\nz", 4),
            (Key::Control('d'), "xy\nz", 4),
            (Key::Control('a'), "xy\nz", 0),
            (Key::Control('b'), "xy\nz", 0),
            (Key::Control('k'), "", 0),
            (Key::Backspace, "", 0),
        ] {
            input.edit(&key);
            assert_eq!(
                (input.text.as_str(), input.cursor),
                (text, cursor),
                "{key:?}"
            );
        }
    }
}
