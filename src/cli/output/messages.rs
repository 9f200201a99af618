//! Errors, warnings and notes on standard error: lines for people, or one JSON object at the end.

use super::text::{ERROR, FAINT, WARNING, width_if, wrapped_lines};
use crate::library::View;
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{printable, printable_json};
use anstream::stderr;
use anstyle::Style;
use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
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
        let _ = writeln!(io::stderr(), "{}", printable_json(&json));
    }
}

/// Says why the command failed.
pub(crate) fn error(message: &str) {
    say("error:", ERROR, message, |messages| {
        messages.error = Some(
            messages
                .error
                .take()
                .map_or(message.to_owned(), |error| format!("{error}; {message}")),
        );
    });
}

/// Says what the user should know, though the command goes on.
pub(crate) fn warning(message: &str) {
    say("warning:", WARNING, message, |messages| {
        messages.warnings.push(message.to_owned())
    });
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
    say("note:", FAINT, message, |_| ());
}

/// Prints a note, if there is one.
pub(crate) fn note_if_any(message: Option<String>) {
    message.iter().for_each(|message| note(message));
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
    let mut stderr = stderr();
    // In one write, so that what is typed is after it.
    let asked = format!("{question} [y/N] ");
    stderr
        .write_all(asked.as_bytes())
        .and_then(|()| stderr.flush())
        .context("the question cannot be asked")?;
    let mut answer = String::new();
    let length = io::stdin()
        .read_line(&mut answer)
        .context("the answer cannot be read")?;
    if length == 0 {
        let _ = writeln!(stderr); // Ctrl-D does not end the line of the question
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn say(label: &str, style: Style, message: &str, collect: impl FnOnce(&mut Messages)) {
    let collected = with_messages(|messages| messages.as_mut().map(collect));
    if collected.is_none() {
        // A message from a service may contain what a terminal acts on. Line breaks stay, because a
        // message may have a command to copy.
        let message = message
            .split('\n')
            .map(printable)
            .collect::<Vec<_>>()
            .join("\n");
        let text = wrapped_lines(
            &format!("{style}{label}{style:#} {message}"),
            width_if(io::stderr().is_terminal()),
        );
        let _ = stderr().write_all(text.as_bytes());
    }
}

fn with_messages<T>(change: impl FnOnce(&mut Option<Messages>) -> T) -> T {
    change(&mut lock(&JSON))
}
