//! What works, but looks like a slip of the pen: for `check`, never for a listing or an expansion.

use super::diagnostic::{Diagnostic, Positions};
use super::{INPUT, Prompt, markdown};
use crate::suggestion::closest;
use crate::wording::{all_of, named, quoted};
use std::collections::{HashMap, HashSet};

/// From here on a client may cut the middle out of an expansion, in characters: Codex shows its model 40,000 of what
/// one call prints, and that holds the text twice.
pub const LONG: usize = 18_000;

/// How many places one file is warned of that look like placeholders and are none.
const MAX_PLACES: usize = 100;

/// How many different words in braces are compared with the names. A body with more of them is full of another
/// program's templates.
const MAX_WORDS: usize = 200;

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
                "the name {} contains a space, so it cannot be typed as one word after a colon",
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
    if length >= LONG {
        warnings.push(Diagnostic::warning(
            None,
            format!("the body is {length} characters long; from {LONG} on a client may cut the middle out"),
            "keep the instructions here, and name the material by its path for the agent to read",
        ));
    }
}

/// What looks like a placeholder and is none.
pub(super) struct Lookalike<'p> {
    /// The byte of the body at which it begins.
    pub(super) at: usize,
    pub(super) written: String,
    meant: Meant<'p>,
}

/// What whoever wrote it may have meant.
#[derive(Clone, Copy)]
enum Meant<'p> {
    /// The placeholder of this name.
    Placeholder(&'p str),
    /// An argument of this name, which is not declared.
    Argument(&'p str),
}

/// Placeholders that are none: a name misspelled, a brace too few, another program's spelling.
pub(super) fn lookalikes(prompt: &Prompt) -> Vec<Lookalike<'_>> {
    let body = prompt.template.body();
    let names: Vec<&str> = std::iter::once(INPUT).chain(prompt.arguments.iter().map(|a| a.name.as_str())).collect();
    let mut found = misspelled(body, &names);
    found.extend(half_open(body, &names));
    if prompt.template.placeholders().next().is_none() {
        found.extend(foreign(body));
    }
    found.sort_by_key(|lookalike| lookalike.at);
    found
}

fn placeholders(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let found = lookalikes(prompt);
    let body = prompt.template.body();
    let mut positions = Positions::new(body, prompt.body_line);
    let more = found.len().saturating_sub(MAX_PLACES);
    for Lookalike { at, written, meant } in found.iter().take(MAX_PLACES) {
        let repair = match meant {
            Meant::Placeholder(name) => format!("write `{{{{{name}}}}}` if it is meant to be replaced"),
            Meant::Argument(name) => {
                format!("declare {} in the `arguments` of the frontmatter if it is meant to be replaced", quoted(name))
            }
        };
        let message = format!("{} is not a placeholder, and is left as it is", quoted(written));
        warnings.push(Diagnostic::warning(Some(positions.at(*at)), message, repair));
    }
    if let Some(first) = found.get(MAX_PLACES) {
        let message = format!("from here on, {more} more like these are not placeholders, and are left as they are");
        let repair = "repair those before, and check again";
        warnings.push(Diagnostic::warning(Some(positions.at(first.at)), message, repair));
    }
}

/// `{{inptu}}`, `<<inptu>>`, and `{{input}`, with one brace too few at its end; and the first place of each `{{name}}`
/// that looks like an argument, unless it stands in code.
fn misspelled<'p>(body: &'p str, names: &[&'p str]) -> Vec<Lookalike<'p>> {
    let mut found = Vec::new();
    let mut nearest: HashMap<&str, Option<&'p str>> = HashMap::new();
    let mut undeclared = HashSet::new();
    let code = markdown::code(body);
    let is_code =
        |at: usize| code[..code.partition_point(|range| range.start <= at)].last().is_some_and(|range| at < range.end);
    for (at, opening) in body.match_indices("{{").chain(body.match_indices("<<")) {
        let close = if opening == "{{" { "}}" } else { ">>" };
        let inside = body[at + 2..].trim_start_matches([' ', '\t']);
        let length = inside.find(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)));
        let (word, after) = inside.split_at(length.unwrap_or(inside.len()));
        let after = after.trim_start_matches([' ', '\t']);
        let exact = names.iter().find(|name| **name == word).copied();
        let (meant, close) = if after.starts_with(close) && exact.is_none() {
            if nearest.len() < MAX_WORDS {
                nearest.entry(word).or_insert_with(|| closest(word, names.iter().copied()));
            }
            let meant = nearest.get(word).copied().flatten().map(Meant::Placeholder);
            let mut is_first = || undeclared.len() < MAX_WORDS && undeclared.insert(word);
            let is_name = word.starts_with(char::is_alphabetic) && word != "args"; // Gemini CLI's

            (meant.or_else(|| (is_name && !is_code(at) && is_first()).then_some(Meant::Argument(word))), close)
        } else if close == "}}" && after.starts_with('}') && !after.starts_with(close) {
            (exact.map(Meant::Placeholder), "}")
        } else {
            (None, close)
        };
        let written = &body[at..body.len() - after.len()];
        found.extend(meant.map(|meant| Lookalike { at, written: format!("{written}{close}"), meant }));
    }
    found
}

/// `{input}}`, with one brace too few at its beginning.
fn half_open<'p>(body: &str, names: &[&'p str]) -> Vec<Lookalike<'p>> {
    let of = |meant: &'p str| {
        let written = format!("{{{meant}}}}}");
        let places: Vec<usize> = body.match_indices(&written).map(|(at, _)| at).collect();
        let places = places.into_iter().filter(|&at| !body[..at].ends_with('{'));
        places.map(move |at| Lookalike { at, written: written.clone(), meant: Meant::Placeholder(meant) })
    };
    names.iter().copied().flat_map(of).collect()
}

/// The first place of each spelling of other programs.
fn foreign<'p>(body: &str) -> Vec<Lookalike<'p>> {
    let places = FOREIGN.iter().filter_map(|foreign| Some((body.find(foreign)?, *foreign)));
    let places = places.filter(|(at, _)| !body[..*at].ends_with(['{', '$', '\\']));
    places
        .map(|(at, written)| Lookalike { at, written: written.to_owned(), meant: Meant::Placeholder(INPUT) })
        .collect()
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
