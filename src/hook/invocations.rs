//! Finds the prompts that a message invokes, and the input of each.
//!
//! A *command* is at the start of a line: a colon (`:` or the full-width `：`) and the name of a
//! prompt, up to the next space. The message's first line may be indented by up to three spaces;
//! any other indented line is code, a list or a quotation. Invisible characters around the colon,
//! which come with text that was pasted, are ignored. A command's input is everything after
//! it, up to the next line that starts with a command. Consecutive commands at the start of a line
//! are a *stack*, and all get the same input. A name anywhere else in prose is a *mention*, which
//! has no input.
//!
//! An agent's own menu has another sign, `$` or `/`, which works like the colon wherever the agent
//! itself takes it for a call, but only before names that `prompt-expander sync` has written into
//! that menu. It also begins variables and paths, so a name in a sentence is recognized more
//! strictly: see [`MessageReader::may_be_entry`].
//!
//! The names of built-in prompts are common symbols in some programming languages, so they are
//! recognized more strictly: see [`looks_like_code`].

use super::prose::{
    Lines, OPENING, has_single_signed_word, is_invisible_filler, is_line_end, trim_invisible_start,
};
use crate::agents::{Agent, SignPlace};
use crate::prompt::COLONS;
use memchr::memchr3_iter;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The maximum number of names that are looked up for one message. A message with more is data, not
/// prose.
pub const MAX_LOOKUPS: usize = 100;

/// The maximum number of possible invocations that are examined in one message. Those of names that
/// are already known to be no prompts don't count.
const MAX_CANDIDATES: usize = 1_000;

/// Punctuation that may follow a name but is not part of it.
const PUNCTUATION: [char; 12] = [
    '.', ',', ';', '!', '?', '。', '、', '．', '，', '；', '！', '？',
];

/// The closing brackets that may follow a mention.
const CLOSING: [char; 9] = [')', ']', '}', '）', '］', '｝', '」', '』', '】'];

/// The maximum length of the name in a mention, in bytes.
const MAX_MENTION_LENGTH: usize = 1024;

/// The maximum number of names that are tried for one mention: the shortest ones, longest first.
const MAX_MENTION_NAMES: usize = 8;

/// The maximum width of a command's indentation, in characters.
const MAX_INDENTATION: usize = 3;

/// The maximum length of what may precede a command on its line, in bytes: its indentation and
/// invisible characters.
const MAX_INDENTATION_BYTES: usize = 64;

/// How a message invokes a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvocationForm {
    /// At the start of a line.
    Command,
    /// After another command at the start of a line.
    Stacked,
    /// Anywhere else.
    Mention,
}

/// A prompt that a message invokes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation<'t, T> {
    /// How the message invokes it.
    pub form: InvocationForm,
    /// What precedes the name: `:`, also for a full-width colon, or the sign of the agent's menu.
    pub sign: char,
    /// The name as typed, without the sign.
    pub name: &'t str,
    /// The input of a command; empty for a mention.
    pub input: &'t str,
    /// The byte range of the invocation. A mention is only the sign and the name. A command
    /// extends from the start of its line to the end of its input, and shares that range with the
    /// other commands of its stack.
    pub range: Range<usize>,
    /// The prompt that was found for the name.
    pub found: T,
}

/// The result of [`find_invocations`].
pub(super) struct Invoked<'t, T> {
    /// The invocations, in the order of the message.
    pub(super) invocations: Vec<Invocation<'t, T>>,
    /// The name of a command at the start of the message for which there is no prompt.
    pub(super) unknown_command: Option<&'t str>,
}

/// Which invocations to find, besides commands with a colon.
#[derive(Clone, Copy)]
pub(super) struct Grammar {
    /// Whether to find mentions and stacks.
    pub(super) expands_mentions: bool,
    /// The agent whose menu has another sign that can precede a name.
    pub(super) agent: Option<&'static Agent>,
}

/// A name in a message that may be that of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TypedName<'t> {
    /// See [`Invocation::sign`].
    pub(super) sign: char,
    pub(super) name: &'t str,
    pub(super) is_mention: bool,
}

/// Finds the prompts that a message invokes.
///
/// `look_up` returns the prompt with a name. A prompt for which `is_builtin` returns true is
/// ignored where its name looks like a symbol in code.
pub(super) fn find_invocations<'t, T: Clone>(
    text: &'t str,
    grammar: Grammar,
    look_up: impl FnMut(TypedName<'t>) -> Option<T>,
    is_builtin: fn(&T) -> bool,
) -> Invoked<'t, T> {
    let mut reader = MessageReader {
        text,
        grammar,
        lines: Lines::new(text),
        names: NameCache {
            agent: grammar.agent,
            look_up,
            results: HashMap::new(),
        },
        is_builtin,
        unknown_words: HashSet::new(),
        candidate_count: 0,
        stack_end: 0,
        has_single_signed_word: OnceCell::new(),
        invocations: Vec::new(),
        unknown_command: None,
    };
    let menu = grammar.agent.and_then(|agent| agent.menu.as_ref());
    let menu_sign = menu.map(|menu| menu.sign);
    for word in words_after_signs(text, menu_sign) {
        if reader.candidate_count == MAX_CANDIDATES {
            break;
        }
        reader.read_word(&word);
    }
    Invoked {
        invocations: with_inputs(text, reader.invocations),
        unknown_command: reader.unknown_command,
    }
}

/// A word after a colon or the sign of the agent's menu.
struct SignedWord<'t> {
    /// See [`Invocation::sign`].
    sign: char,
    /// The word without the sign, up to the next whitespace.
    text: &'t str,
    /// The byte offset of the sign in the message.
    sign_start: usize,
    /// The byte offset of `text` in the message.
    start: usize,
}

impl SignedWord<'_> {
    fn has_menu_sign(&self) -> bool {
        self.sign != ':'
    }
}

