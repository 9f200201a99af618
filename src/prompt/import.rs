//! Converts a prompt of any format into a Markdown file of this program.
//!
//! Before the file is returned, it is parsed again and compared with the original. Differences that
//! can't be avoided are reported as [notes](Imported::notes).

pub(super) mod continue_dev;
pub(super) mod hexai;
pub(super) mod llm;

use super::format::{FileSuffix, Format, recursive_format};
use super::outline::parse_outline;
use super::serialize;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::message::{Piece, Role};
use crate::prompt::model::{AppendInput, Argument, Metadata, Prompt};
use crate::prompt::template::{INPUT, Placeholder};
use crate::wording::{in_backticks, quoted};

/// The formats that can only be imported, not read in place.
pub static IMPORTED: [Format; 3] = [
    recursive_format(
        "llm",
        "llm",
        &[FileSuffix::new(".yaml", llm::parse)],
        &["io.datasette.llm/templates"],
    ),
    recursive_format(
        "continue",
        "Continue",
        &[
            FileSuffix::new(".md", continue_dev::parse),
            FileSuffix::new(".prompt", continue_dev::parse),
            FileSuffix::new(".prompt.md", continue_dev::parse),
        ],
        &[".continue/prompts"],
    ),
    recursive_format(
        "hexai",
        "hexai",
        &[FileSuffix::new(".jsonl", hexai::parse)],
        &["hexai/prompts"],
    ),
];

/// The result of importing a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The contents of the Markdown file.
    pub text: String,
    /// What the author should know about the conversion. The positions are those in the original.
    pub notes: Vec<Diagnostic>,
}

/// Converts a prompt into a Markdown file of this program that expands to the same text.
///
/// # Errors
/// Fails if the prompt can't be expressed as a single Markdown file.
pub fn import(prompt: &Prompt) -> Result<Imported, Diagnostic> {
    let notes = import_notes(prompt);
    let prompt = without_derived_title_and_description(prompt);
    match write_verified(&prompt) {
        Some(text) => Ok(Imported { text, notes }),
        None => {
            let name = in_backticks(&prompt.name);
            Err(Diagnostic::invalid(
                format!("{name} cannot be written as one Markdown file"),
                "write the prompt by hand, with placeholders such as `{{input}}`",
            ))
        }
    }
}

/// Returns a copy without a title or description that was derived from the body. Parsing the
/// imported file derives them again.
fn without_derived_title_and_description(prompt: &Prompt) -> Prompt {
    let mut copy = prompt.clone();
    let [message] = prompt.messages.as_slice() else {
        return copy;
    };
    let outline = parse_outline(message.body());
    let heading = outline.heading.clone();
    if prompt.description != outline.description() {
        return copy; // Next to a description, a title is never derived.
    }
    copy.description = None;
    if prompt.title == heading {
        copy.title = None;
    }
    copy
}

/// Writes the prompt as a Markdown file, and parses the file to verify that it is equivalent.
/// Returns `None` if it isn't.
fn write_verified(prompt: &Prompt) -> Option<String> {
    // A Markdown file of this program has no placeholders such as `${1:-default}`.
    if prompt.is_jinja() || !prompt.placeholders().all(Placeholder::is_plain) {
        return None;
    }
    // Write the title and the description only if parsing wouldn't derive them from the body.
    let mut draft = prompt.clone();
    draft.title = None;
    draft.description = None;
    let derived = parse_back(prompt, &serialize::to_markdown(&draft))?;
    if prompt.description != derived.description {
        draft.description = prompt.description.clone();
    }
    // Next to a description, no title is derived.
    if draft.description.is_some() || prompt.title != derived.title {
        draft.title = prompt.title.clone();
    }
    let text = serialize::to_markdown(&draft);
    let imported = parse_back(prompt, &text)?;
    if !is_equivalent(prompt, &imported) {
        return None;
    }
    Some(text)
}

/// Parses Markdown that was generated for a prompt. Returns `None` if it is invalid. The error is
/// dropped, because its position would be in a file that the user never sees.
fn parse_back(prompt: &Prompt, markdown: &str) -> Option<Prompt> {
    Prompt::parse(prompt.name.clone(), markdown.as_bytes()).ok()
}

/// Returns warnings about what the import changes or drops, sorted by position in the original.
fn import_notes(prompt: &Prompt) -> Vec<Diagnostic> {
    let mut notes = prompt.lenient_warnings.clone();
    for message in &prompt.messages {
        notes.extend(prompt.foreign_construct_warnings(message));
    }
    if !prompt.included().is_empty() {
        notes.push(Diagnostic::warning(
            None,
            "the text of the files that it includes is part of the imported prompt",
            "no action is needed unless several prompts share these files",
        ));
    }
    if prompt.has_base_directory_line {
        notes.push(Diagnostic::warning(
            None,
            "the text begins with the path of the skill's folder; the other files there are not imported",
            "keep that folder, or copy it and change the path in the first line of the imported prompt",
        ));
    }
    for attachment in &prompt.attachments {
        if !attachment.path.starts_with("https://") {
            let path = quoted(&attachment.path);
            notes.push(Diagnostic::warning(
                None,
                format!("the attachment {path} is not imported with the prompt"),
                "copy the file to the same place next to the imported prompt",
            ));
        }
    }
    notes.sort_by_key(|note| note.position);
    notes
}

/// Returns whether the imported file is equivalent to the prompt. It may have an additional title
/// or description that is derived from its body.
fn is_equivalent(prompt: &Prompt, imported: &Prompt) -> bool {
    let keeps_title = prompt.title.is_none() || prompt.title == imported.title;
    let keeps_description =
        prompt.description.is_none() || prompt.description == imported.description;
    let keeps_behavior = Behavior::from_prompt(prompt) == Behavior::from_prompt(imported);
    keeps_title && keeps_description && keeps_behavior
}

/// The parts of a prompt that an import must preserve, independent of their notation in a file.
#[derive(PartialEq)]
struct Behavior<'p> {
    arguments: &'p [Argument],
    tags: &'p [String],
    metadata: &'p Metadata,
    one_word_per_argument: bool,
    attachments: Vec<&'p str>,
    /// Each placeholder is written as `\0name\0`.
    messages: Vec<(Role, String)>,
}

impl Behavior<'_> {
    /// Returns what a prompt does, however its file writes it.
    ///
    /// In the messages, `{{name}}`, `$name` and `<<name>>` all become `\0name\0`, which differs
    /// from any text that merely looks like a placeholder. Input that is appended on a new line
    /// becomes a placeholder at the end.
    fn from_prompt(prompt: &Prompt) -> Behavior<'_> {
        let mut messages: Vec<(Role, String)> = Vec::new();
        for message in &prompt.messages {
            let mut text = String::new();
            for piece in message.pieces(|placeholder| Piece::Value(&placeholder.name)) {
                match piece {
                    Piece::Text(part) => text += part,
                    Piece::Value(name) => text += &format!("\0{name}\0"),
                }
            }
            messages.push((message.role, text));
        }
        if prompt.append_input == AppendInput::Line
            && prompt.appends_input()
            && let Some((_, text)) = messages.last_mut()
        {
            *text += &format!("\n\0{INPUT}\0");
        }
        Behavior {
            arguments: &prompt.arguments,
            tags: &prompt.tags,
            metadata: &prompt.metadata,
            one_word_per_argument: prompt.gives_one_word_per_argument()
                && !prompt.arguments.is_empty(),
            attachments: prompt
                .attachments
                .iter()
                .map(|attachment| attachment.path.as_str())
                .collect(),
            messages,
        }
    }
}
