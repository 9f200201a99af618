//! An agent's prompt-submit hooks that run prompt-expander: whether the agent would run them, and
//! what they answer.

use super::client::{self, Start, how};
use super::examination::{Examination, fine, milliseconds};
use crate::agents::{Agent, AgentFiles, Examined, Finding, Hook, HookLine, Scope, is_same_file};
use crate::wording::{named, quoted};
use serde_json::{Value, json};

/// A hook that is examined.
struct HookCheck<'a> {
    examination: &'a Examination,
    agent: &'static Agent,
    /// The facts about the agent's hooks.
    kind: &'static Hook,
    hook: &'a HookLine,
    registered: Examined<'a>,
}

/// The findings about the hooks of an agent that run prompt-expander. `prompt` is the name of a
/// prompt that every hook has.
pub(super) fn findings(
    examination: &Examination,
    agent: &'static Agent,
    files: &AgentFiles,
    prompt: Option<&str>,
) -> Vec<Finding> {
    let (Some(kind), hooks) = (&agent.hook, agent.hooks(files)) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (at, hook) in hooks.iter().enumerate() {
        let system = &examination.system;
        let registered = Examined {
            agent,
            system,
            files,
            path: &hook.path,
            position: hook.position,
        };
        if at == 0 {
            findings.extend((kind.check)(&registered, hook));
        } else {
            let file = hooks[0].path.display();
            let message = format!(
                "the hook is registered twice, also in {file}: each message is expanded twice"
            );
            findings.push(registered.warning(message, "keep one of them"));
        }
        let check = HookCheck {
            examination,
            agent,
            kind,
            hook,
            registered,
        };
        let tried = check.start().and_then(|start| match prompt {
            Some(prompt) => check.answer(&format!(":{prompt} x"), &start).map(Some),
            None => Ok(None),
        });
        findings.extend(tried.unwrap_or_else(Some));
    }
    findings
}

impl HookCheck<'_> {
    /// What the shell would start: no shell is needed, as for a plain command it would only split
    /// the words. An error for a hook that cannot be run, or is not run here.
    fn start(&self) -> Result<Start, Finding> {
        let (system, timeout) = (&self.examination.system, self.examination.timeout);
        let (environment, folder) = (system.environment.clone(), system.project.clone()); // all agents pass on theirs
        let (command, arguments) = self.hook.program();
        let program = environment.find_program(command, &folder).map_err(|why| {
            let message = format!(
                "the program of the hook, {}, {why}; no message is expanded",
                named(command)
            );
            self.registered.broken(message, self.reinstall())
        })?;
        let (command, arguments) = (command.to_owned(), arguments.to_vec());
        let start = Start {
            command,
            arguments,
            environment,
            folder,
            program,
            timeout,
        };
        self.check_harmless(&start)?;
        Ok(start)
    }

    /// An error for a hook that is not run here.
    fn check_harmless(&self, start: &Start) -> Result<(), Finding> {
        let hook = self.hook;
        let is_this = is_same_file(&start.program, &self.examination.program);
        let is_exact = hook.is_plain() && is_this && hook.options().is_empty();
        let what = if hook.scope == Scope::Project && !is_exact {
            "comes with the project and is not exactly this program"
        } else if !hook.is_plain() {
            "does more than run this program"
        } else if !is_this
            && start
                .environment
                .is_found_in(&start.folder, &start.command, &start.program)
        {
            // What is found in the working directory may be untrusted, too.
            "runs a program in the working directory that is not this one"
        } else {
            return Ok(());
        };
        let message = format!("the hook {what}, so it was not run: {}", named(&hook.line));
        Err(self.registered.warning(
            message,
            format!("run it yourself, if you trust it, or {}", self.reinstall()),
        ))
    }

    /// What it answers to a command.
    fn answer(&self, typed: &str, start: &Start) -> Result<Finding, Finding> {
        let failed = |why: String| {
            self.registered
                .broken(format!("the hook {why}"), self.reinstall())
        };
        let (event, cwd) = (self.kind.event, &start.folder);
        let input =
            json!({"session_id": "doctor", "cwd": cwd, "hook_event_name": event, "prompt": typed});
        let ended = client::run(start, input.to_string())
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        match ended.status {
            None => Err(failed(format!(
                "did not end within {} s",
                start.timeout.as_secs_f32()
            ))),
            Some(status) if !status.success() => Err(failed(format!(
                "ended {}{}",
                how(status),
                ended.complaint()
            ))),
            Some(_) if !is_answer(&ended.stdout, event) => {
                let answer = quoted(ended.stdout.trim());
                Err(failed(format!(
                    "does not expand {}, which is a prompt; it prints {answer}",
                    named(typed)
                )))
            }
            Some(_) => {
                let message = format!(
                    "the hook expands {} in {}",
                    named(typed),
                    milliseconds(ended.took)
                );
                Ok(fine(self.agent, message))
            }
        }
    }

    /// How to have `install` write it again.
    fn reinstall(&self) -> String {
        let first = match self
            .agent
            .is_by_install(self.hook, &self.examination.system)
        {
            true => "",
            false => "remove it from the file, then ", // `install` would leave it alone
        };
        let project = if self.hook.scope == Scope::Project {
            " --project"
        } else {
            ""
        };
        format!(
            "{first}run `prompt-expander install {}{project}`",
            self.agent.name
        )
    }
}

/// Whether an agent would add this to the prompt.
fn is_answer(answer: &str, event: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let output = &answer["hookSpecificOutput"];
    output["hookEventName"] == event
        && output["additionalContext"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
}
