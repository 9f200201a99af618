//! Divides the text of a call among the arguments of a prompt and its input.
//!
//! Take a prompt `compare` that declares `options` (required) and `criteria` (with the default
//! `cost, risk`), and the text of
//!
//! ```text
//! :compare Rust or Go criteria="speed and size"
//! ```
//!
//! 1. **Pairs.** `criteria="speed and size"` is a pair: a declared name, `=`, and a word or a
//!    quoted group. So `criteria` is `speed and size`. A pair may be anywhere in the line in which
//!    the other text begins, and in the lines before it. The lines after it are not searched for
//!    pairs, so that pasted text stays whole.
//! 2. **Slots.** The remaining text, `Rust or Go`, goes to the required arguments without a value,
//!    in the order of their declaration: here to `options` alone. If a prompt requires no argument,
//!    it goes to all of them. If the body has an `{{input}}` too, that is the last slot; then
//!    optional arguments are given by name only.
//! 3. **Words.** Each slot gets one word or quoted group, and the last one gets everything that
//!    remains, verbatim: `options` is `Rust or Go`.
//! 4. **No slot.** In `:compare options=Rust or Go`, no required argument is without a value, so
//!    there is no slot for `or Go`. It belongs to the pair before it: `options` is `Rust or Go`.
//!    Text before the first pair is an error.
//! 5. **Piped text** is one more word, whatever it contains. It is never a pair. As the last word
//!    it goes to the last slot, or to the last pair if there is no slot. Empty lines set it off
//!    from the words of the same value.
//!
//! A single argument, in a body without `{{input}}`, takes the text verbatim unless the text begins
//! with the argument's `name=`. A body without any placeholder is followed by the whole text, no
//! matter what the prompt declares.
//!
//! For a prompt of Claude Code or Codex whose body has `$name` or `$1`, or one with `words: true`,
//! the text is divided as those do it: after the pairs, each argument gets one word or quoted
//! group, and the input is the whole text. What has no place is left out, with a warning.
//!
//! Quotes group words as in a shell: `"Rust or Go"`, `'a "b" c'`, and `\"` and `\\` inside double
//! quotes. A quote after a letter or a digit (`it's`, `27"`), or one that is never closed, is text.

use super::model::Prompt;
use super::words::{Pair, PairStart, Quotes, pair_start, pairs, unquoted, word_end};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Where the value of an argument comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A value by name ([`Call::Named`](super::Call::Named)).
    Named,
    /// A pair `name=value` of the text.
    Pair,
    /// A word of the text, by its position.
    #[serde(rename = "position")]
    Word,
    /// The remaining text.
    Rest,
    /// The argument's default.
    Default,
    /// Nowhere: it is optional and has no default, and its value is empty.
    #[serde(rename = "nothing")]
    Omitted,
    /// Nowhere, but it is required: the call is an error.
    Missing,
}

/// The values that a call gives, before defaults.
pub(super) struct GivenValues<'v> {
    /// The value of each declared argument.
    pub(super) arguments: Vec<Option<GivenValue<'v>>>,
    /// The text of the input; `None` if the expansion does not contain it.
    pub(super) input: Option<Cow<'v, str>>,
    /// Text that belongs to no argument, which is an error.
    pub(super) unassigned: Option<&'v str>,
    /// The first word that is left out, which is a warning.
    pub(super) left_out: Option<Cow<'v, str>>,
}

/// The value that a call gives to an argument.
#[derive(Clone)]
pub(super) struct GivenValue<'v> {
    pub(super) text: Cow<'v, str>,
    pub(super) origin: Origin,
}

/// What gets a part of the text.
#[derive(Clone, Copy)]
enum Slot {
    /// The declared argument with this index.
    Argument(usize),
    Input,
}

