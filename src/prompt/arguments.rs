//! The values of the declared arguments: from the one input of a call, or from values by name.
//!
//! One input is divided like this:
//! 1. `name=value` of a declared name gives that argument its value, wherever it begins a word. Text that goes on in
//!    further lines is never searched for pairs, so that what somebody pastes stays whole.
//! 2. All else goes by position: a word for each argument that has no value yet, and to the last of them everything
//!    that remains, as it stands.
//! 3. Quotes group words, as in a shell: `"Rust or Go"`, `'a "b" c'`, and `\"` and `\\` inside double quotes. A quote
//!    behind a letter or a digit (`it's`, `27"`), or one that is never closed, is text.
//! 4. Text for which no argument is left belongs to the pair before it (`notes=fixed the parser`), unless the body has
//!    an `{{input}}` for it, which stands for the whole input.
//!
//! A single argument takes the whole input, unless it begins with its `name=`.

use super::template::Values;
use super::{ExpandError, INPUT, Prompt};
use crate::suggestion::closest;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// How many arguments a prompt may declare.
pub const MAX_ARGUMENTS: usize = 100;

/// An input that a prompt declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// What stands in `{{name}}`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether a call must give it, unless it has a default.
    pub required: bool,
    /// What it is when a call does not give it, or gives an empty text.
    pub default: Option<String>,
    /// Values that a client may propose. Any other is as good.
    pub choices: Vec<String>,
}

impl Argument {
    /// Whether a call that does not give it is refused.
    pub fn is_needed(&self) -> bool {
        self.required && self.default.is_none()
    }
}

/// Where an argument has its value from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was given by name, beside the input or in its stead.
    Named,
    /// A pair `name=value` of the input.
    Pair,
    /// A word of the input, by its position.
    Word,
    /// All of the input that nothing before has taken.
    Rest,
    /// Its default.
    Default,
    /// It was not given, and has no default: an empty text.
    Nothing,
    /// The same, but it is needed, so that there is no expansion.
    Missing,
}

/// What an argument gets in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given<'v> {
    /// The argument's name.
    pub name: &'v str,
    /// Its text.
    pub value: Cow<'v, str>,
    /// Where that is from.
    pub origin: Origin,
}

/// What a call gives an argument, if it does.
type Part<'v> = Option<(Cow<'v, str>, Origin)>;

/// How to call a prompt that declares arguments: `:compare options=… [criteria=…]`.
pub(super) fn usage(prompt: &Prompt) -> Option<String> {
    let parts = prompt.arguments.iter().map(|argument| match argument.is_needed() {
        true => format!(" {}=…", argument.name),
        false => format!(" [{}=…]", argument.name),
    });
    (!prompt.arguments.is_empty()).then(|| format!(":{}{}", prompt.name, parts.collect::<String>()))
}

/// The names by which a call may give values: those of the declared arguments, and `input` where that has a place.
pub(super) fn value_names(declared: &[Argument], takes_input: bool) -> Vec<&str> {
    let takes_input = takes_input && declared.iter().all(|argument| argument.name != INPUT);
    declared.iter().map(|argument| argument.name.as_str()).chain(takes_input.then_some(INPUT)).collect()
}

/// Values from one input, divided as the module says.
///
/// # Errors
/// Arguments that are needed and not given; text that belongs to no argument, where no `{{input}}` takes it.
pub(super) fn from_input<'v>(prompt: &'v Prompt, input: &'v str) -> Result<Values<'v>, ExpandError> {
    let mut given = vec![None; prompt.arguments.len()];
    if let Some(text) = divide(prompt, input, &mut given) {
        return Err(ExpandError::Leftover { text: text.to_owned(), usage: usage(prompt).unwrap_or_default() });
    }
    fill(prompt, given, input)
}

/// What each declared argument gets of an input, missing ones included.
pub(super) fn given_by_input<'v>(prompt: &'v Prompt, input: &'v str) -> Vec<Given<'v>> {
    let mut given = vec![None; prompt.arguments.len()];
    divide(prompt, input, &mut given);
    settled(prompt, given).collect()
}

/// The same of values by name.
pub(super) fn given_by_name<'v>(prompt: &'v Prompt, values: &'v BTreeMap<String, String>) -> Vec<Given<'v>> {
    settled(prompt, named(prompt, values)).collect()
}

