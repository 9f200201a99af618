//! Warnings about prompts that work, but probably not as intended. They are shown by `check`, never
//! in lists or expansions.

use super::diagnostic::Diagnostic;
use super::file_text::truncate_at_boundary;
use super::limits::LONG_PROMPT_CHARS;
use super::model::Prompt;
use super::name::{Name, hyphenated, is_common_after_colon, to_half_width};
use super::outline::Code;
use super::serialize::is_draft_description;
use super::similar::closest;
use super::skill_lint::skill_warnings;
use super::template::{INNER_SPACES, INPUT, MessageTemplate, Opening, openings};
use crate::wording::{and_list, in_backticks, is_common_invisible, is_invisible, quoted};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

impl Prompt {
    /// Returns all warnings about the prompt, ordered by position in the file.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.lenient_warnings.clone();
        warnings.extend(space_in_name(&self.name));
        warnings.extend(accidental_mention(self));
        warnings.extend(unedited_description(self));
        warnings.extend(empty_body(self));
        warnings.extend(unused_arguments(self));
        warnings.extend(skill_warnings(self));
        warnings.extend(invisible_in_frontmatter(self));
        for message in &self.messages {
            warnings.extend(unedited_body_warning(self, message));
            warnings.extend(invisible_in_body(message));
            warnings.extend(lookalike_warnings(self, message));
            warnings.extend(self.foreign_construct_warnings(message));
            warnings.extend(skipped_first_word(self, message));
        }
        warnings.sort_by_key(|warning| warning.position);
        warnings
            .into_iter()
            .map(|warning| self.origins.locate(warning))
            .collect()
    }

    /// Returns whether the prompt is so long that some agents receive it in parts or truncate its
    /// middle.
    pub fn is_long(&self) -> bool {
        let mut characters = 0;
        for message in &self.messages {
            characters += message.body().chars().count();
        }
        characters >= LONG_PROMPT_CHARS
    }
}

/// The maximum number of warnings about placeholder lookalikes in one message.
const MAX_LOOKALIKE_WARNINGS: usize = 100;

/// The maximum number of distinct words in braces to compare with the argument names, and to report
/// as undeclared. A body with more of them is full of another program's templates.
const MAX_CHECKED_WORDS: usize = 200;

/// The maximum length of a name in full-width braces.
const MAX_FULL_WIDTH_NAME_BYTES: usize = 200;

/// How other programs write the placeholder for the input.
const FOREIGN_INPUTS: [&str; 4] = ["{{args}}", "${input}", "{input}", "｛input｝"];

/// Warns about a name that contains a space, because a name typed in a chat ends at the first
/// space.
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

/// Warns about a name that often occurs after a colon in ordinary text, e.g. in code.
fn accidental_mention(prompt: &Prompt) -> Option<Diagnostic> {
    let is_ambiguous = is_common_after_colon(&prompt.name) && prompt.may_be_mentioned();
    // The advice requires the key `mention`, which only our own files support.
    if !is_ambiguous || !has_own_syntax(prompt) {
        return None;
    }
    let message = format!(
        "`:{}` also occurs in code and ordinary text, where it would mention this prompt",
        prompt.name
    );
    let fix = "write `mention: false` into its frontmatter if only a line may begin with it";
    Some(Diagnostic::warning(None, message, fix))
}

/// Returns whether the prompt uses our own placeholder syntax.
fn has_own_syntax(prompt: &Prompt) -> bool {
    // No other syntax has a fallback.
    prompt.syntax.fallback.is_some()
}

/// Warns about a description that is still the one `new` wrote.
fn unedited_description(prompt: &Prompt) -> Option<Diagnostic> {
    let description = prompt.description.as_deref()?;
    if !is_draft_description(description) {
        return None;
    }
    let message = "the description is still the one that `new` wrote";
    let fix = "say in the file what it is for";
    Some(Diagnostic::warning(None, message, fix))
}

/// Warns about a prompt whose messages are all empty.
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

