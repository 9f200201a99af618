//! What the picker shows, and what each key does to it. It knows no terminal.

use super::choices::Choices;
use super::form::Form;
use super::keys::{Key, TypedText};
use crate::api::{CallRequest, ExpandedPrompt};
use crate::cli::output::one_line;
use crate::library::Found;
use crate::prompt::Call;
use crate::wording::printable;
use std::mem;

/// The rows that PageUp and PageDown scroll.
const PAGE: usize = 10;

/// The text that a call of the chosen prompt gives, while it is shown.
pub(super) struct Chosen {
    pub(super) text: String,
    pub(super) warnings: Vec<String>,
    /// The first row that is shown.
    pub(super) top: usize,
}

/// What the picker shows.
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
    /// Whether the text is the draft of a message, so that the agent shows what was chosen.
    pub(crate) is_draft: bool,
    /// What is written to the terminal at the end.
    pub(crate) after: &'static str,
}

/// What to do after a key.
#[derive(Debug)]
pub(super) enum Effect {
    None,
    /// Expand a call of this prompt, and give the result to [`State::show_result`].
    Expand(Found, CallRequest),
    End(Choice),
}

/// Makes the text for a call of a prompt. The error says why there is none.
pub(crate) type Expander<'e> = &'e dyn Fn(&Found, &CallRequest) -> Result<ExpandedPrompt, String>;

/// What a person has decided.
#[derive(Debug)]
pub(crate) enum Choice {
    Nothing,
    Use(String),
    Copy(String),
    /// Open this text in the editor.
    Edit(String),
    /// Open the draft in the editor as it is.
    EditDraft,
}

/// The state of the picker.
pub(super) struct State {
    pub(super) choices: Choices,
    pub(super) query: TypedText,
    /// Whether the query has changed since the last search.
    is_query_edited: bool,
    /// Indices of the prompts that match.
    pub(super) matching: Vec<usize>,
    /// The row of `matching` that is selected.
    pub(super) selected: usize,
    pub(super) step: Step,
    /// A message in the last rows until the next key.
    pub(super) note: String,
    pub(super) purpose: Purpose,
    /// The form that a person has left, to come back to.
    left_form: Option<Form>,
}

impl State {
    pub(super) fn new(choices: Choices, query: &str, purpose: Purpose) -> State {
        State {
            matching: choices.search(query),
            choices,
            query: TypedText::new(query),
            is_query_edited: false,
            selected: 0,
            step: Step::List,
            note: String::new(),
            purpose,
            left_form: None,
        }
    }

    /// Returns the prompt that is selected, unless none matches.
    pub(super) fn selected_prompt(&self) -> Option<&Found> {
        let index = self.matching.get(self.selected)?;
        Some(&self.choices.prompts[*index])
    }

