//! `prompt-expander hook`: what an agent runs when its user submits a prompt.
//!
//! An exit status other than 0 may block the prompt, and other output may be shown to the user or
//! the model. So nothing fails here, not even by a panic: if there is nothing to add, nothing is
//! printed. Errors are shown only at a terminal, where a person runs this command.

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
    /// The agent: `codex`, `claude-code`, `gemini` or `opencode`
    pub(super) agent: String,
}

impl HookCommand {
    /// Reads the event from standard input, and prints the answer.
    ///
    /// For an agent, succeeds whatever happens: a failure could block the user's message, so an
    /// unknown agent, a broken event and even a panic end without output.
    ///
    /// # Errors
    /// Standard input is a terminal, where a person has started this command.
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<()> {
        let agent = Agent::named(&self.agent);
        if io::stdin().is_terminal() {
            return Err(error_at_terminal(agent, &self.agent));
        }
        let Some(agent) = agent else {
            return Ok(());
        };
        panic::set_hook(Box::new(|_| {})); // a panic prints nothing
        // After a panic, or without an answer, there is nothing to print.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| answer(agent, source)));
        Ok(())
    }
}

/// Prints the answer to the event that an agent has written to standard input. `None` if nothing is
/// printed: the event is broken, there is nothing to add to the message, or the agent has gone.
fn answer(agent: &'static Agent, source: &PromptSource) -> Option<()> {
    let text = read_event()?;
    let event = Event::parse(agent, &text)?;
    let library = source.library_at(event.folder());
    let answer = event.answer(&library)?;
    output::print_json_line(&answer).ok()
}

/// Reads all of standard input; `None` if it cannot be read, is not UTF-8, or is longer than
/// [`MAX_MESSAGE_BYTES`].
fn read_event() -> Option<String> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(MAX_MESSAGE_BYTES as u64 + 1); // one more shows the excess
    stdin.read_to_end(&mut bytes).ok()?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return None;
    }
    String::from_utf8(bytes).ok()
}

/// Returns the error for a person who runs this command at a terminal. It says how to see an answer
/// or, if `name` is not the name of an agent with a hook, which agents have one.
fn error_at_terminal(agent: Option<&Agent>, name: &str) -> anyhow::Error {
    let Some(hook) = agent.and_then(|agent| agent.hook.as_ref()) else {
        let names: Vec<&str> = Agent::with_hook().map(|agent| agent.name).collect();
        let names = or_list(&names);
        return anyhow!(
            "{} is not an agent with a hook; write {names}",
            quoted(name)
        );
    };
    let event = hook.event;
    anyhow!(
        "a hook reads its event from standard input, which is a terminal here. To see the answer, run\n  \
         echo '{{\"hook_event_name\": \"{event}\", \"prompt\": \":research solar cells\"}}' | prompt-expander hook {name}"
    )
}