impl<'v> GivenValues<'v> {
    /// Returns the values of a call that gives only an input.
    pub(super) fn of_input(prompt: &Prompt, input: &'v str) -> GivenValues<'v> {
        GivenValues {
            arguments: vec![None; prompt.arguments.len()],
            input: prompt.takes_input().then_some(Cow::Borrowed(input)),
            unassigned: None,
            left_out: None,
        }
    }

    /// Gives a text to a slot. The input has no origin, so `origin` counts for an argument only.
    fn set(&mut self, slot: Slot, text: Cow<'v, str>, origin: Origin) {
        match slot {
            Slot::Argument(index) => self.arguments[index] = Some(GivenValue { text, origin }),
            Slot::Input => self.input = Some(text),
        }
    }
}

/// A text of the input: typed in a chat, a word of a shell, or from a pipe.
#[derive(Clone, Copy)]
pub(super) struct InputPart<'v> {
    text: &'v str,
    /// What is between this part and the one before it, unless one of them is from a pipe.
    separator: &'v str,
    source: PartSource,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartSource {
    /// A chat. Only a part of a chat can be divided into words.
    Chat,
    /// A shell, which has divided the words.
    Shell,
    Pipe,
}

impl<'v> InputPart<'v> {
    /// Returns the part that is a word of a shell, with a space between it and the part before it.
    fn word(text: &'v str) -> InputPart<'v> {
        InputPart {
            text,
            separator: " ",
            source: PartSource::Shell,
        }
    }

    /// Returns the part of a chat message that follows a `name=value` pair.
    ///
    /// When it is joined to the part before the pair, the line breaks after the pair separate the
    /// two; without line breaks, one space does.
    fn after_pair(text_after_pair: &'v str) -> InputPart<'v> {
        let text = without_space_before(text_after_pair);
        let (space, _) = text_after_pair.split_at(text_after_pair.len() - text.len());
        InputPart {
            text,
            separator: if space.ends_with('\n') { space } else { " " },
            source: PartSource::Chat,
        }
    }

    fn is_piped(&self) -> bool {
        self.source == PartSource::Pipe
    }
}

/// Returns a text without the spaces and empty lines at its beginning: `a` for `  a`. After a line
/// break, the indentation of the line stays: `  a` for `\n\n  a`.
fn without_space_before(text: &str) -> &str {
    let trimmed = text.trim_start();
    let (space, _) = text.split_at(text.len() - trimmed.len());
    match space.rfind('\n') {
        Some(newline) => &text[newline + 1..],
        None => trimmed,
    }
}

/// Returns the words of a shell command, with the text from a pipe inserted before the word with
/// the index `at`; after all words, if there is no such word.
///
/// If a word follows the text from the pipe, its line breaks at the end are dropped. An empty text
/// is no part.
pub(super) fn shell_parts<'v>(
    words: &'v [String],
    piped: &'v str,
    at: usize,
) -> Vec<InputPart<'v>> {
    let (words_before, words_after) = words.split_at(at.min(words.len()));
    let piped_text = if words_after.is_empty() {
        piped
    } else {
        piped.trim_end_matches(['\r', '\n'])
    };
    let mut parts = Vec::with_capacity(words.len() + 1);
    for word in words_before {
        parts.push(InputPart::word(word));
    }
    if !piped_text.is_empty() {
        parts.push(InputPart {
            source: PartSource::Pipe,
            ..InputPart::word(piped_text)
        });
    }
    for word in words_after {
        parts.push(InputPart::word(word));
    }
    parts
}

/// Returns the input of [`Call::Shell`](super::Call::Shell) as one text: the words with a space
/// between two of them, and an empty line between a word and the text from the pipe.
pub fn join_shell_input(words: &[String], piped: &str, pipe_index: usize) -> String {
    join(shell_parts(words, piped, pipe_index)).into_owned()
}

/// Joins parts to one text: the words `a` and `b`, and `c` from a pipe, are `a b\n\nc`.
///
/// Two parts are joined by the separator of the second or, if one of them is from a pipe, by an
/// empty line, which is left out at the beginning of the text. A single part is not copied.
fn join<'v>(parts: impl IntoIterator<Item = InputPart<'v>>) -> Cow<'v, str> {
    let mut parts = parts.into_iter();
    let Some(mut previous) = parts.next() else {
        return Cow::Borrowed("");
    };
    let mut joined = Cow::Borrowed(previous.text);
    for part in parts {
        let joined = joined.to_mut();
        if !previous.is_piped() && !part.is_piped() {
            joined.push_str(part.separator);
        } else if !joined.is_empty() {
            joined.push_str("\n\n");
        }
        joined.push_str(part.text);
        previous = part;
    }
    joined
}

