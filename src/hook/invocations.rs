//! Which commands a message invokes, and with which input.
//!
//! A line invokes a command if it begins with a colon (`:` or the full-width `：`), and what follows up to the next space is the
//! name of a prompt. The first line of the message may be indented by up to three spaces; a later one that is indented is code, a
//! list or a quotation. What is between fences (three backticks or tildes) is ignored. The input of a command is all that
//! follows, up to the next line that invokes one.
//!
//! Fences are found line by line, not by a Markdown parser: people put code between tags, and in an HTML block a fence means
//! nothing to Markdown.

use crate::prompt::COLONS;

/// How many lines that look like a command are looked up. A message with more of them is data.
pub const MAX_CANDIDATES: usize = 100;

/// How many commands of one message are expanded.
pub const MAX_COMMANDS: usize = 8;

/// Punctuation that may follow a name and is not part of it.
const PUNCTUATION: [char; 12] = ['.', ',', ';', '!', '?', '。', '、', '．', '，', '；', '！', '？'];

/// A command in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation<'t, T> {
    /// Its name, without the colon.
    pub(super) name: &'t str,
    pub(super) input: &'t str,
    /// What was found under the name.
    pub(super) found: T,
}

/// The commands of a message in their order, at most one more than [`MAX_COMMANDS`]. A command that is repeated with the same
/// input is listed once. `look_up` finds the prompt of a name.
pub(super) fn of<'t, T>(text: &'t str, mut look_up: impl FnMut(&str) -> Option<T>) -> Vec<Invocation<'t, T>> {
    let found = candidates(text)
        .take(MAX_CANDIDATES)
        .filter_map(|candidate| spellings(candidate.word).find_map(|name| Some((candidate, name, look_up(name)?))));
    let mut found = found.peekable();
    let mut invocations: Vec<Invocation<'t, T>> = Vec::new();
    while invocations.len() <= MAX_COMMANDS
        && let Some((candidate, name, found_here)) = found.next()
    {
        let end = found.peek().map_or(text.len(), |(next, ..)| next.line);
        let input = trimmed(&text[candidate.word_end..end]);
        if !invocations.iter().any(|known| (known.name, known.input) == (name, input)) {
            invocations.push(Invocation { name, input, found: found_here });
        }
    }
    invocations
}

/// The names that a word after a colon may be.
fn spellings(word: &str) -> impl Iterator<Item = &str> {
    let spellings = [Some(word), Some(word.trim_end_matches(PUNCTUATION)).filter(|bare| *bare != word)];
    spellings.into_iter().flatten().filter(|name| may_be_name(name))
}

/// A line that begins with a colon and a word.
#[derive(Clone, Copy)]
struct Candidate<'t> {
    /// Where the line begins.
    line: usize,
    word: &'t str,
    /// Where the word ends.
    word_end: usize,
}

fn candidates(text: &str) -> impl Iterator<Item = Candidate<'_>> {
    let mut next_line = 0;
    let mut is_first = true;
    let mut fence: Option<Fence> = None;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = next_line;
        next_line += line.len();
        let indentation = if is_first { indentation(line) } else { 0 };
        is_first &= line.trim().is_empty();
        match (&fence, Fence::of(line)) {
            (None, Some(opening)) if opening.may_open => fence = Some(opening),
            (Some(opening), Some(closing)) if closing.closes(opening) => fence = None,
            (Some(_), _) => {}
            (None, _) => {
                let after_colon = line[indentation..].strip_prefix(COLONS)?;
                let word = after_colon.split(char::is_whitespace).next().filter(|word| !word.is_empty())?;
                let word_end = next_line - after_colon.len() + word.len();
                return Some(Candidate { line: start, word, word_end });
            }
        }
        None
    })
}

/// How many spaces a line begins with, up to three.
fn indentation(line: &str) -> usize {
    line.bytes().take(3).take_while(|byte| *byte == b' ').count()
}

/// Whether a word after a colon may be a name: not the rest of `::vec` or `:smile:`.
fn may_be_name(word: &str) -> bool {
    let mut parts = word.split(COLONS);
    parts.all(|part| !part.is_empty())
}

