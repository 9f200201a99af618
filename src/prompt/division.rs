//! Divides the text after a command name among the prompt's arguments and its input.
//!
//! Take a prompt `compare` that declares `options` (required) and `criteria` (default `cost,
//! risk`), called as
//!
//! ```text
//! :compare Rust or Go criteria="speed and size"
//! ```
//!
//! 1. **Pairs.** `criteria="speed and size"` is a pair: a declared name, `=`, and a word or quoted
//!    group. It sets `criteria` to `speed and size`. Pairs are recognized up to the end of the
//!    first non-blank line; later lines are taken literally, so that pasted text isn't altered.
//! 2. **Slots.** The remaining text, `Rust or Go`, goes to the required arguments that have no
//!    value yet, in declaration order; here, that is only `options`. If no argument is required, it
//!    goes to all arguments without a value. If the body contains `{{input}}`, the input is the
//!    last slot, and optional arguments can only be set by name.
//! 3. **Words.** Each slot gets one word or quoted group, except that the last one gets all the
//!    remaining text verbatim: `options` is `Rust or Go`.
//! 4. **No slot.** In `:compare options=Rust or Go`, every required argument has a value, so there
//!    is no slot for `or Go`. The text extends the value of the pair before it: `options` is `Rust
//!    or Go`. Text before the first pair is an error.
//! 5. **Piped text** counts as a single word, whatever it contains, and never as a pair. At the end
//!    of the words, it goes to the last slot, or extends the last pair if there is no slot. A blank
//!    line separates it from the other words of the same value.
//!
//! If a prompt has a single argument and no `{{input}}`, the argument takes the text verbatim
//! unless the text starts with its `name=`. If the body contains no placeholders at all, the whole
//! text is appended to it, whatever the prompt declares.
//!
//! Prompts with `words: true`, and Claude Code or Codex prompts that contain `$name` or `$1`,
//! follow the rules of those programs instead: after the pairs are removed, each argument gets one
//! word or quoted group, and the input is the whole text. Text that nothing receives is dropped
//! with a warning. In a prompt of pi that contains `${@:2}`, the last argument gets all words that
//! are left.
//!
//! Quotes group words as in a shell: `"Rust or Go"`, `'a "b" c'`; `\"` and `\\` are escapes inside
//! double quotes. A quote after a letter or digit (`it's`, `27"`) or without a closing quote is an
//! ordinary character.

use super::model::Prompt;
use super::words::{
    Pair, PairStart, QuoteFinder, find_pairs, parse_pair_start, split_words, unquote,
    unquote_value, word_end,
};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Where the value of an argument comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Passed by name ([`Call::Named`](super::Call::Named)).
    Named,
    /// A `name=value` pair in the text.
    Pair,
    /// A word of the text, assigned by position.
    #[serde(rename = "position")]
    Word,
    /// The rest of the text, assigned to the last slot.
    Rest,
    /// The argument's default.
    Default,
    /// An optional argument without a value or default; its value is empty.
    #[serde(rename = "nothing")]
    Omitted,
    /// A required argument without a value, so the call fails.
    Missing,
}

/// The values that a call provides, before defaults are applied.
pub(super) struct GivenValues<'v> {
    /// The value of each declared argument, in declaration order; `None` if the call doesn't
    /// provide one.
    pub(super) arguments: Vec<Option<GivenValue<'v>>>,
    /// The input, or `None` if the prompt doesn't use it.
    pub(super) input: Option<Cow<'v, str>>,
    /// Text that no argument can receive, which makes the call fail.
    pub(super) unassigned_text: Option<&'v str>,
    /// The first word that no argument received, which is reported as a warning.
    pub(super) first_dropped_word: Option<Cow<'v, str>>,
}

/// The value that a call provides for an argument.
#[derive(Clone)]
pub(super) struct GivenValue<'v> {
    pub(super) text: Cow<'v, str>,
    pub(super) origin: Origin,
}

