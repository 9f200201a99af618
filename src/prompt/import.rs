//! From a prompt of any format to a Markdown file of this program.
//!
//! The Markdown is read again before it is returned, and has to say the same. What is lost is a
//! [note](Imported::notes).

pub(super) mod continue_dev;
pub(super) mod hexai;
pub(super) mod llm;

use super::format::{Format, recursive_format};
use super::outline::outline;
use super::serialize;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::message::{Piece, Role};
use crate::prompt::model::{AppendInput, Argument, Metadata, Prompt};
use crate::prompt::template::INPUT;
use crate::wording::{in_backticks, quoted};

/// The formats that are imported only.
pub static IMPORTED: [Format; 3] = [
    recursive_format(
        "llm",
        "llm",
        &[(".yaml", llm::parse)],
        &["io.datasette.llm/templates"],
    ),
    recursive_format(
        "continue",
        "Continue",
        &[
            (".md", continue_dev::parse),
            (".prompt", continue_dev::parse),
            (".prompt.md", continue_dev::parse),
        ],
        &[".continue/prompts"],
    ),
    recursive_format(
        "hexai",
        "hexai",
        &[(".jsonl", hexai::parse)],
        &["hexai/prompts"],
    ),
];

/// A prompt as a Markdown file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The text of the file.
    pub text: String,
    /// What is different there; the positions are in the original.
    pub notes: Vec<Diagnostic>,
}

/// Writes a prompt as a Markdown file of this program that expands to the same text.
///
/// # Errors
/// Fails if the prompt cannot be expressed as a single Markdown file.
pub fn import(prompt: &Prompt) -> Result<Imported, Diagnostic> {
    let notes = notes(prompt);
    let prompt = without_derived_texts(prompt);
    match write_and_compare(&prompt) {
        Some(text) => Ok(Imported { text, notes }),
        None => {
            let name = in_backticks(&prompt.name);
            Err(Diagnostic::error(
                None,
                format!("what {name} says cannot be written as one Markdown file"),
                "write the prompt by hand, with placeholders such as `{{input}}`",
            ))
        }
    }
}

/// Returns a prompt without a title and a description that were derived from its body. Reading the
/// imported file derives them again.
fn without_derived_texts(prompt: &Prompt) -> Prompt {
    let mut prompt = prompt.clone();
    if let [message] = prompt.messages.as_slice() {
        let outline = outline(message.body());
        if prompt.title == outline.heading {
            prompt.title = None;
        }
        if prompt.description == outline.description() {
            prompt.description = None;
        }
    }
    prompt
}

/// Returns the text of a Markdown file that can be read back as the same prompt; `None` if no such
/// file can be written.
fn write_and_compare(prompt: &Prompt) -> Option<String> {
    if prompt.is_jinja() {
        return None;
    }
    // A title and a description that are derived from the body need not be written.
    let mut draft = prompt.clone();
    draft.title = None;
    draft.description = None;
    let derived = parse_back(prompt, &serialize::markdown(&draft))?;
    if prompt.title != derived.title {
        draft.title = prompt.title.clone();
    }
    if prompt.description != derived.description {
        draft.description = prompt.description.clone();
    }
    let text = serialize::markdown(&draft);
    let imported = parse_back(prompt, &text)?;
    if !is_same(prompt, &imported) {
        return None;
    }
    Some(text)
}

/// Reads the Markdown that was written for a prompt. Returns `None` if it has an error, because
/// then another text must be found, and nobody sees the error.
fn parse_back(prompt: &Prompt, markdown: &str) -> Option<Prompt> {
    Prompt::parse(prompt.name.clone(), markdown.as_bytes()).ok()
}

/// Returns what is different in the imported file, in the order of the original.
fn notes(prompt: &Prompt) -> Vec<Diagnostic> {
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

/// Returns whether an imported file says what the prompt says. The file may derive from its body a
/// title and a description that the prompt does not have.
fn is_same(prompt: &Prompt, imported: &Prompt) -> bool {
    (prompt.title.is_none() || prompt.title == imported.title)
        && (prompt.description.is_none() || prompt.description == imported.description)
        && Meaning::of(prompt) == Meaning::of(imported)
}

/// What a prompt says, apart from how its file says it.
#[derive(PartialEq)]
struct Meaning<'p> {
    arguments: &'p [Argument],
    tags: &'p [String],
    metadata: &'p Metadata,
    one_word_per_argument: bool,
    attachments: Vec<&'p str>,
    /// With each placeholder as its name between two NULs.
    messages: Vec<(Role, String)>,
}

impl Meaning<'_> {
    /// Returns what an import must keep of a prompt. Two prompts that expand to the same text for
    /// every call have the same meaning.
    ///
    /// A placeholder is `\0name\0` in the texts of the messages, so that `{{name}}`, `$name` and
    /// `<<name>>` are equal, and differ from a text that only looks like one of them. An input that
    /// follows the text is a placeholder at its end.
    fn of(prompt: &Prompt) -> Meaning<'_> {
        let mut messages: Vec<(Role, String)> = Vec::new();
        for message in &prompt.messages {
            let mut text = String::new();
            for piece in message.pieces(Piece::Value) {
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
        Meaning {
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