/// Warns about declared arguments without a placeholder.
fn unused_arguments(prompt: &Prompt) -> Option<Diagnostic> {
    // If each argument gets one word, `$2` is the second word even if the body doesn't use `$1`. So
    // the author may have left out an argument on purpose.
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

/// Warns about `$1` in a file of Claude Code, which counts words from 0, if no placeholder takes
/// the first word. The author probably counted from 1.
fn skipped_first_word(prompt: &Prompt, message: &MessageTemplate) -> Option<Diagnostic> {
    let first_argument = prompt.arguments.first()?;
    // Only words counted from 0 have an argument of this name.
    if first_argument.name != "0"
        || prompt.uses_argument(first_argument)
        || prompt.input_is_whole_text()
    {
        return None;
    }
    let second = message
        .placeholders()
        .find(|placeholder| placeholder.name == "1")?;
    Some(Diagnostic::warning(
        Some(message.position_cursor().advance_to(second.range.start)),
        format!(
            "{} is the second word in Claude Code, and no placeholder takes the first",
            in_backticks(message.source_text(second))
        ),
        "count the words from `$0` if the first word is meant",
    ))
}

const DELETE_INVISIBLE: &str = "delete it, unless you need it";

/// Warns about invisible characters in the frontmatter values that agents see in lists. If a body
/// contains some too, the warning about the body is enough.
fn invisible_in_frontmatter(prompt: &Prompt) -> Option<Diagnostic> {
    // The description may have been taken from the body.
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

/// Returns the values that an agent sees when it lists prompts.
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

/// Warns if the body is still the template that the command `new` wrote into the file.
fn unedited_body_warning(prompt: &Prompt, message: &MessageTemplate) -> Option<Diagnostic> {
    if !prompt.is_unedited_draft() {
        return None;
    }
    let body_start = message.position_cursor().advance_to(0);
    Some(Diagnostic::warning(
        Some(body_start),
        "the body is still the template that `new` wrote, so the prompt is not listed to agents",
        "edit the file to write the prompt, or delete it",
    ))
}

/// Warns about invisible characters, which people who review a prompt don't see.
fn invisible_in_body(message: &MessageTemplate) -> Option<Diagnostic> {
    let InvisibleCharacters {
        first_offset,
        description,
    } = InvisibleCharacters::find(message.body())?;
    Some(Diagnostic::warning(
        Some(message.position_cursor().advance_to(first_offset)),
        format!("{description}: the model reads what you cannot see"),
        DELETE_INVISIBLE,
    ))
}

/// Invisible characters found in a string.
struct InvisibleCharacters {
    /// The byte offset of the first one.
    first_offset: usize,
    /// The first character and the number of others, e.g. `an invisible character, U+200B, and 2
    /// more`.
    description: String,
}

impl InvisibleCharacters {
    /// Finds the invisible characters in a string, except for common ones such as tabs.
    fn find(text: &str) -> Option<InvisibleCharacters> {
        let mut invisible = text
            .char_indices()
            .filter(|(_, character)| is_invisible(*character) && !is_common_invisible(*character));
        let (first_offset, first) = invisible.next()?;
        let mut description = format!("an invisible character, U+{:04X}", u32::from(first));
        let others = invisible.count();
        if others > 0 {
            description += &format!(", and {others} more");
        }
        Some(InvisibleCharacters {
            first_offset,
            description,
        })
    }
}

/// Warns about text in a message that looks like a placeholder.
fn lookalike_warnings(prompt: &Prompt, message: &MessageTemplate) -> Vec<Diagnostic> {
    // `lookalikes` sorts them by offset, as the cursor requires.
    let mut cursor = message.position_cursor();
    let mut warnings = Vec::new();
    for lookalike in lookalikes(prompt, message)
        .into_iter()
        .take(MAX_LOOKALIKE_WARNINGS)
    {
        let source = quoted(&lookalike.source);
        warnings.push(Diagnostic::warning(
            Some(cursor.advance_to(lookalike.offset)),
            format!("{source} is not a placeholder, and is left as it is"),
            format!("{} if it is meant to be replaced", lookalike.fix),
        ));
    }
    warnings
}

/// Text that looks like a placeholder, but isn't one.
pub(super) struct Lookalike {
    /// Its byte offset in the body.
    pub(super) offset: usize,
    /// The text, as written in the body.
    pub(super) source: String,
    /// How to turn it into a placeholder.
    fix: String,
}

impl Lookalike {
    /// Creates a lookalike of the placeholder `{{name}}`.
    fn new(name: &str, offset: usize, source: &str) -> Lookalike {
        Lookalike {
            offset,
            source: source.to_owned(),
            fix: format!("write `{{{{{name}}}}}`"),
        }
    }

    /// Creates a lookalike with a name that is not a declared argument.
    fn undeclared(name: &str, offset: usize, source: &str) -> Lookalike {
        let name = quoted(name);
        Lookalike {
            offset,
            source: source.to_owned(),
            fix: format!("declare {name} in the `arguments` of the frontmatter"),
        }
    }
}

/// Finds the lookalikes in a message, in order: misspelled and undeclared names, missing braces,
/// full-width braces, and placeholders of other programs.
///
/// Returns none for the files of other programs, where such text is ordinary, and for Jinja
/// templates, whose names are checked when they are parsed.
pub(super) fn lookalikes(prompt: &Prompt, message: &MessageTemplate) -> Vec<Lookalike> {
    if !has_own_syntax(prompt) || message.jinja().is_some() {
        return Vec::new();
    }
    let body = message.body();
    let code = Code::find_in(body);
    let mut names = vec![INPUT];
    for argument in &prompt.arguments {
        names.push(argument.name.as_str());
    }
    let mut lookalikes = unclosed_names(body, &names);
    lookalikes.extend(unknown_names(body, &names, &code));
    lookalikes.extend(full_width_names(body, &names));
    lookalikes.extend(foreign_inputs(prompt, message, &code));
    lookalikes.sort_by_key(|lookalike| lookalike.offset);
    lookalikes
}

/// A word after an opening delimiter, as in `{{word}}`, `<<word>>` or `{{ word`.
struct OpenedWord<'b> {
    /// The byte offset of the delimiter.
    offset: usize,
    word: &'b str,
    /// The rest of the body, after the word and any spaces.
    after: &'b str,
    /// The matching closing delimiter.
    close: &'static str,
}

/// Returns the word after each `{{`, `{{{` or `<<` in a body. The word is empty if no name follows,
/// as in `{{ .Values }}`.
fn opened_words(body: &str) -> impl Iterator<Item = OpenedWord<'_>> {
    openings(body).map(|Opening { range, close }| {
        let inside = body[range.end..].trim_start_matches(INNER_SPACES);
        let after = inside.trim_start_matches(is_name_char);
        OpenedWord {
            offset: range.start,
            word: &inside[..inside.len() - after.len()],
            after: after.trim_start_matches(INNER_SPACES),
            close,
        }
    })
}

