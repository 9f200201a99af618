//! `prompt-expander pick`: finds a prompt while one types, asks for its values, and prints what it
//! expands to.
//!
//! `pick/state.rs` knows what each key does, `pick/frame.rs` what is shown, and `pick/terminal.rs`
//! how it gets there; `pick/plain.rs` asks line by line instead. `compose` uses the same picker for
//! the draft of a message.

mod frame;
mod keys;
mod plain;
mod state;
#[cfg_attr(windows, path = "pick/console.rs")]
mod terminal;

pub(super) use state::{Choice, Expand, Purpose};
pub(super) use terminal::has_terminal;

use super::output::Reporter;
use super::source::PromptSource;
use super::{call, clipboard, output, text_editor};
use crate::api;
use crate::library::{Found, View};
use crate::prompt::Call;
use crate::wording::count;
use anyhow::{Context, bail};
use clap::Args;
use keys::Key;
use state::{Action, Choices, Chosen, State, Step};
use std::io;
use std::process::ExitCode;
use terminal::{Lines, Terminal};

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
        if !has_terminal() {
            bail!(
                "`pick` needs a terminal; without one, use `prompt-expander list` and `prompt-expander expand NAME`"
            );
        }
        let library = source.library_with_warnings(reporter);
        let view = library.view();
        let purpose = Purpose {
            text: call::piped(reporter)?,
            ..Purpose::default()
        };
        let expand: Expand<'_> = if self.print_command {
            &command
        } else {
            &expansion
        };
        match choose(&view, &self.query.join(" "), purpose, expand, reporter)? {
            Choice::Nothing | Choice::Edit(_) => return Ok(ExitCode::FAILURE),
            Choice::Copy(text) => {
                clipboard::copy(&text, reporter)?;
                reporter.note(&format!(
                    "copied {}",
                    count(text.chars().count(), "character")
                ));
            }
            Choice::Use(text) => {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                output::print_verbatim(format!("{text}{end}").as_bytes())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What an agent would get.
pub(super) fn expansion(
    found: &Found,
    call: &api::CallRequest,
) -> Result<(String, Vec<String>), String> {
    let expansion = api::expand(found, call).map_err(|why| why.to_string())?;
    Ok((expansion.prompt, expansion.warnings))
}

/// What to type for it.
fn command(found: &Found, call: &api::CallRequest) -> Result<(String, Vec<String>), String> {
    let prompt = found.prompt().map_err(|why| why.to_string())?;
    let input = call.input.join(" ");
    let line = prompt.typed(&prompt.bind(Call::Named {
        values: &call.arguments,
        input: &input,
        is_strict: false,
    }));
    let line = line.ok_or(
        "no command gives these values; without --print-command, the expansion is printed",
    )?;
    Ok((line, Vec::new()))
}

/// Lets a person choose a prompt on the terminal, and fill it in.
///
/// # Errors
/// The terminal or the editor fails.
pub(super) fn choose(
    view: &View,
    query: &str,
    purpose: Purpose,
    expand: Expand<'_>,
    reporter: &Reporter,
) -> anyhow::Result<Choice> {
    let Purpose {
        is_draft, after, ..
    } = purpose;
    let mut state = State::new(Choices::of(view), query, purpose);
    loop {
        let choice = match terminal::is_plain() {
            true => Lines::new().and_then(|mut lines| lines.choose(&mut state, expand)),
            false => Terminal::new(after).and_then(|terminal| drawn(terminal, &mut state, expand)),
        };
        match choice.context("the terminal cannot be used")? {
            Choice::Edit(Some(text)) if !is_draft => match text_editor::edited(&text, reporter) {
                Ok((text, _)) => {
                    state.step = Step::Chosen(Chosen {
                        text,
                        notes: Vec::new(),
                        top: 0,
                    })
                }
                Err(why) => state.note = format!("{why:#}"),
            },
            choice => return Ok(choice),
        }
    }
}

/// Draws and reads keys until something is decided.
fn drawn(mut terminal: Terminal, state: &mut State, expand: Expand<'_>) -> io::Result<Choice> {
    loop {
        let key = terminal.key(|columns, rows| state.frame(columns, rows))?;
        let mut action = state.key(&key);
        if let Action::Expand(found, call) = &action {
            if found
                .prompt()
                .is_ok_and(|prompt| prompt.is_rendered_by_service())
            {
                state.note = "asking the service …".to_owned();
                terminal.draw(|columns, rows| state.frame(columns, rows))?;
                state.note.clear();
            }
            action = state.expanded(expand(found, call));
        }
        if let Action::End(choice) = action {
            return Ok(choice);
        }
    }
}

/// Says something on the terminal, with what the keys do, and waits until the person has read it;
/// returns `false` for Esc or Ctrl-C. `after` is written at the end.
pub(super) fn tell(text: &str, keys: &str, after: &str) -> io::Result<bool> {
    if terminal::is_plain() {
        return Lines::new()?.tell(text);
    }
    let key =
        Terminal::new(after)?.key(|columns, rows| frame::of_message(text, keys, columns, rows))?;
    Ok(!matches!(key, Key::Escape | Key::Control('c')))
}
