//! A client's registrations of us: what is written there, and what comes of it when it is started.

use super::answers::Answered;
use super::probe::{self, End, Opening, Start};
use super::remedy::{again, install, reinstall, uninstall};
use super::start::{self, Environment};
use super::{Doctor, Finding, broken, unreadable, warning};
use crate::client::{Arguments, Client, Config, ConfigError, Registration, SERVER, Scope, is_same_file};
use crate::wording::named;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Variables that say which prompts there are.
const LIBRARY_VARIABLES: [&str; 2] = ["PROMPT_EXPANDER_PROMPTS", "XDG_CONFIG_HOME"];

/// A registration of us that the client would start, or try to.
#[derive(Debug)]
pub(super) struct Settled {
    /// What `--prompts` names.
    pub(super) folders: Vec<PathBuf>,
    /// The name of a prompt that the server listed.
    pub(super) prompt: Option<String>,
    /// The command that registers it anew, and the hook.
    pub(super) with_hook: String,
}

/// The configs of a client that could be read.
pub(super) struct Configs(Vec<Config>);

impl Configs {
    /// What the first of them has that has anything there.
    pub(super) fn get(&self, pointer: &str) -> Option<&Value> {
        self.0.iter().find_map(|config| config.value.pointer(pointer))
    }
}

impl Doctor {
    /// What is to be said of the servers that a client knows, and those of them that are ours.
    pub(super) fn servers(&self, client: Client) -> (Vec<Finding>, Vec<Settled>) {
        let mut findings = Vec::new();
        let mut configs = Configs(Vec::new());
        let mut servers: Vec<Registration> = Vec::new();
        // In the order in which one goes before another of the same name.
        for scope in [Scope::Local, Scope::Project, Scope::User] {
            for config in self.configs(client, scope) {
                match config.and_then(|config| Ok((config.registrations()?, config))) {
                    Ok((registrations, config)) => {
                        servers.extend(registrations);
                        configs.0.push(config);
                    }
                    // The file of the user's is read for both scopes.
                    Err(_) if scope == Scope::Local => {}
                    Err(error) => findings.push(unreadable(client, error)),
                }
            }
        }
        let (of_the_name, others): (Vec<_>, Vec<_>) = servers.into_iter().partition(|server| server.name == SERVER);
        let ours: Vec<Registration> = others.into_iter().filter(|server| self.is_ours(client, server)).collect();
        let mut settled = Vec::new();
        if let Some((first, hidden)) = of_the_name.split_first() {
            let (found, ours) = self.server(client, first, &configs);
            findings.extend(found);
            settled.extend(ours);
            for server in hidden {
                let message = format!(
                    "`{SERVER}` is registered twice; here, the one of {} goes before this one",
                    first.path.display()
                );
                let remedy = format!("keep one of them: {} ends this one", uninstall(client, server.scope, SERVER));
                findings.push(warning(client, server, message).remedy(remedy));
            }
        }
        for server in &ours {
            let name = named(&server.name);
            let (message, remedy) = if of_the_name.is_empty() {
                let message = format!(
                    "this program is registered as {name}, not as `{SERVER}`, which the permissions and pages here speak of"
                );
                let remedy = format!("run {}, then take {name} out of the file", again(client, server));
                (message, remedy)
            } else {
                let message = format!("this program is registered as {name} as well, so that each tool is there twice");
                (message, format!("take {name} out of the file"))
            };
            findings.push(warning(client, server, message).remedy(remedy));
            if of_the_name.is_empty() {
                let (found, ours) = self.server(client, server, &configs);
                findings.extend(found);
                settled.extend(ours);
            }
        }
        (findings, settled)
    }

    /// What a client reads in a scope. In the home directory, what would be the project's is the user's.
    pub(super) fn configs(&self, client: Client, scope: Scope) -> Vec<Result<Config, ConfigError>> {
        let users = client.configs(Scope::User, &self.surroundings);
        let mut configs = client.read_configs(scope, &self.surroundings);
        configs.retain(|read| {
            let path = read.as_ref().map_or_else(|error| &error.path, |config| &config.path);
            scope != Scope::Project || !users.iter().any(|user| is_same_file(user, path))
        });
        configs
    }

    /// Whether a server is this program, by its file or its name.
    fn is_ours(&self, client: Client, server: &Registration) -> bool {
        let Some(command) = &server.command else { return false };
        let environment = start::passed_on(client, &self.environment, &self.surroundings.project);
        server.is_ours()
            || start::find(command, &environment, &self.surroundings.project)
                .is_ok_and(|found| is_same_file(&found, &self.program))
    }

