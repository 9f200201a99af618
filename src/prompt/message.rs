//! The messages that a prompt expands to.

/// Who a [`Message`] is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The role as clients know it.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
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
    /// The text or the value.
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

/// The messages of an expansion, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages(Vec<Message>);

impl Messages {
    /// Of several messages, those that are empty are left out.
    pub(super) fn new(mut messages: Vec<Message>) -> Messages {
        if messages.iter().any(|message| !message.text.is_empty()) {
            messages.retain(|message| !message.text.is_empty());
        } else {
            messages.truncate(1);
        }
        Messages(messages)
    }

    /// The texts of all messages, with an empty line between two of them. If there is one of the assistant, each message comes
    /// after a line `User:` or `Assistant:`.
    pub fn into_text(self) -> String {
        let has_roles = self.0.iter().any(|message| message.role == Role::Assistant);
        let mut texts = self.0.into_iter().map(|Message { role, text }| match role {
            _ if !has_roles => text,
            Role::User => format!("User:\n{text}"),
            Role::Assistant => format!("Assistant:\n{text}"),
        });
        let first = texts.next().unwrap_or_default();
        texts.fold(first, |all, text| all + "\n\n" + &text)
    }
}

impl IntoIterator for Messages {
    type Item = Message;
    type IntoIter = std::vec::IntoIter<Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_names_the_roles_if_there_is_an_assistant() {
        let message = |role: Role, text: &str| Message { role, text: text.to_owned() };
        let messages =
            vec![message(Role::User, "Ask."), message(Role::Assistant, "Answer."), message(Role::User, "More.")];
        assert_eq!(Messages::new(messages).into_text(), "User:\nAsk.\n\nAssistant:\nAnswer.\n\nUser:\nMore.");
    }

    #[test]
    fn the_text_form_separates_messages_by_an_empty_line() {
        let message = |text: &str| Message { role: Role::User, text: text.to_owned() };
        let two = Messages::new(vec![message("Ask."), message("Say more.")]);
        assert_eq!(two.into_text(), "Ask.\n\nSay more.");
        assert_eq!(Messages::new(vec![message("Ask.\n")]).into_text(), "Ask.\n");
    }
}
