//! From what was typed to a prompt: the exact name, else the one name that matches, else what was probably meant.

use super::{MAX_NAME, Names, Problem, View};
use crate::prompt::Prompt;
use crate::suggestion::distance;
use crate::wording::{alternatives, named, quoted};
use std::fmt;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// How many names an error offers.
const OFFERED: usize = 3;

/// What a command turned out to be.
#[derive(Debug)]
pub enum Lookup {
    /// A prompt.
    Found(Arc<Prompt>),
    /// A broken file with the name.
    Broken(Problem),
    /// Nothing in this library.
    Unknown {
        /// Why.
        why: Unknown,
        /// The places that were skipped, one of which may have the name.
        skipped: Vec<Problem>,
    },
}

/// Why a command does not name a prompt. Its `Display` is one line for a person, to which a caller adds what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// No prompt has the name.
    NoSuchPrompt {
        /// What was asked for.
        command: String,
        /// The names that may be meant, the most likely first.
        closest: Vec<String>,
    },
    /// Several prompts match equally well.
    Ambiguous {
        /// What was asked for.
        command: String,
        /// All that match.
        matching: Vec<String>,
    },
    /// The command holds a name and further text.
    WithText {
        /// The name of the prompt.
        name: String,
        /// What follows it.
        text: String,
    },
    /// There is no name.
    Empty,
    /// The text was not meant as a command.
    NotACommand {
        /// What was asked for.
        command: String,
        /// What it is instead, with an article.
        kind: &'static str,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::NoSuchPrompt { command, closest } => {
                write!(f, "no prompt named {}", quoted(command))?;
                if closest.is_empty() { Ok(()) } else { write!(f, "; did you mean {}?", alternatives(closest)) }
            }
            Unknown::Ambiguous { command, matching } => {
                write!(f, "no prompt is named exactly {}; did you mean {}?", quoted(command), alternatives(matching))
            }
            Unknown::WithText { name, text } => {
                write!(f, "the command is {} alone; what follows it ({}) is its input", named(name), quoted(text))
            }
            Unknown::Empty => f.write_str("the command is empty; it must be the name of a prompt"),
            Unknown::NotACommand { command, kind } => {
                write!(f, "{} looks like {kind}, not like a command", quoted(command))
            }
        }
    }
}

impl View {
    /// Finds the prompt that `command` names, as a person types it after a colon or a client passes it on.
    ///
    /// The exact name is looked for first, without a scan. Then a leading colon, spaces around the name, letter case and `:`
    /// for `/` are ignored where exactly one prompt matches.
    pub fn find(&self, command: &str) -> Lookup {
        match self.find_exactly(command) {
            Some(Ok(prompt)) => Lookup::Found(prompt),
            Some(Err(problem)) => Lookup::Broken(problem),
            None => self.find_any_spelling(command),
        }
    }

    /// The same without a scan: nothing but a leading colon, spaces around the name and `:` for `/` is ignored. See
    /// [`View::get`].
    pub fn find_exactly(&self, command: &str) -> Option<Result<Arc<Prompt>, Problem>> {
        self.get(command).or_else(|| {
            let stripped = strip(command);
            let with_slashes = stripped.replace(':', "/");
            let others = [(command, stripped), (stripped, &with_slashes)].into_iter();
            others.filter(|(tried, name)| tried != name).find_map(|(_, name)| self.get(name))
        })
    }

    fn find_any_spelling(&self, command: &str) -> Lookup {
        if strip(command).is_empty() {
            return Lookup::Unknown { why: Unknown::Empty, skipped: self.missing() };
        }
        let Names { own, builtin, skipped } = self.names();
        let mut names = [own, builtin].concat();
        let folded = fold(command);
        let matching: Vec<String> = names.iter().filter(|name| fold(name) == folded).cloned().collect();
        match matching.as_slice() {
            [] => {}
            [name] => match self.get(name) {
                Some(Ok(prompt)) => return Lookup::Found(prompt),
                Some(Err(problem)) => return Lookup::Broken(problem),
                None => {} // deleted since the scan
            },
            _ => return Lookup::Unknown { why: Unknown::Ambiguous { command: command.to_owned(), matching }, skipped },
        }
        names.sort();
        let tidied = tidy(&folded);
        let why = if let Some(name) = names.iter().find(|name| fold(name) == tidied) {
            Unknown::NoSuchPrompt { command: command.to_owned(), closest: vec![name.clone()] }
        } else if let Some((name, text)) = with_text(command, &names) {
            Unknown::WithText { name, text }
        } else if let Some(kind) = not_a_command(command) {
            Unknown::NotACommand { command: command.to_owned(), kind }
        } else {
            Unknown::NoSuchPrompt { command: command.to_owned(), closest: closest(&folded, &names) }
        };
        Lookup::Unknown { why, skipped }
    }
}

