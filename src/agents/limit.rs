//! How much of an expansion an agent shows its model.

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes in UTF-8.
    Bytes,
    /// Unicode scalar values.
    Characters,
    /// Units of UTF-16, as JavaScript counts.
    Utf16,
}

impl Unit {
    /// The name that is shown.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Characters => "characters",
            Unit::Utf16 => "UTF-16 units",
        }
    }

    /// The length of a text in this unit.
    pub fn count(self, text: &str) -> usize {
        match self {
            Unit::Bytes => text.len(), // most of what a hook counts
            _ => text.chars().map(|character| self.of(character)).sum(),
        }
    }

    /// The length of a character in this unit.
    pub fn of(self, character: char) -> usize {
        match self {
            Unit::Bytes => character.len_utf8(),
            Unit::Characters => 1,
            Unit::Utf16 => character.len_utf16(),
        }
    }
}

/// The longest result of `expand_prompt` in one part: the object `{"prompt":"…"}` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimit {
    /// Its length.
    pub max: usize,
    /// The unit of `max`.
    pub unit: Unit,
    /// Whether a program that the model wrote may print the whole result, which has the object
    /// twice, once more encoded as a JSON string. The mean of the two lengths counts then.
    pub is_printed: bool,
}

impl PartLimit {
    /// Returns the length of the result with this text, rounded up.
    pub fn length(self, text: &str) -> usize {
        let around = if self.is_printed {
            r#"{"prompt":""}{\"prompt\":\"\"}"#.len()
        } else {
            2 * r#"{"prompt":""}"#.len()
        };
        let twice: usize = text.chars().map(|character| self.twice(character)).sum();
        twice.saturating_add(around).div_ceil(2)
    }

    /// Returns the length of a result that is this JSON, rounded up.
    pub fn json_length(self, json: &str) -> usize {
        let mut twice = 0;
        for character in json.chars() {
            twice += self.unit.of(character);
            twice += if self.is_printed {
                self.encoded(character)
            } else {
                self.unit.of(character)
            };
        }
        twice.div_ceil(2)
    }

    /// Returns the longest beginning of a text that adds at most `max` to the length.
    pub fn beginning_within(self, text: &str, max: usize) -> &str {
        let mut twice = 0_usize;
        for (position, character) in text.char_indices() {
            twice += self.twice(character);
            if twice > max.saturating_mul(2) {
                return &text[..position];
            }
        }
        text
    }

    /// Returns twice what a character of the text adds to the length, because that may be half a
    /// unit.
    fn twice(self, character: char) -> usize {
        let once = self.encoded(character);
        if !self.is_printed {
            return 2 * once;
        }
        // In a JSON string with that JSON, each backslash and each quote gets another backslash.
        match character {
            '"' | '\\' => once + 4,
            '\0'..='\u{1f}' => once + once + 1,
            _ => once + once,
        }
    }

    /// Returns the length of a character in a JSON string.
    fn encoded(self, character: char) -> usize {
        match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            other => self.unit.of(other),
        }
    }
}
