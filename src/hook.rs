//! What an agent's prompt-submit hook answers: an event in; context out, if the message invokes
//! prompts.
//!
//! The agent adds the context to the message for its model: the text of each prompt, so that the
//! model need not think of calling `expand_prompt`. There is no answer to a message that invokes
//! none, or to anything that is not an event. A name is looked up as it was typed, with composed or
//! separate accents, without reading a directory. Only if a line begins with a colon and what may
//! be the name of a prompt, and is not, directories are read: for its other spellings, for the
//! prompt of which it is the last part, and, at the start of the message, for the names that were
//! meant.
//!
//! The context says what the message means and gives no orders: Gemini CLI tells its model to take
//! the context of a hook as information. Where an agent would truncate the context, the context
//! asks the model to call `expand_prompt` instead.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod invocations;
mod prose;

pub use invocations::{Form, Invocation, MAX_LOOKUPS};

use crate::agents::Agent;
use crate::library::{Found, Layer, Library, View, similar_names, with_last_part};
use crate::prompt::{Call, Diagnostic, Name, Prompt, fold, is_usual_after_colon};
use crate::wording::{all_of, alternatives, named, quoted};
use invocations::{Invoked, is_smiley};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

/// The longest path that is used, in bytes; no system has longer ones. Each folder on the path
/// costs a system call.
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
    cwd: Option<String>,
}

impl<'e> Event<'e> {
    /// Reads what an agent passes to its hook. `None`: it is something else, or the agent has no
    /// such hook.
    pub fn parse(agent: &'static Agent, text: &'e str) -> Option<Event<'e>> {
        let Input {
            hook_event_name,
            prompt,
            cwd: folder,
        } = serde_json::from_str(text).ok()?;
        (hook_event_name == agent.hook.as_ref()?.event).then_some(Event {
            agent,
            prompt,
            folder,
        })
    }

    /// The folder in which the agent works, if the event says so; the hook may be started in
    /// another.
    pub fn folder(&self) -> Option<&Path> {
        let folder = self
            .folder
            .as_deref()
            .filter(|folder| folder.len() <= MAX_FOLDER);
        folder.map(Path::new).filter(|folder| folder.is_absolute())
    }

    /// The one line of JSON that adds the texts to the message. `None`: it invokes no prompt.
    pub fn answer(&self, library: &Library) -> Option<String> {
        let Reading {
            invocations,
            slip,
            withheld,
        } = read(&library.view(), &self.prompt);
        let question = match (&slip, &withheld) {
            (Some(slip), _) => Some(slip.for_model()),
            (None, Some(hint)) => Some(format!("Tell the user: {hint}.")),
            (None, None) => None,
        };
        let context = within_limit(self.agent, &invocations, question)?;
        let output = json!({ "additionalContext": context, "hookEventName": self.agent.hook.as_ref()?.event });
        let mut answer = json!({ "hookSpecificOutput": output });
        if let Some(message) = slip.map(|slip| slip.question()).or(withheld) {
            answer["systemMessage"] = message.into();
        }
        Some(format!("{answer}\n"))
    }
}

/// The prompts that a message invokes, in its order.
pub fn invocations<'m>(view: &View, message: &'m str) -> Vec<Invocation<'m, Found>> {
    read(view, message).invocations
}

/// The name at the start of a message that is probably misspelled, as it is typed.
pub fn slip<'m>(view: &View, message: &'m str) -> Option<&'m str> {
    read(view, message).slip.map(|slip| slip.typed)
}

/// A name that begins a message, and is probably misspelled.
struct Slip<'m> {
    typed: &'m str,
    meant: Vec<Name>,
}

impl Slip<'_> {
    fn question(&self) -> String {
        let meant: Vec<String> = self.meant.iter().map(|name| format!(":{name}")).collect();
        format!(
            "no prompt is named {}; did you mean {}?",
            named(self.typed),
            alternatives(&meant)
        )
    }

    fn for_model(&self) -> String {
        format!(
            "The user's message begins with {}, but {} Ask the user this first, unless the message is clearly no command.",
            quoted(&format!(":{}", self.typed)),
            self.question()
        )
    }
}

