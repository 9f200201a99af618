//! What an agent's prompt-submit hook answers: an event in; context out, if the message invokes
//! prompts.
//!
//! The agent adds the context to the message for its model: the text of each prompt, so that the
//! model need not think of calling `expand_prompt`. There is no answer to a message that invokes no
//! prompt, or to anything that is not an event.
//!
//! A name is looked up as it was typed, with composed or separate accents, without reading a
//! directory. Directories are read only if a line begins with a colon and a word that may be a
//! name, and no prompt has that name. They are searched for other spellings of the name, for a
//! prompt whose name ends with it and, at the start of the message, for similar names.
//!
//! The context says what the message means and gives no orders: Gemini CLI tells its model to take
//! the context of a hook as information. Where an agent would truncate the context, the context
//! asks the model to call `expand_prompt` instead.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod invocations;
mod prose;

pub use invocations::{Invocation, InvocationForm, MAX_LOOKUPS};

use crate::agents::Agent;
use crate::library::{Found, Layer, Library, View, similar_names, with_last_part};
use crate::prompt::{Call, Diagnostic, Name, Prompt, fold_name, is_common_after_colon};
use crate::wording::{and_list, in_backticks, or_list, quoted};
use invocations::{Invoked, find_invocations, is_smiley};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

/// A message that a user submitted.
#[derive(Debug)]
pub struct Event<'e> {
    agent: &'static Agent,
    prompt: Cow<'e, str>,
    folder: Option<String>,
}

/// The members of an event that are read.
#[derive(Deserialize)]
struct HookEvent<'e> {
    #[serde(borrow)]
    hook_event_name: Cow<'e, str>,
    #[serde(borrow)]
    prompt: Cow<'e, str>,
    cwd: Option<String>,
}

impl<'e> Event<'e> {
    /// Parses the JSON that an agent passes to its hook. `None`: it is no submitted message, or the
    /// agent has no hook.
    pub fn parse(agent: &'static Agent, text: &'e str) -> Option<Event<'e>> {
        let hook = agent.hook.as_ref()?;
        let input: HookEvent<'e> = serde_json::from_str(text).ok()?;
        if input.hook_event_name != hook.event {
            return None;
        }
        Some(Event {
            agent,
            prompt: input.prompt,
            folder: input.cwd,
        })
    }

    /// Returns the folder in which the agent works, if the event has it as an absolute path. The
    /// hook may be started in another folder.
    pub fn folder(&self) -> Option<&Path> {
        let folder = Path::new(self.folder.as_deref()?);
        if folder.is_absolute() {
            Some(folder)
        } else {
            None
        }
    }

    /// Returns one line of JSON that adds context to the message. `None`: there is nothing to add.
    pub fn answer(&self, library: &Library) -> Option<String> {
        let reading = read(&library.view(), &self.prompt);
        let context = context(self.agent, &reading)?;
        let event = self.agent.hook.as_ref()?.event;
        let output = json!({"additionalContext": context, "hookEventName": event});
        let mut answer = json!({"hookSpecificOutput": output});
        if let Some(message) = reading.note_for_user() {
            answer["systemMessage"] = message.into();
        }
        Some(format!("{answer}\n"))
    }
}

/// Returns the prompts that a message invokes, in its order.
pub fn invocations<'m>(view: &View, message: &'m str) -> Vec<Invocation<'m, Found>> {
    read(view, message).invocations
}

/// Returns the name at the start of a message, as it is typed, if it is probably misspelled.
pub fn misspelled_name<'m>(view: &View, message: &'m str) -> Option<&'m str> {
    Some(read(view, message).misspelled?.typed)
}

/// A name that begins a message, and is probably misspelled.
struct Misspelled<'m> {
    typed: &'m str,
    /// The names that are similar; at least one.
    meant: Vec<Name>,
}

impl Misspelled<'_> {
    /// Returns the question whether one of the similar names was meant.
    fn question(&self) -> String {
        let meant: Vec<String> = self.meant.iter().map(|name| format!(":{name}")).collect();
        format!(
            "no prompt is named {}; did you mean {}?",
            in_backticks(self.typed),
            or_list(&meant)
        )
    }

    /// Returns a text that has the model ask the question.
    fn note_for_model(&self) -> String {
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
    misspelled: Option<Misspelled<'m>>,
    /// Why a prompt of a linked worktree is not among the invocations.
    withheld: Option<String>,
}

impl Reading<'_> {
    /// Returns a text for the model about a misspelled name or, without one, a withheld prompt.
    fn note_for_model(&self) -> Option<String> {
        if let Some(misspelled) = &self.misspelled {
            return Some(misspelled.note_for_model());
        }
        let hint = self.withheld.as_ref()?;
        Some(format!("Tell the user: {hint}."))
    }

    /// Returns a line for the user about a misspelled name or, without one, a withheld prompt.
    fn note_for_user(&self) -> Option<String> {
        match &self.misspelled {
            Some(misspelled) => Some(misspelled.question()),
            None => self.withheld.clone(),
        }
    }
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
    } = find_invocations(
        message,
        view.expands_mentions(),
        |name, form| typed_names.look_up(name, form),
        is_builtin,
    );
    Reading {
        invocations,
        misspelled: unknown.and_then(|typed| typed_names.misspelled(typed)),
        withheld: typed_names.withheld,
    }
}