impl GivenValue<'_> {
    /// Appends a space and a word. The value is no longer a single word then, but the rest of the
    /// text.
    fn append_word(&mut self, word: &str) {
        let text = self.text.to_mut();
        text.push(' ');
        text.push_str(word);
        self.origin = Origin::Rest;
    }
}

/// A recipient of text outside the pairs, filled by position: `:compare Rust or Go` fills the slot
/// of the argument `options`.
#[derive(Clone, Copy)]
enum Slot {
    /// The declared argument with this index.
    Argument(usize),
    Input,
}

impl<'v> GivenValues<'v> {
    /// Creates the values of a call that provides no arguments, only an input.
    ///
    /// The input is discarded if the prompt doesn't use it.
    pub(super) fn with_input_only(
        prompt: &Prompt,
        input: impl Into<Cow<'v, str>>,
    ) -> GivenValues<'v> {
        GivenValues {
            arguments: vec![None; prompt.arguments.len()],
            input: prompt.takes_input().then_some(input.into()),
            unassigned_text: None,
            first_dropped_word: None,
        }
    }

    fn set_argument(&mut self, index: usize, text: Cow<'v, str>, origin: Origin) {
        self.arguments[index] = Some(GivenValue { text, origin });
    }

    /// Stores the text for a slot. The origin is recorded only for arguments.
    fn set_slot(&mut self, slot: Slot, text: Cow<'v, str>, origin: Origin) {
        match slot {
            Slot::Argument(index) => self.set_argument(index, text, origin),
            Slot::Input => self.input = Some(text),
        }
    }
}

/// A part of the text after the command name: chat text, one shell word, or text from a pipe.
#[derive(Clone, Copy)]
pub(super) struct TextPart<'v> {
    text: &'v str,
    /// The separator to insert before this part when joining. Ignored next to piped text, which a
    /// blank line always separates.
    separator: &'v str,
    source: PartSource,
}

/// Where a [`TextPart`] comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartSource {
    /// Text typed in a chat, which can be split into words.
    Chat,
    /// One argument of a shell command, which is never split.
    Shell,
    /// Text from a pipe, which is never split.
    Pipe,
}

impl<'v> TextPart<'v> {
    /// Creates the part for a shell word, which a space separates from the part before it.
    fn shell_word(text: &'v str) -> TextPart<'v> {
        TextPart {
            text,
            separator: " ",
            source: PartSource::Shell,
        }
    }

    /// Creates the part for the chat text that follows a `name=value` pair.
    ///
    /// If line breaks follow the pair, they become the separator between this part and the one
    /// before the pair; otherwise a space does.
    fn after_pair(text_after_pair: &'v str) -> TextPart<'v> {
        let text = trim_start_keeping_indent(text_after_pair);
        let (whitespace, _) = text_after_pair.split_at(text_after_pair.len() - text.len());
        TextPart {
            text,
            separator: if whitespace.ends_with('\n') {
                whitespace
            } else {
                " "
            },
            source: PartSource::Chat,
        }
    }

    fn is_piped(&self) -> bool {
        self.source == PartSource::Pipe
    }
}

/// Removes leading blank lines, and the leading spaces of the first line: `  a` becomes `a`. The
/// indentation of any later line is kept: `\n\n  a` becomes `  a`.
fn trim_start_keeping_indent(text: &str) -> &str {
    let trimmed = text.trim_start();
    let (whitespace, _) = text.split_at(text.len() - trimmed.len());
    match whitespace.rfind('\n') {
        Some(newline) => &text[newline + 1..],
        None => trimmed,
    }
}

/// Returns the words of a shell command as parts, with the piped text inserted before the word at
/// `pipe_index`, or at the end if the index is past the last word.
///
/// An empty piped text adds no part. If words follow the piped text, its trailing line breaks are
/// removed.
pub(super) fn shell_parts<'v>(
    words: &'v [String],
    piped: &'v str,
    pipe_index: usize,
) -> Vec<TextPart<'v>> {
    let (words_before, words_after) = words.split_at(pipe_index.min(words.len()));
    let piped_text = if words_after.is_empty() {
        piped
    } else {
        piped.trim_end_matches(['\r', '\n'])
    };
    let mut parts = Vec::with_capacity(words.len() + 1);
    for word in words_before {
        parts.push(TextPart::shell_word(word));
    }
    if !piped_text.is_empty() {
        parts.push(TextPart {
            source: PartSource::Pipe,
            ..TextPart::shell_word(piped_text)
        });
    }
    for word in words_after {
        parts.push(TextPart::shell_word(word));
    }
    parts
}

