//! `prompt-expander install` and `uninstall`: the registration of the server and the hook in the files of an agent.
//!
//! What would change is shown first. Nothing is written until the user confirms it, at a terminal or with --yes.

use super::Cli;
use super::agent::{agent_parser, system};
use super::output::{self, ADDED, FAINT, NAME, REMOVED};
use super::source::{Folders, PROJECT, PROMPTS_VARIABLE, absolute};
use crate::agents::{
    AGENTS, Agent, ConfigFile, Installation, Plan, Registration, Removal, SERVER, Scope, Status, System,
};
use crate::wording::{all_of, named, printable};
use anyhow::{Context, bail};
use clap::{Args, Parser};
use diffy::{DiffOptions, Line};
use serde::Serialize;
use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many lines are shown before and after one that changes.
const CONTEXT: usize = 2;

/// A changed line of more bytes than this is shown without most of its unchanged part.
const LONG: usize = 1_000;

/// How many unchanged characters of such a line are shown before and after the change.
const AROUND: usize = 60;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander install                          list the agents found here, with their status
  prompt-expander install codex                    show what would change, and ask
  prompt-expander install codex --hook --yes       with the hook, for a script
  prompt-expander install gemini --prompts ~/team/prompts
  prompt-expander install vscode --project --dry-run
  prompt-expander install codex -- --log-file ~/prompts.log";

#[derive(Debug, Args)]
pub(super) struct Install {
    /// The agent to register with; without it, the agents on this machine are listed with their status
    #[arg(value_parser = agent_parser())]
    agent: Option<&'static Agent>,
    /// Register for the project in the working directory, in a file of that project, instead of for all your projects
    #[arg(long, requires = "agent")]
    project: bool,
    /// Also register the prompt-submit hook: the model gets an expansion without calling a tool (codex, claude-code, gemini)
    #[arg(long, requires = "agent")]
    hook: bool,
    /// Write without asking
    #[arg(long, short, requires = "agent")]
    yes: bool,
    /// Show what would change, and write nothing
    #[arg(long, requires = "agent", conflicts_with = "yes")]
    dry_run: bool,
    /// Replace another server that is registered as `prompts`
    #[arg(long, requires = "agent")]
    replace: bool,
    /// Print one JSON object with the status of every agent; cannot be combined with AGENT
    #[arg(long, conflicts_with = "agent")]
    json: bool,
    /// More arguments for the server
    #[arg(last = true, value_name = "SERVER ARGUMENTS", requires = "agent")]
    arguments: Vec<String>,
}

pub(super) const UNINSTALL_EXAMPLE: &str = "\
Example:
  prompt-expander uninstall codex --yes";

#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// The agent
    #[arg(value_parser = agent_parser())]
    agent: &'static Agent,
    /// Remove what `install --project` wrote in the working directory
    #[arg(long)]
    project: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Show what would change, and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

