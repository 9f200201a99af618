//! The messages that a prompt expands to.

/// Who a [`Message`] is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
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
    pub(super) fn new(messages: Vec<Message>) -> Messages {
        Messages(messages)
    }

    /// The texts of all messages, with an empty line between two of them.
    pub fn into_text(self) -> String {
        let mut texts = self.0.into_iter().map(|message| message.text);
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
    fn the_text_form_separates_messages_by_an_empty_line() {
        let message = |text: &str| Message { role: Role::User, text: text.to_owned() };
        let two = Messages::new(vec![message("Ask."), message("Say more.")]);
        assert_eq!(two.into_text(), "Ask.\n\nSay more.");
        assert_eq!(Messages::new(vec![message("Ask.\n")]).into_text(), "Ask.\n");
    }
}
