//! `prompt-expander compose`: acts as the editor that an agent opens for the draft of a message.
//!
//! The draft is replaced atomically or not at all, and never copied elsewhere. Agents show neither
//! the exit status nor standard error, so errors are shown on the screen, and the exit status is 0.
//! `agents/drafts.rs` describes how each agent handles drafts.

use super::agent_names;
use super::output::Reporter;
use super::pick::{self, Choice, Choices, Picked, Purpose};
use super::source_options::PromptSource;
use super::text_editor;
use crate::agents::Agent;
use crate::api::{CallRequest, ExpandedPrompt};
use crate::hook::{self, AgentMenu, Invocation, InvocationForm};
use crate::library::{Found, View, read_regular, replace_if_unchanged};
use crate::prompt::MAX_FILE;
use crate::wording::and_list;
use anyhow::{Context, ensure};
use clap::{Args, ValueHint};
use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  alias codex='VISUAL=\"prompt-expander compose\" codex'
  alias claude='VISUAL=\"prompt-expander compose --then nvim\" claude'

Then press Ctrl-G in the agent; in Qwen Code, Ctrl-X; in opencode, Ctrl-X and then e.";

#[derive(Debug, Args)]
pub(super) struct Compose {
    /// The file with the draft
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The editor that Ctrl-O and `e` open. Files that are not drafts also open in it. [default:
    /// EDITOR, or the editor of the system]
    #[arg(long, value_name = "EDITOR", value_hint = ValueHint::CommandString)]
    then: Option<OsString>,
    // Gemini CLI passes these if the command contains the name of an editor that needs them. Even
    // `/home/vivian/…` counts as `vi`.
    #[arg(short = 'i', hide = true)]
    _viminfo: Option<OsString>,
    #[arg(long = "wait", short = 'w', hide = true)]
    _waits: bool,
}

/// What to do after the user has made a choice.
enum NextStep {
    Nothing,
    /// Open the draft in the editor. If that fails, this sentence tells the user about the state of
    /// the draft.
    OpenEditor(&'static str),
}

// These sentences follow an error message.
const DRAFT_UNCHANGED: &str = "The draft is as it was.";
const DRAFT_EXPANDED: &str = "The draft now contains the expansion.";

impl Compose {
    /// Composes the draft of an agent, which the path of the file identifies. Opens other files
    /// only in the editor, and so also a draft if there is no terminal to draw on.
    pub(super) fn run(
        self,
        source: anyhow::Result<&PromptSource>,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        if !pick::can_draw() {
            return self.open_editor();
        }
        let Some(agent) = Agent::by_draft_path(&self.file) else {
            return self.open_editor();
        };
        let Some(drafts) = &agent.drafts else {
            return self.open_editor();
        };
        if let Err(message) = self.compose(source, agent, drafts.terminal_modes, reporter) {
            // If this fails, too, nothing more can be done.
            _ = pick::show_message(&message, drafts.terminal_modes);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Expands the draft or lets the user pick a prompt for it. Then opens the editor if the user
    /// wants that.
    ///
    /// `terminal_modes` is an escape sequence that enables the terminal modes of the agent again.
    ///
    /// # Errors
    /// Fails with a message that also describes the state of the draft.
    fn compose(
        &self,
        source: anyhow::Result<&PromptSource>,
        agent: &'static Agent,
        terminal_modes: &'static str,
        reporter: &Reporter,
    ) -> Result<(), String> {
        let next_step = self
            .expand_draft(source, agent, terminal_modes, reporter)
            // It replaces the draft last, so after an error, the draft is unchanged.
            .map_err(|error| format!("{error:#}\n\n{DRAFT_UNCHANGED}"))?;
        if let NextStep::OpenEditor(draft_state) = next_step {
            self.open_editor()
                .map_err(|error| format!("{error:#}\n\n{draft_state}"))?;
        }
        Ok(())
    }

    /// Expands the commands in the draft and shows the result or, if there are none, lets the user
    /// pick a prompt. As the last step, replaces the draft, unless the user cancels.
    fn expand_draft(
        &self,
        source: anyhow::Result<&PromptSource>,
        agent: &'static Agent,
        terminal_modes: &'static str,
        reporter: &Reporter,
    ) -> anyhow::Result<NextStep> {
        let source = source?;
        let view = source.library().view();
        let old = self.read_draft()?;
        let system = agent_names::system()?;
        let draft = Draft {
            text: str::from_utf8(&old).context("the draft is not UTF-8")?,
            view: &view,
            menu: AgentMenu {
                agent,
                system: Some(&system),
            },
        };
        let picked = match expand_commands(draft)? {
            Some(ExpandedDraft { expansion, prompts }) => Picked {
                choice: pick::confirm(&view, expansion, purpose("", terminal_modes))?,
                expanded: prompts,
            },
            None => {
                let choices = Choices::new(&view, &source.recent_uses());
                pick_prompt(choices, draft, terminal_modes, reporter)?
            }
        };
        match picked.choice {
            // `Copy` doesn't occur with a draft.
            Choice::Nothing | Choice::Copy(_) => Ok(NextStep::Nothing),
            Choice::EditDraft => Ok(NextStep::OpenEditor(DRAFT_UNCHANGED)),
            Choice::Use(text) => {
                self.replace_draft(&old, &text)?;
                source.count_uses(&picked.expanded);
                Ok(NextStep::Nothing)
            }
            Choice::Edit(text) => {
                self.replace_draft(&old, &text)?;
                source.count_uses(&picked.expanded);
                Ok(NextStep::OpenEditor(DRAFT_EXPANDED))
            }
        }
    }

    /// Reads the draft.
    ///
    /// # Errors
    /// Fails if it can't be read, or is read-only, because the expansion couldn't be written.
    fn read_draft(&self) -> anyhow::Result<Vec<u8>> {
        let draft = read_regular(&self.file, MAX_FILE).context("the draft cannot be read")?;
        let is_read_only = fs::symlink_metadata(&self.file)?.permissions().readonly();
        ensure!(!is_read_only, "the draft is read-only");
        Ok(draft)
    }

    /// Replaces the draft.
    ///
    /// # Errors
    /// Fails if the draft no longer has the contents `old`, or can't be written.
    fn replace_draft(&self, old: &[u8], text: &str) -> anyhow::Result<()> {
        let text = text.trim_end_matches('\n'); // opencode would send a trailing newline
        let is_replaced =
            replace_if_unchanged(&self.file, old, text).context("the draft cannot be written")?;
        ensure!(
            is_replaced,
            "another program has changed the draft meanwhile"
        );
        Ok(())
    }

    /// Opens the file in the editor, and returns the editor's exit status.
    fn open_editor(&self) -> anyhow::Result<ExitCode> {
        let fix = "name another one with --then"; // ends the error if there is no such editor
        let exit = text_editor::open_with(&self.editor(), &self.file, fix)?;
        Ok(exit.code())
    }

    /// Returns the command of the editor: the first usable one of `--then`, EDITOR and the system's
    /// default.
    fn editor(&self) -> OsString {
        let default = if cfg!(windows) { "notepad" } else { "vi" };
        [self.then.clone(), env::var_os("EDITOR")]
            .into_iter()
            .flatten()
            .find(|editor| is_usable(editor))
            .unwrap_or_else(|| default.into())
    }
}

/// Returns whether an editor's command line is not empty, and not that of `compose`, which would
/// start itself forever.
fn is_usable(editor: &OsStr) -> bool {
    !editor.is_empty() && !text_editor::is_compose(editor)
}

/// A draft, and what the names in it stand for.
#[derive(Clone, Copy)]
struct Draft<'d> {
    text: &'d str,
    view: &'d View,
    menu: AgentMenu<'d>,
}

impl Draft<'_> {
    /// Returns the prompts that the agent's hook would find in a text.
    fn invocations_in<'t>(&self, text: &'t str) -> Vec<Invocation<'t, Found>> {
        hook::invocations(self.view, text, Some(self.menu))
    }
}

