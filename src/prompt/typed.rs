//! The reverse of binding: returns the command that a person would type in a chat to pass given
//! values.

use super::binding::{Binding, BoundArgument, Call};
use super::diagnostic::Kind;
use super::division::Origin;
use super::model::Prompt;
use super::words::{parse_pair_start, split_words, unquote};

/// The placeholder for a missing value, as in the usage of a prompt.
const MISSING: &str = "…";

impl Prompt {
    /// Returns the command that passes these values, e.g. `:compare Rust or Go criteria=speed`.
    ///
    /// Defaults and trailing spaces of values are omitted, and a missing value is written as
    /// `name=…`. Returns `None` if no command binds exactly these values, or if the name of the
    /// prompt contains a space.
    pub fn command_for(&self, binding: &Binding<'_>) -> Option<String> {
        if self.name.contains(char::is_whitespace) {
            return None; // a command ends at the first space
        }
        for text in self.candidate_texts(binding) {
            if !text.starts_with(char::is_whitespace) && self.binds_same_values(&text, binding) {
                let command = format!(":{} {text}", self.name);
                return Some(command.trim_end().to_owned());
            }
        }
        None
    }

    /// Returns three texts that may bind these values, best first. The caller must check whether
    /// they do.
    ///
    /// For a required argument `lang`, an optional one `tone`, and an input:
    /// - words first: `de tone=kind Hello`
    /// - pairs first: `tone=kind de Hello`
    /// - only pairs: `lang=de tone=kind Hello`
    fn candidate_texts(&self, binding: &Binding<'_>) -> Vec<String> {
        let input = trimmed_input(binding).unwrap_or_default();
        let values = self.format_values(binding, input);
        let words_first = join_words([&values.words, &values.pairs], input);
        let pairs_first = join_words([&values.pairs, &values.words], input);
        let only_pairs = join_words([&values.all_as_pairs, &[]], input);
        let mut arguments = binding.arguments.iter();
        if arguments.any(|bound| bound.origin == Origin::Missing) {
            // Show the `name=…` that the person has to complete before anything else.
            vec![pairs_first, words_first, only_pairs]
        } else {
            vec![words_first, pairs_first, only_pairs]
        }
    }

    /// Formats each value as a word or as a pair. Empty values and defaults are skipped.
    fn format_values(&self, binding: &Binding<'_>, input: &str) -> FormattedValues {
        let requires_none = self.arguments.iter().all(|argument| !argument.required);
        // Words go to optional arguments only if nothing else can receive them.
        let optional_get_words = requires_none && !self.has_input_slot();
        let mut values = FormattedValues::default();
        let mut last_unquoted = "";
        for (argument, bound) in self.arguments.iter().zip(&binding.arguments) {
            let value = value_or_ellipsis(bound);
            if value.is_empty() || argument.default.as_deref() == Some(value) {
                continue;
            }
            let word = self.quote_if_needed(value);
            let pair = format!("{}={word}", bound.name);
            values.all_as_pairs.push(pair.clone());
            let gets_word = argument.required || optional_get_words;
            if gets_word && bound.origin != Origin::Missing {
                values.words.push(word);
                last_unquoted = value;
            } else {
                values.pairs.push(pair);
            }
        }
        // Without an input, the last word takes the rest of the text, so it needs no quotes.
        if input.is_empty() && values.words.pop().is_some() {
            values.words.push(last_unquoted.to_owned());
        }
        values
    }

    /// Returns whether typing this text binds the same values and input as `wanted`. Trailing
    /// spaces are ignored.
    fn binds_same_values(&self, text: &str, wanted: &Binding<'_>) -> bool {
        let typed = self.bind(Call::Text(text));
        // A value that is not among the choices can be typed nevertheless. `…` never is.
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

    /// Formats a value as one word, in double quotes if necessary: `kind`, `"Rust or Go"`, and
    /// `"tone=x"` if the prompt has an argument `tone`.
    fn quote_if_needed(&self, value: &str) -> String {
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

/// The values of a binding, formatted for a command.
#[derive(Default)]
struct FormattedValues {
    /// The values that need no name, in the order of the arguments.
    words: Vec<String>,
    /// The other values, as `name=value`.
    pairs: Vec<String>,
    /// All values as `name=value`.
    all_as_pairs: Vec<String>,
}

/// Joins two lists of words and the input with spaces. Trailing spaces are removed.
fn join_words(parts: [&[String]; 2], input: &str) -> String {
    let mut words = parts.concat();
    words.push(input.to_owned());
    words.join(" ").trim_end().to_owned()
}

fn trimmed_input<'b>(binding: &'b Binding<'_>) -> Option<&'b str> {
    binding.input.as_deref().map(str::trim_end)
}

/// Returns the value of an argument without trailing spaces, or `…` if a required value is missing.
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
            prompt.command_for(&binding).unwrap_or_default()
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
            prompt.command_for(&prompt.bind(Call::Text("x"))),
            None,
            "a command ends at the first space"
        );
    }
}
