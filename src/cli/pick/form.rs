//! The form of the picker, where the user fills in the arguments and the input of a prompt.

use super::keys::{Key, TypedText};
use crate::api::CallRequest;
use crate::library::Found;
use crate::prompt::{Argument, Call, Diagnostic, INPUT, Prompt};
use std::sync::Arc;

/// A field of the form: an argument, or the input.
#[derive(Debug, Clone)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_required: bool,
    pub(super) choices: Vec<String>,
    pub(super) value: TypedText,
}

impl FormField {
    fn for_argument(argument: &Argument, value: &str) -> FormField {
        FormField {
            name: argument.name.clone(),
            description: argument.description.clone().unwrap_or_default(),
            is_required: argument.required,
            choices: argument.choices.clone(),
            value: TypedText::new(value),
        }
    }

    fn for_input(value: &str) -> FormField {
        FormField {
            name: INPUT.to_owned(),
            description: "the text for the prompt".to_owned(),
            is_required: false,
            choices: Vec::new(),
            value: TypedText::new(value),
        }
    }

    /// Returns whether the field is required, but empty.
    fn is_missing(&self) -> bool {
        self.is_required && self.value.text.trim().is_empty()
    }

    /// Selects the next or previous choice, and wraps around at the ends. If the current value
    /// isn't one of the choices, starts with the first or last one.
    fn select_choice(&mut self, direction: Direction) {
        let text = &self.value.text;
        let current = self.choices.iter().position(|choice| choice == text);
        let index = match current {
            Some(current) => direction.next(current, self.choices.len()),
            None => direction.first(self.choices.len()),
        };
        self.value = TypedText::new(&*self.choices[index]);
    }

    /// Edits the value. If it is one of the choices, typing a character replaces it, because the
    /// user is then about to type another choice.
    fn edit(&mut self, key: &Key) {
        let is_choice = self.choices.contains(&self.value.text);
        if is_choice && matches!(key, Key::Character(_)) {
            self.value = TypedText::default();
        }
        self.value.edit(key);
    }
}

/// A direction in a list that wraps around at the ends.
#[derive(Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Returns the next index in this direction, in a list with `count` entries.
    fn next(self, index: usize, count: usize) -> usize {
        match self {
            Direction::Forward => (index + 1) % count,
            Direction::Backward => (index + count - 1) % count,
        }
    }

    /// Returns the index at which a list with `count` entries begins in this direction.
    fn first(self, count: usize) -> usize {
        match self {
            Direction::Forward => 0,
            Direction::Backward => count - 1,
        }
    }
}

/// A prompt and its fields. A form without fields isn't shown.
pub(super) struct Form {
    pub(super) found: Found,
    pub(super) prompt: Arc<Prompt>,
    pub(super) fields: Vec<FormField>,
    /// The index of the field that has the focus.
    pub(super) current: usize,
    /// Whether the user has edited a value.
    pub(super) is_changed: bool,
}

impl Form {
    /// Creates the form of a prompt. It has a field for each argument, and for the input if the
    /// prompt takes one.
    ///
    /// The fields are prefilled as if the prompt was called with `text` as its input. Others
    /// contain their defaults. The first empty field gets the focus.
    ///
    /// # Errors
    /// Fails if the prompt is broken.
    pub(super) fn new(found: Found, text: &str) -> Result<Form, Diagnostic> {
        let prompt = found.prompt()?;
        let binding = prompt.bind(Call::Text(text));
        let mut fields = Vec::new();
        for (argument, bound) in prompt.arguments.iter().zip(&binding.arguments) {
            fields.push(FormField::for_argument(argument, &bound.value));
        }
        // An argument named `input` receives the input, so it needs no second field.
        let has_input_field = fields.iter().any(|field| field.name == INPUT);
        if prompt.takes_input() && !has_input_field {
            let input = binding.input.as_deref().unwrap_or_default();
            fields.push(FormField::for_input(input));
        }
        let first_empty = fields.iter().position(|field| field.value.text.is_empty());
        Ok(Form {
            found,
            fields,
            current: first_empty.unwrap_or(0),
            is_changed: false,
            prompt: Arc::clone(&prompt),
        })
    }

    /// Returns a call with the values of the form. Omits empty fields, so that their defaults
    /// apply.
    pub(super) fn call(&self) -> CallRequest {
        let mut request = CallRequest {
            command: self.found.name.to_string(),
            ..CallRequest::default()
        };
        for field in &self.fields {
            let value = field.value.text.clone();
            if value.is_empty() {
                continue;
            }
            if self.prompt.arguments.is_empty() {
                // The only field is the input, which has no name in this case.
                request.input.push(value);
            } else {
                request.arguments.insert(field.name.clone(), value);
            }
        }
        request
    }

    /// Moves the focus to the first required field that is empty, and returns its name. If there is
    /// none, returns `None` and keeps the focus.
    pub(super) fn focus_missing_field(&mut self) -> Option<&str> {
        self.current = self.fields.iter().position(FormField::is_missing)?;
        Some(&self.fields[self.current].name)
    }

    /// Handles a key: moves the focus, selects a choice, or edits the value.
    pub(super) fn press(&mut self, key: &Key) {
        match key {
            Key::Tab | Key::PageDown => self.move_focus(Direction::Forward),
            Key::BackTab | Key::PageUp => self.move_focus(Direction::Backward),
            Key::Up => self.select_choice_or_move_focus(Direction::Backward),
            Key::Down => self.select_choice_or_move_focus(Direction::Forward),
            _ => {
                self.fields[self.current].edit(key);
                self.is_changed = true;
            }
        }
    }

    /// Moves the focus to the next field in this direction, and wraps around at the ends.
    fn move_focus(&mut self, direction: Direction) {
        self.current = direction.next(self.current, self.fields.len());
    }

    /// Selects the next choice of the current field. If the field has no choices, moves the focus.
    fn select_choice_or_move_focus(&mut self, direction: Direction) {
        let field = &mut self.fields[self.current];
        if field.choices.is_empty() {
            self.move_focus(direction);
        } else {
            field.select_choice(direction);
            self.is_changed = true;
        }
    }
}
