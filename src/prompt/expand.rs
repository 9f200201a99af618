//! From a prompt and a call to the messages that a model gets, within the limit of their length.

use super::binding::{Binding, Call};
use super::diagnostic::{Diagnostic, Kind};
use super::jinja::{Rendered, Renderer};
use super::limits::MAX_EXPANSION;
use super::message::{Message, Messages, Piece, Role};
use super::model::Prompt;
use super::template::{INPUT, MessageTemplate};
use crate::wording::too_long;

impl Prompt {
    /// The messages that a model gets for a call, without the attachments.
    ///
    /// A prompt without any placeholder is followed by an empty line and the input, unless the
    /// input is empty; an empty prompt is the input alone, and after a message of the assistant the
    /// input is a message of its own. Of several messages, those that are empty are left out.
    ///
    /// # Errors
    /// A call that does not fit. An expansion that is too long is refused before it is allocated. A
    /// [remote](Prompt::is_rendered_by_service) prompt always is an error.
    pub fn expand(&self, call: Call<'_>) -> Result<Messages, Diagnostic> {
        self.expand_with(call, |pieces| pieces.map(Piece::as_str).collect())
    }

    /// The same, with a text of each message that `join` makes from its pieces, which it may
    /// change.
    ///
    /// # Errors
    /// Those of [`Prompt::expand`].
    pub fn expand_with(
        &self,
        call: Call<'_>,
        join: impl Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    ) -> Result<Messages, Diagnostic> {
        let binding = self.bind(call);
        if let Some(error) = binding.error {
            return Err(error);
        }
        if self.is_rendered_by_service() {
            let fix =
                "use the command `expand` or the tool `expand_prompt`, which call the service";
            return Err(Diagnostic::new(
                Kind::Service,
                "a service renders it, which is not called here",
                fix,
            ));
        }
        let appended = match &binding.input {
            Some(input) if self.appends_input() => input,
            _ => "",
        };
        let rendered = self.render(&binding)?;
        let is_empty = |index: usize| match rendered.get(index) {
            Some(rendered) => rendered.is_empty(),
            None => self.messages[index].body().is_empty(),
        };
        let last = self.messages.len().checked_sub(1);
        // The user's text must not become part of a message of the model.
        let is_appended = last.is_some_and(|last| self.messages[last].role == Role::User);
        let pieces = |index: usize| {
            let is_last = is_appended && Some(index) == last;
            let appended = if is_last { appended } else { "" };
            let is_alone = appended.is_empty() || last.is_none_or(is_empty);
            let separator = if is_alone { "" } else { self.separator() };
            let of_template = rendered.get(index).map(Rendered::pieces);
            let plain = of_template
                .is_none()
                .then(|| self.messages[index].pieces(|name| binding.value(name)));
            let parts = of_template
                .into_iter()
                .flatten()
                .chain(plain.into_iter().flatten());
            parts.chain([Piece::Text(separator), Piece::Value(appended)])
        };
        let lengths = (0..self.messages.len())
            .flat_map(&pieces)
            .map(|piece| piece.as_str().len());
        let length = lengths.fold(
            if is_appended { 0 } else { appended.len() },
            usize::saturating_add,
        );
        if length > MAX_EXPANSION {
            let message = format!("it would become {}", too_long(length, MAX_EXPANSION));
            return Err(Diagnostic::new(Kind::TooLong, message, "shorten the input"));
        }
        let message = |index: usize| Message {
            role: self.messages[index].role,
            text: join(&mut pieces(index)),
        };
        let mut messages: Vec<Message> = (0..self.messages.len()).map(message).collect();
        if !is_appended && !appended.is_empty() {
            messages.push(Message {
                role: Role::User,
                text: join(&mut [Piece::Value(appended)].into_iter()),
            });
        }
        Ok(Messages::new(messages))
    }

    /// Its messages in the [text form](Messages::to_text_with), with all placeholders as written.
    pub fn template_text(&self) -> String {
        let message = |it: &MessageTemplate| Message {
            role: it.role,
            text: it.body().to_owned(),
        };
        Messages::new(self.messages.iter().map(message).collect()).into_text()
    }

    /// Who its messages are from, in their order.
    pub fn roles(&self) -> Vec<Role> {
        self.messages.iter().map(|message| message.role).collect()
    }

    /// The texts of the messages, if they are templates of Jinja.
    fn render(&self, binding: &Binding<'_>) -> Result<Vec<Rendered>, Diagnostic> {
        if !self.is_jinja() {
            return Ok(Vec::new());
        }
        let names = self.arguments.iter().map(|argument| argument.name.as_str());
        let is_declared = self.arguments.iter().any(|argument| argument.name == INPUT);
        let names = names.chain((!is_declared).then_some(INPUT));
        let mut renderer = Renderer::new(names.map(|name| (name, binding.value(name))));
        let render = |message: &MessageTemplate| match message.jinja() {
            None => Ok(Rendered::default()),
            Some(template) => {
                let rendered = renderer.render(template, message.first_line());
                rendered.map_err(|error| self.origins.locate(error))
            }
        };
        self.messages.iter().map(render).collect()
    }
}
