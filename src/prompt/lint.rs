//! What works, but looks like a slip of the pen: for `check`, never for a listing or an expansion.

use super::diagnostic::{Diagnostic, Position};
use super::{INPUT, Prompt};
use crate::wording::{alternatives, closest, quoted};

/// From here on a client may cut the middle out of an expansion, in characters: Codex shows its model 40,000 of what
/// one call prints, and that holds the text twice.
const LONG: usize = 18_000;

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
            format!("rename it to {}", quoted(&hyphenated)),
        ));
    }
}

fn body(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let body = prompt.template.body();
    if body.is_empty() {
        let message = "the prompt has no body: it expands to its input only";
        warnings.push(Diagnostic::warning(None, message, "write the instructions below the frontmatter"));
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
    let mut warn = |at: usize, written: &str, name: &str| {
        warnings.push(Diagnostic::warning(
            Some(Position::in_text(body, at, prompt.body_line)),
            format!("{} is no placeholder, and stays as written", quoted(written)),
            format!("write `{{{{{name}}}}}` if it is meant to be replaced"),
        ));
    };
    for (at, _) in body.match_indices("{{").chain(body.match_indices("<<")) {
        let close = if body[at..].starts_with('{') { "}}" } else { ">>" };
        let inside = &body[at + 2..];
        let word = inside.trim_start_matches([' ', '\t']);
        let length = word.find(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)));
        let (word, after) = word.split_at(length.unwrap_or(word.len()));
        let after = after.trim_start_matches([' ', '\t']);
        let written = &body[at..body.len() - after.len()];
        if after.starts_with(close) {
            if !names.contains(&word)
                && let Some(meant) = closest(word, names.iter().copied())
            {
                warn(at, &body[at..body.len() - after.len() + close.len()], meant);
            }
        } else if close == "}}" && names.contains(&word) && after.starts_with('}') {
            warn(at, &format!("{written}}}"), word);
        }
    }
    for name in &names {
        for (at, written) in body.match_indices(&format!("{{{name}}}}}")) {
            if !body[..at].ends_with('{') {
                warn(at, written, name);
            }
        }
    }
    if prompt.template.placeholders().next().is_none() {
        for foreign in FOREIGN {
            if let Some(at) = body.find(foreign).filter(|&at| !body[..at].ends_with(['{', '$', '\\'])) {
                warn(at, foreign, INPUT);
            }
        }
    }
}

fn unused_arguments(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let used = |name: &str| prompt.template.placeholders().any(|placeholder| placeholder.name == name);
    let unused: Vec<&str> = prompt.arguments.iter().map(|a| a.name.as_str()).filter(|name| !used(name)).collect();
    if !unused.is_empty() {
        let places: Vec<String> = unused.iter().map(|name| format!("{{{{{name}}}}}")).collect();
        warnings.push(Diagnostic::warning(
            None,
            format!("declared but not used in the body: {}", alternatives(&unused).replace(" or ", " and ")),
            format!("write `{}` where the text belongs, or drop the declaration", places.join("`, `")),
        ));
    }
}
