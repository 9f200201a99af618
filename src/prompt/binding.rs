//! From a call of a prompt to the value of each of its arguments.
//!
//! A call gives values by name, or one text that is divided among the arguments. Take a prompt
//! `compare` that declares `options` (required) and `criteria` (with the default `cost, risk`), and
//! the text of
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
//! 5. **Defaults** are for arguments without a value, or with an empty one. What is required and
//!    has neither is an error.
//! 6. **Piped text** ([`Call::Piped`]) is one more word, whatever it contains. It is never a pair.
//!    As the last word it goes to the last slot, or to the last pair if there is no slot. Empty
//!    lines set it off from the words of the same value.
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

use super::diagnostic::{Diagnostic, Kind};
use super::message;
use super::model::{Argument, Prompt};
use super::similar;
use super::template::INPUT;
use super::text::beginning;
use super::words::{Pair, Quotes, pair_at, pairs, unquoted, word_end, words};
use crate::wording::{all_of, alternatives, named as name, quoted};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// How a prompt is called.
#[derive(Debug, Clone, Copy)]
pub enum Call<'c> {
    /// The text after the name, as typed in a chat.
    Text(&'c str),
    /// Words that a shell has divided, and perhaps a text from a pipe among them. A single word, or
    /// a text without words, is read like [`Call::Text`], since quotes may be the shell's way to
    /// write a text.
    Piped {
        /// The words.
        words: &'c [String],
        /// The text.
        text: &'c str,
        /// The index of the word before which the text belongs.
        at: usize,
    },
    /// Values by name, and perhaps an input next to them, which is not divided. Without values it
    /// is [`Call::Text`].
    Named {
        /// The values; one for `input` replaces the input.
        values: &'c BTreeMap<String, String>,
        /// The input.
        input: &'c str,
        /// Whether an unknown name, or an input that the expansion would not contain, is an error.
        /// If not, both are ignored.
        is_strict: bool,
    },
}

/// What each argument of a prompt gets in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding<'v> {
    /// The declared arguments, in their order.
    pub arguments: Vec<Bound<'v>>,
    /// What replaces `{{input}}`, or follows a body without placeholders; `None` if the body does
    /// neither.
    pub input: Option<Cow<'v, str>>,
    /// Why the prompt cannot be expanded.
    pub error: Option<Diagnostic>,
    /// What works, but is probably a mistake of the caller: a value that is not among the choices
    /// of its argument, or a misspelled name. Each is one line, lowercase, without a final stop.
    pub warnings: Vec<String>,
}

/// What one argument gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound<'v> {
    /// The argument's name.
    pub name: &'v str,
    /// Its value.
    pub value: Cow<'v, str>,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Where the value of an argument comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A value by name ([`Call::Named`]).
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

impl Binding<'_> {
    /// The value of a placeholder's name. A default is text of the prompt.
    pub(super) fn value(&self, name: &str) -> message::Piece<'_> {
        match self.arguments.iter().find(|bound| bound.name == name) {
            Some(Bound {
                value,
                origin: Origin::Default,
                ..
            }) => message::Piece::Text(value),
            Some(bound) => message::Piece::Value(&bound.value),
            None => message::Piece::Value(self.input.as_deref().unwrap_or_default()),
        }
    }
}

impl Prompt {
    /// What each declared argument gets in a call; the module documentation has the rules.
    pub fn bind<'v>(&'v self, call: Call<'v>) -> Binding<'v> {
        let mut binding = self.bind_values(call);
        let warning = match call {
            Call::Piped { words, .. } => misspelled(self, &binding.arguments, &words.join(" ")),
            Call::Named { values, .. } if !values.is_empty() => None,
            Call::Text(text) | Call::Named { input: text, .. } => {
                misspelled(self, &binding.arguments, text)
            }
        };
        binding.warnings.extend(warning);
        binding
    }

