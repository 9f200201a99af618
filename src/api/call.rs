//! The calls of the API and the command line, and the text that an agent gets for a call.

use super::types::{CallRequest, ExpandedPrompt};
use crate::library::{BoundCall, Found, UnusedValue, join_unchanged};
use crate::prompt::{Call, Diagnostic, INPUT, Kind, Prompt, join_shell_input};
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
        warnings: with_unused_warnings(expansion.warnings, &prompt, &expansion.unused),
    })
}

impl CallRequest {
    /// Returns the words of the call and the text from a pipe as one text.
    pub(super) fn text(&self) -> String {
        join_shell_input(&self.input, &self.piped, self.piped_at())
    }

    /// Returns the index of the word before which the text from a pipe belongs: the number of
    /// words, if the text follows all of them.
    fn piped_at(&self) -> usize {
        let word_count = self.input.len();
        match self.at {
            Some(at) => at.min(word_count),
            None => word_count,
        }
    }

    /// Divides the values of the call among the arguments of a prompt. `text` is the
    /// [text](CallRequest::text) of the call.
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
            Call::Shell {
                words: &self.input,
                piped: &self.piped,
                pipe_index: self.piped_at(),
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

    /// Checks that the prompt has the arguments that the call names, and takes the text of the call
    /// beside values by name.
    ///
    /// This needs no values, so the command line can check a call before it reads standard input.
    ///
    /// # Errors
    /// The prompt has no argument of a name, or takes no text beside values by name.
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

    /// Checks that the expansion contains the text from a pipe, which must never get lost silently.
    /// For other unused values, a warning is enough.
    ///
    /// # Errors
    /// The prompt has no placeholder for the value that contains the piped text.
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

/// Returns the warnings of a call, with a further one about each value that the prompt does not
/// use.
pub(super) fn with_unused_warnings(
    mut warnings: Vec<String>,
    prompt: &Prompt,
    unused: &[UnusedValue],
) -> Vec<String> {
    for value in unused {
        warnings.push(unused_value_error(prompt, value).text());
    }
    warnings
}

/// Returns the error about a value that the prompt has no placeholder for.
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

/// Returns an error of a call as one about the expansion of the prompt: "`p` cannot be expanded:
/// …".
fn cannot_expand(prompt: &Prompt, error: Diagnostic) -> Diagnostic {
    let message = format!(
        "{} cannot be expanded: {}",
        in_backticks(&prompt.name),
        error.message
    );
    Diagnostic { message, ..error }
}
