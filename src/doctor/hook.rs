//! An agent's prompt-submit hooks that run prompt-expander: whether the agent would run them, and what they answer.

use super::client::{self, Start, how};
use super::tried::{Tried, milliseconds};
use crate::agents::{Agent, AgentFiles, Environment, Finding, Hook, HookLine, RegisteredHook, Scope, is_same_file};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::{named, quoted};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// A text without a command.
const NO_COMMAND: &str = "The meeting is at 10:30.";

/// A hook that is examined.
struct HookCheck<'a> {
    tried: &'a Tried<'a>,
    agent: &'static Agent,
    /// The facts about the agent's hooks.
    kind: &'static Hook,
    hook: &'a HookLine,
    registered: RegisteredHook<'a>,
}

/// The findings about the hooks of an agent that run prompt-expander.
pub(super) fn findings(tried: &Tried<'_>, agent: &'static Agent, files: &AgentFiles) -> Vec<Finding> {
    let (Some(kind), hooks) = (&agent.hook, agent.hooks(files)) else { return Vec::new() };
    let mut findings = Vec::new();
    for (at, hook) in hooks.iter().enumerate() {
        let trust = agent.trust_record(files, &hook.path, hook.place).map(|(_, _, record)| record);
        let registered = RegisteredHook { agent: [agent.name, agent.title], files, hook, trust };
        if at == 0 {
            findings.extend((kind.check)(&registered));
        } else {
            let file = hooks[0].path.display();
            let message = format!("the hook is registered twice, also in {file}: each message is expanded twice");
            findings.push(registered.warning(message, "keep one of them"));
        }
        let check = HookCheck { tried, agent, kind, hook, registered };
        if let Err(finding) = check.try_out(&mut findings) {
            findings.push(finding);
        }
    }
    findings
}

impl HookCheck<'_> {
    /// Runs the hook as the agent would, and adds the findings; an error is the reason why the rest cannot be checked.
    fn try_out(&self, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        let (name, title) = (self.hook.agent_and_options().0, self.agent.title);
        if Agent::named(name) != Some(self.agent) {
            let message = format!("the hook names the agent {}, so it does not answer {title}", quoted(name));
            return Err(self.registered.broken(message, format!("write `hook {}`", self.agent.name)));
        }
        let start = self.start()?;
        self.check_harmless(&start)?;
        if let Some(prompt) = &self.tried.prompt {
            findings.push(self.answer(&format!(":{prompt} x"), &start)?);
        }
        Ok(())
    }

    /// What the shell would start: no shell is needed, as for a plain command it would only split the words.
    fn start(&self) -> Result<Start, Finding> {
        let mut environment = self.tried.system.environment.clone(); // all agents pass on theirs
        if let Some(variable) = self.kind.project_variable {
            environment.set(variable, &self.tried.system.project);
        }
        let (command, arguments) = self.hook.program();
        let program = self.program(command, &environment)?;
        let (command, arguments) = (command.to_owned(), arguments.to_vec());
        let (folder, timeout) = (self.tried.system.project.clone(), self.tried.timeout);
        Ok(Start { command, arguments, environment, folder, program, timeout })
    }

    fn program(&self, command: &str, environment: &Environment) -> Result<PathBuf, Finding> {
        environment.find_program(command, &self.tried.system.project).map_err(|why| {
            let is_blocking = self.kind.blocks_on_failure && !self.hook.never_fails();
            let then = match is_blocking {
                true => format!("; {} blocks every message", self.agent.title),
                false => "; no message is expanded".to_owned(),
            };
            let message = format!("the program of the hook, {}, {why}{then}", named(command));
            self.registered.broken(message, self.reinstall())
        })
    }

    /// An error for a hook that is not run here.
    fn check_harmless(&self, start: &Start) -> Result<(), Finding> {
        let hook = self.hook;
        let is_this = is_same_file(&start.program, self.tried.program);
        let project = &self.tried.system.project;
        let is_exact = is_this && hook.agent_and_options().1.is_empty();
        let what = match (hook.is_plain(), hook.scope) {
            (is_plain, Scope::Project) if !is_plain || !is_exact => {
                "comes with the project and is not exactly this program"
            }
            (false, _) => "does more than run this program",
            // What is found in the working directory may be untrusted, too.
            _ if !is_this && start.environment.is_found_in(project, &start.command, &start.program) => {
                "runs a program in the working directory that is not this one"
            }
            _ => return Ok(()),
        };
        let message = format!("the hook {what}, so it was not run: {}", named(&hook.line));
        Err(self.registered.warning(message, format!("run it yourself, if you trust it, or {}", self.reinstall())))
    }

    /// What it answers to a command, and to a text without one.
    fn answer(&self, typed: &str, start: &Start) -> Result<Finding, Finding> {
        let failed = |why: String| self.registered.broken(format!("the hook {why}"), self.reinstall());
        let (answer, took) = self.ask(typed, start).map_err(failed)?;
        let (silence, _) = self.ask(NO_COMMAND, start).map_err(failed)?;
        if answer.is_empty() {
            return Err(failed(format!("does not answer {}, which is a prompt", named(typed))));
        }
        if !is_answer(&answer, self.kind.event) {
            let (title, answer) = (self.agent.title, quoted(answer.trim()));
            return Err(failed(format!("prints what {title} does not accept: {answer}")));
        }
        if !silence.is_empty() {
            return Err(failed(format!("answers {}, which has no command", quoted(NO_COMMAND))));
        }
        let message = format!("the hook expands {} in {}", named(typed), milliseconds(took));
        Ok(Finding { agent: Some(self.agent.name), diagnostic: Diagnostic::new(Kind::Hint, message, "") })
    }

    /// Runs it on a prompt. Returns what it prints, and how long it took.
    fn ask(&self, prompt: &str, start: &Start) -> Result<(String, Duration), String> {
        let (event, cwd) = (self.kind.event, &start.folder);
        let event = json!({"session_id": "doctor", "cwd": cwd, "hook_event_name": event, "prompt": prompt});
        match client::run(start, &event.to_string()) {
            Err(error) => Err(format!("cannot be started: {error}")),
            Ok(None) => Err(format!("did not end within {} s", start.timeout.as_secs_f32())),
            Ok(Some(ended)) if !ended.status.success() => {
                let stderr = ended.stderr.map(|line| format!("; standard error: {line}")).unwrap_or_default();
                Err(format!("ended {}{stderr}", how(ended.status)))
            }
            Ok(Some(ended)) => Ok((ended.stdout, ended.took)),
        }
    }

    /// How to have `install` write it again.
    fn reinstall(&self) -> String {
        let first = match self.agent.is_by_install(self.hook, self.tried.system) {
            true => "",
            false => "remove it from the file, then ", // `install` would leave it alone
        };
        let project = if self.hook.scope == Scope::Project { " --project" } else { "" };
        format!("{first}run `prompt-expander install {}{project}`", self.agent.name)
    }
}

/// Whether an agent would add this to the prompt.
fn is_answer(answer: &str, event: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let output = &answer["hookSpecificOutput"];
    output["hookEventName"] == event && output["additionalContext"].as_str().is_some_and(|text| !text.is_empty())
}
