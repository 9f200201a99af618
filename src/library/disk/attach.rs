//! Reads the attachments of a prompt, at each request: files next to the prompt's file, and never
//! one that is outside of the folder of the library, after all links are resolved.

use super::include::read_neighbor;
use super::root::Root;
use crate::library::caller::Prefix;
use crate::prompt::{
    Attachment, AttachmentPath, Content, Diagnostic, Kind, MAX_ATTACHED, MAX_ATTACHMENT, Prompt,
};
use crate::wording::too_long;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const CORRECT: &str = "correct its path, which is relative to the file of the prompt, or create it";

/// Reads the attachments of one prompt.
struct AttachmentReader<'p> {
    /// `None` if the prompt is in a store, which has no files.
    root: Option<&'p Root>,
    /// The file of the prompt.
    file: &'p Path,
    /// With it, no other file of the folder may be attached.
    prefix: Option<&'p Prefix>,
    /// How many attachments have each file name.
    name_counts: HashMap<&'p str, usize>,
    /// The bytes that were read so far.
    total: usize,
}

/// Returns the attachments of a prompt in this file, in their order, each with what is wrong with
/// it. They are read one after the other. Without a root, there are no files. With a prefix, no
/// other file of the folder may be attached.
pub(crate) fn attachments<'p>(
    root: Option<&'p Root>,
    prompt: &'p Prompt,
    file: &'p Path,
    prefix: Option<&'p Prefix>,
) -> impl Iterator<Item = Result<Attachment, Diagnostic>> {
    let mut name_counts: HashMap<&str, usize> = HashMap::new();
    for attachment in &prompt.attachments {
        *name_counts.entry(attachment.file_name()).or_default() += 1;
    }
    let mut reader = AttachmentReader {
        root,
        file,
        prefix,
        name_counts,
        total: 0,
    };
    let attachments = prompt.attachments.iter();
    attachments.map(move |attachment| reader.read(attachment))
}

impl AttachmentReader<'_> {
    /// Reads an attached file. An address is returned as it is, without reading it.
    fn read(&mut self, attachment: &AttachmentPath) -> Result<Attachment, Diagnostic> {
        if attachment.is_address()? {
            return Ok(Attachment {
                name: attachment.path.clone(),
                content: Content::Address,
            });
        }
        let Some(root) = self.root else {
            return Err(no_files_error(attachment));
        };
        let path = self.file.parent().unwrap_or(&root.path);
        let path = path.join(&attachment.path);
        let file = read_neighbor(root, &path, MAX_ATTACHMENT, self.prefix)
            .map_err(|error| unreadable_error(attachment, &error))?;
        self.count(attachment, file.bytes.len())?;
        Ok(Attachment {
            name: self.name_of(attachment).to_owned(),
            content: attachment.content(file.bytes, file.path.to_string_lossy().into_owned())?,
        })
    }

    /// Refuses an attachment that makes all of them together too long.
    fn count(&mut self, attachment: &AttachmentPath, bytes: usize) -> Result<(), Diagnostic> {
        self.total += bytes;
        if self.total <= MAX_ATTACHED {
            return Ok(());
        }
        let excess = too_long(self.total, MAX_ATTACHED);
        Err(attachment.problem(
            &format!("makes all attachments together {excess}"),
            "attach fewer, or write their paths into the prompt for the agent to read",
        ))
    }

    /// Returns the name of the file, or the whole path if several have that name.
    fn name_of<'a>(&self, attachment: &'a AttachmentPath) -> &'a str {
        let name = attachment.file_name();
        if self.name_counts.get(name) == Some(&1) {
            name
        } else {
            &attachment.path
        }
    }
}

fn no_files_error(attachment: &AttachmentPath) -> Diagnostic {
    let problem = attachment.problem(
        "is a file, and a store of prompts has none",
        "give an https:// address",
    );
    Diagnostic {
        kind: Kind::Missing,
        ..problem
    }
}

/// Returns the error about an attachment whose file cannot be read. That the file is missing, or
/// out of reach, stays the kind of the error, since callers tell these apart.
fn unreadable_error(attachment: &AttachmentPath, error: &Diagnostic) -> Diagnostic {
    let what = format!("cannot be attached: {}", error.message);
    let fix = if error.kind == Kind::Missing {
        CORRECT
    } else {
        &error.fix
    };
    let problem = attachment.problem(&what, fix);
    if !matches!(error.kind, Kind::Missing | Kind::Escapes) {
        return problem;
    }
    Diagnostic {
        kind: error.kind.clone(),
        ..problem
    }
}

/// Returns the files that a prompt in this file attaches, with their paths and bytes. What cannot
/// be attached is left out.
pub(crate) fn attached_files(root: &Root, prompt: &Prompt, file: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = file.parent().unwrap_or(&root.path);
    let mut files = Vec::new();
    for attachment in &prompt.attachments {
        let path = folder.join(&attachment.path);
        if let Ok(file) = read_neighbor(root, &path, MAX_ATTACHMENT, None) {
            files.push((file.path, file.bytes));
        }
    }
    files
}
