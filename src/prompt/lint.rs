//! What works, but is probably a mistake: for `check`, never for a list or an expansion.

use super::diagnostic::{Diagnostic, Position};
use super::limits::LONG;
use super::model::{Argument, Prompt};
use super::name::{half_width, is_invisible};
use super::outline::Code;
use super::similar::closest;
use super::template::{INPUT, MessageTemplate, SPACES, openings};
use super::write::is_template_description;
use crate::wording::{all_of, named, quoted};
use std::collections::{HashMap, HashSet};

impl Prompt {
    /// Everything about the file that works, but perhaps not as its author expects: what was read leniently, and what is
    /// probably a mistake, in the order of the file.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.lenient.clone();
        warnings.extend(lint(self));
        warnings.sort_by_key(|warning| warning.position);
        warnings.into_iter().map(|warning| self.origins.locate(warning)).collect()
    }
}

/// The most lookalikes of placeholders in one message that get a warning each.
const MAX_WARNINGS: usize = 100;

/// How many different words in braces are compared with the names. A body with more of them is full of another
/// program's templates.
const MAX_WORDS: usize = 200;

/// Placeholders of other programs for the input.
const FOREIGN: [&str; 4] = ["{{args}}", "${input}", "{input}", "｛input｝"];

/// All warnings about a prompt, apart from those about its frontmatter.
pub(super) fn lint(prompt: &Prompt) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    lint_name(prompt, &mut warnings);
    lint_template(prompt, &mut warnings);
    lint_length(prompt, &mut warnings);
    lint_invisible_in_metadata(prompt, &mut warnings);
    for message in &prompt.messages {
        lint_body(prompt, message, &mut warnings);
        if message.jinja().is_none() {
            lint_placeholders(prompt, message, &mut warnings);
        }
        warnings.extend(prompt.foreign_marks(message));
    }
    lint_arguments(prompt, &mut warnings);
    warnings
}

fn lint_name(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
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

fn lint_template(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let edit = format!("`prompt-expander edit {}`", prompt.name);
    if prompt.is_template() {
        let position = prompt.messages.first().map(|body| Position { line: body.first_line(), column: 1 });
        let message = "the body is still the template that `new` wrote, so the prompt is not listed to agents";
        warnings.push(Diagnostic::warning(
            position,
            message,
            format!("write the prompt with {edit}, or delete the file"),
        ));
    }
    if prompt.description.as_deref().is_some_and(is_template_description) {
        let message = "the description is still the one that `new` wrote";
        warnings.push(Diagnostic::warning(None, message, format!("say what the prompt is for, with {edit}")));
    }
}

fn lint_body(prompt: &Prompt, message: &MessageTemplate, warnings: &mut Vec<Diagnostic>) {
    let body = message.body();
    if body.is_empty() && prompt.messages.len() > 1 {
        warnings.push(Diagnostic::warning(None, "an empty message, which is left out", "write its text, or delete it"));
    } else if body.is_empty() {
        let message = "the prompt has no body: it expands to its input only";
        warnings.push(Diagnostic::warning(None, message, "write the instructions"));
    }
    if let Some(at) = body.find('\0') {
        warnings.push(Diagnostic::warning(
            Some(message.positions().at(at)),
            "a NUL character, as in a file that was saved as UTF-16",
            "save it with the encoding UTF-8",
        ));
    }
    lint_invisible(message, warnings);
}

/// A reader approves what they see, and the model reads the rest, too.
fn lint_invisible(message: &MessageTemplate, warnings: &mut Vec<Diagnostic>) {
    if let Some((at, hidden)) = invisible(message.body()) {
        let position = Some(message.positions().at(at));
        let why = format!("{hidden}: the model reads what you cannot see");
        warnings.push(Diagnostic::warning(position, why, DELETE_IT));
    }
}

/// The same for what agents read in a list.
fn lint_invisible_in_metadata(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let mut texts: Vec<(String, &str)> = Vec::new();
    texts.extend(prompt.title.iter().map(|title| ("the title".to_owned(), title.as_str())));
    // One that is taken from the body has its warning there.
    if prompt.messages.iter().all(|message| invisible(message.body()).is_none()) {
        texts.extend(prompt.description.iter().map(|description| ("the description".to_owned(), description.as_str())));
    }
    texts.extend(prompt.tags.iter().map(|tag| ("a tag".to_owned(), tag.as_str())));
    for Argument { name, title, description, default, choices, .. } in &prompt.arguments {
        let keys = [("title", title), ("description", description), ("default", default)];
        let values = keys.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?)));
        let values = values.chain(choices.iter().map(|choice| ("choices", choice)));
        texts.extend(
            values.map(|(key, text)| (format!("{} of the argument {}", quoted(key), named(name)), text.as_str())),
        );
    }
    for (what, text) in texts {
        if let Some((_, hidden)) = invisible(text) {
            let message = format!("{what} has {hidden}: the model reads what you cannot see");
            warnings.push(Diagnostic::warning(None, message, DELETE_IT));
        }
    }
}

