//! What the picker shows, and what each key does to it. It knows no terminal.

use super::keys::{Input, Key};
use crate::api;
use crate::cli::output::one_line;
use crate::library::{Found, View, matches, search_text};
use crate::prompt::{Call, Diagnostic, INPUT, Prompt, Summary};
use crate::wording::printable;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// What is known of a prompt in the list.
type Info = Result<Arc<Summary>, Box<Diagnostic>>;

/// The prompts to choose from: their names at once, titles and descriptions as they are read.
pub(super) struct Choices {
    pub(super) found: Arc<[Found]>,
    /// Of the prompts that have been read so far.
    pub(super) infos: Vec<Info>,
    fields: Vec<String>,
    read: Receiver<(String, Info)>,
}

impl Choices {
    /// All prompts: the project's, the user's own, and so on to the built-in ones. Folders are read
    /// at once, files by a thread.
    pub(super) fn of(view: &View) -> Choices {
        let mut found = view.list().found;
        found.sort_by_key(|found| found.layer); // stable: those of a layer stay sorted by name
        let fields = found
            .iter()
            .map(|found| search_text(&found.name, None))
            .collect();
        let (sender, read) = channel();
        let found: Arc<[Found]> = found.into();
        let unread = Arc::clone(&found);
        // If the thread cannot be started, the names alone are searched.
        let _ = thread::Builder::new().spawn(move || {
            unread.iter().all(|found| {
                let info = found.info().summary;
                sender
                    .send((search_text(&found.name, info.as_deref().ok()), info))
                    .is_ok()
            })
        });
        Choices {
            infos: Vec::new(),
            found,
            fields,
            read,
        }
    }

    /// Takes what has been read meanwhile; returns whether there is any.
    fn update(&mut self) -> bool {
        let known = self.infos.len();
        for (fields, info) in self.read.try_iter() {
            self.fields[self.infos.len()] = fields;
            self.infos.push(info);
        }
        self.infos.len() > known
    }
}

/// A value of the form.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) is_needed: bool,
    pub(super) choices: Vec<String>,
    pub(super) input: Input,
}

impl Field {
    /// Whether it needs a value and has none.
    pub(super) fn is_missing(&self) -> bool {
        self.is_needed && self.input.text.trim().is_empty()
    }
}

/// A prompt and the values to fill in, of which there is at least one.
pub(super) struct Form {
    pub(super) found: Found,
    pub(super) prompt: Arc<Prompt>,
    pub(super) fields: Vec<Field>,
    pub(super) current: usize,
}

impl Form {
    /// The fields of a prompt: its arguments, with what this text gives them and their defaults,
    /// and the input.
    ///
    /// # Errors
    /// The prompt is broken.
    pub(super) fn new(found: Found, text: &str) -> Result<Form, Diagnostic> {
        let prompt = found.prompt()?;
        let bound = prompt.bind(Call::Text(text));
        let of_argument =
            |(argument, bound): (&crate::prompt::Argument, &crate::prompt::Bound<'_>)| Field {
                name: argument.name.clone(),
                about: argument.description.clone().unwrap_or_default(),
                is_needed: argument.required,
                choices: argument.choices.clone(),
                input: Input::of(&*bound.value),
            };
        let mut fields: Vec<Field> = prompt
            .arguments
            .iter()
            .zip(&bound.arguments)
            .map(of_argument)
            .collect();
        if prompt.value_names().len() > fields.len() {
            let input = Input::of(bound.input.as_deref().unwrap_or_default());
            let about = "the text for the prompt".to_owned();
            fields.push(Field {
                name: INPUT.to_owned(),
                about,
                is_needed: false,
                choices: Vec::new(),
                input,
            });
        }
        let current = fields
            .iter()
            .position(|field| field.input.text.is_empty())
            .unwrap_or(0);
        Ok(Form {
            found,
            fields,
            current,
            prompt: Arc::clone(&prompt),
        })
    }

