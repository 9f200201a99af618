//! How a call of a prompt becomes what a model gets.
//!
//! [`BoundCall`] assigns the values of the call to the arguments of the prompt.
//! [`Found::expand`](super::Found::expand) passes it to
//! [`Handle::messages`](super::Handle::messages), and returns an [`Expansion`]: the messages, with
//! the warnings about the call.

use crate::prompt::{
    Binding, BoundArgument, Call, Diagnostic, Kind, Messages, Origin, Piece, Prompt,
};
use crate::wording::{in_backticks, quoted};

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
    /// Likely mistakes that didn't prevent the expansion, e.g. a misspelled `name=`, or a value
    /// that the prompt doesn't use. Each one is a line in lowercase without a final period.
    pub warnings: Vec<String>,
    /// Those of the warnings that are about text of the call that is not in the messages.
    pub unused_text: Vec<String>,
}

/// A value for an argument that has no placeholder in the prompt.
#[derive(Debug)]
pub struct UnusedValue<'c> {
    /// The index of the argument in the prompt's list.
    argument_index: usize,
    /// The argument and its value.
    pub bound: &'c BoundArgument<'c>,
}

/// A function that assembles the text of a message from its pieces, and may modify them.
pub type Join<'j> = &'j dyn Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String;

/// Concatenates the pieces of a message.
pub fn join_unchanged(pieces: &mut dyn Iterator<Item = Piece<'_>>) -> String {
    pieces.map(Piece::as_str).collect()
}

/// Formats a warning as it is added to an expansion for a model.
pub fn note_for_model(warning: &str) -> String {
    format!("Tell the user first: {warning}")
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

    /// Returns the warnings about the call, including one for each value that the prompt doesn't
    /// use.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.binding.warnings.clone();
        warnings.extend(self.unused_value_warnings());
        warnings
    }

    /// Returns those of the warnings that are about text of the call that is not in the expansion.
    pub fn unused_text_warnings(&self) -> Vec<String> {
        let mut warnings = self.unused_value_warnings();
        warnings.extend(self.binding.dropped_text_warning.clone());
        warnings
    }

    fn unused_value_warnings(&self) -> Vec<String> {
        let unused_values = self.unused_values();
        unused_values
            .iter()
            .map(|unused| unused.error(self.prompt).text())
            .collect()
    }

    /// Returns the values that don't appear in the expansion, because the prompt has no
    /// placeholders for them. Empty if a service renders the prompt, because it gets all values.
    pub fn unused_values(&self) -> Vec<UnusedValue<'_>> {
        let mut unused = Vec::new();
        if self.prompt.is_rendered_by_service() {
            return unused;
        }
        for (argument_index, bound) in self.binding.arguments.iter().enumerate() {
            if !bound.value.is_empty()
                && self.is_lost_without_placeholder(bound)
                && !self.prompt.has_placeholder(bound.name)
            {
                unused.push(UnusedValue {
                    argument_index,
                    bound,
                });
            }
        }
        unused
    }

    /// Returns whether a value disappears if its argument has no placeholder.
    fn is_lost_without_placeholder(&self, bound: &BoundArgument<'_>) -> bool {
        match bound.origin {
            Origin::Named => true,
            Origin::Pair | Origin::Word | Origin::Rest => !self.prompt.input_is_whole_text(),
            // Not passed by the caller.
            Origin::Default | Origin::Omitted | Origin::Missing => false,
        }
    }
}

impl UnusedValue<'_> {
    /// Returns an error that says why the value is not in the expansion of `prompt`.
    pub fn error(&self, prompt: &Prompt) -> Diagnostic {
        let name = in_backticks(&prompt.name);
        let placeholder = in_backticks(&prompt.placeholder(self.bound.name));
        let is_number = self.bound.name.parse::<usize>().is_ok();
        if is_number && self.bound.origin == Origin::Word {
            // The user typed a word, and doesn't know an argument called `0`.
            let word = quoted(&self.bound.value);
            let position = prompt.describe_word(self.argument_index);
            return Diagnostic::new(
                Kind::UnusedText,
                format!(
                    "the word {word} is not used, because {name} has no {placeholder}, which is {position}"
                ),
                format!("add {placeholder} to the file, or correct the other numbers in it"),
            );
        }
        let argument = in_backticks(self.bound.name);
        Diagnostic::new(
            Kind::UnusedText,
            format!(
                "the value of {argument} is not in the expansion, because {name} has no placeholder {placeholder}"
            ),
            "add it to the file, or leave out the value",
        )
    }
}