const DELETE_IT: &str = "delete it, unless you need it";

/// Where the first invisible character of a text is, and what to call it and the others.
fn invisible(text: &str) -> Option<(usize, String)> {
    // Soft hyphens and the marks of right-to-left scripts are ordinary in a text.
    let is_usual =
        |character: char| matches!(character, '\t' | '\n' | '\r' | '\0' | '\u{ad}' | '\u{200e}' | '\u{200f}');
    let is_hidden = |character: char| is_invisible(character) && !is_usual(character);
    let mut hidden = text.char_indices().filter(|(_, character)| is_hidden(*character));
    let (at, character) = hidden.next()?;
    let more = match hidden.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some((at, format!("an invisible character, U+{:04X}{more}", u32::from(character))))
}

fn lint_length(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    let length: usize = prompt.messages.iter().map(|message| message.body().chars().count()).sum();
    if length >= LONG {
        warnings.push(Diagnostic::warning(
            None,
            format!("the body is {length} characters long; from {LONG} on, an agent may cut out the middle"),
            "keep the instructions here, and give the path of the material for the agent to read",
        ));
    }
}

/// A text that looks like a placeholder.
pub(super) struct Lookalike<'p> {
    /// The byte of the body at which it begins.
    pub(super) at: usize,
    pub(super) written: String,
    fix: Fix<'p>,
}

/// How to turn a [`Lookalike`] into a placeholder.
#[derive(Clone, Copy)]
enum Fix<'p> {
    /// Write the placeholder of this name.
    Write(&'p str),
    /// Declare an argument of this name.
    Declare(&'p str),
}

/// The lookalikes of a message: a misspelled name, a brace too few, full-width braces, another program's placeholder. In the
/// files of other programs there are none: what looks like a placeholder of this one is text there.
pub(super) fn lookalikes<'p>(prompt: &'p Prompt, message: &'p MessageTemplate) -> Vec<Lookalike<'p>> {
    if prompt.syntax.fallback.is_none() {
        return Vec::new();
    }
    let body = message.body();
    let names: Vec<&str> = std::iter::once(INPUT).chain(prompt.arguments.iter().map(|a| a.name.as_str())).collect();
    let code = Code::of(body);
    let mut found = misspelled(body, &names, &code);
    found.extend(half_open(body, &names));
    found.extend(full_width(body, &names, &code));
    if prompt.placeholders().next().is_none() {
        found.extend(foreign(body));
    } else {
        found.extend(unfilled_arguments(message));
    }
    found.sort_by_key(|lookalike| lookalike.at);
    found
}

fn lint_placeholders(prompt: &Prompt, message: &MessageTemplate, warnings: &mut Vec<Diagnostic>) {
    let found = lookalikes(prompt, message);
    let mut positions = message.positions();
    let more = found.len().saturating_sub(MAX_WARNINGS);
    for Lookalike { at, written, fix } in found.iter().take(MAX_WARNINGS) {
        let fix = match fix {
            Fix::Write(name) => format!("write `{{{{{name}}}}}` if it is meant to be replaced"),
            Fix::Declare(name) => {
                format!("declare {} in the `arguments` of the frontmatter if it is meant to be replaced", quoted(name))
            }
        };
        let message = format!("{} is not a placeholder, and is left as it is", quoted(written));
        warnings.push(Diagnostic::warning(Some(positions.at(*at)), message, fix));
    }
    if let Some(first) = found.get(MAX_WARNINGS) {
        let message = format!("from here on, {more} more like these are not placeholders, and are left as they are");
        let fix = "fix those above, and check again";
        warnings.push(Diagnostic::warning(Some(positions.at(first.at)), message, fix));
    }
}

/// `{{inptu}}`, `<<inptu>>`, and `{{input}`, with one brace too few at its end; and the first `{{name}}` of each name that
/// looks like an argument, unless it is in code.
fn misspelled<'p>(body: &'p str, names: &[&'p str], code: &Code) -> Vec<Lookalike<'p>> {
    let mut found = Vec::new();
    let mut nearest: HashMap<&str, Option<&'p str>> = HashMap::new();
    let mut undeclared = HashSet::new();
    for opening in openings(body) {
        let (at, close) = (opening.range.start, opening.close);
        let inside = body[opening.range.end..].trim_start_matches(SPACES);
        let length = inside.find(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)));
        let (word, after) = inside.split_at(length.unwrap_or(inside.len()));
        let after = after.trim_start_matches(SPACES);
        let exact = names.iter().find(|name| **name == word).copied();
        let braces = after.bytes().take_while(|byte| *byte == b'}').count();
        let (fix, close) = if after.starts_with(close) && exact.is_none() {
            if nearest.len() < MAX_WORDS {
                nearest.entry(word).or_insert_with(|| closest(word, names.iter().copied()));
            }
            let fix = nearest.get(word).copied().flatten().map(Fix::Write);
            let mut is_first = || undeclared.len() < MAX_WORDS && undeclared.insert(word);
            let is_name = word.starts_with(char::is_alphabetic) && word != "args"; // Gemini CLI's
            (fix.or_else(|| (is_name && !code.contains(at) && is_first()).then_some(Fix::Declare(word))), close)
        } else if close != ">>" && (1..close.len()).contains(&braces) {
            (exact.map(Fix::Write), &"}}"[..braces])
        } else {
            continue;
        };
        let written = &body[at..body.len() - after.len()];
        found.extend(fix.map(|fix| Lookalike { at, written: format!("{written}{close}"), fix }));
    }
    found
}

