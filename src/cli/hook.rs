//! `prompt-expander hook`: what an agent runs when its user submits a prompt.
//!
//! An exit status other than 0 may block the prompt, and other output may be shown to the user or
//! the model. So nothing fails here, not even by a panic: if there is nothing to add, nothing is
//! printed. Errors are shown only at a terminal, which means that a person runs it.

use super::output;
use super::source::PromptSource;
use crate::agents::Agent;
use crate::hook::Event;
use crate::transport::stdio::MAX_MESSAGE;
use crate::wording::{alternatives, quoted};
use anyhow::bail;
use clap::Args;
use std::io::{self, IsTerminal, Read};
use std::panic::{self, AssertUnwindSafe};

pub(super) const EXAMPLES: &str = "\
Example:
  echo '{\"hook_event_name\": \"UserPromptSubmit\", \"prompt\": \":plan a day\"}' |
    prompt-expander hook codex";

#[derive(Debug, Args)]
pub(super) struct Hook {
    /// The agent: `codex`, `claude-code`, `gemini` or `opencode`
    pub(super) agent: String,
}

impl Hook {
    /// Reads the event from standard input, and answers on standard output.
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<()> {
        let agent = Agent::named(&self.agent);
        if io::stdin().is_terminal() {
            return refuse(agent, &self.agent);
        }
        panic::set_hook(Box::new(|_| {}));
        let _ = panic::catch_unwind(AssertUnwindSafe(|| {
            let event = read()?;
            let event = Event::parse(agent?, &event)?;
            let answer = event.answer(&source.library_at(event.folder()))?;
            output::print_json_line(&answer).ok()
        }));
        Ok(())
    }
}

/// All of standard input, if it is not longer than a line of the server may be.
fn read() -> Option<String> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_MESSAGE as u64 + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    String::from_utf8(bytes)
        .ok()
        .filter(|text| text.len() <= MAX_MESSAGE)
}

/// The error for a person who runs it at a terminal.
fn refuse(agent: Option<&Agent>, name: &str) -> anyhow::Result<()> {
    let Some(hook) = agent.and_then(|agent| agent.hook.as_ref()) else {
        let names: Vec<&str> = Agent::with_hook().map(|agent| agent.name).collect();
        bail!(
            "{} is not an agent with a hook; write {}",
            quoted(name),
            alternatives(&names)
        );
    };
    bail!(
        "a hook reads its event from standard input, which is a terminal here; to see the answer, write\n  \
         echo '{{\"hook_event_name\": \"{}\", \"prompt\": \":research solar cells\"}}' | prompt-expander hook {name}",
        hook.event
    );
}
