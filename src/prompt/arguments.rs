//! From the one input of a call to the values of the declared arguments.
//!
//! This is the room of the product's rule 5. What is built so far is what needs no division of the input: a prompt
//! without arguments, and one with a single argument, which takes all of it.

use super::template::Values;
use crate::wording::quoted;
use std::fmt;

/// How many arguments a prompt may declare.
pub const MAX_ARGUMENTS: usize = 100;

/// How long the name of an argument may be, in characters.
pub const MAX_ARGUMENT_NAME: usize = 64;

/// An input that a prompt declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// What stands in `{{name}}`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether a call must give it.
    pub required: bool,
    /// What it is when a call does not give it.
    pub default: Option<String>,
}

/// Several arguments are declared and used, and the input is one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeveralArguments {
    /// The declared names, in order.
    pub names: Vec<String>,
}

impl fmt::Display for SeveralArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it declares {} arguments ({}), and this version cannot divide one input among them; write `{{{{input}}}}` \
             in the file where the whole text belongs, or declare one argument only",
            self.names.len(),
            self.names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
        )
    }
}

/// Gives each of the `arguments` its text. `uses_any` tells whether the template has a placeholder for one of them.
///
/// A single argument takes the whole input, its default if the input is empty. Several get their defaults.
///
/// # Errors
/// [`SeveralArguments`] where there is an input, and several arguments that are used could each claim it.
pub(super) fn bind<'v>(
    arguments: &'v [Argument],
    uses_any: bool,
    input: &'v str,
) -> Result<Values<'v>, SeveralArguments> {
    if uses_any && arguments.len() > 1 && !input.is_empty() {
        return Err(SeveralArguments { names: arguments.iter().map(|argument| argument.name.clone()).collect() });
    }
    let text = |argument: &'v Argument| match (&argument.default, input) {
        (Some(default), "") => default.as_str(),
        _ => input,
    };
    let arguments = arguments.iter().map(|argument| (argument.name.as_str(), text(argument))).collect();
    Ok(Values { input, arguments })
}