/// The same of words that [`from_words`] has divided.
pub(super) fn given_by_words(prompt: &Prompt, words: Divided) -> Vec<Given<'_>> {
    settled(prompt, parts(prompt, words)).collect()
}

/// Values by name. Names that are not declared are ignored, but for `input`, which is used in the input's stead.
///
/// # Errors
/// Arguments that are needed and not given.
pub(super) fn from_values<'v>(
    prompt: &'v Prompt,
    values: &'v BTreeMap<String, String>,
    input: &'v str,
) -> Result<Values<'v>, ExpandError> {
    fill(prompt, named(prompt, values), values.get(INPUT).map_or(input, String::as_str))
}

fn named<'v>(prompt: &Prompt, values: &'v BTreeMap<String, String>) -> Vec<Part<'v>> {
    let value = |argument: &Argument| Some((Cow::Borrowed(values.get(&argument.name)?.as_str()), Origin::Named));
    prompt.arguments.iter().map(value).collect()
}

/// Values from words that [`from_words`] has divided; `input` is all of them, joined.
///
/// # Errors
/// Arguments that are needed and not given.
pub(super) fn from_divided<'v>(prompt: &'v Prompt, words: Divided, input: &'v str) -> Result<Values<'v>, ExpandError> {
    fill(prompt, parts(prompt, words), input)
}

fn parts<'v>(prompt: &Prompt, mut words: Divided) -> Vec<Part<'v>> {
    let mut part = |argument: &Argument| words.remove(&argument.name).map(|(value, origin)| (value.into(), origin));
    prompt.arguments.iter().map(&mut part).collect()
}

/// Refuses values that [`from_values`] would ignore.
///
/// # Errors
/// A value has a name that the prompt does not have.
pub(super) fn refuse_unknown(prompt: &Prompt, values: &BTreeMap<String, String>) -> Result<(), ExpandError> {
    if values.is_empty() {
        return Ok(());
    }
    let known = prompt.value_names();
    let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let closest = closest(name, known.iter().copied()).map(str::to_owned);
    let known = known.into_iter().map(str::to_owned).collect();
    Err(ExpandError::Unknown { name: name.clone(), closest, known })
}

/// Refuses an input that would be left out beside values by name. A caller that passes on the whole text, and by name
/// the parts of it, loses nothing.
///
/// # Errors
/// The input has no place in the body, and it has words that none of the values has.
pub(super) fn refuse_lost(prompt: &Prompt, values: &BTreeMap<String, String>, input: &str) -> Result<(), ExpandError> {
    if values.is_empty() || (prompt.takes_input() && !values.contains_key(INPUT)) {
        return Ok(());
    }
    let given: HashSet<&str> = values.values().flat_map(|value| value.split_whitespace()).map(without_quotes).collect();
    let is_given = |word: &str| {
        let value = pair_at(&prompt.arguments, word).map_or(word, |(_, length)| &word[length..]);
        [word, value].map(without_quotes).iter().any(|word| word.is_empty() || given.contains(word))
    };
    if input.split_whitespace().all(is_given) { Ok(()) } else { Err(ExpandError::Lost { text: input.to_owned() }) }
}

/// A word without the signs that group words.
fn without_quotes(word: &str) -> &str {
    word.trim_matches(['"', '\'', '\\'])
}

/// Defaults for what is not given.
fn fill<'v>(prompt: &'v Prompt, given: Vec<Part<'v>>, input: &'v str) -> Result<Values<'v>, ExpandError> {
    let mut missing = Vec::new();
    let mut arguments = Vec::with_capacity(given.len());
    for Given { name, value, origin } in settled(prompt, given) {
        if origin == Origin::Missing {
            missing.push(name.to_owned());
        }
        arguments.push((name, value));
    }
    if missing.is_empty() {
        Ok(Values { input, arguments })
    } else {
        Err(ExpandError::Missing { names: missing, usage: usage(prompt).unwrap_or_default() })
    }
}

fn settled<'v>(prompt: &'v Prompt, given: Vec<Part<'v>>) -> impl Iterator<Item = Given<'v>> {
    prompt.arguments.iter().zip(given).map(|(argument, given)| {
        let default = argument.default.as_deref().map(|default| (Cow::Borrowed(default), Origin::Default));
        let none = if argument.is_needed() { Origin::Missing } else { Origin::Nothing };
        let given = given.filter(|(value, _)| !value.is_empty() || default.is_none());
        let (value, origin) = given.or(default).unwrap_or((Cow::Borrowed(""), none));
        Given { name: &argument.name, value, origin }
    })
}

