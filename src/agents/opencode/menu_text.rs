//! Escapes prompts for opencode's menu, which treats them as templates.
//!
//! opencode requests a prompt with the values `$1`, `$2` … and then replaces its own placeholders
//! in the answer (see `SessionPrompt.command` and `ConfigMarkdown` in the source of version 1.18):
//!
//! 1. `$N` becomes the N-th word that the user typed, or nothing. The highest N gets all remaining
//!    words. `$ARGUMENTS` becomes everything that the user typed.
//! 2. `` !`command` `` is run in a shell, without asking, and becomes its output.
//! 3. `@path` attaches a file or a folder, even below `~/`, and `@name` calls an agent, unless it
//!    follows a letter, a digit, `_` or a backtick.
//!
//! None of this may happen in the prompt's own text, so a space or an invisible U+2060 (word
//! joiner) is inserted into everything that looks like a placeholder. The values are not escaped:
//! the user typed them, or they are the placeholders that opencode has to replace.
//!
//! opencode drops roles, images and embedded resources, and joins the texts of several messages. So
//! it gets the text form of a prompt, in one message.

use crate::prompt::{Piece, Prompt};
use std::collections::BTreeMap;

/// An invisible character that breaks up a placeholder.
const WORD_JOINER: char = '\u{2060}';

/// The name of the placeholder `$ARGUMENTS`.
const ARGUMENTS: &str = "ARGUMENTS";

/// Joins the pieces of a message, and breaks up opencode's placeholders in the prompt's own text,
/// but not in values.
///
/// The text `` !`id` costs $1 `` becomes `` ! `id` costs $_1 ``, where `_` stands for the invisible
/// [`WORD_JOINER`].
pub(super) fn join_escaped(pieces: &mut dyn Iterator<Item = Piece<'_>>) -> String {
    let mut message = EscapedMessage::default();
    for piece in pieces {
        match piece {
            Piece::Text(text) => message.push_text(text),
            Piece::Value("") => {} // an empty value separates nothing
            Piece::Value(value) => message.push_value(value),
        }
    }
    message.text
}

/// Returns a copy of a prompt whose strict arguments accept the values `$1`, `$2` … as well as
/// their choices. opencode requests a prompt before it knows what the user will type, so it sends
/// these placeholders instead.
pub(super) fn accept_placeholders(prompt: &Prompt, values: &BTreeMap<String, String>) -> Prompt {
    let mut prompt = prompt.clone();
    for argument in &mut prompt.arguments {
        if values
            .get(&argument.name)
            .is_some_and(|value| is_numbered_placeholder(value))
        {
            argument.strict = false;
        }
    }
    prompt
}

/// Returns whether a value is a placeholder such as `$1`.
fn is_numbered_placeholder(value: &str) -> bool {
    let Some(number) = value.strip_prefix('$') else {
        return false;
    };
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// A message that is being joined, up to the current piece.
#[derive(Default)]
struct EscapedMessage {
    text: String,
    ending: Ending,
}

/// What a message ends in, which decides what may follow unchanged.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Ending {
    /// The prompt's own text, or nothing yet.
    #[default]
    Text,
    /// A value that doesn't end in a placeholder, e.g. `blue`.
    Value,
    /// One or several values whose end is `$` and zero or more digits, e.g. `$` or `$12`. A digit
    /// after it would become part of the number.
    Placeholder,
}

impl EscapedMessage {
    /// Appends text of the prompt, and breaks up whatever opencode would take for a placeholder.
    fn push_text(&mut self, text: &str) {
        for (start, character) in text.char_indices() {
            let separator = self.separator_before_text(character, &text[start..]);
            self.text.extend(separator);
            let starts_path = character == '@' && self.may_precede_path();
            self.text.push(character);
            if starts_path {
                // Unconditionally, because in some versions a lone `@` is a path, too.
                self.text.push(WORD_JOINER);
            }
            self.ending = Ending::Text;
        }
    }

