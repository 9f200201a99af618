//! `prompt-expander install` and `uninstall`: register the server and the hook in agents' configs,
//! and remove them.
//!
//! Both show a diff first, and write nothing until the user confirms it, at the terminal or with
//! --yes.

mod agent_list;
mod changes;
mod own_files;
mod program;

use super::agent_names::system;
use super::config;
use super::output::Reporter;
use super::source_options::{ConfigOptions, PromptSource};
use super::sync::{MenuChanges, with_agents, without_agents};
use super::user_folders::is_users_own;
use crate::agents::{
    AGENTS, Agent, ConfigFile, Installation, RegistrationStatus, Scope, System, plan_removal,
};
use crate::menus::MenuSettings;
use crate::wording::{join_words, or_list};
use anyhow::{Context, bail};
use changes::{AgentSelection, ConfigChanges, UnchangedMessage};
use clap::Args;
use own_files::{Fate, OwnFiles};
use program::{CopyChange, FirstOnPath, RegisteredProgram};
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
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
    /// Register only for the project in the working directory, in a file of that project
    #[arg(long = "project", id = "for_project", requires = "target")]
    project: bool,
    /// Don't add the hook, and remove it if an earlier `install` added it (all agents but vscode,
    /// cursor and zed); the hook gives the model each expansion without a tool call
    #[arg(long, requires = "target")]
    no_hook: bool,
    /// Replace another server that is already registered as `prompts`
    #[arg(long, requires = "target")]
    replace: bool,
    /// Leave out `"trust": true`, which lets the agent call the tools of this server without asking
    /// (gemini, qwen)
    #[arg(long, requires = "target")]
    no_trust: bool,
    /// Leave the agents' own menus as they are
    #[arg(long, requires = "target")]
    no_menu: bool,
    #[command(flatten)]
    selection: AgentSelection,
    #[command(flatten)]
    config: ConfigOptions,
}

pub(super) const UNINSTALL_EXAMPLES: &str = "\
Examples:
  prompt-expander uninstall                        list what is registered
  prompt-expander uninstall codex gemini           show what would change, and ask
  prompt-expander uninstall --all --yes
  prompt-expander uninstall --all --purge          also delete keys, tokens and caches";

#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// Remove what `install --project` wrote in the working directory
    #[arg(long = "project", id = "for_project", requires = "target")]
    project: bool,
    /// With --all, also delete what this program keeps for itself: keys, tokens, caches, packs, the
    /// list of trusted repositories, and backups of agents' configs
    #[arg(long, requires = "all", conflicts_with = "for_project")]
    purge: bool,
    #[command(flatten)]
    selection: AgentSelection,
}

const NOTHING_IS_REGISTERED: &str = "nothing is registered";

/// How prompt-expander's own settings file affects registrations.
#[derive(Default)]
struct RegisteredSettings {
    /// `--config FILE`, or nothing if agents would find the file anyway.
    arguments: Vec<String>,
    /// Whether the file allows agents to edit prompts.
    agents_may_edit: bool,
}

/// The command that agents will run.
struct AgentCommand {
    /// A path, or a name that is looked up on `PATH`.
    text: String,
    /// Another program of the same name that comes first on `PATH`, if there is one.
    other_on_path: Option<PathBuf>,
}

impl Install {
    /// Registers this program with the selected agents, or lists the agents if none is selected.
    pub(super) fn run(self, reporter: &Reporter) -> anyhow::Result<ExitCode> {
        let system = system()?;
        if self.selection.is_empty() {
            let statuses = AGENTS.map(|agent| RegistrationStatus::read(agent, &system));
            agent_list::print(&statuses, self.selection.json, reporter)?;
            return Ok(ExitCode::SUCCESS);
        }
        self.register(&system, reporter)
    }

    /// Plans the changes for all selected agents, shows them, and writes them once the user has
    /// confirmed.
    fn register(&self, system: &System, reporter: &Reporter) -> anyhow::Result<ExitCode> {
        let agents = self.selection.select(|agent| agent.is_found(system));
        if agents.is_empty() {
            let names = or_list(&AGENTS.map(|agent| agent.name));
            bail!(
                "this machine has none of the agents {names}. To register with one anyway, name it"
            );
        }
        let program = RegisteredProgram::find()?;
        let command = self.command_to_register(&program)?;
        let settings = self.registered_settings()?;
        let mut changes = ConfigChanges::new(program.copy_change, None);
        for agent in &agents {
            let installation = self.installation(agent, &command, &settings);
            changes.add(agent, installation.plan(system), reporter);
        }
        if !self.no_menu && !self.project {
            let planned = changes.planned_agents();
            let source = load_source(&self.config);
            let menus = with_agents(&source.settings.menus, &planned);
            warn_of_invalid_menus(&source, reporter);
            changes.menus = plan_menus(&source, menus, &planned, system)?;
        }
        let is_written = self.selection.preview_and_write(
            &mut changes,
            UnchangedMessage {
                reason: "registered already",
                conclusion: "nothing to change",
            },
            reporter,
        )?;
        if is_written {
            hint_at_next_steps(&changes, reporter);
        }
        Ok(changes.exit_code(agents.len(), reporter))
    }

