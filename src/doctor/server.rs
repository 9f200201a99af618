//! A client's registrations of us: what is written there, and what comes of it when it is started.

use super::probe::{self, End, Opening, Start, Visit};
use super::start::{self, Environment};
use super::{Doctor, Finding, Severity, install, uninstall, unreadable};
use crate::client::{Client, Config, ConfigError, Registration, SERVER, Scope};
use crate::wording::{count, named, quoted};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Codex leaves a server out of the first turn that is not ready so soon.
const GRACE: Duration = Duration::from_secs(1);

/// Variables that say which prompts there are.
const LIBRARY_VARIABLES: [&str; 2] = ["PROMPT_EXPANDER_PROMPTS", "XDG_CONFIG_HOME"];

/// A registration of us that the client would start, or try to.
#[derive(Debug)]
pub(super) struct Settled {
    /// What `--prompts` names.
    pub(super) folders: Vec<PathBuf>,
    /// The name of a prompt that the server listed.
    pub(super) prompt: Option<String>,
}

/// The configs of a client that could be read.
struct Configs(Vec<Config>);

impl Configs {
    /// What the first of them has that has anything there.
    fn get(&self, pointer: &str) -> Option<&Value> {
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
            scope != Scope::Project || !users.iter().any(|user| same_file(user, path))
        });
        configs
    }

    /// Whether a server is this program, by its file or its name.
    fn is_ours(&self, client: Client, server: &Registration) -> bool {
        let Some(command) = &server.command else { return false };
        let environment = start::passed_on(client, &self.environment, &self.surroundings.project);
        server.is_ours()
            || start::find(command, &environment, &self.surroundings.project)
                .is_ok_and(|found| same_file(&found, &self.program))
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
        let mut settled = Settled { folders: Vec::new(), prompt: None };
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
        let visit = match visit {
            Ok(visit) => visit,
            Err(failure) => {
                let message = format!("{name} ({}) {failure}", start::shown(&command, &arguments));
                let remedy = if same_file(&program, &self.program) {
                    format!("correct its arguments, or run {}", again(client, server))
                } else {
                    format!("run {}, which puts this program in its place", again(client, server))
                };
                findings.push(broken(client, server, message).remedy(remedy));
                return (findings, Some(settled));
            }
        };
        let judged = Judged { client, server, program: &program, own: &self.program, configs };
        findings.extend(judged.visit(&visit));
        settled.prompt = visit.longest.map(|longest| longest.name);
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
        let mut arguments = server.args.iter();
        let mut harmless = server.env.keys().all(|name| LIBRARY_VARIABLES.contains(&name.as_str()));
        while let Some(argument) = arguments.next() {
            harmless &= match argument.as_str() {
                "--prompts" => arguments.next().is_some(),
                other => other.starts_with("--prompts=") || other == "--no-builtin" || other == "--project",
            };
        }
        harmless && same_file(program, &self.program)
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
        let written = written_folders(arguments);
        for written in written {
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
            let command = again(client, server);
            let command = command.trim_matches('`');
            let remedy = format!("name the folder in the registration: `{command} --prompts DIR`");
            warning(client, server, message).remedy(remedy)
        })
        .collect()
    }

    /// Whether the client starts it at all.
    fn switched_off(&self, client: Client, server: &Registration, configs: &Configs) -> Option<Finding> {
        let name = &server.name;
        let shown = named(name);
        let holds = |list: Option<&Value>| {
            list.and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == name))
        };
        if !server.enabled {
            let key = if server.entry.contains_key("disabled") { "disabled" } else { "enabled" };
            let value = key == "enabled";
            let message = format!("{shown} is switched off: `{key}` is {}", !value);
            return Some(broken(client, server, message).remedy(format!("set `{key}` to {value}")));
        }
        match client {
            Client::ClaudeCode => {
                let project = self.surroundings.project.to_string_lossy().replace('~', "~0").replace('/', "~1");
                let disabled = configs.get(&format!("/projects/{project}/disabledMcpServers"));
                if holds(disabled) {
                    let message = format!("{shown} is switched off in this project");
                    return Some(broken(client, server, message).remedy("switch it on with `/mcp` in Claude Code"));
                }
                (server.scope == Scope::Project).then(|| self.approved(client, server, configs, &project)).flatten()
            }
            Client::GeminiCli => {
                let state = self.surroundings_of_gemini("mcp-server-enablement.json");
                let is_off = state.pointer(&format!("/{name}/enabled")) == Some(&Value::Bool(false));
                let remedy = format!("run `gemini mcp enable {name}`");
                if is_off {
                    return Some(broken(client, server, format!("{shown} is switched off")).remedy(remedy));
                }
                if holds(configs.get("/mcp/excluded")) {
                    let message = format!("{shown} is among the servers that `mcp.excluded` keeps out");
                    return Some(broken(client, server, message).remedy("take it out of that list"));
                }
                let allowed = configs.get("/mcp/allowed");
                let is_narrow = allowed.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
                if is_narrow && !holds(allowed) {
                    let message = format!("{shown} is not among the servers that `mcp.allowed` lets in");
                    return Some(broken(client, server, message).remedy("add it to that list"));
                }
                None
            }
            Client::Codex if server.scope == Scope::Project => {
                let trusted = configs.get("/projects").and_then(Value::as_object);
                let is_trusted = self.surroundings.project.ancestors().any(|folder| {
                    let folder = trusted.and_then(|projects| projects.get(folder.to_string_lossy().as_ref()));
                    folder.is_some_and(|folder| folder["trust_level"] == "trusted")
                });
                let message = "Codex does not trust this project yet, and reads nothing of its .codex";
                (!is_trusted)
                    .then(|| warning(client, server, message).remedy("start `codex` here once, and trust the project"))
            }
            _ => None,
        }
    }

    /// Whether Claude Code was told to start a server that came with the project.
    fn approved(&self, client: Client, server: &Registration, configs: &Configs, project: &str) -> Option<Finding> {
        let name = named(&server.name);
        let settings: Vec<Config> = self.settings_of_claude().into_iter().flatten().collect();
        let listed = |key: &str| {
            let in_settings = settings.iter().filter_map(|settings| settings.value.get(key));
            let of_project = configs.get(&format!("/projects/{project}/{key}"));
            let lists = in_settings.chain(of_project).filter_map(Value::as_array);
            lists.flatten().any(|item| item == &server.name)
        };
        let all = settings.iter().any(|settings| settings.value["enableAllProjectMcpServers"] == true);
        if listed("disabledMcpjsonServers") {
            let message = format!("{name} of this project was refused");
            let remedy = "run `claude mcp reset-project-choices`, and accept it when Claude Code asks";
            Some(broken(client, server, message).remedy(remedy))
        } else if !all && !listed("enabledMcpjsonServers") {
            let message = format!("{name} comes with the project and has not been accepted yet");
            Some(warning(client, server, message).remedy("start `claude` here once, and accept it"))
        } else {
            None
        }
    }

    /// What asks before the tools are called, or keeps them away.
    fn approval(&self, client: Client, server: &Registration, configs: &Configs) -> Vec<Finding> {
        let entry = &server.entry;
        let mut findings = Vec::new();
        let list = |key: &str| entry.get(key).and_then(Value::as_array);
        let has = |list: &[Value], tool: &str| {
            list.iter().filter_map(Value::as_str).any(|item| item.split('(').next() == Some(tool))
        };
        let (included, excluded) = match client {
            Client::Codex => ("enabled_tools", "disabled_tools"),
            Client::GeminiCli => ("includeTools", "excludeTools"),
            _ => ("", ""),
        };
        for (tool, severity) in [("expand_prompt", Severity::Broken), ("list_prompts", Severity::Warning)] {
            let finding = if list(included).is_some_and(|list| !has(list, tool)) {
                (format!("`{included}` leaves `{tool}` out"), format!("add it there, or take `{included}` out"))
            } else if list(excluded).is_some_and(|list| has(list, tool)) {
                (format!("`{excluded}` takes `{tool}` away"), "take it out of that list".to_owned())
            } else {
                continue;
            };
            findings.push(Finding { severity, ..broken(client, server, finding.0) }.remedy(finding.1));
        }
        match client {
            Client::Codex => {
                let of_tool = entry.get("tools").and_then(|tools| tools["expand_prompt"].get("approval_mode"));
                let (key, mode) = match of_tool {
                    Some(mode) => ("tools.expand_prompt.approval_mode", Some(mode)),
                    None => ("default_tools_approval_mode", entry.get("default_tools_approval_mode")),
                };
                if mode.is_some_and(|mode| mode == "prompt") {
                    let message =
                        format!("`{key}` is \"prompt\": Codex asks before each call, and `codex exec` refuses it");
                    let remedy = format!("set `{key}` to \"auto\"; the tools only read");
                    findings.push(warning(client, server, message).remedy(remedy));
                }
            }
            Client::GeminiCli => {
                let is_allowed = configs.get("/mcp/allowed").and_then(Value::as_array);
                let is_allowed =
                    is_allowed.is_some_and(|list| list.iter().any(|item| item == &server.name || item == "*"));
                if entry.get("trust") != Some(&Value::Bool(true)) && !is_allowed {
                    let message =
                        "Gemini CLI asks before each call, and `gemini -p` does not show the tools to the model";
                    let remedy = "set `trust` to true; the tools only read";
                    findings.push(warning(client, server, message).remedy(remedy));
                }
            }
            Client::ClaudeCode => findings.extend(self.permissions(server)),
            _ => {}
        }
        findings
    }

    /// What the settings of Claude Code say of calls.
    fn permissions(&self, server: &Registration) -> Option<Finding> {
        let client = Client::ClaudeCode;
        let tool = format!("mcp__{}__expand_prompt", server.name);
        let covers = |rule: &str| {
            let whole =
                [tool.as_str(), &format!("mcp__{}", server.name), &format!("mcp__{}__*", server.name), "mcp__*"];
            whole.contains(&rule)
        };
        let settings: Vec<Config> = self.settings_of_claude().into_iter().flatten().collect();
        let rule = |kind: &str| {
            settings.iter().find_map(|config| {
                let rules = config.value.get("permissions")?.get(kind)?.as_array()?;
                let rule = rules.iter().filter_map(Value::as_str).find(|rule| covers(rule))?;
                let position = config.position(&["permissions", kind]);
                Some((rule.to_owned(), config.path.clone(), position))
            })
        };
        if let Some((rule, path, position)) = rule("deny") {
            let message = format!("{} among `permissions.deny` forbids every call", named(&rule));
            let finding = Finding::new(Some(client), Severity::Broken, message).remedy("take it out of that list");
            return Some(finding.at(&path, position));
        }
        if let Some((rule, path, position)) = rule("ask") {
            let message = format!("{} among `permissions.ask` has Claude Code ask before each call", named(&rule));
            let remedy = "move it to `permissions.allow`; the tools only read";
            return Some(Finding::new(Some(client), Severity::Warning, message).remedy(remedy).at(&path, position));
        }
        if rule("allow").is_some() {
            return None;
        }
        let message = "Claude Code asks before it calls `expand_prompt`, and `claude -p` refuses the call";
        let finding = Finding::new(Some(client), Severity::Warning, message);
        let remedy = format!("add {} to `permissions.allow`", named(&tool));
        let file = self.claude_home().map(|home| home.join("settings.json"));
        Some(Finding { file, ..finding.remedy(remedy) })
    }

    /// The settings of Claude Code that are there, those of the project first.
    pub(super) fn settings_of_claude(&self) -> Vec<Result<Config, ConfigError>> {
        let client = Client::ClaudeCode;
        let project = self.surroundings.project.join(".claude");
        let of_project = ["settings.local.json", "settings.json"].map(|file| (Scope::Project, project.join(file)));
        let of_user = self.claude_home().map(|home| (Scope::User, home.join("settings.json")));
        let users = of_user.clone().map(|(_, path)| path).filter(|path| path.exists());
        let of_project = of_project.into_iter().filter(|(_, path)| !users.iter().any(|user| same_file(user, path)));
        let files = of_project.chain(of_user);
        files.filter_map(|(scope, path)| Config::read_settings(client, scope, path).transpose()).collect()
    }

    fn claude_home(&self) -> Option<PathBuf> {
        Client::ClaudeCode.home(&self.surroundings)
    }

    /// A file beside the settings of Gemini CLI; null, if there is none.
    fn surroundings_of_gemini(&self, file: &str) -> Value {
        let client = Client::GeminiCli;
        let path = client.home(&self.surroundings).map(|home| home.join(file));
        let read = path.and_then(|path| Config::read_settings(client, Scope::User, path).ok().flatten());
        read.map_or(Value::Null, |config| config.value)
    }
}

