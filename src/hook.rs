//! Answers an agent's prompt-submit hook: takes an event, and returns context for the model.
//!
//! The context contains the text of each prompt that the message invokes, so that the model doesn't
//! have to call `expand_prompt`. If the message invokes no prompt, or if the input isn't an event,
//! there is no answer.
//!
//! This runs for every message, so it must be fast. A name is looked up as typed (and in both
//! Unicode normalizations), without reading a directory. Directories are only read if a line starts
//! with a colon and a plausible name, and no prompt has that name. They are then searched for other
//! spellings of the name, for a prompt whose name ends with it and, at the start of the message,
//! for similar names, and the team's server is asked for new prompts.
//!
//! The context explains the message instead of giving orders, because Gemini CLI tells its model to
//! treat a hook's context as information. If an expansion exceeds the agent's limit, the context
//! asks the model to call `expand_prompt`.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod invocations;
mod prose;

pub use invocations::{Invocation, InvocationForm, MAX_LOOKUPS};

use crate::agents::{Agent, HookAnswer, SubmittedMessage, System, Unit};
use crate::library::{
    Expansion, Found, Layer, View, note_for_model, only_with_last_segment, similar_names,
};
use crate::prompt::{Call, Diagnostic, Name, fold_name, is_common_after_colon, non_command_kind};
use crate::usage::Way;
use crate::wording::{and_list, in_backticks, or_list, quoted};
use invocations::{Grammar, Invoked, TypedName, find_invocations, is_smiley};
use std::cell::OnceCell;
use std::path::Path;

/// The event that a user submitted a message.
#[derive(Debug)]
pub struct Event {
    agent: &'static Agent,
    submitted: SubmittedMessage,
}

/// The answer to an event.
#[derive(Debug)]
pub struct EventAnswer {
    /// A line of JSON that adds context to the message.
    pub line: String,
    /// The prompts whose expansions are in the context, without those that the server has also
    /// expanded for the same message.
    pub expanded: Vec<ExpandedByHook>,
}

/// A prompt that the hook has expanded.
#[derive(Debug)]
pub struct ExpandedByHook {
    /// The prompt.
    pub found: Found,
    /// Whether the message has the prompt's name or an entry of the agent's menu.
    pub way: Way,
}

impl Event {
    /// Parses the JSON that an agent passes to its hook. Returns `None` if it is invalid or another
    /// kind of event, or if the agent has no hook.
    pub fn parse(agent: &'static Agent, json: &str) -> Option<Event> {
        let mut submitted = agent.hook.as_ref()?.parse_event(json)?;
        submitted.text = without_paste_marks(submitted.text);
        Some(Event { agent, submitted })
    }

    /// Returns the agent's working directory, if the event contains it as an absolute path. The
    /// hook itself may run in another directory.
    pub fn folder(&self) -> Option<&Path> {
        let folder = Path::new(self.submitted.working_directory.as_deref()?);
        if folder.is_absolute() {
            Some(folder)
        } else {
            None
        }
    }

    /// Returns the answer, or `None` if there is nothing to add to the message. `system` is where
    /// the agent runs: its files may limit the length of the context, and say what is in its menu.
    /// It is `None` if the agent runs on another machine.
    pub fn answer(&self, view: &View, system: Option<&System>) -> Option<EventAnswer> {
        let hook = self.agent.hook.as_ref()?;
        let menu = AgentMenu {
            agent: self.agent,
            system,
        };
        let mut analysis = analyze(view, &self.submitted.text, Some(menu));
        if let Some(typed) = analysis.unknown_command
            && view.refresh_for(typed)
        {
            analysis = analyze(view, &self.submitted.text, Some(menu));
        }
        let parts = context_parts(self.agent, &analysis)?;
        let (max, unit) = match system {
            Some(system) => self.agent.context_limit(system)?,
            None => hook.context_limit,
        };
        let Context { text, mut expanded } = join_within(max, unit, parts);
        // The entry is the first command, whose sign is a colon in such a message.
        if self.submitted.is_menu_entry()
            && let Some(entry) = expanded.first_mut()
        {
            entry.way = Way::Menu;
        }
        let answer = HookAnswer {
            context: text,
            note_for_user: analysis.note_for_user(),
            calls_menu_entry: analysis.calls_menu_entry(),
        };
        let json = hook.answer(&self.submitted, &answer)?;
        Some(EventAnswer {
            line: format!("{json}\n"),
            expanded,
        })
    }
}

