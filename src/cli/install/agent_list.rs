//! Prints the agents, and what is registered with each.

use crate::agents::{Registration, RegistrationStatus, SERVER_NAME, Scope};
use crate::cli::output::{self, Reporter};
use crate::prompt::Position;
use crate::wording::{in_backticks, without_password};
use serde_json::{Value, json};
use std::path::Path;

/// Returns whether something is registered with an agent, or may be because its files can't be
/// read.
pub(super) fn has_registration(status: &RegistrationStatus) -> bool {
    !status.registrations.is_empty() || !status.hooks.is_empty() || !status.errors.is_empty()
}

/// Prints the registrations of each agent that is installed or has a registration; as JSON, of
/// every agent. Warns of files that can't be read.
pub(super) fn print(
    statuses: &[RegistrationStatus],
    is_json: bool,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    if is_json {
        let clients: Vec<Value> = statuses.iter().map(status_to_json).collect();
        return output::print_json(&json!({ "clients": clients }));
    }
    let mut rows = Vec::new();
    for status in statuses {
        if status.is_found || has_registration(status) {
            rows.extend(rows_for(status));
        }
    }
    output::print_table(["AGENT", "STATUS", "FILE"], &rows)?;
    for status in statuses {
        reporter.warn_all(&status.errors);
    }
    Ok(())
}

/// Returns a row for each server and hook that is registered with an agent: the name of the agent,
/// the state, and `FILE:LINE`. If there are none, returns one row that says so, or that the config
/// can't be read.
fn rows_for(status: &RegistrationStatus) -> Vec<[String; 3]> {
    let agent = status.agent.name.to_owned();
    let mut rows = Vec::new();
    for server in &status.registrations {
        rows.push([
            agent.clone(),
            describe_state(server),
            format_location(&server.path, server.position),
        ]);
    }
    for (file, position) in &status.hooks {
        rows.push([
            agent.clone(),
            "hook".to_owned(),
            format_location(file, *position),
        ]);
    }
    if rows.is_empty() {
        let state = if status.errors.is_empty() {
            "not registered"
        } else {
            "its config cannot be read"
        };
        rows.push([agent, state.to_owned(), String::new()]);
    }
    rows
}

/// Formats a position as `FILE:LINE`, or as `FILE` if the line is unknown.
fn format_location(file: &Path, position: Option<Position>) -> String {
    let file = output::display_path(file);
    match position {
        Some(position) => format!("{file}:{}", position.line),
        None => file,
    }
}

/// Describes the state of a registered server, e.g. `registered`, or
/// ``registered as `mine` for this project, disabled``.
fn describe_state(server: &Registration) -> String {
    let mut state = if !server.is_prompt_expander() {
        format!("another server is registered as `{SERVER_NAME}`")
    } else if server.name == SERVER_NAME {
        "registered".to_owned()
    } else {
        format!("registered as {}", in_backticks(&server.name))
    };
    if server.scope != Scope::User {
        state += " for this project";
    }
    if server.is_disabled {
        state += ", disabled";
    }
    state
}

/// Returns the registrations of an agent as a JSON object.
fn status_to_json(status: &RegistrationStatus) -> Value {
    let registrations: Vec<Value> = status
        .registrations
        .iter()
        .map(registration_to_json)
        .collect();
    let hooks: Vec<String> = status
        .hooks
        .iter()
        .map(|(file, _)| file.display().to_string())
        .collect();
    let problems: Vec<String> = status.errors.iter().map(ToString::to_string).collect();
    json!({
        "name": status.agent.name,
        "title": status.agent.title,
        "found": status.is_found,
        "registrations": registrations,
        "hooks": hooks,
        "problems": problems,
    })
}

/// Returns a registered server as a JSON object. Hides passwords in its arguments.
fn registration_to_json(server: &Registration) -> Value {
    let scope = match server.scope {
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Local => "local",
    };
    let arguments: Vec<String> = server
        .args
        .iter()
        .map(|argument| without_password(argument))
        .collect();
    let mut json = json!({
        "name": server.name,
        "scope": scope,
        "file": server.path.display().to_string(),
        "command": server.command,
        "args": arguments,
        "enabled": !server.is_disabled,
        "ours": server.is_prompt_expander(),
    });
    if let Some(position) = server.position {
        json["line"] = json!(position.line);
    }
    json
}