    /// Returns the line that is shown if no prompt is listed.
    pub(super) fn empty_list_message(&self) -> &'static str {
        if self.choices.prompts.is_empty() {
            "there are no prompts yet; `prompt-expander new NAME` creates one"
        } else {
            "no prompt matches"
        }
    }

    /// Searches again if the query has changed or more files have been read since the last search.
    /// A prompt that a person has moved to stays selected, wherever it is in the new list. As long
    /// as the first row is selected, it stays selected, so that it is always the best match.
    pub(super) fn update(&mut self) {
        let has_new_summaries = self.choices.update();
        let is_query_edited = mem::take(&mut self.is_query_edited);
        if !has_new_summaries && !is_query_edited {
            return;
        }
        let selected_prompt = self.matching.get(self.selected).copied();
        self.matching = self.choices.search(&self.query.text);
        if self.selected > 0 {
            let new_row = self
                .matching
                .iter()
                .position(|prompt| Some(*prompt) == selected_prompt);
            self.selected = new_row.unwrap_or(0);
        }
    }

    /// Reacts to a key: changes what is shown, or returns what the caller has to do.
    pub(super) fn press(&mut self, key: &Key) -> Effect {
        self.note.clear();
        if matches!(key, Key::Control('c' | 'g')) {
            return Effect::End(Choice::Nothing);
        }
        if let Step::Chosen(_) = self.step {
            return self.press_in_text(key);
        }
        if self.purpose.is_draft && *key == Key::Control('o') {
            return Effect::End(Choice::EditDraft);
        }
        match self.step {
            Step::Form(_) => self.press_in_form(key),
            _ => self.press_in_list(key),
        }
    }

    /// Reacts to a key in the list: Enter chooses the selected prompt, the arrows select another
    /// one, and a letter is typed into the query.
    fn press_in_list(&mut self, key: &Key) -> Effect {
        if self.is_query_edited {
            self.update(); // keys that arrive faster than frames are drawn act on the new list
        }
        let last = self.matching.len().saturating_sub(1);
        self.selected = match key {
            Key::Escape => return Effect::End(Choice::Nothing),
            Key::Enter | Key::NewLine | Key::Tab => return self.choose(key),
            Key::Up | Key::Control('p') => self.selected.saturating_sub(1),
            Key::Down | Key::Control('n') => (self.selected + 1).min(last),
            Key::PageUp => self.selected.saturating_sub(PAGE),
            Key::PageDown => (self.selected + PAGE).min(last),
            _ => return self.edit_query(key),
        };
        Effect::None
    }

    /// Edits the query, which has one line. The first match is selected after a change.
    fn edit_query(&mut self, key: &Key) -> Effect {
        let is_changed = match key {
            Key::Pasted(text) => self.query.edit(&Key::Pasted(one_line(text))),
            _ => self.query.edit(key),
        };
        if is_changed {
            self.is_query_edited = true;
            self.selected = 0;
        }
        Effect::None
    }

    /// Goes on with the selected prompt: shows its form, or expands it at once if the form has no
    /// fields. Enter also expands at once if the draft has a value for each required argument; Tab
    /// shows the form.
    fn choose(&mut self, key: &Key) -> Effect {
        let Some(found) = self.selected_prompt().cloned() else {
            return Effect::None;
        };
        if let Some(form) = self.take_left_form(&found) {
            self.step = Step::Form(form);
            return Effect::None;
        }
        let form = match Form::new(found, &self.purpose.text) {
            Ok(form) => form,
            Err(diagnostic) => {
                self.note = diagnostic.to_string();
                return Effect::None;
            }
        };
        let may_skip_form = self.purpose.is_draft && *key != Key::Tab;
        if form.fields.is_empty() || (may_skip_form && self.text_is_enough(&form)) {
            return self.expand_text(form);
        }
        self.step = Step::Form(form);
        Effect::None
    }

    /// Takes the form that was left, if it is of this prompt and has fields.
    fn take_left_form(&mut self, found: &Found) -> Option<Form> {
        self.left_form
            .take_if(|form| form.found.name == found.name && !form.fields.is_empty())
    }

    /// Returns whether the text of the picker has a value for each required argument.
    fn text_is_enough(&self, form: &Form) -> bool {
        let call = Call::Text(&self.purpose.text);
        form.prompt.bind(call).error.is_none()
    }

    /// Expands a prompt with the text of the picker as its input.
    fn expand_text(&mut self, form: Form) -> Effect {
        let found = form.found.clone();
        let request = CallRequest {
            command: found.name.to_string(),
            input: vec![self.purpose.text.clone()],
            ..CallRequest::default()
        };
        self.left_form = Some(form);
        Effect::Expand(found, request)
    }

    /// Reacts to a key in the form: Enter expands the prompt, unless a value is missing; Esc goes
    /// back to the list; other keys are for the fields.
    fn press_in_form(&mut self, key: &Key) -> Effect {
        let Step::Form(form) = &mut self.step else {
            return Effect::None;
        };
        match key {
            Key::Escape => self.go_to(Step::List),
            Key::Enter => {
                let Some(name) = form.go_to_missing_field() else {
                    return Effect::Expand(form.found.clone(), form.call());
                };
                self.note = format!("`{}` needs a value", printable(name));
            }
            _ => form.press(key),
        }
        Effect::None
    }

    /// Reacts to a key below the chosen text: uses, edits or copies it, scrolls, or goes back.
    /// [`text_frame`](super::frame) corrects a `top` after the last row.
    fn press_in_text(&mut self, key: &Key) -> Effect {
        let Step::Chosen(chosen) = &mut self.step else {
            return Effect::None;
        };
        match key {
            Key::Enter | Key::NewLine => return Effect::End(Choice::Use(chosen.text.clone())),
            Key::Character('e') => return Effect::End(Choice::Edit(chosen.text.clone())),
            Key::Character('q') => return Effect::End(Choice::Nothing),
            Key::Character('c') if !self.purpose.is_draft => {
                return Effect::End(Choice::Copy(chosen.text.clone()));
            }
            Key::Escape => self.leave_text(),
            Key::Up => chosen.top = chosen.top.saturating_sub(1),
            Key::Down => chosen.top += 1,
            Key::PageUp => chosen.top = chosen.top.saturating_sub(PAGE),
            Key::PageDown | Key::Character(' ') => chosen.top += PAGE,
            _ => {}
        }
        Effect::None
    }

    /// Goes back from the text to the form, or to the list if the form has no fields.
    fn leave_text(&mut self) {
        self.step = match self.left_form.take() {
            Some(form) if !form.fields.is_empty() => Step::Form(form),
            _ => Step::List,
        };
    }

    /// Goes to another step. If the form is left for it, what was typed there stays.
    fn go_to(&mut self, step: Step) {
        if let Step::Form(form) = mem::replace(&mut self.step, step) {
            self.left_form = Some(form);
        }
    }

    /// Shows what an expansion has given. The text for a draft is used at once, unless there are
    /// warnings to read.
    pub(super) fn show_result(&mut self, result: Result<ExpandedPrompt, String>) -> Effect {
        let expanded = match result {
            Ok(expanded) => expanded,
            Err(error) => {
                self.note = error;
                return Effect::None;
            }
        };
        if self.purpose.is_draft && expanded.warnings.is_empty() {
            return Effect::End(Choice::Use(expanded.prompt));
        }
        self.go_to(Step::Chosen(Chosen {
            text: expanded.prompt,
            warnings: expanded.warnings,
            top: 0,
        }));
        Effect::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::pick::expand;
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
        let mut state = State::new(Choices::new(&library.view()), "", purpose);
        while state.choices.summaries.len() < state.choices.prompts.len() {
            state.update();
        }
        (folder, state)
    }

    /// The text of the frame.
    fn shown(state: &mut State, columns: usize, rows: usize) -> String {
        let line = |line: &crate::cli::pick::frame::FrameLine| {
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
            let mut effect = state.press(key);
            if let Effect::Expand(found, call) = &effect {
                effect = state.show_result(expand(found, call));
            }
            if let Effect::End(Choice::Use(text)) = effect {
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
        state.press(&Key::Backspace);
        state.press(&Key::Character('e'));
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
                && matches!(state.press(&Key::Escape), Effect::End(Choice::Nothing))
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
        let mut state = State::new(Choices::new(&Library::named([]).view()), "", purpose);
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
                assert!(state.key_help().width() <= 40, "{}", state.key_help());
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
            state.press(&Key::Control('o')),
            Effect::End(Choice::EditDraft)
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
                    frame.lines.len() <= size.1
                        && frame.cursor.is_none_or(|cursor| cursor.row < size.1),
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