/// Joins the input of a [`Call::Shell`](super::Call::Shell) into one string: the words are
/// separated by spaces, and the piped text by blank lines.
pub fn join_shell_input(words: &[String], piped: &str, pipe_index: usize) -> String {
    join_parts(shell_parts(words, piped, pipe_index)).into_owned()
}

/// Joins parts into one string: the words `a` and `b` and the piped text `c` become `a b\n\nc`.
///
/// Each part is preceded by its separator, or by a blank line if it or the part before it is piped.
/// A single part is returned without copying it.
fn join_parts<'v>(parts: impl IntoIterator<Item = TextPart<'v>>) -> Cow<'v, str> {
    let mut parts = parts.into_iter();
    let Some(mut previous) = parts.next() else {
        return Cow::Borrowed("");
    };
    let mut joined = Cow::Borrowed(previous.text);
    for part in parts {
        let buffer = joined.to_mut();
        let is_next_to_piped = previous.is_piped() || part.is_piped();
        if !is_next_to_piped {
            buffer.push_str(part.separator);
        } else if !buffer.is_empty() {
            buffer.push_str("\n\n");
        }
        buffer.push_str(part.text);
        previous = part;
    }
    joined
}

/// Divides a chat message among a prompt's arguments and its input: `Rust or Go criteria=speed`
/// sets the required argument `options` to `Rust or Go`, and `criteria` to `speed`.
pub(super) fn divide_chat_text<'v>(prompt: &Prompt, text: &'v str) -> GivenValues<'v> {
    if prompt.arguments.is_empty() && !prompt.gives_one_word_per_argument() {
        return GivenValues::with_input_only(prompt, text);
    }
    let whole_text_input = prompt.input_is_whole_text().then_some(Cow::Borrowed(text));
    let divided = DividedText::from_chat_text(prompt, text);
    assign(prompt, divided, whole_text_input)
}

/// Divides shell words and piped text among a prompt's arguments and its input.
pub(super) fn divide_shell_parts<'v>(prompt: &Prompt, parts: &[TextPart<'v>]) -> GivenValues<'v> {
    let whole_text_input = if prompt.input_is_whole_text() {
        Some(join_parts(parts.iter().copied()))
    } else {
        None
    };
    let divided = DividedText::from_shell_parts(prompt, parts);
    assign(prompt, divided, whole_text_input)
}

/// The text of a call, divided into its pairs and the parts outside them.
///
/// Text after a pair is stored twice, because either the pair or a slot can receive it:
/// in [`TextPair::extended_value`] and in `other_parts`. [`assign`] uses only one of the two.
struct DividedText<'v> {
    pairs: Vec<TextPair<'v>>,
    /// The parts outside the pairs, in order.
    other_parts: VecDeque<TextPart<'v>>,
    /// The chat text or the first shell word before the first pair, for an error message; `None` if
    /// the text starts with a pair.
    text_before_pairs: Option<&'v str>,
}

/// A `name=value` pair. In `options=Rust or Go`, the value is `Rust`.
struct TextPair<'v> {
    argument_index: usize,
    value: Cow<'v, str>,
    /// The value with the text up to the next pair, e.g. `Rust or Go`; `None` if the next pair or
    /// the end of the text follows directly.
    extended_value: Option<Cow<'v, str>>,
}

