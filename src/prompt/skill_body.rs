//! The text of a prompt as a skill, by the rules of Claude Code: the agent itself replaces
//! `$ARGUMENTS` with the words that the user typed.

use super::message::{Piece, Role};
use super::model::{Argument, Prompt};
use super::template::{MessageTemplate, Placeholder};

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
        let [message] = self.messages.as_slice() else {
            return None;
        };
        let is_text = message.role == Role::User
            && message.jinja().is_none()
            && self.attachments.is_empty()
            && !message.body().contains(CLAUDE_SETTING);
        if !is_text {
            return None;
        }
        let input = self.skill_input()?;
        let mut text = message_text(message, &input)?;
        if self.appends_input() {
            if !text.is_empty() {
                text += self.input_separator();
            }
            text += "$ARGUMENTS";
        }
        text.push('\n');
        Some(SkillBody {
            text,
            arguments: input.into_names(),
        })
    }

    /// Returns what a skill does with the words that the user typed. Returns `None` if it cannot
    /// divide them among the arguments as this program does.
    fn skill_input(&self) -> Option<SkillInput> {
        if self.gives_one_word_per_argument() && self.arguments.iter().all(is_word) {
            let names = self.arguments.iter().map(|argument| argument.name.clone());
            return Some(SkillInput::Words(names.collect()));
        }
        match self.arguments.as_slice() {
            [] => Some(SkillInput::WholeText),
            [only] if only.required && only.choices.is_empty() && !self.takes_input() => {
                Some(SkillInput::WholeText)
            }
            _ => None,
        }
    }
}

/// What a skill does with the words that the user typed.
enum SkillInput {
    /// All words together replace each placeholder.
    WholeText,
    /// The arguments with these names get one word each. All words together replace any other
    /// placeholder.
    Words(Vec<String>),
}

impl SkillInput {
    /// Returns whether an argument with this name gets one word.
    fn has_word(&self, name: &str) -> bool {
        match self {
            SkillInput::WholeText => false,
            SkillInput::Words(names) => names.iter().any(|argument| argument == name),
        }
    }

    /// Returns the names of the arguments that get one word each.
    fn into_names(self) -> Vec<String> {
        match self {
            SkillInput::WholeText => Vec::new(),
            SkillInput::Words(names) => names,
        }
    }
}

/// Returns whether an argument is any one word, and `$` with its name is a placeholder in Claude
/// Code.
fn is_word(argument: &Argument) -> bool {
    argument.default.is_none()
        && argument.choices.is_empty()
        && !argument
            .name
            .starts_with(|first: char| first.is_ascii_digit())
        && argument.name.chars().all(is_word_character)
}

/// Returns whether Claude Code takes a character for a part of the name before it.
fn is_word_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns the text of a message with the placeholders of a skill. Returns `None` if the agent
/// would replace something else.
fn message_text(message: &MessageTemplate, input: &SkillInput) -> Option<String> {
    let mut placeholders = message.placeholders();
    if !placeholders.all(|placeholder| stands_alone(placeholder, message.body())) {
        return None;
    }
    let mut text = String::new();
    for piece in message.pieces(|placeholder| Piece::Value(&placeholder.name)) {
        match piece {
            Piece::Text(literal) => {
                if !push_literal(&mut text, literal, input) {
                    return None;
                }
            }
            Piece::Value(name) => {
                text.push('$');
                text.push_str(if input.has_word(name) {
                    name
                } else {
                    "ARGUMENTS"
                });
            }
        }
    }
    Some(text)
}

/// Returns whether a placeholder can be replaced by `$name`: the text around it neither escapes it
/// nor continues its name.
fn stands_alone(placeholder: &Placeholder, body: &str) -> bool {
    let before = &body[..placeholder.range.start];
    let after = &body[placeholder.range.end..];
    placeholder.is_plain()
        && !before.ends_with('\\')
        && !after.starts_with(|next| next == '[' || is_word_character(next))
}

/// Appends text that the agent must leave as it is: a `$` that it would replace gets a backslash.
/// Returns false if the text has such a backslash already, because the agent would remove that.
fn push_literal(text: &mut String, literal: &str, input: &SkillInput) -> bool {
    for (index, part) in literal.split('$').enumerate() {
        if index > 0 {
            if is_replaced(part, input) {
                if text.ends_with('\\') {
                    return false;
                }
                text.push('\\');
            }
            text.push('$');
        }
        text.push_str(part);
    }
    true
}

/// Returns whether Claude Code replaces a `$` and the name after it: `ARGUMENTS`, also as the start
/// of a longer word, a number, or an argument.
fn is_replaced(after_dollar: &str, input: &SkillInput) -> bool {
    let end = after_dollar.find(|letter| !is_word_character(letter));
    let word = &after_dollar[..end.unwrap_or(after_dollar.len())];
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number || word.starts_with("ARGUMENTS") || input.has_word(word)
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
