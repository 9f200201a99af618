//! The steps that `install` and `uninstall` share: selecting agents, previewing all changes, asking
//! once, and writing.

use super::own_files::{Fate, OwnFiles};
use super::program::CopyChange;
use crate::agents::{AGENTS, Agent, ConfigFile, Plan};
use crate::cli::agent_names::AgentParser;
use crate::cli::config_diff::format_diff;
use crate::cli::output::{self, ADDED, NAME, REMOVED, Reporter, Styled, styled};
use crate::cli::sync::MenuChanges;
use crate::prompt::Diagnostic;
use crate::wording::{count, join_words};
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").args(["agents", "all"]))]
pub(super) struct AgentSelection {
    /// The agents; by default, the command only lists agents and their status
    #[arg(value_name = "AGENT", value_parser = AgentParser)]
    pub(super) agents: Vec<&'static Agent>,
    /// Select all agents: for `install`, every agent found on this machine; for `uninstall`, every
    /// agent with a registration
    #[arg(long)]
    pub(super) all: bool,
    /// Write without asking
    #[arg(long, short, requires = "target")]
    pub(super) yes: bool,
    /// Show what would change, and write nothing
    #[arg(long, requires = "target", conflicts_with = "yes")]
    pub(super) dry_run: bool,
    /// Print one JSON object: with --yes or --dry-run, the changes; without agents, the status of
    /// every agent
    #[arg(long)]
    pub(super) json: bool,
}

/// The planned changes of one agent.
pub(super) struct AgentChange {
    pub(super) agent: &'static Agent,
    pub(super) plan: Plan,
}

/// What to say about an agent whose files don't change.
#[derive(Clone, Copy)]
pub(super) struct UnchangedMessage {
    /// Why they don't change, e.g. `not registered`.
    pub(super) reason: &'static str,
    /// What follows if the menu of the agent doesn't change either, e.g. `nothing to remove`.
    pub(super) conclusion: &'static str,
}

/// All changes that `install` or `uninstall` plans.
pub(super) struct ConfigChanges {
    /// What to do with the copy of this program that the agents run, if there is one.
    copy_change: Option<CopyChange>,
    agents: Vec<AgentChange>,
    /// The files that this program keeps for itself, if they are to be listed or deleted.
    own_files: Option<OwnFiles>,
    /// What changes in the agents' own menus.
    pub(super) menus: Option<MenuChanges>,
    /// The titles of the agents for which planning or writing failed.
    failed_agents: Vec<&'static str>,
}

impl ConfigChanges {
    /// Returns changes without any agent. `copy_change` is made before those of the agents, and
    /// `own_files` after them.
    pub(super) fn new(
        copy_change: Option<CopyChange>,
        own_files: Option<OwnFiles>,
    ) -> ConfigChanges {
        ConfigChanges {
            copy_change,
            agents: Vec::new(),
            own_files,
            menus: None,
            failed_agents: Vec::new(),
        }
    }

    /// Adds the plan of an agent, and reports its warnings. If planning failed, reports the error,
    /// and goes on with the other agents.
    pub(super) fn add(
        &mut self,
        agent: &'static Agent,
        plan: Result<Plan, Diagnostic>,
        reporter: &Reporter,
    ) {
        match plan.and_then(check_writable) {
            Ok(plan) => {
                reporter.warn_all(&plan.warnings);
                self.agents.push(AgentChange { agent, plan });
            }
            Err(error) => self.fail(agent, &error, reporter),
        }
    }

