//! The one path from a found prompt and a call to what a model gets.
//!
//! A call is bound once ([`BoundCall`]). [`Found::expand`](super::Found::expand) passes the bound
//! call to the handle of the prompt, which makes the messages
//! ([`Handle::messages`](super::Handle::messages)). The caller gets them with the warnings and the
//! unused values of the call ([`Expansion`]), and each interface words its own hints.

use crate::prompt::{Binding, BoundArgument, Call, Messages, Origin, Piece, Prompt};

/// A call of a prompt, with the value that each argument gets.
#[derive(Debug)]
pub struct BoundCall<'c> {
    /// The prompt that is called.
    pub prompt: &'c Prompt,
    /// The call as it was made. A server that expands the prompt gets it.
    pub call: Call<'c>,
    /// What each argument of the prompt gets.
    pub binding: Binding<'c>,
}

/// The result of a call of a prompt.
#[derive(Debug)]
pub struct Expansion {
    /// What a model gets.
    pub messages: Messages,
    /// Probable mistakes of the caller that did not stop the call, such as a misspelled `name=`.
    /// Each is one line, lowercase, without a final stop.
    pub warnings: Vec<String>,
    /// The values that are not in the messages.
    pub unused: Vec<UnusedValue>,
}

/// A value of a call that the prompt has no placeholder for.
#[derive(Debug)]
pub struct UnusedValue {
    /// The name of its argument.
    pub argument: String,
    /// The value.
    pub value: String,
    /// Whether the caller gave it by name (`--arg criteria=speed`), instead of in a text that was
    /// divided.
    pub is_named: bool,
}

/// A function that makes the text of a message from its pieces, and may change them.
pub type Join<'j> = &'j dyn Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String;

/// Joins the pieces of a message to its text, without changes and with nothing between them.
pub fn join_unchanged(pieces: &mut dyn Iterator<Item = Piece<'_>>) -> String {
    pieces.map(Piece::as_str).collect()
}

impl<'c> BoundCall<'c> {
    /// Divides the values of a call among the arguments of a prompt.
    pub fn new(prompt: &'c Prompt, call: Call<'c>) -> BoundCall<'c> {
        BoundCall {
            prompt,
            call,
            binding: prompt.bind(call),
        }
    }

    /// Returns the values that are not in the expansion, because the prompt has no placeholder for
    /// them. A service gets all values, so the list is empty for a prompt that a service renders.
    pub fn unused_values(&self) -> Vec<UnusedValue> {
        let mut unused = Vec::new();
        if self.prompt.is_rendered_by_service() {
            return unused;
        }
        for bound in &self.binding.arguments {
            if !bound.value.is_empty()
                && self.is_lost_without_placeholder(bound)
                && !self.has_placeholder(bound.name)
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

    /// Returns whether the caller's value of an argument is in no message, if the prompt has no
    /// placeholder for the argument.
    fn is_lost_without_placeholder(&self, bound: &BoundArgument<'_>) -> bool {
        match bound.origin {
            Origin::Named => true,
            // A part of a text. Without any placeholder, the whole text follows the body.
            Origin::Pair | Origin::Word | Origin::Rest => {
                self.prompt.placeholders().next().is_some()
            }
            // These do not come from the caller.
            Origin::Default | Origin::Omitted | Origin::Missing => false,
        }
    }

    fn has_placeholder(&self, name: &str) -> bool {
        self.prompt
            .placeholders()
            .any(|placeholder| placeholder.name == name)
    }
}