    fn bind_values<'v>(&'v self, call: Call<'v>) -> Binding<'v> {
        match call {
            Call::Text(text) => divide_text(self, text).into_binding(self),
            Call::Piped {
                words: [text],
                text: "",
                ..
            } => divide_text(self, text).into_binding(self),
            Call::Piped {
                words: [], text, ..
            } if text.is_empty() || !self.takes_words() => {
                divide_text(self, text).into_binding(self)
            }
            Call::Piped { words, text, at } => {
                divide_words(self, &pieces(words, text, at)).into_binding(self)
            }
            Call::Named { values, input, .. } if values.is_empty() => {
                divide_text(self, input).into_binding(self)
            }
            Call::Named {
                values,
                input,
                is_strict,
            } => {
                let mut binding = named(self, values, input).into_binding(self);
                if is_strict {
                    let error = binding.error.take();
                    binding.error = unknown_name(self, values)
                        .or(error)
                        .or_else(|| unused_input(self, values, input));
                }
                binding
            }
        }
    }

    /// How to call a prompt that declares arguments: `:compare options=… [criteria=…]`.
    pub fn usage(&self) -> Option<String> {
        let parts = self
            .arguments
            .iter()
            .map(|argument| match argument.required {
                true => format!(" {}=…", argument.name),
                false => format!(" [{}=…]", argument.name),
            });
        (!self.arguments.is_empty()).then(|| format!(":{}{}", self.name, parts.collect::<String>()))
    }
}

/// A value, and where it comes from.
type Value<'v> = (Cow<'v, str>, Origin);

/// What a call gives, before defaults.
struct Given<'v> {
    /// For each declared argument.
    arguments: Vec<Option<Value<'v>>>,
    input: Option<Cow<'v, str>>,
    /// Text that belongs to no argument.
    extra: Option<&'v str>,
    /// The first word of the text for which the prompt has no place.
    unplaced: Option<Cow<'v, str>>,
}

/// What gets a part of the text: an argument, or the input.
#[derive(Clone, Copy)]
enum Slot {
    /// The declared argument with this index.
    Argument(usize),
    Input,
}

impl<'v> Given<'v> {
    fn nothing(prompt: &Prompt) -> Given<'v> {
        let input = prompt.takes_input().then_some(Cow::Borrowed(""));
        Given {
            arguments: vec![None; prompt.arguments.len()],
            input,
            extra: None,
            unplaced: None,
        }
    }

    /// What gets the text outside the pairs.
    fn slots(&self, prompt: &Prompt) -> Vec<Slot> {
        let has_input = prompt.input_is_slot();
        let required_only = has_input || prompt.arguments.iter().any(|argument| argument.required);
        let is_slot = |index: &usize| {
            let argument = &prompt.arguments[*index];
            // Text for an argument that the body does not use would be lost, although the
            // placeholder of the input can take it.
            let is_lost = has_input && !prompt.uses(argument);
            self.arguments[*index].is_none() && (!required_only || argument.required) && !is_lost
        };
        let arguments = (0..prompt.arguments.len())
            .filter(is_slot)
            .map(Slot::Argument);
        arguments.chain(has_input.then_some(Slot::Input)).collect()
    }

    fn give(&mut self, slot: Slot, value: Cow<'v, str>, origin: Origin) {
        match slot {
            Slot::Argument(index) => self.arguments[index] = Some((value, origin)),
            Slot::Input => self.input = Some(value),
        }
    }

    fn into_binding(self, prompt: &'v Prompt) -> Binding<'v> {
        let bind = |(argument, given): (&'v Argument, Option<Value<'v>>)| {
            let default = argument
                .default
                .as_deref()
                .map(|default| (Cow::Borrowed(default), Origin::Default));
            let given = given.filter(|(value, _)| !value.is_empty() || default.is_none());
            let is_missing =
                argument.required && (prompt.uses(argument) || !prompt.input_is_slot());
            let none = if is_missing {
                Origin::Missing
            } else {
                Origin::Omitted
            };
            let (value, origin) = given.or(default).unwrap_or((Cow::Borrowed(""), none));
            Bound {
                name: &argument.name,
                value,
                origin,
            }
        };
        let arguments: Vec<Bound<'v>> = prompt
            .arguments
            .iter()
            .zip(self.arguments)
            .map(bind)
            .collect();
        let missing = arguments
            .iter()
            .filter(|bound| bound.origin == Origin::Missing);
        let missing: Vec<String> = missing.map(|bound| bound.name.to_owned()).collect();
        let (refused, doubtful) = not_choices(prompt, &arguments);
        let usage = || name(&prompt.usage().unwrap_or_default());
        let error = |kind, message, after| {
            Some(Diagnostic::new(
                kind,
                message,
                format!("write {}{after}", usage()),
            ))
        };
        let error = match self.extra {
            Some(extra) => {
                let message = format!("{} belongs to none of its arguments", quoted(extra));
                error(
                    Kind::UnusedText,
                    message,
                    ", with quotes around a value of several words",
                )
            }
            None if !missing.is_empty() => error(
                Kind::MissingValue,
                format!("it needs a value for {}", all_of(&missing)),
                "",
            ),
            None if !refused.is_empty() => error(Kind::NotAChoice, refused.join(", and "), ""),
            None => None,
        };
        let warning =
            |value: String| format!("{value}; the value is used as it is (usage: {})", usage());
        let mut warnings: Vec<String> = doubtful.into_iter().map(warning).collect();
        warnings.extend(self.unplaced.map(|word| {
            format!(
                "the prompt has no place for the text from {} on, which is left out",
                quoted(&word)
            )
        }));
        Binding {
            arguments,
            input: self.input,
            error,
            warnings,
        }
    }
}

