//! `prompt-expander install` and `uninstall`: the registration of the server and the hook in the files of an agent.
//!
//! What would change is shown first. Nothing is written until the user confirms it, at a terminal or with --yes.

use super::Cli;
use super::agent::{agent_parser, system};
use super::output::{self, ADDED, FAINT, NAME, REMOVED};
use super::source::{self, Folders, absolute};
use crate::agents::{
    AGENTS, Agent, Arguments, ConfigFile, HttpServer, Installation, PROMPTS_VARIABLE, Plan, Position, Registration,
    Removal, SERVER, Scope, Status, System, Token, endpoint, is_exposed, is_variable,
};
use crate::wording::{all_of, named, printable};
use anyhow::{Context, anyhow, bail};
use clap::{ArgGroup, Args, Parser};
use diffy::{DiffOptions, Line};
use serde::Serialize;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many lines are shown before and after one that changes.
const CONTEXT: usize = 2;

/// A changed line of more bytes than this is shown without most of its unchanged part.
const LONG: usize = 1_000;

/// How many unchanged characters of such a line are shown before and after the change.
const AROUND: usize = 60;

/// The longest name of a variable with a token, in bytes. A longer one is a token.
const LONGEST_VARIABLE: usize = 40;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander install                          list the agents found here, with their status
  prompt-expander install codex --hook             show what would change, and ask
  prompt-expander install codex gemini --hook --yes
  prompt-expander install --all --dry-run          only show what would change in each agent
  prompt-expander install gemini --prompts ~/team/prompts --no-trust
  prompt-expander install vscode --project
  prompt-expander install codex -- --log-file ~/prompts.log
  prompt-expander install codex --hook --http http://127.0.0.1:3333";

/// For other commands, the environment names the folders if the option does not; a registration has only what is given.
pub(super) const HELP_OF_PROMPTS: &str = "\
A folder of prompt files to register; can be repeated, and earlier folders override later ones

Without it, an existing registration keeps its folders. A new one names none; the server then reads the folder \
`prompt-expander/prompts` in your configuration directory.";

#[derive(Debug, Args)]
pub(super) struct Install {
    /// Register for the project in the working directory, in a file of that project, instead of for all your projects
    #[arg(long, requires = "target")]
    project: bool,
    /// Also register the prompt-submit hook (recommended): the model gets each expansion without calling a tool (codex,
    /// claude-code, gemini)
    #[arg(long, requires = "target")]
    hook: bool,
    /// Start from an empty registration, without the present options, environment variables and other settings
    #[arg(long, requires = "target")]
    reset: bool,
    /// Replace another server that is registered as `prompts`
    #[arg(long, requires = "target")]
    replace: bool,
    /// Register the server over HTTP at this URL, with or without `/mcp`, instead of having the agent start this program; the
    /// hook asks that server, too
    #[arg(long, value_name = "URL", requires = "target")]
    http: Option<String>,
    /// The environment variable in which the agent finds the token for the server at --http; the token itself is written to no
    /// file
    #[arg(long, value_name = "NAME", requires = "http")]
    token_env: Option<String>,
    /// Leave out `"trust": true`, with which Gemini CLI calls the tools of this server without asking (gemini)
    #[arg(long, requires = "target")]
    no_trust: bool,
    #[command(flatten)]
    target: Target,
    /// More options for the server, such as `--project` or `--tap FILE`
    #[arg(last = true, value_name = "SERVER OPTIONS", requires = "target")]
    options: Vec<String>,
}

pub(super) const UNINSTALL_EXAMPLES: &str = "\
Examples:
  prompt-expander uninstall                        list what is registered
  prompt-expander uninstall codex gemini           show what would change, and ask
  prompt-expander uninstall --all --yes";

#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// Remove what `install --project` wrote in the working directory
    #[arg(long, requires = "target")]
    project: bool,
    #[command(flatten)]
    target: Target,
}

