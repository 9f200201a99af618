//! Finds the prompt for what was typed: the exact name, else the one name that matches, else names
//! to suggest.

use super::source::{Found, Layer, Listing};
use super::view::View;
use crate::prompt::similar::distance;
use crate::prompt::{Diagnostic, Format, Kind, Name, fold, not_a_command, spellings, strip};
use crate::wording::{alternatives, named, quoted};
use unicode_normalization::UnicodeNormalization;

/// How many names an error offers.
const OFFERED: usize = 3;

impl View {
    /// Finds the prompt that was typed, as a person types it after a colon or a client passes it
    /// on. Its file may be broken.
    ///
    /// The exact name is tried first, without a scan. Then a leading colon, spaces around the name,
    /// letter case, `:` for `/`, and composed or separate accents are ignored where exactly one
    /// prompt matches.
    ///
    /// # Errors
    /// There is no such prompt.
    pub fn find(&self, typed: &str) -> Result<Found, Diagnostic> {
        self.find_exactly(typed)
            .map_or_else(|| self.find_any_spelling(typed), Ok)
    }

    /// The same without a scan: nothing but a leading colon, spaces around the name, `:` for `/`,
    /// and composed or separate accents are ignored.
    pub fn find_exactly(&self, typed: &str) -> Option<Found> {
        let get = |name: &str| self.get(&Name::new(name).ok()?);
        get(typed).or_else(|| spellings(typed).iter().find_map(|name| get(name)))
    }

    fn find_any_spelling(&self, typed: &str) -> Result<Found, Diagnostic> {
        if strip(typed).is_empty() {
            let message = "the command is empty; it must be the name of a prompt";
            return Err(Diagnostic::new(Kind::NotACommand, message, ""));
        }
        let Listing { mut found, .. } = self.list();
        let folded = fold(typed);
        let matching: Vec<usize> = (0..found.len())
            .filter(|index| fold(&found[*index].name) == folded)
            .collect();
        let names: Vec<&Name> = found.iter().map(|found| &found.name).collect();
        match matching[..] {
            [] if let Some(found) = with_last_part(&found, typed) => Ok(found.clone()),
            [] => Err(self.unknown(typed, &folded, &names)),
            [only] => Ok(found.swap_remove(only)),
            _ => {
                let matching: Vec<Name> = matching
                    .into_iter()
                    .map(|index| names[index].clone())
                    .collect();
                let message = format!("no prompt is named exactly {}", quoted(typed));
                let fix = did_you_mean(&matching);
                Err(Diagnostic::new(Kind::Ambiguous, message, fix))
            }
        }
    }

    /// Why none of these names is what was typed.
    fn unknown(&self, typed: &str, folded: &str, names: &[&Name]) -> Diagnostic {
        if let Some(found) = Name::new(folded)
            .ok()
            .and_then(|name| self.only_for_editors(&name))
        {
            let message = format!(
                "{} is there only for agents that may edit prompts",
                named(&found.name)
            );
            let fix = "start the server with --edit, or use a token with the role `write`";
            return Diagnostic::new(Kind::EditorsOnly, message, fix);
        }
        // Without empty segments, and with `/` for `\`.
        let normalized: Vec<&str> = folded
            .split(['/', '\\'])
            .filter(|segment| !segment.is_empty())
            .collect();
        let normalized = normalized.join("/");
        let meant = names.iter().find(|name| fold(name) == normalized);
        if let (None, Some((name, text))) = (meant, with_text(typed, names)) {
            let message = format!(
                "the command is {}, and what follows it ({}) is its input",
                named(&name),
                quoted(&text)
            );
            return Diagnostic::new(Kind::TextInName { name }, message, "name the command alone");
        }
        if let (None, Some(other)) = (meant, not_a_command(typed)) {
            let message = format!("{} looks like {other}, not like a command", quoted(typed));
            return Diagnostic::new(Kind::NotACommand, message, "");
        }
        let closest = meant.map_or_else(|| closest(folded, names), |name| vec![(*name).clone()]);
        let fix = did_you_mean(&closest);
        Diagnostic::new(
            Kind::NoSuchPrompt { closest },
            format!("no prompt named {}", quoted(typed)),
            fix,
        )
    }

