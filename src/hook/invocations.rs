//! Which prompts a message invokes, and with which input.
//!
//! A *command* begins a line: a colon (`:` or the full-width `：`), and the name of a prompt up to
//! the next space. The first line of the message may be indented by up to three spaces; a later one
//! that is indented is code, a list or a quotation. The input of a command is all that follows, up
//! to the next line that begins with one. Commands that follow each other at the start of a line
//! are a *stack*: each gets the same input. A name anywhere else is a *mention*, which has no
//! input, if it is in prose.
//!
//! Built-in prompts have the names of everyday symbols of programs, so less of a text invokes them:
//! see [`is_before_code`].

use super::prose::{Lines, OPENING};
use crate::prompt::COLONS;
use memchr::memchr2_iter;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// How many names of a message are looked up. A message with more of them is data.
pub const MAX_LOOKUPS: usize = 100;

/// How many places of a message are examined where a prompt may be invoked, without those of names
/// that were looked up in vain.
const MAX_PLACES: usize = 1_000;

/// Punctuation that may follow a name and is not part of it.
const PUNCTUATION: [char; 12] = [
    '.', ',', ';', '!', '?', '。', '、', '．', '，', '；', '！', '？',
];

/// The brackets that may follow a mention.
const CLOSING: [char; 9] = [')', ']', '}', '）', '］', '｝', '」', '』', '】'];

/// The longest name of a mention, in bytes.
const MAX_MENTION: usize = 1024;

/// How many places in a word may be the end of a mention.
const MAX_ENDS: usize = 8;

/// How a message invokes a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvocationForm {
    /// It begins a line.
    Command,
    /// It follows another command at the start of a line.
    Stacked,
    /// It stands anywhere else.
    Mention,
}

/// A prompt that a message invokes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation<'t, T> {
    /// How.
    pub form: InvocationForm,
    /// Its name as it is typed, without the colon.
    pub name: &'t str,
    /// The text that fills it in; empty for a mention.
    pub input: &'t str,
    /// The part of the message that belongs to it: of a mention its colon and its name, of a command
    /// all from the start of its line to the end of its input. The commands of a stack share it.
    pub range: Range<usize>,
    /// What was found under the name.
    pub found: T,
}

/// What a message invokes.
pub(super) struct Invoked<'t, T> {
    /// In the order of the message.
    pub(super) invocations: Vec<Invocation<'t, T>>,
    /// The name of what looks like a command at the start of the message, and has no prompt.
    pub(super) unknown: Option<&'t str>,
}

/// Finds the prompts that a message invokes; without `takes_mentions`, neither stacks nor mentions.
///
/// `look_up` finds the prompt of a name. A prompt that `is_builtin` is not invoked by its name
/// before what looks like code.
pub(super) fn find_invocations<'t, T: Clone>(
    text: &'t str,
    takes_mentions: bool,
    look_up: impl FnMut(&'t str, InvocationForm) -> Option<T>,
    is_builtin: fn(&T) -> bool,
) -> Invoked<'t, T> {
    let mut reader = MessageReader {
        text,
        takes_mentions,
        lines: Lines::new(text),
        names: LookedUpNames {
            look_up,
            known: HashMap::new(),
        },
        is_builtin,
        unknown_words: HashSet::new(),
        places: 0,
        stack_end: 0,
        invoked: Invoked {
            invocations: Vec::new(),
            unknown: None,
        },
    };
    for word in words(text) {
        if reader.places == MAX_PLACES {
            break;
        }
        reader.read(&word);
    }
    add_inputs(text, &mut reader.invoked.invocations);
    reader.invoked
}

/// A word of a message, without the colon before it.
struct Word<'t> {
    text: &'t str,
    /// The position of its colon.
    colon: usize,
    /// The position after the colon.
    start: usize,
}

/// Where a word stands in the message.
struct WordPlace {
    form: InvocationForm,
    /// Where the invocation begins, if the word is one.
    start: usize,
    is_indented: bool,
}

