//! Finds the prompt for what was typed: the exact name, else the one name that matches, else names to suggest.

use super::{LazyView, Names, Problem, View};
use crate::prompt::suggestion::distance;
use crate::prompt::{Name, Prompt, System, fold, not_a_command, spellings, strip};
use crate::wording::{alternatives, named, quoted};
use std::fmt;
use std::sync::Arc;

/// How many names an error offers.
const OFFERED: usize = 3;

/// The result of a lookup.
#[derive(Debug)]
pub enum Lookup {
    /// A prompt.
    Found(Arc<Prompt>),
    /// A broken file with the name.
    Broken(Problem),
    /// Nothing in this library.
    Unknown {
        /// The reason.
        why: Unknown,
        /// The files and folders that were skipped, one of which may have the name.
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
        /// Names to suggest, the most likely first.
        closest: Vec<Name>,
    },
    /// Several prompts match equally well.
    Ambiguous {
        /// What was asked for.
        command: String,
        /// All that match.
        matching: Vec<Name>,
    },
    /// The command holds a name and further text.
    WithText {
        /// The name of the prompt.
        name: Name,
        /// What follows it.
        text: String,
    },
    /// The command is empty.
    Empty,
    /// The text is not a command but something else.
    NotACommand {
        /// What was asked for.
        command: String,
        /// What it is instead, with an article.
        kind: &'static str,
    },
    /// The name is that of a built-in prompt for those who may edit prompts.
    ForEditing {
        /// The name.
        name: Name,
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
            Unknown::ForEditing { name } => write!(
                f,
                "{} is there only for agents that may edit prompts: start the server with --edit, or use a token with the role \
                 `write`",
                named(name)
            ),
        }
    }
}

impl Unknown {
    /// The same without a suggestion of a [template](crate::prompt::Prompt::is_template), for a model.
    pub fn without_templates(mut self, view: &View) -> Unknown {
        if let Unknown::NoSuchPrompt { closest, .. } = &mut self {
            closest.retain(|name| !matches!(view.get(name), Some(Ok(prompt)) if prompt.is_template()));
        }
        self
    }
}

impl View {
    /// Finds the prompt that `command` names, as a person types it after a colon or a client passes it on.
    ///
    /// The exact name is tried first, without a scan. Then a leading colon, spaces around the name, letter case, `:` for `/`,
    /// and composed or separate accents are ignored where exactly one prompt matches.
    pub fn find(&self, command: &str) -> Lookup {
        match self.find_exactly(command) {
            Some(Ok(prompt)) => Lookup::Found(prompt),
            Some(Err(problem)) => Lookup::Broken(problem),
            None => self.find_any_spelling(command),
        }
    }

    /// The same without a scan: nothing but a leading colon, spaces around the name, `:` for `/`, and composed or separate
    /// accents are ignored. See [`View::get`].
    pub fn find_exactly(&self, command: &str) -> Option<Result<Arc<Prompt>, Problem>> {
        spellings(command).iter().find_map(|name| self.get(&Name::new(name).ok()?))
    }

    /// Whether [`find`](View::find) will most likely need no scan, because the name was found before, and
    /// [`expand`](View::expand) no network. No file is looked at.
    pub fn was_found(&self, command: &str) -> bool {
        let Ok(name) = Name::new(strip(command)) else { return false };
        self.local_sources_of(&name).any(|source| source.was_found(&name))
    }

    /// The built-in prompt of this folded name, if it would exist for a caller who may edit prompts.
    fn only_for_editing(&self, folded: &str) -> Option<Name> {
        let hidden = self.sources.iter().filter(|lazy| lazy.source.is_for_editing() && !self.is_for_editing);
        let name = Name::new(folded).ok().filter(|_| self.prefix.is_none())?;
        hidden.map(LazyView::get).find_map(|view| view.locate(&name)).map(|_| name)
    }

    /// Whether a service renders the prompt that [`find`](View::find) finds.
    pub fn is_remote(&self, command: &str) -> bool {
        matches!(self.find(command), Lookup::Found(prompt) if prompt.is_remote())
    }

    fn find_any_spelling(&self, command: &str) -> Lookup {
        if strip(command).is_empty() {
            return Lookup::Unknown { why: Unknown::Empty, skipped: self.missing() };
        }
        let Names { own, builtin, skipped } = self.names();
        let mut names = [own, builtin].concat();
        let folded = fold(command);
        let matching: Vec<Name> = names.iter().filter(|name| fold(name) == folded).cloned().collect();
        match matching.as_slice() {
            [] => {}
            [name] => match self.get(name) {
                Some(Ok(prompt)) => return Lookup::Found(prompt),
                Some(Err(problem)) => return Lookup::Broken(problem),
                None => {} // deleted since the scan
            },
            _ => return Lookup::Unknown { why: Unknown::Ambiguous { command: command.to_owned(), matching }, skipped },
        }
        if let Some(name) = self.only_for_editing(&folded) {
            return Lookup::Unknown { why: Unknown::ForEditing { name }, skipped };
        }
        names.sort();
        let normalized = normalize(&folded);
        let why = if let Some(name) = names.iter().find(|name| fold(name) == normalized) {
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

/// A folded name without empty segments, and with `/` for `\`.
fn normalize(folded: &str) -> String {
    folded.split(['/', '\\']).filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("/")
}

/// The name and the text in a command such as `research solid-state batteries`.
fn with_text(command: &str, names: &[Name]) -> Option<(Name, String)> {
    let (first, text) = strip(command).split_once(char::is_whitespace)?;
    let folded = fold(first);
    let name = names.iter().find(|name| fold(name) == folded)?;
    Some((name.clone(), text.trim().to_owned()))
}

/// Names to suggest: those with a similar spelling, and those with the same beginning or the same last segment.
fn closest(folded: &str, names: &[Name]) -> Vec<Name> {
    let mut near: Vec<(usize, &Name)> = names
        .iter()
        .filter_map(|name| {
            let lower = fold(name);
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let is_beginning = folded.len() >= 2 && (lower.starts_with(folded) || last.starts_with(folded));
            let without_suffix = System::PromptExpander.prompt_file(folded).is_some_and(|(stem, _)| stem == lower);
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
    fn the_closest_names_come_first() {
        let names = |names: &[&str]| names.iter().map(|name| Name::new(name).unwrap()).collect::<Vec<_>>();
        let known = names(&["git/commit", "research", "rewrite", "review", "summarize"]);
        for (folded, want) in [
            ("reserch", &["research"][..]),
            ("commit", &["git/commit"]),
            ("sum", &["summarize"]),
            ("git/comit", &["git/commit"]),
            ("re", &["research", "review", "rewrite"]),
            ("research.md", &["research"]),
            ("xyzzy", &[]),
            ("", &[]),
            (&"r".repeat(100_000), &[]),
        ] {
            assert_eq!(closest(folded, &known), names(want), "{folded:.20}");
        }
        let numbered = names(&["000/prompt-00001", "000/prompt-00112"]);
        assert_eq!(closest("prompt-0001", &numbered)[0], numbered[0]);
        // Comparing each of these would take a million steps; only their beginnings are compared.
        let long: Vec<Name> = (0..10_000).map(|n| Name::new(&format!("{n:01000}")).unwrap()).collect();
        assert_eq!(closest(&"1".repeat(1000), &long), []);
    }
}
