//! What works, but looks like a slip of the pen: for `check`, never for a listing or an expansion.

use super::diagnostic::{Diagnostic, Positions};
use super::{INPUT, Prompt};
use crate::suggestion::closest;
use crate::wording::{all_of, named, quoted};
use std::collections::HashMap;

/// From here on a client may cut the middle out of an expansion, in characters: Codex shows its model 40,000 of what
/// one call prints, and that holds the text twice.
const LONG: usize = 18_000;

/// How many places one file is warned of that look like placeholders and are none.
const MAX_PLACES: usize = 100;

/// How many different words in braces are compared with the names. A body with more of them is full of another
/// program's templates.
const MAX_WORDS: usize = 1_000;

/// How other programs spell the place for the text. They mean nothing here.
const FOREIGN: [&str; 4] = ["$ARGUMENTS", "{{args}}", "${input}", "{input}"];

/// All warnings about what a file says, apart from how its frontmatter is written.
pub(super) fn lint(prompt: &Prompt) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    name(prompt, &mut warnings);
    body(prompt, &mut warnings);
    placeholders(prompt, &mut warnings);
    unused_arguments(prompt, &mut warnings);
    warnings
}

fn name(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    if prompt.name.contains(char::is_whitespace) {
        let hyphenated = prompt.name.split_whitespace().collect::<Vec<_>>().join("-");
        warnings.push(Diagnostic::warning(
            None,
            format!(
                "the name {} holds a blank, so nobody can type it as one word behind a colon",
                quoted(&prompt.name)
            ),
            format!("rename it to {}", named(&hyphenated)),
        ));
    }
}

fn body(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let body = prompt.template.body();
    if body.is_empty() {
        let message = "the prompt has no body: it expands to its input only";
        warnings.push(Diagnostic::warning(None, message, "write the instructions below the frontmatter"));
    }
    if let Some(at) = body.find('\0') {
        warnings.push(Diagnostic::warning(
            Some(Positions::new(body, prompt.body_line).at(at)),
            "a NUL character, as a file has that was saved as UTF-16",
            "save it with the encoding UTF-8",
        ));
    }
    let length = body.chars().count();
    if length > LONG {
        warnings.push(Diagnostic::warning(
            None,
            format!("the body is {length} characters long; from {LONG} on a client may cut the middle out"),
            "keep the instructions here, and name the material by its path for the agent to read",
        ));
    }
}

/// Placeholders that are none: a name misspelled, a brace too few, another program's spelling.
fn placeholders(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let body = prompt.template.body();
    let names: Vec<&str> = std::iter::once(INPUT).chain(prompt.arguments.iter().map(|a| a.name.as_str())).collect();
    let mut found: Vec<(usize, String, &str)> = Vec::new(); // where, as written, the name that is meant
    let mut meant: HashMap<&str, Option<&str>> = HashMap::new();
    for (at, opening) in body.match_indices("{{").chain(body.match_indices("<<")) {
        let close = if opening == "{{" { "}}" } else { ">>" };
        let inside = body[at + 2..].trim_start_matches([' ', '\t']);
        let length = inside.find(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)));
        let (word, after) = inside.split_at(length.unwrap_or(inside.len()));
        let after = after.trim_start_matches([' ', '\t']);
        let written = &body[at..body.len() - after.len()];
        if after.starts_with(close) && !names.contains(&word) {
            if meant.len() < MAX_WORDS {
                meant.entry(word).or_insert_with(|| closest(word, names.iter().copied()));
            }
            let meant = meant.get(word).copied().flatten();
            found.extend(meant.map(|meant| (at, format!("{written}{close}"), meant)));
        } else if opening == "{{"
            && after.starts_with('}')
            && !after.starts_with("}}")
            && let Some(meant) = names.iter().find(|name| **name == word)
        {
            found.push((at, format!("{written}}}"), meant));
        }
    }
    for name in &names {
        let written = format!("{{{name}}}}}");
        let places = body.match_indices(&written).map(|(at, _)| at).filter(|&at| !body[..at].ends_with('{'));
        found.extend(places.map(|at| (at, written.clone(), *name)));
    }
    if prompt.template.placeholders().next().is_none() {
        let foreign = FOREIGN.iter().filter_map(|foreign| Some((body.find(foreign)?, *foreign)));
        let foreign = foreign.filter(|(at, _)| !body[..*at].ends_with(['{', '$', '\\']));
        found.extend(foreign.map(|(at, foreign)| (at, foreign.to_owned(), INPUT)));
    }
    found.sort();
    let more = found.len().saturating_sub(MAX_PLACES);
    let first_of_them = found.drain(found.len() - more..).next();
    let mut positions = Positions::new(body, prompt.body_line);
    warnings.extend(found.into_iter().map(|(at, written, name)| {
        Diagnostic::warning(
            Some(positions.at(at)),
            format!("{} is no placeholder, and stays as written", quoted(&written)),
            format!("write `{{{{{name}}}}}` if it is meant to be replaced"),
        )
    }));
    warnings.extend(first_of_them.map(|(at, ..)| {
        let message = format!("from here on {more} more placeholders are none, and stay as written");
        Diagnostic::warning(Some(positions.at(at)), message, "repair those before, and check again")
    }));
}

fn unused_arguments(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let used = |name: &str| prompt.template.placeholders().any(|placeholder| placeholder.name == name);
    let unused: Vec<&str> = prompt.arguments.iter().map(|a| a.name.as_str()).filter(|name| !used(name)).collect();
    if !unused.is_empty() {
        let places: Vec<String> = unused.iter().map(|name| format!("{{{{{name}}}}}")).collect();
        warnings.push(Diagnostic::warning(
            None,
            format!("declared but not used in the body: {}", all_of(&unused)),
            format!("write `{}` where the text belongs, or drop the declaration", places.join("`, `")),
        ));
    }
}