// What `install` and `uninstall` have in common.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").args(["agents", "all"]))]
struct Target {
    /// The agents; if you name none, the agents and their status are listed
    #[arg(value_name = "AGENT", value_parser = agent_parser())]
    agents: Vec<&'static Agent>,
    /// Select all agents: those found on this machine or, for `uninstall`, those with a registration
    #[arg(long)]
    all: bool,
    /// Write without asking
    #[arg(long, short, requires = "target")]
    yes: bool,
    /// Show what would change, and write nothing
    #[arg(long, requires = "target", conflicts_with = "yes")]
    dry_run: bool,
    /// Print one JSON object: what is written (with --yes or --dry-run) or, without agents, the status of every agent
    #[arg(long)]
    json: bool,
}

impl Install {
    pub(super) fn run(self, folders: &Folders) -> anyhow::Result<ExitCode> {
        let system = system()?;
        if self.target.is_absent() {
            if folders.is_given() {
                bail!(
                    "--prompts, --from-agents, --no-builtin and --openapi are for a registration; name the agent, as in \
                     `install codex`"
                );
            }
            let states = AGENTS.map(|agent| agent.status(&system));
            let listed = list(&states, self.target.json)?;
            if !self.target.json && output::terminal_width().is_some() {
                print_how_to_register(&states)?;
            }
            return Ok(listed);
        }
        let is_meant = |agent: &&Agent| match self.target.all {
            true => agent.is_found(&system),
            false => self.target.agents.contains(agent),
        };
        let agents: Vec<&'static Agent> = AGENTS.into_iter().filter(is_meant).collect();
        if agents.is_empty() {
            let names = AGENTS.map(|agent| agent.name);
            bail!(
                "no agent was found on this machine; looked for {}; to register with one anyway, name it",
                all_of(&names)
            );
        }
        if self.no_trust && !self.target.all && !agents.iter().any(|agent| agent.has_trust()) {
            let with_trust = AGENTS.into_iter().filter(|agent| agent.has_trust()).map(|agent| agent.name);
            bail!("--no-trust is only for {}; leave it out", all_of(&with_trust.collect::<Vec<_>>()));
        }
        let http = self.http_server(folders)?;
        check_server(&self.options)?;
        let options = [folders.arguments()?, self.options.clone()].concat();
        for problem in folders.library().view().missing() {
            output::warning(&problem.to_string());
        }
        let program = program()?;
        let plan = |agent: &'static Agent| {
            if self.hook && agent.hook.is_none() && !self.target.all {
                let with_hook: Vec<&str> = Agent::with_hook().map(|agent| agent.name).collect();
                bail!(
                    "{} has no hook that can add to what you type; {} have one. Leave out --hook",
                    agent.title,
                    all_of(&with_hook)
                );
            }
            let installation = Installation {
                agent,
                scope: scope(self.project),
                program: program.clone(),
                options: options.clone(),
                http: http.clone(),
                hook: self.hook,
                reset: self.reset,
                replace: self.replace,
                trust: !self.no_trust,
            };
            let mut plan = installation.plan(&system)?;
            warn(&plan, agent, &system);
            plan.notes.extend(token_note(&plan, agent, &system));
            Ok(plan)
        };
        let outcome = self.target.carry_out(&agents, plan, "registered already; nothing to change")?;
        if !self.target.json {
            self.print_next_steps(&outcome)?;
        }
        Ok(outcome.status())
    }

    /// The server over HTTP to register, if there is one; refuses options that are only for a server that an agent starts.
    fn http_server(&self, folders: &Folders) -> anyhow::Result<Option<HttpServer>> {
        let Some(url) = &self.http else { return Ok(None) };
        // Neither is repeated: there may be a password or a token in it.
        let url = endpoint(url).map_err(|why| anyhow!("the URL of --http {why}"))?;
        if self.token_env.as_ref().is_some_and(|name| !is_variable(name) || name.len() > LONGEST_VARIABLE) {
            bail!(
                "--token-env takes the name of an environment variable, such as TEAM_TOKEN, and not the token itself"
            );
        }
        if !cfg!(feature = "http") {
            bail!(
                "this program was built without HTTP, so its hook could not ask a server; build it with the feature `http`"
            );
        }
        let own = "the server at --http has the prompts and options with which it was started";
        if folders.is_given() {
            bail!("{own}; leave out --prompts, --from-agents, --no-builtin and --openapi, or --http");
        }
        if !self.options.is_empty() {
            bail!("{own}; leave out the arguments after `--`, or --http");
        }
        if self.token_env.is_some() && is_exposed(&url) {
            output::warning(&format!(
                "the token for {url} can be read on the network, because it is not encrypted; use a URL that begins with https://"
            ));
        }
        #[cfg(feature = "http")]
        {
            let default = crate::remote::TOKEN_VARIABLE;
            let is_set = env::var_os(default).is_some_and(|token| !token.is_empty());
            if is_set && self.token_env.is_none() {
                output::note(&format!(
                    "{default} is set, but not part of the registration; if the server needs a token, add --token-env {default}"
                ));
            }
        }
        Ok(Some(HttpServer { url, token_variable: self.token_env.clone() }))
    }

    fn print_next_steps(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let written = || outcome.changes.iter().filter(|change| !change.written.is_empty());
        // A hook that is still to be trusted is worth saying also where nothing had to be written.
        let is_open = |change: &&Change| {
            !change.written.is_empty()
                || (change.plan.files.is_empty() && change.plan.is_hook_untrusted && !self.target.dry_run)
        };
        for Change { agent, plan, .. } in outcome.changes.iter().filter(is_open) {
            let next = (agent.next_step)(plan, self.project);
            print_line(&format!("{FAINT}next:{FAINT:#} {next}"))?;
        }
        let at_url: Vec<&str> =
            written().filter(|change| change.plan.http.is_some()).map(|change| change.agent.name).collect();
        if let [first, others @ ..] = at_url.as_slice() {
            let name = if others.is_empty() { format!(" {first}") } else { String::new() };
            print_line(&format!(
                "{FAINT}tip:{FAINT:#} `prompt-expander doctor{name}` checks that the server answers and accepts the token"
            ))?;
        }
        let without_hook = written().filter(|change| change.agent.hook.is_some() && !change.plan.has_hook);
        let names: Vec<&str> = without_hook.map(|change| change.agent.name).collect();
        if !names.is_empty() {
            let project = if self.project { " --project" } else { "" };
            let http = self.http.as_ref().map(|url| format!(" --http {url}")).unwrap_or_default();
            print_line(&format!(
                "{FAINT}tip:{FAINT:#} add the hook with `prompt-expander install {}{project}{http} --hook`: the model then gets each \
                 prompt at once, without having to call a tool",
                names.join(" ")
            ))?;
        }
        Ok(())
    }
}

