//! Examines an agent's prompt-submit hooks that run prompt-expander, and tries to run them.

use super::client::{self, ResolvedCommand};
use super::examination::{Examination, in_milliseconds, success_finding};
use crate::agents::{Agent, AgentFiles, Examined, Finding, Hook, RegisteredHook, Scope};
use crate::wording::{in_backticks, quoted};
use serde_json::json;
use std::time::Duration;

/// The examination of a single hook.
struct HookExamination<'a> {
    examination: &'a Examination,
    /// How the agent's hooks work.
    hook_support: &'static Hook,
    hook: &'a RegisteredHook,
    registered: Examined<'a>,
}

/// Examines the hooks of an agent that run prompt-expander. They are run with `prompt`, the name of
/// a prompt that every hook can expand; with `None`, they are not run.
pub(super) fn examine(
    examination: &Examination,
    agent: &'static Agent,
    files: &AgentFiles,
    prompt: Option<&str>,
) -> Vec<Finding> {
    let Some(hook_support) = &agent.hook else {
        return Vec::new();
    };
    let hooks = agent.hooks(files);
    let mut findings = Vec::new();
    for (index, hook) in hooks.iter().enumerate() {
        let registered = Examined {
            agent,
            system: &examination.system,
            files,
            path: &hook.path,
            position: hook.position,
        };
        // The agent's settings apply to all hooks, so check them once.
        if index == 0 {
            for check in hook_support.checks {
                findings.extend(check(&registered, hook));
            }
        } else {
            let first = hooks[0].path.display();
            let message = format!("the hook is registered twice, also in {first}");
            let fix = "keep one of them, or each message is expanded twice";
            findings.push(registered.warning(message, fix));
        }
        let hook_examination = HookExamination {
            examination,
            hook_support,
            hook,
            registered,
        };
        findings.extend(hook_examination.run(prompt));
    }
    findings
}

impl HookExamination<'_> {
    /// Runs the hook on a message that calls `prompt`, and reports the result. If `prompt` is
    /// `None`, only checks that the hook could be run, and returns `None` if so.
    fn run(&self, prompt: Option<&str>) -> Option<Finding> {
        let command = match self.resolve() {
            Ok(command) => command,
            Err(finding) => return Some(finding),
        };
        if !self.is_safe_to_run(&command) {
            let line = in_backticks(&self.hook.line);
            let message =
                format!("the hook is not exactly this program, so it was not run: {line}");
            let fix = format!("run it yourself, if you trust it, or {}", self.reinstall());
            return Some(self.registered.warning(message, fix));
        }
        let message_text = format!(":{} x", prompt?);
        Some(match self.expand(&message_text, &command) {
            Ok(duration) => {
                let time = in_milliseconds(duration);
                let expanded = in_backticks(&message_text);
                let message = format!("the hook expands {expanded} in {time}");
                success_finding(self.registered.agent, message)
            }
            Err(problem) => self
                .registered
                .error(format!("the hook {problem}"), self.reinstall()),
        })
    }

    /// Resolves the command of the hook. Agents pass it to a shell, but for the plain commands that
    /// `install` writes, splitting it into words is enough.
    ///
    /// # Errors
    /// Fails if the program cannot be found. The finding says so.
    fn resolve(&self) -> Result<ResolvedCommand, Finding> {
        let system = &self.examination.system;
        // All agents pass their own environment to hooks.
        let environment = system.environment.clone();
        let (command, arguments) = self.hook.program_and_arguments();
        let program = environment
            .find_program(command, &system.project)
            .map_err(|problem| {
                let command = in_backticks(command);
                let message = format!(
                    "the program of the hook, {command}, {problem}; no message is expanded"
                );
                self.registered.error(message, self.reinstall())
            })?;
        Ok(ResolvedCommand {
            command: command.to_owned(),
            arguments: arguments.to_vec(),
            environment,
            folder: system.project.clone(),
            program,
            timeout: self.examination.timeout,
        })
    }

    /// Returns whether it is safe to run the hook.
    ///
    /// It must only run prompt-expander. If the project registers it, or if its program is in the
    /// working directory, it may be untrusted, so it must be exactly this program.
    fn is_safe_to_run(&self, command: &ResolvedCommand) -> bool {
        let hook = self.hook;
        if !hook.is_plain() {
            return false;
        }
        let is_this_program = self.examination.is_this_program(&command.program);
        if hook.scope == Scope::Project {
            return is_this_program && !hook.has_options();
        }
        is_this_program || !command.is_in_working_directory()
    }

    /// Runs the hook on a user's message, and returns how long it took to expand it.
    ///
    /// # Errors
    /// Returns what went wrong, as a phrase that follows "the hook".
    fn expand(&self, message: &str, command: &ResolvedCommand) -> Result<Duration, String> {
        let mut input = self.hook_support.event_for(message);
        input["session_id"] = "doctor".into();
        input["cwd"] = json!(command.folder);
        let output = client::run(command, input.to_string())?;
        if let Some(failure) = output.failure() {
            return Err(failure);
        }
        let answer = serde_json::from_str(&output.stdout).unwrap_or_default();
        if !self.hook_support.is_addition(&answer) {
            let answer = quoted(output.stdout.trim());
            let message = in_backticks(message);
            return Err(format!("does not expand {message}; it prints {answer}"));
        }
        Ok(output.duration)
    }

    /// Returns how to register the hook again, as a clause: "run `prompt-expander install codex`".
    fn reinstall(&self) -> String {
        let agent = self.registered.agent;
        let is_by_install = agent.is_managed_by_install(self.hook, &self.examination.system);
        // `install` doesn't replace hooks that it hasn't written.
        let first_step = if is_by_install {
            ""
        } else {
            "remove it from the file, then "
        };
        let project = project_option(self.hook.scope);
        let name = agent.name;
        format!("{first_step}run `prompt-expander install {name}{project}`")
    }
}

/// Returns the option of `install` for this scope, with a leading space: ` --project`, or nothing.
pub(super) fn project_option(scope: Scope) -> &'static str {
    if scope == Scope::Project {
        " --project"
    } else {
        ""
    }
}
