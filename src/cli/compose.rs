//! `prompt-expander compose`: the editor that an agent opens for the draft of a message.
//!
//! The draft is replaced in one step, by a rename, or left alone: it is never written in place,
//! copied elsewhere or sent. An agent shows neither exit statuses nor standard error, so messages
//! are shown on the screen, and the status is 0. `agents/drafts.rs` has what is known of the agents.

use super::output::Reporter;
use super::pick::{self, Answer, Choice, Purpose};
use super::source_options::PromptSource;
use super::text_editor;
use crate::agents::Agent;
use crate::api::{CallRequest, ExpandedPrompt};
use crate::hook::{self, InvocationForm};
use crate::library::{View, read_regular, replace_if_unchanged};
use crate::prompt::MAX_FILE;
use crate::wording::and_list;
use anyhow::{Context, ensure};
use clap::{Args, ValueHint};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  alias codex='VISUAL=\"prompt-expander compose\" codex'
  alias claude='VISUAL=\"prompt-expander compose --then nvim\" claude'

Then press Ctrl-G in the agent; in opencode, Ctrl-X and then e.";

#[derive(Debug, Args)]
pub(super) struct Compose {
    /// The file with the draft
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The editor for the draft or the result, after Ctrl-O or `e`, and for every other file; by
    /// default the one in EDITOR, else `vi`
    #[arg(long, value_name = "EDITOR", value_hint = ValueHint::CommandString)]
    then: Option<OsString>,
    // Gemini CLI adds these for editors that need them, which it knows by parts of the command:
    // `/home/vivian/…` is `vi` to it.
    #[arg(short = 'i', hide = true)]
    _viminfo: Option<OsString>,
    #[arg(long = "wait", short = 'w', hide = true)]
    _waits: bool,
}