    /// Appends a value unchanged, after a separator if it would complete a placeholder that the
    /// prompt's own text begins.
    fn push_value(&mut self, value: &str) {
        let separator = self.separator_before_value(value);
        self.text.extend(separator);
        self.ending = self.ending_after_value(value);
        self.text.push_str(value);
    }

    /// Returns the separator to insert before the next character of the prompt, so that opencode
    /// doesn't take both together for syntax: `` !` `` starts a shell command, `$1` and
    /// `$ARGUMENTS` are placeholders. `remaining` is the text that starts with the character.
    fn separator_before_text(&self, character: char, remaining: &str) -> Option<char> {
        let follows_placeholder = self.ending == Ending::Placeholder;
        match character {
            // The text that replaces the placeholder may end in `!`.
            '`' if self.text.ends_with('!') || follows_placeholder => Some(' '),
            // `$1` and `0` would be the placeholder `$10`.
            '0'..='9' if self.text.ends_with('$') || follows_placeholder => Some(WORD_JOINER),
            'A' if self.text.ends_with('$') && may_start_arguments(remaining) => Some(WORD_JOINER),
            _ => None,
        }
    }

    /// Returns the separator to insert before a value. Only the prompt's own text needs one: what
    /// two values make together is what the user typed.
    fn separator_before_value(&self, value: &str) -> Option<char> {
        if self.ending != Ending::Text {
            return None;
        }
        match self.text.chars().next_back() {
            // A shell command, now or once opencode has replaced the placeholder `$1`.
            Some('!') if value.starts_with(['`', '$']) => Some(' '),
            // Whatever the value is, because `1` makes `$1`, and `ARGUMENTS` makes `$ARGUMENTS`.
            Some('$') => Some(WORD_JOINER),
            _ => None,
        }
    }

    /// Returns what the message ends in once `value` is appended. The value isn't empty.
    ///
    /// Looks only at the value, not at the text before it, so that many values in a row take linear
    /// time.
    fn ending_after_value(&self, value: &str) -> Ending {
        let before_digits = value.trim_end_matches(|digit: char| digit.is_ascii_digit());
        // `$1` and `2` make `$12`.
        let continues_number = before_digits.is_empty() && self.ending == Ending::Placeholder;
        if continues_number || before_digits.ends_with('$') {
            Ending::Placeholder
        } else {
            Ending::Value
        }
    }