/// Where a possible invocation is in the message.
struct Candidate {
    form: InvocationForm,
    /// The start of [`Invocation::range`].
    range_start: usize,
    is_indented: bool,
}

/// An invocation whose input is not known yet.
struct RawInvocation<'t, T> {
    form: InvocationForm,
    /// See [`Invocation::sign`].
    sign: char,
    name: &'t str,
    /// The start of [`Invocation::range`].
    range_start: usize,
    /// The byte offset of the end of the name. Trailing punctuation belongs to a command
    /// (`:name,`), but not to a mention.
    name_end: usize,
    found: T,
}

impl<'t, T> RawInvocation<'t, T> {
    fn with_input(self, input: StackInput<'t>) -> Invocation<'t, T> {
        Invocation {
            form: self.form,
            sign: self.sign,
            name: self.name,
            input: input.text,
            range: self.range_start..input.end,
            found: self.found,
        }
    }
}

/// A name that was found at the start of a word, and its prompt.
struct MatchedName<'t, T> {
    name: &'t str,
    found: T,
}

/// The state while the words of a message are read in order.
struct MessageReader<'t, T, L> {
    text: &'t str,
    grammar: Grammar,
    lines: Lines<'t>,
    names: NameCache<'t, T, L>,
    is_builtin: fn(&T) -> bool,
    /// Words that don't start with the name of a prompt.
    unknown_words: HashSet<(char, &'t str, InvocationForm)>,
    /// How many candidates were examined, except for unknown words.
    candidate_count: usize,
    /// The end of the whitespace after the last invocation, on the same line. A command up to there
    /// is in the same stack.
    stack_end: usize,
    /// See [`has_single_signed_word`]. Found out when it is first needed.
    has_single_signed_word: OnceCell<bool>,
    /// The invocations before the current word.
    invocations: Vec<RawInvocation<'t, T>>,
    /// See [`Invoked::unknown_command`].
    unknown_command: Option<&'t str>,
}

impl<'t, T: Clone, L: FnMut(TypedName<'t>) -> Option<T>> MessageReader<'t, T, L> {
    /// Reads the next word, and adds it to the result if it is an invocation. The checks are
    /// ordered from cheap to expensive.
    fn read_word(&mut self, word: &SignedWord<'t>) {
        if word.text.is_empty() || self.is_in_last_invocation(word.sign_start) {
            return;
        }
        self.lines.advance(word.sign_start); // everything below depends on the current line
        let Some(candidate) = self.candidate_at(word) else {
            return;
        };
        if self.lines.is_fenced || self.is_unknown(word, candidate.form) {
            return;
        }
        self.candidate_count += 1;
        if word.has_menu_sign() && !self.may_be_entry(word, candidate.form) {
            return;
        }
        if candidate.form == InvocationForm::Mention && !self.lines.is_prose(word.sign_start) {
            return;
        }
        let Some(matched) = self.names.find_in_word(word, candidate.form) else {
            self.remember_unknown(word, candidate.form);
            return;
        };
        if !self.looks_like_symbol(word, &candidate, &matched) {
            self.add_invocation(word, &candidate, matched);
        }
    }

    /// Returns whether an earlier, equal word turned out to be unknown. Very long words are not
    /// remembered, because hashing them would cost as much as looking them up.
    fn is_unknown(&self, word: &SignedWord<'t>, form: InvocationForm) -> bool {
        let key = (word.sign, word.text, form);
        word.text.len() <= MAX_MENTION_LENGTH && self.unknown_words.contains(&key)
    }

    /// Remembers that a word is unknown. After a colon at the start of the message, the user may
    /// have misspelled it, so it becomes the [`Invoked::unknown_command`].
    fn remember_unknown(&mut self, word: &SignedWord<'t>, form: InvocationForm) {
        let is_command = form == InvocationForm::Command && !word.has_menu_sign();
        if is_command && self.lines.is_at_start_of_message {
            // The last name is the word without trailing punctuation.
            self.unknown_command = names_for_command(word.text).pop();
        }
        if word.text.len() <= MAX_MENTION_LENGTH {
            self.unknown_words.insert((word.sign, word.text, form));
        }
    }

    /// Returns whether a word with the menu's sign may be the name of an entry rather than a
    /// variable or a path.
    ///
    /// At the start of the message, it may be one. Elsewhere, the message must not contain any
    /// other word with the sign, and a mention must be in a line that is a sentence.
    fn may_be_entry(&self, word: &SignedWord<'t>, form: InvocationForm) -> bool {
        let is_stacked = form == InvocationForm::Stacked;
        let is_command = form == InvocationForm::Command;
        if is_stacked || (is_command && self.lines.is_at_start_of_message) {
            return true;
        }
        let has_single_signed_word = self
            .has_single_signed_word
            .get_or_init(|| has_single_signed_word(self.text, word.sign));
        let starts_with_letter = word.text.starts_with(char::is_alphabetic);
        *has_single_signed_word
            && starts_with_letter
            && (is_command || self.lines.is_menu_sentence(word.sign, word.sign_start))
    }

    /// Returns whether a byte offset is in the last invocation, e.g. that of the second colon in
    /// `:git:commit`.
    fn is_in_last_invocation(&self, offset: usize) -> bool {
        match self.invocations.last() {
            Some(last) => offset < last.name_end,
            None => false,
        }
    }

    /// Returns what an invocation at a word on the current line would be, or `None` if it would be
    /// none. It is the first of these that fits:
    ///
    /// - a command, at the start of the line;
    /// - stacked, right after another command;
    /// - a mention, anywhere else.
    fn candidate_at(&self, word: &SignedWord<'t>) -> Option<Candidate> {
        self.command_at(word)
            .or_else(|| self.stacked_at(word))
            .or_else(|| self.mention_at(word))
    }

    fn command_at(&self, word: &SignedWord<'t>) -> Option<Candidate> {
        if !self.may_begin_command(word) {
            return None;
        }
        let range_start = self.lines.start;
        let indentation = indentation_width(&self.text[range_start..word.sign_start])?;
        let max_indentation = if self.lines.is_at_start_of_message {
            MAX_INDENTATION
        } else {
            0
        };
        if indentation > max_indentation {
            return None;
        }
        Some(Candidate {
            form: InvocationForm::Command,
            range_start,
            is_indented: indentation > 0,
        })
    }

    fn stacked_at(&self, word: &SignedWord<'t>) -> Option<Candidate> {
        let last = self.invocations.last()?;
        let follows_command =
            last.form != InvocationForm::Mention && word.sign_start <= self.stack_end;
        if !self.grammar.expands_mentions || !follows_command {
            return None;
        }
        Some(Candidate {
            form: InvocationForm::Stacked,
            range_start: last.range_start,
            is_indented: false,
        })
    }

    fn mention_at(&self, word: &SignedWord<'t>) -> Option<Candidate> {
        let counts_only_at_start =
            word.has_menu_sign() && self.sign_place() == Some(SignPlace::StartOfMessage);
        if !self.grammar.expands_mentions || counts_only_at_start {
            return None;
        }
        Some(Candidate {
            form: InvocationForm::Mention,
            range_start: word.sign_start,
            is_indented: false,
        })
    }

    /// Returns whether the sign of a word counts at the start of the current line.
    fn may_begin_command(&self, word: &SignedWord<'t>) -> bool {
        !word.has_menu_sign()
            || self.lines.is_at_start_of_message
            || self.sign_place() == Some(SignPlace::EveryLine)
    }

    fn sign_place(&self) -> Option<SignPlace> {
        Some(self.grammar.agent?.menu.as_ref()?.sign_place)
    }

    /// Returns whether a name is probably a variable or, after a colon, a symbol in code. Only the
    /// names of built-in prompts are common symbols: the line is indented, or looks like code.
    fn looks_like_symbol(
        &self,
        word: &SignedWord<'t>,
        candidate: &Candidate,
        matched: &MatchedName<'t, T>,
    ) -> bool {
        let rest_of_line = self.lines.rest_from(word.start + matched.name.len());
        if word.has_menu_sign() {
            return follows_variable(rest_of_line);
        }
        let is_builtin = (self.is_builtin)(&matched.found);
        is_builtin && (candidate.is_indented || looks_like_code(rest_of_line))
    }

    /// Adds an invocation. Another command stacks on it only if nothing but spaces separates them.
    fn add_invocation(
        &mut self,
        word: &SignedWord<'t>,
        candidate: &Candidate,
        matched: MatchedName<'t, T>,
    ) {
        let length = match candidate.form {
            InvocationForm::Mention => matched.name.len(),
            InvocationForm::Command | InvocationForm::Stacked => word.text.len(),
        };
        let name_end = word.start + length;
        self.invocations.push(RawInvocation {
            form: candidate.form,
            sign: word.sign,
            name: matched.name,
            range_start: candidate.range_start,
            name_end,
            found: matched.found,
        });
        self.stack_end = skip_while(self.text, name_end, |character| {
            character.is_whitespace() && !is_line_end(character)
        });
    }
}

