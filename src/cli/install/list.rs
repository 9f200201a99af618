//! The list of agents with what is registered.

use crate::agents::{Registration, SERVER, Scope, Status};
use crate::cli::output::{self, FAINT, NAME, Reporter, styled};
use crate::prompt::Position;
use crate::wording::{named, without_password};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Whether something is registered with an agent, or that is unknown.
pub(super) fn has_something(state: &Status) -> bool {
    !state.registrations.is_empty() || !state.hooks.is_empty() || !state.errors.is_empty()
}

/// Lists agents with their state.
pub(super) fn list(
    states: &[Status],
    is_json: bool,
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    if is_json {
        output::print_json(&json!({ "clients": states.iter().map(json).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for state in states
        .iter()
        .filter(|state| state.is_found || has_something(state))
    {
        let servers = state
            .registrations
            .iter()
            .map(|server| (describe(server), place(&server.path, server.position)));
        let hooks = state
            .hooks
            .iter()
            .map(|(file, position)| ("hook".to_owned(), place(file, *position)));
        let mut rows: Vec<(String, String)> = servers.chain(hooks).collect();
        if rows.is_empty() {
            let what = if state.errors.is_empty() {
                "not registered"
            } else {
                "its config cannot be read"
            };
            rows.push((what.to_owned(), String::new()));
        }
        let name = state.agent.name;
        for (what, place) in rows {
            output::print_lines(&match output::terminal_width() {
                Some(_) => styled(NAME, format!("{name:11}"))
                    .plain(format!("  {what}  "))
                    .with(FAINT, place),
                None => format!("{name}\t{what}\t{place}").into(),
            })?;
        }
        state
            .errors
            .iter()
            .for_each(|error| reporter.warn(&error.to_string()));
    }
    Ok(ExitCode::SUCCESS)
}

fn place(file: &Path, position: Option<Position>) -> String {
    let line = position
        .map(|position| format!(":{}", position.line))
        .unwrap_or_default();
    format!("{}{line}", output::shown(file))
}

fn describe(server: &Registration) -> String {
    let what = match (server.is_prompt_expander(), server.name == SERVER) {
        (true, true) => "registered".to_owned(),
        (true, false) => format!("registered as {}", named(&server.name)),
        (false, _) => format!("another server is registered as `{SERVER}`"),
    };
    let scope = if server.scope == Scope::User {
        ""
    } else {
        " for this project"
    };
    format!(
        "{what}{scope}{}",
        if server.is_disabled { ", disabled" } else { "" }
    )
}

fn json(state: &Status) -> Value {
    let registration = |server: &Registration| {
        let arguments = server.args.iter().map(String::as_str);
        let arguments: Vec<String> = arguments.map(without_password).collect();
        let mut json = json!({
            "name": server.name,
            "scope": match server.scope {
                Scope::User => "user",
                Scope::Project => "project",
                Scope::Local => "local",
            },
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
    };
    json!({
        "name": state.agent.name,
        "title": state.agent.title,
        "found": state.is_found,
        "registrations": state.registrations.iter().map(registration).collect::<Vec<_>>(),
        "hooks": state.hooks.iter().map(|(file, _)| file.display().to_string()).collect::<Vec<_>>(),
        "problems": state.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
