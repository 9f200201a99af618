//! An agent's registrations of prompt-expander: what they say, and what happens when they are started.

use super::client::{self, Answers, Start};
use super::tried::{Tried, milliseconds, unreadable};
use crate::agents::{
    Agent, AgentFiles, Environment, Finding, PROMPTS_VARIABLE, RegisteredServer, Registration, SERVER, Scope,
    has_separator, is_same_file,
};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{count, named, quoted};
use serde_json::Value;
use std::path::Path;

/// Variables that name prompts.
const LIBRARY_VARIABLES: [&str; 2] = [PROMPTS_VARIABLE, "XDG_CONFIG_HOME"];

/// A server that is examined.
struct ServerCheck<'a> {
    tried: &'a Tried<'a>,
    agent: &'static Agent,
    server: &'a Registration,
    registered: RegisteredServer<'a>,
}

/// What is found about the servers of an agent.
pub(super) struct Servers {
    pub(super) findings: Vec<Finding>,
    /// Whether one of them is, or should be, prompt-expander.
    pub(super) is_registered: bool,
    /// Whether one of them is prompt-expander.
    pub(super) is_this: bool,
}

/// Examines the servers of an agent.
pub(super) fn examine(tried: &Tried<'_>, agent: &'static Agent, files: &AgentFiles) -> Servers {
    let (servers, errors) = agent.registrations(files, tried.system);
    let mut findings: Vec<Finding> = errors.iter().map(|error| unreadable(agent, error)).collect();
    let has_hook = !agent.hooks(files).is_empty();
    let check = |server| ServerCheck {
        tried,
        agent,
        server,
        registered: RegisteredServer { agent: agent.name, system: tried.system, files, has_hook, server },
    };
    let is_this = servers.iter().any(|server| is_prompt_expander(tried, agent, server));
    // Of several with the same name, the first takes precedence.
    let (of_the_name, others): (Vec<_>, Vec<_>) = servers.iter().partition(|server| server.name == SERVER);
    let others: Vec<_> = others.into_iter().filter(|server| is_prompt_expander(tried, agent, server)).collect();
    for other in of_the_name.iter().skip(1) {
        findings.push(check(other).registered.warning(
            format!(
                "`{SERVER}` is registered twice; here, the one in {} overrides this one",
                of_the_name[0].path.display()
            ),
            "keep one of them: delete the other from its file",
        ));
    }
    for other in &others {
        let name = named(&other.name);
        findings.push(match of_the_name.is_empty() {
            true => check(other).registered.warning(
                format!("this program is registered as {name}, not as `{SERVER}`, which permissions and docs refer to"),
                format!("rename {name} to `{SERVER}` in this file, wherever it is a key"),
            ),
            false => check(other).registered.warning(
                format!("this program is also registered as {name}, so each tool appears twice"),
                format!("remove {name} from the file"),
            ),
        });
    }
    if let Some(server) = of_the_name.first().or(others.first()) {
        check(server).examine(&mut findings);
    }
    Servers { is_registered: !of_the_name.is_empty() || !others.is_empty(), is_this, findings }
}

/// Whether a server is this program, by its name or its file.
fn is_prompt_expander(tried: &Tried<'_>, agent: &Agent, server: &Registration) -> bool {
    let Some(command) = &server.command else { return false };
    let environment = (agent.launch.environment)(tried.system, server);
    let program = environment.find_program(command, &tried.system.project);
    server.is_prompt_expander() || program.is_ok_and(|program| is_same_file(&program, tried.program))
}

