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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimit {
    /// The maximum, in `unit`s.
    pub max: usize,
    /// The unit of `max`.
    pub unit: Unit,
    /// Whether a result may reach the model in two forms at once: as JSON, and as a string that
    /// contains that JSON. The limit then applies to the mean of the two lengths. Otherwise, it
    /// applies to the length of the JSON.
    pub is_sent_in_two_forms: bool,
}

/// The lengths of the same text in the two forms in which a result may reach the model.
#[derive(Debug, Clone, Copy)]
struct FormLengths {
    /// The length as JSON: `{"prompt":"a"}`.
    json: usize,
    /// The length within a string that contains this JSON: `{\"prompt\":\"a\"}`.
    json_in_string: usize,
}

impl FormLengths {
    fn add(&mut self, other: FormLengths) {
        self.json += other.json;
        self.json_in_string += other.json_in_string;
    }
}

impl PartLimit {
    /// Creates a limit on the length of the JSON, for a result that reaches the model only in that
    /// form.
    pub const fn of_json(max: usize, unit: Unit) -> PartLimit {
        PartLimit {
            max,
            unit,
            is_sent_in_two_forms: false,
        }
    }

    /// Returns the length of the result `{"prompt":"…"}` with this prompt, to compare it with
    /// `max`: 14 for the prompt `a` if the result is sent as JSON only.
    pub fn length(self, prompt: &str) -> usize {
        let mut lengths = FormLengths {
            json: r#"{"prompt":""}"#.len(),
            json_in_string: r#"{\"prompt\":\"\"}"#.len(),
        };
        for character in prompt.chars() {
            lengths.add(self.prompt_character_lengths(character));
        }
        self.counted_length(lengths)
    }

    /// Returns the length of a result that is given as JSON, to compare it with `max`.
    pub fn json_length(self, json: &str) -> usize {
        let mut lengths = FormLengths {
            json: self.unit.count(json),
            json_in_string: 0,
        };
        if self.is_sent_in_two_forms {
            for character in json.chars() {
                lengths.json_in_string += self.length_in_string(character);
            }
        }
        self.counted_length(lengths)
    }

    /// Returns the longest prefix of a prompt that makes a result longer by at most `max_added`, in
    /// `unit`s.
    pub fn prefix_within(self, prompt: &str, max_added: usize) -> &str {
        let mut lengths = FormLengths {
            json: 0,
            json_in_string: 0,
        };
        for (position, character) in prompt.char_indices() {
            lengths.add(self.prompt_character_lengths(character));
            if self.counted_length(lengths) > max_added {
                return &prompt[..position];
            }
        }
        prompt
    }

    /// Returns the length that counts towards the limit: that of the JSON or, if both forms are
    /// sent, the mean of the two lengths, rounded up.
    fn counted_length(self, lengths: FormLengths) -> usize {
        if self.is_sent_in_two_forms {
            (lengths.json + lengths.json_in_string).div_ceil(2)
        } else {
            lengths.json
        }
    }

    /// Returns the lengths that a character of the prompt adds to the two forms of a result. The
    /// prompt is a string in the JSON, so the second form escapes the character twice.
    fn prompt_character_lengths(self, character: char) -> FormLengths {
        let json = self.length_in_string(character);
        let json_in_string = match character {
            // `\"` becomes `\\\"`, and `\\` becomes `\\\\`.
            '"' | '\\' => 4,
            // `\n` becomes `\\n`, and `\u0001` becomes `\\u0001`.
            '\0'..='\u{1f}' => json + 1,
            _ => json,
        };
        FormLengths {
            json,
            json_in_string,
        }
    }

    /// Returns the length of a character in a JSON string, where it may be escaped: 2 for a quote
    /// (`\"`), and 6 for U+0001 (`\u0001`).
    fn length_in_string(self, character: char) -> usize {
        match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            other => self.unit.length_of(other),
        }
    }
}