impl<'v> DividedText<'v> {
    /// Divides a chat message at its `name=value` pairs: `Hello tone=kind to all` becomes the part
    /// `Hello`, the pair `tone=kind`, and the part `to all`.
    fn from_chat_text(prompt: &Prompt, text: &'v str) -> DividedText<'v> {
        let pairs = find_chat_pairs(prompt, text);
        let before = &text[..end_before_pair(text, pairs.first())];
        let mut divided = DividedText {
            pairs: Vec::with_capacity(pairs.len()),
            other_parts: VecDeque::new(),
            text_before_pairs: None,
        };
        if !before.trim().is_empty() {
            divided.text_before_pairs = Some(before.trim());
            divided.other_parts.push_back(TextPart {
                text: before,
                separator: "", // nothing precedes this part
                source: PartSource::Chat,
            });
        }
        for (index, pair) in pairs.iter().enumerate() {
            let end = end_before_pair(text, pairs.get(index + 1));
            let after = &text[pair.range.end..end];
            let mut extended_value = None;
            if !after.trim().is_empty() {
                extended_value = Some(Cow::Borrowed(text[pair.value_start..end].trim()));
                divided.other_parts.push_back(TextPart::after_pair(after));
            }
            divided.pairs.push(TextPair {
                argument_index: pair.argument_index,
                value: Cow::Owned(unquote_value(&text[pair.value_start..pair.range.end])),
                extended_value,
            });
        }
        divided
    }

    /// Divides shell words and piped text at the words that are `name=value` pairs: `a tone=kind b
    /// c` becomes the part `a`, the pair `tone=kind`, and the parts `b` and `c`. Words are never
    /// split.
    fn from_shell_parts(prompt: &Prompt, parts: &[TextPart<'v>]) -> DividedText<'v> {
        let pairs = find_shell_pairs(prompt, parts);
        let first_pair = pairs.first().map_or(parts.len(), |pair| pair.part_index);
        let before = &parts[..first_pair];
        let mut divided = DividedText {
            pairs: Vec::with_capacity(pairs.len()),
            other_parts: before.iter().copied().collect(),
            text_before_pairs: before.first().map(|part| part.text),
        };
        for (index, pair) in pairs.iter().enumerate() {
            let next_pair = pairs
                .get(index + 1)
                .map_or(parts.len(), |next| next.part_index);
            let after = &parts[pair.part_index + 1..next_pair];
            let value = &parts[pair.part_index].text[pair.value_start..];
            let mut extended_value = None;
            if !after.is_empty() {
                extended_value = Some(extend_value(value, after));
                divided.other_parts.extend(after);
            }
            divided.pairs.push(TextPair {
                argument_index: pair.argument_index,
                value: Cow::Borrowed(value),
                extended_value,
            });
        }
        divided
    }
}

/// Returns the offset where the text before a pair ends, not counting the whitespace in between: 1
/// for `a tone=kind`. If there is no next pair, returns the length of the text.
fn end_before_pair(text: &str, next_pair: Option<&Pair>) -> usize {
    match next_pair {
        Some(pair) => text[..pair.range.start].trim_end().len(),
        None => text.len(),
    }
}

/// Joins the value of a pair, unless it is empty, with the parts that follow it.
fn extend_value<'v>(value: &'v str, parts_after: &[TextPart<'v>]) -> Cow<'v, str> {
    let parts_after = parts_after.iter().copied();
    if value.is_empty() {
        join_parts(parts_after)
    } else {
        join_parts(std::iter::once(TextPart::shell_word(value)).chain(parts_after))
    }
}

/// Finds the `name=value` pairs in a chat message.
fn find_chat_pairs(prompt: &Prompt, text: &str) -> Vec<Pair> {
    let starts_with_pair = parse_pair_start(&prompt.arguments, text.trim_start()).is_some();
    // `see topic=old stuff` is all text if `topic` is the only argument.
    if has_verbatim_argument(prompt) && !starts_with_pair {
        Vec::new()
    } else {
        find_pairs(&prompt.arguments, text)
    }
}

/// A shell word that is a `name=value` pair.
struct ShellPair {
    /// The index of the word among the input parts.
    part_index: usize,
    argument_index: usize,
    /// The byte offset of the value within the word.
    value_start: usize,
}

/// Finds the shell words that are `name=value` pairs. Only the first pair for each argument counts.
fn find_shell_pairs(prompt: &Prompt, parts: &[TextPart<'_>]) -> Vec<ShellPair> {
    let searched_count = if has_verbatim_argument(prompt) {
        1 // the argument takes everything after the first word verbatim
    } else {
        parts.len()
    };
    let mut pairs: Vec<ShellPair> = Vec::new();
    for (part_index, part) in parts.iter().enumerate().take(searched_count) {
        if part.is_piped() {
            continue;
        }
        let Some(PairStart {
            argument_index,
            length,
        }) = parse_pair_start(&prompt.arguments, part.text)
        else {
            continue;
        };
        if pairs
            .iter()
            .all(|earlier| earlier.argument_index != argument_index)
        {
            pairs.push(ShellPair {
                part_index,
                argument_index,
                value_start: length,
            });
        }
    }
    pairs
}

/// Returns whether the prompt's only argument takes the whole text verbatim, unless the text starts
/// with its `name=`.
fn has_verbatim_argument(prompt: &Prompt) -> bool {
    prompt.arguments.len() == 1 && !prompt.has_input_slot() && !prompt.gives_one_word_per_argument()
}

/// Assigns the values of the pairs to their arguments, and the text outside the pairs by one of
/// three rules: [`assign_one_word_each`], [`fill_slots`] or [`extend_pairs`].
///
/// `whole_text_input` is the input if it is the whole text. It is `None` if the input is a slot, or
/// if the prompt doesn't use it.
fn assign<'v>(
    prompt: &Prompt,
    divided: DividedText<'v>,
    whole_text_input: Option<Cow<'v, str>>,
) -> GivenValues<'v> {
    // An input that is a slot is empty unless `fill_slots` finds text for it.
    let input = whole_text_input.unwrap_or_default();
    let mut values = GivenValues::with_input_only(prompt, input);
    if prompt.gives_one_word_per_argument() {
        assign_one_word_each(prompt, divided, &mut values);
        return values;
    }
    let slots = free_slots(prompt, &divided.pairs);
    // Without slots, an input that the prompt uses is the whole text, so nothing is lost.
    let only_pairs_can_receive_text = slots.is_empty() && !prompt.takes_input();
    if only_pairs_can_receive_text {
        extend_pairs(divided, &mut values);
    } else {
        fill_slots(&slots, divided, &mut values);
    }
    values
}

/// Assigns the value of each pair, without the text that follows it.
fn assign_pairs<'v>(pairs: Vec<TextPair<'v>>, values: &mut GivenValues<'v>) {
    for pair in pairs {
        values.set_argument(pair.argument_index, pair.value, Origin::Pair);
    }
}

/// Assigns the value of each pair together with the text up to the next pair: `options=Rust or Go`
/// sets `options` to `Rust or Go`. Text before the first pair is reported as unassigned.
fn extend_pairs<'v>(divided: DividedText<'v>, values: &mut GivenValues<'v>) {
    for pair in divided.pairs {
        let value = pair.extended_value.unwrap_or(pair.value);
        values.set_argument(pair.argument_index, value, Origin::Pair);
    }
    values.unassigned_text = divided.text_before_pairs;
}

/// Returns the slots that the text outside the pairs fills, in order: arguments that no pair sets,
/// then the input placeholder.
///
/// Optional arguments are slots only if the prompt has neither required arguments nor an input
/// placeholder. An argument that the body doesn't use is no slot if text can go to a later one
/// instead, because its text would be lost.
fn free_slots(prompt: &Prompt, pairs: &[TextPair<'_>]) -> Vec<Slot> {
    let has_input = prompt.has_input_slot();
    let has_required = prompt.arguments.iter().any(|argument| argument.required);
    let optional_are_slots = !has_input && !has_required;
    let mut slots = Vec::new();
    if has_input {
        slots.push(Slot::Input);
    }
    // Whether the body uses one of the slots so far. From the last argument to the first, these are
    // the slots after the current argument.
    let mut has_used_slot = has_input;
    for (index, argument) in prompt.arguments.iter().enumerate().rev() {
        let is_set_by_pair = pairs.iter().any(|pair| pair.argument_index == index);
        let is_positional = argument.required || optional_are_slots;
        if is_set_by_pair || !is_positional {
            continue;
        }
        let is_used = prompt.uses_argument(argument);
        let would_lose_text = !is_used && has_used_slot;
        if would_lose_text {
            continue;
        }
        slots.push(Slot::Argument(index));
        has_used_slot |= is_used;
    }
    slots.reverse();
    slots
}

/// Assigns one word to each argument that no pair sets, as Claude Code and Codex do. With a
/// placeholder such as `${@:2}`, the last argument gets all remaining words, as in pi.
///
/// If words remain and the prompt doesn't use the input, which would contain them, the first one is
/// reported as dropped. Remaining piped text is reported as unassigned, which is an error.
fn assign_one_word_each<'v>(
    prompt: &Prompt,
    divided: DividedText<'v>,
    values: &mut GivenValues<'v>,
) {
    // Pairs come first: the words go to the arguments that are still `None`.
    assign_pairs(divided.pairs, values);
    let mut parts = divided.other_parts;
    for value in &mut values.arguments {
        if value.is_none()
            && let Some(text) = take_word(&mut parts)
        {
            let origin = Origin::Word;
            *value = Some(GivenValue { text, origin });
        }
    }
    if prompt.last_argument_takes_rest()
        && let Some(Some(last)) = values.arguments.last_mut()
    {
        append_words(&mut parts, last);
    }
    if prompt.takes_input() {
        return;
    }
    let unused_piped = parts.iter().find(|part| part.is_piped());
    values.unassigned_text = unused_piped.map(|part| part.text);
    values.first_dropped_word = take_word(&mut parts);
}

/// Removes all words from the parts, and appends them to a value, each after a space: `"b c" d`
/// becomes `b c d`. A shell word or piped text counts as one word.
fn append_words(parts: &mut VecDeque<TextPart<'_>>, value: &mut GivenValue<'_>) {
    for part in parts.drain(..) {
        if part.source != PartSource::Chat {
            value.append_word(part.text);
            continue;
        }
        for word in split_words(part.text) {
            value.append_word(&unquote(word));
        }
    }
}

/// Assigns the values of the pairs, then one word to each slot except the last, which gets
/// everything that remains: with two slots, `a b c` becomes `a` and `b c`.
fn fill_slots<'v>(slots: &[Slot], divided: DividedText<'v>, values: &mut GivenValues<'v>) {
    assign_pairs(divided.pairs, values);
    let mut parts = divided.other_parts;
    let Some((last_slot, other_slots)) = slots.split_last() else {
        return;
    };
    // Trailing piped text is meant for the last slot even if there are too few words for the
    // others, so set it aside until they have taken theirs.
    let ends_piped = parts.back().is_some_and(TextPart::is_piped);
    let trailing_piped = if ends_piped { parts.pop_back() } else { None };
    for slot in other_slots {
        if let Some(word) = take_word(&mut parts) {
            values.set_slot(*slot, word, Origin::Word);
        }
    }
    parts.extend(trailing_piped);
    if !parts.is_empty() {
        values.set_slot(*last_slot, join_parts(parts), Origin::Rest);
    }
}

