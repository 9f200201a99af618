//! Turns a prompt into the body of a skill for Claude Code, and for agents with the same rules.
//!
//! This program doesn't expand a skill. The agent itself replaces `$ARGUMENTS` with the words that
//! the user typed, and `$name` with one of them. So a prompt becomes a skill only if the agent's
//! rules and ours give the same text.

use super::message::{Piece, Role};
use super::model::{Argument, Prompt};
use super::template::{MessageTemplate, Placeholder};

/// The placeholder that the agent replaces with all words that the user typed.
const ALL_WORDS: &str = "$ARGUMENTS";

/// The name that Claude Code replaces with a setting in every skill. It cannot be escaped. Other
/// names, such as `${CLAUDE_SESSION_ID}`, are harmless: they stay as they are in a server's skills.
const CLAUDE_SETTING: &str = "${CLAUDE_EFFORT}";

/// The text of a prompt as a skill.
#[derive(Debug, PartialEq, Eq)]
pub struct SkillBody {
    /// The text below the frontmatter, with a final line break.
    pub text: String,
    /// The names of the arguments that get one word each. The text has them as `$name`.
    pub arguments: Vec<String>,
}

impl Prompt {
    /// Returns the text as a skill. Returns `None` if a skill cannot say the same as the prompt.
    ///
    /// It can if the prompt is one message of the user, without attachments and Jinja, and takes
    /// its input, one required argument, or one word for each argument. There must be no defaults
    /// and choices, because no agent knows them.
    pub fn skill_body(&self) -> Option<SkillBody> {
        let message = self.message_for_skill()?;
        let arguments = self.word_arguments_for_skill()?;
        let mut text = text_for_agent(message, &arguments)?;
        if self.appends_input() {
            if !text.is_empty() {
                text += self.input_separator();
            }
            text += ALL_WORDS;
        }
        text.push('\n');
        Some(SkillBody { text, arguments })
    }

    /// Returns the prompt's only message. Returns `None` if there are others, or if it has anything
    /// that a skill cannot have.
    fn message_for_skill(&self) -> Option<&MessageTemplate> {
        let [message] = self.messages.as_slice() else {
            return None;
        };
        let is_plain_text = message.role == Role::User
            && message.jinja().is_none()
            && self.attachments.is_empty()
            && !message.body().contains(CLAUDE_SETTING);
        if is_plain_text { Some(message) } else { None }
    }

    /// Returns the names of the arguments that get one word each. All other placeholders get all
    /// words. Returns `None` if the agent cannot divide the words as this program does.
    fn word_arguments_for_skill(&self) -> Option<Vec<String>> {
        if self.gives_one_word_per_argument() && self.arguments.iter().all(is_any_word) {
            let names = self.arguments.iter().map(|argument| argument.name.clone());
            return Some(names.collect());
        }
        let takes_all_words = match self.arguments.as_slice() {
            [] => true,
            [only] => only.required && only.choices.is_empty() && !self.takes_input(),
            _ => false,
        };
        if takes_all_words {
            Some(Vec::new())
        } else {
            None
        }
    }
}

/// Returns whether an argument can be any one word, and the agent knows `$` with its name as a
/// placeholder.
fn is_any_word(argument: &Argument) -> bool {
    let name = &argument.name;
    argument.default.is_none()
        && argument.choices.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(is_name_character)
}

/// Returns whether a character after a name continues that name.
fn is_name_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns the text of a message with the agent's placeholders instead of ours. `word_arguments`
/// get one word each. Returns `None` if the agent would not replace exactly these placeholders.
fn text_for_agent(message: &MessageTemplate, word_arguments: &[String]) -> Option<String> {
    for placeholder in message.placeholders() {
        if !can_be_dollar_name(placeholder, message.body()) {
            return None;
        }
    }
    let mut text = String::new();
    for piece in message.pieces(|placeholder| Piece::Value(&placeholder.name)) {
        match piece {
            Piece::Text(literal) => push_literal(&mut text, literal, word_arguments)?,
            Piece::Value(name) if contains(word_arguments, name) => {
                text.push('$');
                text.push_str(name);
            }
            Piece::Value(_) => text.push_str(ALL_WORDS),
        }
    }
    Some(text)
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|other| other == name)
}

/// Returns whether `$name` can replace a placeholder: the text around it neither escapes it nor
/// continues its name.
fn can_be_dollar_name(placeholder: &Placeholder, body: &str) -> bool {
    let before = &body[..placeholder.range.start];
    let after = &body[placeholder.range.end..];
    placeholder.is_plain()
        && !before.ends_with('\\')
        && !after.starts_with(|next| next == '[' || is_name_character(next))
}

/// Appends text that the agent must leave as it is. A `$` that it would replace gets a backslash.
/// Returns `None` if there is a backslash already, because the agent would remove it.
fn push_literal(text: &mut String, literal: &str, word_arguments: &[String]) -> Option<()> {
    let mut rest = literal;
    while let Some((before_dollar, after_dollar)) = rest.split_once('$') {
        text.push_str(before_dollar);
        if is_replaced(after_dollar, word_arguments) {
            if text.ends_with('\\') {
                return None;
            }
            text.push('\\');
        }
        text.push('$');
        rest = after_dollar;
    }
    text.push_str(rest);
    Some(())
}

