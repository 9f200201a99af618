//! What a client's prompt-submit hook is told: an event in, and an answer, if the prompt holds `:commands` that exist.
//!
//! The answer is context for the model, which the client adds to the prompt: the expansion of each command, so that the
//! model need not think of calling `expand_prompt`. Everything that is no event, and every prompt without a command, has no
//! answer. A name is looked up exactly as it was typed; no directory is ever read.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod context;
mod invocations;

pub use context::of_one;
pub use invocations::{MAX_CANDIDATES, MAX_COMMANDS};

use crate::client::Client;
use crate::library::{Layer, Library};
use context::Found;
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::path::Path;

/// No system has a path to a folder that is longer, in bytes; each folder on the way of one would be looked at.
const MAX_FOLDER: usize = 32 * 1024;

/// A prompt that was submitted.
#[derive(Debug)]
pub struct Event<'e> {
    client: Client,
    prompt: Cow<'e, str>,
    folder: Option<String>,
}

impl<'e> Event<'e> {
    /// Reads what `client` passes to its hook. `None`: it is something else, or the client has no such hook.
    pub fn parse(client: Client, text: &'e str) -> Option<Event<'e>> {
        #[derive(Deserialize)]
        struct Submitted<'e> {
            hook_event_name: String,
            #[serde(borrow)]
            prompt: Cow<'e, str>,
            cwd: Option<String>,
        }
        let Submitted { hook_event_name, prompt, cwd } = serde_json::from_str(text).ok()?;
        if hook_event_name != client.hook_event()? {
            return None;
        }
        Some(Event { client, prompt, folder: cwd })
    }

    /// The folder that the client works in, if it tells; it may have started us in another.
    pub fn folder(&self) -> Option<&Path> {
        let folder = self.folder.as_deref().filter(|folder| folder.len() <= MAX_FOLDER);
        folder.map(Path::new).filter(|folder| folder.is_absolute())
    }

    /// The one line of JSON that adds to the prompt what its commands stand for. `None`: it has none.
    pub fn answer(&self, library: &Library) -> Option<String> {
        let view = library.view();
        let invocations = invocations::of(&self.prompt, |name| {
            let prompt = view.find_exactly(name)?;
            let is_of_project = prompt.as_ref().is_ok_and(|prompt| view.layer_of(&prompt.name) == Some(Layer::Project));
            Some(Found { prompt, is_of_project })
        });
        let context = context::of(self.client, &invocations)?;
        let output = json!({ "hookEventName": self.client.hook_event()?, "additionalContext": context });
        Some(format!("{}\n", json!({ "hookSpecificOutput": output })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_prompt_that_was_submitted_is_no_event() {
        let submitted = r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":research x", "cwd": "/"}"#;
        let event = Event::parse(Client::Codex, submitted).unwrap();
        assert_eq!(
            (&*event.prompt, event.folder()),
            (":research x", Some(Path::new("/")).filter(|root| root.is_absolute()))
        );
        let endless = submitted.replace("\"/\"", &format!("\"{}\"", "/a".repeat(MAX_FOLDER)));
        assert_eq!(Event::parse(Client::Codex, &endless).unwrap().folder(), None);
        for (client, text) in [
            (Client::GeminiCli, submitted),
            (Client::Codex, r#"{"hook_event_name": "Stop", "prompt": ":research x"}"#),
            (Client::Codex, r#"{"hook_event_name": ["UserPromptSubmit"], "prompt": ":research x"}"#),
            (Client::Codex, r#"{"hook_event_name": "UserPromptSubmit", "prompt": [":research x"]}"#),
            (Client::Codex, r#"{"hook_event_name": "UserPromptSubmit"}"#),
            (Client::Codex, r#"{"prompt": ":research x"}"#),
            (Client::Codex, r#"":research x""#),
            (Client::Codex, ":research x"),
            (Client::Codex, &submitted[..submitted.len() - 1]),
            (Client::Codex, ""),
        ] {
            assert!(Event::parse(client, text).is_none(), "{client:?}: {text}");
        }
    }
}
