//! From a prompt and a call to the messages that a model gets, within the limit of their length.

use super::binding::{Binding, Call};
use super::diagnostic::{Diagnostic, Kind};
use super::jinja::{Rendered, Renderer};
use super::limits::MAX_EXPANSION;
use super::message::{Message, Messages, Piece, Role};
use super::model::Prompt;
use super::template::INPUT;
use crate::wording::too_long;

/// A message that is not joined to one text yet.
struct MessagePieces<'p> {
    role: Role,
    /// Whether the prompt itself has no text for this message.
    is_empty: bool,
    pieces: Vec<Piece<'p>>,
}

impl Prompt {
    /// Returns the messages that a model gets for a call, without the attachments.
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

    /// Returns messages like [`Prompt::expand`], but `join` builds the text of each message from
    /// its pieces, and may alter them.
    ///
    /// # Errors
    /// Fails if [`Prompt::expand`] would fail.
    pub fn expand_with(
        &self,
        call: Call<'_>,
        join: impl Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    ) -> Result<Messages, Diagnostic> {
        self.expand_bound(&self.bind(call), join)
    }

    /// Returns the messages for a call that was bound, as [`Prompt::expand_with`] does.
    ///
    /// # Errors
    /// Those of [`Prompt::expand`].
    pub fn expand_bound(
        &self,
        binding: &Binding<'_>,
        mut join: impl FnMut(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    ) -> Result<Messages, Diagnostic> {
        if let Some(error) = &binding.error {
            return Err(error.clone());
        }
        if self.is_rendered_by_service() {
            return Err(service_error());
        }
        let rendered = self.render(binding)?;
        let mut unjoined = self.message_pieces(binding, &rendered);
        if self.appends_input() {
            self.append_input(binding.input.as_deref().unwrap_or_default(), &mut unjoined);
        }
        check_length(&unjoined)?;
        let mut messages = Vec::with_capacity(unjoined.len());
        for MessagePieces { role, pieces, .. } in unjoined {
            let text = join(&mut pieces.into_iter());
            messages.push(Message { role, text });
        }
        Ok(Messages::without_empty(messages))
    }

    /// Returns its messages in the [text form](Messages::to_text_with), with all placeholders as
    /// written.
    pub fn template_text(&self) -> String {
        let mut messages = Vec::with_capacity(self.messages.len());
        for template in &self.messages {
            messages.push(Message {
                role: template.role,
                text: template.body().to_owned(),
            });
        }
        Messages::without_empty(messages).into_text()
    }

    /// Returns who its messages are from, in their order.
    pub fn roles(&self) -> Vec<Role> {
        self.messages.iter().map(|message| message.role).collect()
    }

    /// Renders the messages of a prompt with `engine: jinja`. Returns nothing for other prompts.
    fn render(&self, binding: &Binding<'_>) -> Result<Vec<Rendered>, Diagnostic> {
        if !self.is_jinja() {
            return Ok(Vec::new());
        }
        let mut names = Vec::with_capacity(self.arguments.len() + 1);
        for argument in &self.arguments {
            names.push(argument.name.as_str());
        }
        if !names.contains(&INPUT) {
            names.push(INPUT);
        }
        let mut renderer = Renderer::new(names.iter().map(|name| (*name, binding.value(name))));
        let mut all = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            let Some(template) = message.jinja() else {
                all.push(Rendered::default());
                continue;
            };
            match renderer.render(template, message.first_line()) {
                Ok(rendered) => all.push(rendered),
                Err(error) => return Err(self.origins.locate(error)),
            }
        }
        Ok(all)
    }

    /// Returns the pieces of each message. `rendered` has the output of Jinja templates, and is
    /// empty for other prompts.
    fn message_pieces<'p>(
        &'p self,
        binding: &'p Binding<'_>,
        rendered: &'p [Rendered],
    ) -> Vec<MessagePieces<'p>> {
        let mut messages = Vec::with_capacity(self.messages.len() + 1); // one more for the input
        for (index, template) in self.messages.iter().enumerate() {
            let role = template.role;
            messages.push(match rendered.get(index) {
                Some(rendered) => MessagePieces {
                    role,
                    is_empty: rendered.is_empty(),
                    pieces: rendered.pieces(),
                },
                None => MessagePieces {
                    role,
                    is_empty: template.body().is_empty(),
                    pieces: template.pieces(|name| binding.value(name)).collect(),
                },
            });
        }
        messages
    }

    /// Adds the input to the last message if it is the user's, else as a message of its own: the
    /// user's text must not become part of a message of the model.
    fn append_input<'p>(&self, input: &'p str, messages: &mut Vec<MessagePieces<'p>>) {
        if input.is_empty() {
            return;
        }
        match messages.last_mut() {
            Some(last) if last.role == Role::User => {
                if !last.is_empty {
                    last.pieces.push(Piece::Text(self.input_separator()));
                }
                last.pieces.push(Piece::Value(input));
            }
            _ => messages.push(MessagePieces {
                role: Role::User,
                is_empty: true,
                pieces: vec![Piece::Value(input)],
            }),
        }
    }
}

fn service_error() -> Diagnostic {
    Diagnostic::new(
        Kind::Service,
        "a service renders it, which is not called here",
        "use the command `expand` or the tool `expand_prompt`, which call the service",
    )
}

/// # Errors
/// The messages are longer than [`MAX_EXPANSION`].
fn check_length(messages: &[MessagePieces<'_>]) -> Result<(), Diagnostic> {
    let mut length: usize = 0;
    for message in messages {
        for piece in &message.pieces {
            length = length.saturating_add(piece.as_str().len());
        }
    }
    if length > MAX_EXPANSION {
        let message = format!("it would become {}", too_long(length, MAX_EXPANSION));
        return Err(Diagnostic::new(Kind::TooLong, message, "shorten the input"));
    }
    Ok(())
}