    /// The values by name; a text alone for a prompt that declares no arguments. Empty ones are
    /// left out, for their defaults.
    pub(super) fn call(&self) -> api::CallRequest {
        let command = self.found.name.to_string();
        let given = self
            .fields
            .iter()
            .filter(|field| !field.input.text.is_empty());
        let values: BTreeMap<String, String> = given
            .map(|field| (field.name.clone(), field.input.text.clone()))
            .collect();
        match self.prompt.arguments.is_empty() {
            true => api::CallRequest {
                command,
                input: values.into_values().collect(),
                ..api::CallRequest::default()
            },
            false => api::CallRequest {
                command,
                arguments: values,
                ..api::CallRequest::default()
            },
        }
    }

    fn move_by(&mut self, step: isize) {
        let count = self.fields.len() as isize;
        self.current = (self.current as isize + step).rem_euclid(count) as usize;
    }

    /// Selects the next of the choices, or the one before; without choices, the next field or the
    /// one before.
    fn choose_or_move(&mut self, step: isize) {
        let field = &mut self.fields[self.current];
        if field.choices.is_empty() {
            return self.move_by(step);
        }
        let count = field.choices.len() as isize;
        let at = field
            .choices
            .iter()
            .position(|choice| *choice == field.input.text);
        let next = at.map_or(if step > 0 { 0 } else { count - 1 }, |at| {
            (at as isize + step).rem_euclid(count)
        });
        field.input = Input::of(&field.choices[next as usize]);
    }
}

/// What is chosen: the text, and what to know of it.
pub(super) struct Chosen {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
    /// The first row that is shown.
    pub(super) top: usize,
}

pub(super) enum Step {
    List,
    Form(Form),
    Chosen(Chosen),
}

/// What the picker is for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Purpose {
    /// The text for the prompt that is chosen: that of a pipe, or the draft.
    pub(crate) text: String,
    /// Whether it is for a draft, so that the agent shows what was chosen.
    pub(crate) is_draft: bool,
    /// What is written to the terminal at the end.
    pub(crate) after: &'static str,
}

/// What is to be done after a key.
#[derive(Debug)]
pub(super) enum Action {
    None,
    /// The caller expands a call of this prompt, and tells [`State::expanded`].
    Expand(Found, api::CallRequest),
    End(Choice),
}

/// What a call gives: the text, and what to know of it; or why there is none.
pub(crate) type Expand<'e> =
    &'e dyn Fn(&Found, &api::CallRequest) -> Result<(String, Vec<String>), String>;

/// What a person has decided.
#[derive(Debug)]
pub(crate) enum Choice {
    /// Nothing is chosen.
    Nothing,
    Use(String),
    Copy(String),
    /// The caller opens the text in the editor; without a text, the draft as it is.
    Edit(Option<String>),
}

pub(super) struct State {
    pub(super) choices: Choices,
    pub(super) query: Input,
    /// Whether the query has changed since the last search.
    is_edited: bool,
    /// Indices of the prompts that match.
    pub(super) matching: Vec<usize>,
    /// Which of these is selected.
    pub(super) selected: usize,
    pub(super) step: Step,
    /// Why the last key had no effect.
    pub(super) note: String,
    pub(super) purpose: Purpose,
    /// Where a person was before the text was chosen.
    form: Option<Form>,
}

impl State {
    pub(super) fn new(choices: Choices, query: &str, purpose: Purpose) -> State {
        let (matching, query, note) = (
            matches(query, &choices.fields),
            Input::of(query),
            String::new(),
        );
        State {
            choices,
            query,
            is_edited: false,
            matching,
            selected: 0,
            step: Step::List,
            note,
            purpose,
            form: None,
        }
    }

    /// The prompt that is selected.
    pub(super) fn selected(&self) -> Option<&Found> {
        self.matching
            .get(self.selected)
            .map(|index| &self.choices.found[*index])
    }