    /// Returns the agents for which planning has not failed.
    pub(super) fn planned_agents(&self) -> Vec<&'static Agent> {
        self.agents.iter().map(|change| change.agent).collect()
    }

    /// Reports the error of an agent, and records that the agent failed.
    fn fail(&mut self, agent: &Agent, error: &Diagnostic, reporter: &Reporter) {
        reporter.error(&error.to_string());
        self.failed_agents.push(agent.title);
    }

    /// Returns the exit code, which is a failure if any agent failed. If several agents were
    /// selected, also prints a summary of those that failed.
    pub(super) fn exit_code(&self, selected_count: usize, reporter: &Reporter) -> ExitCode {
        if self.failed_agents.is_empty() {
            return ExitCode::SUCCESS;
        }
        if selected_count > 1 && reporter.is_for_people() {
            reporter.error(&format!(
                "failed for {}",
                join_words(&self.failed_agents, "and")
            ));
        }
        ExitCode::FAILURE
    }

    /// Returns whether there is nothing to write or delete.
    pub(super) fn is_empty(&self) -> bool {
        self.copy_change.is_none()
            && self.changed_agents().count() == 0
            && !self.deletes_own_files()
            && self.menus.as_ref().is_none_or(MenuChanges::is_empty)
    }

    /// Returns whether files that this program keeps for itself are to be deleted.
    fn deletes_own_files(&self) -> bool {
        self.own_files.as_ref().is_some_and(OwnFiles::has_deletion)
    }

    /// Lists the files that this program keeps for itself, if they stay, and says how to delete
    /// them. Prints nothing if there are none.
    pub(super) fn note_kept_files(&self, reporter: &Reporter) {
        let Some(files) = &self.own_files else {
            return;
        };
        if files.fate == Fate::Delete || files.is_empty() {
            return;
        }
        reporter.note(&format!(
            "these files of this program stay:\n{}",
            files.describe()
        ));
        reporter.hint(
            "`prompt-expander uninstall --all --purge` deletes them. \
             Your prompts and what you wrote into config.toml always stay",
        );
    }

    /// Returns the agents whose files change.
    pub(super) fn changed_agents(&self) -> impl Iterator<Item = &AgentChange> {
        let changes = self.agents.iter();
        changes.filter(|change| !change.plan.files.is_empty())
    }

    /// Makes all changes. If a file can't be written, reports the error, removes the file and those
    /// after it from the agent's plan, and goes on with the next agent.
    fn write(&mut self, reporter: &Reporter) -> anyhow::Result<()> {
        // If the program can't be copied, write nothing: the entries would name a missing program.
        if let Some(copy_change) = &self.copy_change {
            copy_change.apply()?;
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
        if let Some(menus) = &self.menus
            && !menus.is_empty()
            && !menus.apply(reporter)?
        {
            self.failed_agents.push("the menus");
        }
        self.delete_own_files(reporter)
    }

    /// Deletes the files that this program keeps for itself, if that is planned. Keeps them if an
    /// agent failed, because it may still start this program.
    fn delete_own_files(&mut self, reporter: &Reporter) -> anyhow::Result<()> {
        let Some(files) = &mut self.own_files else {
            return Ok(());
        };
        if !files.has_deletion() {
            return Ok(());
        }
        if !self.failed_agents.is_empty() {
            reporter.warn(
                "the files of this program are kept, because an agent may still start it. \
                 Repair what failed, and run this command again",
            );
            return Ok(());
        }
        files.delete()?;
        reporter.note(
            "the files of this program are deleted. \
             Your prompts and what you wrote into config.toml stay",
        );
        Ok(())
    }

    /// Returns the question whether to make the changes, e.g. `Make these changes for Codex?`.
    fn question(&self) -> String {
        let titles: Vec<&str> = self
            .changed_agents()
            .map(|change| change.agent.title)
            .collect();
        let mut question = "Make these changes".to_owned();
        if !titles.is_empty() {
            question += &format!(" for {}", join_words(&titles, "and"));
        }
        if self.deletes_own_files() {
            question += ", and delete the files of this program";
        }
        question + "?"
    }

    /// Summarizes what was written, e.g. `2 agents, 4 files changed`.
    fn summary(&self) -> String {
        let mut parts = Vec::new();
        let file_count: usize = self
            .changed_agents()
            .map(|change| change.plan.files.len())
            .sum();
        if file_count > 0 {
            parts.push(count(self.changed_agents().count(), "agent"));
            parts.push(format!("{} changed", count(file_count, "file")));
        }
        match &self.copy_change {
            Some(CopyChange::Make { .. }) => parts.push("program copied".to_owned()),
            Some(CopyChange::Remove { .. }) => parts.push("copy of the program removed".to_owned()),
            None => {}
        }
        parts.join(", ")
    }

    /// Returns the changes as JSON, whether or not they were written.
    fn to_json(&self, is_written: bool) -> Value {
        let mut agents = Vec::new();
        for AgentChange { agent, plan } in &self.agents {
            let files: Vec<Value> = plan.files.iter().map(file_to_json).collect();
            agents.push(json!({"name": agent.name, "files": files, "notes": plan.notes}));
        }
        let mut json = json!({"agents": agents, "written": is_written});
        if let Some(own_files) = &self.own_files {
            // If an agent failed, nothing is deleted: see `delete_own_files`.
            let is_deleted = own_files.fate == Fate::Delete && self.failed_agents.is_empty();
            let key = if is_deleted { "deleted" } else { "kept" };
            json[key] = own_files.to_json();
        }
        if let Some(menus) = &self.menus {
            json["menus"] = menus.to_json();
        }
        if let Some(copy_change) = &self.copy_change {
            json["program"] = json!(copy_change.copy_path().display().to_string());
        }
        json
    }
}