/// A text without spaces around it, except those that indent its first line if a line ending comes before it.
fn trimmed(rest: &str) -> &str {
    let rest = rest.trim_end();
    let spaces = rest.len() - rest.trim_start().len();
    let line = rest[..spaces].rfind('\n').map_or(spaces, |newline| newline + 1);
    &rest[line..]
}

/// A line that opens or closes a fenced code block, as in Markdown.
struct Fence {
    mark: u8,
    length: usize,
    may_open: bool,
    may_close: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Fence> {
        let line = &line[indentation(line)..];
        let mark = line.bytes().next().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == mark).count();
        let info = &line[length..];
        let fence = Fence {
            mark,
            length,
            may_open: mark == b'~' || !info.contains('`'), // otherwise it is a code span
            may_close: info.trim().is_empty(),
        };
        (length >= 3).then_some(fence)
    }

    fn closes(&self, opening: &Fence) -> bool {
        self.may_close && self.mark == opening.mark && self.length >= opening.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 7] = ["research", "git/commit", "git:commit", "git：commit", "smile", "vec", "要約"];

    /// Names and inputs.
    fn found(text: &str) -> Vec<(&str, &str)> {
        let invocations = of(text, |name| NAMES.contains(&name).then_some(()));
        invocations.into_iter().map(|invocation| (invocation.name, invocation.input)).collect()
    }

    #[test]
    fn a_command_takes_all_that_follows_up_to_the_next_one() {
        for (text, want) in [
            (":research solid-state batteries", vec![("research", "solid-state batteries")]),
            (":research", vec![("research", "")]),
            ("\n  :research \t \"a  b\"\u{a0}\n\n", vec![("research", "\"a  b\"")]),
            (":research a\nb\n\n  c\n", vec![("research", "a\nb\n\n  c")]),
            (":research\n\n    indented\n", vec![("research", "    indented")]),
            (":research\r\n\r\na\r\nb\r\n", vec![("research", "a\r\nb")]),
            (":git/commit now", vec![("git/commit", "now")]),
            (":git:commit now", vec![("git:commit", "now")]),
            (":要約 これ", vec![("要約", "これ")]),
            ("：要約\u{3000}これ", vec![("要約", "これ")]),
            ("：要約。", vec![("要約", "")]),
            ("  ：git：commit now", vec![("git：commit", "now")]),
            (":research a\n：要約 b", vec![("research", "a"), ("要約", "b")]),
            (":research, please", vec![("research", "please")]),
            (":research?!", vec![("research", "")]),
            ("My draft.\n:research", vec![("research", "")]),
            ("Look:\n:research a\nand b", vec![("research", "a\nand b")]),
            (":research a\n:git/commit b\nc", vec![("research", "a"), ("git/commit", "b\nc")]),
            (":research a\n:unknown b", vec![("research", "a\n:unknown b")]),
            (":research a\n:research a\n:research b", vec![("research", "a"), ("research", "b")]),
            (":research\n```\n:git/commit\n```", vec![("research", "```\n:git/commit\n```")]),
            ("```\nx\n```\n:research a", vec![("research", "a")]),
            ("```a`b\n:research", vec![("research", "")]),
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
    fn the_lookups_and_the_commands_of_a_message_are_limited() {
        let many = ":x y\n".repeat(1_000_000);
        let known: String = (0..100).map(|number| format!(":{number}\n")).collect();
        for (text, exists, commands, lookups) in
            [(many.as_str(), false, 0, MAX_CANDIDATES), (&many[..50 * 5], true, 1, 50), (&known, true, 9, 10)]
        {
            let mut looked_up = 0;
            let found = of(text, |_| {
                looked_up += 1;
                exists.then_some(())
            });
            assert_eq!((found.len(), looked_up), (commands, lookups));
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
            for Invocation { name, input, .. } in of(&text, |_| Some(())) {
                prop_assert!(lines().any(|line| COLONS.iter().any(|colon| line.starts_with(&format!("{colon}{name}")))), "{name:?} in {text:?}");
                let at = rest.find(input);
                prop_assert!(at.is_some(), "{input:?} in {text:?}");
                rest = &rest[at.unwrap() + input.len()..];
            }
            prop_assert!(lines().any(|line| line.starts_with(COLONS)) || found(&text).is_empty(), "{text:?}");
        }
    }
}