/// Returns a message without the escape sequences that a terminal sends before and after pasted
/// text. Some agents leave them in the message.
fn without_paste_marks(message: String) -> String {
    if !message.contains('\u{1b}') {
        return message;
    }
    message
        .replace("\u{1b}[200~", "")
        .replace("\u{1b}[201~", "")
}

/// Returns the prompts that a message invokes, in the order of the message. With `menu`, names can
/// also have the sign of that menu.
pub fn invocations<'m>(
    view: &View,
    message: &'m str,
    menu: Option<AgentMenu<'_>>,
) -> Vec<Invocation<'m, Found>> {
    analyze(view, message, menu).invocations
}

/// Returns the name at the start of a message, as typed, if it is probably misspelled.
pub fn misspelled_name<'m>(view: &View, message: &'m str) -> Option<&'m str> {
    Some(analyze(view, message, None).misspelled?.typed)
}

/// A probably misspelled name at the start of a message.
struct Misspelled<'m> {
    typed: &'m str,
    /// The similar names of prompts; at least one.
    similar: Vec<Name>,
}

impl Misspelled<'_> {
    /// Returns the question "… did you mean …?".
    fn question(&self) -> String {
        let suggestions: Vec<String> = self.similar.iter().map(|name| format!(":{name}")).collect();
        format!(
            "no prompt is named {}; did you mean {}?",
            in_backticks(self.typed),
            or_list(&suggestions)
        )
    }

    /// Returns a text that makes the model ask the question.
    fn note_for_model(&self) -> String {
        format!(
            "The user's message begins with {}, but {} Ask the user this first, unless it is clear that no command was meant.",
            quoted(&format!(":{}", self.typed)),
            self.question()
        )
    }
}

/// What a message invokes, and what the user should know about it.
struct MessageAnalysis<'m> {
    /// The invocations, in the order of the message.
    invocations: Vec<Invocation<'m, Found>>,
    /// The name of the command at the start of the message, if it seems to be that of a prompt, but
    /// none is known.
    unknown_command: Option<&'m str>,
    misspelled: Option<Misspelled<'m>>,
    /// Why a prompt of a linked worktree is not served, although the message names it.
    withheld_hint: Option<String>,
}

impl MessageAnalysis<'_> {
    /// Returns whether the message begins with the sign and the name of an entry of the agent's
    /// menu.
    fn calls_menu_entry(&self) -> bool {
        match self.invocations.first() {
            Some(first) => first.sign != ':' && first.range.start == 0,
            None => false,
        }
    }

    /// Returns a note for the model about a misspelled name, otherwise about a withheld prompt, if
    /// any.
    fn note_for_model(&self) -> Option<String> {
        if let Some(misspelled) = &self.misspelled {
            return Some(misspelled.note_for_model());
        }
        let hint = self.withheld_hint.as_ref()?;
        Some(format!("Tell the user: {hint}."))
    }

    /// Returns a one-line note for the user about a misspelled name, otherwise about a withheld
    /// prompt, if any.
    fn note_for_user(&self) -> Option<String> {
        match &self.misspelled {
            Some(misspelled) => Some(misspelled.question()),
            None => self.withheld_hint.clone(),
        }
    }
}

/// The agent in which a message is sent, and where its menu is.
#[derive(Debug, Clone, Copy)]
pub struct AgentMenu<'s> {
    /// The agent.
    pub agent: &'static Agent,
    /// Where the agent runs, or `None` if it runs on another machine.
    pub system: Option<&'s System>,
}

/// Finds out what a message invokes. With `menu`, names can also have the sign of that menu.
fn analyze<'m>(view: &View, message: &'m str, menu: Option<AgentMenu<'_>>) -> MessageAnalysis<'m> {
    let mut resolver = NameResolver {
        view,
        menu,
        all_prompts: OnceCell::new(),
        withheld_hint: None,
    };
    let Invoked {
        mut invocations,
        unknown_command,
    } = find_invocations(
        message,
        Grammar {
            expands_mentions: view.expands_mentions(),
            agent: menu.map(|menu| menu.agent),
        },
        |typed| resolver.look_up(typed),
        is_builtin,
    );
    if let Some(menu) = menu {
        invocations.retain(|invocation| !is_expanded_by_server(menu.agent, invocation));
    }
    let unknown_command = unknown_command.filter(|typed| is_probable_name(typed));
    MessageAnalysis {
        invocations,
        unknown_command,
        // Both after `find_invocations`, which calls the resolver.
        misspelled: unknown_command.and_then(|typed| resolver.find_similar(typed)),
        withheld_hint: resolver.withheld_hint,
    }
}