impl Install {
    pub(super) fn run(self, folders: &Folders) -> anyhow::Result<ExitCode> {
        let system = system()?;
        let Some(agent) = self.agent else {
            if folders.is_given() {
                bail!("--prompts and --no-builtin are for a registration; name the agent, as in `install codex`");
            }
            return list(&system, self.json);
        };
        if self.hook && agent.hook.is_none() {
            let with_hook: Vec<&str> = Agent::with_hook().map(|agent| agent.name).collect();
            bail!(
                "{} has no hook that can add to what you type; {} have one. Leave out --hook",
                agent.title,
                all_of(&with_hook)
            );
        }
        let library = folders.arguments()?;
        check_server(&self.arguments)?;
        for problem in folders.library().view().missing() {
            output::warning(&problem.to_string());
        }
        if folders.prompts.is_empty() && env::var_os(PROMPTS_VARIABLE).is_some_and(|folders| !folders.is_empty()) {
            output::warning(&format!(
                "{PROMPTS_VARIABLE} is not part of the registration, and few agents pass it on; name its folders with --prompts"
            ));
        }
        // The one option of the server that a hook has, too; --prompts and --no-builtin come before `--`.
        let project = self.arguments.iter().filter(|word| *word == PROJECT).cloned();
        // A hook that is registered already must know the same prompts as the server.
        let has_hook = self.hook || agent.read_files(&system).has_hook(scope(self.project));
        let installation = Installation {
            agent,
            scope: scope(self.project),
            program: program()?,
            hook: has_hook.then(|| library.iter().cloned().chain(project).collect()),
            arguments: [library, self.arguments].concat(),
            replace: self.replace,
        };
        let plan = installation.plan(&system)?;
        if !agent.is_found(&system) {
            let title = agent.title;
            output::warning(&format!(
                "{title} was not found on this machine; the registration takes effect when it is installed"
            ));
        }
        if !carry_out(&plan, self.yes, self.dry_run, "registered already; nothing to change")? {
            return Ok(ExitCode::SUCCESS);
        }
        let next = (agent.next_step)(has_hook, self.project);
        output::print(format!("{FAINT}next:{FAINT:#} {next}\n").as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Uninstall {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let removal = Removal { agent: self.agent, scope: scope(self.project) };
        let plan = removal.plan(&system()?)?;
        carry_out(&plan, self.yes, self.dry_run, "not registered; nothing to remove")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn scope(is_project: bool) -> Scope {
    if is_project { Scope::Project } else { Scope::User }
}

/// Shows a plan, asks for confirmation, and carries the plan out. Returns whether it did.
fn carry_out(plan: &Plan, yes: bool, is_dry: bool, nothing: &str) -> anyhow::Result<bool> {
    for note in &plan.notes {
        output::warning(note);
    }
    if plan.files.is_empty() {
        output::print(format!("{nothing}\n").as_bytes())?;
        return Ok(false);
    }
    // Print before the question, not after it.
    for file in &plan.files {
        file.target()?;
    }
    let mut text = Vec::new();
    for file in &plan.files {
        show(&mut text, file)?;
    }
    output::print(&text)?;
    if is_dry {
        output::print(b"nothing is written, because of --dry-run\n")?;
        return Ok(false);
    }
    if !yes && !is_confirmed()? {
        bail!("nothing is written");
    }
    for file in &plan.files {
        let backup = file.write()?;
        let path = output::shown(&file.path);
        let message = match (&file.edited, backup) {
            (None, _) => format!("removed {path}, which had nothing else in it\n"),
            (Some(_), Some(backup)) => format!("wrote {path}; its backup is {}\n", output::shown(&backup)),
            (Some(_), None) => format!("wrote {path}\n"),
        };
        output::print(message.as_bytes())?;
    }
    Ok(true)
}

/// Asks for confirmation at the terminal.
fn is_confirmed() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!(
            "cannot ask for confirmation, because standard input is not a terminal; add --yes to write without asking, or --dry-run to see the changes only"
        );
    }
    let mut stderr = io::stderr();
    write!(stderr, "Write this? [y/N] ").and_then(|()| stderr.flush()).context("the question cannot be asked")?;
    let mut answer = String::new();
    let length = io::stdin().read_line(&mut answer).context("the answer cannot be read")?;
    if length == 0 {
        let _ = writeln!(stderr); // ends the line of the question
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The lines that change, and a few around them.
fn show(text: &mut Vec<u8>, file: &ConfigFile) -> io::Result<()> {
    let columns = output::terminal_width();
    writeln!(text, "{NAME}{}{NAME:#}", output::shown(&file.path))?;
    let [original, edited] = file.texts();
    let line_of = |line: &str| printable(&line.trim_end_matches(['\r', '\n']).replace('\t', "    "));
    let diff = DiffOptions::new().set_context_len(CONTEXT).create_patch(original, edited);
    for (at, hunk) in diff.hunks().iter().enumerate() {
        if at > 0 {
            writeln!(text, "{FAINT}  …{FAINT:#}")?;
        }
        let lines = hunk.lines();
        for (at, line) in lines.iter().enumerate() {
            match line {
                Line::Delete(line) => writeln!(text, "{REMOVED}- {}{REMOVED:#}", line_of(&shortened(line, lines, at)))?,
                Line::Insert(line) => writeln!(text, "{ADDED}+ {}{ADDED:#}", line_of(&shortened(line, lines, at)))?,
                Line::Context(line) => {
                    let line = line_of(line);
                    let line = columns.map_or(line.clone(), |columns| output::fit(&line, columns.saturating_sub(3)));
                    writeln!(text, "{FAINT}  {line}{FAINT:#}")?;
                }
            }
        }
    }
    Ok(())
}

/// A changed line. If it is very long, as in a file of one line, most of what it shares with the line that replaces it is omitted.
fn shortened(line: &str, lines: &[Line<'_, str>], at: usize) -> String {
    if line.len() <= LONG {
        return line.to_owned();
    }
    let is_context = |line: &&Line<'_, str>| matches!(line, Line::Context(_));
    let before = lines[..at].iter().rev().take_while(|line| !is_context(line)).count();
    let after = lines[at..].iter().take_while(|line| !is_context(line)).count();
    // The removed lines come before the added ones.
    let block = &lines[at - before..at + after];
    let removed: Vec<&str> =
        block.iter().filter_map(|line| if let Line::Delete(line) = line { Some(*line) } else { None }).collect();
    let added: Vec<&str> =
        block.iter().filter_map(|line| if let Line::Insert(line) = line { Some(*line) } else { None }).collect();
    let (own, others, at) =
        if before < removed.len() { (&removed, &added, before) } else { (&added, &removed, before - removed.len()) };
    let first = others.first().filter(|_| at == 0).copied().unwrap_or_default();
    let last = others.last().filter(|_| at + 1 == own.len()).copied().unwrap_or_default();
    let same = |pair: (char, char)| (pair.0 == pair.1).then(|| pair.0.len_utf8());
    let start: usize = line.chars().zip(first.chars()).map_while(same).sum();
    let rest = &line[start..];
    let end = line.len() - rest.chars().rev().zip(last.chars().rev()).map_while(same).sum::<usize>();
    let from = line[..start].char_indices().rev().nth(AROUND).map(|(at, _)| at);
    let to = line[end..].char_indices().nth(AROUND).map(|(at, _)| end + at);
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", mark(from.is_some()), &line[from.unwrap_or(0)..to.unwrap_or(line.len())], mark(to.is_some()))
}

/// Refuses arguments with which the server would not start.
fn check_server(words: &[String]) -> anyhow::Result<()> {
    let before = [env!("CARGO_PKG_NAME").to_owned()];
    let cli = match Cli::try_parse_from(before.iter().chain(words)) {
        Ok(cli) => cli,
        Err(error) if error.exit_code() == 0 => {
            bail!("the server would not start: the arguments after `--` only print text");
        }
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().next().unwrap_or_default().trim_start_matches("error: ");
            bail!("the server would not start with the arguments after `--`: {reason}");
        }
    };
    if cli.command.is_some() {
        bail!("the arguments after `--` must be options of the server, not a command");
    }
    if cli.common.source.folders.is_given() {
        bail!("put --prompts and --no-builtin before `--`, so that the hook gets them too");
    }
    Ok(())
}

/// The absolute path of this program that stays the same after an update: if a symlink on `PATH` leads here, the symlink,
/// because its target may be renamed.
fn program() -> anyhow::Result<String> {
    let this = env::current_exe().context("the file of this program cannot be found")?;
    let real = fs::canonicalize(&this).unwrap_or_else(|_| this.clone());
    let is_this = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|path| path == real);
    let name = format!("{}{}", env!("CARGO_PKG_NAME"), env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name));
    let as_called = env::args_os().next().map(PathBuf::from).filter(|called| called.components().count() > 1);
    let mut paths = on_path.chain(as_called.map(|called| absolute(&called))).chain([this.clone()]);
    let program = paths.find(is_this).unwrap_or(this);
    if program.file_name().is_none_or(|known| !known.eq_ignore_ascii_case(&name)) {
        bail!(
            "this program is called `{}`, and would not be recognized later; rename it to {}",
            output::shown(&program),
            named(&name)
        );
    }
    text(&program)
}

/// A path as it can be in a config.
fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| {
        format!("`{}` is not UTF-8, so it cannot be in a config; give it another name", output::shown(path))
    })
}

