//! What a person types: keys, as terminals send them, and a line that is edited with them.

use unicode_width::UnicodeWidthChar;

/// What a person does with the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    /// Several characters at once.
    Pasted(String),
    Control(char),
    Enter,
    /// Ctrl-J or Alt-Enter.
    NewLine,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
}

/// What a terminal sends around a text that is pasted.
const PASTE: [&[u8]; 2] = [b"\x1b[200~", b"\x1b[201~"];

/// Takes the next key from the bytes that a terminal has sent; `None` if they are incomplete. What is no key is dropped. `is_all` says
/// that nothing follows for now, so that a lone escape is a key.
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
        byte if byte < b' ' => return Some((1, None)),
        _ => return character(bytes, is_all),
    };
    Some((1, Some(key)))
}

fn character(bytes: &[u8], is_all: bool) -> Option<(usize, Option<Key>)> {
    let most = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(most) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&most[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(character) => {
            let key = (!character.is_control()).then_some(Key::Character(character));
            Some((character.len_utf8(), key))
        }
        None => (is_all || most.len() == 4).then_some((1, None)),
    }
}

/// A sequence that begins with an escape.
fn sequence(bytes: &[u8], is_all: bool) -> Option<(usize, Option<Key>)> {
    if bytes.starts_with(PASTE[0]) {
        let start = PASTE[0].len();
        let end = start + bytes[start..].windows(PASTE[1].len()).position(|window| window == PASTE[1])?;
        let text = String::from_utf8_lossy(&bytes[start..end]).replace("\r\n", "\n").replace('\r', "\n");
        return Some((end + PASTE[1].len(), Some(Key::Pasted(text))));
    }
    let (end, parameters) = match bytes[1] {
        b'\r' | b'\n' => return Some((2, Some(Key::NewLine))),
        b'O' => (2, 2),
        b'[' => {
            (bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)).map_or(bytes.len(), |at| at + 2), 2)
        }
        _ => return Some((1, Some(Key::Escape))), // Alt and a key, or an escape before it
    };
    let Some(last) = bytes.get(end) else { return is_all.then_some((bytes.len(), None)) };
    let key = match (last, &bytes[parameters..end]) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b"1" | b"7") => Key::Home,
        (b'F', _) | (b'~', b"4" | b"8") => Key::End,
        (b'Z', _) => Key::BackTab,
        (b'M', b"") if bytes[1] == b'O' => Key::Enter, // of the number pad
        (b'~', b"3") => Key::Delete,
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
        Input { cursor: text.len(), text }
    }

    /// Changes the text or moves the cursor, if the key does so; returns whether the text was changed.
    pub(super) fn edit(&mut self, key: &Key) -> bool {
        let (before, after) = self.text.split_at(self.cursor);
        let is_base = |character: &char| character.width().unwrap_or(0) > 0; // others are shown with the one before them
        let left = before.char_indices().rev().find(|(_, character)| is_base(character)).map_or(0, |(at, _)| at);
        let right = after.char_indices().skip(1).find(|(_, character)| is_base(character));
        let right = right.map_or(self.text.len(), |(at, _)| self.cursor + at);
        let word = before.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let removed = match key {
            Key::Backspace => left..self.cursor,
            Key::Delete | Key::Control('d') => self.cursor..right,
            Key::Control('u') => 0..self.cursor,
            Key::Control('k') => self.cursor..self.text.len(),
            Key::Control('w') => word..self.cursor,
            Key::Character(character) => return self.insert(&character.to_string()),
            Key::Pasted(text) => return self.insert(text),
            Key::NewLine => return self.insert("\n"),
            Key::Left | Key::Control('b') => return self.set_cursor(left),
            Key::Right | Key::Control('f') => return self.set_cursor(right),
            Key::Home | Key::Control('a') => return self.set_cursor(0),
            Key::End | Key::Control('e') => return self.set_cursor(self.text.len()),
            _ => return false,
        };
        self.cursor = removed.start;
        let is_changed = !removed.is_empty();
        self.text.replace_range(removed, "");
        is_changed
    }

    fn insert(&mut self, text: &str) -> bool {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        true
    }

    fn set_cursor(&mut self, at: usize) -> bool {
        self.cursor = at;
        false
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
                vec![Key::Character('a'), Key::Enter, Key::NewLine, Key::Tab, Key::Backspace, Key::Control('u')],
            ),
            ("é要😀".as_bytes(), letters("é要😀")),
            (b"\x1b", vec![Key::Escape]),
            (b"\x1b\r", vec![Key::NewLine]),
            (b"\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[Z", vec![Key::Up, Key::Down, Key::Right, Key::Delete, Key::BackTab]),
            (b"\x1b[Ix\x1b[?1;2cy\x1b[<0;1;1Mz", letters("xyz")),
            (b"\x1b[200~a\r\nb\x1bc\x1b[201~d", vec![Key::Pasted("a\nb\x1bc".into()), Key::Character('d')]),
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
                assert_eq!(key, (index + 1 == bytes.len()).then(|| want.clone()), "{bytes:?}");
            }
        }
    }

    #[test]
    fn a_line_is_edited_by_characters_as_they_are_shown() {
        let mut input = Input::of("a e\u{301}要");
        for (key, text, cursor) in [
            (Key::Left, "a e\u{301}要", 5),
            (Key::Backspace, "a 要", 2),
            (Key::Control('w'), "要", 0),
            (Key::Character('x'), "x要", 1),
            (Key::Pasted("y\nz".into()), "xy\nz要", 4),
            (Key::Delete, "xy\nz", 4),
            (Key::Delete, "xy\nz", 4),
            (Key::Home, "xy\nz", 0),
            (Key::Left, "xy\nz", 0),
            (Key::Control('k'), "", 0),
            (Key::Backspace, "", 0),
        ] {
            input.edit(&key);
            assert_eq!((input.text.as_str(), input.cursor), (text, cursor), "{key:?}");
        }
    }
}
