//! What works, but is probably a mistake: for `check`, never for a list or an expansion.

use super::diagnostic::Diagnostic;
use super::limits::LONG;
use super::model::{Argument, Prompt};
use super::name::{Name, half_width, is_usual_after_colon};
use super::outline::Code;
use super::similar::closest;
use super::template::{INPUT, MessageTemplate, Opening, SPACES, openings};
use super::text::beginning;
use super::write::is_draft_description;
use crate::wording::{all_of, is_invisible, is_usual, named, quoted};
use std::collections::{HashMap, HashSet};

impl Prompt {
    /// Everything about the file that works, but perhaps not as its author expects: what was read
    /// leniently, and what is probably a mistake, in the order of the file.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.lenient.clone();
        warnings.extend(lint(self));
        warnings.sort_by_key(|warning| warning.position);
        warnings
            .into_iter()
            .map(|warning| self.origins.locate(warning))
            .collect()
    }

    /// Whether it is so long that some agents get it in parts, or without its middle.
    pub fn is_long(&self) -> bool {
        self.messages
            .iter()
            .map(|message| message.body().chars().count())
            .sum::<usize>()
            >= LONG
    }
}

/// The most lookalikes of placeholders in one message that get a warning.
const MAX_WARNINGS: usize = 100;

/// How many different words in braces are compared with the names. A body with more of them is full
/// of another program's templates.
const MAX_WORDS: usize = 200;

/// The longest name in full-width braces, in bytes.
const MAX_LENGTH: usize = 200;

/// Placeholders of other programs for the input.
const FOREIGN: [&str; 4] = ["{{args}}", "${input}", "{input}", "｛input｝"];

/// The warning of a name that ends before its end in a chat.
pub(crate) fn space_in_name(name: &Name) -> Option<Diagnostic> {
    let hyphenated = name.split_whitespace().collect::<Vec<_>>().join("-");
    let shown = quoted(name);
    let message = format!(
        "the name {shown} contains a space, so it cannot be typed as one word after a colon"
    );
    let warning = Diagnostic::warning(
        None,
        message,
        format!("rename it to {}", named(&hyphenated)),
    );
    name.contains(char::is_whitespace).then_some(warning)
}

/// All warnings about a prompt, apart from those about its frontmatter.
fn lint(prompt: &Prompt) -> Vec<Diagnostic> {
    let mut warnings = Vec::from_iter(space_in_name(&prompt.name));
    let mut warn =
        |message: String, fix: &str| warnings.push(Diagnostic::warning(None, message, fix));
    if is_usual_after_colon(&prompt.name)
        && prompt.may_be_mentioned()
        && prompt.syntax.fallback.is_some()
    {
        let message = format!(
            "`:{}` also stands in code and in chats, where it would mention this prompt",
            prompt.name
        );
        warn(
            message,
            "write `mention: false` into its frontmatter if only a line may begin with it",
        );
    }
    if prompt
        .description
        .as_deref()
        .is_some_and(is_draft_description)
    {
        warn(
            "the description is still the one that `new` wrote".to_owned(),
            "say in the file what it is for",
        );
    }
    if prompt
        .messages
        .iter()
        .all(|message| message.body().is_empty())
        && !prompt.is_rendered_by_service()
    {
        warn(
            "the prompt has no body: it expands to its input only".to_owned(),
            "write the instructions",
        );
    }
    // Words count from the first, so that some are skipped on purpose.
    let unused: Vec<&str> = match prompt.takes_words() {
        true => Vec::new(),
        false => prompt
            .arguments
            .iter()
            .filter(|it| !prompt.uses(it))
            .map(|it| it.name.as_str())
            .collect(),
    };
    if !unused.is_empty() {
        let placeholders: Vec<String> =
            unused.iter().map(|name| prompt.placeholder(name)).collect();
        let fix = format!(
            "write `{}` where the text belongs, or delete the declaration",
            placeholders.join("`, `")
        );
        warn(
            format!("declared but not used in the body: {}", all_of(&unused)),
            &fix,
        );
    }
    // A description that is taken from the body has its warning there.
    if prompt
        .messages
        .iter()
        .all(|message| invisible(message.body()).is_none())
        && let Some((_, hidden)) = metadata(prompt).find_map(|text| invisible(text))
    {
        warn(
            format!("the frontmatter has {hidden}: the model reads what you cannot see"),
            DELETE_IT,
        );
    }
    for message in &prompt.messages {
        lint_body(prompt, message, &mut warnings);
        warnings.extend(prompt.foreign_marks(message));
    }
    warnings
}

fn lint_body(prompt: &Prompt, message: &MessageTemplate, warnings: &mut Vec<Diagnostic>) {
    let body = message.body();
    let mut warn = |at: usize, message_text: String, fix: String| {
        warnings.push(Diagnostic::warning(
            Some(message.positions().at(at)),
            message_text,
            fix,
        ));
    };
    if prompt.is_unedited_draft() {
        let text = "the body is still the template that `new` wrote, so the prompt is not listed to agents";
        warn(
            0,
            text.to_owned(),
            "edit the file to write the prompt, or delete it".to_owned(),
        );
    }
    // People approve what they see, but the model reads the rest, too.
    if let Some((at, hidden)) = invisible(body) {
        warn(
            at,
            format!("{hidden}: the model reads what you cannot see"),
            DELETE_IT.to_owned(),
        );
    }
    for Lookalike { at, written, fix } in lookalikes(prompt, message).into_iter().take(MAX_WARNINGS)
    {
        let text = format!(
            "{} is not a placeholder, and is left as it is",
            quoted(&written)
        );
        warn(at, text, format!("{fix} if it is meant to be replaced"));
    }
}

const DELETE_IT: &str = "delete it, unless you need it";