/// Finds the prompts that the names in a message mean.
struct TypedNames<'v> {
    view: &'v View,
    /// All prompts. They are listed once, and only if a name without a prompt may be misspelled.
    listed: OnceCell<Vec<KnownPrompt>>,
    /// Why the first prompt of a linked worktree is not served.
    withheld: Option<String>,
}

struct KnownPrompt {
    folded_name: String,
    found: Found,
}

impl TypedNames<'_> {
    /// Returns the prompt that a name means: the one with exactly this name or, for a command, with
    /// another spelling of it, or with this last part of its name.
    fn look_up(&mut self, name: &str, form: InvocationForm) -> Option<Found> {
        let found = self.view.find_exactly(name);
        if self.withheld.is_none() {
            self.withheld = self.view.withheld_hint(name);
        }
        if form == InvocationForm::Mention {
            return found.filter(may_be_mentioned);
        }
        if found.is_some() || !may_be_typed(name) {
            return found;
        }
        match self.with_other_spelling(name) {
            Some(found) => Some(found.clone()),
            None => with_last_part(self.all(), name).cloned(),
        }
    }

    /// Returns the only prompt whose name differs from this one in its spelling: in letter case, or
    /// in composed and separate accents. A name in ASCII has no other spelling here.
    fn with_other_spelling(&self, name: &str) -> Option<&Found> {
        if name.is_ascii() {
            return None;
        }
        let folded = fold_name(name);
        let mut matching = None;
        for listed in self.listed() {
            if listed.folded_name != folded {
                continue;
            }
            if matching.is_some() {
                return None;
            }
            matching = Some(&listed.found);
        }
        matching
    }

    /// Returns the names that are similar to a name without a prompt, if there are any.
    fn misspelled<'m>(&self, typed: &'m str) -> Option<Misspelled<'m>> {
        let is_short = typed.chars().count() <= 2;
        if is_short || !may_be_typed(typed) || is_common_after_colon(typed) {
            return None;
        }
        let meant = similar_names(self.all(), typed);
        if meant.is_empty() {
            return None;
        }
        Some(Misspelled { typed, meant })
    }

    fn all(&self) -> impl Iterator<Item = &Found> {
        self.listed().iter().map(|listed| &listed.found)
    }

    /// Returns all prompts, which are listed once.
    fn listed(&self) -> &[KnownPrompt] {
        self.listed.get_or_init(|| {
            let mut listed = Vec::new();
            for found in self.view.list().found {
                listed.push(KnownPrompt {
                    folded_name: fold_name(&found.name),
                    found,
                });
            }
            listed
        })
    }
}

/// Returns whether a mention expands a prompt: one that is not built in, and whose file does not
/// say `mention: false`. A prompt that cannot be read counts, so that the user hears of it.
fn may_be_mentioned(found: &Found) -> bool {
    if is_builtin(found) {
        return false;
    }
    match found.prompt() {
        Ok(prompt) => prompt.may_be_mentioned(),
        Err(_) => true,
    }
}

fn is_builtin(found: &Found) -> bool {
    found.layer == Layer::BUILTIN
}

/// Returns whether a word after a colon may be a name that is worth reading directories for: it has
/// two letters that differ, and only characters that names usually have.
fn may_be_typed(word: &str) -> bool {
    word.chars().all(is_usual_in_name) && word.contains(char::is_alphabetic) && !is_smiley(word)
}

fn is_usual_in_name(letter: char) -> bool {
    letter.is_alphanumeric() || "-_./:：".contains(letter)
}

/// Stands between the parts of a context.
const SEPARATOR: &str = "\n\n";

/// How many prompts of one message are expanded, and how many further ones are named.
pub const MAX_PROMPTS: usize = 8;

