//! An agent's registrations of prompt-expander: what they say, and what happens when they are
//! started.

use super::client::{self, Start};
use super::examination::{Examination, fine, milliseconds, unreadable};
use super::hook::project_option;
use crate::agents::{
    Agent, AgentFiles, Examined, Finding, PROMPTS_VARIABLE, RegisteredServers, Registration,
    SERVER_NAME, Scope,
};
use crate::wording::{count, in_backticks, quoted};
use std::path::Path;

/// A server that is examined.
struct ServerExamination<'a> {
    examination: &'a Examination,
    server: &'a Registration,
    registered: Examined<'a>,
    /// The name of the server, in backticks.
    name: String,
}

/// What is found about the servers of an agent.
pub(super) struct Servers {
    pub(super) findings: Vec<Finding>,
    /// Whether one of them is prompt-expander, or has the name that `install` gives it.
    pub(super) is_registered: bool,
    /// Whether one of them is prompt-expander.
    pub(super) has_this_program: bool,
}

/// Examines the servers of an agent that are prompt-expander, or have the name that `install` gives
/// it. Only one of them is started: the one that has the name, if there is any.
pub(super) fn examine(
    examination: &Examination,
    agent: &'static Agent,
    files: &AgentFiles,
) -> Servers {
    let RegisteredServers {
        registrations,
        errors,
    } = agent.registered_servers(files, &examination.system);
    let mut findings = Vec::new();
    for error in &errors {
        findings.push(unreadable(agent, error));
    }
    // Of several servers with the name, the first takes precedence.
    let mut examined = registrations
        .iter()
        .find(|server| server.name == SERVER_NAME);
    let mut has_this_program = false;
    for server in &registrations {
        if !is_this_program(examination, agent, server) {
            continue;
        }
        has_this_program = true;
        if server.name != SERVER_NAME {
            let server_examination = ServerExamination::new(examination, agent, server, files);
            findings.push(server_examination.other_name_finding());
            examined = examined.or(Some(server));
        }
    }
    if let Some(server) = examined {
        findings.extend(ServerExamination::new(examination, agent, server, files).findings());
    }
    Servers {
        findings,
        is_registered: examined.is_some(),
        has_this_program,
    }
}

/// Returns whether a server is this program, by its name or its file.
fn is_this_program(examination: &Examination, agent: &Agent, server: &Registration) -> bool {
    if server.is_prompt_expander() {
        return true;
    }
    let Some(command) = &server.command else {
        return false;
    };
    let system = &examination.system;
    let environment = (agent.launch.environment)(system, server);
    match environment.find_program(command, &system.project) {
        Ok(program) => examination.is_this_program(&program),
        Err(_) => false,
    }
}

// What the registration says.
impl<'a> ServerExamination<'a> {
    fn new(
        examination: &'a Examination,
        agent: &'static Agent,
        server: &'a Registration,
        files: &'a AgentFiles,
    ) -> ServerExamination<'a> {
        ServerExamination {
            examination,
            server,
            registered: Examined {
                agent,
                system: &examination.system,
                files,
                path: &server.path,
                position: server.position,
            },
            name: in_backticks(&server.name),
        }
    }

    /// Returns what is wrong with the registration, and what happens when the server is started.
    fn findings(&self) -> Vec<Finding> {
        let name = &self.name;
        if let Some(error) = &self.server.error {
            let message = format!("{name}: {error}");
            return vec![self.registered.error(message, "correct it in this file")];
        }
        let Some(command) = &self.server.command else {
            let message =
                format!("{name} is a server with a URL, to which doctor does not connect");
            let fix = format!("if it is not this program over HTTP, {}", self.reinstall());
            return vec![self.registered.warning(message, fix)];
        };
        let mut findings = Vec::new();
        if self.server.is_disabled {
            let message = format!("{name} is disabled in this file");
            findings.push(self.registered.error(message, "enable it"));
        }
        for check in self.registered.agent.checks {
            findings.extend(check(&self.registered, self.server));
        }
        findings.extend(self.options_finding());
        match self.start(command) {
            Ok(start) => findings.extend(self.examine_start(&start)),
            Err(finding) => findings.push(finding),
        }
        findings
    }

    /// Warns that the registration has another name than `install` gives it.
    fn other_name_finding(&self) -> Finding {
        let name = &self.name;
        let message = format!(
            "this program is registered as {name}, but permissions and docs refer to `{SERVER_NAME}`"
        );
        let fix = format!(
            "rename {name} to `{SERVER_NAME}`, or remove it if there is a `{SERVER_NAME}`, too"
        );
        self.registered.warning(message, fix)
    }

    /// Warns of options in the registration, which the hook, the other agents and the command line
    /// do not have.
    fn options_finding(&self) -> Option<Finding> {
        let options = self.server.args_without_config();
        if options.is_empty() || !self.server.is_prompt_expander() {
            return None;
        }
        let message = format!(
            "the options {} are only for {}",
            in_backticks(&options.join(" ")),
            self.registered.agent.title
        );
        let fix = format!(
            "write their keys into config.toml, then {}",
            self.reinstall()
        );
        Some(self.registered.warning(message, fix))
    }

    /// Returns how to register this program instead, as a clause: "run `prompt-expander install
    /// codex --replace`". `install` cannot write a server of [`Scope::Local`].
    fn reinstall(&self) -> String {
        let server = self.server;
        if server.scope == Scope::Local {
            let program = self.examination.program.display().to_string();
            return format!(
                "write {} as its `command` in this file",
                in_backticks(&program)
            );
        }
        let project = project_option(server.scope);
        let agent = self.registered.agent.name;
        let install = format!("prompt-expander install {agent}{project}");
        if server.name != SERVER_NAME {
            format!("remove it from this file, then run `{install}`")
        } else if server.is_prompt_expander() {
            format!("run `{install}`")
        } else {
            format!("run `{install} --replace`")
        }
    }
}