/// A draft whose commands are expanded.
struct ExpandedDraft {
    expansion: ExpandedPrompt,
    /// The prompts of the commands.
    prompts: Vec<Found>,
}

/// Expands each command in a draft in place. Leaves mentions to the hook. Returns `None` if the
/// draft contains no commands.
fn expand_commands(draft: Draft<'_>) -> anyhow::Result<Option<ExpandedDraft>> {
    let old = draft.text;
    let mut text = String::new();
    let mut prompts = Vec::new();
    let mut warnings = Vec::new();
    let mut previous_range: Option<Range<usize>> = None;
    for invocation in draft.invocations_in(old) {
        if invocation.form == InvocationForm::Mention {
            continue;
        }
        match &previous_range {
            // The commands of a stack, such as `:review :security`, share one range.
            Some(range) if *range == invocation.range => text += "\n\n",
            Some(range) => text += &old[range.end..invocation.range.start],
            None => text += &old[..invocation.range.start],
        }
        let request = CallRequest {
            command: invocation.found.name.to_string(),
            input: vec![invocation.input.to_owned()],
            ..CallRequest::default()
        };
        let expanded = pick::expand(&invocation.found, &request).map_err(anyhow::Error::msg)?;
        text += expanded.prompt.trim_end_matches('\n');
        warnings.extend(expanded.warnings);
        prompts.push(invocation.found);
        previous_range = Some(invocation.range);
    }
    let Some(range) = previous_range else {
        return Ok(None);
    };
    text += &old[range.end..];
    warnings.extend(hook_warning(draft, &text));
    let expansion = ExpandedPrompt {
        prompt: text,
        warnings,
    };
    Ok(Some(ExpandedDraft { expansion, prompts }))
}