/// Returns whether a character may be in the name of an argument.
pub(super) fn is_name_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '-'
}

/// Finds declared names with missing closing braces, such as `{{input}`. A name without any closing
/// brace is treated as text.
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
            let source = &body[opened.offset..end];
            lookalikes.push(Lookalike::new(opened.word, opened.offset, source));
        }
    }
    lookalikes
}

/// The declared names that are similar to the words of a body.
struct SimilarNames<'b> {
    /// The declared names.
    names: &'b [&'b str],
    /// The most similar name for each word so far, or `None` if there is none.
    by_word: HashMap<&'b str, Option<&'b str>>,
}

impl<'b> SimilarNames<'b> {
    /// Returns the declared name that is most similar to a word. Compares at most
    /// [`MAX_CHECKED_WORDS`] words.
    fn find(&mut self, word: &'b str) -> Option<&'b str> {
        if let Some(known) = self.by_word.get(word) {
            return *known;
        }
        if self.by_word.len() >= MAX_CHECKED_WORDS {
            return None;
        }
        let similar = closest(word, self.names.iter().copied());
        self.by_word.insert(word, similar);
        similar
    }
}

/// Finds names in delimiters that are not declared, in order.
///
/// A name similar to a declared one is probably a misspelling, so every occurrence is reported,
/// even in code. Any other name may be an argument that was never declared; only its first
/// occurrence outside of code is reported.
fn unknown_names<'b>(body: &'b str, names: &'b [&'b str], code: &Code) -> Vec<Lookalike> {
    let mut lookalikes = Vec::new();
    let mut similar_names = SimilarNames {
        names,
        by_word: HashMap::new(),
    };
    let mut undeclared_words = HashSet::new();
    for opened in opened_words(body) {
        let word = opened.word;
        if names.contains(&word) || !opened.after.starts_with(opened.close) {
            continue;
        }
        let close_start = body.len() - opened.after.len();
        let source = &body[opened.offset..close_start + opened.close.len()];
        if let Some(name) = similar_names.find(word) {
            lookalikes.push(Lookalike::new(name, opened.offset, source));
            continue;
        }
        let is_candidate = may_be_argument(word) && !code.contains(opened.offset);
        let is_limit_reached = undeclared_words.len() >= MAX_CHECKED_WORDS;
        if is_candidate && !is_limit_reached {
            let is_first_occurrence = undeclared_words.insert(word);
            if is_first_occurrence {
                lookalikes.push(Lookalike::undeclared(word, opened.offset, source));
            }
        }
    }
    lookalikes
}

/// Returns whether the author may have meant a word as an argument name: it starts with a letter,
/// and isn't `args`, Gemini CLI's name for the input.
fn may_be_argument(word: &str) -> bool {
    word.starts_with(char::is_alphabetic) && word != "args"
}

/// Finds declared names in full-width braces, such as `｛｛input｝｝`, which Japanese and Chinese
/// keyboards produce.
fn full_width_names(body: &str, names: &[&str]) -> Vec<Lookalike> {
    let mut lookalikes = Vec::new();
    for (offset, open) in body.match_indices("｛｛") {
        let inside = &body[offset + open.len()..];
        let Some((name, _)) =
            truncate_at_boundary(inside, MAX_FULL_WIDTH_NAME_BYTES).split_once("｝｝")
        else {
            continue;
        };
        let word = to_half_width(name.trim());
        if names.contains(&word.as_str()) {
            let source = format!("｛｛{name}｝｝");
            lookalikes.push(Lookalike::new(&word, offset, &source));
        }
    }
    lookalikes
}

