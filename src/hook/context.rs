//! What the model is told of the commands in a prompt.
//!
//! It is worded as what the prompt means, not as an order: Gemini CLI tells its model to take the context of a hook as
//! information. Where a client would cut it, or keep it back, the model is told to call `expand_prompt` instead.

use super::invocations::{Invocation, MAX_COMMANDS};
use crate::client::{Client, Way};
use crate::library::Problem;
use crate::prompt::{Call, Messages, Prompt};
use crate::wording::quoted;
use std::sync::Arc;

/// What a name was found to be.
pub(super) struct Found {
    /// A prompt, or a file that is none.
    pub(super) prompt: Result<Arc<Prompt>, Problem>,
    pub(super) is_of_project: bool,
}

/// The context for the commands of a prompt, if there are any; as long as the client takes it at most.
pub(super) fn of(client: Client, invocations: &[Invocation<'_, Found>]) -> Option<String> {
    let (expanded, further) = invocations.split_at(invocations.len().min(MAX_COMMANDS));
    let mut parts: Vec<String> = expanded.iter().map(too_long).collect();
    if !further.is_empty() {
        parts.push(format!(
            "Only the first {MAX_COMMANDS} such commands are expanded here. For each further one, call the tool \
             expand_prompt before you answer."
        ));
    }
    let limit = client.limit(Way::Hook)?;
    let mut room = limit.most.saturating_sub(limit.unit.count(&parts.join(SEPARATOR)));
    for (part, invocation) in parts.iter_mut().zip(expanded) {
        let said = said(client, invocation);
        let more = limit.unit.count(&said).saturating_sub(limit.unit.count(part));
        if more <= room {
            room -= more;
            *part = said;
        }
    }
    (!parts.is_empty()).then(|| parts.join(SEPARATOR))
}

const SEPARATOR: &str = "\n\n";

/// What a command stands for, or why it cannot be said.
fn said(client: Client, invocation: &Invocation<'_, Found>) -> String {
    let typed = typed(invocation);
    let prompt = match &invocation.found.prompt {
        Ok(prompt) => prompt,
        Err(problem) => {
            return format!(
                "In the user's message, {typed} names a stored prompt that cannot be read. {problem}. Tell the user this; \
                 the command works as soon as the file is saved."
            );
        }
    };
    match prompt.expand(Call::Text(invocation.input)).map(Messages::into_text) {
        Ok(expansion) => framed(client, &typed, &expansion, invocation.found.is_of_project),
        Err(error) => format!(
            "In the user's message, {typed} is short for a stored prompt that cannot be expanded: {error}. Tell the user \
             this; expand_prompt would say the same."
        ),
    }
}

/// What a command stands for, as the model is told; `typed` is shown to it as it is.
fn framed(client: Client, typed: &str, expansion: &str, is_of_project: bool) -> String {
    let origin = match is_of_project {
        true => "of the project, whose prompts the user chose to use",
        false => "that the user wrote or chose",
    };
    let shown_otherwise = client == Client::GeminiCli && expansion.contains(['<', '>']);
    let note = if shown_otherwise { " Angle brackets in it may show as `&lt;` and `&gt;`." } else { "" };
    format!(
        "In the user's message, {typed} is short for the text below, from a prompt file {origin}. Read the message as if that \
         text stood there in full, and do what it says; expand_prompt need not be called for it.{note}\n\n{expansion}\n\n\
         (End of the text for {typed}.)"
    )
}

/// Said instead, where there is no room for it.
fn too_long(invocation: &Invocation<'_, Found>) -> String {
    format!(
        "In the user's message, {} is short for a stored prompt, whose text is longer than what this client takes from a hook. \
         Before you answer, call the tool expand_prompt with the name of the command, and all that follows it as `input`; \
         then do what it returns. If there is no such tool, tell the user that the prompt is too long for the hook.",
        typed(invocation)
    )
}

/// The beginning of what the user typed.
fn typed(Invocation { name, input, .. }: &Invocation<'_, Found>) -> String {
    shown(name, input)
}

fn shown(name: &str, input: &str) -> String {
    quoted(format!(":{name} {input}").trim_end())
}

/// The context of a client's hook where `:name input` is the only command of a message.
pub fn of_one(client: Client, name: &str, input: &str, expansion: &str, is_of_project: bool) -> String {
    framed(client, &shown(name, input), expansion, is_of_project)
}