/// Returns whether an agent's own menu already gives the model the right text: that of a prompt of
/// our server, whose words are at most one.
fn is_expanded_by_server(agent: &Agent, invocation: &Invocation<'_, Found>) -> bool {
    let may_lose_words = invocation
        .input
        .contains(|c: char| c.is_whitespace() || c == '=');
    agent.server_prompt(invocation.name).is_some() && !may_lose_words
}

/// Resolves the names in a message to prompts.
struct NameResolver<'v> {
    view: &'v View,
    menu: Option<AgentMenu<'v>>,
    /// All prompts. Listed at most once, and only if some name needs more than an exact lookup.
    all_prompts: OnceCell<Vec<ListedPrompt>>,
    /// Why a prompt of a linked worktree is not served, for the first such prompt that was looked
    /// up.
    withheld_hint: Option<String>,
}

struct ListedPrompt {
    folded_name: String,
    found: Found,
}

impl NameResolver<'_> {
    /// Returns the prompt for a typed name. A mention needs the exact name. A command may also use
    /// another spelling of it, or only its last part. After the sign of the agent's menu, the name
    /// must be that of an entry of ours, which says what the prompt is called.
    fn look_up(&mut self, typed: TypedName<'_>) -> Option<Found> {
        if typed.sign == ':' {
            return self.look_up_prompt(typed.name, typed.is_mention);
        }
        let menu = self.menu?;
        if let Some(name) = menu.agent.server_prompt(typed.name) {
            return self.look_up_prompt(name, typed.is_mention);
        }
        let name = menu.agent.prompt_of_menu_entry(typed.name, menu.system?)?;
        self.look_up_prompt(&name, typed.is_mention)
    }

    /// Returns the prompt for a name. If this is the first withheld prompt, also sets
    /// `withheld_hint`.
    fn look_up_prompt(&mut self, name: &str, is_mention: bool) -> Option<Found> {
        let found = self.view.find_exactly(name);
        if self.withheld_hint.is_none() {
            self.withheld_hint = self.view.withheld_hint(name);
        }
        if is_mention {
            return found.filter(may_be_mentioned);
        }
        // Listing all prompts is slow, so do it only for a plausible name.
        if found.is_some() || !is_plausible_name(name) {
            return found;
        }
        match self.find_other_spelling(name) {
            Some(found) => Some(found.clone()),
            None => only_with_last_segment(self.all(), name).cloned(),
        }
    }

    /// Returns the only prompt whose name differs just in letter case or Unicode normalization.
    ///
    /// Returns `None` for an ASCII name, which must have the right letter case: another one counts
    /// as a misspelled name.
    fn find_other_spelling(&self, name: &str) -> Option<&Found> {
        if name.is_ascii() {
            return None;
        }
        let folded = fold_name(name);
        let mut matching = None;
        for listed in self.list() {
            if listed.folded_name != folded {
                continue;
            }
            if matching.is_some() {
                return None; // ambiguous
            }
            matching = Some(&listed.found);
        }
        matching
    }

    /// Returns the names that are similar to an unknown name, or `None` if there are none.
    fn find_similar<'m>(&self, typed: &'m str) -> Option<Misspelled<'m>> {
        let similar = similar_names(self.all(), typed);
        if similar.is_empty() {
            return None;
        }
        Some(Misspelled { typed, similar })
    }

    fn all(&self) -> impl Iterator<Item = &Found> {
        self.list().iter().map(|listed| &listed.found)
    }

    /// Returns all prompts. Lists them on the first call.
    fn list(&self) -> &[ListedPrompt] {
        self.all_prompts.get_or_init(|| {
            let mut listed = Vec::new();
            for found in self.view.list().found {
                listed.push(ListedPrompt {
                    folded_name: fold_name(&found.name),
                    found,
                });
            }
            listed
        })
    }
}

/// Returns whether a prompt may be mentioned: it is not built in, and its file doesn't contain
/// `mention: false`. True for a prompt that can't be read, so that the error is reported.
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

/// Returns whether an unknown word after a colon is enough like a name to read directories for it:
/// it contains a letter, isn't a smiley, and has only characters that are common in names.
fn is_plausible_name(word: &str) -> bool {
    word.chars().all(is_common_in_name) && word.contains(char::is_alphabetic) && !is_smiley(word)
}

