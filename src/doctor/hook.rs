//! An agent's prompt-submit hooks that run prompt-expander: whether the agent would run them, and what they answer.

use super::process::{self, how};
use super::server::{RegisteredPrompts, has_from_agents};
use super::{Examination, FROM_AGENTS, Finding, PromptsFolder, Severity, milliseconds, unreadable};
use crate::agents::{Agent, AgentFiles, Arguments, Environment, Hook, HookLine, RegisteredHook, Scope, is_same_file};
use crate::library::Library;
use crate::wording::{all_of, named, quoted};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A text without a command.
const NO_COMMAND: &str = "The meeting is at 10:30.";

/// A shorter timeout was probably meant in seconds.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);

/// A hook that is examined.
#[derive(Clone, Copy)]
struct HookCheck<'a> {
    examination: &'a Examination,
    agent: &'static Agent,
    /// The facts about the agent's hooks.
    kind: &'static Hook,
    hook: &'a HookLine,
    registered: RegisteredHook<'a>,
    /// The server that the agent starts.
    server: Option<&'a RegisteredPrompts>,
}

impl Examination {
    /// The findings about the hooks of an agent that run prompt-expander.
    pub(super) fn hooks(&self, files: &AgentFiles, servers: &[RegisteredPrompts], library: &Library) -> Vec<Finding> {
        let agent = files.agent;
        let Some(kind) = &agent.hook else { return Vec::new() };
        let mut findings = Vec::new();
        let mut hooks: Vec<HookLine> = Vec::new();
        let configs = [Scope::User, Scope::Project].map(|scope| agent.config_paths(scope, &self.system)).concat();
        for read in files.settings() {
            match read {
                Ok(file) => hooks.extend(files.hooks_in(file)),
                // Reported with the servers.
                Err(error) if configs.contains(&error.path) => {}
                Err(error) => findings.push(unreadable(agent, error)),
            }
        }
        let check = |hook| {
            let registered = RegisteredHook { files, hook };
            HookCheck { examination: self, agent, kind, hook, registered, server: servers.first() }
        };
        let Some(first) = hooks.first() else { return findings };
        if let [_, second, ..] = hooks.as_slice() {
            findings.push(check(second).registered_twice(first));
        }
        findings.extend((kind.check)(&check(first).registered));
        for hook in &hooks {
            if let Err(finding) = check(hook).try_out(library, &mut findings) {
                findings.push(finding);
            }
        }
        findings
    }
}

