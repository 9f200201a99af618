//! `prompt-expander pick`: an interactive picker. The user searches for a prompt, fills in its
//! arguments, and gets the expansion. `compose` uses the same picker for the draft of a message.
//!
//! `pick/state.rs` handles keys, `pick/frame.rs` lays out the screen, and `pick/terminal.rs` draws
//! it.

mod choices;
mod form;
mod frame;
mod keys;
mod state;
#[cfg_attr(windows, path = "pick/console.rs")]
mod terminal;

pub(super) use choices::Choices;
pub(super) use state::{Choice, Expander, Picked, Purpose};
#[cfg(feature = "openapi")]
pub(super) use terminal::ask_for_secret;
pub(super) use terminal::can_draw;

use super::expand::print_expansion;
use super::output::Reporter;
use super::source_options::PromptSource;
use super::{call, clipboard, text_editor};
use crate::api::{self, CallRequest, ExpandedPrompt};
use crate::library::{Found, View};
use crate::prompt::Call;
use crate::usage::UsageCounts;
use anyhow::{Context, bail};
use clap::Args;
use state::{Chosen, Effect, State, Step};
use std::io;
use std::process::ExitCode;
use terminal::Terminal;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander pick
  prompt-expander pick review | wc -w
  git diff | prompt-expander pick        use the output of git as the input
  prompt-expander pick --print-command   print what to type in a chat";

#[derive(Debug, Default, Args)]
pub(super) struct Pick {
    /// The initial search: words in names, titles, tags or descriptions
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Instead of the expansion, print what to type in a chat, such as `:compare Rust or Go
    /// criteria=speed`
    #[arg(long)]
    print_command: bool,
}

impl Pick {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        if !can_draw() {
            bail!(
                "`pick` needs a terminal that it can draw on; use `prompt-expander list` and `prompt-expander expand NAME` instead"
            );
        }
        let view = source.library_with_warnings(reporter).view();
        let purpose = Purpose {
            text: call::piped(reporter)?,
            ..Purpose::default()
        };
        let query = self.query.join(" ");
        let expander: Expander<'_> = if self.print_command {
            &command_to_type
        } else {
            &expand
        };
        let choices = Choices::new(&view, &source.recent_uses());
        let Picked { choice, expanded } = choose(choices, &query, purpose, expander, reporter)?;
        match choice {
            // `choose` itself handles `Edit`, and `EditDraft` only occurs with a draft.
            Choice::Nothing | Choice::Edit(_) | Choice::EditDraft => return Ok(ExitCode::FAILURE),
            Choice::Copy(text) => reporter.note(&clipboard::copy(&text)?),
            Choice::Use(text) => print_expansion(&text)?,
        }
        if !self.print_command {
            source.count_uses(&expanded);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The [`Expander`] that returns the expansion of a prompt.
pub(super) fn expand(found: &Found, request: &CallRequest) -> Result<ExpandedPrompt, String> {
    api::expand(found, request).map_err(|diagnostic| diagnostic.to_string())
}

/// The [`Expander`] that returns the command to type in a chat, e.g.
/// `:compare Rust or Go criteria=speed`.
///
/// # Errors
/// Fails if the prompt is broken, or these values can't be written as a command.
fn command_to_type(found: &Found, request: &CallRequest) -> Result<ExpandedPrompt, String> {
    let prompt = found
        .prompt()
        .map_err(|diagnostic| diagnostic.to_string())?;
    let input = request.input.join(" ");
    let binding = prompt.bind(Call::Named {
        values: &request.arguments,
        input: &input,
        is_strict: false,
    });
    let command = prompt.command_for(&binding).ok_or(
        "these values cannot be written as a command. Omit --print-command to print the expansion",
    )?;
    Ok(ExpandedPrompt {
        prompt: command,
        warnings: Vec::new(),
    })
}

/// Runs the picker on the terminal until the user makes a choice.
///
/// Never returns [`Choice::Edit`] unless the text is for a draft. Otherwise, opens the editor, and
/// then continues with the edited text.
///
/// # Errors
/// Fails if the terminal can't be used.
pub(super) fn choose(
    choices: Choices,
    query: &str,
    purpose: Purpose,
    expander: Expander<'_>,
    reporter: &Reporter,
) -> anyhow::Result<Picked> {
    let is_draft = purpose.is_draft;
    let mut state = State::new(choices, query, purpose);
    let mut expanded = Vec::new();
    loop {
        let picked = read_choice(&mut state, expander).context("the terminal cannot be used")?;
        if !picked.expanded.is_empty() {
            expanded = picked.expanded;
        }
        match picked.choice {
            // The edited text is still the expansion of these prompts.
            Choice::Edit(text) if !is_draft => edit(&mut state, &text, reporter),
            choice => return Ok(Picked { choice, expanded }),
        }
    }
}

/// Draws the picker and handles keys until the user makes a choice. Returns no expanded prompt if
/// the chosen text was already shown at the beginning.
fn read_choice(state: &mut State, expander: Expander<'_>) -> io::Result<Picked> {
    let mut expanded = Vec::new();
    let mut terminal = Terminal::new(state.purpose.exit_sequence)?;
    loop {
        let key = terminal.read_key(|columns, rows| state.frame(columns, rows))?;
        let mut effect = state.press(&key);
        if let Effect::Expand(found, request) = &effect {
            // A service may take seconds to answer.
            if is_rendered_by_service(found) {
                state.note = "asking the service …".to_owned();
                terminal.draw(|columns, rows| state.frame(columns, rows))?;
                state.note.clear();
            }
            expanded = vec![found.clone()];
            effect = state.show_result(expander(found, request));
        }
        if let Effect::End(choice) = effect {
            return Ok(Picked { choice, expanded });
        }
    }
}

fn is_rendered_by_service(found: &Found) -> bool {
    found
        .prompt()
        .is_ok_and(|prompt| prompt.is_rendered_by_service())
}

/// Opens the chosen text in the editor, and shows the edited text instead. If the editor fails,
/// keeps the text, and shows the error as a note.
fn edit(state: &mut State, text: &str, reporter: &Reporter) {
    match text_editor::edit_text(text, reporter) {
        Ok(edited) => {
            state.step = Step::Chosen(Chosen {
                text: edited.text,
                warnings: Vec::new(),
                top_row: 0,
            });
        }
        Err(error) => state.note = format!("{error:#}"),
    }
}

/// Shows an expansion of the draft until the user uses, edits or rejects it.
///
/// # Errors
/// Fails if the terminal can't be used.
pub(super) fn confirm(
    view: &View,
    expanded: ExpandedPrompt,
    purpose: Purpose,
) -> anyhow::Result<Choice> {
    let choices = Choices::new(view, &UsageCounts::default());
    let mut state = State::new(choices, "", purpose).with_expansion(expanded);
    let picked = read_choice(&mut state, &expand).context("the terminal cannot be used")?;
    Ok(picked.choice)
}

/// Shows a message on the terminal until a key is pressed. `exit_sequence` is
/// [`Purpose::exit_sequence`].
pub(super) fn show_message(message: &str, exit_sequence: &str) -> io::Result<()> {
    let mut terminal = Terminal::new(exit_sequence)?;
    terminal.read_key(|columns, rows| {
        frame::message_frame(message, "Press any key to continue", columns, rows)
    })?;
    Ok(())
}