/// Returns whether an unknown command is probably meant as the name of a prompt, and not e.g. an
/// emoji, a port or a word of Vim.
fn is_probable_name(typed: &str) -> bool {
    let is_short = typed.chars().count() <= 2;
    !is_short
        && is_plausible_name(typed)
        && !is_common_after_colon(typed)
        && non_command_kind(typed).is_none()
}

fn is_common_in_name(character: char) -> bool {
    character.is_alphanumeric() || "-_./:：".contains(character)
}

/// Separates the parts of a context.
const SEPARATOR: &str = "\n\n";

/// The maximum number of prompts of one message that are expanded. At most as many further prompts
/// are named.
pub const MAX_PROMPTS: usize = 8;

/// Returns the parts of the context for a message: one for each prompt, and one for each note.
/// Returns `None` if there is nothing to add.
fn context_parts(agent: &Agent, analysis: &MessageAnalysis<'_>) -> Option<Vec<ContextPart>> {
    let distinct = without_duplicates(&analysis.invocations);
    let (expanded, further) = distinct.split_at(distinct.len().min(MAX_PROMPTS));
    let mut parts = Vec::new();
    for invocation in expanded {
        parts.push(ContextPart::for_prompt(agent, invocation));
    }
    if !further.is_empty() {
        parts.push(ContextPart::note(left_out_note(further)));
    }
    parts.extend(analysis.note_for_model().map(ContextPart::note));
    if parts.is_empty() { None } else { Some(parts) }
}

/// A part of a context: a note, or the text for one prompt.
struct ContextPart {
    /// The note. For a prompt, a request to call `expand_prompt`.
    short: String,
    /// The expansion of a prompt, or why it can't be expanded. Replaces `short` if it fits into the
    /// context.
    full: Option<String>,
    /// The prompt that `full` is the expansion of, if that counts as a use.
    expanded: Option<ExpandedByHook>,
}

/// The context for a message.
struct Context {
    text: String,
    /// The prompts whose expansions are in the text, as far as they count as uses.
    expanded: Vec<ExpandedByHook>,
}

impl ContextPart {
    fn note(note: String) -> ContextPart {
        ContextPart {
            short: note,
            full: None,
            expanded: None,
        }
    }

    /// Returns the part for one prompt: its expansion, or why the hook can't expand it.
    fn for_prompt(agent: &Agent, invocation: &Invocation<'_, Found>) -> ContextPart {
        let prompt = match invocation.found.prompt() {
            Ok(prompt) => prompt,
            Err(error) => return ContextPart::note(unreadable_note(invocation, &error)),
        };
        if prompt.is_rendered_by_service() {
            let request = request_call(invocation, CallReason::RenderedByService);
            return ContextPart::note(request);
        }
        let short = request_call(invocation, CallReason::TooLong);
        match invocation
            .found
            .expand(&prompt, Call::Text(invocation.input))
        {
            Ok(expansion) => ContextPart {
                short,
                full: Some(expansion_text(agent, invocation, expansion)),
                expanded: counted_use(agent, invocation),
            },
            Err(error) => ContextPart {
                short,
                full: Some(expansion_error_note(invocation, &error)),
                expanded: None,
            },
        }
    }
}

/// Returns an expansion as a use to count, or `None` if the server has already counted it: the
/// agent has requested the same prompt from there.
fn counted_use(agent: &Agent, invocation: &Invocation<'_, Found>) -> Option<ExpandedByHook> {
    if agent.server_prompt(invocation.name).is_some() {
        return None;
    }
    let way = if invocation.sign == ':' {
        Way::Hook
    } else {
        Way::Menu
    };
    Some(ExpandedByHook {
        found: invocation.found.clone(),
        way,
    })
}

/// Joins the parts of a context, with as many expansions as fit into `max` units. Earlier
/// expansions take precedence. Where one doesn't fit, its part asks the model to call
/// `expand_prompt`.
fn join_within(max: usize, unit: Unit, parts: Vec<ContextPart>) -> Context {
    // Start with the short text of every part, so that no expansion displaces a later part.
    let short_texts: Vec<&str> = parts.iter().map(|part| part.short.as_str()).collect();
    let mut available = max.saturating_sub(unit.count(&short_texts.join(SEPARATOR)));
    let mut texts = Vec::new();
    let mut expanded = Vec::new();
    for part in parts {
        let Some(full) = part.full else {
            texts.push(part.short);
            continue;
        };
        let additional = unit.count(&full).saturating_sub(unit.count(&part.short));
        if additional <= available {
            available -= additional;
            texts.push(full);
            expanded.extend(part.expanded);
        } else {
            texts.push(part.short);
        }
    }
    Context {
        text: texts.join(SEPARATOR),
        expanded,
    }
}

