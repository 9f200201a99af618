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
    /// The length of the result with this text, rounded up.
    pub fn length(self, text: &str) -> usize {
        text.chars()
            .map(|character| self.twice(character))
            .sum::<usize>()
            .saturating_add(self.twice_around())
            .div_ceil(2)
    }

    /// The length of a result that is this JSON, rounded up.
    pub fn json_length(self, json: &str) -> usize {
        let printed = PartLimit {
            is_printed: false,
            ..self
        };
        let twice = |character| match self.is_printed {
            true => self.unit.of(character) + printed.twice(character) / 2,
            false => 2 * self.unit.of(character),
        };
        json.chars().map(twice).sum::<usize>().div_ceil(2)
    }

    /// Twice the length of what is around the text.
    pub fn twice_around(self) -> usize {
        if self.is_printed {
            r#"{"prompt":""}{\"prompt\":\"\"}"#.len()
        } else {
            2 * r#"{"prompt":""}"#.len()
        }
    }

    /// Twice what a character of the text adds to the length.
    pub fn twice(self, character: char) -> usize {
        // In JSON, and in a JSON string with that.
        let (once, again) = match character {
            '"' | '\\' => (2, 4),
            '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => (2, 3),
            '\0'..='\u{1f}' => (6, 7),
            other => (self.unit.of(other), self.unit.of(other)),
        };
        once + if self.is_printed { again } else { once }
    }
}
