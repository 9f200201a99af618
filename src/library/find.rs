//! Finds the prompt that a user typed: by its exact name, by a name that differs only in spelling,
//! or else by suggesting similar names.

use super::source::{Found, Layer};
use super::view::View;
use crate::prompt::similar::edit_distance;
use crate::prompt::{
    Diagnostic, Format, Kind, Name, fold_name, non_command_kind, possible_names, strip_colon,
};
use crate::wording::{in_backticks, or_list, quoted};
use unicode_normalization::UnicodeNormalization;

/// The maximum number of names that an error suggests.
const MAX_SUGGESTED: usize = 3;

/// The minimum length of a name that may contain two typos instead of one, in characters.
const LONG_NAME: usize = 8;

/// How far a name to suggest is from what was typed, nearest first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NameDistance {
    /// The number of edits between the two. It is 0 if only the folders or a suffix differ.
    Edits(usize),
    /// Only the beginning of the name was typed.
    OnlyBeginning,
}

impl View {
    /// Finds the prompt that somebody called. If none is known, asks the team's server for it.
    ///
    /// # Errors
    /// Returns the errors of [`find_known`](View::find_known).
    pub fn find(&self, typed: &str) -> Result<Found, Diagnostic> {
        let known = self.find_known(typed);
        let is_unknown = known
            .as_ref()
            .is_err_and(|error| matches!(error.kind, Kind::NoSuchPrompt { .. }));
        if is_unknown && self.refresh_for(typed) {
            return self.find_known(typed);
        }
        known
    }

    /// Asks the team's server for new prompts, because none is known by the name that somebody
    /// typed. Returns whether it is worth to search again.
    pub(crate) fn refresh_for(&self, typed: &str) -> bool {
        let name = fold_name(typed);
        self.sources().any(|source| source.refresh_for(&name))
    }

    /// Finds the prompt that a user typed after a colon, or that a client requested, without asking
    /// a server. Its file may be broken.
    ///
    /// Tries the exact name first, which doesn't require listing all prompts. Otherwise ignores
    /// differences in spelling: a leading colon, surrounding spaces, letter case, `:` instead of
    /// `/`, and composed versus decomposed accents.
    ///
    /// # Errors
    /// Fails unless exactly one prompt matches.
    pub fn find_known(&self, typed: &str) -> Result<Found, Diagnostic> {
        match self.find_exactly(typed) {
            Some(found) => Ok(found),
            None => self.find_any_spelling(typed),
        }
    }

    /// Finds the prompt that was typed, without listing all prompts. Ignores the same differences
    /// in spelling as [`find_known`](View::find_known), except for letter case.
    pub fn find_exactly(&self, typed: &str) -> Option<Found> {
        if let Some(found) = self.get_typed(typed) {
            return Some(found);
        }
        let spellings = possible_names(typed);
        spellings.iter().find_map(|name| self.get_typed(name))
    }

    /// Returns the prompt with exactly this name. Returns `None` if there is none, or if the name
    /// is invalid.
    fn get_typed(&self, name: &str) -> Option<Found> {
        self.get(&Name::new(name).ok()?)
    }

    /// Finds the only prompt whose name matches except for its spelling. Also accepts the last
    /// segment of a name: `commit` for `git/commit`.
    ///
    /// # Errors
    /// Fails if the input is empty, or unless exactly one prompt matches.
    fn find_any_spelling(&self, typed: &str) -> Result<Found, Diagnostic> {
        if strip_colon(typed).is_empty() {
            let message = "the command is empty; it must be the name of a prompt";
            return Err(Diagnostic::new(Kind::NotACommand, message, ""));
        }
        let prompts = self.list().found;
        let names: Vec<&Name> = prompts.iter().map(|found| &found.name).collect();
        let folded = fold_name(typed);
        let mut matching: Vec<&Found> = prompts.iter().collect();
        matching.retain(|found| fold_name(&found.name) == folded);
        match matching[..] {
            [only] => return Ok(only.clone()),
            [] => {}
            _ => return Err(ambiguous_name_error(typed, &matching)),
        }
        // Only now, because a full name takes precedence over the last segment of another one.
        match only_with_last_segment(&prompts, typed) {
            Some(found) => Ok(found.clone()),
            None => Err(self.unknown_name_error(typed, &names)),
        }
    }

    /// Explains why no prompt is named `typed`. `names` are those of all prompts.
    ///
    /// Tries the explanations from the most to the least certain one, so their order matters.
    fn unknown_name_error(&self, typed: &str, names: &[&Name]) -> Diagnostic {
        let folded = &fold_name(typed);
        if let Ok(name) = Name::new(folded)
            && let Some(found) = self.only_for_editors(&name)
        {
            return editors_only_error(&found.name);
        }
        if let Some(name) = with_other_slashes(folded, names) {
            return no_such_prompt_error(typed, vec![name.clone()]);
        }
        if let Some(command) = CommandWithText::parse(typed, names) {
            return command.error();
        }
        if let Some(other) = non_command_kind(typed) {
            let message = format!("{} looks like {other}, not like a command", quoted(typed));
            return Diagnostic::new(Kind::NotACommand, message, "");
        }
        no_such_prompt_error(typed, closest(folded, names))
    }