/// Returns whether the agent replaces a `$` and the name after it: a number, the name of an
/// argument, or any word that begins with `ARGUMENTS`.
fn is_replaced(after_dollar: &str, word_arguments: &[String]) -> bool {
    let end = after_dollar.find(|letter| !is_name_character(letter));
    let name = &after_dollar[..end.unwrap_or(after_dollar.len())];
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    is_number || name.starts_with("ARGUMENTS") || contains(word_arguments, name)
}

#[cfg(test)]
mod tests {
    use super::SkillBody;
    use crate::prompt::format::{claude, fabric, gemini};
    use crate::prompt::{Name, Parse, Prompt};

    /// Returns the body of a skill, with the arguments before it: `a b: Do $a and $b`.
    fn skill(prompt: &Prompt) -> Option<String> {
        let SkillBody { text, arguments } = prompt.skill_body()?;
        let text = text.strip_suffix('\n').unwrap();
        if arguments.is_empty() {
            return Some(text.to_owned());
        }
        Some(format!("{}: {text}", arguments.join(" ")))
    }

    fn own(file: &str) -> Prompt {
        Prompt::parse(Name::new("x").unwrap(), file.as_bytes()).unwrap()
    }

    #[test]
    fn a_prompt_that_takes_one_text_or_words_is_a_skill() {
        for (file, want) in [
            (
                "About {{input}}.\n{{input}}",
                "About $ARGUMENTS.\n$ARGUMENTS",
            ),
            ("Review.", "Review.\n\n$ARGUMENTS"),
            ("---\ntitle: T\n---\n", "$ARGUMENTS"),
            (
                "---\narguments: [{name: topic, required: true}]\n---\nOn {{topic}}",
                "On $ARGUMENTS",
            ),
            (
                "---\narguments: [a, b]\nwords: true\n---\n{{a}}, {{b}} of {{input}}",
                "a b: $a, $b of $ARGUMENTS",
            ),
            (
                "Costs $5, $5k, $1.50 or $x, of {{input}} and $ARGUMENTS",
                "Costs \\$5, $5k, \\$1.50 or $x, of $ARGUMENTS and \\$ARGUMENTS",
            ),
            (
                "---\narguments: [a]\nwords: true\n---\n{{a}} $a $ab",
                "a: $a \\$a $ab",
            ),
            (r"Write \{{input}}", "Write {{input}}\n\n$ARGUMENTS"),
            ("Run !`ls` for {{input}}", "Run !`ls` for $ARGUMENTS"),
        ] {
            assert_eq!(skill(&own(file)).as_deref(), Some(want), "{file}");
        }
    }

    #[test]
    fn a_prompt_that_only_this_program_can_expand_is_no_skill() {
        for file in [
            "---\narguments: [a]\n---\n{{a}}",
            "---\narguments: [{name: a, required: true}]\n---\n{{a}} {{input}}",
            "---\narguments: [{name: a, required: true, choices: [b]}]\n---\n{{a}}",
            "---\narguments: [{name: a, required: true}, b]\n---\n{{a}} {{b}}",
            "---\narguments: [{name: a, default: b}]\nwords: true\n---\n{{a}}",
            "---\narguments: [a-b]\nwords: true\n---\n{{a-b}}",
            "---\nengine: jinja\n---\n{{ input }}",
            "---\nattachments: [a.md]\n---\n{{input}}",
            "---\nmessages: true\n---\n<!-- user -->\na\n<!-- assistant -->\nb",
            r"Print \$1 of {{input}}",
            "At ${CLAUDE_EFFORT}: {{input}}",
            "{{input}}[0]",
            "---\narguments: [a]\nwords: true\n---\n{{a}}s",
        ] {
            assert_eq!(skill(&own(file)), None, "{file}");
        }
    }

    #[test]
    fn the_files_of_other_programs_follow_their_own_rules() {
        for (parse, file, want) in [
            (
                claude::parse_command as Parse,
                "---\narguments: [a, b]\n---\n$b $a $ARGUMENTS",
                Some("a b: $b $a $ARGUMENTS"),
            ),
            // Claude Code leaves `$1` as it is if there is no such word; this program removes it.
            (claude::parse_command, "$ARGUMENTS[1]", None),
            (fabric::parse, "# INPUT:", Some("# INPUT:\n$ARGUMENTS")),
            (
                gemini::parse,
                "prompt = 'Do {{args}}'",
                Some("Do $ARGUMENTS"),
            ),
            (gemini::parse, r"prompt = 'Do \{{args}}'", None),
        ] {
            let prompt = parse(&Name::new("x").unwrap(), file).unwrap();
            assert_eq!(skill(&prompt).as_deref(), want, "{file}");
        }
    }
}
