//! What `install` and `uninstall` have in common: the selection of agents, the preview of all
//! changes, one question, and the writing.

use super::program::CopyChange;
use crate::agents::{AGENTS, Agent, ConfigFile, Plan};
use crate::cli::agent_names::agent_parser;
use crate::cli::diff::colored;
use crate::cli::output::{self, ADDED, NAME, REMOVED, Reporter, Styled, styled};
use crate::library::unified_diff;
use crate::prompt::Diagnostic;
use crate::wording::{count, join_words, without_passwords};
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The longest changed line that is shown in full, in characters.
const MAX_LINE: usize = 1_000;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").args(["agents", "all"]))]
pub(super) struct AgentSelection {
    /// The agents; if you name none, the agents and their status are listed
    #[arg(value_name = "AGENT", value_parser = agent_parser())]
    pub(super) agents: Vec<&'static Agent>,
    /// Select all agents: those found on this machine or, for `uninstall`, those with a
    /// registration
    #[arg(long)]
    pub(super) all: bool,
    /// Write without asking
    #[arg(long, short, requires = "target")]
    pub(super) yes: bool,
    /// Show what would change, and write nothing
    #[arg(long, requires = "target", conflicts_with = "yes")]
    pub(super) dry_run: bool,
    /// Print one JSON object: what is written (with --yes or --dry-run) or, without agents, the
    /// status of every agent
    #[arg(long)]
    pub(super) json: bool,
}

/// What changes for one agent.
pub(super) struct AgentChange {
    pub(super) agent: &'static Agent,
    pub(super) plan: Plan,
}

/// What `install` or `uninstall` plans and does.
pub(super) struct ConfigChanges {
    program: Option<CopyChange>,
    agents: Vec<AgentChange>,
    /// The titles of the agents whose change failed, wholly or in part.
    failed: Vec<&'static str>,
}

