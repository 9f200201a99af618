//! What an agent's prompt-submit hook answers: an event in; context out, if the message has known `:commands`.
//!
//! The agent adds the context to the message for its model: the expansion of each command, so that the model need not think of
//! calling `expand_prompt`. There is no answer to a message without commands, or to anything that is not an event. A name is looked up
//! as it was typed, with composed or separate accents, without reading a directory. Only a name that is not ASCII is then looked up as
//! the tools do, since some of its accents may be composed and others separate.
//!
//! The context says what the message means and gives no orders: Gemini CLI tells its model to take the context of a hook as
//! information. Where an agent would truncate the context, the context asks the model to call `expand_prompt` instead.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod invocations;

pub use invocations::{MAX_CANDIDATES, MAX_COMMANDS};

use crate::agents::Agent;
use crate::library::{Found, Library, View, joined};
use crate::prompt::{Call, Messages, fold};
use crate::wording::quoted;
use invocations::Invocation;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::LazyCell;
use std::path::Path;

/// The longest path that is used, in bytes; no system has longer ones. Each folder on the path costs a system call.
const MAX_FOLDER: usize = 32 * 1024;

/// A message that a user submitted.
#[derive(Debug)]
pub struct Event<'e> {
    agent: &'static Agent,
    prompt: Cow<'e, str>,
    folder: Option<String>,
}

/// The parts that are used of what agents pass to a hook.
#[derive(Deserialize)]
struct Input<'e> {
    #[serde(borrow)]
    hook_event_name: Cow<'e, str>,
    #[serde(borrow)]
    prompt: Cow<'e, str>,
    #[serde(borrow)]
    cwd: Option<&'e RawValue>,
}

impl<'e> Event<'e> {
    /// Reads what an agent passes to its hook. `None`: it is something else, or the agent has no such hook.
    pub fn parse(agent: &'static Agent, text: &'e str) -> Option<Event<'e>> {
        let Input { hook_event_name, prompt, cwd } = serde_json::from_str(text).ok()?;
        let folder = cwd.and_then(|cwd| serde_json::from_str(cwd.get()).ok());
        (hook_event_name == agent.hook.as_ref()?.event).then_some(Event { agent, prompt, folder })
    }

    /// The folder in which the agent works, if the event says so; the hook may be started in another.
    pub fn folder(&self) -> Option<&Path> {
        let folder = self.folder.as_deref().filter(|folder| folder.len() <= MAX_FOLDER);
        folder.map(Path::new).filter(|folder| folder.is_absolute())
    }

    /// The one line of JSON that adds the expansions to the message. `None`: it has no commands.
    pub fn answer(&self, library: &Library) -> Option<String> {
        let context = context(&library.view(), self.agent, &self.prompt)?;
        let output = json!({ "additionalContext": context, "hookEventName": self.agent.hook.as_ref()?.event });
        Some(format!("{}\n", json!({ "hookSpecificOutput": output })))
    }
}

/// What a hook adds to a message: the context for its commands. `None`: it has none.
pub fn context(view: &View, agent: &Agent, message: &str) -> Option<String> {
    let names = LazyCell::new(|| {
        view.list().found.into_iter().map(|found| (fold(&found.name), found)).collect::<Vec<(String, Found)>>()
    });
    let invocations = invocations::of(message, |name| {
        view.find_exactly(name).or_else(|| {
            let folded = Some(name).filter(|name| !name.is_ascii()).map(fold)?;
            let mut matching = names.iter().filter(|(known, _)| *known == folded);
            let (_, found) = matching.next().filter(|_| matching.next().is_none())?;
            Some(found.clone())
        })
    });
    within_limit(agent, &invocations)
}

/// Between the parts of a context.
const SEPARATOR: &str = "\n\n";

