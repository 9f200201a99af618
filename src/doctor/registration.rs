//! Examines an agent's registrations of prompt-expander, and tries to start the server.

use super::client::{self, ResolvedCommand};
use super::examination::{Examination, in_milliseconds, success_finding, unreadable_file_finding};
use super::hook::project_option;
use crate::agents::{
    Agent, AgentFiles, Examined, Finding, PROMPTS_VARIABLE, RegisteredServers, Registration,
    SERVER_NAME, Scope,
};
use crate::wording::{count, in_backticks, quoted};
use std::path::Path;

/// The examination of a single registered server.
struct ServerExamination<'a> {
    examination: &'a Examination,
    server: &'a Registration,
    registered: Examined<'a>,
    /// The name of the server, in backticks.
    name: String,
}

/// The result of examining the servers of an agent.
pub(super) struct Servers {
    pub(super) findings: Vec<Finding>,
    /// Whether a server is prompt-expander or is named [`SERVER_NAME`].
    pub(super) is_registered: bool,
    /// Whether a server is prompt-expander.
    pub(super) has_this_program: bool,
}

/// Examines the servers of an agent that are prompt-expander or are named [`SERVER_NAME`]. Only one
/// of them is started, preferably the one with that name.
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
        findings.push(unreadable_file_finding(agent, error));
    }
    // If several config files have a server with this name, the agent uses the first.
    let mut server_to_start = registrations
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
            if server_to_start.is_none() {
                server_to_start = Some(server);
            }
        }
    }
    if let Some(server) = server_to_start {
        let server_examination = ServerExamination::new(examination, agent, server, files);
        findings.extend(server_examination.examine());
    }
    Servers {
        findings,
        is_registered: server_to_start.is_some(),
        has_this_program,
    }
}

/// Returns whether a server is this program: its command is named like it, or is the same file.
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

// Checks of the registration itself.
impl<'a> ServerExamination<'a> {
    /// Prepares the examination of a server that an agent has registered. Checks nothing yet.
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

    /// Checks the registration, and then tries to start the server.
    fn examine(&self) -> Vec<Finding> {
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
        let agent = self.registered.agent;
        for check in agent.checks {
            findings.extend(check(&self.registered, self.server));
        }
        for list in agent.access_lists {
            findings.extend(self.registered.check_list(list, self.server));
        }
        findings.extend(self.options_finding());
        match self.resolve(command) {
            Ok(command) => findings.extend(self.examine_command(&command)),
            Err(finding) => findings.push(finding),
        }
        findings
    }

    /// Warns that the server is not named [`SERVER_NAME`].
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

    /// Warns if the registration has options, because they don't apply to the hook, to other agents
    /// and to the command line.
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