// What the registration says.
impl ServerCheck<'_> {
    /// Adds the findings about the server.
    fn examine(&self, findings: &mut Vec<Finding>) {
        let (name, registered) = (self.registered.name(), &self.registered);
        if let Some(error) = &self.server.error {
            return findings.push(registered.broken(format!("{name}: {error}"), "correct it in this file"));
        }
        let Some(command) = &self.server.command else {
            let message = format!("{name} is a server with a URL, which is not asked here");
            return findings.push(
                registered.warning(message, format!("if it is not this program over HTTP, {}", self.reinstall())),
            );
        };
        findings.extend(self.disabled().or_else(|| (self.agent.checks.not_started)(registered)));
        findings.extend(self.missing_tools());
        findings.extend((self.agent.checks.approval)(registered));
        let options = self.server.options();
        if !options.is_empty() && self.server.is_prompt_expander() {
            let message = format!("the options {} are only for {}", named(&options.join(" ")), self.agent.title);
            findings
                .push(registered.warning(message, format!("{}, which moves them into config.toml", self.reinstall())));
        }
        if let Err(finding) = self.try_out(command, findings) {
            findings.push(finding);
        }
    }

    fn disabled(&self) -> Option<Finding> {
        let key = if self.server.entry.contains_key("disabled") { "disabled" } else { "enabled" };
        let value = key == "enabled";
        let message = format!("{} is disabled: `{key}` is {}", self.registered.name(), !value);
        self.server.is_disabled.then(|| self.registered.broken(message, format!("set `{key}` to {value}")))
    }

    /// The tools that the registration hides from the model.
    fn missing_tools(&self) -> Option<Finding> {
        let (included, excluded) = self.agent.checks.tool_filters?;
        let list = |key: &str| self.server.entry.get(key).and_then(Value::as_array);
        let is_it = |item: &Value| item.as_str().and_then(|item| item.split('(').next()) == Some("expand_prompt");
        let is_left_out = list(included).is_some_and(|list| !list.iter().any(is_it));
        let is_excluded = list(excluded).is_some_and(|list| list.iter().any(is_it));
        let (message, fix) = match (is_left_out, is_excluded) {
            (true, _) => (format!("`{included}` does not list `expand_prompt`"), "add it there, or remove the list"),
            (_, true) => (format!("`{excluded}` lists `expand_prompt`"), "remove it from that list"),
            _ => return None,
        };
        Some(self.registered.broken(message, fix))
    }
}

// How it is started.
impl ServerCheck<'_> {
    /// Starts it as the agent would, and adds the findings; an error is the reason why the rest cannot be checked.
    fn try_out(&self, command: &str, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        let start = self.start(command)?;
        findings.extend(self.found_from_here_only(&start));
        findings.extend(self.lost_variables(&start.environment));
        self.check_harmless(&start)?;
        let launch = &self.agent.launch;
        let answers = client::talk_to(&start, launch).map_err(|why| {
            let message = format!("{} ({}) {why}", self.registered.name(), shown(&start));
            let is_this = is_same_file(&start.program, self.tried.program);
            let fix = if is_this { "correct its arguments in this file".to_owned() } else { self.reinstall() };
            self.registered.broken(message, fix)
        })?;
        self.judge(&answers, &start, findings);
        Ok(())
    }

    /// What the agent would start; or why it cannot.
    fn start(&self, written: &str) -> Result<Start, Finding> {
        let system = self.tried.system;
        let replaced = |text: &str| match &self.agent.launch.variables {
            Some(variables) => variables.replace(text, system),
            None => text.to_owned(),
        };
        let command = replaced(written);
        let arguments = self.server.args.iter().map(|argument| replaced(argument)).collect();
        let folder = system.project.join(self.server.cwd.as_deref().map(replaced).unwrap_or_default());
        if !folder.is_dir() {
            let message = format!("the `cwd` of {}, {}, is not a folder", self.registered.name(), folder.display());
            return Err(self.registered.broken(message, "remove `cwd` from the file, or create the folder"));
        }
        let mut environment = (self.agent.launch.environment)(system, self.server);
        for (name, value) in &self.server.env {
            environment.set(name, replaced(value));
        }
        let program = environment.find_program(&command, &folder).map_err(|why| {
            let message = format!("the command of {}, {}, {why}", self.registered.name(), named(&command));
            self.registered.broken(message, self.reinstall())
        })?;
        Ok(Start { command, arguments, environment, folder, program, timeout: self.tried.timeout })
    }

    /// A finding if the command was found, but may not be found from elsewhere.
    fn found_from_here_only(&self, start: &Start) -> Option<Finding> {
        let (written, title) = (named(&start.command), self.agent.title);
        let message = if Path::new(&start.command).is_absolute() {
            return None;
        } else if has_separator(&start.command) {
            format!("the command is found only from this folder: {written}")
        } else if self.agent.launch.is_from_desktop {
            format!(
                "{written} is looked up on PATH, and {title} has a different PATH when it is started from the desktop"
            )
        } else {
            return None;
        };
        Some(self.registered.warning(message, self.reinstall()))
    }

    /// Variables that name prompts in the terminal, and that the agent does not pass on to its servers.
    fn lost_variables(&self, environment: &Environment) -> Vec<Finding> {
        let has_config = self.server.args.iter().any(|word| word == "--config");
        let lost = LIBRARY_VARIABLES.into_iter().filter(|name| {
            let value = self.tried.system.environment.get(name);
            value.is_some_and(|value| !value.is_empty()) && environment.get(name).is_none() && !has_config
        });
        let finding = |name: &str| {
            let message = format!("{name} is set here, and {} does not pass it on to the server", self.agent.title);
            let fix = match name == PROMPTS_VARIABLE {
                true => "write its folders as `prompts` into config.toml".to_owned(),
                false => format!("{}, which registers `--config`", self.reinstall()),
            };
            self.registered.warning(message, fix)
        };
        lost.map(finding).collect()
    }

    /// An error for what is not started here: it came with the project, or is in this folder, and so may be untrusted.
    fn check_harmless(&self, start: &Start) -> Result<(), Finding> {
        let (name, server) = (self.registered.name(), self.server);
        let is_this = is_same_file(&start.program, self.tried.program);
        if server.scope == Scope::Project && !(is_this && server.args.is_empty() && server.env.is_empty()) {
            let message = format!(
                "{name} comes with the project and is not exactly this program, so it was not started: {}",
                shown(start)
            );
            let fix = format!("if you trust it, start {} here and ask it for its tools", self.agent.title);
            return Err(self.registered.warning(message, fix));
        }
        let is_intended = server.cwd.as_ref().is_some_and(|cwd| Path::new(cwd).is_absolute());
        if !is_this && !is_intended && start.environment.is_found_in(&start.folder, &start.command, &start.program) {
            let program = named(&start.program.display().to_string());
            let message =
                format!("{name} is a program in this folder, {program}, and not this program, so it was not started");
            return Err(self.registered.warning(message, self.reinstall()));
        }
        Ok(())
    }
}

