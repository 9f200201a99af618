//! Prints errors, warnings and notes to standard error: as lines for people, or as one JSON object
//! for scripts.

use super::stream::{print_help, print_json_message, print_message, styled, unwrapped};
use super::text::{ERROR, FAINT, NAME, WARNING, terminal_width_if, without_usage, wrap_each_line};
use crate::library::View;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{without_password, without_passwords};
use anstyle::Style;
use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// Reports errors, warnings, hints and notes on standard error.
///
/// For people, prints each message immediately, after a label such as `warning:`. For scripts,
/// which pass `--json`, collects errors and warnings until [`finish`](Reporter::finish) prints them
/// as one JSON object. Scripts don't get hints and notes.
#[derive(Debug)]
pub(crate) struct Reporter {
    /// The messages for a script so far; `None` if the reporter prints for people.
    collected: Option<RefCell<CollectedMessages>>,
}

/// The JSON object for a script.
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

    /// Reports why the command failed. Scripts get several errors as one string: `first; second`.
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

    /// Reports a problem that doesn't stop the command.
    pub(crate) fn warn(&self, message: &str) {
        let Some(collected) = &self.collected else {
            return print_warning(message);
        };
        let message = without_passwords(message).into_owned();
        collected.borrow_mut().warnings.push(message);
    }

    /// Reports several warnings.
    pub(crate) fn warn_all(&self, messages: impl IntoIterator<Item: ToString>) {
        for message in messages {
            self.warn(&message.to_string());
        }
    }

    /// Suggests to a person what to do next.
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

    /// Tells a person what was done. Prints nothing if there is no message.
    pub(crate) fn note_if_any(&self, message: Option<String>) {
        if let Some(message) = message {
            self.note(&message);
        }
    }

    /// Prints the errors and warnings for a script, if there are any. Must be called before the
    /// program exits.
    pub(crate) fn finish(self) {
        let Some(collected) = self.collected else {
            return;
        };
        let messages = collected.into_inner();
        if messages.error.is_none() && messages.warnings.is_empty() {
            return;
        }
        if let Ok(json) = serde_json::to_string(&messages) {
            let _ = print_json_message(&json); // standard error is closed: nowhere to report it
        }
    }

    /// Returns a closure for `map_err` that turns a diagnostic about a prompt into the error of
    /// `command`, e.g. `show`.
    ///
    /// The closure adds a hint to the message. As a side effect, it prints warnings about
    /// unreadable folders, because the prompt could be in one of them.
    pub(crate) fn prompt_error(
        &self,
        view: &View,
        command: &str,
    ) -> impl Fn(Diagnostic) -> anyhow::Error {
        move |diagnostic| {
            self.warn_all(view.unreadable()); // here, because only the failed command needs them
            let suffix = hint_suffix(&diagnostic, command);
            anyhow!("{diagnostic}{suffix}")
        }
    }

    /// Asks a yes/no question, and returns whether the answer was yes. The default is no.
    ///
    /// # Errors
    /// Fails if standard input isn't a terminal, or the reporter is for scripts. The error suggests
    /// to pass `--yes`; `action` completes "add --yes to …", e.g. `remove standup.md`.
    pub(crate) fn confirm(&self, question: &str, action: &str) -> anyhow::Result<bool> {
        if !self.is_for_people() {
            bail!("--json asks nothing; add --yes to {action}");
        }
        if !io::stdin().is_terminal() {
            bail!(
                "cannot ask for confirmation, because standard input is not a terminal; add --yes to {action}"
            );
        }
        // No newline: the answer goes on the same line.
        print_message(&format!("{question} [y/N] ").into(), unwrapped)
            .context("the question cannot be asked")?;
        let mut answer = String::new();
        let byte_count = io::stdin()
            .read_line(&mut answer)
            .context("the answer cannot be read")?;
        if byte_count == 0 {
            print_unlabelled(""); // Ctrl-D was pressed, which doesn't echo a newline
        }
        let answer = answer.trim().to_lowercase();
        Ok(answer == "y" || answer == "yes")
    }

    /// Reports clap's error about the command line, or prints the help if it was asked for. Masks
    /// the passwords in the error, which may quote `arguments`.
    pub(crate) fn clap_error(&self, error: &clap::Error, arguments: &[OsString]) {
        if is_help(error) {
            return print_help(&error.render(), error.use_stderr());
        }
        let mut text = error.render().ansi().to_string();
        for argument in arguments {
            let argument = argument.to_string_lossy();
            let masked = without_password(&argument);
            if masked != argument {
                text = text.replace(&*argument, &masked);
            }
        }
        if !self.is_for_people() {
            return self.error(&without_usage(&text));
        }
        // Replaces clap's label with the one of all other errors.
        let message = text.strip_prefix("error:").unwrap_or(&text);
        let _ = print_message(&styled(ERROR, "error:").plain(message), unwrapped);
    }
}

/// Returns a hint to append to the error message of `command`; empty if there is none.
///
/// There is one if the prompt wasn't found, or if the name and the input were passed as a single
/// argument, as in `expand "review my code"`.
fn hint_suffix(diagnostic: &Diagnostic, command: &str) -> String {
    match &diagnostic.kind {
        // If the diagnostic is about a file, e.g. one that includes a prompt, a list doesn't help.
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

/// Prints a warning immediately, where no [`Reporter`] is available.
pub(crate) fn print_warning(message: &str) {
    print_labelled(WARNING, "warning:", message);
}

/// Prints a note immediately, where no [`Reporter`] is available.
pub(crate) fn print_note(message: &str) {
    print_labelled(FAINT, "note:", message);
}

/// Prints a label, such as `error:`, and a message, wrapped to the width of the terminal. Keeps the
/// message's own line breaks, because it may contain a command to copy.
fn print_labelled(style: Style, label: &str, message: &str) {
    let message = without_passwords(message);
    let columns = terminal_width_if(io::stderr().is_terminal());
    let line = styled(style, label).plain(format!(" {message}"));
    // If standard error is closed, there is nowhere to report that.
    let _ = print_message(&line, |text| wrap_each_line(&text, columns));
}

/// Prints lines to standard error as they are, without a label.
pub(crate) fn print_unlabelled(lines: &str) {
    let _ = print_message(&format!("{lines}\n").into(), unwrapped);
}

/// Returns whether clap's "error" is a request for the help or the version.
pub(crate) fn is_help(error: &clap::Error) -> bool {
    use clap::error::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}
