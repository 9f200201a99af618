//! Warnings about what works, but is probably a mistake: for `check`, never for a list or an
//! expansion.

use super::diagnostic::Diagnostic;
use super::file_text::truncate_at_boundary;
use super::limits::LONG_PROMPT_CHARS;
use super::model::Prompt;
use super::name::{Name, half_width, hyphenated, is_common_after_colon};
use super::outline::Code;
use super::serialize::is_draft_description;
use super::similar::closest;
use super::template::{INNER_SPACES, INPUT, MessageTemplate, Opening, openings};
use crate::wording::{and_list, in_backticks, is_invisible, is_usual, quoted};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

impl Prompt {
    /// Returns all warnings about the file, in its order: mistakes that were read leniently, and
    /// what works but is probably a mistake.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.lenient_warnings.clone();
        warnings.extend(space_in_name(&self.name));
        warnings.extend(accidental_mention(self));
        warnings.extend(unedited_description(self));
        warnings.extend(empty_body(self));
        warnings.extend(unused_arguments(self));
        warnings.extend(invisible_in_frontmatter(self));
        for message in &self.messages {
            warnings.extend(unedited_body(self, message));
            warnings.extend(invisible_in_body(message));
            warnings.extend(lookalike_warnings(self, message));
            warnings.extend(self.foreign_construct_warnings(message));
        }
        warnings.sort_by_key(|warning| warning.position);
        warnings
            .into_iter()
            .map(|warning| self.origins.locate(warning))
            .collect()
    }

    /// Returns whether the prompt is so long that some agents get it in parts, or without its
    /// middle.
    pub fn is_long(&self) -> bool {
        let mut characters = 0;
        for message in &self.messages {
            characters += message.body().chars().count();
        }
        characters >= LONG_PROMPT_CHARS
    }
}

/// The most lookalikes of placeholders in one message that get a warning.
const MAX_WARNINGS: usize = 100;

/// How many different words in braces are compared with the names of arguments, and how many get a
/// warning that no argument has them. A body with more is full of another program's templates.
const MAX_WORDS: usize = 200;

/// The longest name in full-width braces, in bytes.
const MAX_LENGTH: usize = 200;

/// Placeholders of other programs for the input.
const FOREIGN: [&str; 4] = ["{{args}}", "${input}", "{input}", "｛input｝"];

/// Warns about a name with a space, because a name in a chat ends at the first space.
pub(crate) fn space_in_name(name: &Name) -> Option<Diagnostic> {
    if !name.contains(char::is_whitespace) {
        return None;
    }
    let shown = quoted(name);
    Some(Diagnostic::warning(
        None,
        format!(
            "the name {shown} contains a space, so it cannot be typed as one word after a colon"
        ),
        format!("rename it to {}", in_backticks(&hyphenated(name))),
    ))
}

/// Warns about a name that often follows a colon where no prompt is meant.
fn accidental_mention(prompt: &Prompt) -> Option<Diagnostic> {
    // The files of other programs have no key `mention`.
    if !is_common_after_colon(&prompt.name) || !prompt.may_be_mentioned() || !is_own(prompt) {
        return None;
    }
    let message = format!(
        "`:{}` also stands in code and in chats, where it would mention this prompt",
        prompt.name
    );
    let fix = "write `mention: false` into its frontmatter if only a line may begin with it";
    Some(Diagnostic::warning(None, message, fix))
}

/// Returns whether the placeholders of the prompt are those of this program.
fn is_own(prompt: &Prompt) -> bool {
    prompt.syntax.fallback.is_some()
}

/// Warns about a description that the author has not written, but the command `new`.
fn unedited_description(prompt: &Prompt) -> Option<Diagnostic> {
    let description = prompt.description.as_deref()?;
    if !is_draft_description(description) {
        return None;
    }
    let message = "the description is still the one that `new` wrote";
    let fix = "say in the file what it is for";
    Some(Diagnostic::warning(None, message, fix))
}

/// Warns about a prompt in whose messages there is no text.
fn empty_body(prompt: &Prompt) -> Option<Diagnostic> {
    let has_text = prompt
        .messages
        .iter()
        .any(|message| !message.body().is_empty());
    if has_text || prompt.is_rendered_by_service() {
        return None;
    }
    let message = "the prompt has no body: it expands to its input only";
    Some(Diagnostic::warning(None, message, "write the instructions"))
}