/// What is said of the values that are not among the choices of their arguments: those of strict
/// arguments, and those of others. An empty value counts as no value; a default is the author's
/// own, of which `check` warns; and the value of an argument that the body does not use goes
/// nowhere.
fn not_choices(prompt: &Prompt, arguments: &[Bound<'_>]) -> (Vec<String>, Vec<String>) {
    let is_outside = |(argument, bound): &(&Argument, &Bound<'_>)| {
        bound.origin != Origin::Default && !argument.allows(&bound.value) && prompt.uses(argument)
    };
    let outside = prompt.arguments.iter().zip(arguments).filter(is_outside);
    let (strict, others): (Vec<_>, Vec<_>) = outside.partition(|(argument, _)| argument.strict);
    let clause = |(argument, bound): (&Argument, &Bound<'_>)| {
        let (value, choices) = (quoted(bound.value.trim()), alternatives(&argument.choices));
        format!(
            "{value} is not a choice for {}, which takes {choices}",
            name(&argument.name)
        )
    };
    (
        strict.into_iter().map(clause).collect(),
        others.into_iter().map(clause).collect(),
    )
}

/// The warning about a word `brnach=x` in the first line of a text: it is text, and would be a pair
/// if it had the name of an argument that has none.
fn misspelled(prompt: &Prompt, arguments: &[Bound<'_>], typed: &str) -> Option<String> {
    let line = beginning(typed.trim_start(), 1000)
        .lines()
        .next()
        .filter(|line| line.contains('='))?;
    let known = || prompt.arguments.iter().zip(arguments);
    let others = || {
        known().filter(|(argument, bound)| bound.origin != Origin::Pair && prompt.uses(argument))
    };
    words(line).into_iter().find_map(|word| {
        let (written, _) = word
            .split_once('=')
            .filter(|(written, _)| known().all(|(it, _)| it.name != *written))?;
        let closest = similar::closest(
            written,
            others().map(|(argument, _)| argument.name.as_str()),
        )?;
        Some(format!(
            "{} stays text; did you mean {}?",
            quoted(word),
            name(&format!("{closest}="))
        ))
    })
}

/// Values by name; other names than those of arguments are ignored, except `input`.
fn named<'v>(prompt: &Prompt, values: &'v BTreeMap<String, String>, input: &'v str) -> Given<'v> {
    let value = |argument: &Argument| {
        Some((
            Cow::Borrowed(values.get(&argument.name)?.as_str()),
            Origin::Named,
        ))
    };
    let input = Cow::Borrowed(values.get(INPUT).map_or(input, String::as_str));
    Given {
        arguments: prompt.arguments.iter().map(value).collect(),
        input: prompt.takes_input().then_some(input),
        extra: None,
        unplaced: None,
    }
}

/// The error for a value whose name the prompt does not have.
fn unknown_name(prompt: &Prompt, values: &BTreeMap<String, String>) -> Option<Diagnostic> {
    let known = prompt.value_names();
    let unknown = values.keys().find(|name| !known.contains(&name.as_str()))?;
    let mut message = format!("it has no argument {}", quoted(unknown));
    if let Some(closest) = similar::closest(unknown, known.iter().copied()) {
        message += &format!(" (did you mean {}?)", name(closest));
    }
    Some(Diagnostic::new(
        Kind::NoSuchArgument,
        message,
        format!("it takes {}", all_of(&known)),
    ))
}

/// The error for an input that the expansion would not contain. An input whose words are all in the
/// values is fine: some callers pass the whole text, and its parts by name.
fn unused_input(
    prompt: &Prompt,
    values: &BTreeMap<String, String>,
    input: &str,
) -> Option<Diagnostic> {
    if prompt.takes_input() && !values.contains_key(INPUT) {
        return None;
    }
    fn unquoted(word: &str) -> &str {
        word.trim_matches(['"', '\'', '\\'])
    }
    let given: HashSet<&str> = values
        .values()
        .flat_map(|value| value.split_whitespace())
        .map(unquoted)
        .collect();
    let is_given = |word: &str| {
        let value = pair_at(&prompt.arguments, word).map_or(word, |(_, length)| &word[length..]);
        [word, value]
            .map(unquoted)
            .iter()
            .any(|word| word.is_empty() || given.contains(word))
    };
    let is_used = input.split_whitespace().all(is_given);
    (!is_used).then(|| {
        let message = format!(
            "it was given values by name, and has no placeholder for the text {}",
            quoted(input)
        );
        Diagnostic::new(
            Kind::UnusedText,
            message,
            "give all values by name, or none",
        )
    })
}

/// A part of the input that stays whole: a word of a shell, or the text from a pipe.
#[derive(Clone, Copy)]
struct Piece<'v> {
    text: &'v str,
    is_piped: bool,
}

/// The words with the text from a pipe before the word with the index `at`. Line endings at the end
/// of the text are dropped if a word follows it.
fn pieces<'v>(words: &'v [String], text: &'v str, at: usize) -> Vec<Piece<'v>> {
    let (before, after) = words.split_at(at.min(words.len()));
    let text = if after.is_empty() {
        text
    } else {
        text.trim_end_matches(['\r', '\n'])
    };
    let words = |words: &'v [String]| {
        words.iter().map(|text| Piece {
            text,
            is_piped: false,
        })
    };
    let piped = Piece {
        text,
        is_piped: true,
    };
    words(before)
        .chain((!text.is_empty()).then_some(piped))
        .chain(words(after))
        .collect()
}