/// Returns the invocations without duplicates of earlier ones, and without mentions of prompts that
/// the message also invokes as commands: their texts are in the context anyway.
fn without_duplicates<'i, 't>(
    invocations: &'i [Invocation<'t, Found>],
) -> Vec<&'i Invocation<'t, Found>> {
    let mut distinct: Vec<&Invocation<'_, Found>> = Vec::new();
    for new in invocations {
        let is_duplicate = distinct
            .iter()
            .any(|earlier| earlier.found.name == new.found.name && earlier.input == new.input);
        let is_also_command = invocations.iter().any(|other| {
            other.form != InvocationForm::Mention && other.found.name == new.found.name
        });
        let is_redundant_mention = new.form == InvocationForm::Mention && is_also_command;
        if !is_duplicate && !is_redundant_mention {
            distinct.push(new);
        }
    }
    distinct
}

/// Returns a note for the model that names the prompts beyond [`MAX_PROMPTS`].
fn left_out_note(further: &[&Invocation<'_, Found>]) -> String {
    let named = &further[..further.len().min(MAX_PROMPTS)];
    let names: Vec<String> = named
        .iter()
        .map(|invocation| format!(":{}", invocation.found.name))
        .collect();
    let unnamed = further.len() - named.len();
    let unnamed_note = if unnamed == 0 {
        String::new()
    } else {
        format!(" ({unnamed} more are not named here)")
    };
    format!(
        "Only the first {MAX_PROMPTS} prompts of the message are expanded here. Left out: {}{unnamed_note}. For each of them, call the \
         tool expand_prompt before you answer.",
        and_list(&names)
    )
}

/// Returns an expansion with an explanation for the model.
fn expansion_text(
    agent: &Agent,
    invocation: &Invocation<'_, Found>,
    expansion: Expansion,
) -> String {
    let typed = quote_typed(invocation.sign, invocation.name, invocation.input);
    let text = expansion.messages.into_text();
    let layer = invocation.found.layer;
    let mut part = explain_expansion(agent, &typed, invocation.form, &text, layer);
    if agent.server_prompt(invocation.name).is_some() {
        part += &format!("{SEPARATOR}{INCOMPLETE_COPY}");
    }
    for warning in expansion.warnings {
        part += SEPARATOR;
        part += &note_for_model(&warning);
    }
    part
}

/// Follows the expansion of a prompt that the agent has also requested from our server.
const INCOMPLETE_COPY: &str = "The message has another copy of this text, in which words of the user are missing. Ignore that copy.";

/// Returns a note for the model about a prompt that can't be expanded with these values.
fn expansion_error_note(invocation: &Invocation<'_, Found>, error: &Diagnostic) -> String {
    let typed = quote_typed(invocation.sign, invocation.name, invocation.input);
    format!(
        "In the user's message, {typed} is short for a stored prompt that cannot be expanded: {error}. Tell the user \
         this; expand_prompt would say the same."
    )
}

/// Returns a note for the model about a prompt whose file can't be read.
fn unreadable_note(invocation: &Invocation<'_, Found>, error: &Diagnostic) -> String {
    let typed = quote_typed(invocation.sign, invocation.name, invocation.input);
    // An error in the settings file already says how to fix it.
    let condition = if invocation.found.layer == Layer::SETTINGS {
        ""
    } else {
        "; the command works once the file is saved"
    };
    format!(
        "In the user's message, {typed} names a stored prompt that cannot be read. {error}. Tell the user this{condition}."
    )
}

/// Wraps an expansion: an explanation for the model before it, and an end marker after it.
fn explain_expansion(
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
    let (verb, instruction) = match form {
        InvocationForm::Mention => ("stands for", "The message says what to do with that text"),
        InvocationForm::Command | InvocationForm::Stacked => (
            "is short for",
            "Read the message as if it contained that text in full, and do what it says",
        ),
    };
    let is_escaped = match &agent.hook {
        Some(hook) => hook.escapes_angle_brackets && expansion.contains(['<', '>']),
        None => false,
    };
    let escaping_note = if is_escaped {
        " Angle brackets in it may show as `&lt;` and `&gt;`."
    } else {
        ""
    };
    format!(
        "In the user's message, {typed} {verb} the text below, from {origin}. {instruction}; there is no need to call \
         expand_prompt.{escaping_note}\n\n{expansion}\n\n(End of the text for {typed}.)"
    )
}

/// Why the model has to call `expand_prompt`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallReason {
    /// The expansion exceeds the agent's limit.
    TooLong,
    /// A service renders the prompt, which the hook doesn't wait for.
    RenderedByService,
}