/// Words by the names of the arguments that they were given to.
pub(super) type Divided = BTreeMap<String, (String, Origin)>;

/// What a shell has split into words already, by name, as [`divide`] would: each word is one, whatever it holds. `None`
/// where the input, all words joined, is to be divided: for a single argument without a pair, and for words that have
/// no place.
pub(super) fn from_words(prompt: &Prompt, words: &[String]) -> Option<Divided> {
    let arguments = &prompt.arguments;
    let mut values = Divided::new();
    // Each word that is in no pair, and the argument of the pair before it.
    let mut rest: Vec<(Option<&Argument>, &str)> = Vec::new();
    let mut pair_before = None;
    for word in words {
        match pair_at(arguments, word).filter(|(argument, _)| !values.contains_key(&argument.name)) {
            Some((argument, length)) if arguments.len() > 1 || rest.is_empty() => {
                values.insert(argument.name.clone(), (word[length..].to_owned(), Origin::Pair));
                pair_before = Some(argument);
            }
            _ => rest.push((pair_before, word)),
        }
    }
    let open: Vec<&Argument> = arguments.iter().filter(|argument| !values.contains_key(&argument.name)).collect();
    let Some((last, first)) = open.split_last() else {
        for (pair, word) in rest.iter().filter(|_| !prompt.takes_input()) {
            let (value, _) = values.get_mut(&(*pair)?.name)?;
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(word);
        }
        return (!arguments.is_empty()).then_some(values);
    };
    if arguments.len() == 1 {
        return None;
    }
    let mut rest = rest.into_iter().map(|(_, word)| word);
    for (argument, word) in first.iter().zip(&mut rest) {
        values.insert(argument.name.clone(), (word.to_owned(), Origin::Word));
    }
    let rest: Vec<&str> = rest.collect();
    if !rest.is_empty() {
        values.insert(last.name.clone(), (rest.join(" "), Origin::Rest));
    }
    Some(values)
}

/// A `name=value` of the input.
struct Pair {
    /// The index of the argument.
    argument: usize,
    /// Where the word stands.
    range: Range<usize>,
    /// Where its value begins.
    value: usize,
}

/// Gives the arguments the parts of `input`; the result is text that has no place.
fn divide<'v>(prompt: &Prompt, input: &'v str, given: &mut [Part<'v>]) -> Option<&'v str> {
    let pairs = match prompt.arguments.as_slice() {
        [] => return None,
        [_] if pair_at(&prompt.arguments, input.trim_start()).is_none() => Vec::new(),
        arguments => pairs(arguments, input),
    };
    for pair in &pairs {
        given[pair.argument] = Some((unquoted(&input[pair.value..pair.range.end]), Origin::Pair));
    }
    let open: Vec<usize> = (0..given.len()).filter(|&argument| given[argument].is_none()).collect();
    match open.as_slice() {
        [] if prompt.takes_input() => None,
        [] => extend_pairs(&pairs, input, given),
        [first @ .., last] => {
            by_position(&pairs, input, first, *last, given);
            None
        }
    }
}

/// What stands before the first pair, between two, and behind the last.
fn gaps(pairs: &[Pair], input: &str) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(pairs.iter().map(|pair| pair.range.end));
    let ends = pairs.iter().map(|pair| pair.range.start).chain([input.len()]);
    starts.zip(ends).map(|(start, end)| start..end)
}

