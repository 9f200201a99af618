//! Expands a prompt: turns a call into the messages for a model.

use super::binding::{Binding, Call};
use super::diagnostic::{Diagnostic, Kind};
use super::jinja::{Rendered, Renderer};
use super::limits::MAX_EXPANSION;
use super::message::{Message, Messages, Piece, Role};
use super::model::{Prompt, names_with_input};
use crate::wording::size_and_limit;

/// A message whose pieces have not been joined yet.
struct MessagePieces<'p> {
    role: Role,
    /// Whether the prompt's template, before the input is appended, produces no text.
    is_empty: bool,
    pieces: Vec<Piece<'p>>,
}

impl Prompt {
    /// Expands the prompt. Attachments are not included.
    ///
    /// If the prompt contains no placeholders, a non-empty input is appended after a blank line, or
    /// as a message of its own if the last message is the assistant's. Empty messages are removed
    /// unless all are empty.
    ///
    /// # Errors
    /// Fails if the call doesn't match the prompt's arguments, if the expansion would be longer
    /// than [`MAX_EXPANSION`] (checked before allocating it), or if a remote service
    /// [renders](Prompt::is_rendered_by_service) the prompt.
    pub fn expand(&self, call: Call<'_>) -> Result<Messages, Diagnostic> {
        self.expand_with(call, |pieces| pieces.map(Piece::as_str).collect())
    }

    /// Expands the prompt, and lets the caller build the text of each message: `join` gets the
    /// pieces of a message and returns its text, e.g. with the values highlighted. In all else,
    /// this is [`Prompt::expand`].
    ///
    /// # Errors
    /// See [`Prompt::expand`].
    pub fn expand_with(
        &self,
        call: Call<'_>,
        join: impl Fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    ) -> Result<Messages, Diagnostic> {
        self.expand_bound(&self.bind(call), join)
    }

    /// Expands the prompt for a call whose values are already bound. `join` gets the pieces of a
    /// message and returns its text; it is called once for each message, in order.
    ///
    /// # Errors
    /// See [`Prompt::expand`].
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
        let rendered_messages = self.render_jinja(binding)?;
        let mut unjoined = self.message_pieces(binding, &rendered_messages);
        if self.appends_input() {
            self.append_input(binding.input.as_deref().unwrap_or_default(), &mut unjoined);
        }
        // Must come before the pieces are joined, because the joined text could be huge.
        check_total_length(&unjoined)?;
        let mut messages = Vec::with_capacity(unjoined.len());
        for MessagePieces { role, pieces, .. } in unjoined {
            let text = join(&mut pieces.into_iter());
            messages.push(Message { role, text });
        }
        Ok(Messages::without_empty(messages))
    }

    /// Returns the unexpanded messages in the [text form](Messages::to_text_with), with
    /// placeholders as written.
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

    /// Returns the role of each message.
    pub fn roles(&self) -> Vec<Role> {
        self.messages.iter().map(|message| message.role).collect()
    }

    /// Renders the Jinja templates of the messages. Returns one item for each message, which is
    /// `None` if the message isn't a Jinja template.
    fn render_jinja(&self, binding: &Binding<'_>) -> Result<Vec<Option<Rendered>>, Diagnostic> {
        if !self.is_jinja() {
            return Ok(self.messages.iter().map(|_| None).collect());
        }
        // Any template may use the input.
        let names = names_with_input(&self.arguments);
        let mut renderer = Renderer::new(names.iter().map(|name| (*name, binding.value(name))));
        let mut outputs = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            let Some(template) = message.jinja() else {
                outputs.push(None);
                continue;
            };
            match renderer.render(template, message.first_line()) {
                Ok(rendered) => outputs.push(Some(rendered)),
                Err(error) => return Err(self.origins.locate(error)),
            }
        }
        Ok(outputs)
    }

    /// Returns the pieces of each message. `rendered_messages` is the result of
    /// [`Prompt::render_jinja`], with one item for each message.
    fn message_pieces<'p>(
        &'p self,
        binding: &'p Binding<'_>,
        rendered_messages: &'p [Option<Rendered>],
    ) -> Vec<MessagePieces<'p>> {
        // `append_input` may add one more message.
        let mut messages = Vec::with_capacity(self.messages.len() + 1);
        for (template, rendered_message) in self.messages.iter().zip(rendered_messages) {
            let role = template.role;
            messages.push(match rendered_message {
                Some(rendered) => MessagePieces {
                    role,
                    is_empty: rendered.is_empty(),
                    pieces: rendered.pieces(),
                },
                None => MessagePieces {
                    role,
                    is_empty: template.body().is_empty(),
                    pieces: template
                        .pieces(|placeholder| binding.replacement(placeholder))
                        .collect(),
                },
            });
        }
        messages
    }

    /// Appends the input to the last message, or adds a user message if the last one is the
    /// assistant's: the user's text must not become part of a message of the model.
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

/// Fails if the messages together are longer than [`MAX_EXPANSION`].
fn check_total_length(messages: &[MessagePieces<'_>]) -> Result<(), Diagnostic> {
    let mut length: usize = 0;
    for message in messages {
        for piece in &message.pieces {
            length = length.saturating_add(piece.as_str().len());
        }
    }
    if length > MAX_EXPANSION {
        let message = format!("it would become {}", size_and_limit(length, MAX_EXPANSION));
        return Err(Diagnostic::new(Kind::TooLong, message, "shorten the input"));
    }
    Ok(())
}