/// Finds other programs' placeholders for the input. Only the first occurrence of each is
/// considered.
fn foreign_inputs(prompt: &Prompt, message: &MessageTemplate, code: &Code) -> Vec<Lookalike> {
    let body = message.body();
    let spellings = if prompt.has_placeholders() {
        // The author knows our placeholders, so the forms in braces may be meant literally.
        // `$ARGUMENTS` is probably left over from another program.
        &["$ARGUMENTS"][..]
    } else {
        &FOREIGN_INPUTS
    };
    let mut lookalikes = Vec::new();
    for source in spellings {
        let Some(offset) = body.find(source) else {
            continue;
        };
        // For example, `{input}` is part of `{{input}}`.
        let is_part_of_longer_form = body[..offset].ends_with(['{', '｛', '$', '\\']);
        let is_placeholder = message
            .placeholders()
            .any(|placeholder| placeholder.range.start == offset);
        let is_intended = is_part_of_longer_form || is_placeholder || code.contains(offset);
        if !is_intended {
            lookalikes.push(Lookalike::new(INPUT, offset, source));
        }
    }
    lookalikes
}

impl Prompt {
    /// Warns about constructs of other programs in a message, such as `` !`git status` ``. Only the
    /// first construct of each kind outside of code is reported.
    pub(super) fn foreign_construct_warnings(&self, message: &MessageTemplate) -> Vec<Diagnostic> {
        let body = message.body();
        let code = Code::find_in(body);
        let placeholders: HashSet<usize> = message
            .placeholders()
            .map(|placeholder| placeholder.range.start)
            .collect();
        let mut warnings = Vec::new();
        for construct in self.foreign_syntax.constructs {
            // A Jinja template handles all its tags itself; anything else that looks like one is
            // inside `{% raw %}`.
            if message.jinja().is_some() && construct.open.starts_with('{') {
                continue;
            }
            let mut ranges = construct.find_all(body);
            ranges.retain(|range| {
                !code.contains(range.start) && !placeholders.contains(&range.start)
            });
            let Some(first) = ranges.first() else {
                continue;
            };
            if construct.is_dollar_word() && !self.are_arguments(body, &ranges) {
                continue;
            }
            warnings.push(self.foreign_syntax.warning(construct, message, first));
        }
        warnings
    }

    /// Guesses whether the words `$1` to `$9` at the given ranges of a body are arguments of
    /// another program rather than prices.
    fn are_arguments(&self, body: &str, word_ranges: &[Range<usize>]) -> bool {
        if self.has_argument_hint() {
            return true;
        }
        // An author who writes some placeholders in braces would write all of them that way.
        if self.has_placeholder_without_dollar() {
            return false;
        }
        let has_first = word_ranges.iter().any(|range| &body[range.clone()] == "$1");
        let has_others = word_ranges.iter().any(|range| &body[range.clone()] != "$1");
        if has_first && has_others {
            return true;
        }
        // A lone `$1` is ambiguous, so look for signs of the one or the other.
        has_first && !self.has_placeholders() && !has_price(body)
    }

    /// Returns whether the file has the key `argument-hint`, which only the command files of other
    /// programs have.
    fn has_argument_hint(&self) -> bool {
        self.ignored_keys
            .iter()
            .any(|ignored| ignored.key == "argument-hint")
    }

    /// Returns whether the prompt contains a placeholder in braces or angle brackets.
    fn has_placeholder_without_dollar(&self) -> bool {
        self.messages.iter().any(|message| {
            message
                .placeholders()
                .any(|placeholder| !message.source_text(placeholder).starts_with('$'))
        })
    }
}

/// Returns whether a body contains an amount that can't be an argument, such as `$10` or `$1.50`.
fn has_price(body: &str) -> bool {
    let mut texts_after_dollar = body.split('$').skip(1);
    texts_after_dollar.any(starts_with_amount)
}

/// Returns whether `text` starts with two digits, optionally separated by a period or comma: `10`,
/// `1.50` or `1,000`.
fn starts_with_amount(text: &str) -> bool {
    let Some(after_digit) = text.strip_prefix(|first: char| first.is_ascii_digit()) else {
        return false;
    };
    let after_separator = after_digit.strip_prefix(['.', ',']).unwrap_or(after_digit);
    after_separator.starts_with(|first: char| first.is_ascii_digit())
}