/// Divides a chat message among the arguments of a prompt and its input, by the rules at the top of
/// this file: `Rust or Go criteria=speed` gives `Rust or Go` to the required `options`, and `speed`
/// to `criteria`.
pub(super) fn divide_text<'v>(prompt: &Prompt, text: &'v str) -> GivenValues<'v> {
    if prompt.arguments.is_empty() && !prompt.gives_one_word_per_argument() {
        return GivenValues::of_input(prompt, text);
    }
    let mut values = assign(prompt, InputByPairs::of_text(prompt, text));
    if input_is_whole_text(prompt) {
        values.input = Some(Cow::Borrowed(text));
    }
    values
}

/// Assigns the words of a shell and the text from a pipe to the arguments of a prompt.
pub(super) fn divide_words<'v>(prompt: &Prompt, words: &[InputPart<'v>]) -> GivenValues<'v> {
    let mut values = assign(prompt, InputByPairs::of_words(prompt, words));
    if input_is_whole_text(prompt) {
        values.input = Some(join(words.iter().copied()));
    }
    values
}

/// Returns whether the input is the whole text of a call, with the pairs and the words that
/// arguments get.
fn input_is_whole_text(prompt: &Prompt) -> bool {
    prompt.takes_input() && (prompt.gives_one_word_per_argument() || !prompt.has_input_slot())
}

/// An input, divided into its pairs and the parts outside them.
struct InputByPairs<'v> {
    pairs: Vec<InputPair<'v>>,
    /// The parts outside the pairs, in their order.
    parts: VecDeque<InputPart<'v>>,
    /// The text before the first pair, or its first word; `None` if the input begins with a pair.
    before_pairs: Option<&'v str>,
}

/// A pair `name=value`.
struct InputPair<'v> {
    /// The index of the argument.
    argument: usize,
    value: Cow<'v, str>,
    /// The value with the text up to the next pair; `None` if there is no such text.
    extended_value: Option<Cow<'v, str>>,
}

