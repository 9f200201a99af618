//! The limits on what an agent passes to its model, and how they are measured.

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// UTF-8 bytes.
    Bytes,
    /// Unicode scalar values.
    Characters,
    /// UTF-16 code units, which a string's `length` counts in JavaScript.
    Utf16,
}

impl Unit {
    /// Returns the name of the unit in the plural, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Characters => "characters",
            Unit::Utf16 => "UTF-16 units",
        }
    }

    /// Returns the length of a string in this unit.
    pub fn count(self, text: &str) -> usize {
        if self == Unit::Bytes {
            return text.len(); // a shortcut for the most common unit
        }
        text.chars()
            .map(|character| self.length_of(character))
            .sum()
    }

    fn length_of(self, character: char) -> usize {
        match self {
            Unit::Bytes => character.len_utf8(),
            Unit::Characters => 1,
            Unit::Utf16 => character.len_utf16(),
        }
    }
}

/// The maximum length of one result of `expand_prompt`, i.e. of the JSON object `{"prompt":"…"}`.
///
/// If [`is_printed`](Self::is_printed), the result's length is the average of its length as JSON
/// and its length as a JSON string that contains that JSON. The methods add up twice the length, to
/// stay with integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimit {
    /// The maximum.
    pub max: usize,
    /// The unit of `max`.
    pub unit: Unit,
    /// Whether a program that the model wrote may print the whole result, which contains the object
    /// twice: once as is, and once encoded as a JSON string.
    pub is_printed: bool,
}

impl PartLimit {
    /// Returns the length of the result `{"prompt":"…"}` for a text, rounded up, e.g. 14 for `a`.
    pub fn length(self, text: &str) -> usize {
        // Start with everything but the text.
        let mut doubled = if self.is_printed {
            r#"{"prompt":""}{\"prompt\":\"\"}"#.len()
        } else {
            2 * r#"{"prompt":""}"#.len()
        };
        for character in text.chars() {
            doubled = doubled.saturating_add(self.doubled_length_of(character));
        }
        doubled.div_ceil(2)
    }

    /// Returns the length of a whole result that is already encoded as JSON, rounded up.
    pub fn json_length(self, json: &str) -> usize {
        if !self.is_printed {
            return self.unit.count(json);
        }
        let mut doubled = 0;
        for character in json.chars() {
            doubled += self.unit.length_of(character) + self.length_in_json(character);
        }
        doubled.div_ceil(2)
    }

    /// Returns the longest prefix of a text that adds at most `max` to the length of a result.
    pub fn prefix_within(self, text: &str, max: usize) -> &str {
        let mut doubled = 0_usize;
        for (position, character) in text.char_indices() {
            doubled += self.doubled_length_of(character);
            if doubled > max.saturating_mul(2) {
                return &text[..position];
            }
        }
        text
    }

    /// Returns twice the length that a character of the text adds to a result.
    fn doubled_length_of(self, character: char) -> usize {
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

    /// Returns the length of a character in a JSON string, where it may be escaped: 2 for a quote
    /// (`\"`), and 6 for U+0001 (`\u0001`).
    fn length_in_json(self, character: char) -> usize {
        match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            other => self.unit.length_of(other),
        }
    }
}