    /// Why nothing is listed.
    pub(super) fn why_empty(&self) -> &'static str {
        match self.choices.found.is_empty() {
            true => "there are no prompts yet; `prompt-expander new NAME` creates one",
            false => "no prompt matches",
        }
    }

    /// Takes what has been read meanwhile, and searches once if that or a key has changed anything.
    /// What a person has selected stays selected.
    pub(super) fn update(&mut self) {
        if self.choices.update() | std::mem::take(&mut self.is_edited) {
            let index = self
                .matching
                .get(self.selected)
                .copied()
                .filter(|_| self.selected > 0);
            self.matching = matches(&self.query.text, &self.choices.fields);
            let at = index.and_then(|index| self.matching.iter().position(|other| *other == index));
            self.selected = at.unwrap_or(0);
        }
    }

    pub(super) fn key(&mut self, key: &Key) -> Action {
        self.note.clear();
        if matches!(key, Key::Control('c' | 'g')) {
            return Action::End(Choice::Nothing);
        }
        if self.purpose.is_draft
            && *key == Key::Control('o')
            && !matches!(self.step, Step::Chosen(_))
        {
            return Action::End(Choice::Edit(None));
        }
        match &mut self.step {
            Step::List => return self.key_of_list(key),
            Step::Form(form) => match key {
                Key::Escape => self.leave_form(Step::List),
                Key::Enter => match form.fields.iter().position(Field::is_missing) {
                    Some(index) => {
                        form.current = index;
                        self.note =
                            format!("`{}` needs a value", printable(&form.fields[index].name));
                    }
                    None => return Action::Expand(form.found.clone(), form.call()),
                },
                Key::Tab | Key::PageDown => form.move_by(1),
                Key::BackTab | Key::PageUp => form.move_by(-1),
                Key::Up => form.choose_or_move(-1),
                Key::Down => form.choose_or_move(1),
                _ => {
                    let field = &mut form.fields[form.current];
                    if matches!(key, Key::Character(_)) && field.choices.contains(&field.input.text)
                    {
                        field.input = Input::default(); // another choice is typed
                    }
                    field.input.edit(key);
                }
            },
            Step::Chosen(chosen) => match key {
                Key::Enter | Key::NewLine => return Action::End(Choice::Use(chosen.text.clone())),
                Key::Character('c') if !self.purpose.is_draft => {
                    return Action::End(Choice::Copy(chosen.text.clone()));
                }
                Key::Character('e') => return Action::End(Choice::Edit(Some(chosen.text.clone()))),
                Key::Character('q') => return Action::End(Choice::Nothing),
                Key::Escape => {
                    let form = self.form.take().filter(|form| !form.fields.is_empty());
                    self.step = form.map_or(Step::List, Step::Form);
                }
                Key::Up => chosen.top = chosen.top.saturating_sub(1),
                Key::Down => chosen.top += 1,
                Key::PageUp => chosen.top = chosen.top.saturating_sub(10),
                Key::PageDown | Key::Character(' ') => chosen.top += 10,
                _ => {}
            },
        }
        Action::None
    }

    fn key_of_list(&mut self, key: &Key) -> Action {
        if self.is_edited {
            self.update(); // another key came before a frame was drawn
        }
        let last = self.matching.len().saturating_sub(1);
        self.selected = match key {
            Key::Escape => return Action::End(Choice::Nothing),
            Key::Enter | Key::NewLine => return self.choose(true),
            Key::Tab => return self.choose(false),
            Key::Up | Key::Control('p') => self.selected.saturating_sub(1),
            Key::Down | Key::Control('n') => (self.selected + 1).min(last),
            Key::PageUp => self.selected.saturating_sub(10),
            Key::PageDown => (self.selected + 10).min(last),
            key => {
                let line = if let Key::Pasted(text) = key {
                    Some(Key::Pasted(one_line(text)))
                } else {
                    None
                };
                if !self.query.edit(line.as_ref().unwrap_or(key)) {
                    return Action::None;
                }
                self.is_edited = true;
                0
            }
        };
        Action::None
    }

    /// Goes on with the selected prompt. A draft is expanded at once if nothing is missing, and the
    /// fields are not asked for.
    fn choose(&mut self, is_direct: bool) -> Action {
        let Some(found) = self.selected().cloned() else {
            return Action::None;
        };
        if let Some(form) = self
            .form
            .take_if(|form| form.found.name == found.name && !form.fields.is_empty())
        {
            self.step = Step::Form(form);
            return Action::None;
        }
        let form = match Form::new(found, &self.purpose.text) {
            Ok(form) => form,
            Err(why) => {
                self.note = why.to_string();
                return Action::None;
            }
        };
        let Purpose { text, is_draft, .. } = &self.purpose;
        let is_complete = || *is_draft && form.prompt.bind(Call::Text(text)).error.is_none();
        if form.fields.is_empty() || is_direct && is_complete() {
            let call = api::CallRequest {
                command: form.found.name.to_string(),
                input: vec![text.clone()],
                ..api::CallRequest::default()
            };
            let found = form.found.clone();
            self.form = Some(form);
            return Action::Expand(found, call);
        }
        self.step = Step::Form(form);
        Action::None
    }

    /// Goes to another step. What was typed in the form stays.
    fn leave_form(&mut self, step: Step) {
        if let Step::Form(form) = std::mem::replace(&mut self.step, step) {
            self.form = Some(form);
        }
    }

    /// What an expansion gave: its text, and what to know of it. A draft whose expansion needs no
    /// word is used at once.
    pub(super) fn expanded(&mut self, result: Result<(String, Vec<String>), String>) -> Action {
        match result {
            Err(why) => self.note = why,
            Ok((text, notes)) if self.purpose.is_draft && notes.is_empty() => {
                return Action::End(Choice::Use(text));
            }
            Ok((text, notes)) => {
                self.leave_form(Step::Chosen(Chosen {
                    text,
                    notes,
                    top: 0,
                }));
            }
        }
        Action::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::pick::expansion;
    use crate::library::Library;
    use unicode_width::UnicodeWidthStr;

    /// A picker on a folder with these files.
    fn state(files: &[(&str, &str)], text: &str, is_draft: bool) -> (tempfile::TempDir, State) {
        let folder = tempfile::tempdir().unwrap();
        files
            .iter()
            .for_each(|(file, text)| std::fs::write(folder.path().join(file), text).unwrap());
        let library = Library::named([folder.path().to_owned()]).with_builtin();
        let purpose = Purpose {
            text: text.to_owned(),
            is_draft,
            after: "",
        };
        let mut state = State::new(Choices::of(&library.view()), "", purpose);
        while state.choices.infos.len() < state.choices.found.len() {
            state.update();
        }
        (folder, state)
    }

    /// The text of the frame.
    fn shown(state: &mut State, columns: usize, rows: usize) -> String {
        let line = |line: &crate::cli::pick::frame::Line| {
            line.iter()
                .map(|(_, text)| text.as_str())
                .collect::<String>()
        };
        state
            .frame(columns, rows)
            .lines
            .iter()
            .map(|of| line(of).trim_end().to_owned() + "\n")
            .collect()
    }

    /// Types keys; returns the text that is used, if any.
    fn typed(state: &mut State, keys: &[Key]) -> Option<String> {
        keys.iter().find_map(|key| {
            let mut action = state.key(key);
            if let Action::Expand(found, call) = &action {
                action = state.expanded(expansion(found, call));
            }
            if let Action::End(Choice::Use(text)) = action {
                Some(text)
            } else {
                None
            }
        })
    }

    fn letters(text: &str) -> Vec<Key> {
        text.chars().map(Key::Character).collect()
    }

    const COMPARE: &str = "---\narguments:\n  - {name: options, description: What, required: true}\n  \
                           - {name: criteria, default: cost, choices: [cost, speed]}\n---\n{{options}} by {{criteria}}.";

    #[test]
    fn the_list_is_filtered_while_one_types_and_ones_own_prompts_come_first() {
        let (_folder, mut state) = state(
            &[("review-all.md", "---\ntitle: All\n---\nReview {{input}}.")],
            "",
            false,
        );
        typed(&mut state, &letters("reviw"));
        state.key(&Key::Backspace);
        state.key(&Key::Character('e'));
        let want = "> revie                           2/13\n> :review-all  All — Review {{input}}.\n  :review";
        assert!(
            shown(&mut state, 38, 14).starts_with(want),
            "{}",
            shown(&mut state, 38, 14)
        );
        for part in [
            "── :review-all (user) ──",
            "\nReview {{input}}.\n",
            "\nEnter choose",
        ] {
            assert!(
                shown(&mut state, 40, 14).contains(part),
                "{}",
                shown(&mut state, 40, 14)
            );
        }
        typed(&mut state, &[Key::Down, Key::Control('u')]);
        assert_eq!(
            (state.matching.len(), state.selected),
            (2, 0),
            "a key does not search: the next frame does, once"
        );
        state.update();
        assert_eq!((state.matching.len(), state.selected), (13, 0));
        typed(&mut state, &letters("xyzzy"));
        assert!(shown(&mut state, 40, 14).contains("\nno prompt matches\n"));
        assert!(
            typed(&mut state, &[Key::Enter]).is_none()
                && matches!(state.key(&Key::Escape), Action::End(Choice::Nothing))
        );
    }

    #[test]
    fn a_form_has_the_defaults_and_what_the_text_gives_and_asks_for_what_is_missing() {
        let (_folder, mut state) = state(&[("compare.md", COMPARE)], "", false);
        typed(
            &mut state,
            &[&letters("compare")[..], &[Key::Enter, Key::Enter]].concat(),
        );
        let frame = shown(&mut state, 40, 8);
        assert_eq!(
            frame,
            ":compare  {{options}} by {{criteria}}.\n> options*\n    What\n  criteria  cost\n\n\n\n`options` needs a value\n"
        );
        typed(
            &mut state,
            &[
                &letters("a or b")[..],
                &[Key::Tab, Key::Character('x'), Key::Backspace, Key::Up],
            ]
            .concat(),
        );
        assert!(
            shown(&mut state, 40, 8)
                .contains("  options*  a or b\n> criteria  speed\n    ↑↓ cost · speed\n")
        );
        assert_eq!(
            typed(
                &mut state,
                &[Key::Enter, Key::Escape, Key::Up, Key::Enter, Key::Enter]
            )
            .unwrap(),
            "a or b by cost."
        );
    }

    #[test]
    fn what_was_typed_in_a_form_is_there_again_after_the_list() {
        for is_draft in [false, true] {
            let (_folder, mut state) = state(&[("compare.md", COMPARE)], "a", is_draft);
            typed(
                &mut state,
                &[
                    &letters("compare")[..],
                    &[Key::Tab, Key::Control('u')],
                    &letters("speed"),
                ]
                .concat(),
            );
            let filled = shown(&mut state, 40, 8);
            typed(&mut state, &[Key::Escape, Key::Enter]);
            assert_eq!(shown(&mut state, 40, 8), filled);
            typed(
                &mut state,
                &[
                    &[Key::Escape, Key::Control('u')],
                    &letters("research")[..],
                    &[Key::Tab],
                ]
                .concat(),
            );
            assert!(
                !shown(&mut state, 40, 8).contains("speed"),
                "another prompt"
            );
        }
    }

    #[test]
    fn without_any_prompt_the_command_that_creates_one_is_named() {
        let purpose = Purpose::default();
        let mut state = State::new(Choices::of(&Library::named([]).view()), "", purpose);
        let want = "there are no prompts yet;\n`prompt-expander new NAME` creates one\n";
        assert!(
            shown(&mut state, 40, 14).contains(want),
            "{}",
            shown(&mut state, 40, 14)
        );
    }

    #[test]
    fn what_the_keys_do_fits_in_40_columns_in_every_step() {
        for is_draft in [false, true] {
            let (_folder, mut state) = state(
                &[("compare.md", COMPARE), ("next.md", ":next")],
                "",
                is_draft,
            );
            for keys in [&[][..], &[Key::Tab], &[Key::Character('x'), Key::Enter]] {
                typed(&mut state, keys);
                assert!(state.hint().width() <= 40, "{}", state.hint());
            }
        }
    }

    #[test]
    fn a_draft_is_expanded_at_once_unless_something_is_missing_or_the_fields_are_asked_for() {
        let files = [("compare.md", COMPARE), ("style.md", "In short words.")];
        for (draft, keys, want) in [
            (
                "a or b criteria=speed",
                &[Key::Enter][..],
                Some("a or b by speed."),
            ),
            (
                "a or b",
                &[Key::Tab, Key::Tab, Key::Down, Key::Enter],
                Some("a or b by speed."),
            ),
            ("", &[Key::Enter], None),
            (
                "",
                &[Key::Enter, Key::Character('x'), Key::Enter],
                Some("x by cost."),
            ),
            (
                "The draft.",
                &[Key::Control('u'), Key::Pasted("style\n".into()), Key::Enter],
                Some("In short words.\n\nThe draft."),
            ),
        ] {
            let (_folder, mut state) = state(&files, draft, true);
            typed(&mut state, &letters("compare"));
            assert_eq!(
                typed(&mut state, keys).as_deref(),
                want,
                "{draft:?} {keys:?}"
            );
        }
        let (_folder, mut state) = state(&files, "draft", true);
        assert!(matches!(
            state.key(&Key::Control('o')),
            Action::End(Choice::Edit(None))
        ));
    }

    #[test]
    fn a_text_is_scrolled_by_rows_up_to_its_last_one() {
        let words: String = (0..99).map(|number| format!("word{number} ")).collect();
        let (_folder, mut state) = state(&[("long.md", &words)], "", false);
        typed(
            &mut state,
            &[&letters("long")[..], &[Key::Enter, Key::Enter]].concat(),
        );
        assert!(
            shown(&mut state, 20, 6).starts_with("word0 word1 word2\n"),
            "{}",
            shown(&mut state, 20, 6)
        );
        for _ in 0..20 {
            typed(&mut state, &[Key::PageDown]);
            assert!(shown(&mut state, 20, 6).starts_with("word"));
        }
        typed(&mut state, &[Key::Up]);
        assert!(
            shown(&mut state, 20, 6).contains("word98\n"),
            "{}",
            shown(&mut state, 20, 6)
        );
    }

    #[test]
    fn no_frame_has_what_a_terminal_acts_on_or_a_line_that_is_too_long() {
        let hostile = "\x1b[2J\x07 \u{202e}evil\u{2066} \u{200f}\u{9b}31m 長い文章を短くまとめるガイド a\u{301}\u{301}\u{301} \r\t😀 ";
        let flood = hostile.to_owned() + &"\u{301}".repeat(5000);
        let file = format!(
            "---\ntitle: {0:?}\ndescription: {0:?}\narguments:\n  - {{name: a, description: {0:?}, default: {0:?}, choices: [{0:?}]}}\n\
             ---\n{1}\n{{{{a}}}} {{{{input}}}}",
            "\u{1b}[2J\u{202e} 要約 \t".repeat(9),
            flood
        );
        let file = file
            .replace("\\u{1b}", "\\e")
            .replace("\\u{202e}", "\\u202e");
        for size in [(10, 3), (1, 1), (3, 2), (40, 12), (80, 24)] {
            let (_folder, mut state) = state(
                &[
                    ("要約.md", &file),
                    ("broken.md", "---\nnever \x1b[2J closed"),
                ],
                &flood,
                false,
            );
            for keys in [
                &[][..],
                &[Key::Down],
                &[Key::Up, Key::Pasted("要\x1b[2J".into())],
                &[Key::Control('u'), Key::Pasted("要".into()), Key::Tab],
                &[Key::Tab],
                &[Key::Enter],
            ] {
                typed(&mut state, keys);
                let frame = state.frame(size.0, size.1);
                assert!(
                    frame.lines.len() <= size.1 && frame.cursor.is_none_or(|(row, _)| row < size.1),
                    "{size:?}"
                );
                for line in shown(&mut state, size.0, size.1).lines() {
                    assert!(
                        line.width() <= size.0 && line.chars().count() < 6 * size.0 + 6,
                        "{size:?} {line:?}"
                    );
                    assert!(!line.contains(|letter: char| letter.is_control()
                        || matches!(letter, '\u{202a}'..='\u{202e}')));
                }
            }
            assert!(matches!(state.step, Step::Chosen(_)));
        }
    }
}
