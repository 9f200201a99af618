//! From values back to a command that gives them: what a person types, or pastes, in a chat.

use super::binding::{Binding, BoundArgument, Call};
use super::diagnostic::Kind;
use super::division::Origin;
use super::model::Prompt;
use super::words::{parse_pair_start, split_words, unquote};

/// What stands for a missing value, as in the usage.
const MISSING: &str = "…";

impl Prompt {
    /// Returns what to type for these values: `:compare Rust or Go criteria=speed`.
    ///
    /// Defaults are left out, and so are spaces at the end of a value; a value that is missing is
    /// `name=…`. Returns `None` if no text in one message gives these values, or the name has a
    /// space.
    pub fn typed(&self, binding: &Binding<'_>) -> Option<String> {
        if self.name.contains(char::is_whitespace) {
            return None; // a command ends at the first space
        }
        for text in self.possible_texts(binding) {
            if !text.starts_with(char::is_whitespace) && self.is_bound_to(&text, binding) {
                let command = format!(":{} {text}", self.name);
                return Some(command.trim_end().to_owned());
            }
        }
        None
    }

    /// Returns three texts that may give these values, the best one first. Whether they do, the
    /// caller must check.
    ///
    /// For `lang`, which is required, `tone`, which is not, and an input, they are:
    /// - words first: `de tone=kind Hello`
    /// - pairs first: `tone=kind de Hello`; this is the best one if a value is still missing, because
    ///   the missing one then comes first
    /// - only pairs: `lang=de tone=kind Hello`
    fn possible_texts(&self, binding: &Binding<'_>) -> Vec<String> {
        let requires_none = self.arguments.iter().all(|argument| !argument.required);
        // Optional arguments get words only if nothing else can.
        let optional_get_words = requires_none && !self.has_input_slot();
        let mut words = Vec::new();
        let mut last_value = "";
        let mut pairs = Vec::new();
        let mut all_as_pairs = Vec::new();
        for (argument, bound) in self.arguments.iter().zip(&binding.arguments) {
            let value = value_or_ellipsis(bound);
            if value.is_empty() || argument.default.as_deref() == Some(value) {
                continue;
            }
            let word = self.as_word(value);
            let pair = format!("{}={word}", bound.name);
            all_as_pairs.push(pair.clone());
            let gets_word = argument.required || optional_get_words;
            if gets_word && bound.origin != Origin::Missing {
                words.push(word);
                last_value = value;
            } else {
                pairs.push(pair);
            }
        }
        let input = trimmed_input(binding).unwrap_or_default();
        if input.is_empty()
            && let Some(last_word) = words.last_mut()
        {
            // What comes last needs no quotes.
            last_value.clone_into(last_word);
        }
        let words_first = join_words([&words, &pairs], input);
        let pairs_first = join_words([&pairs, &words], input);
        let only_pairs = join_words([&all_as_pairs, &[]], input);
        let mut arguments = binding.arguments.iter();
        if arguments.any(|bound| bound.origin == Origin::Missing) {
            vec![pairs_first, words_first, only_pairs]
        } else {
            vec![words_first, pairs_first, only_pairs]
        }
    }

    /// Returns whether typing this text binds the values and the input that `wanted` has. Spaces at
    /// their ends make no difference.
    fn is_bound_to(&self, text: &str, wanted: &Binding<'_>) -> bool {
        let typed = self.bind(Call::Text(text));
        // The value that was given, or the text that stands for a missing one, need not be among
        // the choices.
        if let Some(error) = &typed.error
            && error.kind != Kind::NotAChoice
        {
            return false;
        }
        if trimmed_input(&typed) != trimmed_input(wanted) {
            return false;
        }
        let mut values = typed.arguments.iter().zip(&wanted.arguments);
        values.all(|(typed, wanted)| value_or_ellipsis(typed) == value_or_ellipsis(wanted))
    }