impl HookCheck<'_> {
    /// Runs the hook as the agent would, and adds the findings; an error is the reason why the rest cannot be checked.
    fn try_out(&self, library: &Library, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        self.check_agent_name()?;
        let environment = self.environment();
        let program = self.program(&environment)?;
        findings.extend(self.short_timeout());
        findings.extend(self.other_server().or_else(|| self.other_folders()));
        self.check_harmless(&program, &environment)?;
        // Any hook finds the built-in prompts, unless it leaves them out or asks a server.
        let builtin = library.view().names().builtin.into_iter().next().map(|name| name.to_string());
        let has_builtin = self.hook.url().is_none() && !self.hook.words.iter().any(|word| word == "--no-builtin");
        let server = self.server.filter(|_| self.other_server().is_none());
        let prompt = server.and_then(|server| server.prompt.clone());
        if let Some(prompt) = prompt.or(builtin.filter(|_| has_builtin)) {
            findings.push(self.answer(&format!(":{prompt} x"), &program, &environment)?);
        }
        Ok(())
    }

    fn registered_twice(&self, first: &HookLine) -> Finding {
        let file = first.path.display();
        let message = format!("the hook is registered twice, also in {file}: each message is expanded twice");
        self.registered.warning(message).fix("keep one of them")
    }

    /// An error if the line names another agent.
    fn check_agent_name(&self) -> Result<(), Finding> {
        let name = self.hook.agent_name().unwrap_or_default();
        if Agent::named(name) == Some(self.agent) {
            return Ok(());
        }
        let message = format!("the hook names the agent {}, so it does not answer {}", quoted(name), self.agent.title);
        Err(self.registered.broken(message).fix(format!("write `hook {}`", self.agent.name)))
    }

    /// The program, as it is written.
    fn command(&self) -> &str {
        self.hook.program().map_or("", |(program, _)| program)
    }

    /// The environment of the hook: all agents pass on theirs.
    fn environment(&self) -> Environment {
        let mut environment = self.examination.system.environment.clone();
        if let Some(variable) = self.kind.project_variable {
            environment.set(variable, &self.examination.system.project);
        }
        environment
    }

    /// The program that the shell would find.
    fn program(&self, environment: &Environment) -> Result<PathBuf, Finding> {
        environment.find_program(self.command(), &self.examination.system.project).map_err(|why| {
            let is_blocking = self.kind.blocks_on_failure && !self.hook.never_fails();
            let blocked =
                if is_blocking { format!("; {} blocks every message", self.agent.title) } else { String::new() };
            let message = format!("the program of the hook, {}, {why}{blocked}", named(self.command()));
            self.registered.broken(message).fix(self.reinstall())
        })
    }

    /// A finding if seconds were probably meant where the agent counts in milliseconds.
    fn short_timeout(&self) -> Option<Finding> {
        let is_short = self.timeout().is_some_and(|timeout| timeout < SHORTEST_TIMEOUT);
        (is_short && self.kind.timeout_unit == Duration::from_millis(1)).then(|| {
            let (timeout, title) = (&self.hook.entry["timeout"], self.agent.title);
            let message = format!("the `timeout` of the hook is {timeout} ms, because {title} counts in milliseconds");
            self.registered.warning(message).fix("set `timeout` to 5000")
        })
    }

    /// A finding if its prompts are not those of the server.
    fn other_folders(&self) -> Option<Finding> {
        let system = &self.examination.system;
        let server = self.server.filter(|server| !server.folders.is_empty())?;
        let written = Arguments::of(&self.hook.words).folders;
        if written.is_empty() && !self.hook.is_plain() {
            return None; // the line may set a variable
        }
        let named = written.iter().map(|folder| self.examination.prompts_folder(folder, &system.project)).collect();
        let folders = self.examination.served_folders(named, &system.environment, &system.project);
        let from_agents = has_from_agents(&self.hook.words);
        let has_same_folders = folders.len() == server.folders.len()
            && folders.iter().zip(&server.folders).all(|(own, of_server)| own.is_same(of_server));
        if has_same_folders && from_agents == server.from_agents {
            return None;
        }
        let shown = |folders: &[PromptsFolder], from_agents: bool| {
            let shown: Vec<String> = folders.iter().map(PromptsFolder::option).collect();
            all_of(&shown) + if from_agents { " and those of the agents" } else { "" }
        };
        let (own, of_server) = (shown(&folders, from_agents), shown(&server.folders, server.from_agents));
        let message = format!("the hook reads the prompts in {own}, and the server those in {of_server}");
        let (chosen, whose) = if server.are_named { (&server.folders, "server") } else { (&folders, "hook") };
        let mut options: String =
            chosen.iter().map(|folder| format!(" --prompts {}", word(&folder.option()))).collect();
        if from_agents || server.from_agents {
            options = format!("{options} {FROM_AGENTS}");
        }
        let what = if has_same_folders { "the same prompts".to_owned() } else { format!("the folders of the {whose}") };
        let fix = match &server.install {
            Some(install) => format!("run `{install}{options}`, which gives both {what}"),
            None => format!("to give both {what}, write `{}` in both", options.trim_start()),
        };
        Some(self.registered.warning(message).fix(fix))
    }

    /// A finding if it asks another server over HTTP than the agent, or only one of them asks one.
    fn other_server(&self) -> Option<Finding> {
        let server = self.server?;
        let (own, of_server) = (self.hook.url(), server.http.as_ref().map(|http| http.url.as_str()));
        if own == of_server {
            return None;
        }
        let place = |url: Option<&str>| url.map_or("on this machine".to_owned(), |url| format!("at {}", named(url)));
        let message =
            format!("the hook expands the prompts {}, and the server has those {}", place(own), place(of_server));
        Some(self.registered.warning(message).fix(format!("{}, which gives both the same", self.reinstall())))
    }

    /// An error for a hook that is not run here.
    fn check_harmless(&self, program: &Path, environment: &Environment) -> Result<(), Finding> {
        let hook = self.hook;
        // What is found in the working directory may be untrusted, too.
        let is_of_project = hook.scope == Scope::Project
            || environment.is_found_in(&self.examination.system.project, self.command(), program);
        let is_plain = hook.is_plain();
        // A token must not go to any URL that a project names.
        let is_harmless = is_same_file(program, &self.examination.program) && hook.url().is_none();
        if is_plain && (!is_of_project || is_harmless) {
            return Ok(());
        }
        let what = match hook.scope {
            Scope::Project if is_plain && hook.url().is_some() => "comes with the project and asks a server",
            Scope::Project => "comes with the project and is not exactly this program",
            _ if !is_plain => "does more than run this program",
            _ => "runs a program in the working directory that is not this one",
        };
        let message = format!("the hook {what}, so it was not run: {}", named(&hook.line));
        Err(self.registered.warning(message).fix(format!("run it yourself, if you trust it, or {}", self.reinstall())))
    }

    /// What it answers to a command, and to a text without one.
    fn answer(&self, typed: &str, program: &Path, environment: &Environment) -> Result<Finding, Finding> {
        let broken = |what: String| self.registered.broken(format!("the hook {what}"));
        let failed = |why| broken(why).fix(self.reinstall());
        let (answered, silent) = (self.ask(typed, program, environment), self.ask(NO_COMMAND, program, environment));
        let (answer, took) = answered.map_err(failed)?;
        let (silence, _) = silent.map_err(failed)?;
        if answer.is_empty() {
            let message = format!("does not answer {}, which is a prompt", named(typed));
            let other_options = || format!("give it the same options as the server, or {}", self.reinstall());
            let fix = self.other_folders().and_then(|finding| finding.fix).unwrap_or_else(other_options);
            return Err(broken(message).fix(fix));
        }
        if !is_answer(&answer, self.kind.event) {
            let (title, answer) = (self.agent.title, quoted(answer.trim()));
            return Err(failed(format!("prints what {title} does not accept: {answer}")));
        }
        if !silence.is_empty() {
            return Err(failed(format!("answers {}, which has no command", quoted(NO_COMMAND))));
        }
        if let Some(timeout) = self.timeout().filter(|timeout| *timeout < took) {
            let (took, timeout) = (milliseconds(took), milliseconds(timeout));
            return Err(broken(format!("took {took}; its limit is {timeout}")).fix("raise its `timeout`"));
        }
        let message = format!("the hook expands {} in {}", named(typed), milliseconds(took));
        Ok(Finding::new(Some(self.agent), Severity::Fine, message))
    }

    /// Runs it on a prompt. Returns what it prints, and how long it took.
    ///
    /// No shell is needed: for a plain command, it would only split the words.
    fn ask(&self, prompt: &str, program: &Path, environment: &Environment) -> Result<(String, Duration), String> {
        let (project, timeout) = (&self.examination.system.project, self.examination.timeout);
        let event =
            json!({"session_id": "doctor", "cwd": project, "hook_event_name": self.kind.event, "prompt": prompt});
        let arguments = self.hook.program().map_or(&[][..], |(_, arguments)| arguments);
        let mut command = Command::new(program);
        command.args(arguments).current_dir(project).env_clear().envs(environment.iter());
        match process::run(&mut command, &event.to_string(), timeout) {
            Err(error) => Err(format!("cannot be started: {error}")),
            Ok(None) => Err(format!("did not end within {} s", timeout.as_secs_f32())),
            Ok(Some(ended)) if !ended.status.success() && !self.hook.never_fails() => {
                let stderr = ended.stderr.map(|line| format!("; standard error: {line}")).unwrap_or_default();
                Err(format!("ended {}, which may block a message{stderr}", how(ended.status)))
            }
            Ok(Some(ended)) => Ok((ended.stdout, ended.took)),
        }
    }

    /// How long the agent lets it run, if its file says so.
    fn timeout(&self) -> Option<Duration> {
        let number = self.hook.entry["timeout"].as_f64().filter(|number| *number > 0.0 && *number < 1e9)?;
        Some(self.kind.timeout_unit.mul_f64(number))
    }

    /// How to have `install` write it again.
    fn reinstall(&self) -> String {
        let first = match self.agent.is_by_install(self.hook, &self.examination.system) {
            true => "",
            false => "remove it from the file, then ", // `install` would leave it alone
        };
        let plain = || format!("run `prompt-expander install {} --hook`", self.agent.name);
        format!("{first}{}", self.server.map_or_else(plain, |server| server.reinstall_hook.clone()))
    }
}

/// A word, quoted for a shell.
fn word(text: &str) -> String {
    shlex::try_quote(text).map_or_else(|_| text.to_owned(), Into::into)
}

/// Whether an agent would add this to the prompt.
fn is_answer(answer: &str, event: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let output = &answer["hookSpecificOutput"];
    output["hookEventName"] == event && output["additionalContext"].as_str().is_some_and(|text| !text.is_empty())
}
