//! Errors, warnings and notes on standard error: lines for people, or one JSON object at the end.

use super::stream::{print_help, print_json_message, print_message, styled, unwrapped};
use super::text::{ERROR, FAINT, NAME, WARNING, width_if, without_usage, wrapped_lines};
use crate::library::View;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{without_password, without_passwords};
use anstyle::Style;
use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// Reports what a command has to say besides its result, on standard error.
///
/// For people, each message is printed at once, in a line with a label. For scripts, which pass
/// `--json`, errors and warnings are collected, and [`finish`](Reporter::finish) prints them as one
/// JSON object; notes are left out.
#[derive(Debug)]
pub(crate) struct Reporter {
    /// `None` for people.
    collected: Option<RefCell<CollectedMessages>>,
}

#[derive(Debug, Default, Serialize)]
struct CollectedMessages {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Reporter {
    pub(crate) fn for_people() -> Reporter {
        Reporter { collected: None }
    }

    pub(crate) fn for_scripts() -> Reporter {
        Reporter {
            collected: Some(RefCell::default()),
        }
    }

    pub(crate) fn is_for_people(&self) -> bool {
        self.collected.is_none()
    }

    /// Reports why the command failed. For scripts, several errors become one: `first; second`.
    pub(crate) fn error(&self, message: &str) {
        let Some(collected) = &self.collected else {
            return print_labelled(ERROR, "error:", message);
        };
        let message = without_passwords(message);
        let error = &mut collected.borrow_mut().error;
        *error = match error.take() {
            Some(earlier) => Some(format!("{earlier}; {message}")),
            None => Some(message.into_owned()),
        };
    }

    /// Reports a problem in spite of which the command goes on.
    pub(crate) fn warn(&self, message: &str) {
        let Some(collected) = &self.collected else {
            return print_warning(message);
        };
        let message = without_passwords(message).into_owned();
        collected.borrow_mut().warnings.push(message);
    }

    /// Reports each of these problems as a warning.
    pub(crate) fn warn_all(&self, messages: impl IntoIterator<Item: ToString>) {
        for message in messages {
            self.warn(&message.to_string());
        }
    }

    /// Tells a person what to do next.
    pub(crate) fn hint(&self, message: &str) {
        if self.is_for_people() {
            print_labelled(NAME, "hint:", message);
        }
    }

    /// Tells a person what was done.
    pub(crate) fn note(&self, message: &str) {
        if self.is_for_people() {
            print_note(message);
        }
    }

    /// Prints a note, if there is one.
    pub(crate) fn note_if_any(&self, message: Option<String>) {
        if let Some(message) = message {
            self.note(&message);
        }
    }

    /// Prints the messages that were collected, if there are any.
    pub(crate) fn finish(self) {
        let Some(collected) = self.collected else {
            return;
        };
        let messages = collected.into_inner();
        if messages.error.is_none() && messages.warnings.is_empty() {
            return;
        }
        if let Ok(json) = serde_json::to_string(&messages) {
            let _ = print_json_message(&json); // if that fails, an error cannot be printed either
        }
    }

    /// Returns a function that makes the error of a command from the reason why a prompt cannot be
    /// found or used. The function adds a hint, and warns of folders that cannot be read, because
    /// the prompt may be in one of them.
    pub(crate) fn failure(
        &self,
        view: &View,
        command: &str,
    ) -> impl Fn(Diagnostic) -> anyhow::Error {
        move |diagnostic| {
            self.warn_all(view.unreadable());
            let hint = hint(&diagnostic, command);
            anyhow!("{diagnostic}{hint}")
        }
    }

    /// Asks a question that is answered with yes or no, and returns whether the answer was yes.
    /// `action` is what --yes would do, such as `remove standup.md`, for the errors.
    ///
    /// # Errors
    /// Standard input is not a terminal, or the command runs for a script.
    pub(crate) fn confirm(&self, question: &str, action: &str) -> anyhow::Result<bool> {
        if !self.is_for_people() {
            bail!("--json asks nothing; add --yes to {action}");
        }
        if !io::stdin().is_terminal() {
            bail!(
                "cannot ask for confirmation, because standard input is not a terminal; add --yes to {action}"
            );
        }
        // In one write, so that the answer is typed after it.
        print_message(&format!("{question} [y/N] ").into(), unwrapped)
            .context("the question cannot be asked")?;
        let mut answer = String::new();
        let length = io::stdin()
            .read_line(&mut answer)
            .context("the answer cannot be read")?;
        if length == 0 {
            print_unlabelled(""); // Ctrl-D does not end the line of the question
        }
        let answer = answer.trim().to_lowercase();
        Ok(answer == "y" || answer == "yes")
    }

    /// Prints help, or reports what is wrong with a command line. The passwords in its words are
    /// not repeated.
    pub(crate) fn usage(&self, error: &clap::Error, words: &[OsString]) {
        if is_help(error) {
            return print_help(&error.render(), error.use_stderr());
        }
        let mut text = error.render().ansi().to_string();
        for word in words {
            let word = word.to_string_lossy();
            let hidden = without_password(&word);
            if hidden != word {
                text = text.replace(&*word, &hidden);
            }
        }
        if !self.is_for_people() {
            return self.error(&without_usage(&text));
        }
        let message = text.strip_prefix("error:").unwrap_or(&text);
        let _ = print_message(&styled(ERROR, "error:").plain(message), unwrapped);
    }
}

/// Returns what a person may do after a command did not find a prompt, or got a name and a text as
/// one word: ` (`prompt-expander list` shows all prompts)`. Empty if the diagnostic itself says it.
fn hint(diagnostic: &Diagnostic, command: &str) -> String {
    match &diagnostic.kind {
        Kind::NoSuchPrompt { .. } | Kind::NotACommand if diagnostic.file.is_none() => {
            " (`prompt-expander list` shows all prompts)".to_owned()
        }
        Kind::TextInName { name } if command == "expand" => {
            format!(": `prompt-expander expand {name} INPUT…`")
        }
        Kind::TextInName { name } => format!(": `prompt-expander {command} {name}`"),
        _ => String::new(),
    }
}

/// Prints a warning at once.
pub(crate) fn print_warning(message: &str) {
    print_labelled(WARNING, "warning:", message);
}

/// Prints a note at once.
pub(crate) fn print_note(message: &str) {
    print_labelled(FAINT, "note:", message);
}

/// Prints a message after a label, such as `error:`, in lines that fit the terminal. The line breaks
/// of the message stay, because it may have a command to copy.
fn print_labelled(style: Style, label: &str, message: &str) {
    let message = without_passwords(message);
    let columns = width_if(io::stderr().is_terminal());
    let line = styled(style, label).plain(format!(" {message}"));
    // If standard error is closed, nobody can be told.
    let _ = print_message(&line, |text| wrapped_lines(&text, columns));
}

/// Prints lines for a person without a label.
pub(crate) fn print_unlabelled(lines: &str) {
    let _ = print_message(&format!("{lines}\n").into(), unwrapped);
}

/// Returns whether an error only says that help, or the version, was asked for.
pub(crate) fn is_help(error: &clap::Error) -> bool {
    use clap::error::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}
