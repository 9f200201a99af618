//! `prompt-expander sync`: writes entries for prompts into agents' own menus.

use super::agent_names::{AgentParser, system};
use super::config;
use super::config_diff::format_diff;
use super::output::{self, ADDED, NAME, REMOVED, Reporter, Styled, display_path, styled};
use super::settings_edits;
use super::source_options::{ConfigOptions, PromptSource};
use crate::agents::{AGENTS, Agent, ConfigFile, MenuLocation, System};
use crate::menus::{MenuPlan, MenuSettings, MenuState, library_id};
use crate::prompt::Severity;
use crate::wording::{count, join_words, or_list, with_commas};
use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander sync codex claude-code   show what would be written, and ask
  prompt-expander sync                     update the menus of these agents
  prompt-expander sync --only 'git/*'      only these prompts from now on
  prompt-expander sync --check             exit with status 1 if a menu is out of date";

/// The pattern that selects all prompts, so that the settings need none.
const ANY_NAME: &str = "*";

/// How many names a preview shows of each menu.
const MAX_SHOWN_NAMES: usize = 12;

#[derive(Debug, Args)]
pub(super) struct Sync {
    /// Agents to add to those whose menus are kept up to date
    #[arg(value_name = "AGENT", value_parser = AgentParser)]
    agents: Vec<&'static Agent>,
    /// Also show the prompts of your team, of packs and of services, from now on
    #[arg(long)]
    all: bool,
    /// Only show the prompts whose names match this pattern, from now on; `*` stands for any text
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Write nothing, and exit with status 1 if a menu or `config.toml` would change
    #[arg(long, conflicts_with_all = ["yes", "dry_run"])]
    check: bool,
    /// Show what would change, and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
}

impl Sync {
    /// Brings the menus of the agents in the settings file, and of those that the user named, up to
    /// date. Removes entries from the menus of all other agents.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let settings = self.requested_settings(&source.settings.menus)?;
        let changes = MenuChanges::plan(source, settings, &AGENTS, &system()?)?;
        if changes.is_empty() && changes.settings.agents.is_empty() {
            bail!("no agent is selected. Name one, e.g. `prompt-expander sync codex`");
        }
        changes.report_left_alone(reporter);
        output::print(&changes.preview_with_unchanged())?;
        if changes.is_empty() || self.check {
            return Ok(exit_code(changes.is_empty() && !changes.has_failed()));
        }
        if !self.confirm(reporter)? {
            reporter.note("nothing is written");
            return Ok(exit_code(!changes.has_failed()));
        }
        let is_done = changes.apply(reporter)?;
        changes.hint_at_restart(reporter);
        Ok(exit_code(is_done && !changes.has_failed()))
    }

    /// Returns the settings with what the command line adds to them.
    fn requested_settings(&self, current: &MenuSettings) -> anyhow::Result<MenuSettings> {
        for agent in &self.agents {
            if agent.menu.is_none() {
                let title = agent.title;
                let names = or_list(&names_with_menu());
                bail!("`sync` cannot write to the menu of {title}; name {names}");
            }
        }
        let mut settings = with_agents(current, &self.agents);
        settings.all |= self.all;
        if let Some(only) = &self.only {
            settings.only = Some(only.clone()).filter(|only| only != ANY_NAME);
        }
        Ok(settings)
    }

    /// Returns whether to write. Asks the user, unless --yes or --dry-run already answers that.
    fn confirm(&self, reporter: &Reporter) -> anyhow::Result<bool> {
        if self.yes || self.dry_run {
            return Ok(self.yes);
        }
        let action = "write without asking, or --dry-run to see the changes only";
        reporter.confirm("Make these changes?", action)
    }
}

