//! `prompt-expander pick`: finds a prompt while one types, asks for its values, and prints what it
//! expands to.
//!
//! `pick/state.rs` knows what each key does, `pick/frame.rs` what is shown, and `pick/terminal.rs`
//! how it gets there. `compose` uses the same picker for the draft of a message.

mod choices;
mod form;
mod frame;
mod keys;
mod state;
#[cfg_attr(windows, path = "pick/console.rs")]
mod terminal;

pub(super) use state::{Choice, Expander, Purpose};
pub(super) use terminal::can_draw;

use super::expand::print_expansion;
use super::output::Reporter;
use super::source_options::PromptSource;
use super::{call, clipboard, text_editor};
use crate::api::{self, CallRequest, ExpandedPrompt};
use crate::library::{Found, View};
use crate::prompt::Call;
use anyhow::{Context, bail};
use choices::Choices;
use clap::Args;
use keys::Key;
use state::{Chosen, Effect, State, Step};
use std::io;
use std::process::ExitCode;
use terminal::Terminal;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander pick
  prompt-expander pick review | wc -w
  git diff | prompt-expander pick          the prompt gets the text
  prompt-expander pick --print-command     :compare Rust or Go criteria=speed";

#[derive(Debug, Default, Args)]
pub(super) struct Pick {
    /// What to search for at first: words of names, titles, tags or descriptions
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Print the command to type in a chat, such as `:compare Rust or Go criteria=speed`, instead
    /// of the expansion
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
        match choose(&view, &query, purpose, expander, reporter)? {
            // `choose` has opened the editor for `Edit`, and only `compose` has a draft to edit.
            Choice::Nothing | Choice::Edit(_) | Choice::EditDraft => return Ok(ExitCode::FAILURE),
            Choice::Copy(text) => reporter.note(&clipboard::copy(&text)?),
            Choice::Use(text) => print_expansion(&text)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the text that an agent would get for a call; the error is a message for a person.
pub(super) fn expand(found: &Found, request: &CallRequest) -> Result<ExpandedPrompt, String> {
    api::expand(found, request).map_err(|diagnostic| diagnostic.to_string())
}

/// Returns the command that makes this call if it is typed in a chat:
/// `:compare Rust or Go criteria=speed`.
///
/// # Errors
/// The prompt is broken, or no command gives it these values. The error is a message for a person.
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
    let command = prompt.typed(&binding).ok_or(
        "no command gives these values; without --print-command, the expansion is printed",
    )?;
    Ok(ExpandedPrompt {
        prompt: command,
        warnings: Vec::new(),
    })
}

/// Lets a person choose a prompt on the terminal and fill it in. If the text is not for a draft,
/// the person can edit it in the editor and then comes back to it.
///
/// # Errors
/// The terminal fails.
pub(super) fn choose(
    view: &View,
    query: &str,
    purpose: Purpose,
    expander: Expander<'_>,
    reporter: &Reporter,
) -> anyhow::Result<Choice> {
    let is_draft = purpose.is_draft;
    let mut state = State::new(Choices::new(view), query, purpose);
    loop {
        let choice = read_choice(&mut state, expander).context("the terminal cannot be used")?;
        match choice {
            Choice::Edit(text) if !is_draft => edit(&mut state, &text, reporter),
            _ => return Ok(choice),
        }
    }
}

/// Draws the picker and reads keys until a person has decided. Expands prompts with `expander`.
fn read_choice(state: &mut State, expander: Expander<'_>) -> io::Result<Choice> {
    let mut terminal = Terminal::new(state.purpose.after)?;
    loop {
        let key = terminal.key(|columns, rows| state.frame(columns, rows))?;
        let mut effect = state.press(&key);
        if let Effect::Expand(found, request) = &effect {
            // A service may take seconds to answer.
            if is_rendered_by_service(found) {
                state.note = "asking the service …".to_owned();
                terminal.draw(|columns, rows| state.frame(columns, rows))?;
                state.note.clear();
            }
            effect = state.show_result(expander(found, request));
        }
        if let Effect::End(choice) = effect {
            return Ok(choice);
        }
    }
}

fn is_rendered_by_service(found: &Found) -> bool {
    found
        .prompt()
        .is_ok_and(|prompt| prompt.is_rendered_by_service())
}

/// Opens the chosen text in the editor, and shows what was saved in its place. If the editor fails,
/// a note says why, and the text stays.
fn edit(state: &mut State, text: &str, reporter: &Reporter) {
    match text_editor::edit_text(text, reporter) {
        Ok(edited) => {
            state.step = Step::Chosen(Chosen {
                text: edited.text,
                warnings: Vec::new(),
                top: 0,
            });
        }
        Err(error) => state.note = format!("{error:#}"),
    }
}

/// What a person answers to a message.
#[derive(PartialEq)]
pub(super) enum Answer {
    GoOn,
    Cancel,
}

/// Shows a message on the terminal, with a line that says what the keys do, until a key is pressed.
/// Esc and Ctrl-C cancel, all other keys go on. `after` is written to the terminal at the end.
pub(super) fn tell(message: &str, key_help: &str, after: &str) -> io::Result<Answer> {
    let mut terminal = Terminal::new(after)?;
    let key =
        terminal.key(|columns, rows| frame::message_frame(message, key_help, columns, rows))?;
    if matches!(key, Key::Escape | Key::Control('c')) {
        return Ok(Answer::Cancel);
    }
    Ok(Answer::GoOn)
}