/// Without spaces around it and a leading colon.
pub(super) fn strip(command: &str) -> &str {
    let command = command.trim();
    command.strip_prefix(':').unwrap_or(command).trim()
}

/// The form that all spellings of a name share: letter case, `:` for `/`, and how accents are written (macOS separates
/// them from their letters in file names) make no difference. Empty for what is too long for a name.
fn fold(command: &str) -> String {
    let name = strip(command);
    if name.len() > 4 * MAX_NAME {
        return String::new(); // too long even once its accents are composed
    }
    name.replace(':', "/").to_lowercase().nfc().collect()
}

/// A folded name without empty segments, and with `/` for `\`.
fn tidy(folded: &str) -> String {
    folded.split(['/', '\\']).filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("/")
}

/// What a text with a colon is, if it was not meant as a command; with an article.
pub(super) fn not_a_command(command: &str) -> Option<&'static str> {
    let text = command.trim();
    let bare = text.trim_matches(':');
    if !bare.chars().any(char::is_alphanumeric) {
        return Some("an emoticon");
    }
    if text.contains("//") {
        return Some("an address");
    }
    if text.contains('\\') {
        return Some("a Windows path");
    }
    if text.contains("::") {
        return Some("a path in code");
    }
    if bare.starts_with(|first: char| first.is_ascii_digit()) && !bare.chars().any(char::is_alphabetic) {
        return Some("a time or a number");
    }
    let is_shortcode = |letter: char| letter.is_ascii_alphanumeric() || "_+-".contains(letter);
    if text.ends_with(':') && bare.chars().all(is_shortcode) {
        return Some("an emoji");
    }
    let mut letters = bare.chars();
    if matches!(letters.next(), Some('D' | 'P' | 'p' | 'O' | 'o')) && letters.next().is_none() {
        return Some("an emoticon");
    }
    None
}

/// Name and text, where the command is `research solid-state batteries`.
fn with_text(command: &str, names: &[String]) -> Option<(String, String)> {
    let (first, text) = strip(command).split_once(char::is_whitespace)?;
    let folded = fold(first);
    let name = names.iter().find(|name| fold(name) == folded)?;
    Some((name.clone(), text.trim().to_owned()))
}

/// The names that may be meant: those with one typing mistake, or with this beginning or last segment.
fn closest(folded: &str, names: &[String]) -> Vec<String> {
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .filter_map(|name| {
            let lower = fold(name);
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let is_beginning = folded.len() >= 2 && (lower.starts_with(folded) || last.starts_with(folded));
            let without_suffix = folded.strip_suffix(".md") == Some(lower.as_str());
            let score = if last == folded || without_suffix {
                Some(0)
            } else {
                let distances = [distance(folded, &lower), distance(folded, last)];
                distances.into_iter().flatten().min().or(is_beginning.then_some(usize::MAX))
            };
            Some((score?, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(OFFERED).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_not_meant_as_a_command_is_recognized() {
        for (text, kind) in [
            ("10:30", Some("a time or a number")),
            ("30", Some("a time or a number")),
            ("3.14", Some("a time or a number")),
            ("std::vec", Some("a path in code")),
            ("::vec", Some("a path in code")),
            (":smile:", Some("an emoji")),
            ("smile:", Some("an emoji")),
            (":+1:", Some("an emoji")),
            (")", Some("an emoticon")),
            (":-/", Some("an emoticon")),
            (":D", Some("an emoticon")),
            ("C:\\temp", Some("a Windows path")),
            ("https://example.com", Some("an address")),
            ("//example.com", Some("an address")),
            ("reserch", None),
            (":git:comit", None),
            ("5whys", None),
            ("a", None),
        ] {
            assert_eq!(not_a_command(text), kind, "{text:?}");
        }
    }

    #[test]
    fn the_closest_names_come_first() {
        let names = ["git/commit", "research", "rewrite", "review", "summarize"].map(str::to_owned);
        for (folded, want) in [
            ("reserch", vec!["research"]),
            ("commit", vec!["git/commit"]),
            ("sum", vec!["summarize"]),
            ("git/comit", vec!["git/commit"]),
            ("re", vec!["research", "review", "rewrite"]),
            ("research.md", vec!["research"]),
            ("xyzzy", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(closest(folded, &names), want, "{folded}");
        }
        assert_eq!(closest(&"r".repeat(100_000), &names), [""; 0]);
        assert_eq!(fold(&"R".repeat(100_000)), "");
        let numbered = ["000/prompt-00001", "000/prompt-00112"].map(str::to_owned);
        assert_eq!(closest("prompt-0001", &numbered)[0], "000/prompt-00001");
        // Comparing each of these would take a million steps; only their beginnings are compared.
        let long: Vec<String> = (0..10_000).map(|n| format!("{n:01000}")).collect();
        assert_eq!(closest(&"1".repeat(1000), &long), [""; 0]);
    }
}
