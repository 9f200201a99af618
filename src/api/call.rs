//! Calls from the API and the command line, and their expansion.

use super::types::{CallRequest, ExpandedPrompt};
use crate::library::{BoundCall, Found, join_unchanged};
use crate::prompt::{Call, Diagnostic, INPUT, Kind, Origin, Prompt, join_shell_input};
use crate::wording::{in_backticks, quoted};

/// Expands a call of a prompt.
///
/// # Errors
/// Fails if the prompt is broken, or cannot be called like this.
pub fn expand(found: &Found, request: &CallRequest) -> Result<ExpandedPrompt, Diagnostic> {
    let prompt = found.prompt()?;
    let text = request.text();
    let bound = request.bind(&prompt, &text)?;
    let expansion = found
        .expand_bound(bound, &join_unchanged)
        .map_err(|error| expansion_error(&prompt, error))?;
    Ok(ExpandedPrompt {
        prompt: expansion.messages.into_text(),
        warnings: expansion.warnings,
    })
}

impl CallRequest {
    /// Returns the words of the call, separated by spaces, and the piped text, which blank lines
    /// separate from the words.
    pub(super) fn text(&self) -> String {
        join_shell_input(&self.input, &self.piped, self.pipe_index())
    }

    /// Returns the index of the word before which the piped text is inserted. If the call has no
    /// valid index, returns the number of words, which appends the text.
    fn pipe_index(&self) -> usize {
        let end = self.input.len();
        match self.pipe_index {
            Some(index) => index.min(end),
            None => end,
        }
    }

    /// Returns the call with its values assigned to the arguments of a prompt. `text` must be the
    /// result of [`CallRequest::text`], and is a parameter only because the returned call borrows
    /// it.
    ///
    /// # Errors
    /// Fails if the prompt lacks a named argument, doesn't accept text in addition to named values,
    /// or has no placeholder for the piped text.
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
                pipe_index: self.pipe_index(),
            }
        } else {
            Call::Named {
                values: &self.arguments,
                input: text,
                is_strict: false, // `check_names` has already rejected unknown names
            }
        };
        let bound = BoundCall::new(prompt, call);
        self.check_piped_text_is_used(&bound)?;
        Ok(bound)
    }

    /// Checks that the prompt has all arguments that the call names. If the call has text, too,
    /// checks that the prompt accepts it next to named values.
    ///
    /// The command line also calls this before it reads standard input, which may take long.
    ///
    /// # Errors
    /// Fails if the prompt lacks an argument, or doesn't accept the text.
    pub fn check_names(&self, prompt: &Prompt) -> Result<(), Diagnostic> {
        if self.arguments.is_empty() {
            return Ok(());
        }
        if let Some(error) = prompt.unknown_name_error(&self.arguments) {
            return Err(expansion_error(prompt, error));
        }
        // Next to named values, text can only replace `{{input}}`.
        let accepts_text = prompt.takes_input() && !self.arguments.contains_key(INPUT);
        if accepts_text {
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

    /// Checks that the expansion contains the piped text, which must never be dropped silently. For
    /// other unused values, a warning suffices.
    ///
    /// # Errors
    /// Fails if the prompt has no placeholder for the value that contains the piped text.
    fn check_piped_text_is_used(&self, bound: &BoundCall<'_>) -> Result<(), Diagnostic> {
        let piped = self.piped.trim_end_matches('\n');
        if piped.is_empty() {
            return Ok(());
        }
        for unused in bound.unused_values() {
            let is_from_text = unused.bound.origin != Origin::Named;
            if is_from_text && unused.bound.value.contains(piped) {
                return Err(unused.error(bound.prompt));
            }
        }
        Ok(())
    }
}

/// Prepends "`NAME` cannot be expanded: " to the message of an error.
fn expansion_error(prompt: &Prompt, error: Diagnostic) -> Diagnostic {
    let message = format!(
        "{} cannot be expanded: {}",
        in_backticks(&prompt.name),
        error.message
    );
    Diagnostic { message, ..error }
}