/// A prompt that was found.
struct Named<'t, T> {
    name: &'t str,
    found: T,
}

/// Reads a message, one word after the other.
struct MessageReader<'t, T, L> {
    text: &'t str,
    takes_mentions: bool,
    lines: Lines<'t>,
    names: LookedUpNames<'t, T, L>,
    is_builtin: fn(&T) -> bool,
    /// The words without a prompt.
    unknown_words: HashSet<(&'t str, InvocationForm)>,
    /// How many places were examined, without those of unknown words.
    places: usize,
    /// Where the blanks end that follow the last invocation. A command there belongs to its stack.
    stack_end: usize,
    invoked: Invoked<'t, T>,
}

impl<'t, T: Clone, L: FnMut(&'t str, InvocationForm) -> Option<T>> MessageReader<'t, T, L> {
    /// Reads the next word, and adds the invocation if it is one.
    fn read(&mut self, word: &Word<'t>) {
        if word.text.is_empty() || self.is_in_invocation(word.colon) {
            return;
        }
        self.lines.advance(word.colon);
        let Some(place) = self.place_of(word.colon) else {
            return;
        };
        if self.lines.is_fenced || self.is_unknown(word.text, place.form) {
            return;
        }
        self.places += 1;
        if place.form == InvocationForm::Mention && !self.lines.is_prose(word.colon) {
            return;
        }
        let Some(named) = self.names.find(word.text, place.form) else {
            self.note_unknown(word.text, place.form);
            return;
        };
        if (self.is_builtin)(&named.found) && self.is_symbol(word, &place, named.name) {
            return;
        }
        self.add(word, &place, named);
    }

    /// Returns whether a word was looked up in vain. A long one is not remembered, because
    /// comparing it costs as much.
    fn is_unknown(&self, word: &'t str, form: InvocationForm) -> bool {
        word.len() <= MAX_MENTION && self.unknown_words.contains(&(word, form))
    }

    /// Remembers that a word was looked up in vain.
    fn note_unknown(&mut self, word: &'t str, form: InvocationForm) {
        if self.lines.is_first && form == InvocationForm::Command {
            self.invoked.unknown = names_of_command(word).pop();
        }
        if word.len() <= MAX_MENTION {
            self.unknown_words.insert((word, form));
        }
    }

    /// Returns whether a byte belongs to the last invocation, as the second colon of `:git:commit`.
    fn is_in_invocation(&self, position: usize) -> bool {
        match self.invoked.invocations.last() {
            Some(last) => position < last.range.end,
            None => false,
        }
    }

    /// Returns the place of a colon on the current line. `None`: a stacked command or a mention
    /// would begin there, and the message may have neither.
    fn place_of(&self, colon: usize) -> Option<WordPlace> {
        let line_start = self.lines.start;
        let indentation = &self.text[line_start..colon];
        let is_indented = self.lines.is_first && matches!(indentation, " " | "  " | "   ");
        if indentation.is_empty() || is_indented {
            return Some(WordPlace {
                form: InvocationForm::Command,
                start: line_start,
                is_indented,
            });
        }
        if !self.takes_mentions {
            return None;
        }
        if let Some(last) = self.invoked.invocations.last()
            && last.form != InvocationForm::Mention
            && colon <= self.stack_end
        {
            return Some(WordPlace {
                form: InvocationForm::Stacked,
                start: last.range.start,
                is_indented: false,
            });
        }
        Some(WordPlace {
            form: InvocationForm::Mention,
            start: colon,
            is_indented: false,
        })
    }

    /// Returns whether a built-in name is probably a symbol of a program: the line is indented, or
    /// goes on like code.
    fn is_symbol(&self, word: &Word<'t>, place: &WordPlace, name: &str) -> bool {
        place.is_indented || is_before_code(self.lines.after(word.start + name.len()))
    }

    /// Adds an invocation. A command takes the whole word, also punctuation after its name.
    fn add(&mut self, word: &Word<'t>, place: &WordPlace, named: Named<'t, T>) {
        let length = match place.form {
            InvocationForm::Mention => named.name.len(),
            InvocationForm::Command | InvocationForm::Stacked => word.text.len(),
        };
        let end = word.start + length;
        self.invoked.invocations.push(Invocation {
            form: place.form,
            name: named.name,
            input: "",
            range: place.start..end,
            found: named.found,
        });
        self.stack_end = end_of(self.text, end, |letter| {
            letter.is_whitespace() && letter != '\n'
        });
    }
}

