//! The list of agents with what is registered.

use crate::agents::{Registration, RegistrationStatus, SERVER_NAME, Scope};
use crate::cli::output::{self, FAINT, NAME, Reporter, Styled, styled};
use crate::prompt::Position;
use crate::wording::{in_backticks, without_password};
use serde_json::{Value, json};
use std::path::Path;

/// A line of the list.
struct AgentRow {
    agent: &'static str,
    state: String,
    /// The file and the line of the registration.
    place: String,
}

/// Returns whether something is registered with an agent, or its files cannot be read.
pub(super) fn has_something(status: &RegistrationStatus) -> bool {
    !status.registrations.is_empty() || !status.hooks.is_empty() || !status.errors.is_empty()
}

/// Prints what is registered with each agent, for agents that are on this machine or have something
/// registered. As JSON, prints all agents. Warns of files that cannot be read.
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
        if status.is_found || has_something(status) {
            rows.extend(rows_of(status));
        }
    }
    output::print_lines(&table(&rows))?;
    for status in statuses {
        reporter.warn_all(&status.errors);
    }
    Ok(())
}

/// Returns a row for each server and each hook that is registered with an agent; without any, one
/// row that says so, or that the agent's config cannot be read.
fn rows_of(status: &RegistrationStatus) -> Vec<AgentRow> {
    let agent = status.agent.name;
    let mut rows = Vec::new();
    for server in &status.registrations {
        rows.push(AgentRow {
            agent,
            state: state_of(server),
            place: place(&server.path, server.position),
        });
    }
    for (file, position) in &status.hooks {
        rows.push(AgentRow {
            agent,
            state: "hook".to_owned(),
            place: place(file, *position),
        });
    }
    if rows.is_empty() {
        let state = if status.errors.is_empty() {
            "not registered"
        } else {
            "its config cannot be read"
        };
        rows.push(AgentRow {
            agent,
            state: state.to_owned(),
            place: String::new(),
        });
    }
    rows
}

/// Returns rows as lines: on a terminal in columns below a header, else with tabs between cells.
fn table(rows: &[AgentRow]) -> Styled {
    let is_at_terminal = output::terminal_width().is_some();
    if is_at_terminal {
        aligned_table(rows)
    } else {
        lines_with_tabs(rows)
    }
}

fn lines_with_tabs(rows: &[AgentRow]) -> Styled {
    let mut text = Styled::default();
    for AgentRow {
        agent,
        state,
        place,
    } in rows
    {
        text.push(format!("{agent}\t{state}\t{place}\n"));
    }
    text
}

/// Returns rows in columns below a header; an empty text if there are no rows. 11 columns are
/// enough for the longest name of an agent.
fn aligned_table(rows: &[AgentRow]) -> Styled {
    let mut text = Styled::default();
    let Some(width) = rows.iter().map(|row| row.state.len()).max() else {
        return text;
    };
    let header = format!("{:11}  {:width$}  FILE\n", "AGENT", "STATUS");
    text.append(styled(FAINT, header));
    for row in rows {
        let line = styled(NAME, format!("{:11}", row.agent))
            .plain(format!("  {:width$}  ", row.state))
            .with(FAINT, &row.place)
            .plain("\n");
        text.append(line);
    }
    text
}

/// Returns the place of a registration as `FILE:LINE`, or as `FILE` if the line is not known.
fn place(file: &Path, position: Option<Position>) -> String {
    let file = output::display_path(file);
    match position {
        Some(position) => format!("{file}:{}", position.line),
        None => file,
    }
}

/// Returns the state of a registered server, such as `registered`, or
/// ``registered as `mine` for this project, disabled``.
fn state_of(server: &Registration) -> String {
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

/// Returns what is registered with an agent as a JSON object.
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

/// Returns a registered server as a JSON object, without the passwords in its arguments.
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