/// What a message invokes, and what its user should know.
struct Reading<'m> {
    /// In the order of the message.
    invocations: Vec<Invocation<'m, Found>>,
    slip: Option<Slip<'m>>,
    /// Why a prompt of a linked worktree is not among them.
    withheld: Option<String>,
}

/// Reads what a message invokes.
fn read<'m>(view: &View, message: &'m str) -> Reading<'m> {
    let mut typed_names = TypedNames {
        view,
        listed: OnceCell::new(),
        withheld: None,
    };
    let Invoked {
        invocations,
        unknown,
    } = invocations::of(
        message,
        view.takes_mentions(),
        |name, form| typed_names.look_up(name, form),
        is_builtin,
    );
    Reading {
        invocations,
        slip: unknown.and_then(|typed| typed_names.slip(typed)),
        withheld: typed_names.withheld,
    }
}

/// Finds the prompts that the names in a message mean.
struct TypedNames<'v> {
    view: &'v View,
    /// All prompts. They are listed once, and only if a name may be that of a prompt, and is not.
    listed: OnceCell<Vec<ListedPrompt>>,
    /// Why the first prompt of a linked worktree is not served.
    withheld: Option<String>,
}

struct ListedPrompt {
    folded_name: String,
    found: Found,
}

impl TypedNames<'_> {
    fn look_up(&mut self, name: &str, form: Form) -> Option<Found> {
        let found = self.view.find_exactly(name);
        if self.withheld.is_none() {
            self.withheld = self.view.withheld_hint(name);
        }
        if form == Form::Mention {
            return found.filter(may_be_mentioned);
        }
        if found.is_some() || !may_be_typed(name) {
            return found;
        }
        let similar = self.with_other_spelling(name);
        similar
            .or_else(|| with_last_part(self.all(), name))
            .cloned()
    }

    /// Returns the only prompt whose name differs from a name that is not ASCII in its spelling.
    fn with_other_spelling(&self, name: &str) -> Option<&Found> {
        if name.is_ascii() {
            return None;
        }
        let folded = fold(name);
        let mut matching = self
            .listed()
            .iter()
            .filter(|listed| listed.folded_name == folded);
        let first = matching.next()?;
        matching.next().is_none().then_some(&first.found)
    }

    /// Returns the names that were probably meant by one without a prompt, if there are any.
    fn slip<'m>(&self, typed: &'m str) -> Option<Slip<'m>> {
        let is_short = typed.chars().count() <= 2;
        if is_short || !may_be_typed(typed) || is_usual_after_colon(typed) {
            return None;
        }
        let meant = similar_names(self.all(), typed);
        (!meant.is_empty()).then_some(Slip { typed, meant })
    }

    fn all(&self) -> impl Iterator<Item = &Found> {
        self.listed().iter().map(|listed| &listed.found)
    }

    fn listed(&self) -> &[ListedPrompt] {
        self.listed.get_or_init(|| {
            let listing = self.view.list();
            let listed = listing.found.into_iter().map(|found| ListedPrompt {
                folded_name: fold(&found.name),
                found,
            });
            listed.collect()
        })
    }
}

/// Returns whether a mention expands a prompt: one that is not built in, and whose file does not
/// say `mention: false`. A broken file is reported.
fn may_be_mentioned(found: &Found) -> bool {
    !is_builtin(found)
        && found
            .prompt()
            .map_or(true, |prompt| prompt.may_be_mentioned())
}

fn is_builtin(found: &Found) -> bool {
    found.layer == Layer::BUILTIN
}

/// Whether a word after a colon may be a name that is worth reading directories for: it has two
/// letters that differ, and no others than names usually have.
fn may_be_typed(word: &str) -> bool {
    let is_usual = |letter: char| letter.is_alphanumeric() || "-_./:：".contains(letter);
    word.chars().all(is_usual) && word.contains(char::is_alphabetic) && !is_smiley(word)
}

