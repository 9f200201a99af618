//! The messages that a prompt expands to.

use super::attachment::Attachment;
use serde::Deserialize;

/// Who a [`Message`] is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the role as clients know it.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }

    /// Returns the line before a message in the text form.
    fn heading(self) -> &'static str {
        match self {
            Role::User => "User:\n",
            Role::Assistant => "Assistant:\n",
        }
    }
}

/// A piece of a message, which is text of the prompt's file or comes from the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'p> {
    /// Text of the prompt.
    Text(&'p str),
    /// The value of a placeholder, or the input after a text without placeholders.
    Value(&'p str),
}

impl<'p> Piece<'p> {
    /// Returns the text or the value.
    pub fn as_str(self) -> &'p str {
        match self {
            Piece::Text(text) | Piece::Value(text) => text,
        }
    }
}

/// One message of an expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// Its text.
    pub text: String,
}

/// An expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages {
    /// At least one, in their order.
    pub messages: Vec<Message>,
    /// What follows them.
    pub attachments: Vec<Attachment>,
}

impl Messages {
    /// Returns the messages without the empty ones. If all are empty, the first stays, as a message
    /// of the user.
    pub(super) fn without_empty(mut messages: Vec<Message>) -> Messages {
        if messages.iter().any(|message| !message.text.is_empty()) {
            messages.retain(|message| !message.text.is_empty());
        } else {
            messages.truncate(1);
            for message in &mut messages {
                message.role = Role::User;
            }
        }
        Messages {
            messages,
            attachments: Vec::new(),
        }
    }

    /// Returns the text form: the texts of all messages and attachments, with an empty line between
    /// two of them. If there is a message of the assistant, each message comes after a line `User:`
    /// or `Assistant:`. `attachment_text` returns the text of an attachment.
    pub fn to_text_with(&self, attachment_text: impl Fn(&Attachment) -> String) -> String {
        let mut text = String::new();
        for (heading, message) in self.headings().zip(&self.messages) {
            begin_part(&mut text);
            text += heading;
            text += &message.text;
        }
        for attachment in &self.attachments {
            begin_part(&mut text);
            text += &attachment_text(attachment);
        }
        text
    }

    /// Returns the line before each message in the text form: `User:` or `Assistant:` if there is a
    /// message of the assistant, else an empty text.
    fn headings(&self) -> impl Iterator<Item = &'static str> {
        let has_roles = self
            .messages
            .iter()
            .any(|message| message.role == Role::Assistant);
        self.messages.iter().map(move |message| {
            if has_roles {
                message.role.heading()
            } else {
                ""
            }
        })
    }

    /// Returns the byte of the text form at which the text of each message begins: 6 for the
    /// message after `User:` and a line break.
    pub fn message_offsets(&self) -> Vec<usize> {
        let mut starts = Vec::with_capacity(self.messages.len());
        let mut end = 0;
        for (heading, message) in self.headings().zip(&self.messages) {
            let separator_length = if end > 0 { PART_SEPARATOR.len() } else { 0 };
            let start = end + separator_length + heading.len();
            starts.push(start);
            end = start + message.text.len();
        }
        starts
    }

    /// Returns the text form, attachments included. The text of a single message is moved, not
    /// copied.
    pub fn into_text(mut self) -> String {
        if let [message] = self.messages.as_mut_slice()
            && message.role == Role::User
            && self.attachments.is_empty()
        {
            return std::mem::take(&mut message.text);
        }
        self.to_text_with(Attachment::to_text)
    }
}

/// What is between two messages or attachments in the text form.
const PART_SEPARATOR: &str = "\n\n";

/// Adds the separator before the next part of a text form. The first part has none.
fn begin_part(text: &mut String) {
    if !text.is_empty() {
        text.push_str(PART_SEPARATOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_names_the_roles_if_there_is_an_assistant() {
        let message = |role: Role, text: &str| Message {
            role,
            text: text.to_owned(),
        };
        let messages = vec![
            message(Role::User, "Ask."),
            message(Role::Assistant, "Answer."),
            message(Role::User, "More."),
        ];
        assert_eq!(
            Messages::without_empty(messages).into_text(),
            "User:\nAsk.\n\nAssistant:\nAnswer.\n\nUser:\nMore."
        );
    }
}
