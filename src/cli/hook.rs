//! `prompt-expander hook`: what a client runs when its user submits a prompt.
//!
//! An exit status other than 0 may hold the prompt back, and what else is said may be shown to the user or the model. So
//! nothing fails here, a panic included: where there is nothing to add, nothing is said. Only a person at a terminal, where no
//! client is, hears what is wrong.

use super::source::PromptSource;
use super::{completions, output};
use crate::client::Client;
use crate::hook::Event;
use crate::transport::stdio::MAX_LINE;
use crate::wording::{alternatives, quoted};
use anyhow::bail;
use clap::Args;
use clap_complete::ArgValueCandidates;
use std::io::{self, IsTerminal, Read};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Example:
  echo '{\"hook_event_name\": \"UserPromptSubmit\", \"prompt\": \":plan a trip\"}' |
    prompt-expander hook codex";

#[derive(Debug, Args)]
pub(super) struct Hook {
    /// The client: `codex`, `claude-code` or `gemini`
    #[arg(add = ArgValueCandidates::new(completions::clients_with_hook))]
    pub(super) client: String,
}

impl Hook {
    /// Reads the event from standard input, and answers on standard output.
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let client = Client::named(&self.client);
        if io::stdin().is_terminal() {
            return refuse(client, &self.client);
        }
        panic::set_hook(Box::new(|_| {}));
        let _ = panic::catch_unwind(AssertUnwindSafe(|| {
            let event = read()?;
            let event = Event::parse(client?, &event)?;
            let answer = event.answer(&source.library_at(event.folder()))?;
            output::print_verbatim(answer.as_bytes()).ok()
        }));
        Ok(ExitCode::SUCCESS)
    }
}

/// All of standard input, if it is as long as a line of the server at most.
fn read() -> Option<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MAX_LINE as u64 + 1).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_LINE)
}

/// What a person hears who starts it.
fn refuse(client: Option<Client>, name: &str) -> anyhow::Result<ExitCode> {
    let Some(event) = client.and_then(Client::hook_event) else {
        let names: Vec<&str> = Client::with_hook().map(Client::name).collect();
        bail!("{} is no client with a hook; write {}", quoted(name), alternatives(&names));
    };
    bail!(
        "a client's hook reads its event from standard input, which is a terminal here; to see the answer, write\n  \
         echo '{{\"hook_event_name\": \"{event}\", \"prompt\": \":research solar cells\"}}' | prompt-expander hook {name}"
    );
}
