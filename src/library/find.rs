//! From what was typed to a prompt: the exact name, else the one name that fits, else what was probably meant.

use super::{Library, Names, Problem};
use crate::prompt::suggestion::distance;
use crate::prompt::{Prompt, fold, not_a_command, strip};
use crate::wording::{alternatives, named, quoted};
use std::fmt;
use std::sync::Arc;

/// How many names an error offers.
const OFFERED: usize = 3;

/// What a command turned out to be.
#[derive(Debug)]
pub enum Lookup {
    /// A prompt.
    Found(Arc<Prompt>),
    /// A file that has the name and is no prompt.
    Broken(Problem),
    /// Nothing that this library has.
    Unknown {
        /// Why.
        why: Unknown,
        /// What kept prompts from being seen, so that the name may be one of them.
        unseen: Vec<Problem>,
    },
}

/// Why a command is no prompt. Its `Display` is one line for a person; who speaks to a model adds what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// No prompt has the name; `closest` are the names that may be meant, the most likely first.
    NoSuchPrompt {
        /// What was asked for.
        command: String,
        /// The names that may be meant.
        closest: Vec<String>,
    },
    /// Several prompts fit equally well.
    Ambiguous {
        /// What was asked for.
        command: String,
        /// All that fit.
        fitting: Vec<String>,
    },
    /// Name and text came as one.
    WithText {
        /// The name of the prompt.
        name: String,
        /// What follows it.
        text: String,
    },
    /// No name at all.
    Empty,
    /// The text was never meant as a command.
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
            Unknown::Ambiguous { command, fitting } => {
                write!(f, "no prompt is named exactly {}; did you mean {}?", quoted(command), alternatives(fitting))
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

impl Library {
    /// Finds the prompt that `command` names, as a person types it behind a colon or a client passes it on.
    ///
    /// The exact name is looked for first, and costs no scan. Then a leading colon, spaces around the name, another
    /// letter case and `:` for `/` are overlooked where exactly one prompt fits.
    pub fn find(&self, command: &str) -> Lookup {
        match self.find_exactly(command) {
            Some(Ok(prompt)) => Lookup::Found(prompt),
            Some(Err(problem)) => Lookup::Broken(problem),
            None => self.look_further(command),
        }
    }

    /// The same without a scan: nothing but the colon, spaces around the name and `:` for `/` is overlooked. See
    /// [`Library::get`].
    pub fn find_exactly(&self, command: &str) -> Option<Result<Arc<Prompt>, Problem>> {
        self.get(command).or_else(|| {
            let stripped = strip(command);
            let with_slashes = stripped.replace(':', "/");
            let others = [(command, stripped), (stripped, &with_slashes)].into_iter();
            others.filter(|(tried, name)| tried != name).find_map(|(_, name)| self.get(name))
        })
    }

    fn look_further(&self, command: &str) -> Lookup {
        if strip(command).is_empty() {
            return Lookup::Unknown { why: Unknown::Empty, unseen: self.missing() };
        }
        let Names { own, builtin, unseen } = self.names();
        let mut names = [own, builtin].concat();
        let folded = fold(command);
        let fitting: Vec<String> = names.iter().filter(|name| fold(name) == folded).cloned().collect();
        match fitting.as_slice() {
            [] => {}
            [name] => match self.get(name) {
                Some(Ok(prompt)) => return Lookup::Found(prompt),
                Some(Err(problem)) => return Lookup::Broken(problem),
                None => {} // gone since the scan
            },
            _ => return Lookup::Unknown { why: Unknown::Ambiguous { command: command.to_owned(), fitting }, unseen },
        }
        names.sort();
        let tidied = tidied(&folded);
        let why = if let Some(name) = names.iter().find(|name| fold(name) == tidied) {
            Unknown::NoSuchPrompt { command: command.to_owned(), closest: vec![name.clone()] }
        } else if let Some((name, text)) = with_text(command, &names) {
            Unknown::WithText { name, text }
        } else if let Some(kind) = not_a_command(command) {
            Unknown::NotACommand { command: command.to_owned(), kind }
        } else {
            Unknown::NoSuchPrompt { command: command.to_owned(), closest: closest(&folded, &names) }
        };
        Lookup::Unknown { why, unseen }
    }
}

/// A folded name with no more separators than it needs, and with `/` for `\`.
fn tidied(folded: &str) -> String {
    folded.split(['/', '\\']).filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("/")
}

/// `research solid-state batteries` in the place of the name.
fn with_text(command: &str, names: &[String]) -> Option<(String, String)> {
    let (first, text) = strip(command).split_once(char::is_whitespace)?;
    let folded = fold(first);
    let name = names.iter().find(|name| fold(name) == folded)?;
    Some((name.clone(), text.trim().to_owned()))
}

/// The names that may be meant: one slip away, or the beginning or the last part of a longer name.
fn closest(folded: &str, names: &[String]) -> Vec<String> {
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .filter_map(|name| {
            let lower = fold(name);
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let begun = folded.len() >= 2 && (lower.starts_with(folded) || last.starts_with(folded));
            let without_ending = folded.strip_suffix(".md") == Some(lower.as_str());
            let score = if last == folded || without_ending {
                Some(0)
            } else {
                let distances = [distance(folded, &lower), distance(folded, last)];
                distances.into_iter().flatten().min().or(begun.then_some(usize::MAX))
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
        let numbered = ["000/prompt-00001", "000/prompt-00112"].map(str::to_owned);
        assert_eq!(closest("prompt-0001", &numbered)[0], "000/prompt-00001");
        // Each of these would take a million steps to compare; only a text that begins them is looked for.
        let long: Vec<String> = (0..10_000).map(|n| format!("{n:01000}")).collect();
        assert_eq!(closest(&"1".repeat(1000), &long), [""; 0]);
    }
}
