//! Finds the prompt for what was typed: the exact name, else the one name that matches, else names
//! to suggest.

use super::source::{Found, Layer};
use super::view::View;
use crate::prompt::similar::edit_distance;
use crate::prompt::{
    Diagnostic, Format, Kind, Name, fold_name, non_command_kind, possible_names, strip_colon,
};
use crate::wording::{in_backticks, or_list, quoted};
use unicode_normalization::UnicodeNormalization;

/// The most names that an error suggests.
const MAX_SUGGESTED: usize = 3;

/// From this number of letters on, a name may have two typing mistakes instead of one.
const LONG_NAME: usize = 8;

/// The distance of two names that have only their beginning in common. Every other similar name is
/// nearer.
const ONLY_BEGINNING: usize = usize::MAX;

impl View {
    /// Finds the prompt whose name a person typed after a colon, or a client passed on. The file of
    /// the prompt may be broken.
    ///
    /// The exact name is tried first, since it needs no list of all prompts. Then differences in
    /// spelling are ignored, if exactly one prompt matches: a leading colon, spaces around the
    /// name, letter case, `:` for `/`, and composed or separate accents.
    ///
    /// # Errors
    /// There is no such prompt.
    pub fn find(&self, typed: &str) -> Result<Found, Diagnostic> {
        match self.find_exactly(typed) {
            Some(found) => Ok(found),
            None => self.find_any_spelling(typed),
        }
    }

    /// Finds the prompt whose name was typed, without listing all prompts. Letter case counts. A
    /// leading colon, spaces around the name, `:` for `/`, and composed or separate accents make no
    /// difference.
    pub fn find_exactly(&self, typed: &str) -> Option<Found> {
        if let Some(found) = self.get_typed(typed) {
            return Some(found);
        }
        let spellings = possible_names(typed);
        spellings.iter().find_map(|name| self.get_typed(name))
    }

    /// Returns the prompt with exactly this name; `None` also if no prompt can have the name.
    fn get_typed(&self, name: &str) -> Option<Found> {
        self.get(&Name::new(name).ok()?)
    }

    /// Finds the only prompt whose name equals what was typed, apart from spelling, or whose last
    /// part does: `commit` for `git/commit`.
    ///
    /// # Errors
    /// What was typed is empty; no prompt or several prompts match.
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
        match with_last_part(&prompts, typed) {
            Some(found) => Ok(found.clone()),
            None => Err(self.unknown_name_error(typed, &folded, &names)),
        }
    }

    /// Returns the error that says why no prompt has the name `typed`. `folded` is the result of
    /// [`fold_name`] for `typed`, and `names` are the names of all prompts.
    fn unknown_name_error(&self, typed: &str, folded: &str, names: &[&Name]) -> Diagnostic {
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

    /// Returns the name of the prompt that differs from `name` only in composed or separate
    /// accents; without exactly one such prompt, `name` itself.
    ///
    /// A person could not tell a second file with such a name from the first.
    pub fn stored_spelling(&self, name: Name) -> Name {
        if self.get(&name).is_some() {
            return name;
        }
        let mut prompts = self.list().found;
        prompts.retain(|found| found.name.nfc().eq(name.nfc()));
        match &prompts[..] {
            [only] => only.name.clone(),
            _ => name,
        }
    }
}

/// Returns the prompt whose name has `typed` as its last part, such as `git/commit` for `commit`;
/// `None` if there are several.
///
/// Only prompts in the user's own folders, and in the user's folders of agents, count.
pub(crate) fn with_last_part<'f>(
    prompts: impl IntoIterator<Item = &'f Found>,
    typed: &str,
) -> Option<&'f Found> {
    let typed = strip_colon(typed);
    let mut only = None;
    for found in prompts {
        let is_of_user = matches!(found.layer, Layer::USER | Layer::AGENT);
        if !is_of_user || !has_last_part(&found.name, typed) {
            continue;
        }
        if only.is_some() {
            return None;
        }
        only = Some(found);
    }
    only
}

/// Returns whether `part` follows the last `/` of a name. Composed and separate accents are equal.
fn has_last_part(name: &str, part: &str) -> bool {
    match last_part(name) {
        Some(last) => last.nfc().eq(part.nfc()),
        None => false,
    }
}

/// Returns what follows the last `/` of a name: `commit` for `git/commit`; `None` without a `/`.
fn last_part(name: &str) -> Option<&str> {
    name.rsplit_once('/').map(|(_, part)| part)
}

/// Returns the names that a person may have meant who typed `typed` in a message, the nearest
/// first.
///
/// These are the names with `typed` as their last part, and those that differ from it by a typing
/// mistake: one edit or, in a long name, two.
pub(crate) fn similar_names<'f>(
    prompts: impl IntoIterator<Item = &'f Found>,
    typed: &str,
) -> Vec<Name> {
    let folded = fold_name(typed);
    let names = prompts.into_iter().map(|found| &found.name);
    nearest(names, |name| typing_distance(&folded, &fold_name(name)))
}