/// The input of [`Call::Piped`] as one text: the words with a space between two of them, and an
/// empty line between a word and the text from the pipe.
pub fn join_piped(words: &[String], text: &str, at: usize) -> String {
    join(pieces(words, text, at))
}

fn join<'v>(pieces: impl IntoIterator<Item = Piece<'v>>) -> String {
    let mut joined = String::new();
    let mut is_after_piped = None;
    for Piece { text, is_piped } in pieces {
        joined += match is_after_piped {
            None => "",
            Some(false) if !is_piped => " ",
            _ if joined.is_empty() => "", // after an empty word
            _ => "\n\n",
        };
        joined += text;
        is_after_piped = Some(is_piped);
    }
    joined
}

/// Gives one word to each argument that has no value, in their order, as Claude Code and Codex do.
fn give_words<'v>(
    prompt: &Prompt,
    given: &mut Given<'v>,
    words: impl IntoIterator<Item = Cow<'v, str>>,
) {
    let mut words = words.into_iter();
    for index in 0..prompt.arguments.len() {
        if given.arguments[index].is_none()
            && let Some(word) = words.next()
        {
            given.give(Slot::Argument(index), word, Origin::Word);
        }
    }
    given.unplaced = words.next().filter(|_| !prompt.takes_input());
}

/// Divides words of a shell and a text from a pipe: each is one word, no matter what it contains.
fn divide_words<'v>(prompt: &Prompt, pieces: &[Piece<'v>]) -> Given<'v> {
    let arguments = &prompt.arguments;
    let mut given = Given::nothing(prompt);
    let is_single = arguments.len() == 1 && !prompt.input_is_slot() && !prompt.takes_words();
    // What is not a pair, and the argument of the pair before it.
    let mut rest: Vec<(Option<usize>, Piece<'v>)> = Vec::new();
    let mut pair_before = None;
    for &piece in pieces {
        let pair = pair_at(arguments, piece.text);
        let pair = pair.filter(|(index, _)| !piece.is_piped && given.arguments[*index].is_none());
        match pair {
            Some((index, length)) if !is_single || rest.is_empty() => {
                given.give(
                    Slot::Argument(index),
                    Cow::Borrowed(&piece.text[length..]),
                    Origin::Pair,
                );
                pair_before = Some(index);
            }
            _ => rest.push((pair_before, piece)),
        }
    }
    if prompt.takes_words() {
        let places = given
            .arguments
            .iter()
            .filter(|argument| argument.is_none())
            .count();
        give_words(
            prompt,
            &mut given,
            rest.iter().map(|(_, piece)| Cow::Borrowed(piece.text)),
        );
        let mut unplaced = rest.iter().skip(places).filter(|_| !prompt.takes_input());
        // Text from a pipe is never left out.
        given.extra = unplaced.find_map(|(_, piece)| piece.is_piped.then_some(piece.text));
        given.input = prompt
            .takes_input()
            .then(|| Cow::Owned(join(pieces.iter().copied())));
        return given;
    }
    let slots = given.slots(prompt);
    if let Some((last, first)) = slots.split_last() {
        // At the end, the text from a pipe is for the last slot, even if there are too few words
        // for the others.
        let piped_at_end = rest.pop_if(|(_, piece)| piece.is_piped);
        let mut rest = rest.into_iter().map(|(_, piece)| piece);
        for (slot, piece) in first.iter().zip(&mut rest) {
            given.give(*slot, Cow::Borrowed(piece.text), Origin::Word);
        }
        let rest: Vec<Piece<'v>> = rest.chain(piped_at_end.map(|(_, piece)| piece)).collect();
        if !rest.is_empty() {
            given.give(*last, Cow::Owned(join(rest)), Origin::Rest);
        }
    } else if !prompt.takes_input() {
        for (index, argument) in given.arguments.iter_mut().enumerate() {
            let Some((value, _)) = argument else { continue };
            let after = rest
                .iter()
                .filter(|(pair, _)| *pair == Some(index))
                .map(|(_, piece)| *piece);
            let own = Some(Piece {
                text: value,
                is_piped: false,
            })
            .filter(|own| !own.text.is_empty());
            let extended = join(own.into_iter().chain(after));
            *value = Cow::Owned(extended);
        }
        given.extra = rest
            .iter()
            .find(|(pair, _)| pair.is_none())
            .map(|(_, piece)| piece.text);
    }
    if prompt.takes_input() && !prompt.input_is_slot() {
        given.input = Some(Cow::Owned(join(pieces.iter().copied())));
    }
    given
}

