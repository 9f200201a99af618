//! How much of an expansion a client shows its model, as it was measured. `docs/clients/` says how.

use super::Client;

/// The way on which an expansion gets to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As the result of `expand_prompt`: what counts is the object `{"prompt":"…"}`.
    Tool,
    /// As such a result that the model itself prints, in a program of its own, with all that is in it (Codex).
    CodeMode,
    /// As the context of a prompt-submit hook, with what is said around it.
    Hook,
}

impl Way {
    /// How one says it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Tool => "tool",
            Way::CodeMode => "code mode",
            Way::Hook => "hook",
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
    /// How one says it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Characters => "characters",
            Unit::Utf16 => "UTF-16 units",
        }
    }

    /// How many of it a text has.
    pub fn count(self, text: &str) -> usize {
        match self {
            Unit::Bytes => text.len(),
            Unit::Characters => text.chars().count(),
            Unit::Utf16 => text.encode_utf16().count(),
        }
    }
}

/// How much a client takes whole on one way, unless its user has set another limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The way.
    pub way: Way,
    /// The most that is shown whole.
    pub most: usize,
    /// What is counted.
    pub unit: Unit,
    /// What happens to more than that.
    pub beyond: &'static str,
}

impl Client {
    /// Its limits. None, for a client that nobody has measured.
    pub fn limits(self) -> &'static [Limit] {
        const fn hook(most: usize, unit: Unit) -> Limit {
            Limit { way: Way::Hook, most, unit, beyond: "the hook tells the model to call the tool" }
        }
        const fn tool(most: usize, unit: Unit, beyond: &'static str) -> Limit {
            Limit { way: Way::Tool, most, unit, beyond }
        }
        // Of 10,000 tokens, each of which it takes for 4.8 characters.
        const CODEX: &[Limit] = &[
            tool(48_000, Unit::Characters, "the middle is cut out"),
            // 40,000 for a result that holds the prompt twice, in JSON.
            Limit {
                way: Way::CodeMode,
                most: 17_999,
                unit: Unit::Characters,
                beyond: "the middle may be cut out, where the model prints all of the result",
            },
            hook(10_000, Unit::Bytes),
        ];
        const CLAUDE_CODE: &[Limit] =
            &[tool(50_000, Unit::Characters, "the model gets 2 KB of it and a file"), hook(10_000, Unit::Utf16)];
        const GEMINI_CLI: &[Limit] = &[
            tool(40_000, Unit::Characters, "the model gets its first 8,000, its last 32,000 and a file"),
            // It has none that we know of. More than this has not been tried.
            hook(1_000_000, Unit::Bytes),
        ];
        const OPENCODE: &[Limit] = &[tool(51_138, Unit::Bytes, "the model gets the path of a file that holds it")];
        match self {
            Client::Codex => CODEX,
            Client::ClaudeCode => CLAUDE_CODE,
            Client::GeminiCli => GEMINI_CLI,
            Client::Opencode => OPENCODE,
            Client::VsCode | Client::Cursor | Client::Zed => &[],
        }
    }

    /// Its limit on this way, if it has one that we know of.
    pub fn limit(self, way: Way) -> Option<Limit> {
        self.limits().iter().find(|limit| limit.way == way).copied()
    }
}
