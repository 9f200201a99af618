//! The picker by questions and answers, each a line, where nothing can be drawn.

use super::state::{Choice, Choices, Expand, Form, Purpose, State};
use crate::cli::output::one_line;
use crate::wording::{is_control, printable, quoted};
use std::io::{self, BufRead, Write};

/// How many prompts are listed at once.
const LISTED: usize = 15;

/// Questions and answers on a terminal.
pub(super) struct Dialog {
    pub(super) input: Box<dyn BufRead>,
    pub(super) output: Box<dyn Write>,
}

impl Dialog {
    /// Prints a text, without what a terminal acts on.
    fn say(&mut self, text: &str) -> io::Result<()> {
        let text: String = text.chars().filter(|letter| *letter == '\n' || !is_control(*letter)).collect();
        self.output.write_all(text.as_bytes())?;
        self.output.flush()
    }

    /// Asks, and reads a line; `None` at the end of input, and after Ctrl-C on a terminal that gives it as a letter.
    fn ask(&mut self, question: &str) -> io::Result<Option<String>> {
        self.say(question)?;
        let mut line = String::new();
        let length = self.input.read_line(&mut line)?;
        Ok((length > 0 && !line.contains('\x03')).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Lets a person choose a prompt, and asks for its values.
    pub(super) fn choose(
        &mut self,
        choices: Choices,
        query: &str,
        purpose: Purpose,
        expand: Expand<'_>,
    ) -> io::Result<Choice> {
        let is_draft = purpose.is_draft;
        let mut state = State::new(choices, query, purpose);
        loop {
            self.list(&state)?;
            let Some(answer) = self.ask("Number, or words to search (empty: end): ")? else {
                return Ok(Choice::Nothing);
            };
            let index =
                answer.trim().parse().ok().filter(|number| (1..=LISTED.min(state.matching.len())).contains(number));
            let Some(number) = index else {
                if answer.trim().is_empty() {
                    return Ok(Choice::Nothing);
                }
                state = State::new(state.choices, &answer, state.purpose);
                continue;
            };
            state.selected = number - 1;
            let Some(found) = state.selected().cloned() else { continue };
            let chosen = match Form::new(found.clone(), &state.purpose.text) {
                Ok(form) => match self.fill_in(form)? {
                    Some(form) => expand(&found, &form.call()),
                    None => return Ok(Choice::Nothing),
                },
                Err(why) => Err(why.to_string()),
            };
            let (text, notes) = match chosen {
                Ok(chosen) => chosen,
                Err(why) => {
                    self.say(&format!("{}\n\n", one_line(&why)))?;
                    continue;
                }
            };
            notes.iter().try_for_each(|note| self.say(&format!("{}\n", one_line(note))))?;
            if is_draft && notes.is_empty() {
                return Ok(Choice::Use(text));
            }
            self.say(&format!("\n{text}\n\n"))?;
            let question = if is_draft {
                "Enter: use it, e: editor, q: end: "
            } else {
                "Enter: print it, c: copy, e: editor, q: end: "
            };
            return Ok(match self.ask(question)?.as_deref().map(str::trim) {
                Some("") => Choice::Use(text),
                Some("c") if !is_draft => Choice::Copy(text),
                Some("e") => Choice::Edit(Some(text)),
                _ => Choice::Nothing,
            });
        }
    }

    fn list(&mut self, state: &State) -> io::Result<()> {
        for (number, index) in state.matching.iter().take(LISTED).enumerate() {
            let found = &state.choices.found[*index];
            let about = found.info().summary.ok().and_then(|summary| summary.description.clone()).unwrap_or_default();
            self.say(&format!("{:2} :{}  {}\n", number + 1, found.name, one_line(&about)))?;
        }
        match state.matching.len().saturating_sub(LISTED) {
            0 if state.matching.is_empty() => self.say(&format!("no prompt matches {}\n", quoted(&state.query.text))),
            0 => Ok(()),
            more => self.say(&format!("   and {more} more\n")),
        }
    }

    /// Asks for each value; an empty line leaves it as it is. `None`: the input has ended.
    fn fill_in(&mut self, mut form: Form) -> io::Result<Option<Form>> {
        for field in &mut form.fields {
            let choices = Some(field.choices.join(", ")).filter(|choices| !choices.is_empty());
            let about = [Some(field.about.clone()).filter(|about| !about.is_empty()), choices];
            let about: Vec<String> = about.into_iter().flatten().collect();
            let about = if about.is_empty() { String::new() } else { format!(" ({})", one_line(&about.join("; "))) };
            let value = match field.input.text.as_str() {
                "" => String::new(),
                value => format!(" [{}]", one_line(value)),
            };
            let name = printable(&field.name);
            loop {
                let Some(answer) = self.ask(&format!("{name}{about}{value}: "))? else { return Ok(None) };
                if !answer.is_empty() {
                    field.input.text = answer;
                }
                if !(field.is_needed && field.input.text.is_empty()) {
                    break;
                }
            }
        }
        Ok(Some(form))
    }

    /// Says something, and waits until the person has read it.
    pub(super) fn tell(&mut self, text: &str) -> io::Result<bool> {
        Ok(self.ask(&format!("{text}\nPress Enter. "))?.is_some())
    }
}