/// Looks up names, each of them once, and at most [`MAX_LOOKUPS`].
struct NameCache<'t, T, L> {
    agent: Option<&'static Agent>,
    look_up: L,
    /// The results of earlier lookups.
    results: HashMap<TypedName<'t>, Option<T>>,
}

impl<'t, T: Clone, L: FnMut(TypedName<'t>) -> Option<T>> NameCache<'t, T, L> {
    /// Finds the prompt whose name is at the start of a word. Tries the longest name first.
    fn find_in_word(
        &mut self,
        word: &SignedWord<'t>,
        form: InvocationForm,
    ) -> Option<MatchedName<'t, T>> {
        let names = match form {
            InvocationForm::Mention => names_for_mention(word.text),
            InvocationForm::Command | InvocationForm::Stacked => names_for_command(word.text),
        };
        for name in names {
            if word.has_menu_sign() && self.is_path(name) {
                continue; // needs no lookup
            }
            let found = self.get(TypedName {
                sign: word.sign,
                name,
                is_mention: form == InvocationForm::Mention,
            });
            if let Some(found) = found {
                return Some(MatchedName { name, found });
            }
        }
        None
    }

    /// Returns whether a name after the menu's sign is a path: no entry of ours has a slash.
    fn is_path(&self, name: &str) -> bool {
        let is_server_prompt = match self.agent {
            Some(agent) => agent.server_prompt(name).is_some(),
            None => false,
        };
        name.contains('/') && !is_server_prompt
    }

    /// Returns the prompt with a name. Once [`MAX_LOOKUPS`] names were looked up, further ones are
    /// not found.
    fn get(&mut self, name: TypedName<'t>) -> Option<T> {
        if let Some(result) = self.results.get(&name) {
            return result.clone();
        }
        if self.results.len() == MAX_LOOKUPS {
            return None;
        }
        let result = (self.look_up)(name);
        self.results.insert(name, result.clone());
        result
    }
}

/// Returns whether the text between a name and the end of its line makes the name a variable: an
/// operator is next, as in `$name = 1`, `$name += 1`, `$name | sort` and `$name;`. Dashes and dots
/// alone are no operators.
fn follows_variable(rest_of_line: &str) -> bool {
    if rest_of_line.starts_with(';') {
        return true;
    }
    let next_word = rest_of_line.split_whitespace().next().unwrap_or_default();
    let operator = next_word.trim_start_matches(['-', '.', ':', '!']);
    !operator.is_empty()
        && operator
            .chars()
            .all(|character| "=+*/%|&<>?^".contains(character))
}

/// Returns whether the text between a name and the end of its line looks like code, as in
/// `:test {:extra-paths ["t"]}` (Clojure), `:test #'equal` (Lisp), and `:debug => true` or `:test,`
/// (Ruby).
fn looks_like_code(rest_of_line: &str) -> bool {
    rest_of_line.contains("{:")
        || rest_of_line.contains("=>")
        || rest_of_line.contains("#'")
        || rest_of_line.trim_end().ends_with(',')
}

