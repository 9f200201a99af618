//! From the one input of a call to the values of the declared arguments.
//!
//! What needs no division of the input is built: a prompt without arguments, and one with a single argument, which
//! takes all of it. To divide an input among several arguments is not built yet, and refused.

use super::ExpandError;
use super::template::Values;

/// How many arguments a prompt may declare.
pub const MAX_ARGUMENTS: usize = 100;

/// An input that a prompt declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// What stands in `{{name}}`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether a call must give it, unless it has a default.
    pub required: bool,
    /// What it is when a call does not give it.
    pub default: Option<String>,
}

/// Gives each of the `arguments` its text. `uses_any` tells whether the template has a placeholder for one of them.
///
/// A single argument takes the whole input, its default if the input is empty. Several get their defaults.
///
/// # Errors
/// An empty input where an argument is required and has no default; an input that several arguments, of which the
/// template uses any, could each claim.
pub(super) fn bind<'v>(arguments: &'v [Argument], uses_any: bool, input: &'v str) -> Result<Values<'v>, ExpandError> {
    let names = |wanted: &dyn Fn(&Argument) -> bool| -> Vec<String> {
        arguments.iter().filter(|argument| wanted(argument)).map(|argument| argument.name.clone()).collect()
    };
    if input.is_empty() {
        let missing = names(&|argument| argument.required && argument.default.is_none());
        if !missing.is_empty() {
            return Err(ExpandError::Missing { names: missing });
        }
    } else if uses_any && arguments.len() > 1 {
        return Err(ExpandError::SeveralArguments { names: names(&|_| true) });
    }
    let text = |argument: &'v Argument| match (&argument.default, input) {
        (Some(default), "") => default.as_str(),
        _ => input,
    };
    let arguments = arguments.iter().map(|argument| (argument.name.as_str(), text(argument))).collect();
    Ok(Values { input, arguments })
}
