//! `prompt-expander install` and `uninstall`: the registration in a client's config, and in that of its hook.
//!
//! What would change is shown first. Nothing is written before somebody says yes, at a terminal or by --yes.

use super::Cli;
use super::client::{client_parser, surroundings};
use super::output::{self, ADDED, FAINT, NAME, REMOVED};
use super::source::{Folders, PROJECT, PROMPTS_VARIABLE, absolute};
use crate::client::{Change, Client, Installation, Plan, Registration, Removal, SERVER, Scope, State, Surroundings};
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

/// A changed line of more bytes than this is shown without most of what does not change in it.
const LONG: usize = 1_000;

/// How many characters of such a line are shown before and after what changes.
const AROUND: usize = 60;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander install                          which clients are here, and their state
  prompt-expander install codex                    show what would change, and ask
  prompt-expander install codex --hook --yes       with the hook, for a script
  prompt-expander install gemini --prompts ~/team/prompts
  prompt-expander install vscode --project --dry-run
  prompt-expander install codex -- --log-file ~/prompts.log";

#[derive(Debug, Args)]
pub(super) struct Install {
    /// The client to register with; without it, those that are found here are listed with their state
    #[arg(value_parser = client_parser())]
    client: Option<Client>,
    /// Register for the project in the working directory, in a file that lies in it, instead of for you
    #[arg(long, requires = "client")]
    project: bool,
    /// Also register the prompt-submit hook: the model gets an expansion without calling a tool (codex, claude-code, gemini)
    #[arg(long, requires = "client")]
    hook: bool,
    /// Write without asking
    #[arg(long, short, requires = "client")]
    yes: bool,
    /// Show what would change, and write nothing
    #[arg(long, requires = "client", conflicts_with = "yes")]
    dry_run: bool,
    /// Take the place of another server that is registered as `prompts`
    #[arg(long, requires = "client")]
    replace: bool,
    /// One JSON object with the state of every client; not with CLIENT
    #[arg(long, conflicts_with = "client")]
    json: bool,
    /// What else the server is started with
    #[arg(last = true, value_name = "SERVER ARGUMENTS", requires = "client")]
    arguments: Vec<String>,
}

pub(super) const UNINSTALL_EXAMPLE: &str = "\
Example:
  prompt-expander uninstall codex --yes";