/// The input that all commands of a stack share.
#[derive(Clone, Copy)]
struct StackInput<'t> {
    text: &'t str,
    /// The byte offset of its end in the message.
    end: usize,
}

impl<'t> StackInput<'t> {
    /// Returns the input in a byte range of a message, from the end of the last name of a stack to
    /// the start of the next stack.
    fn in_range(message: &'t str, range: Range<usize>) -> StackInput<'t> {
        let input = message[range.clone()].trim_end();
        StackInput {
            text: trim_start_keep_indentation(input),
            end: range.start + input.len(),
        }
    }
}

/// Adds the input of each command, up to the next stack. A mention has none.
fn with_inputs<'t, T>(text: &'t str, raw: Vec<RawInvocation<'t, T>>) -> Vec<Invocation<'t, T>> {
    let mut invocations = Vec::new();
    // Go backwards, because the input of a stack ends where the next stack starts.
    let mut next_stack_start = text.len();
    let mut stack_input: Option<StackInput<'t>> = None;
    for raw_invocation in raw.into_iter().rev() {
        if raw_invocation.form == InvocationForm::Mention {
            let no_input = StackInput {
                text: "",
                end: raw_invocation.name_end,
            };
            invocations.push(raw_invocation.with_input(no_input));
            continue;
        }
        // The last command of a stack determines the input. The commands before it share it.
        let input = match stack_input {
            Some(input) => input,
            None => StackInput::in_range(text, raw_invocation.name_end..next_stack_start),
        };
        stack_input = Some(input);
        if raw_invocation.form == InvocationForm::Command {
            // This is the first command of the stack.
            next_stack_start = raw_invocation.range_start;
            stack_input = None;
        }
        invocations.push(raw_invocation.with_input(input));
    }
    invocations.reverse();
    invocations
}

/// Returns the words after colons and after the sign of a menu that may start an invocation, which
/// those in `10:30`, `note:` and `std::vec` don't. Words may overlap: `(:a(:b` contains `a(:b` and
/// `b`.
fn words_after_signs(text: &str, menu_sign: Option<char>) -> impl Iterator<Item = SignedWord<'_>> {
    // The end of the last word. Later signs in that word share it, so that each byte is read once.
    let mut word_end = 0;
    let ascii_sign = menu_sign.and_then(|sign| u8::try_from(sign).ok());
    // `：` starts with the byte 0xef, which no UTF-8 character contains elsewhere.
    let possible_signs = memchr3_iter(b':', 0xef, ascii_sign.unwrap_or(b':'), text.as_bytes());
    possible_signs.filter_map(move |sign_start| {
        let sign = sign_at(text, sign_start, menu_sign)?;
        let start = sign_start + sign.length;
        if start >= word_end {
            word_end = skip_while(text, start, |character| !character.is_whitespace());
        }
        Some(SignedWord {
            sign: sign.character,
            text: &text[start..word_end],
            sign_start,
            start,
        })
    })
}

/// A sign that may start an invocation.
struct Sign {
    /// See [`Invocation::sign`].
    character: char,
    /// The length of the sign and the invisible characters after it, in bytes.
    length: usize,
}

/// Returns the colon or the sign of a menu at a byte offset.
///
/// Returns `None` if another character is there, or if the sign can't start an invocation because
/// it doesn't follow whitespace or an opening bracket. Invisible characters before it are ignored.
fn sign_at(text: &str, offset: usize, menu_sign: Option<char>) -> Option<Sign> {
    // Most signs follow a letter or digit, as in `https:`, and need no closer look.
    let previous_byte = text.as_bytes()[..offset].last();
    if previous_byte.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    // Checked next, so that a long run of invisible characters is trimmed only once, for its sign.
    let typed = text[offset..].chars().next()?;
    let character = if COLONS.contains(&typed) { ':' } else { typed };
    if character != ':' && Some(character) != menu_sign {
        return None;
    }
    let before = &text[..offset];
    if !may_precede_sign(before) && !may_precede_sign(before.trim_end_matches(is_invisible_filler))
    {
        return None;
    }
    let after = &text[offset + typed.len_utf8()..];
    let invisible_length = after.len() - trim_invisible_start(after).len();
    Some(Sign {
        character,
        length: typed.len_utf8() + invisible_length,
    })
}

/// Returns whether an invocation may follow text: the text is empty, or ends in whitespace or an
/// opening bracket.
fn may_precede_sign(text: &str) -> bool {
    match text.chars().next_back() {
        Some(last) => last.is_whitespace() || OPENING.contains(&last),
        None => true,
    }
}

/// Returns the width of a command's indentation: the number of spaces in the text between the start
/// of its line and its colon. Returns `None` if that text contains anything else, except invisible
/// characters.
fn indentation_width(before_colon: &str) -> Option<usize> {
    if before_colon.len() > MAX_INDENTATION_BYTES {
        return None;
    }
    let mut width = 0;
    for character in before_colon.chars() {
        if character.is_whitespace() && !character.is_control() {
            width += 1;
        } else if !is_invisible_filler(character) {
            return None;
        }
    }
    Some(width)
}

/// Returns the byte offset of the first character from `start` on that doesn't match the predicate.
fn skip_while(text: &str, start: usize, predicate: fn(char) -> bool) -> usize {
    let length = text[start..].find(|character| !predicate(character));
    length.map_or(text.len(), |length| start + length)
}