impl CallReason {
    /// Returns a relative clause about the prompt.
    fn clause(self) -> &'static str {
        match self {
            CallReason::TooLong => "whose text is longer than this agent accepts from a hook",
            CallReason::RenderedByService => "which a service renders on request",
        }
    }

    /// Returns what to tell the user if the model can't call the tool.
    fn note_without_tool(self) -> &'static str {
        match self {
            CallReason::TooLong => "the prompt is too long for the hook",
            CallReason::RenderedByService => "only the MCP server can ask for the prompt",
        }
    }
}

/// Returns the part of the context that asks the model to call `expand_prompt`.
fn request_call(invocation: &Invocation<'_, Found>, reason: CallReason) -> String {
    let request = if invocation.form == InvocationForm::Mention {
        request_mention_call(invocation, reason)
    } else {
        request_command_call(invocation, reason)
    };
    let note = reason.note_without_tool();
    format!("{request} If there is no such tool, tell the user that {note}.")
}

fn request_command_call(invocation: &Invocation<'_, Found>, reason: CallReason) -> String {
    format!(
        "In the user's message, {} is short for a stored prompt, {}. Before you answer, call the tool expand_prompt with \
         {}, and the text after it, without other commands, as `input`; then do what it returns.",
        quote_typed(invocation.sign, invocation.name, invocation.input),
        reason.clause(),
        name_to_call(invocation)
    )
}

fn request_mention_call(invocation: &Invocation<'_, Found>, reason: CallReason) -> String {
    format!(
        "In the user's message, {} stands for a stored prompt, {}. Before you answer, call the tool expand_prompt with \
         {}, and an empty text as `input`. The message says what to do with the text that it returns.",
        quote_typed(invocation.sign, invocation.name, ""),
        reason.clause(),
        name_to_call(invocation)
    )
}

/// Returns how a request refers to the name of a prompt. An entry of a menu may have another name
/// than its prompt.
fn name_to_call(invocation: &Invocation<'_, Found>) -> String {
    if invocation.sign == ':' {
        "this name".to_owned()
    } else {
        format!("the name {}", in_backticks(&invocation.found.name))
    }
}

/// Quotes what the user typed. Shortens a long input.
fn quote_typed(sign: char, name: &str, input: &str) -> String {
    quoted(format!("{sign}{name} {input}").trim_end())
}

/// Returns the context that the hook adds to the message `:name input`, regardless of the agent's
/// limit.
pub fn context_for_command(
    agent: &Agent,
    name: &str,
    input: &str,
    expansion: &str,
    layer: Layer,
) -> String {
    explain_expansion(
        agent,
        &quote_typed(':', name, input),
        InvocationForm::Command,
        expansion,
        layer,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_submitted_prompt_is_an_event() {
        let [codex, gemini] = ["codex", "gemini"].map(|name| Agent::by_name(name).unwrap());
        let submitted =
            r#"{"hook_event_name": "UserPromptSubmit", "prompt": ":research x", "cwd": "/"}"#;
        let event = Event::parse(codex, submitted).unwrap();
        assert_eq!(
            (&*event.submitted.text, event.folder()),
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

    #[test]
    fn the_marks_of_a_bracketed_paste_are_dropped() {
        let codex = Agent::by_name("codex").unwrap();
        for (message, want) in [
            ("\u{1b}[200~:note a b \u{1b}[201~", ":note a b "),
            (":note\u{1b}[200~ a\u{1b}[201~ b", ":note a b"),
            ("\u{1b}[201~\u{1b}[200~", ""),
            ("\u{1b}[31m a", "\u{1b}[31m a"),
        ] {
            let event = json!({"hook_event_name": "UserPromptSubmit", "prompt": message});
            let event = Event::parse(codex, &event.to_string()).unwrap();
            assert_eq!(event.submitted.text, want, "{message:?}");
        }
    }
}
