//! What a client would start for a registration: where that is, what it is given, and whether it is started here.

use super::Finding;
use super::probe::{self, End, Opening, Start, Visit};
use super::remedy::{again, install, reinstall};
use super::server::Case;
use super::start::{self, Environment};
use crate::client::{Arguments, Client, Scope, is_same_file};
use crate::wording::named;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Variables that say which prompts there are.
const LIBRARY_VARIABLES: [&str; 2] = ["PROMPT_EXPANDER_PROMPTS", "XDG_CONFIG_HOME"];

/// A program as a client would start it, all variables replaced.
pub(super) struct Launch {
    /// As it is written.
    command: String,
    arguments: Vec<String>,
    environment: Environment,
    /// The directory that it works in.
    folder: PathBuf,
    /// What `command` leads to.
    pub(super) program: PathBuf,
}

impl Launch {
    /// The command with its arguments, as one types them, in backticks.
    fn shown(&self) -> String {
        start::shown(&self.command, &self.arguments)
    }
}

impl Case<'_> {
    /// What the client would start; or why there is nothing to be started.
    pub(super) fn launch(&self, command: &str) -> Result<Launch, Finding> {
        let project = &self.examination.surroundings.project;
        let command = self.with_variables(command);
        let arguments = self.server.args.iter().map(|argument| self.with_variables(argument)).collect();
        let folder = match &self.server.cwd {
            None => project.clone(),
            Some(cwd) => project.join(self.with_variables(cwd)),
        };
        if !folder.is_dir() {
            let message = format!("{} would work in {}, which is no folder", self.name(), folder.display());
            return Err(self.broken(message).remedy("take `cwd` out of the file, or create the folder"));
        }
        let environment = self.environment();
        match start::find(&command, &environment, &folder) {
            Ok(program) => Ok(Launch { command, arguments, environment, folder, program }),
            Err(why) => {
                let message = format!("the command of {}, {}, {why}", self.name(), named(&command));
                Err(self.broken(message).remedy(self.with_whole_path()))
            }
        }
    }

    /// A text of the config as the client reads it.
    fn with_variables(&self, text: &str) -> String {
        let examination = self.examination;
        start::with_variables(self.client, text, &examination.environment, &examination.surroundings.project)
    }

    /// What the client passes on, and what the config adds to it.
    fn environment(&self) -> Environment {
        let own = &self.examination.environment;
        let mut environment = start::passed_on(self.client, own, &self.examination.surroundings.project);
        // Names of variables that Codex passes on, or objects with a name.
        for variable in self.server.entry.get("env_vars").and_then(Value::as_array).into_iter().flatten() {
            let name = variable.as_str().or_else(|| variable["name"].as_str());
            if let Some((name, value)) = name.and_then(|name| Some((name, start::get(own, name)?))) {
                start::set(&mut environment, name, value);
            }
        }
        for (name, value) in &self.server.env {
            start::set(&mut environment, name, self.with_variables(value).as_ref());
        }
        environment
    }

    /// What is said of a command that was found, but may not be found elsewhere.
    pub(super) fn found_elsewhere(&self, launch: &Launch) -> Option<Finding> {
        let command = named(&launch.command);
        let message = if Path::new(&launch.command).is_absolute() {
            return None;
        } else if start::has_separator(&launch.command) {
            format!("the command is found from this folder only: {command}")
        } else if matches!(self.client, Client::VsCode | Client::Cursor | Client::Zed) {
            let title = self.client.title();
            format!("{command} is looked up on PATH, and {title} has another one when it is started from the desktop")
        } else {
            return None;
        };
        let remedy = format!("run {}, which writes the whole path", again(self.client, self.server));
        Some(self.warning(message).remedy(remedy))
    }

    /// The folders that `--prompts` names, and what is wrong with them.
    pub(super) fn folders(&self, launch: &Launch) -> (Vec<PathBuf>, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut folders = Vec::new();
        for written in Arguments::of(&launch.arguments).folders {
            let path = self.examination.folder(&written, &launch.folder);
            let is_relative = !Path::new(&written).is_absolute() && !written.starts_with('~');
            let shown = named(&written);
            if !path.is_dir() {
                let why = if path.exists() { "is no folder" } else { "does not exist" };
                let hint = if written.contains('$') { "; no shell is there to know `$`" } else { "" };
                let message = format!("--prompts {shown} {why}{hint}");
                findings.push(self.broken(message).remedy("create it, or correct the path"));
            } else if is_relative {
                let message =
                    format!("--prompts {shown} is another folder wherever {} is started", self.client.title());
                let remedy = format!("write the whole path, {}", named(&path.display().to_string()));
                findings.push(self.warning(message).remedy(remedy));
            }
            folders.push(path);
        }
        (folders, findings)
    }

    /// Variables that name prompts in the terminal, and that the client keeps from its servers.
    pub(super) fn lost_variables(&self, launch: &Launch) -> Vec<Finding> {
        let lost = LIBRARY_VARIABLES.into_iter().filter(|name| {
            let is_set = start::get(&self.examination.environment, name).is_some_and(|value| !value.is_empty());
            is_set && start::get(&launch.environment, name).is_none()
        });
        lost.map(|name| {
            let message = format!(
                "{name} is set here, and {} does not pass it on: it has other prompts than you see in the terminal",
                self.client.title()
            );
            let command = reinstall(self.client, self.server, " --prompts DIR");
            self.warning(message).remedy(format!("name the folder in the registration: `{command}`"))
        })
        .collect()
    }

    /// An error for what is not started here: it came with the project, or lies in this folder, and may be a stranger's.
    pub(super) fn check_harmless(&self, launch: &Launch) -> Result<(), Finding> {
        let name = self.name();
        let is_this = is_same_file(&launch.program, &self.examination.program);
        // This program, told of folders and nothing else.
        let is_harmless = is_this
            && Arguments::of(&self.server.args).is_only_of_prompts()
            && self.server.env.keys().all(|name| LIBRARY_VARIABLES.contains(&name.as_str()));
        if self.server.scope == Scope::Project && !is_harmless {
            let message = format!(
                "{name} comes with the project and is not exactly this program, so it was not started: {}",
                launch.shown()
            );
            let title = self.client.title();
            let remedy = format!("if you trust it, start {title} here and ask it for its tools");
            return Err(self.warning(message).remedy(remedy));
        }
        let is_meant = self.server.cwd.as_ref().is_some_and(|cwd| Path::new(cwd).is_absolute());
        let Launch { command, environment, folder, program, .. } = launch;
        if !is_this && !is_meant && start::is_of_folder(command, program, environment, folder) {
            let message = format!(
                "{name} is what lies in this folder, {}, and not this program, so it was not started",
                named(&program.display().to_string())
            );
            return Err(self.warning(message).remedy(self.with_whole_path()));
        }
        Ok(())
    }

    /// What the server showed of itself, or why it is of no use.
    pub(super) fn visit(&self, launch: &Launch) -> Result<Visit, Finding> {
        let (opening, end) = manners(self.client);
        let Launch { arguments, environment, folder, program, .. } = launch;
        let patience = self.examination.patience;
        let visit = probe::visit(&Start { program, arguments, environment, folder, opening, end, patience });
        visit.map_err(|failure| {
            let message = format!("{} ({}) {failure}", self.name(), launch.shown());
            let remedy = if is_same_file(program, &self.examination.program) {
                format!("correct its arguments, or run {}", install(self.client, self.server.scope))
            } else {
                format!("run {}, which puts this program in its place", again(self.client, self.server))
            };
            self.broken(message).remedy(remedy)
        })
    }

    fn with_whole_path(&self) -> String {
        format!("run {}, which writes the whole path of this program", again(self.client, self.server))
    }
}

/// How a client opens and ends a conversation (`docs/clients`; the last four by the SDK that they use).
fn manners(client: Client) -> (Opening, End) {
    match client {
        Client::Codex | Client::GeminiCli => (Opening::Initialize("2025-06-18"), End::Terminate),
        Client::ClaudeCode => (Opening::Discover("2025-11-25"), End::Interrupt),
        Client::VsCode | Client::Cursor | Client::Opencode | Client::Zed => {
            (Opening::Initialize("2025-11-25"), End::CloseInput)
        }
    }
}
