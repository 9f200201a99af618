//! Errors, warnings and notes on standard error: lines for people, or one JSON object at the end.

use super::{ERROR, FAINT, WARNING, paths, problem_in_two_lines};
use crate::library::Problem;
use crate::wording::printable_json;
use anstream::stderr;
use anstyle::Style;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// What is printed at the end; `None` if each message is printed at once.
static JSON: Mutex<Option<Messages>> = Mutex::new(None);

#[derive(Debug, Default, Serialize)]
struct Messages {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// From now on, messages are collected, and [`print_messages`] prints them as one JSON object.
pub(in crate::cli) fn collect_messages() {
    with_messages(|messages| *messages = Some(Messages::default()));
}

/// Prints the messages that were collected, if there are any.
pub(in crate::cli) fn print_messages() {
    let messages = with_messages(Option::take);
    let Some(messages) = messages else { return };
    if messages.error.is_none() && messages.warnings.is_empty() && messages.notes.is_empty() {
        return;
    }
    if let Ok(json) = serde_json::to_string(&messages) {
        let _ = writeln!(std::io::stderr(), "{}", printable_json(&json));
    }
}

/// Says why the command failed.
pub(in crate::cli) fn error(message: &str) {
    say("error:", ERROR, message, |messages| messages.error = Some(message.to_owned()));
}

/// Says what the user should know, though the command goes on.
pub(in crate::cli) fn warning(message: &str) {
    say("warning:", WARNING, message, |messages| messages.warnings.push(message.to_owned()));
}

/// Says what was done, or what to do next.
pub(in crate::cli) fn note(message: &str) {
    say("note:", FAINT, message, |messages| messages.notes.push(message.to_owned()));
}

/// Prints problems as `check` prints them.
pub(in crate::cli) fn report(problems: &[Problem]) {
    let collected = with_messages(|messages| {
        messages.as_mut().map(|messages| messages.warnings.extend(problems.iter().map(Problem::to_string)))
    });
    if collected.is_none() {
        let text: String = problems.iter().map(problem_in_two_lines).collect();
        let _ = stderr().write_all(paths::abbreviated_if(is_terminal(), &text).as_bytes());
    }
}

fn say(label: &str, style: Style, message: &str, collect: impl FnOnce(&mut Messages)) {
    let collected = with_messages(|messages| messages.as_mut().map(collect));
    if collected.is_none() {
        let message = paths::abbreviated_if(is_terminal(), message);
        let _ = writeln!(stderr(), "{style}{label}{style:#} {message}");
    }
}

fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

fn with_messages<T>(change: impl FnOnce(&mut Option<Messages>) -> T) -> T {
    change(&mut JSON.lock().unwrap_or_else(PoisonError::into_inner))
}