    /// Returns the command that agents will run: the path of the program. For a project, the plain
    /// name if that starts this program, because others have the program at other paths.
    ///
    /// # Errors
    /// Fails if the path isn't valid UTF-8.
    fn command_to_register(&self, program: &RegisteredProgram) -> anyhow::Result<AgentCommand> {
        let path = path_to_string(&program.path)?;
        let first_on_path = program.first_on_path();
        if self.project && first_on_path == FirstOnPath::ThisProgram {
            return Ok(AgentCommand {
                text: env!("CARGO_PKG_NAME").to_owned(),
                other_on_path: None,
            });
        }
        let other_on_path = match first_on_path {
            FirstOnPath::Other(other) => Some(other),
            FirstOnPath::ThisProgram | FirstOnPath::None => None,
        };
        Ok(AgentCommand {
            text: path,
            other_on_path,
        })
    }

    /// Reads the settings file that `--config` names, before or after the command, or the default
    /// one.
    fn registered_settings(&self) -> anyhow::Result<RegisteredSettings> {
        let Some(path) = config::path(&self.config) else {
            return Ok(RegisteredSettings::default());
        };
        let file = ConfigFile::read_settings(path)?;
        // Some agents don't pass this variable on, so the server would look in the default folder.
        let is_config_home_set =
            env::var_os("XDG_CONFIG_HOME").is_some_and(|folder| !folder.is_empty());
        let mut arguments = Vec::new();
        if self.config.config.is_some() || is_config_home_set {
            arguments = vec!["--config".to_owned(), path_to_string(&file.path)?];
        }
        Ok(RegisteredSettings {
            arguments,
            agents_may_edit: config::may_edit(file.original_text()),
        })
    }

    /// Returns what to register with an agent, as the options say.
    fn installation(
        &self,
        agent: &'static Agent,
        command: &AgentCommand,
        settings: &RegisteredSettings,
    ) -> Installation {
        Installation {
            agent,
            scope: scope_for(self.project),
            program: command.text.clone(),
            other_on_path: command.other_on_path.clone(),
            arguments: settings.arguments.clone(),
            hook: !self.no_hook,
            replace: self.replace,
            // The user should see each edit of a prompt, so don't allow calls without asking.
            trust: !self.no_trust && !settings.agents_may_edit,
        }
    }
}

/// Returns the source of the prompts that the settings file selects.
fn load_source(options: &ConfigOptions) -> PromptSource {
    let mut source = PromptSource {
        config: options.clone(),
        ..PromptSource::default()
    };
    config::load(&mut source);
    source
}

/// Warns that menus stay as they are, because the settings don't say what should be in them.
fn warn_of_invalid_menus(source: &PromptSource, reporter: &Reporter) {
    if let Some(error) = &source.settings.menus_error {
        reporter.warn(&format!("agents' menus stay as they are: {error}"));
    }
}

/// Plans the changes of the menus of `agents`. Returns `None` if there are none, or if the settings
/// file can't say which menus there are: it is broken, read-only, inside a project, or not used.
fn plan_menus(
    source: &PromptSource,
    menus: MenuSettings,
    agents: &[&'static Agent],
    system: &System,
) -> anyhow::Result<Option<MenuChanges>> {
    let has_menu = agents.iter().any(|agent| agent.menu.is_some());
    let has_own_file = config::path(&source.config).is_some_and(|path| is_users_own(&path));
    let is_invalid = source.settings.is_unusable || source.settings.menus_error.is_some();
    if !has_menu || !has_own_file || is_invalid {
        return Ok(None);
    }
    let changes = MenuChanges::plan(source, menus, agents, system)?;
    let is_needed = !changes.is_empty() && changes.is_settings_file_writable();
    Ok(is_needed.then_some(changes))
}

/// Converts a path to a string, for a config.
///
/// # Errors
/// Fails if the path isn't valid UTF-8.
fn path_to_string(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| {
        let path = path.display();
        format!("`{path}` is not UTF-8, so it cannot be in a config; give it another name")
    })?;
    Ok(text.to_owned())
}

/// Tells the user what to do after an installation: a line for each agent with a special step, and
/// one for all.
fn hint_at_next_steps(changes: &ConfigChanges, reporter: &Reporter) {
    let mut titles = Vec::new();
    for change in changes.changed_agents() {
        let title = change.agent.title;
        titles.push(title);
        if let Some(step) = (change.agent.next_step)(change.plan.installed) {
            reporter.hint(&format!("{title}: {step}"));
        }
    }
    if !titles.is_empty() {
        let titles = join_words(&titles, "and");
        reporter.hint(&format!(
            "restart {titles}, and type `:research solid-state batteries`"
        ));
    }
    if changes.menus.is_some() {
        hint_at_menus(changes, reporter);
    }
}