/// The names that were looked up: each once, and at most [`MAX_LOOKUPS`].
struct LookedUpNames<'t, T, L> {
    look_up: L,
    /// By the name, and by whether it was looked up for a mention.
    known: HashMap<(&'t str, bool), Option<T>>,
}

impl<'t, T: Clone, L: FnMut(&'t str, InvocationForm) -> Option<T>> LookedUpNames<'t, T, L> {
    /// Finds the prompt whose name a word is, or begins with.
    fn find(&mut self, word: &'t str, form: InvocationForm) -> Option<Named<'t, T>> {
        let names = match form {
            InvocationForm::Mention => names_of_mention(word),
            InvocationForm::Command | InvocationForm::Stacked => names_of_command(word),
        };
        for name in names {
            if let Some(found) = self.get(name, form) {
                return Some(Named { name, found });
            }
        }
        None
    }

    /// Looks a name up, unless it is known, or too many names were looked up.
    fn get(&mut self, name: &'t str, form: InvocationForm) -> Option<T> {
        let key = (name, form == InvocationForm::Mention);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if self.known.len() == MAX_LOOKUPS {
            return None;
        }
        let found = (self.look_up)(name, form);
        self.known.insert(key, found.clone());
        found
    }
}

/// Returns whether the text after a name on its line says that the name is a symbol of a program,
/// as in `:test {:extra-paths ["t"]}` (Clojure), `:test #'equal` (Lisp), and `:debug => true` or
/// `:test,` (Ruby).
fn is_before_code(following: &str) -> bool {
    following.contains("{:")
        || following.contains("=>")
        || following.contains("#'")
        || following.trim_end().ends_with(',')
}

/// The input that all commands of a stack get.
#[derive(Clone, Copy)]
struct StackInput<'t> {
    text: &'t str,
    /// The position after the input.
    end: usize,
}

/// Gives each command its input, and extends its range to the end of the input. Before, the range
/// ends after the command's name.
fn add_inputs<'t, T>(text: &'t str, invocations: &mut [Invocation<'t, T>]) {
    // From the last to the first, because the input of a command ends before the next stack.
    let mut next_stack = text.len();
    let mut stack_input: Option<StackInput<'t>> = None;
    for invocation in invocations.iter_mut().rev() {
        if invocation.form == InvocationForm::Mention {
            continue;
        }
        let input = stack_input.unwrap_or_else(|| {
            let start = invocation.range.end;
            let following = text[start..next_stack].trim_end();
            StackInput {
                text: without_blanks_before(following),
                end: start + following.len(),
            }
        });
        invocation.input = input.text;
        invocation.range.end = input.end;
        stack_input = Some(input);
        if invocation.form == InvocationForm::Command {
            next_stack = invocation.range.start;
            stack_input = None;
        }
    }
}

/// Returns each word of a text after a colon that may begin a command or a mention: not those of
/// `10:30`, `note:` and `std::vec`. In `(:a(:b`, these are `a(:b` and `b`.
fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    // The end of the last word, which later colons in that word share: each byte is read once.
    let mut end = 0;
    // `：` begins with 0xef, which is never inside a character.
    let colons = memchr2_iter(b':', 0xef, text.as_bytes());
    colons.filter_map(move |colon| {
        let start = colon + colon_length(text, colon)?;
        if start >= end {
            end = end_of(text, start, |letter| !letter.is_whitespace());
        }
        Some(Word {
            text: &text[start..end],
            colon,
            start,
        })
    })
}