/// Returns the plan if all of its files are writable, so that an error comes before the question.
fn check_writable(plan: Plan) -> Result<Plan, Diagnostic> {
    for file in &plan.files {
        file.target()?;
    }
    Ok(plan)
}

/// Writes files in order. On an error, removes the files that were not written from the list.
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
    // With --dry-run, this is the backup of an earlier installation, if any.
    let backup = file.backup_path();
    if backup.exists() {
        json["backup"] = json!(backup.display().to_string());
    }
    json
}

impl AgentSelection {
    /// Returns whether the user passed neither names of agents nor --all. The command then lists
    /// the agents, and changes nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.agents.is_empty() && !self.all
    }

    /// Returns the selected agents in display order. With --all, these are the agents for which
    /// `is_in_all` returns true.
    pub(super) fn select(&self, is_in_all: impl Fn(&Agent) -> bool) -> Vec<&'static Agent> {
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

    /// Previews the changes, asks the user once, and writes them. Prints `unchanged_message` for an
    /// agent without changes. Returns whether the user agreed to write;
    /// [`ConfigChanges::exit_code`] tells whether that failed for some agents.
    pub(super) fn preview_and_write(
        &self,
        changes: &mut ConfigChanges,
        unchanged_message: UnchangedMessage,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        if !self.json {
            print_preview(changes, unchanged_message, reporter)?;
        }
        let is_written = !changes.is_empty() && self.confirm(changes, reporter)?;
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

    /// Returns whether to make the changes. Asks the user, unless --yes or --dry-run already
    /// answers that.
    fn confirm(&self, changes: &ConfigChanges, reporter: &Reporter) -> anyhow::Result<bool> {
        if self.yes {
            return Ok(true);
        }
        if self.dry_run {
            return Ok(false);
        }
        let action = "write without asking, or --dry-run to see the changes only";
        reporter.confirm(&changes.question(), action)
    }
}

/// Prints the diffs of all files, and then the notes of all plans.
fn print_preview(
    changes: &ConfigChanges,
    unchanged_message: UnchangedMessage,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let mut text = Styled::default();
    if let Some(copy_change) = &changes.copy_change {
        text.append(describe_copy_change(copy_change));
    }
    for AgentChange { agent, plan } in &changes.agents {
        if plan.files.is_empty() {
            let UnchangedMessage { reason, conclusion } = unchanged_message;
            let menus = changes.menus.as_ref();
            if menus.is_some_and(|menus| menus.is_for(agent)) {
                text.push(format!("{}: {reason}\n", agent.name));
            } else {
                text.push(format!("{}: {reason}; {conclusion}\n", agent.name));
            }
        }
        for file in &plan.files {
            text.append(format_diff(file));
        }
    }
    if let Some(menus) = &changes.menus {
        text.append(menus.preview());
    }
    if let Some(own_files) = &changes.own_files
        && own_files.has_deletion()
    {
        text.push("The files of this program will be deleted:\n");
        text.push(own_files.describe() + "\n");
    }
    output::print(&text)?;
    if let Some(menus) = &changes.menus {
        menus.report_left_alone(reporter);
    }
    for change in &changes.agents {
        for note in &change.plan.notes {
            reporter.note(note);
        }
    }
    Ok(())
}

/// Describes the change of the program's copy like the diff of a file.
fn describe_copy_change(change: &CopyChange) -> Styled {
    let path = styled(NAME, output::display_path(change.copy_path())).plain("\n");
    let line = match change {
        CopyChange::Make { .. } => path.with(ADDED, "+ a copy of this program"),
        CopyChange::Remove { .. } => path.with(REMOVED, "- the copy of the program"),
    };
    line.plain("\n")
}
