//! The text of a prompt for opencode's menu, which treats it as a template of its own.
//!
//! opencode asks for a prompt with `$1`, `$2` … as the values, and what it does with the answer is
//! (`SessionPrompt.command` and `ConfigMarkdown` in its source, version 1.18):
//!
//! 1. `$N` becomes the N-th word that the user typed, or nothing; the highest N gets all words from
//!    there on. `$ARGUMENTS` becomes all of them.
//! 2. `` !`command` `` is executed by a shell, without a question, and replaced by its output.
//! 3. `@path` attaches a file or a folder, also below `~/`, and `@name` calls an agent, unless a
//!    letter, a digit, `_` or a backquote is before it.
//!
//! Of several messages it joins the texts, and drops the roles, images and embedded resources; so
//! it gets the text form, in one message.
//!
//! The text of a prompt is only text, so it must not do any of this; the values, which the user
//! typed, may. A space or a U+2060 (word joiner), which is not visible, keeps the marks apart.

use crate::prompt::{Piece, Prompt};
use std::collections::BTreeMap;

const WORD_JOINER: char = '\u{2060}';

/// The text of a message from its pieces, in which opencode finds no mark but those that are
/// values.
pub(super) fn inert(pieces: &mut dyn Iterator<Item = Piece<'_>>) -> String {
    let mut text = Inert::default();
    for piece in pieces.filter(|piece| !piece.as_str().is_empty()) {
        match piece {
            Piece::Text(piece) => text.push_text(piece),
            Piece::Value(value) => text.push_value(value),
        }
    }
    text.out
}

/// The prompt as opencode may request it: a `$1` is not one of the choices of an argument, but
/// stands for what the user types later.
pub(super) fn without_strict_marks(prompt: &Prompt, values: &BTreeMap<String, String>) -> Prompt {
    let mut prompt = prompt.clone();
    let is_mark = |value: &String| {
        let number = value.strip_prefix('$').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    for argument in &mut prompt.arguments {
        argument.strict &= !values.get(&argument.name).is_some_and(is_mark);
    }
    prompt
}

#[derive(Default)]
struct Inert {
    out: String,
    /// Whether `out` ends in a value, which opencode may replace by anything.
    ends_in_value: bool,
    /// Whether `out` ends in a `$` and any number of digits.
    ends_in_number: bool,
}

impl Inert {
    fn push_text(&mut self, text: &str) {
        for (at, character) in text.char_indices() {
            if let Some(separator) = self.separator(character, &text[at..]) {
                self.push(separator);
            }
            let follows_word =
                |before: char| before.is_ascii_alphanumeric() || before == '_' || before == '`';
            let begins_path =
                character == '@' && (self.ends_in_value || !self.out.ends_with(follows_word));
            self.ends_in_value = false;
            self.push(character);
            if begins_path {
                self.push(WORD_JOINER); // even an `@` alone is a path in some versions
            }
        }
    }

    fn push(&mut self, character: char) {
        self.ends_in_number =
            character == '$' || (self.ends_in_number && character.is_ascii_digit());
        self.out.push(character);
    }

    /// What must be between `out` and a character of the prompt, with which `rest` begins.
    fn separator(&self, character: char, rest: &str) -> Option<char> {
        // The value may become anything, or nothing.
        let follows_number = self.ends_in_value && self.ends_in_number;
        let completes_arguments = || rest.starts_with(ARGUMENTS) || ARGUMENTS.starts_with(rest);
        match character {
            '`' if self.out.ends_with('!') || follows_number => Some(' '),
            '0'..='9' if self.out.ends_with('$') || follows_number => Some(WORD_JOINER),
            'A' if self.out.ends_with('$') && completes_arguments() => Some(WORD_JOINER),
            _ => None,
        }
    }

    fn push_value(&mut self, value: &str) {
        let is_mark = value.starts_with(['`', '$']);
        if !self.ends_in_value {
            if self.out.ends_with('!') && is_mark {
                self.push(' ');
            } else if self.out.ends_with('$') {
                self.push(WORD_JOINER);
            }
        }
        self.out.push_str(value);
        self.ends_in_value = true;
        // Only this value is searched, not all that was before it.
        let before_digits = value.trim_end_matches(|digit: char| digit.is_ascii_digit());
        self.ends_in_number = match before_digits {
            "" => self.ends_in_number,
            before => before.ends_with('$'),
        };
    }
}

const ARGUMENTS: &str = "ARGUMENTS";

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

    /// What opencode does, as its source says: `/\$(\d+)/g`, `$ARGUMENTS`, `` /!`([^`]+)`/g `` and
    /// ``/(?<![\w`])@(\.?[^\s`,.]*(?:\.[^\s`,.]+)*)/g``.
    fn opencode(template: &str, typed: &str) -> Opencode {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let numbers = |text: &str| -> Vec<(usize, usize, usize)> {
            text.match_indices('$')
                .filter_map(|(at, _)| {
                    let digits = text[at + 1..]
                        .bytes()
                        .take_while(u8::is_ascii_digit)
                        .count();
                    let number = text[at + 1..at + 1 + digits].parse().ok()?;
                    Some((at, at + 1 + digits, number))
                })
                .collect()
        };
        let found = numbers(template);
        let highest = found.iter().map(|(.., number)| *number).max().unwrap_or(0);
        let (mut text, mut end) = (String::new(), 0);
        for (from, to, number) in found {
            text.push_str(&template[end..from]);
            text.push_str(
                &match number.checked_sub(1).and_then(|index| words.get(index..)) {
                    Some(rest) if number == highest => rest.join(" "),
                    Some([word, ..]) => (*word).to_owned(),
                    _ => String::new(),
                },
            );
            end = to;
        }
        text.push_str(&template[end..]);
        let text = text.replace("$ARGUMENTS", typed);
        let (mut commands, mut paths, mut from) = (Vec::new(), Vec::new(), 0);
        while let Some(at) = text[from..].find("!`").map(|at| from + at) {
            from = at + 2;
            let Some(length) = text[from..].find('`').filter(|length| *length > 0) else {
                continue;
            };
            commands.push(text[from..from + length].to_owned());
            from += length + 1;
        }
        for (at, _) in text.match_indices('@') {
            if text[..at].ends_with(|before: char| {
                before.is_ascii_alphanumeric() || before == '_' || before == '`'
            }) {
                continue;
            }
            let path: String = text[at + 1..]
                .chars()
                .take_while(|letter| !letter.is_whitespace() && !"`,".contains(*letter))
                .collect();
            let path = path.trim_end_matches('.');
            if !path.is_empty() && !path.starts_with(WORD_JOINER) {
                paths.push(path.to_owned()); // opencode may end it earlier, at two dots
            }
        }
        Opencode {
            text,
            commands,
            paths,
        }
    }

    /// The message for a template with the arguments `a` and `b`, of which these are the values,
    /// and that of `input`.
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
            message(body, NUMBERS, inert).replace(WORD_JOINER, "_"),
            want,
            "{body}"
        );
    }

    #[test]
    fn a_value_is_searched_once_however_many_follow_each_other() {
        // Searched again for each, this would take minutes.
        let (text, value) = ("0", "1".repeat(100));
        let mut pieces = (0..40_000).flat_map(|_| [Piece::Value(&value), Piece::Text(text)]);
        assert_eq!(inert(&mut pieces).len(), 40_000 * 101);
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
        let text = prompt.expand_with(call, inert).unwrap().into_text();
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
            let text = prompt.expand_with(call, inert).unwrap().into_text();
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
            let done = opencode(&message(&body, NUMBERS, inert), typed);
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