    /// All that there is to say of one server; and the server, unless it is another's.
    fn server(&self, client: Client, server: &Registration, configs: &Configs) -> (Vec<Finding>, Option<Settled>) {
        let title = client.title();
        let name = named(&server.name);
        let mut findings: Vec<Finding> = server
            .faults
            .iter()
            .map(|fault| {
                let remedy = format!("correct it, or run {}", again(client, server));
                broken(client, server, format!("{name}: {fault}")).remedy(remedy)
            })
            .collect();
        let with_hook = reinstall(client, server, " --hook");
        let mut settled = Settled { folders: Vec::new(), prompt: None, with_hook };
        if !findings.is_empty() {
            return (findings, Some(settled));
        }
        let Some(command) = &server.command else {
            let message = format!("{name} is a server at an address, not this program");
            let remedy = format!("give it another name, or run {}", again(client, server));
            return (vec![broken(client, server, message).remedy(remedy)], None);
        };
        findings.extend(self.switched_off(client, server, configs));
        findings.extend(self.approval(client, server, configs));

        let project = &self.surroundings.project;
        let mut environment = start::passed_on(client, &self.environment, project);
        self.add_from_config(client, server, &mut environment);
        let with_variables = |text: &str| start::with_variables(client, text, &self.environment, project);
        let command = with_variables(command);
        let arguments: Vec<String> = server.args.iter().map(|argument| with_variables(argument)).collect();
        let folder = match &server.cwd {
            None => project.clone(),
            Some(cwd) => project.join(with_variables(cwd)),
        };
        if !folder.is_dir() {
            let message = format!("{name} would work in {}, which is no folder", folder.display());
            let remedy = "take `cwd` out of the file, or create the folder";
            findings.push(broken(client, server, message).remedy(remedy));
            return (findings, Some(settled));
        }
        let program = match start::find(&command, &environment, &folder) {
            Ok(program) => program,
            Err(why) => {
                let message = format!("the command of {name}, {}, {why}", named(&command));
                let remedy = format!("run {}, which writes the whole path of this program", again(client, server));
                findings.push(broken(client, server, message).remedy(remedy));
                return (findings, Some(settled));
            }
        };
        findings.extend(self.command(client, server, &command));
        let (folders, found) = self.prompts(client, server, &arguments, &folder);
        findings.extend(found);
        let missing: Vec<String> =
            folders.iter().filter(|folder| !folder.is_dir()).map(|folder| folder.display().to_string()).collect();
        if folders.is_empty() {
            findings.extend(self.lost_variables(client, server, &environment));
        }
        settled.folders = folders;

        if server.scope == Scope::Project && !self.is_harmless(server, &program) {
            let message = format!(
                "{name} comes with the project and is not exactly this program, so it was not started: {}",
                start::shown(&command, &arguments)
            );
            let remedy = format!("if you trust it, start {title} here and ask it for its tools");
            findings.push(warning(client, server, message).remedy(remedy));
            return (findings, Some(settled));
        }
        // So may be what the user's own config finds in this folder.
        let is_meant = server.cwd.as_ref().is_some_and(|cwd| Path::new(cwd).is_absolute());
        let is_of_folder = !is_meant && start::is_of_folder(&command, &program, &environment, &folder);
        if is_of_folder && !is_same_file(&program, &self.program) {
            let message = format!(
                "{name} is what lies in this folder, {}, and not this program, so it was not started",
                named(&program.display().to_string())
            );
            let remedy = format!("run {}, which writes the whole path of this program", again(client, server));
            findings.push(warning(client, server, message).remedy(remedy));
            return (findings, Some(settled));
        }
        let (opening, end) = manners(client);
        let visit = probe::visit(&Start {
            program: &program,
            arguments: &arguments,
            environment: &environment,
            folder: &folder,
            opening,
            end,
            patience: self.patience,
        });
        let mut visit = match visit {
            Ok(visit) => visit,
            Err(failure) => {
                let message = format!("{name} ({}) {failure}", start::shown(&command, &arguments));
                let remedy = if is_same_file(&program, &self.program) {
                    format!("correct its arguments, or run {}", install(client, server.scope))
                } else {
                    format!("run {}, which puts this program in its place", again(client, server))
                };
                findings.push(broken(client, server, message).remedy(remedy));
                return (findings, Some(settled));
            }
        };
        // What is said of a folder already, is not said again.
        let is_said = |text: &String| missing.iter().any(|folder| text.contains(folder));
        visit.problems.retain(|problem| !is_said(problem));
        visit.said = visit.said.filter(|said| !is_said(said));
        let answered = Answered { client, server, program: &program, own: &self.program, configs };
        findings.extend(answered.findings(&visit));
        settled.prompt = visit.first;
        (findings, Some(settled))
    }