/// Between the parts of a context.
const SEPARATOR: &str = "\n\n";

/// How many prompts of one message are expanded, and how many further ones are named.
pub const MAX_PROMPTS: usize = 8;

/// Returns the context for what a message invokes, and a question, within the limit of the agent;
/// `None` if there is neither. An expansion that does not fit is replaced with a request to call
/// the tool.
fn within_limit(
    agent: &Agent,
    invocations: &[Invocation<'_, Found>],
    question: Option<String>,
) -> Option<String> {
    let distinct = without_repetitions(invocations);
    let (expanded, further) = distinct.split_at(distinct.len().min(MAX_PROMPTS));
    let mut parts = Vec::new();
    let mut prompts = Vec::new();
    for invocation in expanded {
        let prompt = invocation.found.prompt();
        let is_rendered_by_service = prompt
            .as_ref()
            .is_ok_and(|prompt| prompt.is_rendered_by_service());
        parts.push(call_instead(invocation, is_rendered_by_service));
        prompts.push(prompt);
    }
    if !further.is_empty() {
        parts.push(left_out_note(further));
    }
    parts.extend(question);
    if parts.is_empty() {
        return None;
    }
    // Each expansion that fits replaces the request to call the tool.
    let (max, unit) = agent.hook.as_ref()?.limit;
    let mut room = max.saturating_sub(unit.count(&parts.join(SEPARATOR)));
    for (index, prompt) in prompts.into_iter().enumerate() {
        let full = context_for(agent, expanded[index], prompt);
        let more = unit.count(&full).saturating_sub(unit.count(&parts[index]));
        if more <= room {
            room -= more;
            parts[index] = full;
        }
    }
    Some(parts.join(SEPARATOR))
}

/// Returns the invocations without those that repeat an earlier one, and without mentions of a
/// prompt that is also called as a command, whose text is there already.
fn without_repetitions<'i, 't>(
    invocations: &'i [Invocation<'t, Found>],
) -> Vec<&'i Invocation<'t, Found>> {
    let mut distinct: Vec<&Invocation<'_, Found>> = Vec::new();
    for new in invocations {
        let is_repeated = distinct
            .iter()
            .any(|known| known.name == new.name && known.input == new.input);
        let is_called = invocations
            .iter()
            .any(|other| other.form != Form::Mention && other.name == new.name);
        let is_superfluous_mention = new.form == Form::Mention && is_called;
        if !is_repeated && !is_superfluous_mention {
            distinct.push(new);
        }
    }
    distinct
}