impl<'v> InputByPairs<'v> {
    /// Divides a chat message at its `name=value` pairs: `Hello tone=kind to all` is the part
    /// `Hello`, and the pair `tone=kind`, which the part `to all` follows.
    ///
    /// The text after a pair may belong to its value, or be free text. Both readings are kept:
    /// `extended_value` has the first, `parts` the second.
    fn of_text(prompt: &Prompt, text: &'v str) -> InputByPairs<'v> {
        let pairs = pairs_of_text(prompt, text);
        let before = &text[..part_end(text, pairs.first())];
        let mut input = InputByPairs {
            pairs: Vec::with_capacity(pairs.len()),
            parts: VecDeque::new(),
            before_pairs: None,
        };
        if !before.trim().is_empty() {
            input.before_pairs = Some(before.trim());
            input.parts.push_back(InputPart {
                text: before,
                separator: "",
                source: PartSource::Chat,
            });
        }
        for (index, pair) in pairs.iter().enumerate() {
            let end = part_end(text, pairs.get(index + 1));
            let after = &text[pair.range.end..end];
            let mut extended_value = None;
            if !after.trim().is_empty() {
                extended_value = Some(Cow::Borrowed(text[pair.value_start..end].trim()));
                input.parts.push_back(InputPart::after_pair(after));
            }
            input.pairs.push(InputPair {
                argument: pair.argument,
                value: Cow::Owned(unquoted(&text[pair.value_start..pair.range.end])),
                extended_value,
            });
        }
        input
    }

    /// Divides the words of a shell command and a text from a pipe at the words that are
    /// `name=value` pairs: `a tone=kind b c` is the part `a`, and the pair `tone=kind` that the words
    /// `b` and `c` follow. No word is split.
    ///
    /// The words after a pair may belong to its value, or be free text. Both readings are kept:
    /// `extended_value` has the first, `parts` the second.
    fn of_words(prompt: &Prompt, words: &[InputPart<'v>]) -> InputByPairs<'v> {
        let pairs = pairs_of_words(prompt, words);
        let first_pair = pairs.first().map_or(words.len(), |pair| pair.word);
        let before = &words[..first_pair];
        let mut input = InputByPairs {
            pairs: Vec::with_capacity(pairs.len()),
            parts: before.iter().copied().collect(),
            before_pairs: before.first().map(|word| word.text),
        };
        for (index, pair) in pairs.iter().enumerate() {
            let next_pair = pairs.get(index + 1).map_or(words.len(), |next| next.word);
            let after = &words[pair.word + 1..next_pair];
            let value = &words[pair.word].text[pair.value_start..];
            let mut extended_value = None;
            if !after.is_empty() {
                extended_value = Some(extend_value(value, after));
                input.parts.extend(after);
            }
            input.pairs.push(InputPair {
                argument: pair.argument,
                value: Cow::Borrowed(value),
                extended_value,
            });
        }
        input
    }
}

/// Returns where the part of a text ends that is before the next pair: 1 for `a tone=kind`. The
/// space before the pair is not in the part. Without a further pair, the part is the rest of the
/// text, with its spaces at the end.
fn part_end(text: &str, next_pair: Option<&Pair>) -> usize {
    match next_pair {
        Some(pair) => text[..pair.range.start].trim_end().len(),
        None => text.len(),
    }
}

/// Joins the value of a pair with the words after it. An empty value is left out.
fn extend_value<'v>(value: &'v str, words: &[InputPart<'v>]) -> Cow<'v, str> {
    let words = words.iter().copied();
    if value.is_empty() {
        join(words)
    } else {
        join(std::iter::once(InputPart::word(value)).chain(words))
    }
}

/// Returns the `name=value` pairs of a chat message. A verbatim argument takes a message as it is,
/// so with one, pairs count only if the message begins with a pair.
fn pairs_of_text(prompt: &Prompt, text: &str) -> Vec<Pair> {
    let begins_with_pair = pair_start(&prompt.arguments, text.trim_start()).is_some();
    if has_verbatim_argument(prompt) && !begins_with_pair {
        Vec::new()
    } else {
        pairs(&prompt.arguments, text)
    }
}

/// A word of a shell that is a pair.
struct WordPair {
    /// The index of the word.
    word: usize,
    /// The index of the argument.
    argument: usize,
    /// Where the value begins in the word.
    value_start: usize,
}

/// Returns the words that are `name=value` pairs, the first for each argument. A verbatim argument
/// takes all words as they are, so with one, only the first word can be a pair.
fn pairs_of_words(prompt: &Prompt, words: &[InputPart<'_>]) -> Vec<WordPair> {
    let searched_count = if has_verbatim_argument(prompt) {
        1
    } else {
        words.len()
    };
    let mut pairs: Vec<WordPair> = Vec::new();
    for (word, part) in words.iter().enumerate().take(searched_count) {
        if part.is_piped() {
            continue;
        }
        let Some(PairStart { argument, length }) = pair_start(&prompt.arguments, part.text) else {
            continue;
        };
        if pairs.iter().all(|earlier| earlier.argument != argument) {
            pairs.push(WordPair {
                word,
                argument,
                value_start: length,
            });
        }
    }
    pairs
}

/// Returns whether a single argument takes the whole text verbatim, unless the text begins with its
/// `name=`.
fn has_verbatim_argument(prompt: &Prompt) -> bool {
    prompt.arguments.len() == 1 && !prompt.has_input_slot() && !prompt.gives_one_word_per_argument()
}

/// Gives the values of the pairs to their arguments, and the parts outside the pairs to the slots.
///
/// If nothing else can take these parts, they belong to the pair before them: `options=Rust or Go`
/// gives `Rust or Go` to `options`. Then the text before the first pair has no place, which is an
/// error.
fn assign<'v>(prompt: &Prompt, input: InputByPairs<'v>) -> GivenValues<'v> {
    let mut values = GivenValues::of_input(prompt, "");
    let slots = free_slots(prompt, &input.pairs);
    let extends_pairs =
        slots.is_empty() && !prompt.takes_input() && !prompt.gives_one_word_per_argument();
    for pair in input.pairs {
        let mut value = pair.value;
        if extends_pairs && let Some(extended_value) = pair.extended_value {
            value = extended_value;
        }
        values.set(Slot::Argument(pair.argument), value, Origin::Pair);
    }
    if extends_pairs {
        values.unassigned = input.before_pairs;
    } else if prompt.gives_one_word_per_argument() {
        assign_words(prompt, input.parts, &mut values);
    } else {
        assign_by_position(&slots, input.parts, &mut values);
    }
    values
}

/// Returns the slots that the text outside of the pairs fills, one after the other: arguments
/// without a pair, and the placeholder for the input.
fn free_slots(prompt: &Prompt, pairs: &[InputPair<'_>]) -> Vec<Slot> {
    let has_input = prompt.has_input_slot();
    // Free text is for what the prompt needs. Optional arguments get it only if nothing else can.
    let required_only = has_input || prompt.arguments.iter().any(|argument| argument.required);
    let mut slots = Vec::new();
    for (index, argument) in prompt.arguments.iter().enumerate() {
        let has_value = pairs.iter().any(|pair| pair.argument == index);
        if has_value || (required_only && !argument.required) {
            continue;
        }
        // The text of an argument that the body does not use would be lost, so the placeholder for
        // the input gets that text instead.
        if !has_input || prompt.uses_argument(argument) {
            slots.push(Slot::Argument(index));
        }
    }
    if has_input {
        slots.push(Slot::Input);
    }
    slots
}

/// Gives one word to each argument that has no value, as Claude Code and Codex do.
///
/// If the expansion does not contain the input, words may remain. The first one is recorded as left
/// out, which is a warning; text from a pipe as unassigned, which is an error.
fn assign_words<'v>(
    prompt: &Prompt,
    mut parts: VecDeque<InputPart<'v>>,
    values: &mut GivenValues<'v>,
) {
    for value in &mut values.arguments {
        if value.is_none()
            && let Some(text) = next_word(&mut parts)
        {
            let origin = Origin::Word;
            *value = Some(GivenValue { text, origin });
        }
    }
    // The input contains all words.
    if prompt.takes_input() {
        return;
    }
    let piped = parts.iter().find(|part| part.is_piped());
    values.unassigned = piped.map(|part| part.text);
    values.left_out = next_word(&mut parts);
}

/// Gives one word to each slot but the last, which gets everything that remains: for two slots,
/// `a b c` is `a` and `b c`.
fn assign_by_position<'v>(
    slots: &[Slot],
    mut parts: VecDeque<InputPart<'v>>,
    values: &mut GivenValues<'v>,
) {
    let Some((last_slot, other_slots)) = slots.split_last() else {
        return;
    };
    // A text from a pipe at the end is for the last slot, even if there are too few words for the
    // others. So it is put aside while they get their words.
    let ends_piped = parts.back().is_some_and(InputPart::is_piped);
    let piped_at_end = if ends_piped { parts.pop_back() } else { None };
    for slot in other_slots {
        if let Some(word) = next_word(&mut parts) {
            values.set(*slot, word, Origin::Word);
        }
    }
    parts.extend(piped_at_end);
    if !parts.is_empty() {
        values.set(*last_slot, join(parts), Origin::Rest);
    }
}

/// Takes the first word or quoted group from the parts: `a b` from `"a b" c`, which leaves `c`. A
/// word of a shell and a text from a pipe are taken as a whole.
fn next_word<'v>(parts: &mut VecDeque<InputPart<'v>>) -> Option<Cow<'v, str>> {
    let part = parts.pop_front()?;
    if part.source != PartSource::Chat {
        return Some(Cow::Borrowed(part.text));
    }
    let text = part.text.trim_start();
    let (word, after) = text.split_at(word_end(text, 0, &mut Quotes::default()));
    if !after.trim().is_empty() {
        parts.push_front(InputPart {
            text: without_space_before(after),
            ..part
        });
    }
    Some(Cow::Owned(unquoted(word)))
}