// What happens when the server is started.
impl ServerExamination<'_> {
    /// Returns what the agent would start.
    ///
    /// # Errors
    /// The program cannot be found.
    fn start(&self, written_command: &str) -> Result<Start, Finding> {
        let system = &self.examination.system;
        let server = self.server;
        let command = self.with_variables(written_command);
        let folder = match &server.cwd {
            Some(folder) => system.project.join(self.with_variables(folder)),
            None => system.project.clone(),
        };
        let mut environment = (self.registered.agent.launch.environment)(system, server);
        for (name, value) in &server.env {
            environment.set(name, self.with_variables(value));
        }
        let program = environment
            .find_program(&command, &folder)
            .map_err(|problem| {
                let message = format!(
                    "the command of {}, {}, {problem}",
                    self.name,
                    in_backticks(&command)
                );
                self.registered.error(message, self.reinstall())
            })?;
        Ok(Start {
            command,
            arguments: server
                .args
                .iter()
                .map(|argument| self.with_variables(argument))
                .collect(),
            environment,
            folder,
            program,
            timeout: self.examination.timeout,
        })
    }

    /// Returns a text of the registration in which the variables are replaced as the agent does it.
    fn with_variables(&self, text: &str) -> String {
        match &self.registered.agent.launch.variables {
            Some(variables) => variables.expand(text, &self.examination.system),
            None => text.to_owned(),
        }
    }

    /// Returns what is doubtful about a start, and what happens when it is tried.
    fn examine_start(&self, start: &Start) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(self.lookup_finding(start));
        findings.extend(self.lost_variable_finding(start));
        match self.danger(start) {
            Some(danger) => {
                let line = command_line(start);
                let message = format!("{} {danger}, so it was not started: {line}", self.name);
                let title = self.registered.agent.title;
                let fix = format!("if you trust it, start {title} here and ask it for its tools");
                findings.push(self.registered.warning(message, fix));
            }
            None => findings.extend(self.try_out(start)),
        }
        findings
    }

    /// Warns of a command that is found here, but perhaps not from the desktop.
    fn lookup_finding(&self, start: &Start) -> Option<Finding> {
        let agent = self.registered.agent;
        if !agent.launch.is_from_desktop || Path::new(&start.command).is_absolute() {
            return None;
        }
        let message = format!(
            "{} is looked up in PATH, which is different when {} is started from the desktop",
            in_backticks(&start.command),
            agent.title
        );
        Some(self.registered.warning(message, self.reinstall()))
    }

    /// Warns of a variable that names prompts in the terminal, if the agent does not pass it on to
    /// its servers.
    fn lost_variable_finding(&self, start: &Start) -> Option<Finding> {
        let value = self.examination.system.environment.get(PROMPTS_VARIABLE)?;
        if value.is_empty() || start.environment.get(PROMPTS_VARIABLE).is_some() {
            return None;
        }
        let title = self.registered.agent.title;
        let message = format!(
            "{PROMPTS_VARIABLE} is set here, and {title} does not pass it on to the server"
        );
        let fix = "write its folders as `prompts` into config.toml";
        Some(self.registered.warning(message, fix))
    }

    /// Returns why a server must not be started here, as a phrase that follows its name. A server
    /// of the project may be untrusted, unless it is this program without arguments and variables;
    /// so may a program in the working directory, unless it is this program.
    fn danger(&self, start: &Start) -> Option<&'static str> {
        let server = self.server;
        let is_this = self.examination.is_this_program(&start.program);
        let has_nothing_else = server.args.is_empty() && server.env.is_empty();
        if server.scope == Scope::Project && !(is_this && has_nothing_else) {
            return Some("comes with the project and is not exactly this program");
        }
        if start.is_in_folder() && !is_this {
            return Some("is a program in this folder and not this program");
        }
        None
    }

    /// Starts the server as the agent would, asks it for its prompts, and returns what is found.
    fn try_out(&self, start: &Start) -> Vec<Finding> {
        let name = &self.name;
        let answer = match client::ask_for_prompts(start) {
            Ok(answer) => answer,
            Err(problem) => return vec![self.unusable(start, &problem)],
        };
        let time = milliseconds(answer.took);
        let prompts = count(answer.prompts, "prompt");
        let message = format!("{name} answers in {time} and has {prompts}");
        let mut findings = vec![fine(self.registered.agent, message)];
        let version = env!("CARGO_PKG_VERSION");
        if answer.version != version && !self.examination.is_this_program(&start.program) {
            let message = format!(
                "{name} is version {}, in {}; this program is `{version}`",
                quoted(&answer.version),
                start.program.display()
            );
            findings.push(self.registered.warning(message, self.reinstall()));
        }
        if let Some(line) = &answer.complaint {
            let message = format!("{name} prints on standard error: {line}");
            findings.push(self.registered.warning(message, "fix what it reports"));
        }
        findings
    }

    /// Returns an error for a server that does not answer. `problem` is a phrase that follows its
    /// name.
    fn unusable(&self, start: &Start, problem: &str) -> Finding {
        let message = format!("{} ({}) {problem}", self.name, command_line(start));
        if self.examination.is_this_program(&start.program) {
            let fix = "correct its arguments in this file";
            self.registered.error(message, fix)
        } else {
            self.registered.error(message, self.reinstall())
        }
    }
}

/// Returns the command with its arguments, quoted for a shell, in backticks:
/// `` `npx 'my server'` ``.
fn command_line(start: &Start) -> String {
    let mut words = vec![start.command.as_str()];
    words.extend(start.arguments.iter().map(String::as_str));
    let line = shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "));
    in_backticks(&line)
}
