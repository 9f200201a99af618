//! The state of the picker, and how keys change it. Independent of the terminal.

use super::choices::Choices;
use super::form::Form;
use super::keys::{Key, TypedText};
use crate::api::{CallRequest, ExpandedPrompt};
use crate::cli::output::one_line;
use crate::library::Found;
use crate::prompt::Call;
use crate::wording::printable;
use std::mem;

/// The number of rows that PageUp and PageDown scroll.
const PAGE_ROWS: usize = 10;

/// The expansion of the chosen prompt, while it is shown.
pub(super) struct Chosen {
    pub(super) text: String,
    pub(super) warnings: Vec<String>,
    /// The first visible row of the text.
    pub(super) top_row: usize,
}

impl Chosen {
    fn of(expanded: ExpandedPrompt) -> Chosen {
        Chosen {
            text: expanded.prompt,
            warnings: expanded.warnings,
            top_row: 0,
        }
    }
}

/// The screen that the picker shows.
pub(super) enum Step {
    List,
    Form(Form),
    Chosen(Chosen),
}

/// What the picker is used for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Purpose {
    /// The input for the prompt: piped text, or the draft.
    pub(crate) text: String,
    /// Whether `text` is the draft of a message. Then the result is used without being shown
    /// first, because the agent shows it.
    pub(crate) is_draft: bool,
    /// Escape sequences to write to the terminal when the picker closes.
    pub(crate) exit_sequence: &'static str,
}

/// What the caller has to do after a key.
#[derive(Debug)]
pub(super) enum Effect {
    None,
    /// Expand this prompt, and pass the result to [`State::show_result`].
    Expand(Found, CallRequest),
    End(Choice),
}

/// Produces the text for a call of a prompt. The error is a message to show to the user.
pub(crate) type Expander<'e> = &'e dyn Fn(&Found, &CallRequest) -> Result<ExpandedPrompt, String>;

/// The user's choice.
#[derive(Debug)]
pub(crate) enum Choice {
    /// The user has canceled.
    Nothing,
    Use(String),
    Copy(String),
    /// Open this text in the editor.
    Edit(String),
    /// Open the unchanged draft in the editor.
    EditDraft,
}

/// How the picker has ended.
pub(crate) struct Picked {
    pub(crate) choice: Choice,
    /// The prompts whose expansion the chosen text is, if the choice has a text.
    pub(crate) expanded: Vec<Found>,
}

/// The state of the picker.
pub(super) struct State {
    pub(super) choices: Choices,
    pub(super) query: TypedText,
    /// Whether the query has changed since the last search.
    is_query_edited: bool,
    /// The prompts that match the query, as indices into `choices.prompts`.
    pub(super) matching: Vec<usize>,
    /// The selected prompt, as an index into `matching`.
    pub(super) selected: usize,
    pub(super) step: Step,
    /// A message at the bottom of the screen until the next key; empty if there is none.
    pub(super) note: String,
    pub(super) purpose: Purpose,
    /// The form that the user has left, with what was typed there, so that they can return to it.
    left_form: Option<Form>,
    /// What happens to the expansion of a draft if it has no warnings.
    draft_result: DraftResult,
}