#[cfg(test)]
mod tests {
    use crate::prompt::binding::tests::{check, expand, prompt, refused};
    use crate::prompt::{Call, Name, Prompt};
    use proptest::prelude::*;

    #[test]
    fn a_text_is_divided_as_each_row_of_the_table_says() {
        let table = include_str!("division_cases.txt");
        let rows = table.lines().filter(|line| line.contains(" | "));
        for row in rows {
            let row = row.replace('⏎', "\n").replace('⇥', "\t");
            let cells: Vec<&str> = row.split(" | ").collect();
            let [declared, text, want] = cells[..] else {
                panic!("{row}");
            };
            match want.strip_prefix("error: ") {
                Some(error) => refused(declared, text, error),
                None => check(declared, text, want),
            }
        }
    }

    #[test]
    fn a_single_argument_takes_the_whole_input_verbatim() {
        for input in [
            "solar cells",
            "  \"a\" 'b'\n c \n",
            "x=1 it's \\\" fine",
            "27\" \"",
            "日本 語",
        ] {
            check("topic", input, &format!("[{input}]"));
        }
        for input in [
            "see topic=old stuff",
            "let topic=5;",
            "\ntopic = x",
            "topics=x",
        ] {
            check("topic", input, &format!("[{input}]"));
        }
        check("topic", " topic=\"a b\"", "[a b]");
        check("topic=all", "", "[all]");
        check("topic=all", " \n", "[all]");
        check("topic", "", "[]");
    }

