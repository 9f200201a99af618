//! The form of the picker: the values of one prompt, which a person fills in.

use super::keys::{Key, TypedText};
use crate::api::CallRequest;
use crate::library::Found;
use crate::prompt::{Argument, Call, Diagnostic, INPUT, Prompt};
use std::sync::Arc;

/// A value to fill in: of an argument, or the input.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_required: bool,
    pub(super) choices: Vec<String>,
    pub(super) input: TypedText,
}

impl Field {
    fn of_argument(argument: &Argument, value: &str) -> Field {
        Field {
            name: argument.name.clone(),
            description: argument.description.clone().unwrap_or_default(),
            is_required: argument.required,
            choices: argument.choices.clone(),
            input: TypedText::new(value),
        }
    }

    fn of_input(value: &str) -> Field {
        Field {
            name: INPUT.to_owned(),
            description: "the text for the prompt".to_owned(),
            is_required: false,
            choices: Vec::new(),
            input: TypedText::new(value),
        }
    }

    /// Returns whether the field needs a value and has none.
    fn is_missing(&self) -> bool {
        self.is_required && self.input.text.trim().is_empty()
    }

    /// Selects the next choice, or the one before the current one. After the last choice comes the
    /// first.
    fn select_choice(&mut self, direction: Direction) {
        let text = &self.input.text;
        let index = match self.choices.iter().position(|choice| choice == text) {
            Some(index) => direction.next(index, self.choices.len()),
            None => direction.first(self.choices.len()),
        };
        self.input = TypedText::new(&*self.choices[index]);
    }

    /// Edits the text of the field. A letter replaces a choice, because another one is typed.
    fn edit(&mut self, key: &Key) {
        let is_choice = self.choices.contains(&self.input.text);
        if is_choice && matches!(key, Key::Character(_)) {
            self.input = TypedText::default();
        }
        self.input.edit(key);
    }
}

/// Which way to go in a list that has no end.
#[derive(Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Returns the index after or before this one, in a list of `count`.
    fn next(self, index: usize, count: usize) -> usize {
        match self {
            Direction::Forward => (index + 1) % count,
            Direction::Backward => (index + count - 1) % count,
        }
    }

    /// Returns the index to begin at.
    fn first(self, count: usize) -> usize {
        match self {
            Direction::Forward => 0,
            Direction::Backward => count - 1,
        }
    }
}

/// A prompt and its fields. The form is only shown if it has any.
pub(super) struct Form {
    pub(super) found: Found,
    pub(super) prompt: Arc<Prompt>,
    pub(super) fields: Vec<Field>,
    /// The index of the field that keys go to.
    pub(super) current: usize,
}

impl Form {
    /// Makes the form of a prompt. The fields have the values that `text` gives them as the input
    /// of a call, else their defaults. The first empty field is the current one.
    ///
    /// # Errors
    /// The prompt is broken.
    pub(super) fn new(found: Found, text: &str) -> Result<Form, Diagnostic> {
        let prompt = found.prompt()?;
        let binding = prompt.bind(Call::Text(text));
        let mut fields = Vec::new();
        for (argument, bound) in prompt.arguments.iter().zip(&binding.arguments) {
            fields.push(Field::of_argument(argument, &bound.value));
        }
        let takes_input = prompt.value_names().len() > fields.len();
        if takes_input {
            fields.push(Field::of_input(binding.input.as_deref().unwrap_or("")));
        }
        let first_empty = fields.iter().position(|field| field.input.text.is_empty());
        Ok(Form {
            found,
            fields,
            current: first_empty.unwrap_or(0),
            prompt: Arc::clone(&prompt),
        })
    }

    /// Returns the call with the values of the form. An empty field is left out, so that its
    /// default applies.
    pub(super) fn call(&self) -> CallRequest {
        let mut request = CallRequest {
            command: self.found.name.to_string(),
            ..CallRequest::default()
        };
        for field in &self.fields {
            let value = field.input.text.clone();
            if value.is_empty() {
                continue;
            }
            if self.prompt.arguments.is_empty() {
                request.input.push(value);
            } else {
                request.arguments.insert(field.name.clone(), value);
            }
        }
        request
    }

    /// Makes the first field that needs a value and has none the current one, and returns its name.
    pub(super) fn go_to_missing_field(&mut self) -> Option<&str> {
        self.current = self.fields.iter().position(Field::is_missing)?;
        Some(&self.fields[self.current].name)
    }

    /// Moves to another field, selects a choice, or edits the current field.
    pub(super) fn press(&mut self, key: &Key) {
        match key {
            Key::Tab | Key::PageDown => self.move_on(Direction::Forward),
            Key::BackTab | Key::PageUp => self.move_on(Direction::Backward),
            Key::Up => self.choose_or_move(Direction::Backward),
            Key::Down => self.choose_or_move(Direction::Forward),
            _ => self.fields[self.current].edit(key),
        }
    }

    fn move_on(&mut self, direction: Direction) {
        self.current = direction.next(self.current, self.fields.len());
    }

    fn choose_or_move(&mut self, direction: Direction) {
        let field = &mut self.fields[self.current];
        if field.choices.is_empty() {
            self.move_on(direction);
        } else {
            field.select_choice(direction);
        }
    }
}
