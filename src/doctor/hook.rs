//! An agent's prompt-submit hooks that run prompt-expander: whether the agent would run them, and
//! what they answer.

use super::client::{self, Start};
use super::examination::{Examination, fine, milliseconds};
use crate::agents::{Agent, AgentFiles, Examined, Finding, Hook, HookLine, Scope};
use crate::wording::{in_backticks, quoted};
use serde_json::{Value, json};
use std::time::Duration;

/// A hook that is examined.
struct HookExamination<'a> {
    examination: &'a Examination,
    /// The facts about the agent's hooks.
    facts: &'static Hook,
    hook: &'a HookLine,
    registered: Examined<'a>,
}

/// Examines the hooks of an agent that run prompt-expander. Each is tried with `prompt`, the name
/// of a prompt that every hook can expand.
pub(super) fn examine(
    examination: &Examination,
    agent: &'static Agent,
    files: &AgentFiles,
    prompt: Option<&str>,
) -> Vec<Finding> {
    let Some(facts) = &agent.hook else {
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
        if index == 0 {
            findings.extend((facts.check)(&registered, hook));
        } else {
            let first = hooks[0].path.display();
            let message = format!("the hook is registered twice, also in {first}");
            let fix = "keep one of them, or each message is expanded twice";
            findings.push(registered.warning(message, fix));
        }
        let hook_examination = HookExamination {
            examination,
            facts,
            hook,
            registered,
        };
        findings.extend(hook_examination.try_out(prompt));
    }
    findings
}

impl HookExamination<'_> {
    /// Runs the hook on a message with a prompt, and returns what is found. Returns `None` if the
    /// hook can be run, but there is no prompt to try.
    fn try_out(&self, prompt: Option<&str>) -> Option<Finding> {
        let start = match self.start() {
            Ok(start) => start,
            Err(finding) => return Some(finding),
        };
        if !self.is_harmless(&start) {
            let line = in_backticks(&self.hook.line);
            let message =
                format!("the hook is not exactly this program, so it was not run: {line}");
            let fix = format!("run it yourself, if you trust it, or {}", self.reinstall());
            return Some(self.registered.warning(message, fix));
        }
        let typed = format!(":{} x", prompt?);
        Some(match self.expand(&typed, &start) {
            Ok(time) => {
                let time = milliseconds(time);
                let message = format!("the hook expands {} in {time}", in_backticks(&typed));
                fine(self.registered.agent, message)
            }
            Err(problem) => self
                .registered
                .error(format!("the hook {problem}"), self.reinstall()),
        })
    }

    /// Returns what a shell would start for the hook. No shell is needed, because it would only
    /// divide the words of such a plain command.
    ///
    /// # Errors
    /// The program cannot be found.
    fn start(&self) -> Result<Start, Finding> {
        let system = &self.examination.system;
        // All agents pass on their environment.
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
        Ok(Start {
            command: command.to_owned(),
            arguments: arguments.to_vec(),
            environment,
            folder: system.project.clone(),
            program,
            timeout: self.examination.timeout,
        })
    }

    /// Returns whether the hook may be run here. It must do nothing but run a program of this name.
    /// If it comes with the project, or its program lies in the working directory, it may be
    /// untrusted, and must be this program.
    fn is_harmless(&self, start: &Start) -> bool {
        let hook = self.hook;
        if !hook.is_plain() {
            return false;
        }
        let is_this_program = self.examination.is_this_program(&start.program);
        if hook.scope == Scope::Project {
            return is_this_program && !hook.has_options();
        }
        is_this_program || !start.is_in_folder()
    }

    /// Runs the hook on what a user may have typed, as the agent would, and returns how long the
    /// hook took to expand it.
    ///
    /// # Errors
    /// What went wrong, as a phrase that follows "the hook".
    fn expand(&self, typed: &str, start: &Start) -> Result<Duration, String> {
        let input = json!({
            "session_id": "doctor",
            "cwd": start.folder,
            "hook_event_name": self.facts.event,
            "prompt": typed,
        });
        let ended = client::run(start, input.to_string())?;
        if let Some(failure) = ended.failure() {
            return Err(failure);
        }
        if !adds_to_prompt(&ended.stdout, self.facts.event) {
            let answer = quoted(ended.stdout.trim());
            let typed = in_backticks(typed);
            return Err(format!("does not expand {typed}; it prints {answer}"));
        }
        Ok(ended.took)
    }

    /// Returns how to have `install` write the hook again, as a clause: "run `prompt-expander
    /// install codex`". `install` leaves alone what it could not have written, so that must be
    /// removed first.
    fn reinstall(&self) -> String {
        let agent = self.registered.agent;
        let is_by_install = agent.is_managed_by_install(self.hook, &self.examination.system);
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

/// Returns the option with which `install` registers for this scope, after a space: ` --project`.
pub(super) fn project_option(scope: Scope) -> &'static str {
    if scope == Scope::Project {
        " --project"
    } else {
        ""
    }
}

/// Returns whether an agent would add the answer of a hook to the prompt: whether the answer has a
/// context for this event.
fn adds_to_prompt(answer: &str, event: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let output = &answer["hookSpecificOutput"];
    let context = output["additionalContext"].as_str().unwrap_or_default();
    output["hookEventName"] == event && !context.is_empty()
}

#[cfg(test)]
mod tests {
    use super::adds_to_prompt;

    #[test]
    fn a_hook_must_answer_its_event_with_a_context() {
        for (answer, is_added) in [
            (
                r#"{"hookEventName": "E", "additionalContext": "text"}"#,
                true,
            ),
            (
                r#"{"hookEventName": "F", "additionalContext": "text"}"#,
                false,
            ),
            (r#"{"hookEventName": "E", "additionalContext": ""}"#, false),
        ] {
            let answer = format!(r#"{{"hookSpecificOutput": {answer}}}"#);
            assert_eq!(adds_to_prompt(&answer, "E"), is_added, "{answer}");
        }
        assert!(!adds_to_prompt("hello", "E"));
    }
}
