//! What a person types: keys, as terminals send them, and a line that is edited with them.

use memchr::memmem;
use unicode_width::UnicodeWidthChar;

/// What a person does with the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    /// Several characters at once.
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

/// What a terminal sends around a text that is pasted.
const PASTE: [&[u8]; 2] = [b"\x1b[200~", b"\x1b[201~"];

/// Takes the next key from the bytes that a terminal has sent; `None` if they are incomplete. What
/// is no key is dropped. `is_all` says that nothing follows for now, so that a lone escape is a
/// key.
pub(super) fn next(bytes: &mut Vec<u8>, is_all: bool) -> Option<Key> {
    while !bytes.is_empty() {
        let (length, key) = first(bytes, is_all)?;
        bytes.drain(..length);
        if key.is_some() {
            return key;
        }
    }
    None
}

/// The length of the first sequence of bytes, and its key if it is one.
fn first(bytes: &[u8], is_all: bool) -> Option<(usize, Option<Key>)> {
    let key = match bytes[0] {
        0x1b if bytes.len() == 1 => return is_all.then_some((1, Some(Key::Escape))),
        0x1b => return sequence(bytes, is_all),
        b'\r' => Key::Enter,
        b'\n' => Key::NewLine,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        byte @ 1..=0x1a => Key::Control(char::from(byte + 0x60)),
        _ => return character(bytes, is_all),
    };
    Some((1, Some(key)))
}

fn character(bytes: &[u8], is_all: bool) -> Option<(usize, Option<Key>)> {
    let first = &bytes[..bytes.len().min(4)];
    match first.utf8_chunks().next()?.valid().chars().next() {
        Some(letter) => Some((
            letter.len_utf8(),
            (!letter.is_control()).then_some(Key::Character(letter)),
        )),
        None => (is_all || first.len() == 4).then_some((1, None)),
    }
}

/// A sequence that begins with an escape.
fn sequence(bytes: &[u8], is_all: bool) -> Option<(usize, Option<Key>)> {
    if bytes.starts_with(PASTE[0]) {
        let start = PASTE[0].len();
        let end = start + memmem::find(&bytes[start..], PASTE[1])?;
        let text = String::from_utf8_lossy(&bytes[start..end])
            .replace("\r\n", "\n")
            .replace('\r', "\n");
        return Some((end + PASTE[1].len(), Some(Key::Pasted(text))));
    }
    let end = match bytes[1] {
        b'\r' | b'\n' => return Some((2, Some(Key::NewLine))),
        b'O' => 2,
        b'[' => bytes
            .iter()
            .skip(2)
            .position(|byte| (0x40..=0x7e).contains(byte))
            .map_or(bytes.len(), |at| at + 2),
        _ => return Some((1, Some(Key::Escape))), // Alt and a key, or an escape before it
    };
    let Some(last) = bytes.get(end) else {
        return is_all.then_some((bytes.len(), None));
    };
    let key = match (last, &bytes[2..end]) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Control('f'),
        (b'D', _) => Key::Control('b'),
        (b'H', _) | (b'~', b"1" | b"7") => Key::Control('a'),
        (b'F', _) | (b'~', b"4" | b"8") => Key::Control('e'),
        (b'Z', _) => Key::BackTab,
        (b'M', b"") if bytes[1] == b'O' => Key::Enter, // of the number pad
        (b'~', b"3") => Key::Control('d'),
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => return Some((end + 1, None)),
    };
    Some((end + 1, Some(key)))
}

/// A text that is being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) text: String,
    /// The byte that the cursor is before.
    pub(super) cursor: usize,
}

impl Input {
    /// A text with the cursor at its end.
    pub(super) fn of(text: impl Into<String>) -> Input {
        let text = text.into();
        Input {
            cursor: text.len(),
            text,
        }
    }

    /// Changes the text or moves the cursor, if the key does so; returns whether the text was
    /// changed.
    pub(super) fn edit(&mut self, key: &Key) -> bool {
        let (at, end, mut buffer) = (self.cursor, self.text.len(), [0; 4]);
        let (before, after) = self.text.split_at(at);
        let is_base = |character: &char| character.width().unwrap_or(0) > 0; // others are shown with the one before them
        let left = before
            .char_indices()
            .rev()
            .find(|(_, character)| is_base(character))
            .map_or(0, |(left, _)| left);
        let right = after
            .char_indices()
            .skip(1)
            .find(|(_, character)| is_base(character));
        let right = right.map_or(end, |(right, _)| at + right);
        let word = before
            .trim_end()
            .trim_end_matches(|character: char| !character.is_whitespace())
            .len();
        // A key that moves the cursor replaces nothing at another position.
        let (range, text) = match key {
            Key::Backspace => (left..at, ""),
            Key::Control('d') => (at..right, ""),
            Key::Control('u') => (0..at, ""),
            Key::Control('k') => (at..end, ""),
            Key::Control('w') => (word..at, ""),
            Key::Character(character) => (at..at, &*character.encode_utf8(&mut buffer)),
            Key::Pasted(text) => (at..at, text.as_str()),
            Key::NewLine => (at..at, "\n"),
            Key::Control('b') => (left..left, ""),
            Key::Control('f') => (right..right, ""),
            Key::Control('a') => (0..0, ""),
            Key::Control('e') => (end..end, ""),
            _ => return false,
        };
        let is_changed = !range.is_empty() || !text.is_empty();
        self.cursor = range.start + text.len();
        self.text.replace_range(range, text);
        is_changed
    }
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
        let mut input = Input::of("a e\u{301}要");
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
