//! `prompt-expander hook`: an agent runs it whenever its user submits a message.
//!
//! The hook must never disturb the agent. A nonzero exit status may block the message, and any
//! unexpected output may be shown to the user or the model. So on any failure, even a panic, this
//! command prints nothing and exits with 0. It reports errors only to a person who runs it at a
//! terminal.

use super::agent_names;
use super::output;
use super::source_options::PromptSource;
use crate::agents::Agent;
use crate::hook::Event;
use crate::transport::stdio::MAX_MESSAGE_BYTES;
use crate::wording::{or_list, quoted};
use anyhow::anyhow;
use clap::Args;
use std::io::{self, IsTerminal, Read};
use std::panic::{self, AssertUnwindSafe};

pub(super) const EXAMPLES: &str = "\
Example:
  echo '{\"hook_event_name\": \"UserPromptSubmit\", \"prompt\": \":plan a day\"}' |
    prompt-expander hook codex";

#[derive(Debug, Args)]
pub(super) struct HookCommand {
    /// The agent: `codex`, `claude-code`, `gemini`, `qwen`, `copilot`, `opencode` or `pi`
    pub(super) agent: String,
}

impl HookCommand {
    /// Answers the event on standard input. Succeeds without output if that isn't possible.
    ///
    /// # Errors
    /// Fails only if standard input is a terminal.
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<()> {
        let agent = Agent::by_name(&self.agent);
        if io::stdin().is_terminal() {
            return Err(error_at_terminal(agent, &self.agent));
        }
        let Some(agent) = agent else {
            return Ok(());
        };
        panic::set_hook(Box::new(|_| {})); // don't print the panic message
        let _ = panic::catch_unwind(AssertUnwindSafe(|| answer_event(agent, source)));
        Ok(())
    }
}

/// Reads an event from standard input, and prints the answer. Returns `None` without printing
/// anything if the event is invalid, or there is nothing to add to the message.
fn answer_event(agent: &'static Agent, source: &PromptSource) -> Option<()> {
    let event_json = read_event()?;
    let event = Event::parse(agent, &event_json)?;
    let library = match event.folder() {
        Some(folder) => source.library_at(folder),
        None => source.library(),
    };
    let system = agent_names::system_in(event.folder());
    let answer = event.answer(&library.view(), Some(&system))?;
    output::print_json_line(&answer.line).ok()?;
    // Last, so that counting can't delay the answer.
    if let Some(log) = source.usage_log() {
        for expanded in &answer.expanded {
            log.count(&expanded.found, expanded.way);
        }
    }
    Some(())
}

/// Reads standard input to its end. Returns `None` if it can't be read, isn't UTF-8, or exceeds
/// [`MAX_MESSAGE_BYTES`].
fn read_event() -> Option<String> {
    let mut bytes = Vec::new();
    // Reading one byte more than the limit reveals an event that is too long.
    let mut stdin = io::stdin().lock().take(MAX_MESSAGE_BYTES as u64 + 1);
    stdin.read_to_end(&mut bytes).ok()?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return None;
    }
    String::from_utf8(bytes).ok()
}

/// Returns the error for a person who runs this command at a terminal. It explains how to test the
/// hook or, if no agent with a hook is called `name`, lists the agents that have one.
fn error_at_terminal(agent: Option<&Agent>, name: &str) -> anyhow::Error {
    let Some(hook) = agent.and_then(|agent| agent.hook.as_ref()) else {
        let names: Vec<&str> = Agent::all_with_hook().map(|agent| agent.name).collect();
        let names = or_list(&names);
        return anyhow!(
            "{} is not an agent with a hook; write {names}",
            quoted(name)
        );
    };
    let event = hook.event_for(":research solar cells");
    anyhow!(
        "a hook reads its event from standard input, which is a terminal here. To see the answer, run\n  \
         echo '{event}' | prompt-expander hook {name}"
    )
}