/// Returns the settings with these agents added, in display order.
pub(super) fn with_agents(current: &MenuSettings, agents: &[&'static Agent]) -> MenuSettings {
    let mut settings = current.clone();
    settings.agents = AGENTS
        .into_iter()
        .filter(|agent| current.agents.contains(agent) || agents.contains(agent))
        .filter(|agent| agent.menu.is_some())
        .collect();
    settings
}

/// Returns the settings without these agents. Without any agent, there is nothing to select.
pub(super) fn without_agents(current: &MenuSettings, agents: &[&'static Agent]) -> MenuSettings {
    let mut settings = current.clone();
    settings.agents.retain(|agent| !agents.contains(agent));
    if settings.agents.is_empty() {
        return MenuSettings::default();
    }
    settings
}

/// Returns the names of the agents to whose menus `sync` can write.
fn names_with_menu() -> Vec<&'static str> {
    let agents = AGENTS.into_iter().filter(|agent| agent.menu.is_some());
    agents.map(|agent| agent.name).collect()
}

fn exit_code(is_success: bool) -> ExitCode {
    if is_success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What is to change in agents' menus and in the settings file, which says which menus these are.
pub(super) struct MenuChanges {
    settings: MenuSettings,
    plans: Vec<MenuPlan>,
    /// The settings file, if it changes.
    settings_file: Option<ConfigFile>,
    /// Why menus can't be read, or prompts may be missing.
    problems: Vec<String>,
    /// Why menus can't be read that are to be emptied, because they are no longer in the settings.
    not_emptied: Vec<String>,
}

impl MenuChanges {
    /// Plans the changes that bring the menus of `agents` in line with `settings`. Those that are
    /// not in the settings get no entries, and lose those that they have.
    ///
    /// # Errors
    /// Fails if there is no settings file to use, if it can't be read, or if its menus are invalid:
    /// entries and settings would be lost.
    pub(super) fn plan(
        source: &PromptSource,
        settings: MenuSettings,
        agents: &[&'static Agent],
        system: &System,
    ) -> anyhow::Result<MenuChanges> {
        let path = config::path(&source.config)
            .context("no settings file is used; leave out --no-config")?;
        if let Some(error) = &source.settings.menus_error {
            bail!("{error}");
        }
        let library = library_id(&path);
        let prompts = settings.prompts(&source.library().view());
        let mut problems: Vec<String> = prompts.problems.iter().map(ToString::to_string).collect();
        let mut not_emptied = Vec::new();
        let mut plans = Vec::new();
        for agent in agents {
            let Some(location) = MenuLocation::of(agent, system) else {
                continue;
            };
            let is_selected = settings.agents.contains(agent);
            let was_selected = source.settings.menus.agents.contains(agent);
            match settings.plan(location, &prompts, &library) {
                Ok(plan) if is_selected || !plan.is_empty() => plans.push(plan),
                Err(error) if is_selected => problems.push(error.to_string()),
                Err(error) if was_selected => not_emptied.push(error.to_string()),
                // The user need not repair the menu of an agent that was never selected.
                Ok(_) | Err(_) => {}
            }
        }
        let file = settings_edits::with_menus(path, &source.settings.menus, &settings)?;
        Ok(MenuChanges {
            settings,
            plans,
            settings_file: file.is_edited().then_some(file),
            problems,
            not_emptied,
        })
    }

    /// Returns whether there is nothing to write or remove.
    pub(super) fn is_empty(&self) -> bool {
        self.settings_file.is_none() && self.plans.iter().all(MenuPlan::is_empty)
    }

    /// Returns whether the menu of this agent changes.
    pub(super) fn is_for(&self, agent: &Agent) -> bool {
        let mut plans = self.plans.iter();
        plans.any(|plan| plan.location.agent == agent && !plan.is_empty())
    }

    /// Returns whether the settings file says already which menus there are, or can be changed.
    pub(super) fn is_settings_file_writable(&self) -> bool {
        let file = self.settings_file.as_ref();
        file.is_none_or(|file| file.target().is_ok())
    }

    /// Returns whether a menu can't be read, or prompts may be missing.
    fn has_failed(&self) -> bool {
        !self.problems.is_empty() || !self.not_emptied.is_empty()
    }

    /// Reports why menus and names are left alone.
    pub(super) fn report_left_alone(&self, reporter: &Reporter) {
        reporter.warn_all(&self.problems);
        reporter.warn_all(&self.not_emptied);
        for plan in &self.plans {
            for warning in plan.warnings() {
                if warning.severity() == Severity::Hint {
                    reporter.note(&warning.to_string());
                } else {
                    reporter.warn(&warning.to_string());
                }
            }
        }
    }

    /// Describes the state of each menu without changes, and the changes of all others and of the
    /// settings file.
    fn preview_with_unchanged(&self) -> Styled {
        let mut text = Styled::default();
        for plan in &self.plans {
            let state = match plan.state() {
                MenuState::Outdated => continue,
                MenuState::Incomplete => {
                    "nothing to write; nothing is removed until all prompts can be read"
                }
                MenuState::WithoutEntries => "there is nothing to write",
                MenuState::UpToDate => "the menu is up to date",
            };
            text.push(format!("{}: {state}\n", plan.location.agent.name));
        }
        text.append(self.preview());
        text
    }

    /// Describes the changes of each menu, and of the settings file.
    pub(super) fn preview(&self) -> Styled {
        let mut text = Styled::default();
        for plan in self.plans.iter().filter(|plan| !plan.is_empty()) {
            text.append(describe(plan));
        }
        if let Some(file) = &self.settings_file {
            text.append(format_diff(file));
        }
        text
    }

    /// Writes the settings file, and then the entries, and says what was done. Returns whether
    /// everything was written, and each menu to empty could be read.
    ///
    /// # Errors
    /// Fails if the settings file can't be written. Then nothing else is.
    pub(super) fn apply(&self, reporter: &Reporter) -> anyhow::Result<bool> {
        if let Some(file) = &self.settings_file {
            write_settings(file)?;
        }
        let mut written = 0;
        let mut removed = 0;
        let mut is_done = self.not_emptied.is_empty();
        for plan in &self.plans {
            let result = plan.apply();
            written += result.written;
            removed += result.removed;
            for error in result.errors {
                reporter.error(&error.to_string());
                is_done = false;
            }
        }
        if written > 0 || removed > 0 {
            reporter.note(&summary(written, removed));
        } else if self.settings_file.is_some() {
            reporter.note("updated config.toml");
        }
        Ok(is_done)
    }

    /// Tells the user which agents show their changed menus only after a restart.
    fn hint_at_restart(&self, reporter: &Reporter) {
        let mut titles = Vec::new();
        for plan in &self.plans {
            if plan.location.menu.needs_restart && !plan.is_empty() {
                titles.push(plan.location.agent.title);
            }
        }
        if !titles.is_empty() {
            let titles = join_words(&titles, "and");
            reporter.hint(&format!("restart {titles} to see the change"));
        }
    }

    /// Returns the changes as JSON.
    pub(super) fn to_json(&self) -> Value {
        let mut menus = Vec::new();
        for plan in &self.plans {
            menus.push(json!({
                "name": plan.location.agent.name,
                "folder": plan.location.folder.display().to_string(),
                "added": plan.created(),
                "updated": plan.updated(),
                "removed": plan.removed(),
            }));
        }
        Value::Array(menus)
    }
}

/// Says how many entries were written and removed.
fn summary(written: usize, removed: usize) -> String {
    match (written, removed) {
        (_, 0) => format!("wrote {}", count(written, "menu entry")),
        (0, _) => format!("removed {}", count(removed, "menu entry")),
        _ => format!(
            "wrote {}, and removed {}",
            count(written, "menu entry"),
            with_commas(removed)
        ),
    }
}

/// Writes the settings file. Succeeds if another process has just made the same change.
fn write_settings(file: &ConfigFile) -> anyhow::Result<()> {
    let Err(error) = file.write() else {
        return Ok(());
    };
    let current = ConfigFile::read_settings(file.path.clone());
    if current.is_ok_and(|current| current.original == file.edited) {
        return Ok(());
    }
    Err(error.into())
}

/// Describes the changes of a menu: how many entries, and the names of the first ones.
fn describe(plan: &MenuPlan) -> Styled {
    let mut text = styled(NAME, display_path(&plan.location.folder)).plain("\n");
    let changes = [
        (ADDED, "+", plan.created()),
        (ADDED, "~", plan.updated()),
        (REMOVED, "-", plan.removed()),
    ];
    for (style, mark, names) in changes {
        if names.is_empty() {
            continue;
        }
        let shown = &names[..names.len().min(MAX_SHOWN_NAMES)];
        let mut line = format!(
            "{mark} {}: {}",
            count(names.len(), "entry"),
            shown.join(", ")
        );
        if shown.len() < names.len() {
            line += &format!(" and {} more", names.len() - shown.len());
        }
        text.append(styled(style, line).plain("\n"));
    }
    text
}
