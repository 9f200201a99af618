//! What a person types: keys, as terminals send them, and a line that is edited with them.

use memchr::memmem;
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// What a person does with the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    /// A text that is pasted.
    Pasted(String),
    /// A letter with Ctrl, or a key that does the same: Left is `b`, Right `f`, Home `a`, End `e`,
    /// Delete `d`.
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

/// What a terminal sends before and after a text that is pasted.
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// The first bytes of what a terminal has sent that belong together.
struct Sequence {
    length: usize,
    /// `None` if the bytes are not a key, such as the report of a click.
    key: Option<Key>,
}

impl Sequence {
    fn key(length: usize, key: Key) -> Sequence {
        Sequence {
            length,
            key: Some(key),
        }
    }

    fn ignored(length: usize) -> Sequence {
        Sequence { length, key: None }
    }
}

/// Takes the next key from the bytes that a terminal has sent, and drops bytes that are not a key.
/// Returns `None` if the bytes end before the end of a key.
///
/// `is_pause` says that the terminal sends no more bytes for now. Only then, a single escape byte is
/// the key Esc: otherwise, it may be the first byte of another key, such as `ESC [ A` for Up.
pub(super) fn next(bytes: &mut Vec<u8>, is_pause: bool) -> Option<Key> {
    while !bytes.is_empty() {
        let sequence = first_sequence(bytes, is_pause)?;
        bytes.drain(..sequence.length);
        if sequence.key.is_some() {
            return sequence.key;
        }
    }
    None
}

/// Returns the first sequence of `bytes`, which must not be empty; `None` if its end is missing,
/// and may still arrive.
fn first_sequence(bytes: &[u8], is_pause: bool) -> Option<Sequence> {
    let key = match bytes[0] {
        0x1b => return escape_sequence(bytes, is_pause),
        b'\r' => Key::Enter,
        b'\n' => Key::NewLine,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        byte @ 1..=26 => Key::Control(char::from(b'a' + byte - 1)), // 1 is Ctrl-A, 26 is Ctrl-Z
        _ => return character(bytes, is_pause),
    };
    Some(Sequence::key(1, key))
}

/// The most bytes that a character has in UTF-8.
const MAX_UTF8_LENGTH: usize = 4;

/// Returns the first character of `bytes` as a key; `None` if its last byte is missing, and may
/// still arrive. A control character is ignored, and so is a byte that is not UTF-8.
fn character(bytes: &[u8], is_pause: bool) -> Option<Sequence> {
    let bytes = &bytes[..bytes.len().min(MAX_UTF8_LENGTH)];
    let valid_text = bytes.utf8_chunks().next()?.valid();
    let Some(character) = valid_text.chars().next() else {
        let is_incomplete = bytes.len() < MAX_UTF8_LENGTH && !is_pause;
        if is_incomplete {
            return None;
        }
        return Some(Sequence::ignored(1));
    };
    let length = character.len_utf8();
    if character.is_control() {
        return Some(Sequence::ignored(length));
    }
    Some(Sequence::key(length, Key::Character(character)))
}

/// Returns the sequence at the start of `bytes`, which begin with an escape byte; `None` if its end
/// is missing, and may still arrive. These sequences exist:
///
/// ```text
/// ESC                    the key Esc
/// ESC Enter              Alt-Enter
/// ESC O A                a key: Up
/// ESC [ 3 ~              a key with parameters: Delete
/// ESC [ 200 ~ TEXT …     a pasted text
/// ```
fn escape_sequence(bytes: &[u8], is_pause: bool) -> Option<Sequence> {
    if bytes.len() == 1 {
        return is_pause.then_some(Sequence::key(1, Key::Escape));
    }
    if bytes.starts_with(PASTE_START) {
        return pasted_text(bytes);
    }
    let last_index = match bytes[1] {
        b'\r' | b'\n' => return Some(Sequence::key(2, Key::NewLine)), // Alt-Enter
        b'O' => 2,
        b'[' => end_of_parameters(bytes),
        // Esc and then a key, or Alt with a key, which sends the same bytes.
        _ => return Some(Sequence::key(1, Key::Escape)),
    };
    let Some(last_byte) = bytes.get(last_index) else {
        return is_pause.then_some(Sequence::ignored(bytes.len()));
    };
    Some(Sequence {
        length: last_index + 1,
        key: key_of_sequence(bytes[1], &bytes[2..last_index], *last_byte),
    })
}