/// Warns about the declared arguments without a placeholder, in one warning.
fn unused_arguments(prompt: &Prompt) -> Option<Diagnostic> {
    // Words count from the first, so some of them are skipped on purpose.
    if prompt.gives_one_word_per_argument() {
        return None;
    }
    let mut names = Vec::new();
    let mut placeholders = Vec::new();
    for argument in &prompt.arguments {
        if !prompt.uses_argument(argument) {
            names.push(argument.name.as_str());
            placeholders.push(format!("`{}`", prompt.placeholder(&argument.name)));
        }
    }
    if names.is_empty() {
        return None;
    }
    let message = format!("declared but not used in the body: {}", and_list(&names));
    let fix = format!(
        "write {} where the text belongs, or delete the declaration",
        placeholders.join(", ")
    );
    Some(Diagnostic::warning(None, message, fix))
}

const DELETE_INVISIBLE: &str = "delete it, unless you need it";

/// Warns about invisible characters in what agents see in a list, unless a body has some, too.
fn invisible_in_frontmatter(prompt: &Prompt) -> Option<Diagnostic> {
    // A description may be taken from the body, and the body has a warning of its own.
    for message in &prompt.messages {
        if InvisibleCharacters::find(message.body()).is_some() {
            return None;
        }
    }
    let invisible = listed_texts(prompt)
        .into_iter()
        .find_map(|text| InvisibleCharacters::find(text))?;
    let message = format!(
        "the frontmatter has {}: the model reads what you cannot see",
        invisible.description
    );
    Some(Diagnostic::warning(None, message, DELETE_INVISIBLE))
}

/// Returns the texts of a prompt that an agent sees when it lists prompts.
fn listed_texts(prompt: &Prompt) -> Vec<&String> {
    let mut texts = Vec::new();
    texts.extend(&prompt.title);
    texts.extend(&prompt.description);
    texts.extend(&prompt.tags);
    for argument in &prompt.arguments {
        texts.extend(&argument.title);
        texts.extend(&argument.description);
        texts.extend(&argument.default);
        texts.extend(&argument.choices);
    }
    texts
}

/// Warns about the message of a prompt that is as the command `new` wrote it.
fn unedited_body(prompt: &Prompt, message: &MessageTemplate) -> Option<Diagnostic> {
    if !prompt.is_unedited_draft() {
        return None;
    }
    Some(Diagnostic::warning(
        Some(message.position_cursor().advance_to(0)),
        "the body is still the template that `new` wrote, so the prompt is not listed to agents",
        "edit the file to write the prompt, or delete it",
    ))
}

/// Warns about characters that people who approve a prompt do not see.
fn invisible_in_body(message: &MessageTemplate) -> Option<Diagnostic> {
    let InvisibleCharacters { at, description } = InvisibleCharacters::find(message.body())?;
    Some(Diagnostic::warning(
        Some(message.position_cursor().advance_to(at)),
        format!("{description}: the model reads what you cannot see"),
        DELETE_INVISIBLE,
    ))
}

/// The invisible characters of a text.
struct InvisibleCharacters {
    /// The byte at which the first of them begins.
    at: usize,
    /// A noun for the first, and how many others there are.
    description: String,
}

impl InvisibleCharacters {
    /// Finds the invisible characters of a text, except those that are ordinary, such as tabs.
    fn find(text: &str) -> Option<InvisibleCharacters> {
        let mut invisible = text
            .char_indices()
            .filter(|(_, character)| is_invisible(*character) && !is_usual(*character));
        let (at, first) = invisible.next()?;
        let mut description = format!("an invisible character, U+{:04X}", u32::from(first));
        let others = invisible.count();
        if others > 0 {
            description += &format!(", and {others} more");
        }
        Some(InvisibleCharacters { at, description })
    }
}

/// Warns about the texts of a message that look like placeholders.
fn lookalike_warnings(prompt: &Prompt, message: &MessageTemplate) -> Vec<Diagnostic> {
    let mut positions = message.position_cursor();
    let mut warnings = Vec::new();
    for lookalike in lookalikes(prompt, message).into_iter().take(MAX_WARNINGS) {
        let written = quoted(&lookalike.written);
        warnings.push(Diagnostic::warning(
            Some(positions.advance_to(lookalike.at)),
            format!("{written} is not a placeholder, and is left as it is"),
            format!("{} if it is meant to be replaced", lookalike.fix),
        ));
    }
    warnings
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
    /// Creates a lookalike that is meant to be the placeholder of this name.
    fn of(name: &str, at: usize, written: &str) -> Lookalike {
        Lookalike {
            at,
            written: written.to_owned(),
            fix: format!("write `{{{{{name}}}}}`"),
        }
    }

    /// Creates a lookalike whose name no argument has.
    fn of_undeclared(name: &str, at: usize, written: &str) -> Lookalike {
        let name = quoted(name);
        Lookalike {
            at,
            written: written.to_owned(),
            fix: format!("declare {name} in the `arguments` of the frontmatter"),
        }
    }
}