/// What is left to do after a draft was changed, or left alone.
enum NextStep {
    Nothing,
    /// Open the draft in the editor. The sentence says what the draft is by then.
    OpenEditor(&'static str),
}

impl Compose {
    pub(super) fn run(
        self,
        source: anyhow::Result<&PromptSource>,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let agent = Agent::of_draft(&self.file).filter(|_| pick::can_draw());
        let Some(drafts) = agent.and_then(|agent| agent.drafts.as_ref()) else {
            return self.open_editor();
        };
        if let Err(message) = self.compose(source, drafts.terminal_modes, reporter) {
            // If the message cannot be shown either, the draft is right all the same.
            _ = pick::show_message(&message, "Any key: go on", drafts.terminal_modes);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Changes the draft, and opens it in the editor if the person wants to. `terminal` restores
    /// what the agent had switched on.
    ///
    /// # Errors
    /// A message that says what failed and what the draft is now.
    fn compose(
        &self,
        source: anyhow::Result<&PromptSource>,
        terminal: &'static str,
        reporter: &Reporter,
    ) -> Result<(), String> {
        let next_step = self
            .change(source, terminal, reporter)
            .map_err(|error| format!("{error:#}\n\nThe draft is as it was."))?;
        if let NextStep::OpenEditor(draft_state) = next_step {
            self.open_editor()
                .map_err(|error| format!("{error:#}\n\n{draft_state}"))?;
        }
        Ok(())
    }

    /// Replaces the draft by what the person chooses, or leaves it alone.
    fn change(
        &self,
        source: anyhow::Result<&PromptSource>,
        terminal: &'static str,
        reporter: &Reporter,
    ) -> anyhow::Result<NextStep> {
        let view = source?.library().view();
        let old = self.read_draft()?;
        let draft = str::from_utf8(&old).context("the draft is not UTF-8")?;
        let choice = match expand_commands(&view, draft)? {
            Some(expanded) => confirm(expanded, terminal)?,
            None => pick_prompt(&view, draft, terminal, reporter)?,
        };
        match choice {
            Choice::Nothing | Choice::Copy(_) => Ok(NextStep::Nothing),
            Choice::EditDraft => Ok(NextStep::OpenEditor("The draft is as it was.")),
            Choice::Use(text) => {
                self.replace_draft(&old, &text)?;
                Ok(NextStep::Nothing)
            }
            Choice::Edit(text) => {
                self.replace_draft(&old, &text)?;
                Ok(NextStep::OpenEditor("The draft is the expansion now."))
            }
        }
    }

    fn read_draft(&self) -> anyhow::Result<Vec<u8>> {
        let draft = read_regular(&self.file, MAX_FILE).context("the draft cannot be read")?;
        let is_read_only = fs::symlink_metadata(&self.file)?.permissions().readonly();
        ensure!(!is_read_only, "the draft is read-only");
        Ok(draft)
    }

    /// Replaces the draft, if it is still what was read.
    fn replace_draft(&self, old: &[u8], text: &str) -> anyhow::Result<()> {
        let text = text.trim_end_matches('\n'); // opencode would send a newline at the end
        let is_replaced =
            replace_if_unchanged(&self.file, old, text).context("the draft cannot be written")?;
        ensure!(
            is_replaced,
            "another program has changed the draft meanwhile"
        );
        Ok(())
    }

    /// Opens the file in the editor, and returns the exit status of that.
    fn open_editor(&self) -> anyhow::Result<ExitCode> {
        let ended =
            text_editor::open_with(&self.editor(), &self.file, "name another one with --then")?;
        let code = ended.status.code().unwrap_or(1);
        Ok(ExitCode::from(code as u8))
    }

    /// Returns the command of the editor: of --then, else of EDITOR, unless that is `compose`
    /// again.
    fn editor(&self) -> OsString {
        let editor = self.then.clone().or_else(|| std::env::var_os("EDITOR"));
        match editor {
            Some(editor) if !editor.is_empty() && !text_editor::is_compose(&editor) => editor,
            _ if cfg!(windows) => "notepad".into(),
            _ => "vi".into(),
        }
    }
}

/// Expands each command of a draft in its place. Mentions stay for the hook. Returns `None` if the
/// draft has no command.
fn expand_commands(view: &View, draft: &str) -> anyhow::Result<Option<ExpandedPrompt>> {
    let mut text = String::new();
    let mut warnings = Vec::new();
    let mut last_range: Option<Range<usize>> = None;
    for invocation in hook::invocations(view, draft) {
        if invocation.form == InvocationForm::Mention {
            continue;
        }
        match &last_range {
            // Commands of one stack, such as `:review :security`, have one range.
            Some(range) if *range == invocation.range => text += "\n\n",
            Some(range) => text += &draft[range.end..invocation.range.start],
            None => text += &draft[..invocation.range.start],
        }
        let request = CallRequest {
            command: invocation.found.name.to_string(),
            input: vec![invocation.input.to_owned()],
            ..CallRequest::default()
        };
        let expanded = pick::expand(&invocation.found, &request).map_err(anyhow::Error::msg)?;
        text += expanded.prompt.trim_end_matches('\n');
        warnings.extend(expanded.warnings);
        last_range = Some(invocation.range);
    }
    let Some(range) = last_range else {
        return Ok(None);
    };
    text += &draft[range.end..];
    warnings.extend(hook_warning(view, draft, &text));
    Ok(Some(ExpandedPrompt {
        prompt: text,
        warnings,
    }))
}

/// Uses an expanded draft; asks before that if there are warnings.
fn confirm(expanded: ExpandedPrompt, terminal: &str) -> anyhow::Result<Choice> {
    if !expanded.warnings.is_empty() {
        let message = expanded.warnings.join("\n\n");
        let key_help = "Any key: go on. Esc: keep the draft.";
        if pick::show_message(&message, key_help, terminal)? == Answer::Cancel {
            return Ok(Choice::Nothing);
        }
    }
    Ok(Choice::Use(expanded.prompt))
}

/// Lets the person pick a prompt, whose input is the draft. If the draft begins with a misspelled
/// command, that is searched for, and what follows it is the input.
fn pick_prompt(
    view: &View,
    draft: &str,
    terminal: &'static str,
    reporter: &Reporter,
) -> anyhow::Result<Choice> {
    let draft = draft.trim_end_matches(['\n', '\r']);
    let mut query = "";
    let mut input = draft;
    if let Some(name) = hook::misspelled_name(view, draft)
        && let Some((_, text)) = draft.split_once(name)
    {
        query = name;
        input = text.trim_start();
    }
    let purpose = Purpose {
        text: input.to_owned(),
        is_draft: true,
        exit_sequence: terminal,
    };
    pick::choose(
        view,
        query,
        purpose,
        &|found, request| {
            let mut expanded = pick::expand(found, request)?;
            expanded
                .warnings
                .extend(hook_warning(view, draft, &expanded.prompt));
            Ok(expanded)
        },
        reporter,
    )
}

/// Warns of commands and mentions in an expansion that are not in the draft: when the person sends
/// the text, the hook expands them, too.
fn hook_warning(view: &View, draft: &str, expansion: &str) -> Option<String> {
    let in_draft = invoked_names(view, draft);
    let in_expansion = invoked_names(view, expansion);
    let mut new = Vec::new();
    for name in in_expansion.difference(&in_draft) {
        new.push(format!(":{name}"));
    }
    if new.is_empty() {
        return None;
    }
    let names = and_list(&new);
    Some(format!(
        "The text has {names}, which the agent's hook expands when you send it."
    ))
}

/// Returns the names of the commands and mentions in a text.
fn invoked_names<'t>(view: &View, text: &'t str) -> BTreeSet<&'t str> {
    let invocations = hook::invocations(view, text);
    invocations
        .into_iter()
        .map(|invocation| invocation.name)
        .collect()
}