/// The context for the commands of a message, if there are any, within the limit of the agent.
fn within_limit(agent: &Agent, invocations: &[Invocation<'_, Found>]) -> Option<String> {
    let (expanded, further) = invocations.split_at(invocations.len().min(MAX_COMMANDS));
    let mut parts: Vec<String> = expanded.iter().map(call_instead).collect();
    if !further.is_empty() {
        parts.push(format!(
            "Only the first {MAX_COMMANDS} such commands are expanded here. For each further one, call the tool \
             expand_prompt before you answer."
        ));
    }
    // Each part that fits replaces the reference to the tool.
    let (max, unit) = agent.hook.as_ref()?.limit;
    let mut room = max.saturating_sub(unit.count(&parts.join(SEPARATOR)));
    for (part, invocation) in parts.iter_mut().zip(expanded) {
        let full = context_for(agent, invocation);
        let more = unit.count(&full).saturating_sub(unit.count(part));
        if more <= room {
            room -= more;
            *part = full;
        }
    }
    (!parts.is_empty()).then(|| parts.join(SEPARATOR))
}

/// The context for a command: its expansion, or why it cannot be expanded.
fn context_for(agent: &Agent, invocation: &Invocation<'_, Found>) -> String {
    let typed = typed(invocation.name, invocation.input);
    let found = &invocation.found;
    let prompt = match found.prompt() {
        Ok(prompt) => prompt,
        Err(problem) => {
            return format!(
                "In the user's message, {typed} names a stored prompt that cannot be read. {problem}. Tell the user this; \
                 the command works as soon as the file is saved."
            );
        }
    };
    if prompt.is_remote() {
        return call_instead(invocation);
    }
    match found.expand(&prompt, Call::Text(invocation.input), &joined).map(Messages::into_text) {
        Ok(expansion) => {
            let warnings = prompt.bind(Call::Text(invocation.input)).warnings;
            let warned = warnings.iter().map(|warning| {
                format!(
                    "

Tell the user first: {warning}"
                )
            });
            framed(agent, &typed, &expansion, found.layer.is_project()) + &warned.collect::<String>()
        }
        Err(error) => format!(
            "In the user's message, {typed} is short for a stored prompt that cannot be expanded: {error}. Tell the user \
             this; expand_prompt would say the same."
        ),
    }
}

/// An expansion with an explanation for the model.
fn framed(agent: &Agent, typed: &str, expansion: &str, is_of_project: bool) -> String {
    let origin = match is_of_project {
        true => "of the project, whose prompts the user chose to use",
        false => "that the user wrote or chose",
    };
    let is_escaped =
        agent.hook.as_ref().is_some_and(|hook| hook.escapes_angle_brackets) && expansion.contains(['<', '>']);
    let note = if is_escaped { " Angle brackets in it may show as `&lt;` and `&gt;`." } else { "" };
    format!(
        "In the user's message, {typed} is short for the text below, from a prompt file {origin}. Read the message as if it \
         contained that text in full, and do what it says; there is no need to call expand_prompt.{note}\n\n{expansion}\n\n\
         (End of the text for {typed}.)"
    )
}

/// The replacement for an expansion that does not fit, and for one that only a service has.
fn call_instead(invocation: &Invocation<'_, Found>) -> String {
    let is_remote = invocation.found.prompt().is_ok_and(|prompt| prompt.is_remote());
    let (why, without_tool) = match is_remote {
        true => ("which a service renders when it is asked for", "only the MCP server can ask for the prompt"),
        false => ("whose text is longer than this agent accepts from a hook", "the prompt is too long for the hook"),
    };
    format!(
        "In the user's message, {} is short for a stored prompt, {why}. \
         Before you answer, call the tool expand_prompt with the name of the command, and all that follows it as `input`; \
         then do what it returns. If there is no such tool, tell the user that {without_tool}.",
        typed(invocation.name, invocation.input)
    )
}

/// What the user typed, shortened.
fn typed(name: &str, input: &str) -> String {
    quoted(format!(":{name} {input}").trim_end())
}

/// The context of a hook for a message whose only command is `:name input`.
pub fn context_of_one(agent: &Agent, name: &str, input: &str, expansion: &str, is_of_project: bool) -> String {
    framed(agent, &typed(name, input), expansion, is_of_project)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_submitted_prompt_is_an_event() {
        let [codex, gemini] = ["codex", "gemini"].map(|name| Agent::named(name).unwrap());
        let submitted = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":research x", "cwd": "/"}"#;
        let event = Event::parse(codex, submitted).unwrap();
        assert_eq!(
            (&*event.prompt, event.folder()),
            (":research x", Some(Path::new("/")).filter(|root| root.is_absolute()))
        );
        let endless = submitted.replace("\"/\"", &format!("\"{}\"", "/a".repeat(MAX_FOLDER)));
        assert_eq!(Event::parse(codex, &endless).unwrap().folder(), None);
        for (agent, text) in [
            (gemini, submitted),
            (codex, r#"{"hook_event_name": "Stop", "prompt": ":research x"}"#),
            (codex, r#"{"hook_event_name": ["UserPromptSubmit"], "prompt": ":research x"}"#),
            (codex, r#"{"hook_event_name": "UserPromptSubmit", "prompt": [":research x"]}"#),
            (codex, r#"{"hook_event_name": "UserPromptSubmit"}"#),
            (codex, r#"{"prompt": ":research x"}"#),
            (codex, r#"":research x""#),
            (codex, ":research x"),
            (codex, &submitted[..submitted.len() - 1]),
            (codex, ""),
        ] {
            assert!(Event::parse(agent, text).is_none(), "{agent:?}: {text}");
        }
    }
}