/// Returns how many edits separate a name from what was typed in a message; `None` if there are too
/// many for a typing mistake. Both texts are results of [`fold_name`].
fn typing_distance(typed: &str, name: &str) -> Option<usize> {
    if name == typed || last_part(name) == Some(typed) {
        return Some(0);
    }
    let is_long = name.chars().count() >= LONG_NAME;
    let max_edits = if is_long { 2 } else { 1 };
    edit_distance(typed, name).filter(|edits| *edits <= max_edits)
}

/// Returns names to suggest for what was typed, the nearest first: names with a similar spelling,
/// and names with the same beginning or the same last part. `folded` is the result of [`fold_name`].
fn closest(folded: &str, names: &[&Name]) -> Vec<Name> {
    nearest(names.iter().copied(), |name| {
        suggestion_distance(folded, &fold_name(name))
    })
}

/// Returns how far a name is from what was typed; `None` if it is not similar. Both texts are
/// results of [`fold_name`].
///
/// The distance is 0 if only the folders or a suffix differ, as in `commit` and `research.md` for
/// `git/commit` and `research`. Otherwise, it is the number of edits or, for a name of which only
/// the beginning was typed, [`ONLY_BEGINNING`].
fn suggestion_distance(typed: &str, name: &str) -> Option<usize> {
    let last = last_part(name).unwrap_or(name);
    if last == typed || is_file_of(typed, name) {
        return Some(0);
    }
    let edits = [edit_distance(typed, name), edit_distance(typed, last)];
    if let Some(least) = edits.into_iter().flatten().min() {
        return Some(least);
    }
    let is_beginning = name.starts_with(typed) || last.starts_with(typed);
    if typed.len() >= 2 && is_beginning {
        Some(ONLY_BEGINNING)
    } else {
        None
    }
}

/// Returns whether a file name belongs to the prompt `name`: `research.md` to `research`.
fn is_file_of(file: &str, name: &str) -> bool {
    let prompt_file = Format::OWN.split_path(file);
    prompt_file.is_some_and(|(stem, _)| stem == name)
}

/// Returns the names with the least distance, the nearest first, and at most [`MAX_SUGGESTED`].
/// Names for which `distance_of` returns `None` are left out.
fn nearest<'n>(
    names: impl Iterator<Item = &'n Name>,
    distance_of: impl Fn(&Name) -> Option<usize>,
) -> Vec<Name> {
    let mut near: Vec<(usize, &Name)> = Vec::new();
    for name in names {
        if let Some(distance) = distance_of(name) {
            near.push((distance, name));
        }
    }
    near.sort();
    near.truncate(MAX_SUGGESTED);
    near.into_iter().map(|(_, name)| name.clone()).collect()
}

/// Returns the name that differs from what was typed only in slashes: `git/commit` for `git\commit`
/// or `/git//commit`. `folded` is the result of [`fold_name`] for what was typed.
fn with_other_slashes<'n>(folded: &str, names: &[&'n Name]) -> Option<&'n Name> {
    let mut segments: Vec<&str> = folded.split(['/', '\\']).collect();
    segments.retain(|segment| !segment.is_empty());
    let normalized = segments.join("/");
    names
        .iter()
        .copied()
        .find(|name| fold_name(name) == normalized)
}

/// A command that was passed on with the text after it, such as `research solid-state batteries`.
struct CommandWithText {
    name: Name,
    text: String,
}

impl CommandWithText {
    /// Divides what was typed at the first space, if one of these names is before it.
    fn parse(typed: &str, names: &[&Name]) -> Option<CommandWithText> {
        let (command, text) = strip_colon(typed).split_once(char::is_whitespace)?;
        let folded = fold_name(command);
        let name = names.iter().find(|name| fold_name(name) == folded)?;
        Some(CommandWithText {
            name: (*name).clone(),
            text: text.trim().to_owned(),
        })
    }

    /// Returns the error that says which part is the command.
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

/// What makes a server let its user edit prompts.
pub const HOW_TO_ALLOW_EDITS: &str =
    "write `edit = true` into prompt-expander's config.toml, and restart the server";

/// Returns the error for a prompt that exists only for callers who may edit prompts.
fn editors_only_error(name: &Name) -> Diagnostic {
    let message = format!(
        "{} is there only for agents that may edit prompts",
        in_backticks(name)
    );
    let fix = format!("{HOW_TO_ALLOW_EDITS}, or use a token with the role `write`");
    Diagnostic::new(Kind::EditorsOnly, message, fix)
}

/// Returns the error for a name that several prompts have in another spelling.
fn ambiguous_name_error(typed: &str, matching: &[&Found]) -> Diagnostic {
    let names: Vec<Name> = matching.iter().map(|found| found.name.clone()).collect();
    let message = format!("no prompt is named exactly {}", quoted(typed));
    Diagnostic::new(Kind::Ambiguous, message, did_you_mean(&names))
}

/// Returns the error for a name that no prompt has. `closest` are names to suggest.
fn no_such_prompt_error(typed: &str, closest: Vec<Name>) -> Diagnostic {
    let message = format!("no prompt named {}", quoted(typed));
    let fix = did_you_mean(&closest);
    Diagnostic::new(Kind::NoSuchPrompt { closest }, message, fix)
}

/// Returns a question such as ``did you mean `plan` or `review`?``; an empty text without names.
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
