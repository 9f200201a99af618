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
use super::output;
use super::source::{ConfigOptions, Folders, PromptSource};
use crate::agents::{AGENTS, ConfigFile, Installation, Plan, Scope, Status, removal};
use crate::wording::all_of;
use anyhow::{Context, bail};
use changes::{Changes, Target};
use clap::Args;
use copy::Copied;
use std::env;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander install                    list the agents found here, with their status
  prompt-expander install codex              show what would change, and ask
  prompt-expander install codex gemini --yes
  prompt-expander install --all --dry-run    only show what would change in each agent
  prompt-expander install vscode --project
  prompt-expander install codex --prompts ~/team/prompts";

/// For other commands, the environment names the folders if the option does not.
const HELP_OF_PROMPTS: &str = "\
A folder of prompt files, to be written into config.toml; can be repeated, and earlier folders override later ones";

#[derive(Debug, Args)]
#[command(mut_arg("prompts", |prompts| prompts.long_help(HELP_OF_PROMPTS)))]
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
    _folders: Folders,
    #[command(flatten)]
    _config: ConfigOptions,
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
    pub(super) fn run(self, given: &PromptSource) -> anyhow::Result<ExitCode> {
        let system = system()?;
        let target = &self.target;
        if target.is_absent() {
            if !given.words.is_empty() {
                bail!(
                    "--prompts, --from-agents, --no-builtin and --openapi need an agent, as in `install codex`"
                );
            }
            return list::list(&AGENTS.map(|agent| Status::of(agent, &system)), target.json);
        }
        let agents = target.selected(|agent| agent.is_found(&system));
        if agents.is_empty() {
            let names = all_of(&AGENTS.map(|agent| agent.name));
            bail!(
                "no agent was found on this machine; looked for {names}; to register with one anyway, name it"
            );
        }
        output::warnings(given.library().view().health(false));
        let mut changes = Changes::default();
        let mut program = copy::program()?;
        if let Some(to) = copy::better_place(&program).filter(|to| *to != program) {
            changes.program = Some(Copied {
                path: to.clone(),
                from: Some(program),
            });
            program = to;
        }
        let settings = config::path(&given.config)
            .map(ConfigFile::settings)
            .transpose()?;
        let is_editor = settings
            .as_ref()
            .is_some_and(|file| config::may_edit(file.texts()[0]));
        // Agents do not pass on the variable.
        let is_named = given.config.config.is_some()
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
        changes.plan(&agents, |agent| {
            Installation {
                agent,
                ..installation.clone()
            }
            .plan(&system)
        });
        move_options(&mut changes, settings, &given.words)?;
        if target.carry_out(&mut changes, "registered already; nothing to change")? {
            for (agent, plan) in changes
                .agents
                .iter()
                .filter(|(_, plan)| !plan.files.is_empty())
            {
                output::note(&(agent.next_step)(plan.installed));
            }
        }
        Ok(changes.status(target, agents.len()))
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

/// Moves the options that were given, and those of the existing registrations, into the settings
/// file.
fn move_options(
    changes: &mut Changes,
    settings: Option<ConfigFile>,
    given: &[String],
) -> anyhow::Result<()> {
    let is_changed = |plan: &&Plan| !plan.files.is_empty();
    let plans = changes
        .agents
        .iter()
        .map(|(_, plan)| plan)
        .filter(is_changed);
    let known = plans
        .flat_map(|plan| &plan.options)
        .filter(|options| !options.is_empty());
    let known: Vec<_> = known.cloned().collect();
    if known.is_empty() && given.is_empty() {
        return Ok(());
    }
    let mut file = settings.context(
        "there is no settings file for the options; leave out --no-config, and set HOME",
    )?;
    let folder = env::current_dir().unwrap_or_default();
    let mut text = file.texts()[0].to_owned();
    for options in &known {
        match config::with_options(&text, options, &folder) {
            Ok(new) => text = new,
            Err(error) => output::warning(&format!(
                "`{}` is left out of the registration: {error}",
                options.join(" ")
            )),
        }
    }
    text =
        config::with_options(&text, given, &folder).map_err(|error| error.in_file(&*file.path))?;
    if text != file.texts()[0] {
        file.edited = Some(text);
        file.target()?;
        changes.settings = Some(file);
    }
    Ok(())
}

impl Uninstall {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let (system, target) = (system()?, &self.target);
        let states = AGENTS.map(|agent| Status::of(agent, &system)).into_iter();
        let registered: Vec<Status> = states.filter(list::has_something).collect();
        if registered.is_empty() && target.agents.is_empty() {
            output::note("nothing is registered");
        }
        if target.is_absent() {
            return list::list(&registered, target.json);
        }
        let agents = target.selected(|agent| registered.iter().any(|state| state.agent == agent));
        let program = Copied::known().filter(|_| target.all);
        let mut changes = Changes {
            program,
            ..Changes::default()
        };
        changes.plan(&agents, |agent| {
            removal(agent, scope(self.project), &system)
        });
        target.carry_out(&mut changes, "not registered; nothing to remove")?;
        Ok(changes.status(target, agents.len()))
    }
}

fn scope(is_project: bool) -> Scope {
    if is_project {
        Scope::Project
    } else {
        Scope::User
    }
}
