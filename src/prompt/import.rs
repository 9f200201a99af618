//! From a prompt of any format to a Markdown file of this program.
//!
//! The Markdown is read again before it is returned, and has to say the same. What is lost is a
//! [note](Imported::notes).

pub(super) mod continue_dev;
pub(super) mod hexai;
pub(super) mod llm;

use super::format::{Format, row};
use super::outline::outline;
use super::write;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::message::{Piece, Role};
use crate::prompt::model::{Append, Argument, Metadata, Prompt};
use crate::prompt::template::INPUT;
use crate::wording::{named, quoted};

/// The formats that are imported only.
pub static IMPORTED: [Format; 3] = [
    row(
        "llm",
        "llm",
        &[(".yaml", llm::parse)],
        &["io.datasette.llm/templates"],
    ),
    row(
        "continue",
        "Continue",
        &[
            (".md", continue_dev::parse),
            (".prompt", continue_dev::parse),
            (".prompt.md", continue_dev::parse),
        ],
        &[".continue/prompts"],
    ),
    row(
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

/// Writes a prompt as a Markdown file of this program that expands to the same.
///
/// # Errors
/// No Markdown file says what the prompt says.
pub fn import(prompt: &Prompt) -> Result<Imported, Diagnostic> {
    let mut prompt = prompt.clone();
    if let [message] = &*prompt.messages {
        // What is derived from the text is derived from the imported text.
        let outline = outline(message.body());
        prompt
            .title
            .take_if(|title| Some(&**title) == outline.heading.as_deref());
        prompt
            .description
            .take_if(|description| Some(&**description) == outline.description().as_deref());
    }
    let prompt = &prompt;
    let written = |derived: Option<&Prompt>| {
        let text = write::markdown(prompt, derived);
        let read = Prompt::parse(prompt.name.clone(), text.as_bytes());
        read.map(|read| (text, read))
    };
    let imported = written(None).and_then(|(_, bare)| written(Some(&bare)));
    match imported {
        Ok((text, read)) if !prompt.is_jinja() && is_same(prompt, &read) => Ok(Imported {
            text,
            notes: notes(prompt),
        }),
        _ => {
            let message = format!(
                "what {} says cannot be written as one Markdown file",
                named(&prompt.name)
            );
            let fix = "write the prompt by hand, with placeholders such as `{{input}}`";
            Err(Diagnostic::error(None, message, fix))
        }
    }
}

/// What is different in the file.
fn notes(prompt: &Prompt) -> Vec<Diagnostic> {
    let mut notes = prompt.lenient.clone();
    notes.extend(
        prompt
            .messages
            .iter()
            .flat_map(|message| prompt.foreign_marks(message)),
    );
    let mut note = |message: String, fix: &str| notes.push(Diagnostic::warning(None, message, fix));
    if !prompt.included().is_empty() {
        let message = "the text of the files that it includes is part of the imported prompt";
        note(
            message.to_owned(),
            "no action is needed unless several prompts share these files",
        );
    }
    if prompt.names_its_folder {
        let message = "the text begins with the path of the skill's folder; the other files there are not imported";
        let fix = "keep that folder, or copy it and change the path in the first line of the imported prompt";
        note(message.to_owned(), fix);
    }
    for attachment in prompt
        .attachments
        .iter()
        .filter(|attachment| !attachment.path.starts_with("https://"))
    {
        let message = format!(
            "the attachment {} is not imported with the prompt",
            quoted(&attachment.path)
        );
        note(
            message,
            "copy the file to the same place next to the imported prompt",
        );
    }
    notes.sort_by_key(|note| note.position);
    notes
}

/// Whether a file that was read says what the prompt says. The file may derive from its body what
/// the prompt does not have.
fn is_same(prompt: &Prompt, read: &Prompt) -> bool {
    let are_equal = |one: &Option<String>, other: &Option<String>| one.is_none() || one == other;
    are_equal(&prompt.title, &read.title)
        && are_equal(&prompt.description, &read.description)
        && said(prompt) == said(read)
}

type Said<'p> = (
    &'p [Argument],
    &'p [String],
    &'p Metadata,
    bool,
    Vec<&'p str>,
    Vec<(Role, String)>,
);

/// What a prompt says, apart from how its file says it. A placeholder is its name between two NULs.
fn said(prompt: &Prompt) -> Said<'_> {
    let mut messages: Vec<(Role, String)> = Vec::new();
    for message in &prompt.messages {
        let piece = |piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Value(name) => format!("\0{name}\0"),
        };
        messages.push((
            message.role,
            message.pieces(Piece::Value).map(piece).collect(),
        ));
    }
    if let Some((_, text)) = messages
        .last_mut()
        .filter(|_| prompt.append == Append::Line && prompt.appends_input())
    {
        *text += &format!("\n\0{INPUT}\0");
    }
    let attachments = prompt
        .attachments
        .iter()
        .map(|attachment| attachment.path.as_str())
        .collect();
    let has_words = prompt.takes_words() && !prompt.arguments.is_empty();
    (
        &prompt.arguments,
        &prompt.tags,
        &prompt.metadata,
        has_words,
        attachments,
        messages,
    )
}