    #[test]
    fn several_words_of_a_shell_are_words_and_a_single_one_is_read_like_chat_text() {
        let expand = |declared: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            expand(
                declared,
                Call::Shell {
                    words: &words,
                    piped: "",
                    pipe_index: 0,
                },
            )
            .unwrap()
        };
        assert_eq!(
            expand("options! criteria=cost", &["Rust or Go criteria=speed"]),
            "[Rust or Go][speed]"
        );
        assert_eq!(
            expand("options! criteria=cost", &["Rust", "or", "Go"]),
            "[Rust or Go][cost]"
        );
        assert_eq!(
            expand(
                "options! criteria=cost",
                &["Rust or Go", "criteria=speed & size"]
            ),
            "[Rust or Go][speed & size]"
        );
        assert_eq!(
            expand("options! criteria=cost", &["options=Rust", "or", "Go"]),
            "[Rust or Go][cost]"
        );
        assert_eq!(
            expand("lang! {{input}}", &["Swiss German", "good", "morning"]),
            "[Swiss German]<good morning>"
        );
        assert_eq!(
            expand("lang! {{input}}", &["lang=German", "good morning"]),
            "[German]<good morning>"
        );
        assert_eq!(
            expand("a b", &["Rust or Go", "speed", "and safety"]),
            "[Rust or Go][speed and safety]"
        );
        assert_eq!(
            expand("a b", &["a=Rust or Go", "say \"hi\""]),
            "[Rust or Go][say \"hi\"]"
        );
        assert_eq!(expand("a b", &["b=x y", "a=1", "z"]), "[1 z][x y]");
        assert_eq!(expand("a b=x", &["one"]), "[one][x]");
        assert_eq!(expand("a", &["\"one", "two\""]), "[\"one two\"]");
        assert_eq!(expand("a", &["a='one'", "a=two"]), "['one' a=two]");
        assert_eq!(expand("a", &["one", "a=two"]), "[one a=two]");
        assert_eq!(expand("a", &["a=", "foo"]), "[foo]");
        assert_eq!(
            expand("a b", &["a=x b=9", "b=1", "extra"]),
            "[x b=9][1 extra]"
        );
        assert_eq!(expand("a b", &[]), "[][]");
    }

    #[test]
    fn if_each_argument_gets_one_word_its_pair_may_follow_other_words() {
        let file = "---\narguments: [a]\nwords: true\n---\n[{{a}}]";
        let prompt = Prompt::parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
        let words = ["x".to_owned(), "a=1".to_owned()];
        for call in [
            Call::Text("x a=1"),
            Call::Shell {
                words: &words,
                piped: "",
                pipe_index: 0,
            },
        ] {
            assert_eq!(prompt.expand(call).unwrap().into_text(), "[1]", "{call:?}");
        }
    }

    /// The expansion for words, among which `-` is the place of a text from a pipe, at the end
    /// without one.
    fn piped(declared: &str, words: &[&str], text: &str) -> Result<String, String> {
        let at = words
            .iter()
            .position(|word| *word == "-")
            .unwrap_or(words.len());
        let words: Vec<String> = words
            .iter()
            .filter(|word| **word != "-")
            .map(|word| word.to_string())
            .collect();
        expand(
            declared,
            Call::Shell {
                words: &words,
                piped: text,
                pipe_index: at,
            },
        )
    }

    #[test]
    fn piped_text_is_one_more_word_and_at_the_end_it_goes_to_the_last_slot() {
        for (declared, words, want) in [
            // Without words, it is read like text typed in a chat.
            ("{{input}}", &[][..], "<P q=1\n>"),
            ("a", &[], "[P q=1\n]"),
            ("a q", &[], "[P][1]"),
            ("a! b!", &["-"], "[P][q=1\n]"),
            // One value that takes text.
            ("{{input}}", &["one"], "<one\n\nP q=1\n>"),
            ("{{input}}", &[""], "<P q=1\n>"),
            (
                "{{input}}",
                &["one", "two  three"],
                "<one two  three\n\nP q=1\n>",
            ),
            ("{{input}}", &["one", "-"], "<one\n\nP q=1\n>"),
            ("{{input}}", &["-", "one"], "<P q=1\n\none>"),
            (
                "{{input}}",
                &["one", "-", "two", "three"],
                "<one\n\nP q=1\n\ntwo three>",
            ),
            ("a", &["one"], "[one\n\nP q=1\n]"),
            ("a", &["a=one"], "[one\n\nP q=1\n]"),
            ("a", &["a="], "[P q=1\n]"),
            ("a", &["-", "a=one"], "[P q=1\n\na=one]"),
            ("a=x", &["one"], "[one\n\nP q=1\n]"),
            // Required arguments: the words fill the first, the text ends the last.
            ("a! b!", &["one"], "[one][P q=1\n]"),
            ("a! b!", &["one two"], "[one two][P q=1\n]"),
            (
                "a! b!",
                &["one", "two", "three"],
                "[one][two three\n\nP q=1\n]",
            ),
            ("a! b!", &["b=two"], "[P q=1\n][two]"),
            ("a! b!", &["b=two", "one"], "[one\n\nP q=1\n][two]"),
            ("a! b!", &["-", "two"], "[P q=1][two]"),
            ("a! b!", &["-", "b=two"], "[P q=1][two]"),
            ("a! b!", &["one", "-"], "[one][P q=1\n]"),
            ("a! b!", &["one", "-", "two"], "[one][P q=1\n\ntwo]"),
            (
                "a! b!",
                &["one", "two", "-", "three"],
                "[one][two\n\nP q=1\n\nthree]",
            ),
            ("a! b! c!", &["one", "-", "three"], "[one][P q=1][three]"),
            // Optional arguments are given by name if one is required, else by position.
            ("a! b=x", &["one"], "[one\n\nP q=1\n][x]"),
            ("a! b=x", &["b=two words"], "[P q=1\n][two words]"),
            ("a b", &["one"], "[one][P q=1\n]"),
            ("a b c", &["one"], "[one][][P q=1\n]"),
            ("a b c", &["one", "-"], "[one][][P q=1\n]"),
            ("a b c", &["b=two"], "[][two][P q=1\n]"),
            ("a b c", &["-", "two"], "[P q=1][two][]"),
            ("a b", &["one", "two"], "[one][two\n\nP q=1\n]"),
            // Everything is given by name: the text belongs to the pair before it.
            ("a b", &["a=one", "b=two"], "[one][two\n\nP q=1\n]"),
            ("a b", &["a=one", "-", "b=two"], "[one\n\nP q=1][two]"),
            (
                "a! b=x",
                &["a=one", "b=two", "three"],
                "[one][two three\n\nP q=1\n]",
            ),
            // With a placeholder for the input, that takes it.
            ("a! {{input}}", &["one"], "[one]<P q=1\n>"),
            ("a! {{input}}", &["one", "two"], "[one]<two\n\nP q=1\n>"),
            ("a! {{input}}", &["one two"], "[one two]<P q=1\n>"),
            ("a! {{input}}", &["a=one two"], "[one two]<P q=1\n>"),
            ("a! {{input}}", &["-", "two"], "[P q=1]<two>"),
            ("a=x {{input}}", &["one"], "[x]<one\n\nP q=1\n>"),
            (
                "a {{input}}",
                &["a=one", "two", "-", "three"],
                "[one]<two\n\nP q=1\n\nthree>",
            ),
        ] {
            assert_eq!(
                piped(declared, words, "P q=1\n").as_deref(),
                Ok(want),
                "{declared} {words:?}"
            );
        }
    }

    #[test]
    fn piped_text_that_belongs_to_no_argument_is_refused() {
        let error = piped("a b", &["-", "a=1", "b=2"], "P").unwrap_err();
        assert!(
            error.starts_with("`P` belongs to none of its arguments"),
            "{error}"
        );
        // The input is not taken for an argument that is missing.
        let error = piped("a! b! {{input}}", &["one"], "P").unwrap_err();
        assert!(error.starts_with("it needs a value for `b`"), "{error}");
        let error = piped("a! b! c!", &["one"], "P").unwrap_err();
        assert!(error.starts_with("it needs a value for `b`"), "{error}");
    }

    #[test]
    fn piped_text_and_words_follow_a_body_without_placeholders() {
        let mut prompt = prompt("a b!");
        prompt.messages = vec![prompt.parse_template("Body")];
        let words = ["one".to_owned(), "a=2".to_owned()];
        for (at, want) in [
            (0, "Body\n\nP\n\none a=2"),
            (1, "Body\n\none\n\nP\n\na=2"),
            (2, "Body\n\none a=2\n\nP\n"),
        ] {
            let call = Call::Shell {
                words: &words,
                piped: "P\n",
                pipe_index: at,
            };
            assert_eq!(prompt.expand(call).unwrap().into_text(), want);
        }
    }

    #[test]
    fn an_empty_pipe_adds_nothing() {
        for words in [
            &["one two"][..],
            &["one", "two"],
            &["one", "-", "two"],
            &["b=1", "x"],
            &[],
        ] {
            let others: Vec<String> = words
                .iter()
                .filter(|word| **word != "-")
                .map(|word| word.to_string())
                .collect();
            assert_eq!(
                piped("a b", words, ""),
                expand(
                    "a b",
                    Call::Shell {
                        words: &others,
                        piped: "",
                        pipe_index: 0
                    }
                ),
                "{words:?}"
            );
        }
        assert_eq!(piped("a b", &["-", "x"], "\r\n").unwrap(), "[x][]");
    }

    #[test]
    fn a_long_text_full_of_quotes_is_divided_in_linear_time() {
        for text in [" '", " \"", "'a ", "\"\\", " a='", "a'b\" "] {
            let text = text.repeat(200_000);
            let expanded = expand("a b c", Call::Text(&text)).unwrap();
            assert!(expanded.len() <= text.len() + 6);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_word_and_no_text_from_a_pipe_is_lost(
            declared in prop::sample::select(&["{{input}}", "a", "a b c", "a! b", "a! b!", "a {{input}}", "a! b! {{input}}"]),
            words in prop::collection::vec("[x-z ]{1,3}|[ab]=[x-z]{0,2}|-", 0..6),
            text in "[x-zb=\"' \n]{0,8}[p-r]",
        ) {
            prop_assume!(words.iter().filter(|word| *word == "-").count() < 2);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let Ok(expanded) = piped(declared, &words, &text) else { return Ok(()) };
            let letters = |text: &str| {
                let mut letters: Vec<char> = text.chars().filter(|letter| ('p'..='z').contains(letter)).collect();
                letters.sort();
                letters
            };
            prop_assert_eq!(letters(&expanded), letters(&format!("{}{text}", words.concat())));
            if words.iter().any(|word| *word != "-") {
                prop_assert!(expanded.contains(&text), "{:?} is not whole in {:?}", text, expanded);
            }
        }
    }
}
