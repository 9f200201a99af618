//! Reads the attachments of a prompt, at each request: files next to the prompt's file, and never
//! one that is outside of the folder of the library, after all links are resolved.

use super::include::read_neighbor;
use super::root::Root;
use crate::library::caller::Prefix;
use crate::prompt::{
    Attachment, AttachmentPath, Content, Diagnostic, Kind, MAX_ATTACHMENT, MAX_ATTACHMENTS_SIZE,
    Prompt,
};
use crate::wording::too_long;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The fix for an attachment whose file does not exist.
const PATH_FIX: &str =
    "correct its path, which is relative to the file of the prompt, or create it";

/// Reads the attachments of one prompt.
struct AttachmentReader<'p> {
    /// The folder of prompts; `None` if the prompt is in a database, which has no files.
    root: Option<&'p Root>,
    /// The file of the prompt.
    file: &'p Path,
    /// With the prefix `team/`, for example, only files in the folder `team` may be attached.
    prefix: Option<&'p Prefix>,
    /// How many attachments have each file name.
    name_counts: HashMap<&'p str, usize>,
    /// The length of all files that were read, in bytes.
    total_length: usize,
}

/// Reads the attachments of the prompt in `file`, one after the other, in the order in which the
/// prompt lists them. Returns an error in the place of an attachment that cannot be read.
///
/// `root` is the folder of prompts. A prompt in a database has no such folder, and can attach only
/// addresses. With the prefix `team/`, for example, only files in the folder `team` may be
/// attached.
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
        total_length: 0,
    };
    let attachments = prompt.attachments.iter();
    attachments.map(move |attachment| reader.read(attachment))
}

impl AttachmentReader<'_> {
    /// Reads the file of an attachment. An address, such as `https://example.com/a.png`, is
    /// returned as it is: the client downloads it.
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
        let folder = self.file.parent().unwrap_or(&root.path);
        let path = folder.join(&attachment.path);
        let file = read_neighbor(root, &path, MAX_ATTACHMENT, self.prefix)
            .map_err(|error| unreadable_error(attachment, &error))?;
        self.add_length(attachment, file.bytes.len())?;
        Ok(Attachment {
            name: self.name_of(attachment).to_owned(),
            content: attachment.content(file.bytes, file.path.to_string_lossy().into_owned())?,
        })
    }

    /// Adds the length of an attachment to the total.
    ///
    /// # Errors
    /// All attachments together are longer than [`MAX_ATTACHMENTS_SIZE`].
    fn add_length(&mut self, attachment: &AttachmentPath, length: usize) -> Result<(), Diagnostic> {
        self.total_length += length;
        if self.total_length <= MAX_ATTACHMENTS_SIZE {
            return Ok(());
        }
        let excess = too_long(self.total_length, MAX_ATTACHMENTS_SIZE);
        Err(attachment.problem(
            &format!("makes all attachments together {excess}"),
            "attach fewer, or write their paths into the prompt for the agent to read",
        ))
    }

    /// Returns the name that an attachment is shown by: `a.png` for `images/a.png`, but the whole
    /// path if the prompt attaches several files named `a.png`.
    fn name_of<'a>(&self, attachment: &'a AttachmentPath) -> &'a str {
        let name = attachment.file_name();
        if self.name_counts.get(name) == Some(&1) {
            name
        } else {
            &attachment.path
        }
    }
}

/// Returns the error for a file that is attached by a prompt in a database. Its kind is that of a
/// missing file, because a database has no file to attach.
fn no_files_error(attachment: &AttachmentPath) -> Diagnostic {
    let mut diagnostic = attachment.problem(
        "is a file, but a prompt in a database can only attach addresses",
        "give an https:// address",
    );
    diagnostic.kind = Kind::NotFound;
    diagnostic
}

/// Returns the error for an attachment whose file cannot be read because of `error`.
///
/// Callers tell missing files, and files outside of the prompts folder, from all others. So these
/// two kinds of `error` are kept.
fn unreadable_error(attachment: &AttachmentPath, error: &Diagnostic) -> Diagnostic {
    let problem = format!("cannot be attached: {}", error.message);
    let fix = if error.kind == Kind::NotFound {
        PATH_FIX
    } else {
        &error.fix
    };
    let mut diagnostic = attachment.problem(&problem, fix);
    if matches!(error.kind, Kind::NotFound | Kind::OutsideFolder) {
        diagnostic.kind = error.kind.clone();
    }
    diagnostic
}

/// Returns the path and the bytes of each file that the prompt in `file` attaches. Addresses, and
/// files that cannot be read, are left out.
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