    /// Adds what the config says to an environment.
    fn add_from_config(&self, client: Client, server: &Registration, environment: &mut Environment) {
        let project = &self.surroundings.project;
        // Names of variables that Codex passes on, or objects with a name.
        for variable in server.entry.get("env_vars").and_then(Value::as_array).into_iter().flatten() {
            let name = variable.as_str().or_else(|| variable["name"].as_str());
            if let Some((name, value)) = name.and_then(|name| Some((name, start::get(&self.environment, name)?))) {
                start::set(environment, name, value);
            }
        }
        for (name, value) in &server.env {
            let value = start::with_variables(client, value, &self.environment, project);
            start::set(environment, name, value.as_ref());
        }
    }

    /// Whether something that came with a project may be started: this program, told of folders and nothing else.
    fn is_harmless(&self, server: &Registration, program: &Path) -> bool {
        let harmless = Arguments::of(&server.args).is_only_of_prompts()
            && server.env.keys().all(|name| LIBRARY_VARIABLES.contains(&name.as_str()));
        harmless && is_same_file(program, &self.program)
    }

    /// What is said of a command that was found, but may not be found elsewhere.
    fn command(&self, client: Client, server: &Registration, command: &str) -> Option<Finding> {
        let title = client.title();
        let command = Path::new(command);
        let remedy = format!("run {}, which writes the whole path", again(client, server));
        let message = if command.is_absolute() {
            return None;
        } else if start::has_separator(&command.to_string_lossy()) {
            format!("the command is found from this folder only: {}", named(&command.to_string_lossy()))
        } else if matches!(client, Client::VsCode | Client::Cursor | Client::Zed) {
            let command = named(&command.to_string_lossy());
            format!("{command} is looked up on PATH, and {title} has another one when it is started from the desktop")
        } else {
            return None;
        };
        Some(warning(client, server, message).remedy(remedy))
    }

    /// The folders that `--prompts` names, and what is wrong with them.
    fn prompts(
        &self,
        client: Client,
        server: &Registration,
        arguments: &[String],
        folder: &Path,
    ) -> (Vec<PathBuf>, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut folders = Vec::new();
        for written in Arguments::of(arguments).folders {
            let path = match (Path::new(&written).strip_prefix("~"), &self.surroundings.home) {
                (Ok(below), Some(home)) => home.join(below),
                _ => folder.join(&written),
            };
            let is_relative = !Path::new(&written).is_absolute() && !written.starts_with('~');
            let shown = named(&written);
            if !path.is_dir() {
                let why = if path.exists() { "is no folder" } else { "does not exist" };
                let hint = if written.contains('$') { "; no shell is there to know `$`" } else { "" };
                let message = format!("--prompts {shown} {why}{hint}");
                let remedy = "create it, or correct the path";
                findings.push(broken(client, server, message).remedy(remedy));
            } else if is_relative {
                let message = format!("--prompts {shown} is another folder wherever {} is started", client.title());
                let remedy = format!("write the whole path, {}", named(&path.display().to_string()));
                findings.push(warning(client, server, message).remedy(remedy));
            }
            folders.push(path);
        }
        (folders, findings)
    }

    /// Variables that name prompts in the terminal, and that the client keeps from its servers.
    fn lost_variables(&self, client: Client, server: &Registration, environment: &Environment) -> Vec<Finding> {
        let lost = LIBRARY_VARIABLES.into_iter().filter(|name| {
            let is_set = start::get(&self.environment, name).is_some_and(|value| !value.is_empty());
            is_set && start::get(environment, name).is_none()
        });
        lost.map(|name| {
            let message = format!(
                "{name} is set here, and {} does not pass it on: it has other prompts than you see in the terminal",
                client.title()
            );
            let command = reinstall(client, server, " --prompts DIR");
            let remedy = format!("name the folder in the registration: `{command}`");
            warning(client, server, message).remedy(remedy)
        })
        .collect()
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