/// `{input}}`, with one brace too few at its beginning.
fn half_open<'p>(body: &str, names: &[&'p str]) -> Vec<Lookalike<'p>> {
    let of = |name: &'p str| {
        let written = format!("{{{name}}}}}");
        let found: Vec<usize> = body.match_indices(&written).map(|(at, _)| at).collect();
        let found = found.into_iter().filter(|&at| !body[..at].ends_with('{'));
        found.map(move |at| Lookalike { at, written: written.clone(), fix: Fix::Write(name) })
    };
    names.iter().copied().flat_map(of).collect()
}

/// `｛｛input｝｝` and `＜＜input＞＞`, as Japanese and Chinese keyboards write braces. Any name in double braces is meant as one,
/// unless it is in code; angle brackets are also quotation marks.
fn full_width<'p>(body: &'p str, names: &[&'p str], code: &Code) -> Vec<Lookalike<'p>> {
    let mut found = Vec::new();
    for (open, close) in [("｛｛", "｝｝"), ("＜＜", "＞＞")] {
        for (at, _) in body.match_indices(open) {
            let inside = &body[at + open.len()..];
            let end = inside.find(|letter: char| "\n{}<>｛｝＜＞".contains(letter)).unwrap_or(inside.len());
            let (word, after) = (inside[..end].trim(), &inside[end..]);
            let Some(after) = after.strip_prefix(close) else { continue };
            let plain = half_width(word);
            let name = names.iter().copied().find(|name| *name == plain);
            let is_name =
                open == "｛｛" && !word.is_empty() && !word.contains(char::is_whitespace) && !code.contains(at);
            let written = body[at..body.len() - after.len()].to_owned();
            found.extend(name.or(is_name.then_some(word)).map(|name| Lookalike { at, written, fix: Fix::Write(name) }));
        }
    }
    found
}

/// The first of each placeholder of other programs.
fn foreign<'p>(body: &str) -> Vec<Lookalike<'p>> {
    let found = FOREIGN.iter().filter_map(|foreign| Some((body.find(foreign)?, *foreign)));
    let found = found.filter(|(at, _)| !body[..*at].ends_with(['{', '｛', '$', '\\']));
    found.map(|(at, written)| Lookalike { at, written: written.to_owned(), fix: Fix::Write(INPUT) }).collect()
}

/// The first `$ARGUMENTS` that stays as written because there is an `{{input}}`, as in a file that was only half converted.
fn unfilled_arguments<'p>(message: &MessageTemplate) -> Option<Lookalike<'p>> {
    const WRITTEN: &str = "$ARGUMENTS";
    let body = message.body();
    let is_filled = |at: usize| message.placeholders().any(|placeholder| placeholder.range.contains(&at));
    let code = Code::of(body);
    let is_text = |at: usize| body[..at].ends_with('\\') || code.contains(at);
    let mut found = body.match_indices(WRITTEN).map(|(at, _)| at).take(MAX_WARNINGS);
    let at = found.find(|&at| !is_filled(at) && !is_text(at))?;
    Some(Lookalike { at, written: WRITTEN.to_owned(), fix: Fix::Write(INPUT) })
}

fn lint_arguments(prompt: &Prompt, warnings: &mut Vec<Diagnostic>) {
    // Words count from the first, so that some are skipped on purpose. And a service gets every argument.
    if prompt.takes_words() || prompt.is_remote() {
        return;
    }
    let is_used = |name: &str| prompt.placeholders().any(|placeholder| placeholder.name == name);
    let unused: Vec<&str> = prompt.arguments.iter().map(|a| a.name.as_str()).filter(|name| !is_used(name)).collect();
    if !unused.is_empty() {
        let placeholders: Vec<String> = unused.iter().map(|name| prompt.placeholder(name)).collect();
        warnings.push(Diagnostic::warning(
            None,
            format!("declared but not used in the body: {}", all_of(&unused)),
            format!("write `{}` where the text belongs, or delete the declaration", placeholders.join("`, `")),
        ));
    }
}