// What it answered.
impl ServerCheck<'_> {
    fn judge(&self, answers: &Answers, start: &Start, findings: &mut Vec<Finding>) {
        let (name, registered) = (self.registered.name(), &self.registered);
        let (time, prompts) = (milliseconds(answers.answered_in), count(answers.prompts, "prompt"));
        let message = format!("{name} answers in {time} and has {prompts}");
        findings.push(Finding { agent: Some(self.agent.name), diagnostic: Diagnostic::new(Kind::Hint, message, "") });
        findings.extend(self.other_program(answers, start));
        if let Some(line) = &answers.not_a_message {
            findings.push(registered.warning(format!("{name} prints what is not a message: {line}"), self.reinstall()));
        }
        if !answers.ended {
            let message = format!("{name} does not exit when {} stops it", self.agent.title);
            findings.push(registered.warning(message, self.reinstall()));
        }
        if let Some(line) = &answers.stderr {
            findings
                .push(registered.warning(format!("{name} prints on standard error: {line}"), "fix what it reports"));
        }
    }

    /// A finding if it is another program, or another version of this one.
    fn other_program(&self, answers: &Answers, start: &Start) -> Option<Finding> {
        let (name, version) = (self.registered.name(), env!("CARGO_PKG_VERSION"));
        let message = if answers.name != env!("CARGO_PKG_NAME") {
            format!("{name} is another program, which calls itself {}", quoted(&answers.name))
        } else if answers.version != version && !is_same_file(&start.program, self.tried.program) {
            let (other, program) = (quoted(&answers.version), start.program.display());
            format!("{name} is version {other}, in {program}; this program is `{version}`")
        } else {
            return None;
        };
        Some(self.registered.warning(message, self.reinstall()))
    }

    /// How to register this program instead.
    fn reinstall(&self) -> String {
        let project = if self.server.scope == Scope::Project { " --project" } else { "" };
        let install = format!("prompt-expander install {}{project}", self.agent.name);
        if self.server.scope == Scope::Local {
            return format!("write {} as its `command` in this file", named(&self.tried.program.display().to_string()));
        }
        match (self.server.name == SERVER, self.server.is_prompt_expander()) {
            (true, true) => format!("run `{install}`"),
            (true, false) => format!("run `{install} --replace`"),
            (false, _) => format!("remove it from this file, then run `{install}`"),
        }
    }
}

/// The command with its arguments, quoted for a shell, in backticks.
fn shown(start: &Start) -> String {
    let words = || [&start.command].into_iter().chain(&start.arguments).map(String::as_str);
    named(&shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" ")))
}