    /// Returns whether opencode would take an `@` after `text` for the start of a path.
    fn may_precede_path(&self) -> bool {
        if self.ending != Ending::Text {
            return true; // opencode may replace the value, so anything can be before the `@` then
        }
        let ends_in_word = self
            .text
            .ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_' || last == '`');
        !ends_in_word
    }
}

/// Returns whether a text starts with `ARGUMENTS`, or with a part of it that the next value might
/// complete.
fn may_start_arguments(text: &str) -> bool {
    text.starts_with(ARGUMENTS) || ARGUMENTS.starts_with(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Call, Name};
    use proptest::prelude::*;

    /// What opencode makes of a text, and what it would run and attach.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Opencode {
        text: String,
        commands: Vec<String>,
        paths: Vec<String>,
    }

    /// Does what opencode does, as its source says: `/\$(\d+)/g`, `$ARGUMENTS`, `` /!`([^`]+)`/g ``
    /// and ``/(?<![\w`])@(\.?[^\s`,.]*(?:\.[^\s`,.]+)*)/g``.
    fn opencode(template: &str, typed: &str) -> Opencode {
        let text = with_words(template, typed).replace("$ARGUMENTS", typed);
        Opencode {
            commands: commands_in(&text),
            paths: paths_in(&text),
            text,
        }
    }

    /// Replaces `$1`, `$2` … by the words of what was typed; the highest number gets the rest.
    fn with_words(template: &str, typed: &str) -> String {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let mut marks = Vec::new();
        for (start, _) in template.match_indices('$') {
            let after = &template[start + 1..];
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if let Ok(number) = after[..digits].parse::<usize>() {
                marks.push((start, start + 1 + digits, number));
            }
        }
        let highest = marks.iter().map(|(.., number)| *number).max();
        let mut text = String::new();
        let mut copied = 0;
        for (start, end, number) in marks {
            text.push_str(&template[copied..start]);
            copied = end;
            let following = words.get(number.wrapping_sub(1)..).unwrap_or_default();
            if Some(number) == highest {
                text.push_str(&following.join(" "));
            } else if let Some(word) = following.first() {
                text.push_str(word);
            }
        }
        text + &template[copied..]
    }

    fn commands_in(text: &str) -> Vec<String> {
        let mut commands = Vec::new();
        let mut remaining = text;
        while let Some((_, after)) = remaining.split_once("!`") {
            remaining = after;
            if let Some((command, after)) = after.split_once('`')
                && !command.is_empty()
            {
                commands.push(command.to_owned());
                remaining = after;
            }
        }
        commands
    }

    fn paths_in(text: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for (start, _) in text.match_indices('@') {
            if text[..start].ends_with(|before: char| {
                before.is_ascii_alphanumeric() || before == '_' || before == '`'
            }) {
                continue;
            }
            let after = &text[start + 1..];
            let end = after.find(|letter: char| letter.is_whitespace() || "`,".contains(letter));
            let path = after[..end.unwrap_or(after.len())].trim_end_matches('.');
            if !path.is_empty() && !path.starts_with(WORD_JOINER) {
                paths.push(path.to_owned()); // opencode may end it earlier, at two dots
            }
        }
        paths
    }

    /// Returns the message for a template with these values of `a`, `b` and `input`.
    fn message(
        body: &str,
        values: [&str; 3],
        join: fn(&mut dyn Iterator<Item = Piece<'_>>) -> String,
    ) -> String {
        let file = format!("---\narguments: [a, b]\n---\n{body}");
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        let names = ["a", "b", "input"].map(str::to_owned);
        let values: BTreeMap<String, String> =
            names.into_iter().zip(values.map(str::to_owned)).collect();
        prompt
            .expand_with(
                Call::Named {
                    values: &values,
                    input: "",
                    is_strict: false,
                },
                join,
            )
            .unwrap()
            .into_text()
    }

    /// The values with which opencode requests a prompt.
    const NUMBERS: [&str; 3] = ["$1", "$2", "$3"];

    #[track_caller]
    fn check(body: &str, want: &str) {
        assert_eq!(
            message(body, NUMBERS, join_escaped).replace(WORD_JOINER, "_"),
            want,
            "{body}"
        );
    }

    #[test]
    fn a_value_is_searched_once_however_many_follow_each_other() {
        // Searched again for each, this would take minutes.
        let (text, value) = ("0", "1".repeat(100));
        let mut pieces = (0..40_000).flat_map(|_| [Piece::Value(&value), Piece::Text(text)]);
        assert_eq!(join_escaped(&mut pieces).len(), 40_000 * 101);
    }

    #[test]
    fn marks_of_the_prompt_are_separated_and_values_stay() {
        let of_the_file =
            "---\narguments: [{name: a, default: '!`id` $1 @/etc/passwd'}]\n---\nSay {{a}}";
        let prompt = Prompt::parse(Name::new("p").unwrap(), of_the_file.as_bytes()).unwrap();
        let values = BTreeMap::new();
        let call = Call::Named {
            values: &values,
            input: "",
            is_strict: false,
        };
        let text = prompt.expand_with(call, join_escaped).unwrap().into_text();
        assert_eq!(
            text.replace(WORD_JOINER, "_"),
            "Say ! `id` $_1 @_/etc/passwd",
            "a default is text of the file"
        );
        check("Run !`rm -rf /` now: {{a}}", "Run ! `rm -rf /` now: $1");
        check(
            "It costs $100, awk '{print $2}': {{a}} {{b}}",
            "It costs $_100, awk '{print $_2}': $1 $2",
        );
        check(
            "All of \\$ARGUMENTS and $ARGUMENT: {{a}}",
            "All of $_ARGUMENTS and $ARGUMENT: $1",
        );
        check(
            "See @src/main.rs, @~/.ssh/id_rsa and @general: {{a}}",
            "See @_src/main.rs, @_~/.ssh/id_rsa and @_general: $1",
        );
        check(
            "Mail me@example.com, `@x`, @ 5 {{a}}",
            "Mail me@example.com, `@x`, @_ 5 $1",
        );
        check(
            "Wow! `code` costs $ 5, {{a}}!",
            "Wow! `code` costs $ 5, $1!",
        );
    }

    #[test]
    fn what_a_template_writes_is_its_text_unless_it_is_a_value() {
        let check = |body: &str, want: &str| {
            let file = format!(
                "---\nengine: jinja\narguments: [a, {{name: b, default: '!`id` $9'}}]\n---\n{body}"
            );
            let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
            let values = [("a", "$1"), ("input", "$2")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
            let call = Call::Named {
                values: &values,
                input: "",
                is_strict: false,
            };
            let text = prompt.expand_with(call, join_escaped).unwrap().into_text();
            assert_eq!(text.replace(WORD_JOINER, "_"), want, "{body}");
        };
        check(
            "{{ a }} {{ a|trim }}{% for l in input %} {{ l|upper }}{% endfor %}",
            "$1 $1 $2",
        );
        check(
            "!`id` $3 {{ '!`id` $3' }} {{ b }} {{ a }}",
            "! `id` $_3 ! `id` $_3 ! `id` $_9 $1",
        );
        check(
            "{{ '!' }}{{ '`id`' }} {{ '$' }}{{ 3 }} {{ input }}",
            "! `id` $_3 $2",
        );
        check(
            "{{ a|replace('$1', '!`id`') }} {{ input|join('x') }}{{ input|default(b) }}",
            "! `id` $2$2",
        );
        check(
            "{% for l in '!`id`\\n!`id`' %}{{ l }}{% endfor %}{{ a }}{{ input }}",
            "! `id`! `id`$1$2",
        );
    }

    proptest! {
        #[test]
        fn opencode_runs_and_attaches_nothing_of_a_prompt_and_shows_it_with_the_user_s_words(
            body in prop::collection::vec(
                prop::sample::select(&["!", "`", "$", "@", "0", "1", "9", "ARGUMENTS", "A", "ls", " ", "\n", ".", "{{a}}", "{{b}}",
                    "{{input}}", "\\{{a}}", "é", "/", "\\"][..]), 0..24,
            ).prop_map(|pieces| pieces.concat()),
            typed in prop::sample::select(&["", "one", "one two", "one two three four", "7 8 9"][..]),
        ) {
            let done = opencode(&message(&body, NUMBERS, join_escaped), typed);
            prop_assert_eq!(&done.commands, &[""; 0]);
            prop_assert_eq!(&done.paths, &[""; 0]);
            // Each value is filled in at its own place, and nothing but the separators is added.
            let marks = ["\u{e001}", "\u{e002}", "\u{e003}"];
            let mut want = message(&body, marks, |pieces| pieces.map(Piece::as_str).collect());
            let words: Vec<&str> = typed.split_whitespace().collect();
            let last = marks.iter().rposition(|mark| want.contains(mark));
            for (index, mark) in marks.iter().enumerate() {
                let end = if Some(index) == last { words.len() } else { words.len().min(index + 1) };
                want = want.replace(mark, &words.get(index..end).unwrap_or_default().join(" "));
            }
            let plain = |text: &str| text.replace([WORD_JOINER, ' '], "");
            prop_assert_eq!(plain(&done.text), plain(&want));
        }
    }
}
