//! Finds the prompt for what was typed: the exact name, else the one name that matches, else names to suggest.

use super::source::{Found, Listing};
use super::view::View;
use crate::prompt::similar::distance;
use crate::prompt::{Diagnostic, Format, Kind, Name, fold, not_a_command, spellings, strip};
use crate::wording::{alternatives, named, quoted};
use unicode_normalization::UnicodeNormalization;

/// How many names an error offers.
const OFFERED: usize = 3;

impl View {
    /// Finds the prompt that was typed, as a person types it after a colon or a client passes it on. Its file may be broken.
    ///
    /// The exact name is tried first, without a scan. Then a leading colon, spaces around the name, letter case, `:` for `/`, and
    /// composed or separate accents are ignored where exactly one prompt matches.
    ///
    /// # Errors
    /// There is no such prompt.
    pub fn find(&self, typed: &str) -> Result<Found, Diagnostic> {
        self.find_exactly(typed).map_or_else(|| self.find_any_spelling(typed), Ok)
    }

    /// The same without a scan: nothing but a leading colon, spaces around the name, `:` for `/`, and composed or separate accents are
    /// ignored.
    pub fn find_exactly(&self, typed: &str) -> Option<Found> {
        spellings(typed).iter().find_map(|name| self.get(&Name::new(name).ok()?))
    }

    fn find_any_spelling(&self, typed: &str) -> Result<Found, Diagnostic> {
        if strip(typed).is_empty() {
            let message = "the command is empty; it must be the name of a prompt";
            return Err(Diagnostic::new(Kind::NotACommand, message, ""));
        }
        let Listing { mut found, .. } = self.list();
        let folded = fold(typed);
        let matching: Vec<usize> = (0..found.len()).filter(|index| fold(&found[*index].name) == folded).collect();
        let names: Vec<&Name> = found.iter().map(|found| &found.name).collect();
        match matching[..] {
            [] => Err(self.unknown(typed, &folded, &names)),
            [only] => Ok(found.swap_remove(only)),
            _ => {
                let matching: Vec<Name> = matching.into_iter().map(|index| names[index].clone()).collect();
                let message = format!("no prompt is named exactly {}", quoted(typed));
                let fix = did_you_mean(&matching);
                Err(Diagnostic::new(Kind::Ambiguous { matching }, message, fix))
            }
        }
    }

    /// Why none of these names is what was typed.
    fn unknown(&self, typed: &str, folded: &str, names: &[&Name]) -> Diagnostic {
        if let Some(found) = Name::new(folded).ok().and_then(|name| self.only_for_editors(&name)) {
            let message = format!("{} is there only for agents that may edit prompts", named(&found.name));
            let fix = "start the server with --edit, or use a token with the role `write`";
            return Diagnostic::new(Kind::EditorsOnly, message, fix);
        }
        // Without empty segments, and with `/` for `\`.
        let normalized: Vec<&str> = folded.split(['/', '\\']).filter(|segment| !segment.is_empty()).collect();
        let normalized = normalized.join("/");
        let meant = names.iter().find(|name| fold(name) == normalized);
        if let (None, Some((name, text))) = (meant, with_text(typed, names)) {
            let (shown, kind) = (named(&name), Kind::TextInName { name, text: text.clone() });
            let message = format!("the command is {shown} alone");
            return Diagnostic::new(kind, message, format!("what follows it ({}) is its input", quoted(&text)));
        }
        if let (None, Some(other)) = (meant, not_a_command(typed)) {
            let message = format!("{} looks like {other}, not like a command", quoted(typed));
            return Diagnostic::new(Kind::NotACommand, message, "");
        }
        let closest = meant.map_or_else(|| closest(folded, names), |name| vec![(*name).clone()]);
        let fix = did_you_mean(&closest);
        Diagnostic::new(Kind::NoSuchPrompt { closest }, format!("no prompt named {}", quoted(typed)), fix)
    }

    /// The spelling of this name in the library, if the two differ only in how accents are stored: a second file could not be told apart
    /// from the first.
    pub fn stored_spelling(&self, name: Name) -> Name {
        if self.get(&name).is_some() {
            return name;
        }
        let mut equal: Vec<Name> = self.list().found.into_iter().map(|found| found.name).collect();
        equal.retain(|other| other.nfc().eq(name.nfc()));
        if let [only] = &equal[..] { only.clone() } else { name }
    }
}

fn did_you_mean(names: &[Name]) -> String {
    if names.is_empty() { String::new() } else { format!("did you mean {}?", alternatives(names)) }
}

/// The name and the text in a command such as `research solid-state batteries`.
fn with_text(command: &str, names: &[&Name]) -> Option<(Name, String)> {
    let (first, text) = strip(command).split_once(char::is_whitespace)?;
    let folded = fold(first);
    let name = names.iter().find(|name| fold(name) == folded)?;
    Some(((*name).clone(), text.trim().to_owned()))
}

/// Names to suggest: those with a similar spelling, and those with the same beginning or the same last segment.
fn closest(folded: &str, names: &[&Name]) -> Vec<Name> {
    let mut near: Vec<(usize, &Name)> = names
        .iter()
        .filter_map(|name| {
            let lower = fold(name);
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let is_beginning = folded.len() >= 2 && (lower.starts_with(folded) || last.starts_with(folded));
            let without_suffix = Format::OWN.prompt_file(folded).is_some_and(|(stem, _)| stem == lower);
            let score = if last == folded || without_suffix {
                Some(0)
            } else {
                let distances = [distance(folded, &lower), distance(folded, last)];
                distances.into_iter().flatten().min().or(is_beginning.then_some(usize::MAX))
            };
            Some((score?, *name))
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
            assert_eq!(closest(folded, &known.iter().collect::<Vec<_>>()), names(want), "{folded:.20}");
        }
        let numbered = names(&["000/prompt-00001", "000/prompt-00112"]);
        assert_eq!(closest("prompt-0001", &numbered.iter().collect::<Vec<_>>())[0], numbered[0]);
        // Comparing each of these would take a million steps; only their beginnings are compared.
        let long: Vec<Name> = (0..10_000).map(|n| Name::new(&format!("{n:01000}")).unwrap()).collect();
        assert_eq!(closest(&"1".repeat(1000), &long.iter().collect::<Vec<_>>()), []);
    }
}
