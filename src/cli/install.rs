//! `prompt-expander install` and `uninstall`: the registration of the server and the hook in the
//! files of an agent.
//!
//! What would change is shown first. Nothing is written until the user confirms it, at a terminal
//! or with --yes.

mod changes;
mod copy;
mod list;

use super::agent::system;
use super::config;
use super::output::Reporter;
use super::source::{ConfigOptions, PromptSource};
use crate::agents::{AGENTS, ConfigFile, Installation, Scope, Status, removal};
use crate::wording::all_of;
use anyhow::{Context, bail};
use changes::{Changes, Target};
use clap::Args;
use copy::CopyChange;
use std::env;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander install                    list the agents found here, with their status
  prompt-expander install codex              show what would change, and ask
  prompt-expander install codex gemini --yes
  prompt-expander install --all --dry-run    only show what would change in each agent
  prompt-expander install vscode --project";

#[derive(Debug, Args)]
pub(super) struct Install {
    /// Register for the project in the working directory, in a file of that project, instead of for
    /// all your projects
    #[arg(long = "project", id = "for_project", requires = "target")]
    project: bool,
    /// Leave out the prompt-submit hook, with which the model gets each expansion without calling a
    /// tool (codex, claude-code, gemini, opencode)
    #[arg(long, requires = "target")]
    no_hook: bool,
    /// The hook is registered without this, too
    #[arg(long, requires = "target", hide = true)]
    hook: bool,
    /// Replace another server that is registered as `prompts`
    #[arg(long, requires = "target")]
    replace: bool,
    /// Leave out `"trust": true`, with which Gemini CLI calls the tools of this server without
    /// asking (gemini)
    #[arg(long, requires = "target")]
    no_trust: bool,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    config: ConfigOptions,
}

pub(super) const UNINSTALL_EXAMPLES: &str = "\
Examples:
  prompt-expander uninstall                        list what is registered
  prompt-expander uninstall codex gemini           show what would change, and ask
  prompt-expander uninstall --all --yes";

#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// Remove what `install --project` wrote in the working directory
    #[arg(long = "project", id = "for_project", requires = "target")]
    project: bool,
    #[command(flatten)]
    target: Target,
}

impl Install {
    pub(super) fn run(self, given: &PromptSource, reporter: &Reporter) -> anyhow::Result<ExitCode> {
        let system = system()?;
        let target = &self.target;
        if target.is_absent() {
            return list::list(
                &AGENTS.map(|agent| Status::of(agent, &system)),
                target.json,
                reporter,
            );
        }
        let agents = target.selected(|agent| agent.is_found(&system));
        if agents.is_empty() {
            let names = all_of(&AGENTS.map(|agent| agent.name));
            bail!(
                "no agent was found on this machine; looked for {names}; to register with one anyway, name it"
            );
        }
        let mut changes = Changes::default();
        let mut program = copy::program()?;
        changes.program = CopyChange::of_program(&program);
        if let Some(change) = &changes.program {
            program = change.copy().to_owned();
        }
        let options = given.config.clone().followed_by(self.config.clone());
        let settings = config::path(&options)
            .map(ConfigFile::settings)
            .transpose()?;
        let is_editor = settings
            .as_ref()
            .is_some_and(|file| config::may_edit(file.original_text()));
        // Agents do not pass on the variable.
        let is_named = options.config.is_some()
            || env::var_os("XDG_CONFIG_HOME").is_some_and(|set| !set.is_empty());
        let named = settings
            .as_ref()
            .filter(|_| is_named)
            .map(|file| path_text(&file.path))
            .transpose()?;
        let arguments = named
            .into_iter()
            .flat_map(|path| ["--config".to_owned(), path])
            .collect();
        let installation = Installation {
            agent: agents[0],
            scope: scope(self.project),
            program: path_text(&program)?,
            arguments,
            hook: !self.no_hook,
            replace: self.replace,
            trust: !self.no_trust && !is_editor,
        };
        changes.plan(
            &agents,
            |agent| {
                Installation {
                    agent,
                    ..installation.clone()
                }
                .plan(&system)
            },
            reporter,
        );
        if target.carry_out(
            &mut changes,
            "registered already; nothing to change",
            reporter,
        )? {
            for (agent, plan) in changes
                .agents
                .iter()
                .filter(|(_, plan)| !plan.files.is_empty())
            {
                reporter.note(&(agent.next_step)(plan.installed));
            }
        }
        Ok(changes.status(target, agents.len(), reporter))
    }
}

/// A path as it can be in a config.
///
/// # Errors
/// It is not UTF-8.
fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| {
        format!(
            "`{}` is not UTF-8, so it cannot be in a config; give it another name",
            path.display()
        )
    })
}

impl Uninstall {
    pub(super) fn run(self, reporter: &Reporter) -> anyhow::Result<ExitCode> {
        let (system, target) = (system()?, &self.target);
        let states = AGENTS.map(|agent| Status::of(agent, &system)).into_iter();
        let registered: Vec<Status> = states.filter(list::has_something).collect();
        if registered.is_empty() && target.agents.is_empty() {
            reporter.note("nothing is registered");
        }
        if target.is_absent() {
            return list::list(&registered, target.json, reporter);
        }
        let agents = target.selected(|agent| registered.iter().any(|state| state.agent == agent));
        let program = CopyChange::removal().filter(|_| target.all);
        let mut changes = Changes {
            program,
            ..Changes::default()
        };
        changes.plan(
            &agents,
            |agent| removal(agent, scope(self.project), &system),
            reporter,
        );
        target.carry_out(&mut changes, "not registered; nothing to remove", reporter)?;
        Ok(changes.status(target, agents.len(), reporter))
    }
}

fn scope(is_project: bool) -> Scope {
    if is_project {
        Scope::Project
    } else {
        Scope::User
    }
}