    /// The spelling of this name in the library, if the two differ only in how accents are stored:
    /// a second file could not be told apart from the first.
    pub fn stored_spelling(&self, name: Name) -> Name {
        if self.get(&name).is_some() {
            return name;
        }
        let mut equal: Vec<Name> = self
            .list()
            .found
            .into_iter()
            .map(|found| found.name.clone())
            .collect();
        equal.retain(|other| other.nfc().eq(name.nfc()));
        if let [only] = &equal[..] {
            only.clone()
        } else {
            name
        }
    }
}

/// The prompt with this last part of its name, if it is the only one in the user's own folders and
/// those of agents.
pub(crate) fn with_last_part<'f>(
    found: impl IntoIterator<Item = &'f Found>,
    typed: &str,
) -> Option<&'f Found> {
    let typed = strip(typed);
    let mut meant = found.into_iter().filter(|found| {
        let is_of_user = matches!(found.layer, Layer::USER | Layer::AGENT);
        is_of_user && last_part(&found.name).is_some_and(|part| part.nfc().eq(typed.nfc()))
    });
    meant.next().filter(|_| meant.next().is_none())
}

/// What follows the last `/` of a name.
fn last_part(name: &str) -> Option<&str> {
    name.rsplit_once('/').map(|(_, part)| part)
}

/// The names, the nearest first, that may have been meant by what a person typed in a message:
/// those with this last part, and those that are one edit away or, from eight letters on, two.
pub(crate) fn meant_by<'f>(found: impl IntoIterator<Item = &'f Found>, typed: &str) -> Vec<Name> {
    let folded = fold(typed);
    let edits = |name: &Name| {
        let lower = fold(name);
        let is_same = lower == folded || last_part(&lower) == Some(&folded);
        let most = if lower.chars().count() < 8 { 1 } else { 2 };
        if is_same {
            Some(0)
        } else {
            distance(&folded, &lower).filter(|edits| *edits <= most)
        }
    };
    let mut near: Vec<(usize, &Name)> = found
        .into_iter()
        .filter_map(|it| Some((edits(&it.name)?, &it.name)))
        .collect();
    near.sort();
    near.into_iter()
        .take(OFFERED)
        .map(|(_, name)| name.clone())
        .collect()
}

fn did_you_mean(names: &[Name]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!("did you mean {}?", alternatives(names))
    }
}

/// The name and the text in a command such as `research solid-state batteries`.
fn with_text(command: &str, names: &[&Name]) -> Option<(Name, String)> {
    let (first, text) = strip(command).split_once(char::is_whitespace)?;
    let folded = fold(first);
    let name = names.iter().find(|name| fold(name) == folded)?;
    Some(((*name).clone(), text.trim().to_owned()))
}

/// Names to suggest: those with a similar spelling, and those with the same beginning or the same
/// last segment.
fn closest(folded: &str, names: &[&Name]) -> Vec<Name> {
    let mut near: Vec<(usize, &Name)> = names
        .iter()
        .filter_map(|name| {
            let lower = fold(name);
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let is_beginning =
                folded.len() >= 2 && (lower.starts_with(folded) || last.starts_with(folded));
            let without_suffix = Format::OWN
                .prompt_file(folded)
                .is_some_and(|(stem, _)| stem == lower);
            let score = if last == folded || without_suffix {
                Some(0)
            } else {
                let distances = [distance(folded, &lower), distance(folded, last)];
                distances
                    .into_iter()
                    .flatten()
                    .min()
                    .or(is_beginning.then_some(usize::MAX))
            };
            Some((score?, *name))
        })
        .collect();
    near.sort();
    near.into_iter()
        .take(OFFERED)
        .map(|(_, name)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_names_come_first() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| Name::new(name).unwrap())
                .collect::<Vec<_>>()
        };
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
            assert_eq!(
                closest(folded, &known.iter().collect::<Vec<_>>()),
                names(want),
                "{folded:.20}"
            );
        }
        let numbered = names(&["000/prompt-00001", "000/prompt-00112"]);
        assert_eq!(
            closest("prompt-0001", &numbered.iter().collect::<Vec<_>>())[0],
            numbered[0]
        );
        // Comparing each of these would take a million steps; only their beginnings are compared.
        let long: Vec<Name> = (0..2_000)
            .map(|n| Name::new(&format!("{n:01000}")).unwrap())
            .collect();
        assert_eq!(
            closest(&"1".repeat(1000), &long.iter().collect::<Vec<_>>()),
            []
        );
    }
}