impl ConfigChanges {
    /// Returns changes that begin with that of the copied program.
    pub(super) fn with_program(program: Option<CopyChange>) -> ConfigChanges {
        ConfigChanges {
            program,
            agents: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Adds the planned change of an agent, and reports its warnings; or reports why the change is
    /// not possible, which does not stop the other agents.
    pub(super) fn add(
        &mut self,
        agent: &'static Agent,
        plan: Result<Plan, Diagnostic>,
        reporter: &Reporter,
    ) {
        match plan.and_then(writable) {
            Ok(plan) => {
                reporter.warn_all(&plan.warnings);
                self.agents.push(AgentChange { agent, plan });
            }
            Err(error) => self.fail(agent, &error, reporter),
        }
    }

    fn fail(&mut self, agent: &Agent, error: &Diagnostic, reporter: &Reporter) {
        reporter.error(&error.to_string());
        self.failed.push(agent.title);
    }

    /// Returns the exit status. If there were several `agents`, the last line names those that
    /// failed.
    pub(super) fn status(&self, agents: usize, reporter: &Reporter) -> ExitCode {
        if self.failed.is_empty() {
            return ExitCode::SUCCESS;
        }
        if agents > 1 && reporter.is_for_people() {
            reporter.error(&format!("failed for {}", join_words(&self.failed, "and")));
        }
        ExitCode::FAILURE
    }

    fn is_empty(&self) -> bool {
        self.program.is_none() && self.changed_agents().count() == 0
    }

    /// Returns the changes of the agents whose files change.
    pub(super) fn changed_agents(&self) -> impl Iterator<Item = &AgentChange> {
        let changes = self.agents.iter();
        changes.filter(|change| !change.plan.files.is_empty())
    }

    /// Carries out all changes. Forgets those of files that cannot be written.
    fn write(&mut self, reporter: &Reporter) -> anyhow::Result<()> {
        if let Some(program) = &self.program {
            program.carry_out()?;
        }
        let mut failures = Vec::new();
        for AgentChange { agent, plan } in &mut self.agents {
            if let Err(error) = write_files(&mut plan.files) {
                failures.push((*agent, error));
            }
        }
        for (agent, error) in failures {
            self.fail(agent, &error, reporter);
        }
        Ok(())
    }

    /// Returns what was written: `2 agents, 4 files changed`.
    fn summary(&self) -> String {
        let mut parts = Vec::new();
        let files: usize = self
            .changed_agents()
            .map(|change| change.plan.files.len())
            .sum();
        if files > 0 {
            parts.push(count(self.changed_agents().count(), "agent"));
            parts.push(format!("{} changed", count(files, "file")));
        }
        match &self.program {
            Some(CopyChange::Make { .. }) => parts.push("program copied".to_owned()),
            Some(CopyChange::Remove { .. }) => parts.push("copy of the program removed".to_owned()),
            None => {}
        }
        parts.join(", ")
    }

    /// Returns the changes as JSON: before they are written, what they would be.
    fn to_json(&self, is_written: bool) -> Value {
        let mut agents = Vec::new();
        for AgentChange { agent, plan } in &self.agents {
            let files: Vec<Value> = plan.files.iter().map(file_to_json).collect();
            agents.push(json!({"name": agent.name, "files": files, "notes": plan.notes}));
        }
        let mut json = json!({"agents": agents, "written": is_written});
        if let Some(program) = &self.program {
            json["program"] = json!(program.copy().display().to_string());
        }
        json
    }
}

/// Returns a plan if all of its files can be written, so that an error comes before the question.
fn writable(plan: Plan) -> Result<Plan, Diagnostic> {
    for file in &plan.files {
        file.target()?;
    }
    Ok(plan)
}

/// Writes files in their order, up to the first that cannot be written. Removes those that are not
/// written from the list.
fn write_files(files: &mut Vec<ConfigFile>) -> Result<(), Diagnostic> {
    for index in 0..files.len() {
        if let Err(error) = files[index].write() {
            files.truncate(index);
            return Err(error);
        }
    }
    Ok(())
}

fn file_to_json(file: &ConfigFile) -> Value {
    let path = file.path.display().to_string();
    let mut json = json!({"file": path, "removed": file.edited.is_none()});
    let backup = file.backup_path();
    if backup.exists() {
        json["backup"] = json!(backup.display().to_string());
    }
    json
}

impl AgentSelection {
    /// Returns whether the user selected no agent.
    pub(super) fn is_empty(&self) -> bool {
        self.agents.is_empty() && !self.all
    }

    /// Returns the selected agents, in the order of the table of agents. `is_in_all` says which are
    /// selected by --all.
    pub(super) fn agents(&self, is_in_all: impl Fn(&Agent) -> bool) -> Vec<&'static Agent> {
        let mut agents = Vec::new();
        for agent in AGENTS {
            let is_selected = if self.all {
                is_in_all(agent)
            } else {
                self.agents.contains(&agent)
            };
            if is_selected {
                agents.push(agent);
            }
        }
        agents
    }

    /// Shows the changes, asks once, and writes them. Returns whether they are written. `unchanged`
    /// is what to print for an agent without changes.
    pub(super) fn carry_out(
        &self,
        changes: &mut ConfigChanges,
        unchanged: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        if !self.json {
            preview(changes, unchanged, reporter)?;
        }
        let is_written = !changes.is_empty() && self.is_confirmed(changes, reporter)?;
        if is_written {
            changes.write(reporter)?;
            let summary = changes.summary();
            if !summary.is_empty() {
                reporter.note(&summary);
            }
        } else if !changes.is_empty() {
            reporter.note("nothing is written");
        }
        if self.json {
            output::print_json(&changes.to_json(is_written))?;
        }
        Ok(is_written)
    }

    /// Returns whether the options or the user's answer allow the changes.
    fn is_confirmed(&self, changes: &ConfigChanges, reporter: &Reporter) -> anyhow::Result<bool> {
        if self.yes || self.dry_run {
            return Ok(self.yes);
        }
        let titles: Vec<&str> = changes
            .changed_agents()
            .map(|change| change.agent.title)
            .collect();
        let question = if titles.is_empty() {
            "Make these changes?".to_owned()
        } else {
            format!("Make these changes for {}?", join_words(&titles, "and"))
        };
        let what = "write without asking, or --dry-run to see the changes only";
        reporter.confirm(&question, what)
    }
}

/// Shows the changes of all files, and what to know about them.
fn preview(changes: &ConfigChanges, unchanged: &str, reporter: &Reporter) -> anyhow::Result<()> {
    let mut text = Styled::default();
    if let Some(change) = &changes.program {
        text.append(copied_program(change));
    }
    for AgentChange { agent, plan } in &changes.agents {
        if plan.files.is_empty() {
            text.push(format!("{}: {unchanged}\n", agent.name));
        }
        for file in &plan.files {
            text.append(changed_lines(file));
        }
    }
    output::print(&text)?;
    for change in &changes.agents {
        for note in &change.plan.notes {
            reporter.note(note);
        }
    }
    Ok(())
}

/// Returns the copy of the program, and what becomes of it, as two lines.
fn copied_program(change: &CopyChange) -> Styled {
    let path = styled(NAME, output::display_path(change.copy())).plain("\n");
    let line = match change {
        CopyChange::Make { .. } => path.with(ADDED, "+ a copy of this program"),
        CopyChange::Remove { .. } => path.with(REMOVED, "- the copy of the program"),
    };
    line.plain("\n")
}

/// Returns the lines of a file that change, and a few around them, without the passwords in
/// addresses.
fn changed_lines(file: &ConfigFile) -> Styled {
    let mut text = styled(NAME, output::display_path(&file.path)).plain("\n");
    let difference = unified_diff(("", file.original_text()), ("", file.edited_text()));
    for line in difference.lines().skip(2) {
        text.append(colored(&output::truncate(
            &without_passwords(line),
            MAX_LINE,
        )));
    }
    text
}