impl Folders {
    /// These options with absolute paths, to be registered.
    fn arguments(&self) -> anyhow::Result<Vec<String>> {
        let mut arguments = Vec::new();
        for folder in &self.prompts {
            arguments.extend(["--prompts".to_owned(), text(&absolute(folder))?]);
        }
        if self.no_builtin {
            arguments.push("--no-builtin".to_owned());
        }
        Ok(arguments)
    }
}

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

/// Lists the agents with their state.
fn list(system: &System, is_json: bool) -> anyhow::Result<ExitCode> {
    let states: Vec<Status> = AGENTS.into_iter().map(|agent| agent.status(system)).collect();
    if is_json {
        output::print_json(&Json { agents: states.iter().map(json).collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    let is_shown = |state: &&Status| {
        state.is_found || !state.registrations.is_empty() || !state.hooks.is_empty() || !state.errors.is_empty()
    };
    let (shown, others): (Vec<&Status>, Vec<&Status>) = states.iter().partition(is_shown);
    let is_table = output::terminal_width().is_some();
    let column = shown.iter().map(|state| state.agent.name.len()).max().unwrap_or(0);
    for state in &shown {
        let name = state.agent.name;
        for (what, file) in rows(state) {
            if is_table {
                let gap = " ".repeat(column - name.len() + 2);
                let file = file.map_or_else(String::new, |file| format!("  {FAINT}{file}{FAINT:#}"));
                writeln!(text, "{NAME}{name}{NAME:#}{gap}{what}{file}")?;
            } else {
                writeln!(text, "{name}\t{what}\t{}", file.unwrap_or_default())?;
            }
        }
    }
    output::print(&text)?;
    for state in &shown {
        state.errors.iter().for_each(|error| output::warning(&error.to_string()));
    }
    if !others.is_empty() && is_table {
        let names: Vec<&str> = others.iter().map(|state| state.agent.name).collect();
        output::print(format!("{FAINT}not found here:{FAINT:#} {}\n", names.join(", ")).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The rows for an agent, each with the file that it is about.
fn rows(state: &Status) -> Vec<(String, Option<String>)> {
    let servers = state.registrations.iter().map(|server| {
        let position = server.position.map(|position| format!(":{}", position.line)).unwrap_or_default();
        (describe(server), Some(format!("{}{position}", output::shown(&server.path))))
    });
    let hooks = state.hooks.iter().map(|file| ("hook".to_owned(), Some(output::shown(file))));
    let rows: Vec<_> = servers.chain(hooks).collect();
    match (rows.is_empty(), state.errors.is_empty()) {
        (false, _) => rows,
        (true, true) => vec![("not registered".to_owned(), None)],
        (true, false) => vec![("its config cannot be read".to_owned(), None)],
    }
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
        hooks: state.hooks.iter().map(|file| file.display().to_string()).collect(),
        problems: state.errors.iter().map(ToString::to_string).collect(),
    }
}
