//! `prompt-expander compose`: the editor that an agent opens for the draft of a message.
//!
//! The draft is replaced in one step, by a rename, or left alone: it is never written in place,
//! copied elsewhere or sent. An agent shows neither exit statuses nor standard error, so what there
//! is to say is said on the screen, and the status is 0. `agents/drafts.rs` has what is known of
//! the agents.

use super::output::Reporter;
use super::pick::{self, Choice, Purpose};
use super::source::PromptSource;
use super::text_editor;
use crate::agents::Agent;
use crate::api;
use crate::hook::{self, Form};
use crate::library::{Found, View, read_regular, replace};
use crate::prompt::MAX_FILE;
use crate::wording::all_of;
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

const ASKED: &str = "Any key: go on. Esc: keep the draft.";

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

impl Compose {
    pub(super) fn run(
        self,
        source: anyhow::Result<&PromptSource>,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let agent = Agent::of_draft(&self.file).filter(|_| pick::has_terminal());
        let Some(drafts) = agent.and_then(|agent| agent.drafts.as_ref()) else {
            return self.open_editor();
        };
        let said = match self.change(source, drafts.terminal, reporter) {
            Ok(None) => None,
            Ok(Some(now)) => self
                .open_editor()
                .err()
                .map(|why| format!("{why:#}\n\n{now}")),
            Err(why) => Some(format!("{why:#}\n\nThe draft is as it was.")),
        };
        // If it cannot be said either, the draft is right all the same.
        _ = said.map(|said| pick::tell(&said, "Any key: go on", drafts.terminal));
        Ok(ExitCode::SUCCESS)
    }

    /// Replaces the draft, or leaves it alone. If the editor is to be opened, returns what the
    /// draft is by then.
    fn change(
        &self,
        source: anyhow::Result<&PromptSource>,
        terminal: &'static str,
        reporter: &Reporter,
    ) -> anyhow::Result<Option<&'static str>> {
        let library = source?.library();
        let view = library.view();
        let old = read_regular(&self.file, MAX_FILE).context("the draft cannot be read")?;
        let is_read_only = fs::symlink_metadata(&self.file)?.permissions().readonly();
        ensure!(!is_read_only, "the draft is read-only");
        let draft = str::from_utf8(&old).context("the draft is not UTF-8")?;
        let expand = |found: &Found, call: &api::CallRequest| {
            let (text, mut notes) = pick::expansion(found, call)?;
            notes.extend(taken_by_hook(&view, draft, &text));
            Ok((text, notes))
        };
        let choice = match in_place(&view, draft)? {
            Some((text, mut notes)) => {
                notes.extend(taken_by_hook(&view, draft, &text));
                match notes.is_empty() || pick::tell(&notes.join("\n\n"), ASKED, terminal)? {
                    true => Choice::Use(text),
                    false => Choice::Nothing,
                }
            }
            None => {
                let draft = draft.trim_end_matches(['\n', '\r']);
                // A misspelled command is searched for, and what follows it is the input.
                let misspelled = hook::misspelled_name(&view, draft)
                    .and_then(|name| Some((name, draft.split_once(name)?.1)));
                let (query, text) =
                    misspelled.map_or(("", draft), |(name, rest)| (name, rest.trim_start()));
                let purpose = Purpose {
                    text: text.to_owned(),
                    is_draft: true,
                    after: terminal,
                };
                pick::choose(&view, query, purpose, &expand, reporter)?
            }
        };
        let (text, is_opened) = match choice {
            Choice::Use(text) => (text, false),
            Choice::Edit(Some(text)) => (text, true),
            Choice::Edit(None) => return Ok(Some("The draft is as it was.")),
            Choice::Nothing | Choice::Copy(_) => return Ok(None),
        };
        // opencode would send a newline at the end.
        let is_unchanged = replace(&self.file, &old, text.trim_end_matches('\n'))
            .context("the draft cannot be written")?;
        ensure!(
            is_unchanged,
            "another program has changed the draft meanwhile"
        );
        Ok(is_opened.then_some("The draft is the expansion now."))
    }

    /// Opens the file in the editor, whose exit status is returned.
    fn open_editor(&self) -> anyhow::Result<ExitCode> {
        let usable = |editor: &OsString| !editor.is_empty() && !text_editor::is_compose(editor);
        let editor = self
            .then
            .clone()
            .or_else(|| std::env::var_os("EDITOR"))
            .filter(usable);
        let editor = editor.unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.into());
        let ended = text_editor::open_with(&editor, &self.file, "name another one with --then")?;
        Ok(ExitCode::from(
            ended.status.code().map_or(1, |code| code as u8),
        ))
    }
}

/// The draft with the text of each command in its place, and what to know of them; `None` if it has
/// no command. Mentions stay.
fn in_place(view: &View, draft: &str) -> anyhow::Result<Option<(String, Vec<String>)>> {
    let (mut text, mut notes) = (String::new(), Vec::new());
    let mut last: Option<Range<usize>> = None;
    for invocation in hook::invocations(view, draft)
        .iter()
        .filter(|it| it.form != Form::Mention)
    {
        let input = vec![invocation.input.to_owned()];
        let call = api::CallRequest {
            command: invocation.found.name.to_string(),
            input,
            ..api::CallRequest::default()
        };
        let (expanded, warnings) =
            pick::expansion(&invocation.found, &call).map_err(anyhow::Error::msg)?;
        text += match &last {
            Some(last) if *last == invocation.range => "\n\n", // of one stack
            _ => &draft[last.map_or(0, |last| last.end)..invocation.range.start],
        };
        text += expanded.trim_end_matches('\n');
        notes.extend(warnings);
        last = Some(invocation.range.clone());
    }
    Ok(last.map(|last| (text + &draft[last.end..], notes)))
}

/// What to say of commands and mentions in a text that are not the draft's own: at Enter, the hook
/// takes them, too.
fn taken_by_hook(view: &View, draft: &str, text: &str) -> Option<String> {
    let known: BTreeSet<&str> = hook::invocations(view, draft)
        .into_iter()
        .map(|it| it.name)
        .collect();
    let taken: BTreeSet<&str> = hook::invocations(view, text)
        .into_iter()
        .map(|it| it.name)
        .collect();
    let taken: Vec<String> = taken
        .difference(&known)
        .map(|name| format!(":{name}"))
        .collect();
    (!taken.is_empty()).then(|| {
        format!(
            "The text has {}, which the agent's hook expands when you send it.",
            all_of(&taken)
        )
    })
}
