//! The command that a person would type for a call: `:compare Rust or Go criteria=speed`.

use super::binding::{Binding, Call};
use super::model::{Argument, Prompt};
use super::template::INPUT;
use std::collections::BTreeMap;

impl Prompt {
    /// The line to type in a chat that gives the prompt the same values: those by name, and the text for a prompt without any. The
    /// shortest way to write it that is read as these values; `None` if there is none, as for a text that begins like a pair.
    pub fn command_line(&self, values: &BTreeMap<String, String>, text: &str) -> Option<String> {
        let wanted = self.bind(Call::Named { values, input: text, is_strict: false });
        let (needed, others): (Vec<&Argument>, Vec<&Argument>) =
            self.arguments.iter().partition(|argument| argument.required);
        let value = |argument: &&Argument| values.get(&argument.name);
        let last = needed.len().saturating_sub(usize::from(!self.input_is_slot()));
        let words = needed.iter().filter_map(value).enumerate();
        let words: Vec<String> =
            words.map(|(index, value)| if index == last { value.clone() } else { quoted(value) }).collect();
        let pairs = |arguments: &[&Argument]| -> Vec<String> {
            let given = arguments.iter().filter(|argument| argument.default.as_ref() != values.get(&argument.name));
            given.filter_map(|it| Some(format!("{}={}", it.name, quoted(value(it)?)))).collect()
        };
        let input = values.get(INPUT).map_or(text, String::as_str);
        let input: Vec<String> = Some(input.to_owned()).filter(|input| !input.is_empty()).into_iter().collect();
        let all: Vec<&Argument> = needed.iter().chain(&others).copied().collect();
        let ways = [
            [words.clone(), pairs(&others), input.clone()],
            [words.clone(), input.clone(), pairs(&others)],
            [pairs(&others), words, input.clone()],
            [pairs(&all), input, Vec::new()],
        ];
        let same = |text: &String| is_same(&self.bind(Call::Text(text)), &wanted);
        let text = ways.map(|parts| parts.concat().join(" ")).into_iter().find(same)?;
        Some(format!(":{} {text}", self.name).trim_end().to_owned())
    }
}

/// Whether two calls give the same values.
fn is_same(one: &Binding<'_>, other: &Binding<'_>) -> bool {
    let values =
        |binding: &Binding<'_>| binding.arguments.iter().map(|bound| bound.value.to_string()).collect::<Vec<_>>();
    one.input == other.input && values(one) == values(other)
}

/// A value as one word.
fn quoted(value: &str) -> String {
    if !value.is_empty() && !value.contains(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'')) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::super::name::Name;
    use super::*;

    #[test]
    fn a_command_is_as_short_as_it_can_be_and_gives_the_same_values() {
        let compare = "---\narguments:\n  - {name: options, required: true}\n  - {name: criteria, default: cost}\n---\n\
                       {{options}} {{criteria}}";
        let two =
            "---\narguments:\n  - {name: from, required: true}\n  - {name: to, required: true}\n---\n{{from}} {{to}}";
        let translate = "---\narguments:\n  - {name: lang, default: English}\n---\n{{lang}}: {{input}}";
        for (file, values, text, want) in [
            (
                compare,
                &[("options", "Rust or Go"), ("criteria", "speed")][..],
                "",
                Some(":x Rust or Go criteria=speed"),
            ),
            (compare, &[("options", "Rust or Go"), ("criteria", "cost")], "", Some(":x Rust or Go")),
            (compare, &[("options", "a"), ("criteria", "how \"fast\"")], "", Some(r#":x a criteria="how \"fast\"""#)),
            (compare, &[("options", "a\nb"), ("criteria", "speed")], "", Some(":x criteria=speed a\nb")),
            (compare, &[("options", "criteria=1")], "", Some(":x options=criteria=1")),
            (two, &[("from", "a b"), ("to", "c d")], "", Some(":x \"a b\" c d")),
            (translate, &[("lang", "German"), ("input", "good morning")], "", Some(":x lang=German good morning")),
            (translate, &[("lang", "English")], "", Some(":x")),
            ("Review.", &[], "a\n  b", Some(":x a\n  b")),
            ("Review.", &[], "", Some(":x")),
            (translate, &[("input", "lang=x")], "", None),
        ] {
            let prompt = Prompt::parse(Name::new("x").unwrap(), file.as_bytes()).unwrap();
            let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(prompt.command_line(&values, text).as_deref(), want, "{values:?} {text}");
        }
    }
}
