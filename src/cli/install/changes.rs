//! What `install` and `uninstall` have in common: the agents, the preview of all changes, one question, and the writing.

use super::copy;
use crate::agents::{Agent, ConfigFile, Plan};
use crate::cli::agent::agent_parser;
use crate::cli::diff::colored;
use crate::cli::output::{self, ADDED, NAME, REMOVED, print_lines};
use crate::library::difference;
use anyhow::bail;
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// How many characters of a changed line are shown.
const LONG: usize = 1_000;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").args(["agents", "all"]))]
pub(super) struct Target {
    /// The agents; if you name none, the agents and their status are listed
    #[arg(value_name = "AGENT", value_parser = agent_parser())]
    pub(super) agents: Vec<&'static Agent>,
    /// Select all agents: those found on this machine or, for `uninstall`, those with a registration
    #[arg(long)]
    pub(super) all: bool,
    /// Write without asking
    #[arg(long, short, requires = "target")]
    pub(super) yes: bool,
    /// Show what would change, and write nothing
    #[arg(long, requires = "target", conflicts_with = "yes")]
    pub(super) dry_run: bool,
    /// Print one JSON object: what is written (with --yes or --dry-run) or, without agents, the status of every agent
    #[arg(long)]
    pub(super) json: bool,
}

/// What `install` or `uninstall` plans and does.
#[derive(Default)]
pub(super) struct Changes {
    /// The settings file, with what moves into it.
    pub(super) settings: Option<ConfigFile>,
    /// What becomes of the copy of the program.
    pub(super) program: Option<ProgramChange>,
    pub(super) agents: Vec<Change>,
    /// Why an agent has no change, or not all of it.
    pub(super) failures: Vec<String>,
}

pub(super) enum ProgramChange {
    Copy { from: PathBuf, to: PathBuf },
    Remove(PathBuf),
}

/// The change of one agent.
pub(super) struct Change {
    pub(super) agent: &'static Agent,
    pub(super) plan: Plan,
    /// The backup of each file that was written, in their order in the plan.
    pub(super) written: Vec<Option<PathBuf>>,
}

impl ProgramChange {
    fn run(&self) -> anyhow::Result<()> {
        match self {
            ProgramChange::Copy { from, to } => copy::copy(from, to),
            ProgramChange::Remove(path) => copy::remove(path),
        }
    }
}

