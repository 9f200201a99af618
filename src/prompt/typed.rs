//! From values back to a command that gives them: what a person types, or pastes, in a chat.

use super::binding::{Binding, Bound, Call};
use super::diagnostic::Kind;
use super::division::Origin;
use super::model::{Argument, Prompt};
use super::words::{pair_at, unquoted, words};

/// What stands for a missing value, as in the usage.
const MISSING: &str = "…";

impl Prompt {
    /// What to type for these values: `:compare Rust or Go criteria=speed`. Defaults are left out,
    /// and so are spaces at the end of a value; a value that is missing is `name=…`. `None` if no
    /// text in one message gives these values, or the name has a space.
    pub fn typed(&self, binding: &Binding<'_>) -> Option<String> {
        let takes_all =
            !self.input_is_slot() && self.arguments.iter().all(|argument| !argument.required);
        let given = self
            .arguments
            .iter()
            .zip(&binding.arguments)
            .filter(|(argument, bound)| {
                !value(bound).is_empty() && argument.default.as_deref() != Some(value(bound))
            });
        let is_free = |(argument, bound): &(&Argument, &Bound<'_>)| {
            (argument.required || takes_all) && bound.origin != Origin::Missing
        };
        let (free, named): (Vec<_>, Vec<_>) = given.clone().partition(is_free);
        let pair =
            |(_, bound): (_, &Bound<'_>)| format!("{}={}", bound.name, self.grouped(value(bound)));
        let pairs: Vec<String> = named.into_iter().map(pair).collect();
        let mut words: Vec<String> = free
            .iter()
            .map(|(_, bound)| self.grouped(value(bound)))
            .collect();
        let input = binding.input.as_deref().unwrap_or_default().trim_end();
        if let (Some(word), Some((_, bound)), "") = (words.last_mut(), free.last(), input) {
            // What comes last needs no quotes.
            value(bound).clone_into(word);
        }
        let input = [input.to_owned()];
        let all: Vec<String> = given.map(pair).collect();
        let mut ways = [
            [&*words, &pairs, &input],
            [&pairs, &words, &input],
            [&all, &[], &input],
        ];
        // What is still to be written comes first.
        if binding
            .arguments
            .iter()
            .any(|bound| bound.origin == Origin::Missing)
        {
            ways.swap(0, 1);
        }
        let mut texts = ways
            .into_iter()
            .map(|parts| parts.concat().join(" ").trim_end().to_owned());
        let text =
            texts.find(|text| text.trim_start() == text && self.is_bound_to(text, binding))?;
        let is_one_word = !self.name.contains(char::is_whitespace);
        is_one_word.then(|| format!(":{} {text}", self.name).trim_end().to_owned())
    }

    /// Whether a text gives the same values.
    fn is_bound_to(&self, text: &str, binding: &Binding<'_>) -> bool {
        let bound = self.bind(Call::Text(text));
        let input = |binding: &Binding<'_>| {
            binding
                .input
                .as_deref()
                .map(|input| input.trim_end().to_owned())
        };
        let mut arguments = bound.arguments.iter().zip(&binding.arguments);
        // What stands for a missing value may be none of its choices, and neither may the value
        // that was given.
        bound
            .error
            .as_ref()
            .is_none_or(|error| error.kind == Kind::NotAChoice)
            && input(&bound) == input(binding)
            && arguments.all(|(bound, given)| value(bound) == value(given))
    }

    /// A value as one word, in quotes if it needs them.
    fn grouped(&self, value: &str) -> String {
        match words(value) == [value]
            && unquoted(value) == value
            && pair_at(&self.arguments, value).is_none()
        {
            true => value.to_owned(),
            false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
        }
    }
}

fn value<'b>(bound: &'b Bound<'_>) -> &'b str {
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