/// Removes the first word from the parts and returns it: `a b` from the chat text `"a b" c`,
/// leaving `c`. A shell word or piped text counts as one word, whatever it contains.
fn take_word<'v>(parts: &mut VecDeque<TextPart<'v>>) -> Option<Cow<'v, str>> {
    let part = parts.pop_front()?;
    match part.source {
        PartSource::Shell | PartSource::Pipe => Some(Cow::Borrowed(part.text)),
        PartSource::Chat => {
            let (word, text_after) = split_first_word(part.text);
            if !text_after.is_empty() {
                parts.push_front(TextPart {
                    text: text_after,
                    ..part
                });
            }
            Some(Cow::Owned(unquote(word)))
        }
    }
}

/// Splits a text into its first word or quoted group, including the quotes, and the text after it,
/// which is empty if only whitespace follows.
fn split_first_word(text: &str) -> (&str, &str) {
    let trimmed = text.trim_start();
    let end = word_end(trimmed, 0, &mut QuoteFinder::default());
    let (word, text_after) = trimmed.split_at(end);
    if text_after.trim().is_empty() {
        return (word, "");
    }
    // The rest may be assigned to a slot verbatim, so keep the indentation of its first line.
    (word, trim_start_keeping_indent(text_after))
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
    fn an_argument_that_the_body_does_not_use_gets_text_only_if_no_later_one_can() {
        for (declared, body, text, want) in [
            ("a! b!", "<{{b}}>", "x", "<x>"),
            ("a! b!", "<{{b}}>", "x y", "<x y>"),
            ("a b", "<{{b}}>", "x", "<x>"),
            ("a! b! c!", "<{{a}}{{c}}>", "x y", "<xy>"),
            ("a! b!", "<{{b}}>", "a=1 x", "<x>"),
            ("a! b!", "<{{b}}>", "b=1 x", "<1>"),
            ("a! b!", "<{{a}}>", "x y", "<x>"),
        ] {
            let mut prompt = prompt(declared);
            prompt.messages = vec![prompt.parse_template(body)];
            let expansion = prompt.expand(Call::Text(text)).unwrap();
            assert_eq!(expansion.into_text(), want, "{declared} {text}");
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

    /// Expands a prompt with shell words and piped text. A word `-` marks where the piped text
    /// goes; without one, it goes to the end.
    fn piped(declared: &str, words: &[&str], text: &str) -> Result<String, String> {
        let pipe_index = words
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
                pipe_index,
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
        assert!(error.starts_with("no argument can take `P`"), "{error}");
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
    fn typographic_quotation_marks_group_the_value_of_a_pair() {
        for value in [
            "“x y”",
            "”x y”",
            "„x y“",
            "„x y”",
            "‘x y’",
            "‚x y‘",
            "«x y»",
            "»x y«",
            "‹x y›",
            "「x y」",
            "『x y』",
            "＂x y＂",
            "›x y‹",
            "‛x y’",
            "‟x y”",
            "｢x y｣",
            "《x y》",
            "〝x y〞",
            "〝x y〟",
            "“x y\"",
            "\"x y”",
            "‘x y'",
            "'x y’",
            "„x y\"",
            "“x y“",
            "« x y »",
            "«\u{a0}x y\u{202f}»",
            "‹ x y ›",
        ] {
            check(
                "a! b",
                &format!("b={value} Rust or Go"),
                "[Rust or Go][x y]",
            );
        }
        check("a! b", "b=‘it’s fine’ z", "[z][it’s fine]");
        check("a! b", "b=‘it's fine' z", "[z][it's fine]");
        check("a! b", "b=“a \"b\" c” z", "[z][a \"b\" c]");
        check("a! b", "b=\"a “b” c\" z", "[z][a “b” c]");
        check("a b", "a=“x y\" b=“z w”", "[x y][z w]");
        check("a b", "a=\"x y” b=\"z w\"", "[x y][z w]");
        check("a b", "a=\"x y=\" b=z", "[x y=][z]");
        check("a! b", "b=“ x y ” z", "[z][ x y ]");
        check("a! b", "b=“x y”, z", "[z][x y,]");
        check("a! b", "b=it’s b=“x y z", "[b=“x y z][it’s]");
        check("a! b", "“x y” b=1", "[“x y”][1]");
    }

    #[test]
    fn a_long_text_full_of_quotes_is_divided_in_linear_time() {
        for text in [
            " '",
            " \"",
            "'a ",
            "\"\\",
            " a='",
            "a'b\" ",
            " a=“",
            " a=“ b=\" c='",
        ] {
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