    /// Returns a value as one word, in double quotes if it needs them: `kind`, `"Rust or Go"`, and
    /// `"tone=x"` if the prompt has an argument `tone`.
    fn as_word(&self, value: &str) -> String {
        let is_word = split_words(value) == [value]
            && unquote(value) == value
            && parse_pair_start(&self.arguments, value).is_none();
        if is_word {
            return value.to_owned();
        }
        let escaped = value.replace('\\', r"\\").replace('"', r#"\""#);
        format!("\"{escaped}\"")
    }
}

/// Joins two lists of words and the input with spaces. An empty input leaves none at the end.
fn join_words(parts: [&[String]; 2], input: &str) -> String {
    let mut words = parts.concat();
    words.push(input.to_owned());
    words.join(" ").trim_end().to_owned()
}

fn trimmed_input<'b>(binding: &'b Binding<'_>) -> Option<&'b str> {
    binding.input.as_deref().map(str::trim_end)
}

/// Returns the value of an argument, or `…` if a required value is missing.
fn value_or_ellipsis<'b>(bound: &'b BoundArgument<'_>) -> &'b str {
    if bound.origin == Origin::Missing {
        MISSING
    } else {
        bound.value.trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Name;
    use std::collections::BTreeMap;

    #[test]
    fn a_command_gives_the_values_that_it_is_made_from() {
        let typed = |declared: &str, body: &str, values: &[(&str, &str)]| {
            let file = format!("---\narguments: [{declared}]\n---\n{body}");
            let prompt = Prompt::parse(Name::new("git/pr").unwrap(), file.as_bytes()).unwrap();
            let values: BTreeMap<_, _> = values
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect();
            let binding = prompt.bind(Call::Named {
                values: &values,
                input: "",
                is_strict: false,
            });
            prompt.typed(&binding).unwrap_or_default()
        };
        let pr = "{name: branch, required: true}, {name: base, default: main}";
        let body = "{{branch}} {{base}}";
        for (values, want) in [
            (
                &[("branch", "feature/x"), ("base", "dev")][..],
                ":git/pr feature/x base=dev",
            ),
            (
                &[("branch", "two words"), ("base", "a \"b\" \\c")],
                ":git/pr two words base=\"a \\\"b\\\" \\\\c\"",
            ),
            (
                &[("branch", "two\nlines\n"), ("base", "dev ")],
                ":git/pr base=dev two\nlines",
            ),
            (&[("branch", "base=x")], ":git/pr branch=\"base=x\""),
            (&[("branch", " x")], ":git/pr branch=\" x\""),
            (&[], ":git/pr branch=…"),
            (&[("base", "dev")], ":git/pr branch=… base=dev"),
        ] {
            assert_eq!(typed(pr, body, values), want, "{values:?}");
        }
        let lang = "{name: lang, required: true}, tone";
        for (values, want) in [
            (
                &[("lang", "Swiss German"), ("input", "good morning")][..],
                ":git/pr \"Swiss German\" good morning",
            ),
            (
                &[("lang", "de"), ("tone", "kind"), ("input", "one\ntwo")],
                ":git/pr de tone=kind one\ntwo",
            ),
            (&[("input", "good morning")], ":git/pr lang=… good morning"),
        ] {
            assert_eq!(
                typed(lang, "{{lang}} {{tone}} {{input}}", values),
                want,
                "{values:?}"
            );
        }
        assert_eq!(
            typed("a, b", "{{a}} {{b}}", &[("a", "one"), ("b", "2 3")]),
            ":git/pr one 2 3"
        );
        assert_eq!(
            typed("a, b", "{{a}} {{b}}", &[("b", "it's")]),
            ":git/pr b=it's"
        );
        assert_eq!(
            typed("a, b", "{{a}} {{b}}", &[("b", "'x'")]),
            ":git/pr b=\"'x'\""
        );
        assert_eq!(
            typed("", "Text", &[("input", "a=\"b\"")]),
            ":git/pr a=\"b\""
        );
        assert_eq!(typed("", "Text", &[]), ":git/pr");
        assert_eq!(
            typed("{name: a, default: x}", "{{a}}", &[("a", "x")]),
            ":git/pr"
        );
        // Spaces at the start would be lost, and a value that no placeholder takes is typed
        // nowhere.
        assert_eq!(typed("", "{{input}}", &[("input", "\n\n  x")]), "");
        assert_eq!(typed("a", "Text", &[("a", "x")]), "");
        assert_eq!(typed("a", "{{a}} {{input}}", &[("input", "a=x")]), "");
        let prompt = Prompt::parse(Name::new("my review").unwrap(), b"Text").unwrap();
        assert_eq!(
            prompt.typed(&prompt.bind(Call::Text("x"))),
            None,
            "a command ends at the first space"
        );
    }
}