/// Divides a text as typed in a chat.
fn divide_text<'v>(prompt: &Prompt, text: &'v str) -> Given<'v> {
    let mut given = Given::nothing(prompt);
    let has_input = prompt.input_is_slot();
    if prompt.takes_input() && (prompt.arguments.is_empty() || !has_input) {
        given.input = Some(Cow::Borrowed(text));
    }
    let pairs = match prompt.arguments.as_slice() {
        [] if !prompt.takes_words() => return given,
        [_] if !has_input
            && !prompt.takes_words()
            && pair_at(&prompt.arguments, text.trim_start()).is_none() =>
        {
            Vec::new()
        }
        arguments => pairs(arguments, text),
    };
    for pair in &pairs {
        let value = Cow::Owned(unquoted(&text[pair.value..pair.range.end]));
        given.give(Slot::Argument(pair.argument), value, Origin::Pair);
    }
    if prompt.takes_words() {
        let others = gaps(&pairs, text).flat_map(|gap| words(&text[gap]));
        give_words(
            prompt,
            &mut given,
            others.map(|word| Cow::Owned(unquoted(word))),
        );
        given.input = prompt.takes_input().then_some(Cow::Borrowed(text));
        return given;
    }
    match given.slots(prompt).as_slice() {
        [] if prompt.takes_input() => {}
        [] => extend_pairs(&pairs, text, &mut given),
        [first @ .., last] => by_position(&pairs, text, first, *last, &mut given),
    }
    given
}