/// Returns the length of the colon at a position, in bytes. `None`: it cannot begin a command or a
/// mention, because it follows a letter, or it is no colon.
fn colon_length(text: &str, position: usize) -> Option<usize> {
    if let Some(before) = text[..position].chars().next_back()
        && !before.is_whitespace()
        && !OPENING.contains(&before)
    {
        return None;
    }
    let colon = COLONS
        .iter()
        .find(|colon| text[position..].starts_with(**colon))?;
    Some(colon.len_utf8())
}

/// Returns the position after the characters of this kind that begin at `start`.
fn end_of(text: &str, start: usize, is_of_kind: fn(char) -> bool) -> usize {
    let length = text[start..].find(|letter| !is_of_kind(letter));
    length.map_or(text.len(), |length| start + length)
}

/// Returns the names that a word at the start of a line may be: the word, and the word without the
/// punctuation at its end.
fn names_of_command(word: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in [word, word.trim_end_matches(PUNCTUATION)] {
        if may_be_name(name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the names with which a word in a sentence may begin, the longest first: `style.)` →
/// `style`, and `v1.2` → `v1.2`.
///
/// No name ends in punctuation, or is a smiley. Of a word with very many ends, such as a text
/// without spaces, only the first ones count.
fn names_of_mention(word: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (position, letter) in word.char_indices() {
        if position > MAX_MENTION || names.len() == MAX_ENDS {
            break;
        }
        let after = &word[position + letter.len_utf8()..];
        if ends_name(letter, after) && !ends_in_punctuation(&word[..position]) {
            names.push(&word[..position]);
        }
    }
    if word.len() <= MAX_MENTION && !ends_in_punctuation(word) {
        names.push(word);
    }
    names.retain(|name| may_be_name(name) && !is_smiley(name));
    names.reverse();
    names
}

/// Returns whether a name may end before this letter. In `:test.js`, the dot does not end it.
fn ends_name(letter: char, after: &str) -> bool {
    let is_inside =
        letter.is_ascii() && after.starts_with(|next: char| next.is_ascii_alphanumeric());
    CLOSING.contains(&letter) || (PUNCTUATION.contains(&letter) && !is_inside)
}

fn ends_in_punctuation(name: &str) -> bool {
    name.ends_with(PUNCTUATION) || name.ends_with(CLOSING)
}

/// Returns whether a word after a colon may be a name, unlike those of `::vec` and `:smile:`.
fn may_be_name(word: &str) -> bool {
    let mut parts = word.split(COLONS);
    parts.all(|part| !part.is_empty())
}

/// Returns whether a word after a colon has no letter, or only one, perhaps repeated: that of
/// `:-)`, `:D` or `:PP`.
pub(super) fn is_smiley(word: &str) -> bool {
    let first = word.chars().next();
    !word.chars().any(char::is_alphanumeric) || word.chars().all(|letter| Some(letter) == first)
}

/// Returns a text without the blanks before it. If a line ending is among them, the indentation of
/// the first line stays: `"\n\n    code"` → `"    code"`.
fn without_blanks_before(text: &str) -> &str {
    let blanks = &text[..text.len() - text.trim_start().len()];
    let start = match blanks.rfind('\n') {
        Some(newline) => newline + 1,
        None => blanks.len(),
    };
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 7] = [
        "research",
        "git/commit",
        "git:commit",
        "git：commit",
        "smile",
        "vec",
        "要約",
    ];

    /// Names and inputs, without stacks and mentions.
    fn found(text: &str) -> Vec<(&str, &str)> {
        let invoked = find_invocations(
            text,
            false,
            |name, _| NAMES.contains(&name).then_some(()),
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
        let invoked = find_invocations(text, true, |name, _| exists(name).then_some(()), |_| false);
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
                    assert!(
                        COLONS
                            .iter()
                            .any(|colon| text[range.clone()] == format!("{colon}{name}")),
                        "{text}"
                    );
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
            "a\n\t:research a",
            "`:research a`",
            "```\n:research a\n```",
            "```sh\n:research a",
            "~~~\n:research a\n```\n:research a\n~~",
            "````\n```\n:research a\n````",
            "  ```\n:research a",
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
            ("See :review :plan x", "@review @plan"),
            (":unknown :plan x", "@plan"),
        ] {
            assert_eq!(all(text), want, "{text}");
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
        let invoked = find_invocations(text, true, |name, _| Some(name.to_owned()), |_| false);
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
            (":x y\n".repeat(100_000), true, MAX_PLACES, 1),
            ("a :ab. b :ab, ".repeat(100_000), true, MAX_PLACES, 1),
            (":x ".repeat(100_000), true, MAX_PLACES, 1),
            (lines("\n"), false, 0, MAX_LOOKUPS),
            (lines("\n"), true, MAX_LOOKUPS, MAX_LOOKUPS),
            (lines("\na "), false, 0, MAX_LOOKUPS),
            (lines("\na ") + &lines("\n"), true, MAX_LOOKUPS, MAX_LOOKUPS),
            (format!("See :{}", ").".repeat(100_000)), true, 0, 0),
            (format!("See :ab{}", ")x".repeat(100_000)), false, 0, 8),
            ("(:x".repeat(100_000), false, 0, 0),
            (format!("See ` {}", "`:style ".repeat(100_000)), false, 0, 0),
        ] {
            let mut looked_up = HashSet::new();
            let look_up = |name, form| {
                assert!(
                    looked_up.insert((name, form == InvocationForm::Mention)),
                    "{name}"
                );
                exists.then_some(())
            };
            let found = find_invocations(&text, true, look_up, |_| false);
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
                find_invocations(text, true, |_, _| Some(()), |_| false)
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
            let lines = || text.split('\n').map(|line| line.trim_start_matches(' '));
            let mut rest = text.as_str();
            for Invocation { name, input, .. } in find_invocations(&text, false, |_, _| Some(()), |_| false).invocations {
                prop_assert!(lines().any(|line| COLONS.iter().any(|colon| line.starts_with(&format!("{colon}{name}")))), "{name:?} in {text:?}");
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
            let invoked = find_invocations(&text, true, |name, _| names.contains(&name).then_some(()), |_| false).invocations;
            for Invocation { form, name, input, range, .. } in &invoked {
                prop_assert!(names.contains(name));
                if *form != InvocationForm::Mention {
                    continue;
                }
                prop_assert!(is_within(range.start, range.end), "{text:?}");
                prop_assert!(COLONS.iter().any(|colon| text[range.clone()] == format!("{colon}{name}")), "{text:?}");
                prop_assert!(input.is_empty() && *name != "D", "{text:?}");
                let before = text[..range.start].chars().next_back();
                let after = text[range.end..].chars().next();
                prop_assert!(before.is_none_or(|it| it.is_whitespace() || OPENING.contains(&it)), "{text:?}");
                let is_end = |it: char| it.is_whitespace() || CLOSING.contains(&it) || PUNCTUATION.contains(&it);
                prop_assert!(after.is_none_or(is_end), "{text:?}");
            }
            let commands = |all: Vec<Invocation<'_, ()>>| -> Vec<String> {
                all.iter().filter(|one| one.form == InvocationForm::Command).map(|one| one.name.to_owned()).collect()
            };
            let alone = find_invocations(&text, false, |name, _| names.contains(&name).then_some(()), |_| false).invocations;
            prop_assert_eq!(commands(invoked), commands(alone), "{:?}", text);
        }
    }
}
