//! How much of an expansion an agent shows its model.

/// How an expansion gets to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As the result of `expand_prompt`: the object `{"prompt":"…"}` counts.
    Tool,
    /// As such a result, printed in full by a program that the model wrote (Codex).
    CodeMode,
    /// As the context of a prompt-submit hook, with the sentences around it.
    Hook,
}

impl Delivery {
    /// The name that is shown.
    pub fn name(self) -> &'static str {
        match self {
            Delivery::Tool => "tool",
            Delivery::CodeMode => "code mode",
            Delivery::Hook => "hook",
        }
    }
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes in UTF-8
    Bytes,
    /// Unicode scalar values
    Characters,
    /// Units of UTF-16, as JavaScript counts
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
        text.chars().map(|character| self.of(character)).sum()
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

/// The longest text that an agent shows its model in full, unless the user has set another limit. `docs/clients/` says how it
/// was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// How the text gets to the model.
    pub delivery: Delivery,
    /// The length of the longest text that is shown in full.
    pub max: usize,
    /// The unit of `max`.
    pub unit: Unit,
    /// What happens to a longer text.
    pub when_exceeded: &'static str,
}

/// The longest result of `expand_prompt` in one part: the object `{"prompt":"…"}` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimit {
    /// Its length.
    pub max: usize,
    /// The unit of `max`.
    pub unit: Unit,
    /// Whether a program that the model wrote may print the whole result, which has the object twice, once more encoded as a JSON
    /// string. The mean of the two lengths counts then.
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

    /// Twice the length of what is around the text.
    pub fn twice_around(self) -> usize {
        if self.is_printed { r#"{"prompt":""}{\"prompt\":\"\"}"#.len() } else { 2 * r#"{"prompt":""}"#.len() }
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

impl Limit {
    pub(super) const fn tool(max: usize, unit: Unit, when_exceeded: &'static str) -> Limit {
        Limit { delivery: Delivery::Tool, max, unit, when_exceeded }
    }

    pub(super) const fn hook(max: usize, unit: Unit) -> Limit {
        Limit { delivery: Delivery::Hook, max, unit, when_exceeded: "the hook asks the model to call the tool" }
    }
}
