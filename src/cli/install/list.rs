//! The list of agents with what is registered.

use crate::agents::{Registration, SERVER, Scope, Status};
use crate::cli::output::{self, FAINT, NAME};
use crate::prompt::Position;
use crate::wording::{named, printable};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Whether something is registered with an agent, or that is unknown.
pub(super) fn has_something(state: &Status) -> bool {
    !state.registrations.is_empty() || !state.hooks.is_empty() || !state.errors.is_empty()
}

/// Lists agents with their state.
pub(super) fn list(states: &[Status], is_json: bool) -> anyhow::Result<ExitCode> {
    if is_json {
        output::print_json(&json!({ "clients": states.iter().map(json).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (shown, others): (Vec<&Status>, Vec<&Status>) =
        states.iter().partition(|state| state.is_found || has_something(state));
    let rows: Vec<Row> = shown.iter().flat_map(|state| rows(state)).collect();
    let mut text = Vec::new();
    match output::terminal_width() {
        Some(columns) => {
            let name_width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
            for Row { name, what, file } in &rows {
                let line = format!("{NAME}{name:name_width$}{NAME:#}  {what}");
                writeln!(text, "{}", output::wrapped(&line, columns))?;
                if !file.is_empty() {
                    writeln!(text, "    {FAINT}{file}{FAINT:#}")?;
                }
            }
        }
        None => rows.iter().try_for_each(|Row { name, what, file }| writeln!(text, "{name}\t{what}\t{file}"))?,
    }
    output::print(&text)?;
    for state in &shown {
        state.errors.iter().for_each(|error| output::warning(&error.to_string()));
    }
    if !others.is_empty() && output::terminal_width().is_some() {
        let names: Vec<&str> = others.iter().map(|state| state.agent.name).collect();
        output::print_lines(&format!("{FAINT}not found here:{FAINT:#} {}", names.join(", ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One registration of an agent.
struct Row {
    name: &'static str,
    what: String,
    /// The file that it is in, or nothing.
    file: String,
}

fn rows(state: &Status) -> Vec<Row> {
    let row = |what: &str, file: String| Row { name: state.agent.name, what: what.to_owned(), file };
    let servers = state.registrations.iter().map(|server| row(&describe(server), place(&server.path, server.position)));
    let hooks = state.hooks.iter().map(|(file, position)| row("hook", place(file, *position)));
    let rows: Vec<Row> = servers.chain(hooks).collect();
    match (rows.is_empty(), state.errors.is_empty()) {
        (false, _) => rows,
        (true, true) => vec![row("not registered", String::new())],
        (true, false) => vec![row("its config cannot be read", String::new())],
    }
}

fn place(file: &Path, position: Option<Position>) -> String {
    let line = position.map(|position| format!(":{}", position.line)).unwrap_or_default();
    format!("{}{line}", output::shown(file))
}

/// Prints the commands for the agents that are here and not registered.
pub(super) fn print_how_to_register(states: &[Status]) -> anyhow::Result<()> {
    let missing = || states.iter().filter(|state| state.is_found && !has_something(state)).map(|state| state.agent);
    let names: Vec<&str> = missing().map(|agent| agent.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    let command = format!("prompt-expander install {}", names.join(" "));
    output::print_lines(&format!("{FAINT}next:{FAINT:#} to register, run {}", named(&command)))
}

fn describe(server: &Registration) -> String {
    let mut text = match (server.is_prompt_expander(), server.name == SERVER) {
        (true, true) => "registered".to_owned(),
        (true, false) => format!("registered as {}", named(&server.name)),
        (false, _) => format!("another server is registered as `{SERVER}`"),
    };
    if server.scope != Scope::User {
        text.push_str(" for this project");
    }
    if server.is_prompt_expander() && !server.args.is_empty() {
        let words = || server.args.iter().map(String::as_str);
        let options = shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" "));
        text.push_str(&format!(" with {}", printable(&options)));
    }
    if server.is_disabled {
        text.push_str(", disabled");
    }
    let program = server.command.as_deref().map(Path::new).filter(|program| program.is_absolute());
    if program.is_some_and(|program| !program.exists()) {
        text.push_str(", but its program is missing");
    }
    text
}

fn json(state: &Status) -> Value {
    let registration = |server: &Registration| {
        let mut json = json!({
            "name": server.name,
            "scope": match server.scope {
                Scope::User => "user",
                Scope::Project => "project",
                Scope::Local => "local",
            },
            "file": server.path.display().to_string(),
            "command": server.command,
            "args": server.args,
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