/// The text before the first pair, between two, and after the last.
fn gaps(pairs: &[Pair], text: &str) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(pairs.iter().map(|pair| pair.range.end));
    let ends = pairs
        .iter()
        .map(|pair| pair.range.start)
        .chain([text.len()]);
    starts.zip(ends).map(|(start, end)| start..end)
}

/// Gives the text after each pair to that pair; text before the first one belongs to none.
fn extend_pairs<'v>(pairs: &[Pair], text: &'v str, given: &mut Given<'v>) {
    for (index, gap) in gaps(pairs, text).enumerate() {
        let between = text[gap.clone()].trim();
        match index.checked_sub(1).map(|before| &pairs[before]) {
            _ if between.is_empty() => {}
            Some(pair) => {
                let value = Cow::Borrowed(text[pair.value..gap.end].trim());
                given.give(Slot::Argument(pair.argument), value, Origin::Pair);
            }
            None => given.extra = Some(between),
        }
    }
}

/// Divides the text outside the pairs: one word goes to each of the `first` slots, and the rest to
/// the `last`.
fn by_position<'v>(
    pairs: &[Pair],
    text: &'v str,
    first: &[Slot],
    last: Slot,
    given: &mut Given<'v>,
) {
    let mut first = first.iter();
    let mut rest: Option<Cow<'v, str>> = None;
    for Range { start, end } in gaps(pairs, text) {
        // The end of the text is verbatim; the spaces before a pair belong to the pair.
        let gap = if end < text.len() {
            text[start..end].trim_end()
        } else {
            &text[start..]
        };
        let mut gap = if start > 0 { after_space(gap) } else { gap };
        while !gap.trim().is_empty() && rest.is_none() {
            let Some(slot) = first.next() else { break };
            let (word, after) = {
                let gap = gap.trim_start();
                gap.split_at(word_end(gap, 0, &mut Quotes::default()))
            };
            given.give(*slot, Cow::Owned(unquoted(word)), Origin::Word);
            gap = after_space(after);
        }
        if !gap.trim().is_empty() {
            rest = Some(match rest {
                // In place of the pair: the line endings that followed it, or one space.
                Some(before) => {
                    let space = &text[start..end];
                    let space = &space[..space.len() - space.trim_start().len()];
                    let between = space.rfind('\n').map_or(" ", |newline| &space[..=newline]);
                    Cow::Owned(format!("{before}{between}{gap}"))
                }
                None => Cow::Borrowed(gap),
            });
        }
    }
    if let Some(rest) = rest {
        given.give(last, rest, Origin::Rest);
    }
}