    /// Returns how to register this program again, as a clause: "run `prompt-expander install codex
    /// --replace`".
    fn reinstall(&self) -> String {
        let server = self.server;
        if server.scope == Scope::Local {
            // `install` doesn't support this scope.
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

// Starting the server.
impl ServerExamination<'_> {
    /// Resolves the configured command in the same way as the agent.
    ///
    /// # Errors
    /// The program cannot be found.
    fn resolve(&self, configured_command: &str) -> Result<ResolvedCommand, Finding> {
        let system = &self.examination.system;
        let server = self.server;
        let command = self.expand_variables(configured_command);
        let folder = match &server.cwd {
            Some(folder) => system.project.join(self.expand_variables(folder)),
            None => system.project.clone(),
        };
        let mut environment = (self.registered.agent.launch.environment)(system, server);
        for (name, value) in &server.env {
            environment.set(name, self.expand_variables(value));
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
        Ok(ResolvedCommand {
            command,
            arguments: server
                .args
                .iter()
                .map(|argument| self.expand_variables(argument))
                .collect(),
            environment,
            folder,
            program,
            timeout: self.examination.timeout,
        })
    }

    /// Expands the variables in a value of the configuration in the same way as the agent.
    fn expand_variables(&self, text: &str) -> String {
        match &self.registered.agent.launch.variables {
            Some(variables) => variables.expand(text, &self.examination.system),
            None => text.to_owned(),
        }
    }

    /// Checks the command, and runs it if that is safe.
    fn examine_command(&self, command: &ResolvedCommand) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(self.path_lookup_finding(command));
        findings.extend(self.lost_variable_finding(command));
        match self.reason_not_to_start(command) {
            Some(reason) => {
                let line = command_line(command);
                let message = format!("{} {reason}, so it was not started: {line}", self.name);
                let title = self.registered.agent.title;
                let fix = format!("if you trust it, start {title} here and ask it for its tools");
                findings.push(self.registered.warning(message, fix));
            }
            None => findings.extend(self.query_server(command)),
        }
        findings
    }

    /// Warns if the command is looked up on `PATH`, but the agent is usually started from the
    /// desktop, where `PATH` is different. The plain name in a project's file is fine: `install
    /// --project` writes it there, because others have the program at other paths.
    fn path_lookup_finding(&self, command: &ResolvedCommand) -> Option<Finding> {
        let agent = self.registered.agent;
        if !agent.launch.is_from_desktop || Path::new(&command.command).is_absolute() {
            return None;
        }
        let is_plain_name = command.command == env!("CARGO_PKG_NAME");
        if self.server.scope == Scope::Project && is_plain_name {
            return None;
        }
        let message = format!(
            "{} is looked up in PATH, which is different when {} is started from the desktop",
            in_backticks(&command.command),
            agent.title
        );
        Some(self.registered.warning(message, self.reinstall()))
    }

    /// Warns if [`PROMPTS_VARIABLE`] is set in the terminal, but the agent doesn't pass it on to
    /// its servers.
    fn lost_variable_finding(&self, command: &ResolvedCommand) -> Option<Finding> {
        let value = self.examination.system.environment.get(PROMPTS_VARIABLE)?;
        if value.is_empty() || command.environment.get(PROMPTS_VARIABLE).is_some() {
            return None;
        }
        let title = self.registered.agent.title;
        let message = format!(
            "{PROMPTS_VARIABLE} is set here, and {title} does not pass it on to the server"
        );
        let fix = "write its folders as `prompts` into config.toml";
        Some(self.registered.warning(message, fix))
    }

    /// Returns why the server must not be started, as a phrase that follows its name.
    ///
    /// The project and the working directory may be untrusted. A program from there is started only
    /// if it is this program; and if the project registers it, only without arguments and
    /// variables.
    fn reason_not_to_start(&self, command: &ResolvedCommand) -> Option<&'static str> {
        let server = self.server;
        let is_this_program = self.examination.is_this_program(&command.program);
        let has_nothing_else = server.args.is_empty() && server.env.is_empty();
        if server.scope == Scope::Project && !(is_this_program && has_nothing_else) {
            return Some("comes with the project and is not exactly this program");
        }
        if command.is_in_working_directory() && !is_this_program {
            return Some("is a program in this folder and not this program");
        }
        None
    }

    /// Starts the server, asks it for its prompts, and reports the result.
    fn query_server(&self, command: &ResolvedCommand) -> Vec<Finding> {
        let name = &self.name;
        let report = match client::query_server(command) {
            Ok(report) => report,
            Err(problem) => return vec![self.unusable_finding(command, &problem)],
        };
        let time = in_milliseconds(report.duration);
        let prompts = count(report.prompt_count, "prompt");
        let message = format!("{name} answers in {time} and has {prompts}");
        let mut findings = vec![success_finding(self.registered.agent, message)];
        let version = env!("CARGO_PKG_VERSION");
        if report.version != version && !self.examination.is_this_program(&command.program) {
            let message = format!(
                "{name} is version {}, in {}; this program is `{version}`",
                quoted(&report.version),
                command.program.display()
            );
            findings.push(self.registered.warning(message, self.reinstall()));
        }
        if let Some(line) = &report.stderr_line {
            let message = format!("{name} prints on standard error: {line}");
            findings.push(self.registered.warning(message, "fix what it reports"));
        }
        findings
    }

    /// Returns the error for an unusable server. `problem` is a phrase that follows its name.
    fn unusable_finding(&self, command: &ResolvedCommand, problem: &str) -> Finding {
        let message = format!("{} ({}) {problem}", self.name, command_line(command));
        if self.examination.is_this_program(&command.program) {
            let fix = "correct its arguments in this file";
            self.registered.error(message, fix)
        } else {
            self.registered.error(message, self.reinstall())
        }
    }
}

/// Returns the command and its arguments, quoted for a shell and in backticks, e.g.
/// `` `npx 'my server'` ``.
fn command_line(command: &ResolvedCommand) -> String {
    let mut words = vec![command.command.as_str()];
    words.extend(command.arguments.iter().map(String::as_str));
    let line = shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "));
    in_backticks(&line)
}