/// Returns the lookalikes of a message in its order: misspelled and undeclared names, a brace too
/// few, full-width braces, and other programs' placeholders.
///
/// The files of other programs have none, because what looks like a placeholder of this program is
/// text there. Templates of Jinja have none either.
pub(super) fn lookalikes(prompt: &Prompt, message: &MessageTemplate) -> Vec<Lookalike> {
    if !is_own(prompt) || message.jinja().is_some() {
        return Vec::new();
    }
    let body = message.body();
    let code = Code::of(body);
    let mut names = vec![INPUT];
    for argument in &prompt.arguments {
        names.push(argument.name.as_str());
    }
    let mut lookalikes = unclosed_names(body, &names);
    lookalikes.extend(unknown_names(body, &names, &code));
    lookalikes.extend(full_width_names(body, &names));
    lookalikes.extend(foreign_inputs(prompt, message, &code));
    lookalikes.sort_by_key(|lookalike| lookalike.at);
    lookalikes
}

/// A word after an opening, as in `{{word}}`, `<<word>>` or `{{ word`.
struct OpenedWord<'b> {
    /// The byte of the body at which the opening begins.
    at: usize,
    word: &'b str,
    /// The rest of the body, without the spaces after the word.
    after: &'b str,
    /// What should close the opening.
    close: &'static str,
}

/// Returns the word after each `{{`, `{{{` or `<<` of a body. The word is empty if something else
/// follows, as in `{{ .Values }}`.
fn opened_words(body: &str) -> impl Iterator<Item = OpenedWord<'_>> {
    openings(body).map(|Opening { range, close }| {
        let inside = body[range.end..].trim_start_matches(INNER_SPACES);
        let after = inside.trim_start_matches(is_letter_of_name);
        OpenedWord {
            at: range.start,
            word: &inside[..inside.len() - after.len()],
            after: after.trim_start_matches(INNER_SPACES),
            close,
        }
    })
}

fn is_letter_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

/// Finds known names that too few braces close, such as `{{input}`. A name without any brace after
/// it is text.
fn unclosed_names(body: &str, names: &[&str]) -> Vec<Lookalike> {
    let mut lookalikes = Vec::new();
    for opened in opened_words(body) {
        if opened.close == ">>" || !names.contains(&opened.word) {
            continue;
        }
        let after_braces = opened.after.trim_start_matches('}');
        let brace_count = opened.after.len() - after_braces.len();
        let has_too_few = 0 < brace_count && brace_count < opened.close.len();
        if has_too_few {
            let end = body.len() - after_braces.len();
            let written = &body[opened.at..end];
            lookalikes.push(Lookalike::of(opened.word, opened.at, written));
        }
    }
    lookalikes
}

/// Finds the names in braces or angle brackets that no argument has, in the order of the body.
///
/// A name that is similar to a known one is probably a misspelling: each `{{inptu}}` counts, also
/// in code. Any other name may be an argument that was never declared: only the first `{{name}}` of
/// each counts, and only outside of code.
fn unknown_names(body: &str, names: &[&str], code: &Code) -> Vec<Lookalike> {
    let mut lookalikes = Vec::new();
    // The most similar name for each unknown word, or `None`.
    let mut similar_names: HashMap<&str, Option<&str>> = HashMap::new();
    let mut undeclared_words = HashSet::new();
    for opened in opened_words(body) {
        let word = opened.word;
        if names.contains(&word) || !opened.after.starts_with(opened.close) {
            continue;
        }
        let close_start = body.len() - opened.after.len();
        let written = &body[opened.at..close_start + opened.close.len()];
        if similar_names.len() < MAX_WORDS {
            similar_names
                .entry(word)
                .or_insert_with(|| closest(word, names.iter().copied()));
        }
        if let Some(Some(name)) = similar_names.get(word) {
            lookalikes.push(Lookalike::of(name, opened.at, written));
        } else if may_be_argument(word)
            && !code.contains(opened.at)
            && undeclared_words.len() < MAX_WORDS
            && undeclared_words.insert(word)
        {
            lookalikes.push(Lookalike::of_undeclared(word, opened.at, written));
        }
    }
    lookalikes
}

/// Returns whether an author may have meant this word as the name of an argument: it begins with a
/// letter, and is not `args`, the input in Gemini CLI.
fn may_be_argument(word: &str) -> bool {
    word.starts_with(char::is_alphabetic) && word != "args"
}