/// A text without the spaces and empty lines that it begins with, except the indentation of its
/// first other line.
fn after_space(text: &str) -> &str {
    let trimmed = text.trim_start();
    let space = &text[..text.len() - trimmed.len()];
    space
        .rfind('\n')
        .map_or(trimmed, |newline| &text[newline + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Messages, Name};
    use proptest::prelude::*;

    /// A prompt with these arguments: `a!` is required, `b=x` has the default `x`, and `{{input}}`
    /// is a placeholder for the input. It shows what each gets.
    fn prompt(declared: &str) -> Prompt {
        let mut prompt = Prompt::parse(Name::new("p").unwrap(), b"").unwrap();
        let argument = |argument: &str| {
            let (name, default) = argument
                .split_once('=')
                .map_or((argument, None), |(name, x)| (name, Some(x)));
            let (name, required) = name
                .strip_suffix('!')
                .map_or((name, false), |name| (name, true));
            Argument {
                name: name.into(),
                required: required && default.is_none(),
                default: default.map(str::to_owned),
                ..Argument::default()
            }
        };
        let (input, declared): (Vec<&str>, Vec<&str>) = declared
            .split_whitespace()
            .partition(|word| *word == "{{input}}");
        prompt.arguments = declared.into_iter().map(argument).collect();
        let body = prompt
            .arguments
            .iter()
            .map(|it| format!("[{{{{{}}}}}]", it.name))
            .collect::<String>();
        let body = if input.is_empty() {
            body
        } else {
            body + "<{{input}}>"
        };
        prompt.messages = vec![prompt.template_of(&body)];
        prompt
    }

    fn expand(declared: &str, call: Call<'_>) -> Result<String, String> {
        prompt(declared)
            .expand(call)
            .map(Messages::into_text)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_pair_with_a_misspelled_name_stays_text_with_a_warning() {
        for (declared, text, want) in [
            (
                "branch! {{input}}",
                "brnach=x go",
                Some("`brnach=x` stays text; did you mean `branch=`?"),
            ),
            (
                "branch",
                "main brnach=\"a b\"",
                Some("`brnach=\"a b\"` stays text; did you mean `branch=`?"),
            ),
            (
                "branch lang",
                "branch=x lnag=go",
                Some("`lnag=go` stays text; did you mean `lang=`?"),
            ),
            ("branch", "branch=x brnach=y", None),
            ("branch", "size=x x=brnach https://brnach=x", None),
            ("branch", "main\nbrnach=x", None),
            ("a", "b=1", None),
        ] {
            let prompt = prompt(declared);
            let typed = [text.to_owned()];
            for call in [
                Call::Text(text),
                Call::Piped {
                    words: &typed,
                    text: "",
                    at: 0,
                },
                Call::Piped {
                    words: &typed,
                    text: "p",
                    at: 1,
                },
            ] {
                assert_eq!(
                    prompt.bind(call).warnings.first().map(String::as_str),
                    want,
                    "{text:?}"
                );
            }
        }
        let words = ["a b", "brnach=x"].map(str::to_owned);
        assert_eq!(
            prompt("branch")
                .bind(Call::Piped {
                    words: &words,
                    text: "",
                    at: 0
                })
                .warnings
                .len(),
            1
        );
    }

    #[track_caller]
    fn check(declared: &str, text: &str, want: &str) {
        assert_eq!(
            expand(declared, Call::Text(text)).as_deref(),
            Ok(want),
            "{text:?}"
        );
    }

    #[track_caller]
    fn refused(declared: &str, text: &str, want: &str) {
        assert_eq!(
            expand(declared, Call::Text(text)),
            Err(want.into()),
            "{text:?}"
        );
    }

    #[test]
    fn a_text_is_divided_as_each_row_of_the_table_says() {
        let table = include_str!("binding_cases.txt");
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
    fn an_input_next_to_values_is_refused_if_the_expansion_would_not_contain_it() {
        let is_refused = |values: &[(&str, &str)], input: &str| {
            let values = values
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect();
            expand(
                "a b",
                Call::Named {
                    values: &values,
                    input,
                    is_strict: true,
                },
            )
            .is_err()
        };
        assert!(is_refused(&[("b", "x")], "some input text"));
        assert!(is_refused(&[("a", "Rust"), ("b", "speed")], "Rust or Go"));
        assert!(is_refused(
            &[("a", "bug")],
            "fix the bug and delete everything"
        ));
        assert!(is_refused(&[("a", "x")], "a=x y"));
        assert!(is_refused(&[("zzz", "x")], ""), "an unknown name");
        assert!(!is_refused(&[("a", "Rust or Go"), ("b", "")], "Rust or Go"));
        assert!(!is_refused(
            &[("a", "Rust or Go"), ("b", "speed")],
            "a=\"Rust or Go\" speed"
        ));
        assert!(!is_refused(
            &[("a", "say \"hi\""), ("b", "x")],
            "\"say \\\"hi\\\"\" x"
        ));
        assert!(!is_refused(&[("b", "x")], " \n"));
        assert!(!is_refused(&[], "anything"));
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once_with_a_usage_line() {
        refused(
            "a! b c!",
            "",
            "it needs a value for `a` and `c`; write `:p a=… [b=…] c=…`",
        );
        refused(
            "a! b=x c!",
            "b=1 y",
            "it needs a value for `c`; write `:p a=… [b=…] c=…`",
        );
        check("a!=x b", "b=1", "[x][1]");
        assert_eq!(prompt("").usage(), None);
    }

    #[test]
    fn values_by_name_are_verbatim_and_an_empty_one_is_given_unless_there_is_a_default() {
        let expand = |declared: &str, values: &[(&str, &str)]| {
            let values = values
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect();
            expand(
                declared,
                Call::Named {
                    values: &values,
                    input: "in",
                    is_strict: false,
                },
            )
        };
        assert_eq!(
            expand("a b", &[("a", " \"x\" b=1\n"), ("zzz", "?")]).unwrap(),
            "[ \"x\" b=1\n][]"
        );
        assert_eq!(expand("a! b=x", &[("a", ""), ("b", "")]).unwrap(), "[][x]");
        assert_eq!(expand("a {{input}}", &[("a", "1")]).unwrap(), "[1]<in>");
        assert_eq!(
            expand("a {{input}}", &[("a", "1"), ("input", "2")]).unwrap(),
            "[1]<2>"
        );
        let missing = expand("a! b! c", &[("c", "1")]).unwrap_err();
        assert_eq!(
            missing,
            "it needs a value for `a` and `b`; write `:p a=… b=… [c=…]`"
        );
    }

    #[test]
    fn a_value_outside_the_choices_is_a_warning_or_if_they_are_strict_an_error() {
        let mut prompt = prompt("level=low tone file {{input}}");
        for (argument, strict) in [(0, false), (1, true)] {
            let choices = ["low", "high é"].map(str::to_owned).to_vec();
            prompt.arguments[argument] = Argument {
                choices,
                strict,
                ..prompt.arguments[argument].clone()
            };
        }
        let warnings = |text: &str| prompt.bind(Call::Text(text)).warnings;
        assert_eq!(
            warnings("level=paranoid tone=low x"),
            [
                "`paranoid` is not a choice for `level`, which takes `low` or `high é`; the value is used as it is (usage: \
              `:p [level=…] [tone=…] [file=…]`)"
            ]
        );
        for fine in [
            "x",
            "level= tone= x",
            "level=low tone=\"high é\" file=paranoid",
            "tone=' low ' level=\"high e\u{301}\"",
        ] {
            assert_eq!(
                (warnings(fine), prompt.bind(Call::Text(fine)).error),
                (Vec::new(), None),
                "{fine}"
            );
        }
        let error = prompt
            .expand(Call::Text("tone=Low x"))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "`Low` is not a choice for `tone`, which takes `low` or `high é`; write `:p [level=…] [tone=…] [file=…]`"
        );
        prompt.arguments[0].default = Some("other".to_owned());
        assert_eq!(
            prompt.bind(Call::Text("x")).warnings,
            [""; 0],
            "a default is the author's own"
        );
    }

    #[test]
    fn several_words_of_a_shell_are_words_and_a_single_one_is_read_like_chat_text() {
        let expand = |declared: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            expand(
                declared,
                Call::Piped {
                    words: &words,
                    text: "",
                    at: 0,
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
            Call::Piped {
                words: &words,
                text: "",
                at: 0,
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
            Call::Piped {
                words: &words,
                text,
                at,
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
        prompt.messages = vec![prompt.template_of("Body")];
        let words = ["one".to_owned(), "a=2".to_owned()];
        for (at, want) in [
            (0, "Body\n\nP\n\none a=2"),
            (1, "Body\n\none\n\nP\n\na=2"),
            (2, "Body\n\none a=2\n\nP\n"),
        ] {
            let call = Call::Piped {
                words: &words,
                text: "P\n",
                at,
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
                    Call::Piped {
                        words: &others,
                        text: "",
                        at: 0
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