impl Changes {
    pub(super) fn status(&self) -> ExitCode {
        if self.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn is_empty(&self) -> bool {
        self.settings.is_none()
            && self.program.is_none()
            && self.agents.iter().all(|change| change.plan.files.is_empty())
    }

    /// Plans the change of each agent. One that fails does not stop the others.
    pub(super) fn plan(
        &mut self,
        agents: &[&'static Agent],
        is_json: bool,
        plan: impl Fn(&'static Agent) -> anyhow::Result<Plan>,
    ) {
        for &agent in agents {
            let planned = plan(agent).and_then(|plan| {
                // Whether the files can be written is known before the question.
                plan.files.iter().try_for_each(|file| file.target().map(drop))?;
                Ok(plan)
            });
            match planned {
                Ok(plan) => self.agents.push(Change { agent, plan, written: Vec::new() }),
                Err(error) => self.fail(&error, is_json),
            }
        }
    }

    fn fail(&mut self, error: &anyhow::Error, is_json: bool) {
        let message = format!("{error:#}");
        if !is_json {
            output::error(&message);
        }
        self.failures.push(message);
    }

    /// Writes all of it. What the agents' configs lose is in the settings file before.
    fn write(&mut self, is_json: bool) -> anyhow::Result<()> {
        if let Some(program) = &self.program {
            program.run()?;
        }
        if let Some(settings) = &self.settings {
            settings.write()?;
            say(is_json, &format!("wrote {}", output::shown(&settings.path)))?;
        }
        let mut failures = Vec::new();
        for change in &mut self.agents {
            if let Err(error) = change.write(is_json) {
                failures.push(error);
            }
        }
        failures.iter().for_each(|error| self.fail(error, is_json));
        Ok(())
    }
}

impl Change {
    /// Writes the files in their order, up to the first that cannot be written.
    fn write(&mut self, is_json: bool) -> anyhow::Result<()> {
        for file in &self.plan.files {
            let has_backup = file.backup_path().exists();
            let backup = file.write()?;
            let path = output::shown(&file.path);
            say(
                is_json,
                &match (&file.edited, &backup) {
                    (None, _) => format!("removed {path}, which had nothing else in it"),
                    (_, Some(backup)) => format!("wrote {path}; its backup is {}", output::shown(backup)),
                    _ if has_backup && !file.backup_path().exists() => {
                        format!("restored {path} as it was before, and removed its backup")
                    }
                    _ => format!("wrote {path}"),
                },
            )?;
            self.written.push(backup);
        }
        Ok(())
    }
}

fn say(is_json: bool, line: &str) -> anyhow::Result<()> {
    if is_json { Ok(()) } else { print_lines(line) }
}

impl Target {
    /// Whether no agent is selected.
    pub(super) fn is_absent(&self) -> bool {
        self.agents.is_empty() && !self.all
    }

    /// Shows the changes, asks once, and writes them. `nothing` is said of an agent without changes.
    pub(super) fn carry_out(&self, changes: &mut Changes, nothing: &str) -> anyhow::Result<()> {
        if self.json && !self.yes && !self.dry_run {
            bail!("--json cannot ask for confirmation; add --yes to write, or --dry-run to write nothing");
        }
        let is_confirmed = if self.json { self.yes } else { self.is_confirmed(changes, nothing)? };
        if is_confirmed {
            changes.write(self.json)?;
        }
        if self.json {
            output::print_json(&json_of(changes, is_confirmed))?;
            if !changes.failures.is_empty() {
                output::error(&changes.failures.join("; "));
            }
        }
        Ok(())
    }

    /// Shows the changes, and asks whether to write them, unless an option says so.
    fn is_confirmed(&self, changes: &Changes, nothing: &str) -> anyhow::Result<bool> {
        let name = |agent: &Agent| if self.agents.len() == 1 { String::new() } else { format!("{}: ", agent.name) };
        let mut text = Vec::new();
        match &changes.program {
            Some(ProgramChange::Copy { to, .. }) => {
                writeln!(text, "{NAME}{}{NAME:#}\n{ADDED}+ a copy of this program{ADDED:#}", output::shown(to))?;
            }
            Some(ProgramChange::Remove(path)) => {
                let path = output::shown(path);
                writeln!(text, "{NAME}{path}{NAME:#}\n{REMOVED}- the copy of the program{REMOVED:#}")?;
            }
            None => {}
        }
        if let Some(file) = &changes.settings {
            show(&mut text, file)?;
        }
        for Change { agent, plan, .. } in &changes.agents {
            if plan.files.is_empty() {
                writeln!(text, "{}{nothing}", name(agent))?;
            }
            for file in &plan.files {
                show(&mut text, file)?;
            }
        }
        output::print(&text)?;
        for Change { agent, plan, .. } in &changes.agents {
            plan.notes.iter().for_each(|note| output::note(&format!("{}{note}", name(agent))));
        }
        if changes.settings.is_some() {
            output::note("the settings file is for all agents, and is read when a server starts: restart your agents");
        }
        if changes.is_empty() {
            return Ok(false);
        }
        if self.dry_run {
            print_lines("nothing is written; run it without --dry-run to write this")?;
            return Ok(false);
        }
        let is_confirmed =
            self.yes || output::confirm("Write this?", "write without asking, or --dry-run to see the changes only")?;
        if !is_confirmed {
            print_lines("nothing is written")?;
        }
        Ok(is_confirmed)
    }
}

/// The lines that change, and a few around them.
fn show(text: &mut Vec<u8>, file: &ConfigFile) -> io::Result<()> {
    writeln!(text, "{NAME}{}{NAME:#}", output::shown(&file.path))?;
    let [original, edited] = file.texts();
    for line in difference(("", original), ("", edited)).lines().skip(2) {
        text.extend(colored(&output::cut(line, LONG)).bytes());
    }
    Ok(())
}

/// Once something is written, only what is written; before, what would be.
fn json_of(changes: &Changes, is_written: bool) -> Value {
    let agents = changes.agents.iter().map(|Change { agent, plan, written }| {
        let files = &plan.files[..if is_written { written.len() } else { plan.files.len() }];
        let files = files.iter().enumerate().map(|(at, file)| {
            let mut json = json!({"file": file.path.display().to_string(), "removed": file.edited.is_none()});
            if let Some(Some(backup)) = written.get(at) {
                json["backup"] = json!(backup.display().to_string());
            }
            json
        });
        json!({"name": agent.name, "files": files.collect::<Vec<_>>(), "notes": plan.notes})
    });
    let agents = agents.collect::<Vec<_>>();
    let mut json = json!({"agents": agents, "written": is_written && !changes.is_empty()});
    if let Some(file) = &changes.settings {
        json["settings"] = json!(file.path.display().to_string());
    }
    if let Some(ProgramChange::Copy { to: path, .. } | ProgramChange::Remove(path)) = &changes.program {
        json["program"] = json!(path.display().to_string());
    }
    json
}
