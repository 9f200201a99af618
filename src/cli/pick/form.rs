//! The form of the picker: the values of one prompt, which a person fills in.

use super::keys::{Key, TypedText};
use crate::api::CallRequest;
use crate::library::Found;
use crate::prompt::{Argument, Call, Diagnostic, INPUT, Prompt};
use std::sync::Arc;

/// A value to fill in: of an argument, or the input.
#[derive(Debug, Clone)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_required: bool,
    pub(super) choices: Vec<String>,
    pub(super) value: TypedText,
}

impl FormField {
    /// Returns the field of an argument, with this value.
    fn of_argument(argument: &Argument, value: &str) -> FormField {
        FormField {
            name: argument.name.clone(),
            description: argument.description.clone().unwrap_or_default(),
            is_required: argument.required,
            choices: argument.choices.clone(),
            value: TypedText::new(value),
        }
    }

    /// Returns the field of the input of a prompt, with this value.
    fn of_input(value: &str) -> FormField {
        FormField {
            name: INPUT.to_owned(),
            description: "the text for the prompt".to_owned(),
            is_required: false,
            choices: Vec::new(),
            value: TypedText::new(value),
        }
    }

    /// Returns whether the field needs a value and has none.
    fn is_missing(&self) -> bool {
        self.is_required && self.value.text.trim().is_empty()
    }

    /// Makes another choice the value of the field: the one after the current choice, or before it.
    /// After the last choice comes the first. A value that is no choice is replaced by the first
    /// choice, or by the last one.
    fn select_choice(&mut self, direction: Direction) {
        let text = &self.value.text;
        let current = self.choices.iter().position(|choice| choice == text);
        let index = match current {
            Some(current) => direction.next(current, self.choices.len()),
            None => direction.first(self.choices.len()),
        };
        self.value = TypedText::new(&*self.choices[index]);
    }

    /// Edits the value of the field. If the value is one of the choices, a letter does not follow
    /// it but takes its place, because whoever types then types another choice.
    fn edit(&mut self, key: &Key) {
        let is_choice = self.choices.contains(&self.value.text);
        if is_choice && matches!(key, Key::Character(_)) {
            self.value = TypedText::default();
        }
        self.value.edit(key);
    }
}

/// Which way to go in a list that has no end.
#[derive(Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Returns the index after or before this one, in a list with `count` entries. After the last
    /// one comes 0, and before 0 the last one.
    fn next(self, index: usize, count: usize) -> usize {
        match self {
            Direction::Forward => (index + 1) % count,
            Direction::Backward => (index + count - 1) % count,
        }
    }

    /// Returns the index to begin at: the first one, or, to go backward, the last one.
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
    pub(super) fields: Vec<FormField>,
    /// The index of the field that keys go to.
    pub(super) current: usize,
}

impl Form {
    /// Makes the form of a prompt, with a field for each argument and, if the prompt takes one, for
    /// the input. The fields have the values that `text` gives them as the input of a call, else
    /// their defaults. The first empty field is the current one.
    ///
    /// # Errors
    /// The prompt is broken.
    pub(super) fn new(found: Found, text: &str) -> Result<Form, Diagnostic> {
        let prompt = found.prompt()?;
        let binding = prompt.bind(Call::Text(text));
        let mut fields = Vec::new();
        for (argument, bound) in prompt.arguments.iter().zip(&binding.arguments) {
            fields.push(FormField::of_argument(argument, &bound.value));
        }
        // An argument that is called `input` gets the input, and has its field already.
        let has_input_field = fields.iter().any(|field| field.name == INPUT);
        if prompt.takes_input() && !has_input_field {
            fields.push(FormField::of_input(binding.input.as_deref().unwrap_or("")));
        }
        let first_empty = fields.iter().position(|field| field.value.text.is_empty());
        Ok(Form {
            found,
            fields,
            current: first_empty.unwrap_or(0),
            prompt: Arc::clone(&prompt),
        })
    }

    /// Returns the call with the values of the form. An empty field is left out, so that its
    /// default applies. If the prompt has no arguments, the only field is the input, which a call
    /// does not give by name.
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
                request.input.push(value);
            } else {
                request.arguments.insert(field.name.clone(), value);
            }
        }
        request
    }

    /// Makes the first field that needs a value and has none the current one, and returns its name.
    /// Returns `None`, and stays where it is, if no such field is left.
    pub(super) fn go_to_missing_field(&mut self) -> Option<&str> {
        self.current = self.fields.iter().position(FormField::is_missing)?;
        Some(&self.fields[self.current].name)
    }

    /// Reacts to a key: moves to another field, selects a choice of the current one, or edits it.
    pub(super) fn press(&mut self, key: &Key) {
        match key {
            Key::Tab | Key::PageDown => self.move_on(Direction::Forward),
            Key::BackTab | Key::PageUp => self.move_on(Direction::Backward),
            Key::Up => self.choose_or_move(Direction::Backward),
            Key::Down => self.choose_or_move(Direction::Forward),
            _ => self.fields[self.current].edit(key),
        }
    }

    /// Moves to the next field. After the last field comes the first.
    fn move_on(&mut self, direction: Direction) {
        self.current = direction.next(self.current, self.fields.len());
    }

    /// Selects the next choice of the current field or, if the field has no choices, moves to the
    /// next field.
    fn choose_or_move(&mut self, direction: Direction) {
        let field = &mut self.fields[self.current];
        if field.choices.is_empty() {
            self.move_on(direction);
        } else {
            field.select_choice(direction);
        }
    }
}