    /// Returns the name of the existing prompt that looks the same as `name`. Such a name has the
    /// same characters, but may encode accents differently: `é` as one code point, or as `e` and a
    /// combining accent. Returns `name` if no prompt looks the same, or if several do.
    ///
    /// A command that writes to a prompt calls this first, so that it doesn't create a second
    /// prompt that the user can't tell from the existing one.
    pub fn existing_lookalike_or(&self, name: Name) -> Name {
        if self.get(&name).is_some() {
            return name; // fast path: doesn't list all prompts
        }
        let mut lookalikes = self.list().found;
        lookalikes.retain(|found| found.name.nfc().eq(name.nfc()));
        match &lookalikes[..] {
            [only] => only.name.clone(),
            _ => name,
        }
    }
}

/// Returns the only prompt whose name ends with the segment `typed`: `git/commit` for `commit`.
/// Returns `None` if there are none or several.
///
/// Only considers prompts in the user's own folders, including those for agents.
pub(crate) fn only_with_last_segment<'f>(
    prompts: impl IntoIterator<Item = &'f Found>,
    typed: &str,
) -> Option<&'f Found> {
    let typed = strip_colon(typed);
    let mut only_match = None;
    for found in prompts {
        let is_users_own = matches!(found.layer, Layer::USER | Layer::AGENT);
        if !is_users_own || !has_last_segment(&found.name, typed) {
            continue;
        }
        if only_match.is_some() {
            return None;
        }
        only_match = Some(found);
    }
    only_match
}

/// Returns whether `segment` follows the last `/` of a name. Ignores whether accents are composed.
fn has_last_segment(name: &str, segment: &str) -> bool {
    match segment_after_slash(name) {
        Some(last) => last.nfc().eq(segment.nfc()),
        None => false,
    }
}

/// Returns what follows the last `/` of a name: `commit` for `git/commit`. `None` if there is no
/// `/`.
fn segment_after_slash(name: &str) -> Option<&str> {
    name.rsplit_once('/').map(|(_, segment)| segment)
}

/// Returns the names that a user probably meant by `typed` in a message, best first: those with
/// this last segment, and those that differ by a typo (one edit, or two in a long name).
pub(crate) fn similar_names<'f>(
    prompts: impl IntoIterator<Item = &'f Found>,
    typed: &str,
) -> Vec<Name> {
    let folded = fold_name(typed);
    let names = prompts.into_iter().map(|found| &found.name);
    nearest(names, |name| typing_distance(&folded, &fold_name(name)))
}

/// Returns the number of edits between a name and what was typed, or `None` if there are too many
/// for a typo. Both strings must be [folded](fold_name).
fn typing_distance(typed: &str, name: &str) -> Option<usize> {
    if name == typed || segment_after_slash(name) == Some(typed) {
        return Some(0);
    }
    let is_long = name.chars().count() >= LONG_NAME;
    let max_edits = if is_long { 2 } else { 1 };
    edit_distance(typed, name).filter(|edits| *edits <= max_edits)
}

/// Returns names to suggest for what was typed, best first: those with a similar spelling, and
/// those with the same beginning or last segment. `folded` is the [folded](fold_name) input.
fn closest(folded: &str, names: &[&Name]) -> Vec<Name> {
    nearest(names.iter().copied(), |name| {
        suggestion_distance(folded, &fold_name(name))
    })
}

/// Returns how far a name is from what was typed, or `None` if it isn't similar. Both strings must
/// be [folded](fold_name).
///
/// - No edits if only the folders or a suffix differ: `commit` for `git/commit`, `research.md` for
///   `research`.
/// - The number of edits, if the spelling is similar.
/// - [`NameDistance::OnlyBeginning`] if at least two letters of the beginning were typed.
fn suggestion_distance(typed: &str, name: &str) -> Option<NameDistance> {
    let last = segment_after_slash(name).unwrap_or(name);
    if last == typed || is_file_name_of(typed, name) {
        return Some(NameDistance::Edits(0));
    }
    let edits = [edit_distance(typed, name), edit_distance(typed, last)];
    if let Some(least) = edits.into_iter().flatten().min() {
        return Some(NameDistance::Edits(least));
    }
    let is_beginning = name.starts_with(typed) || last.starts_with(typed);
    if typed.len() >= 2 && is_beginning {
        Some(NameDistance::OnlyBeginning)
    } else {
        None
    }
}