/// Gives text for which no argument is left to the pair before it; the result is text before the first pair.
fn extend_pairs<'v>(pairs: &[Pair], input: &'v str, given: &mut [Part<'v>]) -> Option<&'v str> {
    let mut leftover = None;
    for (index, gap) in gaps(pairs, input).enumerate() {
        let text = input[gap.clone()].trim();
        if text.is_empty() {
            continue;
        }
        match index.checked_sub(1).map(|before| &pairs[before]) {
            Some(pair) => {
                given[pair.argument] = Some((Cow::Borrowed(input[pair.value..gap.end].trim()), Origin::Pair));
            }
            None => leftover = Some(text),
        }
    }
    leftover
}

/// Gives a word that is in no pair to each of the `first` arguments, and all other such text to the `last`.
fn by_position<'v>(pairs: &[Pair], input: &'v str, first: &[usize], last: usize, given: &mut [Part<'v>]) {
    let mut first = first.iter();
    let mut rest: Option<Cow<'v, str>> = None;
    for Range { start, end } in gaps(pairs, input) {
        // The whole input is taken as it stands, and so is its end; the spaces before a pair belong to the pair.
        let text = if end < input.len() { input[start..end].trim_end() } else { &input[start..] };
        let mut text = if start > 0 { after_space(text) } else { text };
        while !text.trim().is_empty() && rest.is_none() {
            let Some(&argument) = first.next() else { break };
            let (word, after) = {
                let text = text.trim_start();
                text.split_at(word_end(text, 0, &mut Quotes::default()))
            };
            given[argument] = Some((unquoted(word), Origin::Word));
            text = after_space(after);
        }
        if !text.trim().is_empty() {
            rest = Some(match rest {
                // In place of the pair: the line ends that followed it, or one space.
                Some(before) => {
                    let gap = &input[start..end];
                    let space = &gap[..gap.len() - gap.trim_start().len()];
                    let between = space.rfind('\n').map_or(" ", |newline| &space[..=newline]);
                    Cow::Owned(format!("{before}{between}{text}"))
                }
                None => Cow::Borrowed(text),
            });
        }
    }
    given[last] = rest.map(|rest| (rest, Origin::Rest));
}

/// A text without the spaces and blank lines that it begins with. Its first line keeps its indentation.
fn after_space(text: &str) -> &str {
    let trimmed = text.trim_start();
    let space = &text[..text.len() - trimmed.len()];
    space.rfind('\n').map_or(trimmed, |newline| &text[newline + 1..])
}

/// The pairs of an input, the first for each argument.
fn pairs(arguments: &[Argument], input: &str) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    if !input.contains('=') {
        return pairs;
    }
    let mut quotes = Quotes::default();
    let mut in_text = false;
    let mut end = 0;
    while let Some(space) = input[end..].find(|letter: char| !letter.is_whitespace()) {
        let start = end + space;
        if in_text && input[end..start].contains('\n') {
            break; // what goes on in further lines is text
        }
        let pair = pair_at(arguments, &input[start..]);
        let argument = pair.and_then(|(pair, _)| arguments.iter().position(|argument| argument.name == pair.name));
        let argument = argument.filter(|argument| pairs.iter().all(|earlier| earlier.argument != *argument));
        let value = start + pair.map_or(0, |(_, length)| length);
        end = word_end(input, value, &mut quotes);
        match argument {
            Some(argument) => pairs.push(Pair { argument, range: start..end, value }),
            None => in_text = true,
        }
    }
    pairs
}

/// The argument that `text` begins with as `name=`, and the length of that.
fn pair_at<'a>(arguments: &'a [Argument], text: &str) -> Option<(&'a Argument, usize)> {
    let is_pair = |argument: &&Argument| text.strip_prefix(&argument.name).is_some_and(|rest| rest.starts_with('='));
    arguments.iter().find(is_pair).map(|argument| (argument, argument.name.len() + 1))
}

/// Which quotes close nowhere in the rest of the text, so that they need not be looked for again.
#[derive(Default)]
struct Quotes {
    unclosed: [bool; 2],
}

impl Quotes {
    /// The byte of the quote that closes the one at `open`.
    fn closing(&mut self, text: &str, open: usize) -> Option<usize> {
        let quote = text.as_bytes()[open];
        let unclosed = &mut self.unclosed[usize::from(quote == b'"')];
        if *unclosed || behind_a_letter(text, open) {
            return None;
        }
        let mut at = open + 1;
        while let Some(found) = memchr::memchr2(quote, b'\\', &text.as_bytes()[at..]) {
            let found = at + found;
            at = found + 1;
            if text.as_bytes()[found] == b'\\' {
                // An escape is two bytes; in single quotes there is none.
                at += usize::from(quote == b'"' && is_escape(&text[found..]));
            } else if quote == b'"' || !(behind_a_letter(text, found) && before_a_letter(text, found)) {
                return Some(found);
            }
        }
        *unclosed = true;
        None
    }
}

fn is_escape(text: &str) -> bool {
    text.starts_with("\\\"") || text.starts_with("\\\\")
}

fn behind_a_letter(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
}

fn before_a_letter(text: &str, at: usize) -> bool {
    text[at + 1..].chars().next().is_some_and(char::is_alphanumeric)
}