/// What happens to the expansion of a draft.
#[derive(Clone, Copy)]
enum DraftResult {
    /// It replaces the draft.
    Use,
    /// It replaces the draft, and the editor opens it.
    Edit,
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
            draft_result: DraftResult::Use,
        }
    }

    /// Shows an expansion as the first step.
    pub(super) fn with_expansion(mut self, expanded: ExpandedPrompt) -> State {
        self.step = Step::Chosen(Chosen::of(expanded));
        self
    }

    /// Returns the selected prompt, or `None` if no prompt matches the query.
    pub(super) fn selected_prompt(&self) -> Option<&Found> {
        let index = self.matching.get(self.selected)?;
        Some(&self.choices.prompts[*index])
    }

    /// Returns the message to show instead of an empty list.
    pub(super) fn empty_list_message(&self) -> &'static str {
        if self.choices.prompts.is_empty() {
            "there are no prompts yet; `prompt-expander new NAME` creates one"
        } else {
            "no prompt matches"
        }
    }

    /// Repeats the search if the query has changed, or more prompts have been read.
    ///
    /// If the user has moved the selection to a prompt, that prompt stays selected, wherever it is
    /// in the new list. Otherwise, the first row stays selected, which is always the best match.
    pub(super) fn update_matches(&mut self) {
        let has_new_summaries = self.choices.add_read_prompts();
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

    /// Handles a key: updates the state, and returns what the caller has to do.
    pub(super) fn press(&mut self, key: &Key) -> Effect {
        self.note.clear();
        if matches!(key, Key::Control('c' | 'g')) {
            return Effect::End(Choice::Nothing);
        }
        let opens_draft = self.purpose.is_draft && *key == Key::Control('o');
        match self.step {
            Step::Chosen(_) => self.press_in_text(key),
            Step::List if opens_draft => self.edit_draft(),
            Step::List => self.press_in_list(key),
            Step::Form(_) => self.press_in_form(key),
        }
    }

    /// Handles a key in the list: Enter chooses the selected prompt, arrow keys move the selection,
    /// and other keys edit the query.
    fn press_in_list(&mut self, key: &Key) -> Effect {
        if self.is_query_edited {
            // Keys may arrive faster than frames are drawn, but must apply to the new list.
            self.update_matches();
        }
        let last = self.matching.len().saturating_sub(1);
        self.selected = match key {
            Key::Escape => return Effect::End(Choice::Nothing),
            Key::Enter | Key::NewLine | Key::Tab => return self.choose(key),
            Key::Up | Key::Control('p') => self.selected.saturating_sub(1),
            Key::Down | Key::Control('n') => (self.selected + 1).min(last),
            Key::PageUp => self.selected.saturating_sub(PAGE_ROWS),
            Key::PageDown => (self.selected + PAGE_ROWS).min(last),
            _ => return self.edit_query(key),
        };
        Effect::None
    }

    /// Opens the draft in the editor or, if the user has changed the form of the selected prompt
    /// and left it, the expansion.
    fn edit_draft(&mut self) -> Effect {
        let Some(found) = self.selected_prompt().cloned() else {
            return Effect::End(Choice::EditDraft);
        };
        match self.take_left_form(&found) {
            Some(form) if form.is_changed => {
                self.step = Step::Form(form);
                self.expand_form(DraftResult::Edit)
            }
            _ => Effect::End(Choice::EditDraft),
        }
    }

    /// Edits the query, which is a single line. A change selects the best match.
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

    /// Shows the form of the selected prompt, or expands it immediately if there is nothing to fill
    /// in.
    ///
    /// With a draft, Enter also skips the form if the draft provides all required arguments. Tab
    /// always shows it.
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
        if form.fields.is_empty() || (may_skip_form && self.text_binds_all_arguments(&form)) {
            return self.expand_with_text(form);
        }
        self.step = Step::Form(form);
        Effect::None
    }

    /// Takes the form that the user has left, if it belongs to this prompt and has fields.
    fn take_left_form(&mut self, found: &Found) -> Option<Form> {
        self.left_form
            .take_if(|form| form.found.name == found.name && !form.fields.is_empty())
    }

    /// Returns whether the picker's text provides all required arguments.
    fn text_binds_all_arguments(&self, form: &Form) -> bool {
        let call = Call::Text(&self.purpose.text);
        form.prompt.bind(call).error.is_none()
    }

    /// Expands a prompt with the picker's text as its input, without showing the form.
    fn expand_with_text(&mut self, form: Form) -> Effect {
        let found = form.found.clone();
        let request = CallRequest {
            command: found.name.to_string(),
            input: vec![self.purpose.text.clone()],
            ..CallRequest::default()
        };
        self.left_form = Some(form);
        self.draft_result = DraftResult::Use;
        Effect::Expand(found, request)
    }

    /// Handles a key in the form: Enter expands the prompt unless a value is missing, Esc returns
    /// to the list, and other keys go to the fields. Ctrl-O does the same as Enter, and the editor
    /// then opens the expansion of a draft.
    fn press_in_form(&mut self, key: &Key) -> Effect {
        let Step::Form(form) = &mut self.step else {
            return Effect::None;
        };
        match key {
            Key::Escape => self.go_to(Step::List),
            Key::Enter => return self.expand_form(DraftResult::Use),
            Key::Control('o') => return self.expand_form(DraftResult::Edit),
            _ => form.press(key),
        }
        Effect::None
    }

    /// Expands the prompt with the values of the form. If a required value is missing, moves the
    /// focus to its field instead, and says so.
    fn expand_form(&mut self, draft_result: DraftResult) -> Effect {
        let Step::Form(form) = &mut self.step else {
            return Effect::None;
        };
        if let Some(name) = form.focus_missing_field() {
            self.note = format!("`{}` needs a value", printable(name));
            return Effect::None;
        }
        self.draft_result = draft_result;
        Effect::Expand(form.found.clone(), form.call())
    }

    /// Handles a key while the chosen text is shown: uses, edits or copies it, scrolls, or goes
    /// back. Scrolling may go past the end; [`text_frame`](super::frame) limits it.
    fn press_in_text(&mut self, key: &Key) -> Effect {
        let Step::Chosen(chosen) = &mut self.step else {
            return Effect::None;
        };
        match key {
            Key::Enter | Key::NewLine => return Effect::End(Choice::Use(chosen.text.clone())),
            Key::Character('e') | Key::Control('o') => {
                return Effect::End(Choice::Edit(chosen.text.clone()));
            }
            Key::Character('q') => return Effect::End(Choice::Nothing),
            Key::Character('c') if !self.purpose.is_draft => {
                return Effect::End(Choice::Copy(chosen.text.clone()));
            }
            Key::Escape => return self.leave_text(),
            Key::Up => chosen.top_row = chosen.top_row.saturating_sub(1),
            Key::Down => chosen.top_row += 1,
            Key::PageUp => chosen.top_row = chosen.top_row.saturating_sub(PAGE_ROWS),
            Key::PageDown | Key::Character(' ') => chosen.top_row += PAGE_ROWS,
            _ => {}
        }
        Effect::None
    }

    /// Returns from the text to the form, or to the list if the form has no fields. If the text is
    /// the first step, cancels.
    fn leave_text(&mut self) -> Effect {
        let Some(form) = self.left_form.take() else {
            return Effect::End(Choice::Nothing);
        };
        self.step = if form.fields.is_empty() {
            Step::List
        } else {
            Step::Form(form)
        };
        Effect::None
    }

    /// Switches to another step. If this leaves the form, keeps what was typed there.
    fn go_to(&mut self, step: Step) {
        if let Step::Form(form) = mem::replace(&mut self.step, step) {
            self.left_form = Some(form);
        }
    }

    /// Handles the result of [`Effect::Expand`]: shows the text, or the error as a note. With a
    /// draft, uses or edits the text without showing it, unless there are warnings to read.
    pub(super) fn show_result(&mut self, result: Result<ExpandedPrompt, String>) -> Effect {
        let expanded = match result {
            Ok(expanded) => expanded,
            Err(error) => {
                self.note = error;
                return Effect::None;
            }
        };
        if self.purpose.is_draft && expanded.warnings.is_empty() {
            return Effect::End(match self.draft_result {
                DraftResult::Use => Choice::Use(expanded.prompt),
                DraftResult::Edit => Choice::Edit(expanded.prompt),
            });
        }
        self.go_to(Step::Chosen(Chosen::of(expanded)));
        Effect::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::pick::expand;
    use crate::library::Library;
    use crate::usage::UsageCounts;
    use unicode_width::UnicodeWidthStr;

    /// A picker on a folder with these files.
    fn state(files: &[(&str, &str)], text: &str, is_draft: bool) -> (tempfile::TempDir, State) {
        let folder = tempfile::tempdir().unwrap();
        files
            .iter()
            .for_each(|(file, text)| std::fs::write(folder.path().join(file), text).unwrap());
        let library = Library::named([folder.path().to_owned()]).with_builtin();
        let uses = UsageCounts::default();
        let purpose = Purpose {
            text: text.to_owned(),
            is_draft,
            exit_sequence: "",
        };
        let mut state = State::new(Choices::new(&library.view(), &uses), "", purpose);
        while state.choices.summaries.len() < state.choices.prompts.len() {
            state.update_matches();
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
        state.update_matches();
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
        let choices = Choices::new(&Library::named([]).view(), &UsageCounts::default());
        let mut state = State::new(choices, "", purpose);
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
    fn ctrl_o_in_a_form_opens_the_expansion_in_the_editor_unless_a_value_is_missing() {
        let (_folder, mut state) = state(&[("compare.md", COMPARE)], "", true);
        typed(&mut state, &letters("compare"));
        typed(&mut state, &[Key::Tab, Key::Control('o')]);
        assert!(shown(&mut state, 40, 8).contains("`options` needs a value"));
        typed(&mut state, &letters("a or b"));
        // Also after Esc, in the list.
        for keys in [&[][..], &[Key::Escape]] {
            typed(&mut state, keys);
            let Effect::Expand(found, call) = state.press(&Key::Control('o')) else {
                panic!("{}", shown(&mut state, 40, 8));
            };
            let effect = state.show_result(expand(&found, &call));
            assert!(
                matches!(&effect, Effect::End(Choice::Edit(text)) if text == "a or b by cost."),
                "{effect:?}"
            );
        }
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
