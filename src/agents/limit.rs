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
    /// Returns the plural of the unit, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Characters => "characters",
            Unit::Utf16 => "UTF-16 units",
        }
    }

    /// Returns the length of a text in this unit.
    pub fn count(self, text: &str) -> usize {
        if self == Unit::Bytes {
            return text.len(); // faster, and most hooks count bytes
        }
        text.chars()
            .map(|character| self.length_of(character))
            .sum()
    }

    /// Returns the length of a character in this unit.
    fn length_of(self, character: char) -> usize {
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
    /// twice: once as it is, and once encoded as a JSON string. The mean of the two lengths counts
    /// then.
    pub is_printed: bool,
}

impl PartLimit {
    /// Returns the length of the object `{"prompt":"…"}` with this text, rounded up: 14 for `a`.
    pub fn length(self, text: &str) -> usize {
        // Twice the length is added up, because the mean of two lengths may have a half.
        let mut twice = if self.is_printed {
            r#"{"prompt":""}{\"prompt\":\"\"}"#.len()
        } else {
            2 * r#"{"prompt":""}"#.len()
        };
        for character in text.chars() {
            twice = twice.saturating_add(self.twice_in_result(character));
        }
        twice.div_ceil(2)
    }

    /// Returns the length of a result that is this JSON. If it is printed, that is the mean of its
    /// length and of its length as a JSON string, rounded up.
    pub fn json_length(self, json: &str) -> usize {
        if !self.is_printed {
            return self.unit.count(json);
        }
        let mut twice = 0; // the sum of both lengths, so twice their mean
        for character in json.chars() {
            twice += self.unit.length_of(character) + self.length_in_json(character);
        }
        twice.div_ceil(2)
    }

    /// Returns the longest beginning of a text that adds at most `max` to the length of the result.
    pub fn beginning_within(self, text: &str, max: usize) -> &str {
        let mut twice = 0_usize; // twice the length, because it may have a half
        for (position, character) in text.char_indices() {
            twice += self.twice_in_result(character);
            if twice > max.saturating_mul(2) {
                return &text[..position];
            }
        }
        text
    }

    /// Returns twice the length that a character of the text adds to the result. If the result is
    /// printed, that is its length in a JSON string, and its length in a JSON string with that
    /// JSON.
    fn twice_in_result(self, character: char) -> usize {
        let in_json = self.length_in_json(character);
        if !self.is_printed {
            return 2 * in_json;
        }
        let in_nested_json = match character {
            // `\"` becomes `\\\"`, and `\\` becomes `\\\\`.
            '"' | '\\' => 4,
            // `\n` becomes `\\n`, and `\u0001` becomes `\\u0001`.
            '\0'..='\u{1f}' => in_json + 1,
            _ => in_json,
        };
        in_json + in_nested_json
    }

    /// Returns the length of a character in a JSON string, where it may be escaped: 2 for a quote,
    /// as
    /// `\"`, and 6 for U+0001, as `\u0001`.
    fn length_in_json(self, character: char) -> usize {
        match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            other => self.unit.length_of(other),
        }
    }
}
