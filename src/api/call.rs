//! The calls of the API and the command line, and the text that one comes to.

use super::types::{CallRequest, ExpandedPrompt};
use crate::library::{BoundCall, Found, UnusedValue, join_unchanged};
use crate::prompt::{Call, Diagnostic, INPUT, Kind, Prompt, join_piped};
use crate::wording::{in_backticks, quoted};

/// Returns the text that an agent gets for a call of a prompt.
///
/// # Errors
/// The prompt is broken, or cannot be called like this.
pub fn expand(found: &Found, request: &CallRequest) -> Result<ExpandedPrompt, Diagnostic> {
    let prompt = found.prompt()?;
    let text = request.text();
    let bound = request.bind(&prompt, &text)?;
    let expansion = found
        .expand_bound(bound, &join_unchanged)
        .map_err(|error| cannot_expand(&prompt, error))?;
    Ok(ExpandedPrompt {
        prompt: expansion.messages.into_text(),
        warnings: with_unused(expansion.warnings, &prompt, &expansion.unused),
    })
}

impl CallRequest {
    /// Returns the words and the text from a pipe as one text.
    pub(super) fn text(&self) -> String {
        join_piped(&self.input, &self.piped, self.piped_at())
    }

    /// Returns the index of the word before which the text from a pipe belongs.
    fn piped_at(&self) -> usize {
        let last = self.input.len();
        self.at.map_or(last, |at| at.min(last))
    }

    /// Binds the call to the arguments of a prompt. `text` is the [text](CallRequest::text) of the
    /// call.
    ///
    /// # Errors
    /// Those of [`CallRequest::check_names`]; or a text from a pipe would not be in the expansion.
    pub(super) fn bind<'c>(
        &'c self,
        prompt: &'c Prompt,
        text: &'c str,
    ) -> Result<BoundCall<'c>, Diagnostic> {
        self.check_names(prompt)?;
        let call = if self.arguments.is_empty() {
            Call::Piped {
                words: &self.input,
                text: &self.piped,
                at: self.piped_at(),
            }
        } else {
            Call::Named {
                values: &self.arguments,
                input: text,
                is_strict: false,
            }
        };
        let bound = BoundCall::new(prompt, call);
        self.refuse_to_drop_piped_text(&bound)?;
        Ok(bound)
    }

    /// Returns whether the prompt can have the names and the kinds of text of this call. The values
    /// are not divided for it, so the command line asks before it reads standard input.
    ///
    /// # Errors
    /// The prompt has no argument of a given name, or takes no input in addition to values by name.
    pub fn check_names(&self, prompt: &Prompt) -> Result<(), Diagnostic> {
        if self.arguments.is_empty() {
            return Ok(());
        }
        if let Some(error) = prompt.unknown_name_error(&self.arguments) {
            return Err(cannot_expand(prompt, error));
        }
        // With values by name, only a prompt with a placeholder for the input takes more text.
        if prompt.takes_input() && !self.arguments.contains_key(INPUT) {
            return Ok(());
        }
        if !self.input.is_empty() {
            let words = quoted(&self.input.join(" "));
            return Err(Diagnostic::new(
                Kind::UnusedText,
                format!("{words} cannot be combined with values by name for this prompt"),
                "pass it by name, too, or give all as one text",
            ));
        }
        if !self.piped.is_empty() {
            return Err(Diagnostic::new(
                Kind::UnusedText,
                "the piped text cannot be combined with values by name for this prompt",
                "give all as one text; if the piped text is not meant for the prompt, add `< /dev/null`",
            ));
        }
        Ok(())
    }

    /// Refuses a call whose text from a pipe would not be in the expansion. A value that the prompt
    /// does not use is worth a warning only, but a text from a pipe is never dropped.
    fn refuse_to_drop_piped_text(&self, bound: &BoundCall<'_>) -> Result<(), Diagnostic> {
        let piped = self.piped.trim_end_matches('\n');
        if piped.is_empty() {
            return Ok(());
        }
        for unused in bound.unused_values() {
            if !unused.is_named && unused.value.contains(piped) {
                return Err(unused_value_error(bound.prompt, &unused));
            }
        }
        Ok(())
    }
}

/// Adds a warning about each unused value to the warnings of a call.
pub(super) fn with_unused(
    mut warnings: Vec<String>,
    prompt: &Prompt,
    unused: &[UnusedValue],
) -> Vec<String> {
    for value in unused {
        warnings.push(unused_value_error(prompt, value).text());
    }
    warnings
}

fn unused_value_error(prompt: &Prompt, unused: &UnusedValue) -> Diagnostic {
    let message = format!(
        "the value of {} is not in the expansion, because {} has no placeholder {}",
        in_backticks(&unused.argument),
        in_backticks(&prompt.name),
        in_backticks(&prompt.placeholder(&unused.argument))
    );
    Diagnostic::new(
        Kind::UnusedText,
        message,
        "add it to the file, or leave out the value",
    )
}

fn cannot_expand(prompt: &Prompt, error: Diagnostic) -> Diagnostic {
    let message = format!(
        "{} cannot be expanded: {}",
        in_backticks(&prompt.name),
        error.message
    );
    Diagnostic { message, ..error }
}