/// What agents read of a prompt in a list.
fn metadata(prompt: &Prompt) -> impl Iterator<Item = &String> {
    let of_arguments = prompt.arguments.iter().flat_map(|argument| {
        let Argument {
            title,
            description,
            default,
            choices,
            ..
        } = argument;
        [title, description, default]
            .into_iter()
            .flatten()
            .chain(choices)
    });
    [&prompt.title, &prompt.description]
        .into_iter()
        .flatten()
        .chain(&prompt.tags)
        .chain(of_arguments)
}

/// Where the first invisible character of a text is, and what to call it and the others.
fn invisible(text: &str) -> Option<(usize, String)> {
    let mut hidden = text
        .char_indices()
        .filter(|(_, character)| is_invisible(*character) && !is_usual(*character));
    let (at, character) = hidden.next()?;
    let more = match hidden.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some((
        at,
        format!(
            "an invisible character, U+{:04X}{more}",
            u32::from(character)
        ),
    ))
}

/// A text that looks like a placeholder.
pub(super) struct Lookalike {
    /// The byte of the body at which it begins.
    pub(super) at: usize,
    pub(super) written: String,
    /// How to turn it into a placeholder.
    fix: String,
}

impl Lookalike {
    /// One that is meant to be the placeholder of this name.
    fn of(name: &str, at: usize, written: &str) -> Lookalike {
        Lookalike {
            at,
            written: written.to_owned(),
            fix: format!("write `{{{{{name}}}}}`"),
        }
    }
}

/// The lookalikes of a message: a misspelled name, a brace too few, full-width braces, another
/// program's placeholder. In the files of other programs there are none: what looks like a
/// placeholder of this one is text there. Neither are there any in a template.
pub(super) fn lookalikes(prompt: &Prompt, message: &MessageTemplate) -> Vec<Lookalike> {
    if prompt.syntax.fallback.is_none() || message.jinja().is_some() {
        return Vec::new();
    }
    let body = message.body();
    let names: Vec<&str> = std::iter::once(INPUT)
        .chain(prompt.arguments.iter().map(|a| a.name.as_str()))
        .collect();
    let code = Code::of(body);
    let mut found = misspelled(body, &names, &code);
    found.extend(full_width(body, &names));
    // The first of each placeholder of other programs; in a file that has placeholders of its own,
    // only `$ARGUMENTS`, because it was probably converted in part.
    let foreign = if prompt.has_placeholders() {
        &["$ARGUMENTS"][..]
    } else {
        &FOREIGN
    };
    let foreign = foreign
        .iter()
        .filter_map(|foreign| Some((body.find(foreign)?, *foreign)));
    let is_text = |at: usize| {
        message
            .placeholders()
            .all(|placeholder| placeholder.range.start != at)
    };
    let foreign = foreign.filter(|(at, _)| {
        !body[..*at].ends_with(['{', '｛', '$', '\\']) && !code.contains(*at) && is_text(*at)
    });
    found.extend(foreign.map(|(at, written)| Lookalike::of(INPUT, at, written)));
    found.sort_by_key(|lookalike| lookalike.at);
    found
}

/// `{{inptu}}`, `<<inptu>>`, and `{{input}`, with one brace too few at its end; and the first
/// `{{name}}` of each name that looks like an argument, unless it is in code.
fn misspelled(body: &str, names: &[&str], code: &Code) -> Vec<Lookalike> {
    let mut found = Vec::new();
    let mut nearest: HashMap<&str, Option<&str>> = HashMap::new();
    let mut undeclared = HashSet::new();
    for Opening { range, close } in openings(body) {
        let inside = body[range.end..].trim_start_matches(SPACES);
        let length =
            inside.find(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)));
        let (word, after) = inside.split_at(length.unwrap_or(inside.len()));
        let after = after.trim_start_matches(SPACES);
        let written = &body[range.start..body.len() - after.len()];
        let is_known = names.contains(&word);
        let braces = &after[..after.bytes().take_while(|byte| *byte == b'}').count()];
        if is_known && (1..close.len()).contains(&braces.len()) && close != ">>" {
            found.push(Lookalike::of(
                word,
                range.start,
                &format!("{written}{braces}"),
            ));
        }
        if is_known || !after.starts_with(close) {
            continue;
        }
        let written = format!("{written}{close}");
        if nearest.len() < MAX_WORDS {
            nearest
                .entry(word)
                .or_insert_with(|| closest(word, names.iter().copied()));
        }
        let is_name = word.starts_with(char::is_alphabetic) && word != "args"; // Gemini CLI's
        if let Some(name) = nearest.get(word).copied().flatten() {
            found.push(Lookalike::of(name, range.start, &written));
        } else if is_name
            && !code.contains(range.start)
            && undeclared.len() < MAX_WORDS
            && undeclared.insert(word)
        {
            let fix = format!(
                "declare {} in the `arguments` of the frontmatter",
                quoted(word)
            );
            found.push(Lookalike {
                at: range.start,
                written,
                fix,
            });
        }
    }
    found
}

/// `｛｛input｝｝` and `＜＜input＞＞`, as Japanese and Chinese keyboards write braces.
fn full_width(body: &str, names: &[&str]) -> Vec<Lookalike> {
    let mut found = Vec::new();
    for (open, close) in [("｛｛", "｝｝"), ("＜＜", "＞＞")] {
        for (at, _) in body.match_indices(open) {
            let inside = at + open.len();
            let Some(length) = beginning(&body[inside..], MAX_LENGTH).find(close) else {
                continue;
            };
            let word = half_width(body[inside..inside + length].trim());
            let written = &body[at..inside + length + close.len()];
            found.extend(
                names
                    .iter()
                    .filter(|name| **name == word)
                    .map(|name| Lookalike::of(name, at, written)),
            );
        }
    }
    found
}