/// Tells the user how to open the menus that have the prompts now.
fn hint_at_menus(changes: &ConfigChanges, reporter: &Reporter) {
    let mut titles_by_sign: BTreeMap<char, Vec<&str>> = BTreeMap::new();
    for change in changes.changed_agents() {
        if let Some(menu) = &change.agent.menu {
            let titles = titles_by_sign.entry(menu.sign).or_default();
            titles.push(change.agent.title);
        }
    }
    let mut signs = Vec::new();
    for (sign, titles) in titles_by_sign {
        signs.push(format!("`{sign}` in {}", join_words(&titles, "and")));
    }
    if !signs.is_empty() {
        reporter.hint(&format!(
            "to choose a prompt from the agent's menu, type {}",
            signs.join(" or ")
        ));
    }
}

impl Uninstall {
    /// Removes the registrations of the agents that the user named or, with --all, of every agent
    /// that has one. Without either, only lists the registrations.
    pub(super) fn run(self, reporter: &Reporter) -> anyhow::Result<ExitCode> {
        let system = system()?;
        let registered = registered_agents(&system);
        if self.selection.is_empty() {
            if registered.is_empty() {
                reporter.note(NOTHING_IS_REGISTERED);
            }
            agent_list::print(&registered, self.selection.json, reporter)?;
            return Ok(ExitCode::SUCCESS);
        }
        // With --all, also if nothing is registered: a copy of the program may be left to remove.
        self.unregister(&registered, &system, reporter)
    }

    /// Plans the changes for all selected agents, shows them, and writes them once the user has
    /// confirmed. --all selects the `registered` agents.
    fn unregister(
        &self,
        registered: &[RegistrationStatus],
        system: &System,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let agents = self
            .selection
            .select(|agent| registered.iter().any(|status| status.agent == agent));
        let mut changes = self.changes_of_program(system)?;
        for agent in &agents {
            let plan = plan_removal(agent, scope_for(self.project), system);
            changes.add(agent, plan, reporter);
        }
        if !self.project {
            let leaving = if self.selection.all {
                &AGENTS[..]
            } else {
                &agents
            };
            let source = load_source(&ConfigOptions::default());
            let menus = without_agents(&source.settings.menus, leaving);
            warn_of_invalid_menus(&source, reporter);
            changes.menus = plan_menus(&source, menus, leaving, system)?;
        }
        if self.selection.all && registered.is_empty() && changes.is_empty() {
            reporter.note(NOTHING_IS_REGISTERED);
        }
        self.selection.preview_and_write(
            &mut changes,
            UnchangedMessage {
                reason: "not registered",
                conclusion: "nothing to remove",
            },
            reporter,
        )?;
        if !self.project {
            hint_at_project(registered, &agents, reporter);
        }
        changes.note_kept_files(reporter);
        Ok(changes.exit_code(agents.len(), reporter))
    }

    /// Returns the changes that belong to no agent: the removal of the program's copy, and what
    /// happens to the files that the program keeps for itself. There are none if other agents may
    /// still run the program.
    fn changes_of_program(&self, system: &System) -> anyhow::Result<ConfigChanges> {
        let removes_everything = self.selection.all && !self.project;
        if !removes_everything {
            return Ok(ConfigChanges::new(None, None));
        }
        let fate = if self.purge { Fate::Delete } else { Fate::Keep };
        let own_files = OwnFiles::find(system, fate)?;
        Ok(ConfigChanges::new(
            CopyChange::plan_removal(),
            Some(own_files),
        ))
    }
}

/// Tells the user which of the `selected` agents are also registered for the project in the working
/// directory, where `uninstall` without --project leaves them.
fn hint_at_project(registered: &[RegistrationStatus], selected: &[&Agent], reporter: &Reporter) {
    for status in registered {
        let agent = status.agent;
        let mut servers = status.registrations.iter();
        let is_in_project =
            servers.any(|server| server.scope == Scope::Project && server.is_prompt_expander());
        if is_in_project && selected.contains(&agent) {
            reporter.hint(&format!(
                "{} has the server for this project, too. `prompt-expander uninstall {} --project` removes it",
                agent.title, agent.name
            ));
        }
    }
}

/// Returns the agents with which something is registered, or may be because a file can't be read.
fn registered_agents(system: &System) -> Vec<RegistrationStatus> {
    let mut registered = Vec::new();
    for agent in AGENTS {
        let status = RegistrationStatus::read(agent, system);
        if agent_list::has_registration(&status) {
            registered.push(status);
        }
    }
    registered
}

/// Returns where a registration applies: in the project if `--project` was passed, otherwise for
/// the user.
fn scope_for(is_project: bool) -> Scope {
    if is_project {
        Scope::Project
    } else {
        Scope::User
    }
}