#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// The client
    #[arg(value_parser = client_parser())]
    client: Client,
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
        let surroundings = surroundings()?;
        let Some(client) = self.client else {
            if folders.is_given() {
                bail!("--prompts and --no-builtin are for a registration; name the client, as in `install codex`");
            }
            return list(&surroundings, self.json);
        };
        if self.hook && client.hook_event().is_none() {
            let with_hook: Vec<&str> = Client::with_hook().map(Client::name).collect();
            bail!(
                "{} has no hook that is known to add to what you type; {} have one. Leave --hook out",
                client.title(),
                all_of(&with_hook)
            );
        }
        let library = folders.arguments()?;
        check_server(client, &self.arguments)?;
        for problem in folders.library().view().missing() {
            output::warning(&problem.to_string());
        }
        if folders.prompts.is_empty() && env::var_os(PROMPTS_VARIABLE).is_some_and(|folders| !folders.is_empty()) {
            output::warning(&format!(
                "{PROMPTS_VARIABLE} is not part of the registration, and few clients pass it on; name its folders with --prompts"
            ));
        }
        // The one option of the server that a hook has, too; --prompts and --no-builtin stand before `--`.
        let project = self.arguments.iter().filter(|word| *word == PROJECT).cloned();
        // A hook that is there must know the same prompts as the server.
        let has_hook = self.hook || client.read_files(&surroundings).has_hook(scope(self.project));
        let installation = Installation {
            client,
            scope: scope(self.project),
            program: program()?,
            hook: has_hook.then(|| library.iter().cloned().chain(project).collect()),
            arguments: [library, self.arguments].concat(),
            replace: self.replace,
        };
        let plan = installation.plan(&surroundings)?;
        if !client.is_found(&surroundings) {
            output::warning(&format!(
                "{} was not found on this machine; it is registered for the day it is",
                client.title()
            ));
        }
        if !carry_out(&plan, self.yes, self.dry_run, "registered already; nothing to change")? {
            return Ok(ExitCode::SUCCESS);
        }
        let next = next(client, has_hook, self.project);
        output::print(format!("{FAINT}next:{FAINT:#} {next}\n").as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Uninstall {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let removal = Removal { client: self.client, scope: scope(self.project) };
        let plan = removal.plan(&surroundings()?)?;
        carry_out(&plan, self.yes, self.dry_run, "not registered; nothing to remove")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn scope(is_project: bool) -> Scope {
    if is_project { Scope::Project } else { Scope::User }
}

/// Shows a plan, asks, and carries it out; says whether it did.
fn carry_out(plan: &Plan, yes: bool, is_dry: bool, nothing: &str) -> anyhow::Result<bool> {
    for note in &plan.notes {
        output::warning(note);
    }
    if plan.changes.is_empty() {
        output::print(format!("{nothing}\n").as_bytes())?;
        return Ok(false);
    }
    // Before anybody is asked in vain.
    for change in &plan.changes {
        change.target()?;
    }
    let mut text = Vec::new();
    for change in &plan.changes {
        show(&mut text, change)?;
    }
    output::print(&text)?;
    if is_dry {
        output::print(b"nothing is written, because of --dry-run\n")?;
        return Ok(false);
    }
    if !yes && !is_agreed()? {
        bail!("nothing is written");
    }
    for change in &plan.changes {
        let backup = change.make()?;
        let path = output::shown(&change.path);
        let said = match (&change.after, backup) {
            (None, _) => format!("removed {path}, in which nothing else was\n"),
            (Some(_), Some(backup)) => format!("wrote {path}; what it was before is in {}\n", output::shown(&backup)),
            (Some(_), None) => format!("wrote {path}\n"),
        };
        output::print(said.as_bytes())?;
    }
    Ok(true)
}

/// Asks the person at the terminal.
fn is_agreed() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!(
            "nobody can be asked, since standard input is no terminal; write --yes to change this, or --dry-run to look only"
        );
    }
    let mut stderr = io::stderr();
    write!(stderr, "Write this? [y/N] ").and_then(|()| stderr.flush()).context("the question cannot be asked")?;
    let mut answer = String::new();
    let length = io::stdin().read_line(&mut answer).context("the answer cannot be read")?;
    if length == 0 {
        let _ = writeln!(stderr); // the line of the question has no end yet
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The lines that change, and a few around them.
fn show(text: &mut Vec<u8>, change: &Change) -> io::Result<()> {
    let columns = output::terminal_width();
    writeln!(text, "{NAME}{}{NAME:#}", output::shown(&change.path))?;
    let without_bom =
        |text: &Option<String>| text.clone().unwrap_or_default().trim_start_matches('\u{feff}').to_owned();
    let (before, after) = (without_bom(&change.before), without_bom(&change.after));
    let line_of = |line: &str| printable(&line.trim_end_matches(['\r', '\n']).replace('\t', "    "));
    let diff = DiffOptions::new().set_context_len(CONTEXT).create_patch(&before, &after);
    for (at, hunk) in diff.hunks().iter().enumerate() {
        if at > 0 {
            writeln!(text, "{FAINT}  …{FAINT:#}")?;
        }
        let lines = hunk.lines();
        for (at, line) in lines.iter().enumerate() {
            match line {
                Line::Delete(line) => writeln!(text, "{REMOVED}- {}{REMOVED:#}", line_of(&apart(line, lines, at)))?,
                Line::Insert(line) => writeln!(text, "{ADDED}+ {}{ADDED:#}", line_of(&apart(line, lines, at)))?,
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

/// A changed line, without most of what it shares with what takes its place if it is too long to be read, as in a file that
/// is one line.
fn apart(line: &str, lines: &[Line<'_, str>], at: usize) -> String {
    if line.len() <= LONG {
        return line.to_owned();
    }
    let is_context = |line: &&Line<'_, str>| matches!(line, Line::Context(_));
    let before = lines[..at].iter().rev().take_while(|line| !is_context(line)).count();
    let after = lines[at..].iter().take_while(|line| !is_context(line)).count();
    // What goes stands before what comes.
    let block = &lines[at - before..at + after];
    let gone: Vec<&str> =
        block.iter().filter_map(|line| if let Line::Delete(line) = line { Some(*line) } else { None }).collect();
    let come: Vec<&str> =
        block.iter().filter_map(|line| if let Line::Insert(line) = line { Some(*line) } else { None }).collect();
    let (own, others, at) =
        if before < gone.len() { (&gone, &come, before) } else { (&come, &gone, before - gone.len()) };
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

/// What to do now, and what to type.
fn next(client: Client, has_hook: bool, is_project: bool) -> String {
    let typed = "`:research solid-state batteries`";
    match client {
        Client::Codex if has_hook => format!(
            "start `codex` once and choose \"Trust all and continue\", or it skips the hook without a word; then type {typed}"
        ),
        Client::Codex if is_project => format!("start `codex` here, trust the project, and type {typed}"),
        Client::Codex => format!("start `codex`, and type {typed}"),
        Client::ClaudeCode if has_hook => format!("start `claude`, and type {typed}"),
        Client::ClaudeCode if is_project => {
            format!("start `claude` here, allow the server of the project, and type {typed}")
        }
        Client::ClaudeCode => {
            format!("start `claude`, and type {typed}; at the first call, choose \"don't ask again\"")
        }
        Client::GeminiCli if has_hook => format!("start `gemini` in a folder that it trusts, and type {typed}"),
        Client::GeminiCli => {
            "start `gemini` in a folder that it trusts, and type `/research solid-state batteries`".to_owned()
        }
        Client::VsCode => {
            format!("open the chat of VS Code in agent mode, start the server when it asks, and type {typed}")
        }
        Client::Cursor => format!("switch `{SERVER}` on in the MCP settings of Cursor, and type {typed} in its chat"),
        Client::Opencode => format!("start `opencode`, and type {typed}"),
        Client::Zed if is_project => format!("trust the project in Zed, and type {typed} in the Agent Panel"),
        Client::Zed => format!("type {typed} in the Agent Panel of Zed"),
    }
}

/// Refuses words that the server would not start with.
fn check_server(client: Client, words: &[String]) -> anyhow::Result<()> {
    let before = [env!("CARGO_PKG_NAME").to_owned()];
    let cli = match Cli::try_parse_from(before.iter().chain(words)) {
        Ok(cli) => cli,
        Err(error) if error.exit_code() == 0 => {
            bail!("the server would not start with what stands behind `--`, which prints a text and ends");
        }
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().next().unwrap_or_default().trim_start_matches("error: ");
            bail!("the server would not start with what stands behind `--`: {reason}");
        }
    };
    if cli.command.is_some() {
        bail!(
            "what stands behind `--` must be options of the server, and is a command; {} starts the server",
            client.title()
        );
    }
    if cli.source.folders.is_given() {
        bail!("--prompts and --no-builtin go before `--`, so that the hook has them, too");
    }
    Ok(())
}

/// Where this program is, from the root, by the name that stays: where a link on `PATH` leads here, the link, since what it
/// leads to may have another name after an update.
fn program() -> anyhow::Result<String> {
    let this = env::current_exe().context("this program cannot tell where it is")?;
    let real = fs::canonicalize(&this).unwrap_or_else(|_| this.clone());
    let is_this = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|path| path == real);
    let name = format!("{}{}", env!("CARGO_PKG_NAME"), env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name));
    let as_called = env::args_os().next().map(PathBuf::from).filter(|called| called.components().count() > 1);
    let mut ways = on_path.chain(as_called.map(|called| absolute(&called))).chain([this.clone()]);
    let program = ways.find(is_this).unwrap_or(this);
    if program.file_name().is_none_or(|known| !known.eq_ignore_ascii_case(&name)) {
        bail!(
            "this program is called `{}`, and would not be known again; call it {}",
            output::shown(&program),
            named(&name)
        );
    }
    text(&program)
}

/// A path as a config can hold it.
fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| {
        format!("`{}` is not UTF-8, and no config can hold it; give it another name", output::shown(path))
    })
}

impl Folders {
    /// These options, to be written down: with whole paths.
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
    clients: Vec<JsonClient>,
}

#[derive(Serialize)]
struct JsonClient {
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
    /// Whether it is this program.
    ours: bool,
}

/// Lists the clients with their state.
fn list(surroundings: &Surroundings, is_json: bool) -> anyhow::Result<ExitCode> {
    let states: Vec<State> = Client::ALL.into_iter().map(|client| client.state(surroundings)).collect();
    if is_json {
        output::print_json(&Json { clients: states.iter().map(json).collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    let is_shown = |state: &&State| {
        state.is_found || !state.registrations.is_empty() || !state.hooks.is_empty() || !state.errors.is_empty()
    };
    let (shown, others): (Vec<&State>, Vec<&State>) = states.iter().partition(is_shown);
    let is_table = output::terminal_width().is_some();
    let column = shown.iter().map(|state| state.client.name().len()).max().unwrap_or(0);
    for state in &shown {
        let name = state.client.name();
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
        let names: Vec<&str> = others.iter().map(|state| state.client.name()).collect();
        output::print(format!("{FAINT}not found here:{FAINT:#} {}\n", names.join(", ")).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What there is to say of a client: each with the file that it stands in.
fn rows(state: &State) -> Vec<(String, Option<String>)> {
    let servers = state.registrations.iter().map(|server| {
        let position = server.position.map(|position| format!(":{}", position.line)).unwrap_or_default();
        (standing(server), Some(format!("{}{position}", output::shown(&server.path))))
    });
    let hooks = state.hooks.iter().map(|file| ("hook".to_owned(), Some(output::shown(file))));
    let rows: Vec<_> = servers.chain(hooks).collect();
    match (rows.is_empty(), state.errors.is_empty()) {
        (false, _) => rows,
        (true, true) => vec![("not registered".to_owned(), None)],
        (true, false) => vec![("its config cannot be read".to_owned(), None)],
    }
}

/// How a server stands.
fn standing(server: &Registration) -> String {
    let mut standing = match (server.is_ours(), server.name == SERVER) {
        (true, true) => "registered".to_owned(),
        (true, false) => format!("registered as {}", named(&server.name)),
        (false, _) => format!("another server is registered as `{SERVER}`"),
    };
    if server.scope != Scope::User {
        standing.push_str(" for this project");
    }
    if !server.enabled {
        standing.push_str(", switched off");
    }
    let program = server.command.as_deref().map(Path::new).filter(|program| program.is_absolute());
    if program.is_some_and(|program| !program.exists()) {
        standing.push_str(", but its program is not there");
    }
    standing
}

fn json(state: &State) -> JsonClient {
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
        enabled: server.enabled,
        ours: server.is_ours(),
    };
    JsonClient {
        name: state.client.name(),
        title: state.client.title(),
        found: state.is_found,
        registrations: state.registrations.iter().map(registration).collect(),
        hooks: state.hooks.iter().map(|file| file.display().to_string()).collect(),
        problems: state.errors.iter().map(ToString::to_string).collect(),
    }
}