/// Returns what the picker is used for: a draft, of which `text` is the input.
fn purpose(text: &str, terminal_modes: &'static str) -> Purpose {
    Purpose {
        text: text.to_owned(),
        is_draft: true,
        exit_sequence: terminal_modes,
    }
}

/// Lets the user pick a prompt, with the draft as its input. If the draft begins with a misspelled
/// command, starts with a search for that command, and the rest of the draft is the input.
fn pick_prompt(
    choices: Choices,
    draft: Draft<'_>,
    terminal_modes: &'static str,
    reporter: &Reporter,
) -> anyhow::Result<Picked> {
    let mut query = "";
    let mut input = draft.text.trim_end_matches(['\n', '\r']);
    if let Some(name) = hook::misspelled_name(draft.view, input)
        && let Some((_, text)) = input.split_once(name)
    {
        query = name;
        input = text.trim_start();
    }
    pick::choose(
        choices,
        query,
        purpose(input, terminal_modes),
        &|found, request| {
            let mut expanded = pick::expand(found, request)?;
            expanded
                .warnings
                .extend(hook_warning(draft, &expanded.prompt));
            Ok(expanded)
        },
        reporter,
    )
}

/// Returns a warning if an expansion contains commands or mentions besides the mentions of the
/// draft, which are left to the agent's hook anyway. The hook would expand them when the user sends
/// the message.
fn hook_warning(draft: Draft<'_>, expansion: &str) -> Option<String> {
    let mut names_in_draft = BTreeSet::new();
    for invocation in draft.invocations_in(draft.text) {
        if invocation.form == InvocationForm::Mention {
            names_in_draft.insert(invocation.name);
        }
    }
    let mut new_names = BTreeSet::new();
    for invocation in draft.invocations_in(expansion) {
        if !names_in_draft.contains(invocation.name) {
            new_names.insert(format!("{}{}", invocation.sign, invocation.name));
        }
    }
    if new_names.is_empty() {
        return None;
    }
    let new_names: Vec<String> = new_names.into_iter().collect();
    let names = and_list(&new_names);
    Some(format!(
        "The text has {names}, which the agent's hook expands when you send it."
    ))
}
