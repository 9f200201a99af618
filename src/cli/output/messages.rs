//! Errors, warnings and notes on standard error: lines for people, or one JSON object at the end.

use super::stream::{print_help, print_json_message, print_message, styled};
use super::text::{ERROR, FAINT, WARNING, width_if, without_usage, wrapped_lines};
use crate::library::View;
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{without_password, without_passwords};
use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::Mutex;

/// What is printed at the end; `None` if each message is printed at once.
static JSON: Mutex<Option<Messages>> = Mutex::new(None);

#[derive(Debug, Default, Serialize)]
struct Messages {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// From now on, messages are collected, and [`print_messages`] prints them as one JSON object.
pub(crate) fn collect_messages() {
    with_messages(|messages| *messages = Some(Messages::default()));
}

/// Prints the messages that were collected, if there are any.
pub(crate) fn print_messages() {
    let messages =
        with_messages(Option::take).filter(|all| all.error.is_some() || !all.warnings.is_empty());
    if let Some(Ok(json)) = messages.map(|messages| serde_json::to_string(&messages)) {
        let _ = print_json_message(&json);
    }
}

/// Says why the command failed.
pub(crate) fn error(message: &str) {
    say(Level::Error, message);
}

/// Says what the user should know, though the command goes on.
pub(crate) fn warning(message: &str) {
    say(Level::Warning, message);
}

/// The same of each of these.
pub(crate) fn warnings(messages: impl IntoIterator<Item: ToString>) {
    messages
        .into_iter()
        .for_each(|message| warning(&message.to_string()));
}

/// Says what was done, or what to do next, to a person: nothing if messages are collected for a
/// script.
pub(crate) fn note(message: &str) {
    say(Level::Note, message);
}

/// Prints a note, if there is one.
pub(crate) fn note_if_any(message: Option<String>) {
    message.iter().for_each(|message| note(message));
}

/// Says lines to a person without a label, even if messages are collected.
pub(crate) fn lines(lines: &str) {
    let _ = print_message(&format!("{lines}\n").into(), |shown| shown);
}

/// Prints help, or says what is wrong with a command line. `arguments` are its words, whose
/// passwords are not repeated.
pub(crate) fn usage(error: &clap::Error, arguments: &[OsString]) {
    if is_help(error) {
        return print_help(&error.render(), error.use_stderr());
    }
    let mut text = error.render().ansi().to_string();
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        let hidden = without_password(argument);
        if hidden != argument {
            text = text.replace(argument, &hidden);
        }
    }
    if with_messages(|messages| messages.is_some()) {
        return self::error(&without_usage(&text));
    }
    let message = text.strip_prefix("error:").unwrap_or(&text);
    let _ = print_message(&styled(ERROR, "error:").plain(message), |shown| shown);
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

/// The error of a command for a prompt that cannot be found, or not be used like this. Warns of
/// what cannot be read, which may have it.
pub(crate) fn failure(view: &View, command: &str) -> impl Fn(Diagnostic) -> anyhow::Error {
    move |why| {
        warnings(view.unreadable());
        let hint = match &why.kind {
            Kind::NoSuchPrompt { .. } if command == "edit" => {
                " (`prompt-expander new NAME --edit` makes a new one)".to_owned()
            }
            Kind::NoSuchPrompt { .. } | Kind::NotACommand if why.file.is_none() => {
                " (`prompt-expander list` shows all prompts)".to_owned()
            }
            Kind::TextInName { name } if command == "expand" => {
                format!(": `prompt-expander expand {name} INPUT…`")
            }
            Kind::TextInName { name } => format!(": `prompt-expander {command} {name}`"),
            _ => String::new(),
        };
        anyhow!("{why}{hint}")
    }
}

/// Asks a question that is answered with yes or no, and returns whether the answer was yes. `what`
/// is what --yes would do.
///
/// # Errors
/// Standard input is not a terminal, or messages are collected for a script.
pub(crate) fn confirm(question: &str, what: &str) -> anyhow::Result<bool> {
    if with_messages(|messages| messages.is_some()) {
        bail!("--json asks nothing; add --yes to {what}");
    }
    if !io::stdin().is_terminal() {
        bail!(
            "cannot ask for confirmation, because standard input is not a terminal; add --yes to {what}"
        );
    }
    // In one write, so that what is typed is after it.
    print_message(&format!("{question} [y/N] ").into(), |shown| shown)
        .context("the question cannot be asked")?;
    let mut answer = String::new();
    let length = io::stdin()
        .read_line(&mut answer)
        .context("the answer cannot be read")?;
    if length == 0 {
        lines(""); // Ctrl-D does not end the line of the question
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// How important a message is.
#[derive(Clone, Copy)]
enum Level {
    Error,
    Warning,
    Note,
}

/// Prints a message, or collects it. Its line breaks stay, because it may have a command to copy.
fn say(level: Level, message: &str) {
    let message = without_passwords(message);
    if with_messages(|messages| messages.as_mut().map(|all| all.add(level, &message))).is_some() {
        return;
    }
    let label = match level {
        Level::Error => styled(ERROR, "error:"),
        Level::Warning => styled(WARNING, "warning:"),
        Level::Note => styled(FAINT, "note:"),
    };
    let columns = width_if(io::stderr().is_terminal());
    let _ = print_message(&label.plain(format!(" {message}")), |shown| {
        wrapped_lines(&shown, columns)
    });
}

impl Messages {
    fn add(&mut self, level: Level, message: &str) {
        match (level, &mut self.error) {
            (Level::Error, Some(error)) => *error += &format!("; {message}"),
            (Level::Error, None) => self.error = Some(message.to_owned()),
            (Level::Warning, _) => self.warnings.push(message.to_owned()),
            (Level::Note, _) => {}
        }
    }
}

fn with_messages<T>(change: impl FnOnce(&mut Option<Messages>) -> T) -> T {
    change(&mut lock(&JSON))
}