/// Where the word ends that begins at `start`, or goes on there.
fn word_end(text: &str, start: usize, quotes: &mut Quotes) -> usize {
    let mut at = start;
    while let Some(letter) = text[at..].chars().next().filter(|letter| !letter.is_whitespace()) {
        let closing = if matches!(letter, '"' | '\'') { quotes.closing(text, at) } else { None };
        at = closing.map_or(at + letter.len_utf8(), |closing| closing + 1);
    }
    at
}

/// A word without the quotes that group it.
fn unquoted(word: &str) -> Cow<'_, str> {
    if !word.contains(['"', '\'']) {
        return Cow::Borrowed(word);
    }
    let mut quotes = Quotes::default();
    let mut text = String::with_capacity(word.len());
    let mut at = 0;
    while let Some(letter) = word[at..].chars().next() {
        let closing = if matches!(letter, '"' | '\'') { quotes.closing(word, at) } else { None };
        let Some(closing) = closing else {
            text.push(letter);
            at += letter.len_utf8();
            continue;
        };
        let mut inside = &word[at + 1..closing];
        while let Some(escape) = inside.find('\\').filter(|_| letter == '"') {
            let dropped = usize::from(is_escape(&inside[escape..]));
            text.push_str(&inside[..escape]);
            text.push_str(&inside[escape + dropped..][..1]);
            inside = &inside[escape + dropped + 1..];
        }
        text.push_str(inside);
        at = closing + 1;
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A prompt with these arguments: `a!` is required, `b=x` has the default `x`. It shows what each got.
    fn prompt(arguments: &str) -> Prompt {
        let mut prompt = Prompt::parse("p", b"").unwrap();
        prompt.arguments = arguments
            .split_whitespace()
            .map(|argument| {
                let (name, default) = argument.split_once('=').map_or((argument, None), |(name, x)| (name, Some(x)));
                let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
                Argument { name: name.into(), required, default: default.map(str::to_owned), ..Argument::default() }
            })
            .collect();
        let names: Vec<&str> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let body = names.iter().map(|name| format!("[{{{{{name}}}}}]")).collect::<String>();
        prompt.template = crate::prompt::Template::parse(body, names);
        prompt
    }

    #[track_caller]
    fn check(arguments: &str, input: &str, want: &str) {
        assert_eq!(prompt(arguments).expand(input).as_deref(), Ok(want), "{input:?}");
    }

    #[track_caller]
    fn refused(arguments: &str, input: &str, want: &str) {
        assert_eq!(prompt(arguments).expand(input).map_err(|error| error.to_string()), Err(want.into()), "{input:?}");
    }

    #[test]
    fn a_single_argument_takes_the_whole_input_verbatim() {
        for input in ["solar cells", "  \"a\" 'b'\n c \n", "x=1 it's \\\" fine", "27\" \"", "日本 語"] {
            check("topic", input, &format!("[{input}]"));
        }
        for input in ["see topic=old stuff", "let topic=5;", "\ntopic = x", "topics=x"] {
            check("topic", input, &format!("[{input}]"));
        }
        check("topic", " topic=\"a b\"", "[a b]");
        check("topic=all", "", "[all]");
        check("topic=all", " \n", "[all]");
        check("topic", "", "[]");
    }

    #[test]
    fn words_go_by_position_and_the_last_argument_takes_the_rest_verbatim() {
        check("a b", "one two", "[one][two]");
        check("a b", " one   two  three \n four\t\n", "[one][two  three \n four\t\n]");
        check("a b c", "one two", "[one][two][]");
        check("a b=x c=y", "one", "[one][x][y]");
        check("a b", "one \"two\" 'three'", "[one][\"two\" 'three']");
        check("a b", "一\u{3000}二 三", "[一][二 三]");
    }

    #[test]
    fn quotes_group_words() {
        check("a b", "\"Rust or Go\" speed", "[Rust or Go][speed]");
        check("a b", "'Rust or \"Go\"' speed", "[Rust or \"Go\"][speed]");
        check("a b", "\"a \\\"b\\\" \\\\ \\n\" c", "[a \"b\" \\ \\n][c]");
        check("a b", "'a\\' c", "[a\\][c]");
        check("a b", "x\"y z\" c", "[x\"y][z\" c]");
        check("a b", "--x=\"y z\"'!' c", "[--x=y z!][c]");
        check("a b", "\"\" c", "[][c]");
        check("a b", "\"one\ntwo\" c", "[one\ntwo][c]");
        check("a b", "\"日本 語\" c", "[日本 語][c]");
    }

    #[test]
    fn an_apostrophe_inside_a_word_and_a_quote_that_is_never_closed_are_text() {
        check("a b", "it's fine", "[it's][fine]");
        check("a b", "dogs' tails aren't long", "[dogs'][tails aren't long]");
        check("a b", "'don't stop' now", "[don't stop][now]");
        check("a b", "27\" or 24\" screens", "[27\"][or 24\" screens]");
        check("a b", "5'10\" tall", "[5'10\"][tall]");
        check("a b", "\"never closed", "[\"never][closed]");
        check("a b", "'never closed", "['never][closed]");
        check("a b", "\"ends in \\\" one", "[\"ends][in \\\" one]");
    }

    #[test]
    fn pairs_go_by_declared_name_wherever_they_begin_a_word() {
        check("a b", "b=two a=one", "[one][two]");
        check("a b", "b=two one and more", "[one and more][two]");
        check("a b", "one and more b=two", "[one and more][two]");
        check("a b", "one b=two and more", "[one and more][two]");
        check("a b c", "b=2 one  three and\nmore", "[one][2][three and\nmore]");
        check("a b", "a=\"Rust or Go\" b='x y'", "[Rust or Go][x y]");
        check("a b", "a=\"Rust or Go\"\n  b=x", "[Rust or Go][x]");
        check("a ab", "ab=1 a=2", "[2][1]");
        check("größe b", "größe=10 x", "[10][x]");
        check("a b=x", "a= b=", "[][x]");
        check("a b", "b== c", "[c][=]");
    }

    #[test]
    fn line_ends_and_indentation_around_a_pair_or_a_word_stay() {
        check("a b", "fix this a=high\n\n- item 1\n- item 2", "[high][fix this\n\n- item 1\n- item 2]");
        check("a b", "fix it a=x\n\n    indented code\n", "[x][fix it\n\n    indented code\n]");
        check("a b", "a=x\n\n    indented code\n  more", "[x][    indented code\n  more]");
        check("a b", "main.rs\n    indented code", "[main.rs][    indented code]");
        check("a b", "one  a=x  two", "[x][one two]");
        check("a b", "a= x b=y", "[x][y]");
    }

    #[test]
    fn an_input_beside_values_is_refused_where_it_would_be_lost() {
        let lost = |values: &[(&str, &str)], input: &str| {
            let values = values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            prompt("a b").refuse_lost(&values, input).is_err()
        };
        assert!(lost(&[("b", "x")], "some input text"));
        assert!(lost(&[("a", "Rust"), ("b", "speed")], "Rust or Go"));
        assert!(lost(&[("a", "bug")], "fix the bug and delete everything"));
        assert!(lost(&[("a", "x")], "a=x y"));
        assert!(!lost(&[("a", "Rust or Go"), ("b", "")], "Rust or Go"));
        assert!(!lost(&[("a", "Rust or Go"), ("b", "speed")], "a=\"Rust or Go\" speed"));
        assert!(!lost(&[("a", "say \"hi\""), ("b", "x")], "\"say \\\"hi\\\"\" x"));
        assert!(!lost(&[("b", "x")], " \n"));
        assert!(!lost(&[], "anything"));
    }

    #[test]
    fn text_that_only_looks_like_a_pair_is_text() {
        check("a b", "x=1 y=2 z", "[x=1][y=2 z]");
        check("a b", "A=1 foo(b=2)", "[A=1][foo(b=2)]");
        check("a b", "\"b=two\" three", "[b=two][three]");
        check("a b", "b=1 b=2", "[b=2][1]");
        check("a b", "a = 1", "[a][= 1]");
    }

    #[test]
    fn text_in_further_lines_is_never_searched_for_pairs() {
        check("a b", "main.rs fix this:\na=1\nb=2\n", "[main.rs][fix this:\na=1\nb=2\n]");
        check("a b", "b=x main.rs\na=1", "[main.rs\na=1][x]");
    }

    #[test]
    fn text_for_which_no_argument_is_left_belongs_to_the_pair_before_it() {
        check("notes", "notes=fixed the  parser\n", "[fixed the  parser]");
        check("a b", "a=Rust or Go b=speed, \"safety\"", "[Rust or Go][speed, \"safety\"]");
        check("a b", "a=\"x y\" z b=1", "[\"x y\" z][1]");
        refused(
            "a b!",
            "please do a=1 b=2",
            "each of its arguments has a value, and `please do` belongs to none; write `:p [a=…] b=…`, with quotes around \
             a value of several words",
        );
        let mut takes_input = prompt("a b");
        takes_input.template = crate::prompt::Template::parse("{{input}}|{{a}}|{{b}}", ["a", "b"]);
        assert_eq!(takes_input.expand("please a=1 b=2 now").unwrap(), "please a=1 b=2 now|1|2");
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once_with_a_usage_line() {
        refused("a! b c!", "", "it needs a text for `a` and `c`; write `:p a=… [b=…] c=…`");
        refused("a! b=x c!", "b=1 y", "it needs a text for `c`; write `:p a=… [b=…] c=…`");
        check("a!=x b", "b=1", "[x][1]");
        assert_eq!(prompt("").usage(), None);
    }

    #[test]
    fn values_by_name_are_verbatim_and_an_empty_one_is_given_where_there_is_no_default() {
        let values = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let expand = |arguments: &str, given: &[(&str, &str)]| prompt(arguments).expand_values(&values(given), "");
        assert_eq!(expand("a b", &[("a", " \"x\" b=1\n"), ("zzz", "?")]).unwrap(), "[ \"x\" b=1\n][]");
        assert_eq!(expand("a! b=x", &[("a", ""), ("b", "")]).unwrap(), "[][x]");
        let missing = expand("a! b! c", &[("c", "1")]).unwrap_err();
        assert!(matches!(missing, ExpandError::Missing { names, .. } if names == ["a", "b"]));
    }

    #[test]
    fn words_of_a_shell_are_words_whatever_they_hold() {
        let expand = |arguments: &str, words: &[&str]| {
            prompt(arguments).expand_words(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(expand("a b", &["Rust or Go", "speed", "and safety"]), "[Rust or Go][speed and safety]");
        assert_eq!(expand("a b", &["a=Rust or Go", "say \"hi\""]), "[Rust or Go][say \"hi\"]");
        assert_eq!(expand("a b", &["b=x y", "a=1", "z"]), "[1 z][x y]");
        assert_eq!(expand("a b=x", &["one"]), "[one][x]");
        assert_eq!(expand("a", &["\"one", "two\""]), "[\"one two\"]");
        assert_eq!(expand("a", &["a='one'", "a=two"]), "['one' a=two]");
        assert_eq!(expand("a", &["one", "a=two"]), "[one a=two]");
        assert_eq!(expand("a", &["a=", "foo"]), "[foo]");
        assert_eq!(expand("a b", &["a=x b=9", "b=1", "extra"]), "[x b=9][1 extra]");
    }

    #[test]
    fn a_long_text_full_of_quotes_is_divided_in_linear_time() {
        for text in [" '", " \"", "'a ", "\"\\", " a='", "a'b\" "] {
            let input = text.repeat(200_000);
            let expanded = prompt("a b c").expand(&input).unwrap();
            assert!(expanded.len() <= input.len() + 6);
        }
    }

    proptest! {
        #[test]
        fn nothing_but_quotes_spaces_and_names_is_lost(
            words in prop::collection::vec("[a-cx=\"'\\\\ \n]{0,6}", 0..8),
        ) {
            let input = words.join(" ");
            let Ok(expanded) = prompt("a b c").expand(&input) else { return Ok(()) };
            let letters = |text: &str| {
                let mut letters: Vec<char> = text.chars().filter(|letter| letter.is_alphabetic()).collect();
                letters.sort();
                letters
            };
            let (mut before, after) = (letters(&input), letters(&expanded));
            // At most the names of three pairs.
            for letter in &after {
                let at = before.iter().position(|known| known == letter);
                prop_assert!(at.is_some(), "{} is new in {}", letter, expanded);
                before.remove(at.unwrap());
            }
            before.dedup();
            prop_assert!(before.len() <= 3 && !before.contains(&'x'), "{:?} lost {:?}: {}", input, before, expanded);
        }

        #[test]
        fn a_value_in_quotes_is_the_value(value in ".*", other in "[a-z]{1,5}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            check("a b", &format!("\"{quoted}\" {other}"), &format!("[{value}][{other}]"));
            check("a b", &format!("b={other} a=\"{quoted}\""), &format!("[{value}][{other}]"));
        }
    }
}
