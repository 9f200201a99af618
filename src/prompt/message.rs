//! The messages of an expansion.

use super::attachment::Attachment;
use serde::Deserialize;

/// The author of a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the role's name in the MCP protocol.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }

    /// Returns the line that precedes a message in the text form.
    fn heading(self) -> &'static str {
        match self {
            Role::User => "User:\n",
            Role::Assistant => "Assistant:\n",
        }
    }
}

/// A piece of a message: text from the prompt's file, or a value from the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'p> {
    /// Text from the prompt's author.
    Text(&'p str),
    /// A value from the caller.
    Value(&'p str),
}

impl<'p> Piece<'p> {
    /// Returns the contents, wherever they come from.
    pub fn as_str(self) -> &'p str {
        match self {
            Piece::Text(text) | Piece::Value(text) => text,
        }
    }
}

/// A message of an expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The author of the message.
    pub role: Role,
    /// The text, with all values inserted.
    pub text: String,
}

/// An expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages {
    /// The messages, in order. There is at least one.
    pub messages: Vec<Message>,
    /// The attachments, which follow the messages.
    pub attachments: Vec<Attachment>,
}

impl Messages {
    /// Creates an expansion from the messages that are not empty. If all are empty, the first one
    /// is kept as a user message.
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

    /// Returns the expansion as plain text: all messages and attachments, separated by blank lines.
    ///
    /// If any message is the assistant's, each message is preceded by a line `User:` or
    /// `Assistant:`. `attachment_text` formats an attachment.
    pub fn to_text_with(&self, attachment_text: impl Fn(&Attachment) -> String) -> String {
        let mut text = String::new();
        for (heading, message) in self.headings().zip(&self.messages) {
            push_separator(&mut text);
            text += heading;
            text += &message.text;
        }
        for attachment in &self.attachments {
            push_separator(&mut text);
            text += &attachment_text(attachment);
        }
        text
    }

    /// Returns the heading of each message in the text form, e.g. `User:`. Headings are empty if
    /// there is no assistant message.
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

    /// Returns the byte offset of each message's text in the text form, e.g. 6 for a first message
    /// after the heading `User:`.
    pub fn message_offsets(&self) -> Vec<usize> {
        let mut offsets = Vec::with_capacity(self.messages.len());
        let mut end = 0;
        for (heading, message) in self.headings().zip(&self.messages) {
            // As in `push_separator`, none precedes the first text that isn't empty.
            let separator_length = if end > 0 { PART_SEPARATOR.len() } else { 0 };
            let start = end + separator_length + heading.len();
            offsets.push(start);
            end = start + message.text.len();
        }
        offsets
    }

    /// Returns the text form, including attachments. The text of a single user message is moved
    /// rather than copied.
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

/// The separator between messages or attachments in the text form.
const PART_SEPARATOR: &str = "\n\n";

/// Appends the separator before the next part, unless `text` is still empty.
fn push_separator(text: &mut String) {
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
