//! The picker by questions and answers, each a line, where nothing can be drawn.

use super::keys::{Input, Key};
use super::state::{Action, Choice, Expand, Field, State, Step};
use super::terminal::Lines;
use crate::cli::output::one_line;
use crate::wording::{printable, visible};
use std::io;

/// How many prompts are listed at once.
const LISTED: usize = 15;

impl Lines {
    /// Prints a text.
    fn say(&mut self, text: &str) -> io::Result<()> {
        self.output.write_all(visible(text).as_bytes())?;
        self.output.flush()
    }

    /// Asks, and reads a line; `None` at the end of input, and after Ctrl-C on a terminal that
    /// gives it as a letter.
    fn ask(&mut self, question: &str) -> io::Result<Option<String>> {
        self.say(question)?;
        let mut line = String::new();
        let length = self.input.read_line(&mut line)?;
        Ok((length > 0 && !line.contains('\x03'))
            .then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Asks until something is decided. Each answer becomes a key.
    pub(super) fn choose(&mut self, state: &mut State, expand: Expand<'_>) -> io::Result<Choice> {
        loop {
            if !state.note.is_empty() {
                self.say(&format!("{}\n\n", one_line(&state.note)))?;
            }
            let question = match &state.step {
                Step::List => self.list(state)?,
                Step::Form(form) => question(&form.fields[form.current]),
                Step::Chosen(chosen) => {
                    let notes: String = chosen
                        .notes
                        .iter()
                        .map(|note| one_line(note) + "\n")
                        .collect();
                    let copy = if state.purpose.is_draft {
                        "use it"
                    } else {
                        "print it, c: copy"
                    };
                    format!(
                        "{notes}\n{}\n\nEnter: {copy}, e: editor, q: end: ",
                        chosen.text
                    )
                }
            };
            let Some(answer) = self.ask(&question)? else {
                return Ok(Choice::Nothing);
            };
            let key = match &mut state.step {
                Step::List if answer.trim().is_empty() => Key::Escape,
                Step::List => match answer.trim().parse() {
                    Ok(number) if (1..=LISTED.min(state.matching.len())).contains(&number) => {
                        state.selected = number - 1;
                        Key::Tab
                    }
                    _ => {
                        state.key(&Key::Control('u'));
                        Key::Pasted(answer)
                    }
                },
                Step::Form(form) => {
                    let is_last = form.current + 1 == form.fields.len();
                    let field = &mut form.fields[form.current];
                    if !answer.is_empty() {
                        field.input = Input::of(answer);
                    }
                    if is_last || field.is_missing() {
                        Key::Enter
                    } else {
                        Key::Tab
                    }
                }
                Step::Chosen(_) => answer
                    .trim()
                    .chars()
                    .next()
                    .map_or(Key::Enter, Key::Character),
            };
            let mut action = state.key(&key);
            if let Action::Expand(found, call) = &action {
                action = state.expanded(expand(found, call));
            }
            if let Action::End(choice) = action {
                return Ok(choice);
            }
        }
    }

    /// Prints the first prompts that match; returns the question.
    fn list(&mut self, state: &mut State) -> io::Result<String> {
        state.update();
        for (number, index) in state.matching.iter().take(LISTED).enumerate() {
            let found = &state.choices.found[*index];
            let about = found
                .info()
                .summary
                .ok()
                .and_then(|summary| summary.description.clone())
                .unwrap_or_default();
            self.say(&format!(
                "{:2} :{}  {}\n",
                number + 1,
                found.name,
                one_line(&about)
            ))?;
        }
        match state.matching.len().saturating_sub(LISTED) {
            0 if state.matching.is_empty() => self.say(&format!("{}\n", state.why_empty()))?,
            0 => {}
            more => self.say(&format!("   and {more} more\n"))?,
        }
        Ok("Number, or words to search (empty: end): ".to_owned())
    }

    /// Says something, and waits until the person has read it.
    pub(super) fn tell(&mut self, text: &str) -> io::Result<bool> {
        Ok(self.ask(&format!("{text}\nPress Enter. "))?.is_some())
    }
}

/// What asks for a value; an empty answer leaves it as it is.
fn question(field: &Field) -> String {
    let about = [&field.about, &field.choices.join(", ")].map(|text| one_line(text));
    let about: Vec<&str> = about
        .iter()
        .map(String::as_str)
        .filter(|about| !about.is_empty())
        .collect();
    let about = if about.is_empty() {
        String::new()
    } else {
        format!(" ({})", about.join("; "))
    };
    let value = one_line(&field.input.text);
    let value = if value.is_empty() {
        value
    } else {
        format!(" [{value}]")
    };
    format!("{}{about}{value}: ", printable(&field.name))
}
