//! The list of agents with what is registered.

use crate::agents::{Registration, SERVER, Scope, Status};
use crate::cli::output::{self, FAINT, NAME};
use crate::prompt::Position;
use crate::wording::{named, printable};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

#[derive(Serialize)]
struct Json {
    #[serde(rename = "clients")]
    agents: Vec<JsonAgent>,
}

#[derive(Serialize)]
struct JsonAgent {
    name: &'static str,
    title: &'static str,
    found: bool,
    registrations: Vec<JsonRegistration>,
    /// The files in which the hook is registered.
    hooks: Vec<String>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct JsonRegistration {
    name: String,
    scope: &'static str,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    command: Option<String>,
    args: Vec<String>,
    enabled: bool,
    #[serde(rename = "ours")]
    is_prompt_expander: bool,
}

/// Whether something is registered with an agent, or that is unknown.
pub(super) fn has_something(state: &Status) -> bool {
    !state.registrations.is_empty() || !state.hooks.is_empty() || !state.errors.is_empty()
}

/// Lists agents with their state.
pub(super) fn list(states: &[Status], is_json: bool) -> anyhow::Result<ExitCode> {
    if is_json {
        output::print_json(&Json { agents: states.iter().map(json).collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    let (shown, others): (Vec<&Status>, Vec<&Status>) =
        states.iter().partition(|state| state.is_found || has_something(state));
    let rows: Vec<Row> = shown.iter().flat_map(|state| rows(state)).collect();
    let mut text = Vec::new();
    match output::terminal_width() {
        Some(columns) => show_rows(&mut text, &rows, columns)?,
        None => rows.iter().try_for_each(|Row { name, what, file }| writeln!(text, "{name}\t{what}\t{file}"))?,
    }
    output::print(&text)?;
    for state in &shown {
        state.errors.iter().for_each(|error| output::warning(&error.to_string()));
    }
    if !others.is_empty() && output::terminal_width().is_some() {
        let names: Vec<&str> = others.iter().map(|state| state.agent.name).collect();
        output::print_line(&format!("{FAINT}not found here:{FAINT:#} {}", names.join(", ")))?;
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

/// A table of this many columns. If it is too narrow for the files, each has a line of its own.
fn show_rows(text: &mut Vec<u8>, rows: &[Row], columns: usize) -> io::Result<()> {
    let name_width = rows.iter().map(|row| output::width(row.name)).max().unwrap_or(0);
    let with_file = || rows.iter().filter(|row| !row.file.is_empty());
    let what_width = with_file().map(|row| output::width(&row.what)).max().unwrap_or(0);
    let file_width = with_file().map(|row| output::width(&row.file)).max().unwrap_or(0);
    let is_wide = name_width + 2 + what_width + 2 + file_width <= columns;
    for Row { name, what, file } in rows {
        let gap = " ".repeat(name_width - output::width(name) + 2);
        let what = output::wrapped(what, name_width + 2, columns);
        write!(text, "{NAME}{name}{NAME:#}{gap}{what}")?;
        if !file.is_empty() {
            let gap = match is_wide {
                true => " ".repeat(what_width - output::width(&what) + 2),
                false => "\n    ".to_owned(),
            };
            write!(text, "{gap}{FAINT}{file}{FAINT:#}")?;
        }
        writeln!(text)?;
    }
    Ok(())
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
    output::print_line(&format!("{FAINT}next:{FAINT:#} to register, run {}", named(&command)))
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
        text.push_str(&format!(" with {}", output::abbreviated(&printable(&options))));
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

fn json(state: &Status) -> JsonAgent {
    let registration = |server: &Registration| JsonRegistration {
        name: server.name.clone(),
        scope: match server.scope {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Local => "local",
        },
        file: server.path.display().to_string(),
        line: server.position.map(|position| position.line),
        command: server.command.clone(),
        args: server.args.clone(),
        enabled: !server.is_disabled,
        is_prompt_expander: server.is_prompt_expander(),
    };
    JsonAgent {
        name: state.agent.name,
        title: state.agent.title,
        found: state.is_found,
        registrations: state.registrations.iter().map(registration).collect(),
        hooks: state.hooks.iter().map(|(file, _)| file.display().to_string()).collect(),
        problems: state.errors.iter().map(ToString::to_string).collect(),
    }
}