/// Returns whether a file name is that of a prompt: `research.md` for `research`.
fn is_file_name_of(file: &str, name: &str) -> bool {
    let prompt_file = Format::OWN.split_path(file);
    prompt_file.is_some_and(|(stem, _)| stem == name)
}

/// Returns up to [`MAX_SUGGESTED`] names, by ascending distance. Skips names without a distance.
fn nearest<'n, D: Ord>(
    names: impl Iterator<Item = &'n Name>,
    distance_of: impl Fn(&Name) -> Option<D>,
) -> Vec<Name> {
    let mut near: Vec<(D, &Name)> = Vec::new();
    for name in names {
        if let Some(distance) = distance_of(name) {
            near.push((distance, name));
        }
    }
    near.sort(); // by distance, and then by name
    near.truncate(MAX_SUGGESTED);
    near.into_iter().map(|(_, name)| name.clone()).collect()
}

/// Returns the name that differs from the [folded](fold_name) input only in slashes: `git/commit`
/// for `git\commit` or `/git//commit`.
fn with_other_slashes<'n>(folded: &str, names: &[&'n Name]) -> Option<&'n Name> {
    let mut segments: Vec<&str> = folded.split(['/', '\\']).collect();
    segments.retain(|segment| !segment.is_empty());
    let normalized = segments.join("/");
    names
        .iter()
        .copied()
        .find(|name| fold_name(name) == normalized)
}

/// A command that was passed as a name together with its input, e.g. `research solid-state
/// batteries`.
struct CommandWithText {
    name: Name,
    text: String,
}

impl CommandWithText {
    /// Splits the input after the first word, if that is one of these names.
    fn parse(typed: &str, names: &[&Name]) -> Option<CommandWithText> {
        let (command, text) = strip_colon(typed).split_once(char::is_whitespace)?;
        let folded = fold_name(command);
        let name = names.iter().find(|name| fold_name(name) == folded)?;
        Some(CommandWithText {
            name: (*name).clone(),
            text: text.trim().to_owned(),
        })
    }

    /// Explains which part is the command.
    fn error(self) -> Diagnostic {
        let message = format!(
            "the command is {}, and what follows it ({}) is its input",
            in_backticks(&self.name),
            quoted(&self.text)
        );
        let kind = Kind::TextInName { name: self.name };
        Diagnostic::new(kind, message, "name the command alone")
    }
}

/// How to let a server's user edit prompts.
pub const HOW_TO_ALLOW_EDITS: &str =
    "write `edit = true` into prompt-expander's config.toml, and restart the server";

/// Returns the error for a prompt that only editors can see.
fn editors_only_error(name: &Name) -> Diagnostic {
    let message = format!(
        "{} is only available to agents that may edit prompts",
        in_backticks(name)
    );
    let fix = format!("{HOW_TO_ALLOW_EDITS}, or use a token with the role `write`");
    Diagnostic::new(Kind::EditorsOnly, message, fix)
}

/// Returns the error for a name that matches several prompts except for its spelling.
fn ambiguous_name_error(typed: &str, matching: &[&Found]) -> Diagnostic {
    let names: Vec<Name> = matching.iter().map(|found| found.name.clone()).collect();
    let message = format!("no prompt is named exactly {}", quoted(typed));
    Diagnostic::new(Kind::Ambiguous, message, did_you_mean(&names))
}

/// Returns the error for an unknown name. `closest` are names to suggest.
fn no_such_prompt_error(typed: &str, closest: Vec<Name>) -> Diagnostic {
    let message = format!("no prompt named {}", quoted(typed));
    let fix = did_you_mean(&closest);
    Diagnostic::new(Kind::NoSuchPrompt { closest }, message, fix)
}

/// Returns a question such as ``did you mean `plan` or `review`?``, or `""` if there are no names.
fn did_you_mean(names: &[Name]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!("did you mean {}?", or_list(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<Name> {
        let names = names.iter().map(|name| Name::new(name).unwrap());
        names.collect()
    }

    fn closest_in(known: &[Name], folded: &str) -> Vec<Name> {
        let known: Vec<&Name> = known.iter().collect();
        closest(folded, &known)
    }

    #[test]
    fn the_closest_names_come_first() {
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
            assert_eq!(closest_in(&known, folded), names(want), "{folded:.20}");
        }
        let numbered = names(&["000/prompt-00001", "000/prompt-00112"]);
        assert_eq!(closest_in(&numbered, "prompt-0001")[0], numbered[0]);
    }

    #[test]
    fn long_names_are_compared_only_at_their_beginning() {
        // Comparing each of these would take a million steps.
        let mut long = Vec::new();
        for number in 0..2_000 {
            long.push(Name::new(&format!("{number:01000}")).unwrap());
        }
        assert_eq!(closest_in(&long, &"1".repeat(1000)), []);
    }
}