/// Returns the pasted text at the start of `bytes`, which begin with [`PASTE_START`]; `None` if
/// [`PASTE_END`] is missing, and may still arrive. Terminals paste a line break as `\r`.
fn pasted_text(bytes: &[u8]) -> Option<Sequence> {
    let start = PASTE_START.len();
    let end = start + memmem::find(&bytes[start..], PASTE_END)?;
    let text = String::from_utf8_lossy(&bytes[start..end]);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Some(Sequence::key(end + PASTE_END.len(), Key::Pasted(text)))
}

/// Returns the index of the byte that ends a sequence `ESC [ PARAMETERS`: the first byte from `@`
/// to `~`. In `ESC [ 1 ; 5 C`, that is `C`, at 5. Returns the length if there is no such byte.
fn end_of_parameters(bytes: &[u8]) -> usize {
    let mut end = 2;
    while end < bytes.len() && !(b'@'..=b'~').contains(&bytes[end]) {
        end += 1;
    }
    end
}

/// Returns the key of a sequence such as `ESC [ 3 ~`: its introducer (`[` or `O`), the parameters
/// and the last byte. `None` for other reports of a terminal.
fn key_of_sequence(introducer: u8, parameters: &[u8], last: u8) -> Option<Key> {
    let key = match (last, parameters) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Control('f'),
        (b'D', _) => Key::Control('b'),
        (b'H', _) | (b'~', b"1" | b"7") => Key::Control('a'),
        (b'F', _) | (b'~', b"4" | b"8") => Key::Control('e'),
        (b'Z', _) => Key::BackTab,
        (b'M', b"") if introducer == b'O' => Key::Enter, // of the number pad
        (b'~', b"3") => Key::Control('d'),
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => return None,
    };
    Some(key)
}

/// A text that is being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TypedText {
    pub(super) text: String,
    /// The index of the byte that the cursor is before.
    pub(super) cursor: usize,
}

impl TypedText {
    /// Returns a text with the cursor at its end.
    pub(super) fn new(text: impl Into<String>) -> TypedText {
        let text = text.into();
        TypedText {
            cursor: text.len(),
            text,
        }
    }

    /// Edits the text or moves the cursor, as a shell does after this key: Ctrl-W deletes the word
    /// before the cursor, Ctrl-K the text after it. Returns whether the text has changed.
    pub(super) fn edit(&mut self, key: &Key) -> bool {
        let cursor = self.cursor;
        let end = self.text.len();
        match key {
            Key::Control('b') => self.move_to(self.left()),
            Key::Control('f') => self.move_to(self.right()),
            Key::Control('a') => self.move_to(0),
            Key::Control('e') => self.move_to(end),
            Key::Backspace => self.delete(self.left()..cursor),
            Key::Control('d') => self.delete(cursor..self.right()),
            Key::Control('u') => self.delete(0..cursor),
            Key::Control('k') => self.delete(cursor..end),
            Key::Control('w') => self.delete(self.start_of_word()..cursor),
            Key::Character(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            Key::Pasted(text) => self.insert(text),
            Key::NewLine => self.insert("\n"),
            _ => false,
        }
    }

    /// Moves the cursor. Returns false, because the text has not changed.
    fn move_to(&mut self, position: usize) -> bool {
        self.cursor = position;
        false
    }

    /// Deletes these bytes, and moves the cursor to their place. Returns whether there were any.
    fn delete(&mut self, range: Range<usize>) -> bool {
        let is_changed = !range.is_empty();
        self.cursor = range.start;
        self.text.replace_range(range, "");
        is_changed
    }

    /// Inserts a text before the cursor. Returns whether the text has any characters.
    fn insert(&mut self, text: &str) -> bool {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        !text.is_empty()
    }

    /// Returns the position one shown character before the cursor. A character without a width,
    /// such as an accent, belongs to the one before it.
    fn left(&self) -> usize {
        let mut characters = self.text[..self.cursor].char_indices().rev();
        let character = characters.find(|(_, character)| has_width(*character));
        character.map_or(0, |(position, _)| position)
    }

    /// Returns the position one shown character after the cursor.
    fn right(&self) -> usize {
        let mut characters = self.text[self.cursor..].char_indices().skip(1);
        let character = characters.find(|(_, character)| has_width(*character));
        character.map_or(self.text.len(), |(position, _)| self.cursor + position)
    }

    /// Returns the position at which the word before the cursor begins. Spaces between that word
    /// and the cursor are skipped: with the cursor at the end of `one two  `, it is 4.
    fn start_of_word(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before
            .trim_end_matches(|letter: char| !letter.is_whitespace())
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
        std::iter::from_fn(|| next(&mut bytes, true)).collect()
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
                let key = next(&mut received, false);
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