/// Finds `｛｛input｝｝`, as Japanese and Chinese keyboards write braces.
fn full_width_names(body: &str, names: &[&str]) -> Vec<Lookalike> {
    let mut lookalikes = Vec::new();
    for (at, open) in body.match_indices("｛｛") {
        let inside = &body[at + open.len()..];
        let Some((name, _)) = truncate_at_boundary(inside, MAX_LENGTH).split_once("｝｝") else {
            continue;
        };
        let word = half_width(name.trim());
        if names.contains(&word.as_str()) {
            let written = format!("｛｛{name}｝｝");
            lookalikes.push(Lookalike::of(&word, at, &written));
        }
    }
    lookalikes
}

/// Finds the first occurrence of each placeholder that other programs use for the input.
fn foreign_inputs(prompt: &Prompt, message: &MessageTemplate, code: &Code) -> Vec<Lookalike> {
    let body = message.body();
    let spellings = if prompt.has_placeholders() {
        // The author knows the placeholders of this program, so that the spellings in braces may be
        // meant as text. `$ARGUMENTS` is probably left over from another program.
        &["$ARGUMENTS"][..]
    } else {
        &FOREIGN
    };
    let mut lookalikes = Vec::new();
    for written in spellings {
        let Some(at) = body.find(written) else {
            continue;
        };
        let is_part_of_longer = body[..at].ends_with(['{', '｛', '$', '\\']); // `{{input}}`
        let is_placeholder = message
            .placeholders()
            .any(|placeholder| placeholder.range.start == at);
        if !is_part_of_longer && !is_placeholder && !code.contains(at) {
            lookalikes.push(Lookalike::of(INPUT, at, written));
        }
    }
    lookalikes
}

impl Prompt {
    /// Returns warnings about the marks in a message at which another program would do something,
    /// such as `` !`git status` ``: one about the first mark of each kind that is not in code.
    pub(super) fn foreign_construct_warnings(&self, message: &MessageTemplate) -> Vec<Diagnostic> {
        let body = message.body();
        let code = Code::of(body);
        let placeholders: HashSet<usize> = message
            .placeholders()
            .map(|placeholder| placeholder.range.start)
            .collect();
        let mut warnings = Vec::new();
        for mark in self.foreign_syntax.constructs {
            // Every tag of a Jinja template was understood; what looks like one is in `{% raw %}`.
            if message.jinja().is_some() && mark.open.starts_with('{') {
                continue;
            }
            let mut ranges = mark.find_all(body);
            ranges.retain(|range| {
                !code.contains(range.start) && !placeholders.contains(&range.start)
            });
            let Some(first) = ranges.first() else {
                continue;
            };
            if mark.is_dollar_word() && !self.are_arguments(body, &ranges) {
                continue;
            }
            warnings.push(self.foreign_syntax.warning(mark, message, first));
        }
        warnings
    }

    /// Returns whether the words `$1` to `$9` in a body are arguments of another program, and not
    /// prices. `words` are their ranges.
    ///
    /// This can only be guessed. They are arguments if the file has the key `argument-hint`. If it
    /// has a placeholder in braces, they are not. Otherwise, `$1` and another number are arguments,
    /// and a `$1` alone is one if the prompt has no placeholder and no price.
    fn are_arguments(&self, body: &str, words: &[Range<usize>]) -> bool {
        if self.is_command_of_other_program() {
            return true;
        }
        // An author who writes placeholders in braces would write all of them so.
        if self.has_placeholder_without_dollar() {
            return false;
        }
        let has_first = words.iter().any(|range| &body[range.clone()] == "$1");
        let has_others = words.iter().any(|range| &body[range.clone()] != "$1");
        if has_first && has_others {
            return true;
        }
        has_first && !self.has_placeholders() && !has_price(body)
    }

    /// Returns whether the file has a key that only command files of other programs have.
    fn is_command_of_other_program(&self) -> bool {
        self.ignored_keys
            .iter()
            .any(|other| other.key == "argument-hint")
    }

    /// Returns whether the prompt has a placeholder in braces or angle brackets.
    fn has_placeholder_without_dollar(&self) -> bool {
        self.messages.iter().any(|message| {
            message
                .placeholders()
                .any(|placeholder| !message.source_text(placeholder).starts_with('$'))
        })
    }
}

/// Returns whether a text has an amount that is not an argument, such as `$10` or `$1.50`.
fn has_price(body: &str) -> bool {
    body.split('$').skip(1).any(begins_with_amount)
}

/// Returns whether the text after a `$` begins with two digits, with a point or a comma between
/// them perhaps: `10`, `1.50` or `1,000`.
fn begins_with_amount(text: &str) -> bool {
    let Some(after_digit) = text.strip_prefix(|first: char| first.is_ascii_digit()) else {
        return false;
    };
    let after_sign = after_digit.strip_prefix(['.', ',']).unwrap_or(after_digit);
    after_sign.starts_with(|first: char| first.is_ascii_digit())
}