/// Returns the context for a message, within the limit of the agent. `None`: there is nothing to
/// say.
///
/// The context has one part for each prompt, and one for each note. A prompt whose expansion does
/// not fit has a request to call the tool instead.
fn context(agent: &Agent, reading: &Reading<'_>) -> Option<String> {
    let distinct = without_repetitions(&reading.invocations);
    let (expanded, further) = distinct.split_at(distinct.len().min(MAX_PROMPTS));
    let mut parts = Vec::new();
    let mut expansions = Vec::new();
    for invocation in expanded {
        let prompt = invocation.found.prompt();
        let reason = match &prompt {
            Ok(prompt) if prompt.is_rendered_by_service() => CallReason::RenderedByService,
            _ => CallReason::TooLong,
        };
        parts.push(call_instead(invocation, reason));
        expansions.push(expansion_part(agent, invocation, prompt));
    }
    if !further.is_empty() {
        parts.push(left_out_note(further));
    }
    parts.extend(reading.note_for_model());
    if parts.is_empty() {
        return None;
    }
    let (max, unit) = agent.hook.as_ref()?.context_limit;
    let mut room = max.saturating_sub(unit.count(&parts.join(SEPARATOR)));
    // Each expansion that fits replaces the request to call the tool.
    for (part, expansion) in parts.iter_mut().zip(expansions) {
        let more = unit.count(&expansion).saturating_sub(unit.count(part));
        if more <= room {
            room -= more;
            *part = expansion;
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
            .any(|other| other.form != InvocationForm::Mention && other.name == new.name);
        let is_superfluous_mention = new.form == InvocationForm::Mention && is_called;
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
        and_list(&names)
    )
}

/// Returns the expansion of a prompt with an explanation for the model, or why there is none.
fn expansion_part(
    agent: &Agent,
    invocation: &Invocation<'_, Found>,
    prompt: Result<Arc<Prompt>, Diagnostic>,
) -> String {
    let found = &invocation.found;
    let typed = typed(invocation.name, invocation.input);
    let prompt = match prompt {
        Ok(prompt) => prompt,
        Err(problem) => return unreadable_note(&typed, found, &problem),
    };
    if prompt.is_rendered_by_service() {
        return call_instead(invocation, CallReason::RenderedByService);
    }
    let expansion = match found.expand(&prompt, Call::Text(invocation.input)) {
        Ok(expansion) => expansion,
        Err(error) => {
            return format!(
                "In the user's message, {typed} is short for a stored prompt that cannot be expanded: {error}. Tell the user \
                 this; expand_prompt would say the same."
            );
        }
    };
    let text = expansion.messages.into_text();
    let mut part = framed(agent, &typed, invocation.form, &text, found.layer);
    for warning in expansion.warnings {
        part += &format!("{SEPARATOR}Tell the user first: {warning}");
    }
    part
}

/// Returns a text for the model about a prompt whose file cannot be read.
fn unreadable_note(typed: &str, found: &Found, problem: &Diagnostic) -> String {
    // A problem of the settings says itself when the command works.
    let condition = if found.layer == Layer::SETTINGS {
        ""
    } else {
        "; the command works once the file is saved"
    };
    format!(
        "In the user's message, {typed} names a stored prompt that cannot be read. {problem}. Tell the user this{condition}."
    )
}

/// Returns an expansion with an explanation for the model before it, and a line after it.
fn framed(
    agent: &Agent,
    typed: &str,
    form: InvocationForm,
    expansion: &str,
    layer: Layer,
) -> String {
    let origin = if layer.is_project() {
        "a prompt file of the project, whose prompts the user chose to use"
    } else if layer == Layer::BUILTIN {
        "a built-in prompt"
    } else {
        "a prompt file that the user wrote or chose"
    };
    let meaning = if form == InvocationForm::Mention {
        "The message says what to do with that text"
    } else {
        "Read the message as if it contained that text in full, and do what it says"
    };
    let verb = if form == InvocationForm::Mention {
        "stands for"
    } else {
        "is short for"
    };
    let is_escaped = match &agent.hook {
        Some(hook) => hook.escapes_angle_brackets && expansion.contains(['<', '>']),
        None => false,
    };
    let note = if is_escaped {
        " Angle brackets in it may show as `&lt;` and `&gt;`."
    } else {
        ""
    };
    format!(
        "In the user's message, {typed} {verb} the text below, from {origin}. {meaning}; there is no need to call \
         expand_prompt.{note}\n\n{expansion}\n\n(End of the text for {typed}.)"
    )
}

/// Why the model has to call the tool for the text of a prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallReason {
    TooLong,
    RenderedByService,
}

/// Returns a text that asks the model to call the tool, in place of an expansion.
fn call_instead(invocation: &Invocation<'_, Found>, reason: CallReason) -> String {
    let (why, without_tool) = match reason {
        CallReason::TooLong => (
            "whose text is longer than this agent accepts from a hook",
            "the prompt is too long for the hook",
        ),
        CallReason::RenderedByService => (
            "which a service renders when it is asked for",
            "only the MCP server can ask for the prompt",
        ),
    };
    let input = if invocation.form == InvocationForm::Mention {
        "an empty text"
    } else {
        "the text after it, without other commands,"
    };
    format!(
        "In the user's message, {} is short for a stored prompt, {why}. Before you answer, call the tool expand_prompt with \
         this name, and {input} as `input`; then do what it returns. If there is no such tool, tell the user that \
         {without_tool}.",
        typed(invocation.name, invocation.input)
    )
}

/// Returns what the user typed, shortened and in backticks.
fn typed(name: &str, input: &str) -> String {
    quoted(format!(":{name} {input}").trim_end())
}

/// Returns the context of a hook for a message whose only command is `:name input`.
pub fn context_of_one(
    agent: &Agent,
    name: &str,
    input: &str,
    expansion: &str,
    layer: Layer,
) -> String {
    framed(
        agent,
        &typed(name, input),
        InvocationForm::Command,
        expansion,
        layer,
    )
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
