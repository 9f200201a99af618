//! How a call of a prompt becomes what a model gets.
//!
//! [`BoundCall`] assigns the values of the call to the arguments of the prompt.
//! [`Found::expand`](super::Found::expand) passes it to
//! [`Handle::messages`](super::Handle::messages), and returns an [`Expansion`]: the messages, with
//! the warnings and unused values of the call. Each interface words its own hints about these.

use crate::prompt::{Binding, BoundArgument, Call, Messages, Origin, Piece, Prompt};

/// A call whose values have been assigned to the arguments of the prompt.
#[derive(Debug)]
pub struct BoundCall<'c> {
    /// The called prompt.
    pub prompt: &'c Prompt,
    /// The original call. It is forwarded if a server expands the prompt.
    pub call: Call<'c>,
    /// The value of each argument.
    pub binding: Binding<'c>,
}

/// The result of expanding a call.
#[derive(Debug)]
pub struct Expansion {
    /// What a model gets.
    pub messages: Messages,
    /// Likely mistakes that didn't prevent the expansion, e.g. a misspelled `name=`. Each one is a
    /// line in lowercase without a final period.
    pub warnings: Vec<String>,
    /// Values that don't appear in the messages.
    pub unused: Vec<UnusedValue>,
}

/// A value for an argument that has no placeholder in the prompt.
#[derive(Debug)]
pub struct UnusedValue {
    /// The name of the argument.
    pub argument: String,
    /// The value.
    pub value: String,
    /// Whether the value was passed by name (`--arg criteria=speed`), not as part of a text that
    /// was split.
    pub is_named: bool,
}

/// A function that assembles the text of a message from its pieces, and may modify them.
pub type Join<'j> = &'j dyn Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String;

/// Concatenates the pieces of a message.
pub fn join_unchanged(pieces: &mut dyn Iterator<Item = Piece<'_>>) -> String {
    pieces.map(Piece::as_str).collect()
}

impl<'c> BoundCall<'c> {
    /// Assigns the values of a call to the arguments of a prompt.
    pub fn new(prompt: &'c Prompt, call: Call<'c>) -> BoundCall<'c> {
        BoundCall {
            prompt,
            call,
            binding: prompt.bind(call),
        }
    }

    /// Returns the values that don't appear in the expansion, because the prompt has no
    /// placeholders for them. Empty if a service renders the prompt, because it gets all values.
    pub fn unused_values(&self) -> Vec<UnusedValue> {
        let mut unused = Vec::new();
        if self.prompt.is_rendered_by_service() {
            return unused;
        }
        for bound in &self.binding.arguments {
            if !bound.value.is_empty()
                && self.is_lost_without_placeholder(bound)
                && !self.prompt.has_placeholder(bound.name)
            {
                unused.push(UnusedValue {
                    argument: bound.name.to_owned(),
                    value: bound.value.to_string(),
                    is_named: bound.origin == Origin::Named,
                });
            }
        }
        unused
    }

    /// Returns whether a value disappears if its argument has no placeholder.
    fn is_lost_without_placeholder(&self, bound: &BoundArgument<'_>) -> bool {
        match bound.origin {
            Origin::Named => true,
            // Part of the input. A prompt without any placeholders gets the whole input appended.
            Origin::Pair | Origin::Word | Origin::Rest => {
                self.prompt.placeholders().next().is_some()
            }
            // Not passed by the caller.
            Origin::Default | Origin::Omitted | Origin::Missing => false,
        }
    }
}