/// A server that answered.
struct Judged<'j> {
    client: Client,
    server: &'j Registration,
    program: &'j Path,
    /// This program.
    own: &'j Path,
    configs: &'j Configs,
}

impl Judged<'_> {
    fn visit(&self, visit: &Visit) -> Vec<Finding> {
        let name = named(&self.server.name);
        let title = self.client.title();
        let install = again(self.client, self.server);
        let milliseconds = visit.answered_in.as_secs_f64() * 1000.0;
        let prompts = count(visit.prompts, "prompt");
        let message = format!("{name} answers in {milliseconds:.0} ms and has {prompts}");
        let mut findings = vec![Finding::new(Some(self.client), Severity::Fine, message)];
        let mut add = |severity: Severity, message: String, remedy: String| {
            findings.push(Finding { severity, ..broken(self.client, self.server, message) }.remedy(remedy));
        };
        if visit.name != "prompt-expander" {
            let message = format!("{name} is another program, which calls itself {}", quoted(&visit.name));
            add(Severity::Warning, message, format!("run {install} to have this one in its place"));
        } else if visit.version != env!("CARGO_PKG_VERSION") && !same_file(self.program, self.own) {
            let (theirs, ours) = (quoted(&visit.version), env!("CARGO_PKG_VERSION"));
            let program = self.program.display();
            let message = format!("{name} is version {theirs}, in {program}; this program is `{ours}`");
            add(Severity::Warning, message, format!("run {install} to have this one in its place"));
        }
        if self.client == Client::Codex {
            let seconds = self.server.entry.get("startup_timeout_sec").and_then(Value::as_f64);
            let milliseconds = self.server.entry.get("startup_timeout_ms").and_then(Value::as_f64);
            let limit = seconds.or(milliseconds.map(|milliseconds| milliseconds / 1000.0));
            let took = visit.answered_in.as_secs_f64();
            if let Some(limit) = limit.filter(|limit| *limit < took) {
                let message = format!("{name} took {took:.3} s for its first answer, and may take {limit} s");
                add(Severity::Broken, message, "raise `startup_timeout_sec`".to_owned());
            } else if visit.answered_in > GRACE {
                let message =
                    format!("{name} took {took:.1} s for its first answer; Codex goes on without it after 1 s");
                add(Severity::Warning, message, "set `required` to true, so that Codex waits for it".to_owned());
            }
        }
        if visit.prompts == 0 {
            let message = format!("{name} has no prompt");
            add(Severity::Warning, message, "put a file such as `hello.md` into its folder".to_owned());
        }
        if let Some(problem) = visit.problems.first() {
            let problems = count(visit.problems.len(), "file");
            let message = format!("{name} cannot read {problems} as prompts, such as {problem}");
            add(Severity::Broken, message, "run `prompt-expander check` with its `--prompts`".to_owned());
        }
        if let Some((prompt, why)) = &visit.refused {
            let message = format!("{name} lists {} and does not expand it: {why}", named(prompt));
            add(Severity::Broken, message, "run `prompt-expander check` with its `--prompts`".to_owned());
        }
        if let Some(stray) = &visit.stray {
            let message = format!("{name} prints what is no message: {}", quoted(stray));
            add(Severity::Warning, message, format!("run {install} to have this program in its place"));
        }
        if !visit.ended {
            let message = format!("{name} does not end when {title} ends it");
            add(Severity::Warning, message, format!("run {install} to have this program in its place"));
        }
        if let Some(said) = &visit.said {
            add(Severity::Warning, format!("{name} says on standard error: {said}"), "do what it says".to_owned());
        }
        if let Some((limit, what, remedy)) = self.cut(visit) {
            let longest =
                visit.longest.as_ref().map_or((String::new(), 0), |longest| (named(&longest.name), longest.characters));
            let message = format!("{} gives {} characters, and beyond {limit} {what}", longest.0, longest.1);
            add(Severity::Warning, message, remedy);
        }
        findings
    }

    /// The limit that the longest prompt is above, if it is: in characters, what happens beyond, and the remedy.
    fn cut(&self, visit: &Visit) -> Option<(usize, &'static str, String)> {
        let length = visit.longest.as_ref()?.characters;
        let number =
            |value: Option<&Value>| value.and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        let (limit, what, remedy) = match self.client {
            Client::Codex => {
                // Of 10,000 tokens, the default: 48,000 characters of a result; 18,000 where a model prints a result that holds
                // the prompt twice (`docs/clients/codex.md`).
                let tokens = number(self.configs.get("/tool_output_token_limit")).unwrap_or(10_000);
                let tools = self.server.entry.get("tools");
                let of_tool = number(tools.and_then(|tools| tools["expand_prompt"].get("output_token_limit")));
                let (plain, in_code) = (of_tool.unwrap_or(tokens) * 24 / 5, tokens * 9 / 5);
                let raised = (length * 5 / 9 / 1000 + 1) * 1000;
                let remedy = format!("shorten it, or set `tool_output_token_limit = {raised}` in config.toml");
                match length > plain {
                    true => (plain, "Codex cuts the middle out", remedy),
                    false => (in_code, "Codex can cut the middle out in its code mode", remedy),
                }
            }
            Client::ClaudeCode => {
                let what = "Claude Code shows the model the beginning and a file";
                (50_000, what, "shorten it, or name its material by path".to_owned())
            }
            Client::GeminiCli => {
                let limit = number(self.configs.get("/tools/truncateToolOutputThreshold")).unwrap_or(40_000);
                let remedy = format!("shorten it, or set `tools.truncateToolOutputThreshold` above {length}");
                (limit, "Gemini CLI cuts a part out", remedy)
            }
            _ => return None,
        };
        (length > limit).then_some((limit, what, remedy))
    }
}

/// The command that puts this program into the place of a registration, in backticks.
fn again(client: Client, server: &Registration) -> String {
    match install(client, server.scope) {
        command if server.scope == Scope::Local => {
            format!("{}, then {command}", uninstall(client, server.scope, SERVER))
        }
        command if server.is_ours() || server.name != SERVER => command,
        command => format!("`{} --replace`", command.trim_matches('`')),
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

/// What the options `--prompts` among arguments name, as it is written.
pub(super) fn written_folders(arguments: &[String]) -> Vec<String> {
    let mut folders = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--prompts") {
            Some("") => folders.extend(arguments.next().cloned()),
            Some(value) => folders.extend(value.strip_prefix('=').map(str::to_owned)),
            None => {}
        }
    }
    folders
}

/// Whether two paths lead to one file.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    a == b || canonical(a).is_some_and(|a| Some(a) == canonical(b))
}

fn broken(client: Client, server: &Registration, message: impl Into<String>) -> Finding {
    Finding::new(Some(client), Severity::Broken, message).at(&server.path, server.position)
}

fn warning(client: Client, server: &Registration, message: impl Into<String>) -> Finding {
    Finding { severity: Severity::Warning, ..broken(client, server, message) }
}