/// Returns a text for the model that names the prompts that are not expanded.
fn left_out_note(further: &[&Invocation<'_, Found>]) -> String {
    let named = &further[..further.len().min(MAX_PROMPTS)];
    let names: Vec<String> = named
        .iter()
        .map(|invocation| format!(":{}", invocation.name))
        .collect();
    let unnamed = further.len() - named.len();
    let more = if unnamed == 0 {
        String::new()
    } else {
        format!(" ({unnamed} more are not named here)")
    };
    format!(
        "Only the first {MAX_PROMPTS} prompts of the message are expanded here. Left out: {}{more}. For each of them, call the \
         tool expand_prompt before you answer.",
        all_of(&names)
    )
}

/// The context for a command: its expansion, or why it cannot be expanded.
fn context_for(
    agent: &Agent,
    invocation: &Invocation<'_, Found>,
    prompt: Result<Arc<Prompt>, Diagnostic>,
) -> String {
    let typed = typed(invocation.name, invocation.input);
    let found = &invocation.found;
    let prompt = match prompt {
        Ok(prompt) => prompt,
        Err(problem) => {
            // What is wrong with the settings says when it works.
            let then = if found.layer == Layer::SETTINGS {
                ""
            } else {
                "; the command works once the file is saved"
            };
            return format!(
                "In the user's message, {typed} names a stored prompt that cannot be read. {problem}. Tell the user this{then}."
            );
        }
    };
    if prompt.is_rendered_by_service() {
        return call_instead(invocation, true);
    }
    match found.expand(&prompt, Call::Text(invocation.input)) {
        Ok(expansion) => {
            let is_mention = invocation.form == Form::Mention;
            let text = expansion.messages.into_text();
            let mut context = framed(agent, &typed, is_mention, &text, found.layer);
            for warning in expansion.warnings {
                context += &format!("\n\nTell the user first: {warning}");
            }
            context
        }
        Err(error) => format!(
            "In the user's message, {typed} is short for a stored prompt that cannot be expanded: {error}. Tell the user \
             this; expand_prompt would say the same."
        ),
    }
}

/// An expansion with an explanation for the model.
fn framed(agent: &Agent, typed: &str, is_mention: bool, expansion: &str, layer: Layer) -> String {
    let origin = if layer.is_project() {
        "a prompt file of the project, whose prompts the user chose to use"
    } else if layer == Layer::BUILTIN {
        "a built-in prompt"
    } else {
        "a prompt file that the user wrote or chose"
    };
    let is_escaped = agent
        .hook
        .as_ref()
        .is_some_and(|hook| hook.escapes_angle_brackets)
        && expansion.contains(['<', '>']);
    let note = if is_escaped {
        " Angle brackets in it may show as `&lt;` and `&gt;`."
    } else {
        ""
    };
    let (stands, meaning) = match is_mention {
        true => ("stands for", "The message says what to do with that text"),
        false => (
            "is short for",
            "Read the message as if it contained that text in full, and do what it says",
        ),
    };
    format!(
        "In the user's message, {typed} {stands} the text below, from {origin}. {meaning}; there is no need to call \
         expand_prompt.{note}\n\n{expansion}\n\n(End of the text for {typed}.)"
    )
}

/// The replacement for an expansion that does not fit, and for one that only a service has.
fn call_instead(invocation: &Invocation<'_, Found>, is_remote: bool) -> String {
    let (why, without_tool) = match is_remote {
        true => (
            "which a service renders when it is asked for",
            "only the MCP server can ask for the prompt",
        ),
        false => (
            "whose text is longer than this agent accepts from a hook",
            "the prompt is too long for the hook",
        ),
    };
    let input = match invocation.form {
        Form::Mention => "an empty text",
        _ => "the text after it, without other commands,",
    };
    format!(
        "In the user's message, {} is short for a stored prompt, {why}. Before you answer, call the tool expand_prompt with \
         this name, and {input} as `input`; then do what it returns. If there is no such tool, tell the user that \
         {without_tool}.",
        typed(invocation.name, invocation.input)
    )
}

/// What the user typed, shortened.
fn typed(name: &str, input: &str) -> String {
    quoted(format!(":{name} {input}").trim_end())
}

/// The context of a hook for a message whose only command is `:name input`.
pub fn context_of_one(
    agent: &Agent,
    name: &str,
    input: &str,
    expansion: &str,
    layer: Layer,
) -> String {
    framed(agent, &typed(name, input), false, expansion, layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_submitted_prompt_is_an_event() {
        let [codex, gemini] = ["codex", "gemini"].map(|name| Agent::named(name).unwrap());
        let submitted =
            r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":research x", "cwd": "/"}"#;
        let event = Event::parse(codex, submitted).unwrap();
        assert_eq!(
            (&*event.prompt, event.folder()),
            (
                ":research x",
                Some(Path::new("/")).filter(|root| root.is_absolute())
            )
        );
        let endless = submitted.replace("\"/\"", &format!("\"{}\"", "/a".repeat(MAX_FOLDER)));
        assert_eq!(Event::parse(codex, &endless).unwrap().folder(), None);
        for (agent, text) in [
            (gemini, submitted),
            (
                codex,
                r#"{"hook_event_name": "Stop", "prompt": ":research x"}"#,
            ),
            (
                codex,
                r#"{"hook_event_name": ["UserPromptSubmit"], "prompt": ":research x"}"#,
            ),
            (
                codex,
                r#"{"hook_event_name": "UserPromptSubmit", "prompt": [":research x"]}"#,
            ),
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