impl Uninstall {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let system = system()?;
        let states = AGENTS.map(|agent| agent.status(&system));
        if self.target.is_absent() && self.target.json {
            return list(&states, true);
        }
        let registered: Vec<Status> = states.into_iter().filter(has_something).collect();
        if self.target.is_absent() {
            if registered.is_empty() && output::terminal_width().is_some() {
                print_line("nothing is registered")?;
            }
            return list(&registered, false);
        }
        let agents: Vec<&'static Agent> = match self.target.all {
            true => registered.iter().map(|state| state.agent).collect(),
            false => AGENTS.into_iter().filter(|agent| self.target.agents.contains(agent)).collect(),
        };
        if agents.is_empty() && !self.target.json {
            print_line("nothing is registered")?;
        }
        let plan = |agent| {
            let plan = Removal { agent, scope: scope(self.project) }.plan(&system)?;
            plan.warnings.iter().for_each(|warning| output::warning(warning));
            Ok(plan)
        };
        let outcome = self.target.carry_out(&agents, plan, "not registered; nothing to remove")?;
        Ok(outcome.status())
    }
}

fn scope(is_project: bool) -> Scope {
    if is_project { Scope::Project } else { Scope::User }
}

/// Warns of what may not work after this installation.
fn warn(plan: &Plan, agent: &Agent, system: &System) {
    plan.warnings.iter().for_each(|warning| output::warning(warning));
    let title = agent.title;
    if let Err(why) = parse_server(&plan.arguments) {
        output::warning(&format!(
            "{title} would not start the server with the registered arguments: {why}; correct them, or use --reset"
        ));
    }
    let has_folders = plan.http.is_some() || !Arguments::of(&plan.arguments).folders.is_empty();
    if !has_folders && env::var_os(PROMPTS_VARIABLE).is_some_and(|folders| !folders.is_empty()) {
        output::warning(&format!(
            "{PROMPTS_VARIABLE} is not part of the registration with {title}, and few agents pass it on; name its folders with \
             --prompts"
        ));
    }
    if !agent.is_found(system) {
        output::warning(&format!(
            "{title} was not found on this machine; the registration takes effect when it is installed"
        ));
    }
}

