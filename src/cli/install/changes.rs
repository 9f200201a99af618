//! What `install` and `uninstall` have in common: the agents, the preview of all changes, one
//! question, and the writing.

use super::copy::CopyChange;
use crate::agents::{AGENTS, Agent, Backup, ConfigFile, Plan};
use crate::cli::agent::agent_parser;
use crate::cli::diff::colored;
use crate::cli::output::{self, ADDED, NAME, REMOVED, Reporter, Styled, styled};
use crate::library::difference;
use crate::prompt::Diagnostic;
use crate::wording::{list_of, without_passwords};
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use std::process::ExitCode;

/// How many characters of a changed line are shown.
const LONG: usize = 1_000;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").args(["agents", "all"]))]
pub(super) struct Target {
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

/// What `install` or `uninstall` plans and does.
#[derive(Default)]
pub(super) struct Changes {
    /// What becomes of the copy of the program.
    pub(super) program: Option<CopyChange>,
    pub(super) agents: Vec<(&'static Agent, Plan)>,
    /// Why the change for an agent failed, wholly or in part.
    pub(super) failures: Vec<String>,
}

impl Changes {
    /// The exit status. Of several agents, those that failed are named once more, as the last
    /// lines.
    pub(super) fn status(&self, target: &Target, agents: usize, reporter: &Reporter) -> ExitCode {
        if !target.json && agents > 1 {
            self.failures
                .iter()
                .for_each(|failure| reporter.error(failure));
        }
        if self.failures.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn fail(&mut self, agent: &Agent, error: &Diagnostic, reporter: &Reporter) {
        reporter.error(&error.to_string());
        self.failures
            .push(format!("{} failed: {error}", agent.title));
    }

    fn is_empty(&self) -> bool {
        self.program.is_none() && self.agents.iter().all(|(_, plan)| plan.files.is_empty())
    }

    /// Plans the change of each agent. One that fails does not stop the others.
    pub(super) fn plan(
        &mut self,
        agents: &[&'static Agent],
        plan: impl Fn(&'static Agent) -> Result<Plan, Diagnostic>,
        reporter: &Reporter,
    ) {
        for &agent in agents {
            let planned = plan(agent).and_then(|plan| {
                // Whether the files can be written is known before the question.
                plan.files
                    .iter()
                    .try_for_each(|file| file.target().map(drop))?;
                Ok(plan)
            });
            match planned {
                Ok(plan) => {
                    reporter.warn_all(&plan.warnings);
                    self.agents.push((agent, plan));
                }
                Err(error) => self.fail(agent, &error, reporter),
            }
        }
    }

    /// Writes all of it.
    fn write(&mut self, reporter: &Reporter) -> anyhow::Result<()> {
        if let Some(program) = &self.program {
            program.carry_out()?;
        }
        let mut failed = Vec::new();
        for (agent, plan) in &mut self.agents {
            // The files are written in their order, up to the first that cannot be written.
            if let Some((at, error)) = plan
                .files
                .iter()
                .enumerate()
                .find_map(|(at, file)| Some((at, write(file, reporter).err()?)))
            {
                plan.files.truncate(at);
                failed.push((*agent, error));
            }
        }
        failed
            .iter()
            .for_each(|(agent, error)| self.fail(agent, error, reporter));
        Ok(())
    }
}

fn write(file: &ConfigFile, reporter: &Reporter) -> Result<(), Diagnostic> {
    file.write()?;
    let (path, backup) = (output::full_path(&file.path), file.backup_path());
    reporter.note(&match (&file.edited, file.backup) {
        (None, _) => format!("removed {path}, which had nothing else in it"),
        (_, Backup::Remove) => format!("restored {path} as it was before, and removed its backup"),
        _ if backup.exists() => {
            format!("wrote {path}; its backup is {}", output::full_path(&backup))
        }
        _ => format!("wrote {path}"),
    });
    Ok(())
}

impl Target {
    /// Whether no agent is selected.
    pub(super) fn is_absent(&self) -> bool {
        self.agents.is_empty() && !self.all
    }

    /// The agents that are selected; `is_in_all` says which are with --all.
    pub(super) fn selected(&self, is_in_all: impl Fn(&Agent) -> bool) -> Vec<&'static Agent> {
        let is_selected = |agent: &&Agent| {
            if self.all {
                is_in_all(agent)
            } else {
                self.agents.contains(agent)
            }
        };
        AGENTS.into_iter().filter(is_selected).collect()
    }

    /// Shows the changes, asks once, and writes them. `nothing` is said of an agent without
    /// changes. Returns whether they are written.
    pub(super) fn carry_out(
        &self,
        changes: &mut Changes,
        nothing: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        if !self.json {
            show(changes, nothing, reporter)?;
        }
        let changed = changes
            .agents
            .iter()
            .filter(|(_, plan)| !plan.files.is_empty())
            .map(|(agent, _)| agent.title);
        let question = match &changed.collect::<Vec<_>>()[..] {
            [] => "Make these changes?".to_owned(),
            agents => format!("Make these changes for {}?", list_of(agents, "and")),
        };
        let is_written = !changes.is_empty()
            && !self.dry_run
            && (self.yes
                || reporter.confirm(
                    &question,
                    "write without asking, or --dry-run to see the changes only",
                )?);
        if is_written {
            changes.write(reporter)?;
        } else if !changes.is_empty() {
            reporter.note("nothing is written");
        }
        if self.json {
            output::print_json(&json_of(changes, is_written))?;
        }
        Ok(is_written)
    }
}

/// Shows all changes, and what to know of them.
fn show(changes: &Changes, nothing: &str, reporter: &Reporter) -> anyhow::Result<()> {
    let mut text = Styled::default();
    if let Some(change) = &changes.program {
        let (style, what) = match change {
            CopyChange::Make { .. } => (ADDED, "+ a copy of this program"),
            CopyChange::Remove { .. } => (REMOVED, "- the copy of the program"),
        };
        let path = output::shown(change.copy());
        text.append(styled(NAME, path).plain("\n").with(style, what).plain("\n"));
    }
    for (agent, plan) in &changes.agents {
        if plan.files.is_empty() {
            text.push(format!("{}: {nothing}\n", agent.name));
        }
        text.extend(plan.files.iter().map(changed_lines));
    }
    output::print(&text)?;
    changes
        .agents
        .iter()
        .flat_map(|(_, plan)| &plan.notes)
        .for_each(|note| reporter.note(note));
    Ok(())
}

/// The lines that change, and a few around them, without the passwords of addresses.
fn changed_lines(file: &ConfigFile) -> Styled {
    let mut text = styled(NAME, output::shown(&file.path)).plain("\n");
    let difference = difference(("", file.original_text()), ("", file.edited_text()));
    for line in difference.lines().skip(2) {
        text.append(colored(&output::cut(&without_passwords(line), LONG)));
    }
    text
}

/// After writing, this says what was written; before, what would be.
fn json_of(changes: &Changes, is_written: bool) -> Value {
    let files = |plan: &Plan| {
        let file = |file: &ConfigFile| {
            let mut json =
                json!({"file": file.path.display().to_string(), "removed": file.edited.is_none()});
            if file.backup_path().exists() {
                json["backup"] = json!(file.backup_path().display().to_string());
            }
            json
        };
        plan.files.iter().map(file).collect::<Vec<_>>()
    };
    let agents = changes.agents.iter();
    let agents = agents.map(
        |(agent, plan)| json!({"name": agent.name, "files": files(plan), "notes": plan.notes}),
    );
    let mut json = json!({"agents": agents.collect::<Vec<_>>(), "written": is_written});
    if let Some(program) = &changes.program {
        json["program"] = json!(program.copy().display().to_string());
    }
    json
}