/// Returns the names that a command's word may stand for: the word, and the word without trailing
/// punctuation and invisible characters.
fn names_for_command(word: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in [word, word.trim_end_matches(is_trailing)] {
        if may_be_name(name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns whether a character at the end of a command's word isn't part of its name.
fn is_trailing(character: char) -> bool {
    PUNCTUATION.contains(&character) || is_invisible_filler(character)
}

/// Returns the names that a mention's word may start with, longest first: `style` for `style.)`,
/// and only `v1.2` for `v1.2`.
///
/// A name doesn't end in punctuation, and isn't a smiley. If a word has very many possible names,
/// such as a text without spaces, returns at most the [`MAX_MENTION_NAMES`] shortest.
fn names_for_mention(word: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (offset, character) in word.char_indices() {
        if offset > MAX_MENTION_LENGTH || names.len() == MAX_MENTION_NAMES {
            break;
        }
        let after = &word[offset + character.len_utf8()..];
        if ends_name(character, after) && !ends_in_punctuation(&word[..offset]) {
            names.push(&word[..offset]);
        }
    }
    let has_room = word.len() <= MAX_MENTION_LENGTH && names.len() < MAX_MENTION_NAMES;
    if has_room && !ends_in_punctuation(word) {
        names.push(word);
    }
    names.retain(|name| may_be_name(name) && !is_smiley(name));
    names.reverse();
    names
}

/// Returns whether a name may end before a character with this text after it. The dot in `:test.js`
/// doesn't end the name.
fn ends_name(character: char, after: &str) -> bool {
    let is_inside_name =
        character.is_ascii() && after.starts_with(|next: char| next.is_ascii_alphanumeric());
    CLOSING.contains(&character) || (PUNCTUATION.contains(&character) && !is_inside_name)
}

fn ends_in_punctuation(name: &str) -> bool {
    name.ends_with(PUNCTUATION) || name.ends_with(CLOSING)
}

/// Returns whether a word after a colon may be a name, which those in `::vec` and `:smile:` aren't.
fn may_be_name(word: &str) -> bool {
    let mut parts = word.split(COLONS);
    parts.all(|part| !part.is_empty())
}

/// Returns whether a word after a colon makes a smiley: it contains no letter or digit, or consists
/// of a single repeated character. Examples are `:-)`, `:D` and `:PP`.
pub(super) fn is_smiley(word: &str) -> bool {
    let first = word.chars().next();
    !word.chars().any(char::is_alphanumeric)
        || word.chars().all(|character| Some(character) == first)
}

/// Removes leading whitespace and empty lines, but keeps the indentation of the first line with
/// text: `"\n\n    code"` becomes `"    code"`. Text on the first line isn't indented, so `" text"`
/// becomes `"text"`.
fn trim_start_keep_indentation(text: &str) -> &str {
    let whitespace = &text[..text.len() - text.trim_start().len()];
    match whitespace.rsplit_once(is_line_end) {
        Some((_, indentation)) => &text[whitespace.len() - indentation.len()..],
        None => text.trim_start(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Agent;
    use proptest::prelude::*;

    const COMMANDS: Grammar = Grammar {
        expands_mentions: false,
        agent: None,
    };

    const ALL: Grammar = Grammar {
        expands_mentions: true,
        agent: None,
    };

    const NAMES: [&str; 7] = [
        "research",
        "git/commit",
        "git:commit",
        "git：commit",
        "smile",
        "vec",
        "要約",
    ];

    /// Whether a text begins with a colon, invisible characters and a name.
    fn begins_with_call(text: &str, name: &str) -> bool {
        text.starts_with(COLONS)
            && trim_invisible_start(text.trim_start_matches(COLONS)).starts_with(name)
    }

    /// Names and inputs, without stacks and mentions.
    fn found(text: &str) -> Vec<(&str, &str)> {
        let invoked = find_invocations(
            text,
            COMMANDS,
            |typed| NAMES.contains(&typed.name).then_some(()),
            |_| false,
        );
        invoked
            .invocations
            .into_iter()
            .map(|invocation| (invocation.name, invocation.input))
            .collect()
    }

    /// All names, with inputs after `=`; a stacked command after `+`, a mention after `@`. Smileys
    /// are names, too.
    fn all(text: &str) -> String {
        all_with_menu(text, None)
    }

    /// As [`all`], in an agent with a menu, whose sign precedes the same names.
    fn all_in(agent: &str, text: &str) -> String {
        all_with_menu(text, Agent::by_name(agent))
    }

    fn all_with_menu(text: &str, agent: Option<&'static Agent>) -> String {
        let names = [
            "style",
            "review",
            "test",
            "plan",
            "git/pr",
            "style-guide",
            "v1.2",
            "要約",
            "smile",
            "ok",
            "foo/bar",
        ];
        let exists =
            |name: &str| names.contains(&name.replace(':', "/").as_str()) || is_smiley(name);
        let invoked = find_invocations(
            text,
            Grammar { agent, ..ALL },
            |typed| exists(typed.name).then_some(()),
            |_| false,
        );
        let shown = invoked.invocations.iter().map(
            |Invocation {
                 form,
                 name,
                 input,
                 range,
                 ..
             }| match form {
                InvocationForm::Command => format!("{name}={input}"),
                InvocationForm::Stacked => format!("+{name}={input}"),
                InvocationForm::Mention => {
                    let typed = &text[range.clone()];
                    assert!(typed.starts_with(['$', '/']) || begins_with_call(typed, name));
                    format!("@{name}")
                }
            },
        );
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_command_takes_all_that_follows_up_to_the_next_one() {
        for (text, want) in [
            (
                ":research solid-state batteries",
                vec![("research", "solid-state batteries")],
            ),
            (":research", vec![("research", "")]),
            (
                "\n  :research \t \"a  b\"\u{a0}\n\n",
                vec![("research", "\"a  b\"")],
            ),
            (":research a\nb\n\n  c\n", vec![("research", "a\nb\n\n  c")]),
            (
                ":research\n\n    indented\n",
                vec![("research", "    indented")],
            ),
            (":research\r\n\r\na\r\nb\r\n", vec![("research", "a\r\nb")]),
            (":git/commit now", vec![("git/commit", "now")]),
            (":git:commit now", vec![("git:commit", "now")]),
            (":要約 これ", vec![("要約", "これ")]),
            ("：要約\u{3000}これ", vec![("要約", "これ")]),
            ("：要約。", vec![("要約", "")]),
            ("  ：git：commit now", vec![("git：commit", "now")]),
            (
                ":research a\n：要約 b",
                vec![("research", "a"), ("要約", "b")],
            ),
            (":research, please", vec![("research", "please")]),
            (":research?!", vec![("research", "")]),
            ("My draft.\n:research", vec![("research", "")]),
            ("Look:\n:research a\nand b", vec![("research", "a\nand b")]),
            (
                "Look:\r:research a\r:vec b",
                vec![("research", "a"), ("vec", "b")],
            ),
            ("a\u{2028}:research b", vec![("research", "b")]),
            ("a\u{2029}:research b", vec![("research", "b")]),
            ("a\u{85}:research b", vec![("research", "b")]),
            ("a\u{b}:research b\u{2028}", vec![("research", "b")]),
            (
                ":research\u{c}    b\u{2028}:vec c",
                vec![("research", "    b"), ("vec", "c")],
            ),
            ("\u{200b}:research a", vec![("research", "a")]),
            ("a\n\u{2060}\u{200e}:research b", vec![("research", "b")]),
            ("\u{feff} :research a", vec![("research", "a")]),
            ("\u{a0}:research a", vec![("research", "a")]),
            ("\u{3000}:research a", vec![("research", "a")]),
            ("\u{202f}\u{2003}:research a", vec![("research", "a")]),
            ("\u{200b}\n  :research a", vec![("research", "a")]),
            (":\u{200b}research a", vec![("research", "a")]),
            (":research\u{200b} a", vec![("research", "a")]),
            (
                ":research a\n:git/commit b\nc",
                vec![("research", "a"), ("git/commit", "b\nc")],
            ),
            (
                ":research a\n:unknown b",
                vec![("research", "a\n:unknown b")],
            ),
            (
                ":research a\n:research a\n:research b",
                vec![("research", "a"), ("research", "a"), ("research", "b")],
            ),
            (
                ":research\n```\n:git/commit\n```",
                vec![("research", "```\n:git/commit\n```")],
            ),
            ("```\nx\n```\n:research a", vec![("research", "a")]),
            ("```a`b\n:research", vec![("research", "")]),
            (
                ":research ```sh\n:research b\n```\n:git/commit c",
                vec![("research", "```sh\n:research b\n```"), ("git/commit", "c")],
            ),
            (
                ":research ```sh\nb```\n:git/commit c",
                vec![("research", "```sh\nb```"), ("git/commit", "c")],
            ),
            (
                "\u{200b}```\nx\n\u{feff}```\u{200b}\n:research a",
                vec![("research", "a")],
            ),
            ("> ```\n:research a", vec![("research", "a")]),
            ("`a` or ```b```\n:research a", vec![("research", "a")]),
            ("see ```b```\n:research a", vec![("research", "a")]),
        ] {
            assert_eq!(found(text), want, "{text:?}");
        }
    }

    #[test]
    fn other_lines_with_a_colon_are_not_commands() {
        for text in [
            "",
            ":",
            "10:30",
            ":30",
            "std::vec",
            "::vec",
            ":vec::Vec",
            "C:\\research",
            ":smile:",
            "：",
            "10：30",
            "：：vec",
            "：smile：",
            "：smile:",
            "： 要約",
            "まとめ：要約",
            "これを：要約",
            ":smile:!",
            ":)",
            ":-/",
            ": research a",
            ":reserch a",
            "Please :research a",
            "> :research a",
            "- :research a",
            "    :research a",
            "\t:research a",
            "a\n :research a",
            "a\n\u{a0}:research a",
            "a\u{200b}:research a",
            "a\n\t:research a",
            "`:research a`",
            "```\n:research a\n```",
            "```\u{2028}:research a\u{2028}```",
            "```sh\n:research a",
            "~~~\n:research a\n```\n:research a\n~~",
            "````\n```\n:research a\n````",
            "  ```\n:research a",
            "\u{200b}```\n:research a\n```",
            "https://example.com:research",
        ] {
            assert_eq!(found(text), [], "{text:?}");
        }
    }

    #[test]
    fn a_name_in_a_sentence_is_a_mention_and_commands_that_follow_each_other_are_a_stack() {
        for (text, want) in [
            ("Check this against :style and fix it.", "@style"),
            (
                "Check this against :style and fix it (:review) now\nand :plan, then :test.",
                "@style @review @plan @test",
            ),
            ("By [:style], {:plan}; :test!", "@style @plan @test"),
            ("- :style\n * see :plan?", "@style @plan"),
            (" :style\n :plan", "style= :plan @plan"),
            ("a\n :style", "@style"),
            ("| rule | :style |", "@style"),
            ("| :style | :--- | :---: |", "@style"),
            (
                "Is it :style-guide or :style? See :v1.2.",
                "@style-guide @style @v1.2",
            ),
            ("Use :git/pr and :git:pr", "@git/pr @git:pr"),
            (
                "見て ：要約。お願い（：要約）。「：要約」",
                "@要約 @要約 @要約",
            ),
            ("(see :style).", "@style"),
            (":style.\n", "style="),
            (
                ":review :plan the parser",
                "review=the parser +plan=the parser",
            ),
            (":review, :plan: x", "review=:plan: x"),
            (
                ":review :plan, by :style\nmore",
                "review=by :style\nmore +plan=by :style\nmore @style",
            ),
            (
                ":review\u{3000}：要約 x\n:test y",
                "review=x +要約=x test=y",
            ),
            (":review :unknown :plan x", "review=:unknown :plan x @plan"),
            (":review\n :plan x", "review= :plan x @plan"),
            (":review\u{2028} :plan x", "review= :plan x @plan"),
            ("See :review :plan x", "@review @plan"),
            (":unknown :plan x", "@plan"),
        ] {
            assert_eq!(all(text), want, "{text}");
        }
    }

    #[test]
    fn the_sign_of_an_agents_menu_works_like_a_colon_where_the_agent_takes_it() {
        for (agent, text, want) in [
            ("codex", "$review \"a  b\"\n\nc", "review=\"a  b\"\n\nc"),
            ("codex", "Look.\n$review, a\nb", "review=a\nb"),
            ("codex", "$review $plan a", "review=a +plan=a"),
            ("codex", ":review a\n$plan why $5?", "review=a plan=why $5?"),
            ("codex", "$review why $HOME", "review=why $HOME"),
            ("codex", "By (\u{200b}$style) it costs $5.", "@style"),
            ("codex", "By $style.\n```\necho $HOME\n```", "@style"),
            (
                "codex",
                "$review by $v1.2 and\nby $style.",
                "review=by $v1.2 and\nby $style.",
            ),
            ("codex", "$50 is too much, use $style.", "@style"),
            ("codex", "/review a, and see /style", ""),
            ("claude-code", "\n /review a\n:plan b", "review=a plan=b"),
            (
                "claude-code",
                "/review a\n/plan b",
                "review=a\n/plan b @plan",
            ),
            ("claude-code", "See @src/a.rs by /style.", "@style"),
            ("claude-code", "a\n/style", "@style"),
            ("claude-code", "$review a, and see $style", ""),
            ("gemini", "/review a $review", ""),
        ] {
            assert_eq!(all_in(agent, text), want, "{agent}: {text}");
        }
    }

    #[test]
    fn variables_paths_and_code_are_no_entries_of_a_menu() {
        for text in [
            "$style = 1",
            "$style .= 'x'",
            "a\n$style;",
            "$style->x()",
            "$style | sort",
            "$STYLE",
            "See $(style) and ${style}",
            "a\n$style a\necho $HOME",
            "Use $style or $plan.",
            "Use $style and ${HOME}",
            "Use $style.\n\nIt reads \"$HOME\".",
            "name=x for $style",
            "if (defined $style) {",
            "  call($style,",
            "echo $style",
            "export $style",
            "WHERE $style",
            "`$style`",
            "a\n\n    $style",
            "```\n$style a\n```",
            "x$style",
        ] {
            assert_eq!(all_in("codex", text), "", "{text}");
        }
        for text in [
            "/style/x",
            "src/style",
            "./style",
            "see ~/style",
            "/usr/bin is not /style",
            "In /tmp/x:\nuse /style",
            "GET /style",
            "It says \"OPTIONS /style HTTP/1.1\"",
            "cd /style",
            "The document is in /style",
            "Call the /style endpoint",
            "see `/style`",
            "[x](/style)",
            "<a>/style</a>",
        ] {
            assert_eq!(all_in("claude-code", text), "", "{text}");
        }
    }

    #[test]
    fn what_is_no_prose_or_no_name_alone_mentions_nothing() {
        for text in [
            "x:style",
            "#file:test-toc-scripts.js",
            "-OUT:test.exe",
            "title:test",
            "/compounding-engineering:plan plan",
            "a::style",
            "std::test",
            "10:30",
            ":style: yes",
            ":Style",
            ":styles",
            ":test.js",
            ":test-toc",
            ":smile: :rocket:",
            "\":style\"",
            "':style'",
            "*:style*",
            ":style/x",
            "break :blk 4",
            "ab:style)",
            ":) :-) :D :p x",
            "so :D",
            "ha :PP",
            "well :p.",
            "(:3)",
            "ok :o!",
            "hi :xx ",
            ":q",
            "then :q! or :wq",
            "`:style`",
            "use ` :style ` here",
            "``a ` :style b``",
            "`a\n :style\nb`",
            "[:style](http://x)",
            "[see :style here](http://x)",
            "[see :style][1]",
            "[:style]: http://x",
            "[x](:style)",
            "[x](y :style)",
            "http://x/(:style)",
            "<https://x/?a=(:style)>",
            "validates(:style)",
            "has_many[:style]",
            "f_(:style)",
            "{{ok:style}}",
            "ｆ：style",
        ] {
            assert_eq!(all(&format!("See {text}")), "", "{text}");
        }
        for text in [
            "> see :style",
            "  > see :style",
            "\u{200b}> see :style",
            "\u{feff}    see :style",
            "    see :style",
            "\tsee :style",
            "```\nsee :style\n```",
            "~~~\n :style\n```\n :plan",
            "```rust :style\n",
            "````\n```\n :style\n```\n````",
            "[ :style]: http://x",
        ] {
            assert_eq!(all(&format!("See\n\n{text}")), "", "{text}");
        }
        for (text, want) in [
            ("`a` :style `b`", "@style"),
            ("a ` b\n\n:style c ` d", "style=c ` d"),
            ("it's ` and :style", "@style"),
            ("`` ` `` :style", "@style"),
            ("[x] :style [y](z) (see [a](b) :plan)", "@style @plan"),
            ("[ ] :style\n[x](y) :plan", "@style @plan"),
            ("> quoted\n\nsee :style", "@style"),
            ("```\n:style\n```\nsee :plan", "@plan"),
            ("as :test ```\nsee :style\n```\nsee :plan", "@test @plan"),
        ] {
            assert_eq!(all(text), want, "{text}");
        }
    }

    #[test]
    fn a_command_takes_its_range_and_the_commands_of_a_stack_share_it() {
        let text = "Hi :plan.\n:review :style a :test\n b \n\n:plan\n";
        let invoked = find_invocations(text, ALL, |typed| Some(typed.name.to_owned()), |_| false);
        let ranges: Vec<_> = invoked
            .invocations
            .iter()
            .map(|invocation| &text[invocation.range.clone()])
            .collect();
        assert_eq!(
            ranges,
            [
                ":plan",
                ":review :style a :test\n b",
                ":review :style a :test\n b",
                ":test",
                ":plan"
            ]
        );
    }

    #[test]
    fn each_name_of_a_message_is_looked_up_once_and_at_most_100_are() {
        let lines = |between: &str| {
            (0..10_000)
                .map(|number| format!("{between}:x{number}"))
                .collect::<String>()
        };
        for (text, exists, count, lookups) in [
            (":x y\n".repeat(100_000), false, 0, 1),
            (" :x y".repeat(100_000), false, 0, 1),
            (":x y\n".repeat(100_000), true, MAX_CANDIDATES, 1),
            ("a :ab. b :ab, ".repeat(100_000), true, MAX_CANDIDATES, 1),
            (":x ".repeat(100_000), true, MAX_CANDIDATES, 1),
            (lines("\n"), false, 0, MAX_LOOKUPS),
            (lines("\n"), true, MAX_LOOKUPS, MAX_LOOKUPS),
            (lines("\na "), false, 0, MAX_LOOKUPS),
            (lines("\na ") + &lines("\n"), true, MAX_LOOKUPS, MAX_LOOKUPS),
            (format!("See :{}", ").".repeat(100_000)), true, 0, 0),
            (format!("See :ab{}", ")x".repeat(100_000)), false, 0, 8),
            (format!("See :ab{}", ")x".repeat(20)), false, 0, 8),
            ("(:x".repeat(100_000), false, 0, 0),
            (format!("See ` {}", "`:style ".repeat(100_000)), false, 0, 0),
            (format!("a{}", " $x".repeat(100_000)), true, 0, 0),
            (format!("a{}", " $5".repeat(100_000)), true, 0, 0),
            (lines("\n").replace(':', "$"), true, 1, 1),
        ] {
            let mut looked_up = HashSet::new();
            let look_up = |typed| {
                assert!(looked_up.insert(typed), "{typed:?}");
                exists.then_some(())
            };
            let agent = Agent::by_name("codex");
            let found = find_invocations(&text, Grammar { agent, ..ALL }, look_up, |_| false);
            assert_eq!(
                (found.invocations.len(), looked_up.len()),
                (count, lookups),
                "{text:.20}"
            );
        }
    }

    #[test]
    fn a_colon_in_a_name_begins_nothing() {
        for text in [":g={：x} a", "See :g={：x} a"] {
            assert_eq!(
                find_invocations(text, ALL, |_| Some(()), |_| false)
                    .invocations
                    .len(),
                1,
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_command_begins_a_line_and_the_inputs_follow_each_other(
            pieces in prop::collection::vec(
                prop_oneof![
                    6 => prop::sample::select(vec![
                        ":research", ":git:commit ", "：要約", ":", "：", "\n", "\n:", "\r\n", " ", "    ", "\t", "\u{a0}", "```",
                        "~~~~\n", "```x\n", "> ", ".", "é",
                    ]).prop_map(str::to_owned),
                    1 => ".{0,3}",
                ],
                0..24,
            ),
        ) {
            let text = pieces.concat();
            let is_filler = |character: char| is_invisible_filler(character) || (character.is_whitespace() && !character.is_control());
            let lines = || text.split(is_line_end).map(|line| line.trim_start_matches(is_filler));
            let mut rest = text.as_str();
            for Invocation { name, input, .. } in find_invocations(&text, COMMANDS, |_| Some(()), |_| false).invocations {
                prop_assert!(lines().any(|line| begins_with_call(line, name)), "{name:?} in {text:?}");
                let at = rest.find(input);
                prop_assert!(at.is_some(), "{input:?} in {text:?}");
                rest = &rest[at.unwrap() + input.len()..];
            }
            prop_assert!(lines().any(|line| line.starts_with(COLONS)) || found(&text).is_empty(), "{text:?}");
        }

        #[test]
        fn a_mention_is_a_whole_name_after_a_blank_or_a_bracket_and_changes_no_command(
            pieces in prop::collection::vec(
                prop_oneof![
                    8 => prop::sample::select(vec![
                        ":style", ":plan ", "：要約", ":", "\n", "\n:plan", " ", " ", "(", ")", "「", "。", ".", ",", "`", "``", "```\n",
                        "> ", "[", "](", "a", "é", "://", "    ", ":D",
                    ]).prop_map(str::to_owned),
                    1 => ".{0,3}",
                ],
                0..24,
            ),
        ) {
            let text = pieces.concat();
            let names = ["style", "plan", "要約", "D"];
            let mut end = 0;
            let mut is_within = |start: usize, to: usize| std::mem::replace(&mut end, to) <= start;
            let invoked = find_invocations(&text, ALL, |typed| names.contains(&typed.name).then_some(()), |_| false).invocations;
            for Invocation { form, name, input, range, .. } in &invoked {
                prop_assert!(names.contains(name));
                if *form != InvocationForm::Mention {
                    continue;
                }
                prop_assert!(is_within(range.start, range.end), "{text:?}");
                prop_assert!(begins_with_call(&text[range.clone()], name), "{text:?}");
                prop_assert!(input.is_empty() && *name != "D", "{text:?}");
                let before = text[..range.start].trim_end_matches(is_invisible_filler).chars().next_back();
                let after = text[range.end..].chars().next();
                prop_assert!(before.is_none_or(|it| it.is_whitespace() || OPENING.contains(&it)), "{text:?}");
                let is_end = |it: char| it.is_whitespace() || CLOSING.contains(&it) || PUNCTUATION.contains(&it);
                prop_assert!(after.is_none_or(is_end), "{text:?}");
            }
            let commands = |all: Vec<Invocation<'_, ()>>| -> Vec<String> {
                all.iter().filter(|one| one.form == InvocationForm::Command).map(|one| one.name.to_owned()).collect()
            };
            let alone = find_invocations(&text, COMMANDS, |typed| names.contains(&typed.name).then_some(()), |_| false).invocations;
            prop_assert_eq!(commands(invoked), commands(alone), "{:?}", text);
        }
    }
}