/// Where the agent gets the token for its server over HTTP.
fn token_note(plan: &Plan, agent: &Agent, system: &System) -> Option<String> {
    let variable = plan.http.as_ref()?.token_variable.as_ref()?;
    let title = agent.title;
    let is_set = system.environment.get(variable).is_some_and(|value| !value.is_empty());
    let is_set = if is_set { "" } else { ", which is not set here" };
    let where_to_set = match agent.launch.is_from_desktop {
        true => {
            "set it for your whole session, since what a shell exports does not reach a program started from the desktop"
        }
        false => "export it in the shell that starts the agent",
    };
    Some(format!("{title} reads the token from the environment variable {variable}{is_set}; {where_to_set}"))
}

/// The change of one agent.
struct Change {
    agent: &'static Agent,
    plan: Plan,
    /// What [`ConfigFile::write`] returned for each file that was written, in their order in the plan.
    written: Vec<Vec<PathBuf>>,
}

/// What `install` or `uninstall` did.
struct Outcome {
    changes: Vec<Change>,
    /// Why an agent has no change, or not all of it.
    failures: Vec<String>,
}

impl Outcome {
    fn status(&self) -> ExitCode {
        if self.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl Target {
    /// Whether no agent is selected.
    fn is_absent(&self) -> bool {
        self.agents.is_empty() && !self.all
    }

    /// Plans the change of each agent, shows them all, asks once, and writes. An agent that fails does not stop the others.
    fn carry_out(
        &self,
        agents: &[&'static Agent],
        plan: impl Fn(&'static Agent) -> anyhow::Result<Plan>,
        nothing: &str,
    ) -> anyhow::Result<Outcome> {
        if self.json && !self.yes && !self.dry_run {
            bail!("--json cannot ask for confirmation; add --yes to write, or --dry-run to write nothing");
        }
        let (mut changes, mut failures) = (Vec::new(), Vec::new());
        let mut fail = |error: anyhow::Error| {
            let message = format!("{error:#}");
            if !self.json {
                output::error(&message);
            }
            failures.push(message);
        };
        for &agent in agents {
            let planned = plan(agent).and_then(|plan| {
                // Whether the files can be written is known before the question.
                plan.files.iter().try_for_each(|file| file.target().map(drop))?;
                Ok(plan)
            });
            match planned {
                Ok(plan) => changes.push(Change { agent, plan, written: Vec::new() }),
                Err(error) => fail(error),
            }
        }
        if self.is_confirmed(&changes, nothing)? {
            for change in &mut changes {
                if let Err(error) = change.write(self.json) {
                    fail(error);
                }
            }
        }
        if self.json {
            output::print_json(&JsonChanges::from(changes.as_slice()))?;
            if !failures.is_empty() {
                output::error(&failures.join("; "));
            }
        }
        Ok(Outcome { changes, failures })
    }

    /// Shows the changes, and asks whether to write them, unless an option says so.
    fn is_confirmed(&self, changes: &[Change], nothing: &str) -> anyhow::Result<bool> {
        if self.json {
            return Ok(self.yes);
        }
        let name = |agent: &Agent| if self.agents.len() == 1 { String::new() } else { format!("{}: ", agent.name) };
        let mut text = Vec::new();
        for Change { agent, plan, .. } in changes {
            if plan.files.is_empty() {
                writeln!(text, "{}{nothing}", name(agent))?;
            }
            for file in &plan.files {
                show(&mut text, file)?;
            }
        }
        output::print(&text)?;
        for Change { agent, plan, .. } in changes {
            plan.notes.iter().for_each(|note| output::note(&format!("{}{note}", name(agent))));
        }
        if changes.iter().all(|change| change.plan.files.is_empty()) {
            return Ok(false);
        }
        if self.dry_run {
            print_line("nothing is written; run it without --dry-run to write this")?;
            return Ok(false);
        }
        let is_confirmed =
            self.yes || output::confirm("Write this?", "write without asking, or --dry-run to see the changes only")?;
        if !is_confirmed {
            print_line("nothing is written")?;
        }
        Ok(is_confirmed)
    }
}

impl Change {
    /// Writes the files in their order, up to the first that cannot be written.
    fn write(&mut self, is_json: bool) -> anyhow::Result<()> {
        for file in &self.plan.files {
            let obsolete = file.obsolete_backups.iter().filter(|backup| backup.exists()).count();
            let backups = file.write()?;
            if !is_json {
                let removed = match obsolete {
                    0 => "",
                    1 => ", and removed its backup",
                    _ => ", and removed its backups",
                };
                let path = output::shown(&file.path);
                let names: Vec<String> = backups.iter().map(|backup| output::shown(backup)).collect();
                print_line(&match (&file.edited, names.as_slice()) {
                    (None, _) => format!("removed {path}, which had nothing else in it{removed}"),
                    (Some(_), []) if obsolete > 0 => format!("restored {path} as it was before{removed}"),
                    (Some(_), []) => format!("wrote {path}"),
                    (Some(_), [backup]) => format!("wrote {path}; its backup is {backup}"),
                    (Some(_), [backup, earlier, ..]) => {
                        format!(
                            "wrote {path}; its backup is {backup}, and the earlier backup of that name is now {earlier}"
                        )
                    }
                })?;
            }
            self.written.push(backups);
        }
        Ok(())
    }
}

/// Prints a line, in as many as it needs on a terminal.
fn print_line(line: &str) -> anyhow::Result<()> {
    let line = output::terminal_width().map_or_else(|| line.to_owned(), |columns| output::wrapped(line, 0, columns));
    output::print(format!("{line}\n").as_bytes())
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

/// Refuses options with which the server would not start.
fn check_server(words: &[String]) -> anyhow::Result<()> {
    let cli = match parse_server(words) {
        Ok(cli) => cli,
        Err(why) => bail!("the server would not start with the arguments after `--`: {why}"),
    };
    if cli.common.source.folders.is_given() {
        bail!("put --prompts, --from-agents, --no-builtin and --openapi before `--`, so that the hook gets them too");
    }
    Ok(())
}

/// Parses the arguments of a server; or says why it would not start.
fn parse_server(words: &[String]) -> Result<Cli, String> {
    let before = [env!("CARGO_PKG_NAME").to_owned()];
    match Cli::try_parse_from(before.iter().chain(words)) {
        Ok(cli) if cli.command.is_some() => Err("they include a command, but must be options only".to_owned()),
        Ok(cli) => Ok(cli),
        Err(error) if error.exit_code() == 0 => Err("they only print text".to_owned()),
        Err(error) => {
            let reason = error.to_string();
            Err(reason.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
        }
    }
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
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| {
        format!("`{}` is not UTF-8, so it cannot be in a config; give it another name", output::shown(path))
    })
}

impl Folders {
    /// These options with absolute paths, to be registered.
    pub(super) fn arguments(&self) -> anyhow::Result<Vec<String>> {
        let mut arguments = Vec::new();
        for option in &self.prompts {
            let (system, path) = source::folder(option);
            let format = system.map(|system| format!("{}:", system.name())).unwrap_or_default();
            arguments.extend(["--prompts".to_owned(), format + &text(&path)?]);
        }
        if self.from_agents {
            arguments.push("--from-agents".to_owned());
        }
        if self.no_builtin {
            arguments.push("--no-builtin".to_owned());
        }
        #[cfg(feature = "openapi")]
        arguments.extend(self.openapi.arguments()?);
        Ok(arguments)
    }
}

#[derive(Serialize)]
struct JsonChanges<'c> {
    agents: Vec<JsonChange<'c>>,
    written: bool,
}

#[derive(Serialize)]
struct JsonChange<'c> {
    name: &'static str,
    files: Vec<JsonFile>,
    notes: &'c [String],
}

#[derive(Serialize)]
struct JsonFile {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    /// What was the backup before, under its new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_backup: Option<String>,
    removed: bool,
}

impl<'c> From<&'c [Change]> for JsonChanges<'c> {
    /// Once something is written, only what is written; before, what would be.
    fn from(changes: &'c [Change]) -> Self {
        let written = changes.iter().any(|change| !change.written.is_empty());
        let agents = changes.iter().map(|Change { agent, plan, written: backups }| {
            let files = &plan.files[..if written { backups.len() } else { plan.files.len() }];
            let files = files.iter().enumerate().map(|(at, file)| {
                let backup = |number: usize| Some(backups.get(at)?.get(number)?.display().to_string());
                JsonFile {
                    file: file.path.display().to_string(),
                    backup: backup(0),
                    earlier_backup: backup(1),
                    removed: file.edited.is_none(),
                }
            });
            JsonChange { name: agent.name, files: files.collect(), notes: &plan.notes }
        });
        JsonChanges { agents: agents.collect(), written }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    enabled: bool,
    #[serde(rename = "ours")]
    is_prompt_expander: bool,
}

/// Whether something is registered with an agent, or that is unknown.
fn has_something(state: &Status) -> bool {
    !state.registrations.is_empty() || !state.hooks.is_empty() || !state.errors.is_empty()
}

/// Lists agents with their state.
fn list(states: &[Status], is_json: bool) -> anyhow::Result<ExitCode> {
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
        print_line(&format!("{FAINT}not found here:{FAINT:#} {}", names.join(", ")))?;
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
fn print_how_to_register(states: &[Status]) -> anyhow::Result<()> {
    let missing = || states.iter().filter(|state| state.is_found && !has_something(state)).map(|state| state.agent);
    let command = |has_hook: bool, option: &str| {
        let names: Vec<&str> =
            missing().filter(|agent| agent.hook.is_some() == has_hook).map(|agent| agent.name).collect();
        (!names.is_empty()).then(|| format!("prompt-expander install {}{option}", names.join(" ")))
    };
    let commands: Vec<String> = [command(true, " --hook"), command(false, "")].into_iter().flatten().collect();
    if commands.is_empty() {
        return Ok(());
    }
    print_line(&format!("{FAINT}next:{FAINT:#} to register, run {}", all_of(&commands)))
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
    if let Some(url) = server.url.as_ref().filter(|_| server.is_prompt_expander()) {
        text.push_str(&format!(" at {}", output::abbreviated(&printable(url))));
        if let Some(Token::Variable(name)) = &server.token {
            text.push_str(&format!(" with the token in {}", printable(name)));
        }
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
        url: server.url.clone(),
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
